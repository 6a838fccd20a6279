"""Who speaks when, in meetings and composed conversations: diarization error, and wrong names a minute.

The names are those of the meetings once their voices are identified.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from models.voices import SpeakerTurns, VoiceActivity, VoiceEmbedder, utterances
from offline_tools.bench.conversation import Conversation, compose, shared, unknown_speakers, write_wave
from offline_tools.bench.diarization_error import (
    COLLAR_S,
    FRAME_S,
    DiarizationError,
    Speaking,
    diarization_error,
    read_rttm,
)
from offline_tools.bench.identity_run import OurRule, ReferenceRule, Told
from offline_tools.bench.installed import installed_parts
from offline_tools.bench.perceived import Perception
from offline_tools.bench.report import media, print_report
from offline_tools.bench.spoiled_sound import SAMPLE_RATE_HZ, Sound, household_sounds, read_sound
from runtime.compose import Parts

OURS, THEIRS = "identified", "reference's rule"
STEPS = ("speech, one speaker", "turns", "utterances", OURS, THEIRS)
TUNED = ("ami_trn07", "ami_trn08")  # one meeting; the rule of the speaker turns was chosen on it
CONVERSATIONS = 12


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
    """One recording: who really speaks, and the guesses of each step by its name."""

    name: str
    duration_s: float
    truth: Sequence[Speaking]
    guesses: Mapping[str, Sequence[Speaking]]


def main(arguments: list[str]) -> int:
    """Measure the AMI excerpts, each in a memory of its own, and conversations of twelve unknown speakers."""
    argparse.ArgumentParser(prog="python -m offline_tools.bench diarization").parse_args(arguments)
    listening = _Listening(installed_parts())
    meetings = [listening.meeting(path) for path in sorted(media("diarization").glob("*.flac"))]
    held_out = [one for one in meetings if one.name not in TUNED]
    groups = {
        "4 meetings": meetings,
        "2 not tuned on": held_out,
        f"{CONVERSATIONS} conversations": listening.conversations(in_a_room=False),
        f"{CONVERSATIONS} conversations, room": listening.conversations(in_a_room=True),
    }
    rows = [
        (f"{name}, {step}: error, with collar", f"{strict.rate:.3f}, {lenient.rate:.3f}", "")
        for name, excerpts in groups.items()
        for step in STEPS
        for strict, lenient in [(_error(excerpts, step, 0.0), _error(excerpts, step, COLLAR_S))]
    ]
    both = {name: two_at_once(excerpts) for name, excerpts in groups.items()}
    rows += [
        (f"{name}, two at once: found of seconds, told in vain", "{:.1f} of {:.1f}, {:.1f}".format(*told), "")
        for name, told in both.items()
    ]
    names = {name: _names(excerpts) for name, excerpts in groups.items()}
    rows += [row for name, excerpts in groups.items() for row in _name_rows(name, excerpts, names[name])]
    figures: dict[str, Any] = {
        "error": {name: _errors(excerpts, 0.0) for name, excerpts in groups.items()},
        "error_with_collar": {name: _errors(excerpts, COLLAR_S) for name, excerpts in groups.items()},
        "by_excerpt": {one.name: round(_error([one], "turns", 0.0).rate, 4) for one in meetings},
        "two_at_once_s": {name: [round(value, 2) for value in told] for name, told in both.items()},
        "minutes": {name: round(_minutes(excerpts), 2) for name, excerpts in groups.items()},
        "names": {name: {rule: asdict(one) for rule, one in found.items()} for name, found in names.items()},
    }
    print_report("diarization", rows, figures)
    return 0


def two_at_once(excerpts: Sequence[Excerpt]) -> tuple[float, float, float]:
    """Seconds in which two or more speak and the turns say so, all such seconds, and those that they make up."""
    found = real = made_up = 0
    for one in excerpts:
        truth, told = (shared(speaking, one.duration_s) for speaking in (one.truth, one.guesses["turns"]))
        found, real = found + int((truth & told).sum()), real + int(truth.sum())
        made_up += int((told & ~truth).sum())
    return found * FRAME_S, real * FRAME_S, made_up * FRAME_S


def _names(excerpts: Sequence[Excerpt]) -> dict[str, Names]:
    return {
        rule: sum((wrong_names(one.truth, one.guesses[rule]) for one in excerpts), Names())
        for rule in (OURS, THEIRS)
    }


def _minutes(excerpts: Sequence[Excerpt]) -> float:
    return sum(one.duration_s for one in excerpts) / 60


def _name_rows(
    group: str, excerpts: Sequence[Excerpt], names: Mapping[str, Names]
) -> list[tuple[str, str, str]]:
    speakers = sum(len({real.who for real in one.truth}) for one in excerpts)
    rows = []
    for rule, found in names.items():
        told = f"{found.named}, {found.wrong}, {found.unnamed}"
        rows += [
            (
                f"{group}, {rule}: wrong-person attributions a minute",
                f"{found.wrong / _minutes(excerpts):.2f}",
                "0",
            ),
            ("  voice ids, each by itself", str(found.ids), f"≤ {speakers} speakers"),
            ("  utterances named, of them wrong, unnamed", told, ""),
        ]
    return rows


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
    """Takes sound apart as the runtime does, keeping what each step made of it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        activity = parts.directory(parts.entry("voice_activity"))
        self._activity = VoiceActivity(activity)
        self._exact = VoiceActivity(activity, padding_s=0.0)
        voices = VoiceEmbedder(parts.directory(parts.entry("voice_embedding")))
        self._turns = SpeakerTurns(parts.directory(parts.entry("speaker_turns")), voices)
        self._perception = Perception(parts)

    def meeting(self, path: Path) -> Excerpt:
        """A recording with its truth beside it, taken apart and identified."""
        return self._excerpt(path.stem, path, read_sound(path), read_rttm(path.with_suffix(".rttm")))

    def conversations(self, *, in_a_room: bool) -> list[Excerpt]:
        """Composed conversations, taken apart and identified."""
        speech = unknown_speakers()
        rooms = household_sounds().rooms
        found = []
        for seed in range(CONVERSATIONS):
            room = rooms[seed % len(rooms)] if in_a_room else None
            talk: Conversation = compose(seed, speech, self._exact, room=room)
            with tempfile.TemporaryDirectory() as directory:
                path = write_wave(talk, Path(directory))
                found.append(self._excerpt(talk.name, path, talk.samples, talk.truth))
        return found

    def _excerpt(self, name: str, path: Path, samples: Sound, truth: Sequence[Speaking]) -> Excerpt:
        ours, reference = self._identified(path)
        guesses = {**self._heard(samples), OURS: ours, THEIRS: reference}
        return Excerpt(name, len(samples) / SAMPLE_RATE_HZ, truth, guesses)

    def _heard(self, samples: Sound) -> dict[str, Sequence[Speaking]]:
        spans = self._activity.spans(samples)
        turns = self._turns.turns(samples)
        return {
            "speech, one speaker": [Speaking(span.start_s, span.end_s, 0) for span in spans],
            "turns": [Speaking(turn.start_s, turn.end_s, turn.speaker) for turn in turns],
            "utterances": [Speaking(one.start_s, one.end_s, one.speaker) for one in utterances(spans, turns)],
        }

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


def _errors(excerpts: Sequence[Excerpt], collar_s: float) -> dict[str, Any]:
    found = {step: _error(excerpts, step, collar_s) for step in STEPS}
    return {
        step: {"rate": round(one.rate, 4), **{name: round(value, 2) for name, value in asdict(one).items()}}
        for step, one in found.items()
    }
