"""Replays a dataset through the real app and compares what it remembers with a golden file."""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from pathlib import Path

from memory_store.store import MemoryStore
from offline_tools.errors import OfflineToolError
from offline_tools.memorize_video import memorize_video, parts_for
from offline_tools.remembered import remembered_clips
from runtime import compose
from runtime.config import Settings


def replayed(videos: list[Path], settings: Settings) -> list[str]:
    """What the robot remembers of videos that follow one another in one memory, a line each."""
    with tempfile.TemporaryDirectory() as directory:
        parts = parts_for(settings, Path(directory))
        lines = []
        for video in videos:
            memorize_video(parts, video)
        store = compose.open_store(parts)
        try:
            lines = told(store)
        finally:
            store.close()
    return lines


def told(store: MemoryStore) -> list[str]:
    """Each clip's lines with current names, each stay and utterance with its times, and everybody who was met."""
    lines: list[str] = []
    for number, clip in enumerate(remembered_clips(store)):
        lines.append(f"clip {number} of {clip.clip.source_name}, {clip.clip.media_start_s:g} s")
        lines += [f"  {store.render(line)}" for line in clip.lines]
        for kind, stretches in (("seen", clip.seen), ("heard", clip.heard)):
            lines += [f"  {kind} {one.start_s:.1f} to {one.end_s:.1f} s: {one.tag}" for one in stretches]
    for person in store.people():
        lines.append(f"{person.label}: faces {list(person.face_ids)}, voices {list(person.voice_ids)}")
    return lines


def difference(golden: Path, lines: list[str]) -> list[str]:
    """A unified diff against the golden file, empty where nothing differs. Raises OfflineToolError."""
    try:
        before = json.loads(golden.read_text(encoding="utf-8"))["remembered"]
    except OSError as error:
        raise OfflineToolError(
            f"{golden} cannot be read ({error.strerror}): write it with --write"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise OfflineToolError(f"{golden} is no golden file: write it anew with --write") from error
    return list(difflib.unified_diff(before, lines, str(golden), "now", lineterm="", n=1))


def write_golden(golden: Path, lines: list[str]) -> None:
    """Rewrite the golden file; its diff is to be reviewed. Raises OfflineToolError."""
    part = golden.with_name(golden.name + ".part")
    try:
        part.write_text(
            json.dumps({"remembered": lines}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
        os.replace(part, golden)
    except OSError as error:
        raise OfflineToolError(f"cannot write {golden}: {error.strerror}") from error
