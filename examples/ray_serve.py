#!/usr/bin/env python3
"""Offers models over HTTP as `python -m fathom.serve` does, by replicas on the machines of a Ray cluster, behind one address.

    examples/ray_serve.py model.fathom second=other.onnx --replicas 2 --cpus 1 --max-batch 8

Needs ray[serve] beside the package. Options that are not its own are those of fathom.serve; models are files that every machine of the cluster has.
"""

import argparse
import signal
import sys
import threading

import fathom
import fathom.serve
import ray
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fathom import kserve
from fathom.served import Served, refusal
from ray import serve

app = FastAPI()


@serve.deployment
@serve.ingress(app)
class Endpoint:
    """A replica: the models with queues of their own. Ray gives a request to one that has room."""

    def __init__(self, words: list[str]):
        self.models = {served.name: served for served in fathom.serve.open_models(fathom.serve.arguments(words))}

    @app.get("/v2/health/live")
    @app.get("/v2/health/ready")
    async def health(self):
        return {"live": True, "ready": True}

    @app.get("/v2")
    async def server(self):
        return {"name": "fathom", "version": fathom.__version__, "extensions": ["binary_tensor_data"]}

    @app.get("/v2/models/{model}")
    async def metadata(self, model: str):
        served = self.models.get(model)
        return served.metadata if served else self.unknown(model)

    @app.get("/v2/models/{model}/ready")
    async def is_ready(self, model: str):
        return {"name": model, "ready": True} if model in self.models else self.unknown(model)

    @app.post("/v2/models/{model}/infer")
    async def infer(self, model: str, request: Request):
        served = self.models.get(model)
        return await self.answer(served, request) if served else self.unknown(model)

    async def answer(self, served: Served, request: Request) -> Response:
        try:
            with served:
                served.check_room()
                # Who goes away cancels this, and the request leaves the queue.
                body, headers = await served.answer(await request.body(), request.headers.get(kserve.HEADER_LENGTH))
        except fathom.Error as error:
            status, headers, told = refusal(error)
            return JSONResponse(told, status, headers)
        return Response(body, headers=headers)

    def unknown(self, model: str) -> Response:
        return JSONResponse({"error": f"there is no model '{model}'; there are {', '.join(self.models)}"}, 404)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="Other options are those of python -m fathom.serve.")
    parser.add_argument("--ray", default="local", metavar="ADDRESS", help="HOST:PORT or auto: a cluster that runs; local: one for this program (the default)")
    parser.add_argument("--replicas", type=int, default=1, metavar="N", help="how many there are (1)")
    parser.add_argument("--cpus", type=int, default=1, metavar="N", help="of each replica (1); its runs have as many threads")
    own, words = parser.parse_known_args()
    words = ["--threads", str(own.cpus), *words]  # a later --threads counts
    given = fathom.serve.arguments(words)
    # All that was asked for at once may wait in a replica's queue, which joins it.
    replicas = Endpoint.options(num_replicas=own.replicas, ray_actor_options={"num_cpus": own.cpus}, max_ongoing_requests=given.max_pending)
    ray.init(address=own.ray, include_dashboard=False if own.ray == "local" else None, log_to_driver=False, logging_level="error")
    serve.start(http_options={"host": given.host, "port": given.port}, logging_config={"log_level": "ERROR"})
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())  # ray.init has set its own
    try:
        serve.run(replicas.bind(words), route_prefix="/")
        names = [fathom.serve.split_name(word)[0] for word in given.models]
        print(f"serving {', '.join(names)} at http://{given.host}:{given.port}", flush=True)
        ended.wait()
    finally:
        serve.shutdown()
        ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
