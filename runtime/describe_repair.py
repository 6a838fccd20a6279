"""Reads what a model wrote about a clip, mends what is broken, and drops what the clip does not bear out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory_store.tags import Tag, find_tags, replace_tags
from runtime.grounding import content_terms, coverage, squash
from runtime.heard import unordered
from runtime.quotes import quote_in, sentences_in, states_something
from runtime.salvage import MOST_CHARACTERS, LineKind, SalvagedLine, salvage, without_thoughts
from runtime.third_person import in_third_person

MIN_GROUNDED = 0.6
_EQUIVALENCE = re.compile(r"(?im)^[^\w\n]{0,20}equivalence[^\w\n]{0,5}[:：](?P<pair>[^\n]{0,200})")
_PAIR = re.compile(r"\W*<face_(?P<face>[1-9]\d{0,17})>\W+<voice_(?P<voice>[1-9]\d{0,17})>\W*")
_ANY_TAG = re.compile(r"<[^<>\s]{1,40}>")
_HALF_TAG = re.compile(r"(?:face|voice)_\d|[<>]")
_IDENTITY = re.compile(r"\bsame (?:person|one|voice|man|woman)\b|同一个?人", re.IGNORECASE)
_FIRST_OR_SECOND_PERSON = re.compile(r"\bI\b|(?i:\b(?:my|mine|me|we|our|ours|us|you|your)\b)|我|咱|你|您")
_PRESENCE = re.compile(r"\b(?:in view|visible)\b|可见|看得见", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class DescribedLine:
    """One line of a model. kind: what happened, or what stays true; mended: it was cut or had to be repaired."""

    kind: LineKind
    text: str
    tags: tuple[Tag, ...]
    mended: bool = False


@dataclass(frozen=True)
class Repaired:
    """What was kept of a model's text, how much was dropped and why, and whether nothing could be read."""

    lines: tuple[DescribedLine, ...]
    equivalences: tuple[tuple[Tag, Tag], ...]
    dropped: dict[str, int]
    broken: bool


def repair(text: str, clip_lines: Sequence[str], *, grounded_only: bool) -> Repaired:
    """Read a model's lines. grounded_only: every content word and number must come from the clip's own lines."""
    clip = "\n".join(clip_lines)
    present = set(find_tags(clip))
    dropped: dict[str, int] = {}
    kept: list[DescribedLine] = []
    salvaged = salvage(text)
    for found in salvaged.lines:
        line = _told_of_speaker(_as_line(found), clip_lines)
        reason = _fault(line, clip_lines, clip, present, grounded_only=grounded_only)
        if not reason and any(_bare(line.text) == _bare(other.text) for other in kept):
            reason = "repeated"
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
        else:
            kept.append(line)
    pairs, refused = _pairs([*salvaged.equivalences, *_plain_equivalences(text)], present)
    for reason, count in (("equivalence", refused), ("unread", salvaged.unread)):
        if count:
            dropped[reason] = count
    read = salvaged.lines or salvaged.equivalences or pairs or refused
    return Repaired(tuple(kept), pairs, dropped, broken=not read and bool(text.strip()))


def _as_line(found: SalvagedLine) -> DescribedLine:
    text = " ".join(found.text.split())
    if found.cut:
        text = _to_last_whole_word(text)
    return DescribedLine(found.kind, text, find_tags(text), mended=found.mended)


def _plain_equivalences(text: str) -> list[str]:
    """What stands after "Equivalence:" on a line of its own, outside any JSON."""
    return [match["pair"] for match in _EQUIVALENCE.finditer(without_thoughts(text[:MOST_CHARACTERS]))]


def _pairs(told: Sequence[str], present: set[Tag]) -> tuple[tuple[tuple[Tag, Tag], ...], int]:
    """A face and a voice that both are in the clip, each pair once; and how many others were told."""
    pairs: list[tuple[Tag, Tag]] = []
    refused = 0
    for one in told:
        match = _PAIR.fullmatch(one)
        pair = (Tag("face", int(match["face"])), Tag("voice", int(match["voice"]))) if match else None
        if pair is None or not set(pair) <= present:
            refused += 1
        elif pair not in pairs:
            pairs.append(pair)
    return tuple(pairs), refused


def _told_of_speaker(line: DescribedLine, clip_lines: Sequence[str]) -> DescribedLine:
    """The line in the third person, where it is in the first and one speaker alone can be meant."""
    if not _FIRST_OR_SECOND_PERSON.search(line.text):
        return line
    text = in_third_person(line.text, clip_lines)
    return line if text is None else DescribedLine(line.kind, text, find_tags(text), mended=True)


def _to_last_whole_word(text: str) -> str:
    """A cut line without its last, perhaps unfinished, word or tag."""
    if " " in text and not re.search(r"[\u3400-\u9fff。，]$", text):
        text = text.rsplit(" ", 1)[0]
    return re.sub(r"<[^<>]*$", "", text).rstrip(" ,;，；")


def _fault(
    line: DescribedLine, clip_lines: Sequence[str], clip: str, present: set[Tag], *, grounded_only: bool
) -> str:
    """Why a line is not kept, or ""."""
    unknown = set(_ANY_TAG.findall(line.text)) - {str(tag) for tag in present}
    if unknown or _HALF_TAG.search(replace_tags(line.text, lambda tag: " ")):
        return "unknown_tag"
    if _IDENTITY.search(line.text):
        return "identity"
    if _FIRST_OR_SECOND_PERSON.search(line.text):
        return "first_person"  # nobody can tell later who "my" was
    terms = content_terms(replace_tags(line.text, lambda tag: " "))
    if not terms or (line.mended and len(terms) < 2):
        return "empty"
    if any(_bare(line.text) in (_bare(other), _bare(quote_in(other) or "")) for other in clip_lines):
        return "repeats_clip"
    if any(quote_in(other) is None and coverage(terms, other) == 1.0 for other in clip_lines):
        return "repeats_clip"  # "a cup is visible" again
    if not grounded_only:
        return ""
    if any(number not in clip for number in _NUMBER.findall(replace_tags(line.text, lambda tag: " "))):
        return "ungrounded"
    if _PRESENCE.search(line.text):
        return "presence"  # who and what is in view is written by code
    believed = filter(None, map(unordered, clip_lines))
    shares = (coverage(terms, replace_tags(other, lambda tag: " ")) for other in believed)
    if max(shares, default=0.0) < MIN_GROUNDED:
        return "ungrounded"  # its words must stand together in one line: two lines mixed make a falsehood
    if line.kind == "semantic" and not _was_stated(terms, clip_lines):
        return "not_stated"
    return "wrong_person" if _names_wrong_person(line, terms, clip_lines) else ""


def _was_stated(terms: Sequence[str], clip_lines: Sequence[str]) -> bool:
    """Whether the words of a fact stand in a statement rather than in a question or a request."""
    stated = asked = 0.0
    for other in clip_lines:
        for sentence in sentences_in(quote_in(other) or ""):
            share = coverage(terms, sentence)
            if states_something(sentence):
                stated = max(stated, share)
            else:
                asked = max(asked, share)
    return asked == 0.0 or stated >= asked


def _names_wrong_person(line: DescribedLine, terms: Sequence[str], clip_lines: Sequence[str]) -> bool:
    """Whether what one person said is told of somebody who said nothing of the kind."""
    shares: dict[Tag, float] = {}
    for other in clip_lines:
        quote, tags = quote_in(other), find_tags(other)
        if quote is not None and tags:
            shares[tags[0]] = max(shares.get(tags[0], 0.0), coverage(terms, quote))
    best = max(shares.values(), default=0.0)
    return best > 0.0 and any(shares.get(tag, 0.0) < best / 2 for tag in line.tags)


def _bare(text: str) -> str:
    """A text for comparing, without tags."""
    return squash(replace_tags(text, lambda tag: " "))
