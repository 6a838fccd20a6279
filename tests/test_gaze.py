"""Being looked at: which frames count, whose face it must be, what reads as a question, and that it reaches the ear."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from drivers.media import AudioBlock, Frame
from drivers.replay import Replay
from memory_store.records import Consent
from memory_store.store import MemoryStore
from models.faces import FaceBox, FaceEmbedder, align_face
from models.manifest import Manifest
from models.voice_activity import ActivityStream
from runtime import compose
from runtime.address import reads_as_question
from runtime.channel import Channel
from runtime.config import CameraSettings, Settings
from runtime.config_talking import VoiceSettings
from runtime.gaze import AFTER_S, BEFORE_S, KEEP_S, LEAST_FRAMES, Looker, RecentFrames, turned_to_the_robot
from runtime.listening import EarService
from runtime.own_speech import OwnSpeech
from runtime.question_ear import QuestionEar, Spoken
from runtime.voice import Voice
from runtime.workers import Worker
from tests.pictures import demo_scene
from tests.test_conversing import Mouth, Talk
from tests.test_question_ear import LoudIsSpeech

RATE = 16000
PICTURE = np.random.default_rng(1).integers(0, 255, (240, 320, 3), dtype=np.uint8)
Found = list[tuple[NDArray[np.uint8], Sequence[FaceBox]]]


def _face(*, nose_x: float = 0.0, nose_down: float = 0.56, roll: float = 0.0) -> FaceBox:
    """Eyes 40 px apart and 40 px above the mouth; nose_x: from the middle, as a share of the half distance."""
    points = np.array(
        [[-20, 0], [20, 0], [20 * nose_x, 40 * nose_down], [-15, 40], [15, 40]], dtype=np.float32
    )
    turn = np.array([[np.cos(roll), np.sin(roll)], [-np.sin(roll), np.cos(roll)]], dtype=np.float32)
    return FaceBox(100, 60, 80, 100, 0.9, points @ turn + np.array([160, 100], dtype=np.float32))


def _frames(*faces: Sequence[FaceBox]) -> Found:
    return [(PICTURE, one) for one in faces]


HERE, AWAY = (_face(),), (_face(nose_x=0.6),)


@pytest.mark.parametrize(
    ("found", "looks"),
    [
        (_frames(*[HERE] * 6), True),
        (_frames(*[(_face(nose_x=-0.2, roll=0.2),)] * 6), True),
        (_frames(*[HERE] * 6, AWAY, AWAY), True),
        (_frames(*[HERE] * 5, AWAY, AWAY), False),
        (_frames(*[HERE] * (LEAST_FRAMES - 1)), False),
        (_frames(*[HERE] * 5, ()), True),
        (_frames(*[()] * 6), False),
        (_frames(*[HERE] * 6, (*HERE, *AWAY)), False),
        (_frames(*[(_face(nose_down=0.75),)] * 6), False),
        (_frames(*[(_face(nose_down=0.35),)] * 6), False),
        (_frames(*[(_face(roll=0.6),)] * 6), False),
        (_frames(), False),
    ],
)
def test_one_face_must_be_turned_here_and_no_other_in_view(found: Found, looks: bool) -> None:
    assert bool(turned_to_the_robot(found, lambda quality: True)) is looks
    assert not turned_to_the_robot(found, lambda quality: False), "too small or blurred"


def test_only_the_newest_frames_are_kept() -> None:
    recent = RecentFrames()
    for number in range(1000):
        recent.see(Frame(number / 5, PICTURE))
    kept = recent.between(0.0, 1000.0)
    assert kept[0].time_s >= kept[-1].time_s - KEEP_S and len(kept) == KEEP_S * 5 + 1
    assert [frame.time_s for frame in recent.between(199.0, 199.3)] == [199.0, 199.2]


@pytest.mark.parametrize(
    "said",
    [
        "Where are my keys?", "So, who was here yesterday?", "Did Anna call?", "Hm. When did Bob leave?",
        "What's on TV?",
        "Tell me what Anna said about the plumber.", "Please remind me when the dentist is", "Can you see my cup?",
        "Hello, who was here today?", "我的钥匙在哪里？", "今天谁来过？", "Anna来过吗？", "告诉我昨天的事",
    ],
)  # fmt: skip
def test_reads_as_a_question(said: str) -> None:
    assert reads_as_question(said)


@pytest.mark.parametrize(
    "said",
    [
        "", "?", "Really?", "You know?", "Right?", "I wonder where my keys are.", "What a day!",
        "When I came home, it rained.",
        "Where are my keys? Ah, here they are.", "Is it?", "My name is Anna and I am a teacher.",
        "How nice.", "我回来了。", "好的",
    ],
)  # fmt: skip
def test_reads_as_no_question(said: str) -> None:
    assert not reads_as_question(said)


async def _look(
    frames: Sequence[Frame], directory: Path, consent: Consent | None, enrolled: Frame
) -> tuple[int | None, int | None]:
    """Whom the Looker finds in frames, and the id of whoever is in `enrolled`, once they are known with a consent."""
    parts = compose.Parts(Settings(data_dir=directory), Manifest.load())
    faces = parts.entry("face_embedding")
    detector, embedder = compose.face_detector(parts), FaceEmbedder(parts.directory(faces))
    worker = Worker("answering")

    def remembered(store: MemoryStore) -> int | None:
        if consent is None:
            return None
        (box,) = detector.detect(enrolled.image)
        vector = embedder.embed([align_face(enrolled.image, box.landmarks)])[0]
        with store.transaction():
            person = store.create_person()
            clip = store.add_clip(source_key="day", source_name="day", start_utc_s=1.0, end_utc_s=2.0)
            node = store.add_node("face", "", clip_id=clip, start_utc_s=1.0, end_utc_s=2.0)
            store.add_exemplar(node, "face", vector, quality=1.0, clip_id=clip)
            store.bind(person, node)
            store.set_consent(person, consent)
        return person

    try:
        store = await worker.call(compose.open_store, parts)
        person = await worker.call(remembered, store)
        rule = compose.face_rule(faces)
        looker = Looker(detector, embedder, rule, store, seeing=worker, answering=worker)
        found = await looker.of(frames)
        await worker.call(store.close)
    finally:
        worker.close()
    return found, person


def test_only_a_known_resident_counts(tmp_path: Path) -> None:
    def frames(start_s: float) -> list[Frame]:
        """A second and a half of the demo scene."""
        items = Replay(demo_scene(), frame_rate_hz=5.0).items(start_s)
        seen = (item for item in items if isinstance(item, Frame))
        return list(itertools.takewhile(lambda frame: frame.time_s <= start_s + 1.5, seen))

    def look(seen: list[Frame], consent: Consent | None) -> bool:
        directory = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        found, person = asyncio.run(_look(seen, directory, consent, alone[0]))
        assert found in (None, person)
        return found is not None

    alone, another, together = frames(5.0), frames(18.0), frames(45.0)
    assert look(alone, "resident") and not look(alone, "guest") and not look(alone, None)
    assert not look(another, "resident") and not look(together, "resident")


@pytest.mark.parametrize("length_s", [0.5, 6.0])
def test_what_was_seen_while_speech_began_reaches_the_reply(length_s: float) -> None:
    sound: Channel[AudioBlock] = Channel("overheard", 1)
    speech: Channel[Spoken] = Channel("spoken", 5)
    worker, recent = Worker("ear"), RecentFrames()
    ear = QuestionEar(cast(ActivityStream, LoudIsSpeech()), end_silence_s=0.8, longest_s=15.0)
    service = EarService(
        sound, speech, ear, OwnSpeech(), cast(Voice, Mouth()), worker, lambda: 0.0, None, recent
    )

    async def scenario() -> Spoken:
        async with asyncio.timeout(10):
            running = asyncio.ensure_future(service.run())
            for number in range(round((7 + length_s) * 10)):
                time_s = number / 10
                if number % 2 == 0:
                    recent.see(Frame(time_s, PICTURE))
                loud = 0.9 if 5.0 <= time_s < 5.0 + length_s else 0.0
                await sound.put(AudioBlock(time_s, np.full(RATE // 10, loud, dtype=np.float32)))
            await sound.close()
            await running
            (spoken,) = [one async for one in speech if not one.draft]
            return spoken

    try:
        spoken = asyncio.run(scenario())
    finally:
        worker.close()
    times = [frame.time_s for frame in spoken.frames]
    assert len(times) >= LEAST_FRAMES
    assert times[0] >= 5.0 - BEFORE_S - 0.35 and times[-1] <= 5.0 + AFTER_S + 0.05


@pytest.mark.parametrize(
    ("looks", "addressed"),
    [(None, []), (4, ["Who was here?"]), (5, [])],
    ids=["nobody", "who speaks", "another"],
)
def test_a_question_of_whoever_looks_is_answered(looks: int | None, addressed: list[str]) -> None:
    seen: list[Sequence[Frame]] = []

    async def looking(frames: Sequence[Frame]) -> int | None:
        seen.append(frames)
        return looks

    talk = Talk(looking=looking, addressed_by=("look",), follow_up_s=0.0)
    talk.hear((1.0, "I had a long day."), (5.0, "Who was here?"), (9.0, "Really?"))
    assert talk.questions == addressed and len(seen) == 1, "frames are looked into for questions alone"


def test_looking_needs_the_camera() -> None:
    voice = VoiceSettings(addressed_by=("look",))
    assert Settings(voice=voice).voice.addressed_by == ("look",)
    with pytest.raises(ValidationError, match="needs the camera"):
        Settings(voice=voice, camera=CameraSettings(enabled=False))
