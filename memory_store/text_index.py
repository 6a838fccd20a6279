"""Words in memory texts: FTS5 trigrams for terms of three characters and more, LIKE for shorter ones."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory_store.database import Database
from memory_store.filters import Allowed

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"<(?:face|voice)_\d+>|[{_CJK}]+|[^\W{_CJK}]+")
_CJK_RUN = re.compile(rf"[{_CJK}]+")
# Words that say nothing about what is looked for.
_STOP = re.compile(
    "a|about|all|am|an|and|any|are|as|at|be|been|but|by|can|could|did|do|does|for|"
    "from|had|has|have|he|her|him|his|how|i|if|in|is|it|its|me|my|no|not|of|on|"
    "or|our|she|so|that|the|their|them|then|there|they|this|to|us|was|we|were|what|"
    "when|where|which|who|whom|whose|why|will|with|would|you|your"
)
_CJK_STOP = re.compile(
    "为什么|什么时候|什么|哪里|哪儿|哪个|怎么|怎样|多少|几个|有没有|是不是|[的了吗呢吧啊谁]"
)
# Words of one or two letters must end where the term ends: "tv" is not in "tvs and more".
_WORD_END = rf"(?:(?<=[{_CJK}])|(?![^\W{_CJK}]))"
# How many more rows than asked for are read, since some hold a term only within a word.
_OVERFETCH = 4


@dataclass(frozen=True)
class Terms:
    """What to look for in texts: `long` terms by the index, `short` ones (1 or 2 characters) by LIKE."""

    long: tuple[str, ...]
    short: tuple[str, ...]


def terms_of(query: str) -> Terms:
    """The terms of a question; nothing in it is ever read as query syntax."""
    tokens = _TOKEN.findall(query.lower())
    words = [token for token in tokens if not _CJK_RUN.fullmatch(token) and not _STOP.fullmatch(token)]
    runs = [token for token in tokens if _CJK_RUN.fullmatch(token)]
    parts = [part for run in runs for part in _CJK_STOP.split(run) if len(part) >= 2]
    long, short = list[str](), list[str]()
    for word in words:
        (long if len(word) >= 3 else short).append(word)
    for part in parts:
        long += [part[i : i + 3] for i in range(len(part) - 2)]
        short += [part[i : i + 2] for i in range(len(part) - 1)]
    if not long and not short:  # nothing but stop words or single characters: look for them as they are
        for token in tokens:
            (long if len(token) >= 3 else short).append(token)
    return Terms(tuple(dict.fromkeys(long)), tuple(dict.fromkeys(short)))


def search_text(database: Database, terms: Terms, allowed: Allowed | None, limit: int) -> list[int]:
    """Ids of nodes that hold a term, best first: by BM25, then, while there is room, by short terms."""
    found = _search_long(database, terms.long, allowed, limit) if terms.long else []
    if len(found) < limit and terms.short:
        seen = set(found)
        short = _search_short(database, terms.short, allowed)
        found += [node_id for node_id in short if node_id not in seen]
    return found[:limit]


def _search_long(database: Database, terms: Sequence[str], allowed: Allowed | None, limit: int) -> list[int]:
    match = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
    within, parameters = _within("rowid", allowed)
    rows = database.rows(
        f"""SELECT nodes.id, nodes.text FROM
        (SELECT rowid, rank FROM nodes_fts WHERE nodes_fts MATCH ? {within} ORDER BY rank, rowid DESC LIMIT ?) found
        JOIN nodes ON nodes.id = found.rowid ORDER BY found.rank, nodes.id DESC""",
        (match, *parameters, _OVERFETCH * limit),
    )
    words = re.compile("|".join(_word_start(term) for term in terms))
    return [row["id"] for row in rows if words.search(row["text"].lower())][:limit]


def _search_short(database: Database, terms: Sequence[str], allowed: Allowed | None) -> list[int]:
    likes = " OR ".join("text LIKE ? ESCAPE '\\'" for _ in terms)
    patterns = ["%" + re.sub(r"([\\%_])", r"\\\1", term) + "%" for term in terms]
    within, parameters = _within("id", allowed)
    rows = database.rows(f"SELECT id, text FROM nodes WHERE ({likes}) {within}", (*patterns, *parameters))
    words = [re.compile(_word_start(term) + _WORD_END) for term in terms]
    counts = {row["id"]: sum(word.search(row["text"].lower()) is not None for word in words) for row in rows}
    return sorted((node_id for node_id, count in counts.items() if count), key=lambda i: (-counts[i], -i))


def _word_start(term: str) -> str:
    """Letters count from the start of a word on ("cup" is in "cups", not in "occupy"); Chinese has no such bounds."""
    bounded = term[0].isalnum() and not _CJK_RUN.fullmatch(term)
    return rf"(?<![^\W{_CJK}]){re.escape(term)}" if bounded else re.escape(term)


def _within(column: str, allowed: Allowed | None) -> tuple[str, tuple[object, ...]]:
    if allowed is None:
        return "", ()
    # The + keeps the filter from driving the query, which would search the text index once a node.
    return f"AND +{column} IN ({allowed.sql.text})", allowed.sql.parameters
