// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every graph_access policy must obey on a host's graph: so that a host can test its own policy in its own
// project, with any test framework.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/graph/dag.hpp>
#include <hocket/graph/dependencies.hpp>
#include <hocket/graph/detail/policy_members.hpp>
#include <hocket/graph/detail/required_members.hpp>
#include <hocket/graph/detail/variable.hpp>
#include <hocket/testing/graph_laws.hpp>
#include <hocket/testing/memory_check.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hocket::inline HOCKET_ABI::testing {

namespace detail {

/// Is P a policy, or meant as one: missing members, also private ones, are then told in a sentence.
template <class P, class G>
concept meant_as_policy =
    graph::detail::names_node<P> || std::is_same_v<P, graph_access<G>> || graph::detail::names_node_count<P>;

/// What a policy reports of a variable, as text that can be compared and printed.
template <class V>
[[nodiscard]] std::string text_of(const V& v) {
  if constexpr (std::is_same_v<V, graph::storage_range>) {
    return "bytes " + std::to_string(v.first) + " to " + std::to_string(v.end) + " of space " + std::to_string(v.space);
  } else if constexpr (graph::detail::text_variable<V>) {
    return std::string(graph::detail::letters_of(v));
  } else if constexpr (std::is_pointer_v<V>) {
    return std::to_string(reinterpret_cast<std::uintptr_t>(v));
  } else {
    return std::to_string(static_cast<std::uint64_t>(v));
  }
}

/// Where a range of bytes is empty or ends before it begins.
template <class V>
[[nodiscard]] bool is_empty_range(const V& v) {
  if constexpr (std::is_same_v<V, graph::storage_range>) return v.first >= v.end;
  else return false;
}

template <class P, class G>
class access_laws {
 public:
  using node = typename P::node;
  static constexpr bool is_indexed = std::integral<node> || graph::index_policy<P, G>;

  access_laws(const P& policy, const G& host)
      : policy_(policy), host_(host), count_(static_cast<std::size_t>(policy.node_count(host))) {}

  /// As many nodes as are admitted to, each with a number of its own, in the same order again.
  [[nodiscard]] std::string nodes() {
    graph::detail::for_each_node(policy_, host_, [&](const node& n) { nodes_.push_back(n); });
    if (nodes_.size() != count_)
      return "node_count is " + std::to_string(count_) + ", but for_each_node visits " + std::to_string(nodes_.size());
    std::size_t i = 0;
    bool same = true;
    graph::detail::for_each_node(policy_, host_, [&](const node& n) {
      same = same && i < count_ && n == nodes_[i];
      ++i;
    });
    if (!same || i != count_) return "for_each_node visits other nodes when it is called again";
    if constexpr (is_indexed) {
      std::vector<std::size_t> holder(count_, count_);
      for (i = 0; i < count_; ++i) {
        const std::size_t number = graph::detail::index_of(policy_, host_, nodes_[i]);
        const std::string node_i = "index_of node " + std::to_string(i) + " is " + std::to_string(number);
        if (number >= count_) return node_i + ", but node_count is " + std::to_string(count_);
        if (holder[number] != count_) return node_i + ", as of node " + std::to_string(holder[number]);
        if (graph::detail::index_of(policy_, host_, nodes_[i]) != number) return node_i + ", and another one again";
        holder[number] = i;
      }
    }
    return {};
  }

  /// Neighbours exist, are not the node itself, and are the same again; both directions agree where both are offered.
  [[nodiscard]] std::string neighbours() const {
    std::vector<graph::edge> down, up, control;
    std::string broken;
    if constexpr (graph::successors_policy<P, G>) {
      const auto visit = [this](const node& n, const auto& f) { policy_.for_each_successor(host_, n, f); };
      broken = edges("successor", visit, down, false);
    }
    if constexpr (graph::predecessors_policy<P, G>) {
      const auto visit = [this](const node& n, const auto& f) { policy_.for_each_predecessor(host_, n, f); };
      if (broken.empty()) broken = edges("predecessor", visit, up, true);
    }
    if constexpr (graph::detail::tells_control<P, G> && is_indexed) {
      const auto visit = [this](const node& n, const auto& f) { policy_.for_each_control(host_, n, f); };
      if (broken.empty()) broken = edges("control", visit, control, true);
    }
    if (!broken.empty()) return broken;
    if constexpr (graph::successors_policy<P, G> && graph::predecessors_policy<P, G>) {
      const auto differs = [](const graph::edge& e) {
        return "edge " + std::to_string(e.source) + " -> " + std::to_string(e.target) +
               " is among the successors or the predecessors, not both";
      };
      for (std::size_t i = 0; i < down.size() || i < up.size(); ++i)
        if (i >= down.size() || i >= up.size() || !(down[i] == up[i])) {
          const bool is_down = i < down.size() && (i >= up.size() || down[i] < up[i]);
          return differs(is_down ? down[i] : up[i]);
        }
    }
    if constexpr (graph::successors_policy<P, G> || graph::predecessors_policy<P, G>)
      if (const auto g = graph::dag<>::make(host_, policy_); !g) return message(g.error());
    return {};
  }

  /// What ops read and write is the same again; ranges have bytes; kinds exist.
  [[nodiscard]] std::string effects() const {
    if constexpr (graph::effects_policy<P, G>) {
      for (std::size_t i = 0; i < count_; ++i) {
        std::string here = "node " + std::to_string(i);
        std::string empty;
        const std::vector<std::string> first = touched(nodes_[i], empty);
        if (!empty.empty()) return here.append(" touches an empty range, ").append(empty);
        if (touched(nodes_[i], empty) != first) return here.append(" reads or writes something else when asked again");
        if constexpr (graph::detail::tells_kind<P, G>)
          if (const auto k = static_cast<std::size_t>(policy_.kind(host_, nodes_[i])); k >= graph::op_kind_count)
            return "the kind of " + here + " is " + std::to_string(k);
      }
    }
    return {};
  }

  /// All else that the policy tells is the same again.
  [[nodiscard]] std::string repeats() const {
    for (std::size_t i = 0; i < count_; ++i) {
      const std::vector<fact> first = facts_of(nodes_[i]), again = facts_of(nodes_[i]);
      for (std::size_t f = 0; f < first.size() && f < again.size(); ++f)
        if (first[f].text != again[f].text)
          return std::string(first[f].member) + " of node " + std::to_string(i) + " gives \"" + first[f].text +
                 "\" and then \"" + again[f].text + "\"";
    }
    return {};
  }

  /// The dependencies exist, keep the memory right by a comparison of all accesses, and their edges are the transitive
  /// reduction by its definition.
  [[nodiscard]] std::string answers(std::size_t most_nodes) const {
    if constexpr (graph::effects_policy<P, G>) {
      const auto deps = graph::dependencies(host_, policy_);
      if (!deps) return message(deps.error());
      if (const auto proved = check_against_memory(*deps, host_, policy_); !proved) return message(proved.error());
      if (count_ <= most_nodes)
        return broken_law(deps->graph(), graph_oracle(count_, graph::rule_edges(host_, policy_).value()));
    }
    return {};
  }

 private:
  // What an optional member tells of a node.
  struct fact {
    std::string_view member;  ///< literal
    std::string text;
  };
  [[nodiscard]] std::vector<fact> facts_of(const node& n) const {
    std::vector<fact> all;
    if constexpr (graph::detail::tells_kind<P, G>)
      all.push_back({"kind", std::to_string(static_cast<int>(policy_.kind(host_, n)))});
    if constexpr (graph::stream_policy<P, G>) all.push_back({"stream", std::to_string(policy_.stream(host_, n))});
    if constexpr (graph::detail::tells_starts<P, G>) all.push_back({"starts", policy_.starts(host_, n) ? "1" : "0"});
    if constexpr (graph::detail::tells_barrier<P, G>)
      all.push_back({"barrier", std::to_string(static_cast<int>(policy_.barrier(host_, n)))});
    if constexpr (graph::detail::tells_resources<P, G>) {
      std::string text;
      policy_.for_each_resource(host_, n, [&text](const graph::ordered_resource& r) {
        add_word(text, std::to_string(static_cast<int>(r.kind)) + ":" + std::to_string(r.id));
      });
      all.push_back({"for_each_resource", text});
    }
    if constexpr (graph::detail::tells_lifetime<P, G> && is_indexed) {
      std::string text;
      policy_.for_each_lifetime(host_, n, [&](const auto& m) {
        add_word(text, std::to_string(graph::detail::index_of(policy_, host_, static_cast<node>(m))));
      });
      all.push_back({"for_each_lifetime", text});
    }
    if constexpr (graph::effects_policy<P, G>) all.push_back({"for_each_part", parts_of(n)});
    return all;
  }
  // The parts of all that a node touches, one variable after the other.
  [[nodiscard]] std::string parts_of(const node& n) const {
    std::string text;
    const auto note = [&](const auto& variable) {
      graph::detail::for_each_part(policy_, host_, variable, [&](const auto& part) { add_word(text, text_of(part)); });
    };
    policy_.for_each_read(host_, n, note);
    policy_.for_each_write(host_, n, note);
    if constexpr (graph::detail::tells_inplace<P, G>) policy_.for_each_inplace(host_, n, note);
    return text;
  }
  static void add_word(std::string& text, const std::string& word) {
    if (!text.empty()) text += ", ";
    text += word;
  }

  /// Collects the edges that one member reports, sorted and once each; says which one cannot be.
  template <class Visit>
  [[nodiscard]] std::string edges(std::string_view what, const Visit& visit, std::vector<graph::edge>& into,
                                  bool reversed) const {
    for (const node& n : nodes_) {
      const auto here = static_cast<node_id>(graph::detail::index_of(policy_, host_, n));
      std::vector<std::size_t> found, again;
      visit(n, [&](const auto& m) { found.push_back(graph::detail::index_of(policy_, host_, static_cast<node>(m))); });
      visit(n, [&](const auto& m) { again.push_back(graph::detail::index_of(policy_, host_, static_cast<node>(m))); });
      const std::string of = std::string(what) + " of node " + std::to_string(here);
      if (found != again) return "another " + of + " when asked again";
      for (const std::size_t other : found) {
        if (other >= count_) return "a " + of + " is " + std::to_string(other) + ", beyond the last node";
        if (other == here) return "a " + of + " is the node itself";
        const auto there = static_cast<node_id>(other);
        into.push_back(reversed ? graph::edge{there, here} : graph::edge{here, there});
      }
    }
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
    return {};
  }

  [[nodiscard]] std::vector<std::string> touched(const node& n, std::string& empty) const {
    std::vector<std::string> all;
    const auto note = [&](const auto& v) {
      all.push_back(text_of(v));
      if (is_empty_range(v)) empty = all.back();
    };
    policy_.for_each_read(host_, n, note);
    all.emplace_back("writes");
    policy_.for_each_write(host_, n, note);
    if constexpr (graph::detail::tells_inplace<P, G>) policy_.for_each_inplace(host_, n, note);
    return all;
  }

  const P& policy_;
  const G& host_;
  std::size_t count_;
  std::vector<node> nodes_;
};

}  // namespace detail

/// Whether a policy tells the truth about a host's graph. There are as many nodes as it says, numbered once each.
/// Neighbours exist, are the same both ways, and make no cycle. Effects are of bytes that exist. All that a policy
/// tells is the same when it is asked again: reads, writes, parts, kinds, streams, starts, barriers, resources,
/// lifetimes. As the proof of the whole, a comparison of all accesses to memory confirms the dependencies, and the
/// definition their reduction. A policy that tells neither edges nor both reads and writes does not compile.
/// @param most_nodes  graphs with more nodes are not compared with the definition of the reduction, which is O(n³)
/// @return an empty string, or the first law that is broken with its culprit
///
///     CHECK(hocket::testing::broken_law(my_program, hocket::graph_access<my::program>{}) == "");
template <class G, class Policy>
  requires detail::meant_as_policy<Policy, G>
[[nodiscard]] std::string broken_law(const G& host, const Policy& policy, std::size_t most_nodes = 300) {
  graph::detail::require_edges_or_effects<Policy, G>();
  if constexpr (graph::node_policy<Policy, G>) {
    detail::access_laws<Policy, G> laws(policy, host);
    std::string broken = laws.nodes();
    if (broken.empty()) broken = laws.neighbours();
    if (broken.empty()) broken = laws.effects();
    if (broken.empty()) broken = laws.repeats();
    if (broken.empty()) broken = laws.answers(most_nodes);
    return broken;
  } else {
    return "no policy";
  }
}

}  // namespace hocket::inline HOCKET_ABI::testing
