"""Text spoken, and understood again."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from models.errors import ModelError
from models.phonemes import installed_phonemes, packaged_phonemes
from models.speech import SpeechRecognizer
from models.synthesis import SpeechSynthesizer
from models.voice_activity import Span
from tests.pictures import fetched_model
from tests.sounds import RATE_HZ


@pytest.fixture(scope="module")
def joe() -> SpeechSynthesizer:
    return SpeechSynthesizer(fetched_model("piper-joe"))


def test_what_is_said_is_understood(joe: SpeechSynthesizer) -> None:
    samples, rate_hz = joe.synthesize("Hello there, Anna. Your keys are in the kitchen!")
    assert samples.dtype == np.float32
    assert rate_hz == 22050
    assert 0.1 < float(np.abs(samples).max()) <= 1.0
    times = np.arange(samples.size * RATE_HZ // rate_hz) * rate_hz / RATE_HZ
    speech = np.interp(times, np.arange(samples.size), samples).astype(np.float32)
    recognizer = SpeechRecognizer(fetched_model("whisper-base"))
    (heard,) = recognizer.transcribe(speech, [Span(0.0, speech.size / RATE_HZ)])
    assert "keys are in the kitchen" in heard.text


def test_the_voice_is_asked_clause_by_clause() -> None:
    asked: list[str] = []

    def phonemes(clauses: Sequence[str], voice: str) -> list[str]:
        assert voice == "en-us"
        asked.extend(clauses)
        return ["həlˈoʊ" for _ in clauses]

    synthesizer = SpeechSynthesizer(fetched_model("piper-joe"), phonemes=phonemes)
    samples, _ = synthesizer.synthesize("Yes, 3.5 metres; ... really?\nGood")
    assert asked == ["Yes,", "3.5 metres;", "really?", "Good"]
    assert samples.size > 22050


def test_a_text_without_end_is_spoken_in_parts() -> None:
    longest = 0

    def phonemes(clauses: Sequence[str], voice: str) -> list[str]:
        nonlocal longest
        longest = max(len(clause) for clause in clauses)
        return ["ə" for _ in clauses]

    SpeechSynthesizer(fetched_model("piper-joe"), phonemes=phonemes).synthesize("well and " * 200)
    assert longest <= 240


@pytest.mark.parametrize("text", ["", "  \n", "?!", "你好"])
def test_what_the_voice_cannot_speak_is_refused(joe: SpeechSynthesizer, text: str) -> None:
    with pytest.raises(ModelError, match="no letter or digit"):
        joe.synthesize(text)


def test_packaged_phonemes_come_one_line_for_each_clause() -> None:
    found = packaged_phonemes(["Good morning, Anna: it is 3.5 degrees.", "Bye"], "en-us")
    assert len(found) == 2
    assert "mˈɔːɹnɪŋ" in found[0]
    assert "ˈænə" in found[0]


def test_an_unknown_voice_is_named() -> None:
    with pytest.raises(ModelError, match="xx-nowhere"):
        packaged_phonemes(["hello"], "xx-nowhere")


def test_an_installed_program_is_fed_through_standard_input(tmp_path: Path) -> None:
    program = tmp_path / "espeak-ng"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nprint(sys.stdin.read().strip())\nprint(sys.argv[-2])\n"
    )
    program.chmod(0o755)
    assert installed_phonemes(str(program), ["--say\nit", "b"], "en-us") == ["--say it en-us", "b en-us"]


def test_a_program_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="could not be run"):
        installed_phonemes(str(tmp_path / "nothing"), ["hello"], "en-us")


def test_missing_and_damaged_voices_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="hearsight models fetch"):
        SpeechSynthesizer(tmp_path)
    model = fetched_model("piper-joe") / "en_US-joe-medium.onnx"
    shutil.copy(model, tmp_path)
    with pytest.raises(ModelError, match=r"joe-medium\.onnx\.json.*hearsight models fetch"):
        SpeechSynthesizer(tmp_path)
    for content in ("{", "{}", '{"audio": {"sample_rate": 22050}}'):
        (tmp_path / "en_US-joe-medium.onnx.json").write_text(content)
        with pytest.raises(ModelError, match="no Piper voice"):
            SpeechSynthesizer(tmp_path)
