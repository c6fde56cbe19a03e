# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A deliberately naive dependency analysis of an ops CSV, independent of the library: hazards per variable, closure by
big-integer bit sets, and from it the transitive reduction, which is unique for a DAG."""
import collections
import csv

Op = collections.namedtuple("Op", "stream kind reads writes")


def parse_ops(text):
    ops = []
    for index, row in enumerate(csv.DictReader(text.splitlines())):
        assert int(row["op"]) == index, "rows must be numbered in program order"
        ops.append(Op(int(row["stream"]), row["kind"], [int(v) for v in row["reads"].split()],
                      [int(v) for v in row["writes"].split()]))
    return ops


def dependencies(ops):
    """For each op the set of ops it must follow: RAW, WAR and WAW."""
    writer, readers, edges = {}, collections.defaultdict(set), []
    for index, op in enumerate(ops):
        before = {writer[v] for v in op.reads + op.writes if v in writer}
        for v in op.writes:
            before |= readers[v]
        before.discard(index)
        edges.append(before)
        for v in op.reads:
            readers[v].add(index)
        for v in op.writes:
            writer[v], readers[v] = index, set()
    return edges


def reduction(edges):
    """The edges that no longer path implies, and how many pairs are reachable."""
    above, kept, pairs = [], [], 0
    for before in edges:
        covered, keep = 0, set()
        for source in sorted(before, reverse=True):  # ids ascend along edges: a path can only come by a greater id
            if not covered >> source & 1:
                keep.add(source)
                covered |= above[source] | 1 << source
        above.append(covered)
        kept.append(keep)
        pairs += covered.bit_count() if hasattr(covered, "bit_count") else bin(covered).count("1")
    return kept, pairs
