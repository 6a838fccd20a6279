"""A forgotten person leaves no byte: not in rows, text index, log, vector files, pictures or traces."""

from pathlib import Path

import numpy as np
import pytest

from memory_store import MemoryStore, UnknownId, VectorSpace
from memory_store.index import SpaceIndex
from memory_store.index_file import IndexFile
from runtime.forget import forget_person
from runtime.media_files import MediaFiles, keyframe_name, portrait_name, sound_name
from tests.corrected_memory import Met, check_whole, three_people
from tests.memory_samples import SPACES, add_clip, open_memory, unit

SECRET = "The blue heron sleeps beneath seventeen lanterns"
NAME = "Wilhelmina Quux"


def _say(store: MemoryStore, who: Met, said: str, clip_id: int) -> int:
    clip = store.clip(clip_id)
    line = store.add_node(
        "episodic",
        f'<voice_{who.voice}> says: "{said}"',
        clip_id=clip_id,
        start_utc_s=clip.start_utc_s,
        end_utc_s=clip.start_utc_s + 2.0,
        provenance={"source": "grounded", "event": "heard", "said": said},
        vectors={"text": unit(clip_id)},
    )
    store.add_edge(line, who.voice, "mentions", detail="actor")
    return line


def _note(store: MemoryStore, text: str, clip_id: int) -> int:
    start = store.clip(clip_id).start_utc_s
    provenance = {"source": "model"}
    return store.add_node(
        "semantic", text, clip_id=clip_id, start_utc_s=start, end_utc_s=start + 9, provenance=provenance
    )


def _picture(store: MemoryStore, files: MediaFiles, clip_id: int) -> None:
    file = files.write(keyframe_name(clip_id, 0), b"picture %d" % clip_id)
    start = store.clip(clip_id).start_utc_s
    provenance = {"source": "keyframe", "file": file.as_provenance()}
    store.add_node("image", "", clip_id=clip_id, start_utc_s=start, end_utc_s=start, provenance=provenance)
    files.write(sound_name(clip_id), b"sound %d" % clip_id)


def _everything(directory: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())


def _remember(store: MemoryStore, files: MediaFiles) -> tuple[Met, Met, dict[str, int]]:
    anna, bob, _ = three_people(store)
    with store.transaction():
        store.name_person(anna.person, "Wilma", source="resident")
        store.name_person(anna.person, NAME, source="resident")
        store.name_person(bob.person, "Bob", source="resident")
        shared = add_clip(store, 50)
        alone = store.node(anna.seen[0]).clip_id
        assert alone is not None
        lines = {
            "secret": _say(store, anna, SECRET, alone),
            "reply": _say(store, bob, f"Thank you, {NAME}, and wilma's cat", shared),
            "theirs": _say(store, anna, "See you tomorrow evening", shared),
            "gift": _note(store, f"<face_{anna.face}> gave <face_{bob.face}> a lamp.", shared),
            "habit": _note(store, f"<face_{anna.face}> likes lamps.", shared),
            "told": _note(store, "The blue heron sleeps beneath the lanterns.", alone),
            "other": _note(store, "It rained on Monday.", shared),
            "clip": shared,
        }
        for clip_id in (alone, shared):
            _picture(store, files, clip_id)
        files.write(portrait_name(anna.face), b"portrait of anna")
        files.write(portrait_name(bob.face), b"portrait of bob")
        store.add_name_evidence(anna.person, NAME, shared, lines["reply"], 1.0, "addressed")
        store.save_trace("Who was here?", "Somebody", {"evidence": [{"id": lines["secret"]}]})
        store.save_trace("Where is it?", f"{NAME} has it", {})
        store.save_trace("What about herons?", "Well.", {"rounds": [{"prompt": f"[1] x says: {SECRET}"}]})
        store.save_trace("When did it rain?", "On Monday", {"evidence": [{"id": lines["other"]}]})
    with store.transaction():
        store.split_lines(
            anna.person, [anna.seen[1]]
        )  # what was undone or moved leaves old texts in free pages
    with store.transaction():
        store.undo()
    return anna, bob, lines


def test_not_a_byte_is_left(tmp_path: Path) -> None:
    files = MediaFiles(tmp_path)
    with open_memory(tmp_path) as store:
        anna, bob, lines = _remember(store, files)
        face_vector = store.exemplars("face")[0].vector.tobytes()
        for needle in (SECRET.encode(), NAME.encode(), face_vector):
            assert needle in _everything(tmp_path), "the search itself works"
        done = forget_person(store, files, anna.person)
        held = _everything(tmp_path)  # while the memory is open: the log counts, too
    assert done.rows.scrubbed and not done.rows.shared_names
    needles = (SECRET.encode(), NAME.encode(), b"Wilma", b"wilma", b"heron", b"portrait of anna", face_vector)
    for where in (held, _everything(tmp_path)):
        for needle in needles:
            assert needle not in where, needle[:20]
        assert f"<face_{anna.face}>".encode() not in where and f"<voice_{anna.voice}>".encode() not in where
    counts = done.counts
    assert (counts["persons"], counts["faces"], counts["voices"], counts["exemplars"]) == (1, 1, 1, 6)
    assert (counts["votes"], counts["traces"], counts["name_evidence"]) == (3, 3, 1)
    assert (counts["portrait_files"], counts["picture_files"], counts["sound_files"]) == (1, 1, 2)
    with open_memory(tmp_path) as store:
        check_whole(store, tmp_path)
        assert store.node(lines["reply"]).text.endswith('says: "Thank you, somebody, and somebody\'s cat"')
        assert store.node(lines["gift"]).text == f"Somebody gave <face_{bob.face}> a lamp."
        assert store.node(lines["other"]).text == "It rained on Monday."
        for gone in ("secret", "theirs", "habit", "told"):
            with pytest.raises(UnknownId):
                store.node(lines[gone])
        assert [trace.question for trace in store.traces()] == ["When did it rain?"]
        assert store.search_node(text="heron lanterns") == []
        assert store.person(bob.person).face_ids == (bob.face,)
        with pytest.raises(UnknownId):
            store.person(anna.person)
        assert not any(row.person_id == anna.person for row in store.history())
    assert files.find(portrait_name(bob.face)) and files.find(keyframe_name(lines["clip"], 0))


def test_a_name_that_somebody_else_bears_stays_with_them(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store:
        one, two, _ = three_people(store)
        with store.transaction():
            for met in (one, two):
                store.name_person(met.person, "Anna")
            line = _say(store, two, "I am Anna", 4)
        done = forget_person(store, MediaFiles(tmp_path), one.person)
        assert done.rows.shared_names == ("Anna",)
        assert store.node(line).provenance["said"] == "I am Anna"
        assert store.person(two.person).name == "Anna"
        check_whole(store, tmp_path)


def test_those_merged_into_somebody_go_with_them(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store:
        one, two, three = three_people(store)
        with store.transaction():
            store.merge_people(one.person, two.person, source="resident")
            store.take_node(three.voice, one.person)
        forget_person(store, MediaFiles(tmp_path), two.person)
        assert [person.id for person in store.people()] == [three.person]
        assert store.person(three.person).face_ids == (three.face,)
        check_whole(store, tmp_path)
        with pytest.raises(UnknownId, match="nothing to undo"), store.transaction():
            store.undo()


def test_a_large_index_is_built_anew_without_them(tmp_path: Path) -> None:
    space = VectorSpace("face", 4, "face-a")
    with open_memory(tmp_path) as store:
        one, *_ = three_people(store)
        file = IndexFile(tmp_path / "index", space)
        index = SpaceIndex(store._database, space, file, exact_below=1)
        index.rebuild()
        vector = store.exemplars("face")[0].vector.astype("<f4").tobytes()
        assert any(vector in file.path(name).read_bytes() for name in file.names())
        forget_person(store, MediaFiles(tmp_path), one.person)
        assert vector not in _everything(tmp_path)
        nearest = index.nearest(np.frombuffer(vector, dtype="<f4"), 3, None)
        assert all(near.node_id != one.face for near in nearest)


def test_a_reader_that_does_not_let_go_is_told(tmp_path: Path) -> None:
    with open_memory(tmp_path) as reader:
        one, two, _ = three_people(reader)
        with MemoryStore.open(tmp_path, SPACES, busy_timeout_s=0.2) as store, reader._database.snapshot():
            reader.people()
            done = forget_person(store, MediaFiles(tmp_path), one.person)
            assert not done.rows.scrubbed
        with MemoryStore.open(tmp_path, SPACES) as store:
            assert forget_person(store, MediaFiles(tmp_path), two.person).rows.scrubbed
        assert len(reader.people()) == 1
