// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "command.hpp"
#include "json_fields.hpp"
#include "plan_step.hpp"
#include "tiling_problem.hpp"

namespace hocket_cli {

plan_input read_plan(const std::string& file) {
  const nlohmann::json whole = read_json_file(file);
  const json_object v(whole, file, "",
                      {"version", "title", "model", "training", "parallel", "cluster", "graph", "pipeline",
                       "fused_operator", "step_seconds", "notes"});
  plan_input in;
  in.file = file;
  in.title = v.text_or("title", "training step");
  const auto beside = [&](const std::string& name) {
    return (std::filesystem::path(file).parent_path() / name).lexically_normal().string();
  };

  const std::string config = beside(v.text("model"));
  in.model = read_model_config(read_json_file(config), config);
  in.training = read_training(v.at("training"), file, "training");
  in.parallel = read_parallel(v.at("parallel"), file, "parallel");

  const json_object cluster = v.object("cluster", {"devices", "memory_gib", "peak_tflops", "efficiency", "links"});
  in.devices = cluster.integer("devices", 1);
  if (in.devices != in.parallel.devices())
    cluster.fail_at("devices", "is " + std::to_string(in.devices) + ", but tp x pp x dp x cp is " +
                                   std::to_string(in.parallel.devices()));
  const double memory_gib = cluster.positive("memory_gib");
  if (memory_gib > 1e6) cluster.fail_at("memory_gib", "must be at most 1000000");
  in.memory_bytes = static_cast<std::int64_t>(memory_gib * 1073741824.0);
  const std::string type = v.at("training").value("weights", "bf16");
  in.peak_tflops = cluster.object("peak_tflops", {"fp8", "bf16", "fp16", "fp32", "fp64"}).positive(type.c_str());
  if (cluster.has("efficiency")) in.efficiency = cluster.positive("efficiency");
  if (in.efficiency > 1) cluster.fail_at("efficiency", "must be at most 1");
  const json_object links = cluster.object("links", {"pipeline"});
  const json_object pipeline_link = links.object("pipeline", {"latency_us", "gb_per_s"});
  in.pipeline_link = {pipeline_link.number("latency_us"), pipeline_link.positive("gb_per_s")};
  if (in.pipeline_link.latency_us < 0) pipeline_link.fail_at("latency_us", "must not be negative");
  if (v.has("step_seconds")) {
    in.training.step_seconds = v.positive("step_seconds");
    in.training.peak_tflops = in.peak_tflops;
  }

  const json_object graph = v.object("graph", {"ops", "rules"});
  in.ops_file = beside(graph.text("ops"));
  in.ops = value_or_fail(hocket::text::parse_ops_csv(read_file(in.ops_file)), in.ops_file);
  if (graph.has("rules")) in.ordered = graph.choice("rules", {"data", "ordered"}) == 1;

  const json_object pipeline =
      v.object("pipeline", {"schedule", "groups", "kappa", "micro_batches", "forward_us", "backward_us"});
  in.schedule = pipeline.text_or("schedule", "search");
  for (const char* key : {"groups", "kappa"})
    if (in.schedule == "search" && pipeline.has(key))
      pipeline.fail_at(key, "needs a \"schedule\": none is searched for");
  in.groups = pipeline.text_or("groups", in.groups);
  in.kappa = static_cast<std::uint32_t>(pipeline.integer_or("kappa", 0, 1, 2));
  if (pipeline.has("forward_us") != pipeline.has("backward_us"))
    pipeline.fail_at(pipeline.has("forward_us") ? "backward_us" : "forward_us",
                     "is missing: measured times come in pairs");
  if (pipeline.has("forward_us")) {
    in.forward_us = pipeline.positive("forward_us");
    in.backward_us = pipeline.positive("backward_us");
  }
  const hocket::cost::training& t = in.training.step;
  if (t.global_batch % (t.micro_batch * in.parallel.dp) != 0)
    fail(file + ": training: \"global_batch\" of " + std::to_string(t.global_batch) +
         " is not divisible by micro_batch x dp = " + std::to_string(t.micro_batch * in.parallel.dp));
  if (pipeline.has("micro_batches") && pipeline.integer("micro_batches") != in.micro_batches())
    pipeline.fail_at("micro_batches", "is " + pipeline.at("micro_batches").dump() +
                                          ", but global_batch / (micro_batch x dp) is " +
                                          std::to_string(in.micro_batches()));

  if (v.has("fused_operator")) in.fused = read_tiling_problem(v.at("fused_operator"), file, "fused_operator");
  return in;
}

}  // namespace hocket_cli
