"""Whose a thing is that is asked for by its owner's name."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from memory_store.records import Person
from runtime.question import read_question
from runtime.whose import without_others_things

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
