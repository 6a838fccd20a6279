"""Pictures and sound really reach the encoders and the text model, in a tiny random Qwen2.5-Omni."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from models.errors import ModelError
from models.language import Message
from models.language_process import LanguageProcess
from tests.tiny_omni import write_mmproj, write_text_model

VISIBLE = "root ::= [!-~]{32}"
SYSTEM = Message("system", "You see and hear what happens in a house. " * 4)
AUDIO_TOKENS = 750  # for each 30 s begun
BRACKETS = 2  # control tokens around each picture and each sound


def picture(seed: int, width: int = 336, height: int = 252) -> bytes:
    """A JPEG of coarse random colours."""
    colours = np.random.default_rng(seed).integers(0, 255, (6, 8, 3), dtype=np.uint8)
    return cv2.imencode(".jpg", cv2.resize(colours, (width, height)))[1].tobytes()


def tone(frequency_hz: float, duration_s: float = 2.0) -> NDArray[np.float32]:
    time_s = np.arange(int(duration_s * 16000)) / 16000
    return (0.3 * np.sin(2 * np.pi * frequency_hz * time_s)).astype(np.float32)


def ask(
    *, images: tuple[bytes, ...] = (), audio: tuple[NDArray[np.float32], ...] = (), text: str = "What is it?"
) -> list[Message]:
    return [SYSTEM, Message("user", text, images, audio)]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("omni")
    return write_text_model(directory / "text.gguf"), write_mmproj(directory / "mmproj.gguf")


@pytest.fixture(scope="module")
def omni(paths: tuple[Path, Path]) -> Iterator[LanguageProcess]:
    process = LanguageProcess(paths[0], mmproj_path=paths[1], threads=1)
    yield process
    process.close()


def answer(omni: LanguageProcess, messages: list[Message]) -> str:
    return omni.complete(messages, max_tokens=40, grammar=VISIBLE).text


def test_a_picture_takes_a_token_for_each_28_by_28_pixels(omni: LanguageProcess) -> None:
    without = omni.count_tokens(ask())
    for width, height in ((336, 252), (252, 252), (336, 448)):
        grown = omni.count_tokens(ask(images=(picture(1, width, height),))) - without
        assert grown == (width // 28) * (height // 28) + BRACKETS


def test_a_large_picture_is_reduced_to_the_limit(omni: LanguageProcess) -> None:
    grown = omni.count_tokens(ask(images=(picture(1, 1920, 1080),))) - omni.count_tokens(ask())
    assert 200 < grown <= 256 + BRACKETS


@pytest.mark.parametrize(("duration_s", "stretches"), [(0.01, 1), (2.0, 1), (30.0, 1), (30.05, 1), (31.0, 2)])
def test_sound_takes_750_tokens_for_each_30_s(
    omni: LanguageProcess, duration_s: float, stretches: int
) -> None:
    grown = omni.count_tokens(ask(audio=(tone(440, duration_s),))) - omni.count_tokens(ask())
    assert grown == stretches * AUDIO_TOKENS + BRACKETS


def test_what_is_counted_is_what_is_read(omni: LanguageProcess) -> None:
    messages = ask(images=(picture(1), picture(2)), audio=(tone(440),))
    assert omni.complete(messages, max_tokens=1).prompt_tokens == omni.count_tokens(messages)


def test_another_picture_another_answer(omni: LanguageProcess) -> None:
    answers = {answer(omni, ask(images=(picture(seed),))) for seed in range(4)}
    assert len(answers | {answer(omni, ask())}) == 5


def test_another_sound_another_answer(omni: LanguageProcess) -> None:
    noise = np.random.default_rng(0).normal(0, 0.2, 28 * 16000).astype(np.float32)
    sounds = (tone(220, 28.0), tone(1760, 28.0), 0 * noise, noise)
    answers = {answer(omni, ask(audio=(sound,))) for sound in sounds}
    assert len(answers | {answer(omni, ask())}) == 5


def test_the_order_of_pictures_matters(omni: LanguageProcess) -> None:
    one, other = picture(1), picture(2)
    assert answer(omni, ask(images=(one, other))) != answer(omni, ask(images=(other, one)))


def test_a_whole_clip_with_a_grammar(omni: LanguageProcess) -> None:
    """Eight frames, 30 s of sound and text in one request."""
    messages = ask(images=tuple(picture(seed) for seed in range(8)), audio=(tone(440, 30.0),))
    done = omni.complete(messages, max_tokens=20, grammar='root ::= "[Answer] " [a-z]{5}')
    assert done.text.startswith("[Answer] ") and len(done.text) == 14


def test_the_same_answer_with_and_without_reuse(omni: LanguageProcess, paths: tuple[Path, Path]) -> None:
    """The second question about the same pictures and sound reuses them, to the very same effect."""
    images, audio = (picture(1), picture(2)), (tone(440, 28.0),)
    omni.complete(ask(images=images, audio=audio, text="Who is there?"), max_tokens=1)
    text = "What is on the table in the middle of the room, and who put it there?"
    question = ask(images=images, audio=audio, text=text)
    again = omni.complete(question, max_tokens=40, grammar=VISIBLE)
    assert again.cached_tokens > AUDIO_TOKENS
    fresh_process = LanguageProcess(paths[0], mmproj_path=paths[1], threads=1)
    fresh = fresh_process.complete(question, max_tokens=40, grammar=VISIBLE)
    fresh_process.close()
    assert fresh.cached_tokens == 0 and fresh.text == again.text


def test_text_alone_works_too(omni: LanguageProcess, paths: tuple[Path, Path]) -> None:
    text_process = LanguageProcess(paths[0], threads=1)
    assert answer(omni, ask()) == answer(text_process, ask())
    text_process.close()


def test_media_that_cannot_be_read(omni: LanguageProcess) -> None:
    for broken in (b"", b"no picture", picture(1)[:20]):
        with pytest.raises(ModelError, match="cannot be decoded"):
            answer(omni, ask(images=(broken,)))
    for sound in (np.zeros(0, np.float32), np.zeros((2, 9), np.float32), np.full(9, np.nan, np.float32)):
        with pytest.raises(ModelError, match="finite mono samples"):
            answer(omni, ask(audio=(sound,)))
    assert answer(omni, ask(images=(picture(1),)))


def test_too_much_media_is_refused_before_anything_is_encoded(omni: LanguageProcess) -> None:
    messages = ask(audio=(tone(440, 170.0),))
    with pytest.raises(ModelError, match=r"tokens and max_tokens is 10.*context_tokens = 4096"):
        omni.complete(messages, max_tokens=10)


def test_an_encoder_that_is_missing(paths: tuple[Path, Path], tmp_path: Path) -> None:
    hearing = LanguageProcess(
        paths[0], mmproj_path=write_mmproj(tmp_path / "a.gguf", vision=False), threads=1
    )
    assert answer(hearing, ask(audio=(tone(440),)))
    with pytest.raises(ModelError, match="no vision encoder"):
        answer(hearing, ask(images=(picture(1),)))
    hearing.close()
    seeing = LanguageProcess(paths[0], mmproj_path=write_mmproj(tmp_path / "v.gguf", audio=False), threads=1)
    with pytest.raises(ModelError, match="no audio encoder"):
        answer(seeing, ask(audio=(tone(440),)))
    seeing.close()


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.95])
def test_an_mmproj_cut_short_is_refused_by_name(
    paths: tuple[Path, Path], tmp_path: Path, kept: float
) -> None:
    data = paths[1].read_bytes()
    path = tmp_path / "short.gguf"
    path.write_bytes(data[: int(kept * len(data))])
    with pytest.raises(ModelError, match=r"short\.gguf cannot be loaded"):
        LanguageProcess(paths[0], mmproj_path=path).count_tokens(ask())
