"""A scripted sequence of meetings, run by test_binding in many processes: prints who is who in the end."""

import sys
import tempfile
from pathlib import Path
from typing import Literal

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from runtime.binding import Binder, Meeting, VoteRule

CLIP_S = 30.0
# Faces and voices a to d, met clip after clip: a tie, a turn, an off-screen voice, two voices of one face.
MEETINGS = (
    "aa bb", "ab ba", "cc", "dc", "cc dd", "cd", "aa", "bb ab", "dd", "dc cd", "ca", "aa bb cc dd", "bd", "db",
)  # fmt: skip


def add_known(store: MemoryStore, kind: Literal["face", "voice"], clip_id: int) -> int:
    """A face or voice of a person of its own."""
    clip = store.clip(clip_id)
    node_id = store.add_node(
        kind, "", clip_id=clip_id, start_utc_s=clip.start_utc_s, end_utc_s=clip.end_utc_s
    )
    store.bind(store.create_person(), node_id)
    return node_id


def add_clip(store: MemoryStore, number: int, start_utc_s: float) -> int:
    """A clip with nobody in it."""
    return store.add_clip(
        source_key=f"k{number}", source_name="test", start_utc_s=start_utc_s, end_utc_s=start_utc_s + CLIP_S
    )


def play(directory: Path) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Play the meetings; each person's id, faces and voices."""
    with MemoryStore.open(directory, [VectorSpace("face", 4, "f")], clock=lambda: 0.0) as store:
        binder = Binder(store, VoteRule(least=1.0, margin=2.0, half_life_days=30.0))
        with store.transaction():
            first = add_clip(store, 0, 0.0)
            faces = {name: add_known(store, "face", first) for name in "abcd"}
            voices = {name: add_known(store, "voice", first) for name in "abcd"}
        for number, pairs in enumerate(MEETINGS, 1):
            with store.transaction():
                clip_id = add_clip(store, number, number * CLIP_S)
                # The order of a set of texts differs between processes.
                met = [Meeting(faces[face], voices[voice], 2.0) for face, voice in set(pairs.split())]
                binder.vote(clip_id, number * CLIP_S, met)
        return [(person.id, person.face_ids, person.voice_ids) for person in store.people()]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(play(Path(temporary)))
    sys.exit(0)
