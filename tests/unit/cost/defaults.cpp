// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What structs say where nothing is said: a size is none, a flag is off, but for what their comments name.
#include <hocket/cost/fit_machine.hpp>
#include <hocket/cost/formula/derivative.hpp>
#include <hocket/cost/measured_terms.hpp>
#include <hocket/cost/model/encoder.hpp>
#include <hocket/cost/model/micro_batch_lengths.hpp>
#include <hocket/cost/model/muon.hpp>
#include <hocket/cost/model/scaled_format.hpp>
#include <hocket/cost/model/utilization.hpp>
#include <hocket/cost/report.hpp>

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "catch.hpp"

namespace {
namespace defaults {

namespace cost = hocket::cost;

/// Whether all members of a struct are 0, but for those named.
template <class T>
void is_zero_but(std::initializer_list<std::pair<const std::string, double>> named = {}, const T& value = {}) {
  using members = cost::detail::members_of<T>;
  const std::map<std::string, double> others(named);
  const auto numbers = members::numbers(value);
  std::size_t found = 0;
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const std::string name(members::names[at].text);
    INFO(name);
    const auto other = others.find(name);
    found += other == others.end() ? 0 : 1;
    CHECK(numbers[at].real == (other == others.end() ? 0 : other->second));
  }
  CHECK(found == others.size());
}

TEST_CASE("a block of which nothing is said has the sizes that its kind has", "[cost][defaults]") {
  is_zero_but<cost::norms>({{"count", 1}, {"norm_weights", 1}});
  is_zero_but<cost::attention>({{"norm_weights", 1}});
  is_zero_but<cost::latent_attention>();
  is_zero_but<cost::compressed_attention>({{"output_groups", 1}});
  is_zero_but<cost::native_sparse_attention>({{"pooled_width", 32},
                                              {"stride", 16},
                                              {"selected_blocks", 16},
                                              {"selected_width", 64},
                                              {"window", 512},
                                              {"branches", 3},
                                              {"learned_pooling", 1}});
  is_zero_but<cost::gated_delta>({{"kernel", 4}, {"chunk", 64}});
  is_zero_but<cost::kimi_delta>({{"kernel", 4}, {"chunk", 64}});
  is_zero_but<cost::lightning_attention>({{"chunk", 256}});
  is_zero_but<cost::short_convolution>({{"kernel", 3}});
  is_zero_but<cost::mamba2>(
      {{"groups", 1}, {"state", 128}, {"kernel", 4}, {"chunk", 256}, {"conv_bias", 1}, {"gated_norm", 1}});
  is_zero_but<cost::mamba>({{"state", 16}, {"kernel", 4}, {"conv_bias", 1}});
  is_zero_but<cost::feed_forward>({{"ffn_matrices", 3}});
  is_zero_but<cost::mixture>({{"ffn_matrices", 3}});
  is_zero_but<cost::hyper_connections>({{"streams", 4}, {"count", 2}});
  is_zero_but<cost::alternating_updates>({{"streams", 4}});
  is_zero_but<cost::attention_residuals>({{"sources", 1}, {"count", 2}, {"norm_weights", 1}});
  is_zero_but<cost::block_indexer>({{"ratio", 1}});
  is_zero_but<cost::per_layer_input>();
  is_zero_but<cost::projection>({{"count", 1}, {"uses", 1}});
  is_zero_but<cost::table>({{"count", 1}});
  const cost::block plain = cost::norms{};
  CHECK_FALSE(plain.weights_elsewhere);
  CHECK(plain.set == 0);
}

TEST_CASE("parts of formulas and prices of which nothing is said", "[cost][defaults]") {
  CHECK(cost::slope{}.value == 0);
  CHECK(cost::slope{}.derivative == 0);
  CHECK(cost::term_facts{}.calls == 1);
  CHECK(cost::stage_price{}.kept_bytes == 0);
  const cost::stage_choice choice;
  CHECK(choice.layers + choice.whole == 0);
  const cost::micro_batch_prices prices;
  CHECK(prices.stages + prices.count == 0);
  CHECK(cost::parameter_count{}.total + cost::parameter_count{}.active == 0);
  CHECK(cost::report_line{}.real_value == 0);
  CHECK(cost::compared_value{}.measured == 0);
  CHECK(cost::step_value{}.value == 0);
  CHECK(cost::encoder_cost{}.longest == 0);
}

TEST_CASE("models, steps and splits of which nothing is said", "[cost][defaults]") {
  is_zero_but<cost::model>({{"ffn_matrices", 3}, {"norm_weights", 1}, {"layer_norms", 2}, {"final_norm", 1}});
  is_zero_but<cost::list_sizes>({{"norm_weights", 1}, {"streams", 1}, {"final_norm", 1}});
  is_zero_but<cost::training>({{"micro_batch", 1},
                               {"global_batch", 1},
                               {"weight_bytes", 2},
                               {"gradient_bytes", 4},
                               {"master_bytes", 4},
                               {"moment_bytes", 8},
                               {"activation_bytes", 2},
                               {"flash_attention", 1},
                               {"fused_activation", 1},
                               {"input_bytes", 2}});
  CHECK_FALSE(cost::training{}.muon);
  is_zero_but<cost::parallel>(
      {{"tp", 1}, {"pp", 1}, {"vp", 1}, {"dp", 1}, {"cp", 1}, {"ep", 1}, {"etp", 1}, {"copies", 1}});
  is_zero_but<cost::part>({{"first", 1}, {"last", 1}});
  is_zero_but<cost::held>();
  is_zero_but<cost::rank_parameters>();
  is_zero_but<cost::layer_parameters>();
  is_zero_but<cost::replay_set>({{"gather", 1}});
  is_zero_but<cost::machine>({{"host_overlap", 1}, {"block_rows", 128}, {"block_columns", 128}});
  CHECK_FALSE(cost::machine{}.has_links());
  is_zero_but<cost::measured_run>({{"devices", 1}});
  is_zero_but<cost::step_numbers>({{"devices", 1}});
  is_zero_but<cost::detail::layer_numbers>({{"host_overlap", 1}, {"layer_count", 1}});
  const cost::held_share one;
  CHECK(one.layers == cost::rational(1));
  CHECK(one.embedding_passes == 1);
  CHECK(cost::muon{}.steps == 5);
  CHECK(cost::muon{}.momentum_bytes == cost::rational(4));
  CHECK(cost::bytes_per_element({}) == cost::rational(2));
  CHECK(cost::scaled_format{}.scale_bits + cost::scaled_format{}.tensor_bits == 0);
  CHECK(cost::encoder{}.merged == 1);
  CHECK_FALSE(cost::encoder{}.frozen);
  CHECK(cost::repeated_layer{}.count == 1);
  CHECK_FALSE(cost::layer_list{}.refused.has_value());
  CHECK(cost::weight_shape{.name = ""}.elements() == 0);
  CHECK(cost::weight_shape{.name = "", .first = 7}.elements() == 7);
  CHECK(cost::work_item{}.flops.value + cost::work_item{}.bytes.value == 0);
  CHECK(cost::work_item{}.ranks == 1);
  CHECK(cost::work_item{}.calls == 1);
  CHECK_FALSE(cost::work_item{}.to_host);
  CHECK(cost::step_prediction{}.tokens_per_second_per_device == 0);
  CHECK(cost::step_prediction{}.step_time().count() == 0);
  CHECK(cost::unit_powers{} == cost::powers_of<cost::units::pure>);
}

TEST_CASE("each member that is negative is refused by its name", "[cost][defaults]") {
  cost::model m;
  m.layers = -1;
  CHECK(cost::check(m).error().word() == "layers");
  m.layers = 1;
  m.mtp_layers = -1;
  CHECK(cost::check(m).error().word() == "mtp_layers");
  CHECK(cost::check(cost::training{.sequence = -1}).error().word() == "sequence");
  CHECK(cost::check(cost::training{.windowed_pairs = -1}).error().word() == "windowed_pairs");
  CHECK(cost::check(cost::parallel{.tp = -1}).error().word() == "tp");
  cost::layer_list list{.sizes = {.hidden = 8}};
  CHECK(cost::check(list));
  list.sizes.hidden = 0;
  CHECK(cost::check(list).error().word() == "hidden");
  list.sizes.hidden = 8;
  list.layers = {{{cost::norms{}}, 0}};
  CHECK(cost::check(list).error().word() == "count of layers");
  list.layers = {{{cost::feed_forward{.ffn = -4}}, 1}};
  CHECK(cost::check(list).error().word() == "ffn");
  // Added layers: none, one, and a run that goes on.
  list.layers.clear();
  list.add({cost::norms{}}, 0);
  CHECK(list.layers.empty());
  list.add({cost::norms{}});
  list.add({cost::norms{}}, 2);
  list.add({cost::norms{.count = 2}});
  REQUIRE(list.layers.size() == 2);
  CHECK(list.layers[0].count == 3);
  CHECK(list.layer_count() == 4);
}

}  // namespace defaults
}  // namespace
