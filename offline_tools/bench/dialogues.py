"""Dialogues of public benchmarks, written into a memory the way the robot writes speech that it heard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory_store.store import MemoryStore

WORDS_PER_S = 2.5  # of unhurried speech
CLIP_S = 30.0

EmbedPassage = Callable[[list[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Turn:
    """What somebody said, and showed in a picture; `key`: what the benchmark's evidence calls the turn."""

    key: str
    speaker: str
    text: str
    shown: str = ""

    @property
    def duration_s(self) -> float:
        return max(1.0, len(self.text.split()) / WORDS_PER_S)


@dataclass(frozen=True)
class Session:
    """Turns one after the other, from a moment in UTC seconds on."""

    start_utc_s: float
    turns: Sequence[Turn]


@dataclass(frozen=True)
class Asked:
    """A question and the keys of the turns that hold its answer. `asker`: who says "I" in it."""

    text: str
    category: str
    evidence: frozenset[str]
    asker: str | None = None


@dataclass(frozen=True)
class Dialogue:
    """Everything two speakers said, and what is asked of it at a moment."""

    name: str
    sessions: Sequence[Session]
    questions: Sequence[Asked]
    asked_utc_s: float


@dataclass(frozen=True)
class Remembered:
    """Where the turns of a dialogue went: the turn of each node, and each speaker's person id."""

    keys: Mapping[int, str] = field(default_factory=dict)
    persons: Mapping[str, int] = field(default_factory=dict)


def remember(store: MemoryStore, dialogue: Dialogue, embed: EmbedPassage) -> Remembered:
    """Write a dialogue: clips of 30 s, one grounded line a turn by the speaker's voice, one for what was shown."""
    keys: dict[int, str] = {}
    persons: dict[str, int] = {}
    voices: dict[str, int] = {}
    with store.transaction():
        for session in dialogue.sessions:
            begun, clip_id, clip_end = session.start_utc_s, 0, session.start_utc_s
            for turn in session.turns:
                ended = begun + turn.duration_s
                if begun >= clip_end:
                    clip_id, clip_end = _add_clip(store, dialogue.name, begun), begun + CLIP_S
                if turn.speaker not in persons:
                    persons[turn.speaker] = store.create_person(tentative=False)
                    store.name_person(persons[turn.speaker], turn.speaker)
                    voices[turn.speaker] = store.add_node(
                        "voice", "", clip_id=clip_id, start_utc_s=begun, end_utc_s=ended
                    )
                    store.bind(persons[turn.speaker], voices[turn.speaker])
                for text, event, meaning in _lines(turn, voices[turn.speaker]):
                    node_id = store.add_node(
                        "episodic",
                        text,
                        clip_id=clip_id,
                        start_utc_s=begun,
                        end_utc_s=ended,
                        provenance={"source": "grounded", "event": event},
                        vectors={"text": embed([meaning])[0]},
                    )
                    keys[node_id] = turn.key
                    if event == "heard":
                        store.add_edge(node_id, voices[turn.speaker], "mentions", detail="actor")
                begun = ended + 0.5
    return Remembered(keys, persons)


def _lines(turn: Turn, voice: int) -> list[tuple[str, str, str]]:
    """Text, event and meaning (what is embedded) of the lines of a turn."""
    said = " ".join(turn.text.replace("<", " ").replace(">", " ").split())
    found = [(f'<voice_{voice}> says: "{said}"', "heard", said)] if said else []
    if turn.shown:
        found.append((f"<voice_{voice}> shows a picture: {turn.shown}.", "picture", turn.shown))
    return found


def _add_clip(store: MemoryStore, name: str, start_utc_s: float) -> int:
    return store.add_clip(
        source_key=f"{name}:{start_utc_s}",
        source_name=name,
        start_utc_s=start_utc_s,
        end_utc_s=start_utc_s + CLIP_S,
        has_video=False,
    )
