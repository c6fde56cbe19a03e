# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stand-in for torch.cuda, for plans without a device."""
import contextlib


class LateCuda:
    """Stands for torch.cuda: ops are queued, and run in the least favourable order that events allow."""

    def __init__(self):
        self.streams, self.now = [], None
        self.default = self.Stream()

    def Stream(self):
        self.streams.append(LateStream())
        return self.streams[-1]

    def Event(self):
        return LateEvent()

    def current_stream(self):
        return self.default

    @contextlib.contextmanager
    def stream(self, stream):
        self.now = stream
        yield
        self.now = None

    def later(self, step):
        """A step that is queued where it should run."""
        return LateStep(self, step)

    def synchronize(self):
        """The highest stream that can go on goes on. A wait is for the latest record so far, now and for ever."""
        while any(stream.queue for stream in self.streams):
            ready = [s for s in self.streams if s.queue and (s.queue[0][0] != "wait" or s.queue[0][1] <= s.queue[0][2].passed)]
            kind, what, *_ = ready[-1].queue.pop(0)  # none is ready: the plan hangs, and this raises
            if kind == "run":
                what.run()
            elif kind == "record":
                ready[-1].passed = what


class LateStream:
    def __init__(self):
        self.queue, self.records, self.passed = [], 0, 0

    def wait_event(self, event):
        self.queue.append(("wait", event.record_number, event.stream))

    def wait_stream(self, other):
        event = LateEvent()
        event.record(other)
        self.wait_event(event)


class LateEvent:
    def record(self, stream):
        stream.records += 1
        self.stream, self.record_number = stream, stream.records
        stream.queue.append(("record", stream.records))


class LateStep:
    def __init__(self, cuda, step):
        self._cuda, self._step = cuda, step

    def run(self):
        self._cuda.now.queue.append(("run", self._step))
