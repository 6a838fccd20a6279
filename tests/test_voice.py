"""The robot's voice: sentences, what is made while something is played, falling silent, and what fails."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.media import DriverError
from models.errors import ModelError
from runtime.voice import Said, Voice, split_sentences, spoken_pieces
from runtime.workers import Worker
from tests.fake_devices import wait_until


class Letters:
    """Synthesizes a sample a letter; logs when."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def synthesize(self, text: str) -> tuple[NDArray[np.float32], int]:
        self._log.append(f"make {text}")
        if "unspeakable" in text:
            raise ModelError("nothing can be spoken")
        return np.full(len(text), 0.5, dtype=np.float32), 1000


class Box:
    """A loudspeaker whose sounds last until they are let go or stopped."""

    def __init__(self, log: list[str]) -> None:
        self._log = log
        self.go = threading.Event()
        self.go.set()
        self.broken = False

    def play(self, samples: NDArray[np.float32], sample_rate_hz: int) -> None:
        if self.broken:
            raise DriverError("speaker default: cannot play")
        self._log.append(f"play {len(samples)}")
        assert self.go.wait(10)
        self._log.append(f"end {len(samples)}")

    def stop(self) -> None:
        self._log.append("stop")
        self.go.set()


class Rig:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.box = Box(self.log)
        self.workers = [Worker("synthesis"), Worker("playing")]
        self.voice = Voice(
            {"en": Letters(self.log).synthesize, "zh": Letters(self.log).synthesize}, self.box,
            synthesis=self.workers[0], playing=self.workers[1], clock=time.monotonic,
        )  # fmt: skip

    async def logged(self, entry: str) -> None:
        await asyncio.to_thread(wait_until, lambda: entry in self.log)


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.box.go.set()
    for worker in rig.workers:
        worker.close()


def test_the_next_sentence_is_made_while_one_is_played(rig: Rig) -> None:
    rig.box.go.clear()

    async def scenario() -> Said:
        saying = asyncio.create_task(rig.voice.say("One. Two two. Three three three.", "en"))
        await rig.logged("make Two two.")
        assert rig.voice.speaking and rig.log[:2] == ["make One.", "play 4"] and "end 4" not in rig.log
        rig.box.go.set()
        return await asyncio.wait_for(saying, 10)

    said = asyncio.run(scenario())
    assert (said.sentences, said.of) == (3, 3) and said.first_sound_s is not None
    assert [entry for entry in rig.log if entry.startswith("play")] == ["play 4", "play 8", "play 18"]
    assert not rig.voice.speaking


def test_it_falls_silent_in_the_middle(rig: Rig) -> None:
    rig.box.go.clear()

    async def scenario() -> Said:
        saying = asyncio.create_task(rig.voice.say("One. Two. Three.", "en"))
        await rig.logged("play 4")
        rig.voice.stop()
        return await asyncio.wait_for(saying, 10)

    said = asyncio.run(scenario())
    assert said.sentences == 0 and said.of == 3
    assert [entry for entry in rig.log if entry.startswith("play")] == ["play 4"]
    rig.voice.stop()
    assert rig.log.count("stop") == 1, "nothing is said, so nothing is stopped"
    assert asyncio.run(rig.voice.say("Again.", "en")).sentences == 1


def test_nothing_to_say_and_what_cannot_be_said(rig: Rig) -> None:
    assert asyncio.run(rig.voice.say(" … ?! ", "en")) == Said(0, 0, None)
    with pytest.raises(ModelError):
        asyncio.run(rig.voice.say("unspeakable.", "en"))
    rig.box.broken = True
    with pytest.raises(DriverError):
        asyncio.run(rig.voice.say("One.", "fr"))
    assert not rig.voice.speaking


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Anna put the keys on the shelf.", ["Anna put the keys on the shelf."]),
        ('Anna said: "Hello." Then she left!', ['Anna said: "Hello."', "Then she left!"]),
        ("It was 3.5 metres. Yes?", ["It was 3.5 metres.", "Yes?"]),
        ("今天12:04，Anna说：“你好。”然后她走了。", ["今天12:04，Anna说：“你好。”", "然后她走了。"]),
        ("", []),
        ("...", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (
            'Today at 15:10, Anna says: "Hello." Good.',
            ["Today at 15:10,", 'Anna says: "Hello."', "Good."],
        ),
        ("I do not know.", ["I do not know."]),
        ("Yes, Anna was here today.", ["Yes, Anna was here today."]),
        ("It was at 15:10 that Anna came home.", ["It was at 15:10 that Anna came home."]),
        ("Anna, Ben and Carl were here today.", ["Anna, Ben and Carl were here today."]),
        ("In the kitchen it was, yes.", ["In the kitchen it was, yes."]),
        (
            "今天下午三点十分，Anna说她把钥匙放在厨房里。",
            ["今天下午三点十分，", "Anna说她把钥匙放在厨房里。"],
        ),
        ("", []),
    ],
)
def test_the_first_clause_is_spoken_by_itself_where_it_lasts(text: str, pieces: list[str]) -> None:
    assert spoken_pieces(text) == pieces
