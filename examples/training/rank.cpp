// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rank.hpp"

#include <hocket/pipeline/schedules/dual_pipe.hpp>
#include <hocket/pipeline/schedules/gpipe.hpp>
#include <hocket/pipeline/schedules/interleaved.hpp>
#include <hocket/pipeline/schedules/one_f_one_b.hpp>
#include <hocket/pipeline/schedules/zbv.hpp>
#include <hocket/pipeline/schedules/zero_bubble.hpp>
#include <hocket/pipeline/simulate.hpp>
#include <hocket/timeline/chrome_trace.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace training {

namespace pipeline = hocket::pipeline;

std::vector<std::pair<std::string, table_schedule>> schedules() {
  const pipeline::shape one{4, 1, 9}, two{4, 2, 9};
  const auto table = [](const auto& plan) { return table_schedule::make_copy(plan.value()).value(); };
  std::vector<std::pair<std::string, table_schedule>> all;
  all.emplace_back("1f1b", table(pipeline::one_f_one_b::make(one)));
  all.emplace_back("interleaved, uneven", table(pipeline::interleaved::make(two)));
  all.emplace_back("zb-h1", table(pipeline::zero_bubble::make_h1(one)));
  all.emplace_back("zb-h2", table(pipeline::zero_bubble::make_h2(one)));
  all.emplace_back("interleaved-zb", table(pipeline::zero_bubble::make_interleaved(two)));
  all.emplace_back("zbv", table(pipeline::zbv::make(two)));
  all.emplace_back("dualpipev", table(pipeline::dual_pipe_v::make(two)));
  all.emplace_back("looped-bfs", table(pipeline::gpipe::make_looped_bfs(two)));
  return all;
}

outcome train_serially(const config& c) {
  stage whole(c, 0, c.blocks);
  outcome all;
  for (int step = 0; step < steps_of_training; ++step) {
    whole.begin_step(step);
    for (int j = 0; j < c.micro_batches; ++j) {
      whole.forward(j);
      whole.input_grad(j);
      whole.weight_grad(j);
      all.losses.push_back(whole.loss(j));
    }
    all.gradients = whole.gradients();
    whole.update();
  }
  all.weights = whole.weights();
  return all;
}

rank_state::rank_state(const config& c, const table_schedule& plan, int rank) : config_(c) {
  total_ = static_cast<int>(plan.ranks() * plan.chunks());
  where_.assign(std::size_t(total_), -1);
  for (int s = 0; s < total_; ++s) {
    if (rank >= 0 && static_cast<int>(plan.placement().rank_of(static_cast<std::uint32_t>(s))) != rank) continue;
    where_[std::size_t(s)] = static_cast<int>(stages_.size());
    numbers_.push_back(s);
    stages_.emplace_back(c, s * c.blocks / total_, (s + 1) * c.blocks / total_ - s * c.blocks / total_);
  }
  last_gradients_.resize(stages_.size());
}

void rank_state::begin_step(int step) {
  for (stage& s : stages_) s.begin_step(step);
}

void rank_state::compute(stage_action a) {
  const auto j = static_cast<int>(a.micro_batch());
  const std::size_t bytes = std::size_t(config_.tokens) * std::size_t(config_.hidden) * sizeof(double);
  stage& here = *find(a.stage());
  switch (a.kind()) {
    case action_kind::forward:
      here.forward(j);
      if (stage* next = find(a.stage() + 1)) std::memcpy(next->input(j), here.output(j), bytes);
      break;
    case action_kind::backward:
    case action_kind::input_grad:
      here.input_grad(j);
      if (stage* before = find(a.stage() - 1)) std::memcpy(before->grad_of_output(j), here.grad_of_input(j), bytes);
      if (a.kind() == action_kind::backward) here.weight_grad(j);
      break;
    case action_kind::weight_grad: here.weight_grad(j); break;
    default: break;
  }
}

hocket::launch::transfer_memory rank_state::memory(stage_action a) {
  const auto j = static_cast<int>(a.micro_batch());
  const std::size_t bytes = std::size_t(config_.tokens) * std::size_t(config_.hidden) * sizeof(double);
  stage& here = *find(a.stage());
  switch (a.kind()) {
    case action_kind::send_forward: return {here.output(j), bytes};
    case action_kind::recv_forward: return {here.input(j), bytes};
    case action_kind::send_backward: return {here.grad_of_input(j), bytes};
    default: return {here.grad_of_output(j), bytes};
  }
}

void rank_state::end_step() {
  if (has_last())
    for (int j = 0; j < config_.micro_batches; ++j) losses_.push_back(stages_.back().loss(j));
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    last_gradients_[i] = stages_[i].gradients();
    stages_[i].update();
  }
}

outcome collect(const std::vector<const rank_state*>& ranks) {
  std::map<int, std::pair<const rank_state*, std::size_t>> by_stage;
  outcome all;
  for (const rank_state* r : ranks) {
    for (std::size_t i = 0; i < r->stages().size(); ++i) by_stage[r->stages()[i]] = {r, i};
    if (r->has_last()) all.losses = r->losses();
  }
  for (const auto& [s, at] : by_stage) {
    const auto g = at.first->gradients(at.second), w = at.first->weights(at.second);
    all.gradients.insert(all.gradients.end(), g.begin(), g.end());
    all.weights.insert(all.weights.end(), w.begin(), w.end());
  }
  return all;
}

bool keeps_order_of_summation(const table_schedule& plan) {
  std::map<std::uint32_t, std::uint32_t> next;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    for (const stage_action a : plan.rank(r))
      if ((a.kind() == action_kind::backward || a.kind() == action_kind::weight_grad) &&
          a.micro_batch() != next[a.stage()]++)
        return false;
  return true;
}

namespace {

// The norm of the difference over the norm, and whether every bit is the same.
std::pair<double, bool> difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return {1, false};
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    off += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return {std::sqrt(off / norm), std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0};
}

}  // namespace

bool same(const char* what, const outcome& got, const outcome& expected, bool to_the_last_bit) {
  const auto losses = difference(got.losses, expected.losses);
  const auto gradients = difference(got.gradients, expected.gradients);
  const auto weights = difference(got.weights, expected.weights);
  const bool bits = losses.second && gradients.second && weights.second;
  const bool close = losses.first <= 1e-12 && gradients.first <= 1e-12 && weights.first <= 1e-12;
  if (bits) std::printf("  %-34s equal to the last bit\n", what);
  else
    std::printf("  %-34s losses %.1e, gradients %.1e of their norm%s\n", what, losses.first, gradients.first,
                to_the_last_bit ? "  NOT EQUAL"
                : close         ? ""
                                : "  TOO FAR");
  return to_the_last_bit ? bits : close;
}

namespace {

// What each action took in the real run.
struct measured_costs {
  std::map<std::uint64_t, hocket::ticks> of;
  [[nodiscard]] static std::uint64_t key(int kind, std::uint32_t stage, std::uint32_t micro_batch) {
    return static_cast<std::uint64_t>(kind) << 56 | std::uint64_t{stage} << 32 | micro_batch;
  }
  [[nodiscard]] hocket::ticks duration(stage_action a) const {
    const auto at = of.find(key(static_cast<int>(a.kind()), a.stage(), a.micro_batch()));
    return at == of.end() ? 0 : at->second;
  }
  [[nodiscard]] hocket::ticks latency(std::uint32_t, std::uint32_t) const { return 0; }
};

void write(const std::string& file, const std::string& text) {
  if (std::FILE* out = std::fopen(file.c_str(), "wb")) {
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
  }
}

}  // namespace

bool compare_with_simulation(const table_schedule& plan, const hocket::timeline& measured, const std::string& file) {
  using hocket::activity;
  std::vector<hocket::timeline::span> spans(measured.spans().begin(), measured.spans().end());
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  measured_costs costs;
  std::vector<std::uint32_t> at(plan.ranks());
  bool in_order = true;
  for (const auto& s : spans) {
    costs.of[costs.key(static_cast<int>(s.kind), s.id, static_cast<std::uint32_t>(s.micro_batch))] = s.finish - s.start;
    const stage_action a = plan.at(s.lane, at[s.lane]++);  // these schedules hold computing actions only
    in_order = in_order && a.stage() == s.id && static_cast<int>(a.micro_batch()) == s.micro_batch &&
               static_cast<int>(a.kind()) == static_cast<int>(s.kind);
  }
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) in_order = in_order && at[r] == plan.size(r);
  hocket::timeline simulated;
  simulated.ticks_per_second = 1'000'000'000;
  const auto run = pipeline::simulate(plan, costs, {.into = &simulated});
  if (!run) return false;
  std::printf("  %-34s %s, %.1f ms, %.2f x simulated\n", "trace", in_order ? "every rank in its order" : "NOT IN ORDER",
              static_cast<double>(measured.makespan()) * 1e-6,
              static_cast<double>(measured.makespan()) / static_cast<double>(run->makespan));
  if (!file.empty()) {
    write(file + ".measured.json", hocket::to_chrome_trace(measured, {.process = "measured"}));
    write(file + ".simulated.json", hocket::to_chrome_trace(simulated, {.process = "simulated"}));
  }
  return in_order;
}

}  // namespace training
