# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of README.md, and how long each op takes."""
import pathlib
import statistics
import time

import torch
from capture import FORMS, capture
from hocket_torch import effects, make_plan, program_of
from runs import PLACEMENTS, Bound
from streams import Threads
from training import MODELS, Training


def durations(program, rounds=3):
    """How long each op takes, in nanoseconds: the median of some rounds, one after the other."""
    taken = []
    with torch.no_grad():
        for _ in range(rounds):
            taken.append([])
            for step in program.steps:
                start = time.perf_counter_ns()
                step.run()
                taken[-1].append(time.perf_counter_ns() - start)
    return [int(statistics.median(times)) for times in zip(*taken)]


def code_lines(path, first=None, last=None):
    """Lines that are neither blank nor comments nor docstrings nor includes, from a line that begins with `first` on, to
    one that begins with `last`."""
    lines, inside, quoted = 0, first is None, False
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.strip()
        if first is not None and line.startswith(first):
            inside = True
        if last is not None and line.startswith(last):
            inside = False
        quotes = words.count('"""')
        skipped = quoted or quotes or not words or words.startswith(("#", "//", "/*", "import ", "from "))
        quoted ^= quotes == 1
        lines += inside and not skipped
    return lines


def median_ms(act, rounds=9):
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        act()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken)


def print_adapter():
    file = pathlib.Path(__file__).parent / "hocket_torch.py"
    print(f"adapter: {code_lines(file, 'SILENT_WRITES', 'class Plan')} lines say what an op touches; the file has "
          f"{code_lines(file)}")


def print_tables():
    print_adapter()
    print("| step | memory | FX nodes | ops | accesses | MB | dependencies | kept | adapter µs/op | hocket µs/op "
          "| waits, 2 streams | kept edges between them |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    rows = []
    for name in MODELS:
        training = Training(name, large=True)
        for form in FORMS:
            graph = capture(training, form)
            for placement in PLACEMENTS:
                bound = Bound(training, graph, placement)
                size_row(f"{name}, {form}", placement, bound)
                rows.append((f"{name}, {form}", placement, time_row(training, graph, bound)))
    print()
    print("| step, ms | memory | training loop, 2 threads | 1 thread | graph by FX, 1 thread | 1 stream | 2 streams | 2, by time "
          "| predicted 1 | predicted 2, by time |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for title, placement, times in rows:
        print(f"| {title} | {placement} | " + " | ".join(f"{t:.1f}" for t in times) + " |")


def size_row(title, placement, bound):
    program = bound.program
    shown = program_of(program.ops)

    def adapter():
        program_of([effects(s.target, s.args, s.kwargs, [one.place for one in s.made]) for s in program.steps])

    plan = make_plan(shown, 2)
    count = len(program.ops)
    print(f"| {title} | {placement} | {len(program.graph.graph.nodes)} | {count} | {sum(len(op.reads) + len(op.writes) for op in program.ops)} "
          f"| {program.memory / 1e6:.1f} | {plan.numbers['rule_edges']} | {plan.numbers['kept_edges']} "
          f"| {median_ms(adapter) * 1e3 / count:.1f} | {median_ms(lambda: make_plan(shown, 2)) * 1e3 / count:.2f} "
          f"| {len(plan.waits)} | {plan.numbers['cross_stream_edges']} |", flush=True)


def time_row(training, graph, bound, rounds=7):
    """Medians of steps taken in turn."""
    shown, times = program_of(bound.program.ops), durations(bound.program)
    one, two, timed = make_plan(shown, 1, times), make_plan(shown, 2), make_plan(shown, 2, times)
    step, _, _ = training.eager()
    state, batch = training.initial_state(), training.batch(0)
    alone, both = Threads(1), Threads(2)

    def loop(threads):
        torch.set_num_threads(threads)
        step(batch)
        torch.set_num_threads(1)

    acts = [lambda: loop(2), lambda: loop(1), lambda: graph(*state, *batch), lambda: alone.run(bound.program.steps, one),
            lambda: both.run(bound.program.steps, two), lambda: both.run(bound.program.steps, timed)]
    taken = [[] for _ in acts]
    for _ in range(rounds):
        for act, some in zip(acts, taken):
            start = time.perf_counter()
            act()
            some.append((time.perf_counter() - start) * 1e3)
    alone.close()
    both.close()
    return [*map(statistics.median, taken), one.numbers["duration_ns"] / 1e6, timed.numbers["duration_ns"] / 1e6]
