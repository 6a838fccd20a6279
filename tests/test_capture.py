"""Capture: clips are cut where they should be, nothing is lost, what is remembered is not read again."""

import asyncio
from collections.abc import Iterator

import numpy as np

from drivers.media import AudioBlock, Frame
from runtime.capture import Capture, FrameItem, Pace, SoundItem
from runtime.channel import Channel
from runtime.clips import ClipEnd, ClipSpan, MediaItem, PreRoll
from runtime.workers import Worker
from tests.fake_clock import FakeClock

IMAGE = np.zeros((4, 4, 3), dtype=np.uint8)


class Film:
    """A source of `duration_s` with two frames and two half-second blocks a second."""

    name = "film"
    warnings: list[str] = []  # noqa: RUF012

    def __init__(self, duration_s: float) -> None:
        self.duration_s = duration_s
        self.read_from: float | None = None
        self.damaged_s: tuple[float, ...] = ()
        self.lost_frames = 0
        self._stopped = False

    def clip_count(self, length_s: float) -> int:
        return int(-(-self.duration_s // length_s))

    def items(self, start_s: float) -> Iterator[MediaItem]:
        self.read_from = start_s
        for step in range(int(start_s * 2), int(self.duration_s * 2)):
            if self._stopped:
                return
            yield AudioBlock(step / 2, np.full(8000, step, dtype=np.float32))
            if step / 2 in self.damaged_s:
                self.lost_frames += 1
                continue
            yield Frame(step / 2, IMAGE)

    def span(self, index: int, length_s: float, media_end_s: float | None = None) -> ClipSpan:
        start_s = index * length_s
        end_s = start_s + length_s if media_end_s is None else media_end_s
        return ClipSpan(index, f"film#{index}", "film", start_s, end_s, 1e9 + start_s, True)

    def stop(self) -> None:
        self._stopped = True


def _capture(
    film: Film, known: set[str] = frozenset(), stop_after: int | None = None
) -> tuple[list, list, Capture]:
    frames: Channel[FrameItem] = Channel("frames", 4)
    sound: Channel[SoundItem] = Channel("sound", 4)
    worker = Worker("capture")
    began: list[int] = []

    async def is_known(key: str) -> bool:
        return key in known

    async def ready(index: int) -> None:
        began.append(index)
        if stop_after is not None and index >= stop_after:
            film.stop()

    capture = Capture(
        film, frames, sound, clip_s=30.0, carry_s=10.0, pace=Pace(None), clock=FakeClock(), worker=worker,
        known=is_known, ready=ready, progress=lambda media_s: None,
    )  # fmt: skip

    async def collect(channel: Channel) -> list:
        return [item async for item in channel]

    async def scenario() -> tuple[list, list]:
        _, seen, heard = await asyncio.gather(capture.run(), collect(frames), collect(sound))
        return seen, heard

    try:
        seen, heard = asyncio.run(asyncio.wait_for(scenario(), 20))
    finally:
        worker.close()
    return seen, heard, capture


def _ends(items: list) -> list[tuple[int, float, bool]]:
    return [
        (item.clip.index, item.clip.media_end_s, item.last) for item in items if isinstance(item, ClipEnd)
    ]


def test_clips_end_every_thirty_seconds_and_the_last_where_the_file_does() -> None:
    seen, heard, _ = _capture(Film(75.0))
    expected = [(0, 30.0, False), (1, 60.0, False), (2, 75.0, True)]
    assert _ends(seen) == _ends(heard) == expected
    assert sum(isinstance(item, Frame) for item in seen) == 150
    assert sum(isinstance(item, AudioBlock) for item in heard) == 150


def test_frames_that_the_source_lost_count_as_dropped_in_their_clip() -> None:
    film = Film(75.0)
    film.damaged_s = (31.0, 31.5, 74.0)
    seen, _, _ = _capture(film)
    assert [item.dropped_frames for item in seen if isinstance(item, ClipEnd)] == [0, 2, 1]


def test_each_item_lies_in_its_clip() -> None:
    seen, _, _ = _capture(Film(75.0))
    clip = 0
    for item in seen:
        if isinstance(item, ClipEnd):
            clip += 1
        else:
            assert item.time_s // 30 == clip


def test_a_file_of_whole_clips_has_no_empty_last_clip() -> None:
    seen, _, _ = _capture(Film(60.0))
    assert _ends(seen) == [(0, 30.0, False), (1, 60.0, True)]


def test_what_is_remembered_is_not_read_again() -> None:
    film = Film(75.0)
    seen, heard, capture = _capture(film, {"film#0", "film#1", "film#2"})
    assert seen == heard == []
    assert film.read_from is None and capture.skipped_clips == 3


def test_after_a_power_cut_it_goes_on_with_the_first_missing_clip_and_its_carried_speech() -> None:
    film = Film(75.0)
    seen, heard, capture = _capture(film, {"film#0"})
    assert capture.skipped_clips == 1 and film.read_from == 20.0
    assert _ends(seen) == [(1, 60.0, False), (2, 75.0, True)]
    assert min(item.time_s for item in seen if isinstance(item, Frame)) == 30.0
    preroll = [item.block.time_s for item in heard if isinstance(item, PreRoll)]
    assert preroll == [20 + step / 2 for step in range(20)]


def test_a_stopped_source_ends_its_open_clip_properly() -> None:
    seen, _, _ = _capture(Film(3600.0), stop_after=2)
    ends = _ends(seen)
    assert [end[0] for end in ends] == [0, 1, 2] and ends[-1][2]


def test_an_empty_source_gives_no_clip() -> None:
    seen, heard, _ = _capture(Film(0.0))
    assert seen == heard == []
