// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace hocket_cli {
namespace {

volatile std::sig_atomic_t stop_wanted = 0;

// Only what a signal handler may do: a flag, a write, an end.
extern "C" void hocket_on_interrupt(int) {
  constexpr int interrupted_twice = 130;  // 128 + SIGINT, as shells count
  if (stop_wanted != 0) std::_Exit(interrupted_twice);
  stop_wanted = 1;
  std::signal(SIGINT, hocket_on_interrupt);  // System V takes a handler away when it is called
}

}  // namespace

bool is_terminal(int descriptor) {
#ifdef _WIN32
  return _isatty(descriptor) != 0;
#else
  return isatty(descriptor) != 0;
#endif
}

bool has_colours(int descriptor) {
  const char* const none = std::getenv("NO_COLOR");
  if (none != nullptr && *none != '\0') return false;
  const char* const kind = std::getenv("TERM");
  return kind != nullptr && std::string_view(kind) != "dumb" && is_terminal(descriptor);
}

std::string coloured(std::string_view words, ink colour, int descriptor) {
  if (!has_colours(descriptor)) return std::string(words);
  const char* const begin = colour == ink::good ? "\x1b[32m" : colour == ink::bad ? "\x1b[1;31m" : "\x1b[2m";
  return begin + std::string(words) + "\x1b[0m";
}

search_guard::search_guard() : shows_(is_terminal(2)) {
  stop_wanted = 0;
  // Who ignores it (nohup) goes on ignoring it.
  before_ = std::signal(SIGINT, hocket_on_interrupt);
  if (before_ == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

search_guard::~search_guard() {
  std::signal(SIGINT, before_ == SIG_ERR ? SIG_DFL : before_);
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

bool search_guard::interrupted() { return stop_wanted != 0; }

bool search_guard::operator()(hocket::planner::search_progress at) const {
  if (shows_) {
    const clock::time_point now = clock::now();
    constexpr std::chrono::seconds long_search{2};
    constexpr std::chrono::milliseconds step{200};
    if (at.done > 0 && !counts_) {
      counts_ = true;
      counted_from_ = now;
    }
    if (now - begin_ > long_search && now - shown_at_ > step) show(at, now);
  }
  return !interrupted();
}

void search_guard::show(hocket::planner::search_progress at, clock::time_point now) const {
  shown_at_ = now;
  shown_ = true;
  const double share = at.all > 0 ? static_cast<double>(at.done) / static_cast<double>(at.all) : 0;
  const double passed = std::chrono::duration<double>(now - counted_from_).count();
  if (share > 0 && passed > 0)
    std::fprintf(stderr, "\r\x1b[Ksearching: %.0f %%, about %.0f s left (Ctrl-C: the best so far)", 100 * share,
                 passed * (1 - share) / share + 0.5);
  else std::fprintf(stderr, "\r\x1b[Ksearching (Ctrl-C: the best so far)");
  std::fflush(stderr);
}

}  // namespace hocket_cli
