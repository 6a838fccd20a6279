"""The chat endpoint: what is sent, and each way in which a server fails, caused by a real one on a local socket."""

import base64
import io
import json
import socket
import time
import wave
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from models.errors import ModelError
from models.language import Completion, LanguageModel, Message
from offline_tools.endpoint import Endpoint, EndpointError, EndpointRefused, Retries
from tests.chat_server import ChatServer, Reply, chat_server, said

QUICK = Retries(more=2, first_wait_s=0.01, longest_wait_s=0.3)
QUESTION = [Message("user", "Who came?")]


def in_turn(replies: Sequence[Reply]) -> Callable[[dict[str, Any]], Reply]:
    """Each reply once, then the last for ever."""
    left = list(replies)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def asked(server: ChatServer, timeout_s: float = 5.0) -> Completion:
    return Endpoint(server.url, "m", retries=QUICK).complete(QUESTION, max_tokens=9, timeout_s=timeout_s)


def test_it_is_a_language_model_and_says_what_the_server_said() -> None:
    with chat_server(in_turn([said("Anna.", "length")])) as server:
        model: LanguageModel = Endpoint(server.url + "/", "m", key="secret", extra={"seed": 3})
        done = model.complete(QUESTION, max_tokens=9, temperature=0.5, stop=["\n"], grammar="root ::= [a-z]")
    assert (done.text, done.finish_reason) == ("Anna.", "length")
    assert (done.prompt_tokens, done.cached_tokens, done.generated_tokens) == (7, 2, 3)
    assert 0 < done.duration_s < 5
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions" and headers["Authorization"] == "Bearer secret"
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Who came?"}],
        "max_tokens": 9,
        "temperature": 0.5,
        "stop": ["\n"],
        "seed": 3,
    }


def test_a_grammar_goes_where_the_server_takes_one() -> None:
    with chat_server(in_turn([said("a")])) as server:
        model = Endpoint(server.url, "m", grammar_field="grammar")
        model.complete(QUESTION, max_tokens=1, grammar="root ::= [a-z]")
    assert server.requests[0][2]["grammar"] == "root ::= [a-z]"


def test_pictures_and_sound_stand_before_the_text() -> None:
    tone = np.array([0.0, 0.5, -0.5, 2.0], np.float32)
    with chat_server(in_turn([said("A cup.")])) as server:
        message = Message("user", "What is it?", images=(b"\xff\xd8jpeg",), audio=(tone,))
        Endpoint(server.url, "m").complete([message], max_tokens=9)
    picture, sound, text = server.requests[0][2]["messages"][0]["content"]
    assert (
        picture["image_url"]["url"] == "data:image/jpeg;base64," + base64.b64encode(b"\xff\xd8jpeg").decode()
    )
    assert text == {"type": "text", "text": "What is it?"} and sound["input_audio"]["format"] == "wav"
    with wave.open(io.BytesIO(base64.b64decode(sound["input_audio"]["data"]))) as file:
        assert (file.getframerate(), file.getnchannels()) == (16000, 1)
        heard = np.frombuffer(file.readframes(9), "<i2")
    assert heard.tolist() == [0, 16383, -16383, 32767]


def test_a_minute_of_sound_is_sent_whole_also_again() -> None:
    noise = np.random.default_rng(1).uniform(-1, 1, 60 * 16000).astype(np.float32)
    with chat_server(in_turn([Reply(500), said("Rain.")])) as server:
        message = Message("user", "What is it?", audio=(noise,))
        Endpoint(server.url, "m", retries=QUICK).complete([message], max_tokens=9)
    sizes = [len(body["messages"][0]["content"][0]["input_audio"]["data"]) for _, _, body in server.requests]
    assert sizes[0] == sizes[1] > 2_500_000 and server.requests[1][1]["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_or_broken_server_is_asked_again(status: int) -> None:
    with chat_server(in_turn([Reply(status, b"busy"), said("Leo.")])) as server:
        assert asked(server).text == "Leo."
    assert len(server.requests) == 2


def test_retries_end_and_the_last_reason_is_named() -> None:
    with (
        chat_server(in_turn([Reply(500, b"out of memory")])) as server,
        pytest.raises(EndpointError, match=r"after 3 tries within 5 s: HTTP 500, 'out of memory'") as found,
    ):
        asked(server)
    assert len(server.requests) == 3 and not isinstance(found.value, EndpointRefused)
    assert server.url in str(found.value) and isinstance(found.value, ModelError)


def test_retry_after_is_waited_for() -> None:
    again = Reply(429, b"slow down", {"Retry-After": "0.25"})
    with chat_server(in_turn([again, said("ok")])) as server:
        began_s = time.monotonic()
        assert asked(server).text == "ok"
    assert time.monotonic() - began_s >= 0.25


@pytest.mark.parametrize("asks", ["3600", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_retry_after_beyond_the_limit_is_cut(asks: str) -> None:
    with chat_server(in_turn([Reply(429, b"", {"Retry-After": asks}), said("ok")])) as server:
        began_s = time.monotonic()
        assert asked(server).text == "ok"
    assert 0.3 <= time.monotonic() - began_s < 3


def test_a_retry_after_that_cannot_be_read_is_left_out() -> None:
    with chat_server(in_turn([Reply(429, b"", {"Retry-After": "soon"}), said("ok")])) as server:
        assert asked(server).text == "ok"


def test_a_wait_that_does_not_fit_into_the_time_is_not_begun() -> None:
    with chat_server(in_turn([Reply(429, b"", {"Retry-After": "0.3"})])) as server:
        began_s = time.monotonic()
        with pytest.raises(EndpointError, match=r"after 1 try within 0\.2 s"):
            asked(server, timeout_s=0.2)
    assert time.monotonic() - began_s < 0.2


def test_silence_ends_at_the_time_limit() -> None:
    with chat_server(in_turn([Reply(wait_s=30)])) as server:
        began_s = time.monotonic()
        with pytest.raises(EndpointError, match=r"no answer in 0\.3 s"):
            asked(server, timeout_s=0.3)
        assert time.monotonic() - began_s < 2


def test_a_reply_that_trickles_ends_at_the_time_limit_too() -> None:
    slow = Reply(body=said("x").body, trickle_s=0.05)
    with chat_server(in_turn([slow])) as server:
        began_s = time.monotonic()
        with pytest.raises(EndpointError, match=r"no answer in 0\.4 s"):
            asked(server, timeout_s=0.4)
        assert time.monotonic() - began_s < 2


@pytest.mark.parametrize(
    "body",
    [
        b"<html>gateway</html>",
        b"",
        b"[]",
        b'{"choices": []}',
        b'{"error": "no"}',
        b"\xff\xfe",
        b"[" * 100_000,
        said(None).body,
        said("x", "content_filter").body,
    ],
)
def test_nonsense_is_asked_again_and_then_named(body: bytes) -> None:
    with chat_server(in_turn([Reply(body=body), said("ok")])) as server:
        assert asked(server).text == "ok"
    with chat_server(in_turn([Reply(body=body)])) as server:
        with pytest.raises(EndpointError, match="is no chat completion"):
            asked(server)
        assert len(server.requests) == 3


def test_a_cut_connection_is_asked_again() -> None:
    cut = Reply(body=b'{"choi', headers={"Content-Length": "500", "Connection": "close"})
    with chat_server(in_turn([cut, said("ok")])) as server:
        assert asked(server).text == "ok"


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(EndpointError, match="is the server running") as found:
        Endpoint(url, "m", retries=QUICK).complete(QUESTION, max_tokens=1, timeout_s=5)
    assert url in str(found.value) and "after 3 tries" in str(found.value)


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "key"), (403, "key"), (404, "no model called m"), (400, "not understood")]
)
def test_a_refusal_is_final_and_shows_no_key(status: int, advice: str) -> None:
    body = json.dumps({"error": {"message": "no such thing"}}).encode()
    with (
        chat_server(in_turn([Reply(status, body)])) as server,
        pytest.raises(EndpointRefused, match=advice) as found,
    ):
        Endpoint(server.url, "m", key="sesame", retries=QUICK).complete(QUESTION, max_tokens=1)
    assert len(server.requests) == 1
    assert "sesame" not in str(found.value) and "no such thing" in str(found.value)


@pytest.mark.parametrize("url", ["localhost:8000/v1", "", "ftp://x/v1", "http://"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(EndpointRefused, match="address"):
        Endpoint(url, "m", retries=QUICK).complete(QUESTION, max_tokens=1, timeout_s=1)


def test_tokens_are_estimated_on_the_high_side() -> None:
    model = Endpoint("http://127.0.0.1:1/v1", "m", context_tokens=999)
    text = model.count_tokens([Message("user", "word " * 100)])
    media = model.count_tokens([Message("user", "", (b"j",), (np.zeros(32000, np.float32),))])
    assert text > 100 and media >= 1050 and model.context_tokens == 999


def test_the_models_that_are_served() -> None:
    listed = Reply(body=b'{"data": [{"id": "a"}, {"id": "b"}]}')
    with chat_server(in_turn([listed])) as server:
        assert Endpoint(server.url, "").served_models() == ["a", "b"]
    assert server.requests[0][0] == "/v1/models"
