# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket for FX graphs of ATen ops: what each op touches, and streams with the fewest waits. The file to copy.

    plan = Library("libhocket_torch.so").plan(ops, streams=4)     # ops: see Op
    plan.stream_of[n], plan.waits_of[n]                           # its stream; the ops to wait for before it
"""
import ctypes
import struct
from typing import NamedTuple

import torch

DIMENSIONS = 16
# Ops that write arguments which their schemas call read-only: the running mean and variance.
SILENT_WRITES = {torch.ops.aten.native_batch_norm.default: (3, 4)}


class Refused(Exception):
    """What cannot be planned, in one sentence. The eager path is as it was."""


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


class Access(ctypes.Structure):
    _fields_ = [("op", ctypes.c_uint32), ("writes", ctypes.c_uint32), ("space", ctypes.c_uint64),
                ("first", ctypes.c_uint64), ("item_bytes", ctypes.c_uint32), ("dimensions", ctypes.c_uint32),
                ("sizes", ctypes.c_int64 * DIMENSIONS), ("strides", ctypes.c_int64 * DIMENSIONS)]
    layout = struct.Struct(f"IIQQII{DIMENSIONS}q{DIMENSIONS}q")  # the same, filled faster

    @classmethod
    def of(cls, op, writes, t):
        """Variables are storage: address, sizes and strides, never a name."""
        if t.layout is not torch.strided or t.dim() > DIMENSIONS:
            raise Refused(f"op {op} has a tensor of layout {t.layout} with {t.dim()} dimensions, which is no strided view "
                          f"of at most {DIMENSIONS}.")
        rest = (0,) * (DIMENSIONS - t.dim())
        space = (t.device.index or 0) if t.is_cuda else 1 << 32
        return cls.layout.pack(op, writes, space, t.data_ptr(), t.element_size(), t.dim(), *t.shape, *rest, *t.stride(), *rest)


class Program(ctypes.Structure):
    _fields_ = [("op_count", ctypes.c_size_t), ("draws", ctypes.POINTER(ctypes.c_uint8)),
                ("accesses", ctypes.POINTER(Access)), ("access_count", ctypes.c_size_t)]

    @classmethod
    def of(cls, ops, access=Access.of):
        found = [access(n, writes, t) for n, op in enumerate(ops)
                 for writes, some in ((0, op.reads), (1, op.writes)) for t in some]
        draws = (ctypes.c_uint8 * len(ops))(*(op.draws for op in ops))
        return cls(len(ops), draws, (Access * len(found)).from_buffer_copy(b"".join(found)), len(found))


class Wait(ctypes.Structure):
    _fields_ = [("recorder", ctypes.c_uint32), ("waiter", ctypes.c_uint32)]


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


class Library:
    """The functions of hocket_torch.h. tested: the PyTorch whose schemas and tags this file was tried with."""

    def __init__(self, path, tested="2.13"):
        if torch.__version__.split(".")[:2] != tested.split("."):
            raise Refused(f"hocket_torch.py was tried with PyTorch {tested} and this is {torch.__version__}: run its check, "
                          "then pass tested=.")
        try:
            self._c = ctypes.CDLL(str(path))
            self._c.hocket_torch_message.restype = ctypes.c_char_p
            self._c.hocket_torch_plan_streams.restype = ctypes.POINTER(ctypes.c_uint32)
            self._c.hocket_torch_plan_waits.restype = ctypes.POINTER(Wait)
            self._c.hocket_torch_plan_nanoseconds.restype = ctypes.c_int64
            for name in ("rule_edges", "kept_edges", "cross_stream_edges"):
                getattr(self._c, "hocket_torch_plan_" + name).restype = ctypes.c_size_t
        except (OSError, AttributeError) as why:
            raise Refused(f"{path} is no library of hocket_torch.h: {why}.") from None

    def _message(self):
        return self._c.hocket_torch_message().decode()

    def plan(self, ops, streams, nanoseconds=None):
        """Streams and waits for a list of Op, or for a Program made of one. nanoseconds: how long each op takes."""
        program = ops if isinstance(ops, Program) else Program.of(ops)
        if nanoseconds is not None and len(nanoseconds) != program.op_count:
            raise Refused(f"{len(nanoseconds)} durations were given for {program.op_count} ops.")
        times = (ctypes.c_int64 * program.op_count)(*nanoseconds) if nanoseconds is not None else None
        handle = ctypes.c_void_p()
        if self._c.hocket_torch_plan_create(ctypes.byref(program), ctypes.c_uint32(streams), times, ctypes.byref(handle)):
            raise Refused(self._message())
        try:
            count = ctypes.c_size_t()
            waits = self._c.hocket_torch_plan_waits(handle, ctypes.byref(count))
            numbers = {name: getattr(self._c, "hocket_torch_plan_" + name)(handle)
                       for name in ("rule_edges", "kept_edges", "cross_stream_edges", "nanoseconds")}
            return Plan(self._c.hocket_torch_plan_streams(handle)[:program.op_count],
                        [(w.recorder, w.waiter) for w in waits[:count.value]], **numbers)
        finally:
            self._c.hocket_torch_plan_destroy(handle)

    def check(self, ops, plan):
        """None if the plan orders every two ops that share bytes, one writing; else the first two it does not."""
        program = ops if isinstance(ops, Program) else Program.of(ops)
        streams = (ctypes.c_uint32 * program.op_count)(*plan.stream_of)
        waits = (Wait * len(plan.waits))(*plan.waits)
        pair = (ctypes.c_uint32 * 2)(0, 0)
        if not self._c.hocket_torch_check(ctypes.byref(program), streams, waits, ctypes.c_size_t(len(plan.waits)), pair):
            return None
        if pair[0] == pair[1]:
            raise Refused(self._message())
        return tuple(pair)
