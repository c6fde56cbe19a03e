// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/bytes.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the profilers of Ascend devices, MindSpore and PyTorch wrote about a run, as values.
namespace hocket::inline HOCKET_ABI::ascend {

/// Time in a profile. Profilers print microseconds with up to three decimals, counted from 1970: 64 bits of nanoseconds
/// hold that exactly until the year 2262, a double does not.
using nanoseconds = std::chrono::duration<std::int64_t, std::nano>;

/// A sum of times, at most what 64 bits hold, whatever a file claims.
[[nodiscard]] constexpr nanoseconds capped_sum(nanoseconds a, nanoseconds b) noexcept {
  const nanoseconds most = (nanoseconds::max)();
  return b > most - a ? most : a + b;
}

/// What a file of a profiler holds.
enum class profile_form : std::uint8_t {
  kernels,        ///< kernel_details.csv, op_summary_*.csv, cpu_op_execute_timestamp_*.txt: a row for each run of an op
  op_totals,      ///< op_statistic.csv, cpu_op_type_info_*.csv, cpu_op_detail_info_*.csv: a row for each kind of op
  step_times,     ///< step_trace_time.csv, cluster_step_trace_time.csv: a row for each step, or for each rank
  memory,         ///< memory_record.csv, cpu_ms_memory_record_*.txt: a row for each moment
  communication,  ///< communication.json, cluster_communication.json: an entry for each run of a collective
  communication_matrix,  ///< communication_matrix.json: an entry for each pair of ranks and collective
  trace                  ///< trace_view.json and other Chrome traces
};

enum class kernel_phase : std::uint8_t;  // kernel_phase.hpp

/// One run of an op on a device.
struct kernel {
  std::string name;  ///< the full scope (`Default/network-Net/.../MatMul-op0`) where the profiler knew it
  std::string type;  ///< MatMulV2, hcom_allReduce_
  std::string core;  ///< AI_CORE, AI_VECTOR_CORE, MIX_AIC, AI_CPU, HCCL, ... as written
  nanoseconds start{}, duration{};
  std::int64_t step = -1;    ///< -1: not told
  std::int64_t stream = -1;  ///< -1: not told
  std::int64_t task = -1;    ///< -1: not told
  std::string input_shapes;  ///< `4096,12288;6400,12288`, empty: not told
  std::string input_types;   ///< `FLOAT16;FLOAT16`
  std::string input_formats;
  std::string output_shapes;
  std::string output_types;
  std::string group;  ///< of a collective: the name of its ranks' group; empty: not told, or in the name
  std::optional<kernel_phase> told_phase;  ///< what a dump of the same run tells; empty: the name has to do
  bool communicates = false;               ///< a collective, a send or a receive
  std::int64_t line = 0;                   ///< of the file; 0: a JSON file

  [[nodiscard]] constexpr nanoseconds finish() const noexcept { return start + duration; }
};

/// All runs of one kind of op together.
struct op_total {
  std::string type;
  std::string name;  ///< full scope; empty where ops are told by type alone
  std::string core;
  std::int64_t count = 0;
  nanoseconds total{}, mean{};
  std::optional<nanoseconds> least{}, most{};
};

/// A step taken apart by the profiler itself.
struct step_times {
  std::string step;   ///< its number, empty: not told
  std::string kind;   ///< of a cluster's table: rank or stage
  std::string index;  ///< of a cluster's table: 3, or (0, 1, 2, 3)
  nanoseconds computing{}, exposed{}, overlapped{}, communication{}, free{};
  std::optional<nanoseconds> stage{}, bubble{}, exposed_without_receive{}, preparing{};
};

/// Memory of the device at a moment.
struct memory_sample {
  std::string component;  ///< PTA, GE, APP, ...; empty: not told
  std::string device;     ///< NPU:0
  nanoseconds at{};
  bytes allocated{}, reserved{};
  std::optional<bytes> active{};
};

/// What one run of a collective moved over one kind of link.
struct link_use {
  std::string transport;  ///< HCCS, RDMA, PCIE, SDMA, SIO
  bytes size{};
  nanoseconds transit{};
};

/// One run of a collective or of a transfer between two ranks.
struct collective_run {
  std::string step;
  std::string name;        ///< hcom_allReduce__445_7
  std::string group;       ///< behind the @ of its name
  std::string ranks;       ///< of a cluster's file: the ranks of the group, `(0, 1)`; empty: not told
  std::int64_t rank = -1;  ///< of a cluster's file: the rank whose run it is; -1: not told
  bool point_to_point = false;
  nanoseconds start{}, elapsed{}, transit{}, wait{}, synchronization{}, idle{};
  std::vector<link_use> links;  ///< SDMA is the sum of HCCS, PCIE and SIO: do not add it to them
};

/// What the runs of a collective moved from one rank to another.
struct rank_link {
  std::string step;
  std::string name;   ///< hcom_allReduce__445-total: of all its runs; -top1, -bottom1: of one
  std::string group;  ///< behind the @ of its name
  bool point_to_point = false;
  std::int64_t from = 0, to = 0;  ///< ranks; equal ones: within a device
  std::string transport;          ///< HCCS, RDMA, PCIE, LOCAL
  bytes size{};
  nanoseconds transit{};
};

/// A moment or a period that a trace names: a step of PyTorch's, a layer.
struct named_span {
  std::string name;
  nanoseconds start{}, duration{};
};

/// A group of ranks that communicate, as PyTorch's traces name it.
struct rank_group {
  std::string name, description;
  std::vector<std::int64_t> ranks;  ///< empty: not told
};

/// What one file holds, or several of one run together. Times are those of the files.
struct profile {
  profile_form form = profile_form::kernels;  ///< of the file
  std::vector<kernel> kernels;                ///< by start; of equals the earlier row first
  std::vector<op_total> totals;
  std::vector<step_times> steps;
  std::vector<memory_sample> memory;
  std::vector<collective_run> collectives;
  std::vector<rank_link> links;
  std::vector<named_span> marks;            ///< steps that a trace names, by start
  std::int64_t rank = -1, rank_count = -1;  ///< which rank of how many wrote it; -1: not told
  std::vector<rank_group> groups;
  nanoseconds clock_base{};  ///< what the times of the file are counted from, in its host's clock; 0: not told
};

/// What the rows of a profile may take.
struct profile_options {
  std::size_t max_rows = 8'000'000;  ///< of a file; some 300 bytes of memory each
};

}  // namespace hocket::inline HOCKET_ABI::ascend
