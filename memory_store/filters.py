"""Exact filters on nodes as SQL: kind, person, clip, time span, place, object class, and "before this clip"."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
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
        self.ids: NDArray[np.int64] = np.sort(np.fromiter(ids, np.int64))

    def contains(self, node_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some nodes pass."""
        at = np.searchsorted(self.ids, node_ids)
        found: NDArray[np.bool_] = np.append(self.ids, -1)[at] == node_ids
        return found

    @cached_property
    def sql(self) -> Sql:
        """A query for the ids, as column `value`."""
        return Sql("SELECT value FROM json_each(?)", (json.dumps(self.ids.tolist()),))


def allowed_nodes(condition: NodeFilter, database: Database, identity: Identity) -> Allowed | None:
    """The nodes that pass, or None where all do; raises UnknownId, InvalidValue."""
    query = node_ids(condition, database, identity)
    return None if query is None else Allowed(row[0] for row in database.rows(query.text, query.parameters))


def passing(ids: Iterable[int], condition: NodeFilter, database: Database, identity: Identity) -> set[int]:
    """Those of some nodes that exist and pass; costs what they are, not what the memory is."""
    query = node_ids(condition, database, identity) or Sql("SELECT n.id FROM nodes n WHERE 1", ())
    sql = f"{query.text} AND n.id IN (SELECT value FROM json_each(?))"
    rows = database.rows(sql, (*query.parameters, json.dumps([int(i) for i in ids])))
    return {row[0] for row in rows}


def witnessed(person_id: int, ids: Iterable[int], database: Database, identity: Identity) -> set[int]:
    """Those of some nodes that concern a person, or rest on a clip in which the person was seen or heard.

    An event that went on through several clips must rest on these alone: it tells how long somebody else stayed.
    """
    living = identity.living(person_id)
    rows = database.rows(
        f"""SELECT n.id FROM nodes n WHERE n.id IN (SELECT value FROM json_each(?)) AND ({_CONCERNS_PERSON}
        OR n.id IN (SELECT nc.node_id FROM node_clips nc JOIN node_clips met ON met.clip_id = nc.clip_id
            JOIN person_nodes p ON p.node_id = met.node_id
            WHERE p.person_id = ? AND nc.node_id IN (SELECT value FROM json_each(?)))
        AND (n.kind <> 'episodic' OR NOT EXISTS (SELECT 1 FROM node_clips nc WHERE nc.node_id = n.id
            AND NOT EXISTS (SELECT 1 FROM node_clips met JOIN person_nodes p ON p.node_id = met.node_id
            WHERE met.clip_id = nc.clip_id AND p.person_id = ?))))""",
        (wanted := json.dumps([int(i) for i in ids]), *[living] * 5, wanted, living),
    )
    return {row[0] for row in rows}


def node_ids(condition: NodeFilter, database: Database, identity: Identity) -> Sql | None:
    """A query for the ids of the nodes that pass, or None where all do; raises UnknownId, InvalidValue."""
    if condition.is_open:
        return None
    where, parameters = ["1"], list[Any]()
    if condition.kinds is not None:
        unknown = [kind for kind in condition.kinds if kind not in get_args(NodeKind)]
        if unknown:
            raise InvalidValue(f"node kind {unknown[0]!r}: one of {', '.join(get_args(NodeKind))}")
        where.append(f"n.kind IN ({', '.join('?' * len(condition.kinds))})")
        parameters += condition.kinds
    if condition.person_id is not None:
        person_id = identity.living(condition.person_id)
        where.append(_CONCERNS_PERSON)
        parameters += [person_id] * 4
    if condition.object_class is not None:
        where.append(_OF_CLASS)
        parameters += [condition.object_class] * 2
    evidence = evidence_condition(condition, database)
    if evidence is not None:
        clipless = _clipless_condition(condition, database)
        of_clips = condition.before_clip is not None or condition.place is not None
        clips = "JOIN clips c ON c.id = nc.clip_id" if of_clips else ""
        # One list of ids, so that SQLite starts from it instead of looking at every node.
        where.append(
            f"""n.id IN (SELECT nc.node_id FROM node_clips nc {clips} WHERE {evidence.text}
            UNION ALL SELECT n.id FROM nodes n WHERE n.clip_id IS NULL AND {clipless.text}
            AND NOT EXISTS (SELECT 1 FROM node_clips nc WHERE nc.node_id = n.id))"""
        )
        parameters += [*evidence.parameters, *clipless.parameters]
    if condition.before_clip is not None:
        where.append(f"(n.clip_id IS NULL OR n.clip_id IN (SELECT c.id FROM clips c WHERE {_BEFORE_CLIP}))")
        parameters.append(condition.before_clip)
    return Sql(f"SELECT n.id FROM nodes n WHERE {' AND '.join(where)}", tuple(parameters))


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
        parameters += [condition.after_utc_s] * 2
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

_OF_CLASS = """(
    (n.kind = 'object' AND json_extract(n.provenance, '$.class') = ?)
    OR n.id IN (SELECT e.source FROM nodes o JOIN edges e ON e.target = o.id AND e.relation = 'mentions'
        WHERE o.kind = 'object' AND json_extract(o.provenance, '$.class') = ?))"""

_CONCERNS_PERSON = """(
    n.id IN (SELECT node_id FROM person_nodes WHERE person_id = ?)
    OR (n.kind NOT IN ('face', 'voice') AND (
        n.id IN (SELECT e.source FROM edges e JOIN person_nodes p ON p.node_id = e.target
            WHERE p.person_id = ? AND e.relation = 'mentions')
        OR n.id IN (SELECT e.source FROM edges e JOIN person_nodes p ON p.node_id = e.target
            WHERE p.person_id = ? AND e.relation = 'entity_link')
        OR n.id IN (SELECT e.target FROM edges e JOIN person_nodes p ON p.node_id = e.source
            WHERE p.person_id = ? AND e.relation = 'entity_link'))))"""


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
