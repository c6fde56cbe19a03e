// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of xla::HloReachabilityMap over a hocket dag: what a pass includes in place of hlo_reachability.h. The file
// to copy into your project, with hlo_access.hpp.
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/graph/dag.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/log/log.h"
#include "absl/types/span.h"
#include "hlo_access.hpp"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Answers every call as XLA's map does (of TensorFlow 2.21), in every order of calls. XLA's map is a matrix of bits
// that a caller may set to anything. As long as they are the reachability of a graph without cycles, they are kept as a
// dag, which is smaller and takes new edges faster. The first call after which they are not makes it the matrix.
class HocketReachabilityMap {
 public:
  using Index = std::size_t;
  using AddDependencies = absl::FunctionRef<void(const HloInstruction*, std::vector<HloInstruction*>*)>;

  // Instructions without edges.
  explicit HocketReachabilityMap(absl::Span<const HloInstruction* const> instructions) {
    if (!instructions.empty()) main_ = key_of(instructions[0]);
    for (std::size_t i = 0; i < instructions.size(); ++i) SetIndex(instructions[i], id(i));
    dag_.assign(instructions.size(), {}).value();
  }
  HocketReachabilityMap(const HocketReachabilityMap&) = delete;
  HocketReachabilityMap& operator=(const HocketReachabilityMap&) = delete;

  static std::unique_ptr<HocketReachabilityMap> Build(const HloComputation* computation) {
    std::unique_ptr<HocketReachabilityMap> map(new HocketReachabilityMap);
    hlo_order order(*computation);
    if (const hocket::result<void> built = map->dag_.assign(*computation, order); !built)
      LOG(FATAL) << computation->name() << ": " << message(built.error());  // a post order has no cycle
    map->main_ = key(computation->parent()->unique_id(), computation->unique_id());
    map->indices_ = std::move(order.numbers);
    return map;
  }
  static std::unique_ptr<HocketReachabilityMap> BuildWithRestrictions(const HloComputation* computation,
                                                                      AddDependencies add_dependencies) {
    const std::vector<HloInstruction*> all = computation->MakeInstructionPostOrder();
    auto map = std::make_unique<HocketReachabilityMap>(all);
    std::vector<std::vector<Index>> before(all.size());
    std::vector<HloInstruction*> inputs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      inputs.clear();
      add_dependencies(all[i], &inputs);
      before[i] = map->IndicesOf(inputs);
    }
    map->BuildInOrder(before);
    return map;
  }

  // Throws std::out_of_range for an instruction that is not in the map, and so do all calls that take one.
  Index GetIndex(const HloInstruction* i) const {
    const hocket::node_id found = FindIndex(i);
    if (found == hocket::no_id) ThrowOutOfRange();
    return found;
  }
  bool IsReachable(Index a, Index b) const {
    if (is_matrix_) return matrix_.has(a, b);
    return a == b || dag_.reaches(id(a), id(b));
  }
  bool IsReachable(const HloInstruction* a, const HloInstruction* b) const {
    const Index first = GetIndex(a), second = GetIndex(b);
    return IsReachable(first, second);
  }
  bool IsConnected(Index a, Index b) const { return IsReachable(a, b) || IsReachable(b, a); }
  bool IsConnected(const HloInstruction* a, const HloInstruction* b) const {
    const Index first = GetIndex(a), second = GetIndex(b);
    return IsConnected(first, second);
  }
  bool IsPresent(const HloInstruction* i) const {
    if (i == nullptr || i->GetModule() == nullptr) return false;
    return FindIndex(i) != hocket::no_id;
  }
  // As newer versions of XLA have it.
  bool IsPresent(const HloInstruction& i) const { return IsPresent(&i); }

  // From now on `replacement` is what `original` was.
  void Replace(const HloInstruction* original, const HloInstruction* replacement) {
    if (key_of(original) == key_of(replacement) && original->local_id() == replacement->local_id()) return;
    const Index index = GetIndex(original);
    SetIndex(replacement, id(index));
    SetIndex(original, hocket::no_id);
  }

  // From now on `a` reaches `b`; nothing follows from it.
  void SetReachable(const HloInstruction* a, const HloInstruction* b) {
    const Index first = GetIndex(a), second = GetIndex(b);
    SetReachable(first, second);
  }
  void SetReachable(Index a, Index b) {
    if (!is_matrix_ && SetInDag(a, b)) return;
    BecomeMatrix();
    matrix_.set(a, b);
  }

  // From now on exactly those reach `instruction` that reach one of `inputs`, and itself; what comes after it is not
  // updated. True if that is a change.
  bool SetReachabilityToUnion(absl::Span<const HloInstruction* const> inputs, const HloInstruction* instruction) {
    const Index index = GetIndex(instruction);
    const std::vector<Index> before = IndicesOf(inputs);
    bool changed = false;
    if (!is_matrix_ && UniteInDag(before, index, changed)) return changed;
    BecomeMatrix();
    return matrix_.unite_and_compare(before, index);
  }
  void FastSetReachabilityToUnion(absl::Span<const HloInstruction* const> inputs, const HloInstruction* instruction) {
    const Index index = GetIndex(instruction);
    Unite(IndicesOf(inputs), index);
  }
  void FastSetReachabilityToUnion(absl::Span<const Index> inputs, Index index) {
    Unite(std::vector<Index>(inputs.begin(), inputs.end()), index);
  }

  // After the operands or control predecessors of `instruction` have changed. New ones cost an add_edge each and a look
  // at the users that they reach; when one is gone, the dag is built again.
  void UpdateReachabilityThroughInstruction(const HloInstruction* instruction) {
    static_cast<void>(GetIndex(instruction));
    if (!is_matrix_ && (GrowThrough(instruction) || RebuildThrough(instruction))) return;
    BecomeMatrix();
    UpdateMatrixThrough(instruction);
  }

  // Beyond XLA's: the edges that are worth waiting for, paths, ancestors and so on. Null once a call has made the map
  // something else than the reachability of a graph without cycles.
  const hocket::graph::dag<>* dag() const { return is_matrix_ ? nullptr : &dag_; }

 private:
  using key = std::pair<std::int64_t, std::int64_t>;  // module and computation
  using numbers = std::vector<hocket::node_id>;       // by local_id

  // n rows of n bits: row b has bit a if a reaches b.
  struct bits {
    std::size_t words = 0;
    std::vector<std::uint64_t> rows;
    std::vector<std::uint64_t> before;

    void resize(std::size_t nodes) {
      words = (nodes + 63) / 64;
      rows.assign(nodes * words, 0);
    }
    [[nodiscard]] std::uint64_t* row(Index b) { return rows.data() + b * words; }
    [[nodiscard]] bool has(Index a, Index b) const { return (rows[b * words + a / 64] >> (a % 64) & 1) != 0; }
    void set(Index a, Index b) { rows[b * words + a / 64] |= std::uint64_t{1} << (a % 64); }
    void unite(const std::vector<Index>& inputs, Index index) {
      std::uint64_t* const mine = row(index);
      if (std::find(inputs.begin(), inputs.end(), index) == inputs.end()) std::fill_n(mine, words, 0);
      set(index, index);
      for (const Index input : inputs)
        if (input != index) std::transform(mine, mine + words, row(input), mine, std::bit_or<>());
    }
    // The same; true if it is a change.
    bool unite_and_compare(const std::vector<Index>& inputs, Index index) {
      before.assign(row(index), row(index) + words);
      unite(inputs, index);
      return !std::equal(before.begin(), before.end(), row(index));
    }
  };

  HocketReachabilityMap() = default;

  static hocket::node_id id(Index i) { return static_cast<hocket::node_id>(i); }
  static key key_of(const HloInstruction* i) { return {i->GetModule()->unique_id(), i->parent()->unique_id()}; }
  [[noreturn]] static void ThrowOutOfRange() {
    constexpr const char* sentence = "hocket: the instruction is not in the reachability map";
#ifdef __cpp_exceptions
    throw std::out_of_range(sentence);
#else
    LOG(FATAL) << sentence;
#endif
  }

  // hocket::no_id for an instruction that is not in the map.
  hocket::node_id FindIndex(const HloInstruction* i) const {
    const numbers* of_computation = &indices_;
    if (const key k = key_of(i); k != main_) {
      const auto found = std::find_if(others_.begin(), others_.end(), [&k](const auto& o) { return o.first == k; });
      if (found == others_.end()) return hocket::no_id;
      of_computation = &found->second;
    }
    const auto local = static_cast<std::size_t>(i->local_id());
    return local < of_computation->size() ? (*of_computation)[local] : hocket::no_id;
  }
  void SetIndex(const HloInstruction* i, hocket::node_id index) {
    numbers* of_computation = &indices_;
    if (const key k = key_of(i); k != main_) {
      auto found = std::find_if(others_.begin(), others_.end(), [&k](const auto& o) { return o.first == k; });
      if (found == others_.end()) found = others_.insert(found, {k, {}});
      of_computation = &found->second;
    }
    const auto local = static_cast<std::size_t>(i->local_id());
    if (local >= of_computation->size()) of_computation->resize(local + 1, hocket::no_id);
    (*of_computation)[local] = index;
  }
  std::vector<Index> IndicesOf(absl::Span<const HloInstruction* const> instructions) const {
    std::vector<Index> indices;
    indices.reserve(instructions.size());
    for (const HloInstruction* const i : instructions) indices.push_back(GetIndex(i));
    return indices;
  }
  // The operands and control predecessors. False if one is not in the map, or is the instruction itself, which keeps
  // its row then.
  bool PredecessorsOf(const HloInstruction* i, std::vector<Index>& before) const {
    before.clear();
    bool all = true;
    hlo_order::for_each_predecessor(*i->parent(), i, [&](const HloInstruction* p) {
      if (p != i && IsPresent(p)) before.push_back(GetIndex(p));
      else all = false;
    });
    return all;
  }

  // ---- as a dag ----

  // Does what reaches p, and p, reach b already?
  bool Covers(Index p, Index b) const { return p == b || dag_.reaches(id(p), id(b)); }
  bool DownstreamHas(Index b, absl::Span<const Index> added) const {
    const auto after = dag_.downstream(id(b));
    return std::all_of(after.begin(), after.end(), [&](Index next) {
      return std::all_of(added.begin(), added.end(), [&](Index p) { return Covers(p, next); });
    });
  }
  // Does each op that reaches `index` reach one of `inputs`, or is it one?
  bool NoneIsLost(absl::Span<const Index> inputs, Index index) const {
    const auto before = dag_.upstream(id(index));
    return std::all_of(before.begin(), before.end(), [&](Index u) {
      return std::any_of(inputs.begin(), inputs.end(), [&](Index p) { return p != index && Covers(u, p); });
    });
  }
  std::vector<Index> NewOnes(absl::Span<const Index> inputs, Index index) const {
    std::vector<Index> added;
    for (const Index p : inputs)
      if (!Covers(p, index)) added.push_back(p);
    return added;
  }
  bool CloseCycle(absl::Span<const Index> added, Index index) const {
    return std::any_of(added.begin(), added.end(), [&](Index p) { return dag_.reaches(id(index), id(p)); });
  }
  void AddEdges(absl::Span<const Index> added, Index index) {
    for (const Index p : added) dag_.add_edge(id(p), id(index));
  }

  // A single bit is an edge if all that reach a reach b, and all that b reaches are reached by a.
  bool SetInDag(Index a, Index b) {
    if (Covers(a, b)) return true;
    if (dag_.reaches(id(b), id(a)) || !DownstreamHas(b, {&a, 1})) return false;
    const auto before = dag_.upstream(id(a));
    if (!std::all_of(before.begin(), before.end(), [&](Index u) { return Covers(u, b); })) return false;
    AddEdges({&a, 1}, b);
    return true;
  }

  // False, and nothing changes, if the rows would not be those of a dag any more.
  bool UniteInDag(const std::vector<Index>& inputs, Index index, bool& changed) {
    const bool keeps = std::find(inputs.begin(), inputs.end(), index) != inputs.end();
    const std::vector<Index> added = NewOnes(inputs, index);
    if (!keeps && !NoneIsLost(inputs, index)) return false;
    if (CloseCycle(added, index) || !DownstreamHas(index, added)) return false;
    AddEdges(added, index);
    changed = !added.empty();
    return true;
  }
  void Unite(const std::vector<Index>& inputs, Index index) {
    bool changed = false;
    if (!is_matrix_ && UniteInDag(inputs, index, changed)) return;
    BecomeMatrix();
    matrix_.unite(inputs, index);
  }

  void BuildInOrder(const std::vector<std::vector<Index>>& before) {
    std::vector<hocket::graph::edge> edges;
    bool forward = true;
    for (Index b = 0; b < before.size(); ++b)
      for (const Index a : before[b]) {
        forward = forward && a <= b;
        if (a != b) edges.push_back({id(a), id(b)});
      }
    if (forward) {
      dag_.assign(before.size(), edges).value();
      return;
    }
    BecomeMatrix();
    for (Index b = 0; b < before.size(); ++b) matrix_.unite(before[b], b);
  }

  // Is a row what the rows of its predecessors say?
  bool IsCurrent(absl::Span<const Index> before, Index index) const {
    return std::all_of(before.begin(), before.end(), [&](Index p) { return Covers(p, index); }) &&
           NoneIsLost(before, index);
  }

  // f(user) for all that wait for an instruction.
  static void ForEachUser(const HloInstruction* i, auto&& f) {
    for (const HloInstruction* const user : i->users()) f(user);
    for (const HloInstruction* const after : i->control_successors()) f(after);
  }

  // For new predecessors only. The row of each user that changes must follow from the user's predecessors, and the dag
  // may change no other rows, since XLA updates no others. Returns false and changes nothing otherwise.
  bool GrowThrough(const HloInstruction* instruction) {
    std::vector<Index> before;
    if (!PredecessorsOf(instruction, before)) return false;
    const Index index = GetIndex(instruction);
    const std::vector<Index> added = NewOnes(before, index);
    if (!NoneIsLost(before, index) || CloseCycle(added, index)) return false;
    if (added.empty()) return true;
    const auto has_all = [&](Index i) {
      return std::all_of(added.begin(), added.end(), [&](Index p) { return Covers(p, i); });
    };
    std::vector<const HloInstruction*> changed{instruction};
    seen_.assign(dag_.node_count(), false);
    seen_[index] = true;
    for (std::size_t k = 0; k < changed.size(); ++k) {
      bool fits = true;
      ForEachUser(changed[k], [&](const HloInstruction* user) {
        fits = fits && IsPresent(user);
        if (!fits) return;
        const Index u = GetIndex(user);
        if (seen_[u]) return;
        seen_[u] = true;
        fits = PredecessorsOf(user, before) && IsCurrent(before, u);
        if (fits && !has_all(u)) changed.push_back(user);
      });
      if (!fits) return false;
    }
    for (const HloInstruction* const i : changed) {
      const auto after = dag_.downstream(id(GetIndex(i)));
      if (!std::all_of(after.begin(), after.end(), [&](Index next) { return seen_[next] || has_all(next); }))
        return false;
    }
    AddEdges(added, index);
    return true;
  }

  // Also if predecessors are gone: all that users lead to is built again. False, and nothing changes, if one of them is
  // not what its own predecessors say, or if the dag has order between them that comes from elsewhere.
  bool RebuildThrough(const HloInstruction* instruction) {
    std::vector<const HloInstruction*> reached{instruction};
    std::vector<std::vector<Index>> before(1);
    seen_.assign(dag_.node_count(), false);
    seen_[GetIndex(instruction)] = true;
    if (!PredecessorsOf(instruction, before[0])) return false;
    for (std::size_t k = 0; k < reached.size(); ++k) {
      bool fits = true;
      ForEachUser(reached[k], [&](const HloInstruction* user) {
        fits = fits && IsPresent(user);
        if (!fits || seen_[GetIndex(user)]) return;
        seen_[GetIndex(user)] = true;
        fits = PredecessorsOf(user, before.emplace_back()) && IsCurrent(before.back(), GetIndex(user));
        reached.push_back(user);
      });
      if (!fits) return false;
    }
    std::vector<hocket::graph::edge> edges;
    for (std::size_t k = 0; k < reached.size(); ++k) {
      const Index b = GetIndex(reached[k]);
      const auto after = dag_.downstream(id(b));
      if (!std::all_of(after.begin(), after.end(), [&](Index next) { return seen_[next]; })) return false;
      for (const Index a : before[k])
        if (a != b) edges.push_back({id(a), id(b)});
    }
    for (Index b = 0; b < dag_.node_count(); ++b)
      if (!seen_[b])
        for (const hocket::node_id a : dag_.upstream(id(b))) edges.push_back({a, id(b)});
    hocket::graph::dag<> rebuilt;
    if (!rebuilt.assign(dag_.node_count(), edges)) return false;
    dag_ = std::move(rebuilt);
    return true;
  }

  // ---- as a matrix ----

  void BecomeMatrix() {
    if (is_matrix_) return;
    matrix_.resize(dag_.node_count());
    std::vector<hocket::node_id> waits_for = dag_.in_degrees(), ready = dag_.sources();
    std::vector<Index> before;
    while (!ready.empty()) {
      const hocket::node_id b = ready.back();
      ready.pop_back();
      before.assign(dag_.upstream(b).begin(), dag_.upstream(b).end());
      matrix_.unite(before, b);
      for (const hocket::node_id next : dag_.downstream(b))
        if (--waits_for[next] == 0) ready.push_back(next);
    }
    is_matrix_ = true;
    dag_ = hocket::graph::dag<>();
  }

  // In XLA's order, which shows where a row is missing, or where rows are no order: an instruction that is due several
  // times gets its row the last time.
  void UpdateMatrixThrough(const HloInstruction* instruction) {
    std::queue<const HloInstruction*> due;
    absl::flat_hash_map<const HloInstruction*, int> times;
    due.push(instruction);  // XLA does not count this one
    std::vector<Index> before;
    while (!due.empty()) {
      const HloInstruction* const item = due.front();
      due.pop();
      if (--times[item] > 0) continue;
      const Index index = GetIndex(item);
      before.clear();
      hlo_order::for_each_predecessor(*item->parent(), item,
                                      [&](const HloInstruction* p) { before.push_back(GetIndex(p)); });
      if (!matrix_.unite_and_compare(before, index)) continue;
      ForEachUser(item, [&](const HloInstruction* user) {
        due.push(user);
        ++times[user];
      });
    }
  }

  hocket::graph::dag<> dag_;
  bits matrix_;
  bool is_matrix_ = false;
  key main_{-1, -1};  // the computation of indices_
  numbers indices_;
  std::vector<std::pair<key, numbers>> others_;  // of other computations
  std::vector<bool> seen_;                       // by index; of an update
};

}  // namespace xla
