"""Events that go on from clip to clip as one node, and temporal edges that put a person's events in order.

Which lines tell of an event that can go on is left to the caller; what somebody said never does.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass

from memory_store.database import Database, Row
from memory_store.errors import InvalidValue
from memory_store.graph import Graph
from memory_store.records import Span

# An event that pauses for longer has ended, so that one node is one unbroken stay and no absence is told over.
UNBROKEN_S = 2.0
# After so many clips (an hour) an event goes on as a new node, so that none grows without bound.
MOST_CLIPS = 120
_LONGEST_CLIP_S = 600.0
_NEXT = "next"


@dataclass(frozen=True)
class Continuation:
    """Extending, cutting and ordering events, inside the caller's transaction."""

    database: Database
    graph: Graph

    def going_on(self, clip_id: int, text: str, event: str, start_utc_s: float) -> int | None:
        """The grounded event with this very text that lasts until the moment, in an earlier clip of the same source."""
        # Clips first, then their nodes: CROSS JOIN keeps SQLite from looking through all events instead.
        clips = self.database.rows(
            """SELECT c.id FROM clips here CROSS JOIN clips c WHERE here.id = ?1 AND c.id <> ?1
            AND c.start_utc_s >= here.start_utc_s - ?2 AND c.start_utc_s < here.start_utc_s
            AND c.end_utc_s >= here.start_utc_s - ?3 AND c.source_name = here.source_name
            AND c.boot_id = here.boot_id AND c.time_known = here.time_known""",
            (clip_id, _LONGEST_CLIP_S, UNBROKEN_S),
        )
        rows = self.database.rows(
            """SELECT n.id FROM node_clips nc CROSS JOIN nodes n ON n.id = nc.node_id
            WHERE nc.clip_id IN (SELECT value FROM json_each(?1))
            AND n.kind = 'episodic' AND n.text = ?2 AND json_extract(n.provenance, '$.source') = 'grounded'
            AND json_extract(n.provenance, '$.event') = ?3
            AND json_extract(n.provenance, '$.corrected_by') IS NULL
            AND nc.end_utc_s >= ?4 - ?5 AND nc.start_utc_s <= ?4
            ORDER BY nc.end_utc_s DESC, n.id""",
            (json.dumps([row["id"] for row in clips]), text, event, start_utc_s, UNBROKEN_S),
        )
        return next((row["id"] for row in rows if self._may_go_on(row["id"], clip_id)), None)

    def extend(self, node_id: int, clip_id: int, start_utc_s: float, end_utc_s: float) -> bool:
        """Let an event go on in a clip, with all who act in it; False where that clip already tells of it."""
        if not self.graph.reinforce(node_id, clip_id, start_utc_s=start_utc_s, end_utc_s=end_utc_s):
            return False
        for actor in self._actors(node_id):
            self.graph.add_presence(actor, clip_id, start_utc_s, end_utc_s)
        return True

    def spans(self, node_id: int) -> tuple[Span, ...]:
        """The parts of an event by clip, in the order of time."""
        sql = """SELECT nc.clip_id, nc.start_utc_s, nc.end_utc_s, nc.weight FROM node_clips nc
            JOIN clips c ON c.id = nc.clip_id WHERE nc.node_id = ? ORDER BY c.start_utc_s, c.id"""
        return tuple(Span(**dict(row)) for row in self.database.rows(sql, (node_id,)))

    def part(self, node_id: int, clip_id: int) -> int:
        """Make what an event was in one clip a node of its own, and what came after another; the id of the part.

        Raises InvalidValue where the event was not in that clip.
        """
        spans = self.spans(node_id)
        clips = [span.clip_id for span in spans]
        if clip_id not in clips:
            raise InvalidValue(f"memory {node_id} does not rest on clip {clip_id}: it rests on {clips}")
        at = clips.index(clip_id)
        if len(clips) == 1:
            return node_id
        if at > 0:
            later = self._carve(node_id, clips[at + 1 :])
            part = self._carve(node_id, [clip_id])
        else:
            later, part = self._carve(node_id, clips[1:]), node_id
        for one in dict.fromkeys(one for one in (node_id, part, later) if one is not None):
            self.order_anew(one)
        assert part is not None
        return part

    def order(self, node_id: int) -> None:
        """Put an event between the one before and the one after of everybody who acts in it."""
        for mine in self._people_in(node_id):
            before, after = self._neighbour(node_id, mine, -1), self._neighbour(node_id, mine, 1)
            if before is not None and after is not None and not self._share_others(before, after, mine):
                self._unlink(before, after)
            for source, target in ((before, node_id), (node_id, after)):
                if source is not None and target is not None and not self._linked(source, target):
                    self.graph.add_edge(source, target, "temporal", detail=_NEXT)

    def order_anew(self, node_id: int) -> None:
        """Take an event out of the order it stands in, and put it where it belongs now."""
        edges = [edge for edge in self.graph.edges(node_id) if edge.relation == "temporal"]
        for edge in edges:
            self.database.write("DELETE FROM edges WHERE id = ?", (edge.id,))
        for one in sorted({edge.source if edge.target == node_id else edge.target for edge in edges}):
            self.order(one)
        self.order(node_id)

    def _may_go_on(self, node_id: int, clip_id: int) -> bool:
        """Whether the clip is not told of yet and the event is not too long."""
        row = self.database.row(
            "SELECT count(*) AS clips, max(clip_id = ?) AS told FROM node_clips WHERE node_id = ?",
            (clip_id, node_id),
        )
        return row is not None and row["clips"] < MOST_CLIPS and not row["told"]

    def _carve(self, node_id: int, clip_ids: list[int]) -> int | None:
        """A copy of an event that takes these clips over; None for no clips."""
        if not clip_ids:
            return None
        spans = [span for span in self.spans(node_id) if span.clip_id in clip_ids]
        first, node = spans[0], self.graph.node(node_id)
        copy = self.graph.add_node(
            node.kind,
            node.text,
            clip_id=first.clip_id,
            start_utc_s=first.start_utc_s,
            end_utc_s=first.end_utc_s,
            provenance=node.provenance,
            vectors={},
            weight=first.weight,
        )
        sql = """INSERT INTO vectors (space, model, node_id, clip_id, exemplar, quality, vector)
            SELECT space, model, ?, ?, 0, quality, vector FROM vectors WHERE node_id = ? AND space = 'text'"""
        self.database.write(sql, (copy, first.clip_id, node_id))
        for actor in self._actors(node_id):
            self.graph.add_edge(copy, actor, "mentions", detail="actor")
        for span in spans:
            self.database.write(
                "DELETE FROM node_clips WHERE node_id = ? AND clip_id = ?", (node_id, span.clip_id)
            )
        for span in spans[1:]:
            self.graph.reinforce(
                copy,
                span.clip_id,
                weight=span.weight,
                start_utc_s=span.start_utc_s,
                end_utc_s=span.end_utc_s,
            )
        self.graph.refresh_spans([node_id])
        return copy

    def _actors(self, node_id: int) -> list[int]:
        sql = "SELECT target FROM edges WHERE source = ? AND relation = 'mentions' AND detail = 'actor' ORDER BY id"
        return [row["target"] for row in self.database.rows(sql, (node_id,))]

    def _people_in(self, node_id: int) -> list[list[int]]:
        """For everybody who acts in an event all faces and voices of theirs."""
        people: dict[object, list[int]] = {}
        for actor in self._actors(node_id):
            rows = self.database.rows(
                """SELECT person_id, node_id FROM person_nodes WHERE person_id =
                (SELECT person_id FROM person_nodes WHERE node_id = ?) ORDER BY node_id""",
                (actor,),
            )
            if rows:
                people[rows[0]["person_id"]] = [row["node_id"] for row in rows]
            else:
                people[f"node {actor}"] = [actor]
        return list(people.values())

    def _neighbour(self, node_id: int, mine: Collection[int], way: int) -> int | None:
        """The last event of somebody that began before another one, or (way 1) the first that began after."""
        node = self.graph.node(node_id)
        compare, order = ("<", "DESC") if way < 0 else (">", "ASC")
        clips: set[int] = set()
        for own in mine:
            # Two clips that begin on the far side, and the ones that hold the event itself.
            rows = self.database.rows(
                f"""SELECT clip_id FROM node_clips WHERE node_id = ? AND start_utc_s {compare}= ?
                ORDER BY start_utc_s {order} LIMIT 2""",
                (own, node.start_utc_s),
            )
            clips |= {row["clip_id"] for row in rows}
        clips |= {span.clip_id for span in self.spans(node_id)[:1]}
        row = self.database.row(
            f"""SELECT n.id FROM node_clips nc CROSS JOIN nodes n ON n.id = nc.node_id
            CROSS JOIN edges e ON e.source = n.id AND e.relation = 'mentions' AND e.detail = 'actor'
            WHERE nc.clip_id IN (SELECT value FROM json_each(?)) AND n.kind = 'episodic'
            AND e.target IN (SELECT value FROM json_each(?))
            AND (n.start_utc_s, n.id) {compare} (?, ?) ORDER BY n.start_utc_s {order}, n.id {order} LIMIT 1""",
            (json.dumps(sorted(clips)), json.dumps(list(mine)), node.start_utc_s, node_id),
        )
        return None if row is None else int(row["id"])

    def _share_others(self, one: int, other: int, mine: Collection[int]) -> bool:
        """Whether somebody else acts in both events."""
        people = [tuple(person) for person in self._people_in(one)]
        theirs = [tuple(person) for person in self._people_in(other)]
        return any(person in theirs for person in people if person != tuple(mine))

    def _linked(self, source: int, target: int) -> bool:
        return bool(self._link_rows(source, target))

    def _unlink(self, source: int, target: int) -> None:
        for row in self._link_rows(source, target):
            self.database.write("DELETE FROM edges WHERE id = ?", (row["id"],))

    def _link_rows(self, source: int, target: int) -> list[Row]:
        sql = "SELECT id FROM edges WHERE source = ? AND target = ? AND relation = 'temporal' AND detail = ?"
        return self.database.rows(sql, (source, target, _NEXT))
