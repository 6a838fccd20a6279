"""Whose a thing is that is asked for by its owner's name."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from memory_store.records import Person
from runtime.question import read_question
from runtime.whose import without_others_lives, without_others_things

PEOPLE = [
    Person(number, name, "resident", False, (), (), None, None, 1)
    for number, name in enumerate(("Anna", "Bob", "小明"), start=1)
]


@pytest.mark.parametrize(
    ("question", "line", "kept"),
    [
        ("Where is Anna's car?", 'Bob says: "My red car is outside."', 'Bob says: "  is outside."'),
        ("Where is Anna's car?", 'Anna says: "My red car is outside."', None),
        ("Where is Anna's car?", 'Bob says: "Your red car is outside."', None),
        ("Where is Anna's dog?", 'Anna says: "I walk your dog, Bob."', 'Anna says: "I walk  , Bob."'),
        ("Where is Anna's car?", 'Bob says: "My dog is in the car."', None),  # another thing of his
        ("Where is Anna's car?", 'Bob says: "The car is outside."', None),
        ("Where is Anna's car?", 'person_7 says: "My car is outside."', None),  # who may be Anna
        ("Where is Anna's car?", 'Somebody says: "My car is outside."', None),
        ("Where is Anna’s car?", 'Bob says: "My red car is outside."', 'Bob says: "  is outside."'),
        (
            "When is Anna's birthday?",
            'Anna says: "My father\'s birthday is today."',
            'Anna says: " is today."',
        ),
        ("When is the birthday of Anna's father?", 'Anna says: "My father\'s birthday is today."', None),
        ("When is Anna's birthday?", 'Anna says: "My birthday is today."', None),
        ("Where is the car?", 'Bob says: "My red car is outside."', None),
        ("Where is Anna's car?", "In view: my car.", None),  # nobody's words
        ("Anna的车在哪里？", "Bob说：“我的车在外面。”", "Bob说：“ 在外面。”"),
        ("小明的狗在哪里？", "小明说：“你的狗在外面。”", "小明说：“ 在外面。”"),
        ("小明的狗在哪里？", "小明说：“我的狗在外面。”", None),
    ],
)
def test_what_is_anothers_is_left_out(question: str, line: str, kept: str | None) -> None:
    asked = read_question(question, PEOPLE, lambda node_id: None, 1_777_712_400.0, ZoneInfo("UTC"))
    assert " ".join(without_others_things(line, asked, None).split()) == " ".join((kept or line).split())


@pytest.mark.parametrize(
    ("question", "line", "kept"),
    [
        (
            "How old is Anna?",
            'Anna says: "It is my father\'s day. He is 71."',
            'Anna says: "It is my father\'s day. "',
        ),
        ("How old is Anna's father?", 'Anna says: "It is my father\'s day. He is 71."', None),
        ("How old is Bob?", 'Anna says: "It is my father\'s day. He is 71."', None),  # who may be Bob
        ("How old is Anna?", 'Anna says: "I am old. He is 71."', None),
        ("How old is Anna?", 'Anna says: "He is my father and 71."', None),
        ("小明几岁？", "小明说：“今天天气好。他七十一岁了。”", "小明说：“今天天气好。 ”"),
    ],
)
def test_what_is_said_of_him_is_not_told_of_whoever_says_it(
    question: str, line: str, kept: str | None
) -> None:
    asked = read_question(question, PEOPLE, lambda node_id: None, 1_777_712_400.0, ZoneInfo("UTC"))
    found = without_others_lives(line, asked, None)
    assert "".join(found.split()) == "".join((kept or line).split())
