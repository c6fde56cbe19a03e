# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps on streams planned by hocket, beside PyTorch itself: check.py LIBRARY [numbers]

Without `numbers` it is a check, and the exit status says whether everything is as it must be.
"""
import ctypes
import os
import pathlib
import signal
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it a device need not repeat itself
try:
    import torch
except ImportError as missing:
    print(f"skipped: PyTorch cannot be imported ({missing})")
    sys.exit(77)
from capture import FORMS, capture, trace
from hocket_torch import Access, Library, Op, Plan, Program as Border, Refused
from late_cuda import LateCuda
from measure import durations, print_tables
from own_syncs import judge
from program import Program
from runs import PLACEMENTS, STEPS, Bound, run_eager, run_graph, same
from streams import CudaStreams, Threads
from training import MODELS, Training

STREAMS = (1, 2, 4, 8)
RUNS = 4
FORCED = 24  # waits that are taken away, one at a time, spread over the plan

# Their schemas read the running mean and variance; they use them in evaluation only.
IDLE_READS = {"aten.native_batch_norm_backward.default"}
LIMIT = 60  # seconds for one run in a wrong order: it needs milliseconds

failures = []


def expect(holds, what):
    print(f"  {'ok  ' if holds else 'FAIL'} {what}", flush=True)
    if not holds:
        failures.append(what)


def refused(what, words, act):
    """Whether act() is refused with a sentence that has these words."""
    try:
        act()
    except Refused as why:
        expect(words in str(why), f"{what}: {why}")
    else:
        expect(False, f"{what} is refused")


def by_name(op, writes, number):
    """The access to a variable that is a name and not memory."""
    return Access(op, writes, number, 0, 1, 0)


def check_equal(library, bound, eager, title):
    """All plans are proved by comparing all pairs of ops, and give eager's bits."""
    border = Border.of(bound.program.ops)
    times = durations(bound.program)
    proved = runs = wrong = 0
    waits = []
    for count in STREAMS:
        streams = Threads(count)
        for nanoseconds in (None, times):
            plan = library.plan(border, count, nanoseconds)
            waits.append(len(plan.waits))
            proved += library.check(border, plan) is None
            for _ in range(RUNS):
                runs += 1
                wrong += not same(bound.on(streams, plan), eager)
        streams.close()
    expect(proved == 2 * len(STREAMS) and wrong == 0,
           f"{title}: {len(bound.program.ops)} ops, {plan.numbers['kept_edges']} of {plan.numbers['rule_edges']} "
           f"dependencies kept; on {STREAMS} streams, by order and by time, {waits} waits; {proved} of {2 * len(STREAMS)} plans proved; "
           f"{wrong} of {runs} runs of {STEPS} steps differ from eager")
    return border, times


def check_forced(library, bound, border, eager, title):
    """A plan with one wait less is refuted, and wrong when its later op goes first."""
    plan = library.plan(border, 4)
    chosen = plan.waits[::max(1, len(plan.waits) // FORCED)]
    refuted, idle, right = 0, 0, []
    for wait in chosen:
        less = plan.without(wait)
        refuted += library.check(border, less) is not None
        if goes_wrong(bound, less, eager, wait):
            continue
        if bound.program.ops[wait[0]].name in IDLE_READS:
            idle += 1
        else:
            right.append(wait)
    expect(refuted == len(chosen) and not right and idle < len(chosen) / 4,
           f"{title}: of {len(chosen)} plans with one wait less, {refuted} refuted, "
           f"{len(chosen) - len(right) - idle} wrong when the waiter goes first; {idle} keep a read that uses nothing of it"
           + (f"; not wrong: {right}" if right else ""))


def apart(act):
    """Whether act() is true, fails or does not end, in a process of its own: ops in a wrong order may write anywhere,
    an index that was never written for example, and so also break the locks of the allocator."""
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        try:
            verdict = act()
        except Exception:
            verdict = True
        os._exit(int(verdict))
    return os.waitpid(child, 0)[1] != 0


def goes_wrong(bound, plan, eager, pair=None):
    """Whether the results differ. pair: two ops, of which the later is done before the earlier begins."""
    return apart(lambda: not same(bound.on(Threads(plan.stream_count), plan, held=pair), eager))


def check_names(library, bound, border, eager, title):
    """A plan by the names of FX, which says nothing about memory."""
    plan = library.plan(Border.of(bound.program.named_ops, by_name), 4)
    pair = library.check(border, plan)
    if pair is None:
        print(f"  note {title}: a plan by FX's names has no race here")
        return
    natural = sum(goes_wrong(bound, plan, eager) for _ in range(RUNS))
    wrong = goes_wrong(bound, plan, eager, pair)
    a, b = (f"op {n} ({bound.program.ops[n].name})" for n in pair)
    expect(wrong or bound.program.ops[pair[0]].name in IDLE_READS,
           f"{title}: a plan by FX's names lets {b} overtake {a}, and is then {'wrong' if wrong else 'right by luck'}; "
           f"{natural} of {RUNS} runs differ by themselves")


def check_model(library, name):
    print(name)
    training = Training(name)
    loop = run_eager(training)
    for form in FORMS:
        graph = capture(training, form)
        eager = run_graph(training, graph)
        if form != "aot":
            expect(same(eager, loop), f"{form}: the graph is the training loop with loss.backward() and optimizer.step()")
        else:
            print(f"  note aot: its graph is {'' if same(eager, loop) else 'not '}equal to the training loop to the last bit")
        for placement in PLACEMENTS:
            title = f"{form}, {placement} memory"
            bound = Bound(training, graph, placement)
            border, _ = check_equal(library, bound, eager, title)
            check_forced(library, bound, border, eager, title)
            check_names(library, bound, border, eager, title)


def check_refusals(library, path):
    """One sentence each; training goes on as if nothing had been."""
    print("bad input")
    training = Training("convnet")
    before = run_eager(training, 1)
    x = torch.arange(6.0)
    refused("results of unknown shape", "shape depends on data", lambda: Program(trace(lambda t: t.nonzero(), x), [x]))
    refused("a value that decides", "cannot be captured", lambda: trace(lambda t: t * 2 if t.sum().item() > 1 else t, x))
    refused("another PyTorch", "was tried with PyTorch 1.0", lambda: Library(path, tested="1.0"))
    refused("no library", "is no library of hocket_torch.h", lambda: Library(path.parent / "missing.so"))
    refused("another library", "is no library of hocket_torch.h", lambda: Library("libc.so.6"))
    ops = [Op("a", [x], [], False), Op("b", [], [x], False)]
    refused("no streams", "streams is 0", lambda: library.plan(ops, 0))
    refused("a negative duration", "duration", lambda: library.plan(ops, 2, [1, -1]))
    refused("too few durations", "1 durations were given for 2 ops", lambda: library.plan(ops, 2, [1]))
    refused("a sparse tensor", "no strided view", lambda: library.plan([Op("a", [x.to_sparse()], [], False)], 2))
    for what, words, access in (
            ("an op that is not there", "no such op", [(5, 0, 0, 64, 4, 0)]),
            ("ops out of order", "program order", [(1, 0, 0, 64, 4, 0), (0, 0, 0, 64, 4, 0)]),
            ("items without bytes", "item_bytes is 0", [(0, 0, 0, 64, 0, 0)]),
            ("too many dimensions", "16 dimensions", [(0, 0, 0, 64, 4, 17)]),
            ("a negative size", "size is negative", [(0, 0, 0, 64, 4, 1, (-1,), (1,))]),
            ("a negative stride", "stride is negative", [(0, 0, 0, 64, 4, 1, (2,), (-1,))]),
            ("a tensor beyond the address space", "ends beyond", [(0, 0, 0, 2**64 - 8, 4, 1, (4,), (1,))])):
        lie = Border(2, (ctypes.c_uint8 * 2)(), (Access * len(access))(*(Access(*a) for a in access)), len(access))
        refused(what, words, lambda: library.plan(lie, 2))
    refused("a wait for a later op", "earlier in program order", lambda: library.check(ops, Plan([0, 1], [(1, 0)])))
    expect(library.check(ops, Plan([0, 1], [])) == (0, 1) and library.check(ops, Plan([0, 1], [(0, 1)])) is None,
           "an order of a read and a write is refuted, and with its wait proved")
    expect(same(run_eager(training, 1), before), "eager training is as before")


def check_own_syncs(library):
    """A fact about PyTorch, told and not judged."""
    waits, pair, mended = judge(library)
    what = "all is ordered"
    if pair is not None:
        what = f"op {pair[1]} does not wait for op {pair[0]}, whose result it reads; with that wait, all is {mended}"
    print(f"PyTorch's own waits for one gradient on two other streams (own_syncs.py): {waits}; {what}")


def check_late(library):
    """What is issued to CUDA, without CUDA."""
    print("torch.cuda's calls, on a stand-in that runs what it may as late as it may")
    for name in MODELS:
        training = Training(name)
        graph = capture(training, "in place")
        eager = run_graph(training, graph)
        for placement in PLACEMENTS:
            bound = Bound(training, graph, placement)
            border = Border.of(bound.program.ops)
            plan = library.plan(border, 4)
            # Waits of a high stream for a low one: the stand-in prefers high streams.
            chosen = [w for w in plan.waits if plan.stream_of[w[0]] < plan.stream_of[w[1]]][::5]
            differ = sum(apart(lambda: not issue_late(bound, plan.without(wait), eager)) for wait in chosen)
            expect(issue_late(bound, plan, eager) and differ > 0,
                   f"{name}, {placement} memory: equal to eager; with one wait less, {differ} of {len(chosen)} differ")


def issue_late(bound, plan, eager):
    def step():
        cuda = LateCuda()
        streams = CudaStreams(plan.stream_count, cuda)
        with torch.no_grad():
            streams.run([cuda.later(s) for s in bound.program.steps], plan)
            streams.close()

    return same(bound.run(step), eager)


def check_cuda(library):
    if not torch.cuda.is_available():
        print("skipped: there is no CUDA device; torch.cuda.Stream and Event were not used")
        return
    print(torch.cuda.get_device_name())
    torch.use_deterministic_algorithms(True, warn_only=True)
    for name in MODELS:
        training = Training(name, "cuda")
        for form in FORMS:
            graph = capture(training, form)
            eager = run_graph(training, graph)
            repeats = same(run_graph(training, graph), eager)
            for placement in PLACEMENTS:
                bound = Bound(training, graph, placement)
                border = Border.of(bound.program.ops)
                one = bound.on(CudaStreams(1), library.plan(border, 1))
                for count in STREAMS:
                    streams, plan = CudaStreams(count), library.plan(border, count)
                    wrong = sum(not alike(bound.on(streams, plan), one, repeats) for _ in range(RUNS))
                    expect(library.check(border, plan) is None and wrong == 0,
                           f"{name}, {form}, {placement} memory, {count} streams: {wrong} of {RUNS} runs differ from one stream")
                expect(alike(one, eager, repeats), f"{name}, {form}, {placement} memory: one stream is as eager"
                       + ("" if repeats else ", nearly: this device does not repeat itself"))


def alike(a, b, exactly):
    torch.cuda.synchronize()
    if exactly:
        return same(a, b)
    return all(torch.allclose(x, y, rtol=1e-3, atol=1e-5, equal_nan=True) for s, t in zip(a, b) for x, y in zip(s, t))


def main():
    path = pathlib.Path(sys.argv[1]).resolve()
    torch.set_num_threads(1)  # each stream is one thread, and sums depend on how many share an op
    try:
        library = Library(path)
    except Refused as why:
        sys.exit(f"check.py: {why}")
    if sys.argv[2:] == ["numbers"]:
        print_tables(library)
        return 0
    for name in MODELS:
        check_model(library, name)
    check_refusals(library, path)
    check_own_syncs(library)
    check_late(library)
    check_cuda(library)
    print(f"{len(failures)} failed" if failures else "all as it must be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
