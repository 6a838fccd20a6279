"""When a model's line tells of the same event as one of the clip before."""

import pytest

from runtime.continued import is_told_again


@pytest.mark.parametrize(
    ("text", "earlier"),
    [
        ("<face_1> is still cooking pasta", "<face_1> is cooking pasta"),
        ("<face_1> continues cooking pasta", "<face_1> is cooking pasta"),
        ("<face_1> reads a book on the sofa", "<face_1> is reading a book on the sofa"),
        ("<face_1> is playing the piano", "<face_1> plays the piano"),
    ],
)
def test_the_same_people_doing_the_same(text: str, earlier: str) -> None:
    assert is_told_again(text, earlier)


@pytest.mark.parametrize(
    ("text", "earlier"),
    [
        ("<face_1> turns off the light", "<face_1> turns on the light"),
        ("<face_1> closes the window", "<face_1> opens the window"),
        ("<face_2> gives <face_1> a cup", "<face_1> gives <face_2> a cup"),
        ("<face_12> plays the piano", "<face_1> plays the piano"),
        ("<face_1> puts the cup on the shelf", "<face_1> puts the cup on the table"),
        ("<face_1> is not cooking pasta", "<face_1> is cooking pasta"),
        ("<face_1> picks up the blue cup", "<face_1> picks up the red cup"),
        ("<face_1> takes 3 pills", "<face_1> takes 2 pills"),
        ("<face_1>", "<face_1>"),
    ],
)
def test_others_or_something_else(text: str, earlier: str) -> None:
    assert not is_told_again(text, earlier)
