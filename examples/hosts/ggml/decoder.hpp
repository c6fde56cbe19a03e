// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A decoder of 32 layers that reads a batch of two sequences into its key-value cache, written in ggml: views into one
// cache, strided copies, in-place sums. The sizes are small, so that an op takes about as long as a hand-over.
#pragma once
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace example {

template <auto Free>
struct freed_by {
  void operator()(auto* p) const noexcept { Free(p); }
};
template <class T, auto Free>
using owned = std::unique_ptr<T, freed_by<Free>>;

/// Where the tensors of the graph live.
enum class placement {
  separate,  ///< each in memory of its own
  reused,    ///< where ggml's graph allocator puts them: in memory that others have done with
};

struct decoder_shape {
  int layers = 32;
  int width = 128;
  int heads = 8;
  int groups = 4;  ///< of heads that share keys and values
  int head_width = 16;
  int hidden = 256;
  int vocabulary = 512;
  int tokens = 16;
  int past = 8;
  int context = 64;
  int sequences = 2;
};

class decoder {
 public:
  explicit decoder(placement where, const decoder_shape& shape = {}) : shape_(shape) {
    make_weights();
    make_graph();
    if (where == placement::reused) {
      allocator_.reset(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
      GGML_ASSERT(ggml_gallocr_alloc_graph(allocator_.get(), graph_));
    } else {
      values_.reset(ggml_backend_alloc_ctx_tensors_from_buft(ops_.get(), ggml_backend_cpu_buffer_type()));
    }
  }

  [[nodiscard]] ggml_cgraph& graph() noexcept { return *graph_; }

  /// Inputs and caches as before the first step.
  void reset() {
    std::memset(keys_->data, 0, ggml_nbytes(keys_));
    std::memset(values_cache_->data, 0, ggml_nbytes(values_cache_));
    const int seen = shape_.past + shape_.tokens;
    for (std::size_t s = 0; s < tokens_.size(); ++s) {
      auto* const token = static_cast<std::int32_t*>(tokens_[s]->data);
      auto* const position = static_cast<std::int32_t*>(positions_[s]->data);
      auto* const mask = static_cast<float*>(masks_[s]->data);
      for (int t = 0; t < shape_.tokens; ++t) {
        token[t] = (t * 37 + static_cast<int>(s) * 11) % shape_.vocabulary;
        position[t] = shape_.past + t;
        for (int j = 0; j < seen; ++j) mask[t * seen + j] = j <= shape_.past + t ? 0.0f : -INFINITY;
      }
    }
  }

  /// The logits and both caches, to the last bit.
  [[nodiscard]] std::vector<char> result() const {
    std::vector<char> bytes;
    const auto put = [&bytes](const ggml_tensor* t) {
      const char* const first = static_cast<const char*>(t->data);
      bytes.insert(bytes.end(), first, first + ggml_nbytes(t));
    };
    for (const ggml_tensor* t : logits_) put(t);
    put(keys_);
    put(values_cache_);
    return bytes;
  }

 private:
  struct layer {
    ggml_tensor *norm, *norm_hidden, *query, *key, *value, *output, *gate, *up, *down;
  };
  static constexpr float epsilon = 1e-5f;

  [[nodiscard]] int key_width() const noexcept { return shape_.groups * shape_.head_width; }
  ggml_tensor* matrix(int rows, int columns) {
    return ggml_new_tensor_2d(parameters_.get(), GGML_TYPE_F32, rows, columns);
  }
  ggml_tensor* vector(int size) { return ggml_new_tensor_1d(parameters_.get(), GGML_TYPE_F32, size); }

  void make_weights() {
    parameters_.reset(ggml_init({std::size_t{64} << 20, nullptr, true}));
    const int width = shape_.width, hidden = shape_.hidden;
    embedding_ = matrix(width, shape_.vocabulary);
    last_norm_ = vector(width);
    head_ = matrix(width, shape_.vocabulary);
    for (int i = 0; i < shape_.layers; ++i)
      layers_.push_back({vector(width), vector(width), matrix(width, width), matrix(width, key_width()),
                         matrix(width, key_width()), matrix(width, width), matrix(width, hidden), matrix(width, hidden),
                         matrix(hidden, width)});
    // One cache for all layers and sequences, which they see through views.
    const std::int64_t cached = std::int64_t{key_width()} * shape_.context * shape_.layers * shape_.sequences;
    keys_ = ggml_new_tensor_1d(parameters_.get(), GGML_TYPE_F16, cached);
    values_cache_ = ggml_new_tensor_1d(parameters_.get(), GGML_TYPE_F16, cached);
    weights_.reset(ggml_backend_alloc_ctx_tensors_from_buft(parameters_.get(), ggml_backend_cpu_buffer_type()));
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.08f);
    for (ggml_tensor* t = ggml_get_first_tensor(parameters_.get()); t != nullptr;
         t = ggml_get_next_tensor(parameters_.get(), t)) {
      if (t->type != GGML_TYPE_F32) continue;
      auto* const x = static_cast<float*>(t->data);
      for (std::int64_t i = 0; i < ggml_nelements(t); ++i) x[i] = (ggml_n_dims(t) == 1 ? 1.0f : 0.0f) + normal(random);
    }
  }

  void make_graph() {
    ops_.reset(ggml_init({std::size_t{64} << 20, nullptr, true}));
    ggml_context* const c = ops_.get();
    graph_ = ggml_new_graph_custom(c, 8192, false);
    const int seen = shape_.past + shape_.tokens;
    std::vector<ggml_tensor*> x;
    for (int s = 0; s < shape_.sequences; ++s) {
      tokens_.push_back(ggml_new_tensor_1d(c, GGML_TYPE_I32, shape_.tokens));
      positions_.push_back(ggml_new_tensor_1d(c, GGML_TYPE_I32, shape_.tokens));
      masks_.push_back(ggml_new_tensor_2d(c, GGML_TYPE_F32, seen, shape_.tokens));
      for (ggml_tensor* t : {tokens_.back(), positions_.back(), masks_.back()}) ggml_set_input(t);
      x.push_back(ggml_get_rows(c, embedding_, tokens_.back()));
    }
    for (std::size_t l = 0; l < layers_.size(); ++l)
      for (std::size_t s = 0; s < x.size(); ++s) {
        x[s] = feed_forward(layers_[l], attention(layers_[l], x[s], s, (l * x.size() + s)));
        ggml_build_forward_expand(graph_, x[s]);
      }
    for (ggml_tensor* last : x) {
      ggml_tensor* const normed = ggml_mul(c, ggml_rms_norm(c, last, epsilon), last_norm_);
      logits_.push_back(ggml_mul_mat(c, head_, normed));
      ggml_set_output(logits_.back());
      ggml_build_forward_expand(graph_, logits_.back());
    }
  }

  /// @param place  which part of the cache, in parts of one layer and sequence
  ggml_tensor* attention(const layer& l, ggml_tensor* x, std::size_t sequence, std::size_t place) {
    ggml_context* const c = ops_.get();
    const int tokens = shape_.tokens, width = shape_.head_width, seen = shape_.past + tokens;
    const auto keys = static_cast<std::size_t>(key_width()), context = static_cast<std::size_t>(shape_.context);
    const auto past = static_cast<std::size_t>(shape_.past), head_width = static_cast<std::size_t>(width);
    constexpr std::size_t item = sizeof(ggml_fp16_t);
    const std::size_t base = item * keys * context * place;

    ggml_tensor* const normed = ggml_mul(c, ggml_rms_norm(c, x, epsilon), l.norm);
    ggml_tensor* q = ggml_reshape_3d(c, ggml_mul_mat(c, l.query, normed), width, shape_.heads, tokens);
    ggml_tensor* k = ggml_reshape_3d(c, ggml_mul_mat(c, l.key, normed), width, shape_.groups, tokens);
    ggml_tensor* const v = ggml_mul_mat(c, l.value, normed);
    q = ggml_rope_ext(c, q, positions_[sequence], nullptr, width, 0, 0, 10000.f, 1, 0, 1, 0, 0);
    k = ggml_rope_ext(c, k, positions_[sequence], nullptr, width, 0, 0, 10000.f, 1, 0, 1, 0, 0);

    // Into the cache: keys one after the other, values transposed, so with a stride.
    ggml_tensor* const new_keys = ggml_view_1d(c, keys_, std::int64_t{key_width()} * tokens, base + item * keys * past);
    ggml_build_forward_expand(graph_, ggml_cpy(c, k, new_keys));
    ggml_tensor* const new_values =
        ggml_view_2d(c, values_cache_, tokens, key_width(), item * context, base + item * past);
    ggml_build_forward_expand(graph_, ggml_cpy(c, ggml_transpose(c, v), new_values));

    ggml_tensor* const all_keys =
        ggml_view_3d(c, keys_, width, seen, shape_.groups, item * keys, item * head_width, base);
    ggml_tensor* const all_values =
        ggml_view_3d(c, values_cache_, seen, width, shape_.groups, item * context, item * context * head_width, base);
    ggml_tensor* scores = ggml_mul_mat(c, all_keys, ggml_permute(c, q, 0, 2, 1, 3));
    scores = ggml_soft_max_ext(c, scores, masks_[sequence], 1 / std::sqrt(static_cast<float>(width)), 0);
    ggml_tensor* const mixed = ggml_permute(c, ggml_mul_mat(c, all_values, scores), 0, 2, 1, 3);
    ggml_tensor* const projected = ggml_mul_mat(c, l.output, ggml_cont_2d(c, mixed, shape_.width, tokens));
    return ggml_add_inplace(c, projected, x);
  }
  ggml_tensor* feed_forward(const layer& l, ggml_tensor* x) {
    ggml_context* const c = ops_.get();
    ggml_tensor* const normed = ggml_mul(c, ggml_rms_norm(c, x, epsilon), l.norm_hidden);
    ggml_tensor* const gated = ggml_swiglu_split(c, ggml_mul_mat(c, l.gate, normed), ggml_mul_mat(c, l.up, normed));
    return ggml_add(c, ggml_mul_mat(c, l.down, gated), x);
  }

  decoder_shape shape_;
  owned<ggml_context, ggml_free> parameters_, ops_;
  owned<ggml_backend_buffer, ggml_backend_buffer_free> weights_, values_;
  owned<ggml_gallocr, ggml_gallocr_free> allocator_;
  ggml_cgraph* graph_ = nullptr;  // in ops_
  std::vector<layer> layers_;
  ggml_tensor *embedding_ = nullptr, *last_norm_ = nullptr, *head_ = nullptr;
  ggml_tensor *keys_ = nullptr, *values_cache_ = nullptr;
  std::vector<ggml_tensor*> tokens_, positions_, masks_, logits_;  // one a sequence
};

}  // namespace example
