"""A made-up memory of two people who come and speak one after another, and a model that answers about its clips."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_store.store import MemoryStore
from offline_tools.memorize_video import parts_for
from runtime import compose
from runtime.config import Settings
from tests.chat_server import Reply, said
from tests.identified_clips import track
from tests.memorized_clips import Home, says
from tests.vectors import axis

THINGS = ("ferns", "lamps", "chairs", "plates", "books", "boots", "pears", "rugs")
_TEXT_SIZE = 384


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """The same text, the same vector, of the real text model's size."""
    return np.stack([axis(sum(map(ord, text)) % _TEXT_SIZE, _TEXT_SIZE) for text in texts])


def open_memory(directory: Path) -> MemoryStore:
    """The memory as the tools open it."""
    return compose.open_store(parts_for(Settings(), directory))


def make_memory(directory: Path, clips: int, *, narrated: int | None = None) -> None:
    """Anna speaks in the first half of each clip, Ben in the second; a third voice without a face in one of them."""
    anna, ben = axis(1), axis(2)
    with open_memory(directory) as store:
        home = Home(store, directory, embed=embed)
        for number in range(clips):
            thing = THINGS[number % len(THINGS)]
            speech = [
                says(f"I bought red {thing} for the kitchen window.", axis(1, 192), 1, 4),
                says(f"We need green {thing} in the cellar tomorrow.", axis(2, 192), 11, 14),
            ]
            if number == narrated:
                speech.append(says("Somewhere far away the rain begins to fall.", axis(3, 192), 21, 25))
            home.clip(number, [track(anna, 0, 5), track(ben, 10, 15)], speech)


def answer(body: dict[str, Any]) -> Reply:
    """What a good model says of such a clip: an event and a fact of whoever bought something."""
    *_, system, user = [message["content"] for message in body["messages"]]
    bought = re.search(r'(<voice_\d+>) says: "I bought red (\w+) for', str(user))
    assert bought, user
    if "what happened" in system:
        return said(json.dumps({"event": f"{bought[1]} bought red {bought[2]}."}) + "\n")
    if "looks, character" in system:
        return said(json.dumps({"fact": f"{bought[1]} bought {bought[2]} for the kitchen window."}) + "\n")
    return said('{"fact": "none"}')
