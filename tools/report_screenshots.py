#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of report.html at three sizes, for the documentation: docs/images/report_{wide,tablet,phone}.png.

    ./dev demo && python3 tools/report_screenshots.py [out/demo/report.html] [docs/images]

Needs Chromium. The tablet is in the dark. A picture is of at most 256 colours and 150 kB.
"""
import pathlib
import struct
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "command_line"))
import chromium  # noqa: E402
from test_browser import read_png  # noqa: E402

LARGEST = 150_000


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def with_palette(shot):
    """The picture with the 256 colours that most of its pixels have; the others become the nearest of these."""
    width, height, rows = read_png(shot)
    counts = {}
    for row in rows:
        for pixel in row:
            counts[pixel] = counts.get(pixel, 0) + 1
    colours = sorted(sorted(counts), key=lambda c: -counts[c])[:256]
    index = {c: i for i, c in enumerate(colours)}

    def nearest(pixel):
        if pixel not in index:
            index[pixel] = min(range(len(colours)), key=lambda i: sum((a - b) ** 2 for a, b in zip(colours[i], pixel)))
        return index[pixel]

    raw = b"".join(b"\0" + bytes(nearest(p) for p in row) for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
            + chunk(b"PLTE", b"".join(bytes(c) for c in colours)) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def run(report, folder):
    with chromium.Page() as browser:
        for name in chromium.SIZES:
            browser.size(name)
            browser.scheme("dark" if name == "tablet" else "light")
            browser.open(report)
            picture = with_palette(browser.shot(format="png"))
            if len(picture) > LARGEST:
                sys.exit(f"report_{name}.png has {len(picture)} bytes, more than {LARGEST}")
            (folder / f"report_{name}.png").write_bytes(picture)
            print(f"{folder / f'report_{name}.png'}  {len(picture)} bytes")


if __name__ == "__main__":
    if not chromium.BROWSER:
        sys.exit(chromium.MISSING)
    run(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "out" / "demo" / "report.html"),
        pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs" / "images"))
