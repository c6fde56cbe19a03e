// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/dependencies.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

/// What an edge promises. A data edge makes the results of one op visible to another; a control edge orders them; a
/// lifetime edge keeps what the source owns alive until the target has run, and orders them.
enum class edge_kind : std::uint8_t { data, control, lifetime };

[[nodiscard]] constexpr std::string_view to_string(edge_kind k) noexcept {
  return k == edge_kind::data ? "data" : k == edge_kind::control ? "control" : "lifetime";
}

struct kinded_edge {
  edge what;
  edge_kind kind = edge_kind::data;
  friend constexpr bool operator==(const kinded_edge&, const kinded_edge&) = default;
};

/// The dependencies of a program whose edges are of different kinds, each pruned only by what is at least as strong.
///
/// *Kept are exactly:*
/// * of the data edges, those that no path of two or more data edges implies: the transitive reduction of the data
///   edges alone. A control path says nothing about visibility, and streams derive their events from data edges;
/// * every lifetime edge: a path orders two ops, but holds nothing alive;
/// * of the control edges, those that no path of two or more edges of any kinds implies, and beside which no data or
///   lifetime edge joins the same two ops.
///
/// So the kept edges order what all edges order, and the kept data edges what the data edges order.
/// @tparam Index  one that can truncate, so that a failed append is taken back without memory
template <truncating_index Index = persistent_index>
class kinded_dependencies {
 public:
  static constexpr bool returns_views = true;  // order, data, lifetime: see result::operator->

  kinded_dependencies() = default;
  kinded_dependencies(dag<Index> order, dag<Index> data, std::vector<edge> lifetime,
                      std::vector<explained_edge> reasons = {}) noexcept
      : order_(std::move(order)),
        data_(std::move(data)),
        lifetime_(std::move(lifetime)),
        reasons_(std::move(reasons)) {}

  [[nodiscard]] std::size_t node_count() const noexcept { return order_.node_count(); }
  /// Must a run before b, for whatever reason? O(1).
  [[nodiscard]] bool reaches(node_id a, node_id b) const noexcept { return order_.reaches(a, b); }
  /// Does a path of data edges lead from a to b? O(1).
  [[nodiscard]] bool data_reaches(node_id a, node_id b) const noexcept { return data_.reaches(a, b); }
  /// The reduction of all edges: what a scheduler of the host counts down.
  [[nodiscard]] const dag<Index>& order() const& noexcept { return order_; }
  const dag<Index>& order() const&& = delete;
  /// The reduction of the data edges: what a stream plan is made from.
  [[nodiscard]] const dag<Index>& data() const& noexcept { return data_; }
  const dag<Index>& data() const&& = delete;
  /// Every lifetime edge, by source, then target.
  [[nodiscard]] std::span<const edge> lifetime() const& noexcept { return lifetime_; }
  std::span<const edge> lifetime() const&& = delete;

  /// Adds the next op: after `data` by data edges, after `control` by control edges, after `lifetime` by lifetime
  /// edges. Each in any order, repetitions allowed.
  /// @return its id; errc::bad_order, errc::unknown_node, errc::limit_exceeded as dag::append
  /// Complexity: two appends. New lifetime edges push along those behind them.
  result<node_id> append(std::span<const node_id> data, std::span<const node_id> control = {},
                         std::span<const node_id> lifetime = {}) {
    std::vector<node_id> all(data.begin(), data.end());
    all.insert(all.end(), control.begin(), control.end());
    all.insert(all.end(), lifetime.begin(), lifetime.end());
    std::vector<node_id> owners(lifetime.begin(), lifetime.end());
    std::sort(owners.begin(), owners.end());
    owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
    make_room(owners.size());
    struct undo {  // needs no memory: the index can truncate
      dag<Index>* data;
      dag_snapshot before;
      bool is_done = false;
      ~undo() {
        if (!is_done) static_cast<void>(data->rollback(before));
        data->forget_snapshots();
      }
    } undo_unless_done{&data_, data_.snapshot()};
    if (const result<node_id> id = data_.append(data); !id) return id;
    const result<node_id> id = order_.append(all);
    if (!id) return id;
    undo_unless_done.is_done = true;
    hold(owners, *id);
    return id;
  }

  /// Adds an edge between existing ops at any time. What it makes redundant is removed, kind by kind.
  /// @return what became of it among the edges of its kind: a data edge is `redundant` only if data edges imply it, a
  ///         control edge if any do, a lifetime edge never. When it is rejected nothing has changed, and
  ///         order().path(b, a) is the witness of a cycle
  /// Complexity: as dag::add_edge; a data edge that is new to the data also copies the data dag.
  edge_status add_edge(node_id a, node_id b, edge_kind kind) {
    if (a >= node_count() || b >= node_count()) return edge_status::unknown_node;
    if (a == b) return edge_status::self;
    if (order_.reaches(b, a)) return edge_status::cycle;
    if (kind == edge_kind::control) return order_.add_edge(a, b);
    if (kind == edge_kind::lifetime) {
      if (std::binary_search(lifetime_.begin(), lifetime_.end(), edge{a, b})) return edge_status::duplicate;
      make_room(1);
      static_cast<void>(order_.add_edge(a, b));
      hold({&a, 1}, b);
      return edge_status::added;
    }
    if (data_.reaches(a, b)) return data_.add_edge(a, b);
    dag<Index> data(data_);
    const edge_status s = data.add_edge(a, b);
    static_cast<void>(order_.add_edge(a, b));  // the last step that may throw
    data_ = std::move(data);
    return s;
  }

  /// Why the kept edge a -> b exists, by the first rule in the order of `rule` that asked for it; nothing if it is not
  /// kept, was added later, or without dependency_options::reasons. O(log edges).
  [[nodiscard]] std::optional<reason> why(node_id a, node_id b) const noexcept {
    return detail::find_reason(reasons_, {a, b});
  }

  /// The kept edges, by source, target, kind. O(edges log edges).
  [[nodiscard]] std::vector<kinded_edge> edges() const {
    std::vector<kinded_edge> all;
    const std::vector<edge> data = data_.edges();
    for (const edge& e : data) all.push_back({e, edge_kind::data});
    for (const edge& e : lifetime_) all.push_back({e, edge_kind::lifetime});
    // Whatever is left of the reduction of all edges is control: a data edge in it is in the reduction of the data too.
    for (const edge& e : order_.edges())
      if (!std::binary_search(data.begin(), data.end(), e) &&
          !std::binary_search(lifetime_.begin(), lifetime_.end(), e))
        all.push_back({e, edge_kind::control});
    std::sort(all.begin(), all.end(), [](const kinded_edge& x, const kinded_edge& y) {
      return x.what == y.what ? x.kind < y.kind : x.what < y.what;
    });
    return all;
  }

 private:
  void make_room(std::size_t more) {
    const std::size_t need = lifetime_.size() + more, held = lifetime_.capacity();
    if (need > held) lifetime_.reserve(need < 2 * held ? 2 * held : need);
  }
  // Adds lifetime edges into b, for which there is room, and of which none is there. Ascending.
  void hold(std::span<const node_id> owners, node_id b) noexcept {
    std::size_t end = lifetime_.size(), left = owners.size();
    lifetime_.resize(end + left);
    const auto first = lifetime_.begin();
    const auto at = [first](std::size_t i) { return first + static_cast<std::ptrdiff_t>(i); };
    for (; left != 0; --left) {
      const edge e{owners[left - 1], b};
      const auto place = std::lower_bound(first, at(end), e);
      std::move_backward(place, at(end), at(end + left));
      end = static_cast<std::size_t>(place - first);
      *at(end + left - 1) = e;
    }
  }

  dag<Index> order_, data_;
  std::vector<edge> lifetime_;
  std::vector<explained_edge> reasons_;  // of the kept edges, sorted
};

namespace detail {

template <truncating_index Index, class G, class Policy>
[[nodiscard]] result<kinded_dependencies<Index>> derive_by_kind(const G& host, const dependency_options& options,
                                                                const Policy& policy,
                                                                std::pmr::memory_resource* memory) {
  dag<Index> order(memory), data(memory);
  late_rules late;
  std::vector<edge> lifetime;
  std::vector<explained_edge> reasons;
  const auto explain = [&](const edge& e, const reason& why) {
    if (options.reasons) reasons.push_back({e, why});
  };
  std::vector<node_id> preds;
  const auto add = [&](const typename Policy::node& n, node_id b, hazard_rules& rules) -> result<void> {
    const std::span<const node_id> ruled = rules.predecessors(b);
    preds.assign(ruled.begin(), ruled.end());
    for (std::size_t i = 0; i < ruled.size(); ++i) explain({ruled[i], b}, rules.reasons()[i]);
    if constexpr (tells_lifetime<Policy, G>)
      policy.for_each_lifetime(host, n, [&](const auto& other) {
        const std::size_t i = detail::index_of(policy, host, static_cast<typename Policy::node>(other));
        const node_id a = i < no_id ? static_cast<node_id>(i) : no_id;
        lifetime.push_back({a, b});
        explain({a, b}, {rule::lifetime, 0});
        if (a < b) preds.push_back(a);
        else late.lifetime.push_back({a, b});
      });
    if (const result<node_id> id = data.append(ruled.first(rules.data_predecessors())); !id) return id.error();
    if (const result<node_id> id = order.append(preds); !id) return id.error();
    return {};
  };
  result<void> outcome = detail::for_each_op(policy, host, options, memory, late, add);
  if (outcome) outcome = detail::add_late(order, late, [&](const edge& e, rule why) { explain(e, {why, 0}); });
  if (!outcome) return outcome.error();
  std::sort(lifetime.begin(), lifetime.end());
  lifetime.erase(std::unique(lifetime.begin(), lifetime.end()), lifetime.end());
  detail::keep_reasons(reasons, [&](const edge& e) {
    return is_among(order.downstream(e.source), e.target) || is_among(data.downstream(e.source), e.target) ||
           std::binary_search(lifetime.begin(), lifetime.end(), e);
  });
  return kinded_dependencies<Index>(std::move(order), std::move(data), std::move(lifetime), std::move(reasons));
}

}  // namespace detail

/// As dependencies, with the kinds told apart. RAW, WAR and WAW make data edges; resources, barriers, control edges and
/// the start-up rule control edges; the policy's optional for_each_lifetime(host, node, f), f(node) for each op whose
/// memory this op must outlive, lifetime edges.
/// @return as dependencies
/// Complexity: as dependencies, with two indexes.
///
///     const auto deps = hocket::graph::dependencies_by_kind(program);
///     for (auto [e, kind] : deps->edges()) ...
template <truncating_index Index = persistent_index, class G, class Policy>
[[nodiscard]] result<kinded_dependencies<Index>> dependencies_by_kind(
    const G& host, const Policy& policy, const dependency_options& options = {},
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  detail::require_effects<Policy, G>();
  if constexpr (effects_policy<Policy, G>) {
    return detail::derive_by_kind<Index>(host, options, policy, memory);
  } else {
    return error{errc::invalid_argument};
  }
}
template <truncating_index Index = persistent_index, class G>
[[nodiscard]] result<kinded_dependencies<Index>> dependencies_by_kind(
    const G& host, const dependency_options& options = {},
    std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  return graph::dependencies_by_kind<Index>(host, graph_access<G>{}, options, memory);
}

}  // namespace hocket::inline HOCKET_ABI::graph
