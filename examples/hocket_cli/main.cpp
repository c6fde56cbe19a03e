// SPDX-License-Identifier: Apache-2.0
// hocket: the library on the command line. Data to stdout, one summary line and messages to stderr;
// exit 0 ok, 1 the input is bad or infeasible, 2 wrong usage.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <new>
#include <sstream>

#include "command.hpp"

namespace hocket_cli {

void fail(std::string sentence) { throw failure{1, std::move(sentence)}; }
void fail(std::string_view file, const hocket::error& why) { fail(std::string(file) + ": " + message(why)); }

std::string read_file(const std::string& path) {
  constexpr std::size_t limit = std::size_t{1} << 30;
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  if (path != "-" && !file) fail("cannot read " + path);
  std::istream& in = path == "-" ? std::cin : file;
  std::string data;
  char block[1 << 16];
  while (in.read(block, sizeof block), in.gcount() > 0) {
    data.append(block, static_cast<std::size_t>(in.gcount()));
    if (data.size() > limit) fail(path + ": larger than 1 GiB");
  }
  if (in.bad() || (path != "-" && file.fail() && !file.eof())) fail("cannot read " + path);
  return data;
}

void write_file(const std::string& path, std::string_view data) {
  if (path.empty()) {
    std::cout.write(data.data(), static_cast<std::streamsize>(data.size()));
    std::cout.flush();
    if (!std::cout) fail("cannot write to standard output");
    return;
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(data.data(), static_cast<std::streamsize>(data.size()));
  file.close();
  if (!file) fail("cannot write " + path);
}

void add_not_yet(CLI::App& parent, const std::string& name, const std::string& description) {
  CLI::App* command = parent.add_subcommand(name, description + " (not yet)");
  command->allow_extras();
  command->callback([full = parent.get_name() + " " + name] { throw failure{2, "hocket " + full + ": not yet"}; });
}

}  // namespace hocket_cli

int main(int argc, char** argv) {
  CLI::App app{"Plans what a deep-learning executor runs: dependencies, pipeline schedules, tilings, costs", "hocket"};
  app.set_version_flag("--version", HOCKET_VERSION_STRING);
  app.require_subcommand(1);
  hocket_cli::add_graph(app);
  hocket_cli::add_pipeline(app);
  hocket_cli::add_tiling(app);
  hocket_cli::add_cost(app);
  hocket_cli::add_planner(app);
  hocket_cli::add_plan(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const hocket_cli::failure& f) {
    std::cerr << "hocket: " << f.sentence << '\n';
    return f.exit_code;
  } catch (const std::bad_alloc&) {
    std::cerr << "hocket: out of memory\n";
    return 1;
  } catch (const std::exception& e) {
    std::cerr << "hocket: " << e.what() << '\n';
    return 1;
  }
}
