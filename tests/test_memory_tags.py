"""Person tags are whole tokens."""

import pytest

from memory_store import Tag, find_tags, replace_tags


def test_a_tag_never_touches_a_longer_one() -> None:
    names = {1: "Anna", 12: "Ben"}
    text = "<face_1> met <face_12> and <face_123>; <voice_1>"

    def name(tag: Tag) -> str | None:
        return names.get(tag.node_id) if tag.kind == "face" else None

    assert replace_tags(text, name) == "Anna met Ben and <face_123>; <voice_1>"


def test_a_replacement_is_not_replaced_again() -> None:
    assert replace_tags("<face_1>", lambda tag: "<face_2>" if tag.node_id == 1 else "wrong") == "<face_2>"


def test_tags_come_once_in_order_of_appearance() -> None:
    assert find_tags("<voice_7> told <face_3> about <voice_7>") == (Tag("voice", 7), Tag("face", 3))


@pytest.mark.parametrize(
    "text", ["<face_>", "<face_01>", "<face_-1>", "face_1", "<Face_1>", "< face_1>", "<object_1>"]
)
def test_what_is_not_a_tag(text: str) -> None:
    assert find_tags(text) == ()
    assert replace_tags(text, lambda tag: "wrong") == text
