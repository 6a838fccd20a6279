"""Evaluated prompt heads as files, so that a process that has just started does not evaluate its instructions again.

They hold the fixed beginning of a prompt and nothing that was remembered. A file that is damaged, or of another model
or library, counts as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from models.prefix_store import KeptPrefix
from models.prompt_items import PromptItem

log = logging.getLogger(__name__)

LEAD = 64  # tokens by which a prompt's file is named: they differ between callers
MOST_FILES = 6
_ENDING = ".head"


class PrefixFiles:
    """The heads of one directory. model: what they were evaluated with; a head of anything else is not read."""

    def __init__(self, directory: Path, model: str) -> None:
        self._directory = directory
        self._model = model

    def find(self, items: Sequence[PromptItem]) -> KeptPrefix | None:
        """The kept head of the prompts that begin like this one, which may be shorter or longer than it shares."""
        path = self._path(items)
        if path is None:
            return None
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            told = json.loads(head)
            count, right = int(told["tokens"]), told["model"] == self._model and told["sha256"] == _hash(body)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.debug("the evaluated prompt %s cannot be read: %s", path, error)
            return None
        if not right or len(body) < 4 * count:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used now: the others are dropped first
        tokens = np.frombuffer(body, "<i4", count)
        return KeptPrefix(tuple(map(int, tokens)), np.frombuffer(body, np.uint8, offset=4 * count))

    def keep(self, prefix: KeptPrefix) -> None:
        """Write a head, in the place of the one that begins alike; where that cannot be, it is left."""
        path = self._path(prefix.items)
        if path is None:
            return
        tokens = np.array([item for item in prefix.items if isinstance(item, int)], "<i4")
        body = tokens.tobytes() + prefix.state.tobytes()
        told = {"model": self._model, "tokens": len(tokens), "sha256": _hash(body)}
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            self._directory.mkdir(exist_ok=True)
            part.write_bytes(json.dumps(told).encode() + b"\n" + body)
            os.replace(part, path)
            self._drop_oldest()
        except OSError as error:
            log.debug("the evaluated prompt %s is not kept: %s", path, error)
            with contextlib.suppress(OSError):
                part.unlink()

    def _path(self, items: Sequence[PromptItem]) -> Path | None:
        lead = [item for item in items[:LEAD] if isinstance(item, int)]
        if len(lead) < LEAD:
            return None
        name = hashlib.sha256(json.dumps([self._model, lead]).encode()).hexdigest()[:24]
        return self._directory / f"{name}{_ENDING}"

    def _drop_oldest(self) -> None:
        files = sorted(self._directory.glob(f"*{_ENDING}"), key=lambda path: path.stat().st_mtime)
        for path in files[:-MOST_FILES]:
            path.unlink(missing_ok=True)


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
