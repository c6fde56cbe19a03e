// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/curve/affine.hpp>
#include <hocket/curve/cost_curve.hpp>
#include <hocket/curve/polynomial.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <span>

namespace hocket::inline HOCKET_ABI::curve {

/// A time fitted by one polynomial per range of sizes; how protocols that switch with the message size are written.
/// A piece holds below its bound, the next one from the bound on; the last piece has no bound. Made only by `make`,
/// which refuses what is not a cost, so every object is finite, not negative and never falls for sizes >= 0.
/// @tparam Pieces, Coefficients  capacities; fewer of either may be used
///
///     using fit = hocket::curve::piecewise_polynomial<2, 3>;  // the all-reduce of the document, sizes in MiB
///     constexpr auto reduce = fit::make({{{8, {14.769, 27.0622573, -0.9698202}}, {fit::unbounded,
///     {61.508333, 13.58491263}}}}); static_assert(reduce->time(6) > 142.2 && reduce->time(6) < 142.3);
template <std::size_t Pieces, std::size_t Coefficients>
class piecewise_polynomial {
 public:
  static_assert(Pieces >= 1 && Coefficients >= 1);
  static constexpr double unbounded = std::numeric_limits<double>::infinity();
  struct piece {
    double below = unbounded;                         ///< the piece holds for sizes below this one
    std::array<double, Coefficients> coefficients{};  ///< of ascending powers of the size
  };

  /// The curve of these pieces, in ascending order of their bounds.
  /// Errors: errc::bad_cost for a number that is not finite, bounds out of order, or a negative time.
  /// errc::decreasing_cost if the time falls anywhere, also at a bound or far out on the last piece (a quadratic that
  /// bends down is the usual case). Complexity: O(Pieces * Coefficients^2) bisections.
  [[nodiscard]] static constexpr result<piecewise_polynomial> make(std::span<const piece> pieces) noexcept {
    if (pieces.empty() || pieces.size() > Pieces)
      return hocket::error{errc::out_of_range, static_cast<std::int64_t>(pieces.size()), 1,
                           static_cast<std::int64_t>(Pieces)}
          .with("number of pieces");
    piecewise_polynomial f;
    double low = 0, before = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const piece& p = pieces[i];
      const bool last = i + 1 == pieces.size();
      for (const double c : p.coefficients)
        if (!(c - c == 0)) return hocket::error{errc::bad_cost}.with("coefficient");
      if (last ? p.below != unbounded : !(p.below > low && p.below < unbounded))
        return hocket::error{errc::invalid_argument, static_cast<std::int64_t>(i)}.with("bound of piece");
      const polynomial<Coefficients> q{p.coefficients};
      if (!is_cost(q(low))) return hocket::error{errc::bad_cost, to_integer(low)}.with("piece");
      if (q(low) < before) return hocket::error{errc::decreasing_cost, to_integer(low), to_integer(low)}.with("piece");
      // Beyond the last turning point a polynomial keeps its direction, so a finite end stands for infinity.
      double high = p.below;
      if (last) high = 2 * (low + 1 > q.derivative().root_bound() ? low + 1 : q.derivative().root_bound());
      if (!(high < unbounded)) return hocket::error{errc::bad_cost}.with("coefficient");  // too far apart to judge
      std::array<double, Coefficients + 1> cuts{};
      const std::size_t n = q.monotone_stretches(low, high, cuts);
      for (std::size_t j = 0; j + 1 < n; ++j)
        if (!(q(cuts[j]) <= q(cuts[j + 1])))
          return hocket::error{errc::decreasing_cost, to_integer(cuts[j]), to_integer(cuts[j + 1])}.with("piece");
      before = q(high);
      low = p.below;
      f.pieces_[i] = {p.below, q};
    }
    f.count_ = pieces.size();
    return f;
  }
  template <std::size_t Count>
  [[nodiscard]] static constexpr result<piecewise_polynomial> make(const piece (&pieces)[Count]) noexcept {
    return make(std::span<const piece>(pieces, Count));
  }

  /// Microseconds for a size >= 0. O(Pieces + Coefficients).
  [[nodiscard]] constexpr double time(double size) const noexcept {
    std::size_t i = 0;
    while (i + 1 < count_ && !(size < pieces_[i].below)) ++i;
    return pieces_[i].value(size);
  }

  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  /// The pieces, as `make` took them.
  [[nodiscard]] constexpr std::array<piece, Pieces> all_pieces() const noexcept {
    std::array<piece, Pieces> out{};
    for (std::size_t i = 0; i < count_; ++i) out[i] = {pieces_[i].below, pieces_[i].value.c};
    return out;
  }

 private:
  struct held {
    double below = unbounded;
    polynomial<Coefficients> value{};
  };
  constexpr piecewise_polynomial() = default;
  // For messages only: a size as a whole number, without undefined behaviour far out.
  [[nodiscard]] static constexpr std::int64_t to_integer(double x) noexcept {
    return x < 9e18 ? static_cast<std::int64_t>(x) : (std::numeric_limits<std::int64_t>::max)();
  }
  std::array<held, Pieces> pieces_{};
  std::size_t count_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::curve
