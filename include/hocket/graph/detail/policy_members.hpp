// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/graph/access.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/rule.hpp>

#include <concepts>
#include <type_traits>

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

// names_x<P>: does P have any member called x, however it is to be called? Looking a name up in two bases that both
// have it is an error that a requires-expression sees; so it is in no base but ours exactly if the lookup succeeds. An
// optional member whose parameters or result do not fit would otherwise be ignored without a word.
#define HOCKET_POLICY_MEMBER(x)                                \
  struct has_##x {                                             \
    int x;                                                     \
  };                                                           \
  template <class P>                                           \
  struct both_##x : P, has_##x {};                             \
  template <class P>                                           \
  constexpr bool finds_##x() {                                 \
    if constexpr (std::is_class_v<P> && !std::is_final_v<P>) { \
      return !requires { &both_##x<P>::x; };                   \
    } else {                                                   \
      return requires { &P::x; };                              \
    }                                                          \
  }                                                            \
  template <class P>                                           \
  inline constexpr bool names_##x = finds_##x<typename written_policy<P>::type>();

HOCKET_POLICY_MEMBER(kind)
HOCKET_POLICY_MEMBER(stream)
HOCKET_POLICY_MEMBER(for_each_inplace)
HOCKET_POLICY_MEMBER(for_each_part)
HOCKET_POLICY_MEMBER(for_each_resource)
HOCKET_POLICY_MEMBER(for_each_control)
HOCKET_POLICY_MEMBER(for_each_lifetime)
HOCKET_POLICY_MEMBER(barrier)
HOCKET_POLICY_MEMBER(starts)
#undef HOCKET_POLICY_MEMBER

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

// A sentence for each optional member that is there and cannot be called.
template <class P, class G>
constexpr void check_optional_members() {
  static_assert(tells_kind<P, G> || !names_kind<P>,
                "hocket: the policy has a kind that cannot be used. Write: "
                "static hocket::graph::op_kind kind(const G&, node);");
  static_assert(tells_inplace<P, G> || !names_for_each_inplace<P>,
                "hocket: the policy has a for_each_inplace that cannot be used. Write: "
                "static void for_each_inplace(const G&, node, auto&& f); it calls f(variable)");
  static_assert(tells_resources<P, G> || !names_for_each_resource<P>,
                "hocket: the policy has a for_each_resource that cannot be used. Write: static void "
                "for_each_resource(const G&, node, auto&& f); it calls f(hocket::graph::ordered_resource)");
  static_assert(tells_control<P, G> || !names_for_each_control<P>,
                "hocket: the policy has a for_each_control that cannot be used. Write: "
                "static void for_each_control(const G&, node, auto&& f); it calls f(node)");
  static_assert(tells_lifetime<P, G> || !names_for_each_lifetime<P>,
                "hocket: the policy has a for_each_lifetime that cannot be used. Write: "
                "static void for_each_lifetime(const G&, node, auto&& f); it calls f(node)");
  static_assert(tells_barrier<P, G> || !names_barrier<P>,
                "hocket: the policy has a barrier that cannot be used. Write: "
                "static hocket::graph::barrier barrier(const G&, node);");
  static_assert(tells_starts<P, G> || !names_starts<P>,
                "hocket: the policy has a starts that cannot be used. Write: static bool starts(const G&, node);");
}

}  // namespace detail
}  // namespace hocket::inline HOCKET_ABI::graph
