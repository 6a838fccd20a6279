"""Persons: the faces and voices bound to them, their names, votes, and a history that can be undone."""

import json
from collections.abc import Callable, Iterable
from typing import Any, get_args

from memory_store.database import Database, Row
from memory_store.errors import IdentityConflict, InvalidValue, UnknownId
from memory_store.history import History, Source
from memory_store.name_rule import checked_name
from memory_store.records import Binding, Consent, Person
from memory_store.tags import Tag, replace_tags


class Identity:
    """Who is who: creating, binding, naming and merging persons; ids are never reused."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self.log = History(database, clock)

    def create(self, *, tentative: bool) -> int:
        """A new person without a name, face or voice."""
        values = {"tentative": tentative, "created_utc_s": self._clock()}
        return self._database.insert("persons", values)

    def bind(self, person_id: int, node_id: int, source: Source = "code") -> None:
        """Give a face or voice to a person, and pin it there where a resident does.

        Raises IdentityConflict where a cannot-link edge forbids it, or where a resident bound the node elsewhere
        and it is not a resident who moves it now.
        """
        person_id = self.living(person_id)
        row = self._database.row("SELECT kind FROM nodes WHERE id = ?", (node_id,))
        if row is None:
            raise UnknownId(f"no node {node_id} in this memory")
        if row["kind"] not in ("face", "voice"):
            raise InvalidValue(
                f"node {node_id} is of kind {row['kind']!r}: only a face or a voice is bound to a person"
            )
        previous = self.owner(node_id)
        if previous == person_id and (source == "code" or self.is_pinned(node_id)):
            self._database.require_transaction()
            return
        if previous is not None and source == "code":
            self._refuse_pinned([node_id], f"binding node {node_id} to person {person_id}")
        self._refuse_conflict(
            [node_id], self._nodes(person_id), f"binding node {node_id} to person {person_id}"
        )
        detail = {"node_id": node_id, "previous_person_id": previous}
        if previous is None and source == "code":  # how somebody is first met; many are, so it is kept cheap
            self.give(person_id, node_id, source)
            self.log.note("bind", person_id, source, **detail)
            return
        with self.log.recorded("bind", person_id, source, **detail):
            self.give(person_id, node_id, source)

    def give(self, person_id: int, node_id: int, source: Source) -> None:
        """Write a binding without asking whether it may be; a resident's also confirms the person."""
        self._database.write(
            """INSERT INTO person_nodes (node_id, person_id, source) VALUES (?, ?, ?) ON CONFLICT (node_id)
            DO UPDATE SET person_id = excluded.person_id, source = excluded.source""",
            (node_id, person_id, source),
        )
        if source == "resident":
            self._database.write("UPDATE persons SET tentative = 0 WHERE id = ? AND tentative", (person_id,))

    def is_pinned(self, node_id: int) -> bool:
        """Whether a resident gave the face or voice to its person."""
        sql = "SELECT 1 FROM person_nodes WHERE node_id = ? AND source = 'resident'"
        return self._database.row(sql, (node_id,)) is not None

    def bindings(self, person_id: int) -> list[Binding]:
        """A person's faces and voices, and who gave them to the person; by node id."""
        rows = self._database.rows(
            """SELECT n.id, n.kind, pn.source FROM person_nodes pn JOIN nodes n ON n.id = pn.node_id
            WHERE pn.person_id = ? ORDER BY n.id""",
            (self.living(person_id),),
        )
        return [Binding(*row) for row in rows]

    def merge(self, keep: int, gone: int, source: Source = "code") -> None:
        """Make two persons one: members move to `keep`, and the history row holds what an undo needs.

        The kept person keeps their name and consent, and takes the other's where they have none;
        "do not remember" always wins. Raises IdentityConflict where a cannot-link edge stands between, or a
        resident bound what would move; a resident's own merge takes such edges away and pins all bindings.
        """
        keep_row, gone_row = self._row(keep), self._row(gone)
        if keep_row["id"] == gone_row["id"]:
            raise InvalidValue(
                f"persons {keep} and {gone} are the same person {keep_row['id']}: nothing to merge"
            )
        moved, kept = self._nodes(gone_row["id"]), self._nodes(keep_row["id"])
        if source == "code":
            self._refuse_conflict(moved, kept, f"merging person {gone} into {keep}")
            self._refuse_pinned(moved, f"merging person {gone} into {keep}")
        columns = ("name", "consent", "tentative")
        detail = {
            "gone_person_id": gone_row["id"],
            "node_ids": moved,
            "kept": {column: keep_row[column] for column in columns},
            "gone": {column: gone_row[column] for column in columns},
        }
        with self.log.recorded("merge", keep_row["id"], source, **detail) as entry:
            entry.detail["removed_links"] = self.unlink(moved, kept) if source == "resident" else []
            self._join(keep_row, gone_row, [*kept, *moved], source)

    def _join(self, keep: Row, gone: Row, nodes: list[int], source: Source) -> None:
        write = self._database.write
        write("UPDATE person_nodes SET person_id = ? WHERE person_id = ?", (keep["id"], gone["id"]))
        if source == "resident":
            for node_id in nodes:
                self.give(keep["id"], node_id, source)
        write("UPDATE persons SET merged_into = ? WHERE id = ?", (keep["id"], gone["id"]))
        named = keep if keep["name"] else gone
        if gone["name"] and gone["name_source"] == "resident" != keep["name_source"]:
            named = gone  # a resident's word stands over what was heard
        write(
            "UPDATE persons SET name = ?, name_source = ?, consent = ?, tentative = ? WHERE id = ?",
            (
                named["name"],
                named["name_source"],
                _merged_consent(keep["consent"], gone["consent"]),
                keep["tentative"] and gone["tentative"] and source == "code",
                keep["id"],
            ),
        )

    def set_name(self, person_id: int, name: str | None, source: Source = "code") -> None:
        """Name a person, which also makes them no longer tentative; None takes the name away.

        Raises IdentityConflict where a resident named the person and it is not a resident who renames them.
        """
        row = self._row(person_id)
        person_id = row["id"]
        name = None if name is None else checked_name(name, f"person {person_id}")
        if source == "code" and row["name_source"] == "resident" and row["name"] not in (None, name):
            raise IdentityConflict(
                f"person {person_id} was named {row['name']!r} by a resident: only a resident renames them"
            )
        with self.log.recorded("name", person_id, source, name=name, previous_name=row["name"]):
            self._database.write(
                "UPDATE persons SET name = ?, name_source = ?, tentative = tentative AND ? WHERE id = ?",
                (name, source if name else "code", name is None, person_id),
            )

    def set_tentative(self, person_id: int, tentative: bool) -> None:
        """Confirm a person, or make them tentative again."""
        sql = "UPDATE persons SET tentative = ? WHERE id = ?"
        self._database.write(sql, (tentative, self.living(person_id)))

    def set_consent(self, person_id: int, consent: Consent) -> None:
        """Record what a person agreed to."""
        if consent not in get_args(Consent):
            raise InvalidValue(f"consent {consent!r}: one of {', '.join(get_args(Consent))}")
        person_id = self.living(person_id)
        before = self._row(person_id)["consent"]
        with self.log.recorded("consent", person_id, "resident", consent=consent, previous_consent=before):
            self._database.write("UPDATE persons SET consent = ? WHERE id = ?", (consent, person_id))

    def people(self) -> list[Person]:
        """Everyone who was not merged into somebody else, by id.

        Appearances are the distinct clips that speak for one of the person's faces or voices; first and
        last seen are the ends of the spans in these clips.
        """
        rows = self._database.rows("SELECT * FROM persons WHERE merged_into IS NULL ORDER BY id")
        return self._persons(rows, where="", parameters=())

    def person(self, person_id: int) -> Person:
        """One person; the id of someone merged away leads to who they are now; raises UnknownId."""
        row = self._row(person_id)
        return self._persons([row], where="WHERE pn.person_id = ?", parameters=(row["id"],))[0]

    def person_of(self, node_id: int) -> Person | None:
        """The person a face or voice is bound to, or None."""
        owner = self.owner(node_id)
        return None if owner is None else self.person(owner)

    def history(self, person_id: int) -> list[dict[str, Any]]:
        """What was done to a person, and to those merged into them, oldest first.

        Each with `id`, `action`, `created_utc_s`, `person_id`, `source`, `undoable`, `undone_by` and its details.
        """
        return [
            {
                "id": row.id,
                "action": row.action,
                "created_utc_s": row.created_utc_s,
                "person_id": row.person_id,
                "source": row.source,
                "undoable": row.undoable,
                "undone_by": row.undone_by,
                **row.detail,
            }
            for row in self.log.rows(self.with_merged(person_id))
        ]

    def with_merged(self, person_id: int) -> list[int]:
        """The ids of a person and of everybody who was ever merged into them."""
        rows = self._database.rows(
            """WITH RECURSIVE one (id) AS (VALUES (?) UNION
            SELECT p.id FROM persons p JOIN one ON p.merged_into = one.id) SELECT id FROM one ORDER BY id""",
            (self.living(person_id),),
        )
        return [row["id"] for row in rows]

    def living(self, person_id: int) -> int:
        """The id under which this person lives now; raises UnknownId."""
        return int(self._row(person_id)["id"])

    def labels(self) -> dict[int, tuple[int, str]]:
        """For each bound face or voice node: the person's id and current label."""
        rows = self._database.rows(
            "SELECT pn.node_id, p.id, p.name FROM person_nodes pn JOIN persons p ON p.id = pn.person_id"
        )
        return {row["node_id"]: (row["id"], row["name"] or f"person_{row['id']}") for row in rows}

    def tags(self) -> list[tuple[int, str, str]]:
        """For each bound face or voice: node id, kind and the person's current label."""
        rows = self._database.rows(
            """SELECT n.id, n.kind, p.id AS person_id, p.name FROM person_nodes pn
            JOIN persons p ON p.id = pn.person_id JOIN nodes n ON n.id = pn.node_id ORDER BY pn.node_id"""
        )
        return [(row["id"], row["kind"], row["name"] or f"person_{row['person_id']}") for row in rows]

    def render(self, text: str) -> str:
        """The text with each tag of a bound face or voice replaced by the person's current label."""

        def label(tag: Tag) -> str | None:
            row = self._database.row(
                "SELECT p.id, p.name FROM person_nodes pn JOIN persons p ON p.id = pn.person_id WHERE pn.node_id = ?",
                (tag.node_id,),
            )
            return None if row is None else row["name"] or f"person_{row['id']}"

        return replace_tags(text, label)

    def _persons(self, rows: list[Row], *, where: str, parameters: tuple[int, ...]) -> list[Person]:
        evidence = {
            row["person_id"]: row
            for row in self._database.rows(
                f"""SELECT pn.person_id, count(DISTINCT nc.clip_id) AS appearances, min(nc.start_utc_s) AS first,
                max(nc.end_utc_s) AS last FROM person_nodes pn JOIN node_clips nc ON nc.node_id = pn.node_id
                {where} GROUP BY pn.person_id""",
                parameters,
            )
        }
        members: dict[int, dict[str, list[int]]] = {}
        for node in self._database.rows(
            f"""SELECT pn.person_id, n.id, n.kind FROM person_nodes pn JOIN nodes n ON n.id = pn.node_id
            {where} ORDER BY n.id""",
            parameters,
        ):
            members.setdefault(node["person_id"], {"face": [], "voice": []})[node["kind"]].append(node["id"])
        return [_person(row, members.get(row["id"], {}), evidence.get(row["id"])) for row in rows]

    def _row(self, person_id: int) -> Row:
        row = self._database.row("SELECT * FROM persons WHERE id = ?", (person_id,))
        if row is None:
            raise UnknownId(f"no person {person_id} in this memory")
        return row if row["merged_into"] is None else self._row(row["merged_into"])

    def owner(self, node_id: int) -> int | None:
        """The id of the person a face or voice is bound to, or None."""
        row = self._database.row("SELECT person_id FROM person_nodes WHERE node_id = ?", (node_id,))
        return None if row is None else int(row["person_id"])

    def unlink(self, left: Iterable[int], right: Iterable[int]) -> list[list[int]]:
        """Take away the cannot-link edges between two sets of nodes; the pairs that stood."""
        rows = self._cannot_links(left, right)
        for row in rows:
            self._database.write("DELETE FROM edges WHERE id = ?", (row["id"],))
        return [[row["source"], row["target"]] for row in rows]

    def _cannot_links(self, left: Iterable[int], right: Iterable[int]) -> list[Row]:
        ours, theirs = json.dumps(list(left)), json.dumps(list(right))
        return self._database.rows(
            """SELECT id, source, target FROM edges WHERE relation = 'cannot_link' AND (
            (source IN (SELECT value FROM json_each(?1)) AND target IN (SELECT value FROM json_each(?2))) OR
            (source IN (SELECT value FROM json_each(?2)) AND target IN (SELECT value FROM json_each(?1))))""",
            (ours, theirs),
        )

    def _refuse_pinned(self, node_ids: list[int], what: str) -> None:
        pinned = [node_id for node_id in node_ids if self.is_pinned(node_id)]
        if pinned:
            raise IdentityConflict(f"{what}: a resident bound node {pinned[0]}, and only a resident moves it")

    def _nodes(self, person_id: int) -> list[int]:
        sql = "SELECT node_id FROM person_nodes WHERE person_id = ? ORDER BY node_id"
        return [row["node_id"] for row in self._database.rows(sql, (person_id,))]

    def _refuse_conflict(self, left: Iterable[int], right: Iterable[int], what: str) -> None:
        rows = self._cannot_links(left, right)
        if rows:
            row = rows[0]
            raise IdentityConflict(
                f"{what}: nodes {row['source']} and {row['target']} are known to be different people; "
                "if that is wrong, `hearsight people merge` joins them all the same"
            )


def _merged_consent(keep: str, gone: str) -> str:
    if "do_not_remember" in (keep, gone):
        return "do_not_remember"
    return gone if keep == "unknown" else keep


def _person(row: Row, members: dict[str, list[int]], evidence: Row | None) -> Person:
    return Person(
        id=row["id"],
        name=row["name"],
        consent=row["consent"],
        tentative=bool(row["tentative"]),
        face_ids=tuple(members.get("face", ())),
        voice_ids=tuple(members.get("voice", ())),
        first_seen_utc_s=None if evidence is None else evidence["first"],
        last_seen_utc_s=None if evidence is None else evidence["last"],
        appearances=0 if evidence is None else evidence["appearances"],
    )
