"""Memories to back up, and their backups."""

from pathlib import Path

from memory_store.restore import Restored, restore
from runtime.forget import delete_files
from runtime.media_files import MediaFiles, keyframe_name, portrait_name
from tests.corrected_memory import three_people
from tests.memory_samples import add_clip, add_line, open_memory

NOW = 1_700_000_500.0


def bring_back(archive: Path, directory: Path, now_utc_s: float = NOW) -> Restored:
    return restore(
        archive, directory, lambda root, receipt: delete_files(MediaFiles(root), receipt), now_utc_s
    )


def backed_up(directory: Path, target: Path) -> Path:
    with open_memory(directory) as store:
        return store.back_up(target, NOW).path


def write_lines(directory: Path, *texts: str) -> None:
    with open_memory(directory) as store, store.transaction():
        for text in texts:
            add_line(store, text, add_clip(store, len(store.clips())), seed=len(text))


def texts_of(directory: Path) -> list[str]:
    with open_memory(directory) as store:
        assert store.check() == []
        return [node.text for node in store.nodes()]


def with_pictures(directory: Path) -> None:
    files = MediaFiles(directory)
    with open_memory(directory) as store:
        anna, *_ = three_people(store)
        files.write(portrait_name(anna.face), b"portrait")
        with store.transaction():
            for clip_id in (1, 2):
                file = files.write(keyframe_name(clip_id, 0), b"picture %d" % clip_id)
                provenance = {"source": "keyframe", "file": file.as_provenance()}
                store.add_node(
                    "image", "", clip_id=clip_id, start_utc_s=1, end_utc_s=1, provenance=provenance
                )


def files_of(memory: Path) -> dict[Path, bytes]:
    """What lies there, but for the empty log that reading a database leaves."""
    paths = [
        path for path in memory.rglob("*") if path.is_file() and path.suffix not in (".db-shm", ".db-wal")
    ]
    return {path: path.read_bytes() for path in paths}
