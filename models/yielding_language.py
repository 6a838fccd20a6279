"""A language model for callers that can wait: their calls give way to those made on the process itself."""

from __future__ import annotations

from collections.abc import Sequence

from models.language import Completion, Message
from models.language_process import LanguageProcess


class YieldingLanguage:
    """A LanguageModel over a LanguageProcess that somebody else owns; a call that gave way raises Preempted."""

    def __init__(self, process: LanguageProcess) -> None:
        self._process = process

    @property
    def context_tokens(self) -> int:
        return self._process.context_tokens

    @property
    def name(self) -> str:
        return self._process.name

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
        """See LanguageModel. Raises Preempted."""
        return self._process.complete(
            messages,
            max_tokens=max_tokens,
            grammar=grammar,
            temperature=temperature,
            stop=stop,
            timeout_s=timeout_s,
            yields=True,
        )

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return self._process.count_tokens(messages, yields=True)

    def close(self) -> None:
        """Nothing: the process belongs to whoever made it."""
