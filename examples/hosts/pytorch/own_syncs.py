# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The waits that PyTorch itself puts between the streams of a backward graph, judged by hocket.

One gradient is used on two other streams. torch/_functorch/_aot_autograd/streams.py makes an event for the producer, and
a wait for the first consumer.
"""
import torch
from hocket_torch import Plan, effects, first_race, program_of
from torch._functorch._aot_autograd.streams import insert_backward_syncs

STREAMS = (0, 1, 2, 0)  # of sin, cos, exp, add


def backward_graph():
    """add(cos(sin(x)), exp(sin(x))), as AOT Autograd marks backward nodes and the streams of their users."""
    graph, value = torch.fx.Graph(), torch.empty(4, device="meta")
    x = graph.placeholder("x")

    def node(target, *arguments):
        made = graph.call_function(target, arguments)
        stream = STREAMS[len(nodes)]
        made.meta.update(val=value, partitioner_tag="is_backward", custom={"stream": stream})
        nodes.append(made)
        return made

    nodes = []
    shared = node(torch.ops.aten.sin.default, x)
    graph.output(node(torch.ops.aten.add.Tensor, node(torch.ops.aten.cos.default, shared),
                      node(torch.ops.aten.exp.default, shared)))
    return torch.fx.GraphModule({}, graph), nodes


def plan_of(graph, nodes):
    """PyTorch's waits as (recorder, waiter)."""
    number = {node: n for n, node in enumerate(nodes)}
    recorder_of, pending, waits, last = {}, [], [], None
    for node in graph.graph.nodes:
        if node.target is torch.ops.streams.record_event.default:
            recorder_of[node.args[0]] = last
        elif node.target is torch.ops.streams.wait_event.default:
            pending.append(node.args[0])
        elif node in number:
            last = number[node]
            waits += [(recorder_of[event], last) for event in pending]
            pending = []
    return Plan(list(STREAMS), sorted(waits, key=lambda wait: wait[::-1]))


def judge():
    """PyTorch's waits, the first two ops that they leave without order (or None), and what a wait for those mends."""
    graph, nodes = backward_graph()
    insert_backward_syncs(graph)
    x, a, b, c, d = (torch.zeros(4) for _ in range(5))
    program = program_of([effects(node.target, arguments, {}, [made])
           for node, arguments, made in zip(nodes, [(x,), (a,), (a,), (b, c)], [a, b, c, d])])
    theirs = plan_of(graph, nodes)
    pair = first_race(program, theirs)
    more = [*theirs.waits, pair] if pair else theirs.waits
    mended = first_race(program, Plan(theirs.stream_of, sorted(more, key=lambda wait: wait[::-1])))
    return theirs.waits, pair, "ordered" if mended is None else "still not ordered"
