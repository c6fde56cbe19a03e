// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/printable.hpp>
#include <hocket/cost/model/rank_layers.hpp>
#include <hocket/cost/model/recompute_plan.hpp>
#include <hocket/cost/model/replay_set.hpp>
#include <hocket/interop/files/json_object.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

/// What is computed again by stage and layer, as a file has it: it means something once the model is known.
///
///     "recompute": [4, 0]                                 whole layers: the first 4 of stage 0, none of stage 1
///     "select_recompute": ["activation"]                  an operation, in every layer
///     "select_recompute": {"feed_forward\\.mul": [20, 8], "norm": [[0, 2], []]}   by stage: so many, or these layers
struct recompute_lists {
  nlohmann::json whole, select;  ///< null: not given
  std::string file;              ///< that has them
};

namespace detail {

// Fields of recompute_lists; `taken` says whether "recompute" is a level here, for the caller to read.
inline void take_lists(const json_object& in, recompute_lists& lists, bool level_is_here) {
  const auto take = [&](const char* key, nlohmann::json& to) {
    if (!in.has(key)) return;
    if (!to.is_null()) in.fail_at(key, "is given in " + lists.file + ", too: say it once");
    to = in.at(key);
    lists.file = std::string(in.file());
  };
  if (!level_is_here || (in.has("recompute") && !in.at("recompute").is_string())) take("recompute", lists.whole);
  take("select_recompute", lists.select);
}

// Operations by the names that configs of MindFormers give to their parts. Where several parts make one operation of
// the table of saved tensors, it is computed again only with all of them. Reshapes and transposes move nothing.
struct operation_part {
  std::string_view pattern;  ///< literal
  cost::layer_operation which;
};
inline constexpr operation_part parts_of_operations[] = {
    {"feed_forward.mul", cost::layer_operation::activation},
    {"feed_forward.w1.activation", cost::layer_operation::activation},
    {"feed_forward.w1.matmul", cost::layer_operation::ffn_in},
    {"feed_forward.w3.matmul", cost::layer_operation::ffn_in},
    {"feed_forward.w2.matmul", cost::layer_operation::ffn_out},
    {"attention_norm.norm", cost::layer_operation::norm},
    {"ffn_norm.norm", cost::layer_operation::norm},
    {"attention_norm.rcast", cost::layer_operation::cast_back},
    {"ffn_norm.rcast", cost::layer_operation::cast_back},
    {"attention.wq.matmul", cost::layer_operation::qkv},
    {"attention.wk.matmul", cost::layer_operation::qkv},
    {"attention.wv.matmul", cost::layer_operation::qkv},
    {"attention.wo.matmul", cost::layer_operation::output},
    {"add", cost::layer_operation::output},
    {"attention.flash_attention", cost::layer_operation::attention}};
inline constexpr std::string_view parts_without_work[] = {
    "feed_forward.w1.reshape", "feed_forward.w2.reshape", "feed_forward.w3.reshape", "attention.wq.reshape",
    "attention.wk.reshape",    "attention.wv.reshape",    "attention.wo.reshape",    "attention.merger_head_transpose"};

// A pattern as configs write it, without what escapes its dots.
inline std::string without_escapes(const std::string& written) {
  std::string name;
  for (const char c : written)
    if (c != '\\') name += c;
  return name;
}

class lists_reader {
 public:
  /// @param layers  of each stage
  lists_reader(const recompute_lists& lists, std::vector<std::int64_t> layers, file_errors& errors)
      : lists_(lists), layers_(std::move(layers)), errors_(errors) {}

  // Which layers of which stage a value names; `name` is how messages call it.
  [[nodiscard]] cost::layer_flags flags(const nlohmann::json& value, const std::string& name) const {
    const std::vector<std::int64_t> none(layers_.size(), 0);
    cost::layer_flags out = cost::first_layers(none, layers_);
    if (value.is_boolean()) {
      if (value.get<bool>()) out = cost::first_layers(layers_, layers_);
    } else if (!value.is_array()) {
      bad(name, "is " + shown(value) + ", but must be true, false, or an array with one entry for each pipeline stage");
    } else if (value.size() != layers_.size()) {
      bad(name, "has " + std::to_string(value.size()) + " entries, but there are " + std::to_string(layers_.size()) +
                    " pipeline stages");
    } else {
      for (std::size_t stage = 0; stage < layers_.size(); ++stage) mark(value[stage], name, stage, out[stage]);
    }
    return out;
  }

  // Operations with their layers.
  void select(cost::recompute_plan& plan) const {
    const std::vector<operation_flags> found = selected();
    for (const operation_flags& each : found) check_known(each);
    for (const cost::layer_operation which : cost::replayable) {
      cost::layer_flags where = layers_of(which, found);
      if (!where.empty()) plan.operations.push_back({which, std::move(where)});
    }
  }

 private:
  struct operation_flags {
    std::string name, written;
    cost::layer_flags where;
  };

  // The layers of a stage that its entry names: the first so many, or these.
  void mark(const nlohmann::json& entry, const std::string& name, std::size_t stage, std::vector<bool>& here) const {
    const std::string at = name + "[" + std::to_string(stage) + "]";
    const std::int64_t has = layers_[stage];
    const std::string has_layers = ", but stage " + std::to_string(stage) + " has " + std::to_string(has) + " layers";
    if (!entry.is_array()) {
      const std::int64_t n = number(entry, at);
      if (n > has) return bad(at, "is " + std::to_string(n) + has_layers);
      for (std::int64_t layer = 0; layer < n; ++layer) here[static_cast<std::size_t>(layer)] = true;
      return;
    }
    for (const nlohmann::json& layer : entry) {
      const std::int64_t n = number(layer, at);
      if (n >= has) return bad(at, "names layer " + std::to_string(n) + has_layers + ", counted from 0");
      here[static_cast<std::size_t>(n)] = true;
    }
  }
  [[nodiscard]] std::vector<operation_flags> selected() const {
    std::vector<operation_flags> found;
    const auto add = [&](const std::string& written, const nlohmann::json& where) {
      found.push_back({without_escapes(written), written, flags(where, "select_recompute." + written)});
    };
    if (lists_.select.is_array()) {
      for (const nlohmann::json& each : lists_.select)
        if (each.is_string()) add(each.get<std::string>(), nlohmann::json(true));
        else bad("select_recompute", "must hold names of operations");
    } else if (lists_.select.is_object()) {
      for (const auto& each : lists_.select.items()) add(each.key(), each.value());
    } else {
      bad("select_recompute", "must be an array of operations, or an object of operations with their layers");
    }
    return found;
  }
  // Where an operation is computed again: in the layers that all of its names have. Empty: it has none.
  [[nodiscard]] cost::layer_flags layers_of(cost::layer_operation which,
                                            const std::vector<operation_flags>& found) const {
    cost::layer_flags where;
    const auto both = [&](const cost::layer_flags& more) {
      if (where.empty()) where = more;
      for (std::size_t s = 0; s < where.size(); ++s)
        for (std::size_t l = 0; l < where[s].size(); ++l) where[s][l] = where[s][l] && more[s][l];
    };
    const operation_flags* of_parts = nullptr;
    for (const operation_flags& each : found) {
      if (each.name == to_string(which)) both(each.where);
      for (const operation_part& part : parts_of_operations) {
        if (part.which != which || part.pattern != each.name) continue;
        of_parts = &each;
        both(each.where);
      }
    }
    if (of_parts != nullptr) need_all_parts(which, *of_parts, found);
    return where;
  }
  void need_all_parts(cost::layer_operation which, const operation_flags& one,
                      const std::vector<operation_flags>& found) const {
    for (const operation_part& part : parts_of_operations) {
      const auto is_it = [&](const operation_flags& x) { return x.name == part.pattern; };
      if (part.which != which || std::any_of(found.begin(), found.end(), is_it)) continue;
      bad("select_recompute", "names \"" + one.name + "\" but not \"" + std::string(part.pattern) +
                                  "\": only together are they the operation " + std::string(to_string(which)));
    }
  }
  void bad(const std::string& name, const std::string& sentence) const {
    errors_.add(lists_.file + ": \"" + to_printable(name) + "\" " + sentence);
  }
  [[nodiscard]] std::int64_t number(const nlohmann::json& value, const std::string& name) const {
    const std::optional<std::int64_t> x = whole(value);
    if (x && *x >= 0 && *x < std::int64_t{1} << 31) return *x;
    bad(name, "must hold whole numbers from 0 to 2147483647");
    return 0;
  }
  void check_known(const operation_flags& each) const {
    std::string known;
    for (const cost::layer_operation which : cost::replayable) {
      if (each.name == to_string(which)) return;
      known += (known.empty() ? "" : ", ") + std::string(to_string(which));
    }
    for (const operation_part& part : parts_of_operations)
      if (each.name == part.pattern) return;
    for (const std::string_view part : parts_without_work)
      if (each.name == part) return;
    bad("select_recompute." + each.written,
        "is no operation known here: " + known + ", or a part as MindFormers names it");
  }

  const recompute_lists& lists_;
  std::vector<std::int64_t> layers_;
  file_errors& errors_;
};

}  // namespace detail

/// Patterns of reshapes that a list with feed_forward\.mul lacks. Where linear cells take three dimensions, the
/// reshapes before and after the activation keep its tensors unless they are recomputed, too (the tuning guide's
/// case).
[[nodiscard]] inline std::vector<std::string> missing_reshapes(const recompute_lists& lists) {
  std::vector<std::string> names;
  std::vector<std::string> missing;
  for (const auto& each : lists.select.items())
    names.push_back(detail::without_escapes(lists.select.is_array() ? each.value().get<std::string>() : each.key()));
  const auto is_named = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!is_named("feed_forward.mul")) return missing;
  for (const char* matrix : {"w1", "w2"})
    if (!is_named(std::string("feed_forward.") + matrix + ".reshape"))
      missing.push_back(std::string("feed_forward\\.") + matrix + "\\.reshape");
  return missing;
}

/// The plan that the lists make. Numbers that the stages do not have are errors. O(layers x operations).
/// @param ranks  the layers of each stage
[[nodiscard]] inline cost::recompute_plan read_lists(const recompute_lists& lists,
                                                     std::span<const cost::rank_layers> ranks,
                                                     const cost::replay_set& everywhere, file_errors& errors) {
  constexpr std::int64_t most_layers = 65'536;
  const std::vector<std::int64_t> counts = cost::layer_counts(ranks);
  const std::int64_t layers = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  cost::recompute_plan plan;
  plan.everywhere = everywhere;
  if (layers > most_layers) {
    errors.add(lists.file + ": lists by layer are for models of at most " + std::to_string(most_layers) +
               " layers, but this has " + std::to_string(layers));
    return plan;
  }
  const detail::lists_reader reader(lists, counts, errors);
  if (!lists.whole.is_null()) plan.full = reader.flags(lists.whole, "recompute");
  if (!lists.select.is_null()) reader.select(plan);
  return plan;
}

}  // namespace hocket::inline HOCKET_ABI::interop
