// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::launch {

/// What a command asks for.
enum class command_kind : std::uint8_t {
  run,     ///< launch op `id` on `stream`
  record,  ///< event `id` stands for all work issued to `stream` so far
  wait,    ///< later work of `stream` waits for the latest record of event `id` issued so far
};

/// One enqueue, in 8 bytes: what a plan consists of once it is ready to be launched.
struct command {
  std::uint32_t id = 0;      ///< op (run) or event (record, wait)
  std::uint16_t stream = 0;  ///< the stream whose queue receives it
  command_kind kind = command_kind::run;
  std::uint8_t phase = 0;  ///< run: which phase of the op (of a tile); else 0

  friend constexpr bool operator==(const command&, const command&) = default;
};
static_assert(sizeof(command) == 8);

[[nodiscard]] constexpr command run_op(node_id op, std::uint16_t stream, std::uint8_t phase = 0) noexcept {
  return {op, stream, command_kind::run, phase};
}
[[nodiscard]] constexpr command record_event(event_id event, std::uint16_t stream) noexcept {
  return {event, stream, command_kind::record, 0};
}
[[nodiscard]] constexpr command wait_event(event_id event, std::uint16_t stream) noexcept {
  return {event, stream, command_kind::wait, 0};
}

/// Whether `commands` may be issued from first to last on `stream_count` streams.
/// A wait binds to the record issued before it. So if each wait has one, every prefix of the list can finish: however
/// the streams interleave, the first unfinished command in issue order never waits for a later one.
/// @return errc::stream_out_of_range; errc::unrecorded_event for a wait that no earlier command records (a silent race
///         on CUDA, a hang on classic Ascend events); errc::out_of_range for an event id that is not below the number
///         of commands; errc::limit_exceeded beyond stream_limit streams or 2^32 - 2 commands
/// Complexity: O(commands) time, one byte per event.
///
///     constexpr hocket::launch::command list[] = {wait_event(0, 1), record_event(0, 0)};
///     static_assert(check(list, 2).error().code == hocket::errc::unrecorded_event);
template <class Byte = unsigned char>  // a template, since vectors are not constexpr in libstdc++'s debug mode
[[nodiscard]] constexpr result<void> check(std::span<const command> commands, std::size_t stream_count) {
  if (const auto fits = check_stream_count(stream_count); !fits) return fits.error();
  if (const auto count = to_id(commands.size(), "commands"); !count) return count.error();
  std::vector<Byte> recorded;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const command& c = commands[i];
    const auto index = static_cast<std::int64_t>(i);
    if (c.stream >= stream_count)
      return error{errc::stream_out_of_range, index, c.stream, static_cast<std::int64_t>(stream_count)};
    if (c.kind == command_kind::run) continue;
    if (c.kind != command_kind::record && c.kind != command_kind::wait)
      return error{errc::invalid_argument, static_cast<std::int64_t>(c.kind)}.with("command kind");
    if (c.id >= commands.size())  // bounds the memory that a foreign list can ask for
      return error{errc::out_of_range, c.id, 0, static_cast<std::int64_t>(commands.size()) - 1}.with("event");
    if (c.kind == command_kind::record) {
      if (c.id >= recorded.size()) recorded.resize(std::size_t{c.id} + 1);
      recorded[c.id] = 1;
    } else if (c.id >= recorded.size() || recorded[c.id] == 0) {
      return error{errc::unrecorded_event, index, c.id};
    }
  }
  return {};
}

/// Commands that passed `check`, in topological issue order: the flat form in which every plan reaches a backend.
/// Immutable, so one list can be driven by many threads and replayed for ever.
///
///     auto list = hocket::launch::command_list::make(
///         std::array{run_op(0, 0), record_event(0, 0), wait_event(0, 1), run_op(1, 1)}, 2);
///     list->event_count() == 1;
class command_list {
 public:
  explicit command_list(std::pmr::memory_resource* memory = std::pmr::get_default_resource()) : commands_(memory) {}

  /// Copies `commands` if they pass `check`, else its error.
  /// @param stream_count  streams that the list may use; they need not all occur
  [[nodiscard]] static result<command_list> make(std::span<const command> commands, std::size_t stream_count,
                                                 std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
    if (const auto valid = check(commands, stream_count); !valid) return valid.error();
    command_list list(memory);
    list.commands_.assign(commands.begin(), commands.end());
    list.stream_count_ = static_cast<std::uint32_t>(stream_count);
    for (const command& c : commands) {
      if (c.kind == command_kind::run) ++list.op_count_;
      else if (c.id >= list.event_count_) list.event_count_ = c.id + 1;
      if (c.kind == command_kind::wait) ++list.wait_count_;
    }
    return list;
  }

  [[nodiscard]] std::span<const command> commands() const& noexcept { return commands_; }
  std::span<const command> commands() const&& = delete;
  [[nodiscard]] const command* begin() const& noexcept { return commands_.data(); }
  const command* begin() const&& = delete;
  [[nodiscard]] const command* end() const& noexcept { return commands_.data() + commands_.size(); }
  const command* end() const&& = delete;
  [[nodiscard]] std::size_t size() const noexcept { return commands_.size(); }
  [[nodiscard]] bool empty() const noexcept { return commands_.empty(); }
  [[nodiscard]] command operator[](std::size_t i) const noexcept {
    HOCKET_ASSERT(i < size());
    return commands_[i];
  }

  [[nodiscard]] std::uint32_t stream_count() const noexcept { return stream_count_; }
  [[nodiscard]] std::uint32_t event_count() const noexcept { return event_count_; }  ///< highest event id + 1
  [[nodiscard]] std::uint32_t op_count() const noexcept { return op_count_; }        ///< run commands
  [[nodiscard]] std::uint32_t wait_count() const noexcept { return wait_count_; }

  friend bool operator==(const command_list&, const command_list&) = default;

 private:
  std::pmr::vector<command> commands_;
  std::uint32_t stream_count_ = 0;
  std::uint32_t event_count_ = 0;
  std::uint32_t op_count_ = 0;
  std::uint32_t wait_count_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::launch
