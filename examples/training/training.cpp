// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trains a small stack of transformer blocks under many pipeline schedules, with ranks as threads: as streams of the
// host backend, ordered by events, and as threads that send and receive. Losses, gradients and weights must be those of
// the plain serial program.   training [FOLDER]: writes the traces there
#include <hocket/core/message.hpp>
#include <hocket/launch/backends/host.hpp>
#include <hocket/launch/bridges/pipeline_runner.hpp>
#include <hocket/launch/bridges/pipeline_streams.hpp>
#include <hocket/launch/reuse_events.hpp>
#include <hocket/launch/timeline_trace.hpp>
#include <hocket/launch/transports/in_process.hpp>

#include <cmath>
#include <cstdio>
#include <thread>

#include "rank.hpp"

using namespace training;
namespace launch = hocket::launch;

namespace {

// The hand-written backward pass against differences of the loss.
bool gradients_are_derivatives() {
  config c;
  c.blocks = 2;
  c.tokens = 6;
  c.hidden = 8;
  c.ffn = 12;
  c.micro_batches = 1;
  stage model(c, 0, c.blocks);
  const std::vector<double> w = model.weights();
  model.forward(0);
  model.input_grad(0);
  model.weight_grad(0);
  const std::vector<double> g = model.gradients();
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < w.size(); i += 17) {
    constexpr double h = 1e-5;
    const auto loss = [&](double by) {
      std::vector<double> moved = w;
      moved[i] += by;
      model.set_weights(moved);
      model.forward(0);
      return model.loss(0);
    };
    const double slope = (loss(h) - loss(-h)) / (2 * h);
    off += (slope - g[i]) * (slope - g[i]);
    norm += g[i] * g[i];
  }
  std::printf("gradients against differences: %.1e of their norm\n", std::sqrt(off / norm));
  return off <= 1e-14 * norm;
}

// Rank r is stream r of the host backend; events keep the order. One process, one memory.
outcome on_streams(const config& c, const table_schedule& plan, hocket::timeline& trace) {
  rank_state all(c, plan);
  const auto streams = launch::pipeline_streams::make(plan).value();
  auto device = launch::host_backend::start(plan.ranks()).value();
  const launch::command_list list = launch::reuse_events(streams.commands);
  launch::timeline_trace times(streams.commands);
  for (int step = 0; step < steps_of_training; ++step) {
    all.begin_step(step);
    const auto report =
        device.run(list, [&](hocket::node_id k, hocket::stream_id) { all.compute(streams.actions[k]); }, times);
    if (!report) std::printf("  op %u: %s\n", report.op, to_string(report.status).data());
    all.end_step();
  }
  // The trace knows commands; the pipeline's words are stage and micro-batch.
  trace.ticks_per_second = 1'000'000'000;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) trace.add_lane("rank " + std::to_string(r));
  const hocket::timeline raw = times.timeline();
  for (hocket::timeline::span s : raw.spans()) {
    const stage_action a = streams.actions[s.id];
    s.kind = static_cast<hocket::activity>(a.kind());  // forward … weight_grad are the same in both
    s.chunk = static_cast<std::uint16_t>(plan.placement().chunk_of(a.stage()));
    s.id = a.stage();
    s.micro_batch = static_cast<std::int32_t>(a.micro_batch());
    trace.add(s);
  }
  return collect({&all});
}

// Every rank a thread with its own stages, which knows the others only through the transport.
outcome on_threads(const config& c, const table_schedule& plan, launch::completion sends, hocket::timeline& trace) {
  const auto program = launch::from_pipeline(plan).value();
  auto group = launch::in_process_group::start(plan.ranks(), {.sends = sends}).value();
  std::vector<rank_state> states;
  std::vector<launch::pipeline_trace> traces;
  const auto origin = launch::pipeline_trace::clock::now();
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    states.emplace_back(c, plan, static_cast<int>(r));
    traces.emplace_back(program, r, origin);
  }
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r)
    threads.emplace_back([&, r] {
      launch::pipeline_runner runner(program, r, group.rank(r));
      for (int step = 0; step < steps_of_training; ++step) {
        states[r].begin_step(step);
        const auto done = runner.run([&](stage_action a) { return states[r].memory(a); },
                                     [&](stage_action a) { states[r].compute(a); }, traces[r]);
        if (!done) {
          std::printf("  %s\n", runner.message(done).c_str());
          return runner.transport().abort();
        }
        states[r].end_step();
      }
    });
  for (std::thread& t : threads) t.join();
  trace.ticks_per_second = 1'000'000'000;
  std::vector<const rank_state*> all;
  for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
    traces[r].add_to(trace, trace.add_lane("rank " + std::to_string(r)), plan);
    all.push_back(&states[r]);
  }
  return collect(all);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "";
  const config c;
  bool good = gradients_are_derivatives();
  const outcome expected = train_serially(c);
  double first = 0, last = 0;
  for (int j = 0; j < c.micro_batches; ++j) {
    first += expected.losses[std::size_t(j)];
    last += *(expected.losses.end() - 1 - j);
  }
  std::printf("serial: loss %.6f -> %.6f in %d steps\n", first, last, steps_of_training);
  good = good && last < first;

  std::vector<std::pair<std::string, outcome>> results;
  for (const auto& [name, plan] : schedules()) {
    const bool exact = keeps_order_of_summation(plan);
    std::printf("%s: %u ranks, %u chunks, %u micro-batches\n", name.c_str(), plan.ranks(), plan.chunks(),
                plan.micro_batches());
    const auto file = [&](const char* how) { return folder.empty() ? "" : folder + "/" + name + "." + how; };
    hocket::timeline streams, rendezvous, buffered;
    const outcome a = on_streams(c, plan, streams);
    good &= same("streams of the host backend", a, expected, exact);
    good &= compare_with_simulation(plan, streams, file("streams"));
    const outcome b = on_threads(c, plan, launch::completion::rendezvous, rendezvous);
    good &= same("threads that send, unbuffered", b, expected, exact);
    good &= compare_with_simulation(plan, rendezvous, file("threads"));
    good &= same("threads that send, buffered", on_threads(c, plan, launch::completion::buffered, buffered), b, true);
    results.emplace_back(name, a);
  }
  // Between any two schedules.
  std::size_t pairs = 0;
  bool all_close = true;
  for (const auto& x : results)
    for (const auto& y : results) {
      double off = 0, norm = 0;
      for (std::size_t i = 0; i < x.second.gradients.size(); ++i) {
        off += (x.second.gradients[i] - y.second.gradients[i]) * (x.second.gradients[i] - y.second.gradients[i]);
        norm += y.second.gradients[i] * y.second.gradients[i];
      }
      all_close = all_close && off <= 1e-24 * norm;
      ++pairs;
    }
  std::printf("gradients of %zu pairs of schedules %s\n", pairs, all_close ? "agree within 1e-12" : "DISAGREE");
  std::puts(good && all_close ? "ok" : "FAILED");
  return good && all_close ? 0 : 1;
}
