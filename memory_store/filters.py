"""Exact filters on nodes as SQL: kind, person, clip, time span, place, object class, and "before this clip"."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from memory_store.database import Database
from memory_store.errors import InvalidValue, UnknownId
from memory_store.identity import Identity
from memory_store.records import NodeKind


@dataclass(frozen=True)
class Sql:
    """A piece of SQL with its parameters."""

    text: str
    parameters: tuple[Any, ...]


@dataclass(frozen=True)
class NodeFilter:
    """Which nodes are asked for; None leaves a column open.

    Time, clip, place and `before_clip` look at a node's evidence: some one clip must speak for the node that
    meets all of them at once, by the span it contributed. Spans are half open: one that ends exactly at
    `after_utc_s` or starts exactly at `before_utc_s` is outside. `before_clip` is about clips ordered by
    start time, then id, and leaves out nodes first written down in that clip or later. A clip meets a place by
    its own name of where it was taken, upper or lower case alike; what an edge ties to the place node of that
    name meets it anywhere. A person is concerned by their own faces and voices and by nodes with a `mentions` or
    `entity_link` edge to one, an object class by the objects whose provenance names that `class` and by nodes
    that mention one.
    """

    kinds: Collection[NodeKind] | None = None
    person_id: int | None = None
    clip_id: int | None = None
    after_utc_s: float | None = None
    before_utc_s: float | None = None
    before_clip: int | None = None
    place: str | None = None
    object_class: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether every node passes."""
        return self == NodeFilter()


class FilterArguments(TypedDict, total=False):
    """The fields of a `NodeFilter`, as keyword arguments of the store's methods."""

    kinds: Collection[NodeKind] | None
    person_id: int | None
    clip_id: int | None
    after_utc_s: float | None
    before_utc_s: float | None
    before_clip: int | None
    place: str | None
    object_class: str | None


class Allowed:
    """The nodes that pass a filter, found once for all channels of a search."""

    def __init__(self, ids: Iterable[int]) -> None:
        listed = ids if isinstance(ids, np.ndarray) else np.fromiter(ids, np.int64)
        self.ids: NDArray[np.int64] = np.sort(listed)

    def contains(self, node_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some nodes pass."""
        at = np.searchsorted(self.ids, node_ids)
        found: NDArray[np.bool_] = np.append(self.ids, -1)[at] == node_ids
        return found

    def has(self, node_id: int) -> bool:
        """Whether one node passes."""
        at = np.searchsorted(self.ids, node_id)
        return bool(at < len(self.ids) and self.ids[at] == node_id)

    @cached_property
    def sql(self) -> Sql:
        """A query for the ids, as column `value`."""
        return Sql("SELECT value FROM json_each(?)", (json.dumps(self.ids.tolist()),))


def allowed_nodes(condition: NodeFilter, database: Database, identity: Identity) -> Allowed | None:
    """The nodes that pass, or None where all do; raises UnknownId, InvalidValue."""
    query = node_ids(condition, database, identity)
    return None if query is None else Allowed(database.ids(query.text, query.parameters))


def passing(ids: Iterable[int], condition: NodeFilter, database: Database, identity: Identity) -> set[int]:
    """Those of some nodes that exist and pass; costs what they are, not what the memory is."""
    where = _where(condition, database, identity, each=True) or Sql("1", ())
    rows = database.rows(
        f"SELECT n.id FROM json_each(?) given CROSS JOIN nodes n ON n.id = given.value WHERE {where.text}",
        (json.dumps([int(i) for i in ids]), *where.parameters),
    )
    return {row[0] for row in rows}


def witnessed(person_id: int, ids: Iterable[int], database: Database, identity: Identity) -> set[int]:
    """Those of some nodes that concern a person, or rest on a clip in which the person was seen or heard.

    An event that went on through several clips must rest on these alone: it tells how long somebody else stayed.
    """
    given = [int(i) for i in ids]
    rows = database.rows(
        f"""SELECT n.id FROM json_each(?1) given CROSS JOIN nodes n ON n.id = given.value
        WHERE EXISTS (SELECT 1 FROM node_clips nc WHERE nc.node_id = n.id AND {_MET})
        AND (n.kind <> 'episodic'
            OR NOT EXISTS (SELECT 1 FROM node_clips nc WHERE nc.node_id = n.id AND NOT {_MET}))""",
        (json.dumps(given), identity.living(person_id)),
    )
    met = {row[0] for row in rows}
    return met | passing(given, NodeFilter(person_id=person_id), database, identity)


def is_narrow(condition: NodeFilter, database: Database) -> bool:
    """Whether few nodes can pass, so that listing them is cheap; told by what an index counts at once."""
    streams = list[tuple[str, tuple[Any, ...]]]()
    if condition.kinds is not None:
        kinds = tuple(condition.kinds)
        streams.append((f"nodes WHERE kind IN ({', '.join('?' * len(kinds))})", kinds))
    if condition.clip_id is not None:
        streams.append(("node_clips WHERE clip_id = ?", (condition.clip_id,)))
    if condition.after_utc_s is not None or condition.before_utc_s is not None:
        after, before = _span(condition)
        span = f"node_clips WHERE start_utc_s >= ? - {_LONGEST} AND start_utc_s < ?"
        streams.append((span, (after, before)))
    if condition.person_id is not None:
        told = "edges e JOIN person_nodes p ON p.node_id = e.target WHERE p.person_id = ?"
        streams.append((told, (condition.person_id,)))
    counts = (
        database.row(f"SELECT count(*) FROM (SELECT 1 FROM {rows} LIMIT {_NARROW + 1})", parameters)
        for rows, parameters in streams
    )
    return any(row is not None and row[0] <= _NARROW for row in counts)


def node_ids(condition: NodeFilter, database: Database, identity: Identity) -> Sql | None:
    """A query for the ids of the nodes that pass, or None where all do; raises UnknownId, InvalidValue."""
    where = _where(condition, database, identity, each=False)
    return None if where is None else Sql(f"SELECT n.id FROM nodes n WHERE {where.text}", where.parameters)


def _where(condition: NodeFilter, database: Database, identity: Identity, *, each: bool) -> Sql | None:
    """What a node `n` must meet. each: written to look at given nodes one by one, not to list all that pass."""
    if condition.is_open:
        return None
    where, parameters = ["1"], list[Any]()
    if condition.kinds is not None:
        unknown = [kind for kind in condition.kinds if kind not in get_args(NodeKind)]
        if unknown:
            raise InvalidValue(f"node kind {unknown[0]!r}: one of {', '.join(get_args(NodeKind))}")
        # The + keeps SQLite from going through all of a kind where something else says less.
        column = "n.kind" if replace(condition, kinds=None).is_open and not each else "+n.kind"
        where.append(f"{column} IN ({', '.join('?' * len(condition.kinds))})")
        parameters += condition.kinds
    if condition.person_id is not None:
        person_id = identity.living(condition.person_id)
        tied = " OR ".join(_among(column, rows, each) for column, rows in _TIED_TO_PERSON)
        own = _among("pn.node_id", "person_nodes pn WHERE pn.person_id = ?", each)
        where.append(f"({own} OR (n.kind NOT IN ('face', 'voice') AND ({tied})))")
        parameters += [person_id] * (1 + len(_TIED_TO_PERSON))
    if condition.object_class is not None:
        mentions = _among("e.source", _MENTIONS_CLASS, each)
        where.append(f"((n.kind = 'object' AND json_extract(n.provenance, '$.class') = ?) OR {mentions})")
        parameters += [condition.object_class] * 2
    evidence = evidence_condition(condition, database)
    if evidence is not None:
        if each:  # most that do not pass are known by their own span, which holds those of their evidence
            where.append("n.end_utc_s >= ? AND n.start_utc_s < ?")
            parameters += _span(condition)
        clipless = _clipless_condition(condition, database)
        spoken = f"{_evidence_rows(condition)} WHERE {evidence.text}"
        without = f"{clipless.text} AND NOT EXISTS (SELECT 1 FROM node_clips nc WHERE nc.node_id = n.id)"
        where.append(
            f"({_among('nc.node_id', spoken, each)} OR (n.clip_id IS NULL AND {without}))"
            if each
            # One list of ids, so that SQLite starts from it instead of looking at every node.
            else f"""n.id IN (SELECT nc.node_id FROM {spoken}
            UNION ALL SELECT n.id FROM nodes n WHERE n.clip_id IS NULL AND {without})"""
        )
        parameters += [*evidence.parameters, *clipless.parameters]
    if condition.before_clip is not None:
        where.append(f"(n.clip_id IS NULL OR n.clip_id IN (SELECT c.id FROM clips c WHERE {_BEFORE_CLIP}))")
        parameters.append(condition.before_clip)
    return Sql(" AND ".join(where), tuple(parameters))


def _span(condition: NodeFilter) -> tuple[float, float]:
    """From when and until when, in UTC seconds; far away where that is open."""
    after, before = condition.after_utc_s, condition.before_utc_s
    return -_EVER if after is None else after, _EVER if before is None else before


def _among(column: str, rows: str, each: bool) -> str:
    """Whether a node's id stands in a column of some rows: listed once, or looked up for the node."""
    return (
        f"EXISTS (SELECT 1 FROM {rows} AND {column} = n.id)"
        if each
        else f"n.id IN (SELECT {column} FROM {rows})"
    )


def _evidence_rows(condition: NodeFilter) -> str:
    """The rows that `evidence_condition` is about, with their clips where it looks at those."""
    by_clip = condition.before_clip is not None or condition.place is not None
    return "node_clips nc JOIN clips c ON c.id = nc.clip_id" if by_clip else "node_clips nc"


def evidence_condition(condition: NodeFilter, database: Database) -> Sql | None:
    """What a row of `node_clips nc JOIN clips c` must meet to speak for a node, or None for anything."""
    where, parameters = list[str](), list[Any]()
    for clip_id in (condition.clip_id, condition.before_clip):
        if clip_id is not None and database.row("SELECT 1 FROM clips WHERE id = ?", (clip_id,)) is None:
            raise UnknownId(f"no clip {clip_id} in this memory")
    if condition.clip_id is not None:
        where.append("nc.clip_id = ?")
        parameters.append(condition.clip_id)
    if condition.after_utc_s is not None:
        where.append("(nc.end_utc_s > ? OR nc.start_utc_s >= ?)")
        where.append(f"nc.start_utc_s >= ? - {_LONGEST}")  # follows from the above, and an index can find it
        parameters += [condition.after_utc_s] * 3
    if condition.before_utc_s is not None:
        where.append("nc.start_utc_s < ?")
        parameters.append(condition.before_utc_s)
    if condition.before_clip is not None:
        where.append(_BEFORE_CLIP)
        parameters.append(condition.before_clip)
    if condition.place is not None:
        where.append(f"(c.place = ? COLLATE NOCASE OR nc.node_id IN ({_TIED_TO_PLACE}))")
        parameters += [condition.place] * 3
    return Sql(" AND ".join(where), tuple(parameters)) if where else None


_BEFORE_CLIP = "(c.start_utc_s, c.id) < (SELECT b.start_utc_s, b.id FROM clips b WHERE b.id = ?)"

_TIED_TO_PLACE = """SELECT p.id FROM nodes p WHERE p.kind = 'place' AND p.text = ? COLLATE NOCASE
    UNION SELECT e.source FROM edges e JOIN nodes p ON p.id = e.target
    WHERE p.kind = 'place' AND p.text = ? COLLATE NOCASE AND e.relation <> 'cannot_link'"""

# Whether the person ?2 was seen or heard in the clip of `nc`.
_MET = """EXISTS (SELECT 1 FROM node_clips met JOIN person_nodes p ON p.node_id = met.node_id
    WHERE met.clip_id = nc.clip_id AND p.person_id = ?2)"""

_NARROW = 6000
_EVER = 1e15  # seconds
_LONGEST = "coalesce((SELECT max(end_utc_s - start_utc_s) FROM node_clips), 0)"

_MENTIONS_CLASS = """edges e JOIN nodes o ON o.id = e.target WHERE e.relation = 'mentions'
    AND o.kind = 'object' AND json_extract(o.provenance, '$.class') = ?"""

# In which column of which rows the nodes stand that concern a person.
_TIED_TO_PERSON = tuple(
    (
        f"e.{end}",
        f"edges e JOIN person_nodes p ON p.node_id = e.{other} WHERE p.person_id = ? AND e.relation = '{relation}'",
    )
    for end, other, relation in (
        ("source", "target", "mentions"),
        ("source", "target", "entity_link"),
        ("target", "source", "entity_link"),
    )
)


def _clipless_condition(condition: NodeFilter, database: Database) -> Sql:
    """The same for a node without any clip, by its own span."""
    if condition.clip_id is not None:
        return Sql("0", ())
    where, parameters = ["1"], list[Any]()
    if condition.after_utc_s is not None:
        where.append("(n.end_utc_s > ? OR n.start_utc_s >= ?)")
        parameters += [condition.after_utc_s] * 2
    if condition.before_utc_s is not None:
        where.append("n.start_utc_s < ?")
        parameters.append(condition.before_utc_s)
    if condition.before_clip is not None:
        where.append("n.end_utc_s <= (SELECT start_utc_s FROM clips WHERE id = ?)")
        parameters.append(condition.before_clip)
    if condition.place is not None:
        where.append(f"n.id IN ({_TIED_TO_PLACE})")
        parameters += [condition.place] * 2
    return Sql(" AND ".join(where), tuple(parameters))
