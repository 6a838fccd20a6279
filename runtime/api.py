"""The local HTTP API: ask, follow an answer as it comes about, read traces and the state; and one page for a browser.

It listens on loopback unless robot.yaml says otherwise; beyond loopback a token is required. Only what is asked for by
its own address and as JSON is answered, so that a page of another site can ask nothing in a browser.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from aiohttp import web

from memory_store.errors import MemoryStoreError, UnknownId
from models.errors import ModelError
from runtime.answer import Answer, Round
from runtime.answer_json import answer_json
from runtime.answering import AnsweringService, Asked, TooManyQuestions
from runtime.api_request import MOST_BYTES, SMALL_BYTES, read_ask
from runtime.config_talking import ApiSettings
from runtime.errors import HearsightError

_MOST_LARGE = 2  # requests with a picture or a sound that are read at once: each takes memory
_UPLOAD_S = 60.0
_NOT_IN_WRITING = "this household tells nothing in writing (privacy.typed in robot.yaml)"
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ApiUnavailable(HearsightError):
    """The API's address cannot be listened on."""


@dataclass(frozen=True)
class Reads:
    """What can be read besides answers: a stored trace and a picture of an answer, by number; what the robot is doing.

    told_in_writing: whether the household lets anybody be told something in writing.
    """

    trace: Callable[[int], Awaitable[dict[str, Any]]]
    picture: Callable[[int], Awaitable[bytes]]
    status: Callable[[], Awaitable[dict[str, Any]]]
    told_in_writing: bool = True


class Api:
    """The API as a service; on_listening: told the address."""

    def __init__(
        self,
        settings: ApiSettings,
        answering: AnsweringService,
        reads: Reads,
        *,
        on_listening: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._answering = answering
        self._reads = reads
        self._on_listening = on_listening
        self._stop = asyncio.Event()
        self._large = asyncio.Semaphore(_MOST_LARGE)
        self.on_listen: Callable[[], None] | None = None  # takes what is said next for a question

    async def run(self) -> None:
        """Serve until `stop`. Raises ApiUnavailable."""
        runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=2.0)
        await runner.setup()
        settings = self._settings
        try:
            site = web.TCPSite(runner, settings.host, settings.port, ssl_context=_tls(settings))
            try:
                await site.start()
            except OSError as error:
                raise ApiUnavailable(
                    f"the API cannot listen on {settings.host}:{settings.port} ({error.strerror}): "
                    "set another api.port in robot.yaml, or api.enabled: false"
                ) from error
            port = runner.addresses[0][1]
            name = f"[{settings.host}]" if ":" in settings.host else settings.host
            self._on_listening(f"{'https' if settings.certificate else 'http'}://{name}:{port}")
            await self._stop.wait()
        finally:
            await runner.cleanup()

    def stop(self) -> None:
        """End `run`."""
        self._stop.set()

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[self._guard])
        app.router.add_get("/", self._page)
        app.router.add_post("/v1/ask", self._ask)
        app.router.add_post("/v1/listen", self._listen)
        app.router.add_get("/v1/status", self._give_status)
        app.router.add_get("/v1/trace/{number:[0-9]{1,18}}", self._give_trace)
        app.router.add_get("/v1/picture/{number:[0-9]{1,18}}", self._give_picture)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        try:
            return await handler(request)
        except TooManyQuestions as error:
            return _fault(503, str(error), {"Retry-After": "5"})
        except UnknownId as error:
            return _fault(404, str(error))
        except HearsightError as error:
            return _fault(400, str(error))
        except (MemoryStoreError, ModelError) as error:
            return _fault(500, str(error))
        except web.HTTPRequestEntityTooLarge:
            return _fault(413, f"the request is too large: at most {MOST_BYTES} bytes are taken")
        except web.HTTPException as error:
            return _fault(error.status, error.reason)

    def _refusal(self, request: web.Request) -> web.Response | None:
        token = self._settings.token
        if token is not None:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if request.path != "/" and not hmac.compare_digest(given.encode(), token.encode()):
                return _fault(401, "a token is needed: send it as 'Authorization: Bearer TOKEN'")
        elif not _is_loopback(request.host):
            return _fault(403, f"the host {request.host!r} is not this robot's own address")
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.host:
            return _fault(403, f"a page of {origin!r} may not ask this robot")
        if request.method == "POST" and request.content_type != "application/json":
            return _fault(415, "send JSON, with 'Content-Type: application/json'")
        return None

    async def _page(self, _request: web.Request) -> web.Response:
        page = resources.files("runtime").joinpath("web/index.html").read_text(encoding="utf-8")
        policy = "default-src 'self' 'unsafe-inline'; img-src 'self' blob:; frame-ancestors 'none'"
        headers = {"Content-Security-Policy": policy}
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def _give_status(self, _request: web.Request) -> web.Response:
        return _json(await self._reads.status())

    async def _give_trace(self, request: web.Request) -> web.Response:
        if not self._reads.told_in_writing:
            return _fault(403, _NOT_IN_WRITING)
        return _json(await self._reads.trace(int(request.match_info["number"])))

    async def _give_picture(self, request: web.Request) -> web.Response:
        if not self._reads.told_in_writing:
            return _fault(403, _NOT_IN_WRITING)
        data = await self._reads.picture(int(request.match_info["number"]))
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return web.Response(body=data, content_type="image/jpeg", headers=headers)

    async def _listen(self, _request: web.Request) -> web.Response:
        if self.on_listen is None:
            return _fault(409, "the robot has no ears now: voice.enabled is false, or it only serves")
        self.on_listen()
        return _json({"listening": True})

    async def _ask(self, request: web.Request) -> web.StreamResponse:
        asked, streamed = read_ask(await self._body(request))
        if not streamed:
            return _json(answer_json(await self._answering.submit(asked)))
        return await self._stream(request, asked)

    async def _body(self, request: web.Request) -> bytes:
        if request.content_length is not None and request.content_length <= SMALL_BYTES:
            return await request.read()
        try:
            async with asyncio.timeout(_UPLOAD_S), self._large:
                return await request.read()
        except TimeoutError as error:
            raise HearsightError(
                f"the request did not arrive within {_UPLOAD_S:g} s: send it again"
            ) from error

    async def _stream(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        """Server-sent events: one `round` for each round of the model, then `answer`, or `error`."""
        events: asyncio.Queue[Round | asyncio.Future[Answer]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def on_round(one: Round) -> None:
            loop.call_soon_threadsafe(events.put_nowait, one)

        answer = self._answering.submit(replace(asked, on_round=on_round))
        answer.add_done_callback(events.put_nowait)
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        try:
            await response.prepare(request)
            while isinstance(event := await events.get(), Round):
                await _send(response, "round", _round_json(event))
            try:
                await _send(response, "answer", answer_json(event.result()))
            except (HearsightError, MemoryStoreError, ModelError) as error:
                await _send(response, "error", {"error": str(error)})
        finally:
            answer.cancel()
        return response


def _round_json(one: Round) -> dict[str, Any]:
    return {"number": one.number, "action": one.action, "content": one.content, "rejected": one.rejected}


async def _send(response: web.StreamResponse, event: str, data: Mapping[str, Any]) -> None:
    await response.write(f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode())


def _json(value: Mapping[str, Any]) -> web.Response:
    return web.json_response(value, dumps=lambda data: json.dumps(data, ensure_ascii=False))


def _fault(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response({"error": message}, status=status, headers=headers)


def _is_loopback(host: str) -> bool:
    name = host.rpartition(":")[0] if host.count(":") == 1 or "]:" in host else host
    name = name.strip("[]")
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _tls(settings: ApiSettings) -> ssl.SSLContext | None:
    if settings.certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise ApiUnavailable(
            f"api.certificate {settings.certificate} or api.key cannot be used: {error}"
        ) from error
    return context
