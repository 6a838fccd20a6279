"""Completions by llama.cpp: builds the prompt, reuses what is already evaluated, generates.

Runs inside the language model's own process. The answer at temperature 0 depends on the messages alone, never
on what was evaluated before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import llama_cpp

from models.chat_prompt import ChatPrompt
from models.errors import ModelError
from models.language import Completion, FinishReason, Message
from models.language_wire import CompleteRequest, ServerSettings
from models.llama_native import LlamaNative
from models.prefix_files import PrefixFiles
from models.prefix_store import KeptPrefix, PrefixStore
from models.prompt_items import (
    MediaPiece,
    PromptItem,
    batches,
    common_prefix,
    position_count,
    reusable_prefix,
    token_count,
)
from models.token_sampler import TokenSampler

if TYPE_CHECKING:  # a text model's process does without OpenCV
    from models.omni import MediaReader

_WORTH_KEEPING = 96  # tokens; a shorter head is evaluated about as fast as it is restored


@dataclass(frozen=True)
class _Prompt:
    """head: items before the last message, which the same caller's next prompt will likely share."""

    items: list[PromptItem]
    head: int


class LlamaEngine:
    """One model, one caller at a time. Raises ModelError; after any error the next call works."""

    def __init__(
        self,
        settings: ServerSettings,
        native: LlamaNative,
        media: MediaReader | None,
        complaint: Callable[[], str],
    ) -> None:
        """complaint: returns and clears what the native code printed since it was last asked."""
        self._native = native
        self._media = media
        self._complaint = complaint
        self._context_tokens = settings.context_tokens
        self._chat = ChatPrompt(
            native.metadata("tokenizer.chat_template"),
            bos=native.special_text("bos"),
            eos=native.special_text("eos"),
            control_texts=native.control_texts(),
        )
        self._evaluated: list[PromptItem] = []  # what the key-value memory holds, prompts only
        self._head = 0
        self._kept = PrefixStore(settings.kept_prefixes)
        self._files: PrefixFiles | None = None
        if settings.heads_dir is not None and settings.kept_prefixes:
            maker = (
                f"{settings.model_sha256} llama-cpp-python {llama_cpp.__version__} gpu {settings.gpu_layers}"
            )
            self._files = PrefixFiles(Path(settings.heads_dir), maker)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return token_count(self._items(messages))

    def complete(self, request: CompleteRequest) -> Completion:
        started = time.monotonic()
        self._native.allow(request.timeout_s, yields=request.yields)
        prompt = self._prompt(request.messages)
        total = token_count(prompt.items)
        if total + request.max_tokens > self._context_tokens:
            raise ModelError(
                f"the prompt has {total} tokens and max_tokens is {request.max_tokens}, together "
                f"{total + request.max_tokens}: more than context_tokens = {self._context_tokens}; "
                "shorten one or raise the last"
            )
        sampler = TokenSampler(
            self._native, grammar=request.grammar, temperature=request.temperature, complaint=self._complaint
        )
        try:
            cached = self._evaluate_prompt(prompt)
            text, generated, reason = self._generate(request, sampler, position_count(prompt.items))
        finally:
            sampler.close()
        return Completion(text, total, cached, generated, time.monotonic() - started, reason)

    def _prompt(self, messages: Sequence[Message]) -> _Prompt:
        items = self._items(messages)
        other = [*messages[:-1], replace(messages[-1], content="\n", images=(), audio=())]
        return _Prompt(items, common_prefix(items, self._items(other)))

    def _items(self, messages: Sequence[Message]) -> list[PromptItem]:
        media = any(message.images or message.audio for message in messages)
        if not media:
            return list(self._native.tokenize(self._chat.render(messages), special=True))
        if self._media is None:
            raise ModelError(
                "pictures or sound were given, but this model has no mmproj file: take an omni model"
            )
        return self._media.items(messages, self._chat.render(messages, self._media.marker))

    def _evaluate_prompt(self, prompt: _Prompt) -> int:
        """Bring the memory to the end of the prompt; returns how many tokens were there already."""
        start = self._choose_start(prompt)
        if not self._native.keep_until(position_count(prompt.items[:start])):
            start = 0
        del self._evaluated[start:]
        cached = token_count(prompt.items[:start])
        head = reusable_prefix(prompt.items, prompt.head)
        if self._files is not None and head - start >= _WORTH_KEEPING:
            self._evaluate(prompt.items[:head])
            self._files.keep(KeptPrefix(tuple(self._evaluated), self._native.save_state()))
        self._evaluate(prompt.items)
        self._head = prompt.head
        return cached

    def _evaluate(self, items: Sequence[PromptItem]) -> None:
        """Evaluate what of the items is not in the memory yet, which holds the first of them."""
        start = len(self._evaluated)
        position = position_count(items[:start])
        while start < len(items):
            end = self._step(items, start, position)
            position += position_count(items[start:end])
            self._evaluated.extend(
                replace(item, chunk=None) if isinstance(item, MediaPiece) else item
                for item in items[start:end]
            )
            start = end

    def _choose_start(self, prompt: _Prompt) -> int:
        """Continue from the memory as it is, or from a kept head where that saves more."""
        items = prompt.items
        here = reusable_prefix(items, common_prefix(self._evaluated, items))
        if not self._kept.capacity:
            return here
        kept, shared = self._kept.best(items)
        if self._files is not None and max(here, shared) < prompt.head - _WORTH_KEEPING:
            found = self._files.find(items)
            if found is not None and common_prefix(found.items, items) > max(here, shared):
                self._kept.keep(found)
                kept, shared = self._kept.best(items)
        there = reusable_prefix(items, shared)
        leaving = here < min(self._head, len(self._evaluated)) // 2 or there > here + _WORTH_KEEPING
        if leaving:
            self._keep_head()
        if kept is None or there <= here + _WORTH_KEEPING:
            return here
        self._kept.touch(kept)
        restored = self._native.load_state(kept.state)
        self._evaluated = list(kept.items) if restored else []
        return there if restored else 0

    def _keep_head(self) -> None:
        head = self._evaluated[: self._head]
        if token_count(head) >= _WORTH_KEEPING and self._native.keep_until(position_count(head)):
            self._kept.keep(KeptPrefix(tuple(head), self._native.save_state()))

    def _step(self, items: Sequence[PromptItem], start: int, position: int) -> int:
        """Evaluate one media piece or one batch of text; returns the index after it."""
        item = items[start]
        if isinstance(item, MediaPiece):
            assert self._media is not None
            self._media.evaluate(item, position)
            return start + 1
        end = start
        while end < len(items) and isinstance(items[end], int):
            end += 1
        size = batches(end - start, self._native.batch_tokens)[0]
        tokens = [token for token in items[start : start + size] if isinstance(token, int)]
        self._native.evaluate(tokens, position, logits=start + size == len(items))
        return start + size

    def _generate(
        self, request: CompleteRequest, sampler: TokenSampler, position: int
    ) -> tuple[str, int, FinishReason]:
        stops = [stop.encode() for stop in request.stop if stop]
        window = max(map(len, stops), default=0)
        written = bytearray()
        for count in range(1, request.max_tokens + 1):
            token = sampler.next_token(self._native.logits())
            if self._native.ends(token):
                return written.decode("utf-8", "ignore"), count, "stop"
            piece = self._native.piece(token)
            written += piece
            since = max(0, len(written) - len(piece) - window)
            found = [at for at in (written.find(stop, since) for stop in stops) if at >= 0]
            if found:
                return written[: min(found)].decode("utf-8", "ignore"), count, "stop"
            if count < request.max_tokens:
                self._native.evaluate([token], position, logits=True)
                position += 1
        return written.decode("utf-8", "ignore"), request.max_tokens, "length"

    def preempt(self) -> None:
        """Let the running call, if there is one, end with Preempted."""
        self._native.preempt()

    def close(self) -> None:
        if self._media:
            self._media.close()
        self._native.close()
