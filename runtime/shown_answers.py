"""Answers about what a picture or a sound shows: who it is, that nobody can tell, where the thing in it was seen."""

from __future__ import annotations

from dataclasses import replace

from memory_store.store import MemoryStore
from runtime.name_evidence import maybe_names
from runtime.object_answers import answer_about_one
from runtime.object_kinds import name_of
from runtime.question import Question
from runtime.say import Speech
from runtime.shown import Shown, ShownOne
from runtime.shown_question import ShownAsked
from runtime.timeline_answers import ComputedAnswer, answer_from_timeline


def answer_about_shown(
    store: MemoryStore, question: Question, shown: Shown, asked: ShownAsked, speech: Speech
) -> ComputedAnswer | None:
    """The answer; None where it is known who is meant and the question, with the name in it, goes on to the memory.

    Confidence 0: it cannot be told who or what it is.
    """
    match asked.about:
        case "identity":
            return _identity(store, question, shown, speech)
        case "thing":
            return _thing(store, question, shown, asked, speech)
        case "person" if shown.person is None:
            return _unsaid(_who(store, shown, speech, asks_one=True))
    return None


def _unsaid(text: str) -> ComputedAnswer:
    return ComputedAnswer(text, (), 0.0)


def _identity(store: MemoryStore, question: Question, shown: Shown, speech: Speech) -> ComputedAnswer:
    """Who it is and when they were last met, which is the proof that they are known."""
    text, person = _who(store, shown, speech, asks_one=False), shown.person
    if person is None:
        sure = any(one.verdict == "known" for one in shown.ones)
        return replace(_unsaid(text), confidence=0.6 if sure else 0.0)
    met = answer_from_timeline(
        store,
        replace(
            question,
            intent="last_seen" if shown.medium == "picture" else "last_heard",
            persons=(person,),
            time=None,
        ),
        speech,
    )
    if met is None:
        return ComputedAnswer(text, (), 0.9)
    return ComputedAnswer(speech.sentences([text, met.text]), met.node_ids, 0.9)


def _who(store: MemoryStore, shown: Shown, speech: Speech, *, asks_one: bool) -> str:
    kind = "face" if shown.medium == "picture" else "voice"
    if not shown.ones:
        return speech.phrase("shown_no_face")
    if len(shown.ones) > 1:
        if asks_one:
            return speech.phrase("shown_faces", count=len(shown.ones))
        return speech.phrase(
            "shown_row", persons=speech.enumeration([_one(one, speech) for one in shown.ones])
        )
    (one,) = shown.ones
    if one.poor:
        return speech.phrase(f"shown_{one.poor}")
    if one.person is None:
        return speech.phrase(f"shown_{kind}_new")
    if one.verdict == "unsure":
        return speech.phrase(f"shown_{kind}_unsure", person=one.person.label)
    if one.person.name:
        return speech.phrase(f"shown_{kind}", person=one.person.label)
    heard = maybe_names(store.name_evidence()).get(one.person.id)
    if heard:
        return speech.phrase(f"shown_{kind}_hearsay", person=one.person.label, name=heard)
    return speech.phrase(f"shown_{kind}_nameless", person=one.person.label)


def _one(one: ShownOne, speech: Speech) -> str:
    if one.person is None:
        return speech.phrase("shown_somebody")
    return speech.phrase(
        "shown_perhaps" if one.verdict == "unsure" else "shown_sure", person=one.person.label
    )


def _thing(
    store: MemoryStore, question: Question, shown: Shown, asked: ShownAsked, speech: Speech
) -> ComputedAnswer:
    if not shown.ones:
        if len(shown.others) > 1:
            names = [name_of(label, speech.language) for label in shown.others]
            return _unsaid(speech.phrase("shown_things", things=speech.enumeration(names)))
        return _unsaid(speech.phrase("shown_no_thing"))
    (one,) = shown.ones
    thing = name_of(one.label, speech.language)
    if one.verdict != "known" or one.object_id is None:
        return _unsaid(
            speech.phrase(f"shown_thing_{'new' if one.verdict == 'new' else 'unsure'}", thing=thing)
        )
    known = next(item for item in store.objects.known() if item.id == one.object_id)
    answer = answer_about_one(store, question, known, asked.ask, speech)
    return answer or _unsaid(speech.phrase("shown_thing_nothing", thing=thing))
