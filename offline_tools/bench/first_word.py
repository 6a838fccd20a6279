"""How long a spoken question waits for the first sound of its answer, by stage, while the robot memorizes.

The demo scene is remembered beforehand and happens again, in real time, between the questions.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from drivers.live import LiveSource
from drivers.resample import Resampler
from models.manifest import Manifest
from models.synthesis import SpeechSynthesizer
from offline_tools.bench.live_room import LiveRoom, Question, RoomLoudspeaker
from offline_tools.bench.measured_process import hearsight, measure
from offline_tools.bench.report import ROOT, BenchmarkError, print_report
from runtime import compose
from runtime.capture import Pace
from runtime.clips import Live, boot_id
from runtime.clock import SystemClock
from runtime.config import ModelSettings, PrivacySettings, RobotSettings, Settings
from runtime.config_talking import ApiSettings, VoiceSettings
from runtime.conversing import SpokenTurn
from runtime.daemon import Daemon, Listeners
from runtime.hear import SAMPLE_RATE_HZ

SCENE = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "demo" / "scene.mp4"
QUESTIONS = (
    "Who was here today?", "Where are the keys?", "What did Anna say about the keys?",
    "When is the plumber coming?", "When did you last see Carl?", "For whom is the parcel?",
    "What should we water?", "How many people were here today?", "Where did Ben leave the parcel?",
    "At what time will we drink tea?",
)  # fmt: skip
STAGES = (
    "end of speech",
    "recognition",
    "addressed, by whom",
    "round 0 and judge",
    "model",
    "first sentence",
    "all",
)
QUIET_DB = 40.0
AT_ONCE_S = 1.0  # speech that ends further from a question's end is something else
NAME = "Jarvis"  # recognition knows it, so that no question is lost
PATIENCE_S = 60.0  # for an answer


@dataclass(frozen=True)
class Timed:
    """A question and the seconds that each stage of its answer took."""

    turn: SpokenTurn
    stages: dict[str, float]


def main(arguments: list[str]) -> int:
    """Run the live daemon once over all questions."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench first_word")
    parser.add_argument("--language", default="qwen2.5-coder-0.5b", help="language model, or none")
    parser.add_argument("--questions", type=int, default=len(QUESTIONS), help="how many, from the first on")
    options = parser.parse_args(arguments)
    if not SCENE.exists():
        raise BenchmarkError(f"{SCENE} is missing: run `make scene`")
    with tempfile.TemporaryDirectory() as directory:
        replay = ("run", "--replay", str(SCENE), "--speed", "max", "--language", "none")
        measure(hearsight(*replay, "--data-dir", directory), ROOT)
        parts = compose.Parts(_settings(Path(directory), options.language), Manifest.load())
        timed = asyncio.run(_asked(parts, QUESTIONS[: options.questions]))
    _print(timed, options)
    return 0


def _settings(directory: Path, language: str) -> Settings:
    return Settings(
        data_dir=directory,
        robot=RobotSettings(name=NAME),
        models=ModelSettings(language=language),
        voice=VoiceSettings(enabled=True, follow_up_s=0.0),
        api=ApiSettings(enabled=False),
        privacy=PrivacySettings(unknown="all"),
    )


async def _asked(parts: compose.Parts, texts: Sequence[str]) -> list[Timed]:
    synthesizer = SpeechSynthesizer(parts.directory(parts.entry("speech_synthesis")))
    questions = [
        Question(text, _spoken(synthesizer, f"{NAME}, {text[0].lower()}{text[1:]}")) for text in texts
    ]
    over, loop = asyncio.Event(), asyncio.get_running_loop()

    def on_end() -> None:
        loop.call_soon_threadsafe(over.set)

    room = LiveRoom(SCENE, questions, patience_s=PATIENCE_S, on_end=on_end)
    source = Live(cast(LiveSource, room), boot_id(), SystemClock())
    timed: list[Timed] = []

    def on_turn(turn: SpokenTurn) -> None:
        if not room.ends_s or abs(turn.spoken_s - room.ends_s[-1]) > AT_ONCE_S or not room.answered():
            print(f"   not asked: {turn.question}", flush=True)
            return
        one = Timed(turn, _stages(turn, room.ends_s[-1]))
        timed.append(one)
        print(f"{one.stages['all']:6.2f} s  {turn.question}  →  {turn.text}", flush=True)

    daemon = Daemon(
        parts,
        source,
        Pace(None),
        SystemClock(),
        Listeners(on_turn=on_turn),
        loudspeaker=lambda own: RoomLoudspeaker(own, room.media_s),
    )
    running = asyncio.ensure_future(daemon.run())
    ended = asyncio.ensure_future(over.wait())
    await asyncio.wait((running, ended), return_when=asyncio.FIRST_COMPLETED)
    running.cancel()  # what still waits to be described is of no interest
    with suppress(asyncio.CancelledError):
        await running
    return timed


def _spoken(synthesizer: SpeechSynthesizer, text: str) -> NDArray[np.float32]:
    samples, rate_hz = synthesizer.synthesize(text)
    sound = Resampler(rate_hz, SAMPLE_RATE_HZ).push(samples)
    loud = np.flatnonzero(np.abs(sound) > np.abs(sound).max() * 10 ** (-QUIET_DB / 20))
    return sound[: loud[-1] + 1]


def _stages(turn: SpokenTurn, ended_s: float) -> dict[str, float]:
    model_s = sum(one.duration_s for one in turn.answer.rounds) if turn.answer is not None else 0.0
    first_s = turn.answered_s if turn.first_sound_s is None else turn.first_sound_s
    spans = (
        turn.heard_s - ended_s,
        turn.recognised_s - turn.heard_s,
        turn.asked_s - turn.recognised_s,
        turn.answered_s - turn.asked_s - model_s,
        model_s,
        first_s - turn.answered_s,
        first_s - ended_s,
    )
    return dict(zip(STAGES, spans, strict=True))


def _print(timed: Sequence[Timed], options: argparse.Namespace) -> None:
    if not timed:
        raise BenchmarkError("no question was answered: run it with fewer other things on this machine")
    figures: dict[str, Any] = {"asked": options.questions, "answered": len(timed)}
    rows = [("questions asked, answered", f"{options.questions}, {len(timed)}", "all")]
    by_model = [bool(one.turn.answer and one.turn.answer.rounds) for one in timed]
    groups = {"code": [one for one, model in zip(timed, by_model, strict=True) if not model]}
    groups["model"] = [one for one, model in zip(timed, by_model, strict=True) if model]
    for kind, group in groups.items():
        for stage in STAGES:
            seconds = [one.stages[stage] for one in group]
            if seconds:
                p50, p95 = (float(np.quantile(seconds, share)) for share in (0.5, 0.95))
                rows.append((f"answered by {kind} ({len(group)}): {stage}", f"{p50:.2f} / {p95:.2f} s", ""))
                figures[f"{kind}: {stage}"] = [round(p50, 3), round(p95, 3)]
    print_report(
        "first_word (p50 / p95)", rows, {**figures, "language": options.language, "load": os.getloadavg()}
    )
