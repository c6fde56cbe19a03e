# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the HLO of training steps in JAX: make_hlo.py FOLDER NAME…

A name is a model, how it is partitioned, and whether XLA has optimised it: mlp, resnet, gpt4, gpt12 (layers, unrolled);
_smap8 (data parallel over 8 devices, one all-reduce a parameter) or _fsdp8 (XLA partitions, parameters are sharded 8
ways); .opt. So gpt4_fsdp8.opt is one. A file that is there is left alone.
"""
import os
import re
import sys

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

DEVICES = 8


def weights(*shape):
    return jnp.full(shape, 0.02, jnp.float32)


def mlp(layers=8, width=64):
    parameters = [(weights(width, width), jnp.zeros(width)) for _ in range(layers)]

    def loss(parameters, batch):
        x, y = batch
        for weight, bias in parameters:
            x = jax.nn.relu(x @ weight + bias)
        return jnp.mean((x - y) ** 2)

    return loss, parameters, (jnp.zeros((32, width)), jnp.zeros((32, width)))


def resnet(blocks=(3, 4, 6, 3)):
    """ResNet-34's shape with an eighth of its channels."""
    channels = 8
    parameters = {"stem": weights(3, 3, 3, channels), "blocks": []}
    for stage, count in enumerate(blocks):
        wider = 8 * 2**stage
        for _ in range(count):
            block = {"first": weights(3, 3, channels, wider), "second": weights(3, 3, wider, wider)}
            block |= {name: jnp.ones(wider) for name in ("gain1", "bias1", "gain2", "bias2")}
            if channels != wider:
                block["projection"] = weights(1, 1, channels, wider)
            parameters["blocks"].append(block)
            channels = wider
    parameters["head"] = weights(channels, 10)

    def convolve(x, kernel, stride=1):
        return jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def normalise(x, gain, bias):
        mean = x.mean((0, 1, 2))
        variance = ((x - mean) ** 2).mean((0, 1, 2))
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + bias

    def loss(parameters, batch):
        x, y = batch
        x = jax.nn.relu(convolve(x, parameters["stem"]))
        for block in parameters["blocks"]:
            stride = 2 if "projection" in block else 1
            h = jax.nn.relu(normalise(convolve(x, block["first"], stride), block["gain1"], block["bias1"]))
            h = normalise(convolve(h, block["second"]), block["gain2"], block["bias2"])
            x = jax.nn.relu(h + (convolve(x, block["projection"], stride) if stride == 2 else x))
        logits = jax.nn.log_softmax(x.mean((1, 2)) @ parameters["head"])
        return -jnp.mean(jnp.take_along_axis(logits, y[:, None], 1))

    return loss, parameters, (jnp.zeros((8, 32, 32, 3)), jnp.zeros((8,), jnp.int32))


def gpt(layers, width=64, heads=4, vocabulary=128, tokens=32, batch=8):
    def layer():
        return {
            "norm1": (jnp.ones(width), jnp.zeros(width)),
            "norm2": (jnp.ones(width), jnp.zeros(width)),
            "qkv": (weights(width, 3 * width), jnp.zeros(3 * width)),
            "out": (weights(width, width), jnp.zeros(width)),
            "up": (weights(width, 4 * width), jnp.zeros(4 * width)),
            "down": (weights(4 * width, width), jnp.zeros(width)),
        }

    parameters = {
        "tokens": weights(vocabulary, width),
        "positions": weights(tokens, width),
        "norm": (jnp.ones(width), jnp.zeros(width)),
        "layers": [layer() for _ in range(layers)],
    }

    def norm(x, p):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[0] + p[1]

    def linear(x, p):
        return x @ p[0] + p[1]

    mask = jnp.tril(jnp.ones((tokens, tokens), bool))

    def attention(x, p):
        def split_heads(a):
            return a.reshape(a.shape[0], tokens, heads, -1).transpose(0, 2, 1, 3)

        q, k, v = (split_heads(a) for a in jnp.split(linear(norm(x, p["norm1"]), p["qkv"]), 3, -1))
        scores = jnp.where(mask, q @ k.transpose(0, 1, 3, 2) / np.sqrt(width // heads), -1e9)
        mixed = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        return linear(mixed, p["out"])

    def loss(parameters, ids):
        x = parameters["tokens"][ids[:, :-1]] + parameters["positions"]
        for p in parameters["layers"]:
            x = x + attention(x, p)
            x = x + linear(jax.nn.gelu(linear(norm(x, p["norm2"]), p["up"])), p["down"])
        logits = jax.nn.log_softmax(norm(x, parameters["norm"]) @ parameters["tokens"].T)
        return -jnp.mean(jnp.take_along_axis(logits, ids[:, 1:, None], -1))

    return loss, parameters, jnp.zeros((batch, tokens + 1), jnp.int32)


def adam(parameters, gradients, first, second, step, rate=1e-3):
    step = step + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)

    def update(p, m, v):
        return p - rate * (m / (1 - 0.9**step)) / (jnp.sqrt(v / (1 - 0.999**step)) + 1e-8)

    return jax.tree.map(update, parameters, first, second), first, second, step


def clipped(gradients):
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
    return jax.tree.map(lambda g: g / jnp.maximum(1.0, norm), gradients)


def training_step(loss):
    def step(parameters, first, second, count, batch):
        value, gradients = jax.value_and_grad(loss)(parameters, batch)
        return adam(parameters, clipped(gradients), first, second, count) + (value,)

    return jax.jit(step)


def step_with_all_reduces(loss):
    mesh = Mesh(np.array(jax.devices()), ("x",))

    def step(parameters, first, second, count, batch):
        value, gradients = jax.value_and_grad(loss)(parameters, batch)
        gradients = jax.tree.map(lambda g: jax.lax.pmean(g, "x"), gradients)
        return adam(parameters, gradients, first, second, count) + (jax.lax.pmean(value, "x"),)

    whole, part = PartitionSpec(), PartitionSpec("x")
    specs = (whole, whole, whole, whole, part)
    return jax.jit(jax.shard_map(step, mesh=mesh, in_specs=specs, out_specs=whole, check_vma=False))


def step_with_sharded_parameters(loss, parameters, batch):
    mesh = Mesh(np.array(jax.devices()), ("x",))
    whole, part = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("x"))
    shards = jax.tree.map(lambda a: part if a.ndim and a.shape[0] % DEVICES == 0 else whole, parameters)
    return jax.jit(
        training_step(loss),
        in_shardings=(shards, shards, shards, whole, jax.tree.map(lambda a: part, batch)),
        out_shardings=(shards, shards, shards, whole, whole),
    )


def hlo(name):
    name, optimised, _ = name.partition(".opt")
    model, _, partitioning = name.partition("_")
    loss, parameters, batch = gpt(int(model[3:])) if model.startswith("gpt") else {"mlp": mlp, "resnet": resnet}[model]()
    if partitioning == "smap8":
        step = step_with_all_reduces(loss)
    elif partitioning == "fsdp8":
        step = step_with_sharded_parameters(loss, parameters, batch)
    else:
        step = training_step(loss)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    lowered = step.lower(parameters, zeros, zeros, jnp.zeros((), jnp.float32), batch)
    text = lowered.compile().as_text() if optimised else lowered.as_text(dialect="hlo")
    # TensorFlow's parser is older than JAX's printer: it does not know replica groups that refer to a mesh.
    return re.sub(r"replica_groups=mesh\[[^\]]*\](, device_ids=\([^)]*\)+\))?( \{[^}]*\})?", "replica_groups={}", text)


def main(folder, *names):
    os.makedirs(folder, exist_ok=True)
    for name in names:
        path = os.path.join(folder, name + ".hlo")
        if os.path.exists(path):
            continue
        text = hlo(name)
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".part", path)


main(*sys.argv[1:])
