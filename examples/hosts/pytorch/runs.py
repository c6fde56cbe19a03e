# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some steps of a training from its initial state: as written, as captured, and on streams."""
import torch
from program import Program, equal

PLACEMENTS = ("separate", "reused")
STEPS = 3


class Bound:
    """A training, its graph and a program in memory; run() starts from the initial state."""

    def __init__(self, training, graph, placement):
        self.training, self.state = training, training.initial_state()
        self.program = Program(graph, [*self.state, *training.batch(0)], placement)

    def run(self, step, steps=STEPS):
        """Calls step() once a batch; gives losses, gradients and state after each."""
        program, seen = self.program, []
        program.load([*self.state, *self.training.batch(0)])
        for number in range(steps):
            program.load([None] * len(self.state) + self.training.batch(number))
            program.poison()
            torch.manual_seed(number)
            step()
            seen.append([t.clone() for t in program.outputs + program.inputs[:len(self.state)]])
        return seen

    def on(self, streams, plan, **more):
        return self.run(lambda: streams.run(self.program.steps, plan, **more))


def run_graph(training, graph, steps=STEPS):
    """The graph as FX runs it: one op after the other, in memory that PyTorch allocates as it goes."""
    state, seen = training.initial_state(), []
    for number in range(steps):
        torch.manual_seed(number)
        losses, gradients = graph(*state, *training.batch(number))
        seen.append([t.clone() for t in (*losses, *gradients, *state)])
    return seen


def run_eager(training, steps=STEPS):
    step, gradients, state = training.eager()
    seen = []
    for number in range(steps):
        torch.manual_seed(number)
        losses = step(training.batch(number))
        seen.append([t.clone() for t in (*losses, *gradients(), *state())])
    return seen


def same(a, b):
    return all(len(x) == len(y) and all(map(equal, x, y)) for x, y in zip(a, b, strict=True))
