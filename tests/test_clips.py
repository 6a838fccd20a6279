"""Clips of a recording: how many, where they end, and names that last."""

from pathlib import Path

import numpy as np
import pytest

from drivers.replay import Replay
from memory_store.records import Clip
from runtime.clips import Recording, recording_start_utc_s
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


def test_the_start_of_a_recording_is_found_again(tmp_path: Path) -> None:
    span = _recording(tmp_path, 75.0).span(2, 30.0, 75.0)
    clip = Clip(
        1, span.key, span.source_name, "boot", span.media_start_s, span.media_end_s, span.start_utc_s,
        span.end_utc_s, True, "home", False, True, 0, 0.0, "described",
    )  # fmt: skip
    sha256 = span.key.partition("@")[0]
    assert recording_start_utc_s([clip], sha256) == START_UTC_S
    assert recording_start_utc_s([clip], "0" * 64) is None
