"""The lines that code writes: presence, speech in its language, things."""

import numpy as np

from models.face_quality import FaceQuality
from models.objects import ObjectBox
from runtime.face_identity import SeenFace
from runtime.grounded import grounded_lines, is_quiet
from runtime.hear import HeardSpeech
from runtime.identify import Identified
from runtime.object_views import Keyframe
from runtime.see import FaceTrack, FaceView
from runtime.voice_identity import SpokenBy

VIEW = FaceView(
    0.0, np.zeros(128, dtype=np.float32), FaceQuality(1, 1, 0, 0), np.zeros((112, 112, 3), np.uint8)
)


def _seen(face_id: int | None, start_s: float, end_s: float) -> SeenFace:
    return SeenFace(FaceTrack(start_s, end_s, (VIEW,)), face_id, "known", 0.8)


def _spoken(
    text: str, language: str = "en", voice_id: int | None = 9, face_id: int | None = None
) -> SpokenBy:
    speech = HeardSpeech(1.0, 2.5, text, language, 0.7, False, None)
    return SpokenBy(speech, voice_id, face_id, "voice", "known", 0.8)


def _texts(faces: tuple[SeenFace, ...] = (), speech: tuple[SpokenBy, ...] = ()) -> list[str]:
    return [line.text for line in grounded_lines(Identified(faces, speech), ())]


def test_one_line_for_each_stay() -> None:
    lines = grounded_lines(Identified((_seen(4, 0, 3), _seen(4, 4, 8), _seen(4, 20, 25)), ()), ())
    assert [(line.text, line.start_s, line.end_s) for line in lines] == [
        ("<face_4> is in view.", 0, 8),
        ("<face_4> is in view.", 20, 25),
    ]
    assert lines[0].actors == (4,)


def test_the_unrecognised_are_told_and_tied_to_nobody() -> None:
    (line,) = grounded_lines(Identified((_seen(None, 0, 3),), ()), ())
    assert "could not be recognised" in line.text and line.actors == ()


def test_a_glimpse_of_somebody_unrecognised_is_not_told() -> None:
    assert _texts((_seen(None, 0, 0.6),)) == []
    assert len(_texts((_seen(7, 0, 0.6),))) == 1


def test_speech_is_quoted_in_its_own_language() -> None:
    assert _texts(speech=(_spoken("The keys are here."),)) == ['<voice_9> says: "The keys are here."']
    assert _texts(speech=(_spoken("钥匙在这里", "zh"),)) == ["<voice_9>说：“钥匙在这里”"]
    assert _texts(speech=(_spoken("Hello", voice_id=None, face_id=4),)) == ['<face_4> says: "Hello"']
    assert _texts(speech=(_spoken("Hello", voice_id=None),)) == ['Somebody says: "Hello"']
    assert _texts(speech=(_spoken("", voice_id=None),)) == [
        "Somebody says something that could not be understood."
    ]


def test_what_is_heard_cannot_break_its_line() -> None:
    (text,) = _texts(speech=(_spoken("one\ntwo   three"),))
    assert text == '<voice_9> says: "one two three"'
    (text,) = _texts(speech=(_spoken("I saw <face_4> there"),))
    assert text == '<voice_9> says: "I saw face_4 there"', "a tag in speech names nobody"


def test_things_in_view_are_one_line_with_the_most_seen_at_once() -> None:
    cup, chair = (ObjectBox(label, 0.9, 0, 0, 1, 1) for label in ("cup", "chair"))
    person = ObjectBox("person", 0.9, 0, 0, 1, 1)
    keyframes = (Keyframe(1.0, b"", (cup, person)), Keyframe(2.0, b"", (cup, cup, chair)))
    (line,) = grounded_lines(Identified((), ()), keyframes)
    assert line.text == "In view: chair, 2 × cup."
    assert line.provenance["objects"] == {"chair": 1, "cup": 2}


def test_quiet_means_nobody_nothing_said_nothing_moved() -> None:
    nobody = Identified((), ())
    assert is_quiet(nobody, changed=False)
    assert not is_quiet(nobody, changed=True)
    assert not is_quiet(Identified((_seen(None, 0, 1),), ()), changed=False)
    assert not is_quiet(Identified((), (_spoken("hi"),)), changed=False)
