"""Readers of the benchmarks: what is published is read whole, and every fault is named with its entry."""

import json
from pathlib import Path
from typing import Any

import pytest

from offline_tools.evaluate.datasets import DATASETS, read_dataset
from offline_tools.evaluate.errors import DatasetError, EvaluateError
from offline_tools.evaluate.m3bench import before_clip
from offline_tools.evaluate.questions import Dataset
from tests.evaluated import sample
from tests.recordings import SHARED_MEDIA

PUBLISHED = {
    "m3bench_robot": (1276, 100),
    "m3bench_web": (3214, 920),
    "locomo": (1986, 10),
    "longmemeval": (26, 3),
    "openeqa": (1636, 152),
    "egotempo": (500, 367),
}
ROBOT = {
    "kitchen_01": {
        "video_path": "x.mp4",
        "qa_list": [
            {"question": "Which?", "answer": "Tea.", "question_id": "Q1", "timestamp": "00:43",
             "type": ["Cross-Modal Reasoning"], "before_clip": 0},
            {"question": "Who?", "answer": "Lily", "question_id": "Q2", "timestamp": "16:10",
             "type": ["Person Understanding", "Multi-Hop Reasoning"], "before_clip": 31},
        ],
    }
}  # fmt: skip
VIDEO_ROW = {
    "video_id": "001", "duration": "short", "domain": "Knowledge", "sub_category": "Humanity & History",
    "url": "https://example.org/watch?v=fF", "videoID": "fF", "question_id": "001-1",
    "task_type": "Counting Problem", "question": "How many apples hang there?",
    "options": ["A. One.", "B. Two.", "C. Three.", "D. Four."], "answer": "C",
}  # fmt: skip
HISTORY = {
    "question_id": "h1", "question_type": "multi-session", "question": "How many?", "answer": 3,
    "question_date": "2023/05/30 (Tue) 23:40", "haystack_dates": ["2023/05/20 (Sat) 02:21"],
    "haystack_session_ids": ["s1"], "answer_session_ids": ["s1"],
    "haystack_sessions": [[{"role": "user", "content": "I bought three."},
                           {"role": "assistant", "content": "Fine.", "has_answer": True}]],
}  # fmt: skip


def read(name: str, document: Any, folder: Path, suffix: str = ".json") -> Dataset:
    path = folder / f"{name}{suffix}"
    text = document if isinstance(document, str) else json.dumps(document)
    path.write_text(text, encoding="utf-8")
    return read_dataset(name, path)


def faults(name: str, document: Any, folder: Path, suffix: str = ".json") -> tuple[str, ...]:
    with pytest.raises(DatasetError) as caught:
        read(name, document, folder, suffix)
    assert str(folder / f"{name}{suffix}") in str(caught.value)
    return caught.value.faults


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_files_are_read_whole(name: str) -> None:
    if not (SHARED_MEDIA / "benchmarks" / str(DATASETS[name].file)).exists():
        pytest.skip("the annotations are not beside the project: put the shared media folder there")
    dataset = read_dataset(name)
    questions = dataset.questions
    assert (len(questions), len({question.memory for question in questions})) == PUBLISHED[name]
    assert all(question.types and question.text for question in questions)
    assert len(dataset.sha256) == 64
    if dataset.dialogues:
        assert {question.memory for question in questions} == set(dataset.dialogues)
        known = [question for question in questions if question.evidence]
        assert len(known) >= 0.95 * len(questions)
    if name == "m3bench_robot":
        assert all(question.before_clip is not None for question in questions)
        assert max(question.before_clip or 0 for question in questions) > 60
    if name == "locomo":
        assert sum(not question.answerable for question in questions) == 446


def test_before_clip_is_the_clip_before_the_one_of_the_moment_on_all_robot_questions() -> None:
    path = SHARED_MEDIA / "benchmarks" / "m3bench" / "robot.json"
    if not path.exists():
        pytest.skip("M3-Bench's annotations are not beside the project: put the shared media folder there")
    asked = [one for video in json.loads(path.read_text()).values() for one in video["qa_list"]]
    stated = {question.id: question.before_clip for question in read_dataset("m3bench_robot").questions}
    assert len(asked) == len(stated) == 1276
    for one in asked:
        minutes, seconds = map(int, one["timestamp"].split(":"))
        assert (
            stated[one["question_id"]] == before_clip(one["timestamp"]) == (60 * minutes + seconds) // 30 - 1
        )


def test_a_moment_gives_the_last_clip_that_had_ended(tmp_path: Path) -> None:
    assert [before_clip(moment) for moment in ("00:00", "00:29", "00:30", "00:43", "01:00", "16:10")] == [
        -1, -1, 0, 0, 1, 31
    ]  # fmt: skip
    assert before_clip("1:00:30") == 120
    for wrong in ("", "soon", "12", "00:61", "-1:00", "00:43:", "1:2:3:4"):
        with pytest.raises(ValueError, match="is no moment"):
            before_clip(wrong)
    first, second = read("m3bench_robot", ROBOT, tmp_path).questions
    assert (first.before_clip, second.before_clip) == (0, 31)
    assert second.types == ("Person Understanding", "Multi-Hop Reasoning")
    assert (first.memory, first.id, first.answer) == ("kitchen_01", "Q1", "Tea.")


def test_every_fault_of_m3bench_is_named_with_its_entry(tmp_path: Path) -> None:
    wrong = json.loads(json.dumps(ROBOT))
    first, second = wrong["kitchen_01"]["qa_list"]
    first["before_clip"], second["timestamp"] = 3, "noon"
    wrong["../attic"] = {"qa_list": [{**ROBOT["kitchen_01"]["qa_list"][0], "question_id": "Q1"}]}  # type: ignore[index]
    assert faults("m3bench_robot", wrong, tmp_path) == (
        "kitchen_01.qa_list[0].before_clip: 3, but 00:43 gives 0",
        "kitchen_01.qa_list[1].timestamp: 'noon' is no moment such as 16:10",
        "Q1: the id of 2 questions",
        "'../attic': no name of a folder, which the name of a memory must be",
    )
    del first["answer"]
    second["type"], second["before_clip"] = [], "31"
    told = "\n".join(faults("m3bench_robot", wrong, tmp_path))
    for piece in ("qa_list[0].answer: Field required", "qa_list[1].type", "qa_list[1].before_clip"):
        assert f"kitchen_01.{piece}" in told


def test_video_mme_is_read_in_both_published_forms(tmp_path: Path) -> None:
    (row,) = read("videomme", [VIDEO_ROW], tmp_path).questions
    assert row.memory == "fF" and row.options == ("One.", "Two.", "Three.", "Four.") and row.answer == "C"
    assert row.types == ("Counting Problem", "short videos")
    lines = "\n".join(json.dumps({**VIDEO_ROW, "question_id": f"001-{place}"}) for place in (1, 2)) + "\n"
    assert len(read("videomme", lines, tmp_path, ".jsonl").questions) == 2
    video = {
        "video_id": "001", "duration_category": "long", "video_category": "Knowledge",
        "questions": [{"question_id": "001-1", "task_type": "Action Reasoning", "question": "Why?",
                       "choices": ["One.", "Two."], "answer": "B", "response": "A"}],
    }  # fmt: skip
    (grouped,) = read("videomme", [video], tmp_path).questions
    assert (grouped.memory, grouped.options, grouped.answer) == ("001", ("One.", "Two."), "B")
    assert grouped.types == ("Action Reasoning", "long videos")


def test_faults_of_video_mme_are_named(tmp_path: Path) -> None:
    wrong = [
        {**VIDEO_ROW, "answer": "E"},
        {**VIDEO_ROW, "question_id": "x", "options": ["B. a", "A. b"], "answer": "A"},
    ]
    assert faults("videomme", wrong, tmp_path) == (
        "[0].answer: E, but the options end at D",
        "[1].options: begin with B, A, not with A, B",
    )
    assert (
        "[0].answer: String should match" in faults("videomme", [{**VIDEO_ROW, "answer": "c"}], tmp_path)[0]
    )
    assert faults("videomme", '{"a": 1}\n{"b"\nnull', tmp_path, ".jsonl") == (
        "line 2, column 5: Expecting ':' delimiter",
    )


def test_long_mem_eval_is_read_as_published_and_with_several_questions(tmp_path: Path) -> None:
    dataset = read("longmemeval", [HISTORY, {**HISTORY, "question_id": "h2_abs"}], tmp_path)
    first, second = dataset.questions
    assert (first.id, first.memory, first.answer, first.asker) == ("h1", "h1", "3", "Robin")
    assert first.evidence == {"s1"} and first.types == ("multi-session",) and first.answerable
    assert not second.answerable and second.types == ("abstention",) and not second.evidence
    assert dataset.dialogues["h1"].sessions[0].turns[0].key == "s1#0"
    liked = {**HISTORY, "question_type": "single-session-preference", "answer": "The user likes red."}
    assert read("longmemeval", [liked], tmp_path).questions[0].rubric and not first.rubric
    several = {
        **HISTORY, "questions": ["How many?", "Which?"], "answers": [3, "Red"], "answer_session_ids": [["s1"], ["s1"]]
    }  # fmt: skip
    assert [one.id for one in read("longmemeval", [several], tmp_path).questions] == ["h1:0", "h1:1"]


def test_faults_of_histories_are_named(tmp_path: Path) -> None:
    wrong = {
        **HISTORY,
        "question_date": "yesterday",
        "haystack_dates": [],
        "answer_session_ids": ["s9"],
        "answer": " ",
    }
    assert faults("longmemeval", [wrong], tmp_path) == (
        "[0]: of different lengths: haystack_dates 0, haystack_session_ids 1, haystack_sessions 1",
        "[0].question_date: 'yesterday' is no moment such as '2023/05/20 (Sat) 02:21'",
        "[0].answers[0]: empty",
        "[0].answer_session_ids[0]: 's9' is no session of the history",
    )


def test_faults_of_dialogues_are_named(tmp_path: Path) -> None:
    wrong = sample("one", "boiler")
    wrong["conversation"]["session_1_date_time"] = "8 May"
    wrong["conversation"]["session_2"] = [{"speaker": "Anna", "text": "Hm"}]
    wrong["qa"][0]["answer"] = None
    wrong["qa"][1]["category"] = 9
    told = faults("locomo", [wrong], tmp_path)
    assert len(told) == 1 and told[0].startswith(
        "[0].qa[1].category: Input should be less than or equal to 5"
    )
    wrong["qa"][1]["category"] = 1
    assert faults("locomo", [wrong], tmp_path) == (
        "[0].qa[0].answer: missing, which only category 5 may be",
        "[0].conversation.session_1_date_time: '8 May' is no moment such as '1:56 pm on 8 May, 2023'",
        "[0].conversation.session_2: [0].dia_id: Field required",
    )


def test_open_eqa_knows_further_answers_and_ego_tempo_its_clips(tmp_path: Path) -> None:
    row = {"question": "Where?", "answer": "There", "category": "object localization", "question_id": "q",
           "episode_history": "hm3d-v0/000-x", "extra_answers": ["here", ""]}  # fmt: skip
    (question,) = read("openeqa", [row], tmp_path).questions
    assert question.also_right == ("here",) and question.memory == "hm3d-v0/000-x"
    row = {
        "question_id": "q",
        "clip_id": "c_1.0_2.0",
        "question_type": "counting",
        "question": "?",
        "answer": "2",
    }
    (question,) = read("egotempo", {"info": {}, "annotations": [row]}, tmp_path).questions
    assert (question.memory, question.types) == ("c_1.0_2.0", ("counting",))


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "line 1, column 1: Expecting value"),
        ("[{", "line 1, column 3: Expecting property name"),
        ("[" * 100000, "no JSON|maximum recursion|Stack|depth"),
        ("NaN", "NaN is no number of JSON"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ("7", "Input should be a valid"),
        ("[7]", r"Input should be a valid"),
    ],
)
def test_what_is_no_such_file_is_said(name: str, text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=fault):
        read_dataset(name, path)


def test_a_file_that_is_not_there_or_not_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(EvaluateError, match=r"cannot read .*No such file.*--file"):
        read_dataset("locomo", tmp_path / "none.json")
    with pytest.raises(EvaluateError, match="no annotations are kept here; name their file with --file"):
        read_dataset("videomme")
    (tmp_path / "x.json").write_bytes(b"[\xff]")
    with pytest.raises(DatasetError, match="byte 1: not UTF-8"):
        read_dataset("openeqa", tmp_path / "x.json")
    with pytest.raises(DatasetError, match="it holds no questions"):
        read("openeqa", [], tmp_path)


def test_a_message_shows_the_first_faults_and_counts_the_others(tmp_path: Path) -> None:
    path = tmp_path / "openeqa.json"
    path.write_text(json.dumps([{}] * 30), encoding="utf-8")
    with pytest.raises(DatasetError) as caught:
        read_dataset("openeqa", path)
    assert len(caught.value.faults) == 150
    assert "has 150 faults:" in str(caught.value) and "… and 130 more" in str(caught.value)
