# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of tools/capture_torch_step.py on real tensors; skipped where PyTorch is not installed.

    python3 -m unittest discover -s tests/capture

The recorded read and write sets are what everything downstream trusts. They are put to the proof twice: no operator may
change a storage that its row does not write, and any order that the reduced dependency graph allows must give the same
bits as program order.
"""
import heapq
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "capture_torch_step.py"
sys.path.insert(0, str(TOOL.parent))
try:
    import capture_torch_step as tool
    import torch
    from torch.utils._pytree import tree_map
except ImportError as missing:
    raise unittest.SkipTest(f"PyTorch is not installed ({missing})")

from reference import dependencies, parse_ops, reduction  # noqa: E402

warnings.simplefilter("ignore")
torch.set_num_threads(1)

TINY = {
    "transformer_base": dict(layers=1, width=16, heads=2, inner=24, vocabulary=40, sequence=6, batch=2, dropout=0.3,
                             loss_scale=16.0),  # the usual one overflows here, and a step would be left out
    "gpt2_small": dict(layers=2, width=16, heads=2, vocabulary=40, sequence=6, batch=2, dropout=0.3),
    "llama2_13b_stage": dict(layers=4, width=16, heads=4, inner=24, sequence=6, batch=2),
}


def options(model, *more):
    parsed = tool.parse(["--model", model, "--out", "unused.ops.csv", *more])
    parsed.bucket_mb = 0.002  # several buckets even here
    return parsed


class Ref:
    """A tensor without its data: which storage, and how it is seen."""

    def __init__(self, tensor):
        self.storage = tensor.untyped_storage()._cdata  # unique: the recorder keeps a weak reference
        self.dtype, self.shape = tensor.dtype, tuple(tensor.shape)
        self.stride, self.offset = tensor.stride(), tensor.storage_offset()

    def open(self, storages):
        return torch.empty(0, dtype=self.dtype).set_(storages[self.storage], self.offset, self.shape, self.stride)


def to_refs(values):
    return tree_map(lambda x: Ref(x) if isinstance(x, torch.Tensor) else x, values)


def content(storage):
    return bytes(torch.empty(0, dtype=torch.uint8).set_(storage).numpy())


def perform(row, func, args, kwargs, sent):
    """Runs one operator so that its result depends on nothing but its inputs and its row: random operators are seeded
    by the row; the fake process group does nothing, so communication is played: a reduction scales, a receive fills."""
    name = func._schema.name
    if name == "_c10d_functional::all_reduce_":
        return args[0].mul_(0.75)
    if name == "c10d::send":
        sent[row] = content(args[0][0].contiguous().clone().untyped_storage())
        return None
    if name == "c10d::recv_":
        torch.manual_seed(row)
        args[0][0].normal_()
        return None
    torch.manual_seed(row)
    return func(*args, **kwargs)


class Watching(tool.Recorder):
    """Records on real tensors; checks that what changes is written; keeps what is needed to run the rows again."""

    def __init__(self, fake):
        super().__init__(fake)
        self.calls, self.initial, self.sent, self.undeclared = {}, {}, {}, []
        self.checked = 0

    def live(self):
        for key, variable in self._variables.items():
            if variable.weak is not None:
                storage = torch.UntypedStorage._new_with_weak_ptr(variable.weak.cdata)
                if storage is not None:
                    yield key, variable, storage

    def execute(self, func, args, kwargs):
        if not self.recording:
            result = func(*args, **kwargs)
            if func.namespace == "c10d":
                perform(0, func, args, kwargs, {})  # no garbage in the settling step: NaN would hide every change
            return result
        for tensor in tool.tensors_in((args, kwargs)):
            storage = tensor.untyped_storage()
            self.variable(tensor)
            if storage._cdata not in self.initial:
                self.initial[storage._cdata] = content(storage)
        self.before = {key: hash(content(storage)) for key, _, storage in self.live()}
        self.arguments = to_refs((args, kwargs))
        if func.namespace == "c10d":
            real = func(*args, **kwargs)  # a Work object is expected back
            perform(len(self.rows), func, args, kwargs, self.sent)
            return real
        return perform(len(self.rows), func, args, kwargs, self.sent)

    def observe(self, func, args, kwargs, result, row):
        written = {self.numbered[v] for v in ()} if row is None else set(self.rows[row].writes)
        for key, variable, storage in self.live():
            if key in self.before and self.before[key] != hash(content(storage)) and not variable.host:
                self.checked += 1
                if variable.number not in written:
                    self.undeclared.append((row, func._schema.name, variable.name or variable.number))
        if row is not None:
            for tensor in tool.tensors_in(result):  # a result starts its storage's life; it is no input
                self.initial.setdefault(tensor.untyped_storage()._cdata, None)
            self.calls[row] = (func, self.arguments, to_refs(result))

    def final(self):
        return {variable.number: content(storage) for _, variable, storage in self.live()
                if variable.number >= 0 and variable.role in ("parameter", "optimizer", "gradient", "bucket")}


def replay(recorder, order):
    """Runs the recorded rows in another order on fresh storages; returns (final contents, what was sent)."""
    storages = {}
    for key, data in recorder.initial.items():
        if data is not None:
            storages[key] = torch.tensor(list(data), dtype=torch.uint8).untyped_storage()
    sent = {}
    with torch.no_grad():
        for row in order:
            if row not in recorder.calls:
                continue  # .item(): the value went into host code
            func, arguments, results = recorder.calls[row]
            args, kwargs = tree_map(lambda x: x.open(storages) if isinstance(x, Ref) else x, arguments)
            known = {tensor.untyped_storage()._cdata for tensor in tool.tensors_in((args, kwargs))}
            answer = perform(row, func, args, kwargs, sent)
            for old, new in zip(refs_in(results), tool.tensors_in(answer)):
                if new.untyped_storage()._cdata not in known:
                    storages[old.storage] = new.untyped_storage()
    numbers = {key: variable.number for key, variable in recorder._variables.items()}
    return {numbers[key]: content(storage) for key, storage in storages.items()}, sent


def refs_in(values):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(values) if isinstance(leaf, Ref)]


def some_order(kept, priority):
    """The topological order of the reduced graph that always takes the ready op of least priority."""
    waiting, after = [len(k) for k in kept], [[] for _ in kept]
    for target, sources in enumerate(kept):
        for source in sources:
            after[source].append(target)
    ready, order = [(priority(i), i) for i, n in enumerate(waiting) if n == 0], []
    heapq.heapify(ready)
    while ready:
        _, op = heapq.heappop(ready)
        order.append(op)
        for target in after[op]:
            waiting[target] -= 1
            if waiting[target] == 0:
                heapq.heappush(ready, (priority(target), target))
    return order


class Capture(unittest.TestCase):
    def recordings(self):
        for model in tool.MODELS:
            for more in (["--micro-batches", "3"], ["--steps", "2"]):
                yield model, more, tool.capture(model, options(model, *more), TINY[model], fake=False,
                                                recorder_type=Watching)

    def test_read_and_write_sets_explain_the_data_flow(self):
        for model, more, recorder in self.recordings():
            self.assertEqual(recorder.undeclared, [])
            self.assertGreater(recorder.checked, 3 * len(recorder.driver.parameters))
            for parameter in recorder.driver.parameters:
                self.assertTrue(torch.isfinite(parameter.detach().float()).all())
            ops = parse_ops(tool.ops_csv(recorder))
            kept, _ = reduction(dependencies(ops))
            expected = recorder.final()
            shuffle = random.Random(1)
            orders = [list(range(len(ops))), some_order(kept, lambda i: -i)]
            orders += [some_order(kept, lambda i: shuffle.random()) for _ in range(4)]
            for order in orders:
                self.assertEqual(len(order), len(ops))
                contents, sent = replay(recorder, order)
                self.assertEqual(sent, recorder.sent)
                wrong = [recorder.numbered[v].name for v, data in expected.items() if contents[v] != data]
                self.assertEqual(wrong, [])

    def test_the_proof_can_fail(self):
        """Without the reads (or the writes) of one phase, some order gives other bits or cannot even run."""
        recorder = tool.capture("gpt2_small", options("gpt2_small"), TINY["gpt2_small"], fake=False,
                                recorder_type=Watching)
        expected = recorder.final()
        for forget in ("clip", "optimizer"):
            for part in ("reads", "writes"):
                ops = [op._replace(**{part: []}) if row.phase == forget else op
                       for op, row in zip(parse_ops(tool.ops_csv(recorder)), recorder.rows)]
                order = some_order(reduction(dependencies(ops))[0], lambda i: -i)
                try:
                    contents, _ = replay(recorder, order)
                    same = all(contents[v] == data for v, data in expected.items())
                except KeyError:
                    same = False
                self.assertFalse(same, (forget, part))

    def test_fake_tensors_record_what_real_tensors_do(self):
        for model, more, recorder in self.recordings():
            fake = tool.capture(model, options(model, *more), TINY[model], fake=True)
            self.assertEqual(tool.ops_csv(fake), tool.ops_csv(recorder))
            self.assertEqual(tool.names_csv(fake), tool.names_csv(recorder))

    def test_two_steps_are_one_step_twice(self):
        for model in tool.MODELS:
            one = tool.capture(model, options(model), TINY[model])
            two = tool.capture(model, options(model, "--steps", "2"), TINY[model])
            length = len(one.rows)
            self.assertEqual(len(two.rows), 2 * length)
            for first, second in zip(two.rows[:length], two.rows[length:]):
                self.assertEqual((first.name, first.stream, first.kind), (second.name, second.stream, second.kind))
            inputs = {v.name: v.number for v in two.numbered if v.role == "parameter"}
            for v in inputs.values():  # the second step reads what the first one's optimizer wrote
                self.assertTrue(any(v in row.writes for row in two.rows[:length]))
                self.assertTrue(any(v in row.reads for row in two.rows[length:]))

    def test_counts_follow_from_the_shape(self):
        for tp, dp, pp, m in ((2, 2, 4, 2), (1, 1, 4, 1), (2, 1, 4, 3)):
            recorder = tool.capture("llama2_13b_stage",
                                    options("llama2_13b_stage", "--tp", str(tp), "--dp", str(dp), "--pp", str(pp),
                                            "--micro-batches", str(m)), TINY["llama2_13b_stage"])
            rows, layers = recorder.rows, TINY["llama2_13b_stage"]["layers"] // pp
            per_stream = [sum(row.stream == s for row in rows) for s in range(6)]
            buckets = len(recorder.driver.buckets.buckets) if dp > 1 else 0
            self.assertEqual(per_stream[1], buckets)
            self.assertEqual(per_stream[2], 4 * layers * m if tp > 1 else 0)  # two forward, two backward
            self.assertEqual(per_stream[3], 4 * m)  # receive and send, forward and backward
            self.assertEqual(per_stream[4:], [1, 1])  # the norm is reported; and reduced over the model's ranks
            self.assertEqual(sum("attention" in row.name for row in rows), 2 * layers * m)
            self.assertEqual(sum(row.kind == "random" for row in rows), 0)  # its attention has no dropout
        for model, dropouts in (("gpt2_small", 1 + 2 * 3), ("transformer_base", 2 + 4 + 6)):
            recorder = tool.capture(model, options(model), TINY[model])
            self.assertEqual(sum(row.kind == "random" for row in recorder.rows), dropouts)
            scans = [row for row in recorder.rows if "non_finite_check" in row.name]
            if model == "transformer_base":  # one op reads and writes every gradient, and guards the optimizer
                self.assertEqual(len(scans), 1)
                self.assertEqual(len(scans[0].writes), len(recorder.driver.parameters) + 1)
                guard = [row.writes[0] for row in recorder.rows
                         if row.phase == "optimizer" and row.name == "aten::_local_scalar_dense"]
                for row in recorder.rows:
                    if row.phase == "optimizer" and row.name != "aten::_local_scalar_dense":
                        self.assertIn(guard[0], row.reads)
            else:
                self.assertEqual(scans, [])

    def test_order_of_one_f_one_b(self):
        recorder = tool.capture("llama2_13b_stage", options("llama2_13b_stage", "--micro-batches", "4"),
                                TINY["llama2_13b_stage"])
        order = ""
        for row in recorder.rows:
            if row.phase in ("forward", "backward") and not order.endswith(row.phase[0]):
                order += row.phase[0]
        self.assertEqual(order, "fbfb")  # FFF B F BBB, runs joined: warm-up of pp - stage - 1 = 2, then one and one

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in ("a", "b"):
                done = subprocess.run([sys.executable, "-W", "ignore", TOOL, "--model", "llama2_13b_stage",
                                       "--pp", "40", "--out", f"{folder}/{file}.ops.csv"],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("model=llama2_13b_stage ops=", done.stderr)
            for kind in ("ops", "names"):
                a, b = (pathlib.Path(folder, f"{file}.{kind}.csv").read_bytes() for file in ("a", "b"))
                self.assertEqual(a, b)
                self.assertGreater(len(a), 1000)
        for wrong in (["--model", "gpt2_small", "--out", "x.csv"],
                      ["--model", "gpt2_small", "--out", "x.ops.csv", "--tp", "2"],
                      ["--model", "llama2_13b_stage", "--out", "x.ops.csv", "--pp", "7"]):
            done = subprocess.run([sys.executable, TOOL, *wrong], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)

    @unittest.skipUnless(torch.__version__.split("+")[0] == tool.TORCH_VERSION, "another PyTorch version")
    def test_committed_files_are_what_the_command_writes(self):
        lines = (ROOT / "examples" / "data" / "ops" / "README.md").read_text(encoding="utf-8").splitlines()
        commands = [line.split() for line in lines if line.startswith("python tools/capture_torch_step.py")]
        self.assertEqual(len(commands), 3)
        with tempfile.TemporaryDirectory() as folder:
            for command in commands:
                out = command[command.index("--out") + 1]
                command[command.index("--out") + 1] = f"{folder}/{pathlib.Path(out).name}"
                subprocess.run([sys.executable, "-W", "ignore", TOOL, *command[2:]], check=True, capture_output=True)
                for name in (pathlib.Path(out).name, pathlib.Path(out).name.replace(".ops.", ".names.")):
                    with self.subTest(name):
                        self.assertEqual(pathlib.Path(folder, name).read_bytes(),
                                         (ROOT / out).with_name(name).read_bytes())


if __name__ == "__main__":
    unittest.main()
