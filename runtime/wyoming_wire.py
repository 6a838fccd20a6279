"""Events of the Wyoming protocol on a stream of bytes, with bounds on everything that a peer may send.

What events there are, and how they are written, is the wyoming package's; its own reader believes every length it is
told.
"""

from __future__ import annotations

import asyncio
import io
import json
import select
import socket
import time
from dataclasses import dataclass
from typing import Any

from wyoming.event import Event, write_event

from runtime.errors import HearsightError

MOST_HEADER_BYTES = 64 * 1024
MOST_DATA_BYTES = 1024 * 1024
MOST_PAYLOAD_BYTES = 4 * 1024 * 1024  # two minutes of 16 kHz sound in one piece


class BadMessage(HearsightError):
    """What a peer sent is not the Wyoming protocol, or more than anybody needs to send."""


class PeerGone(HearsightError):
    """A peer cannot be reached, has gone, or does not answer in time."""


@dataclass(frozen=True)
class _Header:
    type: str
    data: dict[str, Any]
    data_bytes: int
    payload_bytes: int


def encoded(event: Event) -> bytes:
    """An event as it is sent."""
    buffer = io.BytesIO()
    write_event(event, buffer)
    return buffer.getvalue()


async def receive(reader: asyncio.StreamReader) -> Event | None:
    """The next event; None where the peer has closed between two. The reader's limit bounds the header.

    Raises BadMessage, and OSError where the connection breaks.
    """
    try:
        line = await reader.readline()
    except ValueError as error:  # the reader's limit
        raise BadMessage(f"a header of more than {MOST_HEADER_BYTES} bytes") from error
    if not line:
        return None
    header = _header(line)
    try:
        data = await reader.readexactly(header.data_bytes)
        payload = await reader.readexactly(header.payload_bytes)
    except asyncio.IncompleteReadError as error:
        raise BadMessage(f"the connection ended within a message of type {header.type!r}") from error
    return _event(header, data, payload)


class PeerConnection:
    """A connection to a peer for one thread, all of whose waits end by one deadline. Raises PeerGone, BadMessage."""

    def __init__(self, host: str, port: int, *, connect_s: float, deadline_s: float) -> None:
        """deadline_s: seconds from now."""
        self._name = f"wyoming://{host}:{port}"
        self._ends_s = time.monotonic() + deadline_s
        self._received = bytearray()
        try:
            self._socket = socket.create_connection((host, port), timeout=connect_s)
        except OSError as error:
            raise PeerGone(f"{self._name} cannot be reached: {error}") from error

    def __enter__(self) -> PeerConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the peer."""
        self._socket.close()

    def wait_until(self, deadline_s: float) -> None:
        """Set another deadline, seconds from now."""
        self._ends_s = time.monotonic() + deadline_s

    def has_come(self) -> bool:
        """Whether the peer has sent something, or closed."""
        return bool(self._received) or bool(select.select([self._socket], [], [], 0)[0])

    def send(self, event: Event) -> None:
        """Send an event whole."""
        try:
            self._socket.settimeout(self._left_s())
            self._socket.sendall(encoded(event))
        except OSError as error:
            raise PeerGone(f"{self._name} takes nothing more: {error}") from error

    def receive(self) -> Event:
        """Wait for the next event."""
        while (end := self._received.find(b"\n")) < 0:
            if len(self._received) > MOST_HEADER_BYTES:
                raise BadMessage(f"{self._name}: a header of more than {MOST_HEADER_BYTES} bytes")
            self._read()
        header = _header(bytes(self._received[:end]))
        del self._received[: end + 1]
        return _event(header, self._take(header.data_bytes), self._take(header.payload_bytes))

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            self._read()
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def _read(self) -> None:
        try:
            self._socket.settimeout(self._left_s())
            piece = self._socket.recv(64 * 1024)
        except OSError as error:
            raise PeerGone(f"{self._name} does not answer: {error}") from error
        if not piece:
            raise PeerGone(f"{self._name} closed the connection before it had answered")
        self._received += piece

    def _left_s(self) -> float:
        left_s = self._ends_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("too long ago asked")
        return left_s


def _header(line: bytes) -> _Header:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"a header that is no JSON: {line[:40]!r}") from error
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise BadMessage(f"a header without a type: {line[:40]!r}")
    data = found.get("data") or {}
    if not isinstance(data, dict):
        raise BadMessage(f"data that is no JSON object in a message of type {found['type'][:40]!r}")
    return _Header(
        found["type"],
        data,
        _length(found, "data_length", MOST_DATA_BYTES),
        _length(found, "payload_length", MOST_PAYLOAD_BYTES),
    )


def _length(header: dict[str, Any], key: str, most: int) -> int:
    value = header.get(key) or 0
    if not isinstance(value, int) or not 0 <= value <= most:
        raise BadMessage(f"{key} {value!r}: a whole number up to {most} is wanted")
    return value


def _event(header: _Header, data: bytes, payload: bytes) -> Event:
    if not data:
        return Event(header.type, header.data, payload or None)
    try:
        more = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"data that is no JSON in a message of type {header.type[:40]!r}") from error
    if not isinstance(more, dict):
        raise BadMessage(f"data that is no JSON object in a message of type {header.type[:40]!r}")
    return Event(header.type, {**header.data, **more}, payload or None)
