// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/launch/drive.hpp>

namespace hocket::inline HOCKET_ABI::launch {

/// Whether `list` can be captured on stream 0. Every other stream must join the capture before its first op or record,
/// by waiting for an event of a stream that is already in it. And stream 0 must wait at last, perhaps through others,
/// for the end of each. `fenced(list)` always can, and so can the plans of `graph::capture_plan::make`.
/// Devices report a list that cannot only at the end of the capture (CUDA: 904, 905), without saying which command.
/// @return errc::outside_capture, errc::unjoined_stream with the command and its stream
/// Complexity: O(commands).
///
///     auto checked = hocket::launch::check_capture(fenced(list).value());
[[nodiscard]] inline result<void> check_capture(const command_list& list) {
  // Forward: who is in. An event recorded in the list is recorded by a stream that is in, or we have failed by then.
  std::vector<bool> in(list.stream_count());
  if (!in.empty()) in[0] = true;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const command c = list[i];
    if (c.kind == command_kind::wait) in[c.stream] = true;
    else if (!in[c.stream])
      return error{errc::outside_capture, static_cast<std::int64_t>(i), static_cast<std::int64_t>(c.stream)};
  }
  // Backward: what stream 0 sees the end of. The first command met of a stream that is not seen must be a record that a
  // later wait of a seen stream binds to.
  std::vector<bool> seen(list.stream_count());
  std::vector<bool> wanted(list.event_count());
  if (!seen.empty()) seen[0] = true;
  for (std::size_t i = list.size(); i-- > 0;) {
    const command c = list[i];
    if (c.kind == command_kind::record && wanted[c.id]) {
      wanted[c.id] = false;
      seen[c.stream] = true;
    }
    if (!seen[c.stream])
      return error{errc::unjoined_stream, static_cast<std::int64_t>(i), static_cast<std::int64_t>(c.stream)};
    if (c.kind == command_kind::wait) wanted[c.id] = true;
  }
  return {};
}

namespace detail {

/// Says which member a backend lacks that is asked to capture.
template <class B>
struct checked_capture_backend : checked_backend<B> {
  static_assert(capture_backend<B>,
                "hocket: capture needs a backend with `captured_type`, `begin_capture(stream)`, `end_capture(stream, "
                "captured_type&)`, `launch_captured(captured_type, stream)` and `destroy_captured(captured_type)`, all "
                "noexcept and returning status_type");
};

// Ends the capture, also when the launcher throws: a stream that is left capturing refuses all further work.
template <class B>
struct open_capture {
  B& b;
  typename B::stream_type stream;
  bool open = true;

  typename B::status_type end(typename B::captured_type& graph) noexcept {
    open = false;
    return b.end_capture(stream, graph);
  }
  ~open_capture() {
    typename B::captured_type graph{};
    if (open && B::ok(end(graph))) static_cast<void>(b.destroy_captured(graph));
  }
};

}  // namespace detail

/// What `capture` gives.
template <class B>
struct capture_outcome {
  outcome<typename B::status_type> issue;  ///< of issuing the commands; its status also tells of begin and end
  typename B::captured_type graph{};       ///< to launch and to destroy; value-initialised unless complete

  constexpr explicit operator bool() const noexcept { return issue.complete; }
};

/// Captures a plan into one object that the device launches as a whole: a CUDA graph, an AscendCL model-RI.
/// Begins on streams[0], drives the list, ends. If anything fails the capture is ended and thrown away, and the first
/// failure is what is reported: those after it are its consequences. What the launcher throws passes through.
/// While it goes on, nothing may synchronise with, or query, a stream that takes part; the launcher enqueues no host
/// function unless `capture_allows_host_function<B>`. The events must not be used by work outside the capture.
/// @param list  must pass `check_capture`
/// Preconditions: as for `drive`; streams[0] is not the device's default stream.
///
///     auto list = fenced(from_graph(plan).value()).value();
///     auto captured = hocket::launch::capture(cuda, list, streams, events, launch_op);
///     if (captured)
///       for (int step = 0; step < 1000; ++step) cuda.launch_captured(captured.graph, streams[0]);
template <class B, class List, class L>
capture_outcome<B> capture(B& b, const List& list,
                           std::span<const typename detail::checked_capture_backend<B>::stream> streams,
                           std::span<const typename detail::checked_capture_backend<B>::event> events, L&& launch) {
  HOCKET_ASSERT(!list.empty() && check_capture(list).has_value());
  capture_outcome<B> done;
  const auto fail_with = [&done](typename B::status_type status) {
    done.issue.status = status;
    done.issue.complete = false;
    done.issue.stream = 0;
    done.issue.kind = command_kind::record;  // of the whole: no op is to blame
    if constexpr (requires { B::asynchronous(status); }) done.issue.asynchronous = B::asynchronous(status);
  };
  if (const auto begun = b.begin_capture(streams[0]); !B::ok(begun)) {
    fail_with(begun);
    return done;
  }
  detail::open_capture<B> begun_capture{b, streams[0]};
  done.issue = drive(b, list, streams, events, launch);
  typename B::captured_type graph{};
  const auto ended = begun_capture.end(graph);
  if (!done.issue) {
    if (B::ok(ended)) static_cast<void>(b.destroy_captured(graph));
    return done;
  }
  if (!B::ok(ended)) {
    fail_with(ended);
    return done;
  }
  done.graph = graph;
  return done;
}

}  // namespace hocket::inline HOCKET_ABI::launch
