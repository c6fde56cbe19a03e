# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A captured graph whose tensors have memory that does not move, as under CUDA graphs: so ops may run in any order that
keeps their hazards, and views need no op.

Each op computes as ever; what it makes is then copied to its place. Where that is, `placement` says: "separate" gives
each storage memory of its own, "reused" puts it where an earlier one is no longer needed, as memory planners do.
"""
import operator
from typing import NamedTuple

import torch
from hocket_torch import Refused, effects, tensors

ALIGNMENT = 64  # bytes, as PyTorch's CPU allocator
# They give a tensor its memory and compute nothing.
ALLOCATIONS = {f"aten::{name}" for name in ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")}
REFUSED_TAGS = (torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output)


def bytes_of(t):
    """A copy of the bytes that a tensor shows."""
    return t.detach().contiguous().reshape(-1).view(torch.uint8).clone()


def equal(a, b):
    """To the last bit."""
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(bytes_of(a), bytes_of(b))


def storage(t):
    return t.untyped_storage().data_ptr()


class Made(NamedTuple):
    """A tensor that an op makes: which of its results, and the place that it is given."""
    op: int  # of an allocation, the next one
    node: int
    result: int
    place: torch.Tensor


class Step(NamedTuple):
    """An op that can be run again and again."""
    target: object
    args: tuple
    kwargs: dict
    made: list

    def run(self):
        result = self.target(*self.args, **self.kwargs)
        if self.made:
            results = tensors(result)
            for made in self.made:
                made.place.copy_(results[made.result])


class Program:
    """A graph bound to memory. ops[n] says what steps[n] does to it; named_ops[n] says the same in FX's names, each node a
    name of its own, in-place ops too: for comparison. Inputs and outputs are tensors that stay where they are."""

    def __init__(self, graph, inputs, placement="separate"):
        self.graph, self._given = graph, inputs
        self.offsets, self.arena = None, None
        self._bind()
        if placement == "reused":
            size, self.offsets = reuse_plan(self)
            self.arena = torch.zeros(size, dtype=torch.uint8, device=inputs[0].device)
            self._bind()

    @property
    def new_bytes(self):
        """Of all storages that ops make."""
        return sum(made.place.untyped_storage().nbytes() for made in self.made)

    @property
    def memory(self):
        """In bytes, beside inputs."""
        return self.new_bytes if self.arena is None else self.arena.numel()

    def load(self, inputs):
        """The state, or as much of the inputs as is given."""
        with torch.no_grad():
            for place, value in zip(self.inputs, inputs, strict=True):
                if value is not None:
                    place.copy_(value)

    def poison(self):
        """No op may live on what an earlier step has left."""
        for made in self.made:
            if made.place.is_floating_point():
                made.place.fill_(float("nan"))

    def _bind(self):
        self.inputs = [t.detach().clone() for t in self._given]
        self.steps, self.ops, self.named_ops, self.made = [], [], [], []
        self._names = {}  # of a node: the numbers of the ops and inputs whose values it shows, as FX tells it
        values, inputs = {}, iter(self.inputs)
        with torch.no_grad(), torch.random.fork_rng():
            for number, node in enumerate(self.graph.graph.nodes):
                self._names[node] = {name for one in node.all_input_nodes for name in self._names[one]} or {number}
                if node.op == "placeholder":
                    values[node] = next(inputs)
                elif node.op == "get_attr":
                    values[node] = operator.attrgetter(node.target)(self.graph)
                elif node.op == "call_function":
                    values[node] = self._bind_op(number, node, values)
                elif node.op == "output":
                    self.outputs = tensors(torch.fx.node.map_arg(node.args[0], values.get))
                else:
                    raise Refused(f"node {node.name} is a {node.op}, which is no ATen op.")

    def _bind_op(self, number, node, values):
        args, kwargs = (torch.fx.node.map_arg(some, values.get) for some in (node.args, node.kwargs))
        if node.target is operator.getitem:
            return args[0][args[1]]
        if not isinstance(node.target, torch._ops.OpOverload):
            raise Refused(f"node {node.name} calls {node.target}, which is no ATen op.")
        if any(tag in node.target.tags for tag in REFUSED_TAGS):
            raise Refused(f"op {len(self.ops)}, {node.target}, has results whose shape depends on data: its memory cannot "
                          "be planned.")
        given = tensors((args, kwargs))
        before = [bytes_of(t) for t in given]
        result = node.target(*args, **kwargs)
        known = {storage(t) for t in given}
        made = [Made(len(self.ops), number, i, self._place(number, i, t))
                for i, t in enumerate(tensors(result)) if storage(t) not in known]
        op = effects(node.target, args, kwargs, [one.place for one in made])
        self._check_silence(node, op, given, before)
        if not op.writes and result is None:
            raise Refused(f"op {len(self.ops)}, {node.target}, has no result and writes nothing by its schema: what it is "
                          "there for is not known.")
        self.made += made
        if made:
            result = replaced(result, iter(range(1 << 30)), {one.result: one.place for one in made})
        if not op.writes or node.target._schema.name in ALLOCATIONS:
            return result  # a view, or memory
        self.steps.append(Step(node.target, args, kwargs, made))
        self.ops.append(op)
        self.named_ops.append(op._replace(reads=list(self._names[node]), writes=[number]))
        self._names[node] = {number}
        return result

    def _place(self, node, result, t):
        if self.offsets is None or t.device != self.arena.device:
            return t  # on a device, seeds may be elsewhere
        # A storage of its own, as as_strided counts from where a storage begins.
        address = self.arena.data_ptr() + self.offsets[node, result]
        part = torch._C._construct_storage_from_data_pointer(address, t.device, t.untyped_storage().nbytes())
        place = torch.empty(0, dtype=t.dtype, device=t.device).set_(part, t.storage_offset(), t.shape, t.stride())
        return place.copy_(t)

    def _check_silence(self, node, op, given, before):
        """What changes must be told: an op that writes what its schema calls read-only would make every plan wrong."""
        written = {storage(t) for t in op.writes}
        for t, old in zip(given, before):
            if storage(t) not in written and not torch.equal(bytes_of(t), old):
                raise Refused(f"op {len(self.ops)}, {node.target}, changes an argument that its schema calls read-only: add "
                              "it to SILENT_WRITES.")


def replaced(value, count, places):
    """The result of an op, with its tensors replaced by their places."""
    if isinstance(value, torch.Tensor):
        return places.get(next(count), value) if value.numel() else value
    if isinstance(value, (list, tuple)):
        return [replaced(item, count, places) for item in value]
    return value


def reuse_plan(program):
    """Puts the storages that ops make into one block of memory: each as low as it fits beside those still in use.
    Gives the size of the block and the offset of each, by node and result."""
    last_use = {}
    for n, op in enumerate(program.ops):
        last_use |= {storage(t): n for t in op.reads + op.writes}
    last_use |= {storage(t): len(program.ops) for t in program.outputs}
    size, live, offsets = 0, [], {}  # live: (first byte, end, last use), by first byte
    for made in program.made:
        live = [one for one in live if one[2] >= made.op]
        length = -(-made.place.untyped_storage().nbytes() // ALIGNMENT) * ALIGNMENT
        at = 0
        for first, end, _ in live:
            if at + length <= first:
                break
            at = max(at, end)
        offsets[made.node, made.result] = at
        live = sorted([*live, (at, at + length, last_use.get(storage(made.place), made.op))])
        size = max(size, at + length)
    return size, offsets
