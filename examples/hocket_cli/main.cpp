// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket: the library on the command line. Data to stdout, one summary line and messages to stderr;
// exit 0 ok, 1 the input is bad or infeasible, 2 wrong usage.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <new>
#include <sstream>

#include "command.hpp"
#include "defaults.hpp"
#include "guesses.hpp"
#include "terminal.hpp"

namespace hocket_cli {

// For a file named "-", once: two files cannot be read from it.
static std::istream& standard_input() {
  static bool is_read = false;
  if (is_read) fail("standard input was read already: - can be one file only");
  is_read = true;
  return std::cin;
}

std::string read_file(const std::string& path) {
  constexpr std::size_t limit = std::size_t{1} << 30;
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  if (path != "-" && !file) fail("cannot read " + path);
  std::istream& in = path == "-" ? standard_input() : file;
  std::string data;
  char block[1 << 16];
  while (in.read(block, sizeof block), in.gcount() > 0) {
    const auto count = static_cast<std::size_t>(in.gcount());
    // Every form is text. A device or a disk image ends here, not at the limit.
    if (std::memchr(block, 0, count) != nullptr) {
      const bool nsight = path.ends_with(".nsys-rep") || path.ends_with(".qdrep");
      fail(path + (nsight ? ": a report of Nsight Systems is not read; give a trace of torch.profiler (trace.json)"
                          : ": holds a zero byte, so it is no text"));
    }
    if (data.size() + count > limit) fail(path + ": larger than 1 GiB");
    if (data.size() + count > data.capacity()) data.reserve((std::min)(limit, 2 * data.capacity() + count));
    data.append(block, count);
  }
  if (in.bad() || (path != "-" && file.fail() && !file.eof())) fail("cannot read " + path);
  return data;
}

std::vector<std::int64_t> number_list(const std::string& option, std::string_view words, std::int64_t least,
                                      std::int64_t most, const std::string& must) {
  std::vector<std::int64_t> numbers;
  for (std::size_t from = 0; from <= words.size();) {
    const std::string_view word = words.substr(from, std::min(words.find(',', from), words.size()) - from);
    std::int64_t x = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), x);
    if (read.ec != std::errc{} || read.ptr != word.data() + word.size() || x < least || x > most)
      throw failure{2, option + " holds \"" + std::string(word) + "\", but must be " + must};
    numbers.push_back(x);
    from += word.size() + 1;
  }
  return numbers;
}

std::string fits_64_bits(const std::string& word) {
  std::int64_t x = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), x);
  return read.ec == std::errc::result_out_of_range ? word + " does not fit 64 bits" : "";
}

std::function<std::string(const std::string&)> is_number(double least, double most, const std::string& what) {
  return [=](const std::string& word) {
    double value = 0;
    const char* const end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, value);
    const bool good = read.ec == std::errc{} && read.ptr == end && value >= least && value <= most;
    return good ? std::string() : word + " is not a " + what;
  };
}

}  // namespace hocket_cli

namespace {

// One line for people, whatever a file name, a cell or a parser's message holds.
void complain(std::string_view sentence) {
  constexpr std::size_t longest = 1200;
  const bool cut = sentence.size() > longest;
  if (cut) {
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(sentence[end]) & 0xc0) == 0x80) --end;  // not within a character
    sentence = sentence.substr(0, end);
  }
  std::cerr << hocket_cli::coloured("hocket:", hocket_cli::ink::bad, 2) << ' ' << hocket::to_printable(sentence)
            << (cut ? "...\n" : "\n");
}

// CLI11's own words, on one line, and where to read on.
void complain_about_usage(std::string words) {
  while (!words.empty() && (words.back() == '\n' || words.back() == ' ')) words.pop_back();
  for (char& c : words) c = c == '\n' ? ' ' : c;
  complain(words + " (--help says what is possible)");
}

// A command that has --format says with it what --json says, too: not both.
void json_or_format(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) json_or_format(*command);
  CLI::Option* const json = app.get_option_no_throw("--json");
  CLI::Option* const format = app.get_option_no_throw("--format");
  if (json != nullptr && format != nullptr) json->excludes(format);
}

}  // namespace

int main(int argc, char** argv) {
#ifdef SIGPIPE
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is a failed write: write_file ends the tool
#endif
  CLI::App app{"Plans what a deep-learning executor runs: dependencies, pipeline schedules, tilings, costs", "hocket"};
  app.set_version_flag("-V,--version", HOCKET_VERSION_STRING);
  std::string config;  // with_defaults takes it before CLI11 sees it
  app.add_option("--config", config, "Default values of options (default: hocket/config.toml in XDG_CONFIG_HOME)")
      ->type_name("FILE");
  app.require_subcommand(1);
  hocket_cli::add_graph(app);
  hocket_cli::add_pipeline(app);
  hocket_cli::add_tiling(app);
  hocket_cli::add_ranks(app);
  hocket_cli::add_cost(app);
  hocket_cli::add_planner(app);
  hocket_cli::add_plan(app);
  hocket_cli::add_ir(app);
  hocket_cli::add_profile(app);
  hocket_cli::add_machines(app);
  hocket_cli::add_doctor(app);
  hocket_cli::add_completion(app);
  hocket_cli::add_manual(app);
  hocket_cli::this_run().app = &app;
  json_or_format(app);
  std::vector<hocket_cli::default_value> defaults;
  try {
    for (int i = 1; i < argc; ++i)  // an unset variable of a script; an empty name must not mean "not given"
      if (const std::string_view word = argv[i]; word.empty() || (word.starts_with("--") && word.ends_with('='))) {
        complain_about_usage(
            "argument " + std::to_string(i) +
            (word.empty() ? ", behind \"" + std::string(argv[i - 1]) + "\"," : " \"" + std::string(word) + "\"") +
            " is empty");
        return 2;
      }
    std::vector<std::string> words =
        hocket_cli::with_defaults(app, hocket_cli::as_meant(app, {argv + 1, argv + argc}), defaults);
    std::reverse(words.begin(), words.end());  // CLI11 takes the last first
    app.parse(std::move(words));
    return 0;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    const bool missing = dynamic_cast<const CLI::RequiredError*>(&e) != nullptr;
    const bool unknown = missing || dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr;
    const std::string said = unknown ? hocket_cli::not_understood(app) : "";
    if (!said.empty()) complain_about_usage(said);
    else
      complain_about_usage(hocket_cli::place_of(e.what(), defaults) + e.what() +
                           (missing ? hocket_cli::call_without_files(app) : ""));
    return 2;
  } catch (const hocket_cli::failure& f) {
    if (!f.sentence.empty()) complain(hocket_cli::place_of(f.sentence, defaults) + f.sentence);
    return f.exit_code;
  } catch (const std::bad_alloc&) {
    complain("out of memory");
    return 1;
  } catch (const std::exception& e) {
    complain(e.what());
    return 1;
  }
}
