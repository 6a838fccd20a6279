"""A backup does not bring back whoever was forgotten since it was taken."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.forget import forget_person
from runtime.media_files import MediaFiles
from tests.backups import NOW, backed_up, bring_back
from tests.corrected_memory import check_whole, state, three_people
from tests.memory_samples import add_clip, add_line, open_memory
from tests.test_forget import NAME, SECRET, _everything, _remember


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
    restored = bring_back(archive, memory)
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
    again = bring_back(archive, memory)
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
    restored = bring_back(archive, memory)
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
    (receipt,) = bring_back(archive, memory).forgotten
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
    (receipt,) = bring_back(archive, memory).forgotten
    assert receipt.counts["lines_not_retold"] == 0
    with open_memory(memory) as store:
        assert store.node(lines["gift"]).text == f"Somebody gave <face_{bob.face}> a lamp."


def test_a_backup_of_another_memory_is_not_touched_by_these_tombstones(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for directory in (one, two):
        with open_memory(directory) as store:
            three_people(store)
    archive = backed_up(two, tmp_path / "two.zip")
    with open_memory(one) as store:
        forget_person(store, MediaFiles(one), 1)
    restored = bring_back(archive, one)
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
