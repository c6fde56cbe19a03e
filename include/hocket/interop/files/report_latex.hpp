// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/interop/files/report_parts.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace hocket::inline HOCKET_ABI::interop {
// NOLINTBEGIN(bugprone-unchecked-optional-access): make_report sets what goes together

/// A report as LaTeX, which needs amsmath and longtable.
[[nodiscard]] inline std::string report_as_latex(const cost::report& r, const report_context& context) {
  const auto escaped = [](std::string_view s) {
    std::string out;
    for (const char c : s) {
      if (std::string_view("_&%#${}").find(c) != std::string_view::npos) out += '\\';
      if (c == '\\' || c == '^' || c == '~') out += ' ';
      else out += c;
    }
    return out;
  };
  const auto latex_real = [](double value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.6g", value);
    std::string s = text;
    if (const std::size_t e = s.find('e'); e != std::string::npos)
      s = s.substr(0, e) + " \\cdot 10^{" + std::to_string(std::stoi(s.substr(e + 1))) + "}";
    return s;
  };
  std::string out = "% needs amsmath, longtable\n\\section*{" + escaped(context.title) + "}\n";
  if (r.flops) out += "FLOPs counted with " + escaped(detail::convention_of(r.flops->counted)) + ".\n";
  if (context.step && context.training->on)
    out += "Seconds predicted for " + escaped(context.training->on->name) +
           "; rates: " + escaped(context.training->on->source) + ".\n";
  if (!context.plan.empty()) {
    out += "\\begin{longtable}{rrrrl}\nstage & layers & kept by each, bytes & again by each, FLOP & choice\\\\\n";
    for (const cost::plan_row& row : context.plan)
      out += std::to_string(row.rank) + " & " + std::to_string(row.layers.count) + " & $" +
             detail::number(row.kept_bytes) + "$ & $" + detail::number(row.again_flops) + "$ & " +
             escaped(to_string(row.layers.how)) + "\\\\\n";
    out += "\\end{longtable}\n";
  }
  std::string_view group;
  for (const auto& line : r.lines) {
    if (line.group != group) {
      if (!group.empty()) out += "\\end{longtable}\n";
      group = line.group;
      out += "\\begin{longtable}{llrl}\n\\multicolumn{4}{l}{\\textbf{" + escaped(group) + "}, " + escaped(line.unit) +
             "}\\\\\n";
    }
    out += escaped(line.name) + " & $\\displaystyle " + line.latex + " = " + line.latex_numbers + "$ & $" +
           (line.is_real ? latex_real(line.real_value) : detail::number(line.value)) + "$ & " + escaped(line.source) +
           "\\\\\n";
  }
  if (!group.empty()) out += "\\end{longtable}\n";
  return out;
}

// NOLINTEND(bugprone-unchecked-optional-access)
}  // namespace hocket::inline HOCKET_ABI::interop
