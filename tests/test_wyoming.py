"""The Wyoming server over real sockets: what it does for its peers, and what bad peers cannot do to it."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from wyoming.asr import Transcript
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping
from wyoming.tts import Synthesize

from memory_store.records import Person
from models.manifest import Manifest
from runtime.compose import Parts
from runtime.config import Settings
from runtime.config_talking import VoiceSettings, WyomingSettings, peer_of
from runtime.privacy import audience_of
from runtime.wyoming_connection import LONGEST_SPEECH_S
from runtime.wyoming_info import wyoming_info
from runtime.wyoming_server import MOST_CONNECTIONS
from runtime.wyoming_sound import SoundCollector, sound_chunks, sound_start, sound_stop
from runtime.wyoming_wire import MOST_HEADER_BYTES, MOST_PAYLOAD_BYTES, PeerConnection, PeerGone, encoded
from tests.fake_devices import wait_until
from tests.wyoming_served import RATE, Served, sound, speak


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as served:
        yield served


def _peer(served: Served) -> PeerConnection:
    return PeerConnection(served.host, served.port, connect_s=5, deadline_s=10)


def _say(peer: PeerConnection, number: int, rate_hz: int = RATE) -> Event:
    peer.send(sound_start(rate_hz))
    for chunk in sound_chunks(sound(number, rate_hz=rate_hz), rate_hz):
        peer.send(chunk)
    peer.send(sound_stop())
    return peer.receive()


def test_it_describes_itself_answers_pings_and_leaves_what_it_does_not_know(served: Served) -> None:
    with _peer(served) as peer:
        peer.send(Event("run-satellite", {"x": 1}, b"payload"))
        peer.send(Describe().event())
        assert Info.from_event(peer.receive()) == Info()
        peer.send(Ping("hello").event())
        assert peer.receive() == Event("pong", {"text": "hello"})
    info = wyoming_info(Parts(Settings(), Manifest.load()))
    assert Info.from_event(info.event()) == info
    assert info.asr[0].models[0].languages == ["en", "zh"] and info.handle[0].installed
    assert [voice.languages for voice in info.tts[0].voices] == [["en"], ["zh"]]


@pytest.mark.parametrize("rate_hz", [16000, 44100])
def test_speech_is_recognised(served: Served, rate_hz: int) -> None:
    with _peer(served) as peer:
        assert _say(peer, 1, rate_hz).data == {"text": "Who was here?", "language": "en"}
        assert _say(peer, 2, rate_hz).data == {"text": "谁来过？", "language": "zh"}
        assert _say(peer, 0, rate_hz).data["text"] == ""


def test_a_text_is_spoken_sentence_by_sentence(served: Served) -> None:
    collected = SoundCollector(60)
    with _peer(served) as peer:
        peer.send(Synthesize("One. Two.").event())
        assert peer.receive().data["rate"] == 22050
        while (event := peer.receive()).type == "audio-chunk":
            collected.add(event)
        assert event.type == "audio-stop"
        peer.send(Synthesize("unspeakable").event())
        assert peer.receive() == Event("error", {"text": "nothing in it can be spoken"})
        peer.send(Synthesize("…").event())
        assert "holds nothing" in peer.receive().data["text"]
    one, pause = speak("One.")[0], np.zeros(round(0.25 * 22050), dtype=np.float32)
    np.testing.assert_allclose(collected.whole(), np.concatenate([one, pause, one]), atol=1e-4)


def test_a_question_is_answered_and_only_a_voice_proves_who_asks(served: Served) -> None:
    served.asked.clear()
    with _peer(served) as peer:
        for text in ("Who was here?", "refuse this"):
            peer.send(Transcript(text, context={"conversation_id": "kitchen"}).event())
        handled, refused = peer.receive(), peer.receive()
        assert handled == Event(
            "handled", {"text": "to Who was here?", "context": {"conversation_id": "kitchen"}}
        )
        assert refused.type == "not-handled" and refused.data["text"] == "nothing can be asked with it"
        _say(peer, 1)
        for _ in range(2):
            peer.send(Transcript("Who was here?").event())
            peer.receive()
        _say(peer, 1)
        peer.send(Transcript("What is the wifi password?").event())
        peer.receive()
        _say(peer, 2)
        peer.send(Transcript("谁来过？").event())
        peer.receive()
    assert [asked.asker for asked in served.asked] == [None, None, 7, None, None, None]
    assert all(asked.spoken for asked in served.asked), "text over Wyoming may be anybody's voice"
    conversations = [asked.conversation for asked in served.asked]
    assert conversations[0] == "wyoming 'kitchen'" and len(set(conversations[2:])) == 1
    for asked in served.asked[:2]:
        assert _scope(asked.asker) == "none"


def _scope(asker: int | None) -> str:
    assert asker is None
    nobody: Person | None = None
    return audience_of(Settings().privacy, nobody, lambda _asker, nodes: nodes, spoken=True).scope


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: robot\r\n\r\n",
        b"\x00\xff\xfe" * 100 + b"\n",
        b"[1, 2]\n",
        b"null\n",
        b'{"data": {}}\n',
        b'{"type": 5}\n',
        b'{"type": "ping", "data": [1]}\n',
        b'{"type": "ping", "data_length": 3}\n[1]',
        b'{"type": "ping", "data_length": 3}\n{{{',
        b'{"type": "ping", "data_length": -1}\n',
        b'{"type": "ping", "data_length": "9"}\n',
        b'{"type": "audio-chunk", "payload_length": 99999999999999}\n',
        b'{"type": "audio-chunk", "payload_length": 1.5}\n',
        b"[" * 60_000 + b"\n",
        b"x" * (MOST_HEADER_BYTES + 10),
        b'{"type": "transcript", "data": {"text": 5}}\n',
        b'{"type": "transcript"}\n',
        encoded(Transcript("x" * 6000).event()),
        b'{"type": "synthesize", "data": {"text": null}}\n',
        b'{"type": "audio-chunk", "data": {"rate": 0, "width": 2, "channels": 1}}\n',
        b'{"type": "audio-chunk", "data": {"rate": 16000, "width": 1, "channels": 1}}\n',
        b'{"type": "audio-chunk", "data": {"rate": 16000, "width": 2, "channels": 0}}\n',
        b'{"type": "audio-chunk", "data": {"rate": 16000, "width": 2, "channels": 2}, "payload_length": 2}\nxx',
    ],
)  # fmt: skip
def test_what_is_no_wyoming_is_told_so_and_left(served: Served, sent: bytes) -> None:
    with socket.create_connection((served.host, served.port), timeout=10) as peer:
        peer.sendall(sent)
        answer = b"".join(iter(lambda: peer.recv(65536), b""))
    assert json.loads(answer.splitlines()[0])["type"] == "error"
    _still_serves(served)


def _still_serves(served: Served) -> None:
    with _peer(served) as peer:
        peer.send(Ping("still").event())
        assert peer.receive().data == {"text": "still"}


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b'{"type": "audio-st',
        b'{"type": "audio-chunk", "payload_length": 100}\nhalf',
        encoded(Synthesize("A long sentence. " * 200).event()),
        encoded(Transcript("Who was here?").event()),
    ],
)
def test_a_peer_that_leaves_in_the_middle_costs_nothing(served: Served, sent: bytes) -> None:
    with socket.create_connection((served.host, served.port), timeout=10) as peer:
        peer.sendall(sent)
    wait_until(lambda: served.state()["connected"] == 0)
    _still_serves(served)


def test_a_peer_that_stops_within_a_message_is_left_after_a_while() -> None:
    with (
        Served(idle_s=0.2) as served,
        socket.create_connection((served.host, served.port), timeout=10) as peer,
    ):
        peer.sendall(b'{"type": "audio-chunk", "payload_length": 100}\nhalf')
        assert peer.recv(10) == b""
        assert served.state()["connected"] == 0 and served.state()["address"].startswith("tcp://127.0.0.1:")


def test_endless_speech_is_refused(served: Served) -> None:
    piece = next(sound_chunks(np.zeros(RATE, dtype=np.float32), RATE))
    minute = Event(piece.type, piece.data, bytes(MOST_PAYLOAD_BYTES))
    with _peer(served) as peer:
        peer.send(minute)
        assert f"more than {LONGEST_SPEECH_S:g} s" in peer.receive().data["text"]
        with pytest.raises(PeerGone):
            peer.receive()


def test_twenty_at_once_are_served_and_too_many_are_refused(served: Served) -> None:
    def ask(number: int) -> str:
        with _peer(served) as peer:
            assert _say(peer, 1).data["text"] == "Who was here?"
            peer.send(Transcript(f"question {number}").event())
            return str(peer.receive().data["text"])

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(20)))
    told = [answer == f"to question {number}" for number, answer in enumerate(answers)]
    assert sum(told) >= 8 and all(
        "other questions" in answer for answer, so in zip(answers, told, strict=True) if not so
    )
    wait_until(lambda: served.state()["connected"] == 0)
    peers = [_peer(served) for _ in range(MOST_CONNECTIONS)]
    wait_until(lambda: served.state()["connected"] == MOST_CONNECTIONS)
    with _peer(served) as late:
        assert "connected already" in late.receive().data["text"]
    for peer in peers:
        peer.__exit__()
    wait_until(lambda: served.state()["connected"] == 0)


def test_a_stop_ends_open_connections() -> None:
    with Served() as served:
        peer = socket.create_connection((served.host, served.port), timeout=10)
        wait_until(lambda: served.state()["connected"] == 1)
    assert peer.recv(10) == b""
    peer.close()


def test_beyond_this_machine_only_on_purpose(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValidationError, match="no authentication"):
        WyomingSettings(host="0.0.0.0")
    assert WyomingSettings(host="0.0.0.0", trusted_network=True).host == "0.0.0.0"
    assert WyomingSettings().host == "127.0.0.1" and not WyomingSettings().enabled
    with caplog.at_level(logging.WARNING), Served():
        assert not caplog.records


@pytest.mark.parametrize(
    "address", ["tcp://here:5", "wyoming://here", "wyoming://:5", "wyoming://h:99999", "h:5", ""]
)
def test_addresses(address: str) -> None:
    assert peer_of("wyoming://192.168.1.5:10300") == ("192.168.1.5", 10300)
    with pytest.raises(ValueError):
        peer_of(address)
    with pytest.raises(ValidationError):
        VoiceSettings(recognizer=address)
