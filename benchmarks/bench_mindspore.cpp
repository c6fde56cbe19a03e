// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast dumps of MindSpore's IR are read: statement by statement, and into a program. Beside it the least that any
// reader of lines does: looking for the ends of lines.
//
//     bench_mindspore [--benchmark_filter=REGEX] [DUMP…]      without files: those of tests/data/mindspore
#include <hocket/core/message.hpp>
#include <hocket/interop/mindspore/parse_ir.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "measure.hpp"

namespace {

namespace ms = hocket::mindspore;

struct nothing {
  hocket::result<void> entry(std::string_view /*name*/) { return {}; }
  hocket::result<void> parameter(const ms::ir_parameter_view& /*p*/) { return {}; }
  hocket::result<void> begin_graph(const ms::ir_heading_view& /*g*/) { return {}; }
  hocket::result<void> statement(const ms::ir_statement_view& s) {
    ++statements;
    letters += s.operands.size();
    return {};
  }
  hocket::result<void> end_graph() { return {}; }
  std::size_t statements = 0, letters = 0;
};

std::size_t lines_of(std::string_view text) {
  std::size_t lines = 0;
  while (!text.empty()) {
    const void* const end = std::memchr(text.data(), '\n', text.size());
    if (end == nullptr) break;
    text.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(end) - text.data()) + 1);
    ++lines;
  }
  return lines;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  std::regex wanted(".*");
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--benchmark_filter=", 0) == 0) wanted = std::regex(word.substr(19));
    else names.push_back(word);
  }
  if (names.empty())
    for (const char* const name : {"full_fp32", "pipeline_rank0", "tensor_parallel", "type_inference"})
      names.push_back(std::string(HOCKET_TEST_DATA "/mindspore/") + name + ".ir");
  for (const std::string& name : names) {
    const std::string row = "mindspore/" + name.substr(name.rfind('/') + 1);
    if (!std::regex_search(row, wanted)) continue;
    std::ifstream file(name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<double> lines, statements, programs;
    std::size_t seen = 0;
    constexpr int rounds = 21;
    for (int round = 0; round < rounds; ++round) {  // interleaved: all three see the same machine
      double start = bench::now();
      seen += lines_of(text);
      lines.push_back(bench::now() - start);
      start = bench::now();
      nothing visitor;
      ms::ir_reader reader(visitor);
      if (!reader.feed(text) || !reader.finish()) return 1;
      statements.push_back(bench::now() - start);
      start = bench::now();
      const auto program = ms::parse_ir(text);
      if (!program) {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), message(program.error()).c_str());
        return 1;
      }
      programs.push_back(bench::now() - start);
      seen += visitor.letters;
    }
    const auto speed = [&](const std::vector<double>& ms_each) {
      return static_cast<double>(text.size()) / (median(ms_each) * 1e3);
    };
    std::printf(
        "%-32s %6.2f MB  statements %5.0f MB/s must >= 200  program %5.0f MB/s  ends of lines alone %6.0f MB/s\n",
        row.c_str(), static_cast<double>(text.size()) * 1e-6, speed(statements), speed(programs), speed(lines));
    if (seen == 0) return 1;
  }
  return 0;
}
