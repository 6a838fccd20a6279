"""What a language model is: the records that go in and come out, and the contract of every implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, eq=False)
class Message:
    """One turn. Example turns are ordinary user and assistant messages before the real question.

    images: JPEG files. audio: float32 mono 16 kHz in [-1, 1]. Both stand before the text, pictures first.
    """

    role: Role
    content: str
    images: tuple[bytes, ...] = ()
    audio: tuple[NDArray[np.float32], ...] = ()


@dataclass(frozen=True)
class Completion:
    """What the model wrote and what it cost.

    prompt_tokens: length of the whole prompt; cached_tokens: how many of them were kept from an earlier call
    and not evaluated again; finish_reason: "stop" (the model or a stop string ended it) or "length".
    """

    text: str
    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    duration_s: float
    finish_reason: FinishReason


class LanguageModel(Protocol):
    """Turns messages into text. Calls block: the caller owns the thread, and makes one call at a time.

    Every failure (crash, time-out, prompt too long, bad grammar) is a ModelError; the next call works again.
    """

    @property
    def context_tokens(self) -> int:
        """How many tokens a prompt and its completion may have together."""
        ...

    @property
    def name(self) -> str:
        """Which model this is, for provenance."""
        ...

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
        """The assistant's next turn. grammar: GBNF, start rule `root`; temperature 0: always the same."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Length in tokens of the prompt that `complete` would build, the chat template included."""
        ...

    def close(self) -> None:
        """Give back memory and processes; a later call starts anew."""
        ...
