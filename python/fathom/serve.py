"""`python -m fathom.serve MODEL...` offers compiled models over HTTP, by KServe's protocol, version 2."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys

from .batching import Pool, Queue
from .command import parse_dims, tell_errors
from .compile import compile as compile_model
from .errors import Error
from .files import is_compiled, opened
from .model import Model
from .served import Served


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fathom.serve", description=__doc__)
    parser.add_argument("models", nargs="+", metavar="[NAME=]MODEL", help="what fathom compile wrote, or an ONNX model, which is compiled and kept; without a name that of the file")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="0: one that is free (default: %(default)s)")
    parser.add_argument("--max-batch", type=int, default=1, metavar="ITEMS", help="join requests into runs of so many items, of models whose items do not depend on each other (default: %(default)s)")
    parser.add_argument("--max-wait", type=float, default=0.001, metavar="SECONDS", help="how long a request waits for others to join (default: %(default)s)")
    parser.add_argument("--max-pending", type=int, default=256, metavar="N", help="requests of a model on their way at a time; one more is refused (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="a request that still waits then is not run (default: %(default)s)")
    parser.add_argument("--max-body", type=float, default=64.0, metavar="MIB", help="the largest request (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="of a run, and of all runs together where there are several models; 0: all CPUs (default: %(default)s)")
    parser.add_argument("--contexts", type=int, default=0, metavar="N", help="runs of a model at a time; 0: as many as there are CPUs for (default: %(default)s)")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=MIN..MAX", help="the range to compile a dimension of ONNX models for; without one it is 1 or more")
    return parser.parse_args(words)


def split_name(word: str) -> tuple[str, str]:
    """NAME=PATH, or a path, whose name is that of its file."""
    name, equals, path = word.partition("=")
    if equals and name and os.sep not in name:
        return name, path
    return os.path.splitext(os.path.basename(word))[0], word


def open_model(path: str, dims: dict) -> Model:
    with opened(path) as file:
        start = file.read(4)
    return Model(path if is_compiled(start) else compile_model(path, cache=True, **({"dim": dims} if dims else {})))


def open_models(given: argparse.Namespace) -> list[Served]:
    """The models with their queues. What is wrong with one is told before anything is served."""
    named = [split_name(word) for word in given.models]
    for name, _ in named:
        if [other for other, _ in named].count(name) > 1:
            raise Error(f"two models are called '{name}'", "F2001", 2, hint="give them names: NAME=MODEL")
    dims = parse_dims(given.dim)
    pool = Pool(given.threads) if len(named) > 1 else None
    models = []
    for name, path in named:
        queue = Queue(
            open_model(path, dims),
            max_batch=given.max_batch,
            max_wait=given.max_wait,
            max_pending=given.max_pending,
            threads=given.threads,
            contexts=given.contexts,
            pool=pool,
        )
        models.append(Served(name, queue, given.max_pending, given.timeout))
    return models


async def serve(given: argparse.Namespace, models: list[Served]) -> None:
    """Answers until SIGINT or SIGTERM; then refuses what is new, and answers what has come."""
    from aiohttp import http_exceptions, web

    from .endpoint import Endpoint

    # Who sends what is no HTTP is told so, and must not fill the log.
    logging.getLogger("aiohttp.server").addFilter(
        lambda record: not (record.exc_info and isinstance(record.exc_info[1], http_exceptions.HttpProcessingError))
    )

    endpoint = Endpoint(models, int(given.max_body * (1 << 20)))
    runner = web.AppRunner(endpoint.app, handler_cancellation=True, access_log=None, shutdown_timeout=given.timeout)
    await runner.setup()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await web.TCPSite(runner, given.host, given.port).start()
    except OSError as error:
        raise Error(f"cannot listen at {given.host}:{given.port}: {error.strerror}", "F5001", 5) from error
    host, port = runner.addresses[0][:2]
    print(f"serving {', '.join(endpoint.models)} at http://{host}:{port}", flush=True)
    await ended.wait()
    endpoint.ready = False
    await runner.cleanup()
    for served in models:
        await asyncio.to_thread(served.queue.close)


def main(words: list[str] | None = None) -> int:
    given = arguments(words)
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")

    def work():
        try:
            import aiohttp  # noqa: F401
        except ImportError:
            raise Error("aiohttp is not installed", "F5001", 5, hint="pip install 'aiohttp>=3.10'") from None
        asyncio.run(serve(given, open_models(given)))

    return tell_errors(work)


if __name__ == "__main__":
    sys.exit(main())
