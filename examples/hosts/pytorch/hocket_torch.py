# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket for FX graphs of ATen ops: what each op touches, and streams with the fewest waits. The file to copy.

    program = program_of(ops)                      # ops: see Op
    plan = make_plan(program, streams=4)
    plan.stream_of[n], plan.waits_of[n]            # its stream; the ops to wait for before it
"""
from typing import NamedTuple

import hocket
import torch

DIMENSIONS = 16
# Ops that write arguments which their schemas call read-only: the running mean and variance.
SILENT_WRITES = {torch.ops.aten.native_batch_norm.default: (3, 4), torch.ops.aten.cudnn_batch_norm.default: (3, 4)}


class Refused(ValueError):
    """What cannot be planned, in one sentence, as hocket's own refusals. The eager path is as it was."""


class Op(NamedTuple):
    """An ATen op, the tensors that it reads and writes, and whether it draws random numbers."""
    name: str
    reads: list
    writes: list
    draws: bool


def tensors(value):
    """The tensors with at least one item in an argument or a result: alone, in lists, in tuples."""
    if isinstance(value, torch.Tensor):
        return [value] if value.numel() else []
    if isinstance(value, dict):
        return tensors(list(value.values()))
    return [t for item in value for t in tensors(item)] if isinstance(value, (list, tuple)) else []


def effects(target, args, kwargs, made=()):
    """What an op does to memory, by its schema and tags. made: the results that are no views of its arguments."""
    writes, given = list(made), {}
    for place, declared in enumerate(target._schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(declared.name, declared.default_value)
        given[declared.name] = value
        silent = place in SILENT_WRITES.get(target, ())
        if silent or (declared.alias_info is not None and declared.alias_info.is_write):
            writes += tensors(value)
    # Fused attention has the tag, and draws only if it drops something.
    draws = torch.Tag.nondeterministic_seeded in target.tags and given.get("dropout_p") != 0
    return Op(str(target), tensors((args, kwargs)), writes, draws)


def view_of(t):
    """Variables are storage: address, sizes and strides, never a name."""
    if t.layout is not torch.strided or t.dim() > DIMENSIONS:
        raise Refused(f"a tensor of layout {t.layout} with {t.dim()} dimensions is no strided view of at most {DIMENSIONS}")
    space = (t.device.index or 0) if t.is_cuda else 1 << 32
    return hocket.View(space, t.data_ptr(), t.element_size(), t.shape, t.stride())


def program_of(ops, variable=view_of):
    """A list of Op as hocket reads it. variable: how what an op touches is told."""
    check_version()
    return hocket.Program([[variable(t) for t in op.reads] for op in ops], [[variable(t) for t in op.writes] for op in ops],
                          ["random" if op.draws else "compute" for op in ops])


class Plan:
    """Ops are issued in program order, each on its stream, after its waits."""

    def __init__(self, stream_of, waits, **numbers):
        self.stream_of, self.waits, self.numbers = stream_of, waits, numbers
        self.stream_count = max(stream_of, default=0) + 1
        self.recorded = {recorder for recorder, _ in waits}
        self.waits_of = [[] for _ in stream_of]
        for recorder, waiter in waits:
            self.waits_of[waiter].append(recorder)

    def without(self, wait):
        """The same with one wait less: for tests."""
        return Plan(self.stream_of, [w for w in self.waits if w != wait])


def make_plan(program, streams, durations_ns=None):
    """Streams, and the fewest waits that keep every hazard. durations_ns: how long each op takes."""
    graph = program.dependencies("random")
    plan = graph.plan(streams, durations_ns)
    return Plan(plan.streams.tolist(), [tuple(wait) for wait in plan.waits.tolist()], rule_edges=graph.rule_edge_count,
                kept_edges=len(graph.edges), cross_stream_edges=plan.cross_stream_edge_count, duration_ns=plan.duration_ns)


def first_race(program, plan):
    """None if the plan orders every two ops that share bytes, one writing; else the first two it does not."""
    return program.check(plan.stream_of, plan.waits, "random")


def check_version(tested="2.13"):
    """tested: the PyTorch whose schemas and tags this file was tried with."""
    if torch.__version__.split(".")[:2] != tested.split("."):
        raise Refused(f"hocket_torch.py was tried with PyTorch {tested} and this is {torch.__version__}: run its check first")
