"""The HTTP endpoint: KServe's protocol, version 2, over aiohttp, in front of a queue for each model."""

from __future__ import annotations

import asyncio
import logging
import time

from aiohttp import web

from . import __version__, kserve
from .errors import Error
from .metrics import Metrics
from .served import Served, refusal

_log = logging.getLogger("fathom.serve")


class Endpoint:
    """What answers the requests."""

    def __init__(self, models: list[Served], max_body: int, body_timeout: float = 30.0):
        self.models = {served.name: served for served in models}
        self.body_timeout = body_timeout
        self.ready = True
        self.metrics = Metrics(list(self.models))
        self.app = web.Application(client_max_size=max_body, middlewares=[_tell_errors])
        model = "/v2/models/{model}"
        self.app.add_routes([
            web.get("/v2", self._server),
            web.get("/v2/health/live", self._live),
            web.get("/v2/health/ready", self._is_ready),
            web.get("/metrics", self._metrics),
        ])
        for version in ("", "/versions/1"):
            self.app.add_routes([
                web.get(f"{model}{version}", self._model),
                web.get(f"{model}{version}/ready", self._model_is_ready),
                web.post(f"{model}{version}/infer", self._infer),
            ])

    async def _server(self, request: web.Request) -> web.Response:
        return web.json_response({"name": "fathom", "version": __version__, "extensions": ["binary_tensor_data"]})

    async def _live(self, request: web.Request) -> web.Response:
        return web.json_response({"live": True})

    async def _is_ready(self, request: web.Request) -> web.Response:
        return web.json_response({"ready": self.ready}, status=200 if self.ready else 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        text = self.metrics.text({name: served.queue.stats() for name, served in self.models.items()})
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def _model(self, request: web.Request) -> web.Response:
        return web.json_response(self._find(request).metadata)

    async def _model_is_ready(self, request: web.Request) -> web.Response:
        name = self._find(request).name
        return web.json_response({"name": name, "ready": self.ready}, status=200 if self.ready else 503)

    def _find(self, request: web.Request) -> Served:
        name = request.match_info["model"]
        if name not in self.models:
            raise _Refusal(404, f"there is no model '{name}'; there are {', '.join(self.models)}")
        return self.models[name]

    async def _infer(self, request: web.Request) -> web.Response:
        served, start, outcome = self._find(request), time.perf_counter(), "F7001"
        try:
            with served:
                served.check_room()
                body = await self._body(request)
                # Who goes away cancels this.
                told, headers = await served.answer(body, request.headers.get(kserve.HEADER_LENGTH))
            outcome = "ok"
            return web.Response(body=told, headers=headers)
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except Error as error:
            outcome = error.code
            raise
        except (_Refusal, web.HTTPException) as error:
            outcome = str(error.status)
            raise
        finally:
            self.metrics.note(served.name, outcome, time.perf_counter() - start)

    async def _body(self, request: web.Request) -> bytes:
        try:
            async with asyncio.timeout(self.body_timeout):
                return await request.read()
        except TimeoutError:
            raise _Refusal(408, f"the body took longer than {self.body_timeout:g} s") from None


class _Refusal(Exception):
    """An answer that is no error of Fathom's."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


@web.middleware
async def _tell_errors(request: web.Request, handler) -> web.StreamResponse:
    """Whatever goes wrong is a line of JSON."""
    headers: dict[str, str] = {}
    try:
        return await handler(request)
    except Error as error:
        status, headers, told = refusal(error)
    except _Refusal as error:
        status, told = error.status, {"error": str(error)}
    except web.HTTPException as error:
        status, told = error.status, {"error": error.reason}
    except Exception:
        _log.exception("a request failed")
        status, told = 500, {"error": "a bug of Fathom, which the server's log tells of", "code": "F7001"}
    return web.json_response(told, status=status, headers=headers)
