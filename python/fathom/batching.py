"""Requests from many threads or coroutines to one model: a queue that joins those that go together into one run."""

from __future__ import annotations

import weakref
from concurrent.futures import Future

import numpy as np

from . import _runtime
from .errors import Error, status_error
from .model import Model
from .sequences import as_array, bad_input

_LONGEST = 365 * 86400.0  # seconds


class Pool:
    """Threads that several queues share, so that their models together use no more CPUs than one would."""

    def __init__(self, threads: int = 0):
        """`threads` is how many work at a time; 0 means all CPUs."""
        self._pool = _runtime.Pool(_within("threads", threads, 0, (1 << 31) - 1))
        self.threads: int = self._pool.threads()


class Queue:
    """A queue before a model. `submit` takes a request from any thread and gives a Future.

    with fathom.Queue("model.fathom", max_batch=8) as queue:
        future = queue.submit({"x": array}, timeout=0.5)
        [y] = future.result()

    Requests are joined along the first dimension of all inputs and outputs, where that is symbolic, and `max_batch` allows it: only the
    caller knows that items of the model do not depend on each other.
    """

    def __init__(
        self,
        artifact,
        *,
        max_batch: int = 1,
        max_wait: float = 0.001,
        max_pending: int = 256,
        threads: int = 0,
        contexts: int = 0,
        pool: Pool | None = None,
        device: int | None = None,
    ):
        """`artifact` is a path, what fathom.compile returned, or a Model.

        One run takes `max_batch` items at most; a request waits `max_wait` seconds at most for others to join. One that comes when
        `max_pending` wait is refused (F5002). `contexts` runs go on at a time, with `threads` each: 0 means all CPUs, and as many
        contexts as there are CPUs for. With a `pool`, the threads are the pool's.
        """
        self.model = artifact if isinstance(artifact, Model) else Model(artifact)
        groups = [*self.model.groups, *self.model.output_groups]
        everything = [*self.model.tensors, *self.model.results]
        if any(found.info.kind != "tensor" for found in groups) or any(info.dtype == object for info in everything):
            raise Error("the model takes or gives sequences, optionals or strings", "F1012", 1, hint="run it by a fathom.Session")
        most = (1 << 31) - 1
        self._queue = _runtime.Queue(
            self.model._loaded,
            pool._pool if pool else None,
            _within("threads", threads, 0, most),
            -1 if device is None else _within("device", device, 0, most),
            _within("contexts", contexts, 0, most),
            _within("max_batch", max_batch, 1, 1 << 40),
            int(_within("max_wait", max_wait, 0, _LONGEST) * 1e6),
            _within("max_pending", max_pending, 1, most),
        )
        self._pool = pool
        self._names = [info.name for info in self.model.tensors]
        # Before the interpreter ends, whose lock the queue's threads need.
        self._end = weakref.finalize(self, self._queue.close, False)

    def submit(self, inputs: dict, timeout: float | None = None) -> Future:
        """Takes a run on {name: array} into the queue: a Future of the outputs, in the model's order.

        The arrays must stay as they are until it is done. A request that still waits after `timeout` seconds ends with F5003. What does
        not fit the model, and a queue that is full, is raised here. Cancelling the future takes it out of the queue, unless it runs.
        """
        arrays = self._arrange(inputs)
        future: Future = Future()
        infos = self.model.results  # and not the queue, which may go before its requests

        def done(failure, results):
            if not future.set_running_or_notify_cancel():
                return
            if failure:
                future.set_exception(status_error(*failure))
                return
            try:
                arrays = [data.view(info.dtype).reshape(dims) for info, (dims, data) in zip(infos, results)]
            except BaseException as error:  # such as no memory: somebody waits to be told
                future.set_exception(error)
            else:
                future.set_result(arrays)

        request = self._queue.submit(
            [array.reshape(-1).view(np.uint8) for array in arrays],
            [array.shape for array in arrays],
            0 if timeout is None else int(max(-1, min(timeout, _LONGEST) * 1e6)) or 1,
            done,
        )
        future.add_done_callback(lambda ended: request.cancel() if ended.cancelled() else None)
        return future

    def run(self, inputs: dict, timeout: float | None = None) -> list:
        """Submits a request and waits for its outputs."""
        return self.submit(inputs, timeout).result()

    def stats(self) -> dict[str, int]:
        """Requests that wait (pending) and run (running), and so far: completed, failed, refused, expired, cancelled; and the runs."""
        return self._queue.stats()

    def close(self, drain: bool = True) -> None:
        """Takes no more requests; those that wait are run first, or with drain=False end with F5004. Returns when nothing runs, in a
        future's callback at once."""
        self._queue.close(drain)

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def __repr__(self):
        return f"<fathom.Queue of {self.model!r}: {self.stats()}>"

    def _arrange(self, inputs: dict) -> list[np.ndarray]:
        for name in inputs:
            if name not in self._names:
                raise bad_input(f"the model has no input '{name}'", f"its inputs are {', '.join(self._names)}")
        for name in self._names:
            if name not in inputs:
                raise bad_input(f"input '{name}' is missing")
        arrays = [as_array(inputs[info.name], info.name, info) for info in self.model.tensors]
        return [np.require(array, requirements=("C", "ALIGNED")) for array in arrays]


def _within(name: str, value, low, high):
    if not low <= value <= high:
        raise Error(f"{name} is {value}: expected {low} to {high}", "F1012", 1)
    return value
