"""An OpenAI-compatible chat endpoint as a LanguageModel: a time limit for each call, few retries, clear errors.

Any server that speaks `POST /v1/chat/completions` will do (vLLM, llama.cpp's server, Ollama, a hosted one). aiohttp,
which the robot has anyway, bounds a call as a whole; the `openai` package bounds only the wait between two bytes.
"""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from models.errors import ModelError
from models.language import Completion, Message
from offline_tools.chat_wire import read_completion, read_model_names, wire_message
from offline_tools.wav_file import SAMPLE_RATE_HZ

_RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_TOKENS_A_PICTURE = 1000
_TOKENS_A_SECOND_OF_SOUND = 25
_SHOWN_CHARACTERS = 200
_LARGEST_REPLY_BYTES = 32 << 20

_Reader = Callable[[Any], Completion | list[str]]


class EndpointError(ModelError):
    """A call got no usable answer, whatever was tried; another call may get one."""


class EndpointRefused(EndpointError):
    """The endpoint would refuse every call like this one: wrong key or address, unknown model, impossible request."""


@dataclass(frozen=True)
class Retries:
    """At most `more` calls after the first, `first_wait_s` before the second, twice as long before each next one.

    `longest_wait_s` bounds also what a server asks for with Retry-After. A call's `timeout_s` bounds all of it.
    """

    more: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0


class Endpoint:
    """A model behind an address. `url` ends before `/chat/completions`, as in http://127.0.0.1:8000/v1.

    key: sent as bearer token and never shown in a message; grammar_field: the name under which this server takes a GBNF
    grammar (llama.cpp's: "grammar"), None where it takes none: then a grammar is left out, and the caller must bear any
    text. Several threads may call at once. Times are in seconds.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        context_tokens: int = 32768,
        grammar_field: str | None = None,
        retries: Retries | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Calls nobody yet. extra: further fields of every request, such as {"seed": 1}. Raises EndpointRefused."""
        if not url.startswith(("http://", "https://")):
            raise EndpointRefused(
                f"{url!r} is no address of an endpoint: it must begin with http:// or https://"
            )
        self._url = url.rstrip("/")
        self._model = model
        self._headers = {"Content-Type": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._context_tokens = context_tokens
        self._grammar_field = grammar_field
        self._retries = Retries() if retries is None else retries
        self._extra = dict(extra or {})

    @property
    def context_tokens(self) -> int:
        """How many tokens a prompt and its completion may have together, as told at the start."""
        return self._context_tokens

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self._model

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        grammar: str | None = None,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        timeout_s: float = 120.0,
    ) -> Completion:
        """The assistant's next turn; timeout_s bounds all tries together.

        Raises EndpointRefused where trying again is of no use, EndpointError otherwise.
        """
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [wire_message(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
            **({"stop": list(stop)} if stop else {}),
            **({self._grammar_field: grammar} if grammar is not None and self._grammar_field else {}),
            **self._extra,
        }
        began_s = time.monotonic()
        reply = asyncio.run(self._reply("POST", "/chat/completions", body, timeout_s, read_completion))
        assert isinstance(reply, Completion)
        return Completion(
            reply.text,
            reply.prompt_tokens,
            reply.cached_tokens,
            reply.generated_tokens,
            time.monotonic() - began_s,
            reply.finish_reason,
        )

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """An estimate on the high side: the protocol has no call for it.

        A token for every 2 bytes, 1000 for a picture, 25 for a second of sound.
        """
        text = sum(len(message.content.encode()) // 2 + 8 for message in messages)
        pictures = sum(len(message.images) for message in messages)
        sound_s = sum(len(sound) for message in messages for sound in message.audio) / SAMPLE_RATE_HZ
        return text + pictures * _TOKENS_A_PICTURE + round(sound_s * _TOKENS_A_SECOND_OF_SOUND)

    def close(self) -> None:
        """Nothing is held between calls."""

    def served_models(self, *, timeout_s: float = 10.0) -> list[str]:
        """The names of the models that the endpoint says it has. Raises EndpointError."""
        found = asyncio.run(self._reply("GET", "/models", None, timeout_s, read_model_names))
        assert isinstance(found, list)
        return found

    async def _reply(
        self, method: str, path: str, body: dict[str, Any] | None, timeout_s: float, read: _Reader
    ) -> Completion | list[str]:
        """The reply as `read` understands it, after as many tries as are allowed and fit into the time."""
        ends_s = time.monotonic() + timeout_s
        tries, wait_s, said = 0, self._retries.first_wait_s, ""
        async with aiohttp.ClientSession(headers=self._headers) as session:
            while (left_s := ends_s - time.monotonic()) > 0 and tries <= self._retries.more:
                tries += 1
                try:
                    return await self._once(session, method, path, body, left_s, read)
                except _Again as again:
                    said = str(again)
                    pause_s = min(max(wait_s, again.after_s), self._retries.longest_wait_s)
                    if tries > self._retries.more or time.monotonic() + pause_s >= ends_s:
                        break
                    await asyncio.sleep(pause_s)
                    wait_s *= 2
        count = f"after {tries} {'try' if tries == 1 else 'tries'} within {timeout_s:g} s"
        raise EndpointError(f"{self._url}{path} (model {self._model}) gave no usable answer {count}: {said}")

    async def _once(
        self,
        session: aiohttp.ClientSession,
        method: str,
        path: str,
        body: dict[str, Any] | None,
        left_s: float,
        read: _Reader,
    ) -> Completion | list[str]:
        try:
            limit = aiohttp.ClientTimeout(total=left_s)
            async with session.request(
                method, f"{self._url}{path}", data=_data(body), timeout=limit
            ) as response:
                data = await _body(response)
                if response.status != 200:
                    self._judge(path, response.status, response.headers.get("Retry-After"), data)
        except TimeoutError as error:
            raise _Again(f"no answer in {left_s:.1f} s; give it more time or a smaller model") from error
        except aiohttp.InvalidURL as error:
            raise EndpointRefused(f"{self._url} is no address: {error}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _Again(f"{_why(error)}; is the server running?") from error
        try:
            return read(json.loads(data))
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            raise _Again(f"its reply is no chat completion: {_shown(data)}") from error

    def _judge(self, path: str, status: int, retry_after: str | None, data: bytes) -> None:
        """What a status other than 200 means: try again, or give up with the reason."""
        if status in _RETRIED:
            raise _Again(f"HTTP {status}, {_shown(data)}", _seconds(retry_after))
        advice = {
            401: "the key is missing or wrong: name the environment variable that holds it",
            403: "the key may not use this model",
            404: f"wrong address, or no model called {self._model} there",
            413: "the request is too large: fewer or smaller pictures",
        }.get(status, "the request is not understood there")
        raise EndpointRefused(
            f"{self._url}{path} refused with HTTP {status}: {advice}. It says: {_shown(data)}"
        )


class _Again(Exception):
    """This try failed and another may not; after_s: how long the server wants to be left alone."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


def _data(body: dict[str, Any] | None) -> io.BytesIO | None:
    """As a stream, since pictures and sound make it large."""
    return None if body is None else io.BytesIO(json.dumps(body).encode())


async def _body(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _LARGEST_REPLY_BYTES:
            raise _Again(f"its reply has more than {_LARGEST_REPLY_BYTES} bytes")
    return b"".join(parts)


def _seconds(retry_after: str | None) -> float:
    """What Retry-After asks for, in seconds or as a date (RFC 9110, 10.2.3); 0 where it cannot be read."""
    try:
        return max(0.0, float(retry_after or 0))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after or "").timestamp() - time.time())
    except ValueError:
        return 0.0


def _shown(data: bytes) -> str:
    text = " ".join(data.decode("utf-8", "replace").split())
    cut = "…" if len(text) > _SHOWN_CHARACTERS else ""
    return repr(text[:_SHOWN_CHARACTERS] + cut)


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
