"""Verify finds what is wrong with a memory and repair puts it right; a page overwritten costs its own rows at most."""

import json
import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_store import DatabaseUnusable, InvalidValue, MemoryStore
from memory_store.repair import Repaired, repair
from memory_store.verify import Fault
from memory_store.words import indexed_words
from runtime.forget import delete_files, forget_person
from runtime.media_files import MediaFiles, keyframe_name
from tests.command_line import called
from tests.corrected_memory import check_whole, state, three_people
from tests.memory_samples import SPACES, add_clip, add_line, unit
from tests.test_forget import NAME

NOW = 1_700_000_500.0
EXACT_BELOW = 100
PAGE = 4096


def _open(directory: Path) -> MemoryStore:
    return MemoryStore.open(directory, SPACES, clock=lambda: NOW, exact_below=EXACT_BELOW)


def _repair(directory: Path) -> Repaired:
    return repair(directory, SPACES, lambda root, receipt: delete_files(MediaFiles(root), receipt), NOW)


def _verify(directory: Path) -> list[Fault]:
    try:
        with _open(directory) as store:
            return store.verify()
    except DatabaseUnusable as error:
        return [Fault("database", str(error), "")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with people, lines, vectors with an index file, pictures and traces; to be copied, not changed."""
    directory = tmp_path_factory.mktemp("whole")
    files = MediaFiles(directory)
    with _open(directory) as store:
        anna, *_ = three_people(store)
        with store.transaction():
            store.name_person(anna.person, "Anna", source="resident")
            for number in range(40):
                clip_id = add_clip(store, 50 + number)
                for i in range(8):
                    add_line(
                        store,
                        f"Line x{number}y{i}: <face_{anna.face}> is here.",
                        clip_id,
                        seed=8 * number + i,
                    )
                file = files.write(keyframe_name(clip_id, 0), b"picture %d" % clip_id)
                provenance = {"source": "keyframe", "file": file.as_provenance()}
                store.add_node(
                    "image", "", clip_id=clip_id, start_utc_s=1, end_utc_s=1, provenance=provenance
                )
                store.save_trace(f"Question {number}?", "An answer " * 300, {"rounds": number})
        store.rebuild_indexes()
        assert store.verify() == []
    assert list((directory / "index").glob("text.*.hnsw"))
    return directory


@pytest.fixture
def memory(whole: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(whole, tmp_path / "memory"))


def _sql(memory: Path, *statements: str) -> None:
    connection = sqlite3.connect(memory / "memory.db")
    connection.create_function("indexed_words", 1, indexed_words, deterministic=True)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_sound_memory_is_left_alone(memory: Path) -> None:
    before = state(memory)
    assert _verify(memory) == []
    assert _repair(memory) == Repaired((), {}, (), None, ())
    assert state(memory) == before


def _of_index(change: Callable[[Path, Path], object]) -> Callable[[Path], object]:
    def changed(memory: Path) -> None:
        file = next((memory / "index").glob("text.*.hnsw"))
        change(file, file.with_suffix(".json"))

    return changed


def _header_beyond_the_file(file: Path, sidecar: Path) -> None:
    data = bytearray(file.read_bytes())
    data[8:24] = (1 << 40).to_bytes(8, "little") * 2
    file.write_bytes(data)


def _header_beyond_the_file_in_agreement(file: Path, sidecar: Path) -> None:
    _header_beyond_the_file(file, sidecar)
    says = json.loads(sidecar.read_text())
    sidecar.write_text(json.dumps(says | {"count": 1 << 40, "crc32": zlib.crc32(file.read_bytes())}))


FAULTS: list[tuple[str, Callable[[Path], object]]] = [
    ("text index", lambda memory: _sql(memory, "INSERT INTO nodes_fts (nodes_fts) VALUES ('delete-all')")),
    ("tags", lambda memory: _sql(memory, "UPDATE nodes SET text = '<face_99999> waves.' WHERE id = 20")),
    ("tags", lambda memory: _sql(memory, "UPDATE nodes SET text = '<voice_1> waves.' WHERE id = 20")),
    ("references", lambda memory: _sql(memory, "DELETE FROM clips WHERE id = 20")),
    ("references", lambda memory: _sql(memory, "DELETE FROM nodes WHERE id = 1")),
    ("references", lambda memory: _sql(memory, "DELETE FROM nodes WHERE id = 30")),
    ("references", lambda memory: _sql(memory, "DELETE FROM persons WHERE id = 2")),
    ("counts", lambda memory: _sql(memory, "UPDATE vector_counts SET count = count + 1")),
    ("counts", lambda memory: _sql(memory, "DELETE FROM vote_days")),
    (
        "times",
        lambda memory: _sql(memory, "UPDATE nodes SET start_utc_s = end_utc_s WHERE kind = 'episodic'"),
    ),
    ("vector index", _of_index(lambda file, sidecar: file.write_bytes(file.read_bytes()[:-1]))),
    ("vector index", _of_index(lambda file, sidecar: file.write_bytes(b""))),
    ("vector index", _of_index(lambda file, sidecar: file.write_bytes(b"\x00" * 9000))),
    ("vector index", _of_index(_header_beyond_the_file)),
    ("vector index", _of_index(_header_beyond_the_file_in_agreement)),
    ("vector index", _of_index(lambda file, sidecar: file.unlink())),
    ("vector index", _of_index(lambda file, sidecar: sidecar.write_bytes(b"\xff\x00{"))),
]


@pytest.mark.parametrize(("what", "cause"), FAULTS)
def test_each_fault_is_found_and_put_right(memory: Path, what: str, cause: Callable[[Path], object]) -> None:
    cause(memory)
    faults = _verify(memory)
    assert what in {fault.what for fault in faults} and all(fault.repair for fault in faults), faults
    done = _repair(memory)
    assert done.done and done.left == () and done.set_aside is None
    assert done.lost.keys() <= ({"edges", "vectors"} if what == "references" else set())
    with _open(memory) as store:
        assert store.verify() == []
        people = store.people()
        assert len(people) == 3 and [len(person.face_ids) for person in people] == [1, 1, 1]
        assert store.search_node(text="x20y3", k=1)[0].node.text.startswith("Line x20y3")


def test_a_lost_picture_cannot_be_put_right_and_is_said(memory: Path) -> None:
    shutil.rmtree(memory / "media" / "clips" / "00000012")
    (memory / "media" / keyframe_name(13, 0)).write_bytes(b"another picture")
    faults = _verify(memory)
    assert [(fault.what, fault.repair) for fault in faults] == [("media", ""), ("media", "")]
    assert [fault.what for fault in _repair(memory).left] == ["media", "media"]
    with _open(memory) as store:
        assert len(store.nodes(kinds=["image"])) == 40, "what was remembered of it stays"


def test_who_was_forgotten_and_is_here_again_is_forgotten_again(memory: Path, tmp_path: Path) -> None:
    with _open(memory) as store, store.transaction():
        store.name_person(1, NAME, source="resident")
    old = Path(shutil.copytree(memory, tmp_path / "old"))
    with _open(memory) as store:
        forget_person(store, MediaFiles(memory), 1)
    shutil.copyfile(old / "memory.db", memory / "memory.db")  # by hand, past `hearsight restore`
    assert {fault.what for fault in _verify(memory)} >= {"forgotten"}
    assert any("forgotten again" in sentence for sentence in _repair(memory).done)
    assert NAME.encode() not in (memory / "memory.db").read_bytes()
    with _open(memory) as store:
        assert len(store.people()) == 2 and store.verify() == []


def test_nothing_to_repair(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="no memory"):
        _repair(tmp_path)
    (tmp_path / "memory.db").write_bytes(b"Milk, bread, eggs\n" * 1000)
    with pytest.raises(DatabaseUnusable, match=r"nothing that can be read.*hearsight restore"):
        _repair(tmp_path)
    assert (tmp_path / "memory.db").read_bytes() == b"Milk, bread, eggs\n" * 1000


def _ids(memory: Path) -> dict[str, set[int]]:
    tables = ("clips", "nodes", "edges", "vectors", "persons", "person_nodes", "traces", "person_history")
    connection = sqlite3.connect(memory / "memory.db")
    found = {table: {row[0] for row in connection.execute(f"SELECT rowid FROM {table}")} for table in tables}
    connection.close()
    return found


def _overwrite(memory: Path, page: int, with_what: str) -> None:
    file = memory / "memory.db"
    data = bytearray(file.read_bytes())
    start = (page - 1) * PAGE
    other = random.Random(page).randrange(len(data) // PAGE) * PAGE
    new = {
        "rubbish": random.Random(page).randbytes(PAGE),
        "zeros": b"\0" * PAGE,
        "another page": bytes(data[other : other + PAGE]),
    }[with_what]
    data[start : start + PAGE] = new
    file.write_bytes(data)


def _check_saved(memory: Path, page: int, with_what: str) -> tuple[int, int]:
    """After one page was overwritten: how many rows are gone, and how many of these the repair named."""
    before = _ids(memory)
    original = (memory / "memory.db").read_bytes()
    _overwrite(memory, page, with_what)
    if (memory / "memory.db").read_bytes() == original:
        return 0, 0
    faults = _verify(memory)
    if not faults:  # a page that nothing uses any more
        assert _ids(memory) == before
        return 0, 0
    assert all(len(fault.detail.splitlines()) == 1 for fault in faults)
    done = _repair(memory)
    assert done.left == (), (page, with_what, done)
    with _open(memory) as store:
        assert store.verify() == []
        assert len(store.search_node(vector=unit(3), k=400, threshold=-1)) > 150
    after = _ids(memory)
    gone = {(table, row) for table, rows in before.items() for row in rows - after[table]}
    named = {(table, row) for table, rows in done.lost.items() for row in rows}
    known = {table for table in before if table not in done.unread}
    assert {item for item in gone if item[0] in known} <= named, (page, with_what, gone - named)
    stand_ins = {item for item in named if item[1] in after.get(item[0], ())}
    assert {table for table, _ in stand_ins} <= {"clips", "nodes", "persons"}
    extra = {table: rows - before[table] for table, rows in after.items() if rows - before[table]}
    assert not extra, (page, with_what, extra)
    return len(gone), len(gone & named)


@pytest.mark.parametrize("with_what", ["rubbish", "zeros", "another page"])
@pytest.mark.parametrize("page", [1, 2, 10, 40])
def test_a_page_overwritten_costs_no_more_than_itself(memory: Path, page: int, with_what: str) -> None:
    gone, _ = _check_saved(memory, page, with_what)
    assert gone <= 200


def test_tree_roots_overwritten_lose_nothing(memory: Path) -> None:
    connection = sqlite3.connect(memory / "memory.db")
    roots = dict(
        connection.execute(
            "SELECT name, rootpage FROM sqlite_master WHERE name IN ('nodes', 'edges', 'vectors', 'traces')"
        )
    )
    connection.close()
    before = _ids(memory)
    for page in roots.values():
        _overwrite(memory, page, "rubbish")
    done = _repair(memory)
    assert _ids(memory) == before and done.lost == {} and done.set_aside is not None
    with _open(memory) as store:
        check_whole(store, memory)
        assert store.search_node(text="x20y3", k=1)[0].node.text.startswith("Line x20y3")


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_every_page_overwritten(whole: Path, tmp_path: Path) -> None:
    pages = (whole / "memory.db").stat().st_size // PAGE
    total, named = 0, 0
    for page in range(1, pages + 1):
        for with_what in ("rubbish", "zeros", "another page"):
            copy = Path(shutil.copytree(whole, tmp_path / f"{page} {with_what}"))
            gone, known = _check_saved(copy, page, with_what)
            assert gone <= 200, (page, with_what)
            total, named = total + gone, named + known
            shutil.rmtree(copy)
    print(f"{3 * pages} pages overwritten one by one: {total} rows gone, {named} of them named")


def test_the_log_of_a_damaged_file_is_saved_too(memory: Path, tmp_path: Path) -> None:
    with _open(memory) as store:
        with store.transaction():
            add_line(store, "in the log", add_clip(store, 500), seed=500)
        shutil.copytree(memory, tmp_path / "killed")
    killed = tmp_path / "killed"
    connection = sqlite3.connect(memory / "memory.db")
    (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'traces'").fetchone()
    connection.close()
    _overwrite(killed, page, "rubbish")
    _repair(killed)
    with _open(killed) as store:
        assert store.search_node(text="in the log", k=1)[0].node.text == "in the log"
        assert len(store.traces()) == 40


def test_through_the_command_line(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _overwrite(memory, 30, "rubbish")
    done = called(capsys, "memory", "verify", "--data-dir", memory)
    assert done.status == 1 and "WRONG  database" in done.output and "Traceback" not in done.errors
    done = called(capsys, "memory", "repair", "--data-dir", memory, "--json")
    assert done.json["left"] == [] and Path(done.json["set_aside"]).is_dir()
    assert called(capsys, "memory", "verify", "--data-dir", memory, "--json").json == {
        "sound": True,
        "faults": [],
    }
