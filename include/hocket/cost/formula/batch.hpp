// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/cost/formula/term.hpp>

#include <cstddef>
#include <span>

/// The same formulas, over many configurations at once. Nothing is written twice: the evaluator is generated from the
/// type of the formula, as the exact one is, and works on blocks of configurations that the compiler vectorises.
namespace hocket::inline HOCKET_ABI::cost {

/// The numbers of one symbol, one per configuration.
template <class Key>
struct column {
  borrowed<double> values;
};
/// The column of a symbol:
///
///     column_of(letters::tp, tensor_parallel_sizes)
template <class Letter, class U>
[[nodiscard]] constexpr column<typename Letter::key> column_of(symbol<Letter, U>, borrowed<double> values) noexcept {
  return {values};
}

namespace detail {
/// Configurations worked on at a time: enough to share out what they have in common, few enough for the first cache.
inline constexpr std::size_t block_width = 32;
struct lanes {
  double v[block_width];
};
// What a subexpression is: one number for all configurations, or one each. The type decides, so nothing that all
// configurations share is computed per configuration.
template <class T>
inline constexpr bool is_lanes = std::is_same_v<T, lanes>;
template <class A, class B>
using wider = std::conditional_t<is_lanes<A> || is_lanes<B>, lanes, double>;

constexpr double lane(double x, std::size_t) noexcept { return x; }
constexpr double lane(const lanes& x, std::size_t at) noexcept { return x.v[at]; }

// As divided_up(double, double), without a branch: 1.5 * 2^52 pushes the fraction out of a double.
constexpr double quotient_up(double a, double b) noexcept {
  constexpr double push = 6755399441055744.0, whole_from = 2251799813685248.0;
  const double q = a / b, nearest = (q + push) - push;
  const double up = nearest < q ? nearest + 1 : nearest;
  return q > -whole_from && q < whole_from ? up : q;
}
template <arithmetic O>
constexpr double joined_lane(double a, double b) noexcept {
  if constexpr (O == arithmetic::add) return a + b;
  else if constexpr (O == arithmetic::subtract) return a - b;
  else if constexpr (O == arithmetic::multiply) return a * b;
  else if constexpr (O == arithmetic::divide) return a / b;
  else if constexpr (O == arithmetic::divide_up) return quotient_up(a, b);
  else if constexpr (O == arithmetic::least) return b < a ? b : a;
  else return a < b ? b : a;
}
template <arithmetic O, class A, class B, class Out>
constexpr void join_blocks(const A& a, const B& b, Out& out) noexcept {
  if constexpr (is_lanes<Out>) {
    for (std::size_t i = 0; i < block_width; ++i) out.v[i] = joined_lane<O>(lane(a, i), lane(b, i));
  } else {
    out = joined_lane<O>(a, b);
  }
}
template <class In>
constexpr void copy_block(const In& in, lanes& out) noexcept {
  for (std::size_t i = 0; i < block_width; ++i) out.v[i] = lane(in, i);
}
constexpr void copy_block(double in, double& out) noexcept { out = in; }

template <class Key, class Columns>
struct is_column_of : std::false_type {};
template <class Key>
struct is_column_of<Key, column<Key>> : std::true_type {};

// One block of a batch: the first configuration, and how many there are (the last block repeats its last one).
template <class Batch>
struct block {
  const Batch& all;
  std::size_t first, last;

  template <class Key>
  using kind = std::conditional_t<Batch::template varies<Key>(), lanes, double>;
  template <class Key>
  constexpr void load(lanes& out) const noexcept {
    const std::span<const double> values = all.template values_of<Key>();
    if (first + block_width <= last + 1) {
      for (std::size_t i = 0; i < block_width; ++i) out.v[i] = values[first + i];
    } else {
      for (std::size_t i = 0; i < block_width; ++i) out.v[i] = values[first + i < last ? first + i : last];
    }
  }
  template <class Key>
  constexpr void load(double& out) const noexcept {
    out = static_cast<double>(all.common().template get<Key>());
  }
};

// block_value<E, Block>: the kind of a formula's value, by the symbols in it.
template <class E, class Block>
constexpr auto value_kind() noexcept;
template <class E, class Block>
using block_value = typename decltype(detail::value_kind<E, Block>())::type;
template <class Block, class S, class... C>
constexpr auto widest(std::type_identity<S>, const pack<C...>*) noexcept {
  using any = std::bool_constant<(is_lanes<block_value<S, Block>> || ... || is_lanes<block_value<C, Block>>)>;
  return std::type_identity<std::conditional_t<any::value, lanes, double>>{};
}
template <class E, class Block>
constexpr auto value_kind() noexcept {
  if constexpr (E::is == formula_kind::literal) {
    return std::type_identity<double>{};
  } else if constexpr (E::is == formula_kind::symbol) {
    return std::type_identity<typename Block::template kind<typename E::key>>{};
  } else if constexpr (E::is == formula_kind::binary) {
    return std::type_identity<wider<block_value<decltype(E::left), Block>, block_value<decltype(E::right), Block>>>{};
  } else if constexpr (E::is == formula_kind::definition) {
    return detail::value_kind<decltype(E::body), Block>();
  } else {
    return detail::widest<Block>(std::type_identity<decltype(E::selector)>{},
                                 static_cast<const decltype(E::cases)*>(nullptr));
  }
}

template <class Block, class E>
constexpr void eval_block(const E& e, const Block& b, block_value<E, Block>& out) noexcept {
  if constexpr (E::is == formula_kind::literal) {
    out = static_cast<double>(e.value);
  } else if constexpr (E::is == formula_kind::symbol) {
    b.template load<typename E::key>(out);
  } else if constexpr (E::is == formula_kind::binary) {
    block_value<decltype(E::left), Block> left;
    block_value<decltype(E::right), Block> right;
    detail::eval_block(e.left, b, left);
    detail::eval_block(e.right, b, right);
    join_blocks<E::join>(left, right, out);
  } else if constexpr (E::is == formula_kind::definition) {
    detail::eval_block(e.body, b, out);
  } else {
    block_value<decltype(E::selector), Block> selector;
    detail::eval_block(e.selector, b, selector);
    copy_block(std::numeric_limits<double>::quiet_NaN(), out);  // a selector that names no case
    double index = 0;
    cost::for_each_in(e.cases, [&](const auto& each) {
      block_value<std::remove_cvref_t<decltype(each)>, Block> value;
      if constexpr (is_lanes<decltype(selector)>) {
        detail::eval_block(each, b, value);
        for (std::size_t i = 0; i < block_width; ++i) out.v[i] = selector.v[i] == index ? lane(value, i) : out.v[i];
      } else if (selector == index) {
        detail::eval_block(each, b, value);
        copy_block(value, out);
      }
      ++index;
    });
  }
}
}  // namespace detail

/// Many configurations: what they have in common, as an environment, and columns for the symbols that vary; a column
/// takes precedence over a member of the environment. The columns must be of one length and outlive the batch.
///
///     std::vector<double> sizes{1, 2, 4, 8}, bytes(4);
///     const hocket::cost::batch four(hocket::cost::environment(m, t, p), hocket::cost::column_of(letters::tp, sizes));
///     hocket::cost::evaluate(c * (element * (s * b * h)) / letters::tp, four, bytes);
template <class Common, class... Columns>
class batch;
template <class... Configs, class... Keys>
class batch<environment<Configs...>, column<Keys>...> : private column<Keys>... {
 public:
  constexpr explicit batch(const environment<Configs...>& common, const column<Keys>&... columns) noexcept
      : column<Keys>(columns)..., common_(common) {
    static_assert(sizeof...(Keys) > 0, "hocket::cost: a batch has at least one column");
    const std::size_t sizes[] = {columns.values.size()...};
    for ([[maybe_unused]] const std::size_t n : sizes) HOCKET_ASSERT(n == sizes[0]);
    size_ = sizes[0];
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr const environment<Configs...>& common() const noexcept { return common_; }
  template <class Key>
  [[nodiscard]] static constexpr bool varies() noexcept {
    return (std::is_same_v<Key, Keys> || ...);
  }
  template <class Key>
  [[nodiscard]] constexpr std::span<const double> values_of() const noexcept {
    return static_cast<const column<Key>&>(*this).values;
  }

 private:
  environment<Configs...> common_;
  std::size_t size_ = 0;
};
template <class... Configs, class... Keys>
batch(const environment<Configs...>&, const column<Keys>&...) -> batch<environment<Configs...>, column<Keys>...>;

namespace detail {
template <class Batch, class F>
constexpr void for_each_block(const Batch& all, std::span<double> out, F&& value) noexcept {
  HOCKET_ASSERT(out.size() == all.size());
  for (std::size_t first = 0; first < all.size(); first += block_width) {
    lanes result;
    value(block<Batch>{all, first, all.size() - 1}, result);
    const std::size_t count = all.size() - first < block_width ? all.size() - first : block_width;
    for (std::size_t i = 0; i < count; ++i) out[first + i] = result.v[i];
  }
}
// The sum over the terms that count, of formula (divided by split, if asked).
template <bool Split, class Terms, class Block>
constexpr void sum_block(const Terms& list, const Block& b, lanes& out) noexcept {
  copy_block(0.0, out);
  for_each_in(list, [&](const auto& t) {
    block_value<std::remove_cvref_t<decltype(t.when)>, Block> when;
    detail::eval_block(t.when, b, when);
    if constexpr (!is_lanes<decltype(when)>) {
      if (when == 0) return;
    }
    using whole_type = block_value<std::remove_cvref_t<decltype(t.formula)>, Block>;
    using split_type = block_value<std::remove_cvref_t<decltype(t.split)>, Block>;
    whole_type whole;
    detail::eval_block(t.formula, b, whole);
    split_type ranks;
    if constexpr (Split) detail::eval_block(t.split, b, ranks);
    else copy_block(1.0, ranks);
    wider<whole_type, split_type> share;
    join_blocks<arithmetic::divide>(whole, ranks, share);
    for (std::size_t i = 0; i < block_width; ++i) out.v[i] += lane(when, i) != 0 ? lane(share, i) : 0.0;
  });
}
}  // namespace detail

/// The value of a formula for each configuration, in doubles: whole numbers below 2^53 come out exact, as do quotients
/// that are whole; a division by zero gives an infinity or no number, not an error.
/// Precondition: out.size() == all.size(). Complexity: one operation per node and configuration for what varies, one
/// per node and 32 configurations for what does not.
template <formula E, class Common, class... Columns>
constexpr void evaluate(const E& e, const batch<Common, Columns...>& all, std::span<double> out) noexcept {
  detail::for_each_block(all, out, [&](const auto& b, detail::lanes& result) {
    detail::block_value<E, std::remove_cvref_t<decltype(b)>> value;
    detail::eval_block(e, b, value);
    detail::copy_block(value, result);
  });
}
/// The sum of the terms that count, whole, for each configuration; as `total` of one configuration.
template <class Terms, class Common, class... Columns>
constexpr void total(const Terms& list, const batch<Common, Columns...>& all, std::span<double> out) noexcept {
  detail::for_each_block(all, out,
                         [&](const auto& b, detail::lanes& result) { detail::sum_block<false>(list, b, result); });
}
/// The sum of formula / split, what one rank has, for each configuration; as `rank_total` of one configuration.
template <class Terms, class Common, class... Columns>
constexpr void rank_total(const Terms& list, const batch<Common, Columns...>& all, std::span<double> out) noexcept {
  detail::for_each_block(all, out,
                         [&](const auto& b, detail::lanes& result) { detail::sum_block<true>(list, b, result); });
}

}  // namespace hocket::inline HOCKET_ABI::cost
