// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of the command-line tool: the first byte says which, the rest is the file. The command ends well, or with one
// sentence. What is JSON is also changed as a value, since a changed byte mostly ends at the syntax.
#include "fuzz.hpp"

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>

#include "command.hpp"
#include "defaults.hpp"
#include "plan_step.hpp"
#include "planner.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

// main.cpp names them; its main is not called.
namespace hocket_cli {
void add_graph(CLI::App&) {}
void add_plan(CLI::App&) {}
void add_ir(CLI::App&) {}
void add_profile(CLI::App&) {}
void add_doctor(CLI::App&) {}
void add_completion(CLI::App&) {}
void add_manual(CLI::App&) {}
}  // namespace hocket_cli

namespace {

using nlohmann::json;

constexpr const char* config =
    R"({"model_type":"llama","hidden_size":64,"intermediate_size":128,"num_attention_heads":4,"num_hidden_layers":4,)"
    R"("vocab_size":100})";
constexpr const char* training =
    R"({"sequence":128,"global_batch":8,"machine":{"name":"m","source":"s","gemm_flops":1e14,"memory_bytes":1e12,)"
    R"("tensor_bytes":1e11,"expert_bytes":1e10,"pipeline_bytes":1e10,"data_bytes":1e10}})";
constexpr const char* parallel = R"({"tp":2,"pp":2,"dp":2})";
constexpr const char* ops = "op,stream,kind,reads,writes\n0,0,compute,,1\n1,1,collective,1,2\n2,0,compute,2,3\n";

/// The folder of the files, with those that do not change.
class folder {
 public:
  folder() : path_(std::filesystem::temp_directory_path() / ("hocket_fuzz_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
    write("config.json", config);
    write("training.json", training);
    write("search.json", R"({"sequence":128,"global_batch":8})");
    write("parallel.json", parallel);
    write("ops.csv", ops);
  }
  ~folder() { std::filesystem::remove_all(path_); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  [[nodiscard]] std::string at(const char* name) const { return (path_ / name).string(); }
  std::string write(const char* name, std::string_view text) const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }

 private:
  std::filesystem::path path_;
};

const folder& files() {
  static const folder f;
  return f;
}

using words = std::vector<std::string>;

/// Runs a command of the tool as its main does. Without exceptions but the tool's own, whatever the file says.
void run(void (*add)(CLI::App&), words arguments) {
  CLI::App app{"", "hocket"};
  add(app);
  hocket_cli::this_run() = {.json = false, .app = &app};
  std::reverse(arguments.begin(), arguments.end());
  app.parse(std::move(arguments));
}

void run_form(char form, std::string_view text) {
  const auto file = [&] { return files().write("input", text); };
  const std::string model = files().at("config.json"), step = files().at("training.json");
  const std::string sizes = files().at("parallel.json");
  switch (form) {
    case 't': return run(hocket_cli::add_tiling, {"tiling", "solve", "--problem", file()});
    case 's': return run(hocket_cli::add_planner, {"planner", "split", "--format", "json", "--problem", file()});
    case 'c':
      return run(hocket_cli::add_planner,
                 {"planner", "search", "--model", model, "--training", files().at("search.json"), "--cluster", file()});
    case 'm': return run(hocket_cli::add_cost, {"cost", "report", "--training", step, "--model", file()});
    case 'r': return run(hocket_cli::add_cost, {"cost", "report", "--model", model, "--training", file()});
    case 'p':
      return run(hocket_cli::add_cost, {"cost", "report", "--model", model, "--training", step, "--parallel", file()});
    case 'k':
      return run(hocket_cli::add_pipeline,
                 {"pipeline", "search", "--ranks", "2", "--micro-batches", "3", "--budget", "1000", "--costs", file()});
    case 'l':
      return run(hocket_cli::add_planner, {"planner", "layout", "--model", model, "--training", step, "--parallel",
                                           sizes, "--", std::string(text)});
    case 'w': (void)hocket_cli::read_plan_file(file()); return;
    case 'd': {
      CLI::App app{"", "hocket"};
      hocket_cli::add_tiling(app);
      hocket_cli::add_pipeline(app);
      std::vector<hocket_cli::default_value> used;
      const words all = hocket_cli::with_defaults(app, {"--config", file(), "pipeline", "search"}, used);
      for (const auto& value : used) fuzz::require(value.line > 0 && !value.values.empty());
      fuzz::require(all.size() >= 2);
      return;
    }
    default: return;
  }
}

/// Legal sizes that take long: how fast the answer comes is no matter of this target.
bool is_quick(const json& value, const std::string& key = {}) {
  if (value.is_structured()) {
    for (const auto& [name, member] : value.items())
      if (!is_quick(member, value.is_array() ? key : name)) return false;
    return true;
  }
  constexpr std::string_view slow[] = {
      "ranks", "chunks",    "micro_batches",     "count",   "devices",    "slices", "pp",
      "vp",    "max_tiles", "num_hidden_layers", "n_layer", "num_layers", "rows",   "global_batch"};
  if (!value.is_number() || std::find(std::begin(slow), std::end(slow), key) == std::end(slow)) return true;
  const double most = key == "rows" ? 1 << 16 : 64;
  return value.get<double>() <= most || value.get<double>() > 1e15;
}

// ---- changes of a value -----------------------------------------------------------------------------------------

/// Every value of a document, itself first.
void collect(json& value, std::vector<json*>& all) {
  all.push_back(&value);
  for (json& member : value)
    if (value.is_structured()) collect(member, all);
}

json odd_value(std::minstd_rand& random) {
  const json values[] = {
      0,         1,    2,     -1,         7,    64,    1e-300, 1e308,    0.5,     9007199254740993, INT64_MAX,
      INT64_MIN, 1e18, 65536, 4294967296, true, false, "",     "search", nullptr, json::array(),    json::object()};
  return values[random() % std::size(values)];
}

void change(json& document, std::minstd_rand& random) {
  std::vector<json*> all;
  collect(document, all);
  json& at = *all[random() % all.size()];
  json& other = *all[random() % all.size()];
  switch (random() % 6) {
    case 0: at = odd_value(random); break;
    case 1: at = json(other); break;
    case 2:
      if (at.is_structured() && !at.empty()) at.erase(std::next(at.begin(), static_cast<int>(random() % at.size())));
      break;
    case 3:
      if (at.is_array() && at.size() < 40) at.push_back(at.empty() ? odd_value(random) : json(at.back()));
      break;
    case 4:
      if (at.is_number_integer()) at = static_cast<std::int64_t>(at.get<std::uint64_t>() + random() % 5 - 2);
      else if (at.is_number()) at = at.get<double>() * (random() % 2 == 0 ? 0.5 : 3.0);
      break;
    default:
      if (at.is_object() && other.is_object() && !other.empty()) {
        const auto from = std::next(other.begin(), static_cast<int>(random() % other.size()));
        const json copy = from.value();
        at[std::string(from.key())] = copy;
      }
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  std::minstd_rand random(seed);
  if (size > 1 && random() % 8 != 0) {
    json document = json::parse(fuzz::text(data + 1, size - 1), nullptr, false);
    if (!document.is_discarded()) {
      for (auto n = 1 + random() % 3; n > 0; --n) change(document, random);
      const std::string text = document.dump(-1, ' ', true, json::error_handler_t::replace);
      if (text.size() + 1 <= max_size) {
        std::copy(text.begin(), text.end(), data + 1);
        return text.size() + 1;
      }
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text(data + 1, size - 1);
  if (const json document = json::parse(text, nullptr, false); !document.is_discarded() && !is_quick(document))
    return 0;
  std::ostringstream out, messages;
  std::streambuf* const before_out = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const before_messages = std::cerr.rdbuf(messages.rdbuf());
  try {
    run_form(static_cast<char>(data[0]), text);
  } catch (const hocket_cli::failure& f) {
    fuzz::require(f.exit_code == 1 && !f.sentence.empty());
    if (std::getenv("HOCKET_FUZZ_SHOW") != nullptr) std::fprintf(stderr, "%s\n", f.sentence.c_str());
  } catch (const CLI::ParseError&) {
    fuzz::require(data[0] == 'l');  // the one form that is an argument
  }
  std::cout.rdbuf(before_out);
  std::cerr.rdbuf(before_messages);
  return 0;
}
