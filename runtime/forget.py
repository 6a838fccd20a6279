"""Forgets a person: the rows by the memory store, then the files that showed or let hear them."""

from __future__ import annotations

from dataclasses import dataclass

from memory_store.records import ForgetReceipt
from memory_store.store import MemoryStore
from runtime.media_files import MediaFiles, portrait_name, sound_name


@dataclass(frozen=True)
class Forgotten:
    """The receipt of the rows, and how many files of each kind went."""

    rows: ForgetReceipt
    files: dict[str, int]

    @property
    def counts(self) -> dict[str, int]:
        """All counts by what they were."""
        return {**self.rows.counts, **self.files}


def forget_person(store: MemoryStore, files: MediaFiles, person_id: int) -> Forgotten:
    """Forget a person for good. Raises UnknownId, or MediaFileError when a file cannot be deleted."""
    rows = store.forget_person(person_id)
    return Forgotten(rows, delete_files(files, rows))


def delete_files(files: MediaFiles, rows: ForgetReceipt) -> dict[str, int]:
    """Delete the files that showed or let hear somebody; how many of each kind. Raises MediaFileError."""
    paths = {
        "portrait_files": [f"media/{portrait_name(face)}" for face in rows.face_ids],
        "picture_files": list(rows.files),
        "sound_files": [f"media/{sound_name(clip)}" for clip in rows.sound_clip_ids],
    }
    return {kind: sum(files.delete(path) for path in named) for kind, named in paths.items()}
