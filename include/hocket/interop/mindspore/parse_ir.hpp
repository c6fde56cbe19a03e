// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/interop/mindspore/detail/ir_builder.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>
#include <hocket/interop/mindspore/ir_reader.hpp>

#include <cstddef>
#include <string_view>

namespace hocket::inline HOCKET_ABI::mindspore {

/// Reads a dump from pieces of its text into a program. After an error it must not be used again.
///
///     ir_program_reader reader;
///     while (read(chunk)) if (const auto ok = reader.feed(chunk); !ok) return ok.error();
///     hocket::result<ir_program> program = reader.finish();
class ir_program_reader {
 public:
  explicit ir_program_reader(const ir_reader_options& options = {}) : reader_(builder_, options) {}
  ir_program_reader(const ir_program_reader&) = delete;
  ir_program_reader& operator=(const ir_program_reader&) = delete;

  /// The next piece of the text. Errors: as of ir_reader, and each with line and column:
  /// errc::unknown_operand, errc::bad_attribute.
  [[nodiscard]] result<void> feed(std::string_view chunk) { return reader_.feed(chunk); }
  /// The program, if the text was whole. Errors: errc::limit_exceeded for more than 2^26 variables that called graphs
  /// capture.
  [[nodiscard]] result<ir_program> finish() {
    if (const auto ok = reader_.finish(); !ok) return ok.error();
    return builder_.finish(reader_.counts());
  }

 private:
  detail::ir_builder builder_;
  ir_reader<detail::ir_builder> reader_;
};

/// Reads a whole dump, or a piece of one as it is printed in guides.
/// Errors as of ir_program_reader; none of a text that is refused is returned.
/// Complexity: linear in the text and in what called graphs capture. Comment lines, most of a dump, are passed over.
///
///     const auto program = hocket::mindspore::parse_ir(text);
///     program->primitive(0) == "Load";
[[nodiscard]] inline result<ir_program> parse_ir(std::string_view text, const ir_reader_options& options = {}) {
  ir_program_reader reader(options);
  if (const auto ok = reader.feed(text); !ok) return ok.error();
  return reader.finish();
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
