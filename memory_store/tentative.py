"""People met only once: which of them go, and how they go without leaving an id that leads nowhere."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from memory_store.database import Database, Row
from memory_store.facts import Facts
from memory_store.tags import Tag, find_tags, replace_tags
from memory_store.words import tag_term

SOMEBODY = "somebody"
_SOMEBODY_ZH = "有人"


@dataclass(frozen=True)
class Tentative:
    """Ends tentative people. Their lines stay, and tell of "somebody" from then on."""

    database: Database
    facts: Facts

    def confirm(self, node_id: int, clip_id: int) -> bool:
        """End the tentative state of a node's person, unless this clip is the one the node was first met in."""
        sql = """UPDATE persons SET tentative = 0 WHERE tentative = 1
            AND id = (SELECT person_id FROM person_nodes WHERE node_id = ?1)
            AND (SELECT clip_id FROM nodes WHERE id = ?1) <> ?2"""
        return self.database.write(sql, (node_id, clip_id)).rowcount > 0

    def expired(self, before_utc_s: float, limit: int | None) -> list[int]:
        """Who is to go: last met before a moment, and, of the rest, all beyond `limit`; by id.

        Oldest first, then those met with the least evidence. Named and confirmed people, those whose consent
        is known, those that a resident corrected, and, for the time, those met while the clock was not set
        never go.
        """
        rows = self.database.rows(
            """SELECT p.id, max(c.end_utc_s) AS last, min(c.time_known) AS time_known,
            (SELECT count(*) FROM vectors v JOIN person_nodes o ON o.node_id = v.node_id
                WHERE o.person_id = p.id AND v.exemplar = 1) AS examples
            FROM persons p LEFT JOIN person_nodes pn ON pn.person_id = p.id
            LEFT JOIN node_clips nc ON nc.node_id = pn.node_id LEFT JOIN clips c ON c.id = nc.clip_id
            WHERE p.tentative = 1 AND p.merged_into IS NULL AND p.name IS NULL AND p.consent = 'unknown'
            AND pn.node_id IS NOT NULL GROUP BY p.id"""
        )
        rows = [row for row in rows if not self._kept_by_residents(row["id"])]
        gone = [row["id"] for row in rows if _met_before(row, before_utc_s)]
        rest = sorted(
            (row for row in rows if row["id"] not in set(gone)),
            key=lambda row: (row["last"] or 0.0, row["examples"], row["id"]),
        )
        if limit is not None:
            gone += [row["id"] for row in rest[: max(0, len(rest) - limit)]]
        return sorted(gone)

    def end(self, person_ids: Collection[int]) -> None:
        """Delete these people with their faces and voices, their vectors, votes and edges."""
        for person_id in person_ids:
            persons = self._with_merged(person_id)
            sql = "SELECT node_id FROM person_nodes WHERE person_id = ?"
            nodes = [row["node_id"] for row in self.database.rows(sql, (person_id,))]
            self.facts.delete_of(nodes)
            self._rewrite(nodes)
            write = self.database.write
            listed = json.dumps(persons)
            write("DELETE FROM nodes WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(nodes),))
            write("DELETE FROM person_history WHERE person_id IN (SELECT value FROM json_each(?))", (listed,))
            write(
                "UPDATE persons SET merged_into = NULL WHERE id IN (SELECT value FROM json_each(?))",
                (listed,),
            )
            write("DELETE FROM persons WHERE id IN (SELECT value FROM json_each(?))", (listed,))

    def _rewrite(self, nodes: list[int]) -> None:
        """Replace the tags of faces and voices that go by "somebody" in all texts."""
        gone = set(nodes)
        lines: dict[int, str] = {}
        for node_id in nodes:
            for kind in ("face", "voice"):
                sql = "SELECT id, text FROM nodes WHERE id IN (SELECT rowid FROM nodes_fts WHERE nodes_fts MATCH ?)"
                rows = self.database.rows(sql, (tag_term(kind, node_id),))
                lines.update({row["id"]: row["text"] for row in rows})
        for line_id, text in sorted(lines.items()):
            if any(tag.node_id in gone for tag in find_tags(text)):
                self.database.write(
                    "UPDATE nodes SET text = ? WHERE id = ?", (without_tags(text, gone), line_id)
                )

    def _with_merged(self, person_id: int) -> list[int]:
        """The person and everybody who was ever merged into them."""
        rows = self.database.rows(
            """WITH RECURSIVE one (id) AS (VALUES (?) UNION
            SELECT p.id FROM persons p JOIN one ON p.merged_into = one.id) SELECT id FROM one""",
            (person_id,),
        )
        return [row["id"] for row in rows]

    def _kept_by_residents(self, person_id: int) -> bool:
        row = self.database.row(
            """SELECT 1 FROM person_nodes WHERE person_id = ?1 AND source = 'resident'
            UNION ALL SELECT 1 FROM person_history WHERE person_id = ?1 AND source = 'resident'""",
            (person_id,),
        )
        return row is not None


def _met_before(row: Row, before_utc_s: float) -> bool:
    return row["last"] is not None and bool(row["time_known"]) and row["last"] < before_utc_s


def without_tags(text: str, gone: Collection[int]) -> str:
    """The text with the tags of nodes that go replaced by a word; a sentence still begins with a capital."""

    def word(tag: Tag) -> str | None:
        if tag.node_id not in gone:
            return None
        return _SOMEBODY_ZH if any("\u4e00" <= letter <= "\u9fff" for letter in text) else SOMEBODY

    told = replace_tags(text, word)
    if told.startswith(SOMEBODY) and not text.startswith(SOMEBODY):
        told = SOMEBODY.capitalize() + told[len(SOMEBODY) :]
    return told
