"""Broken answers of models: what can be read is read, nothing raises, and the time it takes is bounded."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_store.tags import find_tags
from runtime.describe_repair import repair
from runtime.salvage import plain_text, salvage

KEYS, CACTUS = "The car keys are in the blue bowl.", "<face_12> waters a cactus."
GOOD = f'{{"event": "{CACTUS}"}}\n{{"fact": "{KEYS}"}}\n{{"equivalence": ["<face_12>", "<voice_13>"]}}\n'
BOTH = [("episodic", CACTUS), ("semantic", KEYS)]


def read(text: str) -> list[tuple[str, str]]:
    return [(line.kind, line.text) for line in salvage(text).lines]


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"Sure! Here is what I saw:\n{GOOD}Let me know if you need more.",
        f"<think>The person says {{\"fact\": \"a lie\"}} maybe.</think>\n{GOOD}",
        f'He may hold {{"fact": "a lie"}}</think>{GOOD}',
        f"{GOOD}<think>I should also say {{\"fact\": \"a lie\"}}",
        f"```json\n{GOOD}```",
        f'```json\n[{{"event": "{CACTUS}"}}, {{"fact": "{KEYS}"}},]\n```',
        f"{{'event': '{CACTUS}'}}\n{{'fact': '{KEYS}'}}",
        f'{{"event": "{CACTUS}",}}\n{{"fact": "{KEYS}",}},',
        f'{{"event": "{CACTUS}", "fact": "{KEYS}"}}',
        f'{{"events": ["{CACTUS}"], "facts": ["{KEYS}"]}}',
        f'{{"event": {{"text": "{CACTUS}", "confidence": 0.9}}, "fact": [{{"text": "{KEYS}"}}]}}',
        f'{{"clip": {{"event": "{CACTUS}", "fact": "{KEYS}"}}, "mood": "calm"}}',
        f'{{"Event": "{CACTUS}"}} {{"FACT": "{KEYS}"}}',
        f'{{"episodic": "{CACTUS}"}}{{"semantic": "{KEYS}"}}',
        f'{{“event”: “{CACTUS}”}}\n{{“fact”: “{KEYS}”}}',
        f'{{event: "{CACTUS}"}}\n{{fact: "{KEYS}"}}',
        f'{{"event" : "{CACTUS}"\n{{"fact": "{KEYS}"',
        f'\ufeff\0{{"event": "<face_12> waters\0 a cactus."}}\n{{"fact": "{KEYS}\0"}}',
        f'{{"event": "\ud800{CACTUS}"}}\n{{"fact": "{KEYS}\\udfff"}}',
        f'{{"event": "{CACTUS}"}}\n{{"fact": "The car keys are in the blue bowl\\."}}',
        f'{{\n  "event": "{CACTUS}",\n  "fact": "{KEYS}"\n}}',
    ],
)  # fmt: skip
def test_what_is_right_in_a_broken_answer_is_read(text: str) -> None:
    assert [(kind, told.replace("\\", "")) for kind, told in read(text)] == BOTH


def test_a_key_that_stands_twice_is_read_twice() -> None:
    assert read('{"fact": "one is here", "fact": "two is here"}') == [
        ("semantic", "one is here"),
        ("semantic", "two is here"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Sure! Here is a summary of the clip.",
        "I'm sorry, I can't help with that.",
        '{"summary": "The car keys are in the blue bowl."}',
        '{"fact": null}',
        '{"fact": 3, "event": true}',
        '{"fact": ""}',
        "[[[[[[[[[[[[[[",
        "[" * 5000 + "]" * 5000,
        '{"fact":' * 3000,
        '{"a"' * 4000,
        '{"fact": {"a"' + '{"a"' * 2000,
        "<think>" * 2000,
        "\ud800\udfff\0",
        "x" * 1_000_000,
        '"' * 100_000,
        "\n." * 50_000,
        ", " * 100_000,
    ],
    ids=range(17),
)  # fmt: skip
def test_rubbish_is_told_from_an_answer_in_bounded_time(text: str) -> None:
    began = time.process_time()
    repaired = repair(text, [f'<face_12> says: "{KEYS}"'], grounded_only=True)
    assert time.process_time() - began < 2.0
    assert repaired.broken and repaired.lines == () and repaired.equivalences == ()


def test_one_unreadable_piece_does_not_cost_the_others_and_is_counted() -> None:
    text = f'{{"fact": [[[[[[[[[[[[}}\n{{"fact": "{KEYS}"}}'
    repaired = repair(text, ["<face_12> is in view."], grounded_only=False)
    assert [line.text for line in repaired.lines] == [KEYS] and repaired.dropped == {"unread": 1}
    assert not repaired.broken


def test_a_text_that_is_not_whole_is_flagged_as_mended() -> None:
    (cut,) = salvage('{"fact": "The car keys are in the blue bo').lines
    (quoted,) = salvage("{'fact': 'The car keys are in the blue bowl.'}").lines
    assert (cut.mended, cut.cut, quoted.mended, quoted.cut) == (True, True, True, False)


@pytest.mark.parametrize(
    "line",
    ["face_12> waters a cactus", "<face_12 waters a cactus", "<face_12>3> waters", "face_12 waters a cactus"],
)
def test_half_a_tag_names_nobody(line: str) -> None:
    repaired = repair(f'{{"event": "{line}"}}', ["<face_12> is in view."], grounded_only=False)
    assert repaired.lines == () and repaired.dropped == {"unknown_tag": 1}


@pytest.mark.parametrize(
    ("text", "pairs", "refused"),
    [
        ("Equivalence: <face_12>, <voice_13>", 1, 0),
        ("- **Equivalence:** <face_12>, <voice_13>", 1, 0),
        ('{"equivalence": ["<face_12>", "<voice_13>"]}', 1, 0),
        ('{"equivalence": "<face_12>, <voice_13>"}', 1, 0),
        ("Equivalence: <face_1>, <voice_13>", 0, 1),
        ("Equivalence: <face_12>, <voice_1>", 0, 1),
        ("Equivalence: <face_12>, <face_12>", 0, 1),
        ("Equivalence: <face_12>, <voice_13>, <voice_14>", 0, 1),
        ("Equivalence: Anna, <voice_13>", 0, 1),
    ],
)
def test_only_tags_of_the_clip_are_taken_for_one_person(text: str, pairs: int, refused: int) -> None:
    clip = ["<face_12> is in view.", '<voice_13> says: "Hello."', '<voice_14> says: "Hello."']
    repaired = repair(text, clip, grounded_only=True)
    assert len(repaired.equivalences) == pairs and repaired.dropped.get("equivalence", 0) == refused
    assert not repaired.broken


def test_thousands_of_mutations_raise_nothing_and_take_no_time() -> None:
    """3,000 seeded mutations: characters dropped, doubled, swapped, pieces moved, the text cut."""
    rng = random.Random(7)
    pieces = [
        '"',
        "'",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\\",
        "\0",
        "\ud800",
        "```",
        "<think>",
        "</think>",
        "\\u12",
        "“",
        "\n",
    ]
    clip = [f'<face_12> says: "{KEYS}"', '<voice_13> says: "Hello."']
    present, longest = set(find_tags("\n".join(clip))), 0.0
    for _ in range(3000):
        letters = list(GOOD)
        for _ in range(rng.randint(1, 12)):
            at = rng.randrange(len(letters) + 1)
            match rng.randrange(4):
                case 0:
                    letters.insert(at, rng.choice(pieces))
                case 1:
                    del letters[at : at + rng.randint(1, 20)]
                case 2:
                    letters[at:at] = letters[at : at + 30]
                case 3:
                    letters = letters[:at] if rng.random() < 0.2 and at else letters
        text = "".join(letters)
        began = time.process_time()
        repaired = repair(text, clip, grounded_only=rng.random() < 0.5)
        longest = max(longest, time.process_time() - began)
        for line in repaired.lines:
            line.text.encode("utf-8")
            assert "\0" not in line.text and set(line.tags) <= present
    assert longest < 0.5


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_characters_are_read(text: str) -> None:
    salvage(text)
    plain_text(text).encode("utf-8")
