# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One training step of a small Llama-like decoder in plain MindSpore: RMSNorm, attention with grouped keys and values,
gated FFN, cross entropy, Adam. Every op is a named primitive, so that strategies and recomputation are set op by op, as
MindFormers does.

    train.py DUMPS [--recompute none|select|full] [--dtype fp16|fp32] [--profile DIR] [--parallel dp,mp,pp --rank R --target LIBRARY]
"""
import argparse
import ctypes
import os
import sys

options = argparse.ArgumentParser()
options.add_argument("dumps")
options.add_argument("--recompute", default="none", choices=("none", "select", "full"))
options.add_argument("--dtype", default="fp32", choices=("fp16", "fp32"))
options.add_argument("--profile")
options.add_argument("--parallel", type=lambda text: tuple(int(n) for n in text.split(",")))
options.add_argument("--rank", type=int, default=0)
options.add_argument("--target", help="the library that makes MindSpore compile for Ascend devices which are not there")
o = options.parse_args()
os.environ["MS_DEV_SAVE_GRAPHS"] = "2"
os.environ["MS_DEV_SAVE_GRAPHS_PATH"] = o.dumps

import mindspore as ms  # noqa: E402: reads the environment when it is imported
import numpy as np  # noqa: E402
from mindspore import Parameter, Tensor, context, nn  # noqa: E402
from mindspore.common.initializer import Normal, initializer  # noqa: E402
from mindspore.ops import operations as P  # noqa: E402
from mindspore.ops.auto_generate import SiLU  # noqa: E402

HIDDEN, HEADS, KV_HEADS, FFN, VOCABULARY, SEQUENCE, LAYERS, BATCH = 256, 8, 4, 704, 1024, 128, 2, 8
DTYPE = ms.float16 if o.dtype == "fp16" else ms.float32
dp, mp, pp = o.parallel or (1, 1, 1)
MICRO = 2 if pp > 1 else 1


def cut(primitive, *strategy):
    return primitive.shard(strategy) if o.parallel else primitive


def marked(primitive):
    if o.recompute == "select":
        primitive.recompute()
    return primitive


class Norm(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(initializer("ones", (HIDDEN,), ms.float32))
        own, one = (dp, 1, 1), ()
        self.cast, self.back = cut(P.Cast(), own, one), cut(P.Cast(), own, one)
        self.square, self.mean = cut(P.Square(), own), cut(P.ReduceMean(keep_dims=True), own)
        self.add, self.rsqrt = cut(P.Add(), own, one), cut(P.Rsqrt(), own)
        self.scale, self.weigh = cut(P.Mul(), own, own), cut(P.Mul(), own, (1,))

    def construct(self, x):
        wide = self.cast(x, ms.float32)
        root = self.rsqrt(self.add(self.mean(self.square(wide), -1), 1e-5))
        return self.back(self.weigh(self.scale(wide, root), self.weight), DTYPE)


class Linear(nn.Cell):
    """x w^T, with a Reshape before and behind, as MindFormers has it. `rows`: whether the weight's rows are cut."""

    def __init__(self, width, to, rows):
        super().__init__()
        self.width, self.to = width, to
        self.weight = Parameter(initializer(Normal(0.02), (to, width), DTYPE))
        self.matmul = cut(P.MatMul(transpose_b=True), (dp, 1 if rows else mp), (mp, 1) if rows else (1, mp))
        self.reshape, self.back = P.Reshape(), P.Reshape()

    def construct(self, x):
        shape = P.Shape()(x)
        return self.back(self.matmul(self.reshape(x, (-1, self.width)), self.weight), shape[:-1] + (self.to,))


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        d = HIDDEN // HEADS
        self.wq, self.wo = Linear(HIDDEN, HEADS * d, True), Linear(HEADS * d, HIDDEN, False)
        self.wk, self.wv = Linear(HIDDEN, KV_HEADS * d, True), Linear(HIDDEN, KV_HEADS * d, True)
        self.reshape = P.Reshape()
        heads = (dp, mp, 1, 1)
        self.transpose, self.merge = cut(P.Transpose(), (dp, 1, mp, 1)), cut(P.Transpose(), heads)
        self.tile = cut(P.Tile(), (dp, mp, 1, 1, 1))
        self.bmm1 = marked(cut(P.BatchMatMul(transpose_b=True), heads, heads))
        self.bmm2 = cut(P.BatchMatMul(), heads, heads)
        self.scale, self.mask_add = cut(P.Mul(), heads, ()), cut(P.Add(), heads, (1, 1))
        self.softmax = marked(cut(P.Softmax(), heads))
        self.mask = Tensor(np.triu(np.full((SEQUENCE, SEQUENCE), -1e4), 1), DTYPE)

    def repeated(self, x, b, s, d):
        x = self.reshape(self.transpose(self.reshape(x, (b, s, KV_HEADS, d)), (0, 2, 1, 3)), (b, KV_HEADS, 1, s, d))
        return self.reshape(self.tile(x, (1, 1, HEADS // KV_HEADS, 1, 1)), (b, HEADS, s, d))

    def construct(self, x):
        b, s, _ = P.Shape()(x)
        d = HIDDEN // HEADS
        q = self.transpose(self.reshape(self.wq(x), (b, s, HEADS, d)), (0, 2, 1, 3))
        scores = self.scale(self.bmm1(q, self.repeated(self.wk(x), b, s, d)), d ** -0.5)
        out = self.bmm2(self.softmax(self.mask_add(scores, self.mask)), self.repeated(self.wv(x), b, s, d))
        return self.wo(self.reshape(self.merge(out, (0, 2, 1, 3)), (b, s, HIDDEN)))


class FeedForward(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w1, self.w3, self.w2 = Linear(HIDDEN, FFN, True), Linear(HIDDEN, FFN, True), Linear(FFN, HIDDEN, False)
        self.silu = marked(cut(SiLU(), (dp, 1, mp)))
        self.mul = marked(cut(P.Mul(), (dp, 1, mp), (dp, 1, mp)))

    def construct(self, x):
        return self.w2(self.mul(self.silu(self.w1(x)), self.w3(x)))


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = Norm(), Norm()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.add = cut(P.Add(), (dp, 1, 1), (dp, 1, 1))

    def construct(self, x):
        x = self.add(x, self.attention(self.attention_norm(x)))
        return self.add(x, self.feed_forward(self.ffn_norm(x)))


class Embedding(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(initializer(Normal(0.02), (VOCABULARY, HIDDEN), DTYPE))
        self.gather = cut(P.Gather(), (1, 1), (dp, 1))

    def construct(self, ids):
        return self.gather(self.weight, ids, 0)


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cast, self.reshape = cut(P.Cast(), (dp, mp), ()), P.Reshape()
        self.onehot = cut(P.OneHot(), (dp, mp), (), ())
        self.entropy = cut(P.SoftmaxCrossEntropyWithLogits(), (dp, 1), (dp, 1))
        self.mean = cut(P.ReduceMean(), (dp,))
        self.on, self.off = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)

    def construct(self, logits, labels):
        logits = self.cast(self.reshape(logits, (-1, VOCABULARY)), ms.float32)
        loss, _ = self.entropy(logits, self.onehot(self.reshape(labels, (-1,)), VOCABULARY, self.on, self.off))
        return self.mean(loss, 0)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm, self.head, self.loss = Embedding(), Norm(), Linear(HIDDEN, VOCABULARY, True), Loss()
        self.layers = nn.CellList([Layer() for _ in range(LAYERS)])
        for i, layer in enumerate(self.layers):
            if o.recompute == "full":
                layer.recompute()
            if pp > 1:
                layer.pipeline_stage = i * pp // LAYERS
        if pp > 1:
            self.embedding.pipeline_stage = 0
            self.norm.pipeline_stage = self.head.pipeline_stage = self.loss.pipeline_stage = pp - 1

    def construct(self, ids, labels):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.loss(self.head(self.norm(x)), labels)


def step_of(net):
    from mindspore.nn.wrap import cell_wrapper
    optimizer = nn.Adam(net.trainable_params(), 1e-4)
    if pp > 1:
        net = nn.PipelineCell(net, MICRO)
    if o.parallel:
        net = cell_wrapper._VirtualDatasetCell(net)
    if pp > 1:
        return cell_wrapper._TrainGradAccuStepCell(net, optimizer, sens=1.0)
    return nn.TrainOneStepCell(net, optimizer, sens=1.0)


def main():
    if o.target:
        library = ctypes.CDLL(o.target)
        library.fake_ascend()
        from mindspore._c_expression import MSContext
        MSContext.get_instance().set_device_target_inner("Ascend")
    else:
        ms.set_device("CPU")
    context.set_context(mode=context.GRAPH_MODE)
    if o.parallel:
        strategy = "full_batch" if pp > 1 else ((dp, 1), (dp, 1))
        stages = {"pipeline_stages": pp} if pp > 1 else {}
        context.set_auto_parallel_context(device_num=dp * mp * pp, global_rank=o.rank, parallel_mode="semi_auto_parallel",
                                          dataset_strategy=strategy, **stages)
    step = step_of(Network())
    step.set_train()
    random = np.random.default_rng(0)
    ids, labels = (Tensor(random.integers(0, VOCABULARY, (BATCH * MICRO, SEQUENCE)), ms.int32) for _ in range(2))
    if o.target:
        library.fake_world(dp * mp * pp)
        step.compile(ids, labels)  # ends with an error behind the front end, for want of a device
        return
    if not o.profile:
        step.compile(ids, labels)
        return
    from mindspore.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
    step(ids, labels).asnumpy()
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=0, active=1, repeat=1), profile_memory=True,
                 on_trace_ready=tensorboard_trace_handler(o.profile)) as p:
        step(ids, labels).asnumpy()
        p.step()


if __name__ == "__main__":
    sys.exit(main())
