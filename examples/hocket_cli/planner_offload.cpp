// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hocket planner offload`: what each stage keeps, computes again or moves to the host, and what to paste.
#include <hocket/planner/saved_tensors/stage.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cost_fit.hpp"
#include "cost_input.hpp"
#include "json_fields.hpp"
#include "planner.hpp"

namespace hocket_cli {
namespace {

namespace cost = hocket::cost;
namespace planner = hocket::planner;
using std::chrono::nanoseconds;

struct options {
  std::string model, training, parallel, machine, format = "text", out;
  memory_option memory;
};

/// Which ways are allowed, and what comes out: a plan for each stage, or the stage that does not fit.
struct variant {
  const char *name, *key;
  bool again, moved;
  std::vector<planner::saved_tensor_plan> plans{};
  std::string why_not{};
  double step_seconds = 0;
};

struct answer {
  std::vector<planner::stage_saved_tensors> stages;
  std::vector<std::int64_t> first_layers;  ///< of each stage, from 0
  std::vector<variant> variants;           ///< the last has all ways
  double beside = 0;                       ///< seconds of a step beside the pipeline's stages
  [[nodiscard]] const variant& chosen() const { return variants.back(); }
  [[nodiscard]] const planner::stage_kind& kind_of(std::size_t stage, const planner::stage_class& x) const {
    return stages[stage].kinds[x.kind];
  }
  /// Layers of a kind by number, of the whole model.
  [[nodiscard]] std::vector<std::int64_t> layers_of(std::size_t stage, const planner::stage_class& x) const {
    std::vector<std::int64_t> out = kind_of(stage, x).layers;
    for (std::int64_t& layer : out) layer += first_layers[stage];
    return out;
  }
};

/// Names of one operation's tensors in the options of frameworks; empty: there is none. Megatron-LM offloads the input
/// of a module, so what an operation makes is named by the module that reads it. MindFormers matches parts of a layer.
struct framework_names {
  std::string_view recompute_module, offload_module;
  std::vector<std::string_view> parts;
};
framework_names names_of(cost::layer_operation by, bool experts) {
  using cost::layer_operation;
  switch (by) {
    case layer_operation::norm: return {"layernorm", "qkv_linear", {R"(attention_norm\.norm)", R"(ffn_norm\.norm)"}};
    case layer_operation::cast_back: return {"", "", {R"(attention_norm\.rcast)", R"(ffn_norm\.rcast)"}};
    case layer_operation::qkv:
      return {"", "core_attn", {R"(attention\.wq\.matmul)", R"(attention\.wk\.matmul)", R"(attention\.wv\.matmul)"}};
    case layer_operation::core: return {"core_attn", "", {}};
    case layer_operation::attention: return {"core_attn", "attn_proj", {R"(attention\.flash_attention)"}};
    case layer_operation::output: return {"", "mlp_norm", {R"(attention\.wo\.matmul)", "add"}};
    case layer_operation::dispatch: return {"", "expert_fc1", {}};
    case layer_operation::ffn_in:
      return {"", experts ? "moe_act" : "", {R"(feed_forward\.w1\.matmul)", R"(feed_forward\.w3\.matmul)"}};
    case layer_operation::activation:
      return {experts ? "moe_act" : "", "", {R"(feed_forward\.mul)", R"(feed_forward\.w1\.activation\.silu)"}};
    case layer_operation::none: return {"", "attn_norm", {}};
    default: return {"", "", {}};
  }
}

std::string label_of(const planner::stage_class& x) {
  return x.by == cost::layer_operation::none ? "norm inputs and the rest" : std::string(to_string(x.by));
}

variant solved(variant x, const std::vector<planner::stage_saved_tensors>& stages, const cost::training& t,
               const cost::parallel& p, double beside) {
  double sum = 0, most = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    planner::saved_tensor_problem q = stages[s].problem;
    for (planner::saved_class& c : q.classes) {
      c.recomputable = c.recomputable && x.again;
      c.movable = c.movable && x.moved;
    }
    auto plan = planner::solve(q);
    if (!plan && plan.error().code != hocket::errc::does_not_fit) fail("stage " + std::to_string(s), plan.error());
    if (!plan) {
      x.why_not = "stage " + std::to_string(s) + " lacks " +
                  fixed(static_cast<double>(plan.error().values[1]) / bytes_per_gib, 2) + " GiB";
      return x;
    }
    const double seconds = static_cast<double>((stages[s].time + plan->extra).count()) / 1e9;
    sum += seconds;
    most = std::max(most, seconds);
    x.plans.push_back(std::move(*plan));
  }
  const auto micro_batches = static_cast<double>(t.global_batch / (t.micro_batch * p.dp));
  x.step_seconds = sum + (micro_batches - 1) * most + beside;
  return x;
}

answer answer_of(const options& o) {
  const model_input model = read_model(read_json_file(o.model), o.model);
  const training_input t = read_training(with_machine(read_json_file(o.training), o.machine), model.layers, o.training);
  if (!t.on) fail(o.training + ": \"machine\" must say how fast the devices are");
  cost::parallel p = read_parallel(read_json_file(o.parallel), o.parallel);
  const cost::layer_list list = padded(model.layers, t, o.training);
  if (p.vp > 1)
    fail(o.parallel + ": \"vp\" is " + std::to_string(p.vp) + ", but tensors are offloaded with one chunk a rank only");
  if (t.on->rates.host_bytes <= 0)
    fail(o.training + ": machine \"" + t.on->name + "\" has no \"host_bytes\": the rate of its link to the host");
  if (p.recompute != cost::recompute::none || p.offload_activations)
    fail(o.parallel + ": says what is computed again or moved, which is chosen here: leave \"" +
         (p.offload_activations ? "offload_activations" : "recompute") + "\" out");
  if (const auto fits = cost::check(list, t.step, p); !fits) fail(o.parallel, fits.error());
  need_rates(*t.on, has_experts(list), p, o.parallel);
  answer out;
  const cost::device_memory memory = o.memory.memory();
  const std::int64_t micro_batches = t.step.global_batch / (t.step.micro_batch * p.dp);
  std::int64_t first = 0;
  for (const cost::rank_layers& rank : value_or_fail(cost::layers_of_ranks(list, p), o.parallel)) {
    const std::int64_t in_flight = std::min(micro_batches, p.pp - rank.ends.rank);
    auto stage = planner::saved_tensors_of(list, rank, t.step, p, t.on->rates, in_flight, memory);
    if (!stage) fail(o.parallel, stage.error());
    out.stages.push_back(std::move(*stage));
    out.first_layers.push_back(first);
    first += rank.layer_count;
  }
  const auto alike = value_or_fail(cost::predict_step(list, t.step, p, t.on->rates), o.parallel);
  double in_stages = 0;
  for (const auto& stage : out.stages) in_stages += static_cast<double>(stage.time.count()) / 1e9;
  // Hops, the exchange, the optimizer: what the prediction has besides the stages.
  double slowest = 0;
  for (const auto& stage : out.stages) slowest = std::max(slowest, static_cast<double>(stage.time.count()) / 1e9);
  out.beside = std::max(0.0, alike.step_time().count() - in_stages - static_cast<double>(micro_batches - 1) * slowest);
  for (const variant& x :
       {variant{"keep everything", "keep", false, false}, variant{"compute again", "recompute", true, false},
        variant{"offload", "offload", false, true}, variant{"any of the three", "chosen", true, true}})
    out.variants.push_back(solved(x, out.stages, t.step, p, out.beside));
  if (!out.chosen().why_not.empty()) fail(o.parallel + ": nothing fits: " + out.chosen().why_not);
  return out;
}

void add_once(std::vector<std::string>& list, std::string_view name) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.emplace_back(name);
}
std::string joined(std::string_view before, const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& x : list) out += (out.empty() ? std::string(before) + " " : " ") + x;
  return out.empty() ? out : out + "\n";
}
/// Of a kind: the tensors, how many layers of their stage they concern, and where those begin.
struct pasted_choice {
  std::size_t stage;
  framework_names names;
  std::string label;
  std::int64_t again, moved;
  std::vector<std::int64_t> layers;  ///< of its kind: the first compute again, the next move
};
std::vector<pasted_choice> choices_of(const answer& a) {
  std::vector<pasted_choice> out;
  const auto& plans = a.chosen().plans;
  for (std::size_t s = 0; s < plans.size(); ++s) {
    for (std::size_t c = 0; c < plans[s].choices.size(); ++c) {
      const planner::stage_class& name = a.stages[s].names[c];
      const bool experts = cost::has_experts(a.kind_of(s, name).blocks);
      const auto& choice = plans[s].choices[c];
      out.push_back({s, names_of(name.by, experts), label_of(name), choice.again, choice.moved, a.layers_of(s, name)});
    }
  }
  return out;
}

/// "--recompute-modules a b": the modules that some layer computes again or moves.
std::string megatron_of(const answer& a) {
  std::vector<std::string> again, moved, none;
  for (const pasted_choice& x : choices_of(a)) {
    if (x.again > 0 && x.names.recompute_module.empty()) add_once(none, x.label + " (again)");
    else if (x.again > 0) add_once(again, x.names.recompute_module);
    if (x.moved > 0 && x.names.offload_module.empty()) add_once(none, x.label + " (move)");
    else if (x.moved > 0) add_once(moved, x.names.offload_module);
  }
  const std::string out = joined("--recompute-granularity selective --recompute-modules", again) +
                          joined("--fine-grained-activation-offloading --offload-modules", moved) +
                          joined("# without a module:", none);
  return out.empty() ? "nothing\n" : out;
}

/// Layers by number of one part of MindFormers, and how many of each stage.
struct part_layers {
  std::string part;
  std::vector<std::int64_t> again, again_by_stage, moved;
};
std::vector<part_layers> parts_of(const answer& a, std::vector<std::string>& none) {
  std::vector<part_layers> out;
  for (const pasted_choice& x : choices_of(a)) {
    if (x.again + x.moved == 0) continue;
    if (x.names.parts.empty()) add_once(none, x.label);
    for (const std::string_view part : x.names.parts) {
      auto at = std::find_if(out.begin(), out.end(), [&](const part_layers& y) { return y.part == part; });
      if (at == out.end())
        at = out.insert(at, {std::string(part), {}, std::vector<std::int64_t>(a.stages.size(), 0), {}});
      at->again_by_stage[x.stage] += x.again;
      const auto moved = x.layers.begin() + x.again;
      at->again.insert(at->again.end(), x.layers.begin(), moved);
      at->moved.insert(at->moved.end(), moved, moved + x.moved);
    }
  }
  return out;
}

/// With swap, select_recompute has numbers of layers; without, how many of each stage.
std::string mind_formers_of(const answer& a) {
  std::vector<std::string> none;
  const std::vector<part_layers> parts = parts_of(a, none);
  const auto list_of = [](const std::vector<std::int64_t>& numbers) {
    std::string text = "[";
    for (const std::int64_t n : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
    return text + "]";
  };
  const bool swap = std::any_of(parts.begin(), parts.end(), [](const part_layers& x) { return !x.moved.empty(); });
  std::string again, moved;
  for (const part_layers& x : parts) {
    if (!x.again.empty()) again += "    '" + x.part + "': " + list_of(swap ? x.again : x.again_by_stage) + "\n";
    if (!x.moved.empty())
      moved += "    - op_name: '" + x.part + "'\n      backward_prefetch: 1\n      layers: " + list_of(x.moved) + "\n";
  }
  std::string out;
  if (!again.empty()) out += "recompute_config:\n  select_recompute:\n" + again;
  if (swap && !again.empty()) out += "# MindFormers does not swap what an operator that is computed again reads\n";
  if (swap) out += "swap_config:\n  swap: True\n  op_swap:\n" + moved;
  out += joined("# without a pattern:", none);
  return out.empty() ? "nothing\n" : out;
}

std::string as_text(const answer& a) {
  char line[200];
  std::string out = "  choice             step s\n";
  for (const variant& x : a.variants) {
    if (x.why_not.empty()) std::snprintf(line, sizeof line, "  %-18s%8.3f\n", x.name, x.step_seconds);
    else std::snprintf(line, sizeof line, "  %-18s       -  %s\n", x.name, x.why_not.c_str());
    out += line;
  }
  for (std::size_t s = 0; s < a.stages.size(); ++s) {
    const planner::saved_tensor_plan& plan = a.chosen().plans[s];
    const planner::saved_tensor_problem& q = a.stages[s].problem;
    std::snprintf(line, sizeof line,
                  "\nstage %zu: %lld in flight, %.2f of %.2f GiB saved; a micro-batch takes %.2f ms and %.2f more (at "
                  "least %.2f)\n",
                  s, static_cast<long long>(q.in_flight), static_cast<double>(plan.held.count()) / bytes_per_gib,
                  static_cast<double>(q.capacity.count()) / bytes_per_gib,
                  static_cast<double>(a.stages[s].time.count()) / 1e6, static_cast<double>(plan.extra.count()) / 1e6,
                  static_cast<double>(plan.lower_bound.count()) / 1e6);
    out += line;
    std::snprintf(line, sizeof line, "copies take %.2f ms, of which %.2f may hide\n",
                  static_cast<double>(plan.copies.count()) / 1e6,
                  static_cast<double>(q.overlap) * static_cast<double>((q.compute + plan.again).count()) / 1e9);
    out += line;
    out += "  tensors                     layers      GiB  again us   copy us   keep  again  move\n";
    for (std::size_t c = 0; c < q.classes.size(); ++c) {
      const planner::saved_class& x = q.classes[c];
      const planner::saved_class_choice& choice = plan.choices[c];
      const std::string again_us = x.recomputable ? fixed(static_cast<double>(x.again.count()) / 1e3, 1) : "-";
      std::snprintf(
          line, sizeof line, "  %-26s%8lld%9.4f%10s%10.1f%7lld%7lld%6lld\n", label_of(a.stages[s].names[c]).c_str(),
          static_cast<long long>(x.layers), static_cast<double>(x.size.count()) / bytes_per_gib, again_us.c_str(),
          static_cast<double>(x.copy.count()) / 1e3, static_cast<long long>(x.layers - choice.again - choice.moved),
          static_cast<long long>(choice.again), static_cast<long long>(choice.moved));
      out += line;
    }
  }
  return out + "\nMegatron-LM, which takes modules of all layers:\n" + megatron_of(a) + "\nMindFormers:\n" +
         mind_formers_of(a);
}

std::string as_json(const answer& a) {
  nlohmann::ordered_json out{{"version", 1}};
  for (const variant& x : a.variants) {
    nlohmann::ordered_json one{{"choice", x.key}, {"fits", x.why_not.empty()}};
    if (x.why_not.empty()) one["step_seconds"] = x.step_seconds;
    else one["lacking"] = x.why_not;
    out["choices"].push_back(one);
  }
  for (std::size_t s = 0; s < a.stages.size(); ++s) {
    const planner::saved_tensor_plan& plan = a.chosen().plans[s];
    const planner::saved_tensor_problem& q = a.stages[s].problem;
    const auto us = [](nanoseconds t) { return static_cast<double>(t.count()) / 1e3; };
    nlohmann::ordered_json one{{"stage", s},
                               {"in_flight", q.in_flight},
                               {"capacity_bytes", q.capacity.count()},
                               {"held_bytes", plan.held.count()},
                               {"beside_bytes", a.stages[s].beside.count()},
                               {"time_us", us(a.stages[s].time)},
                               {"extra_us", us(plan.extra)},
                               {"lower_bound_us", us(plan.lower_bound)},
                               {"copies_us", us(plan.copies)},
                               {"again_us", us(plan.again)},
                               {"may_hide_us", static_cast<double>(q.overlap) * us(q.compute + plan.again) / 1e3},
                               {"proved", plan.proved}};
    for (std::size_t c = 0; c < q.classes.size(); ++c) {
      const planner::saved_class& x = q.classes[c];
      const planner::saved_class_choice& choice = plan.choices[c];
      one["tensors"].push_back(
          {{"by", label_of(a.stages[s].names[c])},
           {"kind", cost::has_experts(a.kind_of(s, a.stages[s].names[c]).blocks) ? "experts" : "dense"},
           {"layers", x.layers},
           {"bytes", x.size.count()},
           {"again_us", us(x.again)},
           {"copy_us", us(x.copy)},
           {"keep", x.layers - choice.again - choice.moved},
           {"again", choice.again},
           {"move", choice.moved}});
    }
    out["stages"].push_back(one);
  }
  out["megatron"] = megatron_of(a);
  out["mindformers"] = mind_formers_of(a);
  return out.dump(1) + "\n";
}

void offload(const options& o) {
  const answer a = answer_of(o);
  nanoseconds extra{0}, copies{0};
  bool proved = true;
  for (const planner::saved_tensor_plan& plan : a.chosen().plans) {
    extra = std::max(extra, plan.extra);
    copies = std::max(copies, plan.copies);
    proved = proved && plan.proved;
  }
  give(o.out, form(o.format) == "json" ? as_json(a) : as_text(a),
       "stages=" + std::to_string(a.stages.size()) + " step_s=" + fixed(a.chosen().step_seconds, 6) +
           " largest_extra_us=" + fixed(static_cast<double>(extra.count()) / 1e3, 3) + " largest_copies_us=" +
           fixed(static_cast<double>(copies.count()) / 1e3, 3) + " proved=" + (proved ? "yes" : "no"));
}

}  // namespace

void add_planner_offload(CLI::App& planner_command) {
  auto o = std::make_shared<options>();
  CLI::App* c = planner_command.add_subcommand(
      "offload", "What each stage keeps, computes again or moves to the host, within what the copy engine can move");
  c->add_option("model,--model", o->model, "Hugging Face config.json, as published")->required()->type_name("FILE");
  c->add_option("training,--training", o->training, "Training JSON with a machine that has host_bytes")
      ->required()
      ->type_name("FILE");
  c->add_option("parallel,--parallel", o->parallel, "Parallel JSON: tp, pp, dp, …")->required()->type_name("FILE");
  add_machine(*c, o->machine);
  add_memory(*c, o->memory, "Memory of a device")->required();
  c->add_option("--format", o->format, "text (the default) or json")->check(CLI::IsMember({"text", "json"}));
  add_out(*c, o->out);
  c->callback([o] { offload(*o); });
}

}  // namespace hocket_cli
