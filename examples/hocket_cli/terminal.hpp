// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is only for a person at a terminal: colours, the progress of a long search, and Ctrl-C.
#pragma once
#include <hocket/planner/search_watch.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace hocket_cli {

/// Whether standard error (2) or standard output (1) is a terminal.
bool is_terminal(int descriptor);
/// Whether to colour what goes there: a terminal that is not "dumb", and no NO_COLOR (https://no-color.org).
bool has_colours(int descriptor);
enum class ink { good, bad, soft };
/// The words in a colour, or as they are.
std::string coloured(std::string_view words, ink colour, int descriptor);

/// While it lives, Ctrl-C asks for the end of the search, and a second one ends the tool at once with 130. On a
/// terminal it shows the progress of a search that takes longer than two seconds. Only one may live at a time.
class search_guard {
 public:
  search_guard();
  ~search_guard();
  search_guard(const search_guard&) = delete;
  search_guard& operator=(const search_guard&) = delete;

  /// The watch of the search: false once Ctrl-C was pressed.
  bool operator()(hocket::planner::search_progress at) const;
  /// Whether Ctrl-C was pressed.
  [[nodiscard]] static bool interrupted();

 private:
  using clock = std::chrono::steady_clock;
  void show(hocket::planner::search_progress at, clock::time_point now) const;

  clock::time_point begin_ = clock::now();
  bool shows_;
  mutable clock::time_point shown_at_ = begin_;
  mutable clock::time_point counted_from_ = begin_;  // when the first part of the budget was spent
  mutable bool shown_ = false, counts_ = false;
  void (*before_)(int) = nullptr;  // the handler
};

}  // namespace hocket_cli
