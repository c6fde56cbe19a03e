// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of xla::HloReachabilityMap over a hocket dag: what a pass includes in place of hlo_reachability.h. The file
// to copy into your project, with hlo_access.hpp.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/graph/dag.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/log/log.h"
#include "absl/types/span.h"
#include "hlo_access.hpp"

namespace xla {

// Unlike XLA's map this one is transitive after every call, and keeps no order that is not implied by an edge.
class HocketReachabilityMap {
 public:
  using Index = hocket::node_id;
  using AddDependencies = absl::FunctionRef<void(const HloInstruction*, std::vector<HloInstruction*>*)>;

  // Instructions of one computation, without edges.
  explicit HocketReachabilityMap(absl::Span<const HloInstruction* const> instructions) {
    if (!instructions.empty()) computation_ = instructions[0]->parent()->unique_id();
    for (std::size_t i = 0; i < instructions.size(); ++i) SetIndex(instructions[i], static_cast<Index>(i));
    dag_.assign(instructions.size(), {}).value();
  }
  HocketReachabilityMap(const HocketReachabilityMap&) = delete;
  HocketReachabilityMap& operator=(const HocketReachabilityMap&) = delete;

  static std::unique_ptr<HocketReachabilityMap> Build(const HloComputation* computation) {
    return Build(*computation, hlo_order(*computation));
  }
  // Null, and a sentence in the log, if the dependencies have a cycle or lead to another computation.
  static std::unique_ptr<HocketReachabilityMap> BuildWithRestrictions(const HloComputation* computation,
                                                                      AddDependencies add_dependencies) {
    return Build(*computation, restricted(*computation, add_dependencies));
  }

  Index GetIndex(const HloInstruction* i) const { return indices_[static_cast<std::size_t>(i->local_id())]; }
  bool IsReachable(Index a, Index b) const { return a == b || dag_.reaches(a, b); }
  bool IsReachable(const HloInstruction* a, const HloInstruction* b) const {
    return IsReachable(GetIndex(a), GetIndex(b));
  }
  bool IsConnected(Index a, Index b) const { return a == b || dag_.ordered(a, b); }
  bool IsConnected(const HloInstruction* a, const HloInstruction* b) const {
    return IsConnected(GetIndex(a), GetIndex(b));
  }
  bool IsPresent(const HloInstruction* i) const {
    if (i == nullptr || i->parent() == nullptr || i->parent()->unique_id() != computation_) return false;
    return static_cast<std::size_t>(i->local_id()) < indices_.size() && GetIndex(i) != hocket::no_id;
  }

  // From now on `replacement` is what `original` was.
  void Replace(const HloInstruction* original, const HloInstruction* replacement) {
    if (original == replacement) return;
    const Index index = GetIndex(original);
    SetIndex(original, hocket::no_id);
    SetIndex(replacement, index);
  }

  // These add order and never take any away; what follows `b` or `instruction` is updated too.
  void SetReachable(const HloInstruction* a, const HloInstruction* b) { SetReachable(GetIndex(a), GetIndex(b)); }
  void SetReachable(Index a, Index b) { dag_.add_edge(a, b); }
  bool SetReachabilityToUnion(absl::Span<const HloInstruction* const> inputs, const HloInstruction* instruction) {
    bool changed = false;
    for (const HloInstruction* input : inputs)
      if (dag_.add_edge(GetIndex(input), GetIndex(instruction)) == hocket::graph::edge_status::added) changed = true;
    return changed;
  }
  void FastSetReachabilityToUnion(absl::Span<const HloInstruction* const> inputs, const HloInstruction* instruction) {
    SetReachabilityToUnion(inputs, instruction);
  }
  void FastSetReachabilityToUnion(absl::Span<const Index> inputs, Index index) {
    for (const Index input : inputs) dag_.add_edge(input, index);
  }
  void UpdateMultipleInstructions(
      const absl::flat_hash_map<const HloInstruction*, absl::flat_hash_set<const HloInstruction*>>& to_update) {
    for (const auto& [instruction, added] : to_update)
      for (const HloInstruction* before : added) SetReachable(before, instruction);
  }

  // After the operands or control predecessors of `instruction` have changed. New ones cost an add_edge each; when one
  // is gone, the map is built again from the computation.
  void UpdateReachabilityThroughInstruction(const HloInstruction* instruction) {
    const Index index = GetIndex(instruction);
    std::vector<Index> before;
    ForEachPredecessor(*instruction, [&](Index p) { before.push_back(p); });
    for (const Index p : Neighbours(index, index, [this](Index i) { return dag_.upstream(i); }))
      if (std::find(before.begin(), before.end(), p) == before.end()) return BuildAgain(*instruction->parent());
    for (const Index p : before) dag_.add_edge(p, index);
  }

  // From now on both are one instruction. False, and nothing changes, if a path leads from one to the other through a
  // third.
  bool UpdateReachabilityForMerge(const HloInstruction* left, const HloInstruction* right) {
    const Index gone = GetIndex(left), kept = GetIndex(right);
    if (gone == kept) return true;
    const auto upstream = [this](Index i) { return dag_.upstream(i); };
    const auto downstream = [this](Index i) { return dag_.downstream(i); };
    const std::vector<Index> before = Neighbours(gone, kept, upstream), after = Neighbours(gone, kept, downstream);
    for (const Index p : before)
      if (dag_.reaches(kept, p)) return false;
    for (const Index s : after)
      if (dag_.reaches(s, kept)) return false;
    for (const Index p : before) dag_.add_edge(p, kept);
    for (const Index s : after) dag_.add_edge(kept, s);
    for (Index i = static_cast<Index>(stands_for_.size()); i < dag_.node_count(); ++i) stands_for_.push_back(i);
    std::replace(stands_for_.begin(), stands_for_.end(), gone, kept);
    std::replace(indices_.begin(), indices_.end(), gone, kept);
    return true;
  }
  // A merge is cheap enough to do at once.
  void DeferReachabilityUpdateForMerge(const HloInstruction* left, const HloInstruction* right) {
    UpdateReachabilityForMerge(left, right);
  }

  // Beyond XLA's: the edges that are worth waiting for, paths, ancestors and so on.
  const hocket::graph::dag<>& dag() const { return dag_; }

 private:
  struct restricted : hlo_order {
    restricted(const HloComputation& c, AddDependencies add) : hlo_order(c), add_dependencies(add) {}
    void for_each_predecessor(const HloComputation&, node n, auto&& f) const {
      before.clear();
      add_dependencies(n, &before);
      for (const node p : before) f(p);
    }
    AddDependencies add_dependencies;
    mutable std::vector<HloInstruction*> before;
  };

  HocketReachabilityMap() = default;

  static std::unique_ptr<HocketReachabilityMap> Build(const HloComputation& computation, auto order) {
    std::unique_ptr<HocketReachabilityMap> map(new HocketReachabilityMap);
    if (const hocket::result<void> built = map->dag_.assign(computation, order); !built) {
      LOG(ERROR) << computation.name() << ": " << message(built.error());
      return nullptr;
    }
    map->computation_ = computation.unique_id();
    map->indices_ = std::move(order.numbers);
    return map;
  }
  void BuildAgain(const HloComputation& computation) {
    std::vector<hocket::graph::edge> edges;
    for (const HloInstruction* i : computation.instructions())
      if (IsPresent(i)) ForEachPredecessor(*i, [&](Index p) { edges.push_back({p, GetIndex(i)}); });
    const std::size_t nodes = dag_.node_count();
    dag_.clear();  // builds in the memory that is there
    dag_.assign(nodes, edges).value();
  }

  void ForEachPredecessor(const HloInstruction& i, auto&& f) const {
    hlo_order::for_each_predecessor(*i.parent(), &i, [&](const HloInstruction* p) {
      if (GetIndex(p) != GetIndex(&i)) f(GetIndex(p));
    });
  }
  // The instructions next to i, but for `other`. What was merged into i keeps its edges and may stand between: then the
  // ones beyond are next to i.
  std::vector<Index> Neighbours(Index i, Index other, auto&& edges) const {
    std::vector<Index> found, merged{i};
    while (!merged.empty()) {
      const Index from = merged.back();
      merged.pop_back();
      for (const Index next : edges(from)) {
        const Index one = stands_for_.empty() ? next : stands_for_[next];
        if (one == i) merged.push_back(next);
        else if (one != other) found.push_back(one);
      }
    }
    return found;
  }
  void SetIndex(const HloInstruction* i, Index index) {
    const auto id = static_cast<std::size_t>(i->local_id());
    if (id >= indices_.size()) indices_.resize(id + 1, hocket::no_id);
    indices_[id] = index;
  }

  hocket::graph::dag<> dag_;
  std::vector<Index> indices_;     // by local_id
  std::vector<Index> stands_for_;  // by index, once instructions were merged: the index of all that are one with it
  int64_t computation_ = -1;
};

}  // namespace xla
