"""Other processes, long readers and full disks: each waits, goes on or says one clear sentence, and nothing is lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory_store import DatabaseBusy, MemoryStore, MemoryStoreError
from runtime.media_files import MediaFileError, MediaFiles
from tests.command_line import ROOT, called
from tests.disks import small_disk
from tests.memory_samples import SPACES, add_clip, add_line, open_memory, unit

READER = """
import sys, time
from pathlib import Path
from tests.memory_samples import open_memory

store = open_memory(Path(sys.argv[1]))
with store._database.snapshot():
    first = len(store.nodes())
    print("reads", flush=True)
    sys.stdin.readline()
    assert len(store.nodes()) == first, "one state from the first to the last read"
print("done", flush=True)
"""
HOLDER = """
import sys
from pathlib import Path
from tests.memory_samples import add_clip, open_memory

store = open_memory(Path(sys.argv[1]))
with store.transaction():
    add_clip(store, 999)
    print("holds", flush=True)
    sys.stdin.readline()
"""
FILLER = """
import resource, sys
from pathlib import Path
from memory_store import MemoryStoreError
from tests.memory_samples import add_clip, add_line, open_memory

store = open_memory(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    for number in range(100_000):
        with store.transaction():
            clip_id = add_clip(store, number)
            for i in range(20):
                add_line(store, f"line {i} of clip {number} " * 5, clip_id, seed=i)
        print(clip_id, flush=True)
except MemoryStoreError as error:
    print(f"refused: {type(error).__name__}: {error}", flush=True)
"""


def _process(code: str, *arguments: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _write(store: MemoryStore, number: int, lines: int = 20) -> int:
    with store.transaction():
        clip_id = add_clip(store, number)
        for i in range(lines):
            add_line(store, f"line {i} of clip {number}", clip_id, seed=i)
    return clip_id


@pytest.mark.parametrize("seconds", [1.0, pytest.param(20.0, marks=pytest.mark.soak)])
def test_a_reader_that_holds_on_stops_no_writer(tmp_path: Path, seconds: float) -> None:
    log = tmp_path / "memory.db-wal"
    with open_memory(tmp_path) as store:
        _write(store, 0)
        with _process(READER, tmp_path) as reader:
            assert reader.stdin is not None and reader.stdout is not None
            assert reader.stdout.readline() == "reads\n"
            until, number = time.monotonic() + seconds, 1
            slowest_s = 0.0
            while time.monotonic() < until:
                started = time.monotonic()
                _write(store, number)
                slowest_s = max(slowest_s, time.monotonic() - started)
                number += 1
            grown = log.stat().st_size
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == "done\n"
        assert slowest_s < 5.0, "the reader held nobody up"
        print(f"{number} clips while a reader held on, the log grew to {grown >> 20} MiB")
        for more in range(200):  # SQLite folds the log in by itself once nobody needs it
            _write(store, number + more, lines=10)
        assert len(store.clips()) == number + 200 and store.check() == []
        folded_at = 4 << 20  # 1,000 pages; a slow machine may have written less beside the reader
        assert log.stat().st_size <= max(grown, folded_at) + (1 << 20), (
            "the log is written from its start again"
        )
    assert not log.exists(), "the last to leave folds it in"
    with open_memory(tmp_path) as store:
        assert len(store.clips()) == number + 200


def test_a_second_writer_waits_or_says_so(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store:
        _write(store, 0)
    with _process(HOLDER, tmp_path) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        assert holder.stdout.readline() == "holds\n"
        with MemoryStore.open(tmp_path, SPACES, busy_timeout_s=0.2) as store:
            assert len(store.clips()) == 1, "reading is never held up"
            with pytest.raises(DatabaseBusy, match="another process: try again") as refusal:
                _write(store, 1)
            assert len(str(refusal.value).splitlines()) == 1
        with open_memory(tmp_path) as store:
            holder.stdin.write("\n")
            holder.stdin.flush()
            _write(store, 2)  # waits for its turn
            assert len(store.clips()) == 3


def test_a_holder_that_is_killed_holds_nobody_up(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store, _process(HOLDER, tmp_path) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "holds\n"
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
        _write(store, 0)
        assert len(store.clips()) == 1


def test_a_disk_that_fills_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with small_disk(tmp_path / "disk", 2048) as disk:
        written: list[int] = []
        with open_memory(disk) as store:
            with pytest.raises(MemoryStoreError, match=r"memory\.db.*(free some space|its free space)"):
                for number in range(10_000):
                    written.append(_write(store, number))
            assert [clip.id for clip in store.clips()] == written
            assert len(store.search_node(vector=unit(3), k=100, threshold=-1)) >= 20
        with pytest.raises(MediaFileError, match="free some space"):
            MediaFiles(disk).write("clips/1/0.jpg", os.urandom(2 << 20))
        assert not list((disk / "media").rglob("*.part"))
        with open_memory(disk) as store:
            assert [clip.id for clip in store.clips()] == written and store.check() == []
            done = called(capsys, "timeline", "--data-dir", disk, "--limit", "1")
            assert done.status == 0 and "line" in done.output


def test_a_disk_that_was_full_goes_on(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 2048) as disk:
        (disk / "ballast").write_bytes(bytes(600 << 10))
        with open_memory(disk) as store:
            written: list[int] = []
            with pytest.raises(MemoryStoreError):
                for number in range(10_000):
                    written.append(_write(store, number))
            (disk / "ballast").unlink()
            written.append(_write(store, len(written)))
            assert [clip.id for clip in store.clips()] == written
        with open_memory(disk) as store:
            assert store.check() == [] and [clip.id for clip in store.clips()] == written


def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    open_memory(tmp_path).close()
    with _process(FILLER, tmp_path, 1 << 20) as filler:
        output, _ = filler.communicate(timeout=100)
    *acknowledged, last = output.splitlines()
    assert last.startswith("refused: ") and "memory.db" in last, output
    with open_memory(tmp_path) as store:
        assert [clip.id for clip in store.clips()] == [int(line) for line in acknowledged]
        assert store.check() == []
