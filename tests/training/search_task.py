"""A small task that can only be solved by searching on: things in things in rooms, in real memories, with tiny models.

"Where would ring be" is answered by the room at the end of a chain of two or three memories (ring in basket, basket
in crate, crate in attic); each search finds the next link. Prompts, turns, searches and judgement are the robot's own,
over a real memory; only the prompt's words are few, so that a model of 100,000 weights can read them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.language import Message
from offline_tools.train.episodes import Memories
from offline_tools.train.rl_questions import TrainingQuestion
from runtime.control import Control
from runtime.control_rounds import ControlLimits
from runtime.prompts import Prompt
from runtime.recall import Recall, RecallLimits

_WORDS = """
ring coin lamp book spoon flute glove scarf brush torch candle mirror
whistle marble button ribbon hammer needle pencil stamp ticket wallet compass magnet
basket crate drawer chest barrel bucket casket satchel trunk hamper carton parcel
locker cabinet wardrobe cupboard shelf bench cart wagon tin jar pot vase
attic cellar kitchen garage hallway pantry studio library
"""
WORDS = _WORDS.split()
THINGS, HOLDERS, ROOMS = WORDS[:24], WORDS[24:48], WORDS[48:]
SPACE = VectorSpace("text", len(WORDS) + 1, "words of the task")
START_UTC_S = 1_700_000_000.0
PROMPT = Prompt(
    system="Answer or search .",
    examples=(),
    turn="Question {question} {hint}\n{memories}",
    sentences={
        "form": "",
        "form_bare": "",
        "instruction": "",
        "last": "last",
        "repeated": "again",
        "empty": "empty",
        "none": "none",
        "unknown": "unknown",
        "reasoning": "",
        "cite_open": " (memory ",
        "cite_join": ", ",
        "cite_close": ")",
    },
)


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """What a text is about: its first word of the task twice as much as the others, and a little of nothing."""
    vectors = np.zeros((len(texts), SPACE.dimension), dtype=np.float32)
    for row, text in zip(vectors, texts, strict=True):
        found = [WORDS.index(word) for word in text.split() if word in WORDS]
        for place, index in enumerate(found):
            row[index] += 1.0 if place else 2.0
        row[-1] = 0.1
    normalised: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normalised


def make_control(store: MemoryStore, clock: Callable[[], float]) -> Control:
    """The robot's control over such a memory, with the few words."""
    return Control(
        Recall(store, embed, limits=RecallLimits(hits=2)),
        None,
        clock=clock,
        zone=ZoneInfo("UTC"),
        max_rounds=5,
        limits=ControlLimits(reply_tokens=6, shown=4),
        prompt_of=lambda _: PROMPT,
    )


def write_memories(root: Path, count: int, seed: int, *, depths: Sequence[int] = (2, 3)) -> Path:
    """`count` memories under `root`, each with other chains, and the file of their questions."""
    chance = random.Random(seed)
    lines = []
    for number in range(count):
        name = f"memory-{seed}-{number}"
        lines += [json.dumps(asdict(question)) for question in _write_memory(root, name, chance, depths)]
    file = root / f"questions-{seed}.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _write_memory(
    root: Path, name: str, chance: random.Random, depths: Sequence[int]
) -> list[TrainingQuestion]:
    things, holders = chance.sample(THINGS, 3 * len(depths)), chance.sample(HOLDERS, len(HOLDERS))
    questions = []
    with MemoryStore.open(root / name, [SPACE]) as store, store.transaction():
        _write_link(store, name, "nothing", "nothing")  # what a search finds that finds no second memory
        for number, thing in enumerate(things):
            depth = depths[number % len(depths)]
            chain = [thing, *(holders.pop() for _ in range(depth - 1)), chance.choice(ROOMS)]
            clips = [_write_link(store, name, *link) for link in reversed(list(pairwise(chain)))]
            questions.append(
                TrainingQuestion(
                    f"{name}-{thing}", name, f"Where would {thing} be", chain[-1], evidence=tuple(clips)
                )
            )
    return questions


def _write_link(store: MemoryStore, name: str, inner: str, outer: str) -> int:
    start = START_UTC_S + 60.0 * len(store.clips())
    clip = store.add_clip(
        source_key=f"{name}:{start}", source_name=name, start_utc_s=start, end_utc_s=start + 30.0
    )
    store.add_node(
        "episodic",
        f"{inner} in {outer}",
        clip_id=clip,
        start_utc_s=start,
        end_utc_s=start + 1.0,
        provenance={"source": "grounded", "event": "objects"},
        vectors={"text": embed([f"{inner} {outer}"])[0]},
    )
    return clip


def open_memories(root: Path) -> Memories:
    return Memories(root, [SPACE], make_control)


def last_word(messages: Sequence[Message]) -> str:
    """What the best memory, which stands last, ends with."""
    lines = [line for line in messages[-1].content.splitlines() if line.startswith("[")]
    return lines[-1].split()[-1] if lines else "none"
