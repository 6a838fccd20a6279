"""Which rows of the history concern a person who is forgotten: by whom and by what they changed."""

import json
from collections.abc import Collection
from typing import Any

from memory_store.changes import Change, from_json
from memory_store.database import Database

_NODE_COLUMNS = ("node_id", "source", "target", "face_id", "voice_id", "origin_id", "subject_id")
_PERSON_COLUMNS = ("person_id", "merged_into")
_NODE_DETAILS = ("node_id", "node_ids", "line_ids", "removed_links")
_PERSON_DETAILS = ("gone_person_id", "new_person_id", "previous_person_id")


def history_of(database: Database, person_ids: Collection[int], node_ids: Collection[int]) -> set[int]:
    """The ids of all changes that were made to these persons, or touched these nodes."""
    persons, nodes = set(person_ids), set(node_ids)
    found: set[int] = set()
    for row in database.rows("SELECT id, person_id, detail, changes FROM person_history"):
        detail = json.loads(row["detail"])
        changes = from_json(row["changes"]) if row["changes"] else []
        if (
            row["person_id"] in persons
            or _numbers([detail.get(key) for key in _PERSON_DETAILS]) & persons
            or _numbers([detail.get(key) for key in _NODE_DETAILS]) & nodes
            or any(_touches(change, persons, nodes) for change in changes)
        ):
            found.add(row["id"])
    return found


def _touches(change: Change, persons: set[int], nodes: set[int]) -> bool:
    for literals in (change.key, change.before, change.after):
        for column, literal in literals.items():
            if not literal.isdecimal():
                continue
            number = int(literal)
            is_node = column in _NODE_COLUMNS or (column == "id" and change.table == "nodes")
            is_person = column in _PERSON_COLUMNS or (column == "id" and change.table == "persons")
            if (is_node and number in nodes) or (is_person and number in persons):
                return True
    return False


def _numbers(value: Any) -> set[int]:
    if isinstance(value, int):
        return {value}
    return {number for item in value for number in _numbers(item)} if isinstance(value, list) else set()
