// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recorded questions of schedules.csv, for tests and benchmarks.
#pragma once
#include <hocket/pipeline/costs.hpp>
#include <hocket/planner/schedule/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace recorded {

struct schedule_question {
  std::string column;  // what kind of question: "no cap", …
  hocket::planner::schedule_problem problem;
  std::vector<hocket::ticks> forward, backward, input_grad, weight_grad;  // by stage
  hocket::ticks hop = 0;
  hocket::ticks makespan = 0;
  hocket::ticks lower_bound = 0;

  [[nodiscard]] hocket::pipeline::stage_costs costs() const& {
    return {.forward = forward, .backward = backward, .input_grad = input_grad, .weight_grad = weight_grad, .hop = hop};
  }
  [[nodiscard]] hocket::pipeline::stage_costs costs() && = delete;
};

/// The fields of a line of CSV; commas within quotes belong to a field.
inline std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted) fields.emplace_back();
    else fields.back() += c;
  }
  return fields;
}

inline std::vector<hocket::ticks> numbers_in(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<hocket::ticks>(in), {}};
}

/// @param folder  tests/data
inline std::vector<schedule_question> schedule_questions(const std::string& folder) {
  std::ifstream file(folder + "/planner/schedules.csv");
  std::string line;
  std::getline(file, line);  // the names of the fields
  std::vector<schedule_question> all;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = fields_of(line);
    schedule_question x;
    x.column = cells.at(0);
    x.problem.shape = {std::stoll(cells.at(1)), std::stoll(cells.at(2)), std::stoll(cells.at(3))};
    x.problem.order = hocket::planner::parse_stage_order(cells.at(4)).value();
    x.problem.split_backward = cells.at(5) == "split";
    if (!cells.at(6).empty())
      x.problem.memory_cap.assign(static_cast<std::size_t>(x.problem.shape.ranks),
                                  static_cast<std::uint32_t>(std::stoul(cells.at(6))));
    x.forward = numbers_in(cells.at(7));
    x.input_grad = numbers_in(cells.at(8));
    x.weight_grad = numbers_in(cells.at(9));
    for (std::size_t s = 0; s < x.forward.size(); ++s) x.backward.push_back(x.input_grad[s] + x.weight_grad[s]);
    x.hop = std::stoll(cells.at(10));
    x.makespan = std::stoll(cells.at(11));
    x.lower_bound = std::stoll(cells.at(12));
    all.push_back(std::move(x));
  }
  return all;
}

}  // namespace recorded
