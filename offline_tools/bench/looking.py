"""Being addressed by a look: how often talk at the camera is taken for a question, and how many questions are heard.

People of a real stream are made residents; they then say what they say there, or, over the same pictures, questions and
statements in a synthesized voice; once more with somebody else in view beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock, Frame
from drivers.replay import Replay
from drivers.resample import Resampler
from memory_store.store import MemoryStore
from models.faces import FaceEmbedder
from models.manifest import Manifest
from models.synthesis import SpeechSynthesizer
from models.voices import Span, VoiceActivity
from offline_tools.bench.measured_process import hearsight, measure
from offline_tools.bench.report import ROOT, media, print_report
from runtime import compose
from runtime.address import reads_as_question
from runtime.channel import Channel
from runtime.compose_hearing import speech_recognizer
from runtime.config import Settings
from runtime.gaze import Looker, RecentFrames
from runtime.hear import SAMPLE_RATE_HZ
from runtime.listening import EarService
from runtime.own_speech import OwnSpeech
from runtime.question_ear import QuestionEar, Spoken
from runtime.voice import Voice
from runtime.workers import Worker

QUESTIONS = (
    "Where are my keys?", "Who was here yesterday?", "What did Bob say about the plumber?", "When did Anna leave?",
    "Did you see my cup?", "Tell me what Anna said about the car.", "How many people were here today?",
    "Where did I put my glasses?", "Is there anything that I should remember?", "Who called this morning?",
)  # fmt: skip
STATEMENTS = (
    "I put my keys on the shelf.", "It was a long day, really.", "What a lovely evening.", "Anna is coming at four.",
    "You know, I like this room.", "I wonder where my keys are.",
)  # fmt: skip
LEAD_S, TAIL_S = 1.5, 1.5
Item = Frame | AudioBlock


class _Silent:
    """Stands for the robot's voice, which says nothing here."""

    speaking = False


def main(arguments: list[str]) -> int:
    """Four runs over the visitors' stream."""
    argparse.ArgumentParser(prog="python -m offline_tools.bench looking").parse_args(arguments)
    stream = media("streams/visitors_day1.mp4")
    truth = json.loads(stream.with_name(f"{stream.stem}.gt.json").read_text(encoding="utf-8"))
    starts = [float(segment["start_s"]) for segment in truth["segments"]]
    with tempfile.TemporaryDirectory() as directory:
        replay = ("run", "--replay", str(stream), "--speed", "max", "--language", "none")
        measure(hearsight(*replay, "--data-dir", directory), ROOT)
        parts = compose.Parts(Settings(data_dir=Path(directory)), Manifest.load())
        items = list(Replay(stream, frame_rate_hz=parts.settings.clip.frame_rate_hz).items())
        runs = {
            "their own talk": items,
            "questions": list(_dubbed(parts, items, starts, QUESTIONS, lambda image: image)),
            "statements": list(_dubbed(parts, items, starts, STATEMENTS, lambda image: image)),
            "questions, two in view": list(_dubbed(parts, items, starts, QUESTIONS, _doubled)),
        }
        counted = {name: asyncio.run(_counted(parts, run)) for name, run in runs.items()}
    rows = []
    for name, counts in counted.items():
        target = "≥ 0.9 of them" if name == "questions" else "0"
        besides = f"looking {counts['looking']}, a question {counts['question']}"
        told = f"{counts['addressed']} of {counts['speech']} ({besides})"
        rows.append((f"{name}: taken as asked", told, target))
    print_report("looking", rows, {name: dict(counts) for name, counts in counted.items()})
    return 0


def _doubled(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The same face twice in view, side by side."""
    return np.ascontiguousarray(np.hstack([image, image[:, ::-1]]))


def _dubbed(
    parts: compose.Parts,
    items: Sequence[Item],
    starts: Sequence[float],
    sentences: Sequence[str],
    seen: Callable[[NDArray[np.uint8]], NDArray[np.uint8]],
) -> Iterator[Item]:
    """For each sentence the pictures of another appearance, forwards and backwards, and a voice that says it."""
    synthesizer = SpeechSynthesizer(parts.directory(parts.entry("speech_synthesis")))
    pictures = [item for item in items if isinstance(item, Frame)]
    rate_hz, now_s = parts.settings.clip.frame_rate_hz, 0.0
    for number, sentence in enumerate(sentences):
        said, said_hz = synthesizer.synthesize(sentence)
        sound = np.concatenate([
            np.zeros(round(LEAD_S * SAMPLE_RATE_HZ), np.float32),
            Resampler(said_hz, SAMPLE_RATE_HZ).push(said),
            np.zeros(round(TAIL_S * SAMPLE_RATE_HZ), np.float32),
        ])  # fmt: skip
        sound = sound[: len(sound) // 3200 * 3200]
        begin_s = starts[number * len(starts) // len(sentences)] + 0.4
        shown = [frame for frame in pictures if begin_s <= frame.time_s <= begin_s + 1.6]
        shown += shown[::-1]
        for step in range(len(sound) // 3200):  # a fifth of a second: one picture
            image = seen(shown[step % len(shown)].image)
            yield Frame(now_s + step / rate_hz, image)
            yield AudioBlock(now_s + step * 0.2, sound[step * 3200 : (step + 1) * 3200])
        now_s += len(sound) / SAMPLE_RATE_HZ


async def _counted(parts: compose.Parts, items: Sequence[Item]) -> Counter[str]:
    """How many stretches of speech there are, in how many a resident looks, and how many are questions."""
    worker = Worker("looking")
    store = await worker.call(compose.open_store, parts)
    await worker.call(_all_residents, store)
    faces = parts.entry("face_embedding")
    embedder = FaceEmbedder(parts.directory(faces))
    detector, rule = compose.face_detector(parts), compose.face_rule(faces)
    looker = Looker(detector, embedder, rule, store, seeing=worker, answering=worker)
    recognizer = speech_recognizer(parts)
    counts: Counter[str] = Counter(speech=0, looking=0, question=0, addressed=0)
    try:
        for spoken in await _heard(parts, items):
            span = Span(0.0, spoken.samples.size / SAMPLE_RATE_HZ)
            text = recognizer.transcribe(spoken.samples, [span])[0].text
            looks, asks = await looker.of(spoken.frames) is not None, reads_as_question(text)
            counts.update(speech=1, looking=looks, question=asks, addressed=looks and asks)
    finally:
        await worker.call(store.close)
        worker.close()
    return counts


async def _heard(parts: compose.Parts, items: Sequence[Item]) -> list[Spoken]:
    """The stretches of speech, with the frames of their beginnings, as the ear gives them."""
    sound: Channel[AudioBlock] = Channel("overheard", 1)
    speech: Channel[Spoken] = Channel("spoken", 1000)
    recent, worker, settings = RecentFrames(), Worker("ear"), parts.settings.voice
    activity = VoiceActivity(parts.directory(parts.entry("voice_activity")))
    ear = QuestionEar(
        activity.stream(), end_silence_s=settings.end_silence_s, longest_s=settings.longest_question_s
    )
    service = EarService(
        sound, speech, ear, OwnSpeech(), cast(Voice, _Silent()), worker, lambda: 0.0, frames=recent
    )

    async def feed() -> None:
        for item in items:
            if isinstance(item, Frame):
                recent.see(item)
                continue
            for at in range(0, len(item.samples), 1600):
                await sound.put(AudioBlock(item.time_s + at / SAMPLE_RATE_HZ, item.samples[at : at + 1600]))
        await sound.close()

    try:
        await asyncio.gather(service.run(), feed())
    finally:
        worker.close()
    return [spoken async for spoken in speech if not spoken.draft]


def _all_residents(store: MemoryStore) -> None:
    with store.transaction():
        for person in store.people():
            store.set_consent(person.id, "resident")
