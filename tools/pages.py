# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Markdown pages of the checkout: their links, their anchors, and which page leads to which. Used by lint.py and build_site.py."""
import pathlib
import re

FENCE = re.compile(r"(?ms)^( *)(```+).*?^ *\2`*[ \t]*$")
LINK = re.compile(r"(?<!\\)\]\(\s*<?([^)<>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
START = "README.md", "docs/index.md"


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def prose(text):
    """The same characters in the same places, but blocks, inline code and comments are blank."""
    text = FENCE.sub(_blank, text)
    text = re.sub(r"(?s)<!--.*?-->", _blank, text)
    return re.sub(r"(`+)(?!`)(?:(?!\n\n)[\s\S])*?(?<!`)\1(?!`)", _blank, text)


def links(text):
    """(start, end, target) of every link and picture whose target lies in the checkout: `x.md#part`, `#part`."""
    for m in LINK.finditer(prose(text)):
        if not re.match(r"\w+:|//", m[1]):
            yield m.start(1), m.end(1), m[1]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def slug(heading):
    """The anchor that code hosts give to a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"[*`]", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def headings(text):
    """(level, words) of the headings."""
    outside = FENCE.sub(_blank, text)
    for m in re.finditer(r"(?m)^(#{1,6}) +(.+?) *#*$", outside):
        yield len(m[1]), m[2]


def anchors(text):
    """Everything that `#…` may name on this page."""
    seen, found = {}, set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for _, words in headings(text):
        name = slug(words)
        found.add(name if name not in seen else f"{name}-{seen[name]}")
        seen[name] = seen.get(name, 0) + 1
    return found


def title(text, otherwise=""):
    return next((re.sub(r"[`*]", "", words) for level, words in headings(text) if level == 1), otherwise)


def resolve(root, page, target):
    """The path below `root` that a link of `page` points to, or None if it leaves the checkout."""
    path = (root / page).parent / target.partition("#")[0] if not target.startswith("#") else root / page
    path = pathlib.Path(re.sub(r"/\./", "/", str(path))).resolve()
    try:
        return path.relative_to(root.resolve()).as_posix()
    except ValueError:
        return None


def page_of(root, path):
    """The Markdown page that a path stands for: itself, or the README.md of a folder; else None."""
    if path is None:
        return None
    if (root / path).is_dir():
        path = f"{path}/README.md" if path != "." else "README.md"
    return path if path.endswith(".md") and (root / path).is_file() else None


def reachable(root, start=START):
    """The pages that one gets to by links, in the order in which they are met."""
    found = [p for p in start if (root / p).is_file()]
    for page in found:
        text = (root / page).read_text(encoding="utf-8")
        for _, _, target in links(text):
            to = page_of(root, resolve(root, page, target))
            if to and to not in found:
                found.append(to)
    return found
