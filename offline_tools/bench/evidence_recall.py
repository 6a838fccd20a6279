"""How much of the evidence of a question is found: the robot's recall, each channel alone, and a plain vector store."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from memory_store.database import Database
from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from memory_store.text_index import search_text
from memory_store.words import terms_of
from models.errors import ModelError
from models.manifest import Manifest
from offline_tools.bench.dialogues import Asked, Dialogue, EmbedPassage, Remembered, remember
from offline_tools.bench.embedding_cache import EmbeddingCache
from offline_tools.bench.report import BenchmarkError
from runtime.compose import Parts, text_embedder
from runtime.config import Settings
from runtime.question import Question, read_question
from runtime.recall import Recall, RecallLimits, without_names

KS = (5, 10, 20)
METHODS = ("robot", "words alone", "vectors alone", "plain store")
_ASKED_FOR = 25  # memories a search: a turn with a picture has two

Embed = Callable[[list[str]], np.ndarray]


@dataclass(frozen=True)
class Found:
    """The keys of the turns that each method found for a question, best first; seconds of the robot's search."""

    dialogue: str
    question: Asked
    ranked: Mapping[str, Sequence[str]]
    duration_s: float


@dataclass(frozen=True)
class Models:
    """The embedding functions, with their results kept on disk, and the space they give."""

    space: VectorSpace
    query: Embed
    passage: EmbedPassage
    about: float


def measure(dialogues: Iterable[Dialogue]) -> list[Found]:
    """Write each dialogue into a memory of its own and ask its questions. Raises BenchmarkError."""
    models = load_models()
    return [found for dialogue in dialogues for found in measured(dialogue, models)]


def load_models() -> Models:
    """The text model as the robot is configured. Raises BenchmarkError."""
    parts = Parts(Settings(), Manifest.load())
    try:
        embedder = text_embedder(parts)
    except ModelError as error:
        raise BenchmarkError(str(error)) from error
    entry = parts.text_entry
    space = VectorSpace("text", entry.dimension, entry.id)
    cache = EmbeddingCache(entry.id, entry.dimension)
    return Models(
        space,
        cache.wrapped(embedder.embed_query, "query"),
        cache.wrapped(embedder.embed_passage, "passage"),
        entry.thresholds["about"],
    )


def measured(dialogue: Dialogue, models: Models) -> list[Found]:
    """Write a dialogue into a memory of its own and ask its questions in every way."""
    with (
        tempfile.TemporaryDirectory() as directory,
        MemoryStore.open(Path(directory), [models.space]) as store,
    ):
        where = remember(store, dialogue, models.passage)
        limits = RecallLimits(hits=_ASKED_FOR, similarity_floor=models.about)
        recall = Recall(store, models.query, limits=limits)
        database = Database.open(Path(directory) / "memory.db")
        plain = _Plain(dialogue, models)
        found = [
            _ask(asked, dialogue, store, recall, database, plain, where, models)
            for asked in dialogue.questions
        ]
        database.close()
    return found


def _ask(
    asked: Asked,
    dialogue: Dialogue,
    store: MemoryStore,
    recall: Recall,
    database: Database,
    plain: _Plain,
    where: Remembered,
    models: Models,
) -> Found:
    question = _read(asked, dialogue, store, where)
    vector = models.query([without_names(asked.text, question, "somebody")])[
        0
    ]  # kept before the time is taken
    started = time.perf_counter()
    evidence, _ = recall.search(question.text, question)
    duration_s = time.perf_counter() - started
    words = search_text(database, terms_of(without_names(asked.text, question, " ")), None, _ASKED_FOR)
    near = store.search_node(vector=vector, kinds=["episodic"], k=_ASKED_FOR)
    nodes = {
        "robot": [item.id for item in evidence],
        "words alone": [item.node_id for item in words],
        "vectors alone": [hit.node.id for hit in near],
    }
    ranked = {name: _keys(ids, where) for name, ids in nodes.items()}
    return Found(dialogue.name, asked, {**ranked, "plain store": plain.nearest(asked.text)}, duration_s)


def _read(asked: Asked, dialogue: Dialogue, store: MemoryStore, where: Remembered) -> Question:
    asker = where.persons[asked.asker] if asked.asker else None
    zone = ZoneInfo("UTC")
    return read_question(asked.text, store.people(), store.person_of, dialogue.asked_utc_s, zone, asker=asker)


def _keys(node_ids: Iterable[int], where: Remembered) -> list[str]:
    return list(dict.fromkeys(where.keys[node_id] for node_id in node_ids if node_id in where.keys))


class _Plain:
    """What most systems do: the cosine between the question and each turn as they stand, and nothing else."""

    def __init__(self, dialogue: Dialogue, models: Models) -> None:
        turns = [turn for session in dialogue.sessions for turn in session.turns if turn.text.strip()]
        self._keys = [turn.key for turn in turns]
        self._vectors = models.passage([turn.text for turn in turns])
        self._query = models.query

    def nearest(self, question: str) -> list[str]:
        order = np.argsort(-(self._vectors @ self._query([question])[0]), kind="stable")
        return list(dict.fromkeys(self._keys[i] for i in order))[:_ASKED_FOR]


def recall_at(found: Iterable[Found], method: str, k: int) -> float:
    """The mean over questions of the share of their evidence among the first k turns."""
    shares = [
        len(item.question.evidence & set(item.ranked[method][:k])) / len(item.question.evidence)
        for item in found
    ]
    return float(np.mean(shares)) if shares else float("nan")


def reciprocal_rank(found: Iterable[Found], method: str) -> float:
    """The mean over questions of 1 / the place of the first evidence; 0 where none was found."""
    values = []
    for item in found:
        places = (place for place, key in enumerate(item.ranked[method], 1) if key in item.question.evidence)
        first = next(places, None)
        values.append(0.0 if first is None else 1.0 / first)
    return float(np.mean(values)) if values else float("nan")


def figures_of(found: Sequence[Found], ks: Sequence[int] = KS) -> dict[str, dict[str, list[float]]]:
    """By category, then "all": for each method the recall at each of `ks`."""
    by_category: dict[str, list[Found]] = defaultdict(list)
    for item in found:
        by_category[item.question.category].append(item)
    groups = {**{name: by_category[name] for name in sorted(by_category)}, "all": list(found)}
    return {
        name: {method: [round(recall_at(items, method, k), 4) for k in ks] for method in METHODS}
        for name, items in groups.items()
    }


def rows_of(title: str, figures: Mapping[str, Mapping[str, Sequence[float]]]) -> list[tuple[str, str, str]]:
    """Table rows: the robot's figures, those it must beat, and in how many places it does not."""
    rows = []
    for category, methods in figures.items():
        told = "; ".join(
            f"{method} " + "/".join(f"{100 * value:.1f}" for value in values)
            for method, values in methods.items()
        )
        others = [
            (best, value)
            for name in METHODS[1:]
            for best, value in zip(methods["robot"], methods[name], strict=True)
        ]
        level, below = (sum(test) for test in ([a == b for a, b in others], [a < b for a, b in others]))
        verdict = f"level in {level}, below in {below} places" if level or below else "above each"
        rows.append((f"{title}: {category}", told, verdict))
    return rows


def durations_ms(found: Sequence[Found]) -> dict[str, float]:
    """How long the robot's searches took, the embedding of the question left out."""
    values = [1000 * item.duration_s for item in found]
    return {f"p{percent}": round(float(np.percentile(values, percent)), 2) for percent in (50, 99)}
