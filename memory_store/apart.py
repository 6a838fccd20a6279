"""The memory without equivalences: a copy in which every face and every voice is a person of its own.

Researchers compare with it what knowing that a face and a voice are one person is worth (M3-Agent, ablations).
"""

from pathlib import Path

from memory_store.database import Database


def take_apart(path: Path) -> None:
    """Give each face and voice in the copy of a memory to a person of its own.

    Whoever had several keeps the first voice, or without any the first face, and with it the id and the name: names
    are heard. The others become nameless. Votes and equivalence edges are deleted.
    """
    database = Database.open(path)
    try:
        with database.transaction():
            rows = database.rows(
                """SELECT pn.node_id, pn.person_id, p.consent, p.tentative, p.created_utc_s FROM person_nodes pn
                JOIN nodes n ON n.id = pn.node_id JOIN persons p ON p.id = pn.person_id
                ORDER BY pn.person_id, n.kind = 'face', n.id"""
            )
            met = set[int]()
            for row in rows:
                if row["person_id"] in met:
                    copied = {name: row[name] for name in ("consent", "tentative", "created_utc_s")}
                    person_id = database.insert("persons", copied)
                    database.write(
                        "UPDATE person_nodes SET person_id = ? WHERE node_id = ?", (person_id, row["node_id"])
                    )
                met.add(row["person_id"])
            database.write("DELETE FROM votes")
            database.write("DELETE FROM edges WHERE relation = 'equivalence'")
    finally:
        database.close()
