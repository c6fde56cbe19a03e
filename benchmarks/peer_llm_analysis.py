#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strategies evaluated per second by llm-analysis (Cheng Li, github.com/cli99/llm-analysis), beside bench_planner.

    python3 -m venv VENV && VENV/bin/pip install llm-analysis==0.2.2
    VENV/bin/python benchmarks/peer_llm_analysis.py [--ours build/release/benchmarks/bench_planner] [--rounds 5]

One evaluation is LLMAnalysis(...).training(...): memory of a device and time of a step of one (tp, pp, dp, ZeRO,
micro-batch, recompute) of the 70B shape on 64 devices, its log switched off. Every evaluation is another strategy, as
in a search. It knows fewer choices than our search: no chunks, copies, schedules, or links. With --ours the two
programs run by turns. Prints one line for each: name, what, figure, unit; processor time, medians.
"""
import argparse
import itertools
import logging
import re
import statistics
import subprocess
import sys
import time

try:
    import importlib.metadata

    from llm_analysis.analysis import ActivationRecomputation, DSZeRO, LLMAnalysis, ParallelismConfig
    from llm_analysis.config import DtypeConfig, GPUConfig, ModelConfig
    from llm_analysis.logger import logger
except ImportError as missing:
    sys.exit(f"peer_llm_analysis.py needs the package llm-analysis: {missing}")

DEVICES, BATCH = 64, 512
MODEL = ModelConfig("llama-2-70b", 80, 64, 8192, 32000, max_seq_len=4096, num_key_value_heads=8, ffn_embed_dim=28672,
                    expansion_ratio=3.5)
DEVICE = GPUConfig("device", 57.2, 1200, 150, 0, 376, inter_node_bandwidth_in_GB_per_sec=25)


def strategies():
    for tp, pp in itertools.product((1, 2, 4, 8), (1, 2, 4, 8)):
        dp = DEVICES // (tp * pp)
        for micro_batch in (1, 2, 4, 8):
            if BATCH % (dp * micro_batch) == 0:
                for zero, recompute in itertools.product(DSZeRO, ActivationRecomputation):
                    yield ParallelismConfig(tp_size=tp, pp_size=pp, dp_size=dp, sp_size=tp), micro_batch, zero, recompute


def evaluate(how, micro_batch, zero, recompute):
    return LLMAnalysis(MODEL, DEVICE, DtypeConfig(), how, flops_efficiency=0.64, hbm_memory_efficiency=1).training(
        batch_size_per_gpu=micro_batch, global_batch_size=BATCH, seq_len=4096, activation_recomputation=recompute,
        ds_zero=zero, mlp_gated_linear_units=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ours", help="the built bench_planner")
    options.add_argument("--rounds", type=int, default=5)
    options = options.parse_args()
    logger.setLevel(logging.CRITICAL)
    logging.disable(logging.CRITICAL)
    todo = list(strategies())
    distinct = {(r["latency_per_iter"], r["(weight+op_state+grad+act)_memory_per_gpu"])
                for r in (evaluate(*x) for x in todo)}
    if len(distinct) < len(todo) // 8:
        sys.exit("the strategies hardly differ: this would not measure a search")
    theirs, ours, one = [], [], []
    for _ in range(options.rounds):
        start = time.process_time()
        for x in todo:
            evaluate(*x)
        theirs.append(len(todo) / (time.process_time() - start))
        if options.ours:
            out = subprocess.run([options.ours, "--benchmark_filter=planner/strategy"], capture_output=True, text=True,
                                 check=True).stdout
            ours.append(float(re.search(r"70B on 64: strategies a second\s+(\S+)", out)[1]))
            one.append(ours[-1] / float(re.search(r"70B on 64: / one at a time\s+(\S+)", out)[1]))
    name = f"llm-analysis {importlib.metadata.version('llm-analysis')}"
    print(f"{name}: {len(todo)} strategies of 70B on {DEVICES}, {len(distinct)} different answers")
    print(f"{name}: strategies a second                 {statistics.median(theirs):12.0f} /s")
    if options.ours:
        print(f"planner: strategies a second                            {statistics.median(ours):12.0f} /s")
        print(f"planner / llm-analysis                                  "
              f"{statistics.median(a / b for a, b in zip(ours, theirs)):12.0f} x")
        print(f"planner, one at a time, nothing shared / llm-analysis   "
              f"{statistics.median(a / b for a, b in zip(one, theirs)):12.1f} x")


if __name__ == "__main__":
    main()
