# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes gloo_slow and gloo_even: gloo_ranks.py FOLDER SLOW_RANK (-1: none is slow). MASTER_ADDR and MASTER_PORT say where
the processes meet."""
import os
import sys

import torch
import torch.distributed
import torch.multiprocessing
from torch.profiler import ProfilerActivity, profile, schedule

RANKS, WARM_UP, STEPS = 2, 2, 5


def train(rank, slow, folder):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
    net = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    matrix = torch.randn(192, 192)
    write = lambda p: p.export_chrome_trace(f"{folder}/rank{rank}.pt.trace.json")
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=WARM_UP, active=STEPS),
                 on_trace_ready=write) as profiler:
        for _ in range(WARM_UP + STEPS):
            data = torch.randn(64, 64)
            for _ in range(12 if rank == slow else 6):
                matrix @ matrix
            loss = net(data).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            profiler.step()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    torch.multiprocessing.spawn(train, (int(sys.argv[2]), sys.argv[1]), nprocs=RANKS)
