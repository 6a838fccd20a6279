"""A LanguageModel for tests that answers from a script; it keeps the same contract as the real one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.errors import ModelError
from models.language import Completion, Message

_TOKEN = re.compile(r"\s*\w{1,4}|\s*[^\w\s]|\s+")
_MEDIA_TOKENS = 100


@dataclass(frozen=True)
class ScriptedCall:
    """What `complete` was asked."""

    messages: tuple[Message, ...]
    max_tokens: int
    grammar: str | None
    temperature: float
    stop: tuple[str, ...]
    timeout_s: float


class ScriptedLanguage:
    """replies: the answers in order, or a function of the messages. An answer that is a ModelError is raised.

    Tokens are pieces of up to four letters. Grammars are only looked at for a rule `root`.
    """

    def __init__(
        self,
        replies: Sequence[str | ModelError] | Callable[[Sequence[Message]], str | ModelError],
        *,
        context_tokens: int = 4096,
        name: str = "scripted",
    ) -> None:
        self.context_tokens = context_tokens
        self.name = name
        self.calls: list[ScriptedCall] = []
        self.closed = False
        self._replies = replies
        self._given = 0
        self._last_prompt: list[str] = []

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
        if max_tokens < 1:
            raise ModelError(f"max_tokens is {max_tokens}: give at least 1")
        prompt = _tokens_of(messages)
        if len(prompt) + max_tokens > self.context_tokens:
            raise ModelError(
                f"the prompt has {len(prompt)} tokens and max_tokens is {max_tokens}: "
                f"more than context_tokens = {self.context_tokens}"
            )
        if grammar is not None and not re.search(r"^\s*root\s*::=\s*(?!root)[^(\s]", grammar, re.MULTILINE):
            raise ModelError("invalid grammar: no rule `root`")
        self.calls.append(
            ScriptedCall(tuple(messages), max_tokens, grammar, temperature, tuple(stop), timeout_s)
        )
        reply = self._reply(messages)
        if isinstance(reply, ModelError):
            raise reply
        cached = self._reused(prompt)
        return _cut(reply, len(prompt), cached, max_tokens, stop)

    def _reply(self, messages: Sequence[Message]) -> str | ModelError:
        if callable(self._replies):
            return self._replies(messages)
        if self._given == len(self._replies):
            raise ModelError(f"the script has {len(self._replies)} replies, and one more was asked for")
        self._given += 1
        return self._replies[self._given - 1]

    def _reused(self, prompt: list[str]) -> int:
        same = 0
        for old, new in zip(self._last_prompt, prompt, strict=False):
            if old != new:
                break
            same += 1
        self._last_prompt = prompt
        return min(same, len(prompt) - 1)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return len(_tokens_of(messages))

    def close(self) -> None:
        self.closed = True


def _tokens_of(messages: Sequence[Message]) -> list[str]:
    if not messages:
        raise ModelError("a language model was called without messages: give at least one")
    tokens: list[str] = []
    for message in messages:
        media = len(message.images) + len(message.audio)
        tokens += [f"<{message.role}>", *["<media>"] * (media * _MEDIA_TOKENS)]
        tokens += [*_TOKEN.findall(message.content), "<end>"]
    return [*tokens, "<assistant>"]


def _cut(text: str, prompt: int, cached: int, max_tokens: int, stop: Sequence[str]) -> Completion:
    tokens = _TOKEN.findall(text)
    written = "".join(tokens[:max_tokens])
    ends = [at for at in (written.find(end) for end in stop if end) if at >= 0]
    if ends:
        written = written[: min(ends)]
        return Completion(written, prompt, cached, len(_TOKEN.findall(written)) + 1, 0.0, "stop")
    if len(tokens) > max_tokens:
        return Completion(written, prompt, cached, max_tokens, 0.0, "length")
    return Completion(written, prompt, cached, min(len(tokens) + 1, max_tokens), 0.0, "stop")
