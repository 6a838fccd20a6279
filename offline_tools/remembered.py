"""What a memory holds of each clip, as plain records: its lines, and who was in view and spoke from when to when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memory_store.records import Clip, Node
from memory_store.store import MemoryStore
from memory_store.tags import Tag, find_tags


@dataclass(frozen=True)
class Stretch:
    """Somebody in view or heard, in media seconds of the clip's source; tag: None where it is not known who.

    From a screen, `on_screen`: nobody is there who could be bound to anything.
    """

    start_s: float
    end_s: float
    tag: Tag | None
    text: str = ""
    on_screen: bool = False

    def shared_s(self, start_s: float, end_s: float) -> float:
        """Seconds in common with a span."""
        return max(0.0, min(self.end_s, end_s) - max(self.start_s, start_s))


@dataclass(frozen=True)
class RememberedClip:
    """One clip as code wrote it down: lines with tags in the order of time, stays in view, utterances."""

    clip: Clip
    lines: tuple[str, ...]
    seen: tuple[Stretch, ...]
    heard: tuple[Stretch, ...]

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Everybody its lines name, each once."""
        return find_tags("\n".join(self.lines))

    @property
    def has_strangers(self) -> bool:
        """Whether somebody was in view or spoke in the room of whom nobody knows who it is."""
        return any(stretch.tag is None and not stretch.on_screen for stretch in (*self.seen, *self.heard))


def remembered_clips(store: MemoryStore, source_prefix: str = "") -> Iterator[RememberedClip]:
    """The clips of a memory by time; source_prefix: only those whose source key begins so."""
    for clip in store.clips():
        if clip.source_key.startswith(source_prefix):
            yield _remembered(store, clip)


def _remembered(store: MemoryStore, clip: Clip) -> RememberedClip:
    lines: list[tuple[float, float, str]] = []
    seen: list[Stretch] = []
    heard: list[Stretch] = []
    for node in store.nodes(kinds=["episodic"], clip_id=clip.id):
        if node.provenance.get("source") != "grounded":
            continue
        event = node.provenance.get("event")
        for start_s, end_s in _media_spans(store, clip, node):
            lines.append((start_s, end_s, node.text))
            tags = find_tags(node.text)
            stretch = Stretch(
                start_s,
                end_s,
                tags[0] if tags else None,
                str(node.provenance.get("said", "")),
                node.provenance.get("speech_source") == "screen",
            )
            if event == "seen":
                seen.append(stretch)
            elif event == "heard":
                heard.append(stretch)
    in_order = tuple(dict.fromkeys(text for _, _, text in sorted(lines)))
    return RememberedClip(clip, in_order, tuple(sorted(seen, key=_start)), tuple(sorted(heard, key=_start)))


def _media_spans(store: MemoryStore, clip: Clip, node: Node) -> Iterator[tuple[float, float]]:
    offset_s = clip.media_start_s - clip.start_utc_s
    for span in store.spans(node.id):
        if span.clip_id == clip.id:
            yield round(span.start_utc_s + offset_s, 3), round(span.end_utc_s + offset_s, 3)


def _start(stretch: Stretch) -> tuple[float, float, str]:
    return stretch.start_s, stretch.end_s, str(stretch.tag)
