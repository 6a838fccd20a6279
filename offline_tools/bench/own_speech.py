"""The robot's own voice: how much is known again through a room and noise, and whether residents are left whole."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from models.errors import ModelError
from models.synthesis import SpeechSynthesizer
from models.voices import Span, VoiceActivity
from offline_tools.bench.installed import installed_parts
from offline_tools.bench.report import BenchmarkError, media, print_report
from offline_tools.bench.spoiled_sound import (
    SAMPLE_RATE_HZ,
    Condition,
    Household,
    Sound,
    household_sounds,
    in_room,
    mixed,
    read_sound,
)
from runtime.own_speech import OwnSpeech, SortedSpeech

TUNED = (
    "The washing machine has finished.",
    "I do not know who that was.",
    "Anna left her keys on the piano yesterday evening.",
    "Good morning. It is half past seven, and the post has come.",
    "Yes.",
    "You asked me to remind you of the soup on the stove.",
)
HELD_OUT = (
    "Leo put the blue cup into the kitchen cupboard on Tuesday.",
    "Nobody was in the living room this afternoon.",
    "I heard the door bell twice.",
    "Sorry, I did not understand the question.",
    "Mia said that she will be back at six, and that dinner is in the fridge.",
    "Your glasses are beside the bed.",
)
DELAYS_S = (0.0, 0.12, 0.3, 0.5)
LEVELS_DB = (20.0, 10.0, 5.0)
LOUDNESS = 0.05
BEFORE_S = 1.0
AFTER_S = 0.3  # between the robot's sentence and the resident's, and after both
TALKS_OVER_S = 0.5  # after the robot has begun
RESIDENT_DB = (-3.0, 3.0)  # how loud a resident is beside the robot
HEARD = 0.9  # of what a resident says must be left to him
RECOGNISED = 0.95


@dataclass(frozen=True)
class Told:
    """Counts of sentences: the robot's own and how many were known as such; residents' and how many were lost.

    before, over: residents' sentences after the robot's, and while it speaks; lost where less than HEARD of it, or of
    the part after the robot has ended, is left.
    """

    own: int = 0
    known: int = 0
    after: int = 0
    after_lost: int = 0
    over: int = 0
    over_lost: int = 0
    over_kept_s: float = 0.0
    over_s: float = 0.0

    def __add__(self, other: Told) -> Told:
        mine, theirs = vars(self), vars(other)
        return Told(**{name: mine[name] + theirs[name] for name in mine})


@dataclass(frozen=True, eq=False)
class Voices:
    """The robot's sentences as they are played, with their rate, and residents' at 16 kHz."""

    robot: Sequence[tuple[Sound, int]]
    residents: Sequence[Sound]


def main(arguments: list[str]) -> int:
    """Measure both halves of the sentences under every condition."""
    argparse.ArgumentParser(prog="python -m offline_tools.bench own_speech").parse_args(arguments)
    activity = VoiceActivity(_directory("voice_activity"))
    household = household_sounds()
    residents = [read_sound(path) for path in sorted(media("speech/strangers").glob("*.flac"))]
    conditions = [Condition(None, False), *(Condition(level, True) for level in LEVELS_DB)]
    rows: list[tuple[str, str, str]] = []
    figures: dict[str, Any] = {}
    for half, sentences in (("tuned on", TUNED), ("held out", HELD_OUT)):
        voices = Voices(spoken(sentences), residents[:6] if half == "tuned on" else residents[6:])
        for condition in conditions:
            told = measured(voices, condition, household, activity)
            rows += _rows(f"{half}, {condition.name}", told)
            figures[f"{half}, {condition.name}"] = asdict(told)
    print_report("own_speech", rows, figures)
    return 0


def spoken(sentences: Sequence[str]) -> list[tuple[Sound, int]]:
    """The sentences as the robot says them."""
    synthesizer = SpeechSynthesizer(_directory("speech_synthesis"))
    return [synthesizer.synthesize(sentence) for sentence in sentences]


def measured(voices: Voices, condition: Condition, household: Household, activity: VoiceActivity) -> Told:
    """Every sentence at every delay: alone, followed by a resident, and talked over by one."""
    told = Told()
    for number, (played, rate_hz) in enumerate(voices.robot):
        for at, delay_s in enumerate(DELAYS_S):
            scene = _Scene(played, rate_hz, delay_s, condition, household, number + at)
            resident = voices.residents[(number + at) % len(voices.residents)]
            told += (
                _alone(scene, activity) + _after(scene, resident, activity) + _over(scene, resident, activity)
            )
    return told


class _Scene:
    """What the microphone hears while the robot says one sentence."""

    def __init__(
        self,
        played: Sound,
        rate_hz: int,
        delay_s: float,
        condition: Condition,
        household: Household,
        number: int,
    ) -> None:
        self._condition = condition
        self._household = household
        self._number = number
        self.own = OwnSpeech()
        self.own.played(played, rate_hz, BEFORE_S)
        at = np.arange(round(len(played) * SAMPLE_RATE_HZ / rate_hz)) * rate_hz / SAMPLE_RATE_HZ
        loud = np.tanh(3 * np.interp(at, np.arange(len(played)), played)).astype(np.float32)
        self._robot = self._heard(np.pad(loud, (0, SAMPLE_RATE_HZ // 4)), 0.0)
        self.begin_s = BEFORE_S + delay_s
        self.end_s = self.begin_s + len(loud) / SAMPLE_RATE_HZ

    def sound(self, resident: Sound | None = None, begin_s: float = 0.0) -> Sound:
        """The robot, perhaps a resident who begins then, and the noise."""
        ends_s = self.end_s if resident is None else max(self.end_s, begin_s + len(resident) / SAMPLE_RATE_HZ)
        sound = np.zeros(round((ends_s + 1.0) * SAMPLE_RATE_HZ), dtype=np.float32)
        first = round(self.begin_s * SAMPLE_RATE_HZ)
        sound[first : first + len(self._robot)] += self._robot[: len(sound) - first]
        if resident is not None:
            first = round(begin_s * SAMPLE_RATE_HZ)
            drawn = np.random.default_rng(self._number)
            sound[first : first + len(resident)] += self._heard(resident, drawn.uniform(*RESIDENT_DB))
        if self._condition.snr_db is not None:
            noise = self._household.noises[self._number % len(self._household.noises)]
            quiet = np.full(len(sound), LOUDNESS, dtype=np.float32)
            sound = sound + mixed(quiet, noise, self._condition.snr_db) - quiet
        return np.clip(sound, -1, 1).astype(np.float32)

    def _heard(self, sound: Sound, level_db: float) -> Sound:
        rooms = self._household.rooms
        heard = in_room(sound, rooms[self._number % len(rooms)]) if self._condition.in_room else sound
        loud: Sound = heard * np.float32(LOUDNESS * 10 ** (level_db / 20) / np.sqrt(np.mean(heard**2)))
        return loud


def _alone(scene: _Scene, activity: VoiceActivity) -> Told:
    sound = scene.sound()
    found = scene.own.sort(sound, 0.0, activity.spans(sound))
    return Told(own=1, known=not found.others)


def _after(scene: _Scene, resident: Sound, activity: VoiceActivity) -> Told:
    begin_s = scene.end_s + AFTER_S
    kept_s, spoken_s = _kept(scene, resident[: 3 * SAMPLE_RATE_HZ], begin_s, begin_s, activity)
    return Told(after=1, after_lost=kept_s < HEARD * spoken_s)


def _over(scene: _Scene, resident: Sound, activity: VoiceActivity) -> Told:
    begin_s = scene.begin_s + TALKS_OVER_S
    resident = resident[: round((scene.end_s - begin_s + 2.0) * SAMPLE_RATE_HZ)]
    kept_s, spoken_s = _kept(scene, resident, begin_s, scene.end_s + AFTER_S, activity)
    over_s, heard_s = _kept(scene, resident, begin_s, begin_s, activity)
    return Told(over=1, over_lost=kept_s < HEARD * spoken_s, over_kept_s=over_s, over_s=heard_s)


def _kept(
    scene: _Scene, resident: Sound, begin_s: float, from_s: float, activity: VoiceActivity
) -> tuple[float, float]:
    """Seconds of the resident's speech, from `from_s` on, that are left as others', and how many there are."""
    sound = scene.sound(resident, begin_s)
    spans = activity.spans(sound)
    found: SortedSpeech = scene.own.sort(sound, 0.0, spans)
    spoken_at = [Span(begin_s + one.start_s, begin_s + one.end_s) for one in activity.spans(resident)]
    return _shared(found.others, spoken_at, from_s), _shared(spans, spoken_at, from_s)


def _shared(spans: Sequence[Span], spoken_at: Sequence[Span], from_s: float) -> float:
    return sum(
        max(0.0, min(one.end_s, other.end_s) - max(one.start_s, other.start_s, from_s))
        for one in spans
        for other in spoken_at
    )


def _directory(role: str) -> Any:
    parts = installed_parts()
    try:
        return parts.directory(parts.entry(role))
    except ModelError as error:
        raise BenchmarkError(str(error)) from error


def _rows(name: str, told: Told) -> list[tuple[str, str, str]]:
    known = told.known / told.own if told.own else 0.0
    kept = told.over_kept_s / told.over_s if told.over_s else 0.0
    return [
        (f"{name}: own sentences known", f"{told.known} of {told.own}, {known:.3f}", f"≥ {RECOGNISED}"),
        ("  residents' after it, lost", f"{told.after_lost} of {told.after}", "0"),
        (
            "  residents' over it, lost; share left while both speak",
            f"{told.over_lost} of {told.over}; {kept:.2f}",
            "0",
        ),
    ]
