"""A tiny Qwen3 with a word tokenizer for the search task, and its cold start: the form, and copying what was found."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Sequence as Steps
from tokenizers.pre_tokenizers import Split
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from offline_tools.train.packing import ChatEncoder
from offline_tools.train.rl_questions import read_questions
from tests.training.search_task import ROOMS, WORDS, last_word, open_memories, write_memories

CONTEXT_TOKENS = 256
_FRAME = """
<pad> <unk> <|im_start|> <|im_end|> system user assistant [Answer] [Search] Answer or search . Question Where would
be in last again empty none nothing unknown today yesterday at , : [ ] ( ) memory
"""
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}"
)


def make_tokenizer() -> Any:
    """One token for each word, number of a clock and mark."""
    words = [*_FRAME.split(), *WORDS, *(f"{number:02}" for number in range(60)), *map(str, range(10))]
    tokenizer = Tokenizer(
        WordLevel({word: index for index, word in enumerate(dict.fromkeys(words))}, "<unk>")
    )
    pattern = r"\[Answer\]|\[Search\]|<\|im_start\|>|<\|im_end\|>|<pad>|\w+|[^\w\s]"
    tokenizer.pre_tokenizer = Steps([Split(Regex(pattern), "removed", invert=True)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>", eos_token="<|im_end|>"
    )
    fast.chat_template = _TEMPLATE
    return fast


def make_model(tokenizer: Any, seed: int = 0, width: int = 64) -> Any:
    """Random weights, about 100,000."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=2048,
        initializer_range=0.1,
        rope_parameters={"rope_type": "default", "rope_theta": 100.0},
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config)


def save_cold_model(folder: Path) -> Path:
    """A model after its cold start, with its tokenizer."""
    torch.set_num_threads(1)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    rows = demonstrations(folder / "memories", tokenizer, memories=40, seed=5)
    cold_start(model, tokenizer, rows, steps=100, seed=0)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    return folder / "model"


def demonstrations(root: Path, tokenizer: Any, memories: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Prompts of real episodes, and turns that copy the last word; they answer too soon more often than not."""
    questions = read_questions(write_memories(root, memories, seed), root).questions
    encoder = ChatEncoder(tokenizer, CONTEXT_TOKENS, {})
    chance = random.Random(seed)
    opened = open_memories(root)
    rows = []
    for question in questions:
        episode = opened.episode(question, encoder)
        while not episode.finished:
            messages = episode.prompt()
            word = last_word(messages)
            wise = "[Answer]" if word in ROOMS else "[Search]"
            action = "[Answer]" if chance.random() < (0.9 if word in ROOMS else 0.55) else "[Search]"
            rows.append((encoder(messages), tokenizer(f"{action} {word} <|im_end|>")["input_ids"]))
            episode.reply(f"{wise} {word}", 3)  # so that all links of the chain are seen
        opened.rest()
    opened.close()
    return rows


def cold_start(
    model: Any, tokenizer: Any, rows: list[tuple[list[int], list[int]]], steps: int, seed: int
) -> float:
    """Teach the form and the copying; the last loss."""
    chance = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
    loss = torch.tensor(0.0)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 5e-3 * min(1.0, (step + 1) / 10) * max(0.05, 1.0 - step / steps)
        batch = chance.sample(rows, 32)
        width = max(len(prompt) + len(turn) for prompt, turn in batch)
        ids = torch.full((len(batch), width), tokenizer.pad_token_id)
        labels = torch.full((len(batch), width), -100)
        for row, (prompt, turn) in enumerate(batch):
            ids[row, : len(prompt) + len(turn)] = torch.tensor(prompt + turn)
            labels[row, len(prompt) : len(prompt) + len(turn)] = torch.tensor(turn)
        mask = (ids != tokenizer.pad_token_id).long()
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return float(loss.detach())
