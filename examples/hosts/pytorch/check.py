# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps on streams planned by hocket, beside PyTorch itself: check.py [numbers]

Without `numbers` it is a check, and the exit status says whether everything is as it must be.
"""
import os
import signal
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it a device need not repeat itself
try:
    import torch
except ImportError as missing:
    print(f"skipped: PyTorch cannot be imported ({missing})")
    sys.exit(77)
from capture import FORMS, capture, trace
from hocket_torch import Op, Plan, check_version, first_race, make_plan, program_of
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
IDLE_READS = {"aten.native_batch_norm_backward.default", "aten.cudnn_batch_norm_backward.default"}
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
    except ValueError as why:
        expect(words in str(why), f"{what}: {why}")
    else:
        expect(False, f"{what} is refused")


def check_equal(bound, eager, title):
    """All plans are proved by comparing all pairs of ops, and give eager's bits."""
    shown = program_of(bound.program.ops)
    times = durations(bound.program)
    proved = runs = wrong = 0
    waits = []
    for count in STREAMS:
        streams = Threads(count)
        for durations_ns in (None, times):
            plan = make_plan(shown, count, durations_ns)
            waits.append(len(plan.waits))
            proved += first_race(shown, plan) is None
            for _ in range(RUNS):
                runs += 1
                wrong += not same(bound.on(streams, plan), eager)
        streams.close()
    expect(proved == 2 * len(STREAMS) and wrong == 0,
           f"{title}: {len(bound.program.ops)} ops, {plan.numbers['kept_edges']} of {plan.numbers['rule_edges']} "
           f"dependencies kept; on {STREAMS} streams, by order and by time, {waits} waits; {proved} of {2 * len(STREAMS)} plans proved; "
           f"{wrong} of {runs} runs of {STEPS} steps differ from eager")
    return shown, times


def check_forced(bound, shown, eager, title):
    """A plan with one wait less is refuted, and wrong when its later op goes first."""
    plan = make_plan(shown, 4)
    chosen = plan.waits[::max(1, len(plan.waits) // FORCED)]
    refuted, idle, right = 0, 0, []
    for wait in chosen:
        less = plan.without(wait)
        refuted += first_race(shown, less) is not None
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


def check_names(bound, shown, eager, title):
    """A plan by the names of FX, which says nothing about memory."""
    plan = make_plan(program_of(bound.program.named_ops, int), 4)
    pair = first_race(shown, plan)
    if pair is None:
        print(f"  note {title}: a plan by FX's names has no race here")
        return
    natural = sum(goes_wrong(bound, plan, eager) for _ in range(RUNS))
    wrong = goes_wrong(bound, plan, eager, pair)
    a, b = (f"op {n} ({bound.program.ops[n].name})" for n in pair)
    expect(wrong or bound.program.ops[pair[0]].name in IDLE_READS,
           f"{title}: a plan by FX's names lets {b} overtake {a}, and is then {'wrong' if wrong else 'right by luck'}; "
           f"{natural} of {RUNS} runs differ by themselves")


def check_model(name):
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
            shown, _ = check_equal(bound, eager, title)
            check_forced(bound, shown, eager, title)
            check_names(bound, shown, eager, title)


def check_refusals():
    """One sentence each; training goes on as if nothing had been."""
    print("bad input")
    training = Training("convnet")
    before = run_eager(training, 1)
    x = torch.arange(6.0)
    refused("results of unknown shape", "shape depends on data", lambda: Program(trace(lambda t: t.nonzero(), x), [x]))
    refused("a value that decides", "cannot be captured", lambda: trace(lambda t: t * 2 if t.sum().item() > 1 else t, x))
    refused("another PyTorch", "was tried with PyTorch 1.0", lambda: check_version("1.0"))
    ops = [Op("a", [x], [], False), Op("b", [], [x], False)]
    shown = program_of(ops)
    refused("no streams", "streams is 0", lambda: make_plan(shown, 0))
    refused("a negative duration", "duration", lambda: make_plan(shown, 2, [1, -1]))
    refused("too few durations", "one number for each of 2 ops", lambda: make_plan(shown, 2, [1]))
    refused("a sparse tensor", "no strided view", lambda: program_of([Op("a", [x.to_sparse()], [], False)]))
    refused("a wait for a later op", "earlier in program order", lambda: first_race(shown, Plan([0, 1], [(1, 0)])))
    expect(first_race(shown, Plan([0, 1], [])) == (0, 1) and first_race(shown, Plan([0, 1], [(0, 1)])) is None,
           "an order of a read and a write is refuted, and with its wait proved")
    expect(same(run_eager(training, 1), before), "eager training is as before")


def check_own_syncs():
    """A fact about PyTorch, told and not judged."""
    waits, pair, mended = judge()
    what = "all is ordered"
    if pair is not None:
        what = f"op {pair[1]} does not wait for op {pair[0]}, whose result it reads; with that wait, all is {mended}"
    print(f"PyTorch's own waits for one gradient on two other streams (own_syncs.py): {waits}; {what}")


def check_late():
    """What is issued to CUDA, without CUDA."""
    print("torch.cuda's calls, on a stand-in that runs what it may as late as it may")
    for name in MODELS:
        training = Training(name)
        graph = capture(training, "in place")
        eager = run_graph(training, graph)
        for placement in PLACEMENTS:
            bound = Bound(training, graph, placement)
            shown = program_of(bound.program.ops)
            plan = make_plan(shown, 4)
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


def check_cuda():
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
                shown = program_of(bound.program.ops)
                one = bound.on(CudaStreams(1), make_plan(shown, 1))
                for count in STREAMS:
                    streams, plan = CudaStreams(count), make_plan(shown, count)
                    wrong = sum(not alike(bound.on(streams, plan), one, repeats) for _ in range(RUNS))
                    expect(first_race(shown, plan) is None and wrong == 0,
                           f"{name}, {form}, {placement} memory, {count} streams: {wrong} of {RUNS} runs differ from one stream")
                expect(alike(one, eager, repeats), f"{name}, {form}, {placement} memory: one stream is as eager"
                       + ("" if repeats else ", nearly: this device does not repeat itself"))


def alike(a, b, exactly):
    torch.cuda.synchronize()
    if exactly:
        return same(a, b)
    return all(torch.allclose(x, y, rtol=1e-3, atol=1e-5, equal_nan=True) for s, t in zip(a, b) for x, y in zip(s, t))


def main():
    torch.set_num_threads(1)  # each stream is one thread, and sums depend on how many share an op
    if sys.argv[1:] == ["numbers"]:
        print_tables()
        return 0
    for name in MODELS:
        check_model(name)
    check_refusals()
    check_own_syncs()
    check_late()
    check_cuda()
    print(f"{len(failures)} failed" if failures else "all as it must be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
