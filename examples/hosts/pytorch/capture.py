# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step as an FX graph of ATen ops, in three forms; each takes initial_state() and batch() of a Training.

    in place     what the dispatcher sees: views, in-place ops, parameters updated where they are
    functional   the same without mutations: new tensors, copied over the old state at the end
    aot          forward and backward as AOT Autograd hands them to a compiler; then the optimizer, in place
"""
import torch
from hocket_torch import Refused
from torch import nn
from torch._functorch.aot_autograd import aot_export_module
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

FORMS = ("in place", "functional", "aot")


def trace(step, *arguments):
    """make_fx, whose refusals become sentences."""
    try:
        return make_fx(step)(*arguments)
    except Exception as why:  # the tracer raises what it likes
        reason = " ".join(str(why).split())[:200]
        raise Refused(f"the step cannot be captured ({type(why).__name__}): {reason}") from None


def capture(training, form):
    arguments = [*training.initial_state(), *training.batch(0)]
    if form == "aot":
        joint = joint_graph(training)
        return trace(lambda *flat: training.step(*flat, forward_backward=joint), *arguments)
    graph = trace(training.step, *arguments)
    if form == "functional":
        arguments = [*training.initial_state(), *training.batch(0)]
        graph = trace(torch.func.functionalize(lambda *flat: graph(*flat)), *arguments)
    return graph


class Loss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, inputs, labels):
        return (F.cross_entropy(self.model(inputs), labels),)


def joint_graph(training):
    """A function as Training.forward_backward, out of AOT Autograd's joint graph."""
    module = Loss(training.model)
    graph, signature = aot_export_module(module, training.batch(0)[:2], trace_joint=True, output_loss_index=0)
    results = [node.name for node in graph.graph.output_node().args[0]]
    backward = signature.backward_signature
    place_of = {name: results.index(result) for result, name in backward.gradients_to_parameters.items()}

    def forward_backward(parameters, buffers, inputs, labels):
        values = graph(*parameters, *buffers, inputs, labels)
        for result, name in signature.buffers_to_mutate.items():
            buffers[signature.buffers.index(name)].copy_(values[results.index(result)])
        gradients = [values[place_of[name]] for name in signature.parameters]
        return values[results.index(backward.loss_output)], gradients

    return forward_backward
