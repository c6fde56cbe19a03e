// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/borrowed.hpp>
#include <hocket/core/ids.hpp>

#include <cstdint>

namespace hocket::inline HOCKET_ABI::graph {

/// What choose_issue_order has to keep to.
struct issue_rules {
  /// The stream that an op has to be on, one per op, no_id where any of the streams will do; empty: no op is pinned.
  borrowed<stream_id> pinned{};
  /// The chain that an op belongs to, one per op, no_id for none; empty: there are no chains. The ops of a chain keep
  /// their program order, and one starts when the one before it is done: the collectives of a communicator, whose order
  /// then is the same on every rank, whatever durations the ranks measured.
  borrowed<std::uint32_t> chains{};
  /// The group that an op belongs to, one per op, no_id for none; empty: there are no groups. The ops of a group are
  /// issued one right after the other on one stream, in program order. They start when all that any of them waits for
  /// is done: what is launched as one, such as a captured graph or the calls between ncclGroupStart and ncclGroupEnd.
  borrowed<std::uint32_t> groups{};
  /// Streams after the first ones on which only ops run that are pinned there, one after the other: a copy engine, the
  /// collectives of a communicator, the host. An op of such a stream is asynchronous: it starts once what it waits for
  /// is done, and ends after its duration. An op that needs the result waits for it, and the other streams go on.
  stream_id lanes = 0;
};

}  // namespace hocket::inline HOCKET_ABI::graph
