// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "json_fields.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "failure.hpp"

namespace hocket_cli {

using nlohmann::json;

std::optional<std::int64_t> whole(const json& v) {
  if (v.is_number_unsigned() && v.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return std::nullopt;
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (!v.is_number()) return std::nullopt;
  const auto x = v.get<double>();
  constexpr double exact = 1LL << 53;  // beyond it a fraction may be lost
  if (x != std::floor(x) || std::abs(x) > exact) return std::nullopt;
  return static_cast<std::int64_t>(x);
}

std::string shown(const json& value) {
  std::string s = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (s.size() > 60) s = s.substr(0, 57) + "...";
  return s;
}

json_object::json_object(const json& value, std::string_view file, std::string path,
                         std::span<const std::string_view> keys)
    : value_(value), file_(file), path_(std::move(path)) {
  const std::string what = path_.empty() ? "the file" : "\"" + path_ + "\"";
  if (!value.is_object()) fail(std::string(file) + ": " + what + " must be an object");
  for (const auto& [key, member] : value.items()) {
    bool known = false;
    for (const std::string_view k : keys) known = known || k == key;
    if (!known) fail(std::string(file) + ": " + what + " has an unknown field " + shown(key));
  }
}

std::string json_object::name(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

void json_object::fail_at(const char* key, const std::string& sentence) const {
  const bool wish = has(key) && sentence.starts_with("must ");
  fail(std::string(file_) + ": \"" + name(key) + "\" " + (wish ? "is " + shown(at(key)) + ", but " : "") + sentence);
}

const json& json_object::at(const char* key) const {
  const auto found = value_.find(key);
  if (found == value_.end()) fail_at(key, "is missing");
  return *found;
}

json_object json_object::object(const char* key, std::initializer_list<std::string_view> keys) const {
  return {at(key), file_, name(key), keys};
}

std::int64_t json_object::integer(const char* key, std::int64_t least, std::int64_t most) const {
  const json& v = at(key);
  const std::optional<std::int64_t> x = whole(v);
  if (!x && v.is_number() && v.get<double>() >= 0x1p63) fail_at(key, "must be below 2^63");
  if (!x) fail_at(key, "must be a whole number");
  if (*x < least) fail_at(key, "must be at least " + std::to_string(least));
  if (*x > most) fail_at(key, "must be at most " + std::to_string(most));
  return *x;
}
std::int64_t json_object::integer_or(const char* key, std::int64_t otherwise, std::int64_t least,
                                     std::int64_t most) const {
  return has(key) ? integer(key, least, most) : otherwise;
}

double json_object::number(const char* key) const {
  const json& v = at(key);
  if (!v.is_number() || !std::isfinite(v.get<double>())) fail_at(key, "must be a number");
  return v.get<double>();
}
double json_object::number_or(const char* key, double otherwise) const { return has(key) ? number(key) : otherwise; }
double json_object::positive(const char* key) const {
  const double x = number(key);
  if (!(x > 0)) fail_at(key, "must be above 0");
  return x;
}
double json_object::not_negative(const char* key) const {
  const double x = number(key);
  if (!(x >= 0)) fail_at(key, "must not be negative");
  return x;
}
double json_object::not_negative_or(const char* key, double otherwise) const {
  return has(key) ? not_negative(key) : otherwise;
}

const json& json_object::array(const char* key, std::size_t most_count) const {
  const json& v = at(key);
  if (!v.is_array()) fail_at(key, "must be an array of numbers");
  if (v.size() > most_count) fail_at(key, "has more than " + std::to_string(most_count) + " numbers");
  return v;
}

std::vector<double> json_object::numbers(const char* key, std::size_t most) const {
  const json& v = array(key, most);
  std::vector<double> out;
  out.reserve(v.size());
  for (const json& x : v) {
    if (!x.is_number() || !std::isfinite(x.get<double>()))
      fail_at(key, "holds " + shown(x) + ", but must hold numbers");
    out.push_back(x.get<double>());
  }
  return out;
}

std::vector<std::int64_t> json_object::integers(const char* key, std::int64_t least, std::int64_t most,
                                                std::size_t most_count) const {
  const json& v = array(key, most_count);
  std::vector<std::int64_t> out;
  out.reserve(v.size());
  for (const json& element : v) {
    const std::optional<std::int64_t> x = whole(element);
    if (!x || *x < least || *x > most)
      fail_at(key, "holds " + shown(element) + ", but must hold whole numbers from " + std::to_string(least) + " to " +
                       std::to_string(most));
    out.push_back(*x);
  }
  return out;
}

bool json_object::boolean_or(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  const json& v = at(key);
  if (!v.is_boolean()) fail_at(key, "must be true or false");
  return v.get<bool>();
}

std::string json_object::text(const char* key) const {
  const json& v = at(key);
  if (!v.is_string()) fail_at(key, "must be a string");
  return v.get<std::string>();
}
std::string json_object::text_or(const char* key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

std::string json_object::line_or(const char* key, const std::string& otherwise) const {
  const std::string line = text_or(key, otherwise);
  if (!hocket::is_printable(line)) fail_at(key, "must be one line without control characters");
  return line;
}

std::size_t json_object::choice(const char* key, std::span<const std::string_view> names) const {
  const std::string found = text(key);
  std::string all;
  std::size_t i = 0;
  for (const std::string_view n : names) {
    if (n == found) return i;
    all += (i++ == 0 ? "" : ", ") + std::string(n);
  }
  fail_at(key, "must be one of: " + all);
}

std::size_t json_object::choice_or(const char* key, std::initializer_list<std::string_view> names,
                                   std::size_t otherwise) const {
  return has(key) ? choice(key, names) : otherwise;
}

namespace {

// Builds a value from what the parser tells. Its own builder with a callback looks for discarded members through all of
// an array after each of its objects, which is quadratic.
class json_builder : public nlohmann::json_sax<json> {
 public:
  json_builder(std::string_view text, std::string_view file) noexcept : text_(text), file_(file) {}
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
    if (!is_new) refuse("the field " + shown(name) + " stands twice in one object");
    member_ = &at->second;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& why) override {
    constexpr int number_overflow = 406;  // of nlohmann's documented exceptions
    if (why.id == number_overflow) refuse("a number is too large for 64 bits");
    std::size_t line = 1;
    for (std::size_t i = 0; i + 1 < position && i < text_.size(); ++i) line += text_[i] == '\n' ? 1 : 0;
    refuse("not valid JSON near line " + std::to_string(line));
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const { fail(std::string(file_) + ": " + sentence); }

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
    if (open_.size() == deepest) refuse("nested deeper than " + std::to_string(deepest) + " levels");
    open_.push_back(place(std::move(x)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_, file_;
  json value_;
  std::vector<json*> open_;  // outermost first; only the last of them grows
  json* member_ = nullptr;   // whose key was read last
};

}  // namespace

json parse_json(std::string_view text, std::string_view file) {
  json_builder builder(text, file);
  json::sax_parse(text, &builder);
  return builder.value();
}

json parse_json_file(std::string_view text, std::string_view file) {
  json value = parse_json(text, file);
  if (value.is_object() && value.contains("version") && value["version"] != 1)
    fail(std::string(file) + ": \"version\" is " + shown(value["version"]) + ", but this tool reads version 1");
  return value;
}

}  // namespace hocket_cli
