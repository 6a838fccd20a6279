"""Follow-up questions made whole: "and yesterday?", "what about Bob?", "where was she then?", "那Bob呢？".

Only what stands in the last question and answer is put in; who or what is unclear stays as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory_store.records import Person
from runtime.question import name_pattern
from runtime.question_time import Household, read_time

_LEAD_EN = re.compile(r"^(?:(?:and|but|so|well|or|what|how|about|of)\b[\s,]*)+", re.IGNORECASE)
_LEAD_ZH = re.compile(r"^(?:那么|那麼|那|还有|那天)?[，,\s]*")
_TAIL_ZH = re.compile(r"呢[？?\s]*$")
_SMALL = re.compile(r"\b(?:to|with|for|on|in|at|of|from|by|the)\b|[\s,.?!，。？！的\0]", re.IGNORECASE)
_SHE = re.compile(
    r"\b(?:she|he|him|hers|his|her|they|them|their|theirs)\b|(?:她们|他们|她|他)(?:的)?", re.IGNORECASE
)
_OWN = {"his", "hers", "their", "theirs"}
_THEN = re.compile(r"\b(?:then|at that time|that day|back then)\b|那时候?|当时|那天|那个时候", re.IGNORECASE)
# After "her" these begin no noun: "did you see her yesterday" asks for a person, "her keys" for a thing.
_NO_NOUN = re.compile(
    r"\s*(?:$|[?.!,]|(?:today|yesterday|tonight|tomorrow|then|there|here|again|last|this|on|in|at|and|or|before|after|"
    r"with|say|said|since|during|now|first|when|that|do|doing|go|leave|come)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Before:
    """What a follow-up may lean on: the last question as it was understood, and who and when was in it.

    asked: people that the question named; told: people that the answer named; time: the words that named its time.
    """

    question: str
    asked: tuple[Person, ...]
    told: tuple[Person, ...]
    time: str


def made_whole(
    text: str, before: Before, people: Sequence[Person], now_utc_s: float, household: Household
) -> str:
    """The question as it would stand alone; the text itself where it already does."""
    swapped = _swapped(text, before, people, now_utc_s, household)
    if swapped is not None:
        return swapped
    return _with_time(_with_people(text, before, people), before, now_utc_s, household)


def _swapped(
    text: str, before: Before, people: Sequence[Person], now_utc_s: float, household: Household
) -> str | None:
    """The last question with another person or time, where the text holds nothing else."""
    chinese = _TAIL_ZH.search(text) is not None
    core = _TAIL_ZH.sub("", _LEAD_ZH.sub("", text)) if chinese else _LEAD_EN.sub("", text)
    if not chinese and core == text:
        return None
    told = read_time(core, now_utc_s, household)
    rest, named = told.rest, list[Person]()
    for person in people:
        if person.label and name_pattern(person.label).search(rest):
            named.append(person)
            rest = name_pattern(person.label).sub(" ", rest)
    if _SMALL.sub("", rest) or not (named or told.range):
        return None
    question = before.question
    if named:
        if len(before.asked) != 1:
            return None
        label = before.asked[0].label
        own = name_pattern(label)
        if own.search(question) is None:
            return None
        joint = "和" if chinese else " and "
        new = joint.join(person.label for person in named)
        question = own.sub(lambda match: match[0].replace(match[0][: len(label)], new), question)
    if told.range is not None:
        question = _at(question, before, told.range.phrase)
    return question


def _at(question: str, before: Before, phrase: str) -> str:
    """The question with its time replaced, or with a time at its end."""
    if before.time and before.time in question:
        return question.replace(before.time, phrase)
    body = question.rstrip(" ?？.。!！")
    mark = question[len(body) :].strip() or "?"
    if re.search(r"[\u3400-\u9fff]", question):
        return f"{phrase}{question}"
    return f"{body} {phrase}{mark}"


def _with_people(text: str, before: Before, people: Sequence[Person]) -> str:
    """Pronouns replaced by whom they must mean: the one person of the last question, else of the last answer."""
    if any(person.label and name_pattern(person.label).search(text) for person in people):
        return text
    meant = before.asked or before.told
    plural = re.search(r"\b(?:they|them|their|theirs)\b|们", text, re.IGNORECASE) is not None
    if not meant or (len(meant) > 1) != plural:
        return text
    labels = [person.label for person in meant]
    return with_person(text, " and ".join(labels), "和".join(labels))


def with_person(text: str, label: str, chinese_label: str = "") -> str:
    """The text with a name for every pronoun of a person."""

    def name(match: re.Match[str]) -> str:
        word = match[0].casefold()
        if re.search(r"[\u3400-\u9fff]", word):
            return (chinese_label or label) + ("的" if word.endswith("的") else "")
        own = word in _OWN or (word == "her" and _NO_NOUN.match(text, match.end()) is None)
        return f"{label}'s" if own else label

    return _SHE.sub(name, text)


def _with_time(text: str, before: Before, now_utc_s: float, household: Household) -> str:
    """ "Then" replaced by the time of the last question."""
    if not before.time or read_time(text, now_utc_s, household).range is not None:
        return text
    return _THEN.sub(before.time, text)
