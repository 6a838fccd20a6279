"""The describe service: has the language model add lines to clips that hold grounded lines, in its own time.

The database is the queue: a clip waits there as "grounded" until it is "described", also across a restart.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivers.sound_file import decode_flac
from memory_store.records import Clip, Node
from memory_store.store import MemoryStore
from memory_store.tags import find_tags
from models.errors import Preempted
from runtime.binding import MET, MODEL_VOTE, MOST_MODEL_VOTES
from runtime.continued import continued_event, is_retold
from runtime.describe import DescribedLine, Describer, Description
from runtime.facts import FactLearner
from runtime.media_files import MediaFiles, sound_name
from runtime.workers import Worker

log = logging.getLogger("hearsight.describe")


@dataclass(frozen=True)
class DescribedClip:
    """What a model added to a clip, as lines with current names; `failed`: why it added nothing, or ""."""

    clip_id: int
    lines: tuple[str, ...]
    reinforced: int
    failed: str


@dataclass(frozen=True)
class _Material:
    clip: Clip
    lines: tuple[str, ...]
    images: tuple[bytes, ...]
    sound: tuple[NDArray[np.float32], ...]


class DescribeService:
    """One clip at a time, oldest first; the model on one thread, the store on its own."""

    def __init__(
        self,
        store: MemoryStore,
        store_worker: Worker,
        describer: Describer,
        language_worker: Worker,
        files: MediaFiles,
        embed_passage: Callable[[Sequence[str]], NDArray[np.float32]],
        *,
        same_fact: float,
        same_event: float,
        facts: FactLearner,
        with_media: bool,
        on_described: Callable[[DescribedClip], None],
        until_free: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """until_free: waits while questions are being answered, which go first."""
        self._store = store
        self._store_worker = store_worker
        self._describer = describer
        self._language_worker = language_worker
        self._files = files
        self._embed_passage = embed_passage
        self._same_fact = same_fact
        self._same_event = same_event
        self._facts = facts
        self._with_media = with_media
        self._on_described = on_described
        self._until_free = until_free
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._no_more = False
        self.counts: Counter[str] = Counter()
        self.language_s = 0.0

    def clip_written(self) -> None:
        """A new clip may wait in the database."""
        self._idle.clear()
        self._wake.set()

    def no_more_clips(self) -> None:
        """Return from `run` when the database holds no waiting clip."""
        self._no_more = True
        self._wake.set()

    async def until_idle(self) -> None:
        """Wait until no clip waits."""
        await self._idle.wait()

    async def run(self) -> None:
        """Until `no_more_clips` and none waits."""
        while True:
            self._wake.clear()
            material = await self._store_worker.call(self._next)
            if material is not None:
                description = await self._describe(material)
                if description is None:
                    continue
                described = await self._store_worker.call(self._write, material, description)
                if described is not None:
                    self._on_described(described)
                continue
            self._idle.set()
            if self._no_more:
                return
            await self._wake.wait()

    async def _describe(self, material: _Material) -> Description | None:
        """None where the model was wanted for a question: the clip goes on waiting."""
        if self._until_free is not None:
            await self._until_free()
        try:
            return await self._language_worker.call(
                self._describer.describe, material.lines, images=material.images, audio=material.sound
            )
        except Preempted:
            self.counts["preempted"] += 1
            return None

    def _next(self) -> _Material | None:
        waiting = self._store.clips(state="grounded")
        if not waiting:
            return None
        clip = waiting[0]
        lines = self._lines(clip)
        if not self._with_media:
            return _Material(clip, lines, (), ())
        nodes = self._store.nodes(kinds=["image"], clip_id=clip.id)
        images = tuple(self._file(node) for node in nodes if node.provenance.get("source") == "keyframe")
        kept = self._files.find(sound_name(clip.id))
        sound = () if kept is None else (decode_flac(kept)[0],)
        return _Material(clip, lines, images, sound)

    def _lines(self, clip: Clip) -> tuple[str, ...]:
        nodes = self._store.nodes(kinds=["episodic"], clip_id=clip.id)
        return tuple(node.text for node in nodes if node.provenance.get("source") == "grounded")

    def _heard(self, clip: Clip) -> list[Node]:
        nodes = self._store.nodes(kinds=["episodic"], clip_id=clip.id)
        return [node for node in nodes if node.provenance.get("event") == "heard"]

    def _file(self, node: Node) -> bytes:
        return self._files.read(str(node.provenance["file"]["path"]))

    def _write(self, material: _Material, description: Description) -> DescribedClip | None:
        """None where a resident corrected the clip, or forgot somebody in it, meanwhile: it is read anew."""
        clip = material.clip
        if self._lines(clip) != material.lines:
            return None
        self._count(description)
        clip = self._store.clip(clip.id)  # it may have been dated anew meanwhile
        reinforced = 0
        texts = [line.text for line in description.lines]
        vectors: Sequence[NDArray[np.float32]] = list(self._embed_passage(texts)) if texts else []
        with self._store.transaction():
            for line, vector in zip(description.lines, vectors, strict=True):
                reinforced += self._write_line(clip, line, vector, description.model)
            for face, voice in description.equivalences:
                self._hint(clip.id, face.node_id, voice.node_id)
            if description.raw:
                self._write_unread(clip, description)
            failed = bool(description.error) or description.broken
            self._store.set_clip_state(clip.id, "description_failed" if failed else "described")
        reason = description.error or ("the model's answer could not be read" if description.broken else "")
        return DescribedClip(clip.id, tuple(self._store.render(text) for text in texts), reinforced, reason)

    def _write_line(self, clip: Clip, line: DescribedLine, vector: NDArray[np.float32], model: str) -> bool:
        """A known fact, and an event that goes on, gain weight instead of standing twice; whether it was so."""
        provenance = {"source": "model", "model": model, "mended": line.mended}
        if line.kind == "semantic":
            fact = self._facts.learn_from_model(self._heard(clip), line.text, provenance)
            if fact is not None:
                return not fact[1]
            for hit in self._store.search_node(
                vector=vector, kinds=["semantic"], k=3, threshold=self._same_fact
            ):
                if set(find_tags(hit.node.text)) == set(find_tags(line.text)):
                    return self._store.reinforce(hit.node.id, clip.id)
        elif not is_retold(line.text, self._heard(clip)):
            before = continued_event(self._store, clip, line.text, vector, self._same_event)
            if before is not None:
                return self._store.reinforce(before.id, clip.id)
        self._store.add_node(
            line.kind,
            line.text,
            clip_id=clip.id,
            start_utc_s=clip.start_utc_s,
            end_utc_s=clip.end_utc_s,
            provenance=provenance,
            vectors={"text": vector},
        )
        return False

    def _hint(self, clip_id: int, face_id: int, voice_id: int) -> None:
        """Note that the model takes a face and a voice for one person: a weak vote, which alone binds nobody."""
        if voice_id in self._store.cannot_links(face_id):
            self.counts["hints_refused"] += 1
            return
        self._store.add_edge(face_id, voice_id, "equivalence", detail="model")
        if self._store.weak_votes(face_id, voice_id, MET) < MOST_MODEL_VOTES:
            self.counts["hints"] += self._store.add_vote(face_id, voice_id, clip_id, MODEL_VOTE)

    def _write_unread(self, clip: Clip, description: Description) -> None:
        self._store.add_node(
            "episodic",
            "",
            clip_id=clip.id,
            start_utc_s=clip.start_utc_s,
            end_utc_s=clip.end_utc_s,
            provenance={
                "source": "model",
                "model": description.model,
                "broken": True,
                "raw": description.raw,
            },
        )

    def _count(self, description: Description) -> None:
        self.language_s += description.duration_s
        self.counts["clips"] += 1
        self.counts["asked"] += description.asked
        self.counts["failed"] += bool(description.error)
        self.counts["broken"] += description.broken
        self.counts["lines"] += len(description.lines)
        self.counts["dropped"] += sum(description.dropped.values())
        self.counts["hints_refused"] += description.dropped.get("equivalence", 0)
        if description.raw:
            self.counts["unread"] += 1
            log.warning(
                "A model's answer could not be read whole; so far %d could not.", self.counts["unread"]
            )
        self.counts["prompt_tokens"] += description.prompt_tokens
        self.counts["cached_tokens"] += description.cached_tokens
        self.counts["generated_tokens"] += description.generated_tokens
