"""Round 0 by code: persons, times, languages and plain forms of questions, and questions that cannot be asked."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_store.records import Person
from runtime.question import MAX_QUESTION_CHARACTERS, Question, QuestionError, read_question

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 29, 15, 0, tzinfo=ZONE).timestamp()  # a Sunday


def person(person_id: int, name: str | None) -> Person:
    return Person(person_id, name, "resident", False, (person_id + 100,), (), None, None, 1)


PEOPLE = [
    person(1, "Anna"),
    person(2, "Bob"),
    person(3, None),
    person(4, "小明"),
    person(5, "Anna Maria"),
    person(6, "Will"),
]


def read(text: str, *, asker: int | None = None) -> Question:
    owners = {each.face_ids[0]: each for each in PEOPLE}
    return read_question(text, PEOPLE, owners.get, NOW, ZONE, asker=asker)


def local(start: str, end: str) -> tuple[float, float]:
    first, last = (datetime.fromisoformat(f"2026-11-{text}").replace(tzinfo=ZONE) for text in (start, end))
    return first.timestamp(), last.timestamp()


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("Who was here today?", "29T00:00", "30T00:00"),
        ("Who was here yesterday?", "28T00:00", "29T00:00"),
        ("Who was here the day before yesterday?", "27T00:00", "28T00:00"),
        ("Who was here this morning?", "29T05:00", "29T12:00"),
        ("Who was here yesterday afternoon?", "28T12:00", "28T18:00"),
        ("Who was here last night?", "28T18:00", "29T05:00"),
        ("Who had the night shift yesterday?", "28T00:00", "29T00:00"),
        ("Who was here on Saturday?", "28T00:00", "29T00:00"),
        ("Who was here last Sunday?", "22T00:00", "23T00:00"),
        ("Who was here at 10:30?", "29T10:25", "29T10:35"),
        ("Who was here at 16:00?", "28T15:55", "28T16:05"),
        ("Who was here yesterday at 3 pm?", "28T14:55", "28T15:05"),
        ("Who was here between 10:00 and 11:30 yesterday?", "28T10:00", "28T11:30"),
        ("Who came yesterday after 20:00?", "28T20:00", "29T00:00"),
        ("Who came on 27 November?", "27T00:00", "28T00:00"),
        ("Who came on 2026-11-26?", "26T00:00", "27T00:00"),
        ("Who was here in the last 30 minutes?", "29T14:30", "29T15:00:01"),
        ("Who was here 2 hours ago?", "29T12:30", "29T13:30"),
        ("Who was here 3 days ago?", "26T00:00", "27T00:00"),
        ("Who just came, right now?", "29T14:50", "29T15:00:01"),
        ("Who was here this week?", "23T00:00", "30T00:00"),
        ("今天谁来过？", "29T00:00", "30T00:00"),
        ("昨天早上谁来过？", "28T05:00", "28T12:00"),
        ("昨晚谁来过？", "28T18:00", "29T05:00"),
        ("前天谁来过？", "27T00:00", "28T00:00"),
        ("刚才谁来了？", "29T14:50", "29T15:00:01"),
        ("周六谁来过？", "28T00:00", "29T00:00"),
        ("上周六下午三点半谁来过？", "21T15:25", "21T15:35"),
        ("10点30分谁在家？", "29T10:25", "29T10:35"),
        ("最近三十分钟谁来过？", "29T14:30", "29T15:00:01"),
        ("11月27日谁来过？", "27T00:00", "28T00:00"),
    ],
)
def test_a_named_time_is_an_exact_range(text: str, start: str, end: str) -> None:
    time = read(text).time
    assert time is not None
    assert (time.start_utc_s, time.end_utc_s) == local(start, end)


def test_a_time_to_come_filters_nothing_and_one_that_cannot_be_told_is_kept_apart() -> None:
    ahead = read("What will Anna do tomorrow?")
    assert ahead.time is None and ahead.ahead is not None and "tomorrow" in ahead.terms
    unclear = read("Who was here on 31 February?")
    assert unclear.time is None and unclear.unclear_time == ("on 31 February", "no_such_day")


@pytest.mark.parametrize(
    "text",
    [
        "Who said lay blue at x four now?",
        'Who said "see you today"?',
        "When does Bob have the night shift?",
        "Who reads the morning paper?",
        "Where are the keys?",
        "谁说了“明天见”？",
    ],
)
def test_words_that_name_no_time_give_none(text: str) -> None:
    assert read(text).time is None


@pytest.mark.parametrize(
    ("text", "ids", "unknown"),
    [
        ("What did anna say?", [1], []),
        ("What did Anna Maria say?", [5], []),
        ("What did Anna Maria and Anna say?", [5, 1], []),
        ("Is Hannah here?", [], []),
        ("What did person_3 say?", [3], []),
        ("What did <face_103> say?", [3], []),
        ("What did person_33 say?", [], ["person_33"]),
        ("Will it rain? Was bob here?", [2, 6], []),
        ("Where will Bob go?", [2], []),
        ("小明说了什么？", [4], []),
        ("Where are Bob's keys?", [2], []),
        ("Where are 小明's keys?", [4], []),
        ("Where is 小明song?", [4], []),
    ],
)
def test_persons_are_found_as_whole_names(text: str, ids: list[int], unknown: list[str]) -> None:
    question = read(text)
    assert sorted(each.id for each in question.persons) == sorted(ids)
    assert list(question.unknown) == unknown


def test_the_s_of_an_owner_is_no_word() -> None:
    for text in ("Which keys are Bob's?", "Which keys are 小明's?", "Which keys are 老师's?"):
        assert "s" not in read(text).terms and "keys" in read(text).terms


def test_my_means_the_asker() -> None:
    assert [each.id for each in read("Where are my keys?", asker=2).persons] == [2]
    assert read("Where are my keys?").persons == ()


@pytest.mark.parametrize(
    ("text", "intent", "topic"),
    [
        ("Who said lay blue at x four now?", "who_said", "lay blue at x four now"),
        ("What did Anna say about the keys yesterday?", "what_said", "the keys"),
        ("When did you last see Bob?", "last_seen", ""),
        ("When was the last time you heard Bob?", "last_heard", ""),
        ("When did you first see Bob?", "first_seen", ""),
        ("Who was here today?", "present", ""),
        ("Who was angry today?", None, ""),
        ("What is the job of Bob?", "fact", "job"),
        ("When is the birthday of Bob?", "fact", "birthday"),
        ("What is the name of Bob?", None, ""),
        ("Whom did you see yesterday?", "present", ""),
        ("Who was in the room together with Bob on Monday?", "company", ""),
        ("Who talked with Bob yesterday?", "company", ""),
        ("With whom did Bob talk?", "company", ""),
        ("Who was angry with Bob?", None, ""),
        ("小明昨天和谁在一起？", "company", ""),
        ("谁和小明说话了？", "company", ""),
        ("How many people were here on Saturday?", "count", ""),
        ("How many cups were here?", None, ""),
        ("Did you see Bob yesterday?", "was_present", ""),
        ("Did you see a parcel yesterday?", None, ""),
        ("谁提到过医生？", "who_said", "医生"),
        ("小明今天说了什么？", "what_said", ""),
        ("你最后一次看到小明是什么时候？", "last_seen", ""),
        ("今天来了几个人？", "count", ""),
        ("今天谁来过？", "present", ""),
        ("小明今天来过吗？", "was_present", ""),
        ("What did the dentist say to Anna?", None, ""),
        ("What did Anna say to the dentist?", "what_said", ""),
    ],
)
def test_plain_forms_are_recognised_and_only_those(text: str, intent: str | None, topic: str) -> None:
    question = read(text)
    assert (question.intent, question.topic if question.intent else "") == (intent, topic)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("What did Anna's brother say yesterday?", [2]),
        ("What is the job of Anna's brother?", [2]),
        ("Where is Anna's brother's car?", [2]),
        ("What did Anna's sister say?", [1]),
        ("Who is Anna's brother?", [1]),
        ("What is the name of Anna's brother?", [1]),
        ("Where does Anna's brother live?", [1]),  # as facts about him are told: "my brother lives in Lisbon"
        ("小明的哥哥昨天说了什么？", [6]),
    ],
)
def test_a_relative_who_is_known_is_meant_by_the_relation(text: str, ids: list[int]) -> None:
    known = {(1, "brother"): PEOPLE[1], (4, "brother"): PEOPLE[5]}
    question = read_question(
        text, PEOPLE, lambda node_id: None, NOW, ZONE, relative=lambda one, kin: known.get((one.id, kin))
    )
    assert [each.id for each in question.persons] == ids


def test_the_language_is_not_that_of_a_name() -> None:
    assert read("Did you see 小明 this afternoon?").language == "en"
    assert read("Bob今天说了什么？").language == "zh"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no word"),
        ("  \n ", "holds no word"),
        ("?!…", "holds no word"),
        ("who\0here", "NUL"),
        ("x" * 20_000, "20000 characters"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(QuestionError, match=says) as caught:
        read(text)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


@pytest.mark.parametrize("text", ["Где ключи?", "مفاتيح السيارة أين", "鍵はどこ？", "🙂 keys?", "‮keys"])
def test_other_scripts_are_read_as_they_are(text: str) -> None:
    assert read(text).intent is None


@given(st.text(max_size=MAX_QUESTION_CHARACTERS + 10))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read(text)
    except QuestionError:
        return
