#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The teams' own layouts of published runs, each among all that `hocket planner search` names.

    tools/rank_published.py --tool build/dev/examples/hocket_cli/hocket [--only MODEL] > table.csv

One line for each layout: the predicted step of the team's layout and of the best found, how many layouts that fit are
faster by formula, and whether the team's fits by our count. docs/team_layouts.md has the table.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

RUNS = pathlib.Path(__file__).resolve().parents[1] / "tests" / "data" / "published" / "runs.json"
# GiB of a device, by its data sheet, and devices that share the fast link.
MEMORY = {"a100_sxm_80": (74.5, 8), "h100_sxm": (74.5, 8), "h800": (74.5, 8), "b200": (167, 8), "b300": (250, 8),
          "gb200_nvl72": (172, 8), "gb300_nvl72": (258, 8)}
SPACE = {"context": [1, 2, 4, 8], "chunks": [1, 2, 3, 4, 5, 6, 7, 8, 12, 24], "zero_bubble": False, "zero": [0, 1, 3]}


def devices_of(parallel):
    out = 1
    for key in ("tp", "pp", "dp", "cp"):
        out *= parallel.get(key, 1)
    return out


def layouts(only):
    """Runs that differ in more than their release: (run, how many rows it stands for)."""
    seen = {}
    for run in json.loads(RUNS.read_text())["runs"]:
        if run["training"]["machine"] not in MEMORY or (only and only not in run["model"]):
            continue
        key = json.dumps([run["model"], run["training"], run["parallel"]], sort_keys=True)
        seen.setdefault(key, [run, 0])[1] += 1
    return seen.values()


def asked(tool, run, folder):
    training, parallel = dict(run["training"]), run["parallel"]
    machine = training.pop("machine")
    gib, node = MEMORY[machine]
    space = {**SPACE, "chunks": sorted({*SPACE["chunks"], parallel.get("vp", 1)})}
    files = {"training": training, "parallel": parallel,
             "cluster": {"devices": devices_of(parallel), "devices_per_node": node, "memory_gib": gib, "machine": machine,
                         "space": space}}
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    words = [tool, "planner", "search", "--model", RUNS.parent / run["model"], "--training", folder / "training.json",
             "--cluster", folder / "cluster.json", "--compare", folder / "parallel.json", "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout), ""


def shown(x):
    return " ".join(f"{k} {x[k]}" for k in ("tp", "cp", "pp", "vp", "dp", "ep", "zero", "micro_batch") if x.get(k, 1) not in (1, 0)) \
        + ("" if x["recompute"] == "none" else f", recompute {x['recompute']}")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tool", required=True)
    options.add_argument("--only", default="", help="part of a model's name")
    chosen = options.parse_args()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["machine", "precision", "model", "devices", "sequences", "rows", "team", "team_s", "fits", "rank", "fitting",
                  "best", "best_s", "team_over_best", "proof"])
    with tempfile.TemporaryDirectory() as name:
        for run, rows in layouts(chosen.only):
            answer, why = asked(chosen.tool, run, pathlib.Path(name))
            t = run["training"]
            head = [t["machine"], t.get("precision", "bf16"), pathlib.Path(run["model"]).stem, devices_of(run["parallel"]),
                    t["global_batch"], rows]
            if answer is None:
                out.writerow([*head, why])
                continue
            team, best = answer["compared"], answer["front"][0]
            out.writerow([*head, shown(team), f"{team['step_seconds']:.3f}", "yes" if team["fits"] else "no", team["rank"],
                          answer["fitting"], shown(best), f"{best['step_seconds']:.3f}", f"{team['of_best']:.3f}",
                          "yes" if answer["proof"].startswith("No other") else "no"])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
