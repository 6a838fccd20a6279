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
from dataclasses import replace
from importlib import resources
from typing import Any

from aiohttp import web

from memory_store.errors import MemoryStoreError, UnknownId
from models.errors import ModelError
from runtime.answer import Answer, Round
from runtime.answer_json import answer_json
from runtime.answering import AnsweringService, Asked, TooManyQuestions
from runtime.config_talking import ApiSettings
from runtime.errors import HearsightError

_MOST_BYTES = 256 * 1024
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ApiUnavailable(HearsightError):
    """The API's address cannot be listened on."""


class Api:
    """The API as a service.

    trace: a stored trace by its number; status: what the robot is doing; on_listening: told the address.
    """

    def __init__(
        self,
        settings: ApiSettings,
        answering: AnsweringService,
        *,
        trace: Callable[[int], Awaitable[dict[str, Any]]],
        status: Callable[[], Awaitable[dict[str, Any]]],
        on_listening: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._answering = answering
        self._trace = trace
        self._status = status
        self._on_listening = on_listening
        self._stop = asyncio.Event()
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
        app = web.Application(client_max_size=_MOST_BYTES, middlewares=[self._guard])
        app.router.add_get("/", self._page)
        app.router.add_post("/v1/ask", self._ask)
        app.router.add_post("/v1/listen", self._listen)
        app.router.add_get("/v1/status", self._give_status)
        app.router.add_get("/v1/trace/{number:[0-9]{1,18}}", self._give_trace)
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
        headers = {"Content-Security-Policy": "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'"}
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def _give_status(self, _request: web.Request) -> web.Response:
        return _json(await self._status())

    async def _give_trace(self, request: web.Request) -> web.Response:
        return _json(await self._trace(int(request.match_info["number"])))

    async def _listen(self, _request: web.Request) -> web.Response:
        if self.on_listen is None:
            return _fault(409, "the robot has no ears now: voice.enabled is false, or it only serves")
        self.on_listen()
        return _json({"listening": True})

    async def _ask(self, request: web.Request) -> web.StreamResponse:
        asked, streamed = _read(await request.read())
        if not streamed:
            return _json(answer_json(await self._answering.submit(asked)))
        return await self._stream(request, asked)

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


def _read(body: bytes) -> tuple[Asked, bool]:
    """Raises HearsightError naming what is wrong with the request."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HearsightError(f'the request is no JSON ({error}): send {{"question": "…"}}') from error
    if not isinstance(values, dict):
        raise HearsightError('the request is no JSON object: send {"question": "…"}')
    known = {"question": str, "asker": int, "conversation": str, "stream": bool}
    for key, value in values.items():
        if key not in known:
            raise HearsightError(f"unknown key {key!r}: the keys are {', '.join(known)}")
        if value is not None and (not isinstance(value, known[key]) or (known[key] is int and value is True)):
            raise HearsightError(f"{key} must be of type {known[key].__name__}, not {type(value).__name__}")
    if not values.get("question"):
        raise HearsightError("the key question is missing or empty: say what you want to know")
    asked = Asked(values["question"], values.get("asker"), values.get("conversation"))
    return asked, bool(values.get("stream"))


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
