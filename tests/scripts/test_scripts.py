# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each tool must find what it looks for in a small wrong checkout, and nothing in a right one."""
import importlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILER = "c++"
SPDX = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
HEADER = SPDX + "#pragma once\n{includes}\nnamespace hocket::inline HOCKET_ABI {{\n/// A number.\ninline int {name}() {{ return 1; }}\n}}\n"


class Checkout(unittest.TestCase):
    """A right checkout in a temporary folder, for each test to make wrong."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.write("include/hocket/version.hpp", SPDX + "// The version.\n#pragma once\n#define HOCKET_VERSION_MAJOR 0\n"
                   "#define HOCKET_VERSION_MINOR 1\n#define HOCKET_VERSION_PATCH 0\n")
        self.write("include/hocket/config.hpp", SPDX + "// Macros.\n#pragma once\n#include <hocket/version.hpp>\n#define HOCKET_ABI v1\n")
        for path, includes in (("core/a", "#include <hocket/config.hpp>"), ("graph/b", "#include <hocket/core/a.hpp>"),
                               ("timeline/t", "#include <hocket/core/a.hpp>"),
                               ("pipeline/p", "#include <hocket/timeline/t.hpp>\n#include <vector>"),
                               ("interop/i", "#include <hocket/graph/b.hpp>\n#include <ranges>")):
            self.header(path, includes)
        self.write("ports/hocket/vcpkg.json", '{"version": "0.1.0", "homepage": "https://a.example/o/n"}\n')
        self.write("recipes/hocket/config.yml", 'versions:\n  "0.1.0":\n    folder: all\n')
        self.write("README.md", "find_package(hocket 0.1)\n")
        self.write("CMakeLists.txt", SPDX.replace("//", "#") + 'project(hocket HOMEPAGE_URL "https://a.example/o/n")\n')
        self.write("modules/hocket.cppm", SPDX + "module;\n#include <vector>\n\nexport module hocket;\n")
        self.write("docs/consuming.md", "find_package(hocket 0.1 CONFIG)\n")
        self.write("CHANGELOG.md", "## 0.1.0\n")
        self.list_headers()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def header(self, path, includes):
        self.write(f"include/hocket/{path}.hpp", HEADER.format(includes=includes, name=path.replace("/", "_")))

    def list_headers(self):
        names = sorted(str(p.relative_to(self.root / "include")) for p in (self.root / "include").rglob("*.hpp"))
        rows = {"HOCKET_HEADERS": [n for n in names if "interop" not in n and "cost" not in n],
                "HOCKET_COST_HEADERS": [n for n in names if "cost" in n],
                "HOCKET_RANGE_V3_HEADERS": [n for n in names if "interop" in n]}
        lists = "".join(f"set({k}\n" + "".join(f"  {n}\n" for n in v) + ")\n" for k, v in rows.items())
        self.write("cmake/headers.cmake", "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n" + lists)

    def run_tool(self, *words):
        done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def assert_finds(self, words, *tool):
        status, output = self.run_tool(*tool)
        self.assertEqual(status, 1, output)
        self.assertIn(words, output)


class Includes(Checkout):
    def tool(self):
        return ROOT / "tools/check_includes.py", "--compiler", COMPILER, "--root", self.root

    def test_right(self):
        status, output = self.run_tool(*self.tool())
        self.assertEqual(status, 0, output)
        self.assertIn("7 headers, 0 findings", output)

    def test_component(self):
        self.header("graph/b", "#include <hocket/timeline/t.hpp>")
        self.assert_finds("hocket/graph/b.hpp reaches hocket/timeline/t.hpp, but graph may only include core, graph", *self.tool())

    def test_through_another_header(self):
        self.header("core/a", "#include <hocket/config.hpp>\n#include <hocket/graph/b.hpp>")
        self.assert_finds("hocket/timeline/t.hpp reaches hocket/graph/b.hpp", *self.tool())

    def test_interop_is_included_by_none(self):
        self.header("pipeline/p", "#include <hocket/interop/i.hpp>")
        self.assert_finds("hocket/pipeline/p.hpp reaches hocket/interop/i.hpp", *self.tool())

    def test_bridge_reaches_one_component(self):
        self.header("launch/bridges/graph", "#include <hocket/graph/b.hpp>")
        self.list_headers()
        self.assertEqual(self.run_tool(*self.tool())[0], 0)
        self.header("launch/bridges/graph", "#include <hocket/pipeline/p.hpp>")
        self.assert_finds("hocket/launch/bridges/graph.hpp reaches hocket/pipeline/p.hpp", *self.tool())

    def test_heavy(self):
        self.header("pipeline/p", "#include <hocket/timeline/t.hpp>\n#  include <functional>")
        self.assert_finds("hocket/pipeline/p.hpp includes <functional>, which is too heavy", *self.tool())

    def test_input_and_output(self):
        self.header("graph/b", "#include <hocket/core/a.hpp>\n#include <cstdio>")
        self.assert_finds("hocket/graph/b.hpp includes <cstdio>, but headers do no I/O", *self.tool())

    def test_threads(self):
        self.header("graph/b", "#include <hocket/core/a.hpp>\n#include <mutex>")
        self.assert_finds("hocket/graph/b.hpp includes <mutex>, but only launch has threads", *self.tool())

    def test_third_party(self):
        self.header("core/a", "#include <hocket/config.hpp>\n#include <sys/epoll.h>")
        self.assert_finds("hocket/core/a.hpp belongs to hocket::hocket, but opens", *self.tool())

    def test_umbrella_without_third_party(self):
        self.header("cost/c", "#include <hocket/core/a.hpp>")
        self.header("hocket", "#include <hocket/cost/c.hpp>")
        self.list_headers()
        self.assert_finds("hocket/hocket.hpp reaches hocket/cost/c.hpp", *self.tool())


class Lint(Checkout):
    def tool(self):
        return ROOT / "tools/lint.py", self.root

    def test_right(self):
        status, output = self.run_tool(*self.tool())
        self.assertEqual(status, 0, output)

    def test_findings(self):
        header = (self.root / "include/hocket/graph/b.hpp").read_text()
        for name, text, words in (
            ("src/x.cpp", "int x;\n", "src/x.cpp: the first line"),
            ("ports/hocket/vcpkg.json", '{"version": "0.2.0"}\n', "vcpkg.json says version 0.2.0"),
            ("recipes/hocket/config.yml", 'versions:\n  "0.1.1":\n', "config.yml says version 0.1.1"),
            ("ports/hocket/portfile.cmake", SPDX.replace("//", "#") + "REPO o/other\n", "does not say REPO o/n"),
            ("modules/hocket.cppm", SPDX + "export module hocket;\n", "does not include <vector> before the module begins"),
            ("docs/consuming.md", "find_package(hocket 0.2)\n", "consuming.md says version 0.2"),
            ("CHANGELOG.md", "nothing\n", "CHANGELOG.md names no version"),
            ("include/hocket/graph/new.hpp", header, "include/hocket/graph/new.hpp is not listed"),
            ("include/hocket/graph/b.hpp", header.replace("/// A number.\n", ""), "has no docstring"),
            ("include/hocket/graph/b.hpp", header.replace("inline HOCKET_ABI", "inline v2"), "without `inline HOCKET_ABI`"),
            ("include/hocket/graph/b.hpp", header + "#define SMALL 1\n", "defines the macro SMALL"),
            ("include/hocket/graph/b.hpp", header + '// e.with("' + 40 * "x" + '")\n', "to 39 characters"),
            ("docs/x.md", "see /home" + "/someone/x\n", "is a place on one machine"),
            ("tests/unit/x/a.cpp", SPDX + "TEST_CASE() { CHECK" + "( true); }\n", "cannot fail"),
            ("tests/unit/x/a.cpp", SPDX + "TEST_CASE() { CHECK" + "(f()); }\n", "is in no CMakeLists.txt"),
            ("tests/unit/x/a.cpp", SPDX + "#include <catch2" + "/catch.hpp>\n", "must include \"catch.hpp\""),
            ("tests/static/x/a.cpp", SPDX + "int x;\n", "has no static_assert"),
            ("tests/compile_fail/a.cpp", SPDX + "int x\n", "does not say with"),
            ("tests/compile_fail/a.cpp", SPDX + "// expect: x\n", "has no corrected half"),
            ("tests/data/x/golden.csv", "1\n", "tests/data/x has no README.md"),
            ("broken.json", "{", "broken.json is no JSON"),
            ("docs/x.md", "see [a](b.md), `graph/b.hpp`\n", "docs/x.md:1 points to docs/b.md, which does not exist"),
            ("docs/x.md", "see\n`graph/c.hpp`\n", "docs/x.md:2 points to include/hocket/graph/c.hpp"),
            ("docs/x.md", "# A b\n\n[a](#a-b) [c](#c)\n", "docs/x.md:3 points to #c, but docs/x.md has no such heading"),
            ("docs/x.md", "```\n$ hocket --version\n```\n", "docs/x.md:1 shows a command outside of a ```text block"),
            ("docs/index.md", "# Guide\n\n[x](../CHANGELOG.md#0-2)\n", "docs/index.md:3 points to ../CHANGELOG.md#0-2, but"),
        ):
            with self.subTest(words):
                old = (self.root / name).read_text() if (self.root / name).exists() else None
                self.write(name, text)
                self.assert_finds(words, *self.tool())
                if old is None:
                    (self.root / name).unlink()
                else:
                    self.write(name, old)
        self.assertEqual(self.run_tool(*self.tool())[0], 0)

    def test_missing_header(self):
        (self.root / "include/hocket/graph/b.hpp").unlink()
        self.assert_finds("lists hocket/graph/b.hpp, which does not exist", *self.tool())


    def test_conventions(self):
        """One wrong declaration each, and a right one."""
        for right, wrong, words in (
            ("struct c_options {};", "struct c_settings {};", "c_settings must be called …_options"),
            ("result<void> check(c);", "result<void> validate(c);", "validate must be called check"),
            ("std::string_view to_string(c);", "std::string_view name_of(c);", "name_of must be called to_string"),
            ("struct c { static result<c> make_x(int); };", "struct c { static result<c> of(int); };", "c::of constructs a c"),
            ("class c { static result<c> of(int); };", "class c { public: static result<c> of(int); };", "c::of constructs a c"),
            ("int f(int, std::pmr::vector<int>* w = nullptr);", "int f(std::pmr::vector<int>* w = nullptr, int = 1);",
             "the witness w must be the last argument"),
            ("int f(std::pmr::vector<int>* w = nullptr);", "int f(std::vector<int>* w = nullptr);", "must be a std::pmr::vector"),
            ("struct c { borrowed<int> b; };", "struct c { std::span<const int> b; };", "c keeps a view"),
            ("struct c_view { std::span<const int> b; };", "template <class T> class c { std::string_view b; };", "c keeps a view"),
            ("inline int f() { std::string_view s; return 1; }", "struct c { std::string_view s = \"\"; };", "c keeps a view"),
            ("struct c { std::string_view s;  ///< literal\n};", "struct c { std::string_view s;\n};", "c keeps a view"),
            ("struct c { std::vector<int> v; std::span<const int> f() const& { return v; } };",
             "struct c { std::vector<int> v; std::span<const int> f() const { return v; } };", "c::f hands out its own data"),
        ):
            with self.subTest(wrong):
                header = (self.root / "include/hocket/graph/b.hpp").read_text()
                self.write("include/hocket/graph/b.hpp", header.replace("inline int", right + "\ninline int"))
                status, output = self.run_tool(*self.tool())
                self.assertEqual(status, 0, output)
                self.write("include/hocket/graph/b.hpp", header.replace("inline int", wrong + "\ninline int"))
                self.assert_finds(words, *self.tool())
                self.write("include/hocket/graph/b.hpp", header)
        self.header("graph/detail/d", "#include <hocket/config.hpp>")
        self.list_headers()
        self.assert_finds("graph/detail/d.hpp stands in detail/, but opens no namespace detail", *self.tool())


class Style(Checkout):
    def tool(self):
        return ROOT / "tools/check_style.py", "--root", self.root

    def test_code(self):
        for right, wrong, words in (
            ("void f() { a = 1; }", "void f() { a = 1, b = 2; }", "joined by a comma"),
            ("int a = 1, b = 2;", "void f() { if (c) a = 1, b(); }", "joined by a comma"),
            ("void f() { return g<1, 2>(3); }", "void f() { return g(), true; }", "joined by a comma"),
            ("void f() { h([] { a = 1; }, 2); }", "void f() { h([] { a = 1, b = 2; }); }", "joined by a comma"),
            ("enum class e : int { a = 1, b };", "void f() { a = 1, b(); }", "joined by a comma"),
            ("void f() { x = {1, 2}; }", "void f() { x = a < 1, y = b > 2; }", "joined by a comma"),
            ("void f() {\n  for (int i = 0;\n       i < 3; ++i, ++j) g(i);\n}", "void f() {\n  a(); b();\n}", "two statements"),
            ("class c {\n public:\n  int f();\n\n private:\n  int a;\n};",
             "class c {\n  int a;\n\n public:\n  int f();\n};", "does not begin with its public members"),
        ):
            with self.subTest(wrong):
                self.write("include/hocket/graph/x.hpp", SPDX + right + "\n")
                status, output = self.run_tool(*self.tool())
                self.assertEqual(status, 0, output)
                self.write("include/hocket/graph/x.hpp", SPDX + wrong + "\n")
                self.assert_finds(words, *self.tool())

    def test_sentences(self):
        words = "word " * 25
        for right, wrong in (
            (f"{words}. {words}.", f"{words}; {words}."),
            (f"* {words}\n* {words}", f"* {words}\n  {words}"),
            (f"{words}\n\n{words}", f"{words}: {words}"),
            (f"| {words} |\n| {words} |", f"a {words} {words}"),
            (f"```\n{words} {words}\n```", f"{words} `a.b` {words}"),
        ):
            with self.subTest(wrong):
                self.write("docs/x.md", right + "\n")
                status, output = self.run_tool(*self.tool())
                self.assertEqual(status, 0, output)
                self.write("docs/x.md", wrong + "\n")
                self.assert_finds("docs/x.md:1: a sentence of", *self.tool())

    def test_comments(self):
        words = "word " * 25
        self.write("include/hocket/graph/x.hpp", SPDX + f"/// {words}\n/// @param x {words}\nint a;  ///< {words}\nint b;  ///< {words}\n"
                   f"///     {words * 2}\nint c;\n")
        status, output = self.run_tool(*self.tool())
        self.assertEqual(status, 0, output)
        self.write("include/hocket/graph/x.hpp", SPDX + f"int a;  ///< {words}\n        ///< {words}\n")
        self.assert_finds("x.hpp:2: a sentence of 50 words", *self.tool())


class CompileFail(Checkout):
    def finds(self, source, words):
        self.write("fail/a.cpp", source)
        self.assert_finds(words, ROOT / "tests/compile_fail/run.py", "--compiler", COMPILER, "--folder", self.root / "fail")

    def test_findings(self):
        head, pair = "// expect: our words\n", "#ifndef CORRECTED\nstatic_assert(false, \"our words\");\n#endif\n"
        self.write("fail/a.cpp", head + pair)
        status, output = self.run_tool(ROOT / "tests/compile_fail/run.py", "--compiler", COMPILER, "--folder", self.root / "fail")
        self.assertEqual(status, 0, output)
        self.finds(pair, "it has no line `// expect: …`")
        self.finds(head + "int x;\n", "it compiles, but must not")
        self.finds(head + pair.replace("our words", "others"), "does not say \"our words\"")
        self.finds("// never: static\n" + head + pair, "the compiler says \"static\", which is not true")
        self.finds(head + "static_assert(false, \"our words\");\n", "neither an #ifdef CORRECTED")
        self.finds(head + "// CORRECTED\nstatic_assert(false, \"our words\");\n", "it does not compile with -DCORRECTED either")
        if "Free Software Foundation" in subprocess.check_output([COMPILER, "--version"], text=True):
            first = "#ifndef CORRECTED\n" + "static_assert(false, \"others\");\n" * 4 + "#endif\n"
            self.finds(head + first + pair, "the compiler says \"our words\" in line 13, after the first 10")


class Sections(unittest.TestCase):
    """Which sections .ci/run chooses, in a repository whose history is written here."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / ".ci").mkdir()
        shutil.copy(ROOT / ".ci/run", self.root / ".ci/run")
        self.git("init", "--quiet")
        self.hour = 0
        self.commit("README.md")

    def git(self, *words, **variables):
        who = {f"GIT_{kind}_{what}": "a@b" for kind in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        subprocess.run(["git", "-C", str(self.root), *words], check=True, env={**os.environ, **who, **variables})

    def commit(self, path):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(f"{self.hour}\n")
        self.git("add", "--all")
        at = f"@{10**9 + int(self.hour * 3600)} +0000"
        self.git("commit", "--quiet", "-m", path, GIT_AUTHOR_DATE=at, GIT_COMMITTER_DATE=at)

    def ask(self, option):
        done = subprocess.run(["bash", ".ci/run", option], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def plan(self):
        return dict(line.split(": ", 1) for line in self.ask("--plan"))

    def test_five_sittings_run_everything(self):
        seen = []
        for _ in range(5):
            self.hour += 2
            self.commit("README.md")
            plan = self.plan()
            self.assertLessEqual({"packages", "tests", "training", "demo", "lint", "docs", "asan_ubsan"}, set(plan))
            self.assertEqual(plan, self.plan())
            seen += [name for name, why in plan.items() if why != "always"]
        self.assertEqual(len(seen), len(set(seen)))
        self.assertEqual(set(seen) | {n for n, why in self.plan().items() if why == "always"}, set(self.ask("--list")))

    def test_a_changed_input_runs_its_section(self):
        self.hour += 2
        self.commit("examples/hosts/onnx/run")
        self.hour += 0.5
        self.commit("bindings/c/a.cpp")
        plan = self.plan()
        self.assertEqual(plan["host_onnx"], "examples/hosts/onnx/run has changed")
        self.assertEqual(plan["python"], "bindings/c/a.cpp has changed")
        self.hour += 2
        self.commit("README.md")
        self.assertNotIn("has changed", str(self.plan()))

    def test_a_shallow_clone_runs_everything(self):
        self.hour += 2
        self.commit("README.md")
        (self.root / ".git/shallow").write_bytes(subprocess.check_output(["git", "-C", str(self.root), "rev-parse", "HEAD"]))
        self.assertEqual(list(self.plan()), self.ask("--list"))


class CompileCost(unittest.TestCase):
    def test_growth(self):
        sys.path.insert(0, str(ROOT / "tools"))
        from check_compile_cost import grown
        record = {"a.hpp": {"lines": "2.00", "instantiations": "3.00"}}
        self.assertEqual(list(grown({"a.hpp": {"lines": 2.09, "instantiations": 1.0}}, record)), [])
        self.assertIn("a.hpp: lines are 2.11 times", next(grown({"a.hpp": {"lines": 2.11}}, record)))
        self.assertIn("b.hpp has no lines", next(grown({"b.hpp": {"lines": 1.0}}, record)))


class Readme(Checkout):
    def test_blocks(self):
        self.write("a.md", "x\n```cpp\n#include <a>\n```\n<!-- before:\n#include <b>\n-->\n```cpp\nint main() {}\n```\n"
                   "```sh\nls\n```\n")
        status, output = self.run_tool(ROOT / "tools/check_readme.py", "--out", self.root / "out", self.root / "a.md")
        self.assertEqual(status, 0, output)
        self.assertEqual([line.split("/")[-1] for line in output.split("\n")[1:3]], ["a_2.cpp", "a_8.cpp"])
        self.assertIn("program ", output)
        self.assertTrue((self.root / "out/a_8.cpp").read_text().startswith("#include <b>\nint main() {}\n"))

    def test_fragment(self):
        self.write("a.md", "```cpp\nint x = 1;\n```\n")
        self.assert_finds("a.md:1: the block does not start with #include", ROOT / "tools/check_readme.py", "--out",
                          self.root / "out", self.root / "a.md")


class Guide(Checkout):
    """The pages: orphans, commands, and what is checked of the site that is made of them."""

    def lint(self):
        return self.run_tool(ROOT / "tools/lint.py", self.root)

    def test_orphans(self):
        self.write("docs/index.md", "# Guide\n\n## Start\n\n[one](one.md), [use](consuming.md)\n")
        self.write("docs/one.md", "# One\n\n[two](two.md)\n")
        self.write("docs/two.md", "# Two\n")
        self.assertEqual(self.lint()[0], 0, self.lint())
        self.write("docs/one.md", "# One\n\n`[two](two.md)`\n")
        self.assertIn("docs/two.md is an orphan", self.lint()[1])

    def run_commands(self, text, *options):
        tool = self.root / "tool.sh"
        tool.write_text("#!/bin/sh\necho \"$@\"\necho time_us=$$\n[ \"$1\" != no ]\n", encoding="utf-8")
        tool.chmod(0o755)
        self.write("docs/index.md", text)
        return self.run_tool(ROOT / "tools/check_commands.py", "--root", self.root, "--tool", tool, *options)

    def test_commands(self):
        for right in ("$ hocket a b\na b\ntime_us=1\n", "$ hocket a b\na\n  b time_us=1\n", "$ hocket no\n…\n",
                      "$ hocket a\na\n…\n$ hocket b\n…\ntime_us=7\n"):
            status, output = self.run_commands(f"# G\n\n```text\n{right}```\n")
            self.assertEqual(status, 0, output)
        for wrong in ("$ hocket a b\na c\ntime_us=1\n", "$ hocket a b\na b\n", "$ hocket a\na\ntime_us=1\n$ hocket b\n…\nb\n",
                      "$ hocket > docs/images/a.svg\n"):
            status, output = self.run_commands(f"# G\n\n```text\n{wrong}```\n")
            self.assertEqual(status, 1, wrong)
            self.assertIn("1 findings", output)

    def test_usage_lines(self):
        for line, count, findings in (("hocket a --out b.csv", 1, 0), ("./dev hocket b [no] x|y  # words", 1, 0), ("hocket no", 1, 1),
                                      ("hocket no nowhere.csv", 0, 0), ("hocket a program.csv", 1, 0)):
            status, output = self.run_commands(f"# G\n\n```\n{line}\n```\n")
            self.assertTrue(output.endswith(f"{count} commands, {findings} findings\n"), output)
            self.assertEqual(status, findings)

    def test_commands_are_recorded(self):
        self.run_commands("# G\n\n```text\n$ hocket a\nold\n```\n", "--record")
        self.assertRegex((self.root / "docs/index.md").read_text(), r"\A# G\n\n```text\n\$ hocket a\na\ntime_us=\d+\n```\n\Z")

    def check_site(self):
        return self.run_tool(ROOT / "tools/build_site.py", "check", self.root / "site")

    def test_dead_links_of_a_site(self):
        self.write("site/reference/a.html", '<a id="x"></a><a href="javascript:void(0)">x</a>')
        right = '<a href="b/c.html#d">x</a><a href="reference/a.html#x">x</a><a href="http://elsewhere.example">x</a>'
        self.write("site/index.html", right)
        self.write("site/b/c.html", '<h1 id="d">x</h1><img src="data:image/png;base64,"><a href="../index.html">x</a>')
        self.assertEqual(self.check_site(), (0, "3 pages, 0 findings\n"))
        for wrong, words in (('<a href="b/d.html">', "index.html points to b/d.html, which does not exist"),
                             ('<a href="../up.html">', "index.html points to ../up.html, which does not exist"),
                             ('<a href="b/c.html#e">', "index.html points to b/c.html#e, but b/c.html has no such part"),
                             ('<a href="reference/a.html#y">', "but reference/a.html has no such part"),
                             ('<a href="#z">', "index.html points to #z, but index.html has no such part"),
                             ('<script src="https://elsewhere.example/a.js"></script>', "index.html loads https://elsewhere.example/a.js"),
                             ('<link rel="stylesheet" href="//elsewhere.example/a.css">', "index.html loads //elsewhere.example/a.css"),
                             ('<img src="no.png">', "index.html points to no.png, which does not exist")):
            self.write("site/index.html", right + wrong)
            status, output = self.check_site()
            self.assertEqual(status, 1, wrong)
            self.assertIn(words, output)

    def builder(self):
        sys.path.insert(0, str(ROOT / "tools"))
        try:
            return importlib.import_module("build_site")
        finally:
            sys.path.pop(0)

    def test_what_a_site_is_made_of(self):
        self.write("docs/site/mkdocs.yml", "site_name: hocket VERSION\n")
        self.write("docs/site/site.css", "")
        self.write("docs/site/iframe-worker.js", "")
        self.write("README.md", "# Readme\n\n[guide](docs/index.md)\n")
        self.write("docs/index.md", "# Guide\n\n[z](z.md)\n\n## Start\n\n[one](one.md#a) [folder](../src) [gone](gone.md)\n\n"
                   "## More\n\n[one](one.md), `[no](no.md)`\n")
        self.write("docs/one.md", "# One `x`\n\n## A\n- item\n\n[s](../src/a.cpp)\n")
        self.write("docs/z.md", "# Z\n")
        self.write("src/a.cpp", "int x;  // ````\n")
        site = self.builder()
        self.assertEqual(site.navigation(self.root), [("Start", [("One x", "docs/one.md")])])
        self.assertEqual(site.stage(self.root, self.root / "out"), ["docs/index.md points to gone.md, which does not exist"])
        made = self.root / "out/pages"
        self.assertIn("(../src/index.md)", (made / "docs/index.md").read_text())
        self.assertIn("## A\n- item\n\n[s](../src/a.cpp.md)", (made / "docs/one.md").read_text())
        self.assertIn("# src/a.cpp\n\n`````cpp\nint x;  // ````\n\n`````\n", (made / "src/a.cpp.md").read_text())
        self.assertIn("hocket 0.1", (self.root / "out/mkdocs.yml").read_text())

    def test_flowcharts(self):
        dot = self.builder().to_dot('flowchart LR\n  a["x: y"] -->|by| b --> c[z]\n')
        for line in ('"a" [label="x: y"];', '"a" -> "b" [label="by"];', '"b" -> "c" [label=""];', '"c" [label="z"];'):
            self.assertIn(line, dot)
        for wrong in ("sequenceDiagram\n a\n", "flowchart LR\n (a) --> b\n"):
            with self.assertRaises(ValueError):
                self.builder().to_dot(wrong)

    def test_names_lead_to_the_reference(self):
        self.write("tags", '<tagfile><compound kind="file"><name>a.hpp</name><path>/x/include/hocket/g/</path><filename>a</filename></compound>'
                   '<compound kind="class"><name>h::g::dag</name><filename>dag.html</filename></compound>'
                   '<compound kind="namespace"><name>h::g</name><filename>g.html</filename>'
                   '<member kind="function"><name>solve</name><anchorfile>g.html</anchorfile><anchor>1</anchor></member></compound>'
                   '<compound kind="namespace"><name>h::t</name><filename>t.html</filename>'
                   '<member kind="function"><name>solve</name><anchorfile>t.html</anchorfile><anchor>2</anchor></member></compound></tagfile>')
        found = self.builder().Reference(self.root / "tags")
        for code, component, where in (("g/a.hpp", "x", "a.html"), ("dag", "g", "dag.html"), ("dag", "t", None), ("g::dag<>", "t", "dag.html"),
                                       ("solve(x)", "t", "t.html#2"), ("solve(x)", "x", None), ("g::solve", "x", "g.html#1"), ("a b", "g", None)):
            self.assertEqual(found.find(code, component), where, code)
        page = '<article><p><code>dag</code> <a href="x"><code>dag</code></a></p><pre>&lt;hocket/g/a.hpp&gt;</pre></article>'
        linked = self.builder().with_reference(page, found, "../", "g")
        self.assertEqual(linked.count('href="../reference/dag.html"'), 1)
        self.assertEqual(linked.count('href="../reference/a.html"'), 2)  # where it stands, and at the end

    def test_the_newest_version(self):
        for version in ("0.9", "0.10"):
            self.write(f"site/{version}/a/b.html", "")
        self.builder().versions(self.root / "site", "0.10")
        self.assertIn('url=../../0.10/a/b.html"', (self.root / "site/latest/a/b.html").read_text())
        self.assertIn('"version": "0.10"', (self.root / "site/versions.json").read_text().split("}")[0])


class ProveSchedule(unittest.TestCase):
    """tools/prove_schedule.py: on two ranks 1F1B is best, 3 forward and backward times for two micro-batches."""

    def prove(self, *flags):
        words = [sys.executable, *flags, str(ROOT / "tools/prove_schedule.py"), "--ranks", "2", "--micro-batches", "2", "--backward", "whole"]
        return subprocess.run(words, capture_output=True, text=True)

    @unittest.skipUnless(importlib.util.find_spec("ortools"), "OR-tools is missing: pip install ortools")
    def test_proved(self):
        done = self.prove()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "makespan=9 lower_bound=9 gap=0.000000 proved=yes\n")
        rows = [line.split(",") for line in done.stdout.splitlines()]
        self.assertEqual([sorted(row) for row in rows], [["0B0", "0B1", "0F0", "0F1"], ["1B0", "1B1", "1F0", "1F1"]])
        self.assertEqual(rows[1], ["1F0", "1B0", "1F1", "1B1"])

    def test_missing(self):
        done = self.prove("-I", "-S")
        self.assertEqual((done.returncode, done.stderr), (1, "OR-tools is missing: pip install ortools\n"))


class Mutants(unittest.TestCase):
    def test_what_was_judged_is_still_there(self):
        sys.path.insert(0, str(ROOT / "tools"))
        mutants = importlib.import_module("mutants")
        offered = {mutant.key() for mutant in mutants.offered(ROOT / "include/hocket")}
        lines = (ROOT / "tools/mutants_judged.txt").read_text(encoding="utf-8").splitlines()
        judged = [line.rsplit(" | ", 1)[0] for line in lines if not line.startswith("#")]
        self.assertEqual([key for key in judged if key not in offered], [])


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--compiler":
        COMPILER = sys.argv[2]
        del sys.argv[1:3]
    unittest.main()
