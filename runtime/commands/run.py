"""`hearsight run`: the daemon on camera and microphone, or on a recording as if it were both."""

from __future__ import annotations

import argparse
import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from drivers.live import LiveSource
from drivers.media import DriverError
from drivers.replay import Replay
from memory_store.store import MemoryStore
from runtime import compose
from runtime.capture import Pace
from runtime.clips import Live, Recording, Source, boot_id, cut_clips, recording_start_utc_s
from runtime.clock import SystemClock, is_believable
from runtime.commands import session
from runtime.commands.devices import camera_of, microphone_of
from runtime.commands.run_view import JsonView, TextView, View
from runtime.config import Settings
from runtime.daemon import Daemon, Listeners
from runtime.errors import HearsightError
from runtime.instance import only_instance

log = logging.getLogger(__name__)
FIRST_UTC_S = datetime(
    1900, 1, 1, tzinfo=UTC
).timestamp()  # nothing was recorded before; far from the calendar's end
LAST_UTC_S = datetime(2200, 1, 1, tzinfo=UTC).timestamp()


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("run", parents=[shared], help="see, hear and remember")
    parser.add_argument(
        "--replay", type=Path, metavar="FILE", help="a recording instead of camera and microphone"
    )
    parser.add_argument(
        "--speed",
        default="1",
        metavar="FACTOR",
        help="of a replay: 1 as it happened (default), 4 faster, or max",
    )
    parser.add_argument("--start-at", metavar="ISO-TIME", help="when the recording is said to have begun")
    parser.add_argument("--language", metavar="MODEL", help="entry of the model manifest, or none")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Run to the recording's end, or until SIGINT or SIGTERM."""
    parts = session.parts_of(options)
    pace = Pace(_speed(options.speed) if options.replay is not None else None)
    if options.start_at is not None and options.replay is None:
        raise HearsightError("--start-at belongs to a recording: add --replay FILE")
    replay = _replay(options, parts.settings)
    with only_instance(parts.settings.data_dir):
        clock = SystemClock()
        if replay is not None:
            source: Source = _recording(options, parts, replay)
        else:
            source = _live(parts.settings, clock)
        view = _view(options, source, parts)
        with view:
            listeners = Listeners(view.on_clip, view.on_described, view.on_progress)
            report = asyncio.run(Daemon(parts, source, pace, clock, listeners).run())
        view.finish(report, source.warnings)
    return 0


def _speed(text: str) -> float | None:
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0.01 <= speed <= 1000:
        raise HearsightError(f"--speed {text}: give a factor from 0.01 to 1000, or max")
    return speed


def _replay(options: argparse.Namespace, settings: Settings) -> Replay | None:
    if options.replay is None:
        return None
    return Replay(options.replay, frame_rate_hz=settings.clip.frame_rate_hz)


def _recording(options: argparse.Namespace, parts: compose.Parts, replay: Replay) -> Recording:
    start = session.instant(options.start_at, session.zone_of(parts), "--start-at")
    if start is not None and not FIRST_UTC_S <= start < LAST_UTC_S:
        raise HearsightError(f"--start-at {options.start_at}: give a time from 1900 to 2199")
    store = compose.open_store(parts)
    try:
        if start is None:
            start = _usual_start(store, replay)
        return Recording(replay, start, cut_clips(store.clips()))
    finally:
        store.close()


def _usual_start(store: MemoryStore, replay: Replay) -> float:
    """When this recording began: as it was remembered before, as it says itself, or so that it ends now."""
    before = recording_start_utc_s(store.clips(), replay.info.sha256)
    if before is not None:
        return before
    recorded = replay.info.recorded_utc_s
    if recorded is not None and is_believable(recorded):
        return recorded
    return round(SystemClock().utc_s() - replay.info.duration_s, 3)


def _live(settings: Settings, clock: SystemClock) -> Live:
    """Camera and microphone as far as they can be opened; the daemon keeps trying the one that cannot."""
    camera = camera_of(settings) if settings.camera.enabled else None
    microphone = microphone_of(settings) if settings.microphone.enabled else None
    devices = [device for device in (camera, microphone) if device is not None]
    if not devices:
        raise HearsightError("camera and microphone are both disabled in robot.yaml: enable one")
    faults = []
    for device in devices:
        try:
            device.open()
        except DriverError as error:
            faults.append(str(error))
        device.close()
    if len(faults) == len(devices):
        raise HearsightError("no device to see or hear with: " + "; ".join(faults))
    for fault in faults:
        log.warning("%s; going on without it, and trying again", fault)
    return Live(LiveSource(camera, microphone, frame_rate_hz=settings.clip.frame_rate_hz), boot_id(), clock)


def _view(options: argparse.Namespace, source: Source, parts: compose.Parts) -> View:
    if options.json:
        return JsonView(source.name)
    return TextView(Console(), source.name, source.duration_s, session.zone_of(parts))
