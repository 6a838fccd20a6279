"""How the channels of a search become one score: a declared sum, the context of what was said, and whom it is about.

Each channel's scores are brought to [0, 1] and added with fixed weights, which keeps how much better one hit is than
the next and beats reciprocal ranks (Bruch, Gai and Ingber, TOIS 2023; `python -m offline_tools.bench locomo_recall`).
"""

import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memory_store.database import Database
from memory_store.nearest import Near
from memory_store.text_index import Worded

VECTOR_SHARE = 0.5  # of the score; the rest is words
# What the first and second line before and after add of their own score: "Yes, I did!" is about what was asked.
CONTEXT = (0.5, 0.25)
CONTEXT_GAP_S = 30.0  # a longer silence ends a conversation
_LOOKED_BACK_S = 90.0  # how far before a line the two lines before it begin at most
_SEEDS = 50  # how many of the best found lend to the lines around them
FAVOUR = 1.2  # how much more a hit counts that concerns a person named: little enough for a wrong name

Scores = dict[int, float]


def fused(near: Sequence[Near], worded: Sequence[Worded]) -> Scores:
    """The score of each node that a channel found, in [0, 1].

    Cosines go from 0 at the last of the vector channel to 1 at the first, BM25 from 0 to 1 at the best; a node that
    a channel did not find has 0 there. Where a channel found nothing the other has all the weight.
    """
    by_vector, by_words = _spread(near), _scaled(worded)
    share = VECTOR_SHARE if by_vector and by_words else 1.0 if by_vector else 0.0
    return {
        node_id: share * by_vector.get(node_id, 0.0) + (1.0 - share) * by_words.get(node_id, 0.0)
        for node_id in {**by_vector, **by_words}
    }


def with_context(database: Database, scores: Mapping[int, float]) -> Scores:
    """The scores, with what the lines heard just before and after each heard line add to it.

    The best of the nodes scored lend to the lines around them, also to such as no channel found: these come in by
    what is added to them, and whether they pass a filter is left to the caller.
    """
    seeds = sorted(scores, key=lambda i: (-scores[i], -i))[:_SEEDS]
    ids, starts, ends = _heard_around(database, seeds)
    own = np.array([scores.get(node_id, 0.0) for node_id in ids])
    total = own.copy()
    linked = starts[1:] - ends[:-1] <= CONTEXT_GAP_S
    together = linked
    for distance, weight in enumerate(CONTEXT, start=1):
        if distance > 1:
            together = together[:-1] & linked[distance - 1 :]
        total[distance:] += weight * own[:-distance] * together
        total[:-distance] += weight * own[distance:] * together
    return {**scores, **{ids[at]: float(total[at]) for at in np.flatnonzero(total > 0.0)}}


def favouring(scores: Mapping[int, float], favoured: Iterable[int]) -> Scores:
    """The scores, those of favoured nodes raised."""
    chosen = set(favoured)
    return {node_id: score * (FAVOUR if node_id in chosen else 1.0) for node_id, score in scores.items()}


def _spread(near: Sequence[Near]) -> Scores:
    if not near:
        return {}
    best, last = max(item.similarity for item in near), min(item.similarity for item in near)
    width = best - last
    return {item.node_id: (item.similarity - last) / width if width > 0.0 else 1.0 for item in near}


def _scaled(worded: Sequence[Worded]) -> Scores:
    best = max((item.score for item in worded), default=0.0)
    return {item.node_id: item.score / best if best > 0.0 else 1.0 for item in worded}


def _heard_around(
    database: Database, seeds: Sequence[int]
) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64]]:
    """Ids, start and end times of the lines heard around those scored, in the order of time."""
    spans = database.rows(
        f"""SELECT n.start_utc_s - {_LOOKED_BACK_S} AS begun, n.end_utc_s + {len(CONTEXT) * CONTEXT_GAP_S} AS ended
        FROM json_each(?) AS seed CROSS JOIN nodes AS n ON n.id = seed.value WHERE n.kind = 'episodic' ORDER BY 1""",
        (json.dumps(list(seeds)),),
    )
    # CROSS JOIN keeps SQLite from looking through all lines for each of the spans.
    rows = database.rows(
        """SELECT n.id, n.start_utc_s AS begun, n.end_utc_s AS ended FROM json_each(?) AS span
        CROSS JOIN nodes AS n INDEXED BY nodes_heard
        ON n.start_utc_s >= span.value ->> 0 AND n.start_utc_s < span.value ->> 1
        WHERE n.kind = 'episodic' AND n.provenance ->> 'event' = 'heard' ORDER BY 2, 1""",
        (json.dumps(_merged([(row["begun"], row["ended"]) for row in spans])),),
    )
    starts, ends = (np.array([row[column] for row in rows], np.float64) for column in ("begun", "ended"))
    return [row["id"] for row in rows], starts, ends


def _merged(spans: Sequence[tuple[float, float]]) -> list[list[float]]:
    """Spans, sorted by their start, with those that overlap made one."""
    merged: list[list[float]] = []
    for begun, ended in spans:
        if merged and begun <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], ended)
        else:
            merged.append([begun, ended])
    return merged
