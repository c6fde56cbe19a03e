# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket.h by ctypes: each function with its types, and how a status becomes an exception. No logic is here."""
import ctypes
import operator
import pathlib
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

import numpy as np

ACTION = np.dtype([(name, np.uint32) for name in ("kind", "stage", "micro_batch", "slice", "direction", "joined")])
RANK_RUN = np.dtype([(name, np.int64) for name in ("busy_ticks", "idle_ticks", "finish_ticks", "peak_in_flight")])


class Error(ctypes.Structure):
    _fields_ = [("sentence", ctypes.c_char * 1024)]


class Times(ctypes.Structure):
    _fields_ = [(name, c_int64) for name in
                ("forward_ticks", "input_grad_ticks", "weight_grad_ticks", "backward_ticks", "hop_ticks")]


class Mesh(ctypes.Structure):
    _fields_ = [(name, c_uint32) for name in ("tensor", "context", "data", "expert")]


def array(dtype):
    return np.ctypeslib.ndpointer(dtype=dtype, flags="C_CONTIGUOUS")


class Owned(c_void_p):
    """What a handle points to. All that refer to it share this one object, and the last of them destroys it."""
    kind = None
    destroy = None

    def __del__(self):
        if self.destroy is not None and self.value is not None:
            self.destroy(self)
            self.value = None


class HandleOf:
    """The type of a parameter: a handle of one kind. A program where a graph is needed is a TypeError, not a wild pointer."""

    def __init__(self, kind):
        self.kind = kind

    def from_param(self, given):
        owned = getattr(given, "_as_parameter_", None)
        if not isinstance(owned, Owned) or owned.kind != self.kind:
            raise TypeError(f"a handle of the kind {self.kind} is needed, not {type(given).__name__}")
        return owned


class WholeOf:
    """The type of a parameter: whole numbers that an integer of C holds. ctypes itself would cut off the upper bits."""

    def __init__(self, type_of_c):
        self.type_of_c = type_of_c
        bits = 8 * ctypes.sizeof(type_of_c)
        signed = type_of_c(-1).value < 0
        self.least, self.most = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)

    def from_param(self, given):
        return self.type_of_c(whole(given, self, "a number"))


def whole(given, limits, what):
    """The number as an int; TypeError if it is not a whole number, ValueError if it is beyond the limits of its type."""
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{what} must be a whole number, and is {given!r}") from None
    if not limits.least <= number <= limits.most:
        raise ValueError(f"{what} is {number}, but must be from {limits.least} to {limits.most}")
    return number


def real(given, what):
    """The number as a float; TypeError if it is not a number, ValueError if it is too large for one."""
    if isinstance(given, (str, bytes, bytearray)) or not (hasattr(given, "__float__") or hasattr(given, "__index__")):
        raise TypeError(f"{what} must be a number, and is {given!r}")
    try:
        return float(given)
    except OverflowError:
        raise ValueError(f"{what} is too large for a double") from None


def text(given, what):
    """The text as C has it; TypeError if it is not a text, ValueError if C would see only its beginning."""
    if not isinstance(given, (str, bytes)):
        raise TypeError(f"{what} must be a text, and is {given!r}")
    encoded = given.encode() if isinstance(given, str) else given
    if b"\0" in encoded:
        raise ValueError(f"{what} holds a zero character")
    return encoded


PROGRAM, GRAPH, PLAN, SCHEDULE, TILING, TILE_PLAN = (
    HandleOf(kind) for kind in ("program", "graph", "plan", "schedule", "tiling", "tile_plan"))
INT, UINT32, INT64, COUNT = (WholeOf(of) for of in (c_int, c_uint32, c_int64, c_size_t))
E, OUT, SIZE = POINTER(Error), POINTER(c_void_p), POINTER(c_size_t)
U8, U32, U64, I64, F64 = (array(t) for t in (np.uint8, np.uint32, np.uint64, np.int64, np.float64))

# What gives a status takes a hocket_error last; call() appends it.
STATUS = {
    "hocket_program_create": [COUNT, OUT],
    "hocket_program_add_variables": [PROGRAM, INT, COUNT, U32, U64],
    "hocket_program_add_bytes": [PROGRAM, INT, COUNT, U32, U64, U64, U64],
    "hocket_program_add_views": [PROGRAM, INT, COUNT, U32, U64, U64, U32, U32, I64, I64],
    "hocket_program_set_kinds": [PROGRAM, COUNT, U32, U8],
    "hocket_graph_create": [PROGRAM, UINT32, OUT],
    "hocket_graph_from_edges": [COUNT, COUNT, U32, U32, c_void_p, COUNT, c_void_p, OUT],
    "hocket_graph_edges": [GRAPH, U32, U32],
    "hocket_graph_reaches": [GRAPH, COUNT, U32, U32, U8],
    "hocket_graph_path": [GRAPH, UINT32, UINT32, U32, COUNT, SIZE],
    "hocket_graph_why": [GRAPH, UINT32, UINT32, POINTER(c_char_p), POINTER(c_uint64)],
    "hocket_plan_create": [GRAPH, U32, OUT],
    "hocket_plan_assign": [GRAPH, UINT32, c_void_p, OUT],
    "hocket_check_order": [PROGRAM, UINT32, U32, COUNT, U32, U32],
    "hocket_schedule_create": [c_char_p, INT64, INT64, INT64, c_char_p, UINT32, INT64, INT64, OUT],
    "hocket_schedule_parse": [c_char_p, COUNT, OUT],
    "hocket_schedule_list": [SCHEDULE, UINT32, array(ACTION)],
    "hocket_schedule_csv": [SCHEDULE, OUT],
    "hocket_schedule_check": [SCHEDULE, c_void_p, COUNT, c_void_p],
    "hocket_schedule_simulate": [SCHEDULE, POINTER(Times), array(RANK_RUN), POINTER(c_int64), POINTER(c_int64)],
    "hocket_schedule_program": [SCHEDULE, POINTER(Mesh), OUT],
    "hocket_ranks_check": [c_char_p, COUNT, c_char_p, INT64, POINTER(c_int), OUT],
    "hocket_ranks_hang": [c_char_p, OUT],
    "hocket_tiling_create": [INT64, INT64, INT64, OUT],
    "hocket_tiling_set_product": [TILING, INT64, INT64, INT64],
    "hocket_tiling_add_affine": [TILING, INT, c_double, c_double, c_double, c_double],
    "hocket_tiling_add_samples": [TILING, INT, COUNT, F64, F64, c_double, POINTER(c_double)],
    "hocket_tiling_solve": [TILING, c_char_p, OUT],
    "hocket_cost_report": [c_char_p, c_char_p, c_char_p, c_char_p, OUT],
    "hocket_plan_step": [c_char_p, c_char_p, OUT],
}
PLAIN = {
    "hocket_version": (c_uint32, []),
    "hocket_text_destroy": (None, [c_void_p]),
    "hocket_program_op_count": (c_size_t, [PROGRAM]),
    "hocket_graph_node_count": (c_size_t, [GRAPH]),
    "hocket_graph_edge_count": (c_size_t, [GRAPH]),
    "hocket_graph_rule_edge_count": (c_size_t, [GRAPH]),
    "hocket_plan_op_count": (c_size_t, [PLAN]),
    "hocket_plan_stream_count": (c_size_t, [PLAN]),
    "hocket_plan_event_count": (c_size_t, [PLAN]),
    "hocket_plan_wait_count": (c_size_t, [PLAN]),
    "hocket_plan_cross_stream_edge_count": (c_size_t, [PLAN]),
    "hocket_plan_streams": (POINTER(c_uint32), [PLAN]),
    "hocket_plan_waits": (POINTER(c_uint32), [PLAN]),  # two numbers each
    "hocket_plan_duration_ns": (c_int64, [PLAN]),
    "hocket_schedule_name_count": (c_size_t, []),
    "hocket_schedule_name": (c_char_p, [COUNT]),
    "hocket_schedule_ranks": (c_uint32, [SCHEDULE]),
    "hocket_schedule_chunks": (c_uint32, [SCHEDULE]),
    "hocket_schedule_micro_batches": (c_uint32, [SCHEDULE]),
    "hocket_schedule_slices": (c_uint32, [SCHEDULE]),
    "hocket_schedule_fingerprint": (c_uint64, [SCHEDULE]),
    "hocket_schedule_length": (c_size_t, [SCHEDULE, UINT32]),
    "hocket_action_name": (c_char_p, [UINT32]),
    "hocket_tile_plan_count": (c_size_t, [TILE_PLAN]),
    "hocket_tile_plan_rows": (POINTER(c_int64), [TILE_PLAN]),
    "hocket_tile_plan_predicted_us": (c_double, [TILE_PLAN]),
    "hocket_tile_plan_serial_us": (c_double, [TILE_PLAN]),
    "hocket_tile_plan_lower_bound_us": (c_double, [TILE_PLAN]),
    "hocket_tile_plan_policy": (c_char_p, [TILE_PLAN]),
    "hocket_tile_plan_flag": (c_char_p, [TILE_PLAN, COUNT]),
    **{f"hocket_{kind}_destroy": (None, [c_void_p]) for kind in ("program", "graph", "plan", "schedule", "tiling", "tile_plan")},
}
WRONG_ORDER = 3
EXCEPTIONS = {2: MemoryError, 5: NotImplementedError, 6: RuntimeError}  # every other: ValueError

library = ctypes.CDLL(str(pathlib.Path(__file__).parent / "libhocket.so"))
for _name, _types in STATUS.items():
    getattr(library, _name).restype = c_int32
    getattr(library, _name).argtypes = [*_types, E]
for _name, (_result, _types) in PLAIN.items():
    getattr(library, _name).restype = _result
    getattr(library, _name).argtypes = _types


def status_of(name, *arguments):
    """The status, and the sentence behind it."""
    error = Error()
    try:
        status = getattr(library, name)(*arguments, byref(error))
    except ctypes.ArgumentError as why:  # "argument 3: ValueError: …"
        raise (ValueError if "ValueError" in str(why) else TypeError)(f"{name}: {why}") from None
    return status, error.sentence.decode("utf-8", "replace")


def call(name, *arguments):
    status, sentence = status_of(name, *arguments)
    if status != 0:
        raise EXCEPTIONS.get(status, ValueError)(sentence)


class Handle:
    """A handle of the library. What it points to does not change, so a copy may be the same object; nothing else owns it."""

    _as_parameter_ = None

    def __init__(self, *_, **__):
        raise TypeError(f"a {type(self).__name__} is made by the functions of hocket, not by its class")

    @classmethod
    def _made_by(cls, kind, name, *arguments):
        made = cls.__new__(cls)
        made._own(kind, name, *arguments)
        return made

    def _own(self, kind, name, *arguments):
        out = Owned()
        call(name, *arguments, byref(out))
        out.kind, out.destroy = kind, getattr(library, f"hocket_{kind}_destroy")
        self._as_parameter_ = out

    def __copy__(self):
        return self

    def __deepcopy__(self, _):
        return self

    def __reduce_ex__(self, _):
        raise TypeError(f"a {type(self).__name__} is memory of this process and cannot be pickled")


def text_of(name, *arguments):
    """A text of the library, copied."""
    out = c_void_p()
    call(name, *arguments, byref(out))
    try:
        return ctypes.string_at(out).decode()
    finally:
        library.hocket_text_destroy(out)


def numbers(values, dtype, what):
    """An array as the library takes it; ValueError if it would not hold the same numbers."""
    given = np.asarray(values)
    if given.size == 0:
        return np.zeros(given.shape, dtype)
    limits = np.iinfo(dtype)
    if given.dtype.kind not in "iub":
        raise ValueError(f"{what} must be whole numbers of at most 64 bits")
    if int(given.min()) < limits.min or int(given.max()) > limits.max:
        raise ValueError(f"{what} must be from {limits.min} to {limits.max}, and reach from {given.min()} to {given.max()}")
    return np.asarray(given, dtype, order="C")


def pairs(values, what):
    """Rows of two numbers: ops, or nodes."""
    given = numbers(values, np.uint32, what)
    if given.size > 0 and (given.ndim != 2 or given.shape[1] != 2):
        raise ValueError(f"{what} must be rows of two numbers, and have the shape {given.shape}")
    return given.reshape(-1, 2)
