"""Lets go of people met only once: seldom, and never by a clock that has just jumped (DESIGN section 4)."""

from __future__ import annotations

from dataclasses import dataclass

from memory_store.store import MemoryStore
from runtime.clips import ClipSpan
from runtime.media_files import MediaFiles, portrait_name

DAY_S = 86400.0
EVERY_CLIPS = 100
STEADY_CLIPS = (
    20  # this many clips within the hour before, since the clock last jumped, must agree about the time
)
STEADY_S = 3600.0


@dataclass(frozen=True)
class TentativePeople:
    """Forgets whoever was met in one clip only, `days` ago and more, and the oldest beyond `limit`."""

    store: MemoryStore
    files: MediaFiles
    days: float
    limit: int

    def after_clip(self, clip_id: int, span: ClipSpan) -> list[int]:
        """To be called after each clip is written; who was forgotten, by id. One transaction of its own."""
        if clip_id % EVERY_CLIPS or not self._clock_is_steady(span):
            return []
        faces = {person.id: person.face_ids for person in self.store.people() if person.tentative}
        with self.store.transaction():
            gone = self.store.expire_tentative(span.start_utc_s - self.days * DAY_S, self.limit)
        for person_id in gone:
            for face_id in faces.get(person_id, ()):
                self.files.delete(f"media/{portrait_name(face_id)}")
        return gone

    def _clock_is_steady(self, span: ClipSpan) -> bool:
        if not span.time_known:
            return False
        recent = self.store.clips(
            after_utc_s=span.start_utc_s - STEADY_S, before_utc_s=span.start_utc_s, limit=STEADY_CLIPS
        )
        stepped = self.store.last_clip_before_step()
        agree = [clip for clip in recent if clip.time_known and clip.id > stepped]
        return len(agree) >= STEADY_CLIPS
