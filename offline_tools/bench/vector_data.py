"""Vectors to search: synthetic ones distributed like those of a text model, and those of real dialogues.

The figures imitated are of multilingual-e5-small on 4,000 turns of the LoCoMo dialogues, and of its questions: the
mean vector has length 0.91; the rest has a spectrum that falls as 1 / (i + 5)^1.1; nearest, 10th and 100th nearest
have the cosines 0.93, 0.91 and 0.88; the local dimension is 19; a question is at 0.86 of its nearest turn.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from offline_tools.bench.report import BenchmarkError, media

Vectors = NDArray[np.float32]

_DIMENSION = 384
_MEAN_LENGTH = 0.91
_QUERY_MEAN_COSINE = 0.90  # between the mean of the questions and the mean of what they ask for
# How much of a vector's own variance is its topic's, its subject's (of which a topic has many), and its own.
_TOPIC, _SUBJECT, _OWN = 0.24, 0.28, 0.48
_LEAST_OWN, _MOST_OWN = 0.5, 1.35  # some lines are almost alike, some like no other
_TOPICS, _SUBJECTS = 80, 2000
_QUERY_TAKES = 0.7  # of the item that it asks for


class Synthetic:
    """Vectors and queries from one seed, the same for every run."""

    dimension = _DIMENSION

    def __init__(self, seed: int = 1) -> None:
        self._random = np.random.default_rng(seed)
        scales = (np.arange(_DIMENSION) + 5.0) ** -1.1
        self._scales = np.sqrt(scales / scales.sum() * (1 - _MEAN_LENGTH**2)).astype(np.float32)
        self._mean = self._direction()
        self._query_mean = (
            _QUERY_MEAN_COSINE * self._mean + np.sqrt(1 - _QUERY_MEAN_COSINE**2) * self._direction()
        )
        topics = self._random.standard_normal((_TOPICS, _DIMENSION), np.float32)
        topic_of = self._random.integers(_TOPICS, size=_SUBJECTS)
        subjects = self._random.standard_normal((_SUBJECTS, _DIMENSION), np.float32)
        self._centres = np.sqrt(_TOPIC) * topics[topic_of] + np.sqrt(_SUBJECT) * subjects
        often = 1.0 / (np.arange(_SUBJECTS) + 20.0)  # some subjects come up again and again
        self._often = often / often.sum()

    def vectors(self, count: int) -> Vectors:
        """The next vectors, (count, dimension), of length 1."""
        return np.concatenate([self._part(min(65_536, count - i)) for i in range(0, count, 65_536)])

    def queries(self, count: int) -> Vectors:
        """Questions about items that are not among the vectors, but like them."""
        own = self._random.standard_normal((count, _DIMENSION), np.float32)
        mixed = _QUERY_TAKES * self._rest(count) + np.sqrt(1 - _QUERY_TAKES**2) * own
        return _unit(_MEAN_LENGTH * self._query_mean + mixed * self._scales)

    def _part(self, count: int) -> Vectors:
        return _unit(_MEAN_LENGTH * self._mean + self._rest(count) * self._scales)

    def _rest(self, count: int) -> Vectors:
        chosen = self._random.choice(_SUBJECTS, size=count, p=self._often)
        own = self._random.standard_normal((count, _DIMENSION), np.float32)
        amount = np.sqrt(_OWN) * self._random.uniform(_LEAST_OWN, _MOST_OWN, (count, 1))
        rest: Vectors = self._centres[chosen] + amount.astype(np.float32) * own
        return rest

    def _direction(self) -> Vectors:
        direction: Vectors = _unit(self._random.standard_normal((1, _DIMENSION), np.float32))[0]
        return direction


def synthetic(count: int, queries: int) -> tuple[Vectors, Vectors]:
    """Vectors and queries of length 1."""
    source = Synthetic()
    return source.vectors(count), source.queries(queries)


def real_text(queries: int) -> tuple[Vectors, Vectors]:
    """The turns of the LoCoMo dialogues, and questions about them. Raises BenchmarkError without text or model."""
    document = json.loads(media("benchmarks/locomo10.json").read_text(encoding="utf-8"))
    turns, questions = list[str](), list[str]()
    for sample in document:
        for name, session in sample["conversation"].items():
            if name.startswith("session_") and isinstance(session, list):
                turns += [f"{turn['speaker']}: {turn['text']}" for turn in session if turn["text"].strip()]
        questions += [item["question"] for item in sample["qa"]]
    try:  # the rest of the benchmark runs without the robot's packages
        from models.errors import ModelError
        from models.manifest import Manifest
        from runtime.compose import Parts, text_embedder
        from runtime.config import Settings
    except ImportError as error:
        raise BenchmarkError(str(error)) from error
    try:
        embedder = text_embedder(Parts(Settings(), Manifest.load()))
    except ModelError as error:
        raise BenchmarkError(str(error)) from error
    turns, questions = list(dict.fromkeys(turns)), list(dict.fromkeys(questions))
    return embedder.embed_passage(turns), embedder.embed_query(questions[:queries])


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit
