#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How code and sentences look, as far as a program can see it (docs/conventions.md). One finding per line.

    tools/check_style.py [--root ROOT] [PATH…]     PATH: folders or files; without any, the whole checkout

Code below include/, examples/, benchmarks/, tests/ and fuzz/: no statements joined by commas, one statement a line,
`public:` before `private:`. Comments and Markdown: no sentence of more than 40 words. Length and nesting of functions is
clang-tidy's part (.clang-tidy).
"""
import argparse
import pathlib
import re
import sys

from lint import tracked, without_comments_and_text

MOST_WORDS = 40
CODE = {".hpp", ".cpp", ".h", ".cu"}


LAMBDA = re.compile(r"(?<![\w\])])\s*(?<!\[)\[[^\[\]]*\]\s*(?:<[^{}]*>\s*)?(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?"
                    r"\s*(?:mutable|noexcept|constexpr|\s)*(?:->[^;{}]*)?$")


def statements(code):
    """(offset, text) of each simple statement: what stands between ; { and } outside of parentheses."""
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m[0]), code, flags=re.M)
    depth, start, stack = 0, 0, []
    for i, c in enumerate(code):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth = max(0, depth - 1)
        elif c == "{":
            before = code[start:i].rstrip()
            # A brace behind a name, = ( , return or an operator begins a value, not a block; one behind [] a lambda's body.
            # So do enumerators.
            value = re.search(r"\benum\b[^;()]*$", before) or not LAMBDA.search(before) and (depth > 0 or re.search(r"(?:[=,(<>]|\breturn|[\w\]>])$", before) and not re.search(
                r"\b(?:else|do|try|const|noexcept|override|final|mutable)$|^\s*(?:inline\s+)?(?:namespace|struct|class|union|enum|extern|export)\b"
                r"|->[^;]*$|\b(?:struct|class|enum|union)\b", before))
            stack.append((value, depth, start, re.search(r"\benum\b", before)))
            if value:
                depth += 1
            else:
                depth, start = 0, i + 1
        elif c == "}":
            value, was, _, enumerators = stack.pop() if stack else (False, 0, 0, None)
            if value:
                depth = was
            else:
                if not enumerators:
                    yield start, code[start:i]
                depth, start = was, i + 1
        elif c == ";" and depth == 0:
            yield start, code[start:i]
            start = i + 1


CONTROL = re.compile(r"\s*(?:else\b|do\b|(?:if|while|switch|for)\b\s*(?:constexpr\b\s*)?(?=\()|case\b[^:]*(?:::[^:]*)*:(?!:)|default\s*:"
                     r"|\w+:(?!:)\s|\[\[[^\]]*\]\])")


def simple(text):
    """A statement without the conditions and labels before it; and how much was cut off."""
    cut = 0
    while True:
        m = CONTROL.match(text, cut)
        if not m:
            return text[cut:], cut
        cut = m.end()
        if text[cut:cut + 1] == "(":
            depth = 0
            for i in range(cut, len(text)):
                depth += (text[i] == "(") - (text[i] == ")")
                if depth == 0:
                    cut = i + 1
                    break
            else:
                return "", len(text)


def top_level_comma(text):
    while True:  # lists of template arguments stand close to the name, comparisons do not
        shorter = re.sub(r"(?<=\w)<(?:[^\s<>;][^<>;]*)?>", "", text)
        if shorter == text:
            break
        text = shorter
    depth = 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            return True
    return False


EXPRESSION = re.compile(r"\s*(?:\+\+|--|\*|\()*[\w:]+(?:<[^;<>]*>)?(?:\s*(?:\.|->)\s*\w+|\[[^\]]*\]|\([^()]*(?:\([^()]*\)[^()]*)*\))*\)*"
                        r"\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\s*(?:\+\+|--)|\s*[\w:.\->]+\s*\(|\s*return\b|\s*[\w.\[\]]+(?:\+\+|--)")
DECLARATION = re.compile(r"\s*(?:template|using|typedef|friend|static_assert|constexpr|static|const|auto|unsigned|struct|class|enum|explicit)\b"
                         r"|\s*[\w:]+(?:<[^;]*>)?(?:::\w+)*(?:\s+const)?\s*[&*]*\s+[&*]*\w+\s*[=({,]")


def joined(source):
    code = without_comments_and_text(source)
    for offset, text in statements(code):
        rest, cut = simple(text)
        if re.match(r"\s*return\b", rest) or (EXPRESSION.match(rest) and not DECLARATION.match(rest)):
            body = re.sub(r"^\s*return\b", "", rest)
            if top_level_comma(body) and not re.match(r"\s*(?:\w+\s*)?\([^;]*\)\s*(?:noexcept|const)?\s*:", body):
                line = code.count("\n", 0, offset + cut + len(rest) - len(rest.lstrip())) + 1
                yield line, "statements joined by a comma: one a line"
    heads = r"\b(?:for|if|while|switch)\s*(?:constexpr\s*)?\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"
    code = re.sub(heads, lambda m: re.sub(r"[^\n]", " ", m[0]), code)
    for number, line in enumerate(code.split("\n"), 1):
        outside = re.sub(r"^(\s*(?:case\b.*|default\s*):(?!:)[^;]*;)\s*(?:break|return)\b.*", r"\1", line)
        outside = re.sub(r"\{[^{}]*\}|\([^()]*\)", "", outside)
        if re.search(r";\s*[^\s}\\/]", outside) and not line.lstrip().startswith("#") and not line.rstrip().endswith("\\"):
            yield number, "two statements on one line"


def members(source):
    """`public:` comes first: a reader wants what there is before how it is made."""
    code = without_comments_and_text(source)
    for m in re.finditer(r"^([ \t]*)(?:template[^\n]*\n[ \t]*)?class\s+(\w+)[^;{()]*\{", code, re.M):
        indent = m[1]
        end = re.search(rf"^{indent}\}};", code[m.end():], re.M)
        body = code[m.end():m.end() + (end.start() if end else 0)]
        first = re.search(rf"^{indent} (public|private|protected):", body, re.M)
        if first and re.search(rf"^{indent} public:", body, re.M):
            before = body[:first.start()]
            if first[1] != "public" or re.sub(r"\b(?:static_assert\s*\([^;]*\)|friend[^;]*|using[^;]*);", "", before).strip():
                yield code.count("\n", 0, m.start()) + 1, f"class {m[2]} does not begin with its public members"


def words_of(sentence):
    return [w for w in sentence.split() if re.search(r"\w", w)]


def sentences(lines):
    """(line, text) of the sentences of a paragraph, given as (line, text) pairs."""
    text, places = "", []
    for number, line in lines:
        places.append((len(text), number))
        text += line + " "
    start = 0
    for m in re.finditer(r"[.!?](?=[)\"'*`]*\s)", text):
        yield max(n for at, n in places if at <= start + len(text[start:]) - len(text[start:].lstrip())), text[start:m.end()]
        start = m.end()
    if text[start:].strip():
        yield max(n for at, n in places if at <= start), text[start:]


def paragraphs(source, markdown):
    """Lists of (line, text): prose only, without code, tables and directives."""
    block, fenced = [], False
    if markdown:  # lines for the compiler alone
        source = re.sub(r"(?s)<!--.*?-->", lambda m: re.sub(r"[^\n]", "", m[0]), source)
    for number, line in enumerate(source.split("\n"), 1):
        if markdown:
            if line.lstrip().startswith("```"):
                fenced, text = not fenced, None
            else:
                text = None if fenced or re.match(r"\s*(?:\||<!--|<|#|!\[)", line) else line
            new = text is not None and re.match(r"\s*(?:[-*]|\d+\.)\s", text)
        else:
            alone = re.match(r"\s*//+!?<?\s?(.*)$", line)
            m = alone or re.match(r".*?[;{},)]\s+///?<?\s(.*)$", line)
            text = m[1] if m else None
            if text is not None and re.match(r"    |SPDX|\s*\|", text):
                text = None
            new = text is not None and (not alone or re.match(r"\s*(?:[-*]|\d+\.|@\w+|Errors|Complexity|Source|Precondition)\s?", text))
        if not text or new:
            if block:
                yield block
            block = []
        if text and text.strip():
            block.append((number, text.strip()))
    if block:
        yield block


def long_sentences(source, markdown):
    for block in paragraphs(source, markdown):
        for number, sentence in sentences(block):
            count = len(words_of(sentence))
            if count > MOST_WORDS:
                yield number, f"a sentence of {count} words (most: {MOST_WORDS}): {' '.join(sentence.split()[:6])} …"


def findings(root, names):
    for name in names:
        path = pathlib.PurePosixPath(name)
        markdown = path.suffix == ".md" and not name.startswith("tests/data/")
        if path.suffix not in CODE and not markdown or name.startswith(("tests/compile_fail/", "tests/fakes/include/")):
            continue
        source = (root / name).read_text(encoding="utf-8")
        found = [*long_sentences(source, markdown)]
        if not markdown:
            found += [*joined(source), *members(source)]
        for line, words in sorted(found):
            yield f"{name}:{line}: {words}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    root = options.root.resolve()
    names = [n for n in tracked(root) if not options.paths or any(n == p.rstrip("/") or n.startswith(p.rstrip("/") + "/") for p in options.paths)]
    found = list(findings(root, names))
    for line in found:
        print(line)
    print(f"{len(names)} files, {len(found)} findings of style")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
