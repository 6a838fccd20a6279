"""Puts right what is wrong within a database that can be read, without losing anything that was remembered."""

from pathlib import Path

from memory_store import tombstones
from memory_store.database import Database
from memory_store.facts import Facts
from memory_store.forget import Forgetting
from memory_store.graph import Graph
from memory_store.identity import Identity
from memory_store.records import ForgetReceipt
from memory_store.tentative import without_tags
from memory_store.vectors import Vectors
from memory_store.verify import COUNTS, TOO_SHORT, dangling_tags, forgotten_again, wrong_counts

_CLIP_USERS = ("nodes", "node_clips", "vectors", "votes", "name_evidence", "negatives")


class Mending:
    """Each step says in a sentence what it did; inside the caller's transaction."""

    def __init__(self, database: Database, directory: Path, now_utc_s: float) -> None:
        self._database = database
        self._directory = directory
        self._now_utc_s = now_utc_s
        self.done: list[str] = []
        self.forgotten: list[ForgetReceipt] = []
        self.lost: dict[str, set[int]] = {}  # rows that went because what they refer to is lost

    def everything(self) -> None:
        """All steps, in an order in which none undoes another; those of which nothing is wrong do nothing."""
        self._identity()
        broken = self._database.row("PRAGMA foreign_key_check") is not None
        if broken:
            self._stand_ins()
        self._evidence()
        if broken:
            self._let_go()
        self._spans()
        self._tags()
        self._recount()
        self._forget_again()
        self._database.write("INSERT INTO nodes_fts (nodes_fts) VALUES ('rebuild')")
        self.done.append("the index of words was built anew")

    def _identity(self) -> None:
        if self._database.row("SELECT 1 FROM memory_identity") is not None:
            return
        latest = max(
            tombstones.beside(self._directory).values(), key=lambda stone: stone.forgotten_utc_s, default=None
        )
        uuid = tombstones.new_uuid() if latest is None else latest.memory
        self._database.write("INSERT INTO memory_identity VALUES (?)", (uuid,))

    def _stand_ins(self) -> None:
        """Rows in the place of lost ones of which other rows tell enough: clips, faces, voices, people."""
        self._stand_in_clips()
        self._counted(
            """INSERT INTO nodes (id, kind, text, clip_id, start_utc_s, end_utc_s, first_seen_utc_s, last_seen_utc_s)
            SELECT v.node_id, v.space, '', NULL, coalesce(s.first, 0), coalesce(s.last, 0), coalesce(s.first, 0),
            coalesce(s.last, 0) FROM (SELECT node_id, min(space) AS space FROM vectors
                WHERE exemplar = 1 AND space IN ('face', 'voice') GROUP BY node_id) v
            LEFT JOIN (SELECT node_id, min(start_utc_s) AS first, max(end_utc_s) AS last FROM node_clips
                GROUP BY node_id) s ON s.node_id = v.node_id WHERE v.node_id NOT IN (SELECT id FROM nodes)""",
            "{} lost faces and voices were made anew from their examples",
        )
        self._counted(
            """INSERT INTO persons (id, tentative, created_utc_s) SELECT DISTINCT person_id, 0, ? FROM person_nodes
            WHERE person_id NOT IN (SELECT id FROM persons)""",
            "{} lost people were made anew, without their names",
            (self._now_utc_s,),
        )

    def _stand_in_clips(self) -> None:
        # What a trigger notes of a clip as it begins would be of now: what is noted of this one stays instead.
        triggers = self._database.rows(
            """SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'clips'
            AND sql LIKE '%INSERT ON%'"""
        )
        for trigger in triggers:
            self._database.write(f"DROP TRIGGER {trigger['name']}")
        clips = " UNION ".join(
            f"SELECT clip_id FROM {table} WHERE clip_id IS NOT NULL" for table in _CLIP_USERS
        )
        self._counted(
            f"""INSERT INTO clips (id, source_key, source_name, boot_id, media_start_s, media_end_s, start_utc_s,
            end_utc_s, time_known, place, has_video, has_audio, dropped_frames, audio_gap_s, state)
            SELECT u.clip_id, 'lost:' || u.clip_id, 'lost', '', 0, 0, s.first, s.last, 1, '', 0, 0, 0, 0, 'described'
            FROM ({clips}) u JOIN (SELECT clip_id, min(start_utc_s) AS first, max(end_utc_s) AS last FROM
            (SELECT clip_id, start_utc_s, end_utc_s FROM node_clips UNION ALL
            SELECT clip_id, start_utc_s, end_utc_s FROM nodes WHERE clip_id IS NOT NULL) GROUP BY clip_id) s
            ON s.clip_id = u.clip_id WHERE u.clip_id NOT IN (SELECT id FROM clips)""",
            "{} lost clips got a stand-in with their time",
        )
        for trigger in triggers:
            self._database.write(trigger["sql"])

    def _evidence(self) -> None:
        self._counted(
            """INSERT INTO node_clips (node_id, clip_id, weight, start_utc_s, end_utc_s)
            SELECT id, clip_id, weight, start_utc_s, end_utc_s FROM nodes n WHERE clip_id IN (SELECT id FROM clips)
            AND NOT EXISTS (SELECT 1 FROM node_clips nc WHERE nc.node_id = n.id)""",
            "{} memories were tied to their clip again",
        )

    def _spans(self) -> None:
        self._counted(
            f"""UPDATE nodes SET (start_utc_s, end_utc_s) =
            (SELECT min(nodes.start_utc_s, min(start_utc_s)), max(nodes.end_utc_s, max(end_utc_s))
            FROM node_clips WHERE node_id = nodes.id) WHERE id IN ({TOO_SHORT})""",
            "{} memories last as long as what speaks for them again",
        )

    def _let_go(self) -> None:
        """What still refers to a lost row: the reference is emptied where it may be, else the row goes."""
        for _ in range(5):  # a row that goes may have been referred to itself
            rows = self._database.rows("PRAGMA foreign_key_check")
            if not rows:
                return
            for table, parent, number in sorted({(row[0], row[2], row[3]) for row in rows}):
                keys = self._database.rows(f"PRAGMA foreign_key_list({table})")
                column = next(key["from"] for key in keys if key["id"] == number)
                required = {
                    info["name"]: info["notnull"] or info["pk"]
                    for info in self._database.rows(f"PRAGMA table_info({table})")
                }
                orphans = f"{column} IS NOT NULL AND {column} NOT IN (SELECT id FROM {parent})"
                if required[column]:
                    self._name_lost(table, orphans)
                    self._counted(
                        f"DELETE FROM {table} WHERE {orphans}",
                        f"{{}} rows of {table} without their {parent} went",
                    )
                else:
                    self._counted(
                        f"UPDATE {table} SET {column} = NULL WHERE {orphans}",
                        f"{{}} rows of {table} no longer refer to {parent} that are lost",
                    )

    def _name_lost(self, table: str, which: str) -> None:
        row = self._database.row("SELECT sql FROM sqlite_master WHERE name = ?", (table,))
        if row is not None and "WITHOUT ROWID" not in str(row["sql"]).upper():
            gone = self._database.rows(f"SELECT rowid AS id FROM {table} WHERE {which}")
            self.lost.setdefault(table, set()).update(found["id"] for found in gone)

    def _tags(self) -> None:
        dangling = dangling_tags(self._database)
        for line_id, wrong in dangling.items():
            row = self._database.row("SELECT text FROM nodes WHERE id = ?", (line_id,))
            assert row is not None
            text = without_tags(row["text"], wrong)
            self._database.write("UPDATE nodes SET text = ? WHERE id = ?", (text, line_id))
        if dangling:
            self.done.append(f"{len(dangling)} memories that named a lost face or voice tell of somebody")

    def _recount(self) -> None:
        for table in wrong_counts(self._database):
            rows = self._database.rows(COUNTS[table][1])
            self._database.write(f"DELETE FROM {table}")
            if table == "vector_counts":
                sql = """INSERT INTO vector_counts (space, model, count, last_id, revision)
                    SELECT space, model, count(*), max(id), 1 FROM vectors GROUP BY space, model"""
                self._database.write(sql)
            else:
                for row in rows:
                    self._database.write(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", tuple(row))
            self.done.append(f"{table} was counted anew")

    def _forget_again(self) -> None:
        def clock() -> float:
            return self._now_utc_s

        vectors = Vectors(self._database, {})
        graph = Graph(self._database, vectors, clock)
        facts = Facts(self._database, graph, vectors)
        forgetting = Forgetting(self._database, graph, Identity(self._database, clock), facts, clock)
        tombstones.insert(self._database, tombstones.beside(self._directory).values())
        for stone in forgotten_again(self._database, self._directory):
            self.forgotten.append(forgetting.again(stone))
            self.done.append("somebody who was forgotten was here again, and was forgotten again")

    def _counted(self, sql: str, sentence: str, parameters: tuple[float, ...] = ()) -> None:
        count = self._database.write(sql, parameters).rowcount
        if count > 0:
            self.done.append(sentence.format(count))
