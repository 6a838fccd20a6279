"""`hearsight serve` and `hearsight ask` as two processes: found, asked by many at once, stopped and killed."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.answering import Asked
from runtime.api_client import DaemonClient, DaemonRefused, running_daemon
from tests.command_line import ROOT, command, hearsight, refused
from tests.household import open_household

WHO = "Who was here?"


@dataclass
class Server:
    """A running `hearsight serve` and the options that lead to its memory."""

    options: tuple[str | Path, ...]
    data_dir: Path
    process: subprocess.Popen[str]

    def client(self) -> DaemonClient:
        client = running_daemon(self.data_dir)
        assert client is not None
        return client

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    config, data_dir = tmp_path / "robot.yaml", tmp_path / "data"
    config.write_text("api:\n  port: 0\nmodels:\n  language: none\n")
    open_household(data_dir).close()
    options = ("--config", config, "--data-dir", data_dir)
    process = subprocess.Popen(
        command("serve", *options, "--json"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate(timeout=10)
    assert json.loads(line)["serving"].startswith("http://127.0.0.1:")
    yield Server(options, data_dir, process)
    process.kill()
    process.communicate()


def test_ask_goes_to_the_daemon_and_a_conversation_to_its_end(server: Server) -> None:
    answer = hearsight("ask", WHO, *server.options, "--json").json
    assert "Anna" in answer["answer"] and answer["evidence"]
    talk = subprocess.run(
        command("ask", *server.options, "--json"), cwd=ROOT, input=f"{WHO}\n\n!!!\n{WHO}\n", text=True,
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    said = [json.loads(line) for line in talk.stdout.splitlines()]
    assert talk.returncode == 1 and "holds no word" in said[1]["error"]
    assert said[0]["answer"] == said[2]["answer"] == answer["answer"]
    questions = server.client().status()["questions"]
    assert questions["answered"] == 3
    assert "another hearsight run" in refused("serve", *server.options)
    assert server.end(signal.SIGTERM) == 0 and running_daemon(server.data_dir) is None
    assert not (server.data_dir / "api.json").exists()


def test_fifty_at_once_are_answered_or_refused_in_one_sentence(server: Server) -> None:
    client = server.client()

    def ask(number: int) -> str:
        try:
            answer: dict[str, Any] = client.ask(Asked(f"What did Anna say about the keys? {number}"), 60)
            return "answered" if answer["answer"] else "empty"
        except DaemonRefused as error:
            assert "other questions are waiting already" in str(error)
            return "refused"

    with ThreadPoolExecutor(50) as pool:
        outcomes = Counter(pool.map(ask, range(50)))
    assert outcomes["answered"] >= 8 and outcomes["answered"] + outcomes["refused"] == 50
    assert client.status()["questions"]["waiting"] == 0


def test_after_a_kill_ask_reads_the_memory_itself(server: Server) -> None:
    server.end(signal.SIGKILL)
    assert (server.data_dir / "api.json").exists()
    assert "Anna" in hearsight("ask", WHO, *server.options, "--json").json["answer"]
