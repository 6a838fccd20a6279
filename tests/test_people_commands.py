"""`hearsight people …` as residents use it: corrections, undo, enrolment from files, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from drivers.media import DriverError
from memory_store import MemoryStore, Triple, VectorSpace
from models.keyframes import encode_jpeg
from models.manifest import Manifest
from runtime import compose_enroll
from runtime.cli import main
from runtime.compose import Parts
from runtime.config import Settings
from runtime.enroll import EnrollError
from tests.corrected_memory import Met, three_people
from tests.pictures import fetched_model
from tests.recordings import SHARED_MEDIA, tone, write_recording

LFW = SHARED_MEDIA / "faces" / "lfw"
LIBRISPEECH = SHARED_MEDIA / "speech" / "librispeech"


def _spaces() -> list[VectorSpace]:
    """The spaces that the commands open the memory with; the made-up people have vectors of their own models."""
    return [
        VectorSpace("text", 8, "made-up"),
        VectorSpace("face", 4, "made-up"),
        VectorSpace("voice", 4, "made-up"),
    ]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def people(memory: Path) -> tuple[Met, ...]:
    with MemoryStore.open(memory, _spaces()) as store:
        return three_people(store)


class Command:
    """Runs `hearsight people` in this process and gives what it printed."""

    def __init__(self, memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._memory = memory
        self._capsys = capsys

    def run(self, *arguments: object, status: int = 0) -> str:
        self._capsys.readouterr()
        done = main(["people", *map(str, arguments), "--data-dir", str(self._memory)])
        printed = self._capsys.readouterr()
        assert done == status, printed
        return printed.out if status == 0 else printed.err

    def json(self, *arguments: object) -> object:
        return json.loads(self.run(*arguments, "--json"))


@pytest.fixture
def command(memory: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(memory, capsys)


def test_each_correction_is_told_and_can_be_undone(people: tuple[Met, ...], command: Command) -> None:
    one, two, three = people
    command.run("name", one.person, "Anna")
    start = command.json("list")
    corrections: tuple[tuple[object, ...], ...] = (
        ("name", "anna", "Bella"),
        ("merge", "Anna", f"person_{two.person}"),
        ("split", "Anna", f"face_{one.face}"),
        ("split", one.person, "--lines", one.seen[0], one.heard[0]),
        ("not", one.seen[1]),
        ("not", one.heard[1], "Anna", "--is", two.person),
        ("not", f"voice_{one.voice}", "--is", f"person_{three.person}"),
        ("not", f"<face_{one.face}>", "Anna"),
    )
    for correction in corrections:
        told = command.run(*correction)
        assert told.strip() and (correction[0] == "name" or "undo` takes that back" in told), told
        assert correction == ("not", one.seen[1]) or command.json("list") != start, correction
        assert "is undone" in command.run("undo")
        assert command.json("list") == start, correction
    change = command.json("undo")["change"]  # type: ignore[index]  # the naming goes, too
    assert "nothing to undo" not in command.run("undo", change)
    assert command.json("list") == start


def test_show_tells_all_that_is_known(people: tuple[Met, ...], command: Command) -> None:
    one, two, _ = people
    command.run("merge", one.person, two.person)
    command.run("not", one.seen[0])
    shown = command.json("show", one.person)
    assert isinstance(shown, dict)
    assert [(row["id"], row["pinned"]) for row in shown["bindings"]] == [
        (f"{kind}_{node}", True)
        for node, kind in sorted(
            {m.face: "face" for m in (one, two)}.items() | {(m.voice, "voice") for m in (one, two)}
        )
    ]
    actions = [row["action"] for row in shown["history"]]
    assert actions.count("merge") == 1 and actions[-1] == "not"
    assert {"lines", "portraits", "name_evidence", "appearances", "history"} <= set(shown)
    text = command.run("show", one.person)
    assert "pinned by a resident" in text and f"change {shown['history'][-1]['id']}" in text


def test_a_line_is_corrected_in_one_clip_alone(
    people: tuple[Met, ...], memory: Path, command: Command
) -> None:
    one, two = people[:2]
    with MemoryStore.open(memory, _spaces()) as store:
        later = store.clips()[1]
        with store.transaction():
            store.reinforce(
                one.seen[0], later.id, start_utc_s=later.start_utc_s, end_utc_s=later.start_utc_s + 5
            )
    told = command.run("not", one.seen[0], "--is", two.person, "--clip", later.id)
    assert f"What memory {one.seen[0]} was in clip {later.id} is about person_{two.person} now." in told
    with MemoryStore.open(memory, _spaces()) as store:
        assert [span.clip_id for span in store.spans(one.seen[0])] == [1]
        moved = max(node.id for node in store.nodes(kinds=["episodic"]))
        assert store.node(moved).text == f"<face_{two.face}> is in view."
    assert "rests on" in command.run("not", one.seen[0], "--is", two.person, "--clip", 3, status=1)
    assert "whole" in command.run("not", f"face_{one.face}", "--is", two.person, "--clip", 1, status=1)


def test_show_lists_what_was_said_and_what_is_believed(
    people: tuple[Met, ...], memory: Path, command: Command
) -> None:
    one = people[0]
    with MemoryStore.open(memory, _spaces()) as store, store.transaction():
        for line, polarity, text in ((0, 1, "likes tea."), (1, -1, "does not like tea."), (2, -1, "")):
            told = f"<voice_{one.voice}> {text}"
            store.add_fact(Triple("likes", "tea", polarity), told, one.heard[line], subject_id=one.voice)
    shown = command.run("show", one.person)
    assert f"fact: person_{one.person} likes tea. (said in 1 clips, no longer believed)" in shown
    assert f"fact: person_{one.person} does not like tea. (said in 2 clips)" in shown
    document = command.json("show", one.person)
    assert isinstance(document, dict)
    assert [fact["read_from"] for fact in document["facts"]] == [[one.heard[0]], list(one.heard[1:])]


def test_forget_gives_a_receipt_and_cannot_be_undone(people: tuple[Met, ...], command: Command) -> None:
    receipt = command.json("forget", people[0].person)
    assert isinstance(receipt, dict)
    assert receipt["undoable"] is False and receipt["scrubbed"] is True and receipt["counts"]["faces"] == 1
    assert "cannot be undone" in command.run("forget", people[1].person)
    assert "nothing to undo" in command.run("undo", status=1)
    assert "no person" in command.run("show", people[0].person, status=1)


def test_two_people_of_one_name_are_told_apart(people: tuple[Met, ...], command: Command) -> None:
    one, two, _ = people
    command.run("name", one.person, "Anna")
    assert f"person_{one.person} has that name too" in command.run("name", two.person, "anna")
    assert f"person_{one.person}, person_{two.person}" in command.run("show", "Anna", status=1)
    assert "without a name" in command.run("name", two.person, "")
    assert f"person_{one.person}" in command.run("show", "Anna")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("merge", "1", "1"), "same person"),
        (("merge", "1", "99"), "person 99"),
        (("split", "1"), "face_N"),
        (("split", "1", "face_1", "voice_2"), "leave nobody"),
        (("split", "1", "face_999"), "node 999"),
        (("split", "1", "--lines", "x"), "'x'"),
        (("not", "face_999"), "node 999"),
        (("not", "1", "2"), "not person_2's"),
        (("not", "9" * 30), "is no memory"),
        (("name", "1", "x" * 10_000), "10000 characters"),
        (("name", "1", "A\x07"), "U+0007"),
        (("undo", "999"), "change 999"),
        (("undo",), "nothing to undo"),
        (("forget", "Nobody"), "people list"),
        (("show", "9" * 5000), "nobody is called"),
        (("enroll", "Anna"), "--photo FILE"),
    ],
)
def test_bad_input_is_refused(
    people: tuple[Met, ...], command: Command, arguments: tuple[str, ...], words: str
) -> None:
    before = command.json("list")
    assert words in command.run(*arguments, status=1)
    assert command.json("list") == before


def _need(*models: str) -> None:
    for model in models:
        fetched_model(model)


def _media(directory: Path) -> list[Path]:
    if not directory.is_dir():
        pytest.skip(f"the shared recordings are not here: {directory}")
    return sorted(directory.iterdir())


def test_enrol_from_photos_and_voice(command: Command, memory: Path, tmp_path: Path) -> None:
    _need("yunet", "sface", "silero-vad", "campplus-zh-en")
    first, second = (sorted(person.iterdir()) for person in _media(LFW)[:2])
    speaker = sorted(_media(LIBRISPEECH)[0].rglob("*.flac"))[0]
    enrolled = command.json("enroll", "Anna Berg", "--photo", *first[:2], "--voice", speaker)
    assert isinstance(enrolled, dict)
    person = enrolled["person"]
    assert (person["name"], person["tentative"], enrolled["samples"]) == ("Anna Berg", False, 3)
    assert all((memory / path).is_file() for path in person["portraits"]) and person["portraits"]
    shown = command.json("show", "Anna Berg")
    assert isinstance(shown, dict) and [row["exemplars"] for row in shown["bindings"]] in ([2, 1], [1, 2])
    assert command.json("enroll", "anna berg", "--photo", first[2])["person"]["id"] == person["id"]  # type: ignore[index]
    assert "same person" in command.run("enroll", "Bob", "--photo", first[0], second[0], status=1)
    alike = command.json("enroll", "Copy", "--photo", first[3])
    assert isinstance(alike, dict) and alike["alike"] == [person["id"]]
    portraits = alike["person"]["portraits"]
    command.run("undo")
    assert len(command.json("list")) == 1 and not (memory / portraits[0]).exists()  # type: ignore[arg-type]
    faces = Manifest.load().default("face_embedding")
    with MemoryStore.open(memory, [VectorSpace("face", faces.dimension, faces.id)]) as store:
        assert len(store.exemplars("face")) == 3


def test_files_that_nobody_can_be_enrolled_from(command: Command, memory: Path, tmp_path: Path) -> None:
    _need("yunet", "sface", "silero-vad", "campplus-zh-en")
    grey = tmp_path / "grey.jpg"
    grey.write_bytes(encode_jpeg(np.full((200, 200, 3), 90, np.uint8)))
    text = tmp_path / "text.jpg"
    text.write_text("no picture")
    hum = write_recording(tmp_path / "hum.mkv", sounds=[(0.0, tone(4.0))])
    parts = Parts(Settings(), Manifest.load())
    photos, voices = compose_enroll.face_photos(parts), compose_enroll.voice_files(parts)
    for samples, path, words in (
        (photos.samples, grey, "no face"),
        (photos.samples, text, "is no photo"),
        (photos.samples, tmp_path / "none.jpg", "cannot read the photo"),
        (voices.samples, text, "text.jpg"),
        (voices.samples, grey, "no sound"),
    ):
        with pytest.raises((EnrollError, DriverError), match=words):
            samples([path])
    assert "too short" in command.run("enroll", "Anna", "--voice", hum, status=1)
    assert command.json("list") == []
