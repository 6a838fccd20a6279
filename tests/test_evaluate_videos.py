"""Questions about videos: whose memories lie in folders or are made, and what may be known before a clip."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_store.store import MemoryStore
from models.errors import ModelError
from models.language import Message
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.memories import Memories, MemoryUnusable, first_unknown
from offline_tools.memorize_many import Outcome
from runtime.config import Settings
from tests.evaluated import TEXT, Bench
from tests.household import embed_words
from tests.scripted_language import ScriptedLanguage

MODEL = "qwen2.5-coder-0.5b"
BEGAN_UTC_S = 1577880000.0
QUERY = "I drink this now, my favourite drink is this."
DRINKS = ("coffee", "cocoa", "juice", "water")


def write_memory(directory: Path, drinks: Sequence[str] = DRINKS, clip_s: float = 30.0) -> Path:
    """A memory of clips of 30 s, in each of which Anna says what she drinks now."""
    with MemoryStore.open(directory, TEXT.spaces) as store, store.transaction():
        anna = store.create_person(tentative=False)
        store.name_person(anna, "Anna")
        for number, drink in enumerate(drinks):
            start_s = clip_s * number
            clip = store.add_clip(
                source_key=f"v:{number}",
                source_name="v",
                media_start_s=start_s,
                media_end_s=start_s + clip_s + (0.02 if number == 1 else 0.0),
                start_utc_s=BEGAN_UTC_S + start_s,
                end_utc_s=BEGAN_UTC_S + start_s + clip_s,
            )
            if number == 0:
                voice = store.add_node(
                    "voice", "", clip_id=clip, start_utc_s=BEGAN_UTC_S, end_utc_s=BEGAN_UTC_S + 1
                )
                store.bind(anna, voice)
            text = f"I drink {drink} now, my favourite drink is {drink}."
            node = store.add_node(
                "episodic",
                f'<voice_{voice}> says: "{text}"',
                clip_id=clip,
                start_utc_s=BEGAN_UTC_S + start_s + 5,
                end_utc_s=BEGAN_UTC_S + start_s + 8,
                provenance={"source": "grounded", "event": "heard"},
                vectors={"text": embed_words([text])[0]},
            )
            store.add_edge(node, voice, "mentions", detail="actor")
    return directory


def annotations(folder: Path, videos: Sequence[str], moments: Sequence[str] = ("00:40", "01:30")) -> Path:
    """M3-Bench questions about what Anna drinks, at each of the moments."""
    document = {
        video: {"qa_list": [_asked(video, place, moment) for place, moment in enumerate(moments)]}
        for video in videos
    }
    path = folder / "robot.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _asked(video: str, place: int, moment: str) -> dict[str, object]:
    minutes, seconds = map(int, moment.split(":"))
    return {
        "question": "What does Anna drink, which favourite drink?",
        "answer": [*DRINKS, "water"][place],
        "type": ["Person Understanding"],
        "question_id": f"{video}_Q{place}",
        "timestamp": moment,
        "before_clip": (60 * minutes + seconds) // 30 - 1,
    }


def latest_drink(messages: Sequence[Message]) -> str | ModelError:
    """The first memory shown is the newest; what is drunk in it."""
    asked = messages[-1].content
    if messages[0].content.startswith("You check"):
        return (
            "yes"
            if asked.rpartition("Right answer: ")[2].split("\n")[0] in asked.rpartition("given: ")[2]
            else "no"
        )
    shown = [drink for drink in DRINKS if f"drink {drink}" in asked]
    told = f"Anna drinks {shown[-1]}." if shown else "I don't know."
    if "Action: [Search]" in asked or "Action: [Answer]" in asked:
        action = "[Answer]" if "must be [Answer]" in asked else "[Search]"
        return f"Reasoning: so.\nAction: {action}\nContent: {told if 'A' in action else QUERY}"
    return f"Reasoning: so.\n[Answer] {told} (memory 1)" if "[Answer]" in asked else told


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, {MODEL: ScriptedLanguage(latest_drink, name=MODEL)})


def run(bench: Bench, *more: str) -> int:
    given = ["m3bench_robot", "--file", str(bench.folder / "robot.json"), "--model", MODEL, "--judge", MODEL]
    return bench.run(*given, "--memories", str(bench.folder / "memories"), *more)


@pytest.mark.parametrize("method", ["robot", "one_shot", "reference"])
def test_nothing_from_behind_the_clip_is_known(bench: Bench, method: str) -> None:
    write_memory(bench.folder / "memories" / "kitchen")
    annotations(bench.folder, ["kitchen"], ("00:10", "00:40", "01:00", "01:59", "59:00"))
    assert run(bench, "--methods", method) == 0
    rows = {row["id"]: row["answered"] for row in bench.rows("answers.jsonl")}
    assert len(rows) == 5
    for place, known in enumerate((0, 1, 2, 3, 4)):
        told = "\n".join(rows[f"kitchen_Q{place}"]["prompts"]) + rows[f"kitchen_Q{place}"]["text"]
        for drink in DRINKS[known:]:
            assert f"drink {drink}" not in told, f"{drink} is said later"
        assert len(rows[f"kitchen_Q{place}"]["found"]) <= known
        if known:
            assert f"drink {DRINKS[known - 1]}" in told


def test_the_memory_that_is_asked_stays_as_it_was(bench: Bench) -> None:
    directory = write_memory(bench.folder / "memories" / "kitchen")
    annotations(bench.folder, ["kitchen"])
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert run(bench) == 0
    assert before == {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("clip_s", "before", "expected"),
    [(30.0, None, None), (30.0, -1, 0), (30.0, 0, 1), (30.0, 2, 3), (30.0, 3, None), (30.0, 99, None), (15.0, 0, 2),
     (60.0, 0, 0), (60.0, 1, 1), (20.0, 0, 1)],
)  # fmt: skip
def test_the_first_clip_that_may_not_be_known(
    tmp_path: Path, clip_s: float, before: int | None, expected: int | None
) -> None:
    """Clips of other lengths are known only when all of them lies before the moment."""
    with MemoryStore.open(write_memory(tmp_path, clip_s=clip_s), TEXT.spaces) as store:
        ids = [clip.id for clip in store.clips()]
        assert first_unknown(store, before) == (None if expected is None else ids[expected])


def test_questions_without_memory_are_counted_and_named(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    write_memory(bench.folder / "memories" / "kitchen")
    annotations(bench.folder, ["kitchen", "attic", "cellar"])
    assert run(bench, "--leaderboard", str(bench.folder / "board.jsonl")) == 3
    told = " ".join(capsys.readouterr().out.split())
    folder = bench.folder / "memories"
    assert f"NOT ASKED: 4 questions of 2 memories (no memory in {folder}): attic, cellar" in told
    assert set(bench.result()["not_asked"]) == {"attic", "cellar"}
    assert bench.result()["figures"]["answered"] == 2 and not (bench.folder / "board.jsonl").exists()
    annotations(bench.folder, ["attic"])
    assert run(bench) == 3, "nothing could be asked at all"
    given = ["m3bench_robot", "--file", str(bench.folder / "robot.json")]
    assert bench.run(*given, "--model", "none") == 3
    assert "(no --memories DIR was named): attic" in capsys.readouterr().out


def test_a_damaged_memory_is_named_and_the_others_are_asked(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    write_memory(bench.folder / "memories" / "kitchen")
    (bench.folder / "memories" / "attic").mkdir()
    (bench.folder / "memories" / "attic" / "memory.db").write_bytes(b"SQLite format 3\0" + b"rubbish" * 1000)
    annotations(bench.folder, ["attic", "kitchen"])
    assert run(bench) == 3
    assert bench.result()["figures"]["answered"] == 2
    assert "cannot be asked" in bench.result()["not_asked"]["attic"]
    assert "NOT ASKED: 2 questions of 1 memories (the memory in" in " ".join(capsys.readouterr().out.split())


def test_answers_from_another_content_of_the_memory_are_asked_again(bench: Bench) -> None:
    directory = write_memory(bench.folder / "memories" / "kitchen")
    write_memory(bench.folder / "memories" / "attic")
    annotations(bench.folder, ["kitchen", "attic"], ("59:00",))
    assert run(bench) == 0 and len(bench.rows("answers.jsonl")) == 2
    assert run(bench) == 0 and len(bench.rows("answers.jsonl")) == 2
    with MemoryStore.open(directory, TEXT.spaces) as store, store.transaction():
        store.add_clip(
            source_key="v:9", source_name="v", start_utc_s=BEGAN_UTC_S + 900, end_utc_s=BEGAN_UTC_S + 930
        )
    assert run(bench) == 0
    assert [row["id"] for row in bench.rows("answers.jsonl")] == ["kitchen_Q0", "attic_Q0", "kitchen_Q0"]


def test_a_memory_is_made_of_a_video_once_and_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    videos, folder = tmp_path / "videos", tmp_path / "memories"
    videos.mkdir()
    (videos / "kitchen.mkv").touch()
    made: list[bool] = []

    def make(video: str, out: str, settings: Settings) -> Outcome:
        assert (video, out) == (str(videos / "kitchen.mkv"), str(folder))
        directory = folder / "kitchen-0123456789abcdef"
        made.append(directory.exists())
        if len(made) == 1:
            directory.mkdir(parents=True)
            return Outcome(video, str(directory), fault="out of memory")
        write_memory(directory)
        (directory / "memorized.json").write_text("{}", encoding="utf-8")
        return Outcome(video, str(directory), 4, 4)

    memories = Memories(TEXT, {}, folder=folder, videos=videos, make=make)
    assert memories.missing(["kitchen", "attic"]) == {"attic": f"no memory in {folder}; no video in {videos}"}
    with pytest.raises(MemoryUnusable, match=r"no memory can be made of .*kitchen\.mkv: out of memory"):
        memories.open("kitchen").__enter__()
    for _ in range(2):
        with memories.open("kitchen") as memory:
            assert len(memory.store.clips()) == 4 and memory.asked_utc_s == BEGAN_UTC_S + 120
    assert made == [False, True]


def test_memories_that_were_made_by_the_dozen_are_found_by_their_videos_name(tmp_path: Path) -> None:
    """memorize_many puts a hash behind the name, and a note into what is whole."""
    for name in ("kitchen-0123456789abcdef", "attic-0123456789abcdef", "scene-0123456789abcdef", "hall-way"):
        write_memory(tmp_path / name)
    for name in ("kitchen", "scene"):
        (tmp_path / f"{name}-0123456789abcdef" / "memorized.json").write_text("{}", encoding="utf-8")
    memories = Memories(TEXT, {}, folder=tmp_path)
    assert set(memories.missing(["kitchen", "attic", "scans/scene", "hall"])) == {"attic", "hall"}
    with memories.open("scans/scene") as memory:
        assert len(memory.store.clips()) == 4 and memory.fingerprint == memories.fingerprint("scans/scene")
    write_memory(tmp_path / "kitchen-fedcba9876543210")
    (tmp_path / "kitchen-fedcba9876543210" / "memorized.json").write_text("{}", encoding="utf-8")
    assert "kitchen: 2 memories, of different videos: keep one of" in memories.missing(["kitchen"])["kitchen"]


def test_folders_that_are_none_are_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EvaluateError, match=r"--memories .*file: no folder"):
        Memories(TEXT, {}, folder=tmp_path / "file")
    with pytest.raises(EvaluateError, match=r"--videos .*none: there is no such folder"):
        Memories(TEXT, {}, folder=tmp_path, videos=tmp_path / "none")
    with pytest.raises(EvaluateError, match="--videos needs --memories"):
        Memories(TEXT, {}, videos=tmp_path)
