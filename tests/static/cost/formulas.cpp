// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formulas, their units and their values in constant expressions.
#include <boost/hana/equal.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/length.hpp>
#include <hocket/cost/formula/derivative.hpp>
#include <hocket/cost/model/list_cost.hpp>
#include <hocket/cost/model/utilization.hpp>

#include <string>
#include <type_traits>

namespace cost = hocket::cost;
using cost::unit_of;
using namespace hocket::cost::letters;

// Units follow the formula.
static_assert(std::is_same_v<unit_of<decltype(2 * cost::FLOP * b * s * h * V)>, cost::units::flops>);
static_assert(std::is_same_v<unit_of<decltype(c_w * (cost::element * (V * h)))>, cost::units::bytes>);
static_assert(std::is_same_v<unit_of<decltype(F_step / (T * W * P))>, cost::units::pure>);
static_assert(std::is_same_v<unit_of<decltype(cost::token * (B * s) / T)>, cost::unit<0, 0, 0, -1, 1>>);

// Llama-2-13B: the published count, proved by the compiler.
inline constexpr cost::model llama_13b{
    .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 40, .head_dim = 128, .ffn = 13824, .vocabulary = 32000};
static_assert(cost::count_parameters(llama_13b).value() == cost::parameter_count{13015864320, 13015864320});

// Megatron-LM's and nanotron's figures for one sequence of 4,096 tokens.
inline constexpr cost::training one_sequence{.sequence = 4096, .global_batch = 1};
static_assert(
    cost::count_flops(llama_13b, one_sequence, {}, {.attention = cost::attention_count::full}).value().model_step ==
    cost::rational(357072843571200));

// Exact fractions.
static_assert((cost::rational(1) / cost::rational(3) + cost::rational(1) / cost::rational(6)) ==
              cost::rational(1) / cost::rational(2));
static_assert(!(cost::rational(1) / cost::rational(0)).ok());
static_assert((cost::rational(-7) / cost::rational(2)).ceiling() == cost::rational(-3));
static_assert((cost::rational(7) / cost::rational(2)).ceiling() == cost::rational(4));

// A slope, at compile time.
inline constexpr cost::environment numbers(llama_13b, one_sequence);
static_assert(cost::partial(h * h * V, h, numbers).derivative == 2.0 * 5120 * 32000);

// A bare MFU is no number and no text, and one is not the other.
static_assert(!std::is_convertible_v<cost::mfu, double> && !std::is_constructible_v<double, cost::mfu>);
static_assert(!std::is_constructible_v<std::string, cost::mfu> && !std::is_constructible_v<cost::mfu, double>);
static_assert(!std::is_constructible_v<cost::mfu, cost::hfu> && !std::is_assignable_v<cost::mfu&, cost::hfu>);

// Sizes that are none are refused, each by name.
static_assert(cost::count_parameters(cost::model{.layers = -4}).error().word() == "layers");
static_assert(cost::count_parameters(cost::model{.heads = 2, .kv_heads = 3}).error().code == hocket::errc::indivisible);
static_assert(cost::count_flops(llama_13b, {.sequence = -1}, {}, {}).error().word() == "sequence");
static_assert(cost::count_flops(llama_13b, {}, {.tp = std::int64_t{1} << 40}, {}).error().word() == "tp");

// The library's own configs are Hana Structs, and their names those of BOOST_HANA_STRING.
namespace hana = boost::hana;
static_assert(decltype(hana::length(hana::accessors<cost::held>()))::value == 2);
inline constexpr auto hidden = BOOST_HANA_STRING("hidden");
static_assert(std::is_same_v<std::remove_cvref_t<decltype(hana::first(hana::at_c<1>(hana::accessors<cost::model>())))>,
                             std::remove_cvref_t<decltype(hidden)>>);
