// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs to measure and to test with: the shapes that training programs have, at any size, and graphs without shape.
#pragma once
#include <hocket/graph/op_kind.hpp>
#include <hocket/testing/graph_benchmark.hpp>
#include <hocket/testing/graph_laws.hpp>
#include <hocket/text/ops_csv.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace graph_programs {

/// The plainest host type there is: graph_access knows it, and text/ops_csv.hpp reads and writes it.
using flat_program = hocket::text::ops_table;

/// How large a generated training step is.
struct gpt_size {
  std::uint32_t layers = 2;
  std::uint32_t micro_batches = 2;
  std::uint32_t steps = 1;   ///< joined over the same variables: dependencies cross from one to the next
  std::uint32_t bucket = 8;  ///< weights whose gradients are reduced together
};

// Emits a transformer's training step op by op: 16 weights a layer; projections of queries, keys and values on three
// streams, collectives on a fourth, the optimizer on a fifth.
class gpt_writer {
 public:
  explicit gpt_writer(gpt_size size) : size_(size) {
    const std::size_t weights = std::size_t{16} * size.layers;
    for (std::size_t w = 0; w < weights; ++w) {
      master_.push_back(next_++);
      half_.push_back(next_++);
      gradient_.push_back(next_++);
      moment_.push_back(next_++);
    }
    mask_ = next_++;
    found_ = next_++;
    base_ = next_;
    program_.reserve(std::size_t{90} * size.layers * size.micro_batches * size.steps);
  }

  flat_program run() && {
    for (std::uint32_t s = 0; s < size_.steps; ++s) step();
    return std::move(program_);
  }

 private:
  using var = std::uint32_t;
  static constexpr var none = ~var{0};
  enum class use : std::uint8_t { output, inputs, mask };  // what the gradient of an op needs of it
  struct record {
    hocket::stream_id stream;
    var in[2];
    var weight;  // its number, not its variable
    var out, extra;
    use needs;
  };

  void emit(hocket::stream_id stream, hocket::graph::op_kind kind, std::initializer_list<var> reads,
            std::initializer_list<var> writes) {
    reads_.clear();
    writes_.clear();
    for (const var v : reads)
      if (v != none) reads_.push_back(v);
    for (const var v : writes)
      if (v != none) writes_.push_back(v);
    program_.add(stream, kind, reads_, writes_);
  }
  var fresh() { return activation_++; }

  var op(hocket::stream_id stream, var x, var y, var weight, use needs) {
    const bool random = needs == use::mask;
    const record r{stream, {x, y}, weight, fresh(), random ? fresh() : none, needs};
    emit(stream, random ? hocket::graph::op_kind::random : hocket::graph::op_kind::compute,
         {x, y, weight == none ? none : half_[weight]}, {r.out, r.extra});
    tape_.push_back(r);
    return r.out;
  }
  var linear(hocket::stream_id s, var x, var w) {
    return op(s, op(s, x, none, w, use::inputs), none, w + 1, use::output);
  }
  var plain(hocket::stream_id s, var x) { return op(s, x, none, none, use::output); }
  var dropout(var x) { return op(0, x, none, none, use::mask); }

  var layer(var x, var w) {
    const var norm = op(0, op(0, x, none, w, use::inputs), none, w + 1, use::inputs);
    var qkv[3];
    for (hocket::stream_id s = 0; s < 3; ++s) qkv[s] = plain(s, plain(s, linear(s, norm, w + 2 + 2 * s)));
    var a = op(0, qkv[0], qkv[1], none, use::inputs);
    a = op(0, a, mask_, none, use::output);
    a = plain(0, plain(0, a));
    a = op(0, dropout(a), qkv[2], none, use::inputs);
    a = linear(0, plain(0, plain(0, a)), w + 8);
    const var middle = op(0, dropout(a), x, none, use::output);
    var f = op(0, op(0, middle, none, w + 10, use::inputs), none, w + 11, use::inputs);
    f = dropout(op(0, linear(0, f, w + 12), none, none, use::inputs));
    f = dropout(linear(0, f, w + 14));
    return op(0, f, middle, none, use::output);
  }

  var gradient_of(var x) {
    return x == none || x == mask_ || x < first_activation_ ? none : gradients_[x - first_activation_];
  }

  // The gradient of x gets one more part: the first is written in place, others are added.
  var part(var x, std::vector<std::pair<var, var>>& sums) {
    if (x == none || x < first_activation_) return none;
    var& g = gradients_[x - first_activation_];
    if (g == none) return g = fresh();
    const var addend = fresh();
    sums.push_back({addend, g});
    return addend;
  }

  void backward(bool first, bool last) {
    gradients_.assign(static_cast<std::size_t>(activation_ - first_activation_), none);
    gradients_.back() = fresh();
    emit(0, hocket::graph::op_kind::compute, {tape_.back().out}, {gradients_.back()});
    std::vector<var> waiting;
    std::vector<std::pair<var, var>> sums;
    for (std::size_t i = tape_.size(); i-- > 0;) {
      const record& r = tape_[i];
      sums.clear();
      const bool saved = r.needs == use::inputs;
      const var own = gradient_of(r.out);
      const var dx = part(r.in[0], sums), dy = r.in[1] == mask_ ? none : part(r.in[1], sums);
      const var dw = r.weight == none ? none : fresh();
      emit(r.stream, hocket::graph::op_kind::compute,
           {own, saved ? r.in[0] : none, saved ? r.in[1] : none, r.extra, r.weight == none ? none : half_[r.weight]},
           {dx, dy, dw});
      for (const auto& [addend, sum] : sums) emit(0, hocket::graph::op_kind::compute, {addend, sum}, {sum});
      if (r.weight == none) continue;
      const var g = gradient_[r.weight];
      if (first) emit(0, hocket::graph::op_kind::compute, {dw}, {g});
      else emit(0, hocket::graph::op_kind::compute, {dw, g}, {g});
      if (!last) continue;
      waiting.push_back(g);
      if (waiting.size() < size_.bucket && i != 0) continue;
      const var flat = fresh();
      program_.add(0, hocket::graph::op_kind::compute, waiting, std::span(&flat, 1));
      emit(3, hocket::graph::op_kind::collective, {flat}, {flat});
      program_.add(3, hocket::graph::op_kind::compute, std::span(&flat, 1), waiting);
      waiting.clear();
    }
  }

  void step() {
    emit(5, hocket::graph::op_kind::compute, {}, {mask_});
    for (std::size_t w = 0; w < half_.size(); ++w) emit(0, hocket::graph::op_kind::compute, {master_[w]}, {half_[w]});
    for (std::uint32_t m = 0; m < size_.micro_batches; ++m) {
      activation_ = first_activation_ = next_;
      tape_.clear();
      var x = fresh();
      emit(5, hocket::graph::op_kind::io, {}, {x});
      for (std::uint32_t l = 0; l < size_.layers; ++l) x = layer(x, 16 * l);
      backward(m == 0, m + 1 == size_.micro_batches);
      next_ = activation_;
    }
    program_.add(0, hocket::graph::op_kind::compute, gradient_, std::span(&found_, 1));
    for (std::size_t w = 0; w < half_.size(); ++w)
      emit(4, hocket::graph::op_kind::compute, {gradient_[w], master_[w], moment_[w], found_},
           {master_[w], moment_[w]});
    next_ = base_;  // the next step uses the same variables
  }

  gpt_size size_;
  flat_program program_;
  std::vector<var> master_, half_, gradient_, moment_;
  var mask_ = 0, found_ = 0, next_ = 0, base_ = 0, activation_ = 0, first_activation_ = 0;
  std::vector<record> tape_;
  std::vector<var> gradients_;  // by activation
  std::vector<var> reads_, writes_;
};

/// A training program of a GPT: casts of the weights, forward and backward of each micro-batch on several streams,
/// gradients accumulated, reduced in buckets, checked and applied by Adam; one step or several.
/// About 83 ops a layer and micro-batch. Many micro-batches make it wide, many layers deep.
/// @param ops  if not 0: cut after this many
[[nodiscard]] inline flat_program gpt_program(gpt_size size, std::size_t ops = 0) {
  flat_program program = gpt_writer(size).run();
  if (ops != 0) program.cut(ops);
  return program;
}

/// A graph without structure: each node has a Poisson number of predecessors, drawn uniformly from the earlier nodes.
[[nodiscard]] inline hocket::testing::edge_rows random_rows(std::size_t nodes, double in_degree, std::uint64_t seed) {
  hocket::testing::random_source random(seed);
  std::vector<hocket::graph::edge> edges;
  edges.reserve(static_cast<std::size_t>(static_cast<double>(nodes) * in_degree));
  const double none = std::exp(-in_degree);
  for (std::size_t b = 1; b < nodes; ++b) {
    double left = static_cast<double>(random() >> 11) * 0x1p-53;
    std::uint32_t k = 0;
    for (double p = none; left > p && k < 100; left -= p, p *= in_degree / ++k) {
    }
    for (; k != 0; --k) edges.push_back({random.below(b), static_cast<hocket::node_id>(b)});
  }
  return hocket::testing::rows_of(nodes, std::move(edges));
}

}  // namespace graph_programs
