"""Associative recall: what is tied to a memory by edges, nearest first."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import get_args

from memory_store.database import Database, Row
from memory_store.errors import InvalidValue, UnknownId
from memory_store.filters import NodeFilter, passing
from memory_store.identity import Identity
from memory_store.records import Node, Relation
from memory_store.search import Search

SAME_PERSON = "same person"
_ALL: tuple[Relation, ...] = tuple(name for name in get_args(Relation) if name != "cannot_link")


@dataclass(frozen=True)
class Neighbour:
    """A memory reached along `distance` edges, and the last of them: `via` is the node at its other end."""

    node: Node
    distance: int
    via: int
    relation: Relation
    detail: str


@dataclass(frozen=True)
class Neighbours:
    """Walks along edges, in both directions."""

    database: Database
    identity: Identity
    search: Search

    def of(
        self,
        node_id: int,
        condition: NodeFilter,
        *,
        relations: Collection[Relation] | None,
        depth: int,
        limit: int,
    ) -> list[Neighbour]:
        """Up to `limit` memories that pass the filter, at most `depth` edges away: near, then heavy, then newest edge.

        Of no relations given all but "cannot_link" are walked. The faces and voices of one person are tied by
        "equivalence" without an edge. The way may lead through what does not pass the filter. Raises UnknownId,
        InvalidValue.
        """
        unknown = [name for name in relations or () if name not in get_args(Relation)]
        if unknown:
            raise InvalidValue(f"relation {unknown[0]!r}: one of {', '.join(get_args(Relation))}")
        if depth < 1 or limit < 1:
            raise InvalidValue(f"depth {depth} and limit {limit}: give at least 1")
        walked = tuple(_ALL if relations is None else relations)
        with self.database.snapshot():
            if not passing([node_id], NodeFilter(), self.database, self.identity):
                raise UnknownId(f"no node {node_id} in this memory")
            steps = self._walk(node_id, condition, walked, depth, limit)
            nodes = self.search.nodes_of([step["node"] for _, step in steps])
        return [
            Neighbour(nodes[step["node"]], distance, step["via"], step["relation"], step["detail"])
            for distance, step in steps
        ]

    def _walk(
        self,
        start: int,
        condition: NodeFilter,
        relations: Sequence[Relation],
        depth: int,
        limit: int,
    ) -> list[tuple[int, Row]]:
        reached, frontier, found = {start}, [start], list[tuple[int, Row]]()
        for distance in range(1, depth + 1):
            steps: dict[int, Row] = {}
            for row in self._steps(frontier, relations):
                if row["node"] not in reached:
                    steps.setdefault(row["node"], row)
            wanted = passing(steps, condition, self.database, self.identity)
            found += [(distance, row) for node_id, row in steps.items() if node_id in wanted]
            frontier = list(steps)
            reached |= set(steps)
            if len(found) >= limit or not frontier:
                break
        return found[:limit]

    def _steps(self, frontier: Sequence[int], relations: Sequence[Relation]) -> list[Row]:
        """The edges from and to some nodes, best first, with the other end of each as `node`."""
        ends, kinds = json.dumps(list(frontier)), json.dumps(list(relations))
        sql = """SELECT target AS node, source AS via, relation, detail, weight, id FROM edges
            WHERE source IN (SELECT value FROM json_each(?1)) AND relation IN (SELECT value FROM json_each(?2))
            UNION ALL SELECT source, target, relation, detail, weight, id FROM edges
            WHERE target IN (SELECT value FROM json_each(?1)) AND relation IN (SELECT value FROM json_each(?2))"""
        if "equivalence" in relations:
            sql += f""" UNION ALL SELECT b.node_id, a.node_id, 'equivalence', '{SAME_PERSON}', 1.0, 0
            FROM person_nodes a JOIN person_nodes b ON b.person_id = a.person_id AND b.node_id <> a.node_id
            WHERE a.node_id IN (SELECT value FROM json_each(?1))"""
        return self.database.rows(f"{sql} ORDER BY weight DESC, id DESC, node", (ends, kinds))
