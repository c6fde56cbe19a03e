// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Databases of profilers: ascend_pytorch_profiler_*.db, ascend_mindspore_profiler_*.db, msprof_*.db (SQLite).
#pragma once
#include <hocket/interop/ascend/profile.hpp>

#include <string>
#include <vector>

namespace hocket_cli {

/// What a database holds.
struct database_reading {
  hocket::ascend::profile content;
  std::vector<std::string> unused_tables;
  std::string why_unused;  ///< nothing of a profiler is in it, or this build has no SQLite; empty: it is used
};

/// Whether a file begins as an SQLite database does.
bool is_database(const std::string& path);

/// Reads a database: TASK and COMPUTE_TASK_INFO (runs of ops), COMMUNICATION_OP, STEP_TIME, MEMORY_RECORD,
/// RANK_DEVICE_MAP and META_DATA, which name numbers of STRING_IDS. Ends the command if the file cannot be read or
/// holds several devices. Source of the schema: hiascend.com, CANN 8.5, "Data in ascend_pytorch_profiler_{Rank_ID}.db"
/// and "Description of .db Data Exported by msprof".
database_reading read_database(const std::string& path);

}  // namespace hocket_cli
