"""Words that are one word in other forms and spellings."""

import pytest

from runtime.grounding import coverage


@pytest.mark.parametrize(
    ("term", "text", "same"),
    [
        ("favourite", "My favorite tea is green.", True),
        ("color", "What a colour!", True),
        ("neighbors", "our neighbour", True),
        ("dropped", "Don't drop it.", True),
        ("four", "It is for you.", False),
        ("broken", "It broke.", True),
        ("bought", "Who will buy it?", True),
        ("children", "one child", True),
        ("teeth", "a tooth", True),
        ("lent", "a lentil", False),
    ],
)
def test_a_word_is_found_in_other_forms_and_spellings(term: str, text: str, same: bool) -> None:
    assert bool(coverage((term,), text)) is same
