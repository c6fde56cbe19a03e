// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/model/layer_list.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/uniform_list.hpp>
#include <hocket/interop/files/json_object.hpp>
#include <hocket/interop/hugging_face_layers.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::interop {

/// An encoder of a multimodal model: its parameters are none of the language model's.
struct counted_encoder {
  std::string name, architecture;
  std::int64_t parameters = 0;
};
/// A published model: its layers, what it is called, and what its config left unsaid.
struct model_input {
  cost::layer_list layers;
  std::string architecture;
  std::vector<std::string> assumed;
  std::vector<counted_encoder> encoders{};  ///< of a multimodal config
};

namespace detail {

// What is wrong with a config, in a sentence that shows the field's value.
inline void fail_config(const nlohmann::json& config, std::string_view file, const error& why, file_errors& errors) {
  const errc code = why.code;
  if (code == errc::invalid_argument || code == errc::unknown_value) {
    static constexpr std::string_view must[] = {
        "but must be a whole number below 2^31", "but must be true or false", "but must be a list of layer numbers",
        "but must be a list with one word for each layer", "which its model_type does not allow"};
    const std::string field(why.word());
    const auto kind = code == errc::unknown_value ? 4 : static_cast<std::size_t>(why.values[0]);
    // The field may stand inside one of the config's objects.
    const nlohmann::json* value = config.contains(field) ? &config.at(field) : nullptr;
    for (const nlohmann::json& member : config)
      if (value == nullptr && member.is_object() && member.contains(field)) value = &member.at(field);
    if (value != nullptr && kind < std::size(must))
      return errors.add(std::string(file) + ": \"" + field + "\" is " + shown(*value) + ", " + std::string(must[kind]));
  }
  errors.add(file, why);
}
// What is wrong with a config that neither reader takes: of one that only a list of layers could be, that.
inline void fail_to_read(const nlohmann::json& config, std::string_view file, const error& flat, const error& layers,
                         file_errors& errors) {
  if (flat.code != errc::unknown_architecture) return fail_config(config, file, flat, errors);
  const auto text = config.find("text_config");
  const bool is_inner = text != config.end() && text->is_object() && text->contains("model_type");
  fail_config(is_inner ? *text : config, file, layers, errors);
}

}  // namespace detail

/// A model from its config.json: of equal layers, or of layers that differ.
[[nodiscard]] inline model_input read_model(const nlohmann::json& config, std::string_view file, file_errors& errors) {
  model_input out;
  if (!config.is_object()) {
    errors.add(std::string(file) + ": the config must be an object");
    return out;
  }
  if (auto flat = hugging_face::read_config(config)) {
    if (const auto ok = cost::check(flat->model); !ok) errors.add(file, ok.error());
    else out = {cost::to_layers(flat->model), std::move(flat->architecture), std::move(flat->assumed), {}};
  } else if (auto read = hugging_face::read_layers(config)) {
    out = {std::move(read->layers), std::move(read->architecture), std::move(read->assumed), {}};
    for (const auto& each : read->encoders) {
      const auto count = cost::count_parameters(each.layers);
      if (!count) errors.add(file, count.error());
      else out.encoders.push_back({each.name, each.architecture, count->total});
    }
  } else {
    detail::fail_to_read(config, file, flat.error(), read.error(), errors);
  }
  if (!errors.none()) return out;
  // What is wrong with the model is not the step's fault.
  if (const auto ok = cost::count_parameters(out.layers); !ok) errors.add(file, ok.error());
  return out;
}

}  // namespace hocket::inline HOCKET_ABI::interop
