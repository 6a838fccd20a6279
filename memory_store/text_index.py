"""Words in memory texts: BM25 over the stemmed words of the FTS5 index, inside of exact filters."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from memory_store.database import Database
from memory_store.filters import Allowed

# A term that more memories hold than this is left out while there are others: it says little about any of them, and
# ranking by it costs about 1 ms for each 2,000 on one x86 core.
COMMON = 2_000
# Of so many allowed nodes or fewer SQLite looks only at those; of more, all that hold the words are read and filtered.
_NARROW = 2_000


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
    """The first `limit` of `worded_nodes`."""
    return list(islice(worded_nodes(database, terms, allowed, common=common), max(0, limit)))


def worded_nodes(
    database: Database, terms: Sequence[str], allowed: Allowed | None, *, common: int = COMMON
) -> Generator[Worded, None, None]:
    """The allowed nodes that hold any of the terms (`words.terms_of`), best first, the same score newest first.

    They are read as they are taken. common: a term in more nodes than this is left out while there are others; where
    all are, the newest nodes that hold them all come, with the same score.
    """
    if not terms or (allowed is not None and not len(allowed.ids)):
        return
    rare = [term for term in terms if not _is_common(database, term, common)]
    if rare:
        yield from _read(database, " OR ".join(rare), "-rank", "rank, rowid DESC", allowed)
    else:
        yield from _read(database, " AND ".join(terms), "1.0", "rowid DESC", allowed)


def _is_common(database: Database, term: str, common: int) -> bool:
    row = database.row(
        "SELECT count(*) FROM (SELECT 1 FROM nodes_fts WHERE nodes_fts MATCH ? LIMIT ?)", (term, common + 1)
    )
    return row is not None and row[0] > common


def _read(
    database: Database, match: str, score: str, order: str, allowed: Allowed | None
) -> Generator[Worded, None, None]:
    within, parameters = "", tuple[object, ...]()
    if allowed is not None and len(allowed.ids) <= _NARROW:
        # The + keeps the filter from driving the query, which would search once a node.
        within, parameters = f"AND +rowid IN ({allowed.sql.text})", allowed.sql.parameters
    elif allowed is not None:
        within, parameters = "AND rowid BETWEEN ? AND ?", (int(allowed.ids[0]), int(allowed.ids[-1]))
    rows = database.stream(
        f"SELECT rowid AS id, {score} AS score FROM nodes_fts WHERE nodes_fts MATCH ? {within} ORDER BY {order}",
        (match, *parameters),
    )
    with closing(rows):
        for row in rows:
            if allowed is None or allowed.has(row["id"]):
                yield Worded(row["id"], row["score"])
