// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of the CSV files in tests/data/cost, by column name.
#pragma once
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace csv {

using row = std::map<std::string, std::string>;

inline std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) out.emplace_back();
    else if (c != '\r') out.back() += c;
  }
  return out;
}

inline std::vector<row> read(const std::string& name) {
  std::ifstream file(std::string(HOCKET_TEST_DATA) + "/cost/" + name);
  if (!file) throw std::runtime_error("cannot open tests/data/cost/" + name);
  std::string line;
  std::getline(file, line);
  const auto header = cells(line);
  std::vector<row> rows;
  while (std::getline(file, line)) {
    const auto values = cells(line);
    if (values.size() != header.size()) throw std::runtime_error(name + ": uneven row: " + line);
    row r;
    for (std::size_t i = 0; i < header.size(); ++i) r[header[i]] = values[i];
    rows.push_back(r);
  }
  return rows;
}

inline long long number(const row& r, const std::string& column) { return std::stoll(r.at(column)); }

}  // namespace csv
