// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/message.hpp>
#include <hocket/core/result.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace hocket::inline HOCKET_ABI::interop {

/// What is wrong with the files that readers get. It keeps the first sentence, "FILE: sentence". What a reader returns
/// means something only while none() is true. A program that stops at once overrides add(), which may throw.
///
///     interop::file_errors errors;
///     const auto config = interop::parse_json(text, "config.json", errors);
///     if (!errors.none()) return print(errors.first());
class file_errors {
 public:
  file_errors() = default;
  file_errors(const file_errors&) = delete;
  file_errors& operator=(const file_errors&) = delete;
  virtual ~file_errors() = default;

  virtual void add(std::string sentence) {
    if (first_.empty()) first_ = std::move(sentence);
  }
  /// The sentence of an error of the library, for a file.
  void add(std::string_view file, const error& why) { add(std::string(file) + ": " + message(why)); }
  [[nodiscard]] bool none() const noexcept { return first_.empty(); }
  [[nodiscard]] const std::string& first() const& noexcept { return first_; }
  const std::string& first() const&& = delete;

 private:
  std::string first_;
};

/// The value of a result; where it has none, that is told to the errors and an empty value comes back.
template <class T>
[[nodiscard]] T value_of(result<T>&& r, std::string_view file, file_errors& errors) {
  if (r) return std::move(r).value();
  errors.add(file, r.error());
  return T{};
}

}  // namespace hocket::inline HOCKET_ABI::interop
