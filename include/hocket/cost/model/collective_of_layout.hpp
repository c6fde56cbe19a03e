// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/communication.hpp>

namespace hocket::inline HOCKET_ABI::cost {

/// How a product C[m, n] = A[m, k] B[k, n] is split over devices: into how many parts each dimension of each factor is
/// cut. The devices are those of one group; a factor that is not cut is on all of them.
struct matmul_layout {
  std::int64_t left_rows = 1, left_inner = 1;       ///< of A: m, k
  std::int64_t right_inner = 1, right_columns = 1;  ///< of B: k, n
  /// How the result is wanted: 1 is whole on every device, 0 as it comes.
  std::int64_t rows_wanted = 0, columns_wanted = 0;
};
/// A collective and the number of ranks in it; `before` if it must bring a factor together before the product.
struct needed_collective {
  collective kind = collective::none;
  std::int64_t ranks = 1;
  bool before = false;
  friend constexpr bool operator==(const needed_collective&, const needed_collective&) = default;
};

/// The collective that a split of a matrix product needs to be right, so that the one found in a trace can be judged:
///  * both factors cut along k alike: each device has a partial sum, so an all-reduce; a reduce-scatter if the result
///    is wanted cut along rows or columns by as many;
///  * only one factor cut along k: it must be gathered first;
///  * neither: none, and an all-gather if a cut result is wanted whole.
/// A row-parallel linear layer, A cut (1, 4) and B (4, 1), needs an all-reduce of 4.
/// Errors: errc::out_of_range for a cut below 1 (below 0 for what is wanted), errc::bad_shape if both factors are cut
/// along k, unequally, or the wanted cut cannot be had with one collective.
[[nodiscard]] constexpr result<needed_collective> expected_collective(const matmul_layout& at) noexcept {
  for (const std::int64_t cut : {at.left_rows, at.left_inner, at.right_inner, at.right_columns})
    if (cut < 1) return error{errc::out_of_range, cut, 1, (std::numeric_limits<std::int32_t>::max)()}.with("cut");
  for (const std::int64_t cut : {at.rows_wanted, at.columns_wanted})
    if (cut < 0)
      return error{errc::out_of_range, cut, 0, (std::numeric_limits<std::int32_t>::max)()}.with("cut wanted");
  const std::int64_t rows = at.rows_wanted == 0 ? at.left_rows : at.rows_wanted,
                     columns = at.columns_wanted == 0 ? at.right_columns : at.columns_wanted;
  const bool as_it_comes = rows == at.left_rows && columns == at.right_columns;
  const auto bad = [&](const char* why) { return error{errc::bad_shape, at.left_inner, at.right_inner, 0}.with(why); };
  if (at.left_inner != at.right_inner) {
    if (at.left_inner != 1 && at.right_inner != 1) return bad("factors cut differently along the inner dimension");
    if (!as_it_comes) return bad("a layout that takes two collectives");
    return needed_collective{collective::all_gather, at.left_inner == 1 ? at.right_inner : at.left_inner, true};
  }
  if (at.left_inner > 1) {
    if (as_it_comes) return needed_collective{collective::all_reduce, at.left_inner, false};
    const bool by_rows = rows == at.left_rows * at.left_inner && columns == at.right_columns,
               by_columns = columns == at.right_columns * at.left_inner && rows == at.left_rows;
    if (by_rows || by_columns) return needed_collective{collective::reduce_scatter, at.left_inner, false};
    return bad("a layout that takes two collectives");
  }
  if (as_it_comes) return needed_collective{};
  if (rows == 1 && columns == at.right_columns) return needed_collective{collective::all_gather, at.left_rows, false};
  if (columns == 1 && rows == at.left_rows) return needed_collective{collective::all_gather, at.right_columns, false};
  return bad("a layout that takes two collectives");
}

}  // namespace hocket::inline HOCKET_ABI::cost
