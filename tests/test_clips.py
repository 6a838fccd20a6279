"""Clips of a recording: how many, where they end, and names that last."""

from pathlib import Path

import numpy as np
import pytest

from drivers.replay import Replay
from memory_store.records import Clip
from runtime.clips import ClipSpan, Recording, cut_clips, recording_start_utc_s
from tests.recordings import write_recording

START_UTC_S = 1_777_712_400.0


def _recording(path: Path, duration_s: float, start_utc_s: float = START_UTC_S) -> Recording:
    samples = np.zeros(round(duration_s * 16000), dtype=np.float32)
    return Recording(
        Replay(write_recording(path / f"{duration_s}.wav", sounds=[(0.0, samples)])), start_utc_s
    )


@pytest.mark.parametrize(
    ("duration_s", "count"), [(0.5, 1), (10, 1), (30, 1), (31, 1), (33, 2), (60, 2), (75, 3)]
)
def test_a_crumb_at_the_end_belongs_to_the_clip_before_it(
    tmp_path: Path, duration_s: float, count: int
) -> None:
    assert _recording(tmp_path, duration_s).clip_count(30.0) == count


def test_the_last_clip_takes_what_is_left(tmp_path: Path) -> None:
    recording = _recording(tmp_path, 61.0)
    assert recording.span(0, 30.0).media_end_s == 30.0
    assert recording.span(1, 30.0).media_end_s == float("inf")
    assert recording.span(1, 30.0, 61.0).end_utc_s == START_UTC_S + 61.0


def test_names_depend_on_the_bytes_and_the_start_and_nothing_else(tmp_path: Path) -> None:
    one, again = _recording(tmp_path, 33.0), _recording(tmp_path, 33.0)
    assert one.span(1, 30.0).key == again.span(1, 30.0, 33.0).key
    assert one.span(0, 30.0).key != one.span(1, 30.0).key
    assert one.span(0, 30.0).key != _recording(tmp_path, 33.0, START_UTC_S + 86400).span(0, 30.0).key
    assert one.span(0, 30.0).key != _recording(tmp_path, 34.0).span(0, 30.0).key


def _remembered(span: ClipSpan) -> Clip:
    return Clip(
        1, span.key, span.source_name, "boot", span.media_start_s, span.media_end_s, span.start_utc_s,
        span.end_utc_s, True, "home", False, True, 0, 0.0, "described",
    )  # fmt: skip


def _stopped_at(recording: Recording, stop_s: float) -> ClipSpan:
    """The span of the clip that is open when the recording is stopped just before `stop_s`."""
    for item in recording.items(0.0):
        if item.time_s + 0.5 >= stop_s:
            recording.stop()
    return recording.span(int(stop_s // 30.0), 30.0, stop_s)


def test_the_rest_of_a_clip_that_a_stop_cut_short_is_read_by_the_next_run(tmp_path: Path) -> None:
    recording = _recording(tmp_path, 75.0)
    whole = recording.span(1, 30.0)
    cut = _stopped_at(recording, 44.5)
    assert (cut.media_start_s, cut.media_end_s, cut.goes_on) == (30.0, 44.5, True) and cut.key != whole.key
    again = Recording(
        Replay(tmp_path / "75.0.wav"), START_UTC_S, cut_clips([_remembered(cut), _remembered(whole)])
    )
    rest = again.span(1, 30.0)
    assert (rest.key, rest.media_start_s, rest.media_end_s) == (whole.key, 44.5, 60.0)
    assert rest.start_utc_s == START_UTC_S + 44.5 and not rest.goes_on
    assert again.span(0, 30.0) == recording.span(0, 30.0)


def test_a_stop_at_the_end_of_a_clip_leaves_it_whole(tmp_path: Path) -> None:
    recording = _recording(tmp_path, 75.0)
    for item in recording.items(0.0):
        if item.time_s == 29.5:
            recording.stop()
    span = recording.span(0, 30.0, 30.0)
    assert (span.key, span.media_end_s, span.goes_on) == (recording.span(0, 30.0).key, 30.0, True)


def test_the_start_of_a_recording_is_found_again(tmp_path: Path) -> None:
    span = _recording(tmp_path, 75.0).span(2, 30.0, 75.0)
    clip = _remembered(span)
    sha256 = span.key.partition("@")[0]
    assert recording_start_utc_s([clip], sha256) == START_UTC_S
    assert recording_start_utc_s([clip], "0" * 64) is None
