#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Captures a whole training step of a PyTorch model as an op graph in hocket's `ops` CSV form.

The step really runs - forward, AMP casts, loss, backward, bucketed gradient all-reduce, unscaling, clipping, AdamW -
but on fake tensors (shapes without data) and over a fake process group, so that a 13-billion-parameter decoder costs a
few seconds of one CPU and no memory. Every operator that reaches the dispatcher below autograd becomes one row, in
program order. What the columns mean, and what is left out on purpose, is written in docs/capture.md.
"""
import argparse
import contextlib
import math
import os
import sys
from dataclasses import dataclass

MODELS = ("transformer_base", "gpt2_small", "llama2_13b_stage")
TORCH_VERSION = "2.13.0"

EPILOG = """\
models
  transformer_base   encoder-decoder, 6+6 layers, d 512, 8 heads, ffn 2048, shared vocabulary of 37,000, dropout;
                     fp16 autocast with a gradient scaler, data parallel
  gpt2_small         12 layers, d 768, 12 heads, vocabulary 50,257, tied head, dropout; bf16 autocast, data parallel
  llama2_13b_stage   one inner pipeline stage (40 / --pp layers) of a decoder with the shape of Llama-2 13B: h 5120,
                     40 heads, ffn 13824; bf16 weights, fp32 gradients and master weights; tensor, pipeline and data
                     parallel; micro-batches in the order of 1F1B

streams
  0 compute   1 data-parallel group   2 tensor-parallel group   3 pipeline sends and receives
  4 host-device copies   5 model-parallel group (tensor x pipeline; the gradient norm)

The same command with the same PyTorch version writes the same bytes.
"""


def make_parser():
    parser = argparse.ArgumentParser(
        prog="capture_torch_step.py",
        description=__doc__.split("\n", 1)[0] + " Needs PyTorch " + TORCH_VERSION + "; no accelerator, no data.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", required=True, choices=MODELS, help="what to train (see below)")
    parser.add_argument("--out", required=True, metavar="NAME.ops.csv",
                        help="the op graph; NAME.names.csv beside it gets names, sizes and FLOPs")
    parser.add_argument("--steps", type=int, default=1, metavar="N",
                        help="steps to join over the same parameters and optimizer state (default 1; 2 shows the edges "
                             "from one step into the next)")
    parser.add_argument("--micro-batches", type=int, default=None, metavar="M",
                        help="micro-batches in a step: gradient accumulation, or the pipeline's micro-batches "
                             "(default 1; llama2_13b_stage: 2)")
    parser.add_argument("--dp", type=int, default=None, metavar="D",
                        help="data-parallel size (default 8; llama2_13b_stage: 2); 1 leaves the all-reduces out")
    parser.add_argument("--tp", type=int, default=None, metavar="T",
                        help="tensor-parallel size, llama2_13b_stage only (default 2)")
    parser.add_argument("--pp", type=int, default=None, metavar="P",
                        help="pipeline size, llama2_13b_stage only (default 4); must divide 40")
    parser.add_argument("--stage", type=int, default=None, metavar="S",
                        help="which inner stage, 1 to P-2, llama2_13b_stage only (default 1)")
    parser.add_argument("--bucket-mb", type=float, default=25.0, metavar="MB",
                        help="gradient bucket size in MiB; the first bucket holds 1 MiB (default 25)")
    parser.add_argument("--no-names", action="store_true", help="do not write NAME.names.csv")
    return parser


def fail(sentence):
    sys.exit("capture_torch_step: " + sentence)


try:
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    from torch import nn
    from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    from torch.utils.flop_counter import flop_registry, sdpa_backward_flop, sdpa_flop
except ImportError as missing:
    if __name__ != "__main__":
        raise
    make_parser().parse_args()
    fail(f"PyTorch {TORCH_VERSION} is needed and cannot be imported ({missing}); "
         "install tools/requirements-capture.txt into a virtual environment.")

# ---------------------------------------------------------------------------------------------------------------------
# Recording
# ---------------------------------------------------------------------------------------------------------------------

COMPUTE, DATA_PARALLEL, TENSOR_PARALLEL, PIPELINE, HOST_COPY, MODEL_PARALLEL = range(6)

# Allocations: they give a tensor its storage and start no work.
ALLOCATIONS = {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty", "aten::new_empty_strided"}
# In-place operators that do not look at what they overwrite. (An `out=` argument is never looked at.)
OVERWRITES = {"aten::copy_", "aten::fill_", "aten::zero_", "aten::_foreach_copy_", "aten::_foreach_zero_",
              "aten::bernoulli_", "aten::normal_", "aten::uniform_", "c10d::recv_"}
# c10d's process-group operators do not say in their schema what they write.
UNDECLARED_WRITES = {"c10d::recv_": ("tensors",)}
NO_WRITES = {"c10d::send"}

ATTENTION_FLOPS = {
    "aten::_scaled_dot_product_flash_attention_for_cpu":
        lambda query, key, value, *_, **__: sdpa_flop(query.shape, key.shape, value.shape),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward":
        lambda grad, query, key, value, *_, **__: sdpa_backward_flop(grad.shape, query.shape, key.shape, value.shape),
}


@dataclass
class Variable:
    """One storage. Views share it, so an alias group is one variable."""
    weak: object  # while it lives, the allocator cannot give this storage's address to another one
    bytes: int
    number: int = -1  # given at the first row that names it
    host: bool = False
    name: str = ""
    role: str = "value"


@dataclass
class Row:
    stream: int
    kind: str
    reads: list
    writes: list
    name: str
    phase: str
    bytes: int
    flops: int


def tensors_in(values):
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


class Recorder(TorchDispatchMode):
    """Turns each dispatched operator into a row: what it reads and writes, by storage.

    It sits above FakeTensorMode (entered later, so called first) and below autograd, hence it sees the operators of the
    backward pass too, and every operator before the fake mode may take it apart.
    """

    def __init__(self, fake):
        super().__init__()
        self.fake = fake
        self.recording = False
        self.phase = "forward"
        self.streams = {}  # process-group name -> stream
        self.rows = []
        self.numbered = []
        self.guard = None  # the host scalar that decided whether the current operators run
        self._variables = {}

    # -- variables ------------------------------------------------------------------------------------------------
    def variable(self, tensor):
        storage = tensor.untyped_storage()
        found = self._variables.get(storage._cdata)
        if found is None:
            found = Variable(StorageWeakRef(storage), storage.nbytes())
            self._variables[storage._cdata] = found
        return found

    def label(self, tensor, name, role):
        found = self.variable(tensor)
        if not found.name:
            found.name, found.role = name, role

    def on_host(self, tensor, name, role="batch"):
        """Declares that this tensor lives in host memory: a copy between it and any other one is an io op."""
        self.label(tensor, name, role)
        self.variable(tensor).host = True
        return tensor

    def number(self, variable):
        if variable.number < 0:
            variable.number = len(self.numbered)
            self.numbered.append(variable)
        return variable.number

    @contextlib.contextmanager
    def in_phase(self, phase):
        before, self.phase = self.phase, phase
        try:
            yield
        finally:
            self.phase = before

    @contextlib.contextmanager
    def paused(self):
        """For the work of the data loader, which is not the device's."""
        before, self.recording = self.recording, False
        try:
            yield
        finally:
            self.recording = before

    # -- dispatch -------------------------------------------------------------------------------------------------
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name
        if name == "_c10d_functional::wait_tensor":
            if not self.fake:
                func(*args)
            return args[0]  # a wait is what hocket derives; the data dependence is carried by the variable
        if name == "aten::_local_scalar_dense":
            return self.item(func, args[0])
        count = len(self.rows)
        result = self.execute(func, args, kwargs)
        self.record(func, args, kwargs, result)
        if self.recording:
            self.observe(func, args, kwargs, result, count if len(self.rows) > count else None)
        return result

    def execute(self, func, args, kwargs):
        return func(*args, **kwargs)

    def observe(self, func, args, kwargs, result, row):
        """For tests that look at the data: called after each operator; `row` is its row, None if it was left out.

        Nothing here may keep a tensor: autograd steals a gradient that nobody else holds, and copies it otherwise.
        """

    def item(self, func, tensor):
        source = self.variable(tensor)
        try:
            value = func(tensor)
        except DataDependentOutputException:
            value = 0.0  # fake tensors hold no data; the one value asked for is "found inf", and it was not found
        if self.recording and not source.host:
            answer = Variable(None, 8, host=True, name=f"host.{len(self.rows)}", role="host")
            self.emit(HOST_COPY, "io", {self.number(source)}, {self.number(answer)}, "aten::_local_scalar_dense",
                      tensor.element_size(), 0)
            if self.phase == "optimizer":  # the gradient scaler asks whether the step may be taken at all
                self.guard = self.number(answer)
        return value

    def emit(self, stream, kind, reads, writes, name, size, flops):
        if self.guard is not None:
            reads = reads | {self.guard}
        self.rows.append(Row(stream, kind, sorted(reads), sorted(writes), name, self.phase, size, flops))

    def record(self, func, args, kwargs, result):
        schema = func._schema
        name = schema.name
        inputs, written, overwritten = [], [], []
        undeclared = UNDECLARED_WRITES.get(name, ())
        for index, argument in enumerate(schema.arguments):
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            found = tensors_in(value)
            declared = argument.alias_info is not None and argument.alias_info.is_write
            inputs += found
            if declared or argument.name in undeclared:
                written += found
                if name in OVERWRITES or argument.is_out:
                    overwritten += found
        outputs = tensors_in(result)

        sources = [self.variable(t) for t in inputs]
        targets = [self.variable(t) for t in written]
        if sources and all(v.host for v in sources):  # host arithmetic, such as the optimizer's step counter
            for tensor in outputs:
                self.variable(tensor).host = True
            return
        known = {id(v) for v in sources}
        fresh = [v for v in map(self.variable, outputs) if id(v) not in known]
        if not self.recording or name in ALLOCATIONS or name == "aten::lift_fresh" or func.namespace == "prim":
            return
        if not targets and not fresh and name not in NO_WRITES:
            return  # a view, an alias, or a question about metadata

        skip = {id(t) for t in overwritten}
        reads = {id(v): v for t in inputs if id(t) not in skip for v in [self.variable(t)] if v.bytes}
        writes = {id(v): v for v in targets + fresh if v.bytes}
        if not reads and not writes:
            return
        stream, kind = self.place(func, args, kwargs, sources, targets)
        touched = {id(t): t for t in inputs + outputs}.values()
        self.emit(stream, kind, {self.number(v) for v in reads.values()}, {self.number(v) for v in writes.values()},
                  name + ("." + schema.overload_name if schema.overload_name else ""),
                  sum(t.numel() * t.element_size() for t in touched), self.flops(func, args, kwargs, result))

    def place(self, func, args, kwargs, sources, targets):
        if func.namespace == "c10d":
            group = torch._C._distributed_c10d.ProcessGroup.unbox(args[1])
            return self.streams[group.group_name], "io"
        if func.namespace == "_c10d_functional":
            return self.streams[args[2]], "collective"
        if targets and any(v.host for v in sources) and any(not v.host for v in sources):
            return HOST_COPY, "io"
        if torch.Tag.nondeterministic_seeded in func.tags and self.draws(func, args, kwargs):
            return COMPUTE, "random"
        return COMPUTE, "compute"

    @staticmethod
    def draws(func, args, kwargs):
        """Fused attention carries the tag of random operators, but without dropout it draws no number."""
        for index, argument in enumerate(func._schema.arguments):
            if argument.name == "dropout_p":
                given = args[index] if index < len(args) else kwargs.get(argument.name, argument.default_value)
                return given != 0.0
        return True

    @staticmethod
    def flops(func, args, kwargs, result):
        formula = ATTENTION_FLOPS.get(func._schema.name)
        if formula is not None:
            return formula(*args, **kwargs)
        formula = flop_registry.get(func._overloadpacket)
        return formula(*args, **kwargs, out_val=result) if formula is not None else 0


# ---------------------------------------------------------------------------------------------------------------------
# Parallel pieces
# ---------------------------------------------------------------------------------------------------------------------

def all_reduce_(tensor, operation, group):
    """In place, asynchronous; the wait is folded (see Recorder)."""
    return torch.ops._c10d_functional.wait_tensor(
        torch.ops._c10d_functional.all_reduce_(tensor, operation, group.group_name))


class GradientBuckets:
    """What DistributedDataParallel does: buckets in reverse parameter order (the first small, so that communication
    starts early), each reduced as soon as its gradients and those of all earlier buckets are there, the results copied
    back once the backward pass is over."""

    def __init__(self, recorder, parameters, gradient_of, group, bucket_bytes):
        self.recorder, self.gradient_of, self.group = recorder, gradient_of, group
        self.synchronize = True
        self.buckets = []
        limit, members, size = min(1 << 20, bucket_bytes), [], 0
        for parameter in reversed(parameters):
            members.append(parameter)
            size += parameter.numel() * 4
            if size >= limit:
                self._close(members)
                limit, members, size = bucket_bytes, [], 0
        if members:
            self._close(members)
        self.bucket_of = {p: i for i, (ps, _) in enumerate(self.buckets) for p in ps}
        self._reset()

    def _close(self, members):
        flat = torch.empty(sum(p.numel() for p in members), dtype=torch.float32)
        self.recorder.label(flat, f"bucket.{len(self.buckets)}", "bucket")
        self.buckets.append((members, flat))

    def _reset(self):
        self.missing = [set(members) for members, _ in self.buckets]
        self.next = 0

    def ready(self, parameter):
        """Called when the gradient of `parameter` is final for this step."""
        if not self.synchronize:
            return
        self.missing[self.bucket_of[parameter]].remove(parameter)
        with self.recorder.in_phase("reduce"):
            while self.next < len(self.buckets) and not self.missing[self.next]:
                members, flat = self.buckets[self.next]
                torch.cat([self.gradient_of(p).detach().view(-1) for p in members], out=flat)
                all_reduce_(flat, "avg", self.group)
                self.next += 1

    @torch.no_grad()
    def finish(self):
        assert self.next == len(self.buckets), "a parameter got no gradient"
        with self.recorder.in_phase("reduce"):
            for members, flat in self.buckets:
                parts = flat.split([p.numel() for p in members])
                torch._foreach_copy_([self.gradient_of(p).detach().view(-1) for p in members], list(parts))
        self._reset()


class CopyToTensorParallel(torch.autograd.Function):
    """Identity; the gradients of the ranks are summed."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        return (gradient if ctx.group is None else all_reduce_(gradient, "sum", ctx.group)), None


class ReduceFromTensorParallel(torch.autograd.Function):
    """Sum over the ranks, in place; the gradient passes unchanged."""

    @staticmethod
    def forward(ctx, x, group):
        if group is not None:
            all_reduce_(x, "sum", group)
            ctx.mark_dirty(x)
            return x
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


# ---------------------------------------------------------------------------------------------------------------------
# Models. Where CUDA's autocast computes in fp32 (softmax, layer norm, losses) the cast is written out, because that of
# the CPU has another list.
# ---------------------------------------------------------------------------------------------------------------------

class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return torch.native_dropout(x, self.p, True)[0]  # the one fused operator that accelerators run


class LayerNorm(nn.LayerNorm):
    def forward(self, x):
        return F.layer_norm(x.float(), self.normalized_shape, self.weight, self.bias, self.eps)


class Attention(nn.Module):
    """Multi-head attention written out, with dropout on the weights."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.dropout = Dropout(dropout)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        scores = torch.matmul(q, k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
        weights = self.dropout(F.softmax(scores.masked_fill(mask, -math.inf).float(), dim=-1))
        mixed = torch.matmul(weights, v).transpose(1, 2).reshape(x.shape)
        return self.out(mixed)


def feed_forward(width, inner, activation, dropout):
    layers = [nn.Linear(width, inner), activation]
    if dropout:
        layers.append(Dropout(dropout))
    return nn.Sequential(*layers, nn.Linear(inner, width))


class EncoderLayer(nn.Module):
    def __init__(self, width, heads, inner, dropout):
        super().__init__()
        self.attention = Attention(width, heads, dropout)
        self.norm1 = LayerNorm(width)
        self.ffn = feed_forward(width, inner, nn.ReLU(), dropout)
        self.norm2 = LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x, mask):
        x = self.norm1(x + self.dropout(self.attention(x, x, mask)))
        return self.norm2(x + self.dropout(self.ffn(x)))


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, inner, dropout):
        super().__init__()
        self.attention = Attention(width, heads, dropout)
        self.norm1 = LayerNorm(width)
        self.cross = Attention(width, heads, dropout)
        self.norm2 = LayerNorm(width)
        self.ffn = feed_forward(width, inner, nn.ReLU(), dropout)
        self.norm3 = LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x, memory, causal, padding):
        x = self.norm1(x + self.dropout(self.attention(x, x, causal)))
        x = self.norm2(x + self.dropout(self.cross(x, memory, padding)))
        return self.norm3(x + self.dropout(self.ffn(x)))


class Transformer(nn.Module):
    """Attention Is All You Need, base: post-norm, sinusoidal positions, one table for both inputs and the output."""

    def __init__(self, c):
        super().__init__()
        self.width = c["width"]
        self.embedding = nn.Embedding(c["vocabulary"], c["width"])
        self.encoder = nn.ModuleList(EncoderLayer(c["width"], c["heads"], c["inner"], c["dropout"])
                                     for _ in range(c["layers"]))
        self.decoder = nn.ModuleList(DecoderLayer(c["width"], c["heads"], c["inner"], c["dropout"])
                                     for _ in range(c["layers"]))
        self.dropout = Dropout(c["dropout"])
        self.register_buffer("positions", torch.randn(c["sequence"], c["width"]))
        self.register_buffer("causal", torch.ones(c["sequence"], c["sequence"], dtype=torch.bool).triu(1))

    def embed(self, tokens):
        return self.dropout(self.embedding(tokens) * math.sqrt(self.width) + self.positions)

    def forward(self, source, target, expected):
        padding = (source == 0)[:, None, None, :]
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory, padding)
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, memory, self.causal, padding)
        logits = F.linear(x, self.embedding.weight)
        return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), expected.view(-1), ignore_index=0,
                               label_smoothing=0.1)


class GptBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm1 = LayerNorm(c["width"])
        self.attention = Attention(c["width"], c["heads"], c["dropout"])
        self.norm2 = LayerNorm(c["width"])
        self.ffn = feed_forward(c["width"], 4 * c["width"], nn.GELU(approximate="tanh"), 0)
        self.dropout = Dropout(c["dropout"])

    def forward(self, x, causal):
        normed = self.norm1(x)
        x = x + self.dropout(self.attention(normed, normed, causal))
        return x + self.dropout(self.ffn(self.norm2(x)))


class Gpt(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tokens = nn.Embedding(c["vocabulary"], c["width"])
        self.places = nn.Embedding(c["sequence"], c["width"])
        self.dropout = Dropout(c["dropout"])
        self.blocks = nn.ModuleList(GptBlock(c) for _ in range(c["layers"]))
        self.norm = LayerNorm(c["width"])
        self.register_buffer("index", torch.arange(c["sequence"]))
        self.register_buffer("causal", torch.ones(c["sequence"], c["sequence"], dtype=torch.bool).triu(1))

    def forward(self, tokens, expected):
        x = self.dropout(self.tokens(tokens) + self.places(self.index))
        for block in self.blocks:
            x = block(x, self.causal)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), expected.view(-1))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * wide.to(x.dtype)


def rotate(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


class LlamaLayer(nn.Module):
    def __init__(self, c, tp, group):
        super().__init__()
        width, inner = c["width"], c["inner"] // tp
        self.heads, self.group = c["heads"] // tp, group
        local = width // tp
        self.norm1 = RmsNorm(width)
        self.q, self.k, self.v = (nn.Linear(width, local, bias=False) for _ in range(3))
        self.o = nn.Linear(local, width, bias=False)
        self.norm2 = RmsNorm(width)
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, cos, sin):
        y = CopyToTensorParallel.apply(self.norm1(x), self.group)
        q, k, v = self.split(self.q(y)), self.split(self.k(y)), self.split(self.v(y))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = self.o(y.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1))
        x = x + ReduceFromTensorParallel.apply(y, self.group)
        y = CopyToTensorParallel.apply(self.norm2(x), self.group)
        y = self.down(F.silu(self.gate(y)) * self.up(y))
        return x + ReduceFromTensorParallel.apply(y, self.group)


class LlamaStage(nn.Module):
    def __init__(self, c, layers, tp, group):
        super().__init__()
        self.layers = nn.ModuleList(LlamaLayer(c, tp, group) for _ in range(layers))
        head = c["width"] // c["heads"]
        self.register_buffer("cos", torch.randn(c["sequence"], head))
        self.register_buffer("sin", torch.randn(c["sequence"], head))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return x


SIZES = {
    "transformer_base": dict(layers=6, width=512, heads=8, inner=2048, vocabulary=37000, sequence=128, batch=32,
                             dropout=0.1),
    "gpt2_small": dict(layers=12, width=768, heads=12, vocabulary=50257, sequence=1024, batch=8, dropout=0.1),
    "llama2_13b_stage": dict(layers=40, width=5120, heads=40, inner=13824, sequence=4096, batch=1),
}

# ---------------------------------------------------------------------------------------------------------------------
# Training steps
# ---------------------------------------------------------------------------------------------------------------------


def make_optimizer(parameters):
    return torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, foreach=False, fused=False)


def label_optimizer(recorder, optimizer, names):
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            label = f"{key}({names[parameter]})"
            if key == "step":
                recorder.on_host(value, label, "optimizer")  # a counter that PyTorch keeps in host memory
            else:
                recorder.label(value, label, "optimizer")


class DataParallelStep:
    """Forward and backward under autocast, bucketed all-reduce, gradient scaler (fp16), clipping, AdamW."""

    def __init__(self, recorder, model, dtype, scale, make_batch, micro_batches, group, bucket_bytes):
        self.recorder, self.model, self.dtype = recorder, model, dtype
        self.make_batch, self.micro_batches = make_batch, micro_batches
        self.parameters = list(model.parameters())
        self.names = {p: n for n, p in model.named_parameters()}
        for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
            recorder.label(tensor, name, "parameter" if isinstance(tensor, nn.Parameter) else "buffer")
        self.optimizer = make_optimizer(self.parameters)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=scale, enabled=dtype == torch.float16)
        self.buckets = None
        if group is not None:
            self.buckets = GradientBuckets(recorder, self.parameters, lambda p: p.grad, group, bucket_bytes)
            for parameter in self.parameters:
                parameter.register_post_accumulate_grad_hook(self.buckets.ready)

    def label_state(self):
        label_optimizer(self.recorder, self.optimizer, self.names)
        if self.scaler.is_enabled():
            self.recorder.label(self.scaler._scale, "scaler.scale", "optimizer")
            self.recorder.label(self.scaler._growth_tracker, "scaler.growth", "optimizer")

    def load(self, step, micro_batch):
        """The batch arrives in host memory and is copied to the device."""
        moved = []
        with self.recorder.paused():
            batch = self.make_batch()
        with self.recorder.in_phase("data"):
            for name, tensor in batch.items():
                host = self.recorder.on_host(tensor, f"{name}.{step}.{micro_batch}")
                moved.append(torch.empty(host.shape, dtype=host.dtype).copy_(host, non_blocking=True))
        return moved

    def run(self, step):
        phase = self.recorder.in_phase
        for micro_batch in range(self.micro_batches):
            batch = self.load(step, micro_batch)
            if self.buckets is not None:
                self.buckets.synchronize = micro_batch == self.micro_batches - 1
            with phase("forward"):
                with torch.autocast("cpu", dtype=self.dtype):
                    loss = self.model(*batch)
                if self.micro_batches > 1:
                    loss = loss / self.micro_batches
                scaled = self.scaler.scale(loss)
            with phase("backward"):
                scaled.backward()
        if self.buckets is not None:
            self.buckets.finish()
        if self.scaler.is_enabled():
            with phase("unscale"):
                self.scaler.unscale_(self.optimizer)
        with phase("clip"):
            nn.utils.clip_grad_norm_(self.parameters, 1.0, foreach=False)
        with phase("optimizer"):
            self.scaler.step(self.optimizer)  # with fp16 it asks for found_inf first, and that answer guards the rest
            self.recorder.guard = None
        if self.scaler.is_enabled():
            with phase("unscale"):
                self.scaler.update()
        with phase("report"):
            loss.item()
        self.optimizer.zero_grad(set_to_none=True)


class PipelineStageStep:
    """One inner pipeline stage: 1F1B over the micro-batches with receives and sends at both borders, bf16 weights, fp32
    gradient accumulation, bucketed all-reduce after the last backward of each layer, clipping by the norm over all
    model-parallel ranks, AdamW on fp32 master weights, cast back."""

    def __init__(self, recorder, stage, shape, micro_batches, warm_up, neighbours, groups, bucket_bytes):
        self.recorder, self.stage, self.shape = recorder, stage, shape
        self.micro_batches, self.warm_up, self.neighbours, self.groups = micro_batches, warm_up, neighbours, groups
        self.parameters = list(stage.parameters())
        self.names = {p: n for n, p in stage.named_parameters()}
        self.main, self.gradient = {}, {}
        for name, parameter in stage.named_parameters():
            recorder.label(parameter, name, "parameter")
            master = nn.Parameter(parameter.detach().float())
            master.grad = torch.zeros_like(master)
            self.main[parameter], self.gradient[parameter] = master, master.grad
            recorder.label(master, f"master({name})", "optimizer")
            recorder.label(master.grad, f"gradient({name})", "gradient")
        for name, buffer in stage.named_buffers():
            recorder.label(buffer, name, "buffer")
        self.optimizer = make_optimizer(list(self.main.values()))
        self.buckets = None
        if groups["dp"] is not None:
            self.buckets = GradientBuckets(recorder, self.parameters, self.gradient.__getitem__, groups["dp"],
                                           bucket_bytes)
        for parameter in self.parameters:
            parameter.register_post_accumulate_grad_hook(self.accumulate)

    def label_state(self):
        label_optimizer(self.recorder, self.optimizer, {self.main[p]: n for p, n in self.names.items()})

    @torch.no_grad()
    def accumulate(self, parameter):
        self.gradient[parameter].add_(parameter.grad)
        parameter.grad = None
        if self.buckets is not None:
            self.buckets.ready(parameter)

    def receive(self, peer):
        with self.recorder.in_phase("pipeline"):
            tensor = torch.empty(self.shape, dtype=torch.bfloat16)
            dist.recv(tensor, peer, group=self.groups["pp"])
            return tensor

    def send(self, tensor, peer):
        with self.recorder.in_phase("pipeline"):
            dist.send(tensor.detach(), peer, group=self.groups["pp"])

    def forward(self):
        x = self.receive(self.neighbours[0]).requires_grad_()
        with self.recorder.in_phase("forward"):
            y = self.stage(x)
        self.send(y, self.neighbours[1])
        return x, y

    def backward(self, x, y, last):
        if self.buckets is not None:
            self.buckets.synchronize = last
        gradient = self.receive(self.neighbours[1])
        with self.recorder.in_phase("backward"):
            torch.autograd.backward(y, gradient)
        self.send(x.grad, self.neighbours[0])

    @torch.no_grad()
    def clip(self):
        gradients = list(self.gradient.values())
        total = torch.stack([torch.linalg.vector_norm(g) for g in gradients]).pow(2).sum()
        if self.groups["mp"] is not None:
            all_reduce_(total, "sum", self.groups["mp"])
        factor = torch.clamp(1.0 / (total.sqrt() + 1e-6), max=1.0)
        for gradient in gradients:
            gradient.mul_(factor)
        return total

    def run(self, step):
        phase = self.recorder.in_phase
        with phase("optimizer"):
            for gradient in self.gradient.values():
                gradient.zero_()
        in_flight, done = [], 0
        for started in range(self.micro_batches):
            in_flight.append(self.forward())
            if started >= self.warm_up:
                done += 1
                self.backward(*in_flight.pop(0), last=done == self.micro_batches)
        while in_flight:
            done += 1
            self.backward(*in_flight.pop(0), last=done == self.micro_batches)
        if self.buckets is not None:
            self.buckets.finish()
        with phase("clip"):
            total = self.clip()
        with phase("optimizer"):
            self.optimizer.step()
            with torch.no_grad():
                for parameter in self.parameters:
                    parameter.copy_(self.main[parameter])
        with phase("report"):
            total.item()


def build(recorder, model, sizes, options):
    """The step driver of `model`. Process groups exist outside the fake mode; call within it otherwise."""
    bucket_bytes = int(options.bucket_mb * (1 << 20))

    def tokens(c):
        return torch.randint(1, c["vocabulary"], (c["batch"], c["sequence"]))

    if model == "llama2_13b_stage":
        tp, pp, dp, stage = options.tp, options.pp, options.dp, options.stage
        groups, rank = options.groups, options.rank
        torch.set_default_dtype(torch.bfloat16)
        try:
            module = LlamaStage(sizes, sizes["layers"] // pp, tp, groups["tp"])
        finally:
            torch.set_default_dtype(torch.float32)
        recorder.streams.update({g.group_name: s for g, s in (
            (groups["dp"], DATA_PARALLEL), (groups["tp"], TENSOR_PARALLEL), (groups["pp"], PIPELINE),
            (groups["mp"], MODEL_PARALLEL)) if g is not None})
        shape = (sizes["batch"], sizes["sequence"], sizes["width"])
        return PipelineStageStep(recorder, module, shape, options.micro_batches,
                                 min(options.micro_batches, pp - stage - 1), (rank - tp * dp, rank + tp * dp), groups,
                                 bucket_bytes)
    group = options.groups["dp"]
    if group is not None:
        recorder.streams[group.group_name] = DATA_PARALLEL
    if model == "transformer_base":
        module, dtype = Transformer(sizes), torch.float16

        def batch():
            return {"source": tokens(sizes), "target": tokens(sizes), "expected": tokens(sizes)}
    else:
        module, dtype = Gpt(sizes), torch.bfloat16

        def batch():
            return {"tokens": tokens(sizes), "expected": tokens(sizes)}
    return DataParallelStep(recorder, module, dtype, sizes.get("loss_scale", 65536.0), batch, options.micro_batches,
                            group, bucket_bytes)


def make_groups(options):
    """Ranks count tensor-parallel fastest, then data-parallel, then pipeline. The world is fake: nothing is sent."""
    tp, dp, pp, stage = options.tp, options.dp, options.pp, options.stage
    options.rank = stage * dp * tp
    dist.init_process_group("fake", store=FakeStore(), rank=options.rank, world_size=tp * dp * pp)

    def group(ranks):
        return dist.new_group(ranks) if len(ranks) > 1 else None

    options.groups = {
        "dp": group([options.rank + i * tp for i in range(dp)]),
        "tp": group([options.rank + i for i in range(tp)]),
        "pp": group([i * dp * tp for i in range(pp)]),
        "mp": group([i * dp * tp + j for i in range(pp) for j in range(tp)]) if tp * pp > 1 else None,
    }


def capture(model, options, sizes=None, fake=True, recorder_type=Recorder):
    """Runs one step to settle state that frameworks create lazily, then records `options.steps` steps."""
    make_groups(options)
    torch.manual_seed(0)
    try:
        with contextlib.ExitStack() as stack:
            if fake:
                stack.enter_context(FakeTensorMode())
            recorder = recorder_type(fake)
            stack.enter_context(recorder)
            step = build(recorder, model, sizes or SIZES[model], options)
            recorder.driver = step
            step.run(-1)
            step.label_state()
            recorder.recording = True
            for index in range(options.steps):
                step.run(index)
            recorder.recording = False
    finally:
        dist.destroy_process_group()
    return recorder


# ---------------------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------------------

def ops_csv(recorder):
    lines = ["op,stream,kind,reads,writes"]
    for index, row in enumerate(recorder.rows):
        reads, writes = (" ".join(map(str, variables)) for variables in (row.reads, row.writes))
        lines.append(f"{index},{row.stream},{row.kind},{reads},{writes}")
    return "\n".join(lines) + "\n"


def names_csv(recorder):
    lines = ["what,id,name,phase,bytes,flops"]
    for index, row in enumerate(recorder.rows):
        lines.append(f"op,{index},{row.name},{row.phase},{row.bytes},{row.flops}")
    first_writer = {}
    for index, row in enumerate(recorder.rows):
        for place, variable in enumerate(row.writes):
            first_writer.setdefault(variable, f"op{index}.{place}")
    for variable in recorder.numbered:
        name = variable.name or first_writer[variable.number]
        lines.append(f"variable,{variable.number},{name},{variable.role},{variable.bytes},")
    return "\n".join(lines) + "\n"


def parse(arguments=None):
    parser = make_parser()
    options = parser.parse_args(arguments)
    llama = options.model == "llama2_13b_stage"
    for name, value, alone in (("tp", 2, 1), ("pp", 4, 1), ("stage", 1, 0)):
        given = getattr(options, name)
        if given is not None and not llama:
            parser.error(f"--{name} is for llama2_13b_stage only")
        if given is None:
            setattr(options, name, value if llama else alone)
    options.dp = options.dp if options.dp is not None else (2 if llama else 8)
    options.micro_batches = options.micro_batches if options.micro_batches is not None else (2 if llama else 1)
    for name in ("steps", "micro_batches", "dp", "tp", "pp"):
        if not 1 <= getattr(options, name) <= 1024:
            parser.error(f"--{name.replace('_', '-')} must be from 1 to 1024")
    if not options.bucket_mb > 0:
        parser.error("--bucket-mb must be positive")
    if llama:
        sizes = SIZES[options.model]
        if sizes["heads"] % options.tp or sizes["inner"] % options.tp:
            parser.error(f"--tp {options.tp} does not divide the {sizes['heads']} heads")
        if options.pp < 3 or sizes["layers"] % options.pp:
            parser.error(f"--pp must be at least 3 (there must be an inner stage) and divide {sizes['layers']}")
        if not 1 <= options.stage <= options.pp - 2:
            parser.error(f"--stage must be an inner stage, from 1 to {options.pp - 2}")
    if not options.out.endswith(".ops.csv"):
        parser.error("--out must end in .ops.csv")
    return options


def main(arguments=None):
    options = parse(arguments)
    if torch.__version__.split("+")[0] != TORCH_VERSION:
        print(f"capture_torch_step: this is PyTorch {torch.__version__}, the committed files are from {TORCH_VERSION}; "
              "operators may differ.", file=sys.stderr)
    recorder = capture(options.model, options)
    names = options.out[:-len(".ops.csv")] + ".names.csv"
    try:
        os.makedirs(os.path.dirname(os.path.abspath(options.out)), exist_ok=True)
        with open(options.out, "w", encoding="ascii", newline="\n") as out:
            out.write(ops_csv(recorder))
        if not options.no_names:
            with open(names, "w", encoding="ascii", newline="\n") as out:
                out.write(names_csv(recorder))
    except OSError as error:
        fail(f"cannot write {error.filename}: {error.strerror}.")
    kinds = {kind: sum(row.kind == kind for row in recorder.rows) for kind in ("compute", "collective", "random", "io")}
    print(f"model={options.model} ops={len(recorder.rows)} variables={len(recorder.numbered)} "
          + " ".join(f"{kind}={count}" for kind, count in kinds.items())
          + f" flops={sum(row.flops for row in recorder.rows)}", file=sys.stderr)


if __name__ == "__main__":
    main()
