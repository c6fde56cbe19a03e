// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the commands of `hocket ir` share.
#pragma once
#include <hocket/interop/mindspore/follow_calls.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "command.hpp"

namespace hocket_cli {

/// The program of a dump; ends the command if the file is none.
hocket::mindspore::ir_program read_dump(const std::string& path);

/// The same with its calls followed: one graph has the whole step.
hocket::mindspore::followed_program read_whole_dump(const std::string& path);
/// What became of calls, for the summary line; empty for a dump without any.
std::string calls_summary(const hocket::mindspore::followed_program& whole);

/// A JSON value as the tool prints it.
std::string json_text(const nlohmann::ordered_json& value);
/// The text with blanks in front, `width` wide.
std::string left(std::string text, std::size_t width);
/// 17301504 as 17,301,504.
std::string with_commas(std::int64_t number);

/// A link between ranks; gb_per_s 0: none was given.
struct link_options {
  double latency_us = 0, gb_per_s = 0;
};
void explain_collectives(const std::string& dump, const link_options& link, bool as_json, const std::string& out);
void explain_peak(const std::string& dump, bool on_cpu, bool as_json, const std::string& out);
void explain_recompute(const std::string& dump, bool as_json, const std::string& out);

}  // namespace hocket_cli
