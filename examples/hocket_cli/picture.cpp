// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "picture.hpp"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#endif

#include "command.hpp"
#include "terminal.hpp"

namespace hocket_cli {
namespace {

constexpr const char* how_to_png =
    "png needs rsvg-convert on the PATH (Debian: apt-get install librsvg2-bin); a browser shows --format svg";

#ifndef _WIN32
/// Runs rsvg-convert, which reads the SVG and writes the file; its exit status, 127 if it is not there.
int convert(const std::string& out, std::string_view svg) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();  // no shell: a file name is one argument
  if (child == 0) {
    dup2(ends[0], 0);
    close(ends[0]);
    close(ends[1]);
    execlp("rsvg-convert", "rsvg-convert", "--format=png", "--output", out.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[0]);
  while (child > 0 && !svg.empty()) {
    const ssize_t count = write(ends[1], svg.data(), svg.size());  // SIGPIPE is ignored: see main
    if (count <= 0) break;
    svg.remove_prefix(static_cast<std::size_t>(count));
  }
  close(ends[1]);
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}
#endif

}  // namespace

std::string picture_format(const std::string& given, const std::string& out) {
  if (!given.empty()) return given;
  const std::string end = std::filesystem::path(out).extension().string();
  if (end == ".png") return "png";
  if (end == ".txt") return "ascii";
  if (end == ".json") return "trace";
  return out.empty() && is_terminal(1) ? "ascii" : "svg";
}

void give_png(const std::string& out, std::string_view svg, std::string_view summary) {
  if (out.empty()) throw failure{2, "--format png needs --out FILE.png"};
#ifdef _WIN32
  fail(how_to_png);
#else
  const int status = convert(std::filesystem::absolute(out).string(), svg);
  if (status == 127) fail(how_to_png);
  if (status != 0) fail("rsvg-convert could not write " + out);
  std::cerr << hocket::to_printable(summary) << '\n';
#endif
}

}  // namespace hocket_cli
