"""PeopleStore, the part of the memory's door that knows who is who: exemplars, persons, corrections, votes, names."""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from memory_store.apart import take_apart
from memory_store.as_of import PastMemory
from memory_store.corrections import Corrections
from memory_store.database import Database
from memory_store.facts import Facts
from memory_store.graph import Graph
from memory_store.graph_store import GraphStore
from memory_store.history import Entry, HistoryRow, Source
from memory_store.identity import Identity
from memory_store.identity_health import identity_health
from memory_store.kept_copy import KeptCopy
from memory_store.names import Names
from memory_store.negatives import Negatives
from memory_store.records import (
    Binding,
    Consent,
    Exemplar,
    NameEvidence,
    Negative,
    Person,
)
from memory_store.tentative import Tentative
from memory_store.vectors import Vectors
from memory_store.votes import Votes

if TYPE_CHECKING:
    from memory_store.store import MemoryStore


class PeopleStore(GraphStore):
    """Thin methods over the modules that do the work."""

    _past: PastMemory  # these two are made by `MemoryStore`, which alone can open one
    _apart: KeptCopy

    def __init__(
        self, database: Database, vectors: Vectors, graph: Graph, clock: Callable[[], float]
    ) -> None:
        super().__init__(database, vectors, graph, clock)
        self._identity = Identity(database, clock)
        self._negatives = Negatives(database, vectors)
        self._facts = Facts(database, graph, vectors)
        self._corrections = Corrections(database, graph, self._identity, self._facts)
        self._votes = Votes(database)
        self._names = Names(database, clock)
        self._tentative = Tentative(database, self._facts)

    # Exemplars

    def add_exemplar(
        self, node_id: int, space: str, vector: ArrayLike, *, quality: float, clip_id: int | None
    ) -> int:
        """Add an example of a face or voice and return its id."""
        self._graph.require_node(node_id)
        return self._vectors.add_exemplar(node_id, space, vector, quality=quality, clip_id=clip_id)

    def remove_exemplar(self, exemplar_id: int) -> None:
        """Delete an exemplar."""
        self._vectors.remove_exemplar(exemplar_id)

    def exemplars(self, space: str) -> list[Exemplar]:
        """The exemplars of a space's current model, oldest first."""
        return self._vectors.exemplars(space)

    # Persons

    def create_person(self, *, tentative: bool = True) -> int:
        """Add a person without name, face or voice, and return the id."""
        return self._identity.create(tentative=tentative)

    def bind(self, person_id: int, node_id: int, *, source: Source = "code") -> None:
        """Give a face or voice to a person; one already given to another moves, unless a resident bound it."""
        self._identity.bind(person_id, node_id, source)

    def merge_people(self, keep: int, gone: int, *, source: Source = "code") -> None:
        """Make two persons one, under the id `keep`; `gone` leads to it from then on."""
        self._identity.merge(keep, gone, source)

    def name_person(self, person_id: int, name: str | None, *, source: Source = "code") -> None:
        """Name a person, which confirms them; None takes the name away."""
        self._identity.set_name(person_id, name, source)

    def set_tentative(self, person_id: int, tentative: bool) -> None:
        """Confirm a person, or make them tentative again."""
        self._identity.set_tentative(person_id, tentative)

    def set_consent(self, person_id: int, consent: Consent) -> None:
        """Record what a person agreed to."""
        self._identity.set_consent(person_id, consent)

    def people(self) -> list[Person]:
        """Everyone who lives under an id of their own, by id."""
        return self._identity.people()

    def person(self, person_id: int) -> Person:
        """One person; the id of someone merged away leads to who they are now."""
        return self._identity.person(person_id)

    def person_of(self, node_id: int) -> Person | None:
        """The person a face or voice is bound to, or None."""
        return self._identity.person_of(node_id)

    def apart(self) -> "MemoryStore":
        """The memory with every face and voice a person of its own; to be read, not closed. See memory_store/apart.py.

        The copy is kept until this memory changes.
        """
        return self._apart.made("apart", take_apart)

    def person_history(self, person_id: int) -> list[dict[str, Any]]:
        """What was done to a person, oldest first."""
        return self._identity.history(person_id)

    # Corrections by residents

    def split(self, person_id: int, node_ids: Collection[int]) -> int:
        """Make a new person of some of a person's faces and voices; their id."""
        return self._corrections.split(person_id, node_ids)

    def split_lines(self, person_id: int, line_ids: Collection[int]) -> int:
        """Make a new person, with a face or voice of their own, of lines wrongly told of a person; their id."""
        return self._corrections.split_lines(person_id, line_ids)

    def take_node(self, node_id: int, person_id: int | None = None) -> int:
        """A face or voice is not its person's: it becomes another's, or a new person's; the new owner's id."""
        return self._corrections.take_node(node_id, person_id)

    def reassign_line(self, node_id: int, person_id: int | None, *, clip_id: int | None = None) -> int | None:
        """A line is about another person, or about nobody known; the face or voice it names now.

        With a clip only that part of an event which went on through several.
        """
        return self._corrections.reassign_line(node_id, person_id, clip_id)

    def undo(self, history_id: int | None = None) -> HistoryRow:
        """Undo a change, or the last correction by a resident that stands; what was undone."""
        return self._corrections.undo(history_id)

    def recorded(
        self, action: str, person_id: int, source: Source, **detail: Any
    ) -> AbstractContextManager[Entry]:
        """A block of writes that stands in the history as one change and is undone as one."""
        return self._identity.log.recorded(action, person_id, source, **detail)

    def history(self, person_id: int | None = None) -> list[HistoryRow]:
        """What was done to persons, oldest first; to one, and to those merged into them, where one is given."""
        persons = None if person_id is None else self._identity.with_merged(person_id)
        return self._identity.log.rows(persons)

    def is_pinned(self, node_id: int) -> bool:
        """Whether a resident bound the face or voice: votes never move it."""
        return self._identity.is_pinned(node_id)

    def bindings(self, person_id: int) -> list[Binding]:
        """A person's faces and voices, and who gave them to the person."""
        return self._identity.bindings(person_id)

    def add_negative(
        self,
        node_id: int,
        space: str,
        vector: ArrayLike,
        *,
        clip_id: int | None = None,
        source: str = "resident",
        origin_id: int | None = None,
    ) -> int:
        """Remember that a vector is not of a face or voice; `origin_id`: the node it came from."""
        self._graph.require_node(node_id)
        return self._negatives.add(
            node_id, space, vector, clip_id=clip_id, source=source, origin_id=origin_id
        )

    def negatives(self, space: str) -> list[Negative]:
        """What is known not to be somebody, of the space's current model, oldest first."""
        return self._negatives.select(space)

    def render(self, text: str) -> str:
        """The text with tags replaced by current labels; tags of nobody known stay as they are."""
        return self._identity.render(text)

    def add_vote(self, face_id: int, voice_id: int, clip_id: int, weight: float = 1.0) -> bool:
        """Vote that a face and a voice belong together, once per pair and clip; False where it was there."""
        return self._votes.add(face_id, voice_id, clip_id, weight)

    def votes(self, *, before_clip: int | None = None) -> dict[tuple[int, int], float]:
        """The summed votes of each (face, voice) pair; with `before_clip` as they were before that clip."""
        then = self if before_clip is None else self._past.before(before_clip)
        return then._votes.totals()

    def votes_of(self, node_id: int, now_utc_s: float, half_life_s: float) -> dict[int, float]:
        """The faded votes between a face or voice and each of its partners, by the partner's id."""
        return self._votes.of_node(node_id, now_utc_s, half_life_s)

    def were_met(self, face_ids: Collection[int], voice_id: int, least: float) -> bool:
        """Whether one clip alone gave the voice a vote of at least so much with one of the faces."""
        return self._votes.any_of(face_ids, voice_id, least)

    def weak_votes(self, face_id: int, voice_id: int, below: float) -> float:
        """The sum of a pair's votes that each weigh less than `below`."""
        return self._votes.below(face_id, voice_id, below)

    def owner_of(self, node_id: int) -> int | None:
        """The id of the person a face or voice is bound to, or None; cheaper than `person_of`."""
        return self._identity.owner(node_id)

    def cannot_links(self, node_id: int) -> frozenset[int]:
        """The faces and voices that are known to be other people's than this one."""
        return frozenset(self._graph.cannot_links(node_id))

    def confirm(self, node_id: int, clip_id: int) -> bool:
        """End the tentative state of whom a face or voice belongs to, met again in another clip than its first."""
        return self._tentative.confirm(node_id, clip_id)

    def expire_tentative(self, before_utc_s: float, limit: int | None = None) -> list[int]:
        """Forget tentative people last met before a moment, and those beyond `limit`; who they were, by id.

        Their faces and voices are deleted, with vectors, votes and edges; lines about them tell of "somebody".
        """
        gone = self._tentative.expired(before_utc_s, limit)
        self._tentative.end(gone)
        return gone

    def identity_health(self, space: str) -> dict[str, Any]:
        """How well the exemplars of a space tell people apart; see `identity_health.identity_health`."""
        return identity_health(space, self.exemplars(space))

    def add_name_evidence(
        self,
        person_id: int | None,
        name: str,
        clip_id: int,
        node_id: int,
        weight: float,
        source: str,
        *,
        subject_id: int | None = None,
    ) -> bool:
        """Keep what a line tells of somebody's name, once; False where it was there.

        It is about the face or voice `subject_id`, else about a person, else about whoever speaks the line.
        """
        return self._names.add(person_id, name, clip_id, node_id, weight, source, subject_id=subject_id)

    def name_evidence(self, person_id: int | None = None) -> list[NameEvidence]:
        """What was heard of a person's name, or of everybody's, oldest first."""
        return self._names.of(person_id)

    def may_learn_name(self, person_id: int, name: str | None) -> bool:
        """Whether hearsay may name the person so (None: take a heard name away), and no resident decided otherwise."""
        return self._names.may_be_learned(self._identity.living(person_id), name)
