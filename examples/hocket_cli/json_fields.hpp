// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The readers of hocket::interop where the first mistake ends the command.
#pragma once
#include <hocket/interop/files/fixed.hpp>
#include <hocket/interop/files/json_object.hpp>
#include <hocket/interop/files/json_text.hpp>

#include <cstdlib>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "failure.hpp"

namespace hocket_cli {

using hocket::interop::bytes_per_gib, hocket::interop::fixed, hocket::interop::shown, hocket::interop::whole;

/// For readers of the library: each mistake ends the command.
hocket::interop::file_errors& command_errors();

/// An object of a file whose mistakes end the command.
class json_object : public hocket::interop::json_object {
  using base = hocket::interop::json_object;

 public:
  json_object(const nlohmann::json& value, std::string_view file, std::string path,
              std::span<const std::string_view> keys)
      : base(value, file, std::move(path), keys, command_errors()) {}
  json_object(const nlohmann::json& value, std::string_view file, std::string path,
              std::initializer_list<std::string_view> keys)
      : json_object(value, file, std::move(path), std::span(keys.begin(), keys.size())) {}

  [[nodiscard]] json_object object(const char* key, std::initializer_list<std::string_view> keys) const {
    return {at(key), file(), name(key), keys};
  }
  [[noreturn]] void fail_at(const char* key, const std::string& sentence) const {
    base::fail_at(key, sentence);
    std::abort();  // not reached
  }
};

inline nlohmann::json parse_json(std::string_view text, std::string_view file) {
  return hocket::interop::parse_json(text, file, command_errors());
}
inline nlohmann::json parse_json_file(std::string_view text, std::string_view file) {
  return hocket::interop::parse_json_file(text, file, command_errors());
}
/// Reads and parses such a file.
nlohmann::json read_json_file(const std::string& path);

}  // namespace hocket_cli
