# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs Paddle with the drop-in and says what comes out: check.py BUILD_FOLDER [--whole | numbers [PROGRAM…]]

Without `numbers` it is a check, and the exit status says whether everything is as it must be. With `--whole` it takes all
programs and runs, without it a part that takes two minutes on two cores.
"""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
PRELOAD = BUILD / "libhocket_paddle_preload.so"
WHOLE = sys.argv[2:3] == ["--whole"]
PROGRAMS = ("resnet", "transformer", "gpt4") + (("transformer_o1", "gpt12", "gpt48", "gpt48_o1") if WHOLE else ())
TRAINED = ("resnet", "gpt4") + (("transformer", "transformer_o1", "gpt12") if WHOLE else ())
STEPS = 3 if WHOLE else 2
RUNS = 100 if WHOLE else 25
THREADS = (1, 2, 8) if WHOLE else (8,)

failures = []


def expect(holds, what):
    print(f"  {'ok  ' if holds else 'FAIL'} {what}", flush=True)
    if not holds:
        failures.append(what)


def paddle(script, *arguments, mode="off", preload=PRELOAD, threads=None):
    """What a script of ours prints under the drop-in: stdout as lists of words, and stderr's lines of interest."""
    libraries = [preload] + ([BUILD / "libhocket_paddle_threads.so"] if threads else [])
    environment = os.environ | {
        "HOCKET_PADDLE": mode,
        "HOCKET_CUSTOM_OP": str(BUILD / "libhocket_paddle_custom_op.so"),
        "LD_PRELOAD": " ".join(map(str, libraries)),
        "OMP_NUM_THREADS": "1",
        "GLOG_minloglevel": "2",
    }
    if threads:
        environment["HOCKET_PADDLE_THREADS"] = str(threads)
    done = subprocess.run(
        [sys.executable, HERE / script, *map(str, arguments)], env=environment, capture_output=True, text=True
    )
    notes = [line for line in done.stderr.splitlines() if line.startswith(("hocket:", "program "))]
    if done.returncode != 0:
        expect(False, f"{script} {' '.join(map(str, arguments))} with HOCKET_PADDLE={mode} ends with status 0")
        print(done.stderr[-2000:], file=sys.stderr)
    return [line.split() for line in done.stdout.splitlines()], notes


# ---- an oracle that knows rows of names and numbers alone ----------------------------------------------------------


def rules(rows):
    """For each op, the earlier ops that it must wait for by the rules. rows: (reads, writes, chains, after, alone)."""
    last_write, readers, last_in_chain, before, last_alone = {}, {}, {}, [], None
    for op, (reads, writes, chains, _, alone) in enumerate(rows):
        waits = {last_write[v] for v in (*reads, *writes) if v in last_write}
        waits |= {r for v in writes for r in readers.get(v, ())}
        waits |= {last_in_chain[c] for c in chains if c in last_in_chain}
        waits |= set(range(op)) if alone else set() if last_alone is None else {last_alone}
        last_alone = op if alone else last_alone
        before.append(waits - {op})
        for v in writes:
            last_write[v], readers[v] = op, set()
        for v in reads:
            if v not in writes:
                readers.setdefault(v, set()).add(op)
        last_in_chain |= {c: op for c in chains}
    for op, row in enumerate(rows):
        before[op] |= set(row[3])
    return before


def closure(before):
    """For each op, a number whose bits are the ops before it."""
    masks, done = [0] * len(before), [False] * len(before)
    for start in range(len(before)):
        stack = [start]
        while stack:
            op = stack[-1]
            unknown = [] if done[op] else [b for b in before[op] if not done[b]]
            stack += unknown
            if unknown:
                continue
            if not done[op]:
                for b in before[op]:
                    masks[op] |= masks[b] | 1 << b
                done[op] = True
            stack.pop()
    return masks


def edges(path, count):
    before = [set() for _ in range(count)]
    with open(path) as file:
        for source, target in list(csv.reader(file))[1:]:
            before[int(target)].add(int(source))
    return before


def redundant(before, masks):
    return sum(any(masks[b] >> a & 1 for b in waits) for waits in before for a in waits)


def check_orders(folder):
    """Paddle's edges, ours and those of storage against the oracle, for every program in a folder."""
    programs = sorted(pathlib.Path(folder).glob("*.program.csv"))
    wrong, ops = [], 0
    for path in programs:
        stem = str(path).removesuffix("program.csv")
        with open(path) as file:
            rows = list(csv.DictReader(file))
        ops += len(rows)
        numbers = lambda row, *columns: [[int(v) for v in row[c].split()] for c in columns]
        known = [(*numbers(r, "reads", "writes"), {r["kind"]} - {"compute"}, (), False) for r in rows]
        chains = [({"random"} if r["draws"] == "1" else set()) | ({r["kind"]} & {"collective"}) for r in rows]
        stored = [
            (reads, writes, chain, after, r["alone"] == "1")
            for r, chain in zip(rows, chains)
            for reads, writes, after in [numbers(r, "storage_read", "storage_written", "after")]
        ]
        truth, storage = closure(rules(known)), closure(rules(stored))
        for name, expected in (("paddle", truth), ("kept", truth), ("storage", storage)):
            before = edges(f"{stem}{name}.csv", len(rows))
            masks = closure(before)
            if masks != expected or (name != "paddle" and redundant(before, masks)):
                wrong.append(f"{path.name} {name}")
    expect(programs and not wrong, f"closures of {len(programs)} programs, {ops} ops, by the oracle {' '.join(wrong)}")


# ---- what is checked -----------------------------------------------------------------------------------------------


def fields(line):
    return {key: float(value) for key, value in (word.split("=") for word in line.split()[1:])}


def compared(notes):
    """(program, part, fields) for each line of a comparison."""
    program = ("", "")
    for line in notes:
        if line.startswith("program "):
            program = tuple(line.split()[1:])
        else:
            found = fields(line)
            yield program[0], program[1] + (" twice" if found["twice"] else ""), found


def check_edges():
    print("edges, in HOCKET_PADDLE=compare")
    with tempfile.TemporaryDirectory() as folder:
        _, notes = paddle("programs.py", 1, *PROGRAMS, mode=f"compare:{folder}")
        for program, part, found in compared(notes):
            same = found["kept"] == found["paddle"] and found["missing"] == found["extra"] == found["redundant"] == 0
            more = int(found["unordered_random"] + found["unordered_storage"])
            expect(
                same and found["matrix_extra"] == 0,
                f"{program} {part}: {found['ops']:.0f} instructions, {found['kept']:.0f} edges, the same as Paddle's"
                + (f"; {more} that random ops need are not among them" if more else ""),
            )
        expect(len(list(compared(notes))) == 4 * len(PROGRAMS), "each program and start-up program, once and twice")
        check_orders(folder)


def check_losses():
    print(f"losses of {STEPS} steps, to the last bit")
    names = [name + suffix for name in TRAINED for suffix in ("_serial", "_nodrop")]
    own, _ = paddle("programs.py", STEPS, *names)
    ours, notes = paddle("programs.py", STEPS, *names, mode="replace")
    replaced = sum(note.startswith("hocket: replaced") for note in notes)
    expect(replaced == 4 * len(names), "every dependency builder is replaced")
    for a, b in zip(own, ours):
        expect(a == b and len(a) == STEPS + 1, f"{a[0]}: the same with Paddle's edges and with ours")


def check_threads():
    print("random ops, by number of threads")
    names = ("transformer", "draws")
    serial, _ = paddle("programs.py", STEPS, *(name + "_serial" for name in names), mode="replace")
    losses = [line[1:] for line in serial]
    for threads in THREADS:
        ours, _ = paddle("programs.py", STEPS, *names, mode="replace", threads=threads)
        expect([line[1:] for line in ours] == losses != [], f"{' and '.join(names)} on {threads}: as in the serial run")
    own, _ = paddle("programs.py", STEPS, *names)
    for line, loss in zip(own, losses):
        verdict = "as in the serial run" if line[1:] == loss else "differs"
        print(f"       Paddle's own edges, four threads: {line[0]} {verdict}")


def check_races():
    print("shared storage")
    ours, notes = paddle("races.py", RUNS, mode="replace")
    for name, right, runs in ours:
        expect(int(right) == RUNS, f"{name}: right in {right} of {runs} runs")
    said = [note for note in notes if "does not say" in note]
    expect(len(said) == 1 and "custom_op.hocket_same" in said[0], f"an op that nothing describes: {' '.join(said)}")
    own, _ = paddle("races.py", 10)
    print("       Paddle's own edges: right in", ", ".join(f"{name} {right} of {runs}" for name, right, runs in own))
    ours, _ = paddle("races.py", RUNS, "--each-op", mode="replace")
    wrong = [f"{name} {right} of {runs}" for name, right, runs in ours if right != runs]
    expect(len(ours) > 20 and not wrong, f"{len(ours)} ops in place, generated: right in all {RUNS} runs {' '.join(wrong)}")
    own, _ = paddle("races.py", 10, "--each-op")
    always = sum(right == runs for _, right, runs in own)
    print(f"       Paddle's own edges: {always} of {len(own)} right in all 10 runs")


def check_refusals():
    print("what does not fit is a sentence, and Paddle goes on")
    expected, _ = paddle("programs.py", 2, "gpt4_serial")
    cases = (
        ("another version", BUILD / "libhocket_paddle_other.so", "replace", "was built for version 0.0.0"),
        ("a missing function", BUILD / "missing" / PRELOAD.name, "replace", "paddle_has_no_such_function"),
        ("an unknown mode", PRELOAD, "replaced", "neither compare nor replace"),
    )
    for what, library, mode, sentence in cases:
        losses, notes = paddle("programs.py", 2, "gpt4_serial", mode=mode, preload=library)
        said = [n for n in notes if n.startswith("hocket:")]
        expect(losses == expected and len(said) == 1 and sentence in said[0], f"{what}: {' '.join(said)}")
    losses, notes = paddle("programs.py", 2, "gpt4_serial", mode="replace", preload=BUILD / "lying" / PRELOAD.name)
    said = [n for n in notes if n.startswith("hocket:")]
    refused = "hocket: Paddle builds these dependencies itself: "
    expect(
        losses == expected and len(said) == 4 and all(s.startswith(refused) and "cycle" in s for s in said),
        f"an adapter that lies, for each of {len(said)} builders: {said[0] if said else ''}",
    )


def print_numbers(programs):
    """Processor time of the thread that builds, in one process."""
    heads = ("program", "instructions", "edges by the rules", "kept", "Paddle's Build, ms", "ours, ms", "first time, ms")
    shares = ("dependencies_us", "map_us", "walk_us")
    print("|", " | ".join((*heads, "Paddle / ours", "hocket with adapter", "map", "reading Paddle's maps once")), "|")
    print("|---" + "|--:" * (len(heads) + len(shares)) + "|")
    _, notes = paddle("programs.py", 1, *programs, mode="compare")
    for program, part, f in compared(notes):
        counts = [f"{f[key]:.0f}" for key in ("ops", "rules", "kept")]
        times = [f"{f[key] / 1e3:.2f}" for key in ("paddle_us", "ours_us", "first_us")]
        percent = [f"{100 * f[key] / f['ours_us']:.0f} %" for key in shares]
        print("|", " | ".join((f"{program}, {part}", *counts, *times, f"{f['ratio']:.1f}", *percent)), "|")


if sys.argv[2:3] == ["numbers"]:
    print_numbers(sys.argv[3:] or ("resnet", "transformer", "transformer_o1", "gpt4", "gpt12"))
else:
    for check in (check_edges, check_losses, check_threads, check_races, check_refusals):
        start = time.monotonic()
        check()
        print(f"  {time.monotonic() - start:.0f} s", flush=True)
    print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
