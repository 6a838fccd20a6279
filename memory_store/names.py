"""What was heard of people's names: evidence with a weight, kept with the line that holds it."""

import math
from collections.abc import Callable

from memory_store.database import Database, Row
from memory_store.errors import InvalidValue, UnknownId
from memory_store.name_rule import checked_name
from memory_store.records import NameEvidence

# A row is about the face or voice `subject_id`, else about `person_id`, else about whoever speaks the line now; so
# it goes with merges, splits and lines that are given to somebody else.
_SELECT = """WITH RECURSIVE living (id, now) AS (
        SELECT id, id FROM persons WHERE merged_into IS NULL
        UNION ALL SELECT p.id, l.now FROM persons p JOIN living l ON p.merged_into = l.id),
    owned AS (
        SELECT e.*, coalesce(e.person_id, (SELECT pn.person_id FROM person_nodes pn WHERE pn.node_id = coalesce(
            e.subject_id, (SELECT target FROM edges WHERE source = e.node_id AND relation = 'mentions'
            AND detail = 'actor' ORDER BY id LIMIT 1)))) AS owner FROM name_evidence e)
    SELECT o.*, l.now FROM owned o JOIN living l ON l.id = o.owner"""


class Names:
    """Writing and reading evidence; which name it proves is not decided here."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def add(
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
        """Keep one piece; False, and nothing changed, where this line already says the same of the same."""
        name = checked_name(name, f"the line {node_id}")
        if not math.isfinite(weight):
            raise InvalidValue(f"name evidence of weight {weight}: give a finite number")
        if person_id is not None and subject_id is not None:
            raise InvalidValue(
                "name evidence is about a person or about a face or voice: give one of the two"
            )
        for table, row_id in (("persons", person_id), ("clips", clip_id), ("nodes", node_id)):
            if row_id is not None and not self._exists(table, row_id):
                raise UnknownId(f"no {table[:-1]} {row_id} in this memory")
        if subject_id is not None and not self._exists("nodes", subject_id):
            raise UnknownId(f"no face or voice node {subject_id} in this memory")
        sql = """INSERT INTO name_evidence
            (person_id, subject_id, name, clip_id, node_id, weight, source, created_utc_s)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM name_evidence
            WHERE node_id = ?5 AND name = ?3 AND source = ?7 AND person_id IS ?1 AND subject_id IS ?2)"""
        values = (person_id, subject_id, name, clip_id, node_id, weight, source, self._clock())
        return self._database.write(sql, values).rowcount == 1

    def of(self, person_id: int | None = None) -> list[NameEvidence]:
        """The evidence about a person, or about everybody, oldest first, by who each person is now."""
        if person_id is None:
            return [_evidence(row) for row in self._database.rows(f"{_SELECT} ORDER BY o.id")]
        sql = f"{_SELECT} WHERE l.now = (SELECT now FROM living WHERE id = ?) ORDER BY o.id"
        return [_evidence(row) for row in self._database.rows(sql, (person_id,))]

    def may_be_learned(self, person_id: int, name: str | None) -> bool:
        """Whether what was heard may give this name (or take the name away), and no resident decided otherwise.

        A resident decides by naming the person, by taking their name away, and by undoing this name.
        """
        chain = """WITH RECURSIVE chain (id) AS (
            VALUES (?) UNION SELECT p.id FROM persons p JOIN chain c ON p.merged_into = c.id)"""
        named = "SELECT 1 FROM persons WHERE id = ? AND name IS NOT NULL AND name_source = 'resident'"
        if self._database.row(named, (person_id,)) is not None:
            return False
        rows = self._database.rows(
            f"""{chain} SELECT source, undone_by, json_extract(detail, '$.name') AS name FROM person_history
            WHERE action = 'name' AND person_id IN (SELECT id FROM chain) ORDER BY id""",
            (person_id,),
        )
        standing = [row for row in rows if row["undone_by"] is None]
        if standing and standing[-1]["source"] == "resident" and standing[-1]["name"] is None:
            return False
        undone = {row["name"] for row in rows if row["undone_by"] is not None and row["source"] == "code"}
        return name is None or name not in undone

    def _exists(self, table: str, row_id: int) -> bool:
        return self._database.row(f"SELECT 1 FROM {table} WHERE id = ?", (row_id,)) is not None


def _evidence(row: Row) -> NameEvidence:
    return NameEvidence(
        row["id"],
        row["now"],
        row["name"],
        row["weight"],
        row["source"],
        row["clip_id"],
        row["node_id"],
        row["created_utc_s"],
    )
