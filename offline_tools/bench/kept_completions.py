"""A language model's completions kept on disk, so that a long benchmark goes on where it was stopped.

A prompt that was answered before is answered from the file, with the cost that it had then: what a change of the code
does not touch need not be computed again. Those behind the README's figures are in the repository (`completions`), so
that anybody can make its tables again in minutes; whoever doubts them deletes that folder and computes for hours.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, astuple
from pathlib import Path

from models.language import Completion, LanguageModel, Message

PUBLISHED = Path(__file__).parent / "completions"
KEY_LENGTH = 24  # of the prompt's SHA-256, in hexadecimal digits


class TimeIsUp(Exception):
    """A completion that is not kept was asked for when there was no time left to compute it."""


class KeptCompletions:
    """Wraps a LanguageModel, at temperature 0 only. Its file lies in HEARSIGHT_CACHE, and is only ever appended to.

    kept: how many completions a run did not compute itself; computed: how many it did.
    """

    def __init__(self, language: LanguageModel, limit_s: float = float("inf")) -> None:
        """limit_s: for how long from now on completions are computed; then TimeIsUp is raised instead."""
        self._until = time.monotonic() + limit_s
        self._language = language
        self._path = _cache() / f"{language.name}.jsonl"
        self._published = PUBLISHED / f"{language.name}.jsonl.xz"
        self._known = {**_read_published(self._published), **_read(self._path)}
        self._used: set[str] = set()
        self.computed = 0

    @property
    def kept(self) -> int:
        """How many completions this run found."""
        return len(self._used) - self.computed

    def publish(self) -> Path:
        """Puts what this run used beside what is published already; the file, for the repository."""
        told = {**_read_published(self._published), **{key: self._known[key] for key in self._used}}
        lines = [json.dumps([key, *astuple(told[key])], ensure_ascii=False) for key in sorted(told)]
        self._published.parent.mkdir(exist_ok=True)
        self._published.write_bytes(lzma.compress("\n".join(lines).encode()))
        return self._published

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
        key = hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()[:KEY_LENGTH]
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
            self.computed += key not in self._used
            row = {"key": key, "completion": asdict(self._known[key])}
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n" + json.dumps(row, ensure_ascii=False))
        self._used.add(key)
        return self._known[key]

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return self._language.count_tokens(messages)

    def close(self) -> None:
        self._language.close()


def tally(used: Sequence[KeptCompletions | None], *, publish: bool) -> tuple[int, int]:
    """How many completions a run computed, and how many it found; publish: put them all into the repository."""
    models = [one for one in used if one is not None]
    for one in models if publish else ():
        one.publish()
    return sum(one.computed for one in models), sum(one.kept for one in models)


def _cache() -> Path:
    root = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "completions"
    root.mkdir(parents=True, exist_ok=True)
    return root


def _read(path: Path) -> dict[str, Completion]:
    known: dict[str, Completion] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:  # a run that was stopped left part of a line
                continue
            known[row["key"][:KEY_LENGTH]] = Completion(**row["completion"])
    return known


def _read_published(path: Path) -> dict[str, Completion]:
    if not path.exists():
        return {}
    rows = map(json.loads, lzma.decompress(path.read_bytes()).decode().splitlines())
    return {key: Completion(*values) for key, *values in rows}
