"""A memory in words, for the model and for people: when, what, which question it answered, and which days it speaks of.

"I went there yesterday", said on a Monday, tells of a Sunday; small models cannot count back, and code can.
"""

from __future__ import annotations

import re

from memory_store.tags import find_tags
from runtime.answer import Evidence
from runtime.question_time import Household, TimeRange, read_time
from runtime.quotes import asks, quote_in, sentences_in, speaker_in
from runtime.say import Speech
from runtime.time_words_en import SHORT_DAYS

MAX_LINE_CHARACTERS = 300
MAX_ASKED_CHARACTERS = 120
_MOST_TIMES = 2
# Days counted from the day of saying. "In May" and "since 2019" are as clear, or unclear, as they stand.
_COUNTED = re.compile(
    r"\b(?:yesterday|tomorrow|tonight|last|next|this|ago|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    rf"|{SHORT_DAYS})\b"
    r"|[昨明]天|前[天年]|后[天年]|[上下这本]个?(?:周|星期|礼拜|月)|星期|礼拜|周[一二三四五六日天末]|[去明今]年|前$",
    re.IGNORECASE,
)
_SINCE = re.compile(r"^(?:since|until|till|before|after|by)\b", re.IGNORECASE)
_OPEN_S = 20 * 366 * 86400.0  # "by Friday" begins long ago and tells no day
# "On Thursday I work, so on Friday I sleep": a time each.
_CLAUSE = re.compile(
    r"[.!?。！？;；，]+|,? (?=(?:and|but|so|because|then|while) )|, (?=[a-z])", re.IGNORECASE
)
_HABIT = re.compile(r"\b(?:every|each|always|usually|daily|weekly)\b|每|总是|通常|一直", re.IGNORECASE)
_SMALL_WORDS = re.compile(
    r"^(?:(?:on|in|at|of|during|over|within|around|about|from)\s+|[\s,，]+)+", re.IGNORECASE
)


def shown_line(item: Evidence, speech: Speech) -> str:
    """A memory as one line for the model, cut where it is long.

    The days stand right behind the words that name them, so that whoever copies a sentence copies its date.
    """
    line = speech.memory(item.line)
    for words, days in told_days(quote_in(item.line) or "", item.start_utc_s, speech):
        line = _dated(line, words, days, speech)
    if len(line) > MAX_LINE_CHARACTERS:
        line = line[:MAX_LINE_CHARACTERS].rstrip() + " …"
    return _in_time(line, item, speech)


def _dated(line: str, words: str, days: str, speech: Speech) -> str:
    """The line with the days behind the words that name them, as an apposition, which ends where a sentence goes on."""
    found = re.search(rf"{re.escape(words)}(?![A-Za-z0-9'’])(?P<on>(?=\s*\w))?", line)
    if found is None:
        return speech.phrase("means_days", line=line, words=words, days=days)
    key = "dated_words" if found["on"] is None else "dated_words_on"
    return line[: found.start()] + speech.phrase(key, words=words, days=days) + line[found.end() :]


def quoted_line(item: Evidence, speech: Speech) -> str:
    """A memory as one line for people, word for word; which days it speaks of stands behind it."""
    line = _in_time(speech.memory(item.line), item, speech)
    for words, days in told_days(quote_in(item.line) or "", item.start_utc_s, speech):
        line = speech.phrase("means_days", line=line, words=words, days=days)
    return line


def _in_time(line: str, item: Evidence, speech: Speech) -> str:
    """With its local time, in the language of the question where its form is known, and the question before it."""
    line = speech.phrase("line", time=speech.moment(item.start_utc_s), text=line)
    question, who = quote_in(item.asked), speaker_in(item.asked)
    if not (question and who):
        return line
    return speech.phrase("after_question", line=line, person=who, question=question)


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
        if _SINCE.search(words) or not _COUNTED.search(words):
            continue
        if words.lower() not in (known.lower() for known, _ in found):
            found.append((words, speech.days(told.start_utc_s, told.end_utc_s)))
    return found[:_MOST_TIMES]


def speaks_of(item: Evidence, time: TimeRange, household: Household) -> bool:
    """Whether a memory tells of a time by its words, counted from when it was said ("tomorrow", said a day before)."""
    for part in _CLAUSE.split(f"{quote_in(item.asked) or ''} {quote_in(item.line) or ''}"):
        told = read_time(part, item.start_utc_s, household, told=True).range
        if told is None or told.end_utc_s - told.start_utc_s > _OPEN_S:
            continue
        if told.start_utc_s < time.end_utc_s and time.start_utc_s < told.end_utc_s:
            return True
    return False


def holds_always(item: Evidence) -> bool:
    """Whether a memory tells what is so every day, or what was concluded and not heard."""
    said = quote_in(item.line)
    return said is None or _HABIT.search(said) is not None


def question_before(line: str, before: str) -> str:
    """What the line heard before this one asks, quoted as there, or "" where it ends with no question of another's."""
    sentences = sentences_in(quote_in(before) or "")
    speaker = speaker_in(before)
    same = find_tags(speaker or "") and find_tags(speaker or "") == find_tags(speaker_in(line) or "")
    if not sentences or speaker is None or same or not asks(sentences[-1]):
        return ""
    return f'{speaker} says: "{sentences[-1][-MAX_ASKED_CHARACTERS:]}"'
