"""Figures about a memory: how much of what it holds, and its bytes on disk."""

from typing import Any

from memory_store.database import Database


def statistics(database: Database) -> dict[str, Any]:
    """Counts by table and kind, and the bytes of the database and of the vector indexes."""
    with database.snapshot():
        counts = {table: _count(database, table) for table in ("clips", "nodes", "edges", "votes", "traces")}
        kinds = database.rows("SELECT kind, count(*) AS count FROM nodes GROUP BY kind ORDER BY kind")
        persons = database.row(
            """SELECT count(*) AS count, coalesce(sum(name IS NOT NULL), 0) AS named,
            coalesce(sum(tentative), 0) AS tentative FROM persons WHERE merged_into IS NULL"""
        )
        unread = database.row(
            """SELECT count(*) AS count FROM clips c JOIN nodes n ON n.clip_id = c.id
            WHERE c.state = 'description_failed' AND json_extract(n.provenance, '$.broken')"""
        )
        undescribed = database.row("SELECT count(*) AS count FROM clips WHERE state = 'description_failed'")
        spaces = database.rows("SELECT space, model, count FROM vector_counts ORDER BY space, model")
    assert persons is not None and unread is not None and undescribed is not None
    directory = database.path.parent
    return {
        **counts,
        "nodes_by_kind": {row["kind"]: row["count"] for row in kinds},
        "model_answers_unreadable": unread["count"],
        "clips_not_described": undescribed["count"],
        "persons": persons["count"],
        "persons_named": persons["named"],
        "persons_tentative": persons["tentative"],
        "vectors": [{"space": row["space"], "model": row["model"], "count": row["count"]} for row in spaces],
        "database_bytes": sum(path.stat().st_size for path in directory.glob(database.path.name + "*")),
        "index_bytes": sum(path.stat().st_size for path in (directory / "index").glob("*")),
    }


def _count(database: Database, table: str) -> int:
    row = database.row(f"SELECT count(*) FROM {table}")
    return int(row[0]) if row else 0
