"""The question side of a daemon: a connection of its own to the memory, the answering service, and who listens."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from memory_store.store import MemoryStore
from models.language import LanguageModel
from models.language_process import LanguageProcess
from models.text import TextEmbedder
from models.yielding_language import YieldingLanguage
from runtime import compose, compose_answers, compose_speech
from runtime.answering import AnsweringService
from runtime.api import Api, Reads
from runtime.api_address import ApiAddress
from runtime.compose_shown import shown_reader
from runtime.compose_speech import SpeechEngines
from runtime.pictures import picture_bytes
from runtime.prompts import Language
from runtime.supervisor import Service
from runtime.warm_up import warm_language
from runtime.workers import Worker
from runtime.wyoming_server import WyomingServer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Serving:
    """The services that answer, as rows of the daemon's table. states: by name, what else the API's status tells."""

    answering: AnsweringService
    api: Api | None
    wyoming: WyomingServer | None
    store: MemoryStore
    states: dict[str, Callable[[], dict[str, Any]]]
    warm_up: Callable[[], Awaitable[None]]

    def table(self, fatal: tuple[type[Exception], ...]) -> list[Service]:
        """What runs."""
        rows = [Service("answer", self.answering.run, fatal), Service("warm_up", self.warm_up, fatal)]
        if self.api is not None:
            rows.append(Service("api", self.api.run, fatal))
        if self.wyoming is not None:
            rows.append(Service("wyoming", self.wyoming.run, fatal))
        return rows

    def stop(self) -> None:
        """End all, after the answer that is being given."""
        self.answering.stop()
        for server in (self.api, self.wyoming):
            if server is not None:
                server.stop()


async def build_serving(
    parts: compose.Parts,
    language: LanguageModel | None,
    embedder: TextEmbedder,
    worker: Worker,
    stack: ExitStack,
    on_listening: Callable[[str], None] = lambda url: None,
    speech: SpeechEngines | None = None,
) -> Serving:
    """Everything on the worker's thread; closed with the stack. on_listening: told each address that is served."""
    settings = parts.settings
    store = await worker.call(compose.open_store, parts)
    stack.callback(store.close)
    control = compose_answers.control(parts, store, language, embedder)
    conversations = compose_answers.conversations(parts, store, control, shown_reader(parts))
    answering = AnsweringService(conversations.answer, worker, most_waiting=settings.control.most_waiting)
    if isinstance(language, LanguageProcess):
        answering.on_hold = language.preempt

    async def warm_up() -> None:
        fault = await _warmed(parts, language)
        if fault:
            log.warning(
                "the language model cannot be made ready, and questions are answered without: %s", fault
            )

    wyoming = None
    if settings.wyoming.enabled and speech is not None:
        offered = compose_speech.offers(parts, speech, answering, store, worker, stack)
        wyoming = WyomingServer(settings.wyoming, offered, on_listening)
    states: dict[str, Callable[[], dict[str, Any]]] = {} if wyoming is None else {"wyoming": wyoming.state}
    api = None
    if settings.api.enabled:
        model = None if language is None else language.name
        reads = _reads(parts, model, answering, store, worker, states)
        api = _api(parts, answering, reads, stack, on_listening)
    return Serving(answering, api, wyoming, store, states, warm_up)


def _api(
    parts: compose.Parts,
    answering: AnsweringService,
    reads: Reads,
    stack: ExitStack,
    on_listening: Callable[[str], None],
) -> Api:
    """The HTTP server, whose address is written down while it listens."""
    address = ApiAddress(parts.settings.data_dir, parts.settings.api)
    stack.callback(address.remove)

    def listening(url: str) -> None:
        address.write(url)
        on_listening(url)

    return Api(parts.settings.api, answering, reads, on_listening=listening)


def _reads(
    parts: compose.Parts,
    language_model: str | None,
    answering: AnsweringService,
    store: MemoryStore,
    worker: Worker,
    states: Mapping[str, Callable[[], dict[str, Any]]],
) -> Reads:
    """What HTTP may read besides answers, on the worker's thread."""
    settings = parts.settings

    async def trace(number: int) -> dict[str, Any]:
        found = await worker.call(store.trace, number)
        return {"id": found.id, **found.trace}

    async def picture(number: int) -> bytes:
        return await worker.call(picture_bytes, store, settings.data_dir, number)

    async def status() -> dict[str, Any]:
        return {
            "version": version("hearsight"),
            "robot": settings.robot.name,
            "data_dir": str(settings.data_dir.resolve()),
            "language_model": language_model,
            "questions": {
                "waiting": answering.waiting,
                "answered": answering.answered,
                "refused": answering.refused,
            },
            "memory": await worker.call(_counts, store),
            **{name: state() for name, state in states.items()},
        }

    return Reads(trace, picture, status, told_in_writing=settings.privacy.typed == "all")


async def _warmed(parts: compose.Parts, language: LanguageModel | None) -> str:
    """Make the language model ready for the first question, on a thread of its own; what failed, or ""."""
    if language is None:
        return ""
    worker = Worker("warm-up")
    try:
        first: Language = "zh" if parts.settings.models.speech_languages[0] == "zh" else "en"
        patient = YieldingLanguage(language) if isinstance(language, LanguageProcess) else language
        return await worker.call(warm_language, patient, [first], compose.household_of(parts))
    finally:
        worker.close()


def _counts(store: MemoryStore) -> dict[str, Any]:
    """How much is remembered, and no more than may be told to anybody on this machine."""
    stats = store.stats()
    return {"clips": stats["clips"], "nodes": stats["nodes"], "persons": stats["persons"]}
