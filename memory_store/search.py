"""Searching nodes and clips: exact filters first, then words and vectors among what is left."""

import json
from dataclasses import replace

from numpy.typing import ArrayLike

from memory_store.clips import Clips
from memory_store.database import Database
from memory_store.filters import Allowed, NodeFilter, allowed_nodes, evidence_condition, node_ids
from memory_store.graph import node_of_row
from memory_store.identity import Identity
from memory_store.index import SpaceIndex
from memory_store.nearest import Near, best_nodes, scan
from memory_store.records import ClipHit, Hit, Node, Vector
from memory_store.text_index import Terms, search_text, terms_of
from memory_store.vectors import checked_vector

# Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): score = sum over channels of 1 / (60 + rank).
_RANK_OFFSET = 60
# How many candidates each channel gives at least before they are fused.
_CANDIDATES = 50


class Search:
    """Two channels, words (FTS5) and vectors (cosine), fused by reciprocal rank inside exact filters."""

    def __init__(self, database: Database, identity: Identity) -> None:
        self._database = database
        self._identity = identity
        self._clips = Clips(database)

    def nodes(
        self,
        condition: NodeFilter,
        *,
        text: str | None,
        vector: ArrayLike | None,
        index: SpaceIndex,
        k: int,
        threshold: float,
    ) -> list[Hit]:
        """The k best nodes; without text and vector, the latest k that pass the filter."""
        query = None if vector is None else checked_vector(vector, index.space)
        with self._database.snapshot():
            if query is None and text is None:
                return self._latest(condition, k)
            allowed = allowed_nodes(condition, self._database, self._identity)
            limit = max(_CANDIDATES, 5 * k)
            near = [] if query is None else index.nearest(query, limit, allowed)
            near = [item for item in near if item.similarity >= threshold]
            worded = [] if text is None else search_text(self._database, self._terms(text), allowed, limit)
            similarities = {item.node_id: item.similarity for item in near}
            if query is not None:
                similarities |= self._similarities(query, index, [i for i in worded if i not in similarities])
            return self._fused(near, worded, similarities, condition, k)

    def clips(
        self,
        condition: NodeFilter,
        *,
        text: str | None,
        vector: ArrayLike | None,
        index: SpaceIndex,
        k: int,
        threshold: float,
    ) -> list[ClipHit]:
        """The k best clips, by their best node; only clips that pass the filter themselves."""
        with self._database.snapshot():
            pool = max(_CANDIDATES, 8 * k)
            hits = self.nodes(condition, text=text, vector=vector, index=index, k=pool, threshold=threshold)
            found: dict[int, list[Hit]] = {}
            clips_of = self._evidence([hit.node.id for hit in hits], condition)
            for hit in hits:
                for clip_id in clips_of.get(hit.node.id, ()):
                    found.setdefault(clip_id, []).append(hit)
            clips = [
                ClipHit(self._clips.get(clip_id), hits[0].score, tuple(hits))
                for clip_id, hits in found.items()
            ]
        clips.sort(key=lambda hit: (-hit.score, -len(hit.nodes), -hit.clip.start_utc_s, -hit.clip.id))
        return clips[:k]

    def select(self, condition: NodeFilter, limit: int | None) -> list[Node]:
        """The nodes that pass a filter, by start time, then id; a limit keeps the latest."""
        with self._database.snapshot():
            allowed = node_ids(condition, self._database, self._identity)
            where, parameters = (
                ("", ()) if allowed is None else (f"WHERE id IN ({allowed.text})", allowed.parameters)
            )
            rows = self._database.rows(
                f"SELECT * FROM nodes {where} ORDER BY start_utc_s DESC, id DESC LIMIT ?",
                (*parameters, -1 if limit is None else limit),
            )
            return self._as_of([node_of_row(row) for row in reversed(rows)], condition)

    def _latest(self, condition: NodeFilter, k: int) -> list[Hit]:
        return [Hit(node, 0.0, None, ("filter",)) for node in reversed(self.select(condition, k))]

    def _terms(self, text: str) -> Terms:
        """The terms of a question; a person's name in it also stands for their tags."""
        terms = terms_of(text)
        folded = text.casefold()
        tags = [
            f"<{kind}_{node_id}>"
            for node_id, kind, label in self._identity.tags()
            if _names(folded, label.casefold())
        ]
        return Terms((*terms.long, *tags), terms.short)

    def _similarities(self, query: Vector, index: SpaceIndex, node_ids: list[int]) -> dict[int, float]:
        """The cosine of nodes that only words found."""
        if not node_ids:
            return {}
        worded = Allowed(node_ids)
        nodes, similarities = scan(self._database, index.space, query, after_id=0, allowed=worded)
        return {near.node_id: near.similarity for near in best_nodes(nodes, similarities, len(node_ids))}

    def _fused(
        self,
        near: list[Near],
        worded: list[int],
        similarities: dict[int, float],
        condition: NodeFilter,
        k: int,
    ) -> list[Hit]:
        scores: dict[int, float] = {}
        matched: dict[int, tuple[str, ...]] = {}
        for channel, ids in (("vector", [item.node_id for item in near]), ("text", worded)):
            for rank, node_id in enumerate(ids, start=1):
                scores[node_id] = scores.get(node_id, 0.0) + 1.0 / (_RANK_OFFSET + rank)
                matched[node_id] = (*matched.get(node_id, ()), channel)
        order = sorted(scores, key=lambda i: (-scores[i], -similarities.get(i, -1.0), -i))[:k]
        rows = self._database.rows(
            "SELECT * FROM nodes WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(order),)
        )
        nodes = {node.id: node for node in self._as_of([node_of_row(row) for row in rows], condition)}
        return [Hit(nodes[i], scores[i], similarities.get(i), matched[i]) for i in order]

    def _as_of(self, nodes: list[Node], condition: NodeFilter) -> list[Node]:
        """With `before_clip`: weight and times of the nodes as they were then."""
        if condition.before_clip is None or not nodes:
            return nodes
        evidence = evidence_condition(NodeFilter(before_clip=condition.before_clip), self._database)
        assert evidence is not None
        rows = self._database.rows(
            f"""SELECT nc.node_id, sum(nc.weight) AS weight, min(nc.start_utc_s) AS start, max(nc.end_utc_s) AS end
            FROM node_clips nc JOIN clips c ON c.id = nc.clip_id
            WHERE nc.node_id IN (SELECT value FROM json_each(?)) AND {evidence.text} GROUP BY nc.node_id""",
            (json.dumps([node.id for node in nodes]), *evidence.parameters),
        )
        then = {row["node_id"]: row for row in rows}
        return [_node_then(node, then[node.id]) if node.id in then else node for node in nodes]

    def _evidence(self, node_ids: list[int], condition: NodeFilter) -> dict[int, list[int]]:
        """For each node, the clips that speak for it and pass the filter."""
        evidence = evidence_condition(condition, self._database)
        passing, parameters = ("1", ()) if evidence is None else (evidence.text, evidence.parameters)
        rows = self._database.rows(
            f"""SELECT nc.node_id, nc.clip_id FROM node_clips nc JOIN clips c ON c.id = nc.clip_id
            WHERE nc.node_id IN (SELECT value FROM json_each(?)) AND {passing} ORDER BY nc.node_id, nc.clip_id""",
            (json.dumps(node_ids), *parameters),
        )
        found: dict[int, list[int]] = {}
        for row in rows:
            found.setdefault(row["node_id"], []).append(row["clip_id"])
        return found


def _node_then(node: Node, row: object) -> Node:
    values = dict(row)  # type: ignore[call-overload]
    return replace(
        node,
        weight=values["weight"],
        start_utc_s=values["start"],
        end_utc_s=values["end"],
        first_seen_utc_s=values["start"],
        last_seen_utc_s=values["end"],
    )


def _names(text: str, label: str) -> bool:
    """Whether a text holds a label that is not part of a longer word of Latin letters or digits."""
    start = text.find(label)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(label) : start + len(label) + 1]
        if not (_latin(before) and _latin(label[0])) and not (_latin(after) and _latin(label[-1])):
            return True
        start = text.find(label, start + 1)
    return False


def _latin(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
