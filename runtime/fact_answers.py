"""Answers from facts: what is believed of somebody now, since when, what was so before, and how two are related."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory_store.records import Belief, Person, Triple
from memory_store.store import MemoryStore
from runtime.fact_reading import asked_for, facts_in, is_eaten_or_drunk, kin_in, noun_relations, told
from runtime.question import Question
from runtime.relatives import between, kinships, relative_of
from runtime.say import Speech
from runtime.timeline_answers import MAX_EVIDENCE, ComputedAnswer

MOST_FACTS = 6  # of one person in one answer
_ALL = ("know", "了解", "知道", "")


@dataclass(frozen=True)
class _Asked:
    """Which facts a question is about. relations None: all; sign 0: both ways; wanted: is this so?."""

    relations: tuple[str, ...] | None
    sign: int = 0
    subject: str = ""
    verb: str = ""
    wanted: Triple | None = None


def answer_from_facts(store: MemoryStore, question: Question, speech: Speech) -> ComputedAnswer | None:
    """The computed answer, or None where the question asks for no fact, or nobody ever told one of these."""
    if question.time is not None or question.intent not in ("fact", "related"):
        return None
    if question.intent == "related":
        return _how_related(store, question, speech)
    asked = _asked(question)
    if asked is None:
        return None
    parts: list[str] = []
    found: list[Belief] = []
    for person in question.persons:
        beliefs = _about(store, person, asked)
        if not beliefs and asked.relations and set(asked.relations) <= set(noun_relations()):
            kin = kinships(store, person, asked.relations)
            beliefs = [one.belief for one in kin]
            parts += [_sentence(one.belief, one.teller.label, speech) for one in kin]
        elif not beliefs and asked.subject and (relative := relative_of(store, person, asked.subject)):
            of_them = replace(asked, subject="")
            beliefs = _about(store, relative, of_them)
            parts += _told(beliefs, relative.label, of_them, speech)
        else:
            parts += _told(beliefs, person.label, asked, speech)
        if not beliefs:
            return None
        found += beliefs
    return _computed(parts, found, speech)


def _how_related(store: MemoryStore, question: Question, speech: Speech) -> ComputedAnswer | None:
    """How two people are related, as they said; None where nobody did."""
    if len(question.persons) != 2:
        return None
    kin = between(store, *question.persons)
    parts = [_sentence(one.belief, one.teller.label, speech) for one in kin]
    return _computed(parts, [one.belief for one in kin], speech) if kin else None


def _computed(parts: list[str], beliefs: Sequence[Belief], speech: Speech) -> ComputedAnswer:
    lines = [line for belief in reversed(beliefs) for line in reversed(belief.line_ids)]
    return ComputedAnswer(speech.sentences(parts), tuple(dict.fromkeys(lines))[:MAX_EVIDENCE], 0.9)


def _told(beliefs: Sequence[Belief], who: str, asked: _Asked, speech: Speech) -> list[str]:
    if not beliefs:
        return []
    return [_whether(beliefs, who, speech)] if asked.wanted is not None else _what(beliefs, who, speech)


def _asked(question: Question) -> _Asked | None:
    topic = question.topic.strip()
    if topic in _ALL:
        return _Asked(None)
    kin, rest = kin_in(topic, question.language)
    if kin and not rest:
        return _Asked((kin,))
    if rest.startswith(("favourite", "favorite", "喜欢的")):
        return _favourite(rest, question.language)
    found = asked_for(rest, question.language)
    if found is not None:
        return _Asked(tuple(found[0]), found[1], kin, rest)
    first = (
        "我平时" if question.language == "zh" else "I " if re.match(_VERBS, rest, re.IGNORECASE) else "I'm "
    )
    claims = facts_in(f"{first}{rest}{'' if question.language == 'zh' else '.'}")
    if len(claims) != 1:
        return None
    (claim,) = claims
    return _Asked((claim.triple.relation,), wanted=claim.triple)


_VERBS = (
    r"(?:like|love|enjoy|hate|dislike|prefer|drink|eat|play|speak|collect|study|own|have|live|work|smoke)\b"
)


def _favourite(topic: str, language: str) -> _Asked | None:
    claims = facts_in(f"我最{topic}是它的" if language == "zh" else f"My {topic} is blue.")
    return _Asked((claims[0].triple.relation,)) if claims else None


def _about(store: MemoryStore, person: Person, asked: _Asked) -> list[Belief]:
    """What was told of these things, oldest first; of rivals only those that the question is about."""
    names = [person.name] if person.name else []
    beliefs = [
        belief
        for belief in store.beliefs(person.id, names=names, relations=asked.relations)
        if belief.triple.subject == asked.subject and is_eaten_or_drunk(asked.verb, belief.triple)
    ]
    if asked.relations is None:
        return [belief for belief in beliefs if belief.current]
    if asked.wanted is not None:
        return [belief for belief in beliefs if _is_it(asked.wanted, belief.triple)]
    if asked.sign:
        objects = {b.triple.object for b in beliefs if b.current and b.triple.polarity == asked.sign}
        objects |= {b.triple.object for b in beliefs if b.current and b.changed_utc_s is not None}
        beliefs = [belief for belief in beliefs if belief.triple.object in objects]
    return beliefs


def _is_it(wanted: Triple, told_of: Triple) -> bool:
    """Whether a fact is about the thing asked for; a thing may have been told of with more words."""
    if wanted.relation != told_of.relation:
        return False
    if wanted.relation == "has":
        return set(wanted.object.split()) <= set(told_of.object.split()) or wanted.object in told_of.object
    return wanted.object == told_of.object


def _what(beliefs: Sequence[Belief], who: str, speech: Speech) -> list[str]:
    """What holds, for before against, and then what was said before and holds no more."""
    held = [belief for belief in beliefs if belief.current]
    held = sorted(held, key=lambda belief: (-belief.triple.polarity, -belief.last_utc_s))[:MOST_FACTS]
    formers = {belief.triple.object for belief in held if belief.changed_utc_s is not None}
    parts = [_sentence(belief, who, speech) for belief in held]
    before = [
        belief
        for belief in beliefs
        if not belief.current and not (belief.triple.object in formers and belief.triple.polarity > 0)
    ]
    if before:
        told_before = [_sentence(belief, who, speech) for belief in before[-MOST_FACTS:]]
        parts.append(speech.phrase("fact_earlier", facts=speech.sentences(told_before)))
    return parts


def _whether(beliefs: Sequence[Belief], who: str, speech: Speech) -> str:
    """Yes, no, or no longer, with what was said."""
    held = max((belief for belief in beliefs if belief.current), key=lambda belief: belief.last_utc_s)
    against = held.triple.polarity < 0
    key = "fact_yes" if not against else "fact_no" if held.changed_utc_s is None else "fact_no_more"
    return speech.phrase(key, fact=_fact(held, who, speech), time=speech.moment(held.last_utc_s))


def _sentence(belief: Belief, who: str, speech: Speech) -> str:
    key = "fact_hearsay" if belief.hearsay else "fact_line"
    return speech.phrase(key, fact=_fact(belief, who, speech), time=speech.moment(belief.last_utc_s))


def _fact(belief: Belief, who: str, speech: Speech) -> str:
    """The fact without its full stop."""
    changed = belief.changed_utc_s is not None
    return told(belief.triple, who, speech.language, changed=changed).rstrip(".。")
