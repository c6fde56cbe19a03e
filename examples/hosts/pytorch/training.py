# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two training steps: as anybody writes them, and as functions of all that they touch, which can be captured."""
import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

MICRO_BATCHES = 2  # their gradients are added up


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm, self.norm_hidden = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output, self.up, self.down = nn.Linear(width, width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        normed = self.norm(x)
        q, k, v = (layer(normed).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for layer in (self.query, self.key, self.value))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = self.dropout(self.output(mixed)).add_(x)
        return self.dropout(self.down(F.relu_(self.up(self.norm_hidden(x))))).add_(x)


class Transformer(nn.Module):
    def __init__(self, blocks=2, width=64, heads=4, vocabulary=256, tokens=32, dropout=0.1):
        super().__init__()
        self.tokens, self.vocabulary = tokens, vocabulary
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.randn(2 * tokens, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(blocks))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)

    def batch(self, items=4):
        tokens = torch.randint(self.vocabulary, (items, self.tokens + 1))
        return tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs),
                         nn.ReLU(inplace=True))


class Mixed(nn.Module):
    """Three branches, put side by side."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.branches = nn.ModuleList([
            convolution(inputs, outputs, 1),
            nn.Sequential(convolution(inputs, outputs, 1), convolution(outputs, outputs, 3)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), convolution(inputs, outputs, 1))])

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class ConvNet(nn.Module):
    def __init__(self, width=8, pixels=16, classes=10):
        super().__init__()
        self.pixels = pixels
        self.features = nn.Sequential(convolution(3, width, 3), Mixed(width, width), Mixed(3 * width, width),
                                      nn.MaxPool2d(2), Mixed(3 * width, 2 * width))
        self.dropout, self.head = nn.Dropout(0.2), nn.Linear(6 * width, classes)

    def forward(self, images):
        return self.head(self.dropout(self.features(images).mean((2, 3))))

    def batch(self, items=8):
        return torch.randn(items, 3, self.pixels, self.pixels), torch.randint(self.head.out_features, (items,))


class Adam:
    """AdamW, fused, a group for each block; gradients are clipped before. amsgrad, because torch.func.functionalize of
    PyTorch 2.13 takes no empty list of tensors."""

    keys = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step")
    options = dict(lr=1e-3, weight_decay=0.01, eps=1e-8)

    def __init__(self, names):
        blocks = sorted({name.rpartition(".")[0].split(".", 2)[:2][-1] for name in names})
        self.groups = [[i for i, n in enumerate(names) if n.rpartition(".")[0].split(".", 2)[:2][-1] == b] for b in blocks]

    def optimizer(self, parameters):
        groups = [{"params": [parameters[i] for i in group]} for group in self.groups]
        return torch.optim.AdamW(groups, betas=(0.9, 0.99), amsgrad=True, fused=True, **self.options)

    def prepare(self, parameters):
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)

    def update(self, parameters, gradients, *state):
        norm = torch.nn.utils.get_total_norm(gradients, foreach=True)
        torch._foreach_mul_(gradients, torch.clamp(1.0 / (norm + 1e-6), max=1.0))
        for group in self.groups:
            some = [[tensors[i] for i in group] for tensors in (parameters, gradients, *state)]
            adamw(*some, fused=True, amsgrad=True, beta1=0.9, beta2=0.99, maximize=False, **self.options)


class Momentum:
    """SGD with momentum, in lists of tensors."""

    keys = ("momentum_buffer",)
    options = dict(lr=0.05, momentum=0.9, weight_decay=0.01, foreach=True)

    def __init__(self, names):
        pass

    def optimizer(self, parameters):
        made = torch.optim.SGD(parameters, **self.options)
        for p in parameters:  # as if from a checkpoint; without it the first step has other ops
            made.state[p]["momentum_buffer"] = torch.zeros_like(p)
        return made

    def prepare(self, parameters):
        pass

    def update(self, parameters, gradients, momentum):
        sgd(parameters, gradients, momentum, dampening=0, nesterov=False, maximize=False, **self.options)


# Small to be checked, large to be measured.
MODELS = {"transformer": (Transformer, Adam, dict(blocks=4, width=128, tokens=64)),
          "convnet": (ConvNet, Momentum, dict(width=16, pixels=24))}


class Training:
    """A model, its optimizer and a fixed initial state."""

    def __init__(self, name, device="cpu", large=False):
        torch.manual_seed(1)
        model, rule, sizes = MODELS[name]
        self.model = model(**sizes) if large else model()
        self.model.to(device)
        self.names, self.buffer_names = [[n for n, _ in named] for named in
                                         (self.model.named_parameters(), self.model.named_buffers())]
        self.rule = rule(self.names)
        self.device = device

    def batch(self, number):
        """The micro-batches of one step, as a flat list."""
        with torch.random.fork_rng():  # of every device: manual_seed seeds them all
            torch.manual_seed(1000 + number)
            return [t.to(self.device) for _ in range(MICRO_BATCHES) for t in self.model.batch()]

    def eager(self):
        """A step as anybody writes it: batch -> losses; and a function that gives gradients and state."""
        model = copy.deepcopy(self.model)
        parameters = list(model.parameters())
        optimizer = self.rule.optimizer(parameters)

        def step(batch):
            optimizer.zero_grad()
            losses = []
            for inputs, labels in zip(batch[::2], batch[1::2]):
                losses.append(F.cross_entropy(model(inputs), labels))
                losses[-1].backward()
            self.rule.prepare(parameters)
            optimizer.step()
            return [loss.detach() for loss in losses]

        def state():
            kept = [optimizer.state[p][key] for key in self.rule.keys for p in parameters]
            return [*(p.detach() for p in parameters), *(b.detach() for b in model.buffers()), *kept]

        return step, lambda: [p.grad for p in parameters], state

    def initial_state(self):
        """Parameters, buffers and the optimizer's state, as a flat list."""
        parameters = [p.detach().clone() for p in self.model.parameters()]
        optimizer = [torch.zeros((), device=self.device) if key == "step" else torch.zeros_like(p)
                     for key in self.rule.keys for p in parameters]
        return [*parameters, *(b.clone() for b in self.model.buffers()), *optimizer]

    def forward_backward(self, parameters, buffers, inputs, labels):
        leaves = [p.detach().requires_grad_() for p in parameters]
        named = dict(zip(self.names + self.buffer_names, leaves + list(buffers)))
        loss = F.cross_entropy(torch.func.functional_call(self.model, named, (inputs,)), labels)
        return loss.detach(), list(torch.autograd.grad(loss, leaves))

    def step(self, *flat, forward_backward=None):
        """The same step, in place, as a function of initial_state() and batch(): gives losses and gradients."""
        count, buffered = len(self.names), len(self.names) + len(self.buffer_names)
        batch = flat[-2 * MICRO_BATCHES:]
        parameters, buffers, state = flat[:count], flat[count:buffered], flat[buffered:-2 * MICRO_BATCHES]
        losses, total = [], None
        for inputs, labels in zip(batch[::2], batch[1::2]):
            loss, gradients = (forward_backward or self.forward_backward)(parameters, buffers, inputs, labels)
            losses.append(loss)
            if total is None:
                total = gradients
            else:
                torch._foreach_add_(total, gradients)
        with torch.no_grad():
            kinds = [list(state[i * count:(i + 1) * count]) for i in range(len(self.rule.keys))]
            self.rule.update(list(parameters), total, *kinds)
        return losses, total
