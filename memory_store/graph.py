"""Nodes and edges of the memory graph, and how repetition strengthens them."""

import json
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, get_args

from numpy.typing import ArrayLike

from memory_store.database import Database, Row
from memory_store.errors import InvalidValue, UnknownId
from memory_store.records import Edge, Node, NodeKind, Relation
from memory_store.tags import find_tags
from memory_store.vectors import Vectors


class Graph:
    """Adding, strengthening and reading nodes and edges."""

    def __init__(self, database: Database, vectors: Vectors, clock: Callable[[], float]) -> None:
        self._database = database
        self._vectors = vectors
        self._clock = clock

    def add_node(
        self,
        kind: NodeKind,
        text: str,
        *,
        clip_id: int | None,
        start_utc_s: float,
        end_utc_s: float,
        provenance: Mapping[str, Any],
        vectors: Mapping[str, ArrayLike],
        weight: float = 1.0,
    ) -> int:
        """Insert a node; the tags in its text become `mentions` edges with an empty detail."""
        if kind not in get_args(NodeKind):
            raise InvalidValue(f"node kind {kind!r}: one of {', '.join(get_args(NodeKind))}")
        if not (math.isfinite(start_utc_s) and math.isfinite(end_utc_s) and start_utc_s <= end_utc_s):
            raise InvalidValue(
                f"a node from {start_utc_s} to {end_utc_s}: times are finite seconds since 1970, start first"
            )
        self._require_clip(clip_id)
        values: dict[str, Any] = {
            "kind": kind,
            "text": text,
            "weight": weight,
            "clip_id": clip_id,
            "start_utc_s": start_utc_s,
            "end_utc_s": end_utc_s,
            "first_seen_utc_s": start_utc_s,
            "last_seen_utc_s": end_utc_s,
            "provenance": _json(provenance),
        }
        node_id = self._database.insert("nodes", values)
        if clip_id is not None:
            self._add_evidence(node_id, clip_id, weight, start_utc_s, end_utc_s)
        for space, vector in vectors.items():
            self._vectors.add(node_id, space, vector, clip_id)
        for tag in find_tags(text):
            if self._exists("nodes", tag.node_id):
                self.add_edge(node_id, tag.node_id, "mentions")
        return node_id

    def add_edge(
        self,
        source: int,
        target: int,
        relation: Relation,
        *,
        detail: str = "",
        weight: float = 1.0,
        at_utc_s: float | None = None,
    ) -> int:
        """Insert an edge and return its id; the same edge again counts an activation of the first one.

        A `mentions` edge with the detail "actor" also lets the clips of the source, with its spans in
        them, speak for the target: who did something was there.
        """
        if relation not in get_args(Relation):
            raise InvalidValue(f"relation {relation!r}: one of {', '.join(get_args(Relation))}")
        for node_id in (source, target):
            self.require_node(node_id)
        now = self._clock() if at_utc_s is None else at_utc_s
        self._database.write(
            """INSERT INTO edges (source, target, relation, detail, weight, created_utc_s, last_activated_utc_s)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, target, relation, detail)
            DO UPDATE SET activation_count = activation_count + 1, last_activated_utc_s = excluded.created_utc_s""",
            (source, target, relation, detail, weight, now, now),
        )
        if relation == "mentions" and detail == "actor":
            sql = "SELECT clip_id, start_utc_s, end_utc_s FROM node_clips WHERE node_id = ?"
            for clip_id, start, end in self._database.rows(sql, (source,)):
                self.add_presence(target, clip_id, start, end)
        row = self._database.row(
            "SELECT id FROM edges WHERE source = ? AND target = ? AND relation = ? AND detail = ?",
            (source, target, relation, detail),
        )
        assert row is not None
        return int(row["id"])

    def reinforce(
        self,
        node_id: int,
        clip_id: int,
        *,
        weight: float = 1.0,
        start_utc_s: float | None = None,
        end_utc_s: float | None = None,
    ) -> bool:
        """Let one more clip speak for a node: weight and time range grow, once per clip.

        The span is the clip's own where none is given. False, and nothing changed, where that clip
        already speaks for the node.
        """
        self.require_node(node_id)
        self._require_clip(clip_id)
        known = "SELECT 1 FROM node_clips WHERE node_id = ? AND clip_id = ?"
        if self._database.row(known, (node_id, clip_id)):
            self._database.require_transaction()
            return False
        clip = self._database.row("SELECT start_utc_s, end_utc_s FROM clips WHERE id = ?", (clip_id,))
        assert clip is not None
        start = clip["start_utc_s"] if start_utc_s is None else start_utc_s
        end = clip["end_utc_s"] if end_utc_s is None else end_utc_s
        self._add_evidence(node_id, clip_id, weight, start, end)
        self._grow(node_id, weight, start, end)
        return True

    def add_presence(self, actor: int, clip_id: int, start_utc_s: float, end_utc_s: float) -> None:
        """Let a span of a clip speak for a face or voice; within a clip its spans grow together."""
        if not self.reinforce(actor, clip_id, start_utc_s=start_utc_s, end_utc_s=end_utc_s):
            self._database.write(
                """UPDATE node_clips SET start_utc_s = min(start_utc_s, ?), end_utc_s = max(end_utc_s, ?)
                WHERE node_id = ? AND clip_id = ?""",
                (start_utc_s, end_utc_s, actor, clip_id),
            )
            self._grow(actor, 0.0, start_utc_s, end_utc_s)

    def refresh_spans(self, node_ids: Collection[int]) -> None:
        """Weight and times of nodes as their clips say; a node for which none speaks weighs 0 and keeps its times."""
        listed = json.dumps(sorted(node_ids))
        self._database.write(
            """UPDATE nodes SET (weight, start_utc_s, end_utc_s, first_seen_utc_s, last_seen_utc_s) =
            (SELECT sum(weight), min(start_utc_s), max(end_utc_s), min(start_utc_s), max(end_utc_s)
            FROM node_clips WHERE node_id = nodes.id)
            WHERE id IN (SELECT value FROM json_each(?))
            AND EXISTS (SELECT 1 FROM node_clips WHERE node_id = nodes.id)""",
            (listed,),
        )
        self._database.write(
            """UPDATE nodes SET weight = 0 WHERE id IN (SELECT value FROM json_each(?))
            AND NOT EXISTS (SELECT 1 FROM node_clips WHERE node_id = nodes.id)""",
            (listed,),
        )

    def _grow(self, node_id: int, weight: float, start: float, end: float) -> None:
        self._database.write(
            """UPDATE nodes SET weight = weight + ?, start_utc_s = min(start_utc_s, ?), end_utc_s = max(end_utc_s, ?),
            first_seen_utc_s = min(first_seen_utc_s, ?), last_seen_utc_s = max(last_seen_utc_s, ?) WHERE id = ?""",
            (weight, start, end, start, end, node_id),
        )

    def node(self, node_id: int) -> Node:
        """One node; raises UnknownId."""
        row = self._database.row("SELECT * FROM nodes WHERE id = ?", (node_id,))
        if row is None:
            raise UnknownId(f"no node {node_id} in this memory")
        return node_of_row(row)

    def heard_before(self, node_id: int, gap_s: float) -> Node | None:
        """The line that was heard last before a heard one began, unless it had ended more than `gap_s` before."""
        row = self._database.row(
            """SELECT b.* FROM nodes n JOIN nodes b ON b.kind = 'episodic' AND b.provenance ->> 'event' = 'heard'
            AND (b.start_utc_s, b.id) < (n.start_utc_s, n.id)
            WHERE n.id = ? AND n.kind = 'episodic' AND n.provenance ->> 'event' = 'heard'
            ORDER BY b.start_utc_s DESC, b.id DESC LIMIT 1""",
            (node_id,),
        )
        if row is None or self.node(node_id).start_utc_s - row["end_utc_s"] > gap_s:
            return None
        return node_of_row(row)

    def heard_after(self, node_id: int, gap_s: float) -> Node | None:
        """The line that was heard first after a heard one began, unless it began more than `gap_s` after its end."""
        row = self._database.row(
            """SELECT a.* FROM nodes n JOIN nodes a ON a.kind = 'episodic' AND a.provenance ->> 'event' = 'heard'
            AND (a.start_utc_s, a.id) > (n.start_utc_s, n.id) AND a.start_utc_s <= n.end_utc_s + ?2
            WHERE n.id = ?1 AND n.kind = 'episodic' AND n.provenance ->> 'event' = 'heard'
            ORDER BY a.start_utc_s, a.id LIMIT 1""",
            (node_id, gap_s),
        )
        return None if row is None else node_of_row(row)

    def edges(self, node_id: int) -> list[Edge]:
        """The edges from and to a node, oldest first; raises UnknownId."""
        self.require_node(node_id)
        sql = "SELECT * FROM edges WHERE source = ? OR target = ? ORDER BY id"
        return [Edge(**dict(row)) for row in self._database.rows(sql, (node_id, node_id))]

    def cannot_links(self, node_id: int) -> list[int]:
        """The nodes that a cannot-link edge tells apart from this one, by id."""
        rows = self._database.rows(
            """SELECT target AS other FROM edges WHERE relation = 'cannot_link' AND source = ?1
            UNION SELECT source FROM edges WHERE relation = 'cannot_link' AND target = ?1 ORDER BY 1""",
            (node_id,),
        )
        return [row["other"] for row in rows]

    def require_node(self, node_id: int) -> None:
        """Raise UnknownId unless the node exists."""
        if not self._exists("nodes", node_id):
            raise UnknownId(f"no node {node_id} in this memory")

    def _require_clip(self, clip_id: int | None) -> None:
        if clip_id is not None and not self._exists("clips", clip_id):
            raise UnknownId(f"no clip {clip_id} in this memory")

    def _exists(self, table: str, row_id: int) -> bool:
        return self._database.row(f"SELECT 1 FROM {table} WHERE id = ?", (row_id,)) is not None

    def _add_evidence(self, node_id: int, clip_id: int, weight: float, start: float, end: float) -> None:
        sql = (
            "INSERT INTO node_clips (node_id, clip_id, weight, start_utc_s, end_utc_s) VALUES (?, ?, ?, ?, ?)"
        )
        self._database.write(sql, (node_id, clip_id, weight, start, end))


def node_of_row(row: Row) -> Node:
    """The record of a row with the columns of `nodes`."""
    values = dict(row)
    values["provenance"] = json.loads(values["provenance"])
    return Node(**values)


def _json(value: Mapping[str, Any]) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidValue(
            f"provenance that is not JSON ({error}): use numbers, text, lists and mappings"
        ) from error
