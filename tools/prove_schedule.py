#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hands a schedule question to OR-tools' CP-SAT, for the last percent and a proof.

    python3 -m venv .venv && .venv/bin/pip install ortools
    .venv/bin/python tools/prove_schedule.py --ranks 4 --chunks 2 --micro-batches 8 --memory-cap 6 --out found.csv
    hocket pipeline check --table found.csv

Options are those of `hocket pipeline search`. The table is PyTorch's CSV dialect; the summary on stderr has makespan and
lower bound. A fixed number of workers and a limit in deterministic time make runs alike.
"""
import argparse
import json
import sys

KINDS = {"split": ("forward", "input_grad", "weight_grad"), "whole": ("forward", "backward")}
TOKENS = {"forward": "F", "backward": "B", "input_grad": "I", "weight_grad": "W"}


def stage_times(options, stages):
    given = json.load(open(options.costs)) if options.costs else {"forward": 1, "backward": 2, "input_grad": 1, "weight_grad": 1}
    times = {}
    for kind in KINDS[options.backward]:
        value = given[kind]
        times[kind] = value if isinstance(value, list) else [value] * stages
        if len(times[kind]) != stages:
            sys.exit(f"{kind} has {len(times[kind])} times for {stages} stages")
    return times, given.get("hop", 0)


def solve(cp_model, options):
    """(rows of (start, token) by rank, makespan, lower bound), or None."""
    ranks, stages = options.ranks, options.ranks * options.chunks
    times, hop = stage_times(options, stages)
    kinds = KINDS[options.backward]
    back, last = kinds[1], kinds[-1]

    def rank_of(stage):
        chunk, place = divmod(stage, ranks)
        return ranks - 1 - place if options.placement == "v" and chunk % 2 else place

    horizon = sum(options.micro_batches * (sum(times[kind][s] for kind in kinds) + 2 * hop) for s in range(stages))
    model = cp_model.CpModel()
    makespan = model.new_int_var(0, horizon, "makespan")
    start, end = {}, {}
    on_rank = [[] for _ in range(ranks)]
    held = [[] for _ in range(ranks)]
    for s in range(stages):
        for k in range(options.micro_batches):
            for kind in kinds:
                a = (kind, s, k)
                start[a] = model.new_int_var(0, horizon, f"{kind} {s} {k}")
                end[a] = start[a] + times[kind][s]
                on_rank[rank_of(s)].append(model.new_fixed_size_interval_var(start[a], times[kind][s], f"run {kind} {s} {k}"))
                model.add(makespan >= end[a])
                if k > 0:  # micro-batches are alike
                    model.add(start[a] >= end[kind, s, k - 1])
            size = model.new_int_var(0, horizon, f"held {s} {k}")
            held[rank_of(s)].append(model.new_interval_var(start["forward", s, k], size, end[last, s, k], f"life {s} {k}"))
    for s in range(stages):
        for k in range(options.micro_batches):
            model.add(start[back, s, k] >= end["forward", s, k])
            if last != back:
                model.add(start[last, s, k] >= end[back, s, k])
            if s > 0:
                way = hop if rank_of(s) != rank_of(s - 1) else 0
                model.add(start["forward", s, k] >= end["forward", s - 1, k] + way)
                model.add(start[back, s - 1, k] >= end[back, s, k] + way)
    caps = [int(cap) for cap in options.memory_cap.split(",")] if options.memory_cap else []
    caps = caps * ranks if len(caps) == 1 else caps
    for r in range(ranks):
        model.add_no_overlap(on_rank[r])
        if caps:
            model.add_cumulative(held[r], [1] * len(held[r]), caps[r])
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = options.workers
    solver.parameters.interleave_search = options.workers > 1
    solver.parameters.max_deterministic_time = options.time
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    rows = [[] for _ in range(ranks)]
    order = {kind: i for i, kind in enumerate(kinds)}
    for (kind, s, k), at in start.items():
        way = s if kind == "forward" else -s
        rows[rank_of(s)].append((solver.value(at), order[kind], way, k, f"{s}{TOKENS[kind]}{k}"))
    return [[token for *_, token in sorted(row)] for row in rows], round(solver.objective_value), round(solver.best_objective_bound)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--chunks", type=int, default=1)
    parser.add_argument("--micro-batches", type=int, required=True)
    parser.add_argument("--placement", choices=("loop", "v"), default="loop")
    parser.add_argument("--backward", choices=("split", "whole"), default="split")
    parser.add_argument("--costs", help="JSON, as hocket pipeline search takes it")
    parser.add_argument("--memory-cap", help="most activations a rank holds: one number, or one per rank")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--time", type=float, default=60, help="limit in CP-SAT's deterministic seconds")
    parser.add_argument("--out", help="write the table there instead of to standard output")
    options = parser.parse_args()
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        sys.exit("OR-tools is missing: pip install ortools")
    found = solve(cp_model, options)
    if found is None:
        sys.exit("no schedule found within the limit, or none exists")
    rows, makespan, bound = found
    text = "".join(",".join(row) + "\n" for row in rows)
    if options.out:
        open(options.out, "w").write(text)
    else:
        sys.stdout.write(text)
    gap = (makespan - bound) / bound if bound else 0
    print(f"makespan={makespan} lower_bound={bound} gap={gap:.6f} proved={'yes' if makespan == bound else 'no'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
