# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tool writes: files whole or not at all, folders from one run, and nothing that commands a terminal."""
import json
import os
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import time

from harness import DATA, PLAN, TILING, ToolTest, _options, environment, hocket, main

SMALL = DATA / "graph" / "gpt_small.ops.csv"
KERNELS = DATA / "ascend" / "kernel_details.csv"
DUMP = DATA / "mindspore" / "select_fp32.ir"
PLAN_FILES = {"report.html", "report.txt", "report.json", "timeline.svg", "trace.json", "schedule.csv", "tiles.svg"}
# A command to a terminal, each in its own way: C1 (a raw escape sequence), a direction, a line, DEL.
CONTROLS = {"csi": "\u009b", "next_line": "\u0085", "override": "\u202e", "isolate": "\u2066", "line": "\u2028", "delete": "\x7f"}


def cramped(words, most_bytes, ignores_signal=True):
    """Runs the tool where no file may grow beyond so many bytes: as on a full disk, or killed in the midst of a write."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignores_signal else signal.SIG_DFL)
    return subprocess.run([_options.tool, *map(str, words)], capture_output=True, preexec_fn=limit, restore_signals=False,
                          env=environment(), timeout=60)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def calls_of(words, *names):
    """The system calls of these names that a run makes, in turn, or None where nothing can tell."""
    if shutil.which("strace") is None:
        return None
    done = subprocess.run(["strace", "-o", "/dev/stderr", "-e", "trace=" + ",".join(names), _options.tool, *map(str, words)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), timeout=60, check=False)
    made = re.findall(rf"^({'|'.join(names)})\(", done.stderr.decode(errors="replace"), re.M)
    return made if done.returncode == 0 and made else None  # a container may forbid to trace


class Files(ToolTest):
    prune = ("graph", "prune", "--ops", SMALL)

    def test_a_full_disk_leaves_the_old_file(self):
        old = self.file("edges.csv", "source,target\n7,8\n")
        done = cramped((*self.prune, "--out", old), 100)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, b"", f"hocket: cannot write {old}\n".encode()))
        self.assertEqual(content(self.folder), {"edges.csv": b"source,target\n7,8\n"})
        new = self.folder / "new.csv"
        self.assertEqual(cramped((*self.prune, "--out", new), 100).returncode, 1)
        self.assertFalse(new.exists())

    def test_a_kill_in_the_midst_leaves_the_old_file(self):
        old = self.file("edges.csv", "source,target\n7,8\n")
        done = cramped((*self.prune, "--out", old), 100, ignores_signal=False)
        self.assertEqual(done.returncode, -signal.SIGXFSZ)
        self.assertEqual(old.read_bytes(), b"source,target\n7,8\n")

    def test_a_file_is_on_the_disk_before_it_is_renamed(self):
        calls = calls_of((*self.prune, "--out", self.folder / "edges.csv"), "fsync", "rename")
        if calls is None:
            self.skipTest("no strace here")
        self.assertEqual(calls, ["fsync", "rename", "fsync"])

    def test_what_a_file_was_it_stays(self):
        whole = self.ok(*self.prune).out
        folder = self.folder / "other"
        folder.mkdir()
        behind = folder / "real.csv"
        behind.write_bytes(b"old")
        behind.chmod(0o640)
        link = self.folder / "link.csv"
        link.symlink_to("other/real.csv")
        self.ok(*self.prune, "--out", link)
        self.assertTrue(link.is_symlink())
        self.assertEqual((behind.read_bytes(), stat.S_IMODE(behind.stat().st_mode)), (whole, 0o640))
        self.assertEqual(set(content(folder)), {"real.csv"})
        dangling = self.folder / "dangling.csv"
        dangling.symlink_to(folder / "fresh.csv")
        self.ok(*self.prune, "--out", dangling)
        self.assertTrue(dangling.is_symlink())
        self.assertEqual((folder / "fresh.csv").read_bytes(), whole)
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(stat.S_IMODE((folder / "fresh.csv").stat().st_mode), 0o666 & ~mask)

    def test_devices_and_pipes_are_written_to(self):
        whole = self.ok(*self.prune).out
        self.ok(*self.prune, "--out", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.assertEqual(self.ok(*self.prune, "--out", "/dev/stdout").out, whole)
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
            self.ok(*self.prune, "--out", pipe)
            self.assertEqual(reader.stdout.read(), whole)

    def test_a_file_that_must_not_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everything")
        old = self.file("edges.csv", "old")
        old.chmod(0o444)
        self.refused(*self.prune, "--out", old, says="cannot write")
        self.assertEqual(old.read_bytes(), b"old")

    def test_two_options_for_one_file(self):
        place = self.folder / "one"
        other = self.folder / "." / "one"
        link = self.folder / "link"
        link.symlink_to(place)
        for words in (("tiling", "solve", "--problem", TILING, "--out", place, "--svg", other),
                      ("profile", KERNELS, "--svg", place, "--trace", link),
                      ("profile", KERNELS, "--out", place, "--svg", place),
                      ("pipeline", "simulate", "gpipe", "--ranks", 2, "--micro-batches", 2, "--out", place, "--critical-path", place),
                      ("graph", "sync", "--ops", SMALL, "--streams", 2, "--out", place, "--assigned", place)):
            self.misused(*words, says="two options write to ")
            self.assertFalse(place.exists())
        self.ok("tiling", "solve", "--problem", TILING, "--out", "/dev/null", "--svg", "/dev/null")
        self.ok("tiling", "solve", "--problem", TILING, "--out", place, "--svg", self.folder / "two")


class Folders(ToolTest):
    def plan(self, title):
        """A plan file of that title, next to copies of what it names."""
        plan = json.loads(PLAN.read_text())
        plan["title"] = title
        plan["model"] = str(PLAN.parent / plan["model"])
        plan["graph"]["ops"] = str((PLAN.parent / plan["graph"]["ops"]).resolve())
        return plan

    def test_a_full_disk_leaves_the_old_folder(self):
        first, second = (self.file(f"{t}.json", json.dumps(self.plan(t))) for t in ("first", "second"))
        out = self.folder / "out"
        self.ok("plan", first, "--out", out)
        old = content(out)
        self.assertEqual(set(old), PLAN_FILES)
        for most in (100, max(map(len, old.values())) - 1000):
            done = cramped(("plan", second, "--out", out), most)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(b"cannot write", done.stderr)
            self.assertEqual(content(out), old)
        (out / "timeline.svg").unlink()
        (out / "timeline.svg").mkdir()
        self.refused("plan", second, "--out", out, says="timeline.svg")
        (out / "timeline.svg").rmdir()
        self.assertEqual(content(out), {name: data for name, data in old.items() if name != "timeline.svg"})

    def test_a_file_of_an_earlier_run_goes(self):
        tiled, whole = self.plan("tiled"), self.plan("whole")
        del whole["fused_operator"]
        out = self.folder / "out"
        self.ok("plan", self.file("tiled.json", json.dumps(tiled)), "--out", out)
        (out / "notes.txt").write_text("mine")
        self.ok("plan", self.file("whole.json", json.dumps(whole)), "--out", out)
        self.assertEqual(set(content(out)), PLAN_FILES - {"tiles.svg"} | {"notes.txt"})

    def test_an_interrupt_leaves_one_run_or_no_page(self):
        chance, out = random.Random(os.environ.get("HOCKET_SEED", "5")), self.folder / "out"
        runs = {}
        for title in ("first", "second"):
            file = self.file(f"{title}.json", json.dumps(self.plan(title)))
            start = time.monotonic()
            self.ok("plan", file, "--out", out)
            runs[title] = file, content(out), time.monotonic() - start
        for n in range(12):
            file, _, seconds = runs[("first", "second")[n % 2]]
            with subprocess.Popen([_options.tool, "plan", str(file), "--out", str(out)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=environment()) as process:
                time.sleep(seconds * chance.uniform(0.7, 1.05))
                process.kill()
            found = {name: data for name, data in content(out).items() if not name.startswith(".hocket-")}
            if "report.html" in found:
                self.assertIn(found, [whole for _, whole, _ in runs.values()], n)


class Names(ToolTest):
    def clean(self, done):
        for what, text in (("standard output", done.out.decode()), ("standard error", done.err)):
            found = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", text)
            self.assertEqual(found, [], f"{what} of {done}")

    def test_names_in_dumps_command_no_terminal(self):
        text = DUMP.read_text()
        primitive = re.search(r"= (\w+)\(", text)[1]
        for name, control in CONTROLS.items():
            told = text.replace("feed_forward", f"feed{control}31m").replace(f"= {primitive}(", f"= {primitive}{control}31m(")
            self.assertNotEqual(told, text)
            dump = self.file("names.ir", told)
            for words in (("summary",), ("recompute",), ("peak",), ("ops",), ("collectives",)):
                for form in ((), ("--json",), ("--format", "json")):
                    with self.subTest(control=name, words=words, form=form):
                        done = hocket("ir", *words, dump, *form)
                        self.clean(done)
                        if form and done.code == 0:
                            json.loads(done.out)

    def test_names_in_profiles_command_no_terminal(self):
        head, *rows = KERNELS.read_text().splitlines()
        for name, control in CONTROLS.items():
            evil = [row.replace("MatMul", f"Mat{control}31mMul") for row in rows]
            self.assertNotEqual(evil, rows)
            profile = self.file("evil.csv", "\n".join([head, *evil]) + "\n")
            for form in ((), ("--json",), ("--by", "shape")):
                with self.subTest(control=name, form=form):
                    done = hocket("profile", profile, *form)
                    self.assertEqual(done.code, 0, done)
                    self.clean(done)
                    if form == ("--json",):
                        self.assertIn(f"Mat{control}31mMul", json.dumps(json.loads(done.out), ensure_ascii=False))
                    else:
                        self.assertIn("Mat?31mMul", done.text)


    def test_a_gap_without_a_bound_is_null(self):
        cost = {"type": "table", "rows": [1, 10, 100, 1000000], "us": [0, 0, 0, 0]}
        problem = {"rows": 1048576, "align": 1, "max_tiles": 256, "phases": [
            {"kind": "compute", "cost": cost}, {"kind": "comm", "cost": cost | {"us": [0, 0, 0, 1]}}]}
        words = ("tiling", "solve", "--problem", self.file("p.json", json.dumps(problem)))
        self.assertEqual(self.ok(*words).summary["gap"], "inf")
        self.assertIsNone(json.loads(self.ok(*words, "--json").out)["summary"]["gap"])


if __name__ == "__main__":
    main()
