"""The language model's own process: loads the model, then answers requests on a socket until its owner goes.

Started by language_process as `python -m models.language_server FD SETTINGS`; stdin is the owner's lifeline.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from models.errors import ModelError, Preempted
from models.language_wire import PREEMPT, CompleteRequest, Failed, Ready, Reply, Request, ServerSettings
from models.llama_engine import LlamaEngine
from models.llama_native import LlamaNative, NativeLog

_OOM_SCORE = 600  # of 1000: when memory runs out, the kernel takes this process and not the senses
_STDERR = 2


def _end_with_owner() -> None:
    """Wait for the owner to go, whatever way, and go too, even from the midst of a computation."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(0)


def _stand_back(nice: int) -> None:
    os.nice(nice)
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text(str(_OOM_SCORE))


def _complaint() -> str:
    """What native code printed to stderr (a file that only appends, see language_process) since last asked."""
    size = os.fstat(_STDERR).st_size
    text = os.pread(_STDERR, size, 0).decode("utf-8", "replace")
    os.ftruncate(_STDERR, 0)
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())[:400]


def _build(settings: ServerSettings) -> LlamaEngine:
    native = LlamaNative(settings, NativeLog())
    media = None
    if settings.mmproj_path:
        from models.omni import MediaReader  # here, so that a text model's process does without OpenCV

        media = MediaReader(settings, native)
    return LlamaEngine(settings, native, media, _complaint)


def _answer(engine: LlamaEngine, request: Request) -> Reply:
    try:
        if isinstance(request, CompleteRequest):
            return engine.complete(request)
        return engine.count_tokens(request.messages)
    except Preempted as error:
        return Failed(str(error), preempted=True)
    except ModelError as error:
        return Failed(str(error))


def serve(connection: Connection, settings: ServerSettings) -> None:
    """Say Ready or Failed once, then one reply to each request, until the connection closes."""
    try:
        engine = _build(settings)
    except ModelError as error:
        connection.send(Failed(str(error)))
        return
    signal.signal(PREEMPT, lambda _number, _frame: engine.preempt())
    connection.send(Ready())
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        connection.send(_answer(engine, request))


def main() -> None:
    descriptor, settings_json = sys.argv[1:]
    settings = ServerSettings(**json.loads(settings_json))
    threading.Thread(target=_end_with_owner, name="lifeline", daemon=True).start()
    _stand_back(settings.nice)
    serve(Connection(int(descriptor)), settings)
    os._exit(0)  # the kernel frees everything faster and more surely than the native libraries do


if __name__ == "__main__":
    main()
