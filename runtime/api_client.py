"""Asks the daemon that runs on a data directory, whose models are loaded already."""

from __future__ import annotations

import base64
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from runtime.answering import Asked
from runtime.api_address import Reachable, read_address
from runtime.errors import HearsightError

_STATUS_TIMEOUT_S = 3.0


class DaemonRefused(HearsightError):
    """The running daemon gave no answer, and says why."""


class DaemonClient:
    """The API of one daemon."""

    def __init__(self, reachable: Reachable) -> None:
        self._reachable = reachable
        handlers: list[Any] = [ProxyHandler({})]  # a robot is asked directly, whatever the environment says
        if reachable.certificate is not None:
            context = ssl.create_default_context(cafile=reachable.certificate)
            context.check_hostname = False  # the robot's own certificate, by its file
            handlers.append(HTTPSHandler(context=context))
        self._opener = build_opener(*handlers)

    def status(self) -> dict[str, Any]:
        """What `GET /v1/status` says. Raises DaemonRefused, OSError."""
        return self._call(Request(f"{self._reachable.url}/v1/status"), _STATUS_TIMEOUT_S)

    def ask(self, asked: Asked, timeout_s: float) -> dict[str, Any]:
        """The answer as JSON. Raises DaemonRefused, OSError."""
        values = {
            "question": asked.text,
            "asker": asked.asker,
            "conversation": asked.conversation,
            "picture": _base64(asked.picture),
            "sound": _base64(asked.sound),
            "before_clip": asked.before_clip,
        }
        body = json.dumps({key: value for key, value in values.items() if value is not None}).encode()
        headers = {"Content-Type": "application/json"}
        return self._call(Request(f"{self._reachable.url}/v1/ask", body, headers), timeout_s)

    def listen(self) -> None:
        """Have what is said next taken for a question. Raises DaemonRefused, OSError."""
        headers = {"Content-Type": "application/json"}
        self._call(Request(f"{self._reachable.url}/v1/listen", b"{}", headers), _STATUS_TIMEOUT_S)

    def _call(self, request: Request, timeout_s: float) -> dict[str, Any]:
        if self._reachable.token is not None:
            request.add_header("Authorization", f"Bearer {self._reachable.token}")
        try:
            with self._opener.open(request, timeout=timeout_s) as reply:
                found: dict[str, Any] = json.loads(reply.read())
                return found
        except HTTPError as error:
            raise DaemonRefused(_reason(error)) from error
        except ValueError as error:
            raise DaemonRefused(f"{self._reachable.url} gave no JSON: {error}") from error


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _reason(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError):
        return f"the daemon answered with HTTP {error.code}"


def running_daemon(data_dir: Path) -> DaemonClient | None:
    """The daemon on this very directory, if one runs and serves its API."""
    reachable = read_address(data_dir)
    if reachable is None:
        return None
    try:
        client = DaemonClient(reachable)
        serves = client.status().get("data_dir") == str(data_dir.resolve())
    except (OSError, URLError, DaemonRefused):  # gone without a word, or something else took its port
        return None
    return client if serves else None
