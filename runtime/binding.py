"""Which face and which voice are one person, by the votes of the clips they were met in together.

Residents' corrections are stronger than votes: what a resident bound never moves, what is known to be different
people is never bound (DESIGN section 6).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from memory_store.errors import IdentityConflict
from memory_store.records import Person
from memory_store.store import MemoryStore

DAY_S = 86400.0
MET = 1.0  # the least vote that code casts for a face and a voice that were met together
MODEL_VOTE = (
    0.25  # what a language model's word counts: it moves a count, and alone binds and releases nobody,
)
MOST_MODEL_VOTES = 1.0  # nor does it by saying the same of a pair in every clip


@dataclass(frozen=True)
class VoteRule:
    """How votes decide.

    least: the votes that make a binding; margin: how many times the runner-up's it must have; half_life_days: after
    that long a vote counts half, so that a wrong binding fades.
    """

    least: float
    margin: float
    half_life_days: float


@dataclass(frozen=True)
class Meeting:
    """A face and a voice met alone together in one clip, and how much that says."""

    face_id: int
    voice_id: int
    weight: float


class Binder:
    """Casts the votes of a clip and moves its voices between people, inside the caller's transaction."""

    def __init__(self, store: MemoryStore, rule: VoteRule) -> None:
        self._store = store
        self._rule = rule

    def vote(self, clip_id: int, now_utc_s: float, meetings: Iterable[Meeting]) -> None:
        """One vote for each pair of the clip, the strongest; then each voice goes where its votes lead."""
        weights: dict[tuple[int, int], float] = {}
        for one in meetings:
            pair = (one.face_id, one.voice_id)
            weights[pair] = max(weights.get(pair, 0.0), one.weight)
        for (face_id, voice_id), weight in sorted(weights.items()):
            self._store.add_vote(face_id, voice_id, clip_id, weight)
        for voice_id in sorted({voice_id for _, voice_id in weights}):
            self._settle(voice_id, now_utc_s)

    def _settle(self, voice_id: int, now_utc_s: float) -> None:
        """Bind a voice to the person whose faces lead its votes, or take it from one who lost the lead.

        A tie has no leader: it binds nobody and undoes nothing (paper section 4.1 lets the best vote win; two
        people who are always met together would then share a voice).
        """
        speaker = self._store.owner_of(voice_id)
        votes = self._by_person(voice_id, now_utc_s)
        pinned, seen = self._store.is_pinned(voice_id), speaker is not None and self._has_face(speaker)
        if speaker is None or not votes or (pinned and seen):
            return
        ranked = sorted(votes, key=lambda person: (-votes[person], person))
        best, runner_up = ranked[0], votes[ranked[1]] if len(ranked) > 1 else 0.0
        if not self._store.were_met(self._nodes(best), voice_id, MET):
            return  # only a language model takes them for one
        leads = votes[best] >= self._rule.least and votes[best] >= self._rule.margin * runner_up
        if leads and best != speaker and self._is_its_voice(best, voice_id, votes[best], now_utc_s):
            self._give(self._store.person(best), self._store.person(speaker), voice_id)
        elif not pinned and seen and best != speaker and votes[best] > votes.get(speaker, 0.0):
            self._release(voice_id)
        if leads and voice_id in self._nodes(best):
            self._release_weaker(best, voice_id, votes[best], now_utc_s)

    def _by_person(self, voice_id: int, now_utc_s: float) -> dict[int, float]:
        """What stands for each person that the voice may belong to."""
        apart = self._store.cannot_links(voice_id)
        found: dict[int, float] = defaultdict(float)
        half_life_s = self._rule.half_life_days * DAY_S
        for face_id, weight in self._store.votes_of(voice_id, now_utc_s, half_life_s).items():
            person = self._store.owner_of(face_id)
            if person is not None and not (apart and apart & self._nodes(person)):
                found[person] += weight
        return found

    def _nodes(self, person_id: int) -> set[int]:
        return {binding.node_id for binding in self._store.bindings(person_id)}

    def _has_face(self, person_id: int) -> bool:
        return any(binding.kind == "face" for binding in self._store.bindings(person_id))

    def _is_its_voice(self, person_id: int, voice_id: int, weight: float, now_utc_s: float) -> bool:
        """Whether no other voice of the person is as much theirs: most people have one voice."""
        rivals = self._rivals(person_id, voice_id, now_utc_s)
        return weight >= self._rule.margin * max(rivals.values(), default=0.0)

    def _rivals(self, person_id: int, voice_id: int, now_utc_s: float) -> dict[int, float]:
        """The person's other voices, with the votes that each has together with the person's faces."""
        half_life_s = self._rule.half_life_days * DAY_S
        bindings = self._store.bindings(person_id)
        voices = {binding.node_id for binding in bindings if binding.kind == "voice"} - {voice_id}
        found = dict.fromkeys(sorted(voices), 0.0)
        for binding in bindings if found else []:
            for other, weight in self._store.votes_of(binding.node_id, now_utc_s, half_life_s).items():
                if other in found:
                    found[other] += weight
        return found

    def _release_weaker(self, person_id: int, voice_id: int, weight: float, now_utc_s: float) -> None:
        """Take from a person the voices that this one, met with them far more often, shows to be others'."""
        for other, votes in self._rivals(person_id, voice_id, now_utc_s).items():
            wrong = 0.0 < votes * self._rule.margin <= weight
            if wrong and not self._store.is_pinned(other):
                self._release(other)

    def _release(self, voice_id: int) -> None:
        self._store.bind(self._store.create_person(tentative=False), voice_id)

    def _give(self, owner: Person, speaker: Person, voice_id: int) -> None:
        """Let the owner of the face have the voice: with all that its present person is, where that is only a voice."""
        stays, stands = self._pinned(speaker), self._pinned(owner)
        rivals = bool(speaker.name and owner.name and speaker.name != owner.name) or (stays and stands)
        try:
            if speaker.face_ids and not self._store.is_pinned(voice_id):
                self._store.bind(owner.id, voice_id)
            elif rivals or speaker.face_ids:
                return  # two who are known by name, or by a resident's word: votes alone never make them one
            elif stays or (speaker.name and not stands):
                self._store.merge_people(speaker.id, owner.id)
            else:
                self._store.merge_people(owner.id, speaker.id)
        except IdentityConflict:
            return  # another face or voice of theirs is known to be somebody else's: it stays as it was

    def _pinned(self, person: Person) -> bool:
        return any(self._store.is_pinned(node) for node in (*person.face_ids, *person.voice_ids))
