// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/core/printable.hpp>
#include <hocket/core/result.hpp>
#include <hocket/interop/files/file_errors.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Members of JSON files: a mistake becomes one sentence that names the file, the field and its value.
namespace hocket::inline HOCKET_ABI::interop {

/// The value of a whole number of 64 bits; 1e6 and 4.0 are whole, too. Nothing for anything else.
[[nodiscard]] inline std::optional<std::int64_t> whole(const nlohmann::json& v) {
  constexpr auto largest = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
  if (v.is_number_unsigned() && v.get<std::uint64_t>() > largest) return std::nullopt;
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (!v.is_number()) return std::nullopt;
  const auto x = v.get<double>();
  constexpr double exact = 1LL << 53;  // beyond it a fraction may be lost
  if (x != std::floor(x) || std::abs(x) > exact) return std::nullopt;
  return static_cast<std::int64_t>(x);
}

/// A value of a file as messages show it: escaped, and cut after 60 characters.
[[nodiscard]] inline std::string shown(const nlohmann::json& value) {
  std::string s = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (s.size() > 60) s = s.substr(0, 57) + "...";
  return s;
}

/// An object of a file. It refers to the JSON value, the name of the file and the errors, which must outlive it.
///
/// A member that is missing or invalid is told to the errors, and a harmless value comes back: the least number that is
/// allowed, an empty text, an empty list, the first of the choices.
///
///     interop::file_errors errors;
///     const interop::json_object in(value, "step.json", "", {"sequence", "dropout"}, errors);
///     const std::int64_t sequence = in.integer("sequence", 1);
///     if (!errors.none()) std::puts(errors.first().c_str());   // step.json: "sequence" is missing
class json_object {
 public:
  /// An unknown key is an error: a misspelt one must not be ignored in silence.
  /// @param file  name of the file
  /// @param path  of the object in the file, "" for the file itself
  /// @param keys  all that the object may have
  json_object(const nlohmann::json& value, std::string_view file, std::string path,
              std::span<const std::string_view> keys, file_errors& errors)
      : value_(&value), file_(file), path_(std::move(path)), errors_(&errors) {
    const std::string what = path_.empty() ? "the file" : "\"" + path_ + "\"";
    if (!value.is_object()) {
      value_ = &nothing();
      say(what + " must be an object");
    }
    for (const auto& member : value_->items())
      if (std::find(keys.begin(), keys.end(), member.key()) == keys.end())
        say(what + " has an unknown field " + shown(member.key()));
  }
  json_object(const nlohmann::json& value, std::string_view file, std::string path,
              std::initializer_list<std::string_view> keys, file_errors& errors)
      : json_object(value, file, std::move(path), std::span(keys.begin(), keys.size()), errors) {}

  [[nodiscard]] bool has(const char* key) const { return value_->contains(key); }
  /// The member; null if it is missing, which is an error.
  [[nodiscard]] const nlohmann::json& at(const char* key) const {
    static const nlohmann::json missing;
    const auto found = value_->find(key);
    if (found != value_->end()) return *found;
    fail_at(key, "is missing");
    return missing;
  }
  [[nodiscard]] json_object object(const char* key, std::initializer_list<std::string_view> keys) const {
    return {at(key), file_, name(key), keys, *errors_};
  }

  /// A number that is whole(), in [least, most].
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t least = smallest,
                                     std::int64_t most = largest) const {
    const nlohmann::json& v = at(key);
    const std::optional<std::int64_t> x = whole(v);
    if (!x && v.is_number() && v.get<double>() >= 0x1p63) fail_at(key, "must be below 2^63");
    else if (!x) fail_at(key, "must be a whole number");
    else if (*x < least) fail_at(key, "must be at least " + std::to_string(least));
    else if (*x > most) fail_at(key, "must be at most " + std::to_string(most));
    else return *x;
    return (std::clamp)(std::int64_t{1}, least, most);
  }
  [[nodiscard]] std::int64_t integer_or(const char* key, std::int64_t otherwise, std::int64_t least = smallest,
                                        std::int64_t most = largest) const {
    return has(key) ? integer(key, least, most) : otherwise;
  }
  /// A size: a whole number from 1 to 2^31 - 1.
  [[nodiscard]] std::int64_t size_or(const char* key, std::int64_t otherwise) const {
    return integer_or(key, otherwise, 1, (std::numeric_limits<std::int32_t>::max)());
  }
  /// A finite number.
  [[nodiscard]] double number(const char* key) const {
    return number_that(key, "must be a number", [](double) { return true; });
  }
  [[nodiscard]] double number_or(const char* key, double otherwise) const { return has(key) ? number(key) : otherwise; }
  /// A finite number above 0.
  [[nodiscard]] double positive(const char* key) const {
    return number_that(key, "must be above 0", [](double x) { return x > 0; });
  }
  /// A finite number, 0 or above.
  [[nodiscard]] double not_negative(const char* key) const {
    return number_that(key, "must not be negative", [](double x) { return x >= 0; });
  }
  [[nodiscard]] double not_negative_or(const char* key, double otherwise) const {
    return has(key) ? not_negative(key) : otherwise;
  }
  /// Up to `most` finite numbers.
  [[nodiscard]] std::vector<double> numbers(const char* key, std::size_t most) const {
    std::vector<double> out;
    for (const nlohmann::json& x : array(key, most)) {
      const bool sound = x.is_number() && std::isfinite(x.get<double>());
      if (!sound) fail_at(key, "holds " + shown(x) + ", but must hold numbers");
      out.push_back(sound ? x.get<double>() : 0);
    }
    return out;
  }
  /// Up to `most_count` whole numbers in [least, most].
  [[nodiscard]] std::vector<std::int64_t> integers(const char* key, std::int64_t least, std::int64_t most,
                                                   std::size_t most_count) const {
    std::vector<std::int64_t> out;
    for (const nlohmann::json& each : array(key, most_count)) {
      const std::optional<std::int64_t> x = whole(each);
      const bool sound = x && *x >= least && *x <= most;
      if (!sound)
        fail_at(key, "holds " + shown(each) + ", but must hold whole numbers from " + std::to_string(least) + " to " +
                         std::to_string(most));
      out.push_back(sound ? *x : least);
    }
    return out;
  }
  [[nodiscard]] bool boolean_or(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const nlohmann::json& v = at(key);
    if (!v.is_boolean()) fail_at(key, "must be true or false");
    return v.is_boolean() ? v.get<bool>() : otherwise;
  }
  [[nodiscard]] std::string text(const char* key) const {
    const nlohmann::json& v = at(key);
    if (!v.is_string()) fail_at(key, "must be a string");
    return v.is_string() ? v.get<std::string>() : std::string();
  }
  [[nodiscard]] std::string text_or(const char* key, const std::string& otherwise) const {
    return has(key) ? text(key) : otherwise;
  }
  /// A text that is_printable(), for reports that people read line by line.
  [[nodiscard]] std::string line_or(const char* key, const std::string& otherwise) const {
    const std::string line = text_or(key, otherwise);
    if (!is_printable(line)) fail_at(key, "must be one line without control characters");
    return line;
  }
  /// The index of the member's text among `names`.
  [[nodiscard]] std::size_t choice(const char* key, std::span<const std::string_view> names) const {
    const std::string found = text(key);
    std::string all;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == found) return i;
      all += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    fail_at(key, "must be one of: " + all);
    return 0;
  }
  [[nodiscard]] std::size_t choice(const char* key, std::initializer_list<std::string_view> names) const {
    return choice(key, std::span(names.begin(), names.size()));
  }
  [[nodiscard]] std::size_t choice_or(const char* key, std::initializer_list<std::string_view> names,
                                      std::size_t otherwise) const {
    return has(key) ? choice(key, names) : otherwise;
  }

  /// How messages call a member: "path.key".
  [[nodiscard]] std::string name(const char* key) const { return path_.empty() ? key : path_ + "." + key; }
  [[nodiscard]] const std::string& path() const& noexcept { return path_; }
  const std::string& path() const&& = delete;
  [[nodiscard]] std::string_view file() const& noexcept { return file_; }
  std::string_view file() const&& = delete;
  [[nodiscard]] file_errors& errors() const noexcept { return *errors_; }
  /// Tells the errors: FILE: "path.key" sentence. One that says what a member "must be" gets its value in front.
  void fail_at(const char* key, const std::string& sentence) const {
    const bool wish = has(key) && sentence.starts_with("must ");
    say("\"" + name(key) + "\" " + (wish ? "is " + shown(*value_->find(key)) + ", but " : "") + sentence);
  }

 private:
  static constexpr std::int64_t smallest = (std::numeric_limits<std::int64_t>::min)(),
                                largest = (std::numeric_limits<std::int64_t>::max)();

  [[nodiscard]] static const nlohmann::json& nothing() {
    static const nlohmann::json empty = nlohmann::json::object();
    return empty;
  }
  void say(const std::string& sentence) const { errors_->add(file_ + ": " + sentence); }
  template <class Allowed>
  [[nodiscard]] double number_that(const char* key, const char* must, Allowed&& allowed) const {
    const nlohmann::json& v = at(key);
    const bool finite = v.is_number() && std::isfinite(v.get<double>());
    if (!finite) fail_at(key, "must be a number");
    else if (!allowed(v.get<double>())) fail_at(key, must);
    else return v.get<double>();
    return 1;
  }
  [[nodiscard]] const nlohmann::json& array(const char* key, std::size_t most_count) const {
    static const nlohmann::json none = nlohmann::json::array();
    const nlohmann::json& v = at(key);
    if (!v.is_array()) fail_at(key, "must be an array of numbers");
    else if (v.size() > most_count) fail_at(key, "has more than " + std::to_string(most_count) + " numbers");
    else return v;
    return none;
  }

  const nlohmann::json* value_;
  std::string file_;
  std::string path_;
  file_errors* errors_;
};

}  // namespace hocket::inline HOCKET_ABI::interop
