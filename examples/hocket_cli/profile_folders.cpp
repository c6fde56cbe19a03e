// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Folders as profilers write them: which files of which rank they hold.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "profile.hpp"

namespace hocket_cli {

namespace {

namespace fs = std::filesystem;

// What a file holds; of files with the same content in the folders of one rank, one is read.
enum class content { runs, database, trace, totals, steps, memory, communication, links, none };

struct known_name {
  std::string_view begin, end;
  content what;
};
// In the order of preference.
constexpr known_name known_names[] = {{"kernel_details", ".csv", content::runs},
                                      {"op_summary", ".csv", content::runs},
                                      {"cpu_op_execute_timestamp", ".txt", content::runs},
                                      {"ascend_pytorch_profiler", ".db", content::database},
                                      {"ascend_mindspore_profiler", ".db", content::database},
                                      {"msprof_", ".db", content::database},
                                      {"trace_view", ".json", content::trace},
                                      {"", ".pt.trace.json", content::trace},
                                      {"", ".pt.trace.json.gz", content::trace},
                                      {"op_statistic", ".csv", content::totals},
                                      {"cpu_op_type_info", ".csv", content::totals},
                                      {"cpu_op_detail_info", ".csv", content::totals},
                                      {"step_trace_time", ".csv", content::steps},
                                      {"cluster_step_trace_time", ".csv", content::steps},
                                      {"memory_record", ".csv", content::memory},
                                      {"cpu_ms_memory_record", ".txt", content::memory},
                                      {"communication_matrix", ".json", content::links},
                                      {"cluster_communication_matrix", ".json", content::links},
                                      {"communication", ".json", content::communication},
                                      {"cluster_communication", ".json", content::communication}};
constexpr std::size_t name_count = std::size(known_names);

// The place of a name in the list above; name_count: it is not there.
std::size_t place_of_name(std::string_view name) {
  std::size_t at = 0;
  while (at < name_count && !(name.starts_with(known_names[at].begin) && name.ends_with(known_names[at].end))) ++at;
  return at;
}

bool is_rank(std::string_view part) {
  constexpr std::string_view word = "rank_";
  return part.starts_with(word) && part.size() > word.size() &&
         part.find_first_not_of("0123456789", word.size()) == part.npos;
}

// The folder that holds the files of one rank: HOST_PID_TIME_ascend_pt or _ascend_ms, else rank_N, else PROF_*, else
// the folder of the file itself.
fs::path folder_of_rank(const fs::path& file) {
  fs::path rank, msprof;
  for (fs::path folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    const std::string part = folder.filename().string();
    if (part.ends_with("_ascend_pt") || part.ends_with("_ascend_ms")) return folder;
    if (is_rank(part)) rank = folder;
    if (part.starts_with("PROF_")) msprof = folder;
  }
  if (!rank.empty()) return rank;
  return msprof.empty() ? file.parent_path() : msprof;
}

// Digits of a name from a place on, as a number; -1: there are none, or too many.
std::int64_t number_at(std::string_view name, std::size_t at) {
  constexpr std::size_t most_digits = 9;
  const std::size_t end = (std::min)(name.find_first_not_of("0123456789", at), name.size());
  if (at >= end || end - at > most_digits) return -1;
  std::int64_t number = 0;
  for (; at < end; ++at) number = number * 10 + (name[at] - '0');
  return number;
}

// The number of a rank that its files are named after: profiler_info_3.json of MindSpore and Ascend PyTorch, else
// rank_3, rank-3 or rank3 in the innermost part of the path that has it.
std::int64_t number_of_rank(const fs::path& name, const std::vector<fs::path>& files) {
  constexpr std::string_view word = "rank";
  constexpr std::string_view infos[] = {"profiler_info_", "ascend_pytorch_profiler_", "ascend_mindspore_profiler_"};
  for (const fs::path& file : files) {
    const std::string own = file.filename().string();
    for (const std::string_view info : infos)
      if (own.starts_with(info) && number_at(own, info.size()) >= 0) return number_at(own, info.size());
  }
  for (fs::path part = name; part.has_relative_path(); part = part.parent_path()) {
    const std::string own = part.filename().string();
    std::size_t at = own.rfind(word);
    if (at == own.npos) continue;
    at += word.size();
    if (at < own.size() && (own[at] == '_' || own[at] == '-')) ++at;
    if (number_at(own, at) >= 0) return number_at(own, at);
  }
  return -1;
}

// All files below a folder, sorted by their paths.
std::vector<fs::path> files_below(const std::string& folder) {
  constexpr std::size_t most = 1'000'000;
  std::vector<fs::path> files;
  std::error_code why;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, why);
  for (; !why && at != fs::recursive_directory_iterator(); at.increment(why)) {
    std::error_code none;
    if (!at->is_regular_file(none)) continue;
    if (files.size() == most) fail(folder + ": holds more than " + std::to_string(most) + " files");
    files.push_back(at->path());
  }
  if (why) fail("cannot read " + folder);
  std::sort(files.begin(), files.end());
  return files;
}

// One file of each content, the preferred one; a database or a trace only where no table has the runs.
void choose(rank_files& rank, std::vector<fs::path>& files) {
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    const std::size_t x = place_of_name(a.filename().string()), y = place_of_name(b.filename().string());
    return x != y ? x < y : a < b;
  });
  std::vector<content> taken;
  const auto has = [&](content what) { return std::find(taken.begin(), taken.end(), what) != taken.end(); };
  for (const fs::path& file : files) {
    const std::size_t at = place_of_name(file.filename().string());
    const content what = at < name_count ? known_names[at].what : content::none;
    const bool gives_way = (what == content::trace && (has(content::runs) || has(content::database))) ||
                           (what == content::database && has(content::runs));
    const bool is_used = what != content::none && !has(what) && !gives_way;
    (is_used ? rank.files : rank.unused).push_back(file.string());
    if (is_used) taken.push_back(what);
  }
  std::sort(rank.unused.begin(), rank.unused.end());
}

}  // namespace

std::vector<rank_files> ranks_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> alone;
  std::map<std::string, std::vector<fs::path>> folders;  // by rank
  std::size_t folder_count = 0;
  for (const std::string& argument : arguments) {
    std::error_code none;
    if (!fs::is_directory(argument, none)) {
      alone.push_back(argument);
      continue;
    }
    ++folder_count;
    for (const fs::path& file : files_below(argument)) {
      const std::string name = file.filename().string();
      // PyTorch: a file for each rank.
      const bool is_own = name.ends_with(".pt.trace.json") || name.ends_with(".pt.trace.json.gz");
      folders[is_own ? file.string() : folder_of_rank(file).string()].push_back(file);
    }
  }
  std::vector<rank_files> ranks;
  rank_files rest;  // files of folders that hold nothing of a rank
  for (auto& [name, files] : folders) {
    rank_files rank{name, number_of_rank(name, files), {}, {}};
    choose(rank, files);
    if (rank.files.empty()) rest.unused.insert(rest.unused.end(), rank.unused.begin(), rank.unused.end());
    else ranks.push_back(std::move(rank));
  }
  if (folder_count > 0 && ranks.empty() && alone.empty())
    fail(arguments.front() + ": no file of a known profiler is in this folder");
  if (ranks.size() > 1 && !alone.empty())
    fail(alone.front() + " and folders of " + std::to_string(ranks.size()) +
         " ranks: give files of one rank, or folders of ranks");
  if (ranks.empty()) ranks.push_back({"", -1, {}, {}});
  ranks.front().files.insert(ranks.front().files.end(), alone.begin(), alone.end());
  ranks.front().unused.insert(ranks.front().unused.end(), rest.unused.begin(), rest.unused.end());
  return ranks;
}

}  // namespace hocket_cli
