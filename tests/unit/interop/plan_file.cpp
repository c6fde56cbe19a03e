// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/interop/files/cost_answer.hpp>
#include <hocket/interop/files/plan_file.hpp>
#include <hocket/interop/files/plan_json.hpp>
#include <hocket/interop/files/report_json.hpp>
#include <hocket/interop/step_calls.hpp>
#include <hocket/pipeline/any_schedule.hpp>
#include <hocket/planner/plan/changes.hpp>
#include <hocket/planner/plan/compare_schedules.hpp>
#include <hocket/planner/plan/step_plan.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../catch.hpp"

namespace {

namespace cost = hocket::cost;
namespace interop = hocket::interop;
namespace planner = hocket::planner;
using nlohmann::json;

const char* const model_text = R"({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 8,
  "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 2816, "vocab_size": 32000})";

json plan_json() {
  return json::parse(R"({"version": 1, "title": "a step", "model": "config.json",
    "training": {"sequence": 2048, "micro_batch": 1, "global_batch": 32, "machine": "h100_sxm"},
    "parallel": {"tp": 2, "pp": 4, "dp": 2, "replay": ["norm"]},
    "cluster": {"devices": 16, "memory_gib": 80, "reserve_gib": 2, "devices_per_node": 8},
    "graph": {"ops": "ops.csv", "rules": "ordered"},
    "pipeline": {"schedule": "1f1b", "split": [2, 2, 2, 2], "micro_batches": 16},
    "fused_operator": {"rows": 4096, "phases": [
      {"kind": "compute", "cost": {"type": "affine", "fixed_us": 5, "us_per_row": 0.1}},
      {"kind": "comm", "cost": {"type": "table", "rows": [1, 4096], "us": [10, 200]}, "groups": 2}]}})");
}

interop::plan_input read(const json& plan, interop::file_errors& errors) {
  const auto named = [](const std::string& name) {
    return interop::named_text{
        name, name == "config.json" ? model_text : "op,stream,kind,reads,writes\n0,0,compute,,0\n1,1,compute,0,1\n"};
  };
  return interop::read_plan(plan, "plan.json", named, errors);
}

/// Every value inside of a JSON value, outermost first.
void collect(json& value, std::vector<json*>& all) {
  all.push_back(&value);
  if (value.is_structured())
    for (json& member : value) collect(member, all);
}

}  // namespace

TEST_CASE("a plan file becomes a problem of the planner", "[files]") {
  interop::file_errors errors;
  const interop::plan_input in = read(plan_json(), errors);
  REQUIRE(errors.first() == "");
  CHECK(in.parallel.tp == 2);
  CHECK(in.micro_batches() == 16);
  CHECK(in.replay.norm);
  CHECK(in.ordered);
  CHECK(in.ops.size() == 2);
  CHECK(in.fused->phases.size() == 2);
  CHECK(in.memory.reserve == hocket::bytes(std::int64_t{2} << 30));
  const auto plan = planner::plan_step(in);
  REQUIRE(plan);
  // The same model and step as a cost report: one number.
  json training = plan_json().at("training");
  json parallel = plan_json().at("parallel");
  const interop::cost_files files{{"config.json", json::parse(model_text)},
                                  interop::json_text{"training.json", training},
                                  interop::json_text{"parallel.json", parallel}};
  const interop::cost_answer answer = interop::answer_of(files, errors);
  REQUIRE(errors.first() == "");
  const double planned = planner::seconds_of(*plan);
  CHECK(std::abs(answer.context.step->step_time().count() - planned) < 1e-7 * planned);
  CHECK(json::parse(interop::report_as_json(answer.report, answer.context)).at("memory").size() == 4);
}

TEST_CASE("open sizes of a plan file are chosen", "[files]") {
  json plan = plan_json();
  for (const char* key : {"parallel", "pipeline", "graph", "fused_operator"}) plan.erase(key);
  plan["pipeline"] = json::object();
  plan["parallel"] = json{{"zero", 1}};
  interop::file_errors errors;
  interop::plan_input in = read(plan, errors);
  REQUIRE(errors.first() == "");
  CHECK(in.is_open("tp"));
  CHECK_FALSE(in.is_open("zero"));
  CHECK_FALSE(in.is_open("ep"));  // a dense model
  interop::choose_open_sizes(in, errors);
  REQUIRE(errors.first() == "");
  CHECK(in.parallel.devices() == 16);
  plan["cluster"]["memory_gib"] = 2.01;
  interop::plan_input poor = read(plan, errors);
  interop::choose_open_sizes(poor, errors);
  CHECK(errors.first().find("none of") != std::string::npos);
}

// Every layer computes its norms again; a level adds to that, and keeps its name.
TEST_CASE("levels of a split have names of their own where all layers replay something", "[files]") {
  json plan = plan_json();
  for (const char* key : {"graph", "fused_operator"}) plan.erase(key);
  plan["parallel"].erase("dp");
  plan["parallel"]["recompute"] = "search";
  plan["pipeline"]["split"] = "search";
  interop::file_errors errors;
  interop::plan_input in = read(plan, errors);
  interop::choose_open_sizes(in, errors);
  const interop::plan_answer answer = interop::answer_of(in, errors);
  REQUIRE(errors.first() == "");
  REQUIRE(answer.split);
  const planner::schedule_comparison none;
  const planner::tried_changes nothing;
  const json report = json::parse(interop::plan_as_json(in, answer, none, nothing));
  for (const json& stage : report.at("split").at("stages")) {
    int layers = 0;
    for (const json& at : stage.at("layers_at")) layers += at.get<int>();
    CHECK(layers == stage.at("layers"));
  }
}

TEST_CASE("a plan says whether the calls of its ranks can hang", "[files][ranks]") {
  namespace pipeline = hocket::pipeline;
  namespace ranks = hocket::ranks;
  using ranks::verdict;
  const auto plan = pipeline::any_schedule::make("interleaved", {.ranks = 2, .chunks = 2, .micro_batches = 4}).value();
  const auto checked = [&](const cost::parallel& p) { return interop::check_calls(plan, p).value(); };

  // The same as ranks::check says of the same program on more ranks.
  const auto all = checked({.tp = 8, .pp = 2, .vp = 2, .dp = 64});
  REQUIRE(all);
  CHECK(all->mesh == interop::rank_mesh{.tensor = 2, .data = 2});
  const auto job = interop::ranks_of_pipeline(plan, {.tensor = 4, .data = 2}, {.sequence_parallel = false}).value();
  const auto more = ranks::check(job, ranks::nccl(), {.work = 1 << 20}).value();
  CHECK(more.says == all->answer.says);
  CHECK(more.enough_slots == all->answer.enough_slots);
  CHECK(all->answer.says == verdict::may_hang);
  CHECK(all->summary() ==
        "cannot hang where a device runs 3 calls at once; may hang with one at once, which is what NCCL promises");
  CHECK(all->told.starts_with("may hang: "));

  // Data ranks alone: what comes from another rank does not wait for them.
  const auto experts = checked({.tp = 1, .pp = 2, .vp = 2, .dp = 4, .ep = 4});
  REQUIRE(experts);
  CHECK(experts->mesh == interop::rank_mesh{.data = 2, .expert = 2});

  // Nothing to say of a rank alone, nor of a step that is too long.
  const auto one = pipeline::any_schedule::make("1f1b", {.ranks = 1, .micro_batches = 4}).value();
  CHECK_FALSE(interop::check_calls(one, cost::parallel{}).value());
  const auto safe = interop::check_calls(one, {.tp = 8}).value();
  REQUIRE(safe);
  CHECK(safe->answer.says == verdict::safe);
  CHECK(safe->summary() == "cannot hang, whatever the timing");
  const auto long_one = pipeline::any_schedule::make("1f1b", {.ranks = 4, .micro_batches = 1 << 12}).value();
  CHECK_FALSE(interop::check_calls(long_one, {.pp = 4}).value());
}

// Readers go on after a mistake. Whatever stands in the place of a value, they end, and say one sentence or none.
TEST_CASE("each wrong value of a plan file is one sentence", "[files]") {
  const std::vector<json> wrong{
      nullptr,   true, -1, 0, 1e300, 3.5, "", "search", json::array(), json::object(), json::array({json::object()}),
      4294967296};
  json whole = plan_json();
  std::vector<json*> places;
  collect(whole, places);
  std::size_t refused = 0;
  std::size_t taken = 0;
  for (json* const place : places) {
    for (const json& value : wrong) {
      json kept = value;
      std::swap(*place, kept);
      interop::file_errors errors;
      const interop::plan_input in = read(whole, errors);
      ++(errors.none() ? taken : refused);
      if (!errors.none()) CHECK(errors.first().find(": ") != std::string::npos);
      std::swap(*place, kept);
    }
  }
  CHECK(refused > 4 * taken);
  CHECK(taken > 10);
}

TEST_CASE("a mistake names its file, field and value", "[files]") {
  const auto sentence_of = [](const char* at, const json& value) {
    json plan = plan_json();
    plan[json::json_pointer(at)] = value;
    interop::file_errors errors;
    (void)read(plan, errors);
    return errors.first();
  };
  CHECK(sentence_of("/training/sequence", 0) == "plan.json: \"training.sequence\" is 0, but must be at least 1");
  CHECK(sentence_of("/training/machine", "h1")
            .starts_with("plan.json: \"training.machine\" is \"h1\", but must be one of: "));
  CHECK(sentence_of("/pipeline/split", json{1, 2}) ==
        "plan.json: \"pipeline.split\" is [1,2]: 2 numbers, but pp x vp is 4 stages");
  CHECK(sentence_of("/cluster/devices", 8) == "plan.json: \"cluster.devices\" is 8, but tp x pp x dp x cp is 16");
  CHECK(sentence_of("/unheard", 8) == "plan.json: the file has an unknown field \"unheard\"");
  interop::file_errors errors;
  (void)interop::parse_json("{\"a\": 1,\n \"a\": 2}", "x.json", errors);
  CHECK(errors.first() == "x.json: the field \"a\" stands twice in one object");
}

TEST_CASE("a plan file names all that it lacks at once", "[files]") {
  const auto missing = [](const char* text) { return interop::missing_of_plan(json::parse(text)); };
  CHECK(missing(R"({"model": "config.json", "training": {"machine": "h100_sxm"}})") ==
        "these fields are missing: \"training.sequence\", \"cluster.devices\"");
  CHECK(missing("{}") ==
        "these fields are missing: \"model\", \"training.sequence\", \"cluster.devices\", \"cluster.memory_gib\", "
        "\"cluster.peak_tflops\", \"cluster.links\"; \"training.machine\" says peak, links and most machines' memory");
  CHECK(missing(plan_json().dump().c_str()).empty());
  CHECK(missing("[1]").empty());  // that it must be an object, the reader says
}

TEST_CASE("a machine says the memory of its devices, and a plan need not name its pipeline", "[files]") {
  json plan = plan_json();
  plan["cluster"] = {{"devices", 16}};
  plan.erase("pipeline");
  interop::file_errors errors;
  const interop::plan_input in = read(plan, errors);
  REQUIRE(errors.none());
  CHECK(in.memory.capacity.count() == std::int64_t{79} << 30);
  CHECK(in.schedule.name == "search");
  plan["cluster"]["memory_gib"] = 40;  // the file goes first
  CHECK(read(plan, errors).memory.capacity.count() == std::int64_t{40} << 30);
  REQUIRE(errors.none());
  plan["cluster"].erase("memory_gib");
  plan["training"]["machine"] = "guide_device";  // whose memory is not known
  static_cast<void>(read(plan, errors));
  CHECK(errors.first() == "plan.json: \"cluster.memory_gib\" is missing");
}
