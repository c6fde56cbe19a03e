// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A framework keeps its own schedule class: an adapter of a dozen lines shows it to hocket. The laws judge it, one with
// a mistake is told which, and walking over it is measured beside a list in memory, without any benchmark framework.
#include <hocket/pipeline.hpp>
#include <hocket/testing/schedule_benchmark.hpp>
#include <hocket/testing/schedule_laws.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace my {

enum class op { receive_input, forward, send_output, receive_gradient, backward, send_gradient, optimizer_step };
struct instruction {
  op what;
  int micro_batch;
};

/// What the framework has: a list of instructions for each stage.
class train_schedule {
 public:
  train_schedule(int stages, int micro_batches, int warm_up_less = 0) : micro_batches_(micro_batches), lists_() {
    for (int s = 0; s < stages; ++s) {
      std::vector<instruction> list;
      const int ahead = stages - 1 - s - warm_up_less;
      for (int i = ahead < 0 ? ahead : 0; i < micro_batches + ahead || i < micro_batches; ++i) {
        if (i >= 0 && i < micro_batches) add(list, s, stages, op::forward, i);
        if (i >= ahead && i - ahead < micro_batches) add(list, s, stages, op::backward, i - ahead);
      }
      list.push_back({op::optimizer_step, -1});
      lists_.push_back(list);
    }
  }
  [[nodiscard]] int micro_batches() const { return micro_batches_; }
  [[nodiscard]] const std::vector<std::vector<instruction>>& lists() const { return lists_; }

 private:
  static void add(std::vector<instruction>& list, int stage, int stages, op what, int micro_batch) {
    const bool forward = what == op::forward;
    if (forward ? stage > 0 : stage + 1 < stages)
      list.push_back({forward ? op::receive_input : op::receive_gradient, micro_batch});
    list.push_back({what, micro_batch});
    if (forward ? stage + 1 < stages : stage > 0)
      list.push_back({forward ? op::send_output : op::send_gradient, micro_batch});
  }
  int micro_batches_;
  std::vector<std::vector<instruction>> lists_;
};

/// How hocket sees it: the whole adapter.
struct schedule_view {
  const train_schedule* its;
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(its->lists().size()); }
  [[nodiscard]] std::uint32_t chunks() const { return 1; }
  [[nodiscard]] std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(its->micro_batches()); }
  [[nodiscard]] std::uint32_t size(std::uint32_t r) const { return static_cast<std::uint32_t>(its->lists()[r].size()); }
  [[nodiscard]] hocket::pipeline::loop_placement placement() const { return {ranks()}; }
  [[nodiscard]] hocket::pipeline::stage_action at(std::uint32_t r, std::uint32_t i) const {
    using hocket::pipeline::action_kind;
    constexpr action_kind kinds[] = {action_kind::recv_forward,  action_kind::forward,  action_kind::send_forward,
                                     action_kind::recv_backward, action_kind::backward, action_kind::send_backward,
                                     action_kind::optimizer};
    const instruction& x = its->lists()[r][i];
    if (x.micro_batch < 0) return {kinds[static_cast<int>(x.what)], r, hocket::pipeline::stage_action::no_micro_batch};
    return {kinds[static_cast<int>(x.what)], r, static_cast<std::uint32_t>(x.micro_batch)};
  }
};

}  // namespace my

/// The quickest of a few turns, in microseconds.
template <class F>
double best_of(std::uint64_t& sum, F&& f) {
  double best = 1e300;
  for (int turn = 0; turn < 5; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    sum = f();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    best = took.count() < best ? took.count() : best;
  }
  return best;
}

int main() {
  using namespace hocket;
  for (int stages = 1; stages <= 6; ++stages) {
    for (int m = 1; m <= 12; ++m) {
      const my::train_schedule schedule(stages, m);
      if (const std::string broken = testing::broken_law(my::schedule_view{&schedule}); !broken.empty()) {
        std::printf("%d stages, %d micro-batches: %s\n", stages, m, broken.c_str());
        return 1;
      }
    }
  }

  const my::train_schedule hasty(4, 8, 1);  // one forward too few before the first backward
  const std::string broken = testing::broken_law(my::schedule_view{&hasty});
  std::printf("with a mistake: %s\n", broken.c_str());

  const my::train_schedule schedule(4, 8);
  const my::schedule_view plan{&schedule};
  const auto run = pipeline::simulate(plan, pipeline::costs{.forward = 1, .backward = 2});
  std::printf("makespan %lld, at least %lld\n", static_cast<long long>(run->makespan),
              static_cast<long long>(run->lower_bound));

  const my::train_schedule large(4, 100'000);
  const my::schedule_view walked{&large};
  const auto list = testing::written_list(walked, 1);
  std::uint64_t read = 0, seen = 0;
  const double floor = best_of(read, [&] { return testing::read_list(list); });
  const double ours = best_of(seen, [&] { return testing::walk_list(walked, 1); });
  std::printf("%zu actions: walked in %.0f us, read from a list in %.0f us\n", list.size(), ours, floor);
  return run->makespan == 33 && seen == read && !broken.empty() ? 0 : 1;
}
