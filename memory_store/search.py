"""Searching nodes and clips: exact filters first, then words and vectors among what is left."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import TypeVar

from numpy.typing import ArrayLike

from memory_store.clips import Clips
from memory_store.database import Database
from memory_store.filters import (
    Allowed,
    NodeFilter,
    allowed_nodes,
    evidence_condition,
    is_narrow,
    node_ids,
    passing,
    witnessed,
)
from memory_store.graph import node_of_row
from memory_store.identity import Identity
from memory_store.index import SpaceIndex
from memory_store.nearest import Near, best_nodes, scan
from memory_store.ranking import Scores, favouring, fused, with_context
from memory_store.records import ClipHit, Hit, Node, Vector
from memory_store.text_index import Worded, search_text, worded_nodes
from memory_store.vectors import checked_vector
from memory_store.words import tag_term, terms_of

Found = TypeVar("Found", Near, Worded)

# How many candidates each channel gives before they are fused, unless more are asked for.
_CANDIDATES = 100
# With a filter the best of all nodes are looked at first, then more in these steps, in candidates: until enough pass.
# The vector channel finds the best anew for each step, the channel of words goes on where it was.
_VECTOR_STEPS = (1, 3, 12)
_WORD_STEPS = (1, 3, 4, 4, 4)
_ENOUGH = 20
_OVERFETCH = 4  # so many times k are looked at before they are put in order


class Search:
    """Two channels, words (BM25) and vectors (cosine), fused (memory_store/ranking.py) inside exact filters."""

    def __init__(self, database: Database, identity: Identity) -> None:
        self._database = database
        self._identity = identity
        self._clips = Clips(database)

    def witnessed(self, person_id: int, node_ids: Collection[int]) -> set[int]:
        """Those of some nodes that concern a person, or rest on a clip in which the person was seen or heard."""
        return witnessed(person_id, node_ids, self._database, self._identity)

    def nodes(
        self,
        condition: NodeFilter,
        *,
        text: str | None,
        vector: ArrayLike | None,
        index: SpaceIndex,
        k: int,
        threshold: float,
        favour: Collection[int] = (),
    ) -> list[Hit]:
        """The k best nodes; without text and vector, the latest k that pass the filter.

        favour: persons whose nodes count more (`ranking.FAVOUR`), but alone are not let through.
        """
        query = None if vector is None else checked_vector(vector, index.space)
        with self._database.snapshot():
            if query is None and text is None:
                return self._latest(condition, k)
            terms = None if text is None else self._terms(text)
            near, worded = self._channels(condition, terms, query, index, k)
            near = [item for item in near if item.similarity >= threshold]
            scores = fused(near, worded)
            found = set(scores)
            if text is not None:
                scores = with_context(self._database, scores)
            order = self._passing(scores, found, condition, k)
            if text is not None and favour:
                scores = favouring(scores, self._concerning(favour, order))
            order = sorted(order, key=lambda i: (-scores[i], -i))[:k]
            similarities = {item.node_id: item.similarity for item in near}
            channels = {"vector": set(similarities), "text": {item.node_id for item in worded}}
            if query is not None:
                similarities |= self._similarities(query, index, [i for i in order if i not in similarities])
            nodes = self.nodes_of(order)
            return [Hit(nodes[i], scores[i], similarities.get(i), _matched_by(channels, i)) for i in order]

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
            return [node_of_row(row) for row in reversed(rows)]

    def _latest(self, condition: NodeFilter, k: int) -> list[Hit]:
        return [Hit(node, 0.0, None, ("filter",)) for node in reversed(self.select(condition, k))]

    def _terms(self, text: str) -> tuple[str, ...]:
        """The terms of a question; a person's name in it also stands for their tags."""
        folded = text.casefold()
        tags = [
            tag_term(kind, node_id)
            for node_id, kind, label in self._identity.tags()
            if _names(folded, label.casefold())
        ]
        return (*terms_of(text), *tags)

    def _similarities(self, query: Vector, index: SpaceIndex, node_ids: list[int]) -> dict[int, float]:
        """The cosine of nodes that only words found."""
        if not node_ids:
            return {}
        worded = Allowed(node_ids)
        nodes, similarities = scan(self._database, index.space, query, after_id=0, allowed=worded)
        return {near.node_id: near.similarity for near in best_nodes(nodes, similarities, len(node_ids))}

    def _channels(
        self,
        condition: NodeFilter,
        terms: Sequence[str] | None,
        query: Vector | None,
        index: SpaceIndex,
        k: int,
    ) -> tuple[list[Near], list[Worded]]:
        """What each channel finds among the nodes that pass, best first."""

        def by_vector(allowed: Allowed | None, most: int) -> list[Near]:
            return [] if query is None else index.nearest(query, most, allowed)

        limit, words = max(_CANDIDATES, k), terms or ()
        if condition.is_open:
            return by_vector(None, limit), search_text(self._database, words, None, limit)
        near: list[Near] | None = None
        worded: list[Worded] | None = None
        if not is_narrow(condition, self._database):
            near = self._best_of_all(_going_on(by_vector), _VECTOR_STEPS, condition, limit, k)
            with closing(worded_nodes(self._database, words, None)) as nodes:
                worded = self._best_of_all(
                    lambda most: list(islice(nodes, most)), _WORD_STEPS, condition, limit, k
                )
        if near is None or worded is None:
            allowed = allowed_nodes(condition, self._database, self._identity)
            near = by_vector(allowed, limit) if near is None else near
            worded = search_text(self._database, words, allowed, limit) if worded is None else worded
        return near, worded

    def _best_of_all(
        self,
        further: Callable[[int], list[Found]],
        steps: Sequence[int],
        condition: NodeFilter,
        limit: int,
        k: int,
    ) -> list[Found] | None:
        """Those that pass of the best of all nodes, of which `further` gives the next ones; None where too few do.

        Where enough pass, the nodes that pass are never listed, which takes longest of all.
        """
        kept = list[Found]()
        for size in (step * limit for step in steps):
            found = further(size)
            passed = passing((item.node_id for item in found), condition, self._database, self._identity)
            kept += [item for item in found if item.node_id in passed]
            if len(kept) >= max(_ENOUGH, k) or len(found) < size:
                return kept[:limit]
        return None

    def _passing(self, scores: Scores, found: set[int], condition: NodeFilter, k: int) -> list[int]:
        """The best nodes that pass, more than k where there are more; those `found` are known to."""
        ordered = sorted(scores, key=lambda i: (-scores[i], -i))
        if condition.is_open:
            return ordered[: _OVERFETCH * k]
        kept: list[int] = []
        for size in (_OVERFETCH * k, len(ordered)):
            unknown = [i for i in ordered[:size] if i not in found]
            passed = found | passing(unknown, condition, self._database, self._identity)
            kept = [i for i in ordered[:size] if i in passed]
            if len(kept) >= k:
                break
        return kept

    def _concerning(self, person_ids: Collection[int], ids: Collection[int]) -> list[int]:
        """Those of some nodes that concern one of the persons."""
        found: list[int] = []
        for person_id in person_ids:
            theirs = NodeFilter(person_id=person_id)
            found += passing(ids, theirs, self._database, self._identity)
        return found

    def nodes_of(self, ids: list[int]) -> dict[int, Node]:
        """The nodes of some ids."""
        rows = self._database.rows(
            "SELECT * FROM nodes WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),)
        )
        return {node.id: node for node in map(node_of_row, rows)}

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


def _going_on(by_vector: Callable[[None, int], list[Near]]) -> Callable[[int], list[Near]]:
    """The next nearest at each call, of a search that gives the nearest from the first on."""
    seen = set[int]()

    def further(most: int) -> list[Near]:
        found = [item for item in by_vector(None, len(seen) + most) if item.node_id not in seen]
        seen.update(item.node_id for item in found)
        return found

    return further


def _matched_by(channels: Mapping[str, Collection[int]], node_id: int) -> tuple[str, ...]:
    """The channels that found a node; "context" for one that came in by what was said around it."""
    return tuple(name for name, ids in channels.items() if node_id in ids) or ("context",)


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
