# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plan carried out: by threads that stand for streams, and by CUDA streams."""
import queue
import threading

import torch


class Threads:
    """Each stream is a thread with a queue; an event is a flag, set once its op is done. ATen ops release the
    interpreter's lock. (A ThreadPoolExecutor would not do: it promises no thread to a job that others wait for.)"""

    def __init__(self, streams):
        self._queues = [queue.SimpleQueue() for _ in range(streams)]
        self._results = queue.SimpleQueue()
        arguments = [(jobs, self._results, torch.get_num_threads()) for jobs in self._queues]
        self._threads = [threading.Thread(target=_work_off, args=some, daemon=True) for some in arguments]
        for thread in self._threads:
            thread.start()

    def run(self, steps, plan, held=None):
        """One step of training. held: (op, other), so that op starts only when other is done: for tests."""
        done = {op: threading.Event() for op in plan.recorded | set(held or ())}
        failed = threading.Event()
        of_stream = [[] for _ in range(plan.stream_count)]
        for op, stream in enumerate(plan.stream_of):
            of_stream[stream].append(op)

        def work(ops):
            try:
                for op in ops:
                    for earlier in plan.waits_of[op]:
                        done[earlier].wait()
                    if held is not None and op == held[0]:
                        done[held[1]].wait()
                    if failed.is_set():
                        return
                    steps[op].run()
                    if op in done:
                        done[op].set()
            except BaseException:
                failed.set()
                raise
            finally:
                for op in ops:  # whatever happened, nobody waits for ever
                    if op in done:
                        done[op].set()

        for jobs, ops in zip(self._queues, of_stream):
            jobs.put((work, ops))
        errors = [self._results.get() for _ in of_stream]
        for error in errors:
            if error is not None:
                raise error

    def close(self):
        for jobs in self._queues:
            jobs.put(None)
        for thread in self._threads:
            thread.join()


def _work_off(jobs, results, threads):
    # A thread that nobody has told computes with all cores at first, and then sums differ in the last bit.
    torch.set_num_threads(threads)
    with torch.no_grad():
        while (job := jobs.get()) is not None:
            work, ops = job
            try:
                work(ops)
                results.put(None)
            except BaseException as error:
                results.put(error)


class CudaStreams:
    """The same on a device. All is issued from one thread, in program order; memory does not move, so no allocation of
    one stream is freed while another uses it."""

    def __init__(self, streams, cuda=torch.cuda):
        self._cuda, self._streams = cuda, [cuda.Stream() for _ in range(streams)]

    def run(self, steps, plan):
        events = {op: self._cuda.Event() for op in plan.recorded}
        begin = self._cuda.Event()
        begin.record(self._cuda.current_stream())
        for stream in self._streams:
            stream.wait_event(begin)
        with torch.no_grad():
            for op, step in enumerate(steps):
                stream = self._streams[plan.stream_of[op]]
                for earlier in plan.waits_of[op]:
                    stream.wait_event(events[earlier])
                with self._cuda.stream(stream):
                    step.run()
                if op in events:
                    events[op].record(stream)
        for stream in self._streams:
            self._cuda.current_stream().wait_stream(stream)

    def close(self):
        self._cuda.synchronize()
