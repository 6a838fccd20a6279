"""Learns people's names from what they say: evidence from each clip's heard lines, and the name once it is proved.

What a sentence says of names is read by runtime/name_claims.py, what proves a name by runtime/name_evidence.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memory_store.records import Person
from memory_store.store import MemoryStore
from runtime.grounded import GroundedLine
from runtime.name_claim import Claim
from runtime.name_claims import claims_in
from runtime.name_evidence import DENIED, QUOTED, STRONG, WEAK, sound_of, standing

ANSWER_S = 5.0  # who speaks within this before or after is talked to
ARRIVED_S = 10.0  # who came into view within this is the one introduced

StoredLine = tuple[int, GroundedLine]  # with the id of its node


@dataclass(frozen=True)
class _Present:
    """Somebody in view or speaking: who, and the face or voice by which."""

    person: Person
    node_id: int


def provenance_of_names(line: GroundedLine) -> dict[str, Any]:
    """What a heard line says of names, relations ("my brother Leo") too, to be kept with the line."""
    claims = _claims(line)
    if not claims:
        return {}
    return {
        "names": [
            {
                "kind": claim.kind,
                "name": claim.name,
                **({"relation": claim.relation} if claim.relation else {}),
            }
            for claim in claims
        ]
    }


def learn_names(store: MemoryStore, clip_id: int, lines: Sequence[StoredLine]) -> None:
    """Keep the evidence of a clip's lines, then name those of the clip whose names are proved.

    Runs inside the transaction of the clip; the same lines again add nothing.
    """
    clip = _Clip(store, lines)
    for number, (node_id, line) in enumerate(lines):
        for claim in _claims(line):
            if claim.kind in ("self", "not_self", "quoted"):
                speaker = clip.speaker(line)
                if speaker is not None and _may_be_named(speaker):
                    weight = _weight(claim, line)
                    store.add_name_evidence(None, claim.name, clip_id, node_id, weight, claim.kind)
                continue
            meant = clip.addressee(number) if claim.kind == "address" else clip.introduced(number)
            if (
                meant is not None
                and _may_be_named(meant.person)
                and not _is_anothers(store, claim, meant.person)
            ):
                store.add_name_evidence(
                    None, claim.name, clip_id, node_id, WEAK, claim.kind, subject_id=meant.node_id
                )
    for person_id in sorted(clip.person_ids):
        settle_name(store, person_id)


def settle_name(store: MemoryStore, person_id: int) -> None:
    """Give a person the name that their evidence proves, or take a heard one away that it proves no more.

    What residents said is left alone: a name they gave, one they took away, and one they undid.
    """
    person, evidence = store.person(person_id), store.name_evidence(person_id)
    if not evidence or not _may_be_named(person):
        return
    name = standing(evidence).name
    sounds = {sound_of(one.name) for one in evidence}
    if person.name is not None:
        kept = name is not None and sound_of(name) == sound_of(person.name)
        if kept or sound_of(person.name) not in sounds:  # the latter was not learned by hearing
            return
    if name != person.name and store.may_learn_name(person.id, name):
        store.name_person(person.id, name)


class _Clip:
    """Who was where in one clip, by its lines."""

    def __init__(self, store: MemoryStore, lines: Sequence[StoredLine]) -> None:
        self._lines = [line for _, line in lines]
        actors = sorted({actor for line in self._lines for actor in line.actors})
        self._owners = {actor: store.person_of(actor) for actor in actors}

    @property
    def person_ids(self) -> set[int]:
        return {person.id for person in self._owners.values() if person is not None}

    def speaker(self, line: GroundedLine) -> Person | None:
        """Whose words a heard line holds, if that is known."""
        return self._owners[line.actors[0]] if len(line.actors) == 1 else None

    def addressee(self, number: int) -> _Present | None:
        """The one whom a line is said to: the only other one in view, or the one who speaks right before or after."""
        line = self._lines[number]
        speaker, partner = self.speaker(line), self._partner(number)
        others = self._others_in_view(number)
        if speaker is None or others is None:
            return None
        if partner is None:
            return next(iter(others.values())) if len(others) == 1 else None
        if not others or partner.person.id in others:
            return partner
        (only, *more) = others.values()
        unbound = not more and not only.person.voice_ids and not partner.person.face_ids
        return only if unbound else None

    def introduced(self, number: int) -> _Present | None:
        """The one of whom a line says who they are: the only other one in view, or the only one who just came."""
        others = self._others_in_view(number)
        if not others:
            return None
        if len(others) == 1:
            return next(iter(others.values()))
        line = self._lines[number]
        came = {
            present.person.id: present
            for seen in self._seen(line)
            for present in self._people(seen)
            if present.person.id in others and line.start_s - seen.start_s < ARRIVED_S
        }
        return next(iter(came.values())) if len(came) == 1 else None

    def _partner(self, number: int) -> _Present | None:
        """Who else speaks within a few seconds; None where nobody does, or two do, or it is not known who."""
        line = self._lines[number]
        speaker = self.speaker(line)
        found: dict[int, _Present] = {}
        for other in self._lines:
            gap_s = max(other.start_s - line.end_s, line.start_s - other.end_s)
            if other is line or not _is_said_here(other) or gap_s > ANSWER_S:
                continue
            found.update(
                (present.person.id, present)
                for present in self._people(other)
                if speaker is not None and present.person.id != speaker.id
            )
        return next(iter(found.values())) if len(found) == 1 else None

    def _others_in_view(self, number: int) -> dict[int, _Present] | None:
        """Who but the speaker is in view, by person; None where somebody is who is not known.

        A speaker without a face may be any of those in view: then nobody is taken for another.
        """
        line = self._lines[number]
        speaker = self.speaker(line)
        if speaker is None:
            return None
        seen = list(self._seen(line))
        if any(not one.actors for one in seen):
            return None
        if not speaker.face_ids:
            return {}
        people = [present for one in seen for present in self._people(one)]
        return {present.person.id: present for present in people if present.person.id != speaker.id}

    def _seen(self, line: GroundedLine) -> Iterator[GroundedLine]:
        for other in self._lines:
            if other.event == "seen" and other.start_s < line.end_s and other.end_s > line.start_s:
                yield other

    def _people(self, line: GroundedLine) -> Iterator[_Present]:
        for actor in line.actors:
            person = self._owners[actor]
            if person is not None:
                yield _Present(person, actor)


def _claims(line: GroundedLine) -> tuple[Claim, ...]:
    """What a line says of names; nothing where nobody in the room is known to say it alone."""
    told = line.provenance
    if told.get("overlapped") or told.get("attributed_by") in (None, "nothing") or not line.actors:
        return ()
    return claims_in(str(told.get("said", ""))) if _is_said_here(line) else ()


def _is_said_here(line: GroundedLine) -> bool:
    """Whether a line holds words of somebody in the room, and not of a screen, or perhaps of one."""
    return line.event == "heard" and line.provenance.get("speech_source", "room") == "room"


def _weight(claim: Claim, line: GroundedLine) -> float:
    if claim.kind == "not_self":
        return DENIED
    if claim.kind == "quoted":
        return QUOTED
    return WEAK if line.provenance.get("attributed_by") == "sight" else STRONG


def _may_be_named(person: Person) -> bool:
    return person.consent != "do_not_remember"


def _is_anothers(store: MemoryStore, claim: Claim, person: Person) -> bool:
    """Whether somebody else carries the name already: a call into the next room, most likely."""
    sound = sound_of(claim.name)
    return any(
        other.name is not None and other.id != person.id and sound_of(other.name) == sound
        for other in store.people()
    )
