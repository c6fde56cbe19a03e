// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a config leaves out is the default of its class in transformers: in the records named "default" each field has
// it, so that a config without one field says the same, or is refused.
#include <hocket/core/message.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/interop/hugging_face_layers.hpp>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {
namespace defaults {

namespace cost = hocket::cost;
using nlohmann::json;

const json& recorded() {
  static const json all = [] {
    std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/layer_families.json");
    return json::parse(file);
  }();
  return all;
}

cost::layer_list layers_of(const json& config) {
  const auto read = hocket::hugging_face::read_layers(config);
  if (!read) FAIL(message(read.error()));
  return read->layers;
}

/// What a class fills in that fits one size alone, and what is none where it is left out: how the readers differ from
/// transformers on purpose. A list of layers that no rule of the family gives is missed.
const std::set<std::string> no_defaults{"num_key_value_heads",
                                        "head_dim",
                                        "q_lora_rank",
                                        "n_shared_experts",
                                        "num_shared_experts",
                                        "moe_num_shared_experts",
                                        "shared_expert_intermediate_size",
                                        "shared_intermediate_size",
                                        "moe_intermediate_size",
                                        "mlp_only_layers",
                                        "num_local_experts",
                                        "num_kv_shared_layers",
                                        "sliding_window",
                                        "hidden_size_per_layer_input",
                                        "attention_chunk_size",
                                        "mamba_head_dim"};
const std::set<std::string> lists_of_their_own{"flint", "lfm2_moe"};

TEST_CASE("a field that is left out has its class's default, or is missed", "[cost][hugging_face]") {
  int same = 0, missed = 0;
  for (const auto& [name, model] : recorded().items()) {
    if (name.find("default") == std::string::npos) continue;
    const json& config = model.at("config");
    const std::string type = config.at("model_type");
    const cost::layer_list whole = layers_of(config);
    for (const auto& [field, value] : config.items()) {
      if (no_defaults.count(field) != 0 || field == "model_type") continue;
      if (field.ends_with("_types") && lists_of_their_own.count(type) != 0) continue;
      INFO(name << " without " << field << " = " << value.dump());
      json without = config;
      without.erase(field);
      const auto read = hocket::hugging_face::read_layers(without);
      if (read) CHECK(read->layers == whole);
      else CHECK(read.error().code == hocket::errc::missing_field);
      ++(read ? same : missed);
    }
  }
  CHECK(same > 300);
  CHECK(missed > 500);
}

/// One letter for each layer of a list: its mixer, or its FFN.
std::string mixers_of(const cost::layer_list& list) {
  std::string out;
  for (const cost::repeated_layer& each : list.layers)
    for (std::int64_t n = 0; n < each.count; ++n)
      for (const cost::block& b : each.blocks) {
        if (const auto* x = std::get_if<cost::attention>(&b.what)) out += x->window == 0 ? 'F' : x->chunked ? 'c' : 'w';
        if (const auto* x = std::get_if<cost::latent_attention>(&b.what))
          out += x->selected == 0 ? 'F' : x->index_heads > 0 ? 'I' : 's';
        if (const auto* x = std::get_if<cost::compressed_attention>(&b.what))
          out += x->ratio == 0 ? 'w' : x->ratio == 4 ? 'I' : 'H';
        if (std::holds_alternative<cost::gated_delta>(b.what) || std::holds_alternative<cost::kimi_delta>(b.what) ||
            std::holds_alternative<cost::lightning_attention>(b.what) || std::holds_alternative<cost::mamba>(b.what))
          out += 'L';
      }
  return out;
}
std::string ffns_of(const cost::layer_list& list) {
  std::string out;
  for (const cost::repeated_layer& each : list.layers)
    for (std::int64_t n = 0; n < each.count; ++n)
      for (const cost::block& b : each.blocks) {
        if (std::holds_alternative<cost::feed_forward>(b.what)) out += 'd';
        if (std::holds_alternative<cost::mixture>(b.what)) out += 'M';
      }
  return out;
}
/// The recorded config of a family, with so many layers and without lists of them, and fields changed.
json shortened(const char* name, int layers, const json& changed = json::object()) {
  json config = recorded().at(std::string(name) + ", other").at("config");
  for (const char* list : {"layer_types", "layers_block_type", "mlp_layer_types", "indexer_types", "per_layer_config"})
    config.erase(list);
  config["num_hidden_layers"] = layers;
  config.update(changed);
  return config;
}

TEST_CASE("which layers see a window, by the rules of the families", "[cost][hugging_face]") {
  const struct {
    const char* name;
    json changed;
    const char* mixers;
  } rows[] = {
      {"gemma3_text", json::object(), "wwwwwFwwwwwFw"},
      {"gemma3_text", {{"_sliding_window_pattern", 4}}, "wwwFwwwFwwwFw"},
      {"gemma4_text", {{"num_kv_shared_layers", 0}}, "wwwwwFwwwwwFw"},
      {"gemma3n_text", {{"num_kv_shared_layers", 0}, {"intermediate_size", 64}}, "wwwwFwwwwFwww"},
      {"olmo3", json::object(), "wwwFwwwFwwwFw"},
      {"exaone4", {{"sliding_window", 16}}, "wwwFwwwFwwwFw"},
      {"exaone4", {{"sliding_window", nullptr}}, "FFFFFFFFFFFFF"},
      {"exaone_moe", {{"sliding_window", 16}}, "wwwFwwwFwwwFw"},
      {"afmoe", json::object(), "wwwFwwwFwwwFw"},
      {"kolibri1", json::object(), "wwwwFwwwwFwww"},
      {"granitemoe_swa", json::object(), "FwwwFwwwFwwwF"},
      {"cohere2_moe", json::object(), "wwwFwwwFwwwFw"},
      {"mimo_v2_flash", json::object(), "FwwwwFwwwwwFw"},
      {"llama4_text", {{"attention_chunk_size", 64}}, "cccFcccFcccFc"},
      {"qwen3_next", json::object(), "LLLFLLLFLLLFL"},
      {"qwen3_next", {{"full_attention_interval", 3}}, "LLFLLFLLFLLFL"},
      {"olmo_hybrid", json::object(), "LLLFLLLFLLLFL"},
      {"kimi_linear", json::object(), "LLLLFLLLFLLLF"},
      {"bailing_hybrid", json::object(), "LLLLLFLLLLLFL"},
      {"minimax", json::object(), "FLFLFLFLFLFLF"},
      {"jamba", {{"attn_layer_period", 5}, {"attn_layer_offset", 2}}, "LLFLLLLFLLLLF"},
      {"deepseek_v4", json::object(), "HHHIHIHIHIHIH"},
      {"deepseek_v4", {{"compress_ratios", {0, 0, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 0}}}, "wwIHIHIHIHIHI"},
      {"deepseek_v32", json::object(), "IIIIIIIIIIIII"},
      {"glm_moe_dsa", {{"index_topk_freq", 4}, {"index_skip_topk_offset", 3}}, "IIIsssIsssIss"},
      {"deepseek_v32", {{"index_topk_freq", 3}, {"index_skip_topk_offset", 2}}, "IIssIssIssIss"},
  };
  for (const auto& row : rows) {
    INFO(row.name << " " << row.changed.dump());
    const json config = shortened(row.name, 13, row.changed);
    const cost::layer_list list = layers_of(config);
    CHECK(mixers_of(list) == row.mixers);
    for (const cost::repeated_layer& each : list.layers)
      for (const cost::block& b : each.blocks)
        if (const auto* x = std::get_if<cost::attention>(&b.what); x != nullptr && x->window > 0)
          CHECK(x->window == config.at(x->chunked ? "attention_chunk_size" : "sliding_window"));
  }
}

TEST_CASE("which layers are mixtures, by the rules of the families", "[cost][hugging_face]") {
  const struct {
    const char* name;
    json changed;
    const char* ffns;
  } rows[] = {
      {"qwen3_moe", {{"decoder_sparse_step", 2}}, "dMdMdMdMd"},
      {"qwen3_moe", {{"mlp_only_layers", {0, 3}}}, "dMMdMMMMM"},
      {"qwen3_moe", {{"decoder_sparse_step", 2}, {"mlp_only_layers", {0, 3}}}, "dMdddMdMd"},
      {"qwen3_next", {{"decoder_sparse_step", 3}}, "ddMddMddM"},
      {"deepseek_v2", {{"first_k_dense_replace", 3}}, "dddMMMMMM"},
      {"deepseek_v2", {{"first_k_dense_replace", 0}}, "MMMMMMMMM"},
      {"deepseek_v2", {{"first_k_dense_replace", 9}}, "ddddddddd"},
      {"glm4_moe", {{"first_k_dense_replace", 2}}, "ddMMMMMMM"},
      {"dots1", {{"first_k_dense_replace", 2}}, "ddMMMMMMM"},
      {"afmoe", {{"num_dense_layers", 2}}, "ddMMMMMMM"},
      {"kimi_linear", {{"first_k_dense_replace", 1}, {"moe_layer_freq", 2}}, "ddMdMdMdM"},
      {"llama4_text", {{"interleave_moe_layer_step", 2}, {"moe_layers", nullptr}}, "dMdMdMdMd"},
      {"llama4_text", {{"moe_layers", {1, 8}}}, "dMddddddM"},
      {"jamba", {{"expert_layer_period", 2}, {"expert_layer_offset", 1}}, "dMdMdMdMd"},
      {"jamba", {{"num_experts", 1}, {"num_experts_per_tok", 1}}, "ddddddddd"},
      {"ernie4_5_moe",
       {{"moe_layer_start_index", 2}, {"moe_layer_interval", 2}, {"moe_layer_end_index", 6}},
       "dddMdMddd"},
      {"ernie4_5_moe",
       {{"moe_layer_start_index", 1}, {"moe_layer_interval", 1}, {"moe_layer_end_index", -1}},
       "dMMMMMMMM"},
      {"lfm2_moe", {{"num_dense_layers", 2}}, "ddMMMMMMM"},
      {"lfm2_moe", {{"num_dense_layers", 9}}, "ddddddddd"},
      {"gemma4_text", {{"num_kv_shared_layers", 0}}, "ddddddddd"},
  };
  for (const auto& row : rows) {
    INFO(row.name << " " << row.changed.dump());
    CHECK(ffns_of(layers_of(shortened(row.name, 9, row.changed))) == row.ffns);
  }
  // Classes without biases of the attention count none, whatever the config says.
  for (const char* const name : {"nemotron_h", "jamba", "lfm2", "lfm2_moe"}) {
    INFO(name);
    const auto weights = [&](bool bias) {
      json config = recorded().at(std::string(name) + ", other").at("config");
      config["attention_bias"] = bias;
      return cost::count_parameters(layers_of(config))->total;
    };
    CHECK(weights(true) == weights(false));
  }
  // Without a chunk's size no layer of Llama 4 sees chunks.
  for (const bool says : {false, true})
    for (const cost::repeated_layer& each :
         layers_of(shortened("llama4_text", 9, {{"attention_chunk_size", says ? json(512) : json(nullptr)}})).layers)
      for (const cost::block& b : each.blocks)
        if (const auto* x = std::get_if<cost::attention>(&b.what)) {
          CHECK(x->chunked == (x->window > 0));
          CHECK((says || !x->chunked));
        }
  // LFM2 takes two thirds of its width, rounded up to a multiple.
  for (const auto& [said, taken] : {std::pair{384, 256}, {385, 256}, {386, 512}, {767, 512}, {768, 512}, {770, 768}}) {
    const auto list = layers_of(shortened("lfm2", 4,
                                          {{"intermediate_size", said},
                                           {"block_ff_dim", said},
                                           {"block_auto_adjust_ff_dim", true},
                                           {"block_multiple_of", 256}}));
    for (const cost::block& b : list.layers.front().blocks)
      if (const auto* x = std::get_if<cost::feed_forward>(&b.what)) CHECK(x->ffn == taken);
  }
  // Gemma 4's inputs of each layer: as many weights for each element of their width.
  const auto weights_at = [](int width) {
    return cost::count_parameters(layers_of(shortened("gemma4_text", 9, {{"hidden_size_per_layer_input", width}})))
        ->total;
  };
  CHECK(weights_at(3) - weights_at(2) == weights_at(2) - weights_at(1));
  CHECK(weights_at(1) - weights_at(0) >= weights_at(2) - weights_at(1));
  // Of DeepSeek-V4 the first three choose experts by a table: without a bias of scores.
  std::string hashed;
  for (const cost::repeated_layer& each : layers_of(shortened("deepseek_v4", 9)).layers)
    for (std::int64_t n = 0; n < each.count; ++n)
      for (const cost::block& b : each.blocks)
        if (const auto* x = std::get_if<cost::mixture>(&b.what)) hashed += x->router_bias ? 's' : 'h';
  CHECK(hashed == "hhhssssss");
}

TEST_CASE("sizes that a class has where its config does not", "[cost][hugging_face]") {
  const std::pair<const char*, std::int64_t> widths[] = {
      {"gemma3_text", 256}, {"gemma3n_text", 256}, {"nemotron_h", 128}, {"lara_mini", 128},
      {"cohere2_moe", 128}, {"qwen3_next", 256},   {"gemma4_text", 256}};
  for (const auto& [name, width] : widths) {
    INFO(name);
    json config = recorded().at(std::string(name) + ", other").at("config");
    config.erase("head_dim");
    bool found = false;
    for (const cost::repeated_layer& each : layers_of(config).layers)
      for (const cost::block& b : each.blocks)
        if (const auto* x = std::get_if<cost::attention>(&b.what); x != nullptr && x->head_dim == width) found = true;
    CHECK(found);
  }
  // A head is as wide as hidden / heads, of Llama's kin; of others what their class says.
  const std::pair<const char*, std::int64_t> uniform[] = {
      {"llama", 64},  {"seed_oss", 128}, {"glm", 128},         {"glm4", 128},        {"qwen3", 128}, {"cwm", 128},
      {"jais2", 128}, {"ernie4_5", 128}, {"iquestcoder", 128}, {"hyperclovax", 128}, {"qwen2", 64}};
  for (const auto& [type, width] : uniform) {
    INFO(type);
    json config{{"model_type", type},       {"hidden_size", 512},       {"num_hidden_layers", 4},
                {"num_attention_heads", 8}, {"num_key_value_heads", 4}, {"intermediate_size", 1024},
                {"vocab_size", 1000},       {"sliding_window", 16}};
    const auto read = hocket::hugging_face::read_config(config);
    if (!read) FAIL(message(read.error()));
    CHECK(read->model.head_dim == width);
    config["head_dim"] = 96;
    CHECK(hocket::hugging_face::read_config(config)->model.head_dim == 96);
    config.erase("num_key_value_heads");
    CHECK(hocket::hugging_face::read_config(config).has_value() == (std::string(type) == "llama"));
  }
  json helium = recorded().at("helium, other").at("config");  // its heads must fill hidden_size
  helium.erase("head_dim");
  CHECK(hocket::hugging_face::read_config(helium)->model.head_dim == 128);
  json gpt_oss{{"model_type", "gpt_oss"},   {"hidden_size", 512},       {"num_hidden_layers", 5},
               {"num_attention_heads", 16}, {"num_key_value_heads", 4}, {"intermediate_size", 256},
               {"num_local_experts", 8},    {"num_experts_per_tok", 2}, {"vocab_size", 1000},
               {"sliding_window", 128}};
  const auto model = hocket::hugging_face::read_config(gpt_oss)->model;
  CHECK(model.head_dim == 64);
  CHECK(model.window_layers == 3);  // 0, 2, 4
  CHECK(model.window == 128);
  CHECK(model.moe_layers == 5);
}

TEST_CASE("windows of uniform families: every layer, every second, all but each fourth or sixth", "[hugging_face]") {
  const auto windowed = [](json config, std::int64_t layers = 14) {
    const json sizes{
        {"hidden_size", 512}, {"num_hidden_layers", layers}, {"num_attention_heads", 8}, {"num_key_value_heads", 4},
        {"head_dim", 64},     {"intermediate_size", 1024},   {"vocab_size", 1000}};
    config.update(sizes);
    const auto read = hocket::hugging_face::read_config(config);
    if (!read) FAIL(message(read.error()));
    return std::pair{read->model.window, read->model.window_layers};
  };
  using found = std::pair<std::int64_t, std::int64_t>;
  CHECK(windowed({{"model_type", "mistral"}}) == found{4096, 14});
  CHECK(windowed({{"model_type", "mistral"}, {"sliding_window", 100}}) == found{100, 14});
  CHECK(windowed({{"model_type", "mistral"}, {"sliding_window", nullptr}}) == found{0, 0});
  CHECK(windowed({{"model_type", "phi3"}}) == found{0, 0});
  CHECK(windowed({{"model_type", "gemma2"}, {"sliding_window", 100}}) == found{100, 7});
  CHECK(windowed({{"model_type", "gemma3_text"}, {"sliding_window", 100}}) == found{100, 12});
  CHECK(windowed({{"model_type", "gemma3_text"}, {"sliding_window", 100}, {"sliding_window_pattern", 5}}) ==
        found{100, 12});
  CHECK(windowed({{"model_type", "cohere2"}, {"sliding_window", 100}}) == found{100, 11});
  CHECK(windowed({{"model_type", "cwm"}, {"sliding_window", 100}}) == found{100, 10});  // 0, 4, 8, 12 see all
  for (std::int64_t layers = 1; layers < 10; ++layers) {                                // by counting
    std::int64_t seeing_all = 0;
    for (std::int64_t at = 0; at < layers; ++at) seeing_all += at % 4 == 0 ? 1 : 0;
    CHECK(windowed({{"model_type", "cwm"}, {"sliding_window", 100}}, layers).second == layers - seeing_all);
  }
  CHECK(windowed({{"model_type", "qwen2"}, {"sliding_window", 100}}).second == 0);
  CHECK(windowed({{"model_type", "qwen2"},
                  {"sliding_window", 100},
                  {"use_sliding_window", true},
                  {"max_window_layers", 10}}) == found{100, 4});
  CHECK(windowed(
            {{"model_type", "qwen2"}, {"sliding_window", 100}, {"use_sliding_window", true}, {"max_window_layers", 14}})
            .second == 0);
}

TEST_CASE("a head of latent attention is as wide as both of its parts", "[hugging_face]") {
  const json config{{"model_type", "deepseek_v3"},
                    {"hidden_size", 512},
                    {"num_hidden_layers", 4},
                    {"num_attention_heads", 8},
                    {"intermediate_size", 1024},
                    {"vocab_size", 1000},
                    {"q_lora_rank", 96},
                    {"kv_lora_rank", 64},
                    {"qk_nope_head_dim", 48},
                    {"qk_rope_head_dim", 16},
                    {"v_head_dim", 40},
                    {"n_routed_experts", 8},
                    {"num_experts_per_tok", 2},
                    {"moe_intermediate_size", 64},
                    {"n_shared_experts", 1},
                    {"first_k_dense_replace", 1}};
  const auto read = hocket::hugging_face::read_config(config);
  if (!read) FAIL(message(read.error()));
  const cost::model& m = read->model;
  CHECK(m.head_dim == 48 + 16);
  CHECK(m.latent);
  CHECK(m.query_rank == 96);
  CHECK(m.kv_rank == 64);
  CHECK(m.nope_dim == 48);
  CHECK(m.rope_dim == 16);
  CHECK(m.value_dim == 40);
  CHECK(m.shared_ffn == 64);
  CHECK(m.moe_layers == 3);
  CHECK(m.router_bias);
  // One layer cannot use the keys of an earlier one.
  const json alone = shortened("gemma3n_text", 1, {{"num_kv_shared_layers", 1}, {"intermediate_size", 64}});
  CHECK(hocket::hugging_face::read_layers(alone).error().word() == "num_kv_shared_layers");
}

TEST_CASE("Kimi K3's mixes read what a count of sums says", "[cost][hugging_face]") {
  for (const std::int64_t period : {1, 2, 3, 12})
    for (const int layers : {5, 12, 13}) {
      const cost::layer_list list = layers_of(shortened("kimi_linear", layers, {{"attn_res_block_size", period}}));
      std::vector<cost::attention_residuals> found, expected;
      for (const cost::repeated_layer& each : list.layers)
        for (std::int64_t n = 0; n < each.count; ++n)
          for (const cost::block& b : each.blocks)
            if (const auto* x = std::get_if<cost::attention_residuals>(&b.what)) found.push_back(*x);
      std::int64_t finished = 0;  // sums; beside them there is the running one, of the embedding at first
      for (int at = 0; at < layers; ++at) {
        expected.push_back({.sources = finished + 1, .count = 1});
        const bool begins = at % period == 0;
        finished += begins ? 1 : 0;
        expected.push_back({.sources = finished + 1, .count = 1, .closes_block = begins});
      }
      CHECK(found == expected);
      REQUIRE(list.back.size() == 1);
      CHECK(list.back[0].what == cost::block_sizes(cost::attention_residuals{.sources = finished + 1, .count = 1}));
    }
}

}  // namespace defaults
}  // namespace
