# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every source beside this file must be refused by the compiler, with the message that its head promises.

    // expect: <words that the compiler's output must contain>      one or more, in any order
    // flags: -std=c++17                                            optional, added at the end of the command
    // never: <words that it must not contain>                      optional: a second error that is not true
    // deep: <reason>                                               optional, see below

A reader sees the first lines of an error alone, so g++ must say the words in its first ten; a source with a line `deep`
says why it cannot. (clang prints the sentence first, and the calls that led to it after.)

With -DCORRECTED the same file must compile: the mistake, and nothing else, is what is refused. A file that cannot be
corrected in place says `// no correction: <reason>`.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


FIRST_LINES = 10


def is_gcc(compiler):
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True)
    return "Free Software Foundation" in done.stdout


def compile_source(compiler, source, extra):
    include = HERE.parent.parent / "include"
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", str(include), *extra,
               str(source)]
    done = subprocess.run(command, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    return done.returncode, done.stderr


def missing_words(expected, output, lines):
    """A reason for each of the expected words that is not in the output, or not in its first lines."""
    first = "\n".join(output.splitlines()[:lines])
    for words in expected:
        if words not in output:
            yield f"the compiler does not say \"{words}\"; it says:\n{output[:3000]}"
        elif words not in first:
            at = next(i for i, line in enumerate(output.splitlines(), 1) if words in line)
            yield f"the compiler says \"{words}\" in line {at}, after the first {lines}:\n{output[:3000]}"


def check(compiler, source, gcc):
    """The reasons why this source is not a passing compile-fail test."""
    text = source.read_text()
    expected = re.findall(r"^// expect: (.+?)\s*$", text, re.M)
    flags = [f for line in re.findall(r"^// flags: (.+)$", text, re.M) for f in line.split()]
    if not expected:
        return ["it has no line `// expect: …`"]
    status, output = compile_source(compiler, source, flags)
    if status == 0:
        return ["it compiles, but must not"]
    lines = FIRST_LINES if gcc and "// deep: " not in text else len(output.splitlines())
    reasons = list(missing_words(expected, output, lines))
    never = re.findall(r"^// never: (.+?)\s*$", text, re.M)
    reasons += [f"the compiler says \"{words}\", which is not true:\n{output[:3000]}" for words in never if words in output]
    if "CORRECTED" in text:
        status, output = compile_source(compiler, source, [*flags, "-DCORRECTED"])
        if status != 0:
            reasons.append(f"it does not compile with -DCORRECTED either:\n{output[:3000]}")
    elif "// no correction: " not in text:
        reasons.append("it has neither an #ifdef CORRECTED nor a line `// no correction: …`")
    return reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--folder", type=pathlib.Path, default=HERE, help="only what is below this folder")
    options = parser.parse_args()
    sources = sorted(options.folder.rglob("*.cpp"))
    failed, gcc = 0, is_gcc(options.compiler)
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for source, reasons in zip(sources, pool.map(lambda s: check(options.compiler, s, gcc), sources)):
            print(f"{source.relative_to(options.folder)}: {'ok' if not reasons else 'failed'}")
            for reason in reasons:
                print(f"  {reason}")
            failed += bool(reasons)
    print(f"{len(sources)} sources, {failed} failed")
    return 1 if failed or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
