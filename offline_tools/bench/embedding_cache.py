"""Text embeddings kept on disk by model and text, so that a benchmark over a large corpus is run again in seconds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Embed = Callable[[list[str]], NDArray[np.float32]]

_BATCH = 256


class EmbeddingCache:
    """Wraps embedding functions of one model. Its file lies in HEARSIGHT_CACHE, and is only ever appended to."""

    def __init__(self, model: str, dimension: int) -> None:
        root = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "embeddings"
        root.mkdir(parents=True, exist_ok=True)
        self._path = root / f"{model}.{dimension}.bin"
        self._row = np.dtype([("key", "V32"), ("vector", "<f4", (dimension,))])
        self._known: dict[bytes, NDArray[np.float32]] = {}
        if self._path.exists():
            whole = self._path.stat().st_size // self._row.itemsize
            rows = np.fromfile(self._path, self._row, count=whole)
            os.truncate(self._path, whole * self._row.itemsize)  # a run that was stopped left part of a row
            self._known = {row["key"].tobytes(): row["vector"] for row in rows}

    def wrapped(self, embed: Embed, role: str) -> Embed:
        """The function with a memory. role: "query" or "passage", which a model embeds differently."""

        def embedded(texts: Sequence[str]) -> NDArray[np.float32]:
            keys = [hashlib.sha256(f"{role}\0{text}".encode("utf-8", "replace")).digest() for text in texts]
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
            items = list(missing.items())
            for start in range(0, len(items), _BATCH):
                batch = items[start : start + _BATCH]
                self._keep([key for key, _ in batch], embed([text for _, text in batch]))
            return np.stack([self._known[key] for key in keys])

        return embedded

    def _keep(self, keys: list[bytes], vectors: NDArray[np.float32]) -> None:
        rows = np.zeros(len(keys), self._row)
        rows["key"], rows["vector"] = np.array(keys, "V32"), vectors
        with self._path.open("ab") as file:
            rows.tofile(file)
        self._known.update(zip(keys, rows["vector"], strict=True))
