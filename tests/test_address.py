"""Being spoken to by name: what counts, what is asked, and what is only overheard."""

from collections.abc import Sequence

import pytest

from models.phonemes import packaged_phonemes
from runtime.address import Address

ADDRESS = Address(("Hearsight", "小智"), lambda texts: packaged_phonemes(texts, "en-us"))


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Hearsight, where are my keys?", "where are my keys?"),
        ("hearsight where are my keys?", "where are my keys?"),
        ("Hey Hearsight! Where are my keys?", "Where are my keys?"),
        ("OK, Hear sight, who was here?", "who was here?"),
        ("Her site, who was here today?", "who was here today?"),
        ("A. Hercite, who was here?", "who was here?"),
        ("Where's my cup, her sight?", "Where's my cup"),
        ("Where are my keys, Hearsight?", "Where are my keys"),
        ("Hearsight.", ""),
        ("Hey, Hearsight!", ""),
        ("小智，我的钥匙在哪里？", "我的钥匙在哪里？"),
        ("小智我的钥匙在哪里？", "我的钥匙在哪里？"),
        ("你好小智，谁来过？", "谁来过？"),
        ("Hearsight，谁来过？", "谁来过？"),
    ],
)
def test_spoken_to(said: str, asked: str) -> None:
    found = ADDRESS.question(said)
    assert found is not None and found.rstrip("?？！!。.") == asked.rstrip("?？！!。.")


@pytest.mark.parametrize(
    "said",
    [
        "", "...", "Where are my keys?", "I told Anna about Hearsight yesterday.", "The eyesight test is at four.",
        "Hey Anna, where are my keys?", "Here, sit down.", "What a sight, really.", "我的钥匙在哪里？",
        "Her sister came, and so did he.", "Highlight the second line.", "Hello, who is there?",
        "Hello, who was there?", "I like the side of the C.", "He is right about that.", "A pear, right, and an apple.",
    ],
)  # fmt: skip
def test_only_overheard(said: str) -> None:
    assert ADDRESS.question(said) is None


def test_a_name_that_is_recognised_as_written_need_not_be_pronounced() -> None:
    asked: list[str] = []

    def pronounce(texts: Sequence[str]) -> Sequence[str]:
        asked.extend(texts)
        return texts

    address = Address(("Hearsight",), pronounce)
    asked.clear()
    assert address.question("Hey, hearsight, who was here?") == "who was here?" and not asked
    assert address.question("Her site, who was here?") is None and asked
