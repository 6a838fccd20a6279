"""The question side of a daemon: a connection of its own to the memory, the answering service and the HTTP API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from memory_store.store import MemoryStore
from models.language import LanguageModel
from models.text import TextEmbedder
from runtime import compose
from runtime.answering import AnsweringService
from runtime.api import Api
from runtime.api_address import ApiAddress
from runtime.supervisor import Service
from runtime.workers import Worker


@dataclass(frozen=True)
class Serving:
    """The services that answer, as rows of the daemon's table."""

    answering: AnsweringService
    api: Api | None
    store: MemoryStore

    def table(self, fatal: tuple[type[Exception], ...]) -> list[Service]:
        """What runs."""
        rows = [Service("answer", self.answering.run, fatal)]
        return rows if self.api is None else [*rows, Service("api", self.api.run, fatal)]

    def stop(self) -> None:
        """End both, after the answer that is being given."""
        self.answering.stop()
        if self.api is not None:
            self.api.stop()


async def build_serving(
    parts: compose.Parts,
    language: LanguageModel | None,
    embedder: TextEmbedder,
    worker: Worker,
    stack: ExitStack,
    on_listening: Callable[[str], None] = lambda url: None,
) -> Serving:
    """Everything on the worker's thread; closed with the stack. on_listening: told the API's address."""
    settings = parts.settings
    store = await worker.call(compose.open_store, parts)
    stack.callback(store.close)
    control = compose.control(parts, store, language, embedder)

    conversations = compose.conversations(parts, store, control)
    answering = AnsweringService(conversations.answer, worker, most_waiting=settings.control.most_waiting)

    async def trace(number: int) -> dict[str, Any]:
        found = await worker.call(store.trace, number)
        return {"id": found.id, **found.trace}

    async def status() -> dict[str, Any]:
        return {
            "version": version("hearsight"),
            "robot": settings.robot.name,
            "data_dir": str(settings.data_dir.resolve()),
            "language_model": None if language is None else language.name,
            "questions": {
                "waiting": answering.waiting,
                "answered": answering.answered,
                "refused": answering.refused,
            },
            "memory": await worker.call(_counts, store),
        }

    if not settings.api.enabled:
        return Serving(answering, None, store)
    address = ApiAddress(settings.data_dir, settings.api)
    stack.callback(address.remove)

    def listening(url: str) -> None:
        address.write(url)
        on_listening(url)

    api = Api(settings.api, answering, trace=trace, status=status, on_listening=listening)
    return Serving(answering, api, store)


def _counts(store: MemoryStore) -> dict[str, Any]:
    """How much is remembered, and no more than may be told to anybody on this machine."""
    stats = store.stats()
    return {"clips": stats["clips"], "nodes": stats["nodes"], "persons": stats["persons"]}
