# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training programs for Paddle's static executor: programs.py STEPS NAME…

NAME is resnet, transformer, gptLAYERS or draws (random ops alone), and after it, in this order: _o1 for bfloat16 AMP,
_nodrop for no dropout, _serial for one thread. Prints a line for each: the name, and the loss of every step to the last
bit.
"""
import re
import sys

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn


class Residual(nn.Layer):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.first = nn.Conv2D(channels_in, channels, 3, stride, 1, bias_attr=False)
        self.first_norm = nn.BatchNorm2D(channels)
        self.second = nn.Conv2D(channels, channels, 3, 1, 1, bias_attr=False)
        self.second_norm = nn.BatchNorm2D(channels)
        self.shortcut = None
        if channels_in != channels or stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2D(channels_in, channels, 1, stride, bias_attr=False), nn.BatchNorm2D(channels)
            )

    def forward(self, x):
        y = F.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNet(nn.Layer):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2D(3, 16, 3, 1, 1, bias_attr=False), nn.BatchNorm2D(16), nn.ReLU()]
        channels_in = 16
        for channels, stride in ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
            layers.append(Residual(channels_in, channels, stride))
            channels_in = channels
        self.body = nn.Sequential(*layers)
        self.classes = nn.Linear(64, 10)

    def forward(self, x):
        return self.classes(F.adaptive_avg_pool2d(self.body(x), 1).flatten(1))


def causal_mask(length):
    return paddle.assign(np.triu(np.full([length, length], -1e9, "float32"), 1))


class Transformer(nn.Layer):
    """The base size: six layers each way, 512 wide."""

    def __init__(self, vocabulary, dropout):
        super().__init__()
        self.source = nn.Embedding(vocabulary, 512)
        self.target = nn.Embedding(vocabulary, 512)
        self.body = nn.Transformer(512, 8, 6, 6, 2048, dropout)
        self.words = nn.Linear(512, vocabulary)

    def forward(self, source, target):
        mask = causal_mask(target.shape[1])
        return self.words(self.body(self.source(source), self.target(target), tgt_mask=mask))


class DecoderLayer(nn.Layer):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.width, self.dropout = heads, width, dropout
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length = x.shape[:2]
        split = [batch, length, 3, self.heads, self.width // self.heads]
        heads = self.query_key_value(x).reshape(split).transpose([2, 0, 3, 1, 4])
        scores = paddle.matmul(heads[0], heads[1], transpose_y=True) * (self.width // self.heads) ** -0.5
        weights = F.dropout(F.softmax(scores + causal_mask(length).astype(scores.dtype)), self.dropout)
        mixed = paddle.matmul(weights, heads[2]).transpose([0, 2, 1, 3])
        return self.output(mixed.reshape([batch, length, self.width]))

    def forward(self, x):
        x = x + F.dropout(self.attend(self.attention_norm(x)), self.dropout)
        return x + F.dropout(self.down(F.gelu(self.up(self.norm(x)))), self.dropout)


class GPT(nn.Layer):
    def __init__(self, layers, vocabulary, length, dropout, width=64, heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers = nn.LayerList([DecoderLayer(width, heads, dropout) for _ in range(layers)])
        self.norm, self.head, self.dropout = nn.LayerNorm(width), nn.Linear(width, vocabulary), dropout

    def forward(self, tokens):
        places = paddle.arange(tokens.shape[1], dtype="int64")
        x = F.dropout(self.words(tokens) + self.places(places), self.dropout)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def inputs(feed):
    return [paddle.static.data(name, list(value.shape), str(value.dtype)) for name, value in feed.items()]


def tokens(vocabulary, *shape):
    return np.random.randint(0, vocabulary, shape).astype("int64")


def resnet():
    feed = {"x": np.random.rand(4, 3, 16, 16).astype("float32"), "y": tokens(10, 4)}
    x, y = inputs(feed)
    net = ResNet()
    momentum = paddle.optimizer.Momentum(0.01, 0.9, parameters=net.parameters(), weight_decay=1e-4)
    return feed, momentum, lambda: F.cross_entropy(net(x), y)


def adamw(net, rate):
    return paddle.optimizer.AdamW(rate, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))


def transformer(dropout, vocabulary=100):
    feed = {name: tokens(vocabulary, 2, 8) for name in ("source", "target", "y")}
    source, target, y = inputs(feed)
    net = Transformer(vocabulary, dropout)
    return feed, adamw(net, 1e-4), lambda: words_loss(net(source, target), y)


def gpt(layers, dropout, vocabulary=128):
    feed = {name: tokens(vocabulary, 2, 16) for name in ("tokens", "y")}
    ids, y = inputs(feed)
    net = GPT(layers, vocabulary, 16, dropout)
    return feed, adamw(net, 1e-3), lambda: words_loss(net(ids), y)


def words_loss(logits, y):
    return F.cross_entropy(logits.reshape([-1, logits.shape[-1]]).astype("float32"), y.reshape([-1]))


def draws():
    """Ops that draw numbers, none of which waits for another, weighted so that each has its place in the sum."""
    feed = {"p": np.random.rand(64).astype("float32")}
    (p,) = inputs(feed)
    of_p = {
        "bernoulli": paddle.bernoulli,
        "binomial": lambda p: paddle.binomial(paddle.full([64], 5, "int64"), p),
        "dropout": F.dropout,
        "dropout_": lambda p: F.dropout(p * 1.0),
        "gamma": lambda p: paddle.standard_gamma(p + 1.0),
        "gumbel": lambda p: F.gumbel_softmax(p.reshape([8, 8])),
        "multinomial": lambda p: paddle.multinomial(p, 8),
        "normal": lambda p: paddle.randn([64]),
        "poisson": lambda p: paddle.poisson(p * 9.0),
        "randint": lambda p: paddle.randint(0, 99, [64]),
        "randperm": lambda p: paddle.randperm(64)[:9],
        "rrelu": lambda p: F.rrelu(p - 0.5),
        "uniform": lambda p: paddle.uniform([64]),
        "uniform_": lambda p: paddle._C_ops.uniform_inplace(p * 1.0, 0.0, 1.0, 0, 0, 0, 1.0),
    }
    drawn = [draw(p).astype("float32").mean() for _ in range(3) for draw in of_p.values()]
    return feed, None, lambda: sum(weight * x for weight, x in enumerate(drawn, 1))


def build(name):
    grammar = r"(resnet|transformer|draws|gpt(\d+))(_o1)?(_nodrop)?(_serial)?"
    model, layers, amp, nodrop, _ = re.fullmatch(grammar, name).groups()
    dropout = 0.0 if nodrop else 0.1
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        if model == "resnet":
            feed, optimizer, forward = resnet()
        elif model == "draws":
            feed, optimizer, forward = draws()
        elif model == "transformer":
            feed, optimizer, forward = transformer(dropout)
        else:
            feed, optimizer, forward = gpt(int(layers), dropout)
        with paddle.amp.auto_cast(enable=bool(amp), level="O1", dtype="bfloat16"):
            loss = forward()
        loss = loss.astype("float32").mean()
        if optimizer is not None:
            optimizer.minimize(loss)
    return main, startup, feed, loss


def train(name, steps):
    paddle.seed(7)
    np.random.seed(7)
    paddle.set_flags({"FLAGS_new_executor_serial_run": name.endswith("_serial")})
    main, startup, feed, loss = build(name)
    with paddle.static.scope_guard(paddle.static.Scope()):
        executor = paddle.static.Executor(paddle.CPUPlace())
        sys.stderr.write(f"program {name} startup\n")
        sys.stderr.flush()
        executor.run(startup)
        sys.stderr.write(f"program {name} main\n")
        sys.stderr.flush()
        return [float(executor.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(steps)]


def main():
    paddle.enable_static()
    for name in sys.argv[2:]:
        print(name, *(loss.hex() for loss in train(name, int(sys.argv[1]))), flush=True)


if __name__ == "__main__":
    main()
