"""Meetings: diarization error of what the ears take apart, and wrong names for each minute once it is identified."""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from models.voices import SpeakerTurns, VoiceActivity, utterances
from offline_tools.bench.diarization_error import (
    COLLAR_S,
    DiarizationError,
    Speaking,
    diarization_error,
    read_rttm,
)
from offline_tools.bench.identity_run import OurRule, ReferenceRule, Told
from offline_tools.bench.installed import installed_parts
from offline_tools.bench.perceived import Perception
from offline_tools.bench.report import media, print_report
from offline_tools.bench.spoiled_sound import SAMPLE_RATE_HZ, Sound, read_sound
from runtime.compose import Parts

STEPS = ("speech, one speaker", "turns", "utterances", "identified", "reference's rule")


@dataclass(frozen=True)
class Names:
    """Utterances that were given to somebody, wrongly given ones, and those given to nobody; ids that were used."""

    ids: int = 0
    named: int = 0
    wrong: int = 0
    unnamed: int = 0

    def __add__(self, other: Names) -> Names:
        return Names(
            self.ids + other.ids,
            self.named + other.named,
            self.wrong + other.wrong,
            self.unnamed + other.unnamed,
        )


@dataclass(frozen=True)
class Excerpt:
    """One recording: the guesses of each step by its name, the utterances as each rule named them."""

    name: str
    duration_s: float
    truth: Sequence[Speaking]
    guesses: Mapping[str, Sequence[Speaking]]
    ours: Sequence[Speaking]
    reference: Sequence[Speaking]


def main(arguments: list[str]) -> int:
    """Measure the AMI excerpts, each in a memory of its own."""
    argparse.ArgumentParser(prog="python -m offline_tools.bench diarization").parse_args(arguments)
    parts = installed_parts()
    listening = _Listening(parts)
    excerpts = [listening.excerpt(path) for path in sorted(media("diarization").glob("*.flac"))]
    strict = {step: _error(excerpts, step, 0.0) for step in STEPS}
    lenient = {step: _error(excerpts, step, COLLAR_S) for step in STEPS}
    minutes = sum(excerpt.duration_s for excerpt in excerpts) / 60
    ours = sum((wrong_names(one.truth, one.ours) for one in excerpts), Names())
    reference = sum((wrong_names(one.truth, one.reference) for one in excerpts), Names())
    rows = [
        (
            f"{step}: error without, with {COLLAR_S} s collar",
            f"{strict[step].rate:.3f}, {lenient[step].rate:.3f}",
            "",
        )
        for step in STEPS
    ]
    speakers = sum(len({real.who for real in one.truth}) for one in excerpts)
    for title, names in (("runtime", ours), ("reference's rule", reference)):
        rows += [
            (f"{title}: wrong-person attributions a minute", f"{names.wrong / minutes:.2f}", "0"),
            ("  voice ids, each excerpt by itself", str(names.ids), f"≤ {speakers} speakers"),
            (
                "  utterances named, of them wrong, unnamed",
                f"{names.named}, {names.wrong}, {names.unnamed}",
                "",
            ),
        ]
    figures: dict[str, Any] = {
        "error": {step: {"rate": round(one.rate, 4), **_rounded(one)} for step, one in strict.items()},
        "error_with_collar": {
            step: {"rate": round(one.rate, 4), **_rounded(one)} for step, one in lenient.items()
        },
        "by_excerpt": {one.name: round(_error([one], "utterances", 0.0).rate, 4) for one in excerpts},
        "minutes": round(minutes, 2),
        "names": asdict(ours),
        "reference_names": asdict(reference),
    }
    print_report("diarization", rows, figures)
    return 0


def wrong_names(truth: Sequence[Speaking], told: Sequence[Speaking]) -> Names:
    """Each utterance against whoever really speaks most of it; an id stands for whom it was given to longest.

    A wrong name is an utterance given to an id that stands for somebody else, or given at all when nobody speaks.
    """
    shares = [_shares(truth, one) for one in told]
    table: dict[Hashable, dict[Hashable, float]] = defaultdict(lambda: defaultdict(float))
    for one, share in zip(told, shares, strict=True):
        for speaker, seconds in share.items():
            table[one.who][speaker] += seconds
    owners = {who: max(row, key=lambda speaker: (row[speaker], str(speaker))) for who, row in table.items()}
    named = wrong = 0
    for one, share in zip(told, shares, strict=True):
        if one.who is None:
            continue
        named += 1
        speaker = max(share, key=lambda name: (share[name], str(name))) if share else None
        wrong += speaker is None or owners.get(one.who) != speaker
    return Names(len({one.who for one in told} - {None}), named, wrong, len(told) - named)


class _Listening:
    """Takes a recording apart as the runtime does, keeping what each step made of it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._activity = VoiceActivity(parts.directory(parts.entry("voice_activity")))
        self._turns = SpeakerTurns(parts.directory(parts.entry("speaker_turns")))
        self._perception = Perception(parts)

    def excerpt(self, path: Path) -> Excerpt:
        samples: Sound = read_sound(path)
        spans = self._activity.spans(samples)
        turns = self._turns.turns(samples)
        ours, reference = self._identified(path)
        guesses = {
            "speech, one speaker": [Speaking(span.start_s, span.end_s, 0) for span in spans],
            "turns": [Speaking(turn.start_s, turn.end_s, turn.speaker) for turn in turns],
            "utterances": [Speaking(one.start_s, one.end_s, one.speaker) for one in utterances(spans, turns)],
            "identified": ours,
            "reference's rule": reference,
        }
        duration_s = len(samples) / SAMPLE_RATE_HZ
        truth = read_rttm(path.with_suffix(".rttm"))
        return Excerpt(path.stem, duration_s, truth, guesses, ours, reference)

    def _identified(self, path: Path) -> tuple[list[Speaking], list[Speaking]]:
        by_ours: list[Told] = []
        by_reference: list[Told] = []
        theirs = ReferenceRule()
        with tempfile.TemporaryDirectory() as directory, OurRule(self._parts, Path(directory)) as rule:
            for clip in self._perception.clips(path, 1.8e9):
                by_ours += rule.clip(clip.span, clip.sight, clip.hearing).heard
                by_reference += theirs.clip(clip.sight, clip.hearing).heard
            ours = [Speaking(one.start_s, one.end_s, rule.person_of(one.node_id)) for one in by_ours]
        return ours, [Speaking(one.start_s, one.end_s, one.node_id) for one in by_reference]


def _shares(truth: Sequence[Speaking], one: Speaking) -> dict[Hashable, float]:
    shares: dict[Hashable, float] = defaultdict(float)
    for real in truth:
        seconds = min(one.end_s, real.end_s) - max(one.start_s, real.start_s)
        if seconds > 0:
            shares[real.who] += seconds
    return shares


def _error(excerpts: Sequence[Excerpt], step: str, collar_s: float) -> DiarizationError:
    parts = (
        diarization_error(one.truth, one.guesses[step], one.duration_s, collar_s=collar_s) for one in excerpts
    )
    return sum(parts, DiarizationError())


def _rounded(error: DiarizationError) -> dict[str, float]:
    return {name: round(seconds, 2) for name, seconds in asdict(error).items()}
