# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""hocket.h by ctypes: each function with its types, and how a status becomes an exception. No logic is here."""
import ctypes
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


def array(dtype):
    return np.ctypeslib.ndpointer(dtype=dtype, flags="C_CONTIGUOUS")


H, E, OUT, SIZE = c_void_p, POINTER(Error), POINTER(c_void_p), POINTER(c_size_t)
U8, U32, U64, I64, F64 = (array(t) for t in (np.uint8, np.uint32, np.uint64, np.int64, np.float64))

# What gives a status takes a hocket_error last; call() appends it.
STATUS = {
    "hocket_program_create": [c_size_t, OUT],
    "hocket_program_add_variables": [H, c_int, c_size_t, U32, U64],
    "hocket_program_add_bytes": [H, c_int, c_size_t, U32, U64, U64, U64],
    "hocket_program_add_views": [H, c_int, c_size_t, U32, U64, U64, U32, U32, I64, I64],
    "hocket_program_set_kinds": [H, c_size_t, U32, U8],
    "hocket_graph_create": [H, c_uint32, OUT],
    "hocket_graph_from_edges": [c_size_t, c_size_t, U32, U32, c_void_p, c_size_t, c_void_p, OUT],
    "hocket_graph_edges": [H, U32, U32],
    "hocket_graph_reaches": [H, c_size_t, U32, U32, U8],
    "hocket_graph_path": [H, c_uint32, c_uint32, U32, c_size_t, SIZE],
    "hocket_graph_why": [H, c_uint32, c_uint32, POINTER(c_char_p), POINTER(c_uint64)],
    "hocket_plan_create": [H, U32, OUT],
    "hocket_plan_assign": [H, c_uint32, c_void_p, OUT],
    "hocket_check_order": [H, c_uint32, U32, c_size_t, U32, U32],
    "hocket_schedule_create": [c_char_p, c_int64, c_int64, c_int64, c_char_p, c_uint32, c_int64, c_int64, OUT],
    "hocket_schedule_parse": [c_char_p, c_size_t, OUT],
    "hocket_schedule_list": [H, c_uint32, array(ACTION)],
    "hocket_schedule_csv": [H, OUT],
    "hocket_schedule_check": [H, c_void_p, c_size_t, c_void_p],
    "hocket_schedule_simulate": [H, POINTER(Times), array(RANK_RUN), POINTER(c_int64), POINTER(c_int64)],
    "hocket_tiling_create": [c_int64, c_int64, c_int64, OUT],
    "hocket_tiling_set_product": [H, c_int64, c_int64, c_int64],
    "hocket_tiling_add_affine": [H, c_int, c_double, c_double, c_double, c_double],
    "hocket_tiling_add_samples": [H, c_int, c_size_t, F64, F64, c_double, POINTER(c_double)],
    "hocket_tiling_solve": [H, c_char_p, OUT],
    "hocket_cost_report": [c_char_p, c_char_p, c_char_p, c_char_p, OUT],
}
PLAIN = {
    "hocket_version": (c_uint32, []),
    "hocket_text_destroy": (None, [c_void_p]),
    "hocket_program_op_count": (c_size_t, [H]),
    "hocket_graph_node_count": (c_size_t, [H]),
    "hocket_graph_edge_count": (c_size_t, [H]),
    "hocket_graph_rule_edge_count": (c_size_t, [H]),
    "hocket_plan_op_count": (c_size_t, [H]),
    "hocket_plan_stream_count": (c_size_t, [H]),
    "hocket_plan_event_count": (c_size_t, [H]),
    "hocket_plan_wait_count": (c_size_t, [H]),
    "hocket_plan_cross_stream_edge_count": (c_size_t, [H]),
    "hocket_plan_streams": (POINTER(c_uint32), [H]),
    "hocket_plan_waits": (POINTER(c_uint32), [H]),  # two numbers each
    "hocket_plan_duration_ns": (c_int64, [H]),
    "hocket_schedule_name_count": (c_size_t, []),
    "hocket_schedule_name": (c_char_p, [c_size_t]),
    "hocket_schedule_ranks": (c_uint32, [H]),
    "hocket_schedule_chunks": (c_uint32, [H]),
    "hocket_schedule_micro_batches": (c_uint32, [H]),
    "hocket_schedule_slices": (c_uint32, [H]),
    "hocket_schedule_fingerprint": (c_uint64, [H]),
    "hocket_schedule_length": (c_size_t, [H, c_uint32]),
    "hocket_action_name": (c_char_p, [c_uint32]),
    "hocket_tile_plan_count": (c_size_t, [H]),
    "hocket_tile_plan_rows": (POINTER(c_int64), [H]),
    "hocket_tile_plan_predicted_us": (c_double, [H]),
    "hocket_tile_plan_serial_us": (c_double, [H]),
    "hocket_tile_plan_lower_bound_us": (c_double, [H]),
    "hocket_tile_plan_policy": (c_char_p, [H]),
    "hocket_tile_plan_flag": (c_char_p, [H, c_size_t]),
    **{f"hocket_{kind}_destroy": (None, [H]) for kind in ("program", "graph", "plan", "schedule", "tiling", "tile_plan")},
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
    status = getattr(library, name)(*arguments, byref(error))
    return status, error.sentence.decode("utf-8", "replace")


def call(name, *arguments):
    status, sentence = status_of(name, *arguments)
    if status != 0:
        raise EXCEPTIONS.get(status, ValueError)(sentence)


class Handle:
    """A handle of the library, destroyed with this object."""

    def __init__(self, kind, name, *arguments):
        self._destroy = getattr(library, f"hocket_{kind}_destroy")
        self._as_parameter_ = None
        out = c_void_p()
        call(name, *arguments, byref(out))
        self._as_parameter_ = out

    def __del__(self):
        if getattr(self, "_as_parameter_", None) is not None:
            self._destroy(self._as_parameter_)


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
