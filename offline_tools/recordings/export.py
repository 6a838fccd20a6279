"""A recording, or a robot's own memory, as a dataset that shows and lets hear only people who have agreed.

Removal is checked on what was written: faces are looked for again in the covered pictures, speech in the silenced
sound, and a recording in which something is left after a few rounds is not handed out.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from drivers.media import DriverError
from drivers.sound_file import decode_flac, encode_flac
from memory_store.store import MemoryStore
from memory_store.tags import find_tags
from models.voices import VoiceActivity
from offline_tools.chatml_media import file_sha256
from offline_tools.consent import ConsentRule
from offline_tools.errors import OfflineToolError
from offline_tools.recordings import video as media
from offline_tools.recordings.faces import ROUNDS, Box, FaceFinder, cover
from offline_tools.recordings.labels import Label, Labels, write_labels
from offline_tools.recordings.voices import silence
from offline_tools.remembered import RememberedClip, Stretch, remembered_clips
from runtime import compose
from runtime.errors import HearsightError
from runtime.media_files import MediaFiles, sound_name


@dataclass(frozen=True)
class Removed:
    """What was done to one recording. faces: tracks that were hidden; face_rounds: how often it had to be covered."""

    name: str
    faces: int
    faces_shown: int
    face_rounds: int
    speech_silenced_s: float
    speech_kept_s: float
    sha256: str


class Exporter:
    """Removes whoever has not agreed. Holds the models; used from one thread."""

    def __init__(self, parts: compose.Parts, store: MemoryStore, rule: ConsentRule) -> None:
        self._store = store
        self._rule = rule
        self._data_dir = parts.settings.data_dir
        self._faces = FaceFinder(parts, store, rule)
        self._activity = VoiceActivity(parts.directory(parts.entry("voice_activity")))

    def video(self, path: Path, out: Path) -> Removed:
        """Write OUT/NAME.mp4 and its labels; the memory must hold the whole video, so that people are known.

        Raises OfflineToolError where it does not, or somebody is still found in what was written.
        """
        sha256 = file_sha256(path)
        clips = list(remembered_clips(self._store, f"{sha256}@"))
        if not clips:
            raise OfflineToolError(
                f"{path} is not remembered: run `hearsight run --replay {path} --data-dir {self._data_dir}` first"
            )
        heard = [one for clip in clips for one in clip.heard]
        refused = self._rule.refused_tags(self._store, {one.tag for one in heard if one.tag is not None})
        samples = media.sound(path)
        quiet = None if samples is None else silence(samples, heard, refused, self._activity)
        if quiet is not None and quiet.left_s > 0:
            raise OfflineToolError(f"{path}: {quiet.left_s:.1f} s of speech are still heard after silencing")
        target = out / f"{path.stem}.mp4"
        faces, shown, rounds = self._cover(path, target, None if quiet is None else quiet.samples)
        kept = Labels(target.name, file_sha256(target), tuple(self._labels(clips)))
        write_labels(out / f"{path.stem}.labels.yaml", kept)
        return Removed(
            path.name, faces, shown, rounds,
            0.0 if quiet is None else quiet.silenced_s, 0.0 if quiet is None else quiet.kept_s, kept.sha256,
        )  # fmt: skip

    def memory(self, out: Path, on_fault: Callable[[str], None]) -> Iterator[Removed]:
        """Write each clip's key frames, sound and lines to OUT/clips/ID, without people who have not agreed.

        on_fault: is told of a clip that could not be made so, of which nothing is written.
        """
        for told in remembered_clips(self._store):
            folder = out / "clips" / f"{told.clip.id:08d}"
            folder.mkdir(parents=True, exist_ok=True)
            try:
                yield self._clip(told, folder)
            except (OfflineToolError, HearsightError, DriverError) as error:
                shutil.rmtree(folder)
                on_fault(f"clip {told.clip.id}: {error}")

    def _clip(self, told: RememberedClip, folder: Path) -> Removed:
        files = MediaFiles(self._data_dir)
        hidden = shown = 0
        nodes = self._store.nodes(kinds=["image"], clip_id=told.clip.id)
        kept = [node for node in nodes if node.provenance.get("source") == "keyframe"]
        for number, node in enumerate(kept):
            jpeg, tracks, may = self._faces.still(files.read(str(node.provenance["file"]["path"])))
            (folder / f"{number}.jpg").write_bytes(jpeg)
            hidden, shown = hidden + tracks - may, shown + may
        flac = files.find(sound_name(told.clip.id))
        silenced_s, kept_s = self._sound(told, flac, folder / "sound.flac")
        lines = self.lines(told)
        (folder / "lines.json").write_text(json.dumps(lines, ensure_ascii=False, indent=1) + "\n", "utf-8")
        return Removed(folder.name, hidden, shown, 1, silenced_s, kept_s, file_sha256(folder / "lines.json"))

    def lines(self, told: RememberedClip) -> list[str]:
        """The lines of a clip that tell of nobody who has not agreed, nor of what strangers said."""
        refused = self._rule.refused_tags(self._store, told.tags)
        strangers = self._rule.allows(None)
        return [
            line
            for line in told.lines
            if not refused & set(find_tags(line))
            and (strangers or find_tags(line) or line.startswith("In view:"))
        ]

    def _cover(self, path: Path, target: Path, samples: media.Samples | None) -> tuple[int, int, int]:
        """Cover, write and look again, until nobody is found; tracks hidden, tracks shown, rounds."""
        boxes: dict[int, list[Box]] = defaultdict(list)
        found = self._faces.hidden(media.pictures(path))
        for tick, more in found.boxes.items():
            boxes[tick] += more
        for number in range(1, ROUNDS + 1):
            shown = (cover(picture, boxes.get(tick, ())) for tick, picture in enumerate(media.pictures(path)))
            media.write(target, shown, samples)
            left = self._faces.hidden(media.pictures(target))
            if not left.boxes:
                return found.tracks - found.shown, found.shown, number
            for tick, more in left.boxes.items():
                boxes[tick] += more
        target.unlink()
        raise OfflineToolError(
            f"{path}: faces are still found after covering it {ROUNDS} times: not handed out"
        )

    def _sound(self, told: RememberedClip, flac: bytes | None, target: Path) -> tuple[float, float]:
        if flac is None:
            return 0.0, 0.0
        samples, rate_hz = decode_flac(flac)
        start_s = told.clip.media_end_s - len(samples) / rate_hz
        heard = [_moved(one, -start_s) for one in told.heard]
        refused = self._rule.refused_tags(self._store, told.tags)
        quiet = silence(samples, heard, refused, self._activity)
        if quiet.left_s > 0:
            raise OfflineToolError(f"clip {told.clip.id}: {quiet.left_s:.1f} s of speech are still heard")
        target.write_bytes(encode_flac(quiet.samples, rate_hz))
        return quiet.silenced_s, quiet.kept_s

    def _labels(self, clips: Sequence[RememberedClip]) -> Iterator[Label]:
        """Who may be shown and heard, by pseudonym."""
        for told in clips:
            for one in (*told.seen, *told.heard):
                person = None if one.tag is None else self._store.person_of(one.tag.node_id)
                if person is not None and self._rule.allows(person) and one.end_s > one.start_s:
                    yield Label(max(0.0, one.start_s), one.end_s, f"person_{person.id}", one.text)


def write_manifest(out: Path, rule: ConsentRule, removed: Sequence[Removed]) -> None:
    """OUT/dataset.json: what is in the dataset, and under which consent."""
    document: dict[str, Any] = {
        "allowed": sorted(rule.allowed),
        "recordings": [asdict(one) for one in removed],
    }
    part = out / "dataset.json.part"
    part.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    os.replace(part, out / "dataset.json")


def _moved(one: Stretch, by_s: float) -> Stretch:
    return Stretch(one.start_s + by_s, one.end_s + by_s, one.tag, one.text, one.on_screen)
