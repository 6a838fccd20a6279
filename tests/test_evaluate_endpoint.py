"""A judge behind an address, over real HTTP: one that is slow, refuses, writes nonsense, and at last judges."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from models.errors import ModelError
from models.language import LanguageModel, Message
from offline_tools.evaluate.chosen_models import Chosen, chosen, opened
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.evaluation import Tools, evaluate
from offline_tools.evaluate.options import parse
from tests.evaluated import TEXT, Bench, locomo_file, reply, sample
from tests.scripted_language import ScriptedLanguage

MODEL = "qwen2.5-coder-0.5b"


class Server:
    """Answers chat completions with what `says` makes of the request."""

    def __init__(self) -> None:
        self.says: Callable[[dict[str, Any]], tuple[int, str]] = lambda body: (200, "yes")
        self.requests: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                status, text = outer.says(body)
                told = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
                try:
                    self.send_response(status)
                    self.end_headers()
                    self.wfile.write(json.dumps(told).encode())
                except OSError:
                    pass  # whoever asked has gone

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="judge")
        self._thread.start()
        self.choice = f"http://127.0.0.1:{self._http.server_port}/v1#strict-judge"

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join(10)
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


def run(folder: Path, server: Server, *more: str) -> int:
    """The model that answers is scripted, the judge is opened as the command does it."""
    scripted = Bench(folder, {MODEL: ScriptedLanguage(reply, name=MODEL)})

    def open_it(model: Chosen, limit_s: float) -> AbstractContextManager[LanguageModel | None]:
        if model.choice == MODEL:
            return scripted.tools().opened(model, limit_s)
        return opened(model, 4096, 1, limit_s)

    given = ["locomo", "--file", str(folder / "locomo.json"), "--model", MODEL, "--judge", server.choice]
    options = parse([*given, "--out", str(folder / "runs"), "--quiet", *more])
    return evaluate(options, Tools(lambda: TEXT, open_it, "abc1234", clock=lambda: 0.0))


def test_a_judge_at_an_address_is_asked_again_until_all_is_judged(tmp_path: Path, server: Server) -> None:
    locomo_file(tmp_path)
    bench = Bench(tmp_path, {})

    def slow(body: dict[str, Any]) -> tuple[int, str]:
        time.sleep(1.0)
        return 200, "yes"

    server.says = slow
    assert run(tmp_path, server, "--judge-timeout-s", "0.2", "--judge-attempts", "1") == 3
    figures = bench.result()["figures"]
    assert figures["answered"] == 6 and figures["not_judged"] == 4
    reasons = [row["reason"] for row in bench.rows("verdicts.jsonl") if row["by"] == "model"]
    assert len(reasons) == 3 and all("no answer in 0.2 s" in reason for reason in reasons)
    server.requests.clear()
    server.says = lambda body: (400, "no such model")
    assert run(tmp_path, server) == 3
    assert len(server.requests) == 3, "what is refused is not asked three times, and after three nothing is"
    server.says = lambda body: (200, "Let me think about it.")
    assert run(tmp_path, server) == 3 and bench.result()["figures"]["not_judged"] == 4
    server.says = lambda body: (200, "<think>The words agree.</think>\n**Yes**, they agree.")
    assert run(tmp_path, server) == 0
    assert bench.result()["figures"]["right"]["mean"] == 1.0
    server.requests.clear()
    assert run(tmp_path, server) == 0 and server.requests == [], "what is judged is not judged again"


def test_several_at_once_come_to_what_one_after_the_other_does(tmp_path: Path, server: Server) -> None:
    documents = [sample(f"talk-{number}", ("boiler", "wardrobe")[number % 2]) for number in range(6)]
    (tmp_path / "locomo.json").write_text(json.dumps(documents), encoding="utf-8")
    running, most = [0], [0]
    guard = threading.Lock()

    def says(body: dict[str, Any]) -> tuple[int, str]:
        with guard:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        told = reply([Message(one["role"], one["content"]) for one in body["messages"]])
        with guard:
            running[0] -= 1
        return (500, "") if isinstance(told, ModelError) else (200, told)

    server.says = says
    bench = Bench(tmp_path, {})
    given = ["--methods", "one_shot", "--model", server.choice]
    assert run(tmp_path, server, *given) == 0 and most[0] == 1
    one_by_one, rows = bench.result(), bench.rows("answers.jsonl")
    shutil.rmtree(tmp_path / "runs")
    assert run(tmp_path, server, *given, "--parallel", "4") == 0 and 2 <= most[0] <= 4
    for result in (found := bench.result(), one_by_one):
        del result["figures"]["cost"]
    assert found == one_by_one and len(rows) == 18
    texts = [
        {row["id"]: row["answered"]["text"] for row in some} for some in (rows, bench.rows("answers.jsonl"))
    ]
    assert texts[0] == texts[1]


def test_a_model_that_fails_stops_all_threads(tmp_path: Path, server: Server) -> None:
    (tmp_path / "locomo.json").write_text(
        json.dumps([sample(f"talk-{number}", "boiler") for number in range(30)]), encoding="utf-8"
    )
    server.says = lambda body: (401, "who are you?")
    with pytest.raises(EvaluateError, match=r"the model failed 3 times in a row.*key is missing or wrong"):
        run(tmp_path, server, "--methods", "one_shot", "--model", server.choice, "--parallel", "3")
    assert len(server.requests) < 30


def test_the_record_names_the_address_and_never_the_key(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    locomo_file(tmp_path)
    assert run(tmp_path, server) == 0
    judge = Bench(tmp_path, {}).result()["judge"]
    assert judge["name"] == "strict-judge" and judge["endpoint"] == server.choice.partition("#")[0]
    written = [path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert len(written) == 4 and not any(b"sk-secret" in data for data in written)


def test_choices_say_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    file = chosen(f"{tmp_path}/tiny.gguf,{tmp_path}/mmproj.gguf", 2048)
    assert file.name == "tiny" and file.holds_grammar and file.about["context_tokens"] == 2048
    assert file.about["sha256"] == hashlib.sha256(b"GGUF").hexdigest()
    assert not chosen("https://example.org/v1#m", 2048).holds_grammar
    default = chosen("installed", 4096)
    assert default.about["sha256"] and default.name
