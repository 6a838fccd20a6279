"""Small memories for the tests of memory_store: spaces, vectors and clips with known contents."""

from pathlib import Path

import numpy as np

from memory_store import MemoryStore, Vector, VectorSpace

SPACES = (
    VectorSpace("text", 8, "text-a"),
    VectorSpace("face", 4, "face-a"),
    VectorSpace("voice", 4, "voice-a"),
)
SATURDAY_UTC_S = 1_700_000_000.0


def open_memory(directory: Path) -> MemoryStore:
    """A memory with a clock that stands still."""
    return MemoryStore.open(directory, SPACES, clock=lambda: SATURDAY_UTC_S)


def unit(seed: int, dimension: int = 8) -> Vector:
    """A random direction that depends on the seed alone."""
    vector = np.random.default_rng(seed).normal(size=dimension).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def add_clip(store: MemoryStore, number: int, *, place: str = "") -> int:
    """The numbered 30 s clip of a recording that started at SATURDAY_UTC_S."""
    start = SATURDAY_UTC_S + 30.0 * number
    return store.add_clip(
        source_key=f"visit.mp4:{number}",
        source_name="visit.mp4",
        start_utc_s=start,
        end_utc_s=start + 30.0,
        place=place,
    )


def add_line(store: MemoryStore, text: str, clip_id: int, *, seed: int | None = None) -> int:
    """An episodic node that spans its clip, with a vector where a seed is given."""
    clip = store.clip(clip_id)
    return store.add_node(
        "episodic",
        text,
        clip_id=clip_id,
        start_utc_s=clip.start_utc_s,
        end_utc_s=clip.end_utc_s,
        vectors={} if seed is None else {"text": unit(seed)},
    )


def add_face(store: MemoryStore, clip_id: int) -> int:
    """A face node first seen in a clip."""
    clip = store.clip(clip_id)
    return store.add_node("face", "", clip_id=clip_id, start_utc_s=clip.start_utc_s, end_utc_s=clip.end_utc_s)


def add_voice(store: MemoryStore, clip_id: int) -> int:
    """A voice node first heard in a clip."""
    clip = store.clip(clip_id)
    return store.add_node(
        "voice", "", clip_id=clip_id, start_utc_s=clip.start_utc_s, end_utc_s=clip.end_utc_s
    )
