"""The HTTP API: what it answers, follows and refuses; real sockets, a scripted answerer."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from memory_store.errors import UnknownId
from runtime.answer import Answer, Round
from runtime.answering import AnsweringService, Asked
from runtime.api import Api, ApiUnavailable, Reads
from runtime.api_address import ApiAddress, Reachable, read_address
from runtime.api_client import DaemonClient, DaemonRefused, running_daemon
from runtime.config_talking import ApiSettings
from runtime.errors import HearsightError
from runtime.workers import Worker
from tests.answers import plain_answer

TOKEN = "a token of some length"
ROUND = Round(
    1, "search", "because", "keys", (), "", "", (), None, "the prompt", "[Search] keys", 10, 0, 5, 0.1
)


def _answer(asked: Asked) -> Answer:
    if asked.text == "unknown":
        raise HearsightError("nothing can be asked with it")
    if asked.on_round is not None:
        asked.on_round(ROUND)
    media = asked.picture or asked.sound
    more = f" {len(media)} bytes" if media else ""
    return plain_answer(f"{asked.text} ({asked.conversation}, {asked.asker}){more}")


class Served:
    """An API that runs on a loop of its own."""

    def __init__(self, settings: ApiSettings, data_dir: Path, *, told_in_writing: bool = True) -> None:
        self._data_dir = data_dir
        self._told = told_in_writing
        self._settings = settings
        self._ready = threading.Event()
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(10)
        if self._fault is not None:
            self._thread.join()
            raise self._fault

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        worker, address = Worker("answer"), ApiAddress(self._data_dir, self._settings)
        answering = AnsweringService(_answer, worker, most_waiting=8)

        async def trace(number: int) -> dict[str, Any]:
            if number != 1:
                raise UnknownId(f"no trace {number}")
            return {"id": 1}

        async def status() -> dict[str, Any]:
            return {"data_dir": str(self._data_dir.resolve()), "robot": "Hearsight"}

        async def picture(number: int) -> bytes:
            if number != 7:
                raise UnknownId(f"no picture {number}")
            return b"a picture"

        def listening(url: str) -> None:
            self.url = url
            address.write(url)
            self._ready.set()

        self.api = Api(
            self._settings, answering, Reads(trace, picture, status, self._told), on_listening=listening
        )
        self._answering = answering
        try:
            await asyncio.gather(self.api.run(), answering.run())
        except HearsightError as error:
            self._fault = error
            self._ready.set()
        finally:
            worker.close()
            address.remove()

    def close(self) -> None:
        def stop() -> None:
            self._answering.stop()
            self.api.stop()

        self._loop.call_soon_threadsafe(stop)
        self._thread.join(10)
        assert not self._thread.is_alive()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(ApiSettings(port=0), tmp_path)
    yield one
    one.close()


def _call(
    url: str, body: object = None, *, raw: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    async def call() -> tuple[int, str]:
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        method = "GET" if data is None else "POST"
        sent = {"Content-Type": "application/json", **(headers or {})}
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10)) as session,
            session.request(method, url, data=None if data is None else BytesIO(data), headers=sent) as reply,
        ):
            return reply.status, await reply.text()

    return asyncio.run(call())


def test_a_question_is_answered_with_its_evidence(served: Served) -> None:
    status, text = _call(f"{served.url}/v1/ask", {"question": "Where?", "conversation": "c", "asker": 4})
    found = json.loads(text)
    assert status == 200 and found["answer"] == "Where? (c, 4)"
    assert found["evidence"][0] == {
        "id": 7, "clip": 1, "start": "1970-01-01T00:00:00.000+00:00", "end": "1970-01-01T00:00:05.000+00:00",
        "text": "Anna says: hm", "score": 0.5,
    }  # fmt: skip


def test_an_answer_is_followed_round_by_round(served: Served) -> None:
    status, text = _call(f"{served.url}/v1/ask", {"question": "Where?", "stream": True})
    events = [part.split("\n") for part in text.strip().split("\n\n")]
    assert status == 200 and [event for event, _ in events] == ["event: round", "event: answer"]
    assert json.loads(events[0][1].removeprefix("data: "))["content"] == "keys"
    assert json.loads(events[1][1].removeprefix("data: "))["answer"].startswith("Where?")
    _, text = _call(f"{served.url}/v1/ask", {"question": "unknown", "stream": True})
    assert text == 'event: error\ndata: {"error": "nothing can be asked with it"}\n\n'


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "no JSON"), (b"{", "no JSON"), (b"\xff\xfe", "no JSON"), (b"[" * 100_000, "no JSON"),
        (b"[]", "no JSON object"), (b"null", "no JSON object"), (b"{}", "question is missing"),
        (b'{"question": ""}', "question is missing"), (b'{"question": 4}', "question must be of type str"),
        (b'{"question": "x", "asker": true}', "asker must be of type int"),
        (b'{"question": "x", "qestion": 1}', "unknown key 'qestion'"),
        (b'{"question": "unknown"}', "nothing can be asked with it"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_request_is_said(served: Served, raw: bytes, said: str) -> None:
    status, text = _call(f"{served.url}/v1/ask", raw=raw)
    assert status == 400 and said in json.loads(text)["error"]
    assert _call(f"{served.url}/v1/ask", {"question": "still there?"})[0] == 200


def test_too_large_a_request_and_unknown_addresses(served: Served) -> None:
    status, text = _call(f"{served.url}/v1/ask", raw=b" " * 15_000_000)
    assert status == 413 and "too large: at most" in text
    assert _call(f"{served.url}/v1/trace/1") == (200, '{"id": 1}')
    assert _call(f"{served.url}/v1/trace/2") == (404, '{"error": "no trace 2"}')
    assert _call(f"{served.url}/v1/trace/{10**17}")[0] == 404
    assert _call(f"{served.url}/v2/ask")[0] == 404
    assert _call(f"{served.url}/v1/ask")[0] == 405


def test_pictures_come_and_go(served: Served, tmp_path: Path) -> None:
    data = base64.b64encode(b"\xff" * 400_000).decode()
    status, text = _call(f"{served.url}/v1/ask", {"question": "Who is this?", "picture": data})
    assert status == 200 and json.loads(text)["answer"] == "Who is this? (None, None) 400000 bytes"
    client = running_daemon(tmp_path)
    assert client is not None
    assert client.ask(Asked("Who?", sound=b"12345"), 10)["answer"] == "Who? (None, None) 5 bytes"
    assert "in base64" in _call(f"{served.url}/v1/ask", {"question": "x", "picture": "no!"})[1]
    assert _call(f"{served.url}/v1/picture/8") == (404, '{"error": "no picture 8"}')
    assert _call(f"{served.url}/v1/picture/7")[0] == 200


def test_where_nothing_is_told_in_writing_no_trace_or_picture_is_shown(tmp_path: Path) -> None:
    served = Served(ApiSettings(port=0), tmp_path, told_in_writing=False)
    try:
        for what in ("trace/1", "picture/7"):
            status, text = _call(f"{served.url}/v1/{what}")
            assert status == 403 and "privacy.typed" in text
    finally:
        served.close()


def test_push_to_talk_reaches_the_ears_where_there_are_any(served: Served, tmp_path: Path) -> None:
    client = running_daemon(tmp_path)
    assert client is not None
    with pytest.raises(DaemonRefused, match=r"voice\.enabled is false"):
        client.listen()
    pushed: list[int] = []
    served.api.on_listen = lambda: pushed.append(1)
    client.listen()
    assert pushed == [1]


def test_pages_of_other_sites_can_ask_nothing(served: Served) -> None:
    question = {"question": "Where?"}
    url = f"{served.url}/v1/ask"
    assert _call(url, question, headers={"Origin": "http://evil.example"})[0] == 403
    assert _call(url, question, headers={"Content-Type": "text/plain"})[0] == 415
    for host in ("evil.example:8465", "evil.example", "127.0.0.1.evil.example", "8.8.8.8:80", ""):
        assert _call(url, question, headers={"Host": host})[0] in (400, 403), host
    port = served.url.rpartition(":")[2]
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", "[::1]:80", "[::1]", "localhost"):
        assert _call(url, question, headers={"Host": host})[0] == 200, host
    assert _call(url, question, headers={"Origin": served.url})[0] == 200


def test_the_page_is_served_and_asks_only_its_own_robot(served: Served) -> None:
    status, text = _call(f"{served.url}/")
    assert status == 200 and "<title>Hearsight</title>" in text and "http" not in text.split("<style>")[0]


def test_with_a_token_nothing_is_told_without_it(tmp_path: Path) -> None:
    served = Served(ApiSettings(port=0, token=TOKEN), tmp_path)
    try:
        for given in ("", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            headers = {"Authorization": given} if given else {}
            assert _call(f"{served.url}/v1/status", headers=headers)[0] == 401
            assert _call(f"{served.url}/v1/ask", {"question": "x"}, headers=headers)[0] == 401
        assert _call(f"{served.url}/v1/status", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
        client = running_daemon(tmp_path)
        assert client is not None and client.ask(Asked("Where?"), 10)["answer"] == "Where? (None, None)"
    finally:
        served.close()


def test_an_address_that_is_taken_is_named(served: Served, tmp_path: Path) -> None:
    port = int(served.url.rpartition(":")[2])
    with pytest.raises(ApiUnavailable, match=rf"cannot listen on 127\.0\.0\.1:{port}.*api\.port"):
        Served(ApiSettings(port=port), tmp_path / "other")


def test_the_running_daemon_is_found_by_its_directory(served: Served, tmp_path: Path) -> None:
    assert (tmp_path / "api.json").stat().st_mode & 0o077 == 0
    client = running_daemon(tmp_path)
    assert (
        client is not None
        and client.ask(Asked("Where?", conversation="c"), 10)["answer"] == "Where? (c, None)"
    )
    with pytest.raises(DaemonRefused, match="nothing can be asked with it"):
        client.ask(Asked("unknown"), 10)
    moved = tmp_path / "moved"
    moved.mkdir()
    os.link(tmp_path / "api.json", moved / "api.json")
    assert running_daemon(moved) is None, "the address of another directory's daemon"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": "http://127.0.0.1:1", "token": null}', "\0"])
def test_an_address_that_leads_nowhere_is_no_daemon(tmp_path: Path, text: str) -> None:
    assert running_daemon(tmp_path) is None
    (tmp_path / "api.json").write_text(text)
    assert read_address(tmp_path) is None and running_daemon(tmp_path) is None


def test_nobody_listens_any_more(served: Served, tmp_path: Path) -> None:
    reachable = read_address(tmp_path)
    assert reachable is not None
    gone = replace(reachable, url="http://127.0.0.1:9")
    with pytest.raises(OSError):
        DaemonClient(Reachable(gone.url, None, None)).status()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"host": "0.0.0.0"}, "set api.token"), ({"token": "short"}, "at least 16"),
        ({"certificate": "x.pem"}, "belong together"), ({"port": 70000}, "less than or equal"),
    ],
)  # fmt: skip
def test_unsafe_settings_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ApiSettings(**values)
