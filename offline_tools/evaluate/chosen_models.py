"""Opens what an evaluation was told to use and says what it is: language models with hashes, and the text model."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from memory_store.store import MemoryStore
from models.errors import ModelError
from models.language import LanguageModel
from models.manifest import Manifest
from offline_tools.bench.embedding_cache import Embed, EmbeddingCache
from offline_tools.bench.kept_completions import KeptCompletions
from offline_tools.chosen_model import open_model
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.memories import TextModel
from runtime import compose, compose_answers
from runtime.compose import INSTALLED, NO_LANGUAGE_MODEL, Parts
from runtime.config import Settings
from runtime.facts import NEVER_THE_SAME, FactLearner


@dataclass(frozen=True)
class Chosen:
    """A language model by what was chosen: a name of the manifest, installed, FILE.gguf, URL#MODEL, none.

    name: short, for tables; about: for the record, with the file's sha256 where there is a file.
    """

    choice: str
    name: str
    about: dict[str, Any]

    @property
    def holds_grammar(self) -> bool:
        """Whether its replies keep to a grammar: an endpoint's need not."""
        return not self.is_endpoint

    @property
    def is_endpoint(self) -> bool:
        """Whether it lies behind an address, where several calls may be made at once."""
        return _is_address(self.choice)


def chosen(choice: str, context_tokens: int) -> Chosen:
    """What a choice is, without starting it. Raises EvaluateError."""
    if choice == NO_LANGUAGE_MODEL:
        return Chosen(choice, choice, {"name": choice})
    if _is_address(choice):
        url, _, name = choice.partition("#")
        if not name:
            raise EvaluateError(f"{choice} names no model, which the record needs: give {url}#MODEL")
        return Chosen(choice, name, {"name": name, "endpoint": url})
    if _is_file(choice):
        path = Path(choice.partition(",")[0])
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EvaluateError(f"cannot read the model {choice}: {error.strerror}") from error
        about = {"name": path.stem, "sha256": digest, "context_tokens": context_tokens}
        return Chosen(choice, path.stem, about)
    try:
        manifest = Manifest.load()
        if choice == INSTALLED:
            entry = Parts(Settings(), manifest).language_entry or manifest.default("language")
        else:
            entry = manifest.entry(choice)
    except ModelError as error:
        raise EvaluateError(str(error)) from error
    about = {"name": entry.id, "sha256": entry.files[0].sha256, "context_tokens": context_tokens}
    return Chosen(choice, entry.id, about)


@contextmanager
def opened(
    model: Chosen, context_tokens: int, threads: int, limit_s: float
) -> Iterator[LanguageModel | None]:
    """The model, started by its first call; None for none. A manifest's model has its completions kept.

    limit_s: after so long a completion that is not kept raises TimeIsUp. Raises EvaluateError.
    """
    if model.choice == NO_LANGUAGE_MODEL:
        yield None
        return
    kept = not _is_address(model.choice) and not _is_file(model.choice)
    try:
        language = (
            _robots_own(model.choice, context_tokens, threads)
            if kept
            else open_model(model.choice, context_tokens=context_tokens, threads=threads)
        )
    except ModelError as error:
        raise EvaluateError(str(error)) from error
    try:
        yield KeptCompletions(language, limit_s) if kept else language
    except ModelError as error:
        raise EvaluateError(f"the model {model.name} cannot go on: {error}") from error
    finally:
        language.close()


def text_model(*, facts: bool) -> TextModel:
    """The robot's text model with its vectors kept on disk. facts: whether facts are read from talk."""
    parts = Parts(Settings(), Manifest.load())
    try:
        embedder = compose.text_embedder(parts)
    except ModelError as error:
        raise EvaluateError(str(error)) from error
    entry = parts.text_entry
    cache = EmbeddingCache(entry.id, entry.dimension)
    one_at_a_time = threading.Lock()
    query = _guarded(cache.wrapped(embedder.embed_query, "query"), one_at_a_time)
    passage = _guarded(cache.wrapped(embedder.embed_passage, "passage"), one_at_a_time)
    same = entry.thresholds.get("same_triple", NEVER_THE_SAME)

    def learner(store: MemoryStore) -> FactLearner:
        return FactLearner(store, lambda texts: passage(list(texts)), same)

    return TextModel(
        entry.id,
        compose.vector_spaces(parts),
        query,
        passage,
        lambda store: compose_answers.recall(parts, store, query),
        learner if facts else None,
    )


def _guarded(embed: Embed, one_at_a_time: threading.Lock) -> Embed:
    """The same for several threads."""

    def embedded(texts: list[str]) -> NDArray[np.float32]:
        with one_at_a_time:
            return embed(texts)

    return embedded


def _robots_own(name: str, context_tokens: int, threads: int) -> LanguageModel:
    """A model of the manifest as the robot starts it."""
    models = {"language": name, "context_tokens": context_tokens, "language_threads": threads}
    try:
        settings = Settings.model_validate({"models": models})
    except ValidationError as error:
        wrong = error.errors()[0]
        raise EvaluateError(f"{wrong['loc'][-1]} = {wrong['input']}: {wrong['msg']}") from error
    process = compose.language_model(Parts(settings, Manifest.load()))
    if process is None:
        raise EvaluateError(f"{name} is no language model")
    return process


def _is_address(choice: str) -> bool:
    return choice.startswith(("http://", "https://"))


def _is_file(choice: str) -> bool:
    return choice.partition(",")[0].endswith(".gguf")
