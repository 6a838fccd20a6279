"""Three hours of a home in which the demo scene happens again and again: memory stays bounded, nobody is doubled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from drivers.media import Frame
from drivers.replay import Replay
from offline_tools.bench.measured_process import hearsight as command
from offline_tools.bench.measured_process import measure
from tests.command_line import ROOT, hearsight
from tests.pictures import demo_scene

DURATION_S = 3 * 3600
EVERY_S = 607.0  # no multiple of a clip's 30 s: every time the clips cut the scene elsewhere
EMPTY_EVERY_S = 2.0  # the empty room is filmed at half a frame a second
CLIPS = 360
AUDIO_RATE_HZ = 16000


def _scene_pictures(video: Any) -> Iterator[Any]:
    """The scene's frames, and the empty room until it happens again; encoded once."""
    last_s = 0.0
    empty = None
    for item in Replay(demo_scene()).items():
        if not isinstance(item, Frame):
            continue
        empty = item.image if empty is None else empty
        last_s = item.time_s
        yield from _encoded(video, item.image, item.time_s)
    time_s = last_s + 1.0
    while empty is not None and time_s < EVERY_S:
        yield from _encoded(video, empty, time_s)
        time_s += EMPTY_EVERY_S
    yield from video.encode(None)


def _encoded(video: Any, image: Any, time_s: float) -> Iterator[Any]:
    frame = av.VideoFrame.from_ndarray(image, format="bgr24").reformat(format="yuv420p")
    frame.pts, frame.time_base = round(time_s * 1000), Fraction(1, 1000)
    yield from video.encode(frame)


def _scene_sound(audio: Any) -> Iterator[Any]:
    """The scene's sound, and silence until it happens again."""
    samples = np.zeros(int(EVERY_S * AUDIO_RATE_HZ) // 1024 * 1024, np.float32)
    for item in Replay(demo_scene()).items():
        if not isinstance(item, Frame):
            first = round(item.time_s * AUDIO_RATE_HZ)
            samples[first : first + item.samples.size] = item.samples
    for start in range(0, samples.size, 1024):
        block = av.AudioFrame.from_ndarray(samples[None, start : start + 1024], format="fltp", layout="mono")
        block.sample_rate, block.pts = AUDIO_RATE_HZ, start
        yield from audio.encode(block)
    yield from audio.encode(None)


def _write_three_hours(path: Path) -> Path:
    """The packets of one round, written over and over with later time stamps."""
    with av.open(str(path), "w") as container:
        video: Any = container.add_stream("mpeg4", rate=25)
        video.width, video.height, video.pix_fmt, video.bit_rate = 640, 360, "yuv420p", 1_500_000
        video.codec_context.time_base = Fraction(1, 1000)
        audio: Any = container.add_stream("aac", rate=AUDIO_RATE_HZ, layout="mono")
        rounds = [
            (stream, [(bytes(packet), float(packet.pts * packet.time_base), packet.is_keyframe) for packet in packets])
            for stream, packets in ((video, list(_scene_pictures(video))), (audio, list(_scene_sound(audio))))
        ]  # fmt: skip
        for number in range(int(DURATION_S / EVERY_S) + 1):
            for time_s, stream, data, is_keyframe in sorted(
                (
                    (start_s + number * EVERY_S, stream, data, keyframe)
                    for stream, packets in rounds
                    for data, start_s, keyframe in packets
                ),
                key=lambda entry: entry[0],
            ):
                if not 0 <= time_s < DURATION_S:
                    continue
                packet = av.Packet(data)
                packet.stream, packet.time_base, packet.is_keyframe = stream, Fraction(1, 1000), is_keyframe
                packet.pts = packet.dts = round(time_s * 1000)
                container.mux(packet)
    return path


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_three_hours(tmp_path: Path) -> None:
    recording = _write_three_hours(tmp_path / "three_hours.mkv")
    memory = tmp_path / "memory"
    run = measure(
        command(
            "run", "--replay", str(recording), "--speed", "max", "--start-at", "2026-05-02T09:00:00+00:00",
            "--language", "none", "--data-dir", str(memory), "--json",
        ),
        ROOT,
    )  # fmt: skip
    report = json.loads(run.output.splitlines()[-1])
    print(f"{run.wall_s:.0f} s, {run.cpu_s:.0f} CPU s, peak {run.peak_mib:.0f} MiB, {report}")
    assert report["clips"] == CLIPS and not report["warnings"] and not any(report["restarts"].values())
    assert run.peak_mib < 1536
    people = hearsight("people", "list", "--data-dir", memory, "--json").json
    assert [(len(person["faces"]), len(person["voices"])) for person in people] == [(1, 1)] * 3, people
    rounds = int(DURATION_S / EVERY_S)
    assert all(person["appearances"] >= rounds for person in people), people
