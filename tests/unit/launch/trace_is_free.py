# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`drive` without a trace compiles to the same instructions as a `drive` that never heard of traces.

trace_is_free.py COMPILER INCLUDE: copies the header, deletes the lines of the hook, compiles the same program against
both, and compares the assembly. With a trace that stores something the assembly must differ, or this compares nothing.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = """
#include <hocket/launch/drive.hpp>
extern "C" { int c_record(int, int) noexcept; int c_wait(int, int) noexcept; int c_launch(unsigned, int) noexcept; }
struct c_backend {
  using stream_type = int; using event_type = int; using status_type = int;
  int record(int e, int s) noexcept { return c_record(e, s); }
  int wait(int s, int e) noexcept { return c_wait(s, e); }
  static bool ok(int s) noexcept { return s == 0; }
  static const char* text(int) noexcept { return ""; }
};
struct counting {
  unsigned long begun = 0;
  void begin(std::size_t i, const hocket::launch::command&) noexcept { begun += i; }
  void end(std::size_t, const hocket::launch::command&) noexcept {}
};
unsigned long issue(const hocket::launch::command_list& list, std::span<const int> s, std::span<const int> e) {
  c_backend b;
  auto launch = [](unsigned op, int stream) { return c_launch(op, stream); };
#ifdef TRACED
  counting trace;
  return hocket::launch::drive(b, list, s, e, launch, trace).issued + trace.begun;
#else
  return hocket::launch::drive(b, list, s, e, launch).issued;
#endif
}
"""


def assembly(compiler, include, source, *flags):
    done = subprocess.run([compiler, "-std=c++20", "-O2", "-DNDEBUG", *flags, "-I", str(include), "-S", "-o", "-", str(source)],
                          capture_output=True, text=True, check=True)
    return done.stdout


def main():
    compiler, include = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = folder / "issue.cpp"
        source.write_text(PROGRAM)
        text = (include / "hocket/launch/drive.hpp").read_text()
        bare, deleted = re.subn(r"^ *trace\.(?:begin|end)\(.*\);\n", "", text, flags=re.M)
        if deleted != 2:
            return f"expected two lines of the hook in drive.hpp, found {deleted}"
        stripped = folder / "include/hocket/launch/drive.hpp"
        stripped.parent.mkdir(parents=True)
        stripped.write_text(bare.replace("L& launch, Trace& trace)", "L& launch, Trace&)"))
        off = assembly(compiler, include, source)
        never = assembly(compiler, stripped.parents[2], source, "-I", str(include))
        on = assembly(compiler, include, source, "-DTRACED")
        if off != never:
            return "drive without a trace is not the same code as without the hook"
        if on == off:
            return "a trace that counts makes no difference: the comparison is void"
        calls = set(re.findall(r"\b(?:call|bl|jmp|b)\s+\*?([A-Za-z_]\w*)", off))
        foreign = {c for c in calls if not c.startswith(("c_record", "c_wait", "c_launch", ".L"))}
        if foreign:
            return f"drive calls more than the backend and the launcher: {sorted(foreign)}"
    print(f"the same {off.count(chr(10))} lines of assembly with and without the hook")
    return 0


if __name__ == "__main__":
    sys.exit(main())
