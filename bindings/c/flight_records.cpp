// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why a job hangs: hocket.h over the reader of flight records.
#include "border.hpp"

#include <hocket/interop/files/json_text.hpp>
#include <hocket/interop/flight_recorder.hpp>
#include <hocket/ranks/tell_recorded.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace interop = hocket::interop;
namespace ranks = hocket::ranks;

// {"0": dump, "1": dump, …} as records.
std::vector<interop::flight_record> records_of(const char* text, interop::file_errors& errors) {
  nlohmann::json all = interop::parse_json(text, "records", errors);
  std::vector<interop::flight_record> out;
  if (!errors.none()) return out;
  if (!all.is_object()) errors.add("records must be an object");
  for (auto& [key, dump] : all.items()) {
    std::uint32_t rank = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), rank);
    if (read.ec != std::errc() || read.ptr != key.data() + key.size())
      errors.add("records: the field " + interop::shown(key) + " is not a rank");
    out.push_back({rank, std::move(dump)});
  }
  return out;
}

}  // namespace

hocket_status hocket_ranks_hang(const char* records_json, char** told, hocket_error* error) {
  return hocket_c::guarded(error, {{"records_json", records_json}, {"told", told}}, [&] {
    interop::file_errors errors;
    std::vector<interop::flight_record> records = records_of(records_json, errors);
    if (!errors.none()) return hocket_c::refuse(error, errors.first());
    const auto job = interop::read_flight_records(std::move(records));
    if (!job) return hocket_c::refuse(error, job.error());
    *told = hocket_c::copy_of(ranks::sentence(*job, ranks::find_hang(*job)));
    return hocket_status{HOCKET_OK};
  });
}
