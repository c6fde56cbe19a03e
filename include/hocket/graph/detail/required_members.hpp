// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/access.hpp>
#include <hocket/graph/detail/policy_members.hpp>
#include <hocket/graph/detail/variable.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace hocket::inline HOCKET_ABI::graph::detail {

template <class P>
concept names_node = requires { typename P::node; };
template <class P, class G>
concept counts_nodes = requires(const P& policy, const G& host) {
  { policy.node_count(host) } -> std::convertible_to<std::size_t>;
};
template <class P, class G>
concept lists_nodes = std::integral<typename P::node> ||
                      requires(const P& policy, const G& host, sink f) { policy.for_each_node(host, f); };
template <class P, class G>
concept lists_successors = requires(const P& policy, const G& host, const typename P::node& n, sink f) {
  policy.for_each_successor(host, n, f);
};
template <class P, class G>
concept lists_predecessors = requires(const P& policy, const G& host, const typename P::node& n, sink f) {
  policy.for_each_predecessor(host, n, f);
};
template <class P, class G>
concept lists_reads =
    requires(const P& policy, const G& host, const typename P::node& n, sink f) { policy.for_each_read(host, n, f); };
template <class P, class G>
concept lists_writes =
    requires(const P& policy, const G& host, const typename P::node& n, sink f) { policy.for_each_write(host, n, f); };

// A sentence for the member that is missing, misspelt, not const or not callable with a node.
template <class P, class G>
constexpr void require_nodes() {
  static_assert(counts_nodes<P, G>,
                "hocket: the policy has no node_count that can be called on a const policy and host. Write: "
                "static std::size_t node_count(const G&);");
  static_assert(lists_nodes<P, G>,
                "hocket: the policy's node is no integer type, so it must list the nodes in program order. Write: "
                "static void for_each_node(const G&, auto&& f); it calls f(node)");
}

// A sentence for nodes without a number, which edges need.
template <class P, class G>
constexpr void require_numbers() {
  static_assert(std::integral<typename P::node> || index_policy<P, G>,
                "hocket: the policy's node is no integer type, so it must number the nodes. Write: "
                "static std::size_t index_of(const G&, node);");
}

// Refuses what cannot be a variable, or a part of one. It stands few calls below the host's own: compilers print each
// call above a sentence.
template <class P, class G>
struct variable_judge {
  const P* policy;
  const G* host;
  template <class V>
  constexpr void operator()(const V& reported) const {
    static_assert(!ambiguous_pointer<V>,
                  "hocket: the policy reports a char* as a variable, which may be a text or an address. Write "
                  "f(std::string_view(name)) for a text that ends in a zero, or "
                  "f(static_cast<const void*>(buffer)) for the address of a buffer");
    static_assert(variable<V> || ambiguous_pointer<V>,
                  "hocket: the policy reports a variable of a type that cannot name one. Report an integer, an "
                  "enumeration, a pointer, a std::string, a std::string_view or a hocket::graph::storage_range, such "
                  "as the number or the address of your object");
    if constexpr (!std::is_void_v<P>)
      if constexpr (tells_parts<P, G, V>)
        policy->for_each_part(*host, reported, variable_judge<void, G>{nullptr, host});
  }
  template <class... Reported>
    requires(sizeof...(Reported) != 1)
  constexpr void operator()(const Reported&...) const {
    static_assert(sizeof...(Reported) == 1,
                  "hocket: the policy calls f with more or less than one variable. Write: f(variable)");
  }
};
// Is instantiated, and never called.
template <class P, class G>
void judge_variables(const P& policy, const G& host, const typename P::node& n) {
  const variable_judge<P, G> judge{&policy, &host};
  policy.for_each_read(host, n, judge);
  policy.for_each_write(host, n, judge);
  if constexpr (tells_inplace<P, G>) policy.for_each_inplace(host, n, judge);
}

template <class P, class G>
constexpr void require_effects() {
  if constexpr (std::is_arithmetic_v<P>) {
    static_assert(!std::is_arithmetic_v<P>,
                  "hocket: a number stands where the policy is passed: the second argument. Leave it out if "
                  "hocket::graph_access<G> is specialised; dependencies_of_steps always looks at two steps");
  } else if constexpr (!names_node<P>) {
    static_assert(names_node<P>,
                  "hocket: no policy tells what the ops of this host type read and write. Specialise "
                  "hocket::graph_access<G> with: using node = std::uint32_t; static std::size_t node_count(const G&); "
                  "static void for_each_read(const G&, node, auto&& f); static void for_each_write(const G&, node, "
                  "auto&& f); or pass such a policy as the second argument. Its members must be public");
  } else {
    require_nodes<P, G>();
    static_assert(lists_reads<P, G>,
                  "hocket: the policy has no for_each_read that can be called on a const policy with a node. Write: "
                  "static void for_each_read(const G&, node, auto&& f); it calls f(variable)");
    static_assert(lists_writes<P, G>,
                  "hocket: the policy has no for_each_write that can be called on a const policy with a node. Write: "
                  "static void for_each_write(const G&, node, auto&& f); it calls f(variable)");
    detail::check_optional_members<P, G>();
    if constexpr (lists_reads<P, G> && lists_writes<P, G>) static_cast<void>(&judge_variables<P, G>);
  }
}

template <class P, class G>
constexpr void require_edges() {
  if constexpr (!names_node<P> || lists_reads<P, G>) {
    static_assert(successors_policy<P, G> || predecessors_policy<P, G>,
                  "hocket: no policy tells the successors of a node of this host type. Specialise "
                  "hocket::graph_access<G> with: using node = std::uint32_t; static std::size_t node_count(const G&); "
                  "static void for_each_successor(const G&, node, auto&& f); or, where nodes know their operands, "
                  "for_each_predecessor with the same parameters; or pass such a policy as the second argument");
  } else {
    require_nodes<P, G>();
    require_numbers<P, G>();
    static_assert(lists_successors<P, G> || lists_predecessors<P, G>,
                  "hocket: the policy has no for_each_successor that can be called on a const policy with a node, and "
                  "no for_each_predecessor. Write one: static void for_each_successor(const G&, node, auto&& f); it "
                  "calls f(node)");
  }
}

// A policy that can be judged tells edges, or both reads and writes. One of these two alone is a mistake, also beside
// edges.
template <class P, class G>
constexpr void require_edges_or_effects() {
  if constexpr ((lists_successors<P, G> || lists_predecessors<P, G>) && lists_reads<P, G> == lists_writes<P, G>) {
    require_nodes<P, G>();
    require_numbers<P, G>();
  } else {
    require_effects<P, G>();
  }
}

}  // namespace hocket::inline HOCKET_ABI::graph::detail
