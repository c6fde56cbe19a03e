#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of this repository that no compiler checks. Prints one sentence per finding; exit status 1 if there is any.

    tools/lint.py [ROOT]
"""
import json
import pathlib
import re
import subprocess
import sys

import pages

SPDX = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
SOURCES = {".hpp", ".h", ".cpp", ".cppm", ".c", ".cu", ".cuh", ".py", ".sh", ".cmake"}
GENERIC_TEXT = SOURCES | {".md", ".txt", ".json", ".csv", ".yml", ".yaml", ".in", ""}


def tracked(root):
    """The files of the checkout: what git tracks or would add; without git, everything outside of build folders."""
    done = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if done.returncode == 0 and done.stdout:
        names = done.stdout.splitlines()
    else:
        names = [str(p.relative_to(root)) for p in root.rglob("*")]
    skip = ("build/", "out/", ".git/", ".venv/", "shared/")
    return sorted(n for n in names if not n.startswith(skip) and (root / n).is_file() and not (root / n).is_symlink())


def is_source(name):
    path = pathlib.PurePosixPath(name)
    return path.suffix in SOURCES or path.name in ("CMakeLists.txt", "dev") or name == ".ci/run"


def spdx(root, names):
    for name in filter(is_source, names):
        head = (root / name).read_text(encoding="utf-8", errors="replace").split("\n")[:2]
        first = head[1] if head[0].startswith("#!") and len(head) > 1 else head[0]
        if SPDX not in first:
            yield f"{name}: the first line (after a #! line) must say {SPDX}"


# Every file that repeats the version of include/hocket/version.hpp, with the number of parts that it repeats. All that a
# program can read from there, it does; these are for registries and people (./dev release --set-version writes them).
VERSION_COPIES = {
    "ports/hocket/vcpkg.json": (r'"version": "([^"]*)"', 3),
    "recipes/hocket/config.yml": (r'^  "([^"]*)":', 3),
    "CHANGELOG.md": (r"^## \[?(\d+\.\d+\.\d+)", 3),
    "docs/consuming.md": (r"(?:find_package\(hocket |hocket/\[~)([\d.]+)", 2),
    "README.md": (r"find_package\(hocket ([\d.]+)", 2),
}


def version_parts(header):
    """Major, minor and patch of the text of version.hpp, as strings; [] if one is no plain number."""
    parts = [re.search(rf"#define HOCKET_VERSION_{p} (\d+)", header) for p in ("MAJOR", "MINOR", "PATCH")]
    return [p[1] for p in parts] if all(parts) else []


def versions(root, names):
    version = version_parts((root / "include/hocket/version.hpp").read_text())
    if not version:
        yield "include/hocket/version.hpp: HOCKET_VERSION_MAJOR, _MINOR, _PATCH are not all plain numbers"
        return
    for name, (pattern, parts) in VERSION_COPIES.items():
        expected = ".".join(version[:parts])
        found = re.findall(pattern, (root / name).read_text(encoding="utf-8"), re.M) if name in names else []
        if not found:
            yield f"{name} names no version; version.hpp says {expected}"
        for other in found[:1] if name == "CHANGELOG.md" else found:
            if other != expected:
                yield f"{name} says version {other}, but version.hpp says {expected}"


def homes(root, names):
    """CMakeLists.txt has the address of the project; the forms of registries and forges repeat it."""
    found = re.search(r'HOMEPAGE_URL "https://([\w.-]+/([\w.-]+/[\w.-]+))"', (root / "CMakeLists.txt").read_text())
    if not found:
        yield "CMakeLists.txt has no HOMEPAGE_URL of the form https://HOST/OWNER/NAME"
        return
    for name, pattern in (("ports/hocket/vcpkg.json", f'"homepage": "https://{found[1]}"'),
                          ("ports/hocket/portfile.cmake", f"REPO {found[2]}\n"),
                          ("recipes/hocket/all/conanfile.py", f'homepage = "https://{found[1]}"'),
                          (".github/ISSUE_TEMPLATE/config.yml", f"https://{found[1]}/")):
        if name in names and pattern not in (root / name).read_text(encoding="utf-8"):
            yield f"{name} does not say {pattern.strip()}, which is the HOMEPAGE_URL of CMakeLists.txt"


def module(root, names):
    """modules/hocket.cppm names all that the headers include of the standard library, so that no part of it is exported."""
    if "modules/hocket.cppm" not in names:
        return
    before = (root / "modules/hocket.cppm").read_text(encoding="utf-8").split("\nexport module ")[0]
    for header in header_lists(root)["HOCKET_HEADERS"]:
        path = root / "include" / header
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for name in re.findall(r"^#include (<[a-z_]+>)$", text, re.M):
            if f"#include {name}\n" not in before:
                yield f"modules/hocket.cppm does not include {name} before the module begins, but include/{header} includes it"


def header_lists(root):
    text = re.sub(r"#.*", "", (root / "cmake/headers.cmake").read_text())
    return {m[1]: m[2].split() for m in re.finditer(r"set\((HOCKET_\w*HEADERS)\s*([^)]*)\)", text)}


def included_by(root, header, seen):
    """Every header of ours that comes before the first declaration of `header`, and itself."""
    path = root / "include" / header
    if header not in seen and path.is_file():
        seen.add(header)
        for name in re.findall(r"^#include <(hocket/[^>]+)>$", path.read_text(encoding="utf-8"), re.M):
            included_by(root, name, seen)
    return seen


def headers(root, names):
    lists = header_lists(root)
    listed = [h for hs in lists.values() for h in hs]
    on_disk = {n.removeprefix("include/") for n in names if n.startswith("include/")}
    for header in sorted(on_disk - set(listed)):
        yield f"include/{header} is not listed in cmake/headers.cmake"
    for header in sorted(set(listed) - on_disk):
        yield f"cmake/headers.cmake lists {header}, which does not exist"
    for header in sorted({h for h in listed if listed.count(h) > 1}):
        yield f"cmake/headers.cmake lists {header} twice"
    for name, hs in lists.items():
        if hs != sorted(hs):
            yield f"cmake/headers.cmake: {name} is not sorted"
    for header in sorted(on_disk):
        path = root / "include" / header
        text = path.read_text(encoding="utf-8")
        if len(re.findall(r"^#pragma once$", text, re.M)) != 1:
            yield f"include/{header} must say #pragma once exactly once"
        body = re.sub(r"^#include .*$", "", text, flags=re.M)
        declares = re.search(r"^\s*(?:template|class|struct|enum|namespace|inline|constexpr|concept)\b", body, re.M)
        if declares and "/detail/" not in header and not re.search(r"^\s*///", text, re.M):
            yield f"include/{header} has no docstring (///)"
        if not declares and not re.search(r"^// (?!SPDX)", text, re.M) and header.count("/") == 1 and "version" not in header:
            yield f"include/{header} must say in one comment what it gathers"
        if re.search(r"^\s*using namespace\b", text, re.M):
            yield f"include/{header} has a using-directive, which would reach every user"
        if re.search(r"^namespace hocket(?!::inline HOCKET_ABI\b)", text, re.M):
            yield f"include/{header} opens namespace hocket without `inline HOCKET_ABI`"
        if "HOCKET_ABI" in body and "hocket/config.hpp" not in included_by(root, header, set()):
            yield f"include/{header} opens namespace HOCKET_ABI, but nothing that it includes defines this macro"
        if re.search(r"friend[^;]*operator<=>[^;]*=\s*default", text):
            yield (f"include/{header} defaults operator<=> as a friend: nvcc 13 then declares, but never defines, "
                   "operator==; make it a member")
        for macro in re.findall(r"^\s*#\s*define\s+(\w+)", text, re.M):
            if not macro.startswith("HOCKET_"):
                yield f"include/{header} defines the macro {macro}, which does not start with HOCKET_"


def without_comments_and_text(source):
    """The same characters in the same places, but comments and literals are blank (literals keep their quotes)."""
    def blank(m):
        word = m[0]
        if word[0] in "\"'":
            return word[0] + re.sub(r"[^\n]", " ", word[1:-1]) + word[-1]
        return re.sub(r"[^\n]", " ", word)
    raw = r'R"(\w*)\((?:.|\n)*?\)\1"'
    pattern = rf'{raw}|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, blank, source)


def in_classes(code):
    """(class, access, offset, statement, body) of what stands directly in a class; body is empty behind a semicolon."""
    stack, start, parentheses = [], 0, 0  # of [class name, access]; a namespace has the name "", any other block None
    for i, c in enumerate(code):
        parentheses += (c == "(") - (c == ")")
        if c not in ";{}" or parentheses > 0:
            continue
        inside = stack[-1] if stack and stack[-1][0] and all(name is not None for name, _ in stack) else None
        text = re.sub(r"\btemplate <[^;{}]*?>(?=\s*(?:class|struct|requires)\b)|\[\[[^\]]*\]\]", " ", code[start:i])
        for label in re.findall(r"\b(public|private|protected):", text) if inside else ():
            inside[1] = label
        text = " ".join(re.sub(r"\b(?:public|private|protected):(?!:)", " ", text).split())
        if c == "{":
            found = re.search(r"\b(class|struct|namespace)\s+(?!.*\b(?:class|struct)\s)([\w:]+)?[^;()]*$", text)
            if found and not re.search(r"\benum\b|= *$", text):
                stack.append(["" if found[1] == "namespace" else found[2], "private" if found[1] == "class" else "public"])
            else:
                stack.append([None, ""])
                if inside:
                    end, depth = i, 0
                    while end < len(code) and (end == i or depth > 0):
                        depth += (code[end] == "{") - (code[end] == "}")
                        end += 1
                    yield *inside, i, text, code[i:end]
        elif c == ";" and inside:
            yield *inside, i, text, ""
        elif c == "}" and stack:
            stack.pop()
        start = i + 1


def conventions(root, names):
    """What of docs/conventions.md can be seen in one public header."""
    owner = re.compile(r"(?:mutable )?std::(?:pmr::)?(?:vector|array|string|deque|basic_string)\b(?!.*\().* (\w+)(?: =.*)?$")
    view = r"std::(?:span<.*>|(?:basic_)?string_view)"
    for name in names:
        if not (name.startswith("include/") and name.endswith(".hpp")):
            continue
        source = (root / name).read_text(encoding="utf-8")
        code = without_comments_and_text(source)
        if "/detail/" in name:
            if re.search(r"^namespace ", code, re.M) and not re.search(r"^\s*namespace [^;{}]*\bdetail\b", code, re.M):
                yield f"{name} stands in detail/, but opens no namespace detail"
            continue
        inner = r"(?ms)^namespace [^\n;{}]*\bdetail\b[^\n;{}]*\{.*?^\}"
        public = re.sub(inner, lambda m: re.sub(r"[^\n]", " ", m[0]), code)
        found = list(in_classes(public))
        owned = {c: {m[1] for k, _, _, s, _ in found if k == c and (m := owner.match(s))} for c in {f[0] for f in found}}

        def line(at):
            return f"{name}:{public.count(chr(10), 0, at) + 1}"

        for m in re.finditer(r"\bstruct (\w*(?:settings|limits|config))\b", public):
            yield f"{line(m.start())}: {m[1]} must be called …_options"
        for m in re.finditer(r"(?:result<void>|string_view|char\*|std::string|\bbool)\s+(name_of|text_of|validate|is_valid)\(", public):
            yield f"{line(m.start())}: {m[1]} must be called {'to_string' if m[1].endswith('_of') else 'check'}"
        for m in re.finditer(r"std::(pmr::)?vector<(?:[^;(){}<>]|<[^;(){}<>]*>)*>\*\s*(\w+) = nullptr\b(?!\s*\)|,\s*std::pmr::memory_resource\s*\*)", public):
            yield f"{line(m.start())}: the witness {m[2]} must be the last argument (before a memory resource)"
        for m in re.finditer(r"std::vector<(?:[^;(){}<>]|<[^;(){}<>]*>)*>\*\s*(\w+) = nullptr\b", public):
            yield f"{line(m.start())}: the witness {m[1]} must be a std::pmr::vector"
        for klass, access, at, text, body in found:
            made = re.search(rf"\bstatic\b.*\bresult<{klass}(?:<[^(]*>)?> (\w+)\(", text)
            if made and access == "public" and not re.match(r"make(_|$)|start$", made[1]):
                yield f"{line(at)}: {klass}::{made[1]} constructs a {klass}: call it make or make_KIND"
            literal = "literal" in source.split("\n")[public.count("\n", 0, at)]
            if re.match(rf"(?:mutable |const )*{view} \w+(?: =.*)?$", text) and not klass.endswith(("_view", "_ref")) and not literal:
                yield f"{line(at)}: {klass} keeps a view: hold a borrowed<T> or a std::string, or call it …_view (or say ///< literal)"
            given = re.search(rf"(?:{view}|const [\w:<>, ]+&) (\w+)\([^()]*\) const(?: noexcept)?$", text)
            if given and access == "public" and any(re.search(rf"return [^;]*\b{o}\b(?!\()", body) for o in owned[klass]):
                yield f"{line(at)}: {klass}::{given[1]} hands out its own data: write const&, and delete the && overload"


def words_of_errors(root, names):
    """error::with keeps 39 characters: a longer word would reach the user without its end."""
    for name in names:
        if not name.endswith((".hpp", ".cpp")) or name.startswith("tests/"):
            continue
        source = (root / name).read_text(encoding="utf-8")
        for m in re.finditer(r'\.with\(\s*"([^"\\\n]{40,})"\s*\)', source):
            yield f'{name}:{source.count(chr(10), 0, m.start()) + 1}: error::with cuts "{m[1]}" to 39 characters'


def privacy(root, names):
    """Paths and hosts of the machine on which something was written help no reader."""
    places = re.compile(r"(?<![\w./-])/(?:work|home|root|Users|mnt|scratch|tmp/h)/[\w.]|(?<![\w.])(?:localhost|127\.0\.0\.1)(?![\w.])"
                        r"|\b(?:10|192\.168)\.\d+\.\d+\.\d+\b")
    for name in names:
        path = root / name
        if path.suffix not in GENERIC_TEXT or name == "tools/lint.py":
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.split("\n"), 1):
            found = places.search(line)
            if found:
                yield f"{name}:{number}: \"{found[0]}\" is a place on one machine"


def test_sources(root, names):
    for name in names:
        if not (name.startswith("tests/") and name.endswith((".cpp", ".hpp"))):
            continue
        text = (root / name).read_text(encoding="utf-8")
        code = re.sub(r"//.*", "", text)
        for words in re.findall(r"\b(?:(?:CHECK|REQUIRE)\s*\(\s*(?:true|1)\s*\)|SUCCEED\s*\()", code):
            yield f"{name}: {words} cannot fail"
        if name in ("tests/catch.hpp", "tests/catch_main.cpp"):
            continue
        if re.search(r"#\s*include\s*[<\"]catch2/", code):
            yield f"{name} must include \"catch.hpp\", which chooses between Catch2 v2 and v3"
        for words in ("Approx", "Catch::Detail", "Catch::Generators", "Matchers::", "CATCH_CONFIG", "BENCHMARK"):
            if re.search(rf"\b{re.escape(words)}", code):
                yield f"{name}: {words} is spelled differently in Catch2 v2 and v3"
    for name in names:
        if name.startswith("tests/unit/") and name.endswith(".cpp"):
            text = (root / name).read_text(encoding="utf-8")
            lists = root / pathlib.PurePosixPath(name).parent / "CMakeLists.txt"
            if not lists.exists() or pathlib.PurePosixPath(name).name not in lists.read_text():
                yield f"{name} is in no CMakeLists.txt beside it, so it never runs"
            elif not re.search(r"\b(?:CHECK|REQUIRE|STATIC_REQUIRE)\w*\s*\(", text) and "TEST_CASE" in text:
                yield f"{name} has test cases, but checks nothing"
        if name.startswith("tests/static/") and name.endswith(".cpp"):
            if "static_assert" not in (root / name).read_text(encoding="utf-8"):
                yield f"{name} has no static_assert"
        if name.startswith("tests/compile_fail/") and name.endswith(".cpp"):
            text = (root / name).read_text(encoding="utf-8")
            if "// expect: " not in text:
                yield f"{name} does not say with `// expect: …` which message it is refused with"
            elif not re.search(r"^#ifn?def CORRECTED$|^// no correction: ", text, re.M):
                yield f"{name} has no corrected half (#ifdef CORRECTED)"


def documents(root, names):
    """What a document points to exists: links, and paths of headers and files in backticks."""
    for name in names:
        if not name.endswith(".md") or name.startswith("tests/"):
            continue
        text = re.sub(r"(?ms)^ *```.*?^ *```$", lambda m: re.sub(r"[^\n]", "", m[0]), (root / name).read_text(encoding="utf-8"))
        for number, line in enumerate(text.split("\n"), 1):
            paths = [root / name / ".." / p for p in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", line)]
            paths += [root / p for p in re.findall(r"`((?:include|tests|tools|benchmarks|examples|docs|cmake|fuzz)/[a-z\d_./-]+\.\w+)`", line)]
            for header in re.findall(r"`((?:core|curve|timeline|graph|pipeline|tiling|cost|launch|planner|text|interop)/[\w/]+\.hpp)`", line):
                paths.append(root / "include/hocket" / header)
            for path in paths:
                if not path.resolve().exists():
                    yield f"{name}:{number} points to {path.resolve().relative_to(root)}, which does not exist"


def guide(root, names):
    """Links within pages exist, and every page of the guide can be got to: docs/index.md is also what the site shows."""
    documents = [n for n in names if n.endswith(".md") and not n.startswith("tests/")]
    read = {n: (root / n).read_text(encoding="utf-8") for n in documents}
    for name, text in read.items():
        for start, _, target in pages.links(text):
            part = target.partition("#")[2]
            to = pages.page_of(root, pages.resolve(root, name, target)) if part else None
            if to in read and part not in pages.anchors(read[to]):
                yield f"{name}:{pages.line_of(text, start)} points to {target}, but {to} has no such heading"
        for m in re.finditer(r"(?m)^```(\w*)\n\$ hocket ", text):
            if m[1] != "text":
                yield f"{name}:{pages.line_of(text, m.start())} shows a command outside of a ```text block, so no test runs it"
    if "docs/index.md" in read:
        for name in sorted(n for n in set(documents) - set(pages.reachable(root)) if n.startswith("docs/")):
            yield f"{name} is an orphan: no page that docs/index.md leads to links to it"


def data(root, names):
    """Golden data says where it comes from."""
    folders = {"/".join(n.split("/")[:3]) for n in names if n.startswith("tests/data/") and n.count("/") >= 3}
    for folder in sorted(folders):
        if f"{folder}/README.md" not in names:
            yield f"{folder} has no README.md that says where the data comes from"
    for name in names:
        if name.startswith("tests/data/") and name.count("/") == 2 and not name.endswith("README.md"):
            yield f"{name} belongs into the folder of its component, with a README.md"
        if name.endswith(".json") and not name.startswith("tests/data/"):
            try:
                json.loads((root / name).read_text(encoding="utf-8"))
            except ValueError as e:
                yield f"{name} is no JSON: {e}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    names = tracked(root)
    rules = (spdx, versions, homes, module, headers, conventions, words_of_errors, privacy, test_sources, documents, guide, data)
    findings = [f for rule in rules for f in rule(root, names)]
    for finding in findings:
        print(finding)
    print(f"{len(names)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
