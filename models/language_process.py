"""The owner's side of the language model: starts its process, asks it, and replaces it when it fails."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from fcntl import F_SETFL, fcntl
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from models.errors import ModelError, Preempted
from models.language import Completion, Message
from models.language_wire import (
    PREEMPT,
    CompleteRequest,
    CountRequest,
    Failed,
    Ready,
    Reply,
    Request,
    ServerSettings,
)

_GRACE_S = 1.0  # the child itself gives up at timeout_s and stays usable; if it does not, it is killed
_COUNT_TIMEOUT_S = 30.0
_PACKAGE_ROOT = Path(__file__).resolve().parents[1]


class _Child:
    """One running process with its socket."""

    def __init__(self, settings: ServerSettings) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed by dispose
        fcntl(self._errors, F_SETFL, os.O_APPEND)  # the child truncates it after reading
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "models.language_server",
                    str(theirs.fileno()),
                    json.dumps(asdict(settings)),
                ],
                stdin=subprocess.PIPE,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": _search_path()},
            )
        self._connection = Connection(ours.detach())

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: Request, timeout_s: float) -> Reply:
        """Raises ModelError when the process ends or hangs; it is not usable then."""
        try:
            self._connection.send(request)
        except OSError as error:
            raise ModelError(f"the language model's process {self._ending()}") from error
        return self.reply(timeout_s)

    def reply(self, timeout_s: float) -> Reply:
        try:
            if not self._connection.poll(timeout_s):
                raise ModelError(
                    f"the language model's process gave no answer in {timeout_s:g} s and was killed; "
                    "the next call starts another"
                )
            reply: Reply = self._connection.recv()
        except (EOFError, OSError) as error:
            raise ModelError(f"the language model's process {self._ending()}") from error
        return reply

    def _ending(self) -> str:
        """How it ended, in words."""
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            return "closed its connection"
        if code == -signal.SIGKILL:
            return "was killed (signal 9; by the kernel, if memory ran out); the next call starts another"
        if code < 0:
            name = signal.Signals(-code).name
            return f"crashed ({name}){self._last_words()}; the next call starts another"
        return f"ended with exit code {code}{self._last_words()}; the next call starts another"

    def _last_words(self) -> str:
        size = os.fstat(self._errors.fileno()).st_size
        lines = (
            os.pread(self._errors.fileno(), 4096, max(0, size - 4096)).decode("utf-8", "replace").split("\n")
        )
        said = [line.strip() for line in lines if line.strip()]
        return f": {said[-1][:300]}" if said else ""

    def running(self) -> bool:
        return self._process.poll() is None

    def preempt(self) -> None:
        """Ask it to give up the call that runs; nothing where none does."""
        self._process.send_signal(PREEMPT)

    def kill(self) -> None:
        """Ends it at once; whoever waits for a reply gets a ModelError."""
        self._process.kill()

    def dispose(self) -> None:
        """Kill it and free what it held; nobody may be waiting for a reply."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._connection.close()
        self._errors.close()


class LanguageProcess:
    """A LanguageModel in a child process, started by the first call and again by the call after a failure.

    Calls from several threads wait for one another; the wait counts towards timeout_s. `close` may be called
    while another thread's call runs: that call raises ModelError. A call that `yields` raises Preempted when
    one comes that does not.
    """

    def __init__(
        self,
        model_path: Path,
        *,
        mmproj_path: Path | None = None,
        context_tokens: int = 4096,
        threads: int = 2,
        name: str | None = None,
        kept_prefixes: int = 2,
        image_tokens: int = 256,
        gpu_layers: int = -1,
        start_timeout_s: float = 180.0,
        heads_dir: Path | None = None,
        model_sha256: str = "",
    ) -> None:
        """Starts nothing yet. See ServerSettings for the settings; name: for provenance, else the file's."""
        self._settings = ServerSettings(
            model_path=str(model_path),
            mmproj_path=str(mmproj_path) if mmproj_path else None,
            context_tokens=context_tokens,
            threads=threads,
            kept_prefixes=kept_prefixes,
            image_tokens=image_tokens,
            gpu_layers=gpu_layers,
            heads_dir=str(heads_dir) if heads_dir and model_sha256 else None,
            model_sha256=model_sha256,
        )
        self._name = name or Path(model_path).stem
        self._start_timeout_s = start_timeout_s
        self._one_call = threading.Lock()
        self._child: _Child | None = None
        self._yielding: _Child | None = None  # whose running call gives way
        self._yielding_lock = threading.Lock()

    @property
    def context_tokens(self) -> int:
        return self._settings.context_tokens

    @property
    def name(self) -> str:
        return self._name

    @property
    def pid(self) -> int | None:
        """The child's process id, for metrics; None while there is none."""
        child = self._child
        return child.pid if child else None

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        grammar: str | None = None,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        timeout_s: float = 120.0,
        yields: bool = False,
    ) -> Completion:
        """See LanguageModel. timeout_s does not count the start of the process (start_timeout_s)."""
        if max_tokens < 1:
            raise ModelError(f"max_tokens is {max_tokens}: give at least 1")
        request = CompleteRequest(
            tuple(messages), max_tokens, grammar, temperature, tuple(stop), timeout_s, yields
        )
        if not yields:
            self.preempt()
        reply = self._ask(request, timeout_s, yields=yields)
        assert isinstance(reply, Completion)
        return reply

    def count_tokens(self, messages: Sequence[Message], *, yields: bool = False) -> int:
        """See LanguageModel. yields: as for `complete`, though it is too short to be given up itself."""
        if not yields:
            self.preempt()
        reply = self._ask(CountRequest(tuple(messages)), _COUNT_TIMEOUT_S)
        assert isinstance(reply, int)
        return reply

    def close(self) -> None:
        """Also ends a call that runs; returns when the process is gone."""
        child = self._child
        if child:
            child.kill()
        with self._one_call:
            self._drop()

    def preempt(self) -> None:
        """Have a running call that `yields` given up; nothing where none runs. From any thread."""
        with self._yielding_lock:
            if self._yielding is not None:
                self._yielding.preempt()

    def _give_way(self, child: _Child | None) -> None:
        with self._yielding_lock:
            self._yielding = child

    def _ask(self, request: Request, timeout_s: float, *, yields: bool = False) -> Reply:
        started = time.monotonic()
        if not self._one_call.acquire(timeout=timeout_s):
            raise ModelError(f"the language model was busy with other calls for timeout_s = {timeout_s:g}")
        answered = False
        try:
            waited_s = time.monotonic() - started
            child = self._living() or self._start()
            if yields:
                self._give_way(child)
            reply = child.ask(request, max(0.0, timeout_s - waited_s) + _GRACE_S)
            answered = True
        finally:
            self._give_way(None)
            if not answered:
                self._drop()  # an answer that comes late must never be taken for the next one's
            self._one_call.release()
        if isinstance(reply, Failed):
            raise Preempted(reply.message) if reply.preempted else ModelError(reply.message)
        return reply

    def _living(self) -> _Child | None:
        if self._child and not self._child.running():
            self._drop()  # it died between two calls: nothing is lost
        return self._child

    def _start(self) -> _Child:
        try:
            self._child = _Child(self._settings)
        except OSError as error:
            raise ModelError(f"the language model's process cannot be started: {error}") from error
        reply = self._child.reply(self._start_timeout_s)
        if not isinstance(reply, Ready):
            raise ModelError(
                reply.message if isinstance(reply, Failed) else f"unexpected first reply {reply!r}"
            )
        return self._child

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child:
            child.dispose()


def _search_path() -> str:
    inherited = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(_PACKAGE_ROOT), *([inherited] if inherited else [])])
