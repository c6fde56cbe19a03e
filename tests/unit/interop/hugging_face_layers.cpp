// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Families whose layers differ: config.json -> list of layers -> parameters, against transformers.
#include <hocket/core/message.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/interop/hugging_face_layers.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "catch.hpp"

namespace cost = hocket::cost;
using nlohmann::json;

namespace {
const json& recorded() {
  static const json all = [] {
    std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/layer_families.json");
    return json::parse(file);
  }();
  return all;
}
std::int64_t total_of(const json& config) {
  const auto read = hocket::hugging_face::read_layers(config);
  if (!read) return -1;
  return cost::count_parameters(read->layers)->total;
}
bool is_empty(const cost::block& b) {
  if (const auto* x = std::get_if<cost::table>(&b.what)) return x->elements * x->count == 0;
  if (const auto* x = std::get_if<cost::feed_forward>(&b.what)) return x->ffn == 0;
  if (const auto* x = std::get_if<cost::per_layer_input>(&b.what)) return x->inner == 0;
  if (const auto* x = std::get_if<cost::norms>(&b.what)) return x->count == 0;
  return false;
}
}  // namespace

TEST_CASE("the text of a config is read like its JSON, or refused as none", "[hugging_face]") {
  const std::string text =
      R"({"model_type": "exaone4", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 100,
          "num_key_value_heads": 2, "intermediate_size": 128, "sliding_window": 8, "sliding_window_pattern": 4})";
  const auto read = hocket::hugging_face::parse_layers(text);
  REQUIRE(read.has_value());
  CHECK(read->layers == hocket::hugging_face::read_layers(nlohmann::json::parse(text)).value().layers);
  const auto refusal = [](std::string_view t) { return message(hocket::hugging_face::parse_layers(t).error()); };
  CHECK(refusal("{\"model_type\": ") == "line 1, column 1: \"config.json\" is not understood");
  CHECK(refusal("[]").size() > 8);
}

TEST_CASE("every family of the table has the parameters that transformers counts", "[cost][hugging_face]") {
  std::set<std::string> seen;
  for (const auto& [name, model] : recorded().items()) {
    INFO(name);
    const auto read = hocket::hugging_face::read_layers(model.at("config"));
    if (!read) FAIL(message(read.error()));
    const auto count = cost::count_parameters(read->layers);
    REQUIRE(count);
    CHECK(count->total == model.at("total").get<std::int64_t>());
    CHECK(count->active <= count->total);
    CHECK(cost::count_flops(read->layers, {.sequence = 4096}, {}, {}));
    for (const cost::repeated_layer& each : read->layers.layers)
      for (const cost::block& b : each.blocks) CHECK_FALSE(is_empty(b));
    seen.insert(read->architecture);
  }
  for (const auto& family : hocket::hugging_face::detail::families) {
    INFO(family.type);
    CHECK(seen.count(std::string(family.type)) == 1);
  }
}

TEST_CASE("encoders have the parameters that transformers counts", "[cost][hugging_face]") {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/encoders.json");
  const json all = json::parse(file);
  std::set<std::string> seen;
  for (const auto& [name, part] : all.items()) {
    INFO(name);
    json config = {{"model_type", "some_pair"}, {"text_config", recorded().at("apertus, other").at("config")}};
    const auto alone = hocket::hugging_face::read_layers(config);
    REQUIRE(alone);
    CHECK(alone->encoders.empty());
    const std::string field =
        name.find("audio") != name.npos || name.find("voxtral") != name.npos ? "audio_config" : "vision_config";
    config[field] = part.at("config");
    const auto read = hocket::hugging_face::read_layers(config);
    REQUIRE(read);
    for (const auto& each : read->assumed) INFO(each);
    REQUIRE(read->encoders.size() == 1);
    const auto& encoder = read->encoders.front();
    CHECK(encoder.name == field);
    CHECK(cost::count_parameters(encoder.layers).value().total == part.at("total").get<std::int64_t>());
    CHECK(read->layers == alone->layers);
    // Its layers do for cost::encoder, too.
    CHECK(cost::count_flops(encoder.layers, {.sequence = 4}, {}, {}));
    seen.insert(encoder.architecture);
    // A size that is missing is said; the language model is read all the same.
    config[field].erase(part.at("config").contains("hidden_size") ? "hidden_size" : "d_model");
    if (encoder.architecture != "inkling_audio" && encoder.architecture != "qwen2_vl_vision") {
      const auto short_of = hocket::hugging_face::read_layers(config);
      REQUIRE(short_of);
      CHECK(short_of->encoders.empty());
      CHECK(short_of->assumed.back().starts_with(field + " is not counted: "));
    }
  }
  for (const auto& family : hocket::hugging_face::detail::encoder_families) {
    INFO(family.type);
    CHECK(seen.count(std::string(family.type)) == 1);
  }
  json unknown = {{"model_type", "some_pair"},
                  {"text_config", recorded().at("apertus, other").at("config")},
                  {"vision_config", {{"model_type", "strange"}}}};
  CHECK(hocket::hugging_face::read_layers(unknown).value().assumed.back() ==
        "vision_config is not counted: unknown model_type \"strange\"");
}

TEST_CASE("biases of routers are those that correct its scores", "[cost][hugging_face]") {
  const auto of = [](const char* name) {
    return cost::router_biases(hocket::hugging_face::read_layers(recorded().at(name).at("config")).value().layers);
  };
  // Buffers of the classes of transformers: experts in each mixture, of Zaya one choice more.
  CHECK(of("zaya, other") == 45);
  CHECK(of("inkling_text, other") == 80);
  CHECK(of("inkling2_loop_text, other") == 128);  // passes after the first have the same
  CHECK(of("qwen4_exp_text, other") == 0);
  CHECK(of("dots3_note_text, default") == 11520);
}

TEST_CASE("dots3.note says its windowed layers' sizes by layer or with a prefix", "[hugging_face]") {
  json config = recorded().at("dots3_note_text, other").at("config");
  const auto by_layer = hocket::hugging_face::read_layers(config);
  REQUIRE(by_layer);
  config.erase("per_layer_config");
  config["swa_num_attention_heads"] = config["swa_num_key_value_heads"] = 16;
  config["swa_kv_lora_rank"] = 100;
  const auto prefixed = hocket::hugging_face::read_layers(config);
  REQUIRE(prefixed);
  CHECK(prefixed->layers == by_layer->layers);
  config["swa_kv_lora_rank"] = 101;
  CHECK_FALSE(hocket::hugging_face::read_layers(config)->layers == by_layer->layers);
  // In the published form full_attention means chosen positions, unless use_dsa is false.
  for (auto& each : config["layer_types"])
    if (each == "indexed_attention") each = "full_attention";
  config["swa_kv_lora_rank"] = 100;
  CHECK(hocket::hugging_face::read_layers(config)->layers == by_layer->layers);
  config["use_dsa"] = false;
  CHECK_FALSE(hocket::hugging_face::read_layers(config)->layers == by_layer->layers);
}

TEST_CASE("Qwen4 with more tables of n-grams than can be looked up is refused", "[hugging_face]") {
  json config = recorded().at("qwen4_exp_text, other").at("config");
  config["heads_per_ngram"] = 1000;
  CHECK(message(hocket::hugging_face::read_layers(config).error()).find("heads_per_ngram") != std::string::npos);
}

namespace {
/// FLOPs of a forward pass over one sequence of so many tokens, all attention pairs.
cost::rational forward_of(const cost::layer_list& list, std::int64_t tokens, bool reduction) {
  const cost::training t{.sequence = tokens};
  const cost::convention counted{.attention = cost::attention_count::full, .index_reduction = reduction};
  cost::rational sum = 0;
  const auto add = [&](const cost::term_view& x) { sum = sum + x.amount(); };
  const auto add_blocks = [&](const cost::layer_blocks& blocks, std::int64_t layers) {
    for (const cost::block& b : blocks)
      cost::visit_block(b, {.on_rank = {.layers = layers}, .sizes = list.sizes, .training = t, .counted = counted},
                        [&](const cost::block_terms& terms, const cost::numbers_view& numbers) {
                          cost::for_each_term(terms.forward, numbers, add);
                          cost::for_each_term(terms.whole_step, numbers, add);
                        });
  };
  add_blocks(list.front, 1);
  add_blocks(list.back, 1);
  for (const cost::repeated_layer& run : list.layers) add_blocks(run.blocks, run.count);
  const auto ends = cost::detail::setting_of_ends(list, cost::part{}, t, {}, counted);
  cost::for_each_term(cost::end_flop_terms, cost::numbers_of(ends), add);
  return sum;
}
/// What transformers' classes compute on 64 tokens beyond what a model needs, or do without a product. Convolutions pad
/// on both sides and drop taps - 1 positions of each channel.
std::int64_t difference_of(const std::string& name) {
  // Streams that DeepSeek-V4 mixes in and out are element-wise products there: 6 layers, 2 mixes, 2 streams of 128.
  if (name == "deepseek_v4, small") return -6 * 2 * 64 * 2 * (2 * 2 * 128);
  // Zaya: one position of a convolution of 256 channels, the values of a token before the first, and all tokens at
  // experts, where an even spread leaves one of nine choices without.
  if (name == "zaya, small") return 6 * (2 * 2 * 256 + 2 * 128 * 64 + 64 * 2 * 3 * 48 * 128 / 9);
  // Inkling: layers of 2 x 128 channels, and 2 x 32 of keys and values, 2 x 128 where a layer sees all.
  if (name == "inkling_text, small") return 2 * 4 * 3 * (6 * 256 + 5 * 64 + 256);
  if (name == "inkling2_text, small") return 2 * 4 * 3 * (6 * 256 + 5 * 64);
  if (name == "inkling2_loop_text, small") return 2 * 4 * 3 * (10 * 256 + 9 * 64);
  // Qwen4: whole blocks of 4 before each of 64 positions are 496; all pairs would be 64 x 16.
  if (name == "qwen4_exp_text, small") return -6 * 2 * (2 * 32) * (64 * 16 - 496);
  return 0;
}
}  // namespace

// torch.utils.flop_counter on small models, all attention pairs: see tests/data/cost/README.md.
TEST_CASE("a forward pass has the FLOPs that PyTorch counts", "[cost][hugging_face]") {
  int compared = 0;
  for (const auto& [name, model] : recorded().items()) {
    if (!model.contains("forward")) continue;
    INFO(name);
    const auto read = hocket::hugging_face::read_layers(model.at("config"));
    REQUIRE(read);
    // DeepSeek-V4's indexer adds heads up element by element, that of V3.2 by a product.
    const auto ours = forward_of(read->layers, 64, name != "deepseek_v4, small");
    CHECK(ours == cost::rational(model.at("forward").get<std::int64_t>() - difference_of(name)));
    ++compared;
  }
  CHECK(compared >= 60);
}

// Where fewer positions are chosen than there are, transformers' classes compute all pairs and mask them; the kernels
// of sparse attention, and we, compute those chosen. Per token and layer of the small model: 4 heads, 80 wide.
TEST_CASE("sparse attention has the FLOPs of the positions chosen", "[cost][hugging_face]") {
  for (const char* name : {"deepseek_v32, small", "glm_moe_dsa, small", "hy_v4, small", "axk2, small"}) {
    INFO(name);
    const auto& model = recorded().at(name);
    json config = model.at("config");
    config["index_topk"] = 16;
    const auto read = hocket::hugging_face::read_layers(config);
    REQUIRE(read);
    const std::int64_t per_token = 2 * 4 * 80 * (64 - 16) * 6;
    CHECK(per_token == 184320);
    CHECK(forward_of(read->layers, 64, true) ==
          cost::rational(model.at("forward").get<std::int64_t>() - 64 * per_token));
  }
}

// transformers 5.24 in bfloat16: cache.layers[0].recurrent_states is float32, conv_states bfloat16.
TEST_CASE("states of Mamba have 32 bits", "[cost][hugging_face]") {
  const auto state_of = [](const cost::block& b, std::int64_t bytes) {
    cost::rational sum = 0;
    const cost::block_setting one{.sizes = {.hidden = 128}, .training = {.sequence = 64, .activation_bytes = bytes}};
    cost::visit_block(b, one, [&](const cost::block_terms& lists, const cost::numbers_view& numbers) {
      cost::for_each_term(lists.state, numbers, [&](const cost::term_view& x) { sum = sum + x.amount(); });
    });
    return sum;
  };
  CHECK(state_of(cost::mamba2{.heads = 8, .head_dim = 32, .state = 16}, 2) == 4 * 8 * 32 * 16 + 2 * 288 * 4);
  CHECK(state_of(cost::mamba2{.heads = 8, .head_dim = 32, .state = 16}, 4) == 4 * 8 * 32 * 16 + 4 * 288 * 4);
  CHECK(state_of(cost::mamba{.inner = 256, .state = 16}, 2) == 4 * 256 * 16 + 2 * 256 * 4);
}

TEST_CASE("LongCat's zero experts have no weights", "[cost][hugging_face]") {
  // transformers 5.24 makes room for their first product: 28 x 256 x 2 x 2048 x 6144 elements that no checkpoint has.
  json config = recorded().at("longcat_flash, other").at("config");
  const std::int64_t without = total_of(config);
  config["zero_expert_num"] = 8;
  CHECK(total_of(config) - without ==
        config.at("num_layers").get<std::int64_t>() * 8 * (1024 + 1));  // rows of the router
}

// AutoModelForCausalLM.from_config(AutoConfig.for_model(type)).config.architectures in transformers 5.24, once saved.
TEST_CASE("a type without a class of its own names the class of another", "[hugging_face]") {
  const std::pair<const char*, const char*> saved[] = {{"exaone", "LlamaForCausalLM"},
                                                       {"internlm3", "LlamaForCausalLM"},
                                                       {"iquestcoder", "LlamaForCausalLM"},
                                                       {"sarvam_mla", "DeepseekV3ForCausalLM"},
                                                       {"sarvam_moe", "Glm4MoeForCausalLM"}};
  for (const auto& [type, name] : saved) {
    INFO(type);
    json config = recorded().at(std::string(type) + ", other").at("config");
    const std::int64_t total = total_of(config);
    config["architectures"] = json::array({name});
    CHECK(total > 0);
    CHECK(total_of(config) == total);
    config["architectures"] = json::array({"GPT2LMHeadModel"});
    CHECK(total_of(config) == -1);
  }
}

TEST_CASE("sizes that the class cannot run with are refused", "[hugging_face]") {
  const auto why = [](const char* name, const char* field, std::int64_t value) {
    json config = recorded().at(name).at("config");
    config[field] = value;
    const auto read = hocket::hugging_face::read_layers(config);
    return read ? std::string("read") : message(read.error());
  };
  CHECK(why("helium, other", "head_dim", 128) == "read");
  CHECK(why("helium, other", "head_dim", 256) ==
        "the config contradicts itself: \"head_dim\" is 256, but the other fields imply 128");
  CHECK(why("zamba2, other", "attention_hidden_size", 4096) ==
        "the config contradicts itself: \"attention_hidden_size\" is 4096, but the other fields imply 2048");
  CHECK(why("longcat_flash, other", "qk_head_dim", 384) ==
        "the config contradicts itself: \"qk_head_dim\" is 384, but the other fields imply 192");
  CHECK(why("apertus1p5_text, other", "output_vocab_size", 64).find("output_vocab_size") != std::string::npos);
}

TEST_CASE("a tie that the class does not have is noted", "[hugging_face]") {
  for (const char* name : {"nemotron_h", "kimi_linear", "bailing_hybrid"}) {
    const auto read =
        hocket::hugging_face::read_layers(recorded().at(std::string(name) + ", tie_word_embeddings").at("config"));
    REQUIRE(read);
    const auto is_note = [](const std::string& each) { return each.starts_with("tie_word_embeddings = false: "); };
    CHECK(std::any_of(read->assumed.begin(), read->assumed.end(), is_note));
  }
}

TEST_CASE("DeepSeek-V3 is the same list as a row of equal layers", "[hugging_face]") {
  const json& config = recorded().at("deepseek_v3, other").at("config");
  const auto equal = hocket::hugging_face::read_config(config);
  REQUIRE(equal);
  CHECK(hocket::hugging_face::read_layers(config)->layers == cost::to_layers(equal->model));
}

TEST_CASE("layers that run again have weights once and work each time", "[cost][hugging_face]") {
  const auto flops_of = [](const json& config) {
    return cost::count_flops(hocket::hugging_face::read_layers(config)->layers, {.sequence = 64}, {}, {})->model_step;
  };
  json dory = recorded().at("dory, other").at("config");
  const std::int64_t total = total_of(dory);
  const auto three = flops_of(dory);
  dory["n_recurrent_loops"] = 2;
  const auto two = flops_of(dory);
  dory["n_recurrent_loops"] = 1;
  CHECK(total_of(dory) == total);
  CHECK(three - two == two - flops_of(dory));
  CHECK_FALSE(three == two);
  dory["n_recurrent_loops"] = 1000000;
  const auto refused = hocket::hugging_face::read_layers(dory);
  REQUIRE_FALSE(refused);
  CHECK(message(refused.error()).find("passes through 7 layers") != std::string::npos);
  json hrm = recorded().at("hrm_text, other").at("config");
  hrm["L_cycles"] = 3;  // the saved number of passes is that of two
  CHECK(total_of(hrm) == -1);
}

TEST_CASE("Laguna's heads may differ from layer to layer", "[hugging_face]") {
  json config = recorded().at("laguna, other").at("config");
  const std::int64_t total = total_of(config), layers = config.at("num_hidden_layers");
  std::vector<std::int64_t> heads(static_cast<std::size_t>(layers), config.at("num_attention_heads"));
  config["num_attention_heads_per_layer"] = heads;
  CHECK(total_of(config) == total);
  config["num_attention_heads_per_layer"][2] = heads[2] + 8;
  // Queries and outputs of 8 heads more, and their gates.
  const std::int64_t more =
      8 * config.at("hidden_size").get<std::int64_t>() * (2 * config.at("head_dim").get<std::int64_t>() + 1);
  CHECK(total_of(config) == total + more);
  config["num_attention_heads_per_layer"][2] = heads[2] + 1;
  CHECK(total_of(config) == -1);
}

TEST_CASE("projectors have the parameters that transformers counts", "[cost][hugging_face]") {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/projectors.json");
  const json all = json::parse(file);
  std::set<std::string> seen;
  for (const auto& [name, part] : all.items()) {
    INFO(name);
    json config = part.at("config");
    json text = recorded().at("apertus, other").at("config");
    text["hidden_size"] = config.at("text_config").at("hidden_size");
    config["text_config"] = text;
    const auto read = hocket::hugging_face::read_layers(config);
    REQUIRE(read);
    for (const auto& each : read->assumed) UNSCOPED_INFO(each);
    REQUIRE(read->encoders.size() == 2);
    CHECK(read->encoders.back().name == "projector");
    CHECK(read->encoders.back().architecture == config.at("model_type").get<std::string>());
    CHECK(cost::count_parameters(read->encoders.back().layers).value().total == part.at("total").get<std::int64_t>());
    seen.insert(read->encoders.back().architecture);
  }
  for (const auto& family : hocket::hugging_face::detail::projector_families) {
    INFO(family.type);
    CHECK(seen.count(std::string(family.type)) == (family.read != nullptr ? 1 : 0));
  }
  json config = all.at("internvl, 0").at("config");
  config["text_config"] = recorded().at("apertus, other").at("config");
  config["downsample_ratio"] = 1e-9;
  const auto no_side = hocket::hugging_face::read_layers(config);
  CHECK(no_side->encoders.size() == 1);
  CHECK(no_side->assumed.back().starts_with("the projector is not counted: "));
  config["model_type"] = "some_pair";
  const auto unknown = hocket::hugging_face::read_layers(config);
  CHECK(unknown->encoders.size() == 1);
  CHECK(unknown->assumed.back() == "the projector is not counted: unknown model_type \"some_pair\"");
  config["vision_config"]["patch_size"] = 2'000'000'000;
  config["vision_config"]["image_size"] = 2'000'000'000;
  const auto wide = hocket::hugging_face::read_layers(config);
  CHECK(wide->encoders.empty());
  CHECK(wide->assumed.back().find("patch_size") != std::string::npos);
}

TEST_CASE("the language model of a multimodal config is read", "[cost][hugging_face]") {
  const json text = recorded().at("qwen3_5_moe_text, other").at("config");
  const json config{{"model_type", "qwen3_5_moe"},
                    {"text_config", text},
                    {"vision_config", {{"model_type", "qwen3_5_moe_vision"}, {"hidden_size", 1152}}}};
  const auto read = hocket::hugging_face::read_layers(config);
  REQUIRE(read);
  CHECK(read->architecture == "qwen3_5_moe_text");
  CHECK(cost::count_parameters(read->layers)->total == total_of(text));
  CHECK(std::any_of(read->assumed.begin(), read->assumed.end(), [](const std::string& each) {
    return each == "text_config is the model: encoders and projectors are counted apart";
  }));
  CHECK(read->encoders.empty());  // its patches are not given
  CHECK(read->assumed.back().starts_with("vision_config is not counted: "));
}

// moonshotai/Kimi-K3, config.json of revision f831ab66: the fields that decide sizes.
TEST_CASE("Kimi K3 fills its checkpoint", "[cost][hugging_face]") {
  json text = json::parse(R"({
    "model_type": "kimi_linear", "architectures": ["KimiLinearForCausalLM"], "attn_res_block_size": 12,
    "first_k_dense_replace": 1, "hidden_size": 7168, "intermediate_size": 33792, "kv_lora_rank": 512,
    "latent_moe_use_norm": true, "mla_use_output_gate": true, "moe_intermediate_size": 3072, "moe_layer_freq": 1,
    "num_attention_heads": 96, "num_experts": 896, "num_experts_per_token": 16, "num_hidden_layers": 93,
    "num_key_value_heads": 96, "num_nextn_predict_layers": 0, "num_shared_experts": 2, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "routed_expert_hidden_size": 3584, "tie_word_embeddings": false,
    "v_head_dim": 128, "vocab_size": 163840,
    "linear_attn_config": {"head_dim": 128, "num_heads": 96, "short_conv_kernel_size": 4, "use_full_rank_gate": true}})");
  for (int at = 4; at <= 92; at += 4) text["linear_attn_config"]["full_attn_layers"].push_back(at);
  text["linear_attn_config"]["full_attn_layers"].push_back(93);
  const auto read = hocket::hugging_face::read_layers({{"model_type", "kimi_k3"}, {"text_config", text}});
  if (!read) FAIL(message(read.error()));
  const auto count = cost::count_parameters(read->layers);
  REQUIRE(count);
  // "2.8 trillion, 104 billion active": a token looks its embedding up.
  const double active = static_cast<double>(count->active - 163840LL * 7168);
  CHECK(std::abs(static_cast<double>(count->total) - 2.8e12) < 0.05e12);
  CHECK(std::abs(active - 104e9) < 0.5e9);
  // Experts in MXFP4, all else in 16 bits: the checkpoint's index says 1,560,860,324,864 bytes, of which the encoder of
  // images, its projector and some tensors in 32 bits are about 0.9 GB.
  const std::int64_t experts = 92LL * 896 * 3 * 3584 * 3072;
  const std::int64_t rest = 1560860324864 - (experts / 32 * 17 + 2 * (count->total - experts));
  CHECK(rest > 800'000'000);
  CHECK(rest < 1'000'000'000);
  CHECK(cost::streams_behind(read->layers.sizes, read->layers.layers.back().blocks) == 9);  // 8 blocks and a sum
  CHECK(cost::count_flops(read->layers, {.sequence = 4096}, {}, {}));
}

TEST_CASE("published forms of a field are read like the saved ones", "[cost][hugging_face]") {
  json saved = recorded().at("kimi_linear, other").at("config"), published = saved;
  json full = json::array();
  for (std::size_t at = 0; at < saved.at("layer_types").size(); ++at)
    if (saved.at("layer_types")[at] == "full_attention") full.push_back(at + 1);
  published["linear_attn_config"] = {{"num_heads", saved.at("linear_num_heads")},
                                     {"head_dim", saved.at("linear_head_dim")},
                                     {"short_conv_kernel_size", saved.at("linear_conv_kernel_dim")},
                                     {"full_attn_layers", full}};
  for (const char* name :
       {"linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim", "layer_types", "mlp_layer_types"})
    published.erase(name);
  published["first_k_dense_replace"] = 1;
  CHECK(total_of(published) == total_of(saved));
  // Both lists together have each layer once; without the second, the other layers are linear.
  const auto why = [](const json& config) {
    const auto read = hocket::hugging_face::read_layers(config);
    return read ? std::string("read") : message(read.error());
  };
  json& lists = published["linear_attn_config"];
  const auto layers = saved.at("layer_types").size();
  for (std::size_t at = 1; at <= layers; ++at)
    if (std::find(full.begin(), full.end(), at) == full.end()) lists["kda_layers"].push_back(at);
  const json linear = lists["kda_layers"];
  CHECK(total_of(published) == total_of(saved));
  lists["kda_layers"].push_back(full[0]);
  CHECK(why(published) == "layer in both kda_ and full_attn_layers: " + full[0].dump() + " is not allowed here");
  lists["kda_layers"] = linear;
  lists["kda_layers"].erase(0);
  CHECK(why(published) == "layer not in kda_ or full_attn_layers: " + linear[0].dump() + " is not allowed here");
  const std::string range = ", but must lie in [1, " + std::to_string(layers) + "]";
  lists["kda_layers"] = linear;
  lists["kda_layers"].push_back(layers + 1);
  CHECK(why(published) == "kda_layers is " + std::to_string(layers + 1) + range);
  lists["kda_layers"] = linear;
  lists["full_attn_layers"].push_back(0);
  CHECK(why(published) == "full_attn_layers is 0" + range);
  lists["full_attn_layers"] = full;
  for (const json& none : {json(), json(7), json("1, 2")}) {
    lists["full_attn_layers"] = none;
    CHECK(why(published) == "the config has no field \"full_attn_layers\"");
  }
  lists.erase("full_attn_layers");
  CHECK(why(published) == "the config has no field \"full_attn_layers\"");
  published["linear_attn_config"] = nullptr;
  CHECK(why(published) == "the config has no field \"linear_attn_config\"");

  json nemotron = recorded().at("nemotron_h, other").at("config");
  const std::int64_t total = total_of(nemotron);
  nemotron.erase("layers_block_type");
  nemotron["hybrid_override_pattern"] = "MEM*-";
  nemotron["num_hidden_layers"] = 5;
  CHECK(total_of(nemotron) == total);
  nemotron["hybrid_override_pattern"] = "MEMX-";
  CHECK(total_of(nemotron) == -1);
}

TEST_CASE("a pattern of mixtures may be a list of numbers, or must be every layer", "[cost][hugging_face]") {
  json config = recorded().at("mimo_v2_flash, other").at("config");
  json listed = config, every = config;
  const std::int64_t total = total_of(config);
  json freq = json::array();
  for (const auto& kind : config.at("mlp_layer_types")) freq.push_back(kind == "dense" ? 0 : 1);
  listed.erase("mlp_layer_types");
  listed["moe_layer_freq"] = freq;
  CHECK(total_of(listed) == total);
  every.erase("mlp_layer_types");
  every["moe_layer_freq"] = 2;  // layers 0, 2, 4, … as in Megatron-LM, behind those that are dense in any case
  every["first_k_dense_replace"] = 1;
  for (std::size_t at = 0; at < freq.size(); ++at) listed["moe_layer_freq"][at] = at >= 1 && at % 2 == 0 ? 1 : 0;
  CHECK(total_of(every) == total_of(listed));
  CHECK(total_of(every) != total);
  CHECK(hocket::hugging_face::read_layers(every)->assumed.back().find("moe_layer_freq = 2") != std::string::npos);
  json other = recorded().at("qwen3_moe, other").at("config");
  other["architectures"] = json::array({"MistralForCausalLM"});
  CHECK(total_of(other) == -1);
}

TEST_CASE("a word that no layer of the family has is refused", "[cost][hugging_face]") {
  const auto why = [](const json& config) {
    const auto read = hocket::hugging_face::read_layers(config);
    return read ? std::string("read") : message(read.error());
  };
  for (const auto& [name, model] : recorded().items()) {
    const json& good = model.at("config");
    for (const char* field : {"layer_types", "layers_block_type", "mlp_layer_types", "indexer_types"}) {
      INFO(name << ", " << field);
      const bool is_list = good.contains(field) && good.at(field).is_array();
      const std::size_t layers = is_list                            ? good.at(field).size()
                               : good.contains("num_hidden_layers") ? good.at("num_hidden_layers").get<std::size_t>()
                                                                    : 1;
      json config = good;
      config[field] = is_list ? good.at(field) : json(std::vector<std::string>(layers, "full_attention"));
      for (const char* word : {"foo", "Dense", "Full_Attention", ""}) {
        config[field].back() = word;
        CHECK(why(config).find(field) != std::string::npos);
        if (is_list) CHECK(why(config).find(std::string(field) + " \"" + word + "\"") != std::string::npos);
      }
      if (!is_list || !good.contains("num_hidden_layers")) continue;
      for (const bool longer : {false, true}) {
        config = good;
        if (longer) config[field].push_back(config[field].back());
        else config[field].erase(0);
        CHECK(why(config).find(field) != std::string::npos);
      }
    }
  }
  json lfm = recorded().at("lfm2, other").at("config");
  lfm["layer_types"][1] = "foo";
  CHECK(why(lfm) == "the config's layer_types \"foo\" (layer 1) is no kind of layer that its model_type has");
  lfm["layer_types"][1] = "sliding_attention";  // of other families
  CHECK(why(lfm).find("\"sliding_attention\" (layer 1)") != std::string::npos);
  json nemotron = recorded().at("nemotron_h, other").at("config");
  nemotron.erase("layers_block_type");
  nemotron["num_hidden_layers"] = 4;
  nemotron["hybrid_override_pattern"] = "MEM*-Q";
  CHECK(why(nemotron).find("hybrid_override_pattern \"Q\" (layer 5)") != std::string::npos);
  for (const char* pattern : {"MEM*-M", "MEM", ""}) {
    nemotron["hybrid_override_pattern"] = pattern;
    CHECK(why(nemotron).find("letters of hybrid_override_pattern") != std::string::npos);
  }
}

TEST_CASE("a config that cannot be is refused by the name of its field", "[cost][hugging_face]") {
  const auto why = [](json config, const char* field, const json& value) {
    if (value.is_null()) config.erase(field);
    else config[field] = value;
    const auto read = hocket::hugging_face::read_layers(config);
    return read ? std::string("read") : message(read.error());
  };
  const json& good = recorded().at("qwen3_next, other").at("config");
  CHECK(why(good, "vocab_size", nullptr).find("vocab_size") != std::string::npos);
  CHECK(why(good, "num_attention_heads", nullptr).find("num_attention_heads") != std::string::npos);
  CHECK(why(good, "layer_types", json::array({"full_attention"})).find("layer_types") != std::string::npos);
  CHECK(why(good, "vocab_size", 2147483647) == "read");
  CHECK(why(good, "vocab_size", 2147483648).find("vocab_size") != std::string::npos);
  CHECK(why(good, "layer_types", 7).find("layer_types") != std::string::npos);
  CHECK(why(good, "num_hidden_layers", 2000000000).find("num_hidden_layers") != std::string::npos);
  CHECK(why(good, "num_experts_per_tok", 1000).find("num_experts_per_tok") != std::string::npos);
  CHECK(why(good, "num_key_value_heads", 3).find("num_attention_heads") != std::string::npos);
  CHECK(why(good, "hidden_size", -4).find("hidden_size") != std::string::npos);
  CHECK(why(good, "model_type", "bert").find("bert") != std::string::npos);
  CHECK(why(good, "architectures", json::array({"Qwen3NextForCausalLM"})) == "read");
  for (const char* other : {"Qwen3MoeForCausalLM", "LlamaForCausalLM", "GPT2LMHeadModel", "Gemma3ForCausalLM"})
    CHECK(why(good, "architectures", json::array({other})).find("architectures") != std::string::npos);
  const json& shorter = recorded().at("lfm2_moe, other").at("config");
  CHECK(why(shorter, "num_dense_layers", 1000).find("num_dense_layers") != std::string::npos);
  const json& streams = recorded().at("deepseek_v4, other").at("config");
  CHECK(why(streams, "hc_mult", 65).find("hc_mult") != std::string::npos);
  CHECK(why(good, "text_config", json::object()) == "read");  // no model of its own
  const std::int64_t value_heads = good.at("linear_num_value_heads").get<std::int64_t>();
  CHECK(why(good, "linear_num_key_heads", value_heads - 1) ==
        "linear_num_value_heads over key heads: " + std::to_string(value_heads) + " is not divisible by " +
            std::to_string(value_heads - 1));
  for (const char* name : {"gemma3n_text, other", "gemma4_text, other"}) {
    const json& shares = recorded().at(name).at("config");
    const std::int64_t layers = shares.at("num_hidden_layers").get<std::int64_t>();
    CHECK(why(shares, "num_kv_shared_layers", layers - 1) == "read");
    CHECK(why(shares, "num_kv_shared_layers", layers) == "num_kv_shared_layers is " + std::to_string(layers) +
                                                             ", but must lie in [0, " + std::to_string(layers - 1) +
                                                             "]");
  }
  const json& widths = recorded().at("gemma3n_text, other").at("config");
  const auto layers_of_widths = widths.at("num_hidden_layers").get<std::size_t>();
  for (const std::size_t count : {layers_of_widths - 1, layers_of_widths, layers_of_widths + 1}) {
    const std::string said = why(widths, "intermediate_size", std::vector<int>(count, 1));
    CHECK((count == layers_of_widths ? said == "read" : said.find("intermediate_size") != std::string::npos));
  }
  const json& groups = recorded().at("nemotron_h, other").at("config");
  const std::int64_t heads = groups.at("mamba_num_heads").get<std::int64_t>();
  CHECK(why(groups, "n_groups", heads + 1) ==
        "heads of Mamba over n_groups: " + std::to_string(heads) + " is not divisible by " + std::to_string(heads + 1));
  // Every field that is there may be of any type: an error or a model, never more.
  for (const auto& [name, model] : recorded().items())
    for (const auto& [field, value] : model.at("config").items())
      for (const json& other : {json(), json(0), json(-1), json("word"), json::array(), json::array({1}),
                                json::object(), json(true), json(1e300), json(4000000000)}) {
        json config = model.at("config");
        config[field] = other;
        static_cast<void>(hocket::hugging_face::read_layers(config));
      }
}
