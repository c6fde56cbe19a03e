// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many ranks side by side: what is found, and how it is told.
#pragma once
#include <hocket/interop/ascend/link_rates.hpp>
#include <hocket/interop/ascend/shared_collectives.hpp>
#include <hocket/interop/ascend/slow_ranks.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profile.hpp"

namespace hocket_cli {

/// What profiles of ranks tell together. Ranks are added one after the other; of each only times are kept.
struct ranks_found {
  std::vector<hocket::ascend::rank_steps> ranks;
  std::vector<std::size_t> op_counts;  ///< of each rank
  hocket::ascend::shared_collectives shared;
  std::vector<std::vector<hocket::ascend::size_rate>> rates;  ///< of each rank
  std::vector<hocket::ascend::rank_link> links;               ///< of all ranks
  std::int64_t rank_count = -1;                               ///< of the job; -1: not told
  std::vector<std::string> unused;                            ///< files

  std::vector<hocket::ascend::slow_rank> slow;
  std::vector<hocket::ascend::stage_times> stages;
  std::vector<hocket::ascend::rank_clock> clocks;
  std::vector<hocket::ascend::rank_arrivals> arrivals;
  std::vector<hocket::ascend::rank_rates> compared_rates;
  std::vector<hocket::ascend::slow_link> slow_links;
  std::vector<std::int64_t> missing;  ///< numbers of ranks of which there is no profile

  /// Adds what one rank's files hold.
  void add(const rank_files& files, const hocket::ascend::profile& p);
  /// Compares the ranks. @param stages  of the pipeline; 0: as the files tell
  void compare(std::int64_t stages);
};

/// `rank 3`, else its name.
std::string rank_text(const ranks_found& found, std::size_t rank);
/// The sentences: who is slow, who waits, clocks, steps, links.
std::string verdict_text(const ranks_found& found, std::int64_t top);
std::string ranks_as_text(const ranks_found& found, std::int64_t top);
std::string ranks_as_json(const ranks_found& found);
/// Ranks and their steps as a picture.
std::string picture_of_ranks(const ranks_found& found);
/// What links between ranks reach, as a picture; ends the command if no file tells.
std::string picture_of_links(const std::vector<hocket::ascend::rank_link>& links);

}  // namespace hocket_cli
