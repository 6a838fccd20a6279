"""The control loop over the household of the tests, and a model that cites what it is told to."""

from collections.abc import Callable, Sequence

from memory_store.store import MemoryStore
from models.language import Message
from runtime.control import Control, Policy
from runtime.recall import Recall
from tests.household import NOW, ZONE, embed_words
from tests.scripted_language import ScriptedLanguage


def control(
    store: MemoryStore, language: ScriptedLanguage | None, *, max_rounds: int = 5, policy: Policy = "abstain"
) -> Control:
    return Control(
        Recall(store, embed_words),
        language,
        clock=lambda: NOW,
        zone=ZONE,
        max_rounds=max_rounds,
        policy=policy,
        timer=lambda: 0.0,
    )


def cite(words: str, answer: str) -> Callable[[Sequence[Message]], str]:
    """A model that reasons, and cites the memory that holds the words."""

    def reply(messages: Sequence[Message]) -> str:
        lines = messages[-1].content.splitlines()
        line = next(line for line in lines if words in line and line.startswith("["))
        return f"Reasoning: it is there.\n[Answer] {answer} (memory {line[1 : line.index(']')]})"

    return reply
