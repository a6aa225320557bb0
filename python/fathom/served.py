"""A model that is served: its queue, and KServe's requests answered by it, whatever server they came through."""

from __future__ import annotations

import asyncio

from . import kserve
from .batching import Queue
from .errors import Error


class Served:
    def __init__(self, name: str, queue: Queue, max_pending: int, timeout: float):
        self.name = name
        self.queue = queue
        self.max_pending = max_pending
        self.timeout = timeout  # seconds that a request may wait at most
        self.taken = 0  # requests from their heads to their responses, whose bodies take memory
        self.dtypes = {info.name: info.dtype for info in queue.model.inputs}
        self.output_names = [info.name for info in queue.model.outputs]
        self.metadata = kserve.describe(name, queue.model.inputs, queue.model.outputs)

    def __enter__(self) -> None:
        """A request has come; its body is not read yet."""
        self.taken += 1

    def __exit__(self, *error) -> None:
        self.taken -= 1

    def check_room(self) -> None:
        if self.taken > self.max_pending:
            raise Error(f"the queue is full: {self.taken - 1} requests are on their way", "F5002", 5)

    async def answer(self, body: bytes, header_length: str | None) -> tuple[bytes, dict[str, str]]:
        """A response's body and headers. Cancelled, the request leaves the queue."""
        asked = kserve.parse(body, kserve.parse_length(header_length), self.dtypes, self.output_names)
        wanted = self.timeout if asked.timeout is None else min(asked.timeout, self.timeout)
        results = await asyncio.wrap_future(self.queue.submit(asked.inputs, timeout=wanted))
        told, length = kserve.encode(asked, self.name, self.output_names, results)
        if length is None:
            return told, {"Content-Type": "application/json"}
        return told, {"Content-Type": "application/octet-stream", kserve.HEADER_LENGTH: str(length)}


def refusal(error: Error) -> tuple[int, dict[str, str], dict[str, str]]:
    """The status, headers and JSON of a response that tells an error."""
    exact = {"F5002": 503, "F5003": 504, "F5004": 503}
    status = exact.get(error.code) or (400 if error.exit_code == 1 else 500)
    return status, {"Retry-After": "1"} if status == 503 else {}, {"error": str(error), "code": error.code}
