# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket plans what a deep-learning executor runs: dependencies, waits, pipeline schedules, tile plans, costs.

    deps = hocket.dependencies(reads=[[], [0], [0]], writes=[[0], [1], [2]])      # which op before which
    plan = deps.plan(streams=2)                                                   # on which stream, with which waits
    steps = hocket.schedule("zbv", ranks=4, micro_batches=8)[0]                   # what rank 0 does
    hocket.check_ranks(hocket.schedule("1f1b", 4, 8).program(tensor=2)).verdict   # will this job finish
    tiles = hocket.tile(4096, [hocket.compute(6, 0.2), hocket.comm(20, 0.25)])    # how to cut an operator
    report = hocket.cost_report(config)                                           # FLOPs, bytes, parameters
    step = hocket.plan_step(plan, config)["predicted_step"]["seconds"]            # memory, schedule, time of a step

Arrays go in and out as numpy's. What the library refuses is a ValueError with its sentence. Objects do not change, so that
threads may share them; calls release the interpreter's lock. Units are in the names.
"""
from __future__ import annotations

import json as _json
import operator as _operator
from ctypes import byref as _byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64
from itertools import chain as _chain
from os import PathLike
from typing import Iterable, NamedTuple, Sequence

import numpy as np

from . import _c

__all__ = ["Graph", "Phase", "Plan", "Program", "RanksAnswer", "Run", "Schedule", "TilePlan", "View", "action_names", "check_ranks", "comm", "compute", "cost_report",
           "dependencies", "explain_hang", "parse_schedule", "plan_step", "schedule", "schedule_names", "tile"]
_v = _c.library.hocket_version()
__version__: str = f"{_v // 10000}.{_v // 100 % 100}.{_v % 100}"

_KINDS = ("compute", "collective", "random", "io")
_CHAINS = {"collectives": 1, "random": 2, "io": 4, "all": 8}


def _choice(word, words, what):
    if word not in words:
        raise ValueError(f"{what} {word!r} is none of {', '.join(words)}")
    return words[word] if isinstance(words, dict) else words.index(word)


def _chains(chains):
    return sum({_choice(c, _CHAINS, "the chain") for c in ([chains] if isinstance(chains, str) else chains)})


# ---- graphs -----------------------------------------------------------------------------------------------------------


class View(NamedTuple):
    """Memory as tensor libraries describe it, for Program(). A view without items touches nothing."""
    space: int  #: a device or a buffer
    first_byte: int  #: of the item with all indices 0
    item_bytes: int
    sizes: Sequence[int]  #: items along each dimension; at most 16
    strides: Sequence[int]  #: in items; may be negative


class Program(_c.Handle):
    """What each op reads and writes, in program order.

    reads, writes: for each op a list of variables (any numbers from 0 to 2**64 - 1) or, where memory is shared, of
        (space, first_byte, end_byte): op n touches the bytes [first_byte, end_byte) of a device or buffer; or of View.
    kinds: for each op "compute", "collective", "random" or "io"; None: all compute.
    """

    def __init__(self, reads: Sequence[Iterable], writes: Sequence[Iterable], kinds: Sequence[str] | None = None):
        if len(reads) != len(writes) or (kinds is not None and len(kinds) != len(reads)):
            raise ValueError(f"{len(reads)} ops read, but {len(writes)} write"
                             + ("" if kinds is None else f" and {len(kinds)} have kinds"))
        self._own("program", "hocket_program_create", len(reads))
        for mode, sets in enumerate((reads, writes)):
            self._add(mode, [list(s) for s in sets])
        if kinds is not None:
            self._call("set_kinds", len(kinds), np.arange(len(kinds), dtype=np.uint32),
                       np.array([_choice(k, _KINDS, "the kind") for k in kinds], np.uint8))

    def _call(self, name, *arguments):
        _c.call("hocket_program_" + name, self, *arguments)

    def _add(self, mode, sets):
        ops = np.repeat(np.arange(len(sets), dtype=np.uint32), [len(s) for s in sets])
        if len(ops) == 0:
            return
        touched = list(_chain.from_iterable(sets))
        if isinstance(touched[0], View):
            return self._add_views(mode, ops, touched)
        try:
            touched = np.asarray(touched)
        except ValueError:
            touched = np.empty((0, 0, 0))
        if not (touched.ndim == 1 or touched.ndim == 2 and touched.shape[1] == 3):
            raise ValueError("reads and writes must be numbers of variables, or all be (space, first_byte, end_byte), or all be View")
        columns = _c.numbers(touched, np.uint64, "reads and writes").reshape(len(ops), -1).T
        if len(columns) == 3:
            self._call("add_bytes", mode, len(ops), ops, *map(np.ascontiguousarray, columns))
        else:
            self._call("add_variables", mode, len(ops), ops, np.ascontiguousarray(columns[0]))

    def _add_views(self, mode, ops, views):
        for i, view in enumerate(views):
            if not isinstance(view, View):
                raise ValueError(f"access {i} of op {ops[i]} is no View, as others are")
            if len(view.sizes) != len(view.strides):
                raise ValueError(f"access {i} of op {ops[i]} has {len(view.sizes)} sizes, but {len(view.strides)} strides")
        spaces, first_bytes, item_bytes, sizes, strides = zip(*views)
        columns = [("spaces", spaces, np.uint64), ("first_bytes", first_bytes, np.uint64), ("item_bytes", item_bytes, np.uint32),
                   ("dimensions", [len(one) for one in sizes], np.uint32),
                   ("sizes", list(_chain.from_iterable(sizes)), np.int64),
                   ("strides", list(_chain.from_iterable(strides)), np.int64)]
        self._call("add_views", mode, len(ops), ops, *(_c.numbers(values, dtype, what) for what, values, dtype in columns))

    def __len__(self) -> int:
        """The number of ops."""
        return _c.library.hocket_program_op_count(self)

    def dependencies(self, chains: str | Iterable[str] = ()) -> Graph:
        """Which op must run before which, without what others imply. Linear in the reads and writes; of
        bytes and views, in the pieces that those of one buffer cut each other into.

        chains: also keep these in program order: "collectives", "random", "io" ops, or "all".
        """
        return Graph._made_by("graph", "hocket_graph_create", self, _chains(chains))

    def check(self, streams, waits, chains: str | Iterable[str] = ()) -> tuple[int, int] | None:
        """Proves an order, whoever made it: None, or the first two ops (earlier, later) that should be ordered and are not.

        Ops are issued in program order on their streams; waits are rows (recorder, waiter) by ascending waiter.
        """
        streams = _c.numbers(streams, np.uint32, "streams")
        waits = _c.pairs(waits, "waits")
        if streams.shape != (len(self),):
            raise ValueError(f"{streams.size} streams were given for {len(self)} ops")
        pair = np.zeros(2, np.uint32)
        status, sentence = _c.status_of("hocket_check_order", self, _chains(chains), streams, len(waits), waits, pair)
        if status == _c.WRONG_ORDER:
            return int(pair[0]), int(pair[1])
        if status != 0:
            raise _c.EXCEPTIONS.get(status, ValueError)(sentence)
        return None


class Graph(_c.Handle):
    """Which op must run before which: see dependencies(), Program.dependencies() and Graph.from_edges()."""

    @classmethod
    def from_edges(cls, node_count: int, edges) -> Graph:
        """A graph of known edges: rows (source, target), in any order. A cycle is refused, and named."""
        edges = _c.pairs(edges, "edges")
        columns = map(np.ascontiguousarray, edges.T)
        return cls._made_by("graph", "hocket_graph_from_edges", _c.whole(node_count, _c.COUNT, "node_count"), len(edges), *columns,
                            None, 0, None)

    @property
    def node_count(self) -> int:
        """The number of ops."""
        return _c.library.hocket_graph_node_count(self)

    @property
    def rule_edge_count(self) -> int:
        """The number of edges before pruning."""
        return _c.library.hocket_graph_rule_edge_count(self)

    @property
    def edges(self) -> np.ndarray:
        """The kept edges, which no others imply: rows (source, target), sorted; uint32."""
        columns = np.empty((2, _c.library.hocket_graph_edge_count(self)), np.uint32)
        _c.call("hocket_graph_edges", self, *columns)
        return np.ascontiguousarray(columns.T)

    def reaches(self, source, target) -> bool | np.ndarray:
        """Must source be done before target starts? Numbers, or arrays that broadcast. Constant time a pair."""
        pairs = np.broadcast_arrays(_c.numbers(source, np.uint32, "source"), _c.numbers(target, np.uint32, "target"))
        answers = np.empty(pairs[0].shape, np.uint8)
        _c.call("hocket_graph_reaches", self, answers.size, *map(np.ascontiguousarray, pairs), answers)
        return answers.astype(bool) if answers.ndim else bool(answers)

    def path(self, source: int, target: int) -> np.ndarray:
        """Why: nodes from source to target, each with an edge to the next; empty if source does not reach target."""
        count, path = c_size_t(), np.empty(self.node_count, np.uint32)
        _c.call("hocket_graph_path", self, *_two_nodes(source, target), path, len(path), _byref(count))
        return path[:count.value].copy()

    def why(self, source: int, target: int) -> tuple[str, int]:
        """Why a kept edge is there: the rule in words ("read after write"), and the variable."""
        rule, subject = c_char_p(), c_uint64()
        _c.call("hocket_graph_why", self, *_two_nodes(source, target), _byref(rule), _byref(subject))
        return rule.value.decode(), subject.value

    def plan(self, streams: int | None = None, durations_ns=None, stream_of=None) -> Plan:
        """The fewest waits, on at most `streams` streams (durations_ns: one an op, in nanoseconds, if they are known), or
        on given ones: stream_of has one an op."""
        if (streams is None) == (stream_of is None):
            raise ValueError("give either streams, how many there are, or stream_of, the stream of each op")
        if stream_of is None:
            times = None if durations_ns is None else self._one_each(durations_ns, np.int64, "durations_ns")
            return Plan._made_by("plan", "hocket_plan_assign", self, _c.whole(streams, _c.UINT32, "streams"),
                                 None if times is None else times.ctypes.data)
        return Plan._made_by("plan", "hocket_plan_create", self, self._one_each(stream_of, np.uint32, "stream_of"))

    def _one_each(self, values, dtype, what):
        values = _c.numbers(values, dtype, what)
        if values.shape != (self.node_count,):
            raise ValueError(f"{what} has the shape {values.shape}, but must have one number for each of {self.node_count} ops")
        return values


def _two_nodes(source, target):
    return _c.whole(source, _c.UINT32, "source"), _c.whole(target, _c.UINT32, "target")


class Plan(_c.Handle):
    """Streams and waits: ops are issued in program order, each on its stream, after its waits. See Graph.plan()."""

    @property
    def streams(self) -> np.ndarray:
        """The stream of each op; uint32."""
        count = _c.library.hocket_plan_op_count(self)
        return _copy(_c.library.hocket_plan_streams(self), (count,), np.uint32)

    @property
    def waits(self) -> np.ndarray:
        """Rows (recorder, waiter) by ascending waiter: an event recorded after one op, waited for before another; uint32."""
        return _copy(_c.library.hocket_plan_waits(self), (_c.library.hocket_plan_wait_count(self), 2), np.uint32)

    @property
    def stream_count(self) -> int:
        """One more than the highest stream used."""
        return _c.library.hocket_plan_stream_count(self)

    @property
    def event_count(self) -> int:
        """How many events serve all waits, when they are used again."""
        return _c.library.hocket_plan_event_count(self)

    @property
    def cross_stream_edge_count(self) -> int:
        """How many waits there would be if each kept edge between two streams had one."""
        return _c.library.hocket_plan_cross_stream_edge_count(self)

    @property
    def duration_ns(self) -> int | None:
        """How long the step takes by the given durations, in nanoseconds; None if there were none."""
        time = _c.library.hocket_plan_duration_ns(self)
        return None if time < 0 else time


def _copy(pointer, shape, dtype):
    return np.ctypeslib.as_array(pointer, shape).copy() if 0 not in shape else np.empty(shape, dtype)


def dependencies(reads: Sequence[Iterable], writes: Sequence[Iterable], kinds: Sequence[str] | None = None,
                 chains: str | Iterable[str] = ()) -> Graph:
    """Program(reads, writes, kinds).dependencies(chains)."""
    return Program(reads, writes, kinds).dependencies(chains)


# ---- schedules --------------------------------------------------------------------------------------------------------

schedule_names: tuple[str, ...] = tuple(
    _c.library.hocket_schedule_name(i).decode() for i in range(_c.library.hocket_schedule_name_count()))
"""The names that schedule() knows."""
action_names: np.ndarray = np.array([name.decode() for name in iter(
    lambda i=iter(range(99)): _c.library.hocket_action_name(next(i)), None)])
"""The names of the kinds of actions: action_names[steps["kind"]] are the words of a list."""


class Run(NamedTuple):
    """A simulated run. Ticks are the caller's own."""
    makespan_ticks: int
    lower_bound_ticks: int  #: no order of the same actions is shorter
    ranks: np.ndarray  #: by rank: busy_ticks, idle_ticks, finish_ticks, peak_in_flight (activations)


class Schedule(_c.Handle):
    """Lists of actions, one a rank: see schedule() and parse_schedule().

    schedule[rank] is an array with the fields kind (see action_names), stage, micro_batch, slice, direction, joined.
    """

    def __len__(self) -> int:
        """The number of ranks."""
        return _c.library.hocket_schedule_ranks(self)

    def __getitem__(self, rank: int) -> np.ndarray:
        rank = _operator.index(rank)
        if not 0 <= rank < len(self):
            raise IndexError(f"there is no rank {rank}, the schedule has {len(self)}")
        steps = np.empty(_c.library.hocket_schedule_length(self, rank), _c.ACTION)
        _c.call("hocket_schedule_list", self, rank, steps)
        return steps

    @property
    def chunks(self) -> int:
        """Chunks of the model on a rank."""
        return _c.library.hocket_schedule_chunks(self)

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a step (of each direction, where there are two)."""
        return _c.library.hocket_schedule_micro_batches(self)

    @property
    def slices(self) -> int:
        """Sequence slices of a micro-batch."""
        return _c.library.hocket_schedule_slices(self)

    @property
    def fingerprint(self) -> int:
        """The same for the same lists, on every rank and machine."""
        return _c.library.hocket_schedule_fingerprint(self)

    def csv(self) -> str:
        """The lists in PyTorch's pipeline dialect."""
        return _c.text_of("hocket_schedule_csv", self)

    def check(self) -> None:
        """ValueError if an action is missing, or twice, or ranks would wait for each other for ever: then with the cycle."""
        _c.call("hocket_schedule_check", self, None, 0, None)

    def program(self, tensor: int = 1, context: int = 1, data: int = 1, expert: int = 1) -> str:
        """What all ranks of a job call that runs the schedule with so many ranks besides, as the CSV that check_ranks takes.

        Tensor ranks are next to each other; expert, the ranks that share the experts, divides context x data."""
        given = {"tensor": tensor, "context": context, "data": data, "expert": expert}
        mesh = _c.Mesh(**{what: _c.whole(size, _c.UINT32, what) for what, size in given.items()})
        return _c.text_of("hocket_schedule_program", self, _byref(mesh))

    def simulate(self, forward_ticks: int = 1, input_grad_ticks: int = 1, weight_grad_ticks: int = 1,
                 backward_ticks: int | None = None, hop_ticks: int = 0) -> Run:
        """Runs the lists. Times are those of a chunk, in ticks of any length; a whole backward takes the sum of its halves
        (the gradients of input and weights) unless backward_ticks is given; a hop is from one rank to another."""
        if backward_ticks is not None and _c.whole(backward_ticks, _c.INT64, "backward_ticks") < 0:
            raise ValueError(f"backward_ticks is {backward_ticks}, but must not be negative")
        given = {"forward_ticks": forward_ticks, "input_grad_ticks": input_grad_ticks, "weight_grad_ticks": weight_grad_ticks,
                 "backward_ticks": -1 if backward_ticks is None else backward_ticks, "hop_ticks": hop_ticks}
        times = _c.Times(**{what: _c.whole(ticks, _c.INT64, what) for what, ticks in given.items()})
        ranks, makespan, bound = np.empty(len(self), _c.RANK_RUN), c_int64(), c_int64()
        _c.call("hocket_schedule_simulate", self, _byref(times), ranks, _byref(makespan), _byref(bound))
        return Run(makespan.value, bound.value, ranks)


def schedule(name: str, ranks: int, micro_batches: int, chunks: int = 0, groups: str | None = None, kappa: int = 0,
             memory_cap: int = 0, slices: int = 0) -> Schedule:
    """A pipeline schedule by name, one of schedule_names.

    chunks: of the model on a rank; 0: what the schedule usually has. groups ("balanced", "last", "first", "paper",
    "least-memory", "auto", or sizes such as "3,4,2"), kappa and memory_cap (activations) are for "interleaved", slices (of
    a sequence) for "seq-1f1b". 0 is the default of each.
    """
    given = {"ranks": ranks, "chunks": chunks, "micro_batches": micro_batches}
    shape = [_c.whole(number, _c.INT64, what) for what, number in given.items()]
    return Schedule._made_by("schedule", "hocket_schedule_create", _c.text(name, "the name"), *shape,
                             None if groups is None else _c.text(groups, "groups"), _c.whole(kappa, _c.UINT32, "kappa"),
                             _c.whole(memory_cap, _c.INT64, "memory_cap"), _c.whole(slices, _c.INT64, "slices"))


class RanksAnswer(NamedTuple):
    """Whether a program of ranks finishes: "safe", "mismatch", "hangs", "may hang" or "not proved", and who waits for whom."""
    verdict: str
    told: str


_VERDICTS = ("safe", "mismatch", "hangs", "may hang", "not proved")


def check_ranks(program: str, machine: str = "nccl", slots: int | None = None) -> RanksAnswer:
    """Whether the collectives and transfers of all ranks finish, before they run.

    program: CSV (docs/ranks.md), such as of Schedule.program(); machine: what blocks what, one of `hocket ranks machines`;
    slots: calls that surely run at once on a device (0: any number; None: as the machine says).
    """
    text, number = _c.text(program, "the program"), c_int()
    told = _c.text_of("hocket_ranks_check", text, len(text), _c.text(machine, "the machine"),
                      -1 if slots is None else _c.whole(slots, _c.INT64, "slots"), _byref(number))
    return RanksAnswer(_VERDICTS[number.value], told)


def explain_hang(records) -> str:
    """Why a job hangs, in sentences: which rank has not come to which call of others, and since when they wait.

    records: the Flight Recorder dump of each rank, {rank: dump}; a dump is a dict, JSON text as
    torch._C._distributed_c10d._dump_fr_trace_json() returns it, or bytes of that. NotImplementedError as in cost_report.
    """
    if not isinstance(records, dict):
        raise TypeError(f"records must be a dict of ranks, not {type(records).__name__}")
    read = {str(_c.whole(rank, _c.UINT32, "the rank")): _json.loads(dump) if isinstance(dump, (str, bytes)) else dump
            for rank, dump in records.items()}
    return _c.text_of("hocket_ranks_hang", _json_text(read, "records"))


def parse_schedule(csv: str) -> Schedule:
    """The lists of a CSV in PyTorch's pipeline dialect. check() says whether they can run."""
    text = _c.text(csv, "the list")
    return Schedule._made_by("schedule", "hocket_schedule_parse", text, len(text))


# ---- tilings ----------------------------------------------------------------------------------------------------------


class Phase(NamedTuple):
    """A part that each tile goes through: see compute() and comm()."""
    kind: int
    fixed_us: float
    us_per_row: float
    min_rows: float
    samples: tuple | None
    overlap: float


def compute(fixed_us: float = 0, us_per_row: float = 0, min_rows: float = 0, samples=None, overlap: float = 1) -> Phase:
    """A phase that computes. A tile takes fixed_us + us_per_row * rows microseconds, and fewer than min_rows as min_rows.

    samples: measured points instead, a pair (rows, us) of arrays in any order: the nearest never-falling curve is taken.
    overlap: by how much each tile takes longer when there are several.
    """
    return Phase(0, fixed_us, us_per_row, min_rows, samples, overlap)


def comm(fixed_us: float = 0, us_per_row: float = 0, min_rows: float = 0, samples=None, overlap: float = 1) -> Phase:
    """A phase that communicates; parameters as of compute()."""
    return Phase(1, fixed_us, us_per_row, min_rows, samples, overlap)


class TilePlan(NamedTuple):
    """How an operator is cut. Times in microseconds."""
    tiles: np.ndarray  #: rows of each tile, in execution order; int64
    predicted_us: float
    serial_us: float  #: not cut
    lower_bound_us: float  #: no tiling takes less; 0: unknown
    policy: str  #: who decided
    flags: tuple[str, ...]


def _add_phase(problem, number, phase):
    if not isinstance(phase, Phase):
        raise TypeError(f"phase {number} is a {type(phase).__name__}, but must be made by compute() or comm()")
    kind, overlap = _c.whole(phase.kind, _c.INT, "the kind of a phase"), _c.real(phase.overlap, "overlap")
    if phase.samples is None:
        numbers = (_c.real(getattr(phase, what), what) for what in ("fixed_us", "us_per_row", "min_rows"))
        _c.call("hocket_tiling_add_affine", problem, kind, *numbers, overlap)
        return
    sizes, us = (np.asarray(x) for x in phase.samples)
    if sizes.dtype.kind not in "iuf" or us.dtype.kind not in "iuf":
        raise ValueError(f"samples must be numbers, and are of the types {sizes.dtype} and {us.dtype}")
    if sizes.ndim != 1 or sizes.shape != us.shape:
        raise ValueError(f"samples must be two lists of one length, and have the shapes {sizes.shape} and {us.shape}")
    columns = (np.ascontiguousarray(x, np.float64) for x in (sizes, us))
    _c.call("hocket_tiling_add_samples", problem, kind, len(us), *columns, overlap, _byref(c_double()))


def tile(rows: int, phases: Sequence[Phase], align_rows: int = 128, max_tiles: int = 16, policy: str = "auto",
         product: tuple[int, int, int] | None = None) -> TilePlan:
    """Cuts an operator of `rows` rows into at most max_tiles tiles of multiples of align_rows.

    phases: what each tile goes through, in order, made by compute() and comm().
    policy: "auto", "exact", "uniform", "one-plus-n", "lot", "documented", "documented-min", "none" or "pinned".
    product: k, n and element_bytes of the matrix product, for the documented rules and "pinned".
    """
    given = {"rows": rows, "align_rows": align_rows, "max_tiles": max_tiles}
    axis = [_c.whole(number, _c.INT64, what) for what, number in given.items()]
    problem = _c.Handle._made_by("tiling", "hocket_tiling_create", *axis)
    if product is not None:
        if len(product) != 3:
            raise ValueError(f"product must be k, n and element_bytes, and has {len(product)} numbers")
        _c.call("hocket_tiling_set_product", problem,
                *(_c.whole(x, _c.INT64, what) for what, x in zip(("k", "n", "element_bytes"), product)))
    for i, p in enumerate(phases):
        _add_phase(problem, i, p)
    plan = _c.Handle._made_by("tile_plan", "hocket_tiling_solve", problem, _c.text(policy, "the policy"))
    library = _c.library
    flags = iter(lambda i=iter(range(99)): library.hocket_tile_plan_flag(plan, next(i)), None)
    return TilePlan(_copy(library.hocket_tile_plan_rows(plan), (library.hocket_tile_plan_count(plan),), np.int64),
                    library.hocket_tile_plan_predicted_us(plan), library.hocket_tile_plan_serial_us(plan),
                    library.hocket_tile_plan_lower_bound_us(plan), library.hocket_tile_plan_policy(plan).decode(),
                    tuple(f.decode() for f in flags))


# ---- costs ------------------------------------------------------------------------------------------------------------


def _json_text(given, what):
    if given is None:
        return None
    if isinstance(given, PathLike):
        with open(given, "rb") as file:
            return _c.text(file.read(), what)
    return _c.text(given if isinstance(given, str) else _json.dumps(given), what)


def cost_report(model, training=None, parallel=None) -> dict:
    """Parameters, FLOPs of a step, bytes of each pipeline rank, each term with its formula, unit and source.

    model: a Hugging Face config.json; training, parallel: as `hocket cost report` reads them. Each a dict, the JSON text, or
    a pathlib.Path. NotImplementedError if this wheel was built where Boost.Hana or nlohmann-json was missing.
    """
    texts = [_json_text(given, what) for given, what in ((model, "model"), (training, "training"), (parallel, "parallel"))]
    return _json.loads(_c.text_of("hocket_cost_report", *texts, b"json"))


def plan_step(plan, model) -> dict:
    """The plan of one training step: memory of each rank, schedule, split, predicted time, sizes that were left open.

    plan: a plan file of `hocket plan` without "graph" (docs/plan.md); model: the config.json that it names. Each a dict, the
    JSON text, or a pathlib.Path. The answer is report.json. NotImplementedError as in cost_report.
    """
    return _json.loads(_c.text_of("hocket_plan_step", _json_text(plan, "plan"), _json_text(model, "model")))
