// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/detail/names_member.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/rule.hpp>

#include <concepts>
#include <cstdint>

namespace hocket::inline HOCKET_ABI::graph {

template <class P, class G>
struct two_step_access;

namespace detail {

// The policy that a host wrote, behind those of ours that pass its members on.
template <class P>
struct written_policy {
  using type = P;
};
template <class P, class G>
struct written_policy<two_step_access<P, G>> {
  using type = typename written_policy<P>::type;
};

HOCKET_NAMES_MEMBER(node_count)
HOCKET_NAMES_MEMBER(kind)
HOCKET_NAMES_MEMBER(stream)
HOCKET_NAMES_MEMBER(for_each_inplace)
HOCKET_NAMES_MEMBER(for_each_part)
HOCKET_NAMES_MEMBER(for_each_resource)
HOCKET_NAMES_MEMBER(for_each_control)
HOCKET_NAMES_MEMBER(for_each_lifetime)
HOCKET_NAMES_MEMBER(barrier)
HOCKET_NAMES_MEMBER(starts)
HOCKET_NAMES_MEMBER(space_bytes)
// What these were called by mistake.
HOCKET_NAMES_MEMBER(for_each_in_place)
HOCKET_NAMES_MEMBER(for_each_parts)
HOCKET_NAMES_MEMBER(for_each_resources)
HOCKET_NAMES_MEMBER(for_each_controls)

template <class P, class G>
concept tells_kind = requires(const P& policy, const G& host, const typename P::node& n) {
  { policy.kind(host, n) } -> std::convertible_to<op_kind>;
};
template <class P, class G>
concept tells_inplace = requires(const P& policy, const G& host, const typename P::node& n, sink s) {
  policy.for_each_inplace(host, n, s);
};
template <class P, class G, class V>
concept tells_parts =
    requires(const P& policy, const G& host, const V& variable, sink s) { policy.for_each_part(host, variable, s); };
template <class P, class G>
concept tells_resources = requires(const P& policy, const G& host, const typename P::node& n, sink s) {
  policy.for_each_resource(host, n, s);
};
template <class P, class G>
concept tells_control = requires(const P& policy, const G& host, const typename P::node& n, sink s) {
  policy.for_each_control(host, n, s);
};
template <class P, class G>
concept tells_lifetime = requires(const P& policy, const G& host, const typename P::node& n, sink s) {
  policy.for_each_lifetime(host, n, s);
};
template <class P, class G>
concept tells_barrier = requires(const P& policy, const G& host, const typename P::node& n) {
  { policy.barrier(host, n) } -> std::convertible_to<graph::barrier>;
};
template <class P, class G>
concept tells_starts = requires(const P& policy, const G& host, const typename P::node& n) {
  { policy.starts(host, n) } -> std::convertible_to<bool>;
};
template <class P, class G>
concept tells_space_bytes = requires(const P& policy, const G& host, std::uint64_t space) {
  { policy.space_bytes(host, space) } -> std::convertible_to<std::uint64_t>;
};

// These may be names of other things, so only what is called like `starts` counts.
template <class P, class G>
concept nearly_starts = requires(const P& policy, const G& host, const typename P::node& n) {
  policy.start(host, n);
} || requires(const P& policy, const G& host, const typename P::node& n) { policy.start_up(host, n); };

// A sentence for a member whose name is nearly that of an optional one, which nobody would call.
template <class P, class G>
constexpr void check_near_misses() {
  static_assert(!names_for_each_in_place<P>,
                "hocket: the policy has a for_each_in_place, which nobody calls: the optional member is called "
                "for_each_inplace");
  static_assert(!names_for_each_parts<P>,
                "hocket: the policy has a for_each_parts, which nobody calls: the optional member is called "
                "for_each_part");
  static_assert(!names_for_each_resources<P>,
                "hocket: the policy has a for_each_resources, which nobody calls: the optional member is called "
                "for_each_resource");
  static_assert(!names_for_each_controls<P>,
                "hocket: the policy has a for_each_controls, which nobody calls: the optional member is called "
                "for_each_control");
  static_assert(!nearly_starts<P, G>,
                "hocket: the policy has a start or start_up, which nobody calls: the optional member is called "
                "starts, and start_up is an option of dependencies");
}

// A sentence for each optional member that is there and cannot be called.
template <class P, class G>
constexpr void check_optional_members() {
  using written = typename written_policy<P>::type;
  detail::check_near_misses<written, G>();
  static_assert(tells_kind<P, G> || !names_kind<written>,
                "hocket: the policy has a kind that cannot be used. Write: "
                "static hocket::graph::op_kind kind(const G&, node);");
  static_assert(tells_inplace<P, G> || !names_for_each_inplace<written>,
                "hocket: the policy has a for_each_inplace that cannot be used. Write: "
                "static void for_each_inplace(const G&, node, auto&& f); it calls f(variable)");
  static_assert(tells_resources<P, G> || !names_for_each_resource<written>,
                "hocket: the policy has a for_each_resource that cannot be used. Write: static void "
                "for_each_resource(const G&, node, auto&& f); it calls f(hocket::graph::ordered_resource)");
  static_assert(tells_control<P, G> || !names_for_each_control<written>,
                "hocket: the policy has a for_each_control that cannot be used. Write: "
                "static void for_each_control(const G&, node, auto&& f); it calls f(node)");
  static_assert(tells_lifetime<P, G> || !names_for_each_lifetime<written>,
                "hocket: the policy has a for_each_lifetime that cannot be used. Write: "
                "static void for_each_lifetime(const G&, node, auto&& f); it calls f(node)");
  static_assert(tells_barrier<P, G> || !names_barrier<written>,
                "hocket: the policy has a barrier that cannot be used. Write: "
                "static hocket::graph::barrier barrier(const G&, node);");
  static_assert(tells_starts<P, G> || !names_starts<written>,
                "hocket: the policy has a starts that cannot be used. Write: static bool starts(const G&, node);");
  static_assert(tells_space_bytes<P, G> || !names_space_bytes<written>,
                "hocket: the policy has a space_bytes that cannot be used. Write: "
                "static std::uint64_t space_bytes(const G&, std::uint64_t space);");
}

}  // namespace detail
}  // namespace hocket::inline HOCKET_ABI::graph
