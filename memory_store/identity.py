"""Persons: the faces and voices bound to them, their names, votes, and a history that can be undone."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, get_args

from memory_store.database import Database, Row
from memory_store.errors import IdentityConflict, InvalidValue, UnknownId
from memory_store.records import Consent, Person
from memory_store.tags import Tag, replace_tags

MAX_NAME_LENGTH = 100
_TURNS_TEXT = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
_READS_AS_ID = re.compile(r"(?:person_)?\d+", re.IGNORECASE)


class Identity:
    """Who is who: creating, binding, naming and merging persons; ids are never reused."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def create(self, *, tentative: bool) -> int:
        """A new person without a name, face or voice."""
        values = {"tentative": tentative, "created_utc_s": self._clock()}
        return self._database.insert("persons", values)

    def bind(self, person_id: int, node_id: int) -> None:
        """Give a face or voice to a person; raises IdentityConflict where a cannot-link edge forbids it."""
        person_id = self.living(person_id)
        row = self._database.row("SELECT kind FROM nodes WHERE id = ?", (node_id,))
        if row is None:
            raise UnknownId(f"no node {node_id} in this memory")
        if row["kind"] not in ("face", "voice"):
            raise InvalidValue(
                f"node {node_id} is of kind {row['kind']!r}: only a face or a voice is bound to a person"
            )
        previous = self._owner(node_id)
        if previous == person_id:
            self._database.require_transaction()
            return
        self._refuse_conflict(
            [node_id], self._nodes(person_id), f"binding node {node_id} to person {person_id}"
        )
        self._database.write(
            "INSERT INTO person_nodes VALUES (?, ?) ON CONFLICT (node_id) DO UPDATE SET person_id = excluded.person_id",
            (node_id, person_id),
        )
        self._record("bind", person_id, {"node_id": node_id, "previous_person_id": previous})

    def merge(self, keep: int, gone: int) -> None:
        """Make two persons one: members move to `keep`, and the history row holds what an undo needs.

        The kept person keeps their name and consent, and takes the other's where they have none;
        "do not remember" always wins. Raises IdentityConflict where a cannot-link edge stands between.
        """
        keep_row, gone_row = self._row(keep), self._row(gone)
        if keep_row["id"] == gone_row["id"]:
            raise InvalidValue(
                f"persons {keep} and {gone} are the same person {keep_row['id']}: nothing to merge"
            )
        moved = self._nodes(gone_row["id"])
        self._refuse_conflict(moved, self._nodes(keep_row["id"]), f"merging person {gone} into {keep}")
        columns = ("name", "consent", "tentative")
        detail = {
            "gone_person_id": gone_row["id"],
            "node_ids": moved,
            "kept": {column: keep_row[column] for column in columns},
            "gone": {column: gone_row[column] for column in columns},
        }
        write = self._database.write
        write("UPDATE person_nodes SET person_id = ? WHERE person_id = ?", (keep_row["id"], gone_row["id"]))
        write("UPDATE persons SET merged_into = ? WHERE id = ?", (keep_row["id"], gone_row["id"]))
        write(
            "UPDATE persons SET name = ?, consent = ?, tentative = ? WHERE id = ?",
            (
                keep_row["name"] or gone_row["name"],
                _merged_consent(keep_row["consent"], gone_row["consent"]),
                keep_row["tentative"] and gone_row["tentative"],
                keep_row["id"],
            ),
        )
        self._record("merge", keep_row["id"], detail)

    def set_name(self, person_id: int, name: str | None) -> None:
        """Name a person, which also makes them no longer tentative; None takes the name away."""
        person_id = self.living(person_id)
        name = " ".join(name.split()) if name is not None else None
        if name is not None:
            _check_name(name, person_id)
        before = self._row(person_id)["name"]
        self._database.write(
            "UPDATE persons SET name = ?, tentative = tentative AND ? WHERE id = ?",
            (name, name is None, person_id),
        )
        self._record("name", person_id, {"name": name, "previous_name": before})

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
        self._database.write("UPDATE persons SET consent = ? WHERE id = ?", (consent, person_id))
        self._record("consent", person_id, {"consent": consent, "previous_consent": before})

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
        owner = self._owner(node_id)
        return None if owner is None else self.person(owner)

    def history(self, person_id: int) -> list[dict[str, Any]]:
        """What was done to a person, oldest first: `action`, `created_utc_s` and the action's details."""
        sql = "SELECT action, created_utc_s, detail FROM person_history WHERE person_id = ? ORDER BY id"
        rows = self._database.rows(sql, (self.living(person_id),))
        return [
            {"action": row["action"], "created_utc_s": row["created_utc_s"], **json.loads(row["detail"])}
            for row in rows
        ]

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
            JOIN persons p ON p.id = pn.person_id JOIN nodes n ON n.id = pn.node_id ORDER BY n.id"""
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

    def _owner(self, node_id: int) -> int | None:
        row = self._database.row("SELECT person_id FROM person_nodes WHERE node_id = ?", (node_id,))
        return None if row is None else int(row["person_id"])

    def _nodes(self, person_id: int) -> list[int]:
        sql = "SELECT node_id FROM person_nodes WHERE person_id = ? ORDER BY node_id"
        return [row["node_id"] for row in self._database.rows(sql, (person_id,))]

    def _refuse_conflict(self, left: Iterable[int], right: Iterable[int], what: str) -> None:
        ours, theirs = json.dumps(list(left)), json.dumps(list(right))
        row = self._database.row(
            """SELECT source, target FROM edges WHERE relation = 'cannot_link' AND (
            (source IN (SELECT value FROM json_each(?1)) AND target IN (SELECT value FROM json_each(?2))) OR
            (source IN (SELECT value FROM json_each(?2)) AND target IN (SELECT value FROM json_each(?1))))""",
            (ours, theirs),
        )
        if row is not None:
            raise IdentityConflict(
                f"{what}: nodes {row['source']} and {row['target']} are known to be different people; "
                "remove that cannot_link edge first if it is wrong"
            )

    def _record(self, action: str, person_id: int, detail: dict[str, Any]) -> None:
        values = {"created_utc_s": self._clock(), "action": action, "person_id": person_id}
        self._database.insert("person_history", {**values, "detail": json.dumps(detail, ensure_ascii=False)})


def _check_name(name: str, person_id: int) -> None:
    """Raise InvalidValue for what can't be told from an id, is endless, or would upset a terminal."""
    if not name:
        raise InvalidValue(f"an empty name for person {person_id}: give a name, or None to take it away")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidValue(
            f"a name of {len(name)} characters for person {person_id}: give one of at most {MAX_NAME_LENGTH}"
        )
    if any(
        unicodedata.category(letter) in ("Cc", "Cs") or unicodedata.bidirectional(letter) in _TURNS_TEXT
        for letter in name
    ):
        raise InvalidValue(
            f"the name {name!r} for person {person_id} holds control characters: leave them out"
        )
    if _READS_AS_ID.fullmatch(name):
        raise InvalidValue(f"the name {name!r} for person {person_id} reads as an id: give another")


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
