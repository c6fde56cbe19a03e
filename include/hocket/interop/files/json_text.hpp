// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/files/file_errors.hpp>
#include <hocket/interop/files/json_object.hpp>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

namespace detail {

// Builds a value from what the parser tells. Its own builder with a callback looks for discarded members through all of
// an array after each of its objects, which is quadratic.
class json_builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  using json = nlohmann::json;
  json_builder(std::string_view text, std::string_view file, file_errors& errors) noexcept
      : text_(text), file_(file), errors_(errors) {}
  [[nodiscard]] json&& value() noexcept { return std::move(value_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool x) override { return put(x); }
  bool number_integer(std::int64_t x) override { return put(x); }
  bool number_unsigned(std::uint64_t x) override { return put(x); }
  bool number_float(double x, const std::string&) override { return put(x); }
  bool string(std::string& x) override { return put(std::move(x)); }
  bool binary(json::binary_t&) override { return false; }  // no text has any
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    const auto [at, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(name);
    if (!is_new) return refuse("the field " + shown(name) + " stands twice in one object");
    member_ = &at->second;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& why) override {
    constexpr int number_overflow = 406;  // of nlohmann's documented exceptions
    if (why.id == number_overflow) return refuse("a number is too large for 64 bits");
    std::size_t line = 1;
    for (std::size_t i = 0; i + 1 < position && i < text_.size(); ++i) line += text_[i] == '\n' ? 1U : 0U;
    return refuse("not valid JSON near line " + std::to_string(line));
  }

 private:
  bool refuse(const std::string& sentence) {
    errors_.add(std::string(file_) + ": " + sentence);
    return false;
  }
  json* place(json&& x) {
    json& to = open_.empty() ? value_ : open_.back()->is_array() ? open_.back()->emplace_back() : *member_;
    to = std::move(x);
    return &to;
  }
  bool put(json&& x) {
    place(std::move(x));
    return true;
  }
  bool open(json&& x) {
    // No file form nests deeper than a handful; copies and messages of a value recurse.
    constexpr std::size_t deepest = 64;
    if (open_.size() == deepest) return refuse("nested deeper than " + std::to_string(deepest) + " levels");
    open_.push_back(place(std::move(x)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_, file_;
  file_errors& errors_;
  json value_;
  std::vector<json*> open_;  // outermost first; only the last of them grows
  json* member_ = nullptr;   // whose key was read last
};

}  // namespace detail

/// Parses JSON text: a field twice in one object, nesting beyond 64 levels and numbers beyond 64 bits are errors, which
/// name the line where they can. Complexity: O(bytes).
/// @param file  what messages call it
[[nodiscard]] inline nlohmann::json parse_json(std::string_view text, std::string_view file, file_errors& errors) {
  detail::json_builder builder(text, file, errors);
  nlohmann::json::sax_parse(text, &builder);
  return builder.value();
}

/// The same of a file whose "version", if given, must be 1.
[[nodiscard]] inline nlohmann::json parse_json_file(std::string_view text, std::string_view file, file_errors& errors) {
  nlohmann::json value = parse_json(text, file, errors);
  if (value.is_object() && value.contains("version") && value["version"] != 1)
    errors.add(std::string(file) + ": \"version\" is " + shown(value["version"]) + ", but this tool reads version 1");
  return value;
}

}  // namespace hocket::inline HOCKET_ABI::interop
