// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/ascend/kernel_phase.hpp>
#include <hocket/interop/ascend/profile.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace hocket::inline HOCKET_ABI::ascend {

/// The lengths of a tensor.
using tensor_shape = std::vector<std::int64_t>;

/// Reads `4096,12288;6400,12288;`: a shape for each tensor, of which some may be empty (scalars). Nothing if a length
/// is no whole number, or negative.
[[nodiscard]] inline std::optional<std::vector<tensor_shape>> parse_shapes(std::string_view text) {
  std::vector<tensor_shape> out;
  while (!text.empty()) {
    const std::size_t end = (std::min)(text.find(';'), text.size());
    tensor_shape shape;
    for (std::string_view rest = text.substr(0, end); !rest.empty();) {
      const std::string_view digits = rest.substr(0, rest.find(','));
      const char* const end_of_digits = std::to_address(digits.end());
      std::int64_t length = 0;
      const auto [at, why] = std::from_chars(std::to_address(digits.begin()), end_of_digits, length);
      if (why != std::errc{} || at != end_of_digits || length < 0) return std::nullopt;
      shape.push_back(length);
      rest.remove_prefix((std::min)(digits.size() + 1, rest.size()));
    }
    out.push_back(std::move(shape));
    text.remove_prefix((std::min)(end + 1, text.size()));
  }
  return out;
}

/// A matrix product, once or `batch` times: [rows, inner] x [inner, columns].
struct matrix_product {
  std::int64_t batch = 1, rows = 0, columns = 0, inner = 0;

  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * batch * rows * columns * inner; }
};

namespace detail {

// Nothing beyond 2^61, so that twice a product of sizes still fits.
[[nodiscard]] inline std::optional<std::int64_t> size_of(const tensor_shape& shape) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 61;
  std::int64_t size = 1;
  for (const std::int64_t n : shape) {
    if (n != 0 && size > most / n) return std::nullopt;
    size *= n;
  }
  return size;
}

[[nodiscard]] inline bool is_plain_layout(std::string_view formats) noexcept {
  return formats.find("FRACTAL") == formats.npos && formats.find("NZ") == formats.npos;
}

}  // namespace detail

/// The product that a kernel of type MatMul, MatMulV2, MatMulV3, BatchMatMul, ... ran, from its shapes: the inner
/// length is the one that both inputs have, whichever of them is transposed. Nothing for other types, blocked layouts
/// (FRACTAL_NZ), and where no shapes were recorded.
[[nodiscard]] inline std::optional<matrix_product> product_of(const kernel& k) {
  const bool is_batched = k.type.starts_with("BatchMatMul");
  if (!is_batched && !k.type.starts_with("MatMul")) return std::nullopt;
  if (!detail::is_plain_layout(k.input_formats)) return std::nullopt;
  const auto in = parse_shapes(k.input_shapes), out = parse_shapes(k.output_shapes);
  if (!in || !out || in->size() < 2 || out->empty() || out->front().size() < 2) return std::nullopt;
  const tensor_shape &a = (*in)[0], &b = (*in)[1], &c = out->front();
  const auto a_size = detail::size_of(a), c_size = detail::size_of(c);
  if (a.size() < 2 || b.size() < 2 || !a_size || !c_size || *c_size == 0) return std::nullopt;
  matrix_product p;
  p.columns = c.back();
  const bool one_matrix = b.size() == 2;  // the rows of all batches in one product
  p.rows = one_matrix ? *c_size / p.columns : c[c.size() - 2];
  p.batch = *c_size / p.columns / p.rows;
  if (p.batch * p.rows == 0 || *a_size % (p.batch * p.rows) != 0) return std::nullopt;
  p.inner = *a_size / (p.batch * p.rows);
  const std::int64_t b0 = b[b.size() - 2], b1 = b.back();
  const bool fits = (b0 == p.inner && b1 == p.columns) || (b1 == p.inner && b0 == p.columns);
  if (!fits || p.inner > (std::int64_t{1} << 61) / *c_size) return std::nullopt;
  return p;
}

/// Runs of one type, or of one type and shape, together.
struct operator_total {
  std::string type;
  std::string core;
  std::string shapes;  ///< of inputs; empty unless asked for
  std::int64_t count = 0;
  nanoseconds total{};
  nanoseconds longest{};
  bool communicates = false;
  nanoseconds known{};  ///< the part of the total whose FLOPs are known
  double flops = 0;     ///< of that part

  /// FLOPs a second, of the runs where shapes tell; 0: of none.
  [[nodiscard]] double flops_per_second() const noexcept {
    return known.count() > 0 ? flops / static_cast<double>(known.count()) * 1e9 : 0;
  }
};

/// Adds up the runs of each type of op, longest total first, of equals by name. Times of runs that overlap count each.
/// @param by_shape  runs with other input shapes apart
/// O(k log k).
[[nodiscard]] inline std::vector<operator_total> total_operators(std::span<const kernel> kernels,
                                                                 bool by_shape = false) {
  std::map<std::array<std::string_view, 3>, operator_total> all;
  for (const kernel& k : kernels) {
    const std::string_view shapes = by_shape ? std::string_view(k.input_shapes) : std::string_view();
    operator_total& t = all[{k.type, k.core, shapes}];
    t.type = k.type;
    t.core = k.core;
    t.shapes = shapes;
    ++t.count;
    t.total = capped_sum(t.total, k.duration);
    t.longest = (std::max)(t.longest, k.duration);
    t.communicates = k.communicates;
    if (const auto p = product_of(k)) {
      t.known = capped_sum(t.known, k.duration);
      t.flops += static_cast<double>(p->flops());
    }
  }
  std::vector<operator_total> out;
  for (auto& [key, total] : all) out.push_back(std::move(total));
  std::sort(out.begin(), out.end(), [](const operator_total& a, const operator_total& b) {
    if (a.total != b.total) return a.total > b.total;
    if (a.type != b.type) return a.type < b.type;
    return a.core != b.core ? a.core < b.core : a.shapes < b.shapes;
  });
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::ascend
