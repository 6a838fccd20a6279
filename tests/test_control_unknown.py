"""What is not known, or only quoted: honest abstention, quotations, and times that cannot be told."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.language import Message
from runtime.control import Control
from runtime.control_rounds import ControlLimits
from runtime.recall import Recall
from tests.controlled import cite, control
from tests.household import NOW, ZONE, Moment, embed_words, open_household
from tests.scripted_language import ScriptedLanguage


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_household(tmp_path) as store:
        yield store


def test_nothing_known_is_said_honestly(store: MemoryStore) -> None:
    language = ScriptedLanguage(lambda messages: "Reasoning: nothing.\n[Answer] I don't know.")
    answer = control(store, language, max_rounds=1).answer("How much did the sofa cost?")
    assert answer.abstained and answer.confidence == 0.0 and answer.evidence == ()
    assert answer.text == 'I don\'t know: nothing I remember mentions "sofa" and "cost".'
    answer = control(store, None).answer("Where were the car keys today?")
    assert answer.abstained and "today" in answer.text and '"car" and "keys"' in answer.text
    answer = control(store, None).answer("沙发多少钱？")
    assert answer.abstained and answer.text.startswith("我不知道")


def test_a_person_nobody_knows_is_said_so(store: MemoryStore) -> None:
    answer = control(store, None).answer("What did person_77 say?")
    assert answer.abstained and "person_77" in answer.text


def test_best_effort_quotes_the_nearest_memory(store: MemoryStore) -> None:
    answer = control(store, None, policy="best_effort").answer("How much did the sofa cost?")
    assert not answer.abstained and answer.evidence


@pytest.mark.parametrize("language", [None, "[Answer] It is purple. (memory 1)"])
def test_a_quotation_that_leaves_the_question_open_is_no_answer(
    store: MemoryStore, language: str | None
) -> None:
    model = None if language is None else ScriptedLanguage(lambda messages: f"Reasoning: I see.\n{language}")
    answer = control(store, model).answer("How did the bowl of the car keys by the sink break?")
    assert answer.abstained and answer.evidence and answer.confidence == 0.0
    assert answer.text.startswith("I don't know") and "blue bowl" in answer.text
    assert ("no language model" in answer.text) == (language is None)
    best = control(store, model, policy="best_effort").answer(
        "How did the bowl of the car keys by the sink break?"
    )
    assert not best.abstained and "blue bowl" in best.text


def test_without_a_model_the_best_memory_is_quoted_and_that_is_said(store: MemoryStore) -> None:
    answer = control(store, None).answer("What is the wifi password?")
    assert "no language model" in answer.text and "sunflower seven" in answer.text
    assert (answer.method, answer.model_calls, answer.rounds) == ("extractive", 0, ())


def test_an_empty_memory_answers_that_it_knows_nothing(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, [VectorSpace("text", 64, "words")], clock=lambda: NOW) as store:
        for question in ("Who was here today?", "Where are the keys?", "How many people were here?"):
            answer = control(store, None).answer(question)
            assert answer.evidence == () and ("no memories" in answer.text or answer.abstained)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("Who was here on 31 February?", 'by "on 31 February": there is no such day'),
        ("二月三十号谁来过？", "没有这一天"),
    ],
)
def test_a_time_that_cannot_be_told_is_said_and_nothing_is_searched(
    store: MemoryStore, question: str, says: str
) -> None:
    answer = control(store, ScriptedLanguage([])).answer(question)
    assert says in answer.text and answer.abstained and not answer.evidence and answer.first_search is None


def test_a_festival_that_the_calendar_lacks_is_looked_for_in_what_was_said(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = store.add_clip(
            source_key="pie", source_name="t", start_utc_s=NOW - 900, end_utc_s=NOW - 870
        )
        face = next(person for person in store.people() if person.label == "Bob").face_ids[0]
        text = f'<face_{face}> says: "We bake a pumpkin pie at Thanksgiving."'
        store.add_node(
            "episodic", text, clip_id=clip_id, start_utc_s=NOW - 899, end_utc_s=NOW - 895,
            vectors={"text": embed_words([text])[0]}, provenance={"source": "grounded", "event": "heard"},
        )  # fmt: skip
    answer = control(store, None).answer("What does Bob bake at Thanksgiving?")
    assert "pumpkin pie" in answer.text and not answer.abstained
    assert any("no time known here" in note for note in answer.notes)
    assert "no day of this name" in control(store, None).answer("Who was here on Thanksgiving?").text


@pytest.mark.parametrize(
    ("said", "asked", "known"),
    [
        ("I just painted the shed.", "When did Anna paint the shed?", True),
        ("我刚刚给小屋刷了油漆。", "小屋是什么时候刷了油漆？", True),
        ("I painted the shed.", "When did Anna paint the shed?", False),
        ("I just love to paint the shed.", "When did Anna paint the shed?", False),
        ("I just painted the shed.", "When does Anna paint the shed?", False),
    ],
)
def test_what_just_was_is_told_with_the_time_of_its_telling(
    store: MemoryStore, said: str, asked: str, known: bool
) -> None:
    face = store.people()[0].face_ids[0]
    with store.transaction():
        clip_id = store.add_clip(
            source_key="shed", source_name="t", start_utc_s=NOW - 900, end_utc_s=NOW - 870
        )
        store.add_node(
            "episodic", f'<face_{face}> says: "{said}"', clip_id=clip_id, vectors={"text": embed_words([said])[0]},
            start_utc_s=NOW - 899, end_utc_s=NOW - 895, provenance={"source": "grounded", "event": "heard"},
        )  # fmt: skip
    answer = control(store, None).answer(asked)
    assert said in answer.text and answer.abstained is not known


def test_an_answer_without_what_was_asked_gives_way_to_the_memory_that_it_copied(store: MemoryStore) -> None:
    line = "My dentist appointment is on Tuesday at four"

    def reply(messages: Sequence[Message]) -> str:
        cited = cite(line, "Bob has a dentist appointment.")(messages)
        return cited.replace("it is there", f"Memory 1 says: {line}")

    answer = control(store, ScriptedLanguage(reply)).answer("When is Bob's appointment with the new dentist?")
    assert answer.rounds[-1].rejected == "it tells no time"
    assert line in answer.text and answer.method == "extractive" and not answer.abstained
    assert len(answer.evidence) == 1


def test_a_time_within_what_was_said_need_not_be_told(store: MemoryStore) -> None:
    face = store.people()[0].face_ids[0]
    with store.transaction():
        clip_id = store.add_clip(
            source_key="bins", source_name="t", start_utc_s=NOW - 900, end_utc_s=NOW - 870
        )
        store.add_node(
            "episodic", f'<face_{face}> says: "The bins go out on Monday and Friday."', clip_id=clip_id,
            start_utc_s=NOW - 899, end_utc_s=NOW - 895, provenance={"source": "grounded", "event": "heard"},
        )  # fmt: skip
    answer = control(store, None).answer("Who said the bins go out on Monday and Friday?")
    assert not answer.abstained and "bins go out on Monday and Friday" in answer.text


def test_what_lies_ahead_is_looked_for_in_what_was_said(store: MemoryStore) -> None:
    answer = control(store, None).answer("Who has a dentist appointment next Tuesday?")
    assert "dentist" in answer.text and answer.time_range is None
    assert any("lies ahead" in note for note in answer.notes)


def test_of_a_time_to_come_only_what_was_said_of_it_is_told(store: MemoryStore) -> None:
    assert control(store, None).answer("Who has a dentist appointment next Friday?").abstained
    assert control(store, None).answer("明天谁去踢足球？").abstained  # "tomorrow", said yesterday, is today


def test_what_was_said_of_a_time_at_another_time_is_found(store: MemoryStore) -> None:
    answer = control(store, None).answer(
        "小明今天下午去学校踢什么？"
    )  # said on the day before: "tomorrow afternoon"
    assert "足球" in answer.text and not answer.abstained
    assert any("at other times" in note for note in answer.notes)
    assert control(store, None).answer("小明今天早上去学校踢什么？").abstained


def test_without_a_model_what_somebody_says_goes_before_what_somebody_asks(tmp_path: Path) -> None:
    with open_household(tmp_path) as store:
        with store.transaction():
            clip = store.add_clip(source_key="q", source_name="day", start_utc_s=NOW - 60, end_utc_s=NOW - 30)
            asked = 'Somebody says: "Tulips? Did anybody water the tulips?"'
            said = 'Somebody says: "I watered the tulips."'
            for text in (asked, said):
                store.add_node(
                    "episodic", text, clip_id=clip, start_utc_s=NOW - 50, end_utc_s=NOW - 45,
                    vectors={"text": embed_words([text])[0]},
                )  # fmt: skip
        control = Control(
            Recall(store, embed_words), None, clock=lambda: NOW, zone=ZONE, limits=ControlLimits(quoted=1)
        )
        answer = control.answer("Tell me about the tulips")
    assert "I watered the tulips" in answer.text and "Did anybody" not in answer.text


def test_you_in_a_line_is_whoever_answers_it(tmp_path: Path) -> None:
    day = (
        Moment(28, "08:10", "Anna", "Your exam is on Friday at nine."),
        Moment(28, "08:10", "Bob", "Thank you."),
        Moment(28, "12:00", "小明", "大家好。"),
    )
    with open_household(tmp_path, day) as store:
        answer = control(store, None).answer("When is Bob's exam?")
        assert "Friday at nine" in answer.text and not answer.abstained
