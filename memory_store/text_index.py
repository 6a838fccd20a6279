"""Words in memory texts: BM25 over the stemmed words of the FTS5 index, inside of exact filters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory_store.database import Database
from memory_store.filters import Allowed

# A term that more memories hold than this is left out while there are others: it says little about any of them, and
# ranking by it costs about 1 ms for each 2,000 on one x86 core.
COMMON = 2_000
# Of so many allowed nodes or fewer SQLite looks only at those; of more, the best of all are read and filtered.
_NARROW = 2_000
_OVERFETCH = 4


@dataclass(frozen=True)
class Worded:
    """A node found by its words; `score` is its BM25, above zero."""

    node_id: int
    score: float


def search_text(
    database: Database,
    terms: Sequence[str],
    allowed: Allowed | None,
    limit: int,
    *,
    common: int = COMMON,
) -> list[Worded]:
    """The allowed nodes that hold any of the terms (`words.terms_of`), best first, the same score newest first.

    common: a term in more nodes than this is left out while there are others; where all are, the newest nodes that
    hold them all come, with the same score.
    """
    rare = [term for term in terms if not _is_common(database, term, common)]
    if not terms or limit < 1:
        return []
    if not rare:
        return _read(database, " AND ".join(terms), "1.0", "rowid DESC", allowed, limit)
    return _read(database, " OR ".join(rare), "-rank", "rank, rowid DESC", allowed, limit)


def _is_common(database: Database, term: str, common: int) -> bool:
    row = database.row(
        "SELECT count(*) FROM (SELECT 1 FROM nodes_fts WHERE nodes_fts MATCH ? LIMIT ?)", (term, common + 1)
    )
    return row is not None and row[0] > common


def _read(
    database: Database, match: str, score: str, order: str, allowed: Allowed | None, limit: int
) -> list[Worded]:
    sql = f"SELECT rowid AS id, {score} AS score FROM nodes_fts WHERE nodes_fts MATCH ?"
    tail = f"ORDER BY {order} LIMIT ?"
    if allowed is not None and len(allowed.ids) > _NARROW:
        wanted = _OVERFETCH * limit
        rows = database.rows(f"{sql} {tail}", (match, wanted))
        passing = np.isin(np.fromiter((row["id"] for row in rows), np.int64, len(rows)), allowed.ids)
        kept = [row for row, passes in zip(rows, passing, strict=True) if passes]
        if len(kept) >= limit or len(rows) < wanted:
            return [Worded(row["id"], row["score"]) for row in kept[:limit]]
    within, parameters = "", tuple[object, ...]()
    if allowed is not None:  # the + keeps the filter from driving the query, which would search once a node
        within, parameters = f"AND +rowid IN ({allowed.sql.text})", allowed.sql.parameters
    return [
        Worded(row["id"], row["score"])
        for row in database.rows(f"{sql} {within} {tail}", (match, *parameters, limit))
    ]
