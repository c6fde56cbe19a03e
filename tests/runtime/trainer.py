# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small model on PyTorch's pipeline runtime over gloo processes, following given lists, and compares every
gradient with a run in one process.

    python3 trainer.py JOBS.json      prints {"name": [problem, …], …}; no problem: an empty list

A job: {"name", "csv", "format": "compute_only" | "compute_comms", "micro_batches", "stages": [[stage, …] of each rank]}.
"""
import json
import logging
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

WIDTH, ROWS, STEPS, RATE = 8, 2, 2, 0.1  # rows of a micro-batch


class Piece(torch.nn.Module):
    """One stage of the model; a middle layer, so that the order of two stages matters."""

    def __init__(self, stage):
        super().__init__()
        generator = torch.Generator().manual_seed(1000 + stage)
        self.weight = torch.nn.Parameter(torch.randn(WIDTH, WIDTH, generator=generator, dtype=torch.float64) / WIDTH**0.5)
        self.bias = torch.nn.Parameter(torch.randn(WIDTH, generator=generator, dtype=torch.float64) / 10)

    def forward(self, x):
        return torch.tanh(x @ self.weight + self.bias)


def loss_fn(output, target):
    return torch.nn.functional.mse_loss(output, target)


def batch(step, micro_batches):
    generator = torch.Generator().manual_seed(step)
    shape = (ROWS * micro_batches, WIDTH)
    return (torch.randn(shape, generator=generator, dtype=torch.float64),
            torch.randn(shape, generator=generator, dtype=torch.float64))


def descend(parameters):
    with torch.no_grad():
        for p in parameters:
            p -= RATE * p.grad
            p.grad = None


def alone(stages, micro_batches):
    """Per step, the gradients of every stage and the losses of the micro-batches, in one process."""
    model = torch.nn.Sequential(*(Piece(s) for s in range(stages)))
    steps = []
    for step in range(STEPS):
        x, y = batch(step, micro_batches)
        losses = [loss_fn(model(a), b) for a, b in zip(x.chunk(micro_batches), y.chunk(micro_batches))]
        (sum(losses) / micro_batches).backward()
        steps.append(([[p.grad.clone() for p in piece.parameters()] for piece in model], [float(v.detach()) for v in losses]))
        descend(model.parameters())
    return steps


def follow(job, rank, group):
    """The problems that this rank met."""
    micro_batches, mine = job["micro_batches"], job["stages"][rank]
    count = sum(len(s) for s in job["stages"])
    pieces = {s: Piece(s) for s in mine}
    stages = [PipelineStage(pieces[s], s, count, torch.device("cpu"), group=group) for s in mine]
    schedule = _PipelineScheduleRuntime(stages, micro_batches, loss_fn=loss_fn)
    schedule._load_csv(job["csv"], format=job["format"])
    problems = []
    for step, (gradients, expected) in enumerate(alone(count, micro_batches)):
        x, y = batch(step, micro_batches)
        losses = []
        words = ([x] if 0 in mine else [])
        named = {"target": y, "losses": losses} if count - 1 in mine else {}
        schedule.step(*words, **named)
        if count - 1 in mine and not torch.allclose(torch.stack(losses), torch.tensor(expected, dtype=torch.float64)):
            problems.append(f"step {step}: losses {losses} instead of {expected}")
        for s in mine:
            for p, g in zip(pieces[s].parameters(), gradients[s]):
                if p.grad is None or not torch.allclose(p.grad, g, rtol=1e-9, atol=1e-12):
                    problems.append(f"step {step}: the gradient of stage {s} differs")
            descend(pieces[s].parameters())
    return problems


def worker(rank, ranks, meeting, jobs, results):
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    for job in jobs:
        try:
            problems = follow(job, rank, dist.group.WORLD)
        except Exception as e:  # a list that the loader refuses: refused by all ranks alike
            problems = [f"{type(e).__name__}: {e}"]
        gathered = [None] * ranks
        dist.all_gather_object(gathered, problems)
        if rank == 0:
            results[job["name"]] = [f"rank {r}: {p}" for r, own in enumerate(gathered) for p in own]
    dist.destroy_process_group()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        jobs = json.load(file)
    ranks = len(jobs[0]["stages"])
    with tempfile.TemporaryDirectory() as folder, mp.Manager() as manager:
        results = manager.dict()
        mp.spawn(worker, args=(ranks, os.path.join(folder, "meeting"), jobs, results), nprocs=ranks)
        print(json.dumps(dict(results)))


if __name__ == "__main__":
    main()
