// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket ranks hang`: why a job hangs, from what PyTorch's Flight Recorder wrote on each rank.
#include <hocket/interop/files/json_text.hpp>
#include <hocket/interop/flight_recorder.hpp>
#include <hocket/ranks/tell_recorded.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "json_fields.hpp"

namespace hocket_cli {
namespace {

namespace recorded = hocket::ranks;
using record_json = nlohmann::ordered_json;

struct hang_options {
  std::vector<std::string> files;
  std::string out;
};

/// The files, and those of folders that are given, in order.
std::vector<std::string> record_files(const std::vector<std::string>& given) {
  std::vector<std::string> out;
  for (const std::string& path : given) {
    std::error_code not_told;
    if (!std::filesystem::is_directory(path, not_told)) {
      out.push_back(path);
      continue;
    }
    const std::size_t before = out.size();
    for (const auto& entry : std::filesystem::directory_iterator(path, not_told))
      if (entry.path().extension() == ".json") out.push_back(entry.path().string());
    if (not_told || out.size() == before) fail(path + ": no .json file is in this folder");
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
  }
  return out;
}
/// The last number in the name of a file is its rank: nccl_trace_rank_3.json.
std::uint32_t rank_of_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  std::size_t end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1])) == 0) --end;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
  constexpr std::size_t most_digits = 8;
  if (begin == end || end - begin > most_digits) fail(path + ": the name must hold the rank, as in trace_rank_3.json");
  return static_cast<std::uint32_t>(std::stoul(name.substr(begin, end - begin)));
}

record_json place_as_json(const recorded::recorded_job& job, const recorded::recorded_place& p) {
  const recorded::recorded_call& call = job.ranks[p.at].calls[p.call];
  record_json out{{"rank", job.ranks[p.at].rank},
                  {"group", job.groups[call.group].name},
                  {"number", call.number},
                  {"call", call.kind}};
  if (call.elements >= 0) out["elements"] = call.elements;
  if (!call.type.empty()) out["type"] = call.type;
  return out;
}

void explain(const hang_options& o) {
  std::vector<hocket::interop::flight_record> records;
  for (const std::string& path : record_files(o.files)) {
    const std::string text = read_file(path);
    if (text.starts_with('\x80')) fail(path + ": is a pickle: tools/unpickle_flight_record.py makes JSON of it");
    records.push_back({rank_of_file(path), hocket::interop::parse_json(text, path, command_errors())});
  }
  const std::string where = o.files.size() == 1 ? o.files.front() : "the flight records";
  const recorded::recorded_job job = value_or_fail(hocket::interop::read_flight_records(std::move(records)), where);
  const recorded::hang_answer a = recorded::find_hang(job);
  std::size_t calls = 0;
  for (const recorded::recorded_rank& r : job.ranks) calls += r.calls.size();
  std::string word(to_string(a.why));
  std::replace(word.begin(), word.end(), ' ', '-');
  record_json answer{
      {"version", 1}, {"why", to_string(a.why)}, {"told", sentence(job, a)}, {"calls", record_json::array()}};
  for (const recorded::recorded_place& p : a.calls) answer["calls"].push_back(place_as_json(job, p));
  answer["waiting"] = a.waiting;
  answer["absent"] = a.absent;
  answer["without_record"] = a.unknown;
  answer["perhaps"] = a.perhaps;
  answer["since_ns"] = a.since;
  give(o.out, this_run().json ? answer.dump() + "\n" : sentence(job, a),
       "why=" + word + " ranks=" + std::to_string(job.ranks.size()) + " groups=" + std::to_string(job.groups.size()) +
           " calls=" + std::to_string(calls));
  if (a.why != recorded::hang_reason::nothing_open) throw failure{1, ""};
}

}  // namespace

void add_ranks_hang(CLI::App& group) {
  auto o = std::make_shared<hang_options>();
  CLI::App* command = group.add_subcommand("hang", "Why a job hangs, from the Flight Recorder dumps of its ranks");
  command
      ->add_option("files", o->files,
                   "JSON dumps of PyTorch's Flight Recorder, one a rank, whose names end in the rank; or their folder")
      ->required()
      ->type_name("FILE");
  add_out(*command, o->out);
  command->callback([o] { explain(*o); });
}

}  // namespace hocket_cli
