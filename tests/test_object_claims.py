"""What people say of whose a thing is and from whom: by whole names of any Latin spelling, and never by denials."""

import pytest

from runtime.object_claims import read_claims


@pytest.mark.parametrize(
    ("said", "relation", "name"),
    [
        ("This is Bob's cup.", "belongs_to", "Bob"),
        ("That's O'Neill's blue cup.", "belongs_to", "O'Neill"),
        ("That is Anna Maria’s book.", "belongs_to", "Anna Maria"),
        ("This is Élodie's cup.", "belongs_to", "Élodie"),
        ("The cup belongs to Ömer Şahin.", "belongs_to", "Ömer Şahin"),
        ("Élodie gave me this book.", "gift_from", "Élodie"),
        ("This cup was a birthday present from Anna-Lena.", "gift_from", "Anna-Lena"),
        ("This is my cup.", "belongs_to", ""),
        ("The cup belongs to me.", "belongs_to", ""),
        ("这个杯子是李雷送的。", "gift_from", "李雷"),
        ("Bob送了我这本书。", "gift_from", "Bob"),
        ("这是小明的杯子。", "belongs_to", "小明"),
        ("这是我的杯子。", "belongs_to", ""),
        ("这个杯子是Anna的。", "belongs_to", "Anna"),
    ],
)
def test_whose_it_is(said: str, relation: str, name: str) -> None:
    claims = [(claim.relation, claim.name) for claim in read_claims(said)]
    assert claims == [(relation, name)]


@pytest.mark.parametrize(
    "said",
    [
        "Is this Bob's cup?",
        "This is not Bob's cup.",
        "I think this is Bob's cup.",
        "This is everybody's cup.",
        "Somebody gave me this book.",
        "这个杯子不是李雷送的。",
        "这是谁的杯子？",
    ],
)
def test_what_leaves_it_open_is_no_claim(said: str) -> None:
    assert read_claims(said) == []
