"""A round in the row of its episode is, to the model, the round alone, as it was sampled and as the robot asks it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training

from trl.trainer.utils import add_fused_lm_head  # noqa: E402

from models.language import Message  # noqa: E402
from offline_tools.train.episodes import Reply, Transcript  # noqa: E402
from offline_tools.train.errors import TrainingError  # noqa: E402
from offline_tools.train.packing import ChatEncoder, keep_rounds_apart, packed, positions  # noqa: E402
from tests.training.search_model import make_model, make_tokenizer  # noqa: E402

PROMPTS = ([5, 9, 12, 30], [5, 9, 41, 12, 44, 30, 6], [5, 17, 30])
REPLIES = ((7, 50, 3), (8, 51, 3), (7, 52, 53, 3))


def transcript() -> Transcript:
    replies = [Reply("", ids, tuple(-0.1 * one for one in ids)) for ids in REPLIES]
    return Transcript(None, [list(one) for one in PROMPTS], replies)  # type: ignore[arg-type]


def model(*, apart: bool, attention: str = "sdpa") -> Any:
    made = make_model(make_tokenizer(), seed=3).eval()
    made.set_attn_implementation(attention)
    add_fused_lm_head(made)
    if apart:
        keep_rounds_apart(made, 0)
    return made


def log_probs(made: Any, ids: list[int], pads: int = 0) -> Any:
    """Of each token, as all before it make it; the first one's is 0."""
    row = torch.tensor([[0] * pads + ids])
    mask = (torch.arange(row.shape[1]) >= pads).long()[None]
    with torch.no_grad():
        found = made(input_ids=row, attention_mask=mask, labels=row, fused_lm_head=True).log_probs[0]
    return torch.cat([torch.zeros(1), found])[pads:]


def test_a_row_holds_every_round_and_marks_what_the_model_wrote() -> None:
    row = packed(transcript(), separator=0)
    assert row.prompt == PROMPTS[0]
    assert row.completion == [7, 50, 3, 0, *PROMPTS[1], 8, 51, 3, 0, *PROMPTS[2], 7, 52, 53, 3]
    assert [one for one, bit in zip(row.completion, row.mask, strict=True) if bit] == [
        one for ids in REPLIES for one in ids
    ]
    assert row.logprobs is not None
    assert all((one == 0.0) == (bit == 0) for one, bit in zip(row.logprobs, row.mask, strict=True))
    assert sum(row.silent.mask) == 0


def test_positions_begin_anew_behind_each_separator() -> None:
    ids = torch.tensor([[0, 0, 5, 6, 0, 7, 8, 9, 0]])
    assert positions(ids, 0).tolist() == [[0, 0, 0, 1, 0, 0, 1, 2, 0]]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("pads", [0, 5])
def test_rounds_in_one_row_are_as_likely_as_alone(attention: str, pads: int) -> None:
    row = packed(transcript(), separator=0)
    whole = log_probs(model(apart=True, attention=attention), row.prompt + row.completion, pads)
    mask = torch.tensor([0] * len(row.prompt) + row.mask).bool()
    alone = model(apart=False, attention=attention)
    expected = [
        log_probs(alone, [*prompt, *reply])[len(prompt) :]
        for prompt, reply in zip(PROMPTS, REPLIES, strict=True)
    ]
    assert torch.allclose(whole[mask], torch.cat(expected), atol=1e-5)


def test_without_that_they_would_not_be() -> None:
    row = packed(transcript(), separator=0)
    mask = torch.tensor([0] * len(row.prompt) + row.mask).bool()
    apart, together = (
        log_probs(model(apart=apart), row.prompt + row.completion)[mask] for apart in (True, False)
    )
    assert torch.allclose(apart[:3], together[:3], atol=1e-5)
    assert not torch.allclose(apart[3:], together[3:], atol=1e-2)


def test_generation_is_left_as_it_is() -> None:
    ids = torch.tensor([PROMPTS[1]])
    written = [
        model(apart=apart).generate(input_ids=ids, max_new_tokens=4, do_sample=False).tolist()
        for apart in (True, False)
    ]
    assert written[0] == written[1]


def test_a_tokenizer_that_pads_with_the_end_of_turns_is_refused() -> None:
    tokenizer = make_tokenizer()
    encoder = ChatEncoder(tokenizer, 256, {})
    assert encoder.count_tokens((Message("user", "Where would ring be"),)) == len(
        encoder((Message("user", "Where would ring be"),))
    )
    tokenizer.pad_token = tokenizer.eos_token
    with pytest.raises(TrainingError, match="no padding token of its own"):
        ChatEncoder(tokenizer, 256, {})
    tokenizer.chat_template = None
    with pytest.raises(TrainingError, match="no chat template"):
        ChatEncoder(tokenizer, 256, {})
