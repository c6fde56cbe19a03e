#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the pages of the checkout into a site that any static host can serve, and checks it.

    tools/build_site.py build --python VENV/bin/python [--reference FOLDER] [--out build/site]
    tools/build_site.py check FOLDER…

The pages are those that README.md and docs/index.md lead to; the headings of docs/index.md are the parts of the site.
Links into the checkout work as they do on a code host: sources become pages, folders show their README.md.
"""
import argparse
import html
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree

import pages

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = {".svg", ".png", ".jpg", ".gif"}
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".h": "c", ".c": "c", ".cu": "cpp", ".py": "python", ".sh": "sh", ".json": "json",
             ".cmake": "cmake", ".md": "markdown"}
MOST_BYTES = 200_000  # of a source that becomes a page


def version(root):
    """0.1: a version of the pages holds for all patches."""
    text = (root / "include/hocket/version.hpp").read_text(encoding="utf-8")
    return ".".join(re.search(rf"#define HOCKET_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR"))


# ---- flowcharts: the few lines of Mermaid that the pages use, drawn without a browser --------------------------------

NODE = re.compile(r"(\w+)(?:\[\"?(.*?)\"?\])?")
ARROW = re.compile(r"\s*-->\s*(?:\|\"?(.*?)\"?\|)?\s*")


def to_dot(flowchart):
    """The same graph for dot. Known: `flowchart LR|TD`, `a[words] -->|words| b`, chains of these."""
    lines = flowchart.strip().split("\n")
    kind = re.fullmatch(r"\s*flowchart (LR|TD)\s*", lines[0])
    if not kind:
        raise ValueError(f"not a flowchart that is understood: {lines[0]!r}")
    direction = kind[1].replace("TD", "TB")
    out = [f'digraph {{ rankdir={direction}; bgcolor="transparent"; node [shape=box style="rounded,filled" fillcolor="#eef3fb"'
           ' color="#4a6fa5" fontname="sans-serif" fontsize=12]; edge [color="#666666" fontname="sans-serif" fontsize=10];']
    for line in lines[1:]:
        at, before, words, text = 0, None, "", line.strip()
        while at < len(text):
            node = NODE.match(text, at)
            if not node:
                raise ValueError(f"not understood: {text!r}")
            if node[2]:
                out.append(f'"{node[1]}" [label={json.dumps(node[2], ensure_ascii=False)}];')
            if before:
                out.append(f'"{before}" -> "{node[1]}" [label={json.dumps(words or "", ensure_ascii=False)}];')
            arrow = ARROW.match(text, node.end())
            before, words = node[1], arrow[1] if arrow else ""
            at = arrow.end() if arrow else len(text)
    return "\n".join(out + ["}"])


def drawn(text, dot):
    """A page whose flowcharts are pictures; without dot they stay as they are."""
    def picture(m):
        svg = subprocess.run([dot, "-Tsvg"], input=to_dot(m[1]), capture_output=True, text=True, check=True).stdout
        svg = re.sub(r"(?s)^.*?(<svg)", r"\1", svg)
        svg = re.sub(r"(?s)<!--.*?-->\n?|<title>.*?</title>\n?", "", svg).strip()
        return f'<div class="flowchart">{svg.replace(chr(10), "")}</div>\n'
    return re.sub(r"(?ms)^```mermaid\n(.*?)^```$", picture, text) if dot else text


# ---- from the checkout to a folder of pages --------------------------------------------------------------------------

def with_space_before_lists(text):
    """Code hosts begin a list right below a paragraph; the generator wants an empty line between."""
    lines, fenced, out = text.split("\n"), False, []
    for line in lines:
        item = re.match(r"(?:[-*]|\d+\.) ", line)
        if item and not fenced and out and out[-1].strip() and not re.match(r"(?:[-*]|\d+\.) | {2,}|#|\||<", out[-1]):
            out.append("")
        fenced ^= line.lstrip().startswith("```")
        out.append(line)
    return "\n".join(out)


class Stage:
    """A folder of the same layout as the checkout, with what the site shows."""

    def __init__(self, root, out):
        self.root, self.out, self.findings, self.done = root, out, [], set()
        self.dot = shutil.which("dot")

    def write(self, name, text):
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def source(self, name):
        """A page that shows a source. Its name in the site."""
        if name + ".md" not in self.done:
            self.done.add(name + ".md")
            text = (self.root / name).read_text(encoding="utf-8")
            fence = "`" * max(4, 1 + max(map(len, re.findall("`+", text)), default=0))
            language = LANGUAGES.get(pathlib.PurePath(name).suffix, "text")
            self.write(name + ".md", f"---\nsearch:\n  exclude: true\n---\n# {name}\n\n{fence}{language}\n{text}\n{fence}\n")
        return name + ".md"

    def listing(self, name):
        """A page with the files of a folder that has no README.md. Its name in the site."""
        page = name + "/index.md"
        if page not in self.done:
            self.done.add(page)
            files = [p for p in sorted((self.root / name).iterdir()) if p.is_file() and p.stat().st_size <= MOST_BYTES]
            self.write(page, f"# {name}\n\n" + "".join(f"- [{p.name}]({p.name}.md)\n" for p in files))
            for p in files:
                self.source(f"{name}/{p.name}")
        return page

    def target(self, page, link):
        """What a link of a page becomes in the site."""
        path, _, part = link.partition("#")
        name = pages.resolve(self.root, page, link) if path else page
        if name is None or not (self.root / name).exists():
            self.findings.append(f"{page} points to {link}, which does not exist")
            return link
        to = pages.page_of(self.root, name)
        if to is None and (self.root / name).is_dir():
            to = self.listing(name)
        elif to is None and pathlib.PurePath(name).suffix in PICTURES:
            shutil.copy(self.root / name, self.folder_of(name))
            return link
        elif to is None:
            to = self.source(name)
        if to == page and not path:
            return link
        up = "../" * page.count("/")
        return up + to + ("#" + part if part else "")

    def folder_of(self, name):
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def page(self, name):
        text = (self.root / name).read_text(encoding="utf-8")
        for start, end, link in reversed(list(pages.links(text))):
            text = text[:start] + self.target(name, link) + text[end:]
        self.write(name, with_space_before_lists(drawn(text, self.dot)))


def navigation(root):
    """(part, [(title, page)]): each heading of docs/index.md with the pages that it is the first to name."""
    text = (root / "docs/index.md").read_text(encoding="utf-8")
    seen, parts = {"README.md", "docs/index.md"}, []
    heads = [(m.start(), m[1]) for m in re.finditer(r"(?m)^## (.+)$", text)]
    for start, _, target in pages.links(text):
        page = pages.page_of(root, pages.resolve(root, "docs/index.md", target))
        part = next((words for at, words in reversed(heads) if at < start), None)
        if page is None or page in seen or part is None:
            continue
        seen.add(page)
        if not parts or parts[-1][0] != part:
            parts.append((part, []))
        parts[-1][1].append((pages.title((root / page).read_text(encoding="utf-8"), page), page))
    return parts


def stage(root, out):
    """Writes the pages and their configuration; gives what is wrong with them."""
    shutil.rmtree(out, ignore_errors=True)
    found = Stage(root, out / "pages")
    for page in pages.reachable(root):
        found.page(page)
    for extra in ("site.css", "iframe-worker.js"):
        shutil.copy(root / "docs/site" / extra, found.folder_of(f"site/{extra}"))
    lines = ["nav:", "  - hocket: README.md", "  - Guide:", "    - docs/index.md"]
    for part, listed in navigation(root):
        lines.append(f"  - {json.dumps(part)}:")
        lines += [f"    - {json.dumps(words, ensure_ascii=False)}: {page}" for words, page in listed]
    settings = (root / "docs/site/mkdocs.yml").read_text(encoding="utf-8").replace("VERSION", version(root))
    (out / "mkdocs.yml").write_text(settings + "\n".join(lines) + "\n", encoding="utf-8")
    return found.findings


# ---- links into the API reference -----------------------------------------------------------------------------------

class Reference:
    """Where the names of the library stand in doxygen's pages, from its tag file."""

    def __init__(self, tags):
        self.headers, self.names = {}, {}
        for compound in xml.etree.ElementTree.parse(tags).getroot():
            kind, name, page = compound.get("kind"), compound.findtext("name"), compound.findtext("filename")
            page = page if page.endswith(".html") else page + ".html"
            if kind == "file":
                folder = (compound.findtext("path") or "").rpartition("/include/")[2]
                self.headers[folder + name] = page
            elif kind in ("class", "struct", "concept"):
                self.add(name, page)
            for member in compound.findall("member"):
                if kind in ("namespace", "class", "struct") and not member.findtext("name").startswith("operator"):
                    self.add(f"{name}::{member.findtext('name')}", member.findtext("anchorfile") + "#" + member.findtext("anchor"),
                             kind == "namespace")

    def add(self, name, where, alone=True):
        """Under every way to write it: a::b::c, b::c, and c if it may stand alone."""
        words = re.sub(r"<.*", "", name).split("::")
        for i in range(len(words)):
            if alone or i < len(words) - 1:
                self.names.setdefault("::".join(words[i:]), {}).setdefault("::".join(words), where)

    def find(self, code, component):
        """The page for what stands in backticks, if there is but one, or one in the page's own component."""
        header = code.removeprefix("#include ").strip("<>")
        for path in (header, "hocket/" + header):
            if path in self.headers:
                return self.headers[path]
        name = re.fullmatch(r"((?:\w+::)*\w+)(?:<[^()]*>)?(\(.*\))?", code, re.S)
        if not name:
            return None
        found = self.names.get(name[1], {})
        own = {k: v for k, v in found.items() if f"::{component}::" in k}
        plain = not re.search(r"[_:(]", code)  # could be any word: then only a name of the page's own component
        for choice in (own,) if plain else (own, found):
            if len(choice) == 1 and len(name[1]) > 2:
                return next(iter(choice.values()))
        return None


def with_reference(text, reference, up, component):
    """An HTML page whose names and headers lead to the reference; at its end, the headers that it speaks of."""
    article = re.search(r"(?s)(<article[^>]*>)(.*?)(</article>)", text)
    if not article:
        return text
    spoken = []

    def link(words, where):
        return f'<a class="api" href="{up}reference/{where}">{words}</a>'

    def header(m):
        where = reference.headers.get(m[1])
        if where and m[1] not in spoken:
            spoken.append(m[1])
        return f"&lt;{link(m[1], where)}&gt;" if where else m[0]

    def inline(m):
        code = html.unescape(re.sub(r"<[^>]*>", "", m[1]))
        where = reference.find(code, component)
        return link(m[0], where) if where else m[0]

    body = ""
    for piece in re.split(r"(?s)(<pre.*?</pre>|<a [^>]*>.*?</a>|<h\d.*?</h\d>|<svg.*?</svg>)", article[2]):
        if piece.startswith("<pre"):
            body += re.sub(r"&lt;(hocket/[\w/]+\.hpp)&gt;", header, piece)
        else:
            body += piece if re.match(r"<(?:a |h\d|svg)", piece) else re.sub(r"(?s)<code>(.*?)</code>", inline, piece)
    listed = " · ".join(link(f"<code>{h}</code>", reference.headers[h]) for h in sorted(spoken))
    body += f'<p class="reference">API reference: {listed or link("all headers", "files.html")}</p>\n'
    return text[:article.start(2)] + body + text[article.end(2):]


def add_reference(site, folder):
    """Copies doxygen's pages, and links them from every page of the checkout."""
    shutil.copytree(folder / "html", site / "reference", dirs_exist_ok=True)
    reference = Reference(folder / "hocket.tag")
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site)
        if name.parts[0] != "reference":
            text = path.read_text(encoding="utf-8")
            changed = with_reference(text, reference, "../" * (len(name.parts) - 1), name.stem)
            path.write_text(changed, encoding="utf-8")


# ---- versions --------------------------------------------------------------------------------------------------------

STUB = ('<!doctype html><html lang="en"><meta charset="utf-8"><title>hocket</title><link rel="icon" href="data:,">'
        '<link rel="canonical" href="{0}">'
        '<meta http-equiv="refresh" content="0; url={0}"><p><a href="{0}">{0}</a></p></html>\n')


def versions(out, newest):
    """latest/ leads, page by page, to the newest version; the root leads to latest/."""
    latest = out / "latest"
    shutil.rmtree(latest, ignore_errors=True)
    for page in sorted((out / newest).rglob("*.html")):
        name = page.relative_to(out / newest)
        stub = latest / name
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(STUB.format("../" * len(name.parts) + newest + "/" + name.as_posix()), encoding="utf-8")
    (out / "index.html").write_text(STUB.format("latest/index.html"), encoding="utf-8")
    listed = [p.name for p in out.iterdir() if re.fullmatch(r"\d+\.\d+", p.name)]
    listed.sort(key=lambda v: [int(n) for n in v.split(".")], reverse=True)
    (out / "versions.json").write_text(json.dumps([{"version": v, "title": v, "aliases": ["latest"] if v == newest else []}
                                                   for v in listed]) + "\n", encoding="utf-8")


# ---- the check of what was built -------------------------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """The names, links and loaded files of an HTML page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.names, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names.update(filter(None, (values.get("id"), values.get("name") if tag == "a" else None)))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and values.get("href") and values.get("rel") not in ("canonical", "prev", "next", "edit"):
            self.loads.append(values["href"])
        if tag in ("script", "img", "iframe", "source", "object", "embed") and (values.get("src") or values.get("data")):
            self.loads.append(values.get("src") or values.get("data"))


def check(site):
    """What is wrong with a built version: dead links, missing anchors, files that would be loaded from elsewhere.

    Of doxygen's own pages only what they load is looked at: it links what it has just written.
    """
    files = {p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file()}
    read = {}

    def page(name):
        if name not in read:
            read[name] = Page((site / name).read_text(encoding="utf-8"))
        return read[name]

    def points_to(name):
        if name.startswith("reference/") and name != "reference/index.html":
            return re.findall(r'<(?:script|img|iframe|link)[^>]* (?:src|href)="([^"]+)"', (site / name).read_text(encoding="utf-8")), []
        return page(name).loads, page(name).links

    for name in sorted(n for n in files if n.endswith(".html")):
        loads, links = points_to(name)
        for target in dict.fromkeys(loads + links):
            url = urllib.parse.urlsplit(target)
            if url.scheme or url.netloc:
                if target in loads and url.scheme not in ("data", "javascript"):
                    yield f"{name} loads {target} from elsewhere"
                continue
            path = ((site / name).parent / urllib.parse.unquote(url.path)).resolve() if url.path else (site / name).resolve()
            to = path.relative_to(site.resolve()).as_posix() if path.is_relative_to(site.resolve()) else None
            part = urllib.parse.unquote(url.fragment)
            if to not in files:
                yield f"{name} points to {target}, which does not exist"
            elif part and part != "__top" and to.endswith(".html") and part not in page(to).names:
                yield f"{name} points to {target}, but {to} has no such part"


# ---- the commands ----------------------------------------------------------------------------------------------------

def build(options):
    work = options.out.parent / "site-pages"
    findings = stage(ROOT, work)
    for finding in findings:
        print(finding)
    if findings:
        return 1
    newest = version(ROOT)
    done = subprocess.run([options.python, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", work / "mkdocs.yml", "-d",
                           (options.out / newest).resolve()], capture_output=True, text=True)
    said = [line for line in (done.stdout + done.stderr).split("\n") if line.strip()]
    if done.returncode != 0:
        print("\n".join(said))
        return 1
    if options.reference:
        add_reference(options.out / newest, options.reference)
    versions(options.out, newest)
    (options.out / newest / "404.html").unlink(missing_ok=True)  # absolute addresses: true on one host only
    return check_all([options.out / newest])


def check_all(folders):
    count, found = 0, []
    for folder in folders:
        found += check(folder)
        count += sum(1 for _ in folder.rglob("*.html"))
    for finding in found:
        print(finding)
    print(f"{count} pages, {len(found)} findings")
    return 1 if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build")
    building.add_argument("--python", required=True, help="a Python that has docs/site/requirements.txt")
    building.add_argument("--reference", type=pathlib.Path, help="the folder in which doxygen left html/ and hocket.tag")
    building.add_argument("--out", type=pathlib.Path, default=ROOT / "build/site")
    checking = commands.add_parser("check")
    checking.add_argument("folders", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    return build(options) if options.command == "build" else check_all(options.folders)


if __name__ == "__main__":
    sys.exit(main())
