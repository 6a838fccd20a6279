"""A language model's completions kept on disk, so that a long benchmark goes on where it was stopped.

A prompt that was answered before is answered from the file, with the cost that it had then: what a change of the code
does not touch need not be computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from models.language import Completion, LanguageModel, Message


class TimeIsUp(Exception):
    """A completion that is not kept was asked for when there was no time left to compute it."""


class KeptCompletions:
    """Wraps a LanguageModel, at temperature 0 only. Its file lies in HEARSIGHT_CACHE, and is only ever appended to."""

    def __init__(self, language: LanguageModel, limit_s: float = float("inf")) -> None:
        """limit_s: for how long from now on completions are computed; then TimeIsUp is raised instead."""
        self._until = time.monotonic() + limit_s
        self._language = language
        root = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "completions"
        root.mkdir(parents=True, exist_ok=True)
        self._path = root / f"{language.name}.jsonl"
        self._known: dict[str, Completion] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:  # a run that was stopped left part of a line
                    continue
                self._known[row["key"]] = Completion(**row["completion"])

    @property
    def context_tokens(self) -> int:
        return self._language.context_tokens

    @property
    def name(self) -> str:
        return self._language.name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        grammar: str | None = None,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        timeout_s: float = 120.0,
    ) -> Completion:
        """The completion of these messages, computed or kept. Raises ModelError, TimeIsUp."""
        turns = [(message.role, message.content) for message in messages]
        asked = json.dumps([turns, max_tokens, grammar, temperature, list(stop)], ensure_ascii=False)
        key = hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()
        if key not in self._known:
            if time.monotonic() >= self._until:
                raise TimeIsUp
            self._known[key] = self._language.complete(
                messages,
                max_tokens=max_tokens,
                grammar=grammar,
                temperature=temperature,
                stop=stop,
                timeout_s=timeout_s,
            )
            row = {"key": key, "completion": asdict(self._known[key])}
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n" + json.dumps(row, ensure_ascii=False))
        return self._known[key]

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return self._language.count_tokens(messages)

    def close(self) -> None:
        self._language.close()
