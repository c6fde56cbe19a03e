// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/arithmetic.hpp>
#include <hocket/core/result.hpp>
#include <hocket/interop/mindspore/detail/brackets.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore {

/// What a dump says of a value: `<Ref[Tensor[Float16]], (2, 128), ref_key=net.emb, is_inplace>`.
struct ir_type {
  enum class kind {
    tensor,
    tuple,   ///< also a list
    scalar,  ///< Int64, Bool, String
    monad,   ///< UMonad, IOMonad: what orders side effects
    other    ///< functions, None, types that are not described
  };
  kind what = kind::other;
  bool reference = false;           ///< Ref[...]: a parameter, or what shares its memory
  bool in_place = false;            ///< is_inplace: some op of the graph writes it
  std::string element;              ///< Float16; of a scalar or other type, its name
  std::vector<std::int64_t> shape;  ///< of a tensor; -1 where a length is not known
  std::string reference_to;         ///< ref_key: the parameter's name
  std::vector<ir_type> parts;       ///< of a tuple
  std::int64_t bytes = 0;           ///< of all tensors in it
  bool bytes_known = true;          ///< false: a length or an element type is not known, and counts 0 bytes
};

/// Bits of an element type such as Float16, BFloat16, Int4, Bool; 0 if it is not known.
[[nodiscard]] constexpr std::int64_t bits_of(std::string_view element) noexcept {
  if (element == "Bool") return 8;
  if (element == "Int" || element == "Float") return 0;  // without a width: not told yet
  std::size_t digits = element.size();
  while (digits > 0 && element[digits - 1] >= '0' && element[digits - 1] <= '9') --digits;
  const std::string_view family = element.substr(0, digits);
  std::int64_t bits = 0;
  for (const char c : element.substr(digits, 4)) bits = 10 * bits + (c - '0');
  for (const std::string_view known : {"Float", "BFloat", "Int", "UInt", "Uint", "Complex", "F", "BF", "I", "U"})
    if (family == known) return bits <= 128 ? bits : 0;
  if (element == "Float8E4M3FN" || element == "Float8E5M2" || element == "HiFloat8") return 8;
  return 0;
}

namespace detail {

// Reads one type; columns count from the text's begin, from 0.
class type_parser {
 public:
  explicit type_parser(std::string_view text) noexcept : all_(text) {}

  [[nodiscard]] result<ir_type> operator()() {
    if (all_.size() < 2 || all_.front() != '<' || all_.back() != '>') return bad(all_);
    if (const bracket_end end = skip_brackets(all_, 0, brackets::with_angles); !end.good || end.at != all_.size())
      return bad(all_.substr((std::min)(end.at, all_.size() - 1)));
    std::string_view rest = all_.substr(1, all_.size() - 2);
    const std::string_view name = next_part(rest, brackets::with_angles);
    const std::string_view shape = next_part(rest, brackets::with_angles);
    result<ir_type> out = element(name, shape, 0);
    while (out && !rest.empty()) read_extra(next_part(rest, brackets::with_angles), *out);
    return out;
  }

 private:
  [[nodiscard]] error bad(std::string_view at) const noexcept {
    return error{errc::malformed, 1, 1 + (at.data() - all_.data())}.with(first_word(at));
  }
  static void read_extra(std::string_view extra, ir_type& out) {
    constexpr std::string_view key = "ref_key=";
    if (extra == "is_inplace") out.in_place = true;
    if (!extra.starts_with(key)) return;
    extra.remove_prefix(key.size());
    if (extra.starts_with(':')) extra.remove_prefix(1);  // before 2.0
    out.reference_to = extra;
  }
  // "Ref[Tensor[Float16]]" -> "Tensor[Float16]", if it is a Ref.
  [[nodiscard]] static bool take_wrapper(std::string_view wrapper, std::string_view& name) noexcept {
    if (!name.starts_with(wrapper) || name.size() <= wrapper.size() + 1) return false;
    if (name[wrapper.size()] != '[' || name.back() != ']') return false;
    name = name.substr(wrapper.size() + 1, name.size() - wrapper.size() - 2);
    return true;
  }

  [[nodiscard]] result<ir_type> element(std::string_view name, std::string_view shape, int depth) {
    constexpr int deepest = 32;
    if (depth == deepest) return bad(name);
    ir_type out;
    constexpr std::string_view old_shape = "x[const vector]";  // 1.x: Tensor[Float32]x[const vector][2, 3]
    if (const std::size_t at = name.find(old_shape); at != std::string_view::npos) {
      shape = name.substr(at + old_shape.size());
      name = name.substr(0, at);
    }
    out.reference = take_wrapper("Ref", name);
    if (take_wrapper("Tensor", name)) return tensor(name, shape, std::move(out));
    if (take_wrapper("Tuple", name) || take_wrapper("List", name)) return tuple(name, shape, depth, std::move(out));
    out.element = name;
    if (name == "UMonad" || name == "IOMonad") out.what = ir_type::kind::monad;
    else if (bits_of(name) != 0 || name == "String") out.what = ir_type::kind::scalar;
    return out;
  }

  [[nodiscard]] result<ir_type> tensor(std::string_view name, std::string_view shape, ir_type out) {
    out.what = ir_type::kind::tensor;
    out.element = name;
    const std::int64_t bits = bits_of(name);
    const bool has_shape = shape.size() >= 2 && (shape.front() == '(' || shape.front() == '[');
    out.bytes_known = has_shape && bits != 0;
    if (!has_shape) return out;
    std::int64_t elements = 1;
    std::string_view rest = shape.substr(1, shape.size() - 2);
    while (!rest.empty()) {
      const std::string_view word = next_part(rest, brackets::with_angles);
      if (word.empty() && rest.empty()) break;  // "(2,)"
      std::int64_t length = 0;
      const auto [end, why] = std::from_chars(word.data(), word.data() + word.size(), length);
      const bool whole = why == std::errc{} && end == word.data() + word.size();
      if (!whole && (word.empty() || (word.front() >= '0' && word.front() <= '9'))) return bad(shape);
      if (!whole || length < 0) {  // -1, or a symbol: known when it runs
        length = -1;
        out.bytes_known = false;
      }
      out.shape.push_back(length);
      if (out.bytes_known && !checked_multiply(elements, length, elements)) return bad(shape);
    }
    std::int64_t all_bits = 0;
    if (!out.bytes_known) return out;
    if (!checked_multiply(elements, bits, all_bits) || all_bits > (std::int64_t{1} << 62)) return bad(shape);
    out.bytes = (all_bits + 7) / 8;
    return out;
  }

  // "Tensor[Float16]*3, Bool" with "TupleShape((2, 3), (2, 3), (2, 3), NoShape)".
  [[nodiscard]] result<ir_type> tuple(std::string_view names, std::string_view shape, int depth, ir_type out) {
    out.what = ir_type::kind::tuple;
    out.element = "Tuple";
    const std::size_t open = shape.find('(');
    const bool has_shapes = open != std::string_view::npos && open > 0 && shape.back() == ')';
    std::string_view shapes = has_shapes ? shape.substr(open + 1, shape.size() - open - 2) : std::string_view{};
    while (!names.empty()) {
      std::string_view name = next_part(names, brackets::with_angles);
      std::int64_t times = 1;
      if (const std::size_t star = name.rfind('*'); star != std::string_view::npos && !name.ends_with(']')) {
        const auto [end, why] = std::from_chars(name.data() + star + 1, name.data() + name.size(), times);
        if (why != std::errc{} || end != name.data() + name.size() || times < 0) return bad(name);
        name = name.substr(0, star);
      }
      for (; times > 0 && (!shapes.empty() || !has_shapes); --times) {
        const std::string_view own = has_shapes ? next_part(shapes, brackets::with_angles) : std::string_view{};
        result<ir_type> part = element(name, own, depth + 1);
        if (!part) return part.error();
        if (!checked_add(out.bytes, part->bytes, out.bytes)) return bad(name);
        out.bytes_known = out.bytes_known && part->bytes_known;
        out.parts.push_back(std::move(*part));
        if (!has_shapes) break;  // without shapes one stands for all: a count is not believed
      }
      if (has_shapes && times > 0) return bad(name);
    }
    if (!shapes.empty()) return bad(shapes);
    return out;
  }

  std::string_view all_;
};

}  // namespace detail

/// Reads one type of a dump, of any version from 1.x on.
/// Errors: errc::malformed with line 1 and the column, for what is no type or whose size overflows.
/// Complexity: linear in the text.
///
///     parse_ir_type("<Tensor[Float16], (2, 128)>")->bytes == 512;
[[nodiscard]] inline result<ir_type> parse_ir_type(std::string_view text) { return detail::type_parser(text)(); }

}  // namespace hocket::inline HOCKET_ABI::mindspore
