"""Backup and restore: whole or not at all, under load, beside a stale log, and without whoever was forgotten since."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_store import (
    BackupUnusable,
    InvalidValue,
    MemoryStore,
    MemoryStoreError,
    NewerSchema,
    StorageFull,
    switch,
)
from memory_store.backup_file import read_manifest
from memory_store.restore import Restored, restore
from runtime.forget import delete_files, forget_person
from runtime.instance import only_instance
from runtime.media_files import MediaFiles, keyframe_name, portrait_name
from tests.command_line import ROOT, called
from tests.corrected_memory import check_whole, state, three_people
from tests.disks import small_disk
from tests.memory_samples import add_clip, add_line, open_memory, unit
from tests.test_forget import NAME, SECRET, _everything, _remember

NOW = 1_700_000_500.0
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
RESTORER = """
import sys
from pathlib import Path
from memory_store.restore import restore

print("begins", flush=True)
restore(Path(sys.argv[1]), Path(sys.argv[2]), lambda root, receipt: None, float(sys.argv[3]))
print("done", flush=True)
"""


def _restore(archive: Path, directory: Path, now_utc_s: float = NOW) -> Restored:
    return restore(
        archive, directory, lambda root, receipt: delete_files(MediaFiles(root), receipt), now_utc_s
    )


def _back_up(directory: Path, target: Path) -> Path:
    with open_memory(directory) as store:
        return store.back_up(target, NOW).path


def _write(directory: Path, *texts: str) -> None:
    with open_memory(directory) as store, store.transaction():
        for text in texts:
            add_line(store, text, add_clip(store, len(store.clips())), seed=len(text))


def _texts(directory: Path) -> list[str]:
    with open_memory(directory) as store:
        assert store.check() == []
        return [node.text for node in store.nodes()]


def _with_pictures(directory: Path) -> None:
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


def test_all_of_it_comes_back(tmp_path: Path) -> None:
    memory, other = tmp_path / "memory", tmp_path / "other"
    _with_pictures(memory)
    with open_memory(memory) as store:
        done = store.back_up(tmp_path, NOW)
    assert done.path.name == "hearsight-20231114T222140Z.zip" and done.manifest.missing == ()
    assert done.path.stat().st_mode & 0o777 == 0o600
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    restored = _restore(done.path, other)
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
    _with_pictures(tmp_path / "memory")
    files = MediaFiles(tmp_path / "memory")
    files.delete(f"media/{keyframe_name(1, 0)}")
    files.write(keyframe_name(2, 0), b"another picture")
    with open_memory(tmp_path / "memory") as store:
        done = store.back_up(tmp_path / "backup.zip", NOW)
    assert done.manifest.missing == (f"media/{keyframe_name(1, 0)}", f"media/{keyframe_name(2, 0)}")


def test_the_memory_before_is_kept_and_never_mixed_in(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    _write(memory, "old")
    archive = _back_up(memory, tmp_path / "backup.zip")
    _write(memory, "newer")
    (memory / "index").mkdir(exist_ok=True)
    (memory / "index" / "text.hnsw").write_bytes(b"of the memory before")
    restored = _restore(archive, memory)
    assert restored.set_aside is not None and _texts(memory) == ["old"]
    assert not (memory / "index" / "text.hnsw").exists()
    assert _texts(restored.set_aside) == ["old", "newer"]
    assert sorted(path.name for path in memory.iterdir()) == ["memory.db", restored.set_aside.name]


@pytest.mark.parametrize("with_database", [True, False])
def test_a_log_of_another_database_does_not_meet_the_backup(tmp_path: Path, with_database: bool) -> None:
    memory, other = tmp_path / "memory", tmp_path / "other"
    _write(memory, "old")
    archive = _back_up(memory, tmp_path / "backup.zip")
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
    restored = _restore(archive, memory)
    assert _texts(memory) == ["old"]
    assert restored.set_aside is not None and (restored.set_aside / "memory.db-wal").exists()


def test_backups_under_load(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    open_memory(memory).close()
    command = [sys.executable, "-c", WRITER, str(memory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for turn in range(3):
            acknowledged = [int(writer.stdout.readline()) for _ in range(10)]
            archive = _back_up(memory, tmp_path / f"{turn}.zip")
            _restore(archive, tmp_path / f"restored {turn}")
            with open_memory(tmp_path / f"restored {turn}") as store:
                clips = [clip.id for clip in store.clips()]
                assert set(acknowledged) <= set(clips)
                assert len(store.nodes()) == 20 * len(clips) and store.check() == []
                assert len(store.search_node(vector=unit(3), clip_id=clips[-1], k=50, threshold=-1)) == 20
        assert writer.poll() is None, "the writer was not disturbed"
        writer.kill()


def _files(memory: Path) -> dict[Path, bytes]:
    """What lies there, but for the empty log that reading a database leaves."""
    paths = [
        path for path in memory.rglob("*") if path.is_file() and path.suffix not in (".db-shm", ".db-wal")
    ]
    return {path: path.read_bytes() for path in paths}


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def _rewrite(path: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _escape(members: dict[str, bytes]) -> None:
    name = next(name for name in members if name.startswith("media/"))
    members["media/../../evil.jpg"] = members.pop(name)
    members["manifest.json"] = members["manifest.json"].replace(name.encode(), b"media/../../evil.jpg")


def _other_manifest(old: bytes, new: bytes) -> Callable[[Path], object]:
    def change(members: dict[str, bytes]) -> None:
        assert old in members["manifest.json"]
        members["manifest.json"] = members["manifest.json"].replace(old, new, 1)

    return lambda path: _rewrite(path, change)


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _flip,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"Milk, bread, eggs\n" * 100),
        lambda path: _rewrite(path, lambda members: members.update({"media/more.jpg": b"x"})),
        lambda path: _rewrite(path, lambda members: members.pop("manifest.json")),
        lambda path: _rewrite(path, lambda members: members.pop("memory.db")),
        lambda path: _rewrite(
            path, lambda members: members.update({"memory.db": members["memory.db"][:-1] + b"x"})
        ),
        lambda path: _rewrite(path, _escape),
        _other_manifest(b'"format": 1', b'"format": 2'),
        _other_manifest(b'"sha256": "', b'"sha256": "0'),
        _other_manifest(b'"clips": 9', b'"clips": 8'),
        _other_manifest(b'"m001_schema"', b'"m999_schema"'),
    ],
)
def test_a_damaged_backup_is_refused_and_nothing_is_touched(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    memory = tmp_path / "memory"
    _with_pictures(memory)
    archive = _back_up(memory, tmp_path / "backup.zip")
    _write(memory, "newer")
    before = _files(memory)
    damage(archive)
    with pytest.raises((BackupUnusable, NewerSchema), match="backup") as refusal:
        _restore(archive, memory)
    assert len(str(refusal.value).splitlines()) == 1
    assert _files(memory) == before
    assert not (tmp_path.parent / "evil.jpg").exists()


def test_who_was_forgotten_does_not_come_back(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    files = MediaFiles(memory)
    with open_memory(memory) as store:
        anna, bob, lines = _remember(store, files)
        archive = store.back_up(tmp_path / "backup.zip", NOW).path
        with store.transaction():
            later = add_line(store, "after the backup", add_clip(store, 200))
        forget_person(store, files, anna.person)
    stones = (memory / "forgotten.jsonl").read_text(encoding="utf-8")
    assert NAME not in stones and SECRET not in stones and "Wilma" not in stones
    restored = _restore(archive, memory)
    assert restored.set_aside is not None and len(restored.forgotten) == 1
    shutil.rmtree(restored.set_aside)
    needles = (SECRET.encode(), NAME.encode(), b"Wilma", b"wilma", b"heron", b"portrait of anna")
    for needle in needles:
        assert needle not in _everything(memory), needle
    with open_memory(memory) as store:
        check_whole(store, memory)
        assert store.node(lines["gift"]).text == f"Somebody gave <face_{bob.face}> a lamp."
        assert store.node(lines["other"]).text == "It rained on Monday."
        with store.transaction():
            assert add_line(store, "new", add_clip(store, 300)) > later, "an id is never given twice"
    again = _restore(archive, memory)
    assert again.forgotten and again.set_aside is not None, "also the second time, in the same second"
    assert NAME.encode() not in (memory / "memory.db").read_bytes()


@pytest.mark.parametrize("harm", [lambda path: path.unlink(), lambda path: path.write_bytes(b"\xff" * 9000)])
def test_nor_when_the_memory_that_forgot_is_lost(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    memory = tmp_path / "memory"
    with open_memory(memory) as store:
        anna, *_ = _remember(store, MediaFiles(memory))
        archive = store.back_up(tmp_path / "backup.zip", NOW).path
        forget_person(store, MediaFiles(memory), anna.person)
    harm(memory / "memory.db")
    restored = _restore(archive, memory)
    assert len(restored.forgotten) == 1
    assert NAME.encode() not in (memory / "memory.db").read_bytes()
    with open_memory(memory) as store:
        check_whole(store, memory)


def test_a_name_that_was_learned_after_the_backup(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    with open_memory(memory) as store:
        anna, bob, _ = three_people(store)
        with store.transaction():
            clip_id = add_clip(store, 60)
            line = add_line(store, f'<voice_{bob.voice}> says: "Thank you, {NAME}"', clip_id)
            other = add_line(store, f'<voice_{bob.voice}> says: "Good evening"', clip_id)
            store.add_edge(line, bob.voice, "mentions", detail="actor")
        archive = store.back_up(tmp_path / "backup.zip", NOW).path
        with store.transaction():
            store.name_person(anna.person, NAME, source="resident")
        forget_person(store, MediaFiles(memory), anna.person)
        assert "somebody" in store.node(line).text
    (receipt,) = _restore(archive, memory).forgotten
    assert receipt.counts["lines_not_retold"] == 1
    assert NAME.encode() not in (memory / "memory.db").read_bytes()
    with open_memory(memory) as store:
        check_whole(store, memory)
        assert store.node(other).text.endswith('"Good evening"')


def test_a_line_that_has_changed_since_stays_for_those_who_share_it(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    with open_memory(memory) as store:
        anna, bob, lines = _remember(store, MediaFiles(memory))
        archive = store.back_up(tmp_path / "backup.zip", NOW).path
        with store.transaction():
            sql = "UPDATE nodes SET provenance = json_set(provenance, '$.seen', 2) WHERE id = ?"
            store._database.write(sql, (lines["gift"],))
        forget_person(store, MediaFiles(memory), anna.person)
    (receipt,) = _restore(archive, memory).forgotten
    assert receipt.counts["lines_not_retold"] == 0
    with open_memory(memory) as store:
        assert store.node(lines["gift"]).text == f"Somebody gave <face_{bob.face}> a lamp."


def test_a_backup_of_another_memory_is_not_touched_by_these_tombstones(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for directory in (one, two):
        with open_memory(directory) as store:
            three_people(store)
    archive = _back_up(two, tmp_path / "two.zip")
    with open_memory(one) as store:
        forget_person(store, MediaFiles(one), 1)
    restored = _restore(archive, one)
    assert restored.forgotten == () and state(one) == state(two)


def test_recordings_named_after_somebody(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store:
        anna, *_ = three_people(store)
        names = {"Wilhelmina_Quux_birthday.mp4": "somebody_birthday.mp4", "quuxotic.mp4": "quuxotic.mp4"}
        with store.transaction():
            store.name_person(anna.person, NAME, source="resident")
            ids = [
                store.add_clip(source_key=name, source_name=name, start_utc_s=1, end_utc_s=2)
                for name in names
            ]
        done = forget_person(store, MediaFiles(tmp_path), anna.person)
        assert [store.clip(clip_id).source_name for clip_id in ids] == list(names.values())
        assert done.counts["recording_names"] == 1


def test_a_full_disk_leaves_no_half_backup(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    _write(memory, *(f"{number} " * 400 for number in range(400)))
    with small_disk(tmp_path / "disk", 256) as disk:
        with (
            open_memory(memory) as store,
            pytest.raises(StorageFull, match=r"no space left.*free some space"),
        ):
            store.back_up(disk, NOW)
        assert list(disk.iterdir()) == []
        archive = _back_up(memory, tmp_path / "backup.zip")
        with pytest.raises(StorageFull, match="no space left"):
            _restore(archive, disk / "memory")
        assert not (disk / "memory" / "memory.db").exists()


def test_through_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = tmp_path / "memory"
    _write(memory, "The keys are in the blue bowl.")
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
    assert _texts(memory) == ["The keys are in the blue bowl."]


@pytest.mark.soak
def test_killed_at_any_moment_a_restore_is_done_or_not(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    _with_pictures(memory)
    archive = _back_up(memory, tmp_path / "backup.zip")
    with sqlite3.connect(memory / "memory.db") as connection:
        nodes = connection.execute("SELECT count(*) FROM nodes").fetchone()[0]
    connection.close()
    moments, seen = random.Random(2), {"before": 0, "after": 0, "switching": 0}
    for turn in range(60):
        _write(memory, f"only before {turn}")
        with open_memory(memory) as store:
            before = len(store.nodes())
        command = [sys.executable, "-c", RESTORER, str(archive), str(memory), str(NOW + turn)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline()
            time.sleep(moments.uniform(0.0, 0.4))
            process.send_signal(signal.SIGKILL)
        seen["switching"] += (memory / "switch.json").exists()
        with open_memory(memory) as store:
            assert store.check() == [] and len(store.nodes()) in (before, nodes)
            seen["after" if len(store.nodes()) == nodes else "before"] += 1
        assert not (memory / "switch.json").exists()
        for path in (memory / "media").rglob("*.jpg"):
            assert path.stat().st_size
        for path in memory.glob("replaced-*"):
            shutil.rmtree(path)
    assert seen["before"] and seen["after"], seen


def test_an_interrupted_switch_is_carried_to_its_end(tmp_path: Path) -> None:
    """After each of the renames that a switch consists of."""
    steps = [("memory.db", "aside"), ("media", "aside"), ("memory.db", "in"), ("media", "in")]
    for done in range(len(steps) + 1):
        memory, new = tmp_path / str(done) / "memory", tmp_path / str(done) / "new"
        for directory, word in ((memory, "before"), (new, "after")):
            _write(directory, word)
            MediaFiles(directory).write(portrait_name(1), word.encode())
        new.rename(memory / switch.PREPARED)
        (memory / "switch.json").write_text('{"aside": "replaced-x", "new": ["memory.db", "media"], '
                                            '"old": ["memory.db", "memory.db-wal", "media"]}')  # fmt: skip
        (memory / "replaced-x").mkdir()
        for name, way in steps[:done]:
            source, target = (
                (memory, memory / "replaced-x") if way == "aside" else (memory / "prepared", memory)
            )
            (source / name).rename(target / name)
        assert _texts(memory) == ["after"]
        assert MediaFiles(memory).find(portrait_name(1)) == b"after"
        assert _texts(memory / "replaced-x") == ["before"]
        assert not (memory / "prepared").exists() and not (memory / "switch.json").exists()


def test_a_manifest_is_read_without_a_memory(tmp_path: Path) -> None:
    _write(tmp_path / "memory", "one")
    manifest = read_manifest(_back_up(tmp_path / "memory", tmp_path / "b.zip"))
    assert manifest.counts["clips"] == 1 and manifest.files[0].path == "memory.db"
    with (
        MemoryStore.open(tmp_path / "memory", []) as store,
        pytest.raises(MemoryStoreError, match="cannot write"),
    ):
        store.back_up(tmp_path / "nowhere" / "b.zip", NOW)
