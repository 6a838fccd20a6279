"""The database file: power cuts, full disks, foreign files, other schemas, other processes."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlite_utils

from memory_store import (
    DatabaseBusy,
    DatabaseUnusable,
    MemoryStore,
    NewerSchema,
    ReadOnlyStorage,
    StorageFull,
)
from memory_store.database import Database
from memory_store.migrations import migrations
from tests.memory_samples import SPACES, add_clip, add_line, open_memory

NODES_A_CLIP = 20
# Imports once, then for each line on its input forks a writer that goes on until it is killed.
WRITERS = f"""
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tests.memory_samples import add_clip, add_line, open_memory

def write() -> None:
    store = open_memory(Path(sys.argv[1]))
    first = len(store.clips())
    for number in range(first, first + 10_000):
        with store.transaction():
            clip_id = add_clip(store, number)
            ids = [add_line(store, f"line {{i}} of clip {{number}}", clip_id, seed=i) for i in range({NODES_A_CLIP})]
            for left, right in zip(ids, ids[1:]):
                store.add_edge(left, right, "temporal")
        print(clip_id, flush=True)

for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        write()
    print(f"pid {{child}}", flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that starts writers on the memory in tmp_path."""
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", WRITERS, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def start_writer(writers: subprocess.Popen[str]) -> int:
    """The process id of a new writer."""
    assert writers.stdin is not None
    writers.stdin.write("\n")
    writers.stdin.flush()
    (pid,) = [
        int(line.removeprefix("pid ")) for line in read_until(writers, "pid ") if line.startswith("pid ")
    ]
    return pid


def read_until(writers: subprocess.Popen[str], word: str) -> list[str]:
    """The lines of output up to and with the one that starts with a word."""
    assert writers.stdout is not None
    lines = [writers.stdout.readline()]
    while lines[-1] and not lines[-1].startswith(word):
        lines.append(writers.stdout.readline())
    return lines


def test_two_processes_write_in_turn(tmp_path: Path, writers: subprocess.Popen[str]) -> None:
    with open_memory(tmp_path) as store:
        with store.transaction():
            add_line(store, "from here", add_clip(store, 1_000_000))
        pid = start_writer(writers)
        assert writers.stdout is not None
        for number in range(10):
            clip_id = int(writers.stdout.readline())
            assert len(store.nodes(clip_id=clip_id)) == NODES_A_CLIP
            with store.transaction():
                add_line(store, "from here", add_clip(store, 2_000_000 + number))
        os.kill(pid, signal.SIGKILL)
        read_until(writers, "gone")
        assert len(store.search_node(text="from here", k=50)) == 11
        assert store.check() == []


def test_a_writer_that_waits_too_long_says_so(tmp_path: Path) -> None:
    with open_memory(tmp_path) as one, MemoryStore.open(tmp_path, SPACES, busy_timeout_s=0.05) as two:
        with one.transaction():
            add_clip(one, 0)
            assert two.clips() == []  # a reader is never held up, and sees what is committed
            with pytest.raises(DatabaseBusy, match=r"memory\.db.*another process"), two.transaction():
                raise AssertionError("never reached")
        with two.transaction():
            add_clip(two, 1)
        assert len(one.clips()) == 2


def test_a_full_disk_keeps_what_was_there(tmp_path: Path) -> None:
    database = Database.open(tmp_path / "memory.db")
    with MemoryStore(database, [], {}) as store:
        with store.transaction():
            add_line(store, "remembered", add_clip(store, 0))
        (pages,) = database.rows("PRAGMA page_count")
        database.rows(f"PRAGMA max_page_count = {pages[0] + 5}")
        with pytest.raises(StorageFull, match=r"memory\.db.*free some space"), store.transaction():
            clip_id = add_clip(store, 1)
            for i in range(1000):
                add_line(store, f"{i} " * 100, clip_id)
        assert [node.text for node in store.nodes()] == ["remembered"]
        database.rows("PRAGMA max_page_count = 100000")
        with store.transaction():
            add_line(store, "more", add_clip(store, 1))
        assert store.check() == []


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 8192, b"not a database, " * 1000, b"SQLite format 3\x00" + b"\xff" * 9000]
)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "memory.db").write_bytes(content)
    if not content:  # SQLite leaves a file of zero bytes when it is cut off right after creating it
        with open_memory(tmp_path) as store:
            assert store.clips() == []
        return
    with pytest.raises(DatabaseUnusable, match=r"memory\.db.*(move|restore)"):
        open_memory(tmp_path)
    assert (tmp_path / "memory.db").read_bytes() == content


def test_a_database_of_another_program(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "memory.db") as other:
        other.execute("CREATE TABLE clips (id INTEGER)")
    other.close()
    with pytest.raises(DatabaseUnusable, match="another program"):
        open_memory(tmp_path)


def test_a_damaged_page_is_found(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store, store.transaction():
        clip_id = add_clip(store, 0)
        for i in range(200):
            add_line(store, f"line {i}", clip_id, seed=i)
    file = tmp_path / "memory.db"
    data = bytearray(file.read_bytes())
    for page in range(4, len(data) // 4096, 2):
        data[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    file.write_bytes(data)
    with (
        pytest.raises(DatabaseUnusable, match=r"memory\.db is damaged.*restore a backup"),
        open_memory(tmp_path) as store,
    ):
        if not store.check():
            raise AssertionError("the damage was not found")
        store.nodes()
        store.search_node(text="line")


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReadOnlyStorage, match="another directory"):
        open_memory(tmp_path / "file" / "memory")
    (tmp_path / "memory.db").mkdir()
    with pytest.raises(ReadOnlyStorage, match=r"memory\.db"):
        open_memory(tmp_path)


def test_a_newer_schema_is_left_alone(tmp_path: Path) -> None:
    open_memory(tmp_path).close()
    with sqlite3.connect(tmp_path / "memory.db") as other:
        other.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('memory_store', 'm999_x', '')"
        )
    other.close()
    with pytest.raises(NewerSchema, match="m999_x of a newer Hearsight: update"):
        open_memory(tmp_path)


def test_every_older_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    names = [migration.name for migration in migrations.pending(sqlite_utils.Database(memory=True))]
    for stop in [*names[1:], None]:
        path = tmp_path / f"before_{stop}" / "memory.db"
        path.parent.mkdir()
        connection = sqlite3.connect(path)
        migrations.apply(sqlite_utils.Database(connection), stop_before=stop)
        connection.close()
        with open_memory(path.parent) as store:
            with store.transaction():
                add_line(store, "after migration", add_clip(store, 0), seed=1)
            assert store.check() == []
    assert names == sorted(names) and names[0] == "m001_schema"


def test_a_migration_that_fails_leaves_an_empty_file_to_try_again(tmp_path: Path) -> None:
    blocker = sqlite3.connect(tmp_path / "memory.db")
    blocker.execute("PRAGMA application_id = 0x48454152")
    blocker.execute("CREATE TABLE traces (id INTEGER)")
    blocker.commit()
    with pytest.raises(Exception, match="traces"):
        open_memory(tmp_path)
    tables = [row[0] for row in blocker.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert tables == ["traces"]
    blocker.execute("DROP TABLE traces")
    blocker.commit()
    blocker.close()
    open_memory(tmp_path).close()


def test_a_damaged_text_index_is_found_and_built_anew(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store:
        with store.transaction():
            node_id = add_line(store, "the red kettle", add_clip(store, 0))
        with sqlite3.connect(tmp_path / "memory.db") as other:
            other.execute("INSERT INTO nodes_fts (nodes_fts) VALUES ('delete-all')")
        other.close()
        (fault,) = store.check()
        assert "damaged" in fault and store.search_node(text="kettle") == []
        store.rebuild_indexes()
        assert store.check() == []
        assert [hit.node.id for hit in store.search_node(text="kettle")] == [node_id]


def test_several_may_open_a_new_memory_at_once(tmp_path: Path) -> None:
    for turn in range(10):
        with ThreadPoolExecutor(4) as pool:
            stores = list(pool.map(lambda _, turn=turn: open_memory(tmp_path / str(turn)), range(4)))
        for number, store in enumerate(stores):
            with store, store.transaction():
                add_clip(store, number)
