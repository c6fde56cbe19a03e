# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The built site in a browser: its search finds words, the console is silent, and no request leaves.

    python3 tests/documents/test_site.py --site build/site [unittest arguments]

Served from this machine, as a static host would, and opened as files. Skipped where no Chromium is installed.
"""
import argparse
import functools
import http.server
import ipaddress
import pathlib
import re
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "command_line"))
from chromium import BROWSER, MISSING, Page  # noqa: E402

LOOPBACK = str(ipaddress.IPv4Network("127.0.0.0/8")[1])  # this machine
_options = argparse.Namespace(site=None)
SEARCH = """
(async (word, where, tries) => {
  const open = document.querySelector("#__search");
  if (!open.checked) open.click();
  const field = document.querySelector("[data-md-component=search-query]");
  field.focus();
  field.value = word;
  field.dispatchEvent(new Event("input", {bubbles: true}));
  field.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}));
  for (let i = 0; i < tries; ++i) {
    const found = [...document.querySelectorAll(".md-search-result__link")].map(a => a.href);
    if (found.some(f => f.includes(where))) return found;
    await new Promise(f => setTimeout(f, 50));
  }
  return [];
})"""  # the browser's focus is not to be had without a window: the script opens what a click on the field opens


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipUnless(BROWSER, MISSING)
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        handler = functools.partial(Quiet, directory=_options.site)
        cls.server = http.server.ThreadingHTTPServer((LOOPBACK, 0), handler)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.home = f"http://{LOOPBACK}:{cls.server.server_address[1]}/"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def visit(self, page, address, arrives):
        """Goes to an address, and waits until redirections have ended at the page that `arrives` describes."""
        page.call("Page.navigate", url=address)
        until = time.monotonic() + 60
        while True:
            try:
                ready = page.ask("document.readyState === 'complete' && location.pathname") or ""
            except RuntimeError:  # the page went away while it was asked
                ready = ""
            if re.fullmatch(arrives, ready):
                break
            self.assertLess(time.monotonic(), until, f"{address} leads to {ready}")
            time.sleep(0.1)
        page.settle()

    def assert_quiet(self, page, start):
        self.assertEqual(page.complaints, [])
        self.assertGreater(len(page.requests), 3)  # the page, its style, its script: what was asked for is seen
        self.assertEqual([r for r in page.requests if not r.startswith((start, "data:", "blob:", "about:"))], [])

    def finds(self, page, word, where, seconds=60):
        found = page.ask(f"{SEARCH}({word!r}, {where!r}, {seconds * 20})")
        self.assertTrue(any(where in f for f in found), (word, found))

    def test_served(self):
        with Page() as page:
            self.visit(page, self.home, r"/\d+\.\d+/index\.html")
            self.finds(page, "deadlocks", "/docs/pipeline.html")
            self.finds(page, "MatmulAllReduce", "/docs/tiling.html")
            with self.assertRaises(AssertionError):  # a word that stands nowhere
                self.finds(page, "zzzyqx", "/docs/pipeline.html", seconds=2)
            self.visit(page, self.home + "latest/docs/graph.html", r"/\d+\.\d+/docs/graph\.html")
            self.assertIn("API reference", page.ask("document.querySelector('p.reference').textContent"))
            self.assertRegex(page.ask("document.querySelector('a.api').href"), r"/reference/\w+\.html")
            self.assert_quiet(page, self.home)

    def test_as_files(self):
        version = sorted(p for p in pathlib.Path(_options.site).iterdir() if p.name[0].isdigit())[-1]
        with Page() as page:
            page.open(version / "docs/pipeline.html")
            self.finds(page, "deadlocks", "/docs/pipeline.html")
            self.assert_quiet(page, "file:")

    def test_the_test_sees_what_leaves(self):
        with Page() as page:
            page.call("Page.setDocumentContent", frameId=page.call("Page.getFrameTree")["frameTree"]["frame"]["id"],
                      html="<img src='http://elsewhere.example/a.png'><script>console.error('x')</script><p>a<p>b<img src='a'><img src='b'>")
            page.settle()
            with self.assertRaises(AssertionError):
                self.assert_quiet(page, self.home)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--site", required=True)
    _, rest = parser.parse_known_args(namespace=_options)
    unittest.main(argv=[sys.argv[0], *rest])
