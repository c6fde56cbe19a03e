// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/interop/encoder_families.hpp>
#include <hocket/interop/hugging_face.hpp>
#include <hocket/interop/layer_families.hpp>
#include <hocket/interop/projector_families.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A model of unequal layers from its Hugging Face `config.json`, as published or as transformers 4 or 5 saves it.
namespace hocket::inline HOCKET_ABI::hugging_face {

/// A list of layers and what its config left unsaid.
struct layer_reading {
  cost::layer_list layers;
  std::string architecture;  ///< the model_type, of the text model of a multimodal config
  std::vector<std::string> assumed;
  std::vector<encoder_reading> encoders{};  ///< of a multimodal config, then its projector: apart from `layers`
};

namespace detail {
inline const family* family_of_type(std::string_view type) noexcept {
  for (const family& each : families)
    if (each.type == type) return &each;
  return nullptr;
}
// Classes of these families are not all called like their model_type: refused is one that another family has.
inline void check_not_another(fields& in, std::string_view type) {
  if (!in.has("architectures")) return;
  const auto& classes = in.json().at("architectures");
  const auto is_of_another = [&](const nlohmann::json& c) {
    if (!c.is_string()) return true;
    const std::string family = family_of(c.get<std::string>());
    const auto is_named = [&](const auto& row) { return own_family(row.type) == family; };
    return !is_class_of(type, family) && (std::any_of(std::begin(architectures), std::end(architectures), is_named) ||
                                          std::any_of(std::begin(families), std::end(families), is_named));
  };
  if (!classes.is_array() || std::any_of(classes.begin(), classes.end(), is_of_another))
    in.fail(error{errc::unknown_value}.with("architectures"));
}
inline result<std::string> type_of(const nlohmann::json& config) {
  if (!config.is_object()) return error{errc::malformed, 1, 1}.with("config");
  const auto at = config.find("model_type");
  if (at == config.end() || at->is_null()) return error{errc::missing_field}.with("model_type");
  if (!at->is_string())
    return error{errc::unknown_architecture}.with(at->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  return at->get<std::string>();
}
}  // namespace detail

/// Reads a config of any family that read_config or the table in layer_families.hpp knows; of a multimodal file the
/// language model (`text_config`), and apart from it the encoders and the projector that encoder_families.hpp and
/// projector_families.hpp know.
/// Errors: those of read_config. Complexity: O(layers x blocks).
///
///     auto r = hocket::hugging_face::read_layers(nlohmann::json::parse(text));
///     hocket::cost::count_parameters(r->layers)->active;
[[nodiscard]] inline result<layer_reading> read_layers(const nlohmann::json& config) {
  const auto type = detail::type_of(config);
  if (!type) return type.error();
  const auto text = config.find("text_config");
  if (text != config.end() && text->is_object() && text->contains("model_type")) {
    nlohmann::json inner = *text;
    if (!inner.contains("tie_word_embeddings") && config.contains("tie_word_embeddings"))
      inner["tie_word_embeddings"] = config.at("tie_word_embeddings");
    inner.erase("text_config");
    auto read = read_layers(inner);
    if (!read) return read;
    read->assumed.push_back("text_config is the model: encoders and projectors are counted apart");
    for (const char* part : {"vision_config", "audio_config"})
      detail::read_encoder(config, part, *type, read->encoders, read->assumed);
    detail::read_projector(config, *type, read->layers.sizes.hidden, read->encoders, read->assumed);
    return read;
  }
  layer_reading out;
  out.architecture = *type;
  const detail::family* known = detail::family_of_type(*type);
  if (known == nullptr) {
    auto uniform = read_config(config);
    if (!uniform) return uniform.error();
    out.layers = cost::to_layers(uniform->model);
    out.assumed = std::move(uniform->assumed);
    return out;
  }
  reading notes;
  detail::layer_fields in(config, notes, out.layers, known->dense_first);
  if (detail::architecture_of(*type) != nullptr) detail::check_class(in.raw(), *type);
  else detail::check_not_another(in.raw(), *type);
  known->read(in);
  in.raw().check_lists_of_layers(in.layers());
  if (const std::int64_t modules = in.optional({"num_nextn_predict_layers"}); modules > 0)
    in.raw().assume("num_nextn_predict_layers", "0: the " + std::to_string(modules) + " given are no part of the size");
  if (!in.ok()) return in.why();
  out.assumed = std::move(notes.assumed);
  return out;
}

/// The same from the text of the file.
[[nodiscard]] inline result<layer_reading> parse_layers(std::string_view text) {
  const nlohmann::json config = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (config.is_discarded()) return error{errc::malformed, 1, 1}.with("config.json");
  return read_layers(config);
}

}  // namespace hocket::inline HOCKET_ABI::hugging_face
