"""The Wyoming server as a service: who may connect, how many, for how long; each connection is served on its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from wyoming.error import Error

from runtime.config_talking import WyomingSettings
from runtime.errors import HearsightError
from runtime.wyoming_connection import Offers, WyomingConnection
from runtime.wyoming_wire import MOST_HEADER_BYTES, encoded

log = logging.getLogger(__name__)
MOST_CONNECTIONS = 32
END_S = 2.0


class WyomingUnavailable(HearsightError):
    """The Wyoming address cannot be listened on."""


class WyomingServer:
    """Listens until `stop`. on_listening: told the address; idle_s: a silent or half-sent peer is left after that."""

    def __init__(
        self,
        settings: WyomingSettings,
        offers: Offers,
        on_listening: Callable[[str], None] = lambda uri: None,
        *,
        idle_s: float = 60.0,
    ) -> None:
        self._settings = settings
        self._offers = offers
        self._on_listening = on_listening
        self._idle_s = idle_s
        self._stop = asyncio.Event()
        self._peers: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._refused = 0
        self._address = ""

    async def run(self) -> None:
        """Serve until `stop`. Raises WyomingUnavailable."""
        settings = self._settings
        try:
            server = await asyncio.start_server(
                self._connected, settings.host, settings.port, limit=MOST_HEADER_BYTES
            )
        except OSError as error:
            raise WyomingUnavailable(
                f"the Wyoming server cannot listen on {settings.host}:{settings.port} ({error.strerror}): "
                "set another wyoming.port in robot.yaml, or wyoming.enabled: false"
            ) from error
        if settings.trusted_network:
            log.warning(
                "Wyoming on %s:%s has no authentication: whoever reaches it can ask",
                settings.host,
                settings.port,
            )
        name = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._address = f"tcp://{name}:{server.sockets[0].getsockname()[1]}"
        self._on_listening(self._address)
        try:
            await self._stop.wait()
        finally:
            server.close()
            await self._leave_all()

    def stop(self) -> None:
        """End `run` and every connection."""
        self._stop.set()

    def state(self) -> dict[str, Any]:
        """For the API."""
        return {"address": self._address, "connected": len(self._peers), "refused": self._refused}

    async def _leave_all(self) -> None:
        """Break every connection; whose peer is being answered ends with the answer, or soon."""
        for writer in self._peers.values():
            writer.transport.abort()
        if self._peers:
            await asyncio.wait(list(self._peers), timeout=END_S)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._peers) >= MOST_CONNECTIONS:
                self._refused += 1
                writer.write(encoded(Error(f"{MOST_CONNECTIONS} peers are connected already").event()))
                return
            self._peers[task] = writer
            await WyomingConnection(reader, writer, self._offers, idle_s=self._idle_s).serve()
        finally:
            self._peers.pop(task, None)
            writer.close()
