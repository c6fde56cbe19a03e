// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Databases of profilers.
#include "profile_database.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.hpp"

#ifdef HOCKET_HAS_SQLITE
#include <sqlite3.h>
#endif

namespace hocket_cli {

namespace ascend = hocket::ascend;
using ascend::nanoseconds;

bool is_database(const std::string& path) {
  constexpr std::string_view begin("SQLite format 3\0", 16);
  char head[16] = {};
  if (path == "-") return false;
  std::ifstream file(path, std::ios::binary);
  return file.read(head, sizeof head) && std::string_view(head, sizeof head) == begin;
}

#ifdef HOCKET_HAS_SQLITE

namespace {

class database {
 public:
  explicit database(const std::string& path) : path_(path) {
    const bool is_open = sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK;
    if (!is_open) refuse();
    // The file is foreign: nothing in its schema may run, and damaged pages are refused.
    sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    for_each("PRAGMA cell_size_check = ON", [](sqlite3_stmt*) {});
    for_each("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
             [&](sqlite3_stmt* row) { tables_.push_back(text_of(row, 0)); });
  }
  ~database() { sqlite3_close(db_); }
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  [[nodiscard]] bool has(const char* table) {
    if (std::find(tables_.begin(), tables_.end(), table) == tables_.end()) return false;
    used_.emplace_back(table);
    return true;
  }
  [[nodiscard]] bool has_column(const std::string& table, const std::string& column) {
    bool found = false;
    for_each("PRAGMA table_info(" + table + ")",
             [&](sqlite3_stmt* row) { found = found || text_of(row, 1) == column; });
    return found;
  }
  [[nodiscard]] std::vector<std::string> unused() const {
    std::vector<std::string> out;
    for (const std::string& t : tables_)
      if (!t.starts_with("sqlite_") && std::find(used_.begin(), used_.end(), t) == used_.end()) out.push_back(t);
    return out;
  }
  /// f(row) for each row. Statements are those of this file, names of columns in them have been looked up.
  template <class F>
  void for_each(const std::string& sql, F&& f) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) refuse();
    int state = SQLITE_ROW;
    while ((state = sqlite3_step(statement)) == SQLITE_ROW) f(statement);
    sqlite3_finalize(statement);
    if (state != SQLITE_DONE) refuse();
  }
  [[nodiscard]] static std::string text_of(sqlite3_stmt* row, int column) {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
    return text == nullptr ? std::string()
                           : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[noreturn]] void refuse() {
    const std::string why = db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_);
    fail(path_ + ": the database cannot be read: " + why);
  }

 private:
  std::string path_;
  sqlite3* db_ = nullptr;
  std::vector<std::string> tables_, used_;
};

class profile_in_database {
 public:
  explicit profile_in_database(database& db) : db_(db) {}

  ascend::profile read() {
    if (db_.has("STRING_IDS"))
      db_.for_each("SELECT id, value FROM STRING_IDS", [&](sqlite3_stmt* row) {
        strings_.emplace(sqlite3_column_int64(row, 0), database::text_of(row, 1));
      });
    read_tasks();
    read_collectives();
    sort_kernels();
    read_steps();
    read_memory();
    read_rank();
    return std::move(out_);
  }

 private:
  // The columns that a table has, the others as NULL: versions differ.
  std::string columns(const std::string& table, std::initializer_list<const char*> names) {
    std::string out;
    for (const char* const name : names) {
      out += out.empty() ? "" : ", ";
      out += db_.has_column(table, name) ? table + '.' + name : std::string("NULL");
    }
    return out;
  }
  // A name: a number of STRING_IDS, or the text itself.
  std::string name_of(sqlite3_stmt* row, int column) const {
    if (sqlite3_column_type(row, column) != SQLITE_INTEGER) return database::text_of(row, column);
    const auto at = strings_.find(sqlite3_column_int64(row, column));
    return at == strings_.end() ? std::string() : at->second;
  }
  static std::int64_t number_of(sqlite3_stmt* row, int column) {
    return sqlite3_column_type(row, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(row, column);
  }
  // Sets when it ran; ends the command for times that no clock shows.
  void set_times(ascend::kernel& k, sqlite3_stmt* row, int start, int end) const {
    const std::int64_t from = number_of(row, start), to = number_of(row, end);
    if (from < 0 || to < from)
      fail(db_.path() + ": a task runs from " + std::to_string(from) + " to " + std::to_string(to) + " ns");
    k.start = nanoseconds(from);
    k.duration = nanoseconds(to - from);
  }
  void keep(ascend::kernel k) {
    const std::size_t most = ascend::profile_options{}.max_rows;
    if (out_.kernels.size() == most) fail(db_.path() + ": holds more than " + std::to_string(most) + " tasks");
    out_.kernels.push_back(std::move(k));
  }

  void read_tasks() {
    if (!db_.has("TASK") || !db_.has("COMPUTE_TASK_INFO")) return;
    check_devices();
    const std::string info =
        columns("COMPUTE_TASK_INFO", {"name", "opType", "taskType", "inputShapes", "inputDataTypes", "inputFormats",
                                      "outputShapes", "outputDataTypes"});
    db_.for_each("SELECT " + columns("TASK", {"startNs", "endNs", "streamId", "taskId"}) + ", " + info +
                     " FROM TASK JOIN COMPUTE_TASK_INFO ON COMPUTE_TASK_INFO.globalTaskId = TASK.globalTaskId",
                 [&](sqlite3_stmt* row) {
                   ascend::kernel k;
                   set_times(k, row, 0, 1);
                   k.stream = number_of(row, 2);
                   k.task = number_of(row, 3);
                   k.name = name_of(row, 4);
                   k.type = name_of(row, 5);
                   k.core = name_of(row, 6);
                   k.input_shapes = name_of(row, 7);
                   k.input_types = name_of(row, 8);
                   k.input_formats = name_of(row, 9);
                   k.output_shapes = name_of(row, 10);
                   k.output_types = name_of(row, 11);
                   std::erase(k.input_shapes, '"');
                   std::erase(k.output_shapes, '"');
                   keep(std::move(k));
                 });
  }
  void check_devices() {
    if (!db_.has_column("TASK", "deviceId")) return;
    std::string devices;
    std::size_t count = 0;
    db_.for_each("SELECT DISTINCT deviceId FROM TASK ORDER BY deviceId",
                 [&](sqlite3_stmt* row) { devices += (count++ == 0 ? "" : ", ") + database::text_of(row, 0); });
    if (count > 1) fail(db_.path() + ": holds the devices " + devices + ": give a database of one device");
  }
  void read_collectives() {
    if (!db_.has("COMMUNICATION_OP")) return;
    db_.for_each("SELECT " + columns("COMMUNICATION_OP", {"startNs", "endNs", "opName", "opType", "groupName"}) +
                     " FROM COMMUNICATION_OP",
                 [&](sqlite3_stmt* row) {
                   ascend::kernel k;
                   set_times(k, row, 0, 1);
                   k.name = name_of(row, 2);
                   k.type = name_of(row, 3);
                   const std::size_t number = k.name.find("__");
                   if (k.name.starts_with("hcom_") && number != k.name.npos) k.type = k.name.substr(0, number + 1);
                   k.group = name_of(row, 4);
                   k.core = "HCCL";
                   k.communicates = true;
                   keep(std::move(k));
                 });
  }
  void sort_kernels() {
    std::vector<std::pair<nanoseconds, std::size_t>> order;
    for (std::size_t i = 0; i < out_.kernels.size(); ++i) order.emplace_back(out_.kernels[i].start, i);
    std::sort(order.begin(), order.end());
    std::vector<ascend::kernel> sorted;
    sorted.reserve(order.size());
    for (const auto& [start, i] : order) sorted.push_back(std::move(out_.kernels[i]));
    out_.kernels = std::move(sorted);
  }
  // The step of a kernel is the last that began before it.
  void read_steps() {
    if (!db_.has("STEP_TIME")) return;
    std::vector<std::pair<std::int64_t, std::int64_t>> begins;  // when, which
    db_.for_each("SELECT " + columns("STEP_TIME", {"startNs", "endNs", "id"}) + " FROM STEP_TIME",
                 [&](sqlite3_stmt* row) {
                   const std::int64_t from = number_of(row, 0), to = number_of(row, 1), step = number_of(row, 2);
                   begins.emplace_back(from, step);
                   out_.marks.push_back(
                       {"step " + std::to_string(step), nanoseconds(from), nanoseconds((std::max)(to, from) - from)});
                 });
    std::sort(begins.begin(), begins.end());
    std::size_t next = 0;
    for (ascend::kernel& k : out_.kernels) {
      while (next < begins.size() && begins[next].first <= k.start.count()) ++next;
      if (next > 0) k.step = begins[next - 1].second;
    }
  }
  void read_memory() {
    if (!db_.has("MEMORY_RECORD")) return;
    const char* const time = db_.has_column("MEMORY_RECORD", "timestamp") ? "timestamp" : "timestampNs";
    db_.for_each("SELECT " + columns("MEMORY_RECORD", {"component", time, "totalAllocated", "totalReserved"}) +
                     " FROM MEMORY_RECORD",
                 [&](sqlite3_stmt* row) {
                   ascend::memory_sample m;
                   m.component = name_of(row, 0);
                   m.at = nanoseconds(number_of(row, 1));
                   m.allocated = hocket::bytes((std::max)(number_of(row, 2), std::int64_t{0}));
                   m.reserved = hocket::bytes((std::max)(number_of(row, 3), std::int64_t{0}));
                   out_.memory.push_back(std::move(m));
                 });
  }
  void read_rank() {
    std::size_t count = 0;
    if (db_.has("RANK_DEVICE_MAP"))
      db_.for_each("SELECT " + columns("RANK_DEVICE_MAP", {"rankId"}) + " FROM RANK_DEVICE_MAP",
                   [&](sqlite3_stmt* row) { out_.rank = count++ == 0 ? number_of(row, 0) : -1; });
    if (!db_.has("META_DATA")) return;
    db_.for_each("SELECT value FROM META_DATA WHERE name = 'parallel_group_info'", [&](sqlite3_stmt* row) {
      const auto groups = nlohmann::json::parse(database::text_of(row, 0), nullptr, false);
      if (groups.is_object())
        for (const auto& [key, one] : groups.items()) add_group(key, one);
    });
  }
  void add_group(const std::string& key, const nlohmann::json& one) {
    ascend::rank_group group;
    group.name = key;
    if (!one.is_object()) return;
    if (const auto name = one.find("group_name"); name != one.end() && name->is_string())
      group.description = name->get<std::string>();
    if (const auto ranks = one.find("global_ranks"); ranks != one.end() && ranks->is_array())
      for (const auto& rank : *ranks) group.ranks.push_back(rank.is_number_integer() ? rank.get<std::int64_t>() : -1);
    out_.groups.push_back(std::move(group));
  }

  database& db_;
  ascend::profile out_;
  std::map<std::int64_t, std::string> strings_;
};

}  // namespace

database_reading read_database(const std::string& path) {
  database db(path);
  database_reading out;
  out.content = profile_in_database(db).read();
  out.unused_tables = db.unused();
  if (out.content.kernels.empty() && out.content.memory.empty())
    out.why_unused = path + ": the database has none of a profiler's tables, or no rows in them";
  return out;
}

#else

database_reading read_database(const std::string& path) {
  return {{}, {}, path + ": is a database, and this hocket was built without SQLite (libsqlite3-dev)"};
}

#endif

}  // namespace hocket_cli
