"""Damaged video: a picture that is not whole, or was predicted from one that is not, is left out and counted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import av
import av.error
import cv2
import numpy as np
import pytest
from av.video.frame import PictureType

from drivers.damage import LONGEST_WAIT, Damage, WholePictures
from drivers.media import Frame
from drivers.replay import Replay
from offline_tools.media_writer import write_mp4

RATE_HZ = 10
SIDE_PX = 96
VISIBLE = 25.0  # grey levels by which some 8 x 8 cell of a half-decoded picture is off


def _pictures(count: int) -> Iterator[np.ndarray]:
    coarse = np.random.default_rng(5).integers(0, 256, (12, 40, 3), dtype=np.uint8)
    wide = cv2.resize(coarse, (320, SIDE_PX), interpolation=cv2.INTER_CUBIC)
    for number in range(count):
        yield np.ascontiguousarray(wide[:, 2 * number : 2 * number + SIDE_PX])


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten seconds of H.264 with a key frame every two."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    write_mp4(path, _pictures(100), RATE_HZ, None, 16000)
    return path


def _damaged(film: Path, path: Path, packets: range) -> Path:
    """A copy in which a third of each of these packets is noise."""
    with av.open(str(film)) as container:
        places = [
            (packet.pos, packet.size, packet.is_keyframe)
            for packet in container.demux(video=0)
            if packet.size
        ]
    data, noise = bytearray(film.read_bytes()), np.random.default_rng(1)
    for number in packets:
        position, size, is_key = places[number]
        assert not is_key
        data[position + size // 3 : position + 2 * size // 3] = noise.bytes(2 * size // 3 - size // 3)
    path.write_bytes(data)
    return path


@cache
def _filmed() -> list[np.ndarray]:
    return list(_pictures(100))


def _off(image: np.ndarray, time_s: float) -> float:
    """How far the worst cell of a picture lies from what was filmed then."""
    filmed = _filmed()[round(time_s * RATE_HZ)]
    difference = np.abs(image.astype(float) - filmed).mean(axis=2)
    return float(difference.reshape(SIDE_PX // 8, 8, SIDE_PX // 8, 8).mean(axis=(1, 3)).max())


def _frames(replay: Replay) -> list[Frame]:
    return [item for item in replay.items() if isinstance(item, Frame)]


@pytest.mark.parametrize("packets", [range(42, 43), range(44, 47)])
def test_no_half_decoded_picture_is_delivered(packets: range, film: Path, tmp_path: Path) -> None:
    path = _damaged(film, tmp_path / "damaged.mp4", packets)
    with av.open(str(path)) as container:  # what a decoder alone calls whole
        naive: list[av.VideoFrame] = []
        for packet in container.demux(video=0):
            try:
                naive += [frame for frame in packet.decode() if not frame.is_corrupt]
            except av.error.FFmpegError:
                continue
    worst = max(_off(frame.to_ndarray(format="bgr24"), frame.time) for frame in naive)
    frames = _frames(Replay(path, frame_rate_hz=RATE_HZ))
    assert worst > VISIBLE
    assert max(_off(frame.image, frame.time_s) for frame in frames) < VISIBLE


def test_all_pictures_before_the_damage_and_after_the_next_key_frame_are_kept(
    film: Path, tmp_path: Path
) -> None:
    replay = Replay(_damaged(film, tmp_path / "damaged.mp4", range(44, 47)), frame_rate_hz=RATE_HZ)
    kept = {round(frame.time_s * RATE_HZ) for frame in _frames(replay)}
    lost = set(range(100)) - kept
    assert set(range(41)) <= kept and set(range(60, 100)) <= kept
    assert lost and replay.lost_frames == len(lost)
    assert any("damaged pieces of picture were left out" in warning for warning in replay.warnings)


def test_damage_up_to_the_end_is_counted(film: Path, tmp_path: Path) -> None:
    replay = Replay(_damaged(film, tmp_path / "damaged.mp4", range(85, 88)), frame_rate_hz=RATE_HZ)
    frames = _frames(replay)
    assert frames[-1].time_s < 8.6
    assert replay.lost_frames == 100 - len(frames)


def test_a_whole_film_loses_nothing(film: Path) -> None:
    replay = Replay(film, frame_rate_hz=RATE_HZ)
    assert len(_frames(replay)) == 100
    assert replay.lost_frames == 0 and replay.warnings == []


@dataclass
class Picture:
    """What a decoder says of a picture."""

    pts: int | None
    key_frame: bool = False
    is_corrupt: bool = False
    pict_type: PictureType = PictureType.P


def _passed(whole: WholePictures, pictures: Sequence[Picture]) -> list[int | None]:
    """The stamps of the pictures let through, at the end of the stream."""
    passed = [picture for given in pictures for picture in whole.after(given)]
    return [picture.pts for picture in (*passed, *whole.rest())]


def test_a_key_frame_from_before_the_damage_does_not_end_it() -> None:
    whole, damage = _watch()
    whole.broke(5)
    given = [Picture(2, key_frame=True), Picture(6), Picture(8, key_frame=True), Picture(9)]
    assert _passed(whole, given) == [8, 9]
    assert damage.dependent_frames == 2 and damage.last_pts == 6


def test_a_corrupt_key_frame_ends_nothing() -> None:
    whole, damage = _watch()
    assert _passed(whole, [Picture(0, key_frame=True, is_corrupt=True), Picture(1)]) == []
    assert (damage.corrupt_frames, damage.dependent_frames) == (1, 1)


def test_pictures_that_come_before_the_corrupt_one_but_hang_on_it_are_left_out() -> None:
    whole, damage = _watch()
    backward = [Picture(1, pict_type=PictureType.B), Picture(2, pict_type=PictureType.B)]
    assert _passed(whole, [Picture(0), *backward, Picture(3, is_corrupt=True)]) == [0]
    assert damage.pieces == 3


def test_a_run_of_b_pictures_passes_in_order() -> None:
    whole, damage = _watch()
    run = [Picture(pts, pict_type=PictureType.B) for pts in range(1, 60)]
    assert _passed(whole, [Picture(0), *run]) == list(range(60))
    assert damage.pieces == 0


def test_a_stream_without_key_frames_comes_back() -> None:
    whole, damage = _watch()
    whole.broke(None)
    assert len(_passed(whole, [Picture(None)] * (LONGEST_WAIT + 5))) == 6
    assert damage.dependent_frames == LONGEST_WAIT - 1


def _watch() -> tuple[WholePictures, Damage]:
    damage = Damage()
    return WholePictures(damage), damage
