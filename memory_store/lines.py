"""Lines that turn out to be about somebody else: their text, edges, presence, votes and vectors move along."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from memory_store.continuation import Continuation
from memory_store.database import Database, Row
from memory_store.errors import InvalidValue
from memory_store.facts import Facts
from memory_store.graph import Graph
from memory_store.object_links import ObjectLinks
from memory_store.records import Node, NodeKind, Relation, Vector
from memory_store.tags import Tag, find_tags, replace_tags
from memory_store.tentative import without_tags

_LINE_KINDS = ("episodic", "semantic", "procedural")
_MOST_EXAMPLES = 8  # what a new face or voice is given of the lines it was made for


@dataclass(frozen=True)
class MovedLine:
    """A line, and the faces and voices it names that it is not about."""

    node: Node
    old_ids: tuple[int, ...]
    spaces: frozenset[str]

    def kind(self, owned: Sequence[Node]) -> NodeKind:
        """Whether the line may name a face or a voice of somebody who owns these."""
        kinds = {node.kind for node in owned}
        heard = self.node.provenance.get("event") == "heard"
        if heard:
            return "face" if "voice" not in self.spaces and kinds == {"face"} else "voice"
        return "voice" if "face" not in self.spaces and kinds == {"voice"} else "face"


@dataclass(frozen=True)
class Lines:
    """Moving lines from one face or voice to another, inside the caller's transaction."""

    database: Database
    graph: Graph
    facts: Facts

    def named_by(self, line_id: int) -> list[int]:
        """The faces and voices a line tells of: who acted, or, where it says of nobody that they did, all named."""
        edges = [edge for edge in self.graph.edges(line_id) if edge.source == line_id]
        mentions = [edge for edge in edges if edge.relation == "mentions"]
        actors = [edge.target for edge in mentions if edge.detail == "actor"]
        people = [n for n in actors or [e.target for e in mentions] if self._kind(n) in ("face", "voice")]
        return list(dict.fromkeys(people))

    def about(self, line_id: int, node_ids: Collection[int]) -> MovedLine:
        """The line, with those of the nodes that it names; raises InvalidValue where it names none of them."""
        node = self.graph.node(line_id)
        if node.kind not in _LINE_KINDS:
            raise InvalidValue(
                f"node {line_id} is of kind {node.kind!r}: only a memory with a text is a line"
            )
        named = {edge.target for edge in self.graph.edges(line_id) if edge.source == line_id}
        named |= {tag.node_id for tag in find_tags(node.text)}
        old_ids = tuple(sorted(named & set(node_ids)))
        if node_ids and not old_ids:
            raise InvalidValue(f"memory {line_id} does not tell of this person: {node.text!r}")
        rows = self.database.rows("SELECT space FROM vectors WHERE node_id = ?", (line_id,))
        return MovedLine(node, old_ids, frozenset(row["space"] for row in rows))

    def acted(self, node_ids: Collection[int]) -> set[int]:
        """The lines in which one of the nodes was seen or heard."""
        rows = self.database.rows(
            """SELECT source FROM edges WHERE relation = 'mentions' AND detail = 'actor'
            AND target IN (SELECT value FROM json_each(?))""",
            (json.dumps(list(node_ids)),),
        )
        return {row["source"] for row in rows}

    def nearest(self, line: MovedLine, node_ids: Sequence[int]) -> int:
        """Of some faces or voices the one whose exemplars come nearest to the line; without any the oldest."""
        kind = self._kind(node_ids[0])
        rows = self._vectors(line.node.id, kind, exemplar=False)
        best = (-2.0, -min(node_ids))
        for node_id in node_ids if rows else ():
            for example in self._vectors(node_id, kind, exemplar=True):
                if example["model"] == rows[0]["model"]:
                    best = max(best, (float(_vector(rows[0]) @ _vector(example)), -node_id))
        return -best[1]

    def give(self, lines: Sequence[MovedLine], old_id: int | None, new_id: int | None) -> None:
        """Let lines name `new_id` (None: somebody) where they named `old_id`, with all that follows from it."""
        for line in lines:
            if old_id is not None:
                self._rewrite(line.node, old_id, new_id)
                self._move_edges(line.node.id, old_id, new_id)
                self._leave_clips(line.node.id, old_id, new_id)
                ObjectLinks(self.database).follow_line(line.node.id, old_id, new_id)
                self._remember_unlike(line.node.id, old_id)
                self.facts.move_subject(line.node.id, old_id, new_id)
                self.facts.move_line(line.node.id, old_id, new_id, self._told_of(old_id, new_id))
            elif new_id is not None:
                self._claim(line.node, new_id)
            sql = "UPDATE nodes SET provenance = json_set(provenance, '$.corrected_by', 'resident') WHERE id = ?"
            self.database.write(sql, (line.node.id,))
            if new_id is not None:
                sql = "DELETE FROM negatives WHERE node_id = ? AND origin_id = ?"
                self.database.write(sql, (new_id, line.node.id))
        if old_id is not None:
            self._move_exemplars(lines, old_id, new_id)
        if new_id is not None:
            self._teach(lines, new_id)
        self.graph.refresh_spans([node_id for node_id in (old_id, new_id) if node_id is not None])
        order = Continuation(self.database, self.graph)
        for line in lines:
            order.order_anew(line.node.id)

    def forget_votes_between(self, left: Sequence[int], right: Sequence[int]) -> None:
        """Take away votes and equivalences that say that nodes belong together which do not."""
        ours, theirs = json.dumps(list(left)), json.dumps(list(right))
        for table, one, other, more in (
            ("votes", "face_id", "voice_id", ""),
            ("edges", "source", "target", "AND relation = 'equivalence'"),
        ):
            for first, second in ((ours, theirs), (theirs, ours)):
                self.database.write(
                    f"""DELETE FROM {table} WHERE {one} IN (SELECT value FROM json_each(?))
                    AND {other} IN (SELECT value FROM json_each(?)) {more}""",
                    (first, second),
                )

    def copy_as_negatives(self, from_id: int, to_id: int) -> None:
        """The examples of one face or voice are not of another of the same kind."""
        self.database.write(
            """INSERT INTO negatives (node_id, space, model, clip_id, source, origin_id, vector)
            SELECT ?, space, model, clip_id, 'resident', node_id, vector FROM vectors
            WHERE node_id = ? AND space = ? AND exemplar = 1 ORDER BY id""",
            (to_id, from_id, self._kind(from_id)),
        )

    def _kind(self, node_id: int) -> NodeKind:
        return self.graph.node(node_id).kind

    def _rewrite(self, line: Node, old_id: int, new_id: int | None) -> None:
        text = self.graph.node(line.id).text
        told = self._told_of(old_id, new_id)(text)
        if told != text:
            self.database.write("UPDATE nodes SET text = ? WHERE id = ?", (told, line.id))

    def _told_of(self, old_id: int, new_id: int | None) -> Callable[[str], str]:
        """Turns a text about one face or voice into the same about another; None: about somebody."""
        if new_id is None:
            return lambda text: without_tags(text, [old_id])
        new = str(Tag("voice" if self._kind(new_id) == "voice" else "face", new_id))
        return lambda text: replace_tags(text, lambda tag: new if tag.node_id == old_id else None)

    def _claim(self, line: Node, new_id: int) -> None:
        """A line about somebody unknown becomes one about a known face or voice."""
        tag = str(Tag("voice" if self._kind(new_id) == "voice" else "face", new_id))
        for unknown in ("Somebody who could not be recognised", "Somebody", "有人"):
            if line.text.startswith(unknown):
                told = tag + line.text[len(unknown) :]
                self.database.write("UPDATE nodes SET text = ? WHERE id = ?", (told, line.id))
                self.graph.add_edge(line.id, new_id, "mentions")
                break
        self.graph.add_edge(line.id, new_id, "mentions", detail="actor")

    def _move_edges(self, line_id: int, old_id: int, new_id: int | None) -> None:
        for edge in self.graph.edges(line_id):
            if old_id not in (edge.source, edge.target) or edge.relation == "cannot_link":
                continue
            self.database.write("DELETE FROM edges WHERE id = ?", (edge.id,))
            if new_id is not None:
                source, target = (new_id if end == old_id else end for end in (edge.source, edge.target))
                self.graph.add_edge(
                    source,
                    target,
                    cast(Relation, edge.relation),
                    detail=edge.detail,
                    weight=edge.weight,
                    at_utc_s=edge.created_utc_s,
                )

    def _leave_clips(self, line_id: int, old_id: int, new_id: int | None) -> None:
        """Where no other line of a clip saw or heard the old face or voice, it was not there, and has no vote."""
        clips = self.database.rows("SELECT clip_id FROM node_clips WHERE node_id = ?", (line_id,))
        for (clip_id,) in clips:
            if self._acted_in(clip_id, old_id):
                continue
            self.database.write("DELETE FROM node_clips WHERE node_id = ? AND clip_id = ?", (old_id, clip_id))
            self._move_votes(clip_id, old_id, new_id)
            ObjectLinks(self.database).leave_pictures(clip_id, old_id, new_id)

    def _acted_in(self, clip_id: int, node_id: int) -> list[int]:
        rows = self.database.rows(
            """SELECT e.source FROM edges e JOIN node_clips nc ON nc.node_id = e.source
            WHERE e.target = ? AND e.relation = 'mentions' AND e.detail = 'actor' AND nc.clip_id = ?""",
            (node_id, clip_id),
        )
        return [row["source"] for row in rows]

    def _move_votes(self, clip_id: int, old_id: int, new_id: int | None) -> None:
        column = f"{self._kind(old_id)}_id"
        other = "voice_id" if column == "face_id" else "face_id"
        sql = f"SELECT {other}, weight FROM votes WHERE {column} = ? AND clip_id = ?"
        rows = self.database.rows(sql, (old_id, clip_id))
        self.database.write(f"DELETE FROM votes WHERE {column} = ? AND clip_id = ?", (old_id, clip_id))
        if new_id is None or self._kind(new_id) != self._kind(old_id):
            return
        for partner, weight in rows:
            self.database.write(
                f"""INSERT INTO votes ({column}, {other}, clip_id, weight) VALUES (?, ?, ?, ?)
                ON CONFLICT DO NOTHING""",
                (new_id, partner, clip_id, weight),
            )

    def _remember_unlike(self, line_id: int, node_id: int) -> None:
        self.database.write(
            """INSERT INTO negatives (node_id, space, model, clip_id, source, origin_id, vector)
            SELECT ?1, space, model, clip_id, 'resident', node_id, vector FROM vectors v
            WHERE v.node_id = ?2 AND v.space = ?3 AND v.exemplar = 0 AND NOT EXISTS
            (SELECT 1 FROM negatives n WHERE n.node_id = ?1 AND n.origin_id = ?2 AND n.model = v.model)""",
            (node_id, line_id, self._kind(node_id)),
        )

    def _move_exemplars(self, lines: Sequence[MovedLine], old_id: int, new_id: int | None) -> None:
        """Examples from the lines' clips that look or sound more like these lines than like those that stay."""
        kind = self._kind(old_id)
        same_kind = new_id is not None and self._kind(new_id) == kind
        moved: dict[int, list[int]] = {}
        for line in lines:
            sql = "SELECT clip_id FROM node_clips WHERE node_id = ? ORDER BY clip_id"
            for (clip_id,) in self.database.rows(sql, (line.node.id,)):
                moved.setdefault(clip_id, []).append(line.node.id)
        for clip_id, line_ids in moved.items():
            gone = [row for line_id in line_ids for row in self._vectors(line_id, kind, exemplar=False)]
            staying = self._acted_in(clip_id, old_id)
            kept = [row for line_id in staying for row in self._vectors(line_id, kind, exemplar=False)]
            for example in self._vectors(old_id, kind, exemplar=True):
                if example["clip_id"] != clip_id:
                    continue
                if _likeness(example, gone) <= _likeness(example, kept) if gone else bool(staying):
                    continue
                if same_kind:
                    sql = "UPDATE vectors SET node_id = ? WHERE id = ?"
                    self.database.write(sql, (new_id, example["id"]))
                else:
                    self.database.write("DELETE FROM vectors WHERE id = ?", (example["id"],))

    def _teach(self, lines: Sequence[MovedLine], node_id: int) -> None:
        """A face or voice without any example takes the lines' own vectors, of the least quality."""
        kind = self._kind(node_id)
        if self._vectors(node_id, kind, exemplar=True):
            return
        for line in lines[:_MOST_EXAMPLES]:
            self.database.write(
                """INSERT INTO vectors (space, model, node_id, clip_id, exemplar, quality, vector)
                SELECT space, model, ?, clip_id, 1, 0.0, vector FROM vectors
                WHERE node_id = ? AND space = ? AND exemplar = 0""",
                (node_id, line.node.id, kind),
            )

    def _vectors(self, node_id: int, space: str, *, exemplar: bool) -> list[Row]:
        return self.database.rows(
            """SELECT id, model, clip_id, vector FROM vectors
            WHERE node_id = ? AND space = ? AND exemplar = ? ORDER BY id""",
            (node_id, space, exemplar),
        )


def _vector(row: Row) -> Vector:
    return np.frombuffer(row["vector"], dtype="<f4")


def _likeness(example: Row, rows: Sequence[Row]) -> float:
    same = [row for row in rows if row["model"] == example["model"]]
    return max((float(_vector(example) @ _vector(row)) for row in same), default=-2.0)
