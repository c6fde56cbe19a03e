// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// config.json files as published, and what is said about those that are wrong.
#include <hocket/core/message.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/interop/hugging_face.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using hocket::hugging_face::parse_config;
using hocket::hugging_face::read_config;
using nlohmann::json;

namespace {

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/configs/" + name + ".json");
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string refusal(const json& config) {
  const auto r = read_config(config);
  return r ? "accepted" : message(r.error());
}

}  // namespace

TEST_CASE("configs as published give the published parameter counts", "[hugging_face]") {
  struct {
    const char* name;
    long long total;
    std::size_t assumed;  // fields that the file leaves to the architecture's documented default
  } const published[] = {
      {"llama-2-7b", 6738415616, 2},         {"llama-2-13b", 13015864320, 2},    {"llama-2-70b", 68976648192, 2},
      {"llama-3-8b", 8030261248, 1},         {"mistral-7b-v0.1", 7241732096, 0}, {"gpt2", 124439808, 1},
      {"mixtral-8x7b-v0.1", 46702792704, 0}, {"qwen2-7b", 7615616512, 0},
  };
  for (const auto& p : published) {
    INFO(p.name);
    const auto r = parse_config(text_of(p.name));
    REQUIRE(r);
    CHECK(hocket::cost::count_parameters(r->model).value().total == p.total);
    CHECK(r->assumed.size() == p.assumed);
  }
  CHECK(parse_config(text_of("gpt2"))->assumed.front() == "tie_word_embeddings = true");
}

TEST_CASE("a wrong config gets a sentence that names the field", "[hugging_face]") {
  const json good = json::parse(text_of("llama-2-7b"));
  REQUIRE(read_config(good));
  // Every size that the architecture needs, taken away in turn.
  for (const char* field :
       {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size", "model_type"}) {
    json c = good;
    c.erase(field);
    CHECK(refusal(c) == "the config has no field \"" + std::string(field) + "\"");
  }
  json c = good;
  c["model_type"] = "perceiver";
  CHECK(refusal(c) == "unknown architecture \"perceiver\"");
  c = good;
  c["num_key_value_heads"] = 64;
  CHECK(refusal(c) == "the config contradicts itself: \"num_key_value_heads\" is 64, but the other fields imply 32");
  c = good;
  c["num_key_value_heads"] = 5;
  CHECK(refusal(c) == "num_attention_heads: 32 is not divisible by 5");
  c = good;
  c["num_attention_heads"] = 30;
  CHECK(refusal(c).find("hidden_size / heads: 4096 is not divisible by 30") == 0);
  c = good;
  c["num_hidden_layers"] = 0;
  CHECK(refusal(c) == "num_hidden_layers is 0, but must lie in [1, 2147483647]");
  c = good;
  c["num_hidden_layers"] = 9223372036854775807u;
  CHECK(refusal(c) == "num_hidden_layers is 9223372036854775807, but must lie in [1, 2147483647]");
  c["num_hidden_layers"] = 1048576;
  CHECK(refusal(c) == "accepted");
  c["num_hidden_layers"] = 1048577;
  CHECK(refusal(c) == "num_hidden_layers is 1048577, but must lie in [1, 1048576]");
  c["num_hidden_layers"] = 9223372036854775808u;  // no sign to spare: no number that an error could quote
  CHECK(read_config(c).error().code == hocket::errc::invalid_argument);
  c = good;
  c["hidden_size"] = "4096";
  CHECK(refusal(c).find("hidden_size") == 0);
  c = good;
  c["hidden_size"] = 4096.5;
  CHECK(refusal(c).find("hidden_size") == 0);
  CHECK(refusal(json::array()) != "accepted");
  CHECK(!parse_config("{\"model_type\": "));

  json gpt2 = json::parse(text_of("gpt2"));
  gpt2["n_ctx"] = 2048;
  CHECK(refusal(gpt2) == "the config contradicts itself: \"n_ctx\" is 2048, but the other fields imply 1024");
  json mixtral = json::parse(text_of("mixtral-8x7b-v0.1"));
  mixtral["num_experts_per_tok"] = 9;
  CHECK(refusal(mixtral) ==
        "the config contradicts itself: \"num_experts_per_tok\" is 9, but the other fields imply 8");
}

TEST_CASE("documented defaults are reported, not hidden", "[hugging_face]") {
  json c = json::parse(text_of("llama-2-7b"));
  c.erase("num_key_value_heads");
  c.erase("tie_word_embeddings");
  const auto r = read_config(c);
  REQUIRE(r);
  CHECK(r->assumed == std::vector<std::string>{"num_key_value_heads = 32", "tie_word_embeddings = false",
                                               "attention_bias = false", "mlp_bias = false"});
  json mistral = json::parse(text_of("mistral-7b-v0.1"));
  mistral.erase("sliding_window");
  REQUIRE(read_config(mistral));
  CHECK(read_config(mistral)->model.window == 4096);
  CHECK(read_config(mistral)->assumed == std::vector<std::string>{"sliding_window = 4096"});
  mistral["sliding_window"] = nullptr;
  CHECK(read_config(mistral)->model.window == 0);
  CHECK(read_config(mistral)->assumed.empty());
}

TEST_CASE("what decides the size of a model is never filled in", "[hugging_face]") {
  for (const char* name : {"mistral-7b-v0.1", "mixtral-8x7b-v0.1", "qwen2-7b"}) {
    json c = json::parse(text_of(name));
    c.erase("num_key_value_heads");
    CHECK(refusal(c) == "the config has no field \"num_key_value_heads\"");
    c["num_key_value_heads"] = nullptr;  // which its class reads as one per head
    CHECK(read_config(c)->model.kv_heads == read_config(c)->model.heads);
  }
  json deepseek{{"model_type", "deepseek_v3"}, {"hidden_size", 64},
                {"num_hidden_layers", 4},      {"num_attention_heads", 4},
                {"vocab_size", 128},           {"q_lora_rank", 32},
                {"kv_lora_rank", 16},          {"qk_nope_head_dim", 8},
                {"qk_rope_head_dim", 4},       {"v_head_dim", 8},
                {"intermediate_size", 96},     {"n_routed_experts", 8},
                {"num_experts_per_tok", 2},    {"n_shared_experts", 1},
                {"moe_intermediate_size", 32}, {"first_k_dense_replace", 1}};
  REQUIRE(read_config(deepseek));
  for (const char* field : {"q_lora_rank", "n_shared_experts", "first_k_dense_replace"}) {
    json c = deepseek;
    c.erase(field);
    CHECK(refusal(c) == "the config has no field \"" + std::string(field) + "\"");
    c[field] = nullptr;
    CHECK(read_config(c));
  }
}

TEST_CASE("GLM-4.5-Air: the page's total is the model and its module for multi-token prediction", "[hugging_face]") {
  json c = json::parse(R"({"model_type": "glm4_moe", "architectures": ["Glm4MoeForCausalLM"], "hidden_size": 4096,
    "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
    "intermediate_size": 10944, "vocab_size": 151552, "attention_bias": true, "use_qk_norm": false,
    "tie_word_embeddings": false, "n_routed_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 1408,
    "n_shared_experts": 1, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1})");
  hocket::cost::model m = read_config(c).value().model;
  CHECK(hocket::cost::count_parameters(m).value().total == 106852251264);
  m.mtp_layers = 1;  // published with an embedding and a head of its own
  CHECK(hocket::cost::count_parameters(m).value().total + 2LL * 151552 * 4096 == 110468824832);
  c["use_qk_norm"] = true;  // GLM-4.5
  CHECK(read_config(c).value().model.qk_norm);
}

TEST_CASE("a head's width that is left out is the class's own default, not hidden over heads", "[hugging_face]") {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/families.json");
  REQUIRE(file);
  const json families = json::parse(file);
  for (const auto& [name, width] :
       {std::pair{"gpt-oss-20b", 64}, {"ernie4_5-0.3b", 128}, {"seed-oss", 128}, {"glm-4-9b-0414", 128}}) {
    json c = families.at(name).at("config");
    REQUIRE(c.at("head_dim") == width);
    c.erase("head_dim");
    const auto r = read_config(c);
    REQUIRE(r);
    CHECK(r->model.head_dim == width);
    CHECK(r->assumed == std::vector<std::string>{"head_dim = " + std::to_string(width)});
  }
  json qwen3 = families.at("ernie4_5-0.3b").at("config");
  qwen3["model_type"] = "qwen3";
  qwen3["architectures"] = {"Qwen3ForCausalLM"};
  qwen3.erase("head_dim");
  CHECK(read_config(qwen3)->model.head_dim == 128);
}

TEST_CASE("layers named twice as dense are dense once", "[hugging_face]") {
  json config{{"model_type", "qwen3_moe"},
              {"hidden_size", 64},
              {"num_hidden_layers", 4},
              {"num_attention_heads", 4},
              {"num_key_value_heads", 4},
              {"vocab_size", 100},
              {"head_dim", 16},
              {"attention_bias", false},
              {"tie_word_embeddings", false},
              {"num_experts", 8},
              {"num_experts_per_tok", 2},
              {"moe_intermediate_size", 32},
              {"intermediate_size", 128},
              {"decoder_sparse_step", 1}};
  for (const auto& [dense, mixtures] : {std::pair{"[]", 4}, {"[3]", 3}, {"[3, 0, 3, 3, 3, 3]", 2}}) {
    config["mlp_only_layers"] = json::parse(dense);
    const auto r = read_config(config);
    REQUIRE(r);
    CHECK(r->model.moe_layers == mixtures);
  }
  // Of those that are no mixtures anyhow, none is taken away twice.
  config["decoder_sparse_step"] = 2;
  for (const auto& [dense, mixtures] : {std::pair{"[]", 2}, {"[1]", 1}, {"[0, 2]", 2}, {"[0, 3]", 1}, {"[1, 3]", 0}}) {
    config["mlp_only_layers"] = json::parse(dense);
    CHECK(read_config(config)->model.moe_layers == mixtures);
    CHECK(hocket::hugging_face::read_model(config)->moe_layers == mixtures);
  }
  config["decoder_sparse_step"] = 1;
  config["mlp_only_layers"] = std::vector<int>{1, 2};  // signed numbers of a config made in C++
  CHECK(read_config(config)->model.moe_layers == 2);
  json narrow = config;
  narrow.erase("head_dim");
  CHECK(read_config(narrow)->model.head_dim == 128);
  for (const char* wrong : {"[4]", "[-1]", "[0.5]", "[18446744073709551615]", "3"}) {
    config["mlp_only_layers"] = json::parse(wrong);
    CHECK(refusal(config).find("mlp_only_layers") != std::string::npos);
    CHECK(hocket::hugging_face::read_model(config).error() == read_config(config).error());
  }
}

TEST_CASE("a class of another architecture than model_type is noticed", "[hugging_face]") {
  const json good = json::parse(text_of("llama-2-7b"));
  json c = good;
  for (const char* own : {"LlamaForCausalLM", "LLaMAForCausalLM", "LlamaModel"}) {
    c["architectures"] = {own};
    CHECK(refusal(c) == "accepted");
  }
  c["architectures"] = {"LlamaForSequenceClassification"};
  CHECK(read_config(c)->assumed.back() ==
        "lm_head = vocab_size rows, though the class is none for causal language models");
  c.erase("architectures");
  CHECK(refusal(c) == "accepted");
  for (const json& other :
       {json{"MistralForCausalLM"}, json{"LlamaForCausalLM", "Qwen2ForCausalLM"}, json{7}, json(7)}) {
    c["architectures"] = other;
    CHECK(refusal(c) == "the config's field \"architectures\" has a value that its model_type does not allow");
  }
  // Published so, under other names.
  c = json::parse(text_of("gpt2"));
  CHECK(c.at("architectures") == json{"GPT2LMHeadModel"});
  CHECK(refusal(c) == "accepted");
  c["add_cross_attention"] = true;  // has weights that nothing here counts
  CHECK(refusal(c).find("add_cross_attention") != std::string::npos);
  c["model_type"] = 7;
  CHECK(refusal(c) == "unknown architecture \"7\"");
}

TEST_CASE("weights that a reader does not count are refused, windows of newer configs are read", "[hugging_face]") {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/families.json");
  REQUIRE(file);
  const json families = json::parse(file);
  const auto of = [&](const char* name) { return families.at(name).at("config"); };
  json c = of("phi-2");
  c["qk_layernorm"] = true;
  CHECK(refusal(c) == "the config contradicts itself: \"qk_layernorm\" is 1, but the other fields imply 0");
  c = of("mpt-7b");
  c["no_bias"] = false;
  CHECK(refusal(c) == "the config contradicts itself: \"no_bias\" is 0, but the other fields imply 1");
  c["no_bias"] = true;
  c["attn_config"]["alibi"] = false;
  CHECK(refusal(c).find("alibi") != std::string::npos);
  c["attn_config"] = {{"attn_type", "multiquery_attention"}};
  CHECK(refusal(c).find("attn_type") != std::string::npos);
  c.erase("attn_config");
  CHECK(refusal(c) == "the config has no field \"attn_config\"");
  c = json::parse(text_of("qwen2-7b"));
  c["use_sliding_window"] = true;
  c["sliding_window"] = 64;
  c["max_window_layers"] = 20;
  CHECK(read_config(c)->model.window_layers == 8);
  c["layer_types"] = std::vector<std::string>(28, "sliding_attention");
  CHECK(read_config(c)->model.window_layers == 28);
  c["layer_types"].erase(0);
  CHECK(refusal(c).find("layer_types") == 0);
  json qwen3 = of("smollm3");
  qwen3["model_type"] = "qwen3";
  qwen3["architectures"] = {"Qwen3ForCausalLM"};
  qwen3["use_sliding_window"] = true;
  qwen3["sliding_window"] = 64;
  qwen3["max_window_layers"] = 30;
  CHECK(read_config(qwen3)->model.window_layers == 6);
  CHECK(read_config(of("gemma-3-1b"))->model.window_layers == 22);  // 26 layers, each sixth of them without
  CHECK(read_config(of("gpt-neo-1.3b"))->model.window_layers == 12);
}
