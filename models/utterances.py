"""Makes utterances, one speaker each, out of spans of speech and speaker turns of the same clip."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from models.speaker_turns import Turn
from models.voice_activity import Span

_CROWDED = 0.2  # share of overlapped speech from which a whole utterance counts as overlapped


@dataclass(frozen=True)
class Utterance:
    """What one speaker says in one go, in seconds. No moment of a clip belongs to two utterances.

    overlapped: more than a fifth of it has somebody else speaking too, so its voice is not to be learned from.
    speaker: number of the speaker within the clip, None where the turns name nobody.
    """

    start_s: float
    end_s: float
    overlapped: bool
    speaker: int | None = None


@dataclass(frozen=True)
class _Part:
    start_s: float
    end_s: float
    speaker: int | None

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


def utterances(
    spans: Sequence[Span],
    turns: Sequence[Turn],
    *,
    max_gap_s: float = 0.3,
    min_duration_s: float = 0.25,
    longest_s: float = 20.0,
) -> list[Utterance]:
    """Utterances in order of time.

    A span is cut where the speaker changes. Speech that nobody's turn covers goes to the nearest turn of its span;
    where two speak, the moment belongs to whoever began first. Parts shorter than `min_duration_s` go to the
    neighbour. Neighbours of one speaker less than `max_gap_s` apart are joined, up to `longest_s`.
    """
    parts = [part for span in spans for part in _without_crumbs(_cut(span, turns), min_duration_s)]
    joined: list[_Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last and _continues(last, part, max_gap_s) and part.end_s - last.start_s <= longest_s:
            joined[-1] = _Part(last.start_s, part.end_s, last.speaker)
        else:
            joined.append(part)
    return [
        Utterance(part.start_s, part.end_s, _crowded(part, turns), part.speaker)
        for part in joined
        if part.duration_s >= min_duration_s
    ]


def alone(utterance: Utterance, turns: Sequence[Turn]) -> list[Span]:
    """The parts of an utterance during which nobody else speaks, in order."""
    shared = sorted((turn.start_s, turn.end_s) for turn in turns if turn.overlapped)
    parts: list[Span] = []
    begin_s = utterance.start_s
    for start_s, end_s in shared:
        if min(start_s, utterance.end_s) > begin_s:
            parts.append(Span(begin_s, min(start_s, utterance.end_s)))
        begin_s = max(begin_s, end_s)
    return [*parts, Span(begin_s, utterance.end_s)] if begin_s < utterance.end_s else parts


def _continues(last: _Part, part: _Part, max_gap_s: float) -> bool:
    return part.speaker is not None and part.speaker == last.speaker and part.start_s - last.end_s < max_gap_s


def _cut(span: Span, turns: Sequence[Turn]) -> list[_Part]:
    """The span in parts that follow one another without a gap."""
    held: list[_Part] = []
    for turn in _floor(turns):
        start_s, end_s = max(turn.start_s, span.start_s), min(turn.end_s, span.end_s)
        if end_s <= start_s:
            continue
        if held and held[-1].speaker == turn.speaker:
            held[-1] = _Part(held[-1].start_s, end_s, turn.speaker)
        else:
            held.append(_Part(start_s, end_s, turn.speaker))
    if not held:
        return [_Part(span.start_s, span.end_s, None)]
    cuts = [(left.end_s + right.start_s) / 2 for left, right in pairwise(held)]
    edges = [span.start_s, *cuts, span.end_s]
    return [_Part(edges[at], edges[at + 1], part.speaker) for at, part in enumerate(held)]


def _floor(turns: Sequence[Turn]) -> list[_Part]:
    """The turns without overlap: each moment with whoever began to speak first."""
    held: list[_Part] = []
    for turn in _whole(turns):
        start_s = max(turn.start_s, held[-1].end_s) if held else turn.start_s
        if start_s < turn.end_s:
            held.append(_Part(start_s, turn.end_s, turn.speaker))
    return held


def _whole(turns: Sequence[Turn]) -> list[_Part]:
    """Turns of one speaker that touch, joined again, in order of their start."""
    open_parts: dict[int, _Part] = {}
    done: list[_Part] = []
    for turn in sorted(turns, key=lambda turn: turn.start_s):
        last = open_parts.get(turn.speaker)
        if last and turn.start_s - last.end_s < 0.05:
            open_parts[turn.speaker] = _Part(last.start_s, max(last.end_s, turn.end_s), turn.speaker)
            continue
        if last:
            done.append(last)
        open_parts[turn.speaker] = _Part(turn.start_s, turn.end_s, turn.speaker)
    return sorted([*done, *open_parts.values()], key=lambda part: part.start_s)


def _without_crumbs(parts: list[_Part], min_duration_s: float) -> list[_Part]:
    """Parts too short to stand alone given to the longer neighbour."""
    while len(parts) > 1 and min(part.duration_s for part in parts) < min_duration_s:
        at = min(range(len(parts)), key=lambda index: parts[index].duration_s)
        neighbours = [index for index in (at - 1, at + 1) if 0 <= index < len(parts)]
        to = max(neighbours, key=lambda index: parts[index].duration_s)
        low, high = min(at, to), max(at, to)
        whole = _Part(parts[low].start_s, parts[high].end_s, parts[to].speaker)
        parts = [*parts[:low], whole, *parts[high + 1 :]]
    return parts


def _crowded(part: _Part, turns: Sequence[Turn]) -> bool:
    shared_s = sum(
        max(0.0, min(part.end_s, turn.end_s) - max(part.start_s, turn.start_s))
        for turn in turns
        if turn.overlapped and turn.speaker == part.speaker
    )
    return shared_s > _CROWDED * part.duration_s
