"""A memory in words, for the model and for people: when, what, which question it answered, and which days it speaks of.

"I went there yesterday", said on a Monday, tells of a Sunday; small models cannot count back, and code can.
"""

from __future__ import annotations

import re

from memory_store.tags import find_tags
from runtime.answer import Evidence
from runtime.question_time import Household, read_time
from runtime.quotes import asks, quote_in, sentences_in, speaker_in
from runtime.say import Speech

MAX_LINE_CHARACTERS = 300
MAX_ASKED_CHARACTERS = 120
_MOST_TIMES = 2
_OPEN_S = 20 * 366 * 86400.0  # "by Friday" begins long ago and tells no day
_SMALL_WORDS = re.compile(
    r"^(?:(?:on|in|at|of|during|over|within|around|about|from)\s+|[\s,，]+)+", re.IGNORECASE
)


def evidence_line(item: Evidence, speech: Speech, *, whole: bool = False) -> str:
    """A memory as one line with its local time, in the language of the question where its form is known.

    whole: however long it is.
    """
    line = speech.memory(item.line)
    if len(line) > MAX_LINE_CHARACTERS and not whole:
        line = line[:MAX_LINE_CHARACTERS].rstrip() + " …"
    line = speech.phrase("line", time=speech.moment(item.start_utc_s), text=line)
    question, who = quote_in(item.asked), speaker_in(item.asked)
    if question and who:
        line = speech.phrase("after_question", line=line, person=who, question=question)
    for words, days in told_days(quote_in(item.line) or "", item.start_utc_s, speech):
        line = speech.phrase("means_days", line=line, words=words, days=days)
    return line


def told_days(said: str, said_utc_s: float, speech: Speech) -> list[tuple[str, str]]:
    """Words of what was said that name other days than its own, and which days these are."""
    found: list[tuple[str, str]] = []
    household = Household(speech.zone)
    for sentence in sentences_in(said):
        told = read_time(sentence, said_utc_s, household, told=True).range
        if told is None or speech.is_same_day(told.start_utc_s, said_utc_s):
            continue
        if told.end_utc_s - told.start_utc_s > _OPEN_S:
            continue
        words = _SMALL_WORDS.sub("", told.phrase)
        if words.lower() not in (known.lower() for known, _ in found):
            found.append((words, speech.days(told.start_utc_s, told.end_utc_s)))
    return found[:_MOST_TIMES]


def question_before(line: str, before: str) -> str:
    """What the line heard before this one asks, quoted as there, or "" where it ends with no question of another's."""
    sentences = sentences_in(quote_in(before) or "")
    speaker = speaker_in(before)
    same = find_tags(speaker or "") and find_tags(speaker or "") == find_tags(speaker_in(line) or "")
    if not sentences or speaker is None or same or not asks(sentences[-1]):
        return ""
    return f'{speaker} says: "{sentences[-1][-MAX_ASKED_CHARACTERS:]}"'
