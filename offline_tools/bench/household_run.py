"""Asks the household's questions in one of several ways, and keeps what was answered, question by question."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memory_store.errors import UnknownId
from memory_store.store import MemoryStore
from models.language import LanguageModel
from models.manifest import Manifest
from offline_tools.bench.answer_methods import TIMEOUT_S, Answered, Method, OneShot, Robot, Setting
from offline_tools.bench.household_memory import HouseholdMemory, Spoken
from offline_tools.bench.household_questions import HouseholdQuestion, is_of, overlaps
from offline_tools.bench.household_records import Record, Records
from offline_tools.bench.reference_loop import ReferenceLoop
from runtime import compose
from runtime.answering import Asked
from runtime.compose import Parts
from runtime.config import load_settings
from runtime.control import Control
from runtime.control_rounds import ControlLimits
from runtime.conversation import Conversations
from runtime.recall import Recall, RecallLimits

METHODS = ("robot", "one_shot", "reference")


@dataclass(frozen=True)
class Asking:
    """What all questions of a run share."""

    memory: HouseholdMemory
    language: LanguageModel
    asked_utc_s: float

    def parts_at(self, directory: Path) -> Parts:
        """The robot's parts over a copy of the memory."""
        settings = load_settings(self.memory.config).model_copy(update={"data_dir": directory})
        return Parts(settings, Manifest.load())

    def clock(self) -> float:
        """The moment at which all questions are asked."""
        return self.asked_utc_s


def ask_all(
    asking: Asking,
    method: str,
    questions: Sequence[HouseholdQuestion],
    records: Records[Record],
    ends_at: float,
) -> None:
    """Answer what is not in the records yet, until the time is up (by time.monotonic)."""
    left = [question for question in questions if question.id not in records.done]
    if not left:
        return
    with _opened(asking, method) as (store, answer):
        for question in left:
            if time.monotonic() > ends_at:
                return
            answered = answer(question)
            records.add(_record(question, answered, store, asking))
            print(f"{method} {question.id} {answered.duration_s:.1f} s", flush=True)


def _record(question: HouseholdQuestion, answered: Answered, store: MemoryStore, asking: Asking) -> Record:
    truth = [asking.memory.truth[id] for id in question.evidence]
    return Record(
        id=question.id,
        asked=question.last,
        text=answered.text,
        abstained=answered.abstained,
        recalled=tuple(one.id for one in truth if _stands_in(one, answered.evidence, store)),
        found=tuple(one.id for one in truth if _stands_in(one, answered.found, store)),
        model_calls=answered.model_calls,
        prompt_tokens=answered.prompt_tokens,
        cached_tokens=answered.cached_tokens,
        duration_s=answered.duration_s,
    )


def _stands_in(truth: Spoken, node_ids: Sequence[int], store: MemoryStore) -> bool:
    """Whether one of the memories is of what was really said, or seen, then."""
    for node_id in node_ids:
        try:
            node = store.node(node_id)
        except UnknownId:
            continue
        if overlaps(node.start_utc_s, node.end_utc_s, truth.start_utc_s, truth.end_utc_s) and (
            not truth.text or is_of(store.render(node.text), truth.text)
        ):
            return True
    return False


Answering = Callable[[HouseholdQuestion], Answered]


@contextmanager
def _opened(asking: Asking, method: str) -> Iterator[tuple[MemoryStore, Answering]]:
    """The store over a copy of the memory, and the method; a corrective question has a copy of its own."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "memory"
        shutil.copytree(asking.memory.directory, directory)
        parts = asking.parts_at(directory)
        store = compose.open_store(parts)
        try:
            plain = _method(asking, parts, store, method)

            def answer(question: HouseholdQuestion) -> Answered:
                if question.correction and method == "robot":
                    return _corrected(asking, question)
                return plain.answer(question.last)

            yield store, answer
        finally:
            store.close()


def _corrected(asking: Asking, question: HouseholdQuestion) -> Answered:
    """Asked, corrected in words and asked again, over a copy that nothing else is asked about."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "memory"
        shutil.copytree(asking.memory.directory, directory)
        parts = asking.parts_at(directory)
        store = compose.open_store(parts)
        try:
            control = _control(asking, parts, store)
            talks = Conversations(control, store, compose.household_of(parts), asking.clock)
            for text in (question.ask, question.correction):
                talks.answer(Asked(text, conversation="household"))
            return Robot(control).answer(question.last)
        finally:
            store.close()


def _method(asking: Asking, parts: Parts, store: MemoryStore, method: str) -> Method:
    if method == "robot":
        return Robot(_control(asking, parts, store))
    embedder = compose.text_embedder(parts)
    zone = compose.household_of(parts).zone
    setting = Setting(store, embedder.embed_query, asking.language, asking.clock, zone)
    return OneShot(setting) if method == "one_shot" else ReferenceLoop(setting)


def _control(asking: Asking, parts: Parts, store: MemoryStore) -> Control:
    """The robot's control as runtime/compose.py makes it, at the hour of the questions."""
    limits = RecallLimits(similarity_floor=parts.text_entry.thresholds["about"])
    household = compose.household_of(parts)
    return Control(
        Recall(store, compose.text_embedder(parts).embed_query, limits=limits),
        asking.language,
        clock=asking.clock,
        zone=household.zone,
        household=household,
        max_rounds=parts.settings.control.max_rounds,
        policy=parts.settings.control.policy,
        limits=ControlLimits(round_timeout_s=TIMEOUT_S),
    )
