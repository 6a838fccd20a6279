"""A restore that is killed is done or not, and one that was interrupted is carried to its end."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory_store import (
    switch,
)
from runtime.media_files import MediaFiles, portrait_name
from tests.backups import NOW, backed_up, texts_of, with_pictures, write_lines
from tests.command_line import ROOT
from tests.memory_samples import open_memory

RESTORER = """
import sys
from pathlib import Path
from memory_store.restore import restore

print("begins", flush=True)
restore(Path(sys.argv[1]), Path(sys.argv[2]), lambda root, receipt: None, float(sys.argv[3]))
print("done", flush=True)
"""


@pytest.mark.soak
def test_killed_at_any_moment_a_restore_is_done_or_not(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    with_pictures(memory)
    archive = backed_up(memory, tmp_path / "backup.zip")
    with sqlite3.connect(memory / "memory.db") as connection:
        nodes = connection.execute("SELECT count(*) FROM nodes").fetchone()[0]
    connection.close()
    moments, seen = random.Random(2), {"before": 0, "after": 0, "switching": 0}
    for turn in range(60):
        write_lines(memory, f"only before {turn}")
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
            write_lines(directory, word)
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
        assert texts_of(memory) == ["after"]
        assert MediaFiles(memory).find(portrait_name(1)) == b"after"
        assert texts_of(memory / "replaced-x") == ["before"]
        assert not (memory / "prepared").exists() and not (memory / "switch.json").exists()
