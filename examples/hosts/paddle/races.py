# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in which two variables share storage behind the executor's back: races.py RUNS [--each-op | NAME…]

Two ops touch the same storage, and a slow sum holds up one of them. Prints, for each program, how many runs gave what
the order of the program gives. With --each-op the programs are generated: one for each op of Paddle that updates a
tensor in place and needs no more than one or two tensors, with what Paddle's eager mode gives as the right answer.
"""
import inspect
import os
import sys

import numpy as np
import paddle
import paddle.utils.cpp_extension

ops = None  # paddle._C_ops, once static mode is on
A = np.array([1, 2, 3, 4], "float32")


def slow_zero():
    """A zero that takes a while."""
    big = paddle.static.data("big", [300, 300], "float32")
    product = big
    for _ in range(4):
        product = paddle.matmul(product, big) * 1e-3
    return paddle.sum(product) * 0.0


def coalesced(x, other):
    """Both tensors as parts of one buffer, and the buffer."""
    return ops.coalesce_tensor([x, other], paddle.float32, True, False, False, 0.0, False, -1, -1, [], [])


def coalesce(a, x, zero):
    """The buffer is written late, and then a part of it is read."""
    parts, buffer = coalesced(x, a * 1.0)
    written = ops.scale_(buffer, zero + 3.0, 0.0, True)
    return parts[0] + 0.0, written, 6 * A


def coalesce_reverse(a, x, zero):
    """A part is read late, and then the buffer is written."""
    parts, buffer = coalesced(x, a * 1.0)
    read = parts[0] + zero
    return read, ops.scale_(buffer, 3.0, 0.0, True), 2 * A


def view_reverse(a, x, zero):
    """A view is read late, and then its base is written."""
    read = ops.view_shape(x, [2, 2]) + zero
    return read, ops.add_(x, paddle.full([1], 100.0)), 2 * A


def share_reverse(a, x, zero):
    """A tensor that shares all of another's data is read late, and then the other is written."""
    read = ops.share_data(x) + zero
    return read, ops.add_(x, paddle.full([1], 100.0)), 2 * A


def view_of_part(a, x, zero):
    """A view of a part is read late, and then the buffer is written."""
    parts, buffer = coalesced(x, a * 1.0)
    read = ops.view_shape(parts[0], [2, 2]) + zero
    return read, ops.scale_(buffer, 3.0, 0.0, True), 2 * A


def in_place_coalesce(a, x, zero):
    """The tensors become parts of a buffer in place; the buffer is written late, and then a part is read."""
    part = a * 1.0
    _, buffer = ops.coalesce_tensor_([x, part], paddle.float32, True, False, False, 0.0, False, -1, -1, [], [])
    written = ops.scale_(buffer, zero + 3.0, 0.0, True)
    return part + 0.0, written, 3 * A


def view_of_result(a, x, zero):
    """A view of an in-place result is read late, and then the operand of that is written."""
    read = ops.view_shape(ops.scale_(x, 3.0, 0.0, True), [2, 2]) + zero
    return read, ops.add_(x, paddle.full([1], 100.0)), 6 * A


def view_in_branch(a, x, zero):
    """A view is read late in a branch, and then its base is written."""
    view = ops.view_shape(x, [2, 2])
    read = paddle.static.nn.cond(paddle.sum(a) > 0, lambda: view * 1.0 + zero, lambda: view * 2.0)
    return read, ops.add_(x, paddle.full([1], 100.0)), 2 * A


def hundred_more(x):
    """Written in place."""
    return ops.add_(x, paddle.full([1], 100.0))


def in_place(a, x, zero):
    """The result of an op in place is read late, and then the operand is written again. No view is in the program."""
    read = ops.relu_(x) + zero
    return read, ops.exp_(x), 2 * A


def in_place_shape(a, x, zero):
    """A result with another shape is read late, and then the operand is written."""
    read = ops.unsqueeze_(ops.reshape_(x, [2, 2]), [0]) + zero
    return read, hundred_more(x), 2 * A


def in_place_list(a, x, zero):
    """Of a list that is updated in place, one tensor is read late under its new name, and then written under its old."""
    scaled, _ = ops.check_finite_and_unscale_([a * 1.0, x], paddle.full([1], 1.0))
    return scaled[1] + zero, hundred_more(x), 2 * A


def cond_result(a, x, zero):
    """The result of a branch, which is a view made there, is read late, and then its base is written."""
    view = paddle.static.nn.cond(paddle.sum(a) > 0, lambda: ops.view_shape(x, [2, 2]), lambda: ops.view_shape(a, [2, 2]))
    return view + zero, hundred_more(x), 2 * A


def cond_passes(a, x, zero):
    """A branch returns what it is given. That is read late, and then written under its own name."""
    same = paddle.static.nn.cond(paddle.sum(a) > 0, lambda: x, lambda: a * 1.0)
    return same + zero, hundred_more(x), 2 * A


def cond_writes(a, x, zero):
    """A tensor is read late, and then a branch writes a view of it that it makes itself."""
    read = x + zero
    doubled = lambda: ops.scale_(ops.view_shape(x, [2, 2]), 2.0, 1.0, True)
    return read, paddle.static.nn.cond(paddle.sum(a) > 0, doubled, lambda: ops.view_shape(a, [2, 2]) * 1.0), 2 * A


def in_branch(a, x, zero):
    """Both in a branch: a view that was made outside is read late, and then its base is written."""
    view = ops.view_shape(x, [2, 2])
    big = paddle.static.data("big", [300, 300], "float32")

    def branch():
        read = view + paddle.sum(paddle.matmul(paddle.matmul(big, big), big)) * 0.0
        return read, hundred_more(x)

    read, written = paddle.static.nn.cond(paddle.sum(a) > 0, branch, lambda: (view * 1.0, x * 1.0))
    return read, written + zero, 2 * A


def rounds(body, value):
    """Two rounds of a loop over a value."""
    more = lambda i, value: [i + 1, body(value)]
    first = paddle.full([1], 0, "int64")
    return paddle.static.nn.while_loop(lambda i, value: i < 2, more, [first, value])[1]


def while_result(a, x, zero):
    """A loop makes a view of its own, which is read late, and then its base is written."""
    return rounds(lambda v: ops.view_shape(x, [4]), a * 1.0) + zero, hundred_more(x), 2 * A


def while_passes(a, x, zero):
    """A loop writes a view that it is given and returns it. That is read late, and then its base is written."""
    looped = rounds(lambda v: ops.scale_(v, 1.0, 0.0, True), ops.view_shape(x, [2, 2]))
    return looped + zero, hundred_more(x), 2 * A


def while_writes(a, x, zero):
    """A tensor is read late, and then a loop writes it under a name of its own."""
    read = x + zero
    return read, rounds(lambda v: ops.scale_(v, 2.0, 1.0, True), x), 2 * A


def cond_in_while(a, x, zero):
    """A branch of a loop makes a view; it is read late, and then its base is written."""
    view = lambda: ops.view_shape(x, [4])
    looped = rounds(lambda v: paddle.static.nn.cond(paddle.sum(v) > 0, view, lambda: v * 1.0), a * 1.0)
    return looped + zero, hundred_more(x), 2 * A


def set_storage(a, x, zero):
    """A tensor gets the storage of another and is read late, and then that is written."""
    return ops.set_(a * 5.0, x, [4], [1], 0) + zero, hundred_more(x), 2 * A


def unknown_op(a, x, zero):
    """A custom op returns its operand. That is read late, and then written under its own name."""
    paddle.utils.cpp_extension.load_op_meta_info_and_register_op(os.environ["HOCKET_CUSTOM_OP"])
    return ops._run_custom_op("hocket_same", x)[0] + zero, hundred_more(x), 2 * A


def fetched_view(a, x, zero):
    """A view is fetched; its base is overwritten late."""
    return ops.view_shape(x, [2, 2]), ops.add_(x, paddle.full([1], 100.0) + zero), 2 * A


RACES = (
    coalesce,
    coalesce_reverse,
    view_reverse,
    share_reverse,
    view_of_part,
    in_place_coalesce,
    view_of_result,
    view_in_branch,
    in_place,
    in_place_shape,
    in_place_list,
    cond_result,
    cond_passes,
    cond_writes,
    in_branch,
    while_result,
    while_passes,
    while_writes,
    cond_in_while,
    set_storage,
    unknown_op,
    fetched_view,
)


def eagerly(function, count):
    """What a function of Paddle makes of A / 5 in place, and of `count` - 1 other tensors, in eager mode."""
    results = []
    for _ in range(2):
        tensors = [paddle.to_tensor(A / 5) for _ in range(count)]
        try:
            result = function(*tensors)
        except Exception:  # for example for integers alone
            return None
        if result.dtype != paddle.float32 or result.data_ptr() != tensors[0].data_ptr():
            return None
        results.append(result.numpy().ravel())
    return results[0] if np.array_equal(*results) and np.isfinite(results[0]).all() else None  # None: it draws


def each_op():
    """For each op in place that takes tensors alone: its result is read late, and then its operand is written."""

    def race(op, count, right):
        def program(a, x, zero):
            tensors = [x * 0.1] + [a * 0.2 for _ in range(count - 1)]
            read = op(*tensors) + zero
            return read, hundred_more(tensors[0]), right

        return program

    found = {}
    for module in (paddle, paddle.nn.functional):
        for name in dir(module):
            function, op = getattr(module, name), getattr(ops, name, None)
            if not name.endswith("_") or name.startswith("_") or not callable(function) or op is None:
                continue
            count = len(set(inspect.signature(function).parameters) - {"name"})
            right = eagerly(function, count) if count in (1, 2) else None
            if right is not None:
                found[name] = race(op, count, right)
    return found


def count_right(race, runs):
    program = paddle.static.Program()
    with paddle.static.program_guard(program, paddle.static.Program()):
        a = paddle.static.data("a", [4], "float32")
        read, written, expected = race(a, a * 2.0, slow_zero())
    executor = paddle.static.Executor(paddle.CPUPlace())
    feed = {"a": A, "big": np.ones([300, 300], "float32")}
    results = (executor.run(program, feed=feed, fetch_list=[read, written])[0] for _ in range(runs))
    return sum(np.allclose(result.ravel(), expected, 1e-5, 1e-6) for result in results)


def main():
    global ops
    ops = paddle._C_ops
    races = {race.__name__: race for race in RACES}
    runs, names = int(sys.argv[1]), sys.argv[2:]
    if names == ["--each-op"]:
        races, names = each_op(), []  # in eager mode
    paddle.enable_static()
    for name in names or races:
        print(name, count_right(races[name], runs), runs, flush=True)


if __name__ == "__main__":
    main()
