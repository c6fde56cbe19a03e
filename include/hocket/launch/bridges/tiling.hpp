// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/command.hpp>
#include <hocket/tiling/plan.hpp>

#include <array>

namespace hocket::inline HOCKET_ABI::launch {

/// The commands of a tile plan: tile t goes through the phases in order, phase k on stream stream_of_phase[k].
/// Op = place of the tile in the plan, phase = k; what rows that is, the plan says (`plan.tiles()`).
/// Issued along the diagonals t + k = const, later phases first: where two phases share a stream, the next tile's early
/// phase is then queued before this tile's late one, which would have the stream wait. Phases that follow each other on
/// one stream need no event.
/// @param stream_of_phase  for each phase its stream; {0, 1} and {1, 0} are the usual two
/// @return errc::invalid_argument without phases, errc::limit_exceeded for more than tiling::max_phases or for a stream
///         number of stream_limit and above
/// Complexity: O(tiles x phases).
///
///     auto list = hocket::launch::from_tiling(plan, std::array<hocket::stream_id, 2>{0, 1});
[[nodiscard]] inline result<command_list> from_tiling(const tiling::plan& plan,
                                                      std::span<const stream_id> stream_of_phase) {
  const std::size_t phases = stream_of_phase.size(), tiles = plan.tiles().size();
  if (phases == 0) return error{errc::invalid_argument, 0}.with("number of phases");
  if (phases > tiling::max_phases)
    return error{errc::limit_exceeded, static_cast<std::int64_t>(phases), static_cast<std::int64_t>(tiling::max_phases)}
        .with("phases");
  stream_id highest = 0;
  for (const stream_id s : stream_of_phase) highest = s > highest ? s : highest;
  if (const auto fits = check_stream_count(std::size_t{highest} + 1); !fits) return fits.error();

  // Phase k hands over to k + 1 by one event per tile, numbered in the order of recording.
  std::vector<event_id> event_of(tiles * phases, no_id);
  event_id events = 0;
  std::vector<command> out;
  out.reserve(3 * tiles * phases);
  for (std::size_t diagonal = 0; diagonal + 1 < tiles + phases; ++diagonal) {
    for (std::size_t k = phases; k-- > 0;) {
      if (diagonal < k || diagonal - k >= tiles) continue;
      const std::size_t t = diagonal - k;
      const auto stream = static_cast<std::uint16_t>(stream_of_phase[k]);
      if (k > 0 && event_of[t * phases + k - 1] != no_id)
        out.push_back(wait_event(event_of[t * phases + k - 1], stream));
      out.push_back(run_op(static_cast<node_id>(t), stream, static_cast<std::uint8_t>(k)));
      if (k + 1 < phases && stream_of_phase[k + 1] != stream) {
        event_of[t * phases + k] = events;
        out.push_back(record_event(events++, stream));
      }
    }
  }
  return command_list::make(out, std::size_t{highest} + 1);
}

/// The same with computation on stream 0 and communication on stream 1, in the order of the operator's phases.
///
///     using hocket::tiling::phase_kind;
///     auto list = hocket::launch::from_tiling(plan, std::array{phase_kind::comm, phase_kind::compute});
[[nodiscard]] inline result<command_list> from_tiling(const tiling::plan& plan,
                                                      std::span<const tiling::phase_kind> phases) {
  std::array<stream_id, tiling::max_phases + 1> streams{};
  const std::size_t count = phases.size() < streams.size() ? phases.size() : streams.size();
  for (std::size_t k = 0; k < count; ++k) streams[k] = phases[k] == tiling::phase_kind::compute ? 0 : 1;
  return from_tiling(plan, std::span<const stream_id>(streams.data(), count));
}

}  // namespace hocket::inline HOCKET_ABI::launch
