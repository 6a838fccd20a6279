"""Whose voice is whose by meta-clips, against who really was there: precision and recall of the face-voice map."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_store.tags import Tag
from offline_tools.bench.attribution import Claim, TrueSegment, people_of_ids, true_segments
from offline_tools.bench.composed_stream import compose as compose_stream
from offline_tools.bench.report import BenchmarkError, media, print_report
from offline_tools.memorize_video import memorize_video, parts_for
from offline_tools.remembered import RememberedClip, Stretch, remembered_clips
from offline_tools.synthesize.equivalence import VotingRule, face_of_voices
from offline_tools.synthesize.meta_clips import meta_clips
from runtime import compose
from runtime.config import Settings


@dataclass(frozen=True)
class MapScore:
    """How a face-voice map compares with the people of a stream.

    precision: of the voices that were given a face, the share given one of their own person; recall: of the people who
    speak, the share for whom such a voice was found; met_twice: the same of those who appear at least twice, which is
    what a rule that drops edges of weight 1 can find.
    """

    voices: int
    precision: float
    recall: float
    recall_met_twice: float


def main(arguments: list[str]) -> int:
    """Memorize a stream and vote, by the paper's rule and without dropping edges of weight 1."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench meta_clips")
    parser.add_argument("--stream", type=Path, help="another video with FILE.gt.json beside it")
    parser.add_argument("--composed", type=int, metavar="SEED", help="a stream composed of other people")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        stream = options.stream or media("streams/visitors_day1.mp4")
        if options.composed is not None:
            stream = compose_stream(folder, options.composed)
        truth = read_truth(stream)
        clips = memorized(stream, folder / "memory")
    rows: list[tuple[str, str, str]] = []
    figures: dict[str, Any] = {}
    for name, rule in (("paper's rule", VotingRule()), ("weight 1 kept", VotingRule(least=1))):
        found = score(clips, truth, rule)
        rows += [
            (f"{name}: voices given a face", str(found.voices), ""),
            (f"{name}: precision", f"{found.precision:.3f}", "≥ 0.95"),
            (f"{name}: recall, of those met twice", f"{found.recall:.3f}, {found.recall_met_twice:.3f}", ""),
        ]
        figures[name] = {
            "voices": found.voices,
            "precision": round(found.precision, 4),
            "recall": round(found.recall, 4),
            "recall_met_twice": round(found.recall_met_twice, 4),
        }
    figures["meta_clips"] = sum(1 for clip in clips for _ in meta_clips(clip))
    print_report(f"meta_clips: {stream.name}", rows, figures)
    return 0


def read_truth(stream: Path) -> list[TrueSegment]:
    """Who really is in a stream. Raises BenchmarkError where nobody wrote it down."""
    path = stream.with_name(stream.stem + ".gt.json")
    if not path.exists():
        raise BenchmarkError(f"{path} is missing: the benchmark needs to know who is really in {stream}")
    return true_segments(json.loads(path.read_text(encoding="utf-8")))


def memorized(stream: Path, data_dir: Path) -> list[RememberedClip]:
    """What the robot makes of a stream, with its shipped settings."""
    parts = parts_for(Settings(), data_dir)
    memorize_video(parts, stream)
    store = compose.open_store(parts)
    try:
        return list(remembered_clips(store))
    finally:
        store.close()


def score(clips: Sequence[RememberedClip], truth: Sequence[TrueSegment], rule: VotingRule) -> MapScore:
    """Compare the map that the votes give with the truth. Needs networkx."""
    found = face_of_voices((meta for clip in clips for meta in meta_clips(clip)), rule)
    faces = people_of_ids(_claims([one for clip in clips for one in clip.seen]), truth)
    voices = people_of_ids(_claims([one for clip in clips for one in clip.heard]), truth)
    right = {voices[voice] for voice, face in found.items() if faces.get(face) == voices.get(voice)}
    correct = sum(faces.get(face) == voices.get(voice) for voice, face in found.items())
    met = [segment.person for segment in truth]
    twice = {person for person in met if met.count(person) > 1}
    return MapScore(
        len(found),
        correct / len(found) if found else 0.0,
        len(right) / len(set(met)),
        len(right & twice) / len(twice) if twice else 0.0,
    )


def _claims(stretches: Sequence[Stretch]) -> list[Claim]:
    return [Claim(one.start_s, one.end_s, one.tag) for one in stretches if isinstance(one.tag, Tag)]
