# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pictures as a browser shows them: Chromium lays them out and paints them, without a window.

Skipped where no Chromium is installed. Needs nothing but the standard library.
"""
import json
import os
import re
import struct
import subprocess
import unittest
import zlib

from chromium import BROWSER, MISSING
from harness import DATA, ToolTest, main

PICTURES = {
    "interleaved": ("interleaved", "--ranks", 4, "--chunks", 2, "--micro-batches", 9),
    "hops": ("interleaved", "--ranks", 4, "--chunks", 3, "--micro-batches", 13, "--forward", 10, "--backward", 21, "--hop", 2),
    "zbv": ("zbv", "--ranks", 4, "--chunks", 2, "--micro-batches", 8),
    "dualpipe": ("dualpipe", "--ranks", 4, "--micro-batches", 10),
    "one": ("gpipe", "--ranks", 1, "--micro-batches", 1),
    "tiny": ("1f1b", "--ranks", 16, "--micro-batches", 200),
}
PROFILES = ("kernel_details.csv", "cpu_op_execute_timestamp_0.txt", "trace_view.json")

# What must be found, so that finding nothing means something.
BROKEN = ('<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100" overflow="visible"><text x="20" y="40">left</text>'
          '<text x="30" y="42">right</text><rect x="290" y="5" width="60" height="10"/><rect x="200" y="50" width="4" height="9"/>'
          '<text class="b" x="190" y="60">123</text></svg>')

# Every shape and every text stays in the picture; no two texts cover each other; a number stays in its bar.
LOOK = """
const found = [], near = 1.5;
const box = e => e.getBoundingClientRect();
for (const svg of document.querySelectorAll("svg")) {
  const view = box(svg), name = svg.parentNode.id, texts = [], counts = {};
  if (!(view.width > 100 && view.height > 50)) found.push(`${name}: it is ${view.width} by ${view.height}`);
  let bar = null;
  for (const e of svg.querySelectorAll("rect, path, line, text")) {
    if (e.closest("defs")) continue;
    counts[e.tagName] = (counts[e.tagName] || 0) + 1;
    const b = box(e), word = e.tagName === "text" ? e.textContent : e.outerHTML.slice(0, 80);
    if (b.left < view.left - near || b.right > view.right + near || b.top < view.top - near ||
        b.bottom > view.bottom + near) found.push(`${name}: outside: ${word}`);
    if (e.tagName === "rect") bar = b;
    if (e.tagName !== "text") continue;
    if (!(b.width > 0 && b.height > 0)) found.push(`${name}: no size: ${word}`);
    if (e.classList.contains("b") && bar && (b.left < bar.left - near || b.right > bar.right + near))
      found.push(`${name}: wider than its bar: ${word}`);
    texts.push([b, word]);
  }
  texts.sort((x, y) => x[0].top - y[0].top);
  for (let i = 0; i < texts.length; ++i) {
    for (let j = i + 1; j < texts.length && texts[j][0].top < texts[i][0].bottom; ++j) {
      const [a, s] = texts[i], [b, t] = texts[j];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > near && high > 0.35 * Math.min(a.height, b.height)) found.push(`${name}: "${s}" lies on "${t}"`);
    }
  }
  found.push({name, counts});
}
const out = document.createElementNS("http://www.w3.org/1999/xhtml", "pre");
out.id = "found";
out.textContent = JSON.stringify(found);
document.body.appendChild(out);
"""


def read_png(data):
    """Width, height and the pixels of a PNG of 8 bits a channel, as rows of (red, green, blue)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colours in (2, 6) and not interlaced
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    size = 3 if colours == 2 else 4
    raw, stride, rows, before = zlib.decompress(packed), width * size, [], bytes(width * size)
    for y in range(height):
        start = y * (stride + 1)
        how, line = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for x in range(stride if how else 0):
            a = line[x - size] if x >= size else 0
            b, c = before[x], before[x - size] if x >= size else 0
            if how == 1:
                guess = a
            elif how == 2:
                guess = b
            elif how == 3:
                guess = (a + b) // 2
            else:
                guess = min(((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c)))[2]
            line[x] = (line[x] + guess) & 255
        rows.append([tuple(line[x:x + 3]) for x in range(0, stride, size)])
        before = line
    return width, height, rows


@unittest.skipUnless(BROWSER, MISSING)
class Browser(ToolTest):
    def browse(self, page, *options):
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
             f"--user-data-dir={home}", *options, page.as_uri()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env={**os.environ, "HOME": str(home)})
        self.assertEqual(done.returncode, 0, done.stderr.decode("utf-8", "replace")[-1000:])
        return done.stdout.decode("utf-8")

    def svg(self, words):
        return self.ok("pipeline", "draw", *words, "--format", "svg").text

    def profile(self, name):
        picture = self.folder / "profile.svg"
        self.ok("profile", DATA / "ascend" / name, "--svg", picture)
        return picture.read_text()

    def test_nothing_is_outside_and_no_text_lies_on_another(self):
        pictures = "".join(f'<div id="{name}">{self.svg(words)}</div>' for name, words in PICTURES.items())
        pictures += "".join(f'<div id="{name}">{self.profile(name)}</div>' for name in PROFILES)
        pictures += f'<div id="broken">{BROKEN}</div>'
        # XHTML, so that the browser parses the pictures as strictly as it does files of their own.
        page = self.file("page.xhtml", f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>pictures</title></head>'
                                       f"<body>{pictures}<script><![CDATA[{LOOK}]]></script></body></html>")
        dumped = self.browse(page, "--dump-dom")
        match = re.search(r'<pre[^>]*id="found"[^>]*>(.*?)</pre>', dumped, re.S)
        self.assertIsNotNone(match, dumped[:1000])
        text = match.group(1).replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        found = json.loads(text)
        complaints = [x for x in found if isinstance(x, str)]
        self.assertEqual([x for x in complaints if not x.startswith("broken: ")], [])
        for what in ("lies on", "outside", "wider than its bar"):
            self.assertTrue(any(what in x for x in complaints), what)
        seen = {x["name"]: x["counts"] for x in found if not isinstance(x, str)}
        self.assertEqual(set(seen), {*PICTURES, *PROFILES, "broken"})
        self.assertGreaterEqual(seen["interleaved"]["rect"], 4 * 36 + 4)  # a bar for each action, and what idles
        self.assertGreaterEqual(seen["interleaved"]["text"], 4 * 36)
        self.assertGreaterEqual(seen["interleaved"]["path"], 4)  # a curve for each rank

    def test_the_colours_are_there(self):
        page = self.file("picture.svg", self.svg(PICTURES["interleaved"]))
        shot = self.folder / "shot.png"
        self.browse(page, f"--screenshot={shot}", "--window-size=1200,600")
        width, height, rows = read_png(shot.read_bytes())
        self.assertEqual((width, height), (1200, 600))
        pixels = [p for row in rows for p in row]
        blue = sum(1 for r, g, b in pixels if b > r + 60 and b > g)  # forward
        orange = sum(1 for r, g, b in pixels if r > b + 60 and r > g > b)  # backward
        self.assertGreater(blue, 20_000)
        self.assertGreater(orange, 20_000)
        self.assertGreater(sum(1 for p in pixels if min(p) > 240), 50_000)  # and they do not cover everything

    def test_exposed_communication_is_hatched(self):
        page = self.file("picture.svg", self.profile("kernel_details.csv"))
        shot = self.folder / "shot.png"
        self.browse(page, f"--screenshot={shot}", "--window-size=1400,300")
        _, _, rows = read_png(shot.read_bytes())
        pixels = [p for row in rows for p in row]
        red = sum(1 for r, g, b in pixels if r > g + 70 and r > b + 40)
        violet = sum(1 for r, g, b in pixels if b > g + 20 and r > g)
        # The communication is exposed for two thirds of a lane of about 1,200 by 30 pixels.
        self.assertGreater(red, 6_000)
        self.assertGreater(violet, 3_000)


if __name__ == "__main__":
    main()
