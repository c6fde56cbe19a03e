// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket manual: the manual page, in the man macros of roff, written from the tool's own tree of commands.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "command.hpp"
#include "tree.hpp"

namespace hocket_cli {
namespace {

/// The code point that begins at `at`, which is moved past it; what is no UTF-8 comes back byte by byte.
char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at++);
  const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  if (more == 0 || at + more > text.size()) return first;
  char32_t code = first & (0x3fu >> more);
  for (std::size_t i = 0; i < more; ++i) code = code << 6 | (byte(at++) & 0x3fu);
  return code;
}

/// Text as roff shows it: nothing in it is a request or an escape.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    const bool begins = out.empty() || out.back() == '\n';
    if (c >= 0x80) {
      char escape[16];
      std::snprintf(escape, sizeof escape, "\\[u%04X]", static_cast<unsigned>(c));
      out += escape;
    } else if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (begins && (c == '.' || c == '\'')) out += std::string("\\&") + static_cast<char>(c);
    else if (c == '\'') out += "\\(aq";
    else if (c == '^') out += "\\(ha";
    else if (c == '~') out += "\\(ti";
    else if (c == '`') out += "\\(ga";
    else out += static_cast<char>(c);
  }
  return out;
}

void put_option(std::string& out, const option_entry& option) {
  out += ".TP\n";
  if (option.names.empty()) {
    out += "\\fI" + plain(option.value) + "\\fR\n";
  } else {
    for (std::size_t i = 0; i < option.names.size(); ++i)
      out += (i == 0 ? "\\fB" : ", \\fB") + plain(option.names[i]) + "\\fR";
    if (!option.value.empty()) out += " \\fI" + plain(option.value) + "\\fR";
    out += '\n';
  }
  out += plain(option.text) + '\n';
  if (option.choices.empty() || option.text.find(option.choices.back()) != std::string::npos) return;
  out += "One of:";
  for (std::size_t i = 0; i < option.choices.size(); ++i) out += (i == 0 ? " " : ", ") + plain(option.choices[i]);
  out += ".\n";
}

/// "hocket plan [OPTIONS] FILE --out DIR": what has no name, and what must be given.
void put_synopsis(std::string& out, const command_entry& command) {
  out += ".B hocket " + plain(command.path) + "\n[\\fIOPTIONS\\fR]";
  for (const option_entry& option : command.options) {
    const std::string value = "\\fI" + plain(option.value) + "\\fR";
    if (option.names.empty()) out += option.required ? ' ' + value : " [" + value + ']';
    else if (option.required) out += " \\fB" + plain(option.names.back()) + "\\fR " + value;
  }
  out += "\n.br\n";
}

void put_command(std::string& out, const command_entry& command) {
  out += ".SS hocket " + plain(command.path) + '\n' + plain(command.text) + ".\n";
  for (const option_entry& option : command.options)
    if (option.names.empty() || option.names.front() != "-h") put_option(out, option);
  if (!command.footer.empty()) out += ".PP\n.nf\n" + plain(command.footer) + "\n.fi\n";
}

std::string manual_page(const std::vector<command_entry>& all) {
  std::string out =
      ".\\\" SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
      ".\\\" Written by \"hocket manual\" from the tool's own commands.\n"
      ".TH HOCKET 1 \"\" \"hocket " HOCKET_VERSION_STRING
      "\" \"User Commands\"\n"
      ".SH NAME\nhocket \\- " +
      plain(all.front().text) + "\n.SH SYNOPSIS\n";
  for (const command_entry& command : all)
    if (command.subcommands.empty()) put_synopsis(out, command);
  out +=
      ".SH DESCRIPTION\n"
      "Data goes to standard output, one summary line and messages go to standard error.\n"
      "Every command takes \\fB\\-\\-help\\fR. A file named \\fB\\-\\fR is standard input.\n"
      ".SH OPTIONS\n";
  for (const option_entry& option : all.front().options) put_option(out, option);
  out += ".SH COMMANDS\n";
  for (const command_entry& command : all)
    if (command.subcommands.empty()) put_command(out, command);
  out +=
      ".SH EXIT STATUS\n"
      ".TP\n.B 0\nAll is well.\n"
      ".TP\n.B 1\nThe input is bad, or no answer exists. One sentence on standard error says why.\n"
      ".TP\n.B 2\nWrong usage.\n"
      ".TP\n.B 130\nInterrupted (Ctrl\\-C). The first interrupt of a search ends it with the best so far, and status "
      "0.\n"
      ".SH FILES\n"
      ".TP\n.I $XDG_CONFIG_HOME/hocket/config.toml\n"
      "Default values of options: a section for each command, such as \\fB[pipeline.search]\\fR, with lines such as\n"
      "\\fBbudget = 100000\\fR. Without XDG_CONFIG_HOME it is looked for in \\fI~/.config\\fR. The command line goes "
      "first.\n"
      ".SH ENVIRONMENT\n"
      ".TP\n.B NO_COLOR\nIf set and not empty, nothing is coloured. Only terminals see colours at all.\n"
      ".TP\n.B XDG_CONFIG_HOME\nSee FILES.\n"
      ".SH EXAMPLES\n.nf\n"
      "hocket pipeline draw interleaved \\-\\-ranks 4 \\-\\-chunks 2 \\-\\-micro\\-batches 8 \\-\\-format ascii\n"
      "hocket plan plan.json \\-\\-out out \\-\\-open\n"
      "hocket pipeline simulate 1f1b \\-\\-ranks 4 \\-\\-micro\\-batches 8 \\-\\-json\n"
      ".fi\n";
  return out;
}

}  // namespace

void add_manual(CLI::App& app) {
  const auto out = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("manual", "The manual page, for man: hocket manual | man -l -");
  add_out_alone(*command, *out);
  command->callback([out] { write_file(*out, manual_page(commands_of(*this_run().app))); });
}

}  // namespace hocket_cli
