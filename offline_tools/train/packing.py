"""Episodes as rows of tokens: the rounds one behind another, each seen by the model as it was when it was sampled.

The robot builds its prompt anew in every round. So a row holds every round's whole prompt, and within the model each
round has positions from 0 and attention to itself alone; what stands between two rounds is one padding token. An
episode stays one row, as the trainers' groups, means over episodes and normalisers want it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from models.language import Message
from offline_tools.train.episodes import Reply, Transcript
from offline_tools.train.errors import TrainingError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Row:
    """prompt: of the first round; completion: all behind it; mask: 1 where the model wrote a token of the completion.

    logprobs: of each token of the completion as it was sampled, 0 where it was not; None where nobody told them.
    """

    prompt: list[int]
    completion: list[int]
    mask: list[int]
    logprobs: list[float] | None

    @property
    def silent(self) -> Row:
        """The same that teaches nothing."""
        return Row(self.prompt, self.completion, [0] * len(self.mask), self.logprobs)


def packed(transcript: Transcript, separator: int) -> Row:
    """The row of an episode that is over."""
    completion: list[int] = []
    mask: list[int] = []
    logprobs: list[float] = []
    for number, (prompt, reply) in enumerate(zip(transcript.prompts, transcript.replies, strict=True)):
        between = [separator, *prompt] if number else []
        completion += [*between, *reply.ids]
        mask += [0] * len(between) + [1] * len(reply.ids)
        logprobs += [0.0] * len(between) + list(reply.logprobs or ())
    told = all(reply.logprobs is not None for reply in transcript.replies)
    return Row(transcript.prompts[0], completion, mask, logprobs if told else None)


def positions(ids: torch.Tensor, separator: int) -> torch.Tensor:
    """Positions (batch, length) that begin at 0 behind every separator; a separator's own is 0."""
    import torch

    index = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    begins = torch.where(ids == separator, index, torch.full_like(index, -1)).cummax(dim=1).values
    return (index - begins - 1).clamp(min=0)


def keep_rounds_apart(model: Any, separator: int) -> None:
    """Let a model see every round of a row by itself when TRL computes its log-probabilities.

    Transformers keep sequences apart that stand in one row with positions from 0, where no attention mask is given.
    Padding, which is the separator too, then attends to itself alone. What is generated is left as it is.
    """

    def apart(module: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if not named.get("fused_lm_head"):
            return None
        named = {**named, "attention_mask": None, "position_ids": positions(named["input_ids"], separator)}
        return arguments, named

    model.register_forward_pre_hook(apart, with_kwargs=True)


class ChatEncoder:
    """Prompts as a tokenizer's chat template has them, up to where the reply begins, and how long they are."""

    def __init__(self, tokenizer: Any, context_tokens: int, template: dict[str, Any]) -> None:
        """Raises TrainingError where the tokenizer has no template, or no padding token of its own."""
        if not getattr(tokenizer, "chat_template", None):
            raise TrainingError(
                f"{tokenizer.name_or_path} has no chat template: take an instruction-tuned model"
            )
        self._tokenizer = tokenizer
        self._template = template
        self.context_tokens = context_tokens
        self.separator: int = tokenizer.pad_token_id
        if self.separator is None or self.separator in self(
            (Message("system", "-"), Message("user", "-"), Message("assistant", "-"), Message("user", "-"))
        ):
            raise TrainingError(
                f"{tokenizer.name_or_path} has no padding token of its own ({tokenizer.pad_token!r}): "
                "set tokenizer.pad_token to one that stands in no prompt"
            )

    def __call__(self, messages: Sequence[Message]) -> list[int]:
        turns = [{"role": one.role, "content": one.content} for one in messages]
        text = self._tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True, **self._template
        )
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return len(self(messages))

    def reply(self, ids: Sequence[int], logprobs: Sequence[float] | None = None) -> Reply:
        """A model's turn from its tokens."""
        text = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        return Reply(text, tuple(ids), None if logprobs is None else tuple(logprobs))
