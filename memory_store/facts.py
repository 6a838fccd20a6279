"""Facts: semantic nodes whose text was read as subject, relation and object, and the lines they were read from.

How a sentence is read is left to the caller, what is believed to memory_store/beliefs.py. Who a fact is about
follows from the face or voice it names, so that merging, splitting and correcting people moves their facts along.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memory_store.database import Database, Row
from memory_store.errors import InvalidValue
from memory_store.fold import fold
from memory_store.graph import Graph
from memory_store.name_rule import name_pattern
from memory_store.records import Triple, Vector
from memory_store.vectors import Vectors, checked_vector

CHANGED = "changed"  # detail of a `derived_from` edge: the line itself says that it was otherwise before
# Of these somebody has one at a time: another one contradicts it.
ONE_AT_A_TIME = frozenset({"lives_in", "works_at", "works_as", "age", "born_on", "from", "prefers"})


def is_rival(one: Triple, other: Triple) -> bool:
    """Whether two facts about the same subject cannot both hold: unrelated ones never retire each other."""
    if (one.subject, one.relation) != (other.subject, other.relation):
        return False
    if one.object == other.object:
        return one.polarity != other.polarity
    single = one.relation in ONE_AT_A_TIME or one.relation.startswith("favourite")
    return single and one.polarity == other.polarity == 1


@dataclass(frozen=True)
class Facts:
    """Writing facts, inside the caller's transaction."""

    database: Database
    graph: Graph
    vectors: Vectors

    def add(
        self,
        triple: Triple,
        text: str,
        line_id: int,
        *,
        subject_id: int | None,
        vector: ArrayLike | None,
        same: float,
        changed: bool = False,
        provenance: Mapping[str, Any] | None = None,
    ) -> tuple[int, bool]:
        """Keep what a line says; the fact's node, and whether it is new.

        A fact that is known gains the weight of the line's clip, once per clip, and the line as evidence. It is
        known where subject, relation and polarity are the same and the object is too, or the cosine of its vector
        is at least `same`. Facts that it contradicts stay, tied by a `semantic` edge "contradicts".
        """
        if triple.polarity not in (-1, 1) or not triple.relation or not triple.object:
            raise InvalidValue(
                f"{triple} is no fact: it needs a relation, an object and the polarity 1 or -1"
            )
        if subject_id is None and not triple.subject:
            raise InvalidValue(f"{triple} is about nobody: give the face or voice, or a name")
        line = self.graph.node(line_id)
        if line.clip_id is None:
            raise InvalidValue(f"memory {line_id} rests on no clip: a fact is read from a line of a clip")
        siblings = self._siblings(triple, subject_id)
        node_id = self._known(triple, siblings, vector, same)
        new = node_id is None
        if node_id is None:
            node_id = self._insert(triple, text, line_id, subject_id, vector, provenance or {})
            for other_id, other in siblings.items():
                if is_rival(triple, other):
                    self.graph.add_edge(node_id, other_id, "semantic", detail="contradicts")
        else:
            times = {"start_utc_s": line.start_utc_s, "end_utc_s": line.end_utc_s}
            self.graph.reinforce(node_id, line.clip_id, **times)
        detail = CHANGED if changed else ""
        if not self._is_derived(node_id, line_id, detail):
            self.graph.add_edge(node_id, line_id, "derived_from", detail=detail)
        return node_id, new

    def move_line(self, line_id: int, old_id: int, new_id: int | None, told: Callable[[str], str]) -> None:
        """A line turned out to be somebody else's: what was read from it is theirs now; None: nobody's.

        told: a text as it reads with the new face or voice.
        """
        rows = self.database.rows(
            f"""{_SELECT} JOIN edges e ON e.source = f.node_id AND e.relation = 'derived_from'
            WHERE e.target = ? AND (f.subject_id = ? OR f.subject_id IS NULL) GROUP BY f.node_id ORDER BY f.node_id""",
            (line_id, old_id),
        )
        for row in rows:
            node, vector = self.graph.node(row["node_id"]), self._vector(row["node_id"])
            changed = self._is_derived(node.id, line_id, CHANGED)
            self._withdraw(node.id, line_id)
            if new_id is not None or row["subject_id"] is None:
                self.add(
                    triple_of(row),
                    told(node.text),
                    line_id,
                    subject_id=None if row["subject_id"] is None else new_id,
                    vector=vector,
                    same=2.0,
                    changed=changed,
                    provenance=node.provenance,
                )

    def move_subject(self, node_id: int, old_id: int, new_id: int | None) -> None:
        """A resident gave a fact itself to somebody else; to nobody known: then it is a text and no fact."""
        if new_id is None:
            sql, values = "DELETE FROM facts WHERE node_id = ? AND subject_id = ?", (node_id, old_id)
            self.database.write(sql, values)
        else:
            sql = "UPDATE facts SET subject_id = ? WHERE node_id = ? AND subject_id = ?"
            self.database.write(sql, (new_id, node_id, old_id))

    def delete_of(self, node_ids: Collection[int]) -> None:
        """Delete the facts about faces and voices that go."""
        sql = """DELETE FROM nodes WHERE id IN (SELECT node_id FROM facts
            WHERE subject_id IN (SELECT value FROM json_each(?)))"""
        self.database.write(sql, (json.dumps(sorted(node_ids)),))

    def naming(self, names: Sequence[str]) -> set[int]:
        """The facts whose subject or object is one of some names."""
        patterns = [name_pattern(name) for name in names]
        rows = self.database.rows("SELECT node_id, subject || ' ' || object AS words FROM facts")
        return {row["node_id"] for row in rows if any(p.search(fold(row["words"])) for p in patterns)}

    def rows_about(
        self, node_ids: Sequence[int], names: Collection[str], relations: Collection[str] | None
    ) -> list[Row]:
        """The facts about some faces and voices, and those about whoever is called so, by node."""
        listed = None if relations is None else json.dumps(sorted(relations))
        return self.database.rows(
            f"""{_SELECT} WHERE f.node_id IN (
                SELECT node_id FROM facts WHERE subject_id IN (SELECT value FROM json_each(?1))
                AND (?3 IS NULL OR relation IN (SELECT value FROM json_each(?3)))
                UNION ALL SELECT node_id FROM facts WHERE subject IN (SELECT value FROM json_each(?2))
                AND subject_id IS NULL AND (?3 IS NULL OR relation IN (SELECT value FROM json_each(?3))))
            ORDER BY f.node_id""",
            (json.dumps(list(node_ids)), json.dumps([name.casefold() for name in names]), listed),
        )

    def _insert(
        self,
        triple: Triple,
        text: str,
        line_id: int,
        subject_id: int | None,
        vector: ArrayLike | None,
        provenance: Mapping[str, Any],
    ) -> int:
        line = self.graph.node(line_id)
        node_id = self.graph.add_node(
            "semantic",
            text,
            clip_id=line.clip_id,
            start_utc_s=line.start_utc_s,
            end_utc_s=line.end_utc_s,
            provenance={"source": "fact", **provenance, "object": triple.words or triple.object},
            vectors={} if vector is None else {"text": vector},
        )
        if subject_id is not None:
            self.graph.add_edge(node_id, subject_id, "entity_link", detail="subject")
        values = {
            "node_id": node_id,
            "subject_id": subject_id,
            "subject": triple.subject,
            "relation": triple.relation,
            "object": triple.object,
            "polarity": triple.polarity,
        }
        self.database.insert("facts", values)
        return node_id

    def _siblings(self, triple: Triple, subject_id: int | None) -> dict[int, Triple]:
        """The facts about the same subject by the same relation, whichever face or voice of theirs they name."""
        names = [triple.subject] if subject_id is None else []
        nodes = [] if subject_id is None else self._nodes_beside(subject_id)
        rows = self.rows_about(nodes, names, [triple.relation])
        return {row["node_id"]: triple_of(row) for row in rows if row["subject"] == triple.subject}

    def _known(
        self, triple: Triple, siblings: dict[int, Triple], vector: ArrayLike | None, same: float
    ) -> int | None:
        alike = {node_id: one for node_id, one in siblings.items() if one.polarity == triple.polarity}
        for node_id, one in alike.items():
            if one.object == triple.object:
                return node_id
        if vector is None or not alike or same > 1.0:
            return None
        numbers = _numbers(triple.object)
        comparable = [node_id for node_id, one in alike.items() if _numbers(one.object) == numbers]
        nodes, vectors = self.vectors.of_nodes(comparable, "text")
        if not nodes:
            return None
        cosines = vectors @ checked_vector(vector, self.vectors.space("text"))
        best = int(np.argmax(cosines))
        return nodes[best] if cosines[best] >= same else None

    def _nodes_beside(self, node_id: int) -> list[int]:
        """All faces and voices of the person to whom one belongs."""
        rows = self.database.rows(
            """SELECT node_id FROM person_nodes WHERE person_id =
            (SELECT person_id FROM person_nodes WHERE node_id = ?) ORDER BY node_id""",
            (node_id,),
        )
        return [row["node_id"] for row in rows] or [node_id]

    def _withdraw(self, node_id: int, line_id: int) -> None:
        """Take a line away from what a fact rests on, and the fact where it rests on nothing else."""
        write = self.database.write
        sql = "DELETE FROM edges WHERE source = ? AND target = ? AND relation = 'derived_from'"
        write(sql, (node_id, line_id))
        left = self.database.rows(
            """SELECT DISTINCT n.clip_id FROM edges e JOIN nodes n ON n.id = e.target
            WHERE e.source = ? AND e.relation = 'derived_from' ORDER BY n.clip_id""",
            (node_id,),
        )
        if not left:
            write("DELETE FROM nodes WHERE id = ?", (node_id,))
            return
        clips = [row["clip_id"] for row in left]
        sql = "DELETE FROM node_clips WHERE node_id = ? AND clip_id NOT IN (SELECT value FROM json_each(?))"
        write(sql, (node_id, json.dumps(clips)))
        write("UPDATE nodes SET clip_id = ? WHERE id = ?", (clips[0], node_id))
        self.graph.refresh_spans([node_id])

    def _is_derived(self, node_id: int, line_id: int, detail: str) -> bool:
        sql = (
            "SELECT 1 FROM edges WHERE source = ? AND target = ? AND relation = 'derived_from' AND detail = ?"
        )
        return self.database.row(sql, (node_id, line_id, detail)) is not None

    def _vector(self, node_id: int) -> Vector | None:
        return self.vectors.of_node(node_id, "text") if "text" in self.vectors.spaces else None


_SELECT = """SELECT f.*, json_extract(n.provenance, '$.object') AS words FROM facts f
    JOIN nodes n ON n.id = f.node_id"""


def triple_of(row: Row) -> Triple:
    """The fact of a row that `rows_about` gave."""
    return Triple(
        row["relation"], row["object"], row["polarity"], row["subject"], row["words"] or row["object"]
    )


def _numbers(text: str) -> list[str]:
    return "".join(letter if letter.isdigit() else " " for letter in text).split()
