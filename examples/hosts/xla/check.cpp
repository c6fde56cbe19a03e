// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares hocket with xla::HloReachabilityMap on HLO files, for all pairs of instructions: as built, with
// restrictions, after control edges came and went, after fusions, after a replacement. The same after each of random
// calls in random order, and in XLA's own combiner of all-reduces.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/log/globals.h"
#include "combiner.hpp"
#include "hlo_module.hpp"
#include "hocket_reachability.hpp"
#include "random_calls.hpp"
#include "random_changes.hpp"
#include "xla/hlo/analysis/hlo_reachability.h"

namespace {

using instruction = xla::HloInstruction*;

// Both maps of one computation.
struct both_maps {
  example::instructions instructions;
  std::unique_ptr<xla::HloReachabilityMap> theirs;
  std::unique_ptr<xla::HocketReachabilityMap> ours;

  explicit both_maps(const xla::HloComputation& c)
      : instructions(c.MakeInstructionPostOrder()),
        theirs(xla::HloReachabilityMap::Build(&c)),
        ours(xla::HocketReachabilityMap::Build(&c)) {}
  both_maps(const xla::HloComputation& c, xla::HocketReachabilityMap::AddDependencies add)
      : instructions(c.MakeInstructionPostOrder()),
        theirs(xla::HloReachabilityMap::BuildWithRestrictions(&c, add)),
        ours(xla::HocketReachabilityMap::BuildWithRestrictions(&c, add)) {}

  // Without edges.
  explicit both_maps(const example::instructions& all)
      : instructions(all),
        theirs(std::make_unique<xla::HloReachabilityMap>(all)),
        ours(std::make_unique<xla::HocketReachabilityMap>(all)) {}

  // Number of pairs in which they differ.
  [[nodiscard]] std::size_t wrong() const {
    if (ours == nullptr) return instructions.size() * instructions.size();
    std::vector<xla::HloReachabilityMap::Index> their_index;
    std::vector<xla::HocketReachabilityMap::Index> our_index;
    for (const instruction i : instructions) {
      their_index.push_back(theirs->GetIndex(i));
      our_index.push_back(ours->GetIndex(i));
    }
    std::size_t differing = 0;
    for (std::size_t b = 0; b < instructions.size(); ++b)
      for (std::size_t a = 0; a < instructions.size(); ++a)
        differing +=
            theirs->IsReachable(their_index[a], their_index[b]) != ours->IsReachable(our_index[a], our_index[b]) ? 1u
                                                                                                                 : 0u;
    return differing;
  }
};

// The edges that no path of other edges implies, by XLA's answers.
std::size_t edges_worth_keeping(const both_maps& maps) {
  std::size_t kept = 0;
  for (const instruction b : maps.instructions) {
    std::vector<const xla::HloInstruction*> before;
    hlo_order::for_each_predecessor(*b->parent(), b, [&before](auto* p) { before.push_back(p); });
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const auto* p : before)
      kept +=
          std::none_of(before.begin(), before.end(), [&](auto* q) { return p != q && maps.theirs->IsReachable(p, q); })
              ? 1u
              : 0u;
  }
  return kept;
}

std::size_t wrong_as_built(const xla::HloComputation& c) {
  const both_maps maps(c);
  return maps.wrong() + (edges_worth_keeping(maps) != maps.ours->dag()->edge_count() ? 1u : 0u);
}

// Paths of elementwise operations over operands that are no constants.
std::size_t wrong_with_restrictions(const xla::HloComputation& c) {
  return both_maps(c,
                   [](const xla::HloInstruction* i, std::vector<instruction>* before) {
                     if (!i->IsElementwise()) return;
                     for (const instruction operand : i->operands())
                       if (operand->opcode() != xla::HloOpcode::kConstant) before->push_back(operand);
                   })
      .wrong();
}

// By the calls for one instruction at a time, each in turn.
std::size_t wrong_one_by_one(const xla::HloComputation& c) {
  both_maps maps(c.MakeInstructionPostOrder());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < maps.instructions.size(); ++i) {
    const instruction one = maps.instructions[i];
    std::vector<const xla::HloInstruction*> before;
    hlo_order::for_each_predecessor(c, one, [&before](auto* p) { before.push_back(p); });
    const bool changed = maps.theirs->SetReachabilityToUnion(before, one);
    if (i % 2 == 0) wrong += maps.ours->SetReachabilityToUnion(before, one) != changed ? 1u : 0u;
    else maps.ours->FastSetReachabilityToUnion(before, one);
  }
  return wrong + maps.wrong() + (maps.ours->dag() == nullptr ? 1u : 0u);
}

std::size_t wrong_after_control_edges(const xla::HloComputation& c) {
  both_maps maps(c);
  std::mt19937 random(1);
  std::vector<example::control_edge> added;
  for (int i = 0; i < 50; ++i) {
    const example::control_edge edge = example::add_control_edge(maps.instructions, *maps.theirs, random);
    if (edge.after == nullptr) break;
    added.push_back(edge);
    maps.theirs->UpdateReachabilityThroughInstruction(edge.after);
    maps.ours->UpdateReachabilityThroughInstruction(edge.after);
  }
  std::size_t wrong = maps.wrong();
  std::shuffle(added.begin(), added.end(), random);
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (!added[i].before->RemoveControlDependencyTo(added[i].after).ok()) ++wrong;
    maps.theirs->UpdateReachabilityThroughInstruction(added[i].after);
    maps.ours->UpdateReachabilityThroughInstruction(added[i].after);
    if (i == added.size() / 2) wrong += maps.wrong();
  }
  return wrong + maps.wrong() + (maps.ours->dag() == nullptr ? 1u : 0u);
}

std::size_t wrong_after_fusions(const xla::HloComputation& c) {
  both_maps maps(c);
  std::mt19937 random(2);
  std::size_t wrong = 0;
  for (int i = 0; i < 100; ++i) {
    const example::pair fused = example::pair_to_fuse(maps.instructions, random);
    if (fused.left == nullptr) break;
    example::fuse(maps.instructions, *maps.theirs, fused);
    example::fuse(maps.instructions, *maps.ours, fused);
    if (i % 20 == 0) wrong += maps.wrong();
  }
  return wrong + maps.wrong();
}

// Changes the computation: a clone takes an instruction's place in the maps.
std::size_t wrong_after_replacement(xla::HloComputation& c) {
  both_maps maps(c);
  instruction& one = maps.instructions[maps.instructions.size() / 2];
  const instruction clone = c.AddInstruction(one->Clone());
  std::size_t wrong = maps.theirs->IsPresent(clone) != maps.ours->IsPresent(clone) ? 1u : 0u;
  maps.theirs->Replace(one, clone);
  maps.ours->Replace(one, clone);
  for (const instruction i : {one, clone}) wrong += maps.theirs->IsPresent(i) != maps.ours->IsPresent(i) ? 1u : 0u;
  one = clone;
  for (const instruction i : maps.instructions)
    wrong += maps.theirs->IsConnected(i, clone) != maps.ours->IsConnected(i, clone) ? 1u : 0u;
  return wrong + maps.wrong();
}

struct calls {
  std::size_t made = 0;
  std::size_t as_dag = 0;  // after which hocket's map was a dag
  std::size_t wrong = 0;
};

// Random calls on the small computations of a module, which they change. A run ends at the first difference.
calls make_random_calls(xla::HloModule& module, xla::HloModule& other) {
  constexpr int steps = 150;
  constexpr std::int64_t least = 4, most = 60;
  calls count;
  std::uint32_t seed = 0;
  for (xla::HloComputation* const c : module.computations()) {
    if (c->instruction_count() < least || c->instruction_count() > most) continue;
    if (++seed > 60) break;
    example::random_calls run(*c, example::largest_computation(other), seed);
    for (int k = 0; k < steps; ++k) {
      ++count.made;
      if (!run.step()) {
        ++count.wrong;
        std::fprintf(stderr, "%s, seed %u, call %d: differs after call %zu\n", std::string(c->name()).c_str(), seed, k,
                     run.last_call());
        break;
      }
      count.as_dag += run.is_dag() ? 1u : 0u;
    }
  }
  return count;
}

// Returns the number of wrong answers; all counts as one if the file cannot be read.
std::size_t examine(const std::string& path) {
  constexpr int at_most = 8;  // all-reduces in one
  const auto module = example::read_module(path);
  if (module == nullptr) return 1;
  const auto ours = example::read_module(path), theirs = example::read_module(path);
  std::size_t computations = 0, wrong = 0;
  for (xla::HloComputation* c : module->computations()) {
    ++computations;
    wrong += wrong_as_built(*c);
  }
  xla::HloComputation& largest = example::largest_computation(*module);
  const std::size_t instructions = static_cast<std::size_t>(largest.instruction_count());
  const std::size_t kept = xla::HocketReachabilityMap::Build(&largest)->dag()->edge_count();
  const std::size_t restricted = wrong_with_restrictions(largest);
  const std::size_t one_by_one = wrong_one_by_one(largest);
  const std::size_t updated = wrong_after_control_edges(largest);
  const std::size_t fused = wrong_after_fusions(largest);
  const std::size_t replaced = wrong_after_replacement(largest);
  const auto our_groups = example::combine_all_reduces(example::largest_computation(*ours), at_most, true);
  const auto their_groups = example::combine_all_reduces(example::largest_computation(*theirs), at_most, false);
  const auto changed = example::read_module(path);
  const calls random = make_random_calls(*changed, *theirs);
  std::printf(
      "%-15s %4zu instructions, %5zu edges kept, %4zu computations; wrong: built %zu, restricted %zu, one by one %zu, "
      "control edges %zu, fused %zu, replaced %zu; %2zu groups of all-reduces%s; %zu random calls, %zu on a dag, wrong "
      "%zu\n",
      example::name_of(path).c_str(), instructions, kept, computations, wrong, restricted, one_by_one, updated, fused,
      replaced, our_groups.size(), our_groups == their_groups ? "" : ", WHICH DIFFER", random.made, random.as_dag,
      random.wrong);
  std::fflush(stdout);
  return wrong + restricted + one_by_one + updated + fused + replaced + random.wrong +
         (our_groups == their_groups ? 0 : 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: xla_check MODULE.hlo…\n");
    return 2;
  }
  absl::SetMinLogLevel(absl::LogSeverityAtLeast::kFatal);  // what is refused on purpose is no news
  std::size_t wrong = 0;
  for (int i = 1; i < argc; ++i) wrong += examine(argv[i]);
  std::printf("%d modules, %zu wrong\n", argc - 1, wrong);
  return wrong == 0 ? 0 : 1;
}
