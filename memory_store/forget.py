"""Forgetting a person: which rows go, which are told anew without them, and a receipt of it all.

Nothing of it can be undone. Files beside the database are named in the receipt and left to the caller.
"""

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from memory_store import tombstones
from memory_store.database import Database
from memory_store.facts import Facts
from memory_store.fold import fold
from memory_store.forget_history import history_of
from memory_store.forget_scope import ForgetScope
from memory_store.forget_traits import (
    Traits,
    cited_ids,
    file_name_without,
    texts_in,
    without_names,
)
from memory_store.graph import Graph
from memory_store.identity import Identity
from memory_store.records import ForgetReceipt, Node
from memory_store.tentative import without_tags
from memory_store.tombstones import Tombstone


class Forgetting:
    """Deletes one person, inside the caller's transaction."""

    def __init__(
        self,
        database: Database,
        graph: Graph,
        identity: Identity,
        facts: Facts,
        clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._graph = graph
        self._identity = identity
        self._clock = clock
        self._scope = ForgetScope(database, graph, identity, facts)

    def person(self, person_id: int) -> ForgetReceipt:
        """Delete a person with everybody merged into them, and leave a tombstone; raises UnknownId."""
        living = self._identity.living(person_id)
        nodes = [binding.node_id for binding in self._identity.bindings(living)]
        receipt = self._forget(living, self._scope.traits(self._identity.with_merged(living), nodes))
        self._database.write("INSERT INTO nodes_fts (nodes_fts) VALUES ('rebuild')")
        return receipt

    def again(self, stone: Tombstone) -> ForgetReceipt:
        """Delete from an older state of the memory what was forgotten later, and whatever it tells of them.

        Who was one with them then goes with them. Where a name of theirs was not known yet, a line goes that cannot
        be told as it was told without them later. The caller builds the index of words anew, once for all.
        """
        persons = self._down_from(stone.persons)
        sql = "SELECT node_id AS id FROM person_nodes WHERE person_id IN (SELECT value FROM json_each(?))"
        nodes = {row["id"] for row in self._database.rows(sql, (json.dumps(persons),))}
        traits = self._scope.traits(persons, nodes | self._there("nodes", stone.identities))
        receipt = self._forget(min(stone.persons), traits, stone)
        # Names are never struck from the history, so that as many as then are the same.
        all_names_known = len(traits.names) + len(traits.shared_names) == stone.names
        rows = self._database.rows(
            "SELECT id, text, provenance FROM nodes WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(stone.rewritten)),),
        )
        lost = {
            row["id"]
            for row in rows
            if not all_names_known
            and tombstones.fingerprint(row["text"], row["provenance"]) != stone.rewritten[row["id"]]
        }
        for table, ids in (
            ("traces", stone.traces),
            ("person_history", stone.history),
            ("name_evidence", stone.name_evidence),
            ("nodes", lost | set(stone.nodes)),
        ):
            self._delete(table, "id", ids)
        for row in self._database.rows("SELECT id, source_name FROM clips"):
            told = stone.clips.get(row["id"])
            if told and not all_names_known and told != tombstones.fingerprint(row["source_name"]):
                self._database.write("UPDATE clips SET source_name = 'recording' WHERE id = ?", (row["id"],))
        return replace(
            receipt,
            counts={**receipt.counts, "lines_not_retold": len(lost)},
            files=tuple(sorted({*receipt.files, *stone.files})),
            face_ids=tuple(sorted({*receipt.face_ids, *stone.identities})),
            sound_clip_ids=tuple(sorted({*receipt.sound_clip_ids, *stone.sound_clips})),
        )

    def _forget(self, living: int, traits: Traits, stone: Tombstone | None = None) -> ForgetReceipt:
        gone, told_anew = self._scope.lines(traits)
        heard = self._scope.clips_heard(traits)
        images = self._scope.images(self._scope.clips_alone(traits), gone)
        gone -= {image.id for image in images}
        doomed = {*traits.node_ids, *gone, *(image.id for image in images)}
        counts = self._counts(doomed, traits)
        counts["lines_deleted"] = len(gone)
        counts["lines_rewritten"] = len(told_anew)
        counts["pictures"] = len(images)
        traces = self._delete_traces(traits, {*doomed, *told_anew})
        history = self._delete_history(traits, {*doomed, *told_anew})
        rewritten = {line_id: self._tell_anew(self._graph.node(line_id), traits) for line_id in told_anew}
        evidence = self._delete_name_evidence(traits, doomed)
        clips = self._rename_recordings(traits)
        counts |= {
            "traces": len(traces),
            "history": len(history),
            "name_evidence": len(evidence),
            "recording_names": len(clips),
        }
        self._delete("nodes", "id", doomed)
        self._delete_persons(traits)
        files = tuple(str(image.provenance["file"]["path"]) for image in images if "file" in image.provenance)
        faces = tuple(sorted(traits.node_ids))
        if stone is None:
            stone = Tombstone(
                uuid=tombstones.new_uuid(),
                memory=tombstones.memory_uuid(self._database),
                forgotten_utc_s=self._clock(),
                persons=tuple(sorted(traits.person_ids)),
                names=len(traits.names) + len(traits.shared_names),
                identities=faces,
                nodes=tuple(sorted(doomed)),
                traces=tuple(sorted(traces)),
                history=tuple(sorted(history)),
                name_evidence=tuple(sorted(evidence)),
                rewritten=rewritten,
                clips=clips,
                sound_clips=tuple(sorted(heard)),
                files=files,
            )
        tombstones.insert(self._database, [stone])
        return ForgetReceipt(living, counts, files, faces, tuple(sorted(heard)), traits.shared_names, False)

    def _there(self, table: str, ids: Collection[int]) -> set[int]:
        sql = f"SELECT id FROM {table} WHERE id IN (SELECT value FROM json_each(?))"
        return {row["id"] for row in self._database.rows(sql, (json.dumps(sorted(ids)),))}

    def _down_from(self, person_ids: Collection[int]) -> list[int]:
        """Those of these persons that are there, and everybody who was merged into them."""
        rows = self._database.rows(
            """WITH RECURSIVE one (id) AS (SELECT id FROM persons WHERE id IN (SELECT value FROM json_each(?))
            UNION SELECT p.id FROM persons p JOIN one ON p.merged_into = one.id) SELECT id FROM one ORDER BY id""",
            (json.dumps(sorted(person_ids)),),
        )
        return [row["id"] for row in rows]

    def _rename_recordings(self, traits: Traits) -> dict[int, str]:
        """Recordings named after them get another name; the sha256 of each new one by clip."""
        renamed: dict[int, str] = {}
        for row in self._database.rows("SELECT id, source_name FROM clips"):
            name = file_name_without(row["source_name"], traits.names)
            if name != row["source_name"]:
                self._database.write("UPDATE clips SET source_name = ? WHERE id = ?", (name, row["id"]))
                renamed[row["id"]] = tombstones.fingerprint(name)
        return renamed

    def _counts(self, doomed: Collection[int], traits: Traits) -> dict[str, int]:
        listed = json.dumps(sorted(traits.node_ids))
        within = "IN (SELECT value FROM json_each(?1))"
        queries = {
            "faces": f"SELECT count(*) FROM nodes WHERE kind = 'face' AND id {within}",
            "voices": f"SELECT count(*) FROM nodes WHERE kind = 'voice' AND id {within}",
            "exemplars": f"SELECT count(*) FROM vectors WHERE exemplar = 1 AND node_id {within}",
            "votes": f"SELECT count(*) FROM votes WHERE face_id {within} OR voice_id {within}",
        }
        counts = {"persons": len(traits.person_ids)}
        for name, sql in queries.items():
            row = self._database.row(sql, (listed,))
            counts[name] = int(row[0]) if row else 0
        listed = json.dumps(sorted(doomed))
        row = self._database.row(
            f"SELECT count(*) FROM negatives WHERE node_id {within} OR origin_id {within}", (listed,)
        )
        counts["negatives"] = int(row[0]) if row else 0
        row = self._database.row(
            f"SELECT count(*) FROM edges WHERE source {within} OR target {within}", (listed,)
        )
        counts["edges"] = int(row[0]) if row else 0
        return counts

    def _delete_traces(self, traits: Traits, touched: set[int]) -> list[int]:
        gone: list[int] = []
        for row in self._database.rows("SELECT id, question, answer, trace FROM traces ORDER BY id"):
            trace = json.loads(row["trace"])
            texts = [row["question"], row["answer"], *texts_in(trace)]
            if (
                any(traits.names_in(text) or traits.quoted_in(text) for text in texts)
                or cited_ids(trace) & touched
            ):
                gone.append(row["id"])
        self._delete("traces", "id", gone)
        return gone

    def _delete_history(self, traits: Traits, touched: set[int]) -> set[int]:
        gone = history_of(self._database, traits.person_ids, touched)
        for row in self._database.rows("SELECT id, detail, changes FROM person_history"):
            text = f"{row['detail']} {row['changes']}"
            if traits.quoted_in(text) or traits.named_in(text):
                gone.add(row["id"])
        self._delete("person_history", "id", gone)
        return gone

    def _tell_anew(self, line: Node, traits: Traits) -> str:
        """The line with "somebody" where it named them; its sha256."""
        provenance = json.dumps(without_names(dict(line.provenance), traits.names), ensure_ascii=False)
        text = without_names(without_tags(line.text, traits.node_ids), traits.names)
        sql = "UPDATE nodes SET text = ?, provenance = ? WHERE id = ?"
        self._database.write(sql, (text, provenance, line.id))
        return tombstones.fingerprint(text, provenance)

    def _delete_name_evidence(self, traits: Traits, doomed: Collection[int]) -> list[int]:
        names, touched = set(map(fold, traits.names)), set(doomed)
        rows = self._database.rows("SELECT id, person_id, node_id, subject_id, name FROM name_evidence")
        gone = [
            row["id"]
            for row in rows
            if row["person_id"] in traits.person_ids
            or {row["node_id"], row["subject_id"]} & touched
            or fold(row["name"]) in names
        ]
        self._delete("name_evidence", "id", gone)
        return gone

    def _delete_persons(self, traits: Traits) -> None:
        within = "IN (SELECT value FROM json_each(?))"
        listed = json.dumps(sorted(traits.person_ids))
        for column in ("id", "merged_into"):
            self._database.write(f"UPDATE persons SET merged_into = NULL WHERE {column} {within}", (listed,))
        self._database.write(f"DELETE FROM person_nodes WHERE person_id {within}", (listed,))
        self._delete("persons", "id", traits.person_ids)

    def _delete(self, table: str, column: str, ids: Iterable[int]) -> None:
        sql = f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))"
        self._database.write(sql, (json.dumps(sorted(ids)),))
