"""Answers about things, from pictures and from what people said: a place, a time, a picture; the last one counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_store.objects import KnownObject, Sighting
from memory_store.records import Node
from memory_store.store import MemoryStore
from runtime.object_kinds import name_of
from runtime.object_owners import Owner, belongs, holders_of, owners_of
from runtime.object_places import spot_words
from runtime.object_question import Ask, ObjectQuestion, read_object_question
from runtime.object_statements import statements, time_span
from runtime.question import Question
from runtime.quotes import quote_in, speaker_in
from runtime.say import Speech
from runtime.timeline_answers import ComputedAnswer

MOST_TOLD = 3


@dataclass(frozen=True)
class _Found:
    """One thing known of where something is: a picture, or a line that says so."""

    utc_s: float
    sighting: Sighting | None = None
    line: Node | None = None


def answer_about_objects(store: MemoryStore, question: Question, speech: Speech) -> ComputedAnswer | None:
    """The computed answer, or None where the question is about something else or nothing is known of it."""
    asked = read_object_question(question)
    if asked is None:
        return None
    objects, owner = _meant(store, asked)
    match asked.ask:
        case "where":
            seen = _sightings(store, question, asked, objects, only=owner is not None)
            said = statements(store, question, asked, asked.terms)
            return _where(store, asked, seen, said, owner, speech)
        case "look":
            seen = _sightings(store, question, asked, objects, only=owner is not None)
            return _look(store, asked, seen, objects, owner, speech)
        case "gave" | "whose":
            return _whose(store, asked, store.objects.known([asked.label]), speech)
        case "has":
            return _has(store, asked, objects, speech)


def answer_about_one(
    store: MemoryStore, question: Question, one: KnownObject, ask: Ask, speech: Speech
) -> ComputedAnswer | None:
    """What is known of this very thing; None where that is nothing."""
    asked = ObjectQuestion(ask, one.label, ())
    if ask in ("whose", "gave"):
        return _whose(store, asked, [one], speech)
    if ask == "has":
        return _has(store, asked, [one], speech)
    owner = next(iter(_last_word(owners_of(store, one.id))), None)
    seen = _sightings(store, question, asked, [one], only=True)
    if ask == "look":
        return _look(store, asked, seen, [one], owner, speech)
    return _where(store, asked, seen, (), owner, speech)


def _meant(store: MemoryStore, asked: ObjectQuestion) -> tuple[list[KnownObject], Owner | None]:
    """The objects that may be meant, and what ties them to whom the question names; all where nothing does."""
    if not asked.label:
        return [], None
    known = store.objects.known([asked.label])
    if asked.owners or asked.owner_name:
        ids, names = set(asked.owners), {asked.owner_name.casefold()} - {""}
        tied = [(one, owner) for one in known if (owner := belongs(store, one.id, ids, names)) is not None]
        own = [pair for pair in tied if pair[1].relation == "belongs_to"] or tied
        if own:
            return [one for one, _ in own], own[0][1]
    return known, None


def _sightings(
    store: MemoryStore,
    question: Question,
    asked: ObjectQuestion,
    objects: Sequence[KnownObject],
    *,
    only: bool,
) -> list[Sighting]:
    """The latest picture of each place where one of the objects was, latest first."""
    if not asked.label:
        return []
    after, before = time_span(question)
    ids = [one.id for one in objects]
    some = store.objects.class_node(asked.label)
    if some is not None and not only:
        ids.append(some)
    found = store.objects.sightings(ids, after_utc_s=after, before_utc_s=before, limit=60)
    latest: dict[tuple[object, ...], Sighting] = {}
    for sighting in found:
        key = (sighting.object_id, sighting.held, *sorted(sighting.spot.items()))
        latest.setdefault(key, sighting)
    return list(latest.values())


def _where(
    store: MemoryStore,
    asked: ObjectQuestion,
    seen: Sequence[Sighting],
    said: Sequence[Node],
    owner: Owner | None,
    speech: Speech,
) -> ComputedAnswer | None:
    found = [_Found(one.image.start_utc_s, sighting=one) for one in seen]
    found += [_Found(node.start_utc_s, line=node) for node in said]
    if not found:
        return None
    found.sort(key=lambda one: -one.utc_s)
    shown = found[:MOST_TOLD]
    thing = _thing(store, asked, owner, speech)
    parts = [_told(store, one, thing, speech, first=index == 0) for index, one in enumerate(shown)]
    if (asked.owners or asked.owner_name) and owner is None and shown[0].sighting is not None:
        parts.append(speech.phrase("object_whose_unknown", thing=name_of(asked.label, speech.language)))
    pictures = [one.sighting.image.id for one in shown if one.sighting is not None]
    evidence = [node.id for one in shown if (node := one.line or (one.sighting and one.sighting.image))]
    hands = [line for one in shown if one.sighting for line in _hands(store, one.sighting)]
    evidence += [owner.line.id] if owner is not None else []
    evidence += [hand.line.id for hand in hands]
    confidence = 0.9 if owner is not None or not (asked.owners or asked.owner_name) else 0.6
    return ComputedAnswer(
        speech.sentences(parts), tuple(dict.fromkeys(evidence)), confidence, tuple(pictures[:1])
    )


def _told(store: MemoryStore, one: _Found, thing: str, speech: Speech, *, first: bool) -> str:
    time = speech.moment(one.utc_s)
    if one.line is not None:
        who = store.render(speaker_in(one.line.text) or "")
        quote = store.render(quote_in(one.line.text) or "")
        person = speech.phrase("someone") if who in ("", "Somebody", "有人") else who
        return speech.phrase(
            "who_said" if first else "object_said_before", person=person, quote=quote, time=time
        )
    assert one.sighting is not None
    place = _place(store, one.sighting.image)
    where = _holder(store, one.sighting, speech) or spot_words(one.sighting.spot, speech)
    return speech.phrase(
        "object_where" if first else "object_before", thing=thing, where=where, place=place, time=time
    )


def _holder(store: MemoryStore, sighting: Sighting, speech: Speech) -> str:
    """In whose hand the thing was in a picture, in words; "" where it was in nobody's."""
    if not sighting.held or sighting.object_id is None:
        return ""
    hands = _hands(store, sighting)
    who = hands[0].name if hands and hands[0].name else speech.phrase("someone")
    return speech.phrase("object_in_hand", person=who)


def _hands(store: MemoryStore, sighting: Sighting) -> list[Owner]:
    """The lines of the picture's clip that say who has the thing."""
    if not sighting.held or sighting.object_id is None:
        return []
    holders = holders_of(store, sighting.object_id)
    return [one for one in holders if one.line.clip_id == sighting.image.clip_id][:1]


def _place(store: MemoryStore, image: Node) -> str:
    return "" if image.clip_id is None else store.clip(image.clip_id).place


def _thing(store: MemoryStore, asked: ObjectQuestion, owner: Owner | None, speech: Speech) -> str:
    name = name_of(asked.label, speech.language) if asked.label else " ".join(asked.terms)
    if owner is None or not owner.name:
        return speech.phrase("object_any", thing=name)
    key = "object_owned" if owner.relation == "belongs_to" else "object_given"
    return speech.phrase(key, thing=name, person=owner.name)


def _look(
    store: MemoryStore,
    asked: ObjectQuestion,
    seen: Sequence[Sighting],
    objects: Sequence[KnownObject],
    owner: Owner | None,
    speech: Speech,
) -> ComputedAnswer | None:
    """A picture of the thing, and where and when it was seen last."""
    if not seen:
        return None
    last = seen[0]
    portraits = [] if last.object_id is None else store.objects.portraits([last.object_id])
    parts = [
        speech.phrase(
            "object_look",
            thing=_thing(store, asked, owner, speech),
            where=_holder(store, last, speech) or spot_words(last.spot, speech),
            place=_place(store, last.image),
            time=speech.moment(last.image.start_utc_s),
        )
    ]
    if (asked.owners or asked.owner_name) and owner is None:
        parts.append(speech.phrase("object_whose_unknown", thing=name_of(asked.label, speech.language)))
    others = len({one.id for one in objects}) - 1
    if others > 0:
        parts.append(
            speech.phrase("object_others", count=others, thing=name_of(asked.label, speech.language))
        )
    pictures = (*(image.id for image in portraits[-1:]), last.image.id)
    evidence = (last.image.id, *([owner.line.id] if owner else []))
    return ComputedAnswer(speech.sentences(parts), evidence, 0.9 if owner else 0.7, pictures)


def _whose(
    store: MemoryStore, asked: ObjectQuestion, objects: Sequence[KnownObject], speech: Speech
) -> ComputedAnswer | None:
    """Whose a thing is, or from whom, as it was said; the last word on each object."""
    wanted = ("gift_from",) if asked.ask == "gave" else ("belongs_to", "gift_from")
    parts: list[str] = []
    evidence: list[int] = []
    pictures: list[int] = []
    for one in sorted(objects, key=lambda one: -one.node.last_seen_utc_s):
        owners = [owner for owner in owners_of(store, one.id) if owner.relation in wanted and owner.name]
        for owner in _last_word(owners):
            key = "object_is_gift" if owner.relation == "gift_from" else "object_is_owned"
            parts.append(
                speech.phrase(
                    key,
                    thing=name_of(asked.label, speech.language),
                    person=owner.name,
                    quote=store.render(quote_in(owner.line.text) or ""),
                    time=speech.moment(owner.line.start_utc_s),
                )
            )
            evidence.append(owner.line.id)
            pictures += [image.id for image in store.objects.portraits([one.id])[-1:]]
    if not parts:
        return None
    told = tuple(dict.fromkeys(evidence[:MOST_TOLD]))
    return ComputedAnswer(
        speech.sentences(parts[:MOST_TOLD]), told, 0.9, tuple(dict.fromkeys(pictures))[:MOST_TOLD]
    )


def _last_word(owners: Sequence[Owner]) -> list[Owner]:
    """The newest of what was said of an object: to whom it belongs, else from whom it is."""
    own = [owner for owner in owners if owner.relation == "belongs_to"]
    return list(own or owners)[:1]


def _has(
    store: MemoryStore, asked: ObjectQuestion, objects: Sequence[KnownObject], speech: Speech
) -> ComputedAnswer | None:
    """Who had a thing in the hand last."""
    held = [owner for one in objects for owner in holders_of(store, one.id)]
    if not held:
        return None
    last = max(held, key=lambda owner: (owner.line.start_utc_s, owner.line.id))
    text = speech.phrase(
        "object_held" if last.relation == "held_by" else "object_used",
        person=last.name or speech.phrase("someone_subject"),
        thing=speech.phrase("object_any", thing=name_of(asked.label, speech.language)),
        time=speech.moment(last.line.start_utc_s),
    )
    clip = last.line.clip_id
    pictures = [
        sighting.image.id
        for sighting in store.objects.sightings([one.id for one in objects], limit=60)
        if sighting.held and sighting.image.clip_id == clip
    ]
    return ComputedAnswer(text, (last.line.id,), 0.85, tuple(pictures[:1]))
