"""A chat endpoint on a real local socket that does what a test tells it: answers, errors, silence and nonsense."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One HTTP reply, sent after wait_s; `trickle_s`: seconds between its bytes."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    trickle_s: float = 0.0


def said(text: str | None, finish_reason: str = "stop") -> Reply:
    """The reply of a model that said this."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}
    document = {"choices": [{"message": message, "finish_reason": finish_reason}], "usage": usage}
    return Reply(body=json.dumps(document).encode())


@dataclass(eq=False)
class ChatServer:
    """Replies with what `answer` makes of a request's body; `requests` holds (path, headers, body) of all."""

    answer: Callable[[dict[str, Any]], Reply]
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    url: str = ""


@contextmanager
def chat_server(answer: Callable[[dict[str, Any]], Reply]) -> Iterator[ChatServer]:
    """Serve on a free port of the loopback until the block ends."""
    served = ChatServer(answer)
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._reply(body)

        def do_GET(self) -> None:
            self._reply({})

        def _reply(self, body: dict[str, Any]) -> None:
            served.requests.append((self.path, dict(self.headers), body))
            reply = served.answer(body)
            ended.wait(reply.wait_s)
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                if reply.trickle_s:
                    for byte in reply.body:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        if ended.wait(reply.trickle_s):
                            return
                else:
                    self.wfile.write(reply.body)
            except OSError:
                pass  # the caller gave up

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=lambda: server.serve_forever(0.02), name="chat server")
    thread.start()
    try:
        yield served
    finally:
        ended.set()
        server.shutdown()
        thread.join(10)
        server.server_close()
