"""A memory that may not be written can still be read, whatever its log holds; each write is refused in one sentence."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
import sqlite_utils

from memory_store import DatabaseBusy, MemoryStore, ReadOnlyStorage
from memory_store.database import Database
from memory_store.directory_lock import DirectoryLock
from memory_store.migrations import migrations
from tests.command_line import called
from tests.disks import read_only_disk, without_rights
from tests.memory_samples import SPACES, add_clip, add_line, open_memory, unit


def _remember(directory: Path, *texts: str) -> None:
    with open_memory(directory) as store, store.transaction():
        for number, text in enumerate(texts):
            add_line(store, text, add_clip(store, len(store.clips())), seed=number)


def _leave_a_log(directory: Path, tmp_path: Path) -> None:
    """The files as a process that was killed leaves them: the newest memories in the log alone."""
    with open_memory(directory) as store:
        with store.transaction():
            add_line(store, "in the log", add_clip(store, 100), seed=100)
        shutil.copytree(directory, tmp_path / "killed")
    shutil.rmtree(directory)
    (tmp_path / "killed").rename(directory)
    (directory / "memory.db-shm").unlink()
    assert (directory / "memory.db-wal").stat().st_size


def _check_reading(store: MemoryStore, texts: list[str]) -> None:
    assert store.read_only
    assert [node.text for node in store.nodes()] == texts
    assert {hit.node.text for hit in store.search_node(text=texts[-1])} >= {texts[-1]}
    assert store.search_node(vector=unit(0), k=1)[0].node.text == texts[0]
    assert store.timeline() and store.stats()["nodes"] == len(texts) and store.check() == []
    with pytest.raises(ReadOnlyStorage, match=r"memory\.db can only be read here"), store.transaction():
        raise AssertionError("never reached")


def test_a_directory_of_somebody_else_is_read(tmp_path: Path) -> None:
    directory = tmp_path / "memory"
    _remember(directory, "first", "second")
    with without_rights(directory):
        with open_memory(directory) as store:
            _check_reading(store, ["first", "second"])
        with pytest.raises(ReadOnlyStorage, match="another directory"):
            open_memory(directory / "new")


def test_a_log_on_a_read_only_disk_is_read_too(tmp_path: Path) -> None:
    directory = tmp_path / "memory"
    _remember(directory, "first", "second")
    _leave_a_log(directory, tmp_path)
    before = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    with read_only_disk(directory), open_memory(directory) as store:
        _check_reading(store, ["first", "second", "in the log"])
        assert store.back_up(tmp_path / "backup.zip", 0.0).manifest.counts["nodes"] == 3
        assert store.verify() == []
    assert {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()} == before


def test_somebody_else_reads_while_its_owner_writes(tmp_path: Path) -> None:
    directory = tmp_path / "memory"
    _remember(directory, "first")
    with open_memory(directory) as owner:
        with owner.transaction():
            add_line(owner, "second", add_clip(owner, 5))
        os.chmod(directory / "memory.db-shm", 0o644)
        with without_rights(directory):
            reader = open_memory(directory)
        try:
            with owner.transaction():
                add_line(owner, "third", add_clip(owner, 6))
            assert [node.text for node in reader.nodes()] == ["first", "second", "third"]
            with pytest.raises(ReadOnlyStorage), reader.transaction():
                add_clip(reader, 7)
        finally:
            reader.close()


def test_commands_on_a_read_only_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "memory"
    _remember(directory, "The keys are in the blue bowl.")
    with read_only_disk(directory):
        for verb in (("timeline",), ("memory", "list")):
            done = called(capsys, *verb, "--data-dir", directory)
            assert (done.status, done.errors) == (0, ""), verb
            assert "blue bowl" in done.output
        done = called(capsys, "people", "undo", "--data-dir", directory)
        assert (
            done.status == 1 and "can only be read here" in done.errors and len(done.errors.splitlines()) == 1
        )


def test_an_older_schema_on_a_read_only_disk(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "memory.db")
    migrations.apply(sqlite_utils.Database(connection), stop_before="m002_corrections")
    connection.close()
    with pytest.raises(ReadOnlyStorage, match="older Hearsight"):
        Database.open_read_only(tmp_path / "memory.db")


def test_who_has_the_directory_alone_is_waited_for(tmp_path: Path) -> None:
    with open_memory(tmp_path), pytest.raises(DatabaseBusy, match="in use by another"):
        DirectoryLock(tmp_path, alone=True, timeout_s=0.1)
    with DirectoryLock(tmp_path, alone=True), pytest.raises(DatabaseBusy, match="restored or repaired"):
        MemoryStore.open(tmp_path, SPACES, busy_timeout_s=0.1)
    open_memory(tmp_path).close()
