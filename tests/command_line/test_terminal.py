# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is for people at a terminal: completion, the manual page, doctor, default values, colours, progress, Ctrl-C."""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
import unittest

from harness import DATA, EXAMPLES, ToolTest, _options, environment, hocket, main

SMALL = DATA / "graph" / "gpt_small.ops.csv"
SECONDS = 120  # that a terminal may be silent; a loaded machine is slow
# Its bound is not met soon, and its budget would last for days.
ENDLESS = ("pipeline", "search", "--ranks", 8, "--chunks", 2, "--micro-batches", 16, "--memory-cap", 10, "--budget", 2 ** 40)
# Between two looks at the watch it works for long.
SLOW = ("pipeline", "search", "--ranks", 32, "--chunks", 4, "--micro-batches", 4096, "--memory-cap", 40)


class Terminal:
    """The tool on a terminal of its own; `seen` is what it wrote there."""

    def __init__(self, *words, **more):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(_options.tool, [_options.tool, *map(str, words)], environment(**{"TERM": "xterm", "NO_COLOR": "", **more}))
        self.seen, self.code = "", None

    def wait_for(self, words):
        until = time.monotonic() + SECONDS
        while words not in self.seen and self.code is None and time.monotonic() < until:
            self.read(1)
        return words in self.seen

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return
        try:
            self.seen += os.read(self.fd, 1 << 16).decode("utf-8", "replace")
        except OSError:  # the other side is gone
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self.fd)

    def press(self, key):
        os.write(self.fd, key)

    def end(self):
        until = time.monotonic() + SECONDS
        while self.code is None and time.monotonic() < until:
            self.read(1)
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
        while self.code is None:
            self.read(1)
        return self.code


def wait_until_caught(process):
    """Until the process has a handler of its own for Ctrl-C."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        with open(f"/proc/{process.pid}/status") as status:
            caught = int(re.search(r"SigCgt:\s*(\w+)", status.read())[1], 16)
        with open(f"/proc/{process.pid}/cmdline", "rb") as words:
            if caught >> (signal.SIGINT - 1) & 1 and words.read().startswith(_options.tool.encode()):
                return
        time.sleep(0.01)


@unittest.skipUnless(os.path.exists("/proc/self/status"), "no /proc")
class Searches(ToolTest):
    def stopped(self, at):
        """Waits for the line of progress, presses Ctrl-C, and gives the words of the last line."""
        self.assertTrue(at.wait_for(" s left"), at.seen)
        self.assertRegex(at.seen, r"\r\x1b\[Ksearching: \d+ %, about \d+ s left \(Ctrl-C: the best so far\)")
        at.press(b"\x03")
        self.assertEqual(at.end(), 0, at.seen)
        last = at.seen.replace("^C", "").rpartition("\x1b[K")[2]
        said = dict(word.split("=", 1) for word in last.split() if "=" in word)
        self.assertEqual(said["stopped"], "yes")
        return said

    def test_a_terminal_shows_progress_and_ctrl_c_gives_the_best_so_far(self):
        out = self.folder / "schedule.csv"
        at = Terminal(*ENDLESS, "--out", out)
        said = self.stopped(at)
        self.assertLessEqual(int(said["lower_bound"]), int(said["makespan"]))
        self.ok("pipeline", "check", "--table", out)
        run = self.ok("pipeline", "simulate", "--table", out)
        self.assertEqual(run.summary["makespan"], said["makespan"])
        self.assertLessEqual(max(row[4] for row in run.rows[1]), 10)

    def test_micro_batches_are_compared_on_the_draws_so_far(self):
        model = EXAMPLES / "llama-2-13b" / "config.json"
        training = self.file("training.json", '{"sequence": 1024, "global_batch": 64, "machine": "b200_fitted"}')
        parallel = self.file("parallel.json", '{"pp": 2, "tp": 2}')
        out, again = self.folder / "some.json", self.folder / "all.json"
        words = ("planner", "batches", "--model", model, "--training", training, "--parallel", parallel,
                 "--lengths", "doublings:64-1024", "--memory-gib", 1000, "--format", "json")
        at = Terminal(*words, "--draws", 150, "--out", out)
        said = self.stopped(at)
        self.assertLess(int(said["draws"]), 150)
        # What it compared is what fewer draws compare.
        self.ok(*words, "--draws", said["draws"], "--out", again)
        some, all_of_them = json.loads(out.read_text()), json.loads(again.read_text())
        self.assertIs(some.pop("stopped"), True)
        self.assertNotIn("stopped", all_of_them)
        self.assertEqual(some, all_of_them)

    def test_a_pipe_shows_none_of_it(self):
        words = [_options.tool, *map(str, ENDLESS), "--json"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        wait_until_caught(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(err.count(b"\n"), 1)
        self.assertNotIn(b"\x1b", err)
        answer = json.loads(out)
        self.assertIs(answer["stopped"], True)
        self.assertIs(answer["summary"]["stopped"], True)

    def test_a_second_ctrl_c_ends_at_once(self):
        codes = []
        while 130 not in codes and len(codes) < 8:  # both may fall between two looks
            at = Terminal(*SLOW, "--out", self.folder / "schedule.csv")
            self.assertTrue(at.wait_for("searching"), at.seen)
            at.press(b"\x03")
            time.sleep(0.1)
            if at.code is None:
                at.press(b"\x03")
            codes.append(at.end())
        self.assertIn(130, codes)
        self.assertLessEqual(set(codes), {0, 130})

    def test_elsewhere_ctrl_c_ends_as_ever(self):
        process = subprocess.Popen([_options.tool, "graph", "prune", "--ops", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, -signal.SIGINT)


class Colours(ToolTest):
    def seen(self, **more):
        at = Terminal("graph", "nope", **more)
        self.assertEqual(at.end(), 2)
        return at.seen

    def test_only_terminals_see_them(self):
        self.assertIn("\x1b[1;31mhocket:\x1b[0m not understood", self.seen())
        for none in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", self.seen(**none))
        self.assertNotIn("\x1b", hocket("graph", "nope").err)
        self.assertNotIn("\x1b", hocket("doctor").text)


class Pictures(ToolTest):
    def test_a_terminal_gets_letters_and_a_pipe_svg(self):
        words = ("pipeline", "draw", "1f1b", "-p", 2, "-m", 2)
        at = Terminal(*words)
        self.assertEqual(at.end(), 0)
        self.assertIn("rank 0  F0 F1", at.seen)
        self.assertTrue(hocket(*words).text.startswith("<svg"))


class Completion(ToolTest):
    def complete(self, *words):
        script = 'eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hocket; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", hocket("completion", "bash").text, "hocket", *map(str, words)],
                              capture_output=True, text=True, cwd=self.folder, timeout=SECONDS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.split())

    def test_words(self):
        self.file("plan.json", "{}")
        (self.folder / "below").mkdir()
        self.assertLessEqual({"graph", "pipeline", "plan", "doctor"}, self.complete(""))
        self.assertEqual(self.complete("gr"), {"graph"})
        self.assertEqual(self.complete("graph", ""), {"prune", "sync", "order", "reaches", "compare"})
        self.assertEqual(self.complete("graph", "prune", "--ind"), {"--index"})
        self.assertEqual(self.complete("graph", "prune", "--index", ""), {"auto", "dense", "persistent", "none"})
        self.assertEqual(self.complete("graph", "prune", "--index", "=", "de"), {"dense"})
        self.assertEqual(self.complete("graph", "prune", "--index", "="), {"auto", "dense", "persistent", "none"})
        self.assertEqual(self.complete("pipeline", "draw", "zb"), {"zb-h1", "zb-h2", "zbv"})
        self.assertEqual(self.complete("pipeline", "buffers", "--pools", ""), {"stage-and-kind", "kind", "rank"})
        self.assertEqual(self.complete("pipeline", "prefill", "--show", ""), {"pieces", "requests", "rules", "ranks"})
        self.assertEqual(self.complete("plan", "pl"), {"plan.json"})
        self.assertEqual(self.complete("plan", "plan.json", "--out", ""), {"below"})
        self.assertEqual(self.complete("completion", "z"), {"zsh"})
        self.assertEqual(self.complete("pipeline", "simulate", "1f1b", "--ranks", ""), set())

    def test_every_option_of_every_command(self):
        def walk(*words):
            text = hocket(*words, "--help").text
            self.assertEqual(self.complete(*words, "--"), set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", text, re.M)), words)
            for name in re.findall(r"^  (\S+)  ", text.partition("Subcommands:\n")[2], re.M):
                walk(*words, name)
        walk()

    def test_the_others_can_be_read(self):
        for shell in ("zsh", "fish"):
            text = hocket("completion", shell).text
            for words in ("graph prune", "--micro-batches", "persistent"):
                self.assertIn(words.split("--")[-1], text)
            if shutil.which(shell):
                script = self.file("script", text)
                done = subprocess.run([shell, "-n", script], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish_completes(self):
        script = self.file("hocket.fish", hocket("completion", "fish").text)
        for line, wanted in (("hocket graph ", {"prune", "sync", "order", "reaches", "compare"}), ("hocket graph prune --index ", {"auto", "dense", "persistent", "none"})):
            done = subprocess.run(["fish", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True)
            self.assertLessEqual(wanted, {word.split("\t")[0] for word in done.stdout.splitlines()}, done)


class Manual(ToolTest):
    def test_it_has_every_command_and_option(self):
        page = hocket("manual").text.replace("\\-", "-")

        def walk(*words):
            text = hocket(*words, "--help").text
            below = re.findall(r"^  (\S+)  ", text.partition("Subcommands:\n")[2], re.M)
            if words and not below:
                self.assertIn(".SS hocket " + " ".join(words) + "\n", page)
            for option in re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", text, re.M):
                self.assertIn(option, page)
            for name in below:
                walk(*words, name)
        walk()

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff_has_no_complaint(self):
        page = hocket("manual").out
        done = subprocess.run(["groff", "-ww", "-man", "-Tutf8"], input=page, capture_output=True, timeout=SECONDS)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn("NO_COLOR", re.sub(".\b", "", done.stdout.decode()))
        broken = subprocess.run(["groff", "-ww", "-man", "-Tutf8"], input=page + b".nosuchmacro\n", capture_output=True, timeout=SECONDS)
        self.assertNotEqual(broken.stderr, b"")  # it does complain

    def test_the_synopsis_has_what_must_be_given(self):
        page = re.sub(r"\\f[BIR]", "", hocket("manual").text).replace("\\-", "-")
        for words in ("plan\n[OPTIONS] [FILE]\n", "pipeline search\n[OPTIONS] --ranks P --micro-batches M\n", "profile\n[OPTIONS] FILE...\n", "planner layout\n[OPTIONS] [LAYOUT] --model FILE --training FILE --parallel FILE\n",
                      "ir peak\n[OPTIONS] DUMP\n", "pipeline list\n[OPTIONS] [SCHEDULE]\n", "doctor\n[OPTIONS]\n"):
            self.assertIn(".B hocket " + words, page)

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_man_shows_it(self):
        page = self.file("hocket.1", hocket("manual").out)
        done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, timeout=SECONDS,
                              env=environment(LC_ALL="C.UTF-8", MANWIDTH="100", MANPAGER="cat"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("hocket pipeline search", done.stdout)


class Doctor(ToolTest):
    def test_what_it_says(self):
        done = self.ok("doctor", "--json")
        said = json.loads(done.text)
        self.assertEqual(said["build"]["hocket"], hocket("--version").text.strip())
        self.assertRegex(said["build"]["language"], r"C\+\+ 20\d\d")
        self.assertRegex(said["dependencies"]["boost"], r"^1\.\d+\.\d+$")
        self.assertEqual(said["machine"]["threads"], len(os.sched_getaffinity(0)))
        self.assertEqual({type(said["machine"][key]) for key in ("threads", "pointer_bits", "long_bits")}, {int})
        self.assertEqual({type(said["build"][key]) for key in ("assertions", "exceptions", "integers_of_128_bits")}, {bool})
        self.assertEqual(said["defaults"], {"file": "none"})
        self.assertIn(said["machine"]["endianness"], ("little", "big"))

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_it_finds_devices(self):
        source = self.file("driver.c", 'int cuInit(unsigned f) { return (int)f; }\nint cuDriverGetVersion(int* v) { *v = 13020; return 0; }\n'
                                       'int cuDeviceGetCount(int* n) { *n = 1; return 0; }\n'
                                       'int cuDeviceGetName(char* t, int n, int d) { t[0] = "X"[d]; t[1] = \'\\033\'; t[2] = 0; return n < 3; }\n'
                                       'int aclrtGetVersion(int* a, int* b, int* c) { *a = 1; *b = 2; *c = 3; return 0; }\n')
        for name in ("libcuda.so.1", "libascendcl.so"):
            subprocess.run(["cc", "-shared", "-fPIC", source, "-o", self.folder / name], check=True)
        done = hocket("doctor", "--json", env=environment(LD_LIBRARY_PATH=str(self.folder)))
        self.assertEqual(done.code, 0, done)
        devices = json.loads(done.text)["devices"]
        self.assertEqual((devices["cuda"], devices["cuda_devices"], devices["cann"]), ("driver for CUDA 13.2", 1, "AscendCL 1.2.3"))
        self.assertNotIn("\x1b", devices["cuda_device_0"])


class Defaults(ToolTest):
    LIST = ("pipeline", "list", "interleaved", "--ranks", 4, "--micro-batches", 9)

    def config(self, text):
        return self.file("config.toml", text)

    def test_they_hold_where_the_command_line_says_nothing(self):
        file = self.config('# how we cut\n[pipeline]\nchunks = 2 # a rank\n[pipeline.list]\ngroups = "last"\n[graph.prune]\nindex = \'dense\'\n')
        wanted = self.ok(*self.LIST, "--chunks", 2, "--groups", "last").out
        self.assertEqual(self.ok("--config", file, *self.LIST).out, wanted)
        self.assertEqual(self.ok(*self.LIST, f"--config={file}").out, wanted)
        self.assertEqual(self.ok(*self.LIST, "--groups=first", "--config", file).out, self.ok(*self.LIST, "--chunks", 2, "--groups", "first").out)
        self.assertEqual(self.ok("--config", file, "graph", "prune", "--ops", SMALL).summary["index"], "dense")

    def test_the_users_own_file(self):
        (self.folder / "hocket").mkdir()
        (self.folder / "hocket" / "config.toml").write_text("json = true\n")
        done = self.ok("graph", "prune", "--ops", SMALL, env=environment(XDG_CONFIG_HOME=str(self.folder)))
        self.assertIn("rows", json.loads(done.text))
        split = ("planner", "split", "--problem", EXAMPLES / "llama-2-13b" / "split.json", "--format", "text")
        self.assertEqual(self.ok(*split, env=environment(XDG_CONFIG_HOME=str(self.folder))).out, self.ok(*split).out)  # --format excludes it
        self.assertEqual(self.ok("graph", "prune", "--ops", SMALL, "--config", self.config("")).out, self.ok("graph", "prune", "--ops", SMALL).out)

    def test_lists_and_flags(self):
        file = self.config('[pipeline.simulate]\ndetails = true\nactivation-bytes = [1, 2, 3, 4]\n')
        words = ("pipeline", "simulate", "1f1b", "--ranks", 4, "--micro-batches", 4)
        self.assertEqual(self.ok("--config", file, *words).out, self.ok(*words, "--details", "--activation-bytes", "1,2,3,4").out)

    def test_lists_of_an_option_of_one_word(self):
        words = ("pipeline", "search", "--ranks", 2, "--micro-batches", 2)
        file = self.config("[pipeline.search]\nmemory-cap = [8, 9]\n")
        self.assertEqual(self.ok("--config", file, *words).out, self.ok(*words, "--memory-cap", "8,9").out)
        done = self.refused("--config", self.config("[pipeline]\nranks = [1, 2]\n"), "pipeline", "list", "1f1b", "--micro-batches", 2, code=2)
        self.assertIn("config.toml:2: ", done.err)

    def test_help_in_spite_of_a_bad_file(self):
        (self.folder / "hocket").mkdir()
        for text in ("[pipeline.serch]\n", "json = 5\n", "[pipeline.search]\nranks = 'x'\nranks = 3\n"):
            (self.folder / "hocket" / "config.toml").write_text(text)
            env = environment(XDG_CONFIG_HOME=str(self.folder))
            for words in (("--help",), ("--version",), ("manual",), ("completion", "bash"), ("graph", "prune", "-h"), ("pipeline", "search", "--help")):
                done = hocket(*words, env=env)
                self.assertEqual((done.code, done.err, done.out), (0, "", hocket(*words).out), done)
            done = self.ok("doctor", env=env)
            line = 3 if "ranks" in text else 1
            self.assertIn(f"config.toml:{line}: ", done.text)
            self.refused("graph", "prune", "--ops", SMALL, env=env, says="config.toml:")

    def test_bad_ones_are_refused_with_file_and_line(self):
        for text, line, says in (("[pipeline.serch]\n", 1, "no command"), ("\n[pipeline\n", 2, "must end with ]"), ("[]\n", 1, "no command"),
                                 ("budget\n", 1, "option = value"), ("[pipeline.search]\nbudgett = 1\n", 2, '"budgett" is no option of pipeline search'),
                                 ("nope = 1\n", 1, "no option of any command"), ("help = true\n", 1, "no option"), ("config = 'x'\n", 1, "no option"),
                                 ("chunks = 1\nchunks = 2\n", 2, "stands in line 1"), ("chunks =\n", 1, "has no value"), ("chunks = \"\"\n", 1, "is empty"),
                                 ("chunks = \"2\n", 1, "quote"), ("chunks = 1 2\n", 1, "must be a number"), ("chunks = [1,\n", 1, "must end on its line"),
                                 ("chunks = \"a\\n\"\n", 1, "backslash"), ("[graph]\nindex = dense\nindex= \"dense\" x\n", 3, ""),
                                 ("[pipeline.list]\n\nmerge = 1\n", 3, "must be true or false"), ("[pipeline]\nchunks = many\n", 2, "many"),
                                 ("[pipeline.list]\nkappa = 9\n", 2, "--kappa")):
            with self.subTest(text=text):
                done = hocket("--config", self.config(text), *self.LIST)
                self.assertIn(done.code, (1, 2), done)
                self.assertEqual(done.out, b"")
                self.assertRegex(done.err, rf"\Ahocket: [^\n]*config\.toml:{line}: [^\n]*\n\Z")
                self.assertIn(says, done.err)
        self.refused("--config", self.folder / "none.toml", *self.LIST, says="cannot read")
        self.misused(*self.LIST, "--config", says="--config")


if __name__ == "__main__":
    main()
