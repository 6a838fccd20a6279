"""Writes one perceived clip into the memory, whole or not at all: identities, grounded lines, facts, pictures.

The lines of a language model come later and from elsewhere (runtime/describe_service.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivers.sound_file import encode_flac
from memory_store.store import MemoryStore
from models.keyframes import encode_jpeg
from runtime.clips import ClipEnd, ClipSpan
from runtime.clock_steps import ClockSteps
from runtime.face_identity import SeenFace
from runtime.facts import FactLearner
from runtime.grounded import GroundedLine, grounded_lines, is_quiet
from runtime.hear import SAMPLE_RATE_HZ, Hearing
from runtime.identify import Identified, Identifier
from runtime.media_files import MediaFiles, keyframe_name, portrait_name, sound_name
from runtime.names import learn_names, provenance_of_names
from runtime.object_claims import claim_objects
from runtime.object_memory import ObjectMemory
from runtime.object_scene import ClipObjects
from runtime.object_views import Keyframe
from runtime.see import Sight
from runtime.tentative import TentativePeople


@dataclass(frozen=True)
class MemorizedClip:
    """What one clip left behind. `lines`: (media start, media end, text with current names)."""

    clip_id: int
    span: ClipSpan
    lines: tuple[tuple[float, float, str], ...]
    quiet: bool
    unsure: int


class Memorizer:
    """One clip, one transaction: after a power cut the clip is there whole, or is perceived again."""

    def __init__(
        self,
        store: MemoryStore,
        identifier: Identifier,
        files: MediaFiles,
        embed_passage: Callable[[Sequence[str]], NDArray[np.float32]],
        *,
        place: str,
        boot_id: str,
        describes: bool,
        keeps_sound: bool,
        tentative: TentativePeople,
        facts: FactLearner,
        objects: ObjectMemory | None = None,
        clock_steps: ClockSteps | None = None,
    ) -> None:
        self._store = store
        self._identifier = identifier
        self._files = files
        self._embed_passage = embed_passage
        self._place = place
        self._boot_id = boot_id
        self._describes = describes
        self._keeps_sound = keeps_sound
        self._tentative = tentative
        self._facts = facts
        self._objects = objects
        self._clock_steps = clock_steps

    def memorize(self, end: ClipEnd, sight: Sight, hearing: Hearing) -> MemorizedClip | None:
        """Write the clip; None when it was remembered before, and then nothing changes."""
        span = end.clip
        if self._store.find_clip(span.key) is not None:
            return None
        with self._store.transaction():
            clip_id = self._add_clip(end, hearing)
            who = self._identifier.identify(clip_id, span, sight, hearing)
            things = self._things(span, sight, who)
            quiet = is_quiet(who, sight.changed) and not things.news
            if self._objects is not None and not quiet:
                self._objects.write(clip_id, span, things)
            lines = [] if quiet else grounded_lines(who, sight.keyframes) + things.lines
            stored = self._add_lines(clip_id, span, claim_objects(self._store, lines, things.placed))
            learn_names(self._store, clip_id, stored)
            self._facts.learn(stored)
            if not quiet:
                self._add_keyframes(clip_id, span, sight.keyframes, things)
            self._add_portraits(who)
            if self._keeps_sound and hearing.speech:
                self._files.write(sound_name(clip_id), encode_flac(hearing.samples, SAMPLE_RATE_HZ))
            if quiet or not lines or not self._describes:
                self._store.set_clip_state(clip_id, "described")
        if self._clock_steps is not None:
            self._clock_steps.after_clip(span)
        self._tentative.after_clip(clip_id, span)
        if self._objects is not None:
            self._objects.after_clip(clip_id, span)
        told = tuple((line.start_s, line.end_s, self._store.render(line.text)) for line in lines)
        unsure = sum(face.face_id is None for face in who.faces) + sum(
            one.actor_id is None for one in who.speech
        )
        return MemorizedClip(clip_id, span, told, quiet, unsure)

    def _add_clip(self, end: ClipEnd, hearing: Hearing) -> int:
        span = end.clip
        return self._store.add_clip(
            source_key=span.key,
            source_name=span.source_name,
            boot_id=self._boot_id,
            media_start_s=span.media_start_s,
            media_end_s=span.media_end_s,
            start_utc_s=span.start_utc_s,
            end_utc_s=span.end_utc_s,
            time_known=span.time_known,
            place=self._place,
            has_video=end.had_video,
            has_audio=end.had_audio,
            dropped_frames=end.dropped_frames,
            audio_gap_s=hearing.gap_s,
        )

    def _add_lines(
        self, clip_id: int, span: ClipSpan, lines: list[GroundedLine]
    ) -> list[tuple[int, GroundedLine]]:
        """Write the lines, or let events of the clip before go on; each with the id of its node."""
        stored: list[tuple[int, GroundedLine]] = []
        new: list[GroundedLine] = []
        for line in lines:
            times = span.utc_s(line.start_s), span.utc_s(line.end_s)
            same = (
                self._store.continue_event(clip_id, line.text, line.event, *times) if line.goes_on else None
            )
            if same is None:
                new.append(line)
            else:
                stored.append((same, line))
        vectors = self._embed_passage([line.meaning for line in new]) if new else ()
        for line, vector in zip(new, vectors, strict=True):
            stored.append((self._add_line(clip_id, span, line, vector), line))
        return sorted(stored, key=lambda item: (item[1].start_s, item[1].end_s, item[1].text))

    def _add_line(self, clip_id: int, span: ClipSpan, line: GroundedLine, vector: NDArray[np.float32]) -> int:
        node_id = self._store.add_node(
            "episodic",
            line.text,
            clip_id=clip_id,
            start_utc_s=span.utc_s(line.start_s),
            end_utc_s=span.utc_s(line.end_s),
            provenance={
                "source": "grounded",
                "event": line.event,
                "media_s": [round(line.start_s, 3), round(line.end_s, 3)],
                **line.provenance,
                **provenance_of_names(line),
            },
            vectors={"text": vector, **line.vectors},
        )
        for target, detail in (*((actor, "actor") for actor in line.actors), *line.mentions):
            self._store.add_edge(node_id, target, "mentions", detail=detail)
        self._store.order_event(node_id)
        return node_id

    def _things(self, span: ClipSpan, sight: Sight, who: Identified) -> ClipObjects:
        if self._objects is None:
            return ClipObjects()
        return self._objects.scene.see(span, sight.keyframes, who.faces)

    def _add_keyframes(
        self, clip_id: int, span: ClipSpan, keyframes: tuple[Keyframe, ...], things: ClipObjects
    ) -> None:
        for number, keyframe in enumerate(keyframes):
            file = self._files.write(keyframe_name(clip_id, number), keyframe.jpeg)
            moment = span.utc_s(keyframe.time_s)
            shown = self._objects.picture_provenance(number, things) if self._objects is not None else {}
            look = {} if self._objects is None or keyframe.vector is None else {"image": keyframe.vector}
            image_id = self._store.add_node(
                "image",
                "",
                clip_id=clip_id,
                start_utc_s=moment,
                end_utc_s=moment,
                provenance={"source": "keyframe", "file": file.as_provenance(), **shown},
                vectors=look,
            )
            if self._objects is not None:
                self._objects.link_picture(number, image_id, moment, things)

    def _add_portraits(self, who: Identified) -> None:
        """One picture of each new face, so that residents can tell who is meant."""
        for face in who.faces:
            if face.verdict == "new" and face.face_id is not None:
                self._files.write(portrait_name(face.face_id), encode_jpeg(_best_crop(face)))


def _best_crop(face: SeenFace) -> NDArray[np.uint8]:
    return max(face.track.views, key=lambda view: view.quality.sharpness).crop
