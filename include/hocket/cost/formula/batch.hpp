// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/cost/formula/term.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

/// The same formulas, over many configurations at once. Nothing is written twice: the nodes are walked once for a block
/// of configurations, each node a loop that the compiler vectorises.
namespace hocket::inline HOCKET_ABI::cost {

/// The numbers of one symbol, one per configuration.
struct column {
  formula_view symbol;  ///< of a constant
  borrowed<double> values;
};
/// The column of a symbol. Precondition: it is one, and outlives the column.
///
///     column_of(letters::tp, tensor_parallel_sizes)
template <class Unit>
[[nodiscard]] constexpr column column_of(const expression<Unit, 1>& symbol, borrowed<double> values) noexcept {
  HOCKET_ASSERT(formula_view(symbol).what() == formula_kind::symbol);
  return {symbol, values};
}
template <class Unit>
column column_of(const expression<Unit, 1>&&, borrowed<double>) = delete;

/// Many configurations: what they have in common, as an environment, and columns for the symbols that vary; a column
/// takes precedence over a member of the environment. The columns must be of one length and outlive the batch.
///
///     std::vector<double> sizes{1, 2, 4, 8}, bytes(4);
///     const hocket::cost::batch four(hocket::cost::environment(m, t, p), hocket::cost::column_of(letters::tp, sizes));
///     hocket::cost::evaluate(c * (element * (s * b * h)) / letters::tp, four, bytes);
template <class Environment, std::size_t Columns>
class batch {
 public:
  static_assert(Columns > 0, "hocket::cost: a batch has at least one column");

  template <class... Column>
  constexpr explicit batch(const Environment& common, const Column&... columns) noexcept
      : common_(common), columns_{columns...} {
    for ([[maybe_unused]] const column& each : columns_) HOCKET_ASSERT(each.values.size() == size());
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return columns_[0].values.size(); }
  [[nodiscard]] constexpr const Environment& common() const& noexcept { return common_; }
  const Environment& common() const&& = delete;
  [[nodiscard]] constexpr std::span<const column> columns() const& noexcept { return columns_; }
  std::span<const column> columns() const&& = delete;

 private:
  Environment common_;
  std::array<column, Columns> columns_;
};
template <class... Configs, class... Columns>
batch(const environment<Configs...>&, const Columns&...) -> batch<environment<Configs...>, sizeof...(Columns)>;

namespace detail {
/// Configurations worked on at a time: enough to share out the walk, few enough for the first cache.
inline constexpr std::size_t block_width = 128;

/// The values of a formula for a block. What does not vary is computed once, in v[0].
struct lanes {
  double v[block_width];
  bool varies;

  constexpr void fill(double x) noexcept {
    v[0] = x;
    varies = false;
  }
  constexpr void spread() noexcept {
    if (!varies) std::fill(v + 1, v + block_width, v[0]);
    varies = true;
  }
};

// As divided_up(double, double), without a branch: 1.5 * 2^52 pushes the fraction out of a double.
constexpr double quotient_up(double a, double b) noexcept {
  constexpr double push = 6755399441055744.0, whole_from = 2251799813685248.0;
  const double q = a / b, nearest = (q + push) - push;
  const double up = nearest < q ? nearest + 1 : nearest;
  return q > -whole_from && q < whole_from ? up : q;
}
// a = f(a, b), lane by lane.
template <class F>
constexpr void join_lanes(lanes& a, lanes& b, F&& f) noexcept {
  if (!a.varies && !b.varies) return a.fill(f(a.v[0], b.v[0]));
  a.spread();
  b.spread();
  for (std::size_t i = 0; i < block_width; ++i) a.v[i] = f(a.v[i], b.v[i]);
}
constexpr void join_lanes(arithmetic what, lanes& a, lanes& b) noexcept {
  switch (what) {
    case arithmetic::add: return join_lanes(a, b, [](double x, double y) { return x + y; });
    case arithmetic::subtract: return join_lanes(a, b, [](double x, double y) { return x - y; });
    case arithmetic::multiply: return join_lanes(a, b, [](double x, double y) { return x * y; });
    case arithmetic::divide: return join_lanes(a, b, [](double x, double y) { return x / y; });
    case arithmetic::divide_up: return join_lanes(a, b, [](double x, double y) { return quotient_up(x, y); });
    case arithmetic::least: return join_lanes(a, b, [](double x, double y) { return y < x ? y : x; });
    case arithmetic::greatest: return join_lanes(a, b, [](double x, double y) { return x < y ? y : x; });
  }
}

/// A block of a batch: its configurations from `first` on.
struct block_view {
  numbers_view common;
  std::span<const column> columns;
  std::size_t first, size;

  constexpr void load(formula_view symbol, lanes& out) const noexcept {
    for (const column& each : columns) {
      if (each.symbol.value() != symbol.value() || std::string_view(each.symbol.key()) != symbol.key()) continue;
      const std::span<const double> values = each.values.subspan(first, size);
      std::copy(values.begin(), values.end(), out.v);
      std::fill(out.v + size, out.v + block_width, values.back());  // the last block repeats its last one
      out.varies = true;
      return;
    }
    out.fill(real_leaves{common}.symbol(symbol));
  }
  constexpr void choose(formula_view e, lanes& out) const noexcept {
    lanes selector;
    eval(e.selector(), selector);
    out.fill(std::numeric_limits<double>::quiet_NaN());  // a selector that names no case
    if (!selector.varies) {
      for (std::int64_t c = 0; c < e.case_count(); ++c)
        if (selector.v[0] == static_cast<double>(c)) return eval(e.case_at(c), out);
      return;
    }
    out.spread();
    for (std::int64_t c = 0; c < e.case_count(); ++c) {
      lanes value;
      eval(e.case_at(c), value);
      value.spread();
      const auto index = static_cast<double>(c);
      for (std::size_t i = 0; i < block_width; ++i) out.v[i] = selector.v[i] == index ? value.v[i] : out.v[i];
    }
  }
  constexpr void eval(formula_view e, lanes& out) const noexcept {
    switch (e.what()) {
      case formula_kind::literal: return out.fill(static_cast<double>(e.value()));
      case formula_kind::symbol: return load(e, out);
      case formula_kind::definition: return eval(e.body(), out);
      case formula_kind::choice: return choose(e, out);
      case formula_kind::binary: break;
    }
    lanes right;
    eval(e.left(), out);
    eval(e.right(), right);
    join_lanes(e.join(), out, right);
  }
  // The sum over the terms that count, of formula (divided by split, if asked).
  constexpr void sum(const term_list_view& list, bool per_rank, lanes& out) const noexcept {
    out.fill(0);
    for (const listed_term& t : list.listed()) {
      const term_view each(list.nodes(), t, common);
      lanes counts, share, ranks;
      eval(each.when, counts);
      if (!counts.varies && counts.v[0] == 0) continue;
      eval(each.formula, share);
      if (per_rank) {
        eval(each.split, ranks);
        join_lanes(arithmetic::divide, share, ranks);
      }
      if (counts.varies) join_lanes(share, counts, [](double x, double when) { return when != 0 ? x : 0.0; });
      join_lanes(arithmetic::add, out, share);
    }
  }
};
template <class Batch, class F>
constexpr void for_each_block(const Batch& all, std::span<double> out, F&& value) noexcept {
  HOCKET_ASSERT(out.size() == all.size());
  for (std::size_t first = 0; first < all.size(); first += block_width) {
    const block_view b{all.common(), all.columns(), first, (std::min)(block_width, all.size() - first)};
    lanes values;
    value(b, values);
    values.spread();
    std::copy_n(values.v, b.size, out.begin() + static_cast<std::ptrdiff_t>(first));
  }
}
}  // namespace detail

/// The value of a formula for each configuration, in doubles: whole numbers below 2^53 come out exact, as do quotients
/// that are whole; a division by zero gives an infinity or no number, not an error.
/// Precondition: out.size() == all.size(). Complexity: one operation per node and configuration for what varies, one
/// per node and 128 configurations for what does not.
template <class Environment, std::size_t Columns>
constexpr void evaluate(formula_view e, const batch<Environment, Columns>& all, std::span<double> out) noexcept {
  detail::for_each_block(all, out, [&](const detail::block_view& b, detail::lanes& values) { b.eval(e, values); });
}
/// The sum of the terms that count, whole, for each configuration; as `total` of one configuration.
template <class Environment, std::size_t Columns>
constexpr void total(const term_list_view& list, const batch<Environment, Columns>& all,
                     std::span<double> out) noexcept {
  detail::for_each_block(all, out,
                         [&](const detail::block_view& b, detail::lanes& values) { b.sum(list, false, values); });
}
/// The sum of formula / split, what one rank has, for each configuration; as `rank_total` of one configuration.
template <class Environment, std::size_t Columns>
constexpr void rank_total(const term_list_view& list, const batch<Environment, Columns>& all,
                          std::span<double> out) noexcept {
  detail::for_each_block(all, out,
                         [&](const detail::block_view& b, detail::lanes& values) { b.sum(list, true, values); });
}

}  // namespace hocket::inline HOCKET_ABI::cost
