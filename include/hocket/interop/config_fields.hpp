// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/model/model.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// The fields of a `config.json`, read one by one: each absence, type and contradiction is an error that names the
/// field.
namespace hocket::inline HOCKET_ABI::hugging_face {

/// A model and what its config left unsaid: "tie_word_embeddings = false", each the default that the architecture's
/// configuration class in `transformers` documents. Show them; nothing else was filled in.
struct reading {
  cost::model model;
  std::string architecture;  ///< the config's model_type
  std::vector<std::string> assumed;
};

namespace detail {

// Reads fields and keeps the first error, so that an architecture reads like a list of its fields.
class fields {
 public:
  fields(const nlohmann::json& config, reading& out) : config_(config), out_(out) {}

  bool has(const char* name) const {
    const auto at = config_.find(name);
    return at != config_.end() && !at->is_null();
  }
  std::int64_t size(const char* name) {
    if (!has(name)) return fail(error{errc::missing_field}.with(name));
    return number(name);
  }
  /// A field that transformers also calls `other`; if both are there they must agree.
  std::int64_t size(const char* name, const char* other) {
    if (!has(name) && has(other)) return number(other);
    const std::int64_t n = size(name);
    if (has(name) && has(other)) expect(other, n);
    return n;
  }
  /// A field whose absence means `otherwise`; the assumption is recorded.
  std::int64_t size_or(const char* name, std::int64_t otherwise) {
    if (has(name)) return number(name);
    assume(name, std::to_string(otherwise));
    return otherwise;
  }
  /// A size for which null means none; if the field is absent, the architecture's default is `otherwise`, 0 for none,
  /// and the assumption is recorded.
  std::int64_t size_or_none(const char* name, std::int64_t otherwise) {
    if (has(name)) return number(name, 0);
    if (config_.contains(name)) return 0;
    assume(name, otherwise == 0 ? "null" : std::to_string(otherwise));
    return otherwise;
  }
  /// The same where no default may be filled in: it would decide how large the model is.
  std::int64_t size_or_null(const char* name) {
    if (has(name)) return number(name, 0);
    return config_.contains(name) ? 0 : fail(error{errc::missing_field}.with(name));
  }
  bool flag_or(const char* name, bool otherwise) {
    if (!has(name)) {
      assume(name, otherwise ? "true" : "false");
      return otherwise;
    }
    const auto& v = config_.at(name);
    if (!v.is_boolean()) {
      fail(error{errc::invalid_argument, 1}.with(name));
      return otherwise;
    }
    return v.get<bool>();
  }
  std::string word_or(const char* name, const char* otherwise) {
    if (!has(name)) return otherwise;
    const auto& v = config_.at(name);
    if (!v.is_string()) fail(error{errc::unknown_value}.with(name));
    return v.is_string() ? v.get<std::string>() : otherwise;
  }
  /// The word, which must be one of these.
  std::string one_of(const char* name, const char* otherwise, std::initializer_list<std::string_view> known) {
    std::string word = word_or(name, otherwise);
    if (std::find(known.begin(), known.end(), word) == known.end()) fail(error{errc::unknown_value}.with(name));
    return word;
  }
  /// How many layers a list with one word per layer calls `word`; the others must be called `other`.
  std::int64_t layers_called(const char* name, std::string_view word, std::string_view other, std::int64_t layers) {
    if (!has(name)) return fail(error{errc::missing_field}.with(name));
    const auto called = words(name, layers, {word, other});
    return std::count(called.begin(), called.end(), word);
  }
  /// A list with one word for each layer, each one of these; nothing where it is none.
  std::vector<std::string> words(const char* name, std::int64_t layers, std::initializer_list<std::string_view> known) {
    const auto& list = config_.at(name);
    const auto is_word = [](const auto& x) { return x.is_string(); };
    if (!list.is_array() || static_cast<std::int64_t>(list.size()) != layers ||
        !std::all_of(list.begin(), list.end(), is_word)) {
      fail(error{errc::invalid_argument, 3}.with(name));
      return {};
    }
    const auto out = list.get<std::vector<std::string>>();
    for (std::size_t at = 0; at < out.size(); ++at)
      if (std::find(known.begin(), known.end(), out[at]) == known.end()) refuse_layer(name, out[at], at);
    return out;
  }
  /// Lists that a family does not read may be there, but of words that some family has.
  void check_lists_of_layers(std::int64_t layers) {
    for (const char* name : {"layer_types", "layers_block_type", "mlp_layer_types", "indexer_types"})
      if (ok_ && has(name))
        words(name, layers,
              {"full_attention", "attention", "sliding_attention", "chunked_attention", "linear_attention",
               "indexed_attention", "compressed_sparse_attention", "heavily_compressed_attention", "mamba", "conv",
               "hybrid", "hybrid_sliding", "moe", "hash_moe", "mlp", "dense", "sparse", "full", "shared"});
  }
  /// Says that a layer, counted from 0, is of no kind that the architecture has.
  void refuse_layer(const char* name, std::string_view word, std::size_t layer) {
    const std::string said = std::string(name) + " \"" + std::string(word) + "\"";
    fail(error{errc::unknown_layer, static_cast<std::int64_t>(layer)}.with(said));
  }
  /// An object inside the config: read(its fields).
  template <class Read>
  void within(const char* name, Read&& read) {
    if (!has(name) || !config_.at(name).is_object()) return void(fail(error{errc::missing_field}.with(name)));
    fields part(config_.at(name), out_);
    read(part);
    if (!part.ok_) fail(part.error_);
  }
  /// If the field is there it must have this value: the architecture has no other.
  void expect(const char* name, std::int64_t value) {
    if (!has(name)) return;
    const std::int64_t n = number(name, 0);
    if (n != value) fail(error{errc::contradictory_field, n, value}.with(name));
  }
  void expect_flag(const char* name, bool value) {
    if (!has(name)) return;
    if (flag_or(name, value) != value) fail(error{errc::contradictory_field, value ? 0 : 1, value ? 1 : 0}.with(name));
  }
  /// One size per layer, or one for all.
  std::vector<std::int64_t> sizes(const char* name, std::int64_t layers) {
    const auto count = static_cast<std::size_t>(layers);
    if (!has(name) || !config_.at(name).is_array()) return std::vector<std::int64_t>(count, size(name));
    std::vector<std::int64_t> out;
    for (const auto& each : config_.at(name)) out.push_back(number_of(each, name));
    if (out.size() == count) return out;
    fail(error{errc::contradictory_field, static_cast<std::int64_t>(out.size()), layers}.with(name));
    return std::vector<std::int64_t>(count, 1);
  }
  /// The first so many numbers of a list, from 0.
  std::vector<std::int64_t> first_numbers(const char* name, std::int64_t count) {
    std::vector<std::int64_t> out;
    if (has(name) && config_.at(name).is_array())
      for (const auto& each : config_.at(name))
        if (static_cast<std::int64_t>(out.size()) < count) out.push_back(number_of(each, name, 0));
    if (static_cast<std::int64_t>(out.size()) != count) fail(error{errc::invalid_argument, 2}.with(name));
    out.resize(static_cast<std::size_t>(count));
    return out;
  }
  /// Which of so many layers a list of numbers names, counted from `first`.
  std::vector<bool> listed_layers(const char* name, std::int64_t first, std::int64_t layers) {
    std::vector<bool> out(static_cast<std::size_t>(layers), false);
    if (!has(name) || !config_.at(name).is_array()) {
      fail(error{errc::missing_field}.with(name));
      return out;
    }
    for (const auto& each : config_.at(name)) {
      const std::int64_t at = number_of(each, name, 0) - first;
      if (at >= 0 && at < layers) out[static_cast<std::size_t>(at)] = true;
      else fail(error{errc::out_of_range, at + first, first, layers - 1 + first}.with(name));
    }
    return out;
  }
  /// A size that `per_layer_config` has for its first layer; otherwise, the one given.
  std::int64_t first_override(const char* name, std::int64_t otherwise) {
    if (!has("per_layer_config")) return otherwise;
    const auto& layers = config_.at("per_layer_config");
    if (!layers.is_object() || layers.empty() || !layers.begin()->is_object()) return otherwise;
    const auto at = layers.begin()->find(name);
    return at == layers.begin()->end() || at->is_null() ? otherwise : number_of(*at, name);
  }
  bool is_minus_one(const char* name) const {
    return has(name) && config_.at(name).is_number_integer() && config_.at(name) == -1;
  }
  /// A factor that must be 1 where it is there.
  void expect_one(const char* name) {
    if (has(name) && config_.at(name) != 1) fail(error{errc::unknown_value}.with(name));
  }
  std::int64_t fail(const error& e) {
    if (ok_) {
      error_ = e;
      ok_ = false;
    }
    return 1;
  }
  void assume(const char* name, const std::string& value) { out_.assumed.push_back(std::string(name) + " = " + value); }
  bool ok() const { return ok_; }
  const error& why() const { return error_; }
  const nlohmann::json& json() const { return config_; }

 private:
  std::int64_t number(const char* name, std::int64_t from = 1) { return number_of(config_.at(name), name, from); }
  std::int64_t number_of(const nlohmann::json& v, const char* name, std::int64_t from = 1) {
    constexpr std::int64_t max_size = (std::numeric_limits<std::int32_t>::max)();
    constexpr auto largest = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
    const bool huge = v.is_number_unsigned() && v.get<std::uint64_t>() > largest;
    if (huge || !v.is_number_integer()) return fail(error{errc::invalid_argument, 0}.with(name));
    const auto n = v.get<std::int64_t>();
    if (n < from || n > max_size) return fail(error{errc::out_of_range, n, from, max_size}.with(name));
    return n;
  }

  const nlohmann::json& config_;
  reading& out_;
  error error_{};
  bool ok_ = true;
};

}  // namespace detail
}  // namespace hocket::inline HOCKET_ABI::hugging_face
