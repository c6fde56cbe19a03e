// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random calls in random order to XLA's map and to hocket's, while the computation changes under them. The maps must
// give the same answers after every call: also where the bits are no order, where an instruction is not in the map, and
// where a change was not reported.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "hocket_reachability.hpp"
#include "random_changes.hpp"
#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace example {

class random_calls {
 public:
  random_calls(xla::HloComputation& c, xla::HloComputation& other, std::uint32_t seed)
      : computation_(c), stranger_(other.root_instruction()), random_(seed) {
    all_ = c.MakeInstructionPostOrder();
    build();
  }

  /// Makes one call to both maps. False if they differ in what it returns or throws, or in an answer afterwards.
  bool step() {
    using member = bool (random_calls::*)();
    constexpr member calls[] = {
        &random_calls::set_reachable, &random_calls::unite_any,     &random_calls::unite_any,
        &random_calls::unite_own,     &random_calls::unite_own,     &random_calls::unite_by_index,
        &random_calls::update,        &random_calls::update,        &random_calls::add_edge,
        &random_calls::add_edge,      &random_calls::remove_edge,   &random_calls::add_edge_in_silence,
        &random_calls::replace,       &random_calls::add_node,      &random_calls::fuse,
        &random_calls::ask_about_one, &random_calls::build_another,
    };
    // Some runs keep to calls that keep an order, so that hocket's map stays a dag for long.
    constexpr member orderly[] = {&random_calls::update, &random_calls::add_edge, &random_calls::remove_edge,
                                  &random_calls::unite_own, &random_calls::ask_about_one};
    const bool is_orderly = orderly_ > 0;
    const std::size_t count = is_orderly ? std::size(orderly) : std::size(calls);
    orderly_ -= is_orderly ? 1 : 0;
    const std::size_t k = pick(count);
    last_ = k;
    const bool same = (this->*(is_orderly ? orderly[k] : calls[k]))();
    return same && same_answers();
  }
  /// How many steps hocket's map was a dag.
  [[nodiscard]] bool is_dag() const { return ours_->dag() != nullptr; }
  /// Number of the call that `step` made.
  [[nodiscard]] std::size_t last_call() const { return last_; }

 private:
  using instruction = xla::HloInstruction*;

  std::size_t pick(std::size_t count) { return random_() % count; }
  instruction any() { return all_[pick(all_.size())]; }
  // Mostly of the map.
  instruction any_or_stranger() { return pick(40) == 0 ? stranger_ : any(); }
  std::vector<const xla::HloInstruction*> some(std::size_t most) {
    std::vector<const xla::HloInstruction*> chosen(pick(most + 1));
    for (auto& i : chosen) i = any_or_stranger();
    return chosen;
  }
  static std::vector<const xla::HloInstruction*> predecessors(const xla::HloInstruction* i) {
    std::vector<const xla::HloInstruction*> before;
    hlo_order::for_each_predecessor(*i->parent(), i, [&before](const xla::HloInstruction* p) { before.push_back(p); });
    return before;
  }

  // What a call returns, or 2 if it throws.
  static int outcome(auto&& call) {
    try {
      return call() ? 1 : 0;
    } catch (const std::out_of_range&) {
      return 2;
    }
  }
  bool both(auto&& call) {
    return outcome([&] { return call(*theirs_); }) == outcome([&] { return call(*ours_); });
  }

  bool build() {
    orderly_ = pick(2) * 40;
    const std::size_t how = has_cycle_ ? 2 : pick(4);
    if (how < 2) {
      theirs_ = xla::HloReachabilityMap::Build(&computation_);
      ours_ = xla::HocketReachabilityMap::Build(&computation_);
    } else if (how == 2) {
      theirs_ = std::make_unique<xla::HloReachabilityMap>(all_);
      ours_ = std::make_unique<xla::HocketReachabilityMap>(all_);
    } else {
      // Any instruction before any other, also in circles; sometimes the operands alone.
      const std::uint32_t seed = random_();
      const bool wild = pick(2) == 0;
      const auto restrict = [&](const xla::HloInstruction* i, std::vector<instruction>* before) {
        std::mt19937 own(seed + static_cast<std::uint32_t>(i->local_id()));
        for (const instruction operand : i->operands())
          if (own() % 4 != 0) before->push_back(operand);
        if (wild && own() % 4 == 0) before->push_back(all_[own() % all_.size()]);
      };
      theirs_ = xla::HloReachabilityMap::BuildWithRestrictions(&computation_, restrict);
      ours_ = xla::HocketReachabilityMap::BuildWithRestrictions(&computation_, restrict);
    }
    return true;
  }
  bool build_another() { return pick(4) != 0 || build(); }

  bool set_reachable() {
    const auto a = any_or_stranger(), b = any_or_stranger();
    return both([&](auto& map) {
      map.SetReachable(a, b);
      return true;
    });
  }
  bool unite_any() {
    const auto inputs = some(3);
    const auto to = any_or_stranger();
    const bool fast = pick(3) == 0;
    return both([&](auto& map) {
      if (!fast) return map.SetReachabilityToUnion(inputs, to);
      map.FastSetReachabilityToUnion(inputs, to);
      return true;
    });
  }
  bool unite_own() {
    const auto to = any();
    auto inputs = predecessors(to);
    if (pick(3) == 0) inputs.push_back(to);
    return both([&](auto& map) { return map.SetReachabilityToUnion(inputs, to); });
  }
  bool unite_by_index() {
    const auto a = any(), b = any(), to = any();
    return both([&](auto& map) {
      using index = typename std::remove_reference_t<decltype(map)>::Index;
      const index inputs[] = {map.GetIndex(a), map.GetIndex(b)};
      map.FastSetReachabilityToUnion(absl::MakeConstSpan(inputs), map.GetIndex(to));
      return true;
    });
  }
  bool update_of(const xla::HloInstruction* i) {
    return both([&](auto& map) {
      map.UpdateReachabilityThroughInstruction(i);
      return true;
    });
  }
  bool update() { return update_of(any_or_stranger()); }

  // A control edge; once in a while one that closes a cycle. Then nothing is removed any more: XLA's update may not
  // end.
  bool add(bool report) {
    const auto a = any(), b = any();
    if (a == b) return true;
    const bool closes = leads_to(b, a);
    if (closes && (pick(20) != 0 || orderly_ > 0)) return true;
    if (!a->AddControlDependencyTo(b).ok()) return true;
    has_cycle_ = has_cycle_ || closes;
    return !report || update_of(b);
  }
  bool add_edge() { return add(true); }
  bool add_edge_in_silence() { return add(false); }
  bool remove_edge() {
    const auto b = any();
    if (has_cycle_ || b->control_predecessors().empty()) return true;
    const auto a = b->control_predecessors()[pick(b->control_predecessors().size())];
    return !a->RemoveControlDependencyTo(b).ok() || update_of(b);
  }
  // By the computation, whatever the maps hold.
  bool leads_to(const xla::HloInstruction* from, const xla::HloInstruction* to) const {
    std::vector<const xla::HloInstruction*> stack{from}, seen{from};
    while (!stack.empty()) {
      const xla::HloInstruction* const at = stack.back();
      stack.pop_back();
      if (at == to) return true;
      const auto visit = [&](const xla::HloInstruction* next) {
        if (std::find(seen.begin(), seen.end(), next) != seen.end()) return;
        seen.push_back(next);
        stack.push_back(next);
      };
      for (const auto* user : at->users()) visit(user);
      for (const auto* after : at->control_successors()) visit(after);
    }
    return false;
  }

  bool replace() {
    const auto original = any_or_stranger(), replacement = any_or_stranger();
    return both([&](auto& map) {
      map.Replace(original, replacement);
      return true;
    });
  }
  // A new instruction that the maps have not seen. Its operands have a user more.
  bool add_node() {
    const auto one = any();
    if (all_.size() > 120 || one->opcode() == xla::HloOpcode::kParameter) return true;
    all_.push_back(computation_.AddInstruction(one->Clone()));
    if (pick(2) == 0) return true;
    const auto place = any();
    return both([&](auto& map) {
      map.Replace(place, all_.back());
      return true;
    });
  }
  bool fuse() {
    const auto a = any(), b = any();
    if (!theirs_->IsPresent(a) || !theirs_->IsPresent(b)) return ours_->IsPresent(a) == theirs_->IsPresent(a);
    example::instructions present;
    for (const instruction i : all_)
      if (theirs_->IsPresent(i)) present.push_back(i);
    example::fuse(present, *theirs_, {a, b});
    example::fuse(present, *ours_, {a, b});
    return true;
  }
  bool ask_about_one() {
    const auto a = any_or_stranger(), b = any_or_stranger();
    return both([&](auto& map) { return map.IsReachable(a, b); }) &&
           both([&](auto& map) { return map.IsConnected(a, b); }) &&
           theirs_->IsPresent(nullptr) == ours_->IsPresent(nullptr) &&
           both([&](auto& map) { return map.GetIndex(a) % 2 == 0; });
  }

  bool same_answers() const {
    std::vector<xla::HloReachabilityMap::Index> their_index, our_index;
    for (const instruction i : all_) {
      if (theirs_->IsPresent(i) != ours_->IsPresent(i)) return false;
      if (!theirs_->IsPresent(i)) continue;
      their_index.push_back(theirs_->GetIndex(i));
      our_index.push_back(ours_->GetIndex(i));
    }
    if (theirs_->IsPresent(stranger_) != ours_->IsPresent(stranger_) || their_index != our_index) return false;
    for (const auto a : their_index)
      for (const auto b : their_index)
        if (theirs_->IsReachable(a, b) != ours_->IsReachable(a, b)) return false;
    return true;
  }

  xla::HloComputation& computation_;
  instruction stranger_;  // of another module
  std::mt19937 random_;
  std::vector<instruction> all_;  // in the computation, in the maps or not
  std::unique_ptr<xla::HloReachabilityMap> theirs_;
  std::unique_ptr<xla::HocketReachabilityMap> ours_;
  std::size_t orderly_ = 0;  // calls to come that keep an order
  std::size_t last_ = 0;
  bool has_cycle_ = false;
};

}  // namespace example
