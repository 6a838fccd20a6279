"""Speech written down: on real recordings, in long spans, over noise, and from damaged model files."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import ModelError
from models.speech import SpeechRecognizer, Transcript
from models.speech_windows import batches, pieces
from models.transcript_text import TextLimits, plausible, without_repeats
from models.voice_activity import Span, VoiceActivity
from tests.pictures import fetched_model
from tests.sounds import BAD_AUDIO, RATE_HZ, Samples, noise, recording, silence, visitors

JFK = (
    "and so my fellow americans ask not what your country can do for you ask what you can do for your country"
)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGITS = {str(digit): word for digit, word in enumerate(_NUMBERS)}


@pytest.fixture(scope="module")
def recognizer() -> SpeechRecognizer:
    return SpeechRecognizer(fetched_model("whisper-base"))


def _words(text: str) -> list[str]:
    spaced = re.sub(r"(\d)", r" \1 ", text.casefold())
    return [_DIGITS.get(word, word) for word in re.sub(r"[^a-z0-9 ]", "", spaced).split()]


def _errors(said: list[str], written: list[str]) -> int:
    """Words put in, left out or changed (Levenshtein)."""
    costs = list(range(len(written) + 1))
    for row, word in enumerate(said, start=1):
        above = [row]
        for column, other in enumerate(written, start=1):
            above.append(min(costs[column] + 1, above[-1] + 1, costs[column - 1] + (word != other)))
        costs = above
    return costs[-1]


def test_a_known_sentence_is_written_down(recognizer: SpeechRecognizer) -> None:
    speech = recording("speech/jfk.flac")
    span = Span(0.0, speech.size / RATE_HZ)
    (heard,) = recognizer.transcribe(speech, [span])
    assert _words(heard.text) == _words(JFK)
    assert heard.language == "en"
    assert 0.5 < heard.confidence <= 1.0
    assert (heard.start_s, heard.end_s) == (span.start_s, span.end_s)


def test_visitors_are_understood_each_in_their_own_span(recognizer: SpeechRecognizer) -> None:
    sound, spoken = visitors()
    spans = VoiceActivity(fetched_model("silero-vad")).spans(sound)
    heard = recognizer.transcribe(sound, spans)
    assert [line.start_s for line in heard] == [span.start_s for span in spans]
    assert all(line.text for line in heard)
    assert {line.language for line in heard} == {"en"}
    said = sum(len(_words(segment.transcript)) for segment in spoken)
    wrong = sum(
        _errors(_words(segment.transcript), _words(line.text))
        for segment, line in zip(spoken, heard, strict=True)
    )
    assert wrong / said < 0.3  # a hard text: "bin", "lay" and single letters; full 30 s windows give 0.26


def test_a_span_longer_than_the_window_loses_no_words(recognizer: SpeechRecognizer) -> None:
    speech = np.tile(np.append(recording("speech/jfk.flac"), silence(0.6)), 4)
    (heard,) = recognizer.transcribe(speech, [Span(0.0, speech.size / RATE_HZ)])
    said = _words(" ".join([JFK] * 4))
    assert _errors(said, _words(heard.text)) / len(said) < 0.1


def test_spans_come_back_in_order_whatever_their_length(recognizer: SpeechRecognizer) -> None:
    speech = recording("speech/jfk.flac")
    spans = [Span(8.0, 11.0), Span(0.0, 0.05), Span(0.3, 2.2), Span(40.0, 41.0)]
    heard = recognizer.transcribe(speech, spans)
    assert "country" in heard[0].text.casefold()
    assert "my fellow american" in heard[2].text.casefold()
    assert [heard[1], heard[3]] == [
        Transcript(0.0, 0.05, "", "en", 0.0),
        Transcript(40.0, 41.0, "", "en", 0.0),
    ]


@pytest.mark.parametrize("sound", [silence(3), noise(3), noise(3, level=0.003)])
def test_nothing_is_made_up_over_noise(recognizer: SpeechRecognizer, sound: Samples) -> None:
    (heard,) = recognizer.transcribe(sound, [Span(0.0, 3.0)])
    assert heard.text == ""
    assert heard.confidence == 0.0


def test_no_spans_no_transcripts(recognizer: SpeechRecognizer) -> None:
    assert recognizer.transcribe(silence(1), []) == []
    assert recognizer.transcribe(silence(0), []) == []


@pytest.mark.parametrize("kind", BAD_AUDIO)
def test_bad_audio_is_refused(recognizer: SpeechRecognizer, kind: str) -> None:
    with pytest.raises(ModelError, match="audio"):
        recognizer.transcribe(BAD_AUDIO[kind], [Span(0.0, 1.0)])


def test_only_permitted_languages_are_found() -> None:
    chinese = SpeechRecognizer(fetched_model("whisper-base"), languages=["zh"])
    speech = recording("speech/jfk.flac")
    (heard,) = chinese.transcribe(speech, [Span(0.0, 4.0)])
    assert heard.language == "zh"


@pytest.mark.parametrize("languages", [[], ["klingon"]])
def test_a_wrong_list_of_languages_is_refused(languages: list[str]) -> None:
    with pytest.raises(ModelError, match=r"language|klingon"):
        SpeechRecognizer(fetched_model("whisper-base"), languages=languages)


def test_an_english_model_hears_english() -> None:
    english = SpeechRecognizer(fetched_model("whisper-tiny-en"))
    speech = recording("speech/jfk.flac")
    (heard,) = english.transcribe(speech, [Span(0.0, speech.size / RATE_HZ)])
    assert _words(heard.text) == _words(JFK)
    assert heard.language == "en"


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.bin.*hearsight models fetch"):
        SpeechRecognizer(tmp_path)
    whole = fetched_model("whisper-tiny-en")
    for cut_short in ("model.bin", "tokenizer.json"):
        directory = tmp_path / cut_short.replace(".", "-")
        shutil.copytree(whole, directory)
        content = (whole / cut_short).read_bytes()
        (directory / cut_short).write_bytes(content[: len(content) // 2])
        with pytest.raises(ModelError, match="fetch it again"):
            SpeechRecognizer(directory)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Lay red with P9. " * 5, "Lay red with P9."),
        ("no no no no", "no no no no"),
        ("so " * 40, "so"),
        ("谢谢大家" * 6, "谢谢大家"),
        ("1.0.2.3.3.3.3.3.3.3", "1.0.2.3"),
        ("it costs 1000000 euros", "it costs 1000000 euros"),
        ("come here, come here!", "come here, come here!"),
        ("and then la la la la la la la stop", "and then la stop"),
    ],
)
def test_phrases_repeated_over_and_over_are_kept_once(text: str, kept: str) -> None:
    assert without_repeats(text.strip()) == kept


@pytest.mark.parametrize(
    ("text", "log_probability", "no_speech", "said"),
    [
        ("Put the kettle on.", -0.5, 0.02, True),
        ("Put the kettle on.", -0.9, 0.8, True),
        ("you", -1.4, 0.92, False),
        ("I'm going to put the oil in the pan.", -1.6, 0.1, False),
        ("...", -0.1, 0.0, False),
        ("", -0.1, 0.0, False),
    ],
)
def test_text_made_up_over_noise_is_told(
    text: str, log_probability: float, no_speech: float, said: bool
) -> None:
    assert plausible(text, TextLimits(), log_probability=log_probability, no_speech=no_speech) is said


def test_long_speech_is_cut_in_its_pause() -> None:
    speech = np.concatenate([noise(20), silence(0.5), noise(15)])
    first, second = pieces(speech, 27.0)
    assert 20.0 < first.size / RATE_HZ < 20.5
    assert np.array_equal(np.concatenate([first, second]), speech)


@given(st.integers(0, 200_000), st.integers(1, 5))
def test_pieces_are_short_enough_and_complete(size: int, longest_s: int) -> None:
    sound = np.linspace(-1, 1, size, dtype=np.float32)
    found = pieces(sound, float(longest_s))
    assert all(piece.size <= longest_s * RATE_HZ for piece in found)
    assert np.array_equal(np.concatenate(found), sound)


@given(st.lists(st.floats(0.1, 40.0), max_size=30))
def test_batches_hold_each_piece_once_and_fit(durations_s: list[float]) -> None:
    groups = batches(durations_s, 30.0)
    assert sorted(index for group in groups for index in group) == list(range(len(durations_s)))
    assert all(len(g) == 1 or len(g) * max(durations_s[i] for i in g) <= 30.0 for g in groups)
