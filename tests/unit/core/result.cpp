// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hocket/core.hpp>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#endif
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"

using hocket::errc;
using hocket::error;
using hocket::result;

namespace {

constexpr result<int> half(int n) {
  if (n % 2 != 0) return error{errc::indivisible, n, 2}.with("n");
  return n / 2;
}
static_assert(half(4).value() == 2);
static_assert(half(3).error().code == errc::indivisible);
static_assert(half(8).and_then(half).and_then(half).value() == 1);
static_assert(half(6).and_then(half).error().values[0] == 3);
static_assert(half(3).value_or(-1) == -1);

#ifndef _GLIBCXX_DEBUG  // its vector is for no constant expression
constexpr result<std::vector<int>> zeros(int n) {
  if (n < 0) return error{errc::out_of_range, n};
  return std::vector<int>(static_cast<std::size_t>(n), 0);
}
static_assert([] {
  result<std::vector<int>> r = zeros(3);
  r = zeros(-1);
  return !r && zeros(3)->size() == 3;
}());
#endif

}  // namespace

TEST_CASE("a result owns what it holds through copies, moves and assignment", "[core]") {
  auto shared = std::make_shared<int>(5);
  result<std::shared_ptr<int>> a = shared;
  {
    const auto b = a;
    CHECK(shared.use_count() == 3);
    const auto c = std::move(a);
    CHECK(shared.use_count() == 3);
  }
  a = error{errc::overflow};
  CHECK(shared.use_count() == 1);
  CHECK_FALSE(a);
  a = shared;
  const auto& itself = a;
  a = itself;
  CHECK(**a == 5);
  CHECK(shared.use_count() == 2);
}

TEST_CASE("a result may be move-only", "[core]") {
  result<std::unique_ptr<std::string>> r = std::make_unique<std::string>("once");
  static_assert(!std::is_copy_constructible_v<decltype(r)>);
  const std::unique_ptr<std::string> s = std::move(r).value();
  CHECK(*s == "once");
}

TEST_CASE("what a temporary result held outlives it where it is named or looped over", "[core]") {
  using list = std::vector<std::unique_ptr<int>>;
  const auto make = [](int n) {
    list all;
    for (int i = 0; i < n; ++i) all.push_back(std::make_unique<int>(i));
    return result<list>(std::move(all));
  };
  static_assert(std::is_same_v<decltype(make(1).value()), list> && std::is_same_v<decltype(*make(1)), list>);
  int sum = 0;
  for (const auto& x : make(4).value()) sum += *x;
  for (const auto& x : *make(4)) sum += *x;
  const list& kept = make(4).value();
  for (const auto& x : kept) sum += *x;
  CHECK(sum == 18);
}

TEST_CASE("what follows a value follows no error", "[core]") {
  int calls = 0;
  const auto more = [&calls](int n) {
    ++calls;
    return half(n);
  };
  CHECK(half(8).and_then(more).value() == 2);
  CHECK(half(6).and_then(more).error() == error{errc::indivisible, 3, 2}.with("n"));
  CHECK(calls == 2);
  CHECK(half(5).and_then(more).error() == error{errc::indivisible, 5, 2}.with("n"));
  CHECK(calls == 2);
  CHECK(half(8).value_or(9) == 4);
  CHECK(half(7).value_or(9) == 9);
}

TEST_CASE("success without a value", "[core]") {
  CHECK(result<void>{});
  CHECK(result<void>{error{errc::cycle, 1, 2}}.error().code == errc::cycle);
}

#if !defined(_WIN32)  // which has no fork
namespace {

// What a child process that runs f prints to stderr, and how it ends.
template <class F>
std::string last_words(F&& f, int& status) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // not the test framework's handler
    f();
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char some[256];
  for (ssize_t count = 0; (count = read(ends[0], some, sizeof some)) > 0;)
    said.append(some, static_cast<std::size_t>(count));
  close(ends[0]);
  REQUIRE(waitpid(child, &status, 0) == child);
  return said.substr(0, said.find('\n') + 1);  // an emulator has a last word, too
}

}  // namespace

TEST_CASE("value() of an error says which before it ends the program", "[core]") {
  int status = 0;
  CHECK(last_words([] { static_cast<void>(half(3).value()); }, status) ==
        "hocket: value() of a result that has none: n: 3 is not divisible by 2\n");
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  const auto failed = [] { result<void>(error{errc::malformed, 7, 2}.with("a\nb")).value(); };
  CHECK(last_words(failed, status) ==
        "hocket: value() of a result that has none: line 7, column 2: \"a?b\" is not understood\n");
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  result<int> kept = half(5);
  const result<int>& seen = kept;
  const std::string said = "hocket: value() of a result that has none: n: 5 is not divisible by 2\n";
  CHECK(last_words([&kept] { kept.value() = 1; }, status) == said);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  CHECK(last_words([&seen] { static_cast<void>(seen.value()); }, status) == said);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  CHECK(last_words([] { static_cast<void>(half(4).value()); }, status).empty());
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
#endif
