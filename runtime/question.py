"""Round 0 of a question, by code alone: its language, persons, times and, where it is plain, what it asks for."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

import yaml

from memory_store.records import Person
from runtime.errors import HearsightError
from runtime.grounding import Language, content_terms, is_everyday_word, language_of
from runtime.question_time import Household, TimeRange, read_time
from runtime.relatives import Relative, with_relatives_named

MAX_QUESTION_CHARACTERS = 2000

Intent = Literal[
    "who_said",
    "what_said",
    "last_seen",
    "last_heard",
    "first_seen",
    "first_heard",
    "present",
    "company",
    "count",
    "was_present",
    "fact",
    "related",
]


class QuestionError(HearsightError):
    """The question cannot be asked as it stands; the message is one sentence that says why."""


@dataclass(frozen=True)
class Question:
    """A question with what code could read out of it.

    persons: those named, with two of one name both; unknown: ids that no person has; terms: its content words
    without persons and times; intent and topic: only when the question has a plain form that code can answer;
    whole_topic: the topic with the words that were read as a time, since they may be part of what was said;
    hearsay: names that nobody carries for certain, and of whom each was heard, as notes for the trace; ahead: a time
    that is still to come, about which only what was said before can be known; unclear_time: words that name a time
    which cannot be told, and why (the phrase `time_<reason>`).
    """

    text: str
    language: Language
    persons: tuple[Person, ...]
    unknown: tuple[str, ...]
    time: TimeRange | None
    terms: tuple[str, ...]
    intent: Intent | None
    topic: str
    whole_topic: str
    hearsay: tuple[str, ...] = ()
    ahead: TimeRange | None = None
    unclear_time: tuple[str, str] | None = None

    @property
    def needs_time(self) -> tuple[str, str] | None:
        """The time that cannot be told, where nothing can be answered without it.

        Of a festival that the household's calendar lacks memories may still tell, and who said something may be asked
        with a time in the words.
        """
        of_festival = self.unclear_time is not None and self.unclear_time[1] == "no_such_name"
        if self.intent == "who_said" or (of_festival and self.intent in (None, "fact", "related")):
            return None
        return self.unclear_time


_PERSON_NUMBER = re.compile(
    r"(?<![^\W\u3400-\u9fff])person[_ #]?(\d{1,9})(?![^\W\u3400-\u9fff])|<(?:face|voice)_(\d{1,9})>",
    re.IGNORECASE,
)
_ASKER = re.compile(r"\b(?:I|me|my|mine)\b|我(?!们)")


@cache
def _forms() -> tuple[tuple[Intent, re.Pattern[str]], ...]:
    """Plain forms of questions, in the order in which they are tried: prompts/question_forms.yaml."""
    path = Path(__file__).parent / "prompts" / "question_forms.yaml"
    return tuple(
        (intent, re.compile(pattern, re.IGNORECASE))
        for intent, pattern in yaml.safe_load(path.read_text(encoding="utf-8"))
    )


def read_question(
    text: str,
    people: Sequence[Person],
    person_of: Callable[[int], Person | None],
    now_utc_s: float,
    zone: ZoneInfo,
    *,
    asker: int | None = None,
    maybe: Mapping[int, str] | None = None,
    household: Household | None = None,
    relative: Relative | None = None,
) -> Question:
    """Read a question. Raises QuestionError.

    person_of: the person a face or voice node is bound to; maybe: by person, a name that was heard and not proved,
    which counts where nobody carries it for certain; household: what words for times mean in it; relative: who is
    known as somebody's brother and the like.
    """
    cleaned = check_question(text)
    told = read_time(cleaned, now_utc_s, household or Household(zone))
    core = cleaned if told.ahead else told.rest
    persons, unknown, masked = _find_persons(core, people, person_of)
    plain = _find_form(masked)[0]  # facts tell of "my brother" too
    if relative is not None and persons and plain not in ("fact", "related"):
        named = with_relatives_named(core, people, name_pattern, relative)
        if named != core:
            persons, unknown, masked = _find_persons(named, people, person_of)
    hearsay, masked = _find_hearsay(masked, people, maybe or {}, persons)
    if asker is not None and _ASKER.search(masked):
        persons += [person for person in people if person.id == asker and person not in persons]
        masked = _ASKER.sub("\0", masked)
    intent, topic = _find_form(masked)
    # "Who was here at Thanksgiving?" is asked of the timeline all the same.
    if told.unclear and intent is None:
        intent, topic = _find_form(" ".join(masked.replace(told.unclear, " ").split()))
    return Question(
        text=cleaned,
        language=language_of(masked.replace("\0", " ") if masked.strip(" \0?？") else cleaned),
        persons=tuple(persons),
        unknown=tuple(unknown),
        time=None if told.ahead else told.range,
        terms=tuple(content_terms(masked.replace("\0", " "))),
        intent=intent if persons or intent in ("who_said", "present", "count") else None,
        topic=topic,
        whole_topic=_find_form(cleaned)[1] if intent == "who_said" else topic,
        hearsay=hearsay,
        ahead=told.range if told.ahead else None,
        unclear_time=(told.unclear, told.reason) if told.unclear else None,
    )


def unresolved_question(text: str) -> Question:
    """The question without round 0: nothing is read out of it but its language and words. Raises QuestionError."""
    cleaned = check_question(text)
    return Question(
        text=cleaned,
        language=language_of(cleaned),
        persons=(),
        unknown=(),
        time=None,
        terms=tuple(content_terms(cleaned)),
        intent=None,
        topic="",
        whole_topic="",
    )


def check_question(text: str) -> str:
    """The question in one line of printable characters; raises QuestionError when nothing can be asked with it."""
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise QuestionError(
            f"The question has {len(text)} characters, and the most is {MAX_QUESTION_CHARACTERS}: ask it more shortly."
        )
    if "\0" in text:
        raise QuestionError("The question holds a NUL character, which no text has: ask it as plain text.")
    plain = "".join(" " if unicodedata.category(character)[0] in "CZ" else character for character in text)
    cleaned = " ".join(plain.split())
    if not any(character.isalnum() for character in cleaned):
        raise QuestionError(
            f"The question {cleaned[:40]!r} holds no word: ask something, such as 'Who was here today?'."
        )
    return cleaned


def _find_persons(
    text: str, people: Sequence[Person], person_of: Callable[[int], Person | None]
) -> tuple[list[Person], list[str], str]:
    """Persons named by number, tag or name; ids nobody has; and the text with each of them turned into NUL."""
    by_id = {person.id: person for person in people}
    persons: list[Person] = []
    unknown: list[str] = []

    def by_number(match: re.Match[str]) -> str:
        person = by_id.get(int(match[1])) if match[1] else person_of(int(match[2]))
        if person is None:
            unknown.append(match.group())
        elif person not in persons:
            persons.append(person)
        return "\0"

    text = _PERSON_NUMBER.sub(by_number, text)
    names = sorted({person.name for person in people if person.name}, key=len, reverse=True)
    for name in names:
        pattern = name_pattern(name)
        if pattern.search(text):
            persons += [person for person in people if person.name == name and person not in persons]
            text = pattern.sub("\0", text)
    return persons, unknown, text


def _find_hearsay(
    text: str, people: Sequence[Person], maybe: Mapping[int, str], persons: list[Person]
) -> tuple[tuple[str, ...], str]:
    """Adds who may be meant by names that nobody carries for certain; what was taken for whom, and the text masked."""
    notes: list[str] = []
    unnamed = [person for person in people if person.name is None and person.id in maybe]
    for name in sorted({maybe[person.id] for person in unnamed}, key=lambda name: (-len(name), name)):
        pattern = name_pattern(name)
        if not pattern.search(text):
            continue
        for person in unnamed:
            if maybe[person.id] == name:
                notes.append(f"{name} is known by hearsay only: taken for {person.label}.")
                persons += [person] if person not in persons else []
        text = pattern.sub("\0", text)
    return tuple(notes), text


def is_named(label: str, text: str) -> bool:
    """Whether a text holds a name or label as a whole: `person_1` is not in `person_12`."""
    return name_pattern(label).search(text) is not None


def name_pattern(name: str) -> re.Pattern[str]:
    """The name as a whole word; a name that is also an everyday word, such as Will, only as it is written."""
    start = r"(?<![^\W\u3400-\u9fff])" if name[0].isascii() else ""
    end = r"(?:['’]s)?(?![^\W\u3400-\u9fff])" if name[-1].isascii() else r"(?:['’]s(?![^\W\u3400-\u9fff]))?"
    flags = re.NOFLAG if is_everyday_word(name) else re.IGNORECASE
    return re.compile(start + re.escape(name) + end, flags)


def _find_form(masked: str) -> tuple[Intent | None, str]:
    """What a question of a plain form asks for, and its topic; (None, "") for every other question."""
    plain = masked.strip(" ?？!！.。")
    chinese = language_of(plain.replace("\0", "")) == "zh"
    plain = re.sub(r"\s+" if chinese else r"(?<=\s)\s+", "", plain)
    plain = plain.strip("，, ")
    for intent, pattern in _forms():
        match = pattern.search(plain)
        if match is not None:
            topic = (match.groupdict().get("topic") or "").strip(" \"'“”‘’「」：:,，")
            return intent, topic.replace("\0", " ").strip()
    return None, ""
