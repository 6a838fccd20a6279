"""Ways to answer a question over one memory with one language model: the robot's, and those it is compared with.

Each is a `Method`. The loop of M3-Agent is in reference_loop.py, the dialogue as one prompt in whole_dialogue.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import yaml

from memory_store.records import Node
from memory_store.store import MemoryStore
from models.language import Completion, LanguageModel, Message
from runtime.answer import Answer
from runtime.control import Control
from runtime.grounding import Language, language_of
from runtime.judge import says_unknown
from runtime.recall import EmbedQuery, as_data
from runtime.say import Speech

MEMORIES = 8  # that the one-shot method shows the model
REPLY_TOKENS = 140
TIMEOUT_S = 900.0


@dataclass(frozen=True)
class Answered:
    """What a method said to a question, and what it cost.

    evidence: ids of the memories under the answer; found: of all that the method had found for it; prompts and
    replies: of each call of the model; tokens and model_s: sums over the calls; cached: not evaluated again;
    duration_s: of the whole answer, in which calls that KeptCompletions knows take no time.
    """

    text: str
    abstained: bool
    evidence: tuple[int, ...] = ()
    found: tuple[int, ...] = ()
    model_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    duration_s: float = 0.0
    model_s: float = 0.0
    prompts: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()


class Method(Protocol):
    """One way to answer. asker: id of the person who asks, where that is known. Raises ModelError, QuestionError."""

    def answer(self, question: str, *, asker: int | None = None) -> Answered: ...


@dataclass(frozen=True)
class Setting:
    """What all methods share. embed_query: as the text model embeds questions; clock: when it is asked, UTC seconds."""

    store: MemoryStore
    embed_query: EmbedQuery
    language: LanguageModel
    clock: Callable[[], float]
    zone: ZoneInfo

    def speech(self, question: str) -> Speech:
        """How times and lines are worded for a question."""
        return Speech(language_of(question), self.zone, self.clock())


@dataclass
class Calls:
    """Calls of the model for one question, and their sums."""

    language: LanguageModel
    started_s: float = field(default_factory=time.perf_counter)
    done: list[Completion] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = REPLY_TOKENS,
        grammar: str | None = None,
        stop: Sequence[str] = (),
    ) -> str:
        """The model's next turn, and a note of what it cost."""
        completion = self.language.complete(
            messages, max_tokens=max_tokens, grammar=grammar, stop=stop, timeout_s=TIMEOUT_S
        )
        self.done.append(completion)
        self.prompts.append("\n".join(f"{message.role}: {message.content}" for message in messages))
        return completion.text.strip()

    def answered(self, text: str, evidence: Sequence[int], found: Sequence[int]) -> Answered:
        """The answer with all calls so far."""
        return Answered(
            text=text,
            abstained=not text or says_unknown(text),
            evidence=tuple(evidence),
            found=tuple(found),
            model_calls=len(self.done),
            prompt_tokens=sum(one.prompt_tokens for one in self.done),
            cached_tokens=sum(one.cached_tokens for one in self.done),
            generated_tokens=sum(one.generated_tokens for one in self.done),
            duration_s=round(time.perf_counter() - self.started_s, 3),
            model_s=round(sum(one.duration_s for one in self.done), 3),
            prompts=tuple(self.prompts),
            replies=tuple(one.text for one in self.done),
        )


class Robot:
    """The robot's own control loop, as it is configured. before_clip: the first clip that it may not know."""

    def __init__(self, control: Control, before_clip: int | None = None) -> None:
        self._control = control
        self._before_clip = before_clip

    def answer(self, question: str, *, asker: int | None = None) -> Answered:
        answer = self._control.answer(question, asker=asker, before_clip=self._before_clip)
        return Answered(
            text=answer.text,
            abstained=answer.abstained,
            evidence=tuple(item.id for item in answer.evidence),
            found=_found(answer),
            model_calls=answer.model_calls,
            prompt_tokens=sum(one.prompt_tokens for one in answer.rounds),
            cached_tokens=sum(one.cached_tokens for one in answer.rounds),
            generated_tokens=sum(one.generated_tokens for one in answer.rounds),
            duration_s=round(answer.duration_s, 3),
            model_s=round(sum(one.duration_s for one in answer.rounds), 3),
            prompts=tuple(one.prompt for one in answer.rounds),
            replies=tuple(one.raw for one in answer.rounds),
        )


class OneShot:
    """The lines nearest to the question by their vectors, one prompt, one answer."""

    def __init__(self, setting: Setting, memories: int = MEMORIES) -> None:
        self._setting = setting
        self._memories = memories

    def answer(self, question: str, *, asker: int | None = None) -> Answered:
        calls = Calls(self._setting.language)
        vector = self._setting.embed_query([question])[0]
        hits = self._setting.store.search_node(
            vector=vector, kinds=("episodic", "semantic"), k=self._memories
        )
        speech = self._setting.speech(question)
        nodes = [hit.node for hit in hits]
        while True:
            lines = [line_of(self._setting.store, node, speech) for node in reversed(nodes)]
            memories = "\n".join(lines) or "-"
            messages = framed("one_shot", speech.language, memories=memories, question=question)
            if not nodes or fits(self._setting.language, messages):
                break
            nodes.pop()
        text = calls.complete(messages, stop=("\n",))
        ids = [node.id for node in nodes]
        return calls.answered(text, ids, ids)


def shortened(answered: Answered, question: str, language: LanguageModel) -> str:
    """The answer in the few words that benchmarks of short answers expect; an abstention stays as it is.

    A last step outside of every method, the same for all of them, that is not counted to their cost.
    """
    if answered.abstained:
        return answered.text
    messages = framed("short", language_of(question), question=question, answer=answered.text)
    while not fits(language, messages):
        answered = Answered(answered.text[: len(answered.text) // 2], False)
        messages = framed("short", language_of(question), question=question, answer=answered.text)
    return Calls(language).complete(messages, max_tokens=60, stop=("\n",))


def framed(purpose: str, language: Language, **values: str) -> list[Message]:
    """The messages of a purpose in answer_prompts.yaml: its system text, its examples, and the values in its frame."""
    prompt = prompts()[language][purpose]
    turns = [Message("system", prompt["system"].strip())]
    for example in prompt["examples"]:
        turns += [Message("user", example["user"].strip()), Message("assistant", example["assistant"])]
    return [*turns, Message("user", prompt["user"].strip().format(**values))]


@cache
def prompts() -> dict[str, Any]:
    """answer_prompts.yaml."""
    path = Path(__file__).parent / "answer_prompts.yaml"
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def fits(language: LanguageModel, messages: Sequence[Message], reply_tokens: int = REPLY_TOKENS) -> bool:
    """Whether a prompt leaves room for the reply in the model's context."""
    return language.count_tokens(messages) + reply_tokens <= language.context_tokens


def line_of(store: MemoryStore, node: Node, speech: Speech) -> str:
    """A memory as one line with its local time and the names of today."""
    text = speech.memory(as_data(store.render(node.text)))
    return speech.phrase("line", time=speech.moment(node.start_utc_s), text=text)


def _found(answer: Answer) -> tuple[int, ...]:
    searches = [answer.first_search, *(one.search for one in answer.rounds)]
    found = [node_id for search in searches if search is not None for node_id in search.found]
    return tuple(dict.fromkeys([*found, *(item.id for item in answer.evidence)]))
