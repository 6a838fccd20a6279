"""Training rows as tokens with labels: the loss falls on what the assistant says, its end-of-turn token included.

The model's own chat template is used as it is, and asked for each prefix: what it adds for an assistant's turn is that
turn. So no {% generation %} marks are needed, which would have to be taken out again before the template goes into
the GGUF, and the prompt has the very tokens that it has when the model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from models.control_texts import ControlTexts
from offline_tools.chatml import Row, Turn
from offline_tools.train.errors import TrainingError

IGNORED = -100  # a label that torch's cross-entropy leaves out
Content = Callable[[Turn], str]


@dataclass(frozen=True)
class EncodedRow:
    """labels: as long as input_ids, the token itself where it is learned, else IGNORED."""

    id: str
    input_ids: tuple[int, ...]
    labels: tuple[int, ...]


def plain_text(tokenizer: Any) -> Content:
    """A turn for a model without senses: its words alone, robbed of control tokens as the robot's own prompt does."""
    control = ControlTexts(tokenizer.get_added_vocab())
    return lambda turn: control.harmless(turn.text)


def encode_row(tokenizer: Any, row: Row, content: Content) -> EncodedRow:
    """The tokens of a row.

    tokenizer: a transformers tokenizer with a chat template; content: what of a turn the template is given. Raises
    TrainingError where the template cannot be asked for prefixes, or ends no turn.
    """
    messages = [{"role": turn.role, "content": content(turn)} for turn in row.turns]
    ids: list[int] = []
    labels: list[int] = []
    before = ""
    for number, turn in enumerate(row.turns):
        if turn.role != "assistant":
            continue
        asked = _render(tokenizer, messages[:number], asks=True)
        whole = _render(tokenizer, messages[: number + 1], asks=False)
        if not asked.startswith(before) or not whole.startswith(asked):
            raise TrainingError(
                f"row {row.id}: the chat template renders a conversation otherwise once it goes on; "
                "rows of one answer each can be trained with it"
            )
        said = whole[len(asked) :].rstrip()
        _add(tokenizer, asked[len(before) :], ids, labels, learned=False)
        _add(tokenizer, said, ids, labels, learned=True)
        if ids[-1] not in tokenizer.all_special_ids and ids[-1] not in tokenizer.get_added_vocab().values():
            raise TrainingError(
                f"row {row.id}: the chat template puts no end-of-turn token after an answer ({said[-20:]!r}), so "
                "the model would never learn to stop"
            )
        before = asked + said
    return EncodedRow(row.id, tuple(ids), tuple(labels))


def encode_rows(
    tokenizer: Any,
    rows: Sequence[Row],
    *,
    max_tokens: int,
    drop_too_long: bool,
    content: Content,
    extra_tokens: Callable[[Row], int] = lambda _: 0,
) -> tuple[list[EncodedRow], list[str]]:
    """All rows, and the ids of those that were dropped as too long.

    extra_tokens: how many a row's media add to those of its text.

    Raises TrainingError naming the rows that are too long, where they may not be dropped, or where none is left.
    """
    encoded = [encode_row(tokenizer, row, content) for row in rows]
    sizes = {row.id: len(made.input_ids) + extra_tokens(row) for row, made in zip(rows, encoded, strict=True)}
    too_long = [id for id, size in sizes.items() if size > max_tokens]
    if too_long and not drop_too_long:
        raise TrainingError(
            f"{len(too_long)} of {len(rows)} rows have more than max_tokens = {max_tokens} tokens "
            f"({', '.join(too_long[:10])}): raise it, shorten them, or set drop_too_long in the recipe"
        )
    kept = [row for row in encoded if sizes[row.id] <= max_tokens]
    if not kept:
        raise TrainingError(f"no row has at most max_tokens = {max_tokens} tokens")
    return kept, too_long


def _render(tokenizer: Any, messages: list[dict[str, Any]], *, asks: bool) -> str:
    text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=asks)
    return text


def _add(tokenizer: Any, text: str, ids: list[int], labels: list[int], *, learned: bool) -> None:
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    ids += tokens
    labels += tokens if learned else [IGNORED] * len(tokens)
