// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading the tool's JSON files: every mistake ends the command with one sentence that names the file and the field.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket_cli {

/// An object of a file, and how messages call it. Holds references: the JSON value must outlive it.
class json_object {
 public:
  /// Fails if `value` is no object or has a key outside of `keys`: a misspelt key must not be silently ignored.
  /// @param file  name of the file
  /// @param path  of the object in the file, "" for the file itself
  json_object(const nlohmann::json& value, std::string_view file, std::string path,
              std::span<const std::string_view> keys);
  json_object(const nlohmann::json& value, std::string_view file, std::string path,
              std::initializer_list<std::string_view> keys)
      : json_object(value, file, std::move(path), std::span(keys.begin(), keys.size())) {}

  [[nodiscard]] bool has(const char* key) const { return value_.contains(key); }
  /// The member; fails if it is missing.
  [[nodiscard]] const nlohmann::json& at(const char* key) const;
  [[nodiscard]] json_object object(const char* key, std::initializer_list<std::string_view> keys) const;

  /// A number that is whole(), in [least, most].
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t least = INT64_MIN,
                                     std::int64_t most = INT64_MAX) const;
  [[nodiscard]] std::int64_t integer_or(const char* key, std::int64_t otherwise, std::int64_t least = INT64_MIN,
                                        std::int64_t most = INT64_MAX) const;
  /// A finite number.
  [[nodiscard]] double number(const char* key) const;
  [[nodiscard]] double number_or(const char* key, double otherwise) const;
  /// A finite number above 0.
  [[nodiscard]] double positive(const char* key) const;
  /// A finite number, 0 or above.
  [[nodiscard]] double not_negative(const char* key) const;
  [[nodiscard]] double not_negative_or(const char* key, double otherwise) const;
  [[nodiscard]] std::vector<double> numbers(const char* key, std::size_t most) const;
  /// Up to `most_count` whole numbers in [least, most].
  [[nodiscard]] std::vector<std::int64_t> integers(const char* key, std::int64_t least, std::int64_t most,
                                                   std::size_t most_count) const;
  [[nodiscard]] bool boolean_or(const char* key, bool otherwise) const;
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::string text_or(const char* key, const std::string& otherwise) const;
  /// A text that is_printable(), for reports that people read line by line.
  [[nodiscard]] std::string line_or(const char* key, const std::string& otherwise) const;
  /// The index of the member's text among `names`.
  [[nodiscard]] std::size_t choice(const char* key, std::span<const std::string_view> names) const;
  [[nodiscard]] std::size_t choice(const char* key, std::initializer_list<std::string_view> names) const {
    return choice(key, std::span(names.begin(), names.size()));
  }
  [[nodiscard]] std::size_t choice_or(const char* key, std::initializer_list<std::string_view> names,
                                      std::size_t otherwise) const;

  /// How messages call a member: "path.key".
  [[nodiscard]] std::string name(const char* key) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string_view file() const { return file_; }
  /// Ends the command: FILE: "path.key" sentence. One that says what a member "must be" gets its value in front.
  [[noreturn]] void fail_at(const char* key, const std::string& sentence) const;

 private:
  [[nodiscard]] const nlohmann::json& array(const char* key, std::size_t most_count) const;

  const nlohmann::json& value_;
  std::string_view file_;
  std::string path_;
};
/// The value of a whole number of 64 bits; 1e6 and 4.0 are whole, too. Nothing for anything else.
std::optional<std::int64_t> whole(const nlohmann::json& value);
/// A value of a file as messages show it: escaped, and cut after 60 characters.
std::string shown(const nlohmann::json& value);
/// Parses JSON text; fails with one sentence that says where if it is not JSON.
nlohmann::json parse_json(std::string_view text, std::string_view file);
/// Parses the text of a file whose "version", if given, must be 1.
nlohmann::json parse_json_file(std::string_view text, std::string_view file);
/// Reads and parses such a file.
nlohmann::json read_json_file(const std::string& path);

}  // namespace hocket_cli
