"""One video through the real daemon, without a language model, into a memory of its own; a stopped run goes on."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from drivers.replay import Replay
from models.manifest import Manifest
from offline_tools.chatml_media import file_sha256
from runtime import compose
from runtime.capture import Pace
from runtime.clips import Recording, cut_clips, recording_start_utc_s
from runtime.clock import SystemClock, is_believable
from runtime.config import Settings
from runtime.daemon import Daemon, Listeners
from runtime.instance import only_instance
from runtime.pipeline import Report

# Of a video that does not say when it was made: always the same, so that a clip's key never depends on today.
UNDATED_UTC_S = datetime(2020, 1, 1, 12, tzinfo=UTC).timestamp()


def parts_for(settings: Settings, data_dir: Path) -> compose.Parts:
    """The robot's parts over another data directory, without a language model."""
    models = settings.models.model_copy(update={"language": compose.NO_LANGUAGE_MODEL})
    changed = settings.model_copy(update={"data_dir": data_dir, "models": models})
    return compose.Parts(changed, Manifest.load())


def memory_directory(folder: Path, video: Path) -> Path:
    """Where a video's memory lies among those of others: by its name, for people, and its bytes. Raises OSError."""
    return folder / f"{video.stem}-{file_sha256(video)[:16]}"


def memorize_video(parts: compose.Parts, video: Path) -> Report:
    """See, hear and memorize all clips that are not remembered yet, in order.

    Raises DriverError for a file that is no video, HearsightError, ModelError or MemoryStoreError otherwise.
    """
    settings = parts.settings
    replay = Replay(video, frame_rate_hz=settings.clip.frame_rate_hz)
    with only_instance(settings.data_dir):
        store = compose.open_store(parts)
        try:
            clips = store.clips()
        finally:
            store.close()
        start_utc_s = recording_start_utc_s(clips, replay.info.sha256)
        if start_utc_s is None:
            recorded = replay.info.recorded_utc_s
            start_utc_s = recorded if recorded is not None and is_believable(recorded) else UNDATED_UTC_S
        source = Recording(replay, start_utc_s, cut_clips(clips))
        return asyncio.run(Daemon(parts, source, Pace(None), SystemClock(), Listeners()).run())
