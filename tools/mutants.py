#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Do the tests notice when the code is wrong?

    tools/mutants.py [PATH] [N] [SEED]     N changes (default 100) in the headers below PATH (default include/hocket)

Each mutant is one small change: another comparison, another operation, a number one larger, a condition negated, a
statement left out. All of a component are compiled at once, each behind a switch that the variable HOCKET_MUTANT turns
on; so N mutants cost one build, and of each mutant the test cases that run through it, the quickest first. A mutant is
detected if a test fails, crashes or takes much longer than without it. In constant expressions a mutant never shows, so
static_asserts detect none.

Survivors are listed with place and change. tools/mutants_judged.txt has those that somebody has judged, with the reason:
header | change | the line | reason. The line's text names the place, so a judgement lives until its line changes; where
a line offers the same change twice, "(2)" behind the change means the second from the left, and "[2]" behind the line
the second line of a header that reads so.
"""
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build/mutants/tree"  # the sources with the mutants in them
BUILD = ROOT / "build/mutants/build"
JUDGED = ROOT / "tools/mutants_judged.txt"
ELSEWHERE = ["include/hocket/launch/transports/mpi.hpp"]  # tests/mpi runs it, in several processes
ALSO = {"text": ["curve"]}  # samples are read by text and tested where they are fitted
TABLES = r"inline constexpr (?=(architecture|family) )"  # constants that may be filled when the program starts, too
COPIED = ["CMakeLists.txt", "LICENSE", "README.md", "bindings", "cmake", "docs", "include", "tests", "examples", "tools"]

# Operators stand between spaces here: clang-format sees to it, and so no template bracket is taken for one.
OPERATORS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*"}
SWITCH = """// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
#include <type_traits>
#include <utility>
namespace hocket_mutants {
struct state {
  int active = 0;  // -1: note which mutants are run through
  unsigned char* seen = nullptr;
  state();
};
inline const state now;
inline state::state() {
  if (const char* const text = std::getenv("HOCKET_MUTANT")) active = std::atoi(text);
  if (active != -1) return;
  // Of child processes, too, and of those that end badly.
  const int file = ::open(std::getenv("HOCKET_MUTANTS_SEEN"), O_RDWR);
  if (file < 0 || ::ftruncate(file, %(count)d + 1) != 0) std::abort();
  seen = static_cast<unsigned char*>(::mmap(nullptr, %(count)d + 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
}
constexpr bool on(int id) noexcept {
  if (std::is_constant_evaluated()) return false;
  if (now.seen != nullptr) now.seen[id] = 1;
  return now.active == id;
}
template <class T>
constexpr T number(int id, T value) noexcept { return on(id) ? static_cast<T>(value + 1) : value; }
template <class T>
T late_number(int id, T value) noexcept { return number(id, value); }  // in no constant expression
template <int Id, int Kind>
struct mark {};
template <class A, int Id, int Kind>
struct left {
  A value;
};
"""
# a < b becomes a < mark < b: the same precedence, read from the left.
OPERATION = """
template <class A, int Id>
constexpr left<A&&, Id, %(kind)d> operator%(op)s(A&& a, mark<Id, %(kind)d>) noexcept { return {static_cast<A&&>(a)}; }
template <class A, int Id, class B>
constexpr auto operator%(op)s(left<A, Id, %(kind)d>&& l, B&& b)
    -> std::remove_cvref_t<decltype(static_cast<A&&>(l.value) %(op)s static_cast<B&&>(b))> {
  using R = std::remove_cvref_t<decltype(static_cast<A&&>(l.value) %(op)s static_cast<B&&>(b))>;
  static_assert(requires { static_cast<R>(static_cast<A&&>(l.value) %(other)s static_cast<B&&>(b)); });
  if (on(Id)) return static_cast<R>(static_cast<A&&>(l.value) %(other)s static_cast<B&&>(b));
  return static_cast<A&&>(l.value) %(op)s static_cast<B&&>(b);
}
"""


class Mutant:
    def __init__(self, header, line, begin, end, new, change):
        self.header, self.line, self.begin, self.end, self.new, self.change = header, line, begin, end, new, change
        self.id, self.text, self.fate = 0, "", "survived"

    def key(self):
        return f"{self.header} | {self.change} | {self.text}"

    def place(self):
        return f"{self.header}:{self.line + 1}:{self.begin + 1}: {self.change}: {self.text}"


def closing(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def of_two(code):
    """Where the larger or smaller of two is chosen, `a < b ? a : b` or `if (a < b) b = a;`: equal ones may be swapped.
    And where they are known to differ: `a != b ? a < b : …`, `if (a != b) return a < b;`."""
    forms = [r"([^()?;=]+) [<>] ([^?;()]+) \? ((\1) : (\2)|(\2) : (\1))[;,)]", r"if \((.+) [<>] (.+)\) (\1 = \2|\2 = \1);",
             r"(?=\b([\w.]+) != ([\w.]+)(?: \?|\) return) (\1) [<>] \2\b)"]
    return {match.end(match.lastindex if form.startswith("(?=") else 1) for form in forms for match in re.finditer(form, code)}


def sites(header, number, line):
    """The mutants that one line of a header offers."""
    code = line.split("//")[0]
    word = code.split(maxsplit=1)[0] if code.strip() else "#"
    skipped = {"template", "using", "requires", "concept", "namespace", "friend", "constexpr", "inline",
               "static", "typename"}
    if re.fullmatch(r"\s+\w+ = -?\d+,\s*", code) or "HOCKET_ASSERT" in code or "reserve(" in code:
        return  # an enumerator; what is only there to find mistakes, or to be fast
    if code.lstrip().startswith("static_assert(") or re.match(r"\s*\{ .* \} ->", code):
        return  # a requirement, which only the compiler reads
    if word[0] in "#/*" or word in skipped or '"' in code or "'" in code or "operator" in code or "consteval" in code:
        return
    for match in re.finditer(r"(?<=[\w)\]]) (<=|>=|==|!=|[<>+*/-]) (?=[\w(!~+-])", code):
        op = match[1]
        if match.start() in of_two(code):
            continue
        kind = list(OPERATORS).index(op)
        yield Mutant(header, number, match.start(), match.end(), f" {op} hocket_mutants::mark<@, {kind}>{{}} {op} ",
                     f"{op} -> {OPERATORS[op]}")
    for match in re.finditer(r"(?<![\w.<,] )(?<![\w.<])\d+(?![\w.'>])", code):
        if re.search(r"\b(case|enum)\b", code) is None:
            yield Mutant(header, number, match.start(), match.end(), f"hocket_mutants::number(@, {match[0]})",
                         f"{match[0]} -> {int(match[0]) + 1}")
    for match in re.finditer(r"\b(if|while) \(", code):
        end = closing(code, match.end() - 1)
        inside = code[match.end():end]
        if end > 0 and ";" not in inside and " = " not in inside:
            yield Mutant(header, number, match.end(), end, f"hocket_mutants::on(@) != static_cast<bool>({inside})", "negated")
    statement = re.match(r"\s+((?!return|else|if|for|case|break|continue|delete|throw)[\w.\[\]>-]+ [|+-]?= .*|[\w.]+\(.*\));$", code)
    if statement and code.count("(") == code.count(")") and code.count("{") == code.count("}"):
        at = statement.start(1)
        yield Mutant(header, number, at, at, "if (hocket_mutants::on(@)) {} else ", "left out")


def only_compiled(header, lines):
    """The lines of what only the compiler runs, as it does cost's formulas: no switch reaches them."""
    begins = r"(\[\[nodiscard\]\] )?consteval "
    if re.match(r"include/hocket/cost/(blocks|model)/", header):
        begins += r"|inline constexpr [\w:]+ \w+( =|\{)|constexpr auto \w+( =|\()"
    return constants(lines, begins)


def constants(lines, begins):
    """The lines of definitions that begin so."""
    inside, open_ones, goes_on = set(), 0, False
    for number, line in enumerate(lines):
        code = re.sub(r'"[^"]*"', "", line.split("//")[0]).rstrip()
        if not goes_on and not re.match(begins, code):
            continue
        inside.add(number)
        open_ones += sum(code.count(c) for c in "({[") - sum(code.count(c) for c in ")}]")
        goes_on = open_ones > 0 or not code.endswith((";", "}"))
    return inside


def offered(path):
    headers = [path] if path.is_file() else sorted(path.rglob("*.hpp"))
    for header in headers:
        name = header.relative_to(ROOT).as_posix()
        if len(header.relative_to(ROOT / "include/hocket").parts) < 2 or name in ELSEWHERE:
            continue  # umbrellas and macros
        alike, lines = {}, header.read_text().split("\n")
        unreached = only_compiled(name, lines)
        for number, line in enumerate(lines):
            alike[line.strip()] = same = alike.get(line.strip(), 0) + 1
            if number in unreached:
                continue
            times = {}
            for mutant in sorted(sites(name, number, line), key=lambda m: m.begin):
                times[mutant.change] = nth = times.get(mutant.change, 0) + 1
                mutant.change += f" ({nth})" if nth > 1 else ""
                mutant.text = line.strip() + (f" [{same}]" if same > 1 else "")
                yield mutant


def write_tree(mutants):
    """The sources, each mutant behind its switch. Of two that overlap the second is dropped."""
    by_header = {}
    for m in mutants:
        by_header.setdefault(m.header, []).append(m)
    for header in set(by_header) | {p.relative_to(TREE).as_posix() for p in (TREE / "include").rglob("*.hpp")
                                    if p.name != "mutants_switch.hpp"}:
        lines = (ROOT / header).read_text().split("\n")
        late = constants(lines, TABLES)
        for m in sorted(by_header.get(header, []), key=lambda m: (m.line, m.begin), reverse=True):
            new = m.new.replace("::number", "::late_number") if m.line in late else m.new
            lines[m.line] = lines[m.line][:m.begin] + new.replace("@", str(m.id)) + lines[m.line][m.end:]
        text = "\n".join(lines)
        text = re.sub("^" + TABLES, "inline const ", text, flags=re.M)
        if header in by_header:
            text = text.replace("#pragma once", "#pragma once\n#include <hocket/mutants_switch.hpp>", 1)
        if (TREE / header).read_text() != text:
            (TREE / header).write_text(text)
    switch = SWITCH % {"count": max(m.id for m in mutants)}
    for kind, (op, other) in enumerate(OPERATORS.items()):
        switch += OPERATION % {"kind": kind, "op": op, "other": other}
    (TREE / "include/hocket/mutants_switch.hpp").write_text(switch + "}  // namespace hocket_mutants\n")


def build(targets, mutants):
    """Builds with as many of the mutants as compile. Returns them."""
    for _ in range(12):
        write_tree(mutants)
        done = subprocess.run(["cmake", "--build", BUILD, "--target", *targets, "--", "-k", "0"], capture_output=True,
                              text=True, check=False)
        if done.returncode == 0:
            return mutants
        places = {(f"include/hocket/{m[1]}", int(m[2]) - 2) for m in
                  re.finditer(r"include/hocket/([\w/]+\.hpp):(\d+)(?=:\d+:)", done.stdout)}  # -2: from 0, and the switch
        left = [m for m in mutants if (m.header, m.line) not in places]
        if len(left) == len(mutants):
            sys.exit("mutants: the build fails, and not for a mutant:\n" + done.stdout[-3000:])
        print(f"{len(mutants) - len(left)} do not compile, or stand in the way of others", flush=True)
        mutants = left
    sys.exit("mutants: too many do not compile")


def start(program, case, mutant, limit, seen=os.devnull):
    """Runs one test case with one mutant, or none (-1). None: it took too long."""
    name = re.sub(r'([\\,\["])', r"\\\1", case)
    environment = dict(os.environ, HOCKET_MUTANT=str(mutant), HOCKET_MUTANTS_SEEN=str(seen))
    out = subprocess.PIPE if mutant < 0 else subprocess.DEVNULL
    try:
        return subprocess.run([program, name, "--abort", "--warn", "NoTests"], env=environment, timeout=limit, cwd=BUILD,
                              stdout=out, stderr=subprocess.DEVNULL, text=True, errors="replace", check=False)
    except subprocess.TimeoutExpired:
        return None


def cases_of(program):
    for listing in (["--list-test-names-only"], ["--list-tests", "--verbosity", "quiet"]):  # Catch2 2 and 3
        done = subprocess.run([program, *listing], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=BUILD,
                              check=False)
        names = [line.strip() for line in done.stdout.split("\n") if line.strip()]
        if names:
            return names
    sys.exit(f"mutants: {program.name} lists no test cases")


def judge(mutants, programs, component):
    """Runs each mutant against the test cases that run through it."""
    by_id, reached = {m.id: m for m in mutants}, {}
    for program in programs:
        for case in cases_of(program):
            seen = BUILD / "seen.txt"
            seen.write_bytes(b"")
            began = time.monotonic()
            clean = start(program, case, -1, None, seen)
            took = time.monotonic() - began
            if clean.returncode != 0:
                sys.exit(f"mutants: {program.name} fails without a mutant:\n{clean.stdout[-2000:]}")
            for number, was in enumerate(seen.read_bytes()):
                if was and number in by_id:
                    reached.setdefault(number, []).append((took, program, case))
    print(f"{component}: {len(mutants)} mutants, {len(reached)} of them run through by {len(programs)} programs", flush=True)

    def is_detected(number):
        for took, program, case in sorted(reached[number]):
            done = start(program, case, number, 10 + 5 * took)
            if done is None or done.returncode != 0:
                return True
        return False
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for number, found in zip(reached, pool.map(is_detected, reached)):
            by_id[number].fate = "detected" if found else "survived"
    for m in mutants:
        if m.id not in reached:
            m.fate = "not run through"


def prepare():
    TREE.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, TREE / name, dirs_exist_ok=True)
        else:
            shutil.copy2(ROOT / name, TREE / name)
    subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_CXX_FLAGS=-O1 -w -D_GLIBCXX_ASSERTIONS", "-DHOCKET_WARNINGS_ARE_ERRORS=OFF",
                    "-DHOCKET_EACH_HEADER=OFF", "-DHOCKET_BUILD_EXAMPLES=OFF"], check=True, stdout=subprocess.DEVNULL)


def main():
    path = (pathlib.Path.cwd() / sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "include/hocket"
    if not path.exists() or not path.is_relative_to(ROOT / "include/hocket"):
        sys.exit(f"mutants: {sys.argv[1]} is no header or folder of include/hocket")
    count, seed = (int(x) for x in (sys.argv[2:4] + ["100", "1"][len(sys.argv[2:4]):]))
    every = list(offered(path))
    random.Random(seed).shuffle(every)
    chosen, taken = [], set()
    for m in every:
        if len(chosen) == count:
            break
        if (m.header, m.line) not in taken:  # one in a line: they cannot overlap
            taken.add((m.header, m.line))
            chosen.append(m)
    prepare()
    judged = {line.rsplit(" | ", 1)[0] for line in JUDGED.read_text().split("\n") if line and line[0] != "#"}
    results = []
    for component in sorted({m.header.split("/")[2] for m in chosen}):
        mutants = [m for m in chosen if m.header.split("/")[2] == component]
        folders = [component, *ALSO.get(component, [])]
        listings = [ROOT / "tests/unit" / folder / "CMakeLists.txt" for folder in folders]
        if not listings[0].exists():
            print(f"{component}: no unit tests of its own, {len(mutants)} mutants left out")
            continue
        names = [name for listing in listings for name in re.findall(r"hocket_test\((\w+)", listing.read_text())]
        for number, m in enumerate(mutants, 1):
            m.id = number
        mutants = build([f"test_{n}" for n in names], mutants)
        judge(mutants, sorted(p for folder in folders for p in BUILD.glob(f"tests/unit/{folder}/test_*")), component)
        results += mutants
    for m in results:
        if m.fate != "detected":
            print(f"{m.fate}{', judged' if m.key() in judged else ''}: {m.place()}")
    detected = sum(m.fate == "detected" for m in results)
    excused = sum(m.fate != "detected" and m.key() in judged for m in results)
    rate = 100 * detected / max(1, len(results) - excused)
    print(f"mutants={len(results)} detected={detected} judged={excused} survived={len(results) - detected - excused} "
          f"rate={rate:.1f}% seed={seed}")


if __name__ == "__main__":
    main()
