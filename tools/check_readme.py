#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns the ```cpp blocks of Markdown files into source files that the build compiles.

A block is a whole translation unit: it starts with #include. Lines that a reader need not see stand in an HTML comment
just above the block and go in front of it (`<!-- before:` … `-->`), or just below and go behind (`<!-- after:` … `-->`).
A block that is no C++ of ours is fenced as ```text.

    tools/check_readme.py --out FOLDER [DOCUMENT…]     without documents: every one in the checkout's root and below docs/

writes FOLDER/<document>_<line>.cpp and prints `document PATH` for each document read, `object PATH` for each file
written, and `program PATH` instead for one with a main.
"""
import argparse
import pathlib
import re
import sys


def blocks(text):
    """(line number of the fence, code, text above, text below) of every ```cpp block."""
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        fence = re.fullmatch(r"( *)```(\S*).*", lines[i])
        if not fence:
            i += 1
            continue
        end = next((j for j in range(i + 1, len(lines)) if lines[j].strip() == "```"), None)
        if end is None:
            raise ValueError(f"line {i + 1}: this block is never closed")
        if fence[2].lower() in ("cpp", "c++", "cxx"):
            indent = len(fence[1])
            code = "\n".join(line[indent:] for line in lines[i + 1:end])
            yield i + 1, code, "\n".join(lines[:i]), "\n".join(lines[end + 1:])
        i = end + 1


def complete(code, above, below):
    """The block with the invisible lines around it."""
    before = re.search(r"<!-- before:\n((?:(?!-->)[\s\S])*)-->\s*$", above)
    after = re.match(r"\s*<!-- after:\n((?:(?!-->)[\s\S])*)-->", below)
    return (before[1] if before else "") + code + "\n" + (after[1] if after else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("documents", type=pathlib.Path, nargs="*")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    root = pathlib.Path(__file__).resolve().parent.parent
    documents = options.documents or sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])
    written, findings = {}, []
    for document in documents:
        print(f"document {document}")
        text = document.read_text(encoding="utf-8")
        for line, code, above, below in blocks(text):
            source = complete(code, above, below)
            first = next((s for s in source.split("\n") if s.strip() and not s.lstrip().startswith("//")), "")
            if not first.startswith("#"):
                findings.append(f"{document}:{line}: the block does not start with #include, so no test can compile it")
                continue
            path = options.out / f"{document.stem.lower()}_{line}.cpp"
            kind = "program" if re.search(r"\bint main\(", source) else "object"
            written[path] = kind
            # Compilers report the place in the document. An unchanged file keeps its time stamp.
            content = f'#line {line + 1} "{document}"\n{source}' if source.startswith(code) else source
            if not path.exists() or path.read_text(encoding="utf-8") != content:
                path.write_text(content, encoding="utf-8")
    for stale in set(options.out.glob("*.cpp")) - set(written):
        stale.unlink()
    for line in findings:
        print(line, file=sys.stderr)
    for path, kind in sorted(written.items()):
        print(f"{kind} {path}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
