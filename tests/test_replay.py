"""Replay of recordings: sampling, clocks, order, resuming, and one clear sentence for each bad file."""

import itertools
import resource
import wave
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from drivers.media import AudioBlock, DriverError, Frame
from drivers.replay import Replay
from tests.recordings import SHARED_MEDIA, picture, tone, write_recording


def frames(replay: Replay, start_s: float = 0.0) -> list[Frame]:
    return [item for item in replay.items(start_s) if isinstance(item, Frame)]


def blocks(replay: Replay, start_s: float = 0.0) -> list[AudioBlock]:
    return [item for item in replay.items(start_s) if isinstance(item, AudioBlock)]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Four seconds of pictures at 25 Hz with a tone."""
    times = [number / 25 for number in range(100)]
    return write_recording(tmp_path / "a.mp4", picture_times_s=times, sounds=[(0.0, tone(4.0))])


def test_samples_at_the_wanted_rate_and_in_order(recording: Path) -> None:
    replay = Replay(recording)
    items = list(replay.items())
    assert [item.time_s for item in items] == sorted(item.time_s for item in items)
    assert [frame.time_s for frame in frames(replay)] == [pytest.approx(k / 5) for k in range(20)]
    for frame in frames(replay):
        number = round(frame.time_s * 25)
        assert frame.image.dtype == np.uint8 and frame.image.shape == (64, 96, 3)
        assert abs(float(frame.image[8:-8, 8:40].mean()) - 8 * (number % 31)) < 6
    sound = np.concatenate([block.samples for block in blocks(replay)])
    assert sound.dtype == np.float32 and sound.shape[0] == pytest.approx(64000, abs=1024)
    assert [block.time_s for block in blocks(replay)][:8] == [k / 2 for k in range(8)]
    assert replay.warnings == []


def test_info_tells_what_is_in_the_file(recording: Path) -> None:
    info = Replay(recording).info
    assert (info.has_video, info.has_audio, info.width, info.height) == (True, True, 96, 64)
    assert info.duration_s == pytest.approx(4.0, abs=0.1) and info.video_rate_hz == pytest.approx(25, abs=1)
    assert len(info.sha256) == 64 and info.recorded_utc_s is None


def test_the_tone_keeps_its_pitch_from_another_rate(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.mkv", sounds=[(0.0, tone(2.0, 44100))], rate_hz=44100)
    sound = np.concatenate([block.samples for block in blocks(Replay(path))])
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(sound.size)))
    assert sound.size == pytest.approx(32000, abs=16)
    assert spectrum.argmax() * 16000 / sound.size == pytest.approx(440, abs=1)
    assert np.abs(sound).max() == pytest.approx(0.5, abs=0.02)


def test_two_passes_are_the_same(recording: Path) -> None:
    replay = Replay(recording)
    first, second = list(replay.items()), list(replay.items())
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert type(one) is type(other) and one.time_s == other.time_s
        if isinstance(one, Frame) and isinstance(other, Frame):
            assert np.array_equal(one.image, other.image)
        elif isinstance(one, AudioBlock) and isinstance(other, AudioBlock):
            assert np.array_equal(one.samples, other.samples)


@pytest.mark.parametrize("start_s", [0.5, 1.0, 2.9, 3.5])
def test_resuming_gives_what_the_whole_pass_gave(tmp_path: Path, start_s: float) -> None:
    times = [number / 25 for number in range(100)]
    path = write_recording(tmp_path / "a.mkv", picture_times_s=times, sounds=[(0.0, tone(4.0))])
    replay = Replay(path)
    whole = [frame for frame in frames(replay) if frame.time_s >= start_s]
    resumed = frames(replay, start_s)
    assert [frame.time_s for frame in resumed] == [frame.time_s for frame in whole]
    assert all(np.array_equal(a.image, b.image) for a, b in zip(resumed, whole, strict=True))
    sound = np.concatenate([block.samples for block in blocks(replay)])
    later = blocks(replay, start_s)
    assert later[0].time_s == pytest.approx(start_s)
    rest = np.concatenate([block.samples for block in later])
    assert np.abs(rest - sound[round(start_s * 16000) :]).max() < 1e-6


def test_resuming_past_the_end_gives_nothing(recording: Path) -> None:
    assert list(Replay(recording).items(60.0)) == []


def test_variable_frame_rate_takes_the_first_frame_of_each_tick(tmp_path: Path) -> None:
    times = [0.0, 0.03, 0.21, 0.22, 0.39, 0.41, 1.5, 1.55, 3.0]
    path = write_recording(tmp_path / "a.mkv", picture_times_s=times)
    assert [f.time_s for f in frames(Replay(path))] == [pytest.approx(t) for t in (0, 0.21, 0.41, 1.5, 3.0)]


def test_a_hole_in_the_sound_stays_a_hole(tmp_path: Path) -> None:
    sounds = [(0.25, tone(1.0)), (3.0, tone(1.0))]
    path = write_recording(tmp_path / "a.mkv", picture_times_s=[0.0, 1.0, 4.0], sounds=sounds)
    spans = [(block.time_s, block.time_s + block.samples.size / 16000) for block in blocks(Replay(path))]
    assert spans[0][0] == pytest.approx(0.25, abs=0.002)
    holes = [(a[1], b[0]) for a, b in itertools.pairwise(spans) if b[0] - a[1] > 0.05]
    assert holes == [(pytest.approx(1.25, abs=0.002), pytest.approx(3.0, abs=0.002))]
    assert all(block.samples.size <= 8000 for block in blocks(Replay(path)))


def test_a_turned_phone_gives_upright_pictures(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.mp4", picture_times_s=[0, 0.2, 0.4], size=(96, 64), rotation=90)
    replay = Replay(path)
    upright = frames(replay)[2].image
    assert (replay.info.width, replay.info.height) == (64, 96) and upright.shape == (96, 64, 3)
    assert float(np.abs(upright.astype(int) - np.rot90(picture(2), -1)).mean()) < 5  # 90 degrees clockwise
    other = cv2.VideoCapture(str(path))  # a second reader that turns pictures as well
    seen = [other.read()[1] for _ in range(3)][2]
    other.release()
    assert seen.shape == upright.shape and float(np.abs(upright.astype(int) - seen).mean()) < 5


def test_large_pictures_are_scaled_down(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.mp4", picture_times_s=[0, 0.2], size=(1920, 1080))
    replay = Replay(path)
    assert (replay.info.width, replay.info.height) == (1280, 720)
    assert frames(replay)[0].image.shape == (720, 1280, 3)


def test_sound_alone_pictures_alone_and_a_still(tmp_path: Path) -> None:
    sound = Replay(write_recording(tmp_path / "s.mp4", sounds=[(0.0, tone(1.0))]))
    assert not sound.info.has_video and sound.info.has_audio and not frames(sound) and blocks(sound)
    silent = Replay(write_recording(tmp_path / "v.mp4", picture_times_s=[0, 0.2, 0.4]))
    assert silent.info.has_video and not silent.info.has_audio and len(frames(silent)) == 3
    cv2.imwrite(str(tmp_path / "still %03d.png"), picture(9))
    still = Replay(tmp_path / "still %03d.png")
    assert still.info.has_video and still.info.duration_s == pytest.approx(0.2)
    assert [frame.time_s for frame in frames(still)] == [0.0]
    assert np.array_equal(frames(still)[0].image, picture(9))


def test_the_time_of_recording_comes_from_plausible_metadata(tmp_path: Path) -> None:
    known = {"creation_time": "2024-05-01T10:00:00.000000Z"}
    path = write_recording(tmp_path / "a.mp4", picture_times_s=[0, 0.2], metadata=known)
    assert Replay(path).info.recorded_utc_s == 1714557600.0
    for moment in ("1904-01-01T00:00:00Z", "2999-01-01T00:00:00Z"):
        odd = write_recording(
            tmp_path / "b.mkv", picture_times_s=[0, 0.2], metadata={"creation_time": moment}
        )
        assert Replay(odd).info.recorded_utc_s is None


def bad_file(kind: str, folder: Path, recording: Path) -> Path:
    path = folder / f"{kind}.mp4"
    if kind == "directory":
        path.mkdir()
    elif kind == "empty":
        path.touch()
    elif kind == "text":
        path.write_text("Dear diary, today nothing happened.\n" * 50)
    elif kind == "noise":
        path.write_bytes(np.random.default_rng(1).bytes(200_000))
    elif kind == "index":
        path.write_bytes(recording.read_bytes()[: recording.stat().st_size // 2])
    return path


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", "no such file"),
        ("directory", "is a directory"),
        ("empty", "is empty"),
        ("text", "is not a video, audio or picture file"),
        ("noise", "is not a video, audio or picture file"),
        ("index", "without its index"),
    ],
)
def test_each_bad_file_gets_one_sentence(kind: str, words: str, tmp_path: Path, recording: Path) -> None:
    path = bad_file(kind, tmp_path, recording)
    with pytest.raises(DriverError) as caught:
        Replay(path)
    message = str(caught.value)
    assert words in message and str(path) in message and "\n" not in message and ";" in message


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("suffix", ["mp4", "wav", "mp3", "txt", "jpg", "h264"])
def test_noise_under_any_name_is_refused_or_harmless(seed: int, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"noise.{suffix}"
    path.write_bytes(np.random.default_rng(seed).bytes(20_000))
    try:
        replay = Replay(path)
    except DriverError as error:
        assert str(path) in str(error)
    else:
        assert len(list(replay.items())) < 1000


def test_a_text_file_by_its_own_name_is_not_media(tmp_path: Path) -> None:
    for name in ("notes.txt", "script.py", "table.csv", "data.json"):
        (tmp_path / name).write_text('{"a": 1}\nhello,world\n' * 40)
        with pytest.raises(DriverError, match="is not a video"):
            Replay(tmp_path / name)


def test_a_file_cut_in_the_middle_gives_what_is_there(tmp_path: Path) -> None:
    times = [number / 25 for number in range(250)]
    whole = write_recording(
        tmp_path / "whole.mp4",
        picture_times_s=times,
        sounds=[(0.0, tone(10.0))],
        options={"movflags": "faststart"},
    )
    path = tmp_path / "cut.mp4"
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size * 6 // 10])
    replay = Replay(path)
    assert 10 <= len(frames(replay)) < 50
    assert any("ends at" in warning or "could not be read on" in warning for warning in replay.warnings)
    assert all(str(path) in warning for warning in replay.warnings)


def test_damage_in_the_middle_does_not_lose_the_end(tmp_path: Path) -> None:
    times = [number / 25 for number in range(250)]
    path = write_recording(tmp_path / "a.mkv", picture_times_s=times, sounds=[(0.0, tone(10.0))])
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3000] = np.random.default_rng(3).bytes(3000)
    path.write_bytes(data)
    replay = Replay(path)
    last = list(replay.items())[-1]
    assert last.time_s > 8.0


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_any_damage_ends_in_items_or_in_one_sentence(suffix: str, tmp_path: Path) -> None:
    times = [number / 25 for number in range(50)]
    whole = write_recording(tmp_path / f"a.{suffix}", picture_times_s=times, sounds=[(0.0, tone(2.0))])
    random = np.random.default_rng(0)
    for _ in range(20):
        data = bytearray(whole.read_bytes())
        for _ in range(random.integers(1, 60)):
            data[random.integers(0, len(data))] = random.integers(0, 256)
        path = tmp_path / f"damaged.{suffix}"
        path.write_bytes(data)
        try:
            items = list(Replay(path).items())
        except DriverError as error:
            assert str(path) in str(error)
        else:
            assert len(items) < 200


def test_an_hour_of_sound_needs_little_memory(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "long.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        for _ in range(60):
            file.writeframes(np.zeros(16000 * 60, np.int16).tobytes())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    replay = Replay(tmp_path / "long.wav")
    assert replay.info.duration_s == pytest.approx(3600.0)
    assert sum(block.samples.size for block in lazily(replay)) == 3600 * 16000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KiB; the file holds 115 MB


def lazily(replay: Replay) -> Iterator[AudioBlock]:
    return (item for item in replay.items() if isinstance(item, AudioBlock))


def test_a_pass_that_is_given_up_closes_the_file(recording: Path) -> None:
    replay = Replay(recording)
    items = replay.items()
    next(items)
    items.close()  # type: ignore[attr-defined]
    open_files = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    assert recording.resolve() not in open_files


def test_rates_of_zero_are_refused(recording: Path) -> None:
    with pytest.raises(DriverError, match="above zero"):
        Replay(recording, frame_rate_hz=0.0)


@pytest.mark.skipif(not SHARED_MEDIA.is_dir(), reason="the shared recordings are not here")
def test_a_real_recording() -> None:
    replay = Replay(SHARED_MEDIA / "streams" / "visitors_day1.mp4")
    items = list(replay.items(60.0))
    assert [f.time_s for f in items if isinstance(f, Frame)] == [pytest.approx(60 + k / 5) for k in range(90)]
    assert sum(b.samples.size for b in items if isinstance(b, AudioBlock)) == pytest.approx(
        18 * 16000, abs=400
    )
    assert items[0].time_s == 60.0 and replay.warnings == []


def test_a_file_that_is_gone_before_it_is_read(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "gone.mkv", picture_times_s=[0.0, 0.2])
    replay = Replay(path)
    path.unlink()
    with pytest.raises(DriverError, match=r"gone\.mkv: is gone"):
        list(replay.items())
