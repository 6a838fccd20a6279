"""Clips as they are remembered, made up: who is in view from when to when, and who speaks."""

from collections.abc import Sequence

from memory_store.records import Clip
from memory_store.tags import Tag
from offline_tools.remembered import RememberedClip, Stretch


def made_up(
    seen: Sequence[tuple[float, float, int | None]],
    heard: Sequence[tuple[float, float, int | None]],
    *,
    clip_id: int = 1,
    start_s: float = 0.0,
    end_s: float = 30.0,
) -> RememberedClip:
    """A clip with these stays of faces and utterances of voices, each by number; None: nobody knows whose."""
    clip = Clip(
        clip_id,
        f"k{clip_id}",
        "x",
        "",
        start_s,
        end_s,
        start_s,
        end_s,
        True,
        "",
        True,
        True,
        0,
        0.0,
        "grounded",
    )
    faces = tuple(Stretch(*span, None if face is None else Tag("face", face)) for *span, face in seen)
    voices = tuple(Stretch(*span, None if voice is None else Tag("voice", voice)) for *span, voice in heard)
    lines = [f"{one.tag or 'Somebody'} is in view." for one in faces]
    lines += [f'{one.tag or "Somebody"} says: "Hello."' for one in voices]
    return RememberedClip(clip, tuple(dict.fromkeys(lines)), faces, voices)
