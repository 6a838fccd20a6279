"""A memory in words: the question it answered, and the days that what was said then speaks of."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from runtime.answer import Evidence
from runtime.control import Control
from runtime.evidence_words import (
    holds_always,
    question_before,
    quoted_line,
    shown_line,
    speaks_of,
    told_days,
)
from runtime.privacy import Audience
from runtime.prompts import Language
from runtime.question import read_question
from runtime.question_time import Household, read_time
from runtime.recall import Recall
from runtime.say import Speech
from tests.household import NOW, ZONE, embed_words
from tests.scripted_language import ScriptedLanguage

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=BERLIN).timestamp()
LATER = MONDAY + 100 * 86400.0


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("I went there yesterday.", [("yesterday", "Sunday 7 May 2023")]),
        ("It was last night!", [("last night", "Sunday 7 May 2023")]),
        ("We met last Friday. I painted it last year.", [("last Friday", "Friday 5 May 2023"), ("last year", "2022")]),
        ("I joined last Tues. On Fri we met.", [("last Tues.", "Tuesday 2 May 2023"), ("Fri", "Friday 5 May 2023")]),
        ("The race was last weekend.", [("last weekend", "Saturday 6 May 2023 to Sunday 7 May 2023")]),
        ("I fly back on Saturday.", [("Saturday", "Saturday 13 May 2023")]),
        ("We met on Saturday.", [("Saturday", "Saturday 6 May 2023")]),
        ("It has to be done by Friday.", []),
        ("我星期六去爬山。", [("星期六", "Saturday 13 May 2023")]),
        ("我星期六去爬山了。", [("星期六", "Saturday 6 May 2023")]),
        ("I leave next month.", [("next month", "June 2023")]),
        ("She began three years ago.", [("three years ago", "around 2020")]),
        ("I am busy today, until this evening.", []),
        ("My birthday is in May. We came in March 2019.", []),  # as clear as it stands
        ("I have lived here since last year.", []),
        ("Nothing of the sort.", []),
        ("我昨天去了。", [("昨天", "Sunday 7 May 2023")]),
        ("星期五晚上我们去看电影吧。", [("星期五晚上", "Friday 12 May 2023")]),  # 晚上 is not 上个 …
        ("星期五我们过生日。", [("星期五", "Friday 12 May 2023")]),
        ("上个星期五我去上海。", [("上个星期五", "Friday 5 May 2023")]),
    ],
)  # fmt: skip
def test_words_for_days_are_told_as_days(said: str, days: list[tuple[str, str]]) -> None:
    assert told_days(said, MONDAY, Speech("en", BERLIN, LATER)) == days


def test_an_hour_on_the_first_of_a_month_is_no_month() -> None:
    first = datetime(2026, 12, 1, 16, 0, tzinfo=BERLIN).timestamp()
    assert Speech("en", BERLIN, LATER).days(first, first + 600) == "Tuesday 1 December 2026"


def test_days_are_told_in_the_language_of_the_question() -> None:
    speech = Speech("zh", BERLIN, LATER)
    assert told_days("我昨天去了。", MONDAY, speech) == [("昨天", "2023年5月7日星期日")]
    assert told_days("I painted it last month.", MONDAY, speech) == [("last month", "2023年4月")]


@pytest.mark.parametrize(
    ("line", "speaks"),
    [
        ('Anna says: "We eat at the station on Friday evening."', True),
        ('Anna says: "We eat at the station on Thursday."', False),
        ('Anna says: "We eat at the station."', False),
        ('Anna says: "We eat at the station every evening."', False),
        ('Anna says: "We ate there. This week we eat at home."', True),
        ('Anna says: "On Thursday I work, so I will eat alone on Friday."', True),
        ("Anna likes the station.", False),
    ],
)
def test_a_memory_speaks_of_a_time_by_its_words(line: str, speaks: bool) -> None:
    household = Household(BERLIN)
    friday = read_time("What do we do on Friday evening, will we eat?", MONDAY, household).range
    assert friday is not None
    assert speaks_of(heard(line), friday, household) is speaks
    asked = heard('Anna says: "At the station."', 'Bob says: "Where do we eat on Friday?"')
    assert speaks_of(asked, friday, household)


def test_what_is_so_every_day_holds_always() -> None:
    for line in ('Anna says: "We eat at the station every evening."', "Anna likes the station."):
        assert holds_always(heard(line))
    assert not holds_always(heard('Anna says: "We eat at the station."'))


def heard(line: str, asked: str = "") -> Evidence:
    return Evidence(1, 1, "episodic", MONDAY, MONDAY + 3, line, line, 1.0, None, ("text",), asked)


def test_a_line_carries_the_question_before_it_and_its_days() -> None:
    item = heard('Bob says: "Yes, yesterday."', 'Anna says: "Did you mow the lawn?"')
    assert quoted_line(item, Speech("en", BERLIN, LATER)) == (
        'on Monday 8 May 2023 at 13:56, Bob says: "Yes, yesterday." (Anna had asked: "Did you mow the lawn?") '
        "(yesterday: Sunday 7 May 2023)"
    )
    assert "（Anna刚问过：“Did you mow the lawn?”）" in quoted_line(item, Speech("zh", BERLIN, LATER))
    long = replace(item, line=f'Bob says: "{"word " * 100}yesterday."')
    assert quoted_line(long, Speech("en", BERLIN, LATER)).count("word") == 100
    assert shown_line(long, Speech("en", BERLIN, LATER)).count("word") < 70


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("I went yesterday and it was good.", "I went yesterday, Sunday 7 May 2023, and it was good."),
        ("I went yesterday!", "I went yesterday, Sunday 7 May 2023!"),
        ("Last Friday we met.", "Last Friday, Friday 5 May 2023, we met."),
        ("I'm busy.", "I'm busy."),
        ("Last week's race was mine.", "Last week's race was mine.”（"),
        ("我昨天去了。", "我昨天，即2023年5月7日星期日，去了。"),
    ],
)
def test_the_model_is_shown_days_right_behind_their_words(said: str, shown: str) -> None:
    language: Language = "zh" if "昨" in said or "week" in said else "en"
    assert shown in shown_line(heard(f'Bob says: "{said}"'), Speech(language, BERLIN, LATER))


@pytest.mark.parametrize(
    ("before", "asked"),
    [
        ('<voice_1> says: "Nice. Where is the pump?"', '<voice_1> says: "Where is the pump?"'),
        ('<voice_1> says: "Where is the pump? I need it."', ""),
        ('<voice_2> says: "Where is the pump?"', ""),  # who asks themselves is not answered
        ("<voice_1> is in view.", ""),
        ('<voice_1>说：“水泵在哪里？”', '<voice_1> says: "水泵在哪里？"'),
    ],
)  # fmt: skip
def test_only_a_question_of_somebody_else_that_ends_the_line_before_counts(before: str, asked: str) -> None:
    assert question_before('<voice_2> says: "Behind the boiler."', before) == asked


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[MemoryStore]:
    """Anna asks for the pump, Bob answers; after an hour he says something else."""
    with MemoryStore.open(tmp_path, [VectorSpace("text", 64, "words")], clock=lambda: NOW) as store:
        with store.transaction():
            clip_id = store.add_clip(
                source_key="a", source_name="a", start_utc_s=MONDAY, end_utc_s=MONDAY + 30
            )
            for number, (who, said, at) in enumerate(
                [
                    ("Anna", "Where did you put the bicycle pump?", 0.0),
                    ("Bob", "It hangs behind the boiler.", 4.0),
                    ("Anna", "Will it rain?", 8.0),
                    ("Bob", "The soup is ready.", 3600.0),
                ]
            ):
                if number < 2:
                    person = store.create_person(tentative=False)
                    store.name_person(person, who)
                    voice = store.add_node(
                        "voice", "", clip_id=clip_id, start_utc_s=MONDAY, end_utc_s=MONDAY + 1
                    )
                    store.bind(person, voice)
                voice = store.people()[number % 2].voice_ids[0]
                store.add_node(
                    "episodic",
                    f'<voice_{voice}> says: "{said}"',
                    clip_id=clip_id,
                    start_utc_s=MONDAY + at,
                    end_utc_s=MONDAY + at + 2,
                    provenance={"source": "grounded", "event": "heard"},
                    vectors={"text": embed_words([said])[0]},
                )
        yield store


def test_an_answer_that_was_heard_to_a_question_answers_that_question(talk: MemoryStore) -> None:
    language = ScriptedLanguage(
        ["Reasoning: there.\n[Answer] The bicycle pump hangs behind the boiler. (memory 2)"]
    )
    control = Control(Recall(talk, embed_words), language, clock=lambda: NOW, zone=ZONE)
    answer = control.answer("Where is the bicycle pump?")
    assert answer.text == "The bicycle pump hangs behind the boiler." and answer.method == "model", (
        answer.rounds
    )
    assert [item.asked for item in answer.evidence] == ['Anna says: "Where did you put the bicycle pump?"']
    plain = Control(Recall(talk, embed_words), None, clock=lambda: NOW, zone=ZONE)
    assert 'Bob says: "It hangs behind the boiler."' in plain.answer("Where is the bicycle pump?").text


def test_a_question_that_the_audience_may_not_hear_is_not_told(talk: MemoryStore) -> None:
    first = talk.nodes(kinds=["episodic"])[0].id
    audience = Audience("own", 1, lambda asker, node_ids: [one for one in node_ids if one != first])
    recall = Recall(talk, embed_words)
    question = read_question("boiler", talk.people(), talk.person_of, NOW, ZONE)
    found, _ = recall.search("boiler", question, audience)
    assert found and all("pump" not in item.words for item in found)
    found, _ = recall.search("boiler", question)
    assert any("pump" in item.asked for item in found)


def test_what_was_said_much_later_answers_nothing(talk: MemoryStore) -> None:
    lines = talk.nodes(kinds=["episodic"])
    assert [talk.heard_before(node.id) for node in lines] == [None, lines[0], lines[1], None]
    assert [talk.heard_after(node.id) for node in lines] == [lines[1], lines[2], None, None]
