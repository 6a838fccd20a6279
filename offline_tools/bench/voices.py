"""Voices of read speech: three utterances enrolled, the rest and strangers tested, clean and spoiled.

Clean speech is also compared in every cut with every enrolment, so that small error rates can be told with confidence.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models.voices import VoiceActivity, VoiceEmbedder
from offline_tools.bench.installed import installed_parts
from offline_tools.bench.reference_rule import VOICE_THRESHOLD
from offline_tools.bench.report import BenchmarkError, media, print_report
from offline_tools.bench.spoiled_sound import (
    SAMPLE_RATE_HZ,
    Condition,
    Household,
    Sound,
    conditions,
    household_sounds,
    read_sound,
    spoiled,
)
from offline_tools.bench.verification import (
    Outcome,
    Probe,
    Trials,
    Vectors,
    chosen_threshold,
    equal_error_rate,
    identified,
    identified_by_reference,
    trials,
)
from offline_tools.bench.voice_trials import (
    Bounded,
    Cut,
    Enrolment,
    Verified,
    chosen_for_others,
    cuts,
    verified,
)
from runtime.compose import Parts
from runtime.gallery import MatchRule

ENROLLED = 3
TEST_S = 4.0
SHORTEST_S = 2.0
CUTS_S = (2.0, 3.0, 4.0)
ENROLLED_CUT_S = 2.0  # of somebody of whom there is one utterance only
AT_HOME = Condition(20.0, True)
LEVELS_DB = (20.0, 10.0, 5.0)
ALLOWED_FALSE_ACCEPT = 0.005
ALLOWED_FALSE_REJECT = 0.05


@dataclass(frozen=True, eq=False)
class Speech:
    """Test speech of one utterance: whose (None for a stranger), its samples (n,)."""

    speaker: str | None
    samples: Sound


@dataclass(frozen=True)
class ConditionResult:
    """One condition: with the threshold of the other half (chosen clean), shipped, and the reference's rule.

    at_home: shipped, with the same utterances enrolled as heard in a room over a little noise, as a robot meets people.
    """

    equal_error_rate: float
    held_out: Outcome
    shipped: Outcome
    at_home: Outcome
    reference: Outcome


def main(arguments: list[str]) -> int:
    """Measure LibriSpeech's speakers and strangers under every condition."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench voices")
    parser.add_argument("--test-s", type=float, default=TEST_S, help="length of the test speech in seconds")
    options = parser.parse_args(arguments)
    if options.test_s < SHORTEST_S:
        raise BenchmarkError(f"--test-s is {options.test_s}: voices are matched from {SHORTEST_S:g} s on")
    parts = installed_parts()
    reader = _Reader(parts, options.test_s)
    household = household_sounds()
    enrolled, at_home, tests = reader.read(media("speech/librispeech"), media("speech/strangers"), household)
    entry = parts.entry("voice_embedding")
    shipped = MatchRule(entry.thresholds["match"], entry.thresholds["unsure"], entry.thresholds["margin"])
    probes = {one: reader.probes(tests, one, household) for one in conditions(LEVELS_DB)}
    chosen = chosen_on_halves(enrolled, probes[Condition()])
    results = {one: measured(enrolled, at_home, heard, chosen, shipped) for one, heard in probes.items()}
    rows = [row for one, result in results.items() for row in _rows(one, result, chosen, shipped)]
    every = reader.compared(media("speech/librispeech"), media("speech/strangers"), shipped.match)
    rows += [row for name, found in every.items() for row in _trial_rows(name, found)]
    figures: dict[str, Any] = {
        "test_s": options.test_s,
        "shipped": asdict(shipped),
        "chosen": list(chosen),
        "conditions": {one.name: asdict(result) for one, result in results.items()},
        "every_cut": {name: asdict(found) for name, found in every.items()},
    }
    print_report("voices", rows, figures)
    return 0


def chosen_on_halves(enrolled: Mapping[str, Vectors], clean: Sequence[Probe]) -> tuple[float, float]:
    """The threshold that each half of the speakers and strangers asks for, from clean speech."""
    low, high = (
        chosen_threshold(_half_trials(enrolled, clean, half), ALLOWED_FALSE_ACCEPT, ALLOWED_FALSE_REJECT)
        for half in (0, 1)
    )
    return low, high


def measured(
    enrolled: Mapping[str, Vectors],
    at_home: Mapping[str, Vectors],
    probes: Sequence[Probe],
    chosen: tuple[float, float],
    shipped: MatchRule,
) -> ConditionResult:
    """All rules over the same probes; each half is held to the threshold of the other."""
    held_out = Outcome()
    for half in (0, 1):
        people, tests = _half(enrolled, probes, half)
        rule = MatchRule(chosen[1 - half], chosen[1 - half], shipped.margin)
        held_out += identified(people, tests, rule)
    return ConditionResult(
        equal_error_rate(trials(enrolled, probes)),
        held_out,
        identified(enrolled, probes, shipped),
        identified(at_home, probes, shipped),
        identified_by_reference(enrolled, probes, VOICE_THRESHOLD),
    )


def _half(
    enrolled: Mapping[str, Vectors], probes: Sequence[Probe], half: int
) -> tuple[dict[str, Vectors], list[Probe]]:
    names = sorted(enrolled)[half::2]
    strangers = [probe for probe in probes if probe.person is None][half::2]
    return (
        {name: enrolled[name] for name in names},
        [probe for probe in probes if probe.person in names] + strangers,
    )


def _half_trials(enrolled: Mapping[str, Vectors], probes: Sequence[Probe], half: int) -> Trials:
    return trials(*_half(enrolled, probes, half))


class _Reader:
    """Reads speech, and embeds what a condition makes of it."""

    def __init__(self, parts: Parts, test_s: float) -> None:
        self._activity = VoiceActivity(parts.directory(parts.entry("voice_activity")))
        self._embedder = VoiceEmbedder(parts.directory(parts.entry("voice_embedding")))
        self._test_s = test_s

    def read(
        self, speakers: Path, strangers: Path, household: Household
    ) -> tuple[dict[str, Vectors], dict[str, Vectors], list[Speech]]:
        """Each speaker's first utterances as vectors, clean and as heard at home, and all other speech to test with."""
        enrolled, at_home, tests = {}, {}, []
        for folder in sorted(path for path in speakers.iterdir() if path.is_dir()):
            sounds = [self._cut(read_sound(path)) for path in sorted(folder.glob("*.flac"))]
            enrolled[folder.name] = np.stack([self._embedder.embed(sound) for sound in sounds[:ENROLLED]])
            at_home[folder.name] = np.stack(
                [
                    self._embedder.embed(spoiled(sound, AT_HOME, household, number))
                    for number, sound in enumerate(sounds[:ENROLLED])
                ]
            )
            tests += [Speech(folder.name, sound) for sound in sounds[ENROLLED:]]
        tests += [Speech(None, self._cut(read_sound(path))) for path in sorted(strangers.glob("*.flac"))]
        return enrolled, at_home, [test for test in tests if len(test.samples) >= SHORTEST_S * SAMPLE_RATE_HZ]

    def probes(self, tests: Sequence[Speech], condition: Condition, household: Household) -> list[Probe]:
        """The test speech under a condition, embedded."""
        return [
            Probe(test.speaker, self._embedder.embed(spoiled(test.samples, condition, household, number)))
            for number, test in enumerate(tests)
        ]

    def compared(self, speakers: Path, strangers: Path, shipped: float) -> dict[str, Verified]:
        """Every cut of everybody with every enrolment, at thresholds of the other half of people and as shipped."""
        enrolments, probes = [], []
        for folder in sorted(path for path in speakers.iterdir() if path.is_dir()):
            files = sorted(folder.glob("*.flac"))
            probes += [cut for path in files for cut in self._cuts(folder.name, path)]
            for first in range(0, len(files) - ENROLLED + 1, ENROLLED):
                chosen = files[first : first + ENROLLED]
                vectors = np.stack([self._embedder.embed(self._cut(read_sound(path))) for path in chosen])
                enrolments.append(Enrolment(folder.name, frozenset(path.stem for path in chosen), vectors))
        for path in sorted(strangers.glob("*.flac")):
            probes += self._cuts(path.stem, path)
            parts = cuts(read_sound(path), ENROLLED_CUT_S)[:ENROLLED]
            vectors = np.stack([self._embedder.embed(part) for part in parts])
            enrolments.append(Enrolment(path.stem, frozenset({path.stem}), vectors))
        people = sorted({one.person for one in enrolments})
        held_out = chosen_for_others(enrolments, probes, ALLOWED_FALSE_ACCEPT, ALLOWED_FALSE_REJECT)
        values = ", ".join(f"{value:.2f}" for value in sorted(set(held_out.values())))
        rules = {
            f"{values} of the other half": held_out,
            f"shipped {shipped:.2f}": dict.fromkeys(people, shipped),
        }
        return {
            f"cuts of {length_s:g} s, {name}": verified(
                enrolments, [one for one in probes if one.length_s == length_s], thresholds
            )
            for length_s in CUTS_S
            for name, thresholds in rules.items()
        }

    def _cuts(self, person: str, path: Path) -> list[Cut]:
        sound = read_sound(path)
        return [
            Cut(person, path.stem, length_s, self._embedder.embed(part))
            for length_s in CUTS_S
            for part in cuts(sound, length_s)
        ]

    def _cut(self, sound: Sound) -> Sound:
        """From where speech begins, as long as tests are."""
        spans = self._activity.spans(sound[: 10 * SAMPLE_RATE_HZ])
        first = round(spans[0].start_s * SAMPLE_RATE_HZ) if spans else 0
        return sound[first:][: round(self._test_s * SAMPLE_RATE_HZ)]


def _rows(
    condition: Condition, result: ConditionResult, chosen: tuple[float, float], shipped: MatchRule
) -> list[tuple[str, str, str]]:
    target = "≤ 0.005, ≤ 0.05" if condition == Condition() else ""
    low, high = sorted(chosen)
    rows = [(f"{condition.name}: equal error rate", f"{result.equal_error_rate:.4f}", "")]
    for title, outcome in (
        (f"{low:.2f}, {high:.2f} of the other half", result.held_out),
        (f"shipped {shipped.match:.2f}", result.shipped),
        ("shipped, enrolled in the room", result.at_home),
        (f"reference, mean {VOICE_THRESHOLD}", result.reference),
    ):
        errors = f"{outcome.false_accept:.4f}, {1 - outcome.true_accept:.4f}"
        taken = outcome.taken_for_another + outcome.strangers_taken
        rows.append((f"  {title}: false accept, reject; wrong names", f"{errors}; {taken}", target))
    return rows


def _trial_rows(name: str, found: Verified) -> list[tuple[str, str, str]]:
    def told(one: Bounded) -> str:
        return f"{one.errors} of {one.comparisons}, < {one.upper:.4f}; {one.people} of {one.all_people}"

    return [
        (f"{name}: equal error rate", f"{found.equal_error_rate:.4f}", ""),
        ("  false accepts, 95 % bound; pairs of people", told(found.false_accept), "< 0.005"),
        ("  false rejects, 95 % bound; people", told(found.false_reject), "< 0.05"),
    ]
