# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A headless Chromium, driven over a pipe in its own protocol: needs nothing but the standard library."""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
MISSING = "no Chromium is installed (chromium, chromium-browser, google-chrome or chrome)"
SIZES = {"wide": (1440, 900, False), "tablet": (820, 1180, False), "phone": (390, 844, True)}


class Page:
    """One page of one browser. `complaints`: errors and warnings of the console; `requests`: addresses asked for."""

    def __init__(self, seconds=90):
        self.seconds, self.numbers, self.buffer = seconds, itertools.count(1), b""
        self.complaints, self.requests, self.session, self.events = [], [], None, []
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()

        def its_files():  # the protocol is on descriptors 3 and 4; first out of the way, in case these are among them
            low, high = os.dup(to_browser), os.dup(from_browser)
            a, b = os.dup(low), os.dup(high)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync",
             "--force-device-scale-factor=1", f"--user-data-dir={self.home.name}", "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=its_files, env={**os.environ, "HOME": self.home.name})
        os.close(to_browser)
        os.close(from_browser)
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except Exception:  # whatever it is, the browser must not stay
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.home.cleanup()

    def _read(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.back, 1 << 16)
            if not more:
                raise ConnectionError("the browser is gone")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def _note(self, event):
        name, what = event["method"], event.get("params", {})
        self.events.append(name)
        if name == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif name == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in what["args"]))
        elif name == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(what["entry"]["text"])
        elif name == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def call(self, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.seconds
        while True:
            got = self._read(until)
            if got.get("id") == number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            if "method" in got:
                self._note(got)

    def size(self, name):
        width, height, phone = SIZES[name]
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def scheme(self, name, media=""):
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        until = time.monotonic() + self.seconds
        while "Page.loadEventFired" not in self.events:
            got = self._read(until)
            if "method" in got:
                self._note(got)
        self.settle()

    def settle(self):
        """Until what is laid out is drawn: two frames."""
        self.ask("new Promise(f => requestAnimationFrame(() => requestAnimationFrame(() => f(1))))")

    def ask(self, expression):
        """The value of an expression of the page, waited for if it is a promise."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise RuntimeError(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return done["result"].get("value")

    def press(self, key):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "Home": 36, "End": 35, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40}
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key)
        at = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        self.call("Input.dispatchKeyEvent", type="keyDown", **at, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **at)
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1, buttons=1)
        self.settle()

    def shot(self, whole=False, **how):
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole, **how)["data"])
