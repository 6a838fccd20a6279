"""Backup and restore: whole or not at all, under load, and beside a stale log."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory_store import (
    InvalidValue,
    MemoryStore,
    MemoryStoreError,
    StorageFull,
)
from memory_store.backup_file import read_manifest
from runtime.instance import only_instance
from runtime.media_files import MediaFiles, keyframe_name
from tests.backups import NOW, backed_up, bring_back, texts_of, with_pictures, write_lines
from tests.command_line import ROOT, called
from tests.corrected_memory import check_whole, state
from tests.disks import small_disk
from tests.memory_samples import add_clip, add_line, open_memory, unit

WRITER = """
import sys
from pathlib import Path
from tests.memory_samples import add_clip, add_line, open_memory

store = open_memory(Path(sys.argv[1]))
for number in range(len(store.clips()), 100_000):
    with store.transaction():
        clip_id = add_clip(store, number)
        for i in range(20):
            add_line(store, f"line {i} of clip {number}", clip_id, seed=i)
    print(clip_id, flush=True)
"""


def test_all_of_it_comes_back(tmp_path: Path) -> None:
    memory, other = tmp_path / "memory", tmp_path / "other"
    with_pictures(memory)
    with open_memory(memory) as store:
        done = store.back_up(tmp_path, NOW)
    assert done.path.name == "hearsight-20231114T222140Z.zip" and done.manifest.missing == ()
    assert done.path.stat().st_mode & 0o777 == 0o600
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    restored = bring_back(done.path, other)
    assert (restored.set_aside, restored.forgotten, restored.warning) == (None, (), "")
    assert state(other) == state(memory)
    assert restored.manifest.counts["nodes"] == len(state(memory)["nodes"])
    for path in (memory / "media").rglob("*.jpg"):
        assert (other / path.relative_to(memory)).read_bytes() == path.read_bytes()
    with open_memory(other) as store:
        check_whole(store, other)
        assert store.search_node(text="likes")
    with open_memory(memory) as store, pytest.raises(InvalidValue, match="exists already"):
        store.back_up(done.path, NOW)


def test_a_missing_picture_is_said(tmp_path: Path) -> None:
    with_pictures(tmp_path / "memory")
    files = MediaFiles(tmp_path / "memory")
    files.delete(f"media/{keyframe_name(1, 0)}")
    files.write(keyframe_name(2, 0), b"another picture")
    with open_memory(tmp_path / "memory") as store:
        done = store.back_up(tmp_path / "backup.zip", NOW)
    assert done.manifest.missing == (f"media/{keyframe_name(1, 0)}", f"media/{keyframe_name(2, 0)}")


def test_the_memory_before_is_kept_and_never_mixed_in(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    write_lines(memory, "old")
    archive = backed_up(memory, tmp_path / "backup.zip")
    write_lines(memory, "newer")
    (memory / "index").mkdir(exist_ok=True)
    (memory / "index" / "text.hnsw").write_bytes(b"of the memory before")
    restored = bring_back(archive, memory)
    assert restored.set_aside is not None and texts_of(memory) == ["old"]
    assert not (memory / "index" / "text.hnsw").exists()
    assert texts_of(restored.set_aside) == ["old", "newer"]
    assert sorted(path.name for path in memory.iterdir()) == ["memory.db", restored.set_aside.name]


@pytest.mark.parametrize("with_database", [True, False])
def test_a_log_of_another_database_does_not_meet_the_backup(tmp_path: Path, with_database: bool) -> None:
    memory, other = tmp_path / "memory", tmp_path / "other"
    write_lines(memory, "old")
    archive = backed_up(memory, tmp_path / "backup.zip")
    writer = open_memory(other)
    with writer, writer.transaction():
        for number in range(50):
            add_line(writer, f"other {number}", add_clip(writer, number), seed=number)
    with open_memory(other) as store:
        with store.transaction():
            add_line(store, "in the log", add_clip(store, 100), seed=100)
        for suffix in ("-wal", "-shm"):
            shutil.copyfile(other / f"memory.db{suffix}", memory / f"memory.db{suffix}")
    assert (memory / "memory.db-wal").stat().st_size > 4096
    if not with_database:
        (memory / "memory.db").unlink()
    restored = bring_back(archive, memory)
    assert texts_of(memory) == ["old"]
    assert restored.set_aside is not None and (restored.set_aside / "memory.db-wal").exists()


def test_backups_under_load(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    open_memory(memory).close()
    command = [sys.executable, "-c", WRITER, str(memory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for turn in range(3):
            acknowledged = [int(writer.stdout.readline()) for _ in range(10)]
            archive = backed_up(memory, tmp_path / f"{turn}.zip")
            bring_back(archive, tmp_path / f"restored {turn}")
            with open_memory(tmp_path / f"restored {turn}") as store:
                clips = [clip.id for clip in store.clips()]
                assert set(acknowledged) <= set(clips)
                assert len(store.nodes()) == 20 * len(clips) and store.check() == []
                assert len(store.search_node(vector=unit(3), clip_id=clips[-1], k=50, threshold=-1)) == 20
        assert writer.poll() is None, "the writer was not disturbed"
        writer.kill()


def test_a_full_disk_leaves_no_half_backup(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    write_lines(memory, *(f"{number} " * 400 for number in range(400)))
    with small_disk(tmp_path / "disk", 256) as disk:
        with (
            open_memory(memory) as store,
            pytest.raises(StorageFull, match=r"no space left.*free some space"),
        ):
            store.back_up(disk, NOW)
        assert list(disk.iterdir()) == []
        archive = backed_up(memory, tmp_path / "backup.zip")
        with pytest.raises(StorageFull, match="no space left"):
            bring_back(archive, disk / "memory")
        assert not (disk / "memory" / "memory.db").exists()


def test_through_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = tmp_path / "memory"
    write_lines(memory, "The keys are in the blue bowl.")
    made = called(capsys, "backup", tmp_path / "b.zip", "--data-dir", memory, "--json").json
    assert (made["counts"]["nodes"], made["missing_media"]) == (1, [])
    with only_instance(memory):
        assert (
            f"process {os.getpid()}"
            in called(capsys, "restore", tmp_path / "b.zip", "--data-dir", memory).errors
        )
    assert "no file" in called(capsys, "restore", tmp_path / "c.zip", "--data-dir", memory).errors
    done = called(capsys, "restore", tmp_path / "b.zip", "--data-dir", memory, "--json").json
    assert Path(done["set_aside"]).is_dir() and done["forgotten_again"] == []
    assert texts_of(memory) == ["The keys are in the blue bowl."]


def test_a_manifest_is_read_without_a_memory(tmp_path: Path) -> None:
    write_lines(tmp_path / "memory", "one")
    manifest = read_manifest(backed_up(tmp_path / "memory", tmp_path / "b.zip"))
    assert manifest.counts["clips"] == 1 and manifest.files[0].path == "memory.db"
    with (
        MemoryStore.open(tmp_path / "memory", []) as store,
        pytest.raises(MemoryStoreError, match="cannot write"),
    ):
        store.back_up(tmp_path / "nowhere" / "b.zip", NOW)
