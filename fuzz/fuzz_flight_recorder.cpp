// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any JSON as the records of two ranks, which differ in what the second half of it says: refused with a sentence, or a
// job whose hang is told.
#include "fuzz.hpp"

#include <hocket/interop/files/json_text.hpp>
#include <hocket/interop/flight_recorder.hpp>
#include <hocket/ranks/tell_recorded.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text(data, size);
  const std::size_t cut = (std::min)(text.find('\n'), text.size());
  std::vector<hocket::interop::flight_record> records;
  for (const std::string_view part : {text.substr(0, cut), text.substr(cut)}) {
    hocket::interop::file_errors errors;
    const auto rank = static_cast<std::uint32_t>(records.size());
    records.push_back({rank, hocket::interop::parse_json(part, "record", errors)});
    if (!errors.none()) return 0;
  }
  const auto job = hocket::interop::read_flight_records(std::move(records));
  if (!job) fuzz::require(!message(job.error()).empty());
  else fuzz::require(!hocket::ranks::sentence(*job, hocket::ranks::find_hang(*job)).empty());
  return 0;
}
