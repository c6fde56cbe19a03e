// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a host framework shows its graph. A policy is a class with the members below, static or not; it is found by
// specialising graph_access<G> once for a host type, or passed right after the host graph. Required members:
//
//   every policy   using node = …;  std::size_t node_count(const G&)
//                   and, unless node is an integer type (then nodes are 0 … node_count - 1):
//                   for_each_node(const G&, f)  in program order;  index_of(const G&, node) for successors and
//                   predecessors
//   successors     for_each_successor(const G&, node, f)         f(node) for each node that must run later
//   predecessors   for_each_predecessor(const G&, node, f)       f(node) for each node that must run earlier: operands
//   effects        for_each_read(const G&, node, f), for_each_write(const G&, node, f)
//                   f(variable): an integer, a pointer, an enumeration, a std::string or std::string_view, or the
//                   bytes themselves (graph::storage_range), in any mixture. Equal numbers are one variable if both
//                   are integers, both pointers, or both of one enumeration. A char* is refused: it may be a text or
//                   an address
//   optional       kind(const G&, node) -> graph::op_kind         for the ordered rules
//                  stream(const G&, node) -> stream_id            for stream plans
//   optional, for dependencies() (see graph/rule.hpp):
//                  for_each_inplace(const G&, node, f)    f(variable) for each that is read and written
//                  for_each_part(const G&, variable, f)   f(part) for each piece of storage behind a variable: views,
//                   fused and coalesced buffers. Variables with a part in common are in conflict. Without a call of f
//                   the variable is a piece of storage of its own, with its own number
//                  space_bytes(const G&, std::uint64_t space) -> std::uint64_t    how many bytes a space of ranges has;
//                   a range that ends beyond them is refused
//                  for_each_resource(const G&, node, f)   f(ordered_resource), in place of kind, where there are
//                   several communication groups, generators, files
//                  barrier(const G&, node) -> graph::barrier
//                  for_each_control(const G&, node, f)    f(node) for each that must run before this one, whatever the
//                   program order says; nodes other than integers need index_of
//                  starts(const G&, node) -> bool         ops that start the step, such as readers of the input
//                  for_each_lifetime(const G&, node, f)   for dependencies_by_kind() alone: f(node) for each whose
//                   memory this one uses
#pragma once
#include <hocket/core/ids.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace hocket::inline HOCKET_ABI {

/// The host's view of its graph type G: specialise it once, with the members listed at the head of this file.
/// The primary template satisfies no policy concept, so a forgotten specialisation is a sentence, not an error novel.
///
///     template <> struct hocket::graph_access<my::program> {
///       using node = std::uint32_t;
///       static std::size_t node_count(const my::program& p) { return p.ops.size(); }
///       static void for_each_read (const my::program& p, node n, auto&& f) { for (auto v : p.ops[n].in)  f(v); }
///       static void for_each_write(const my::program& p, node n, auto&& f) { for (auto v : p.ops[n].out) f(v); }
///     };
template <class G>
struct graph_access {};

namespace graph {
namespace detail {

// Accepts whatever a policy reports. A lambda inside a requires-expression would make nvcc 13 evaluate it to false.
struct sink {
  template <class T>
  constexpr void operator()(T&&) const noexcept {}
};

}  // namespace detail

/// P can name every node of G and count them. See the head of access.hpp.
template <class P, class G>
concept node_policy = requires(const P& policy, const G& host) {
  typename P::node;
  { policy.node_count(host) } -> std::convertible_to<std::size_t>;
} && (std::integral<typename P::node> || requires(const P& policy, const G& host, detail::sink f) {
                        policy.for_each_node(host, f);
                      });

/// P gives the dense number of a node, 0 … node_count - 1.
template <class P, class G>
concept index_policy = requires(const P& policy, const G& host, const typename P::node& n) {
  { policy.index_of(host, n) } -> std::convertible_to<std::size_t>;
};

/// P reports, for each node, the nodes that must run after it.
template <class P, class G>
concept successors_policy = node_policy<P, G> && (std::integral<typename P::node> || index_policy<P, G>) &&
                            requires(const P& policy, const G& host, const typename P::node& n, detail::sink f) {
                              policy.for_each_successor(host, n, f);
                            };

/// P reports, for each node, the nodes that must run before it: for hosts that know an op's operands. If nodes are
/// listed in the order of their numbers, a dag is built without a list of edges; fastest if predecessors come first.
template <class P, class G>
concept predecessors_policy = node_policy<P, G> && (std::integral<typename P::node> || index_policy<P, G>) &&
                              requires(const P& policy, const G& host, const typename P::node& n, detail::sink f) {
                                policy.for_each_predecessor(host, n, f);
                              };

/// P reports, for each node, the variables it reads and those it writes. A variable updated in place is reported twice.
template <class P, class G>
concept effects_policy =
    node_policy<P, G> && requires(const P& policy, const G& host, const typename P::node& n, detail::sink f) {
      policy.for_each_read(host, n, f);
      policy.for_each_write(host, n, f);
    };

/// P says on which stream each node runs.
template <class P, class G>
concept stream_policy = node_policy<P, G> && requires(const P& policy, const G& host, const typename P::node& n) {
  { policy.stream(host, n) } -> std::convertible_to<stream_id>;
};

namespace detail {

// f(node) for each node in program order.
template <class P, class G, class F>
constexpr void for_each_node(const P& policy, const G& host, F&& f) {
  using node = typename P::node;
  if constexpr (requires { policy.for_each_node(host, f); }) {
    policy.for_each_node(host, f);
  } else {
    const auto count = static_cast<std::size_t>(policy.node_count(host));
    for (std::size_t i = 0; i < count; ++i) f(static_cast<node>(i));
  }
}

template <class P, class G>
[[nodiscard]] constexpr std::size_t index_of(const P& policy, const G& host, const typename P::node& n) {
  if constexpr (index_policy<P, G>) return static_cast<std::size_t>(policy.index_of(host, n));
  else return static_cast<std::size_t>(n);
}

}  // namespace detail
}  // namespace graph
}  // namespace hocket::inline HOCKET_ABI
