"""Composes the household's scenes into videos: photographs of people in a drawn room, who speak with their voices."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from models.faces import FaceDetector
from models.images import Image
from offline_tools.bench.household_script import Line, Scene, Script, Shot
from offline_tools.bench.household_voices import HouseholdVoices
from offline_tools.bench.report import media
from offline_tools.bench.spoiled_sound import read_sound
from offline_tools.demo_pictures import CutOut, draw_room, look, room_frame
from offline_tools.demo_scene import FRAME_RATE_HZ
from offline_tools.demo_sound import SAMPLE_RATE_HZ, Samples, soundtrack
from offline_tools.demo_sources import PICTURES
from offline_tools.media_writer import write_mp4

BEFORE_S, BETWEEN_S, AFTER_S = 1.2, 0.9, 1.2
LONGEST_SOUND_S = 9.0
SOUND_PEAK = 0.3
_PORTRAITS = {picture.name: picture for picture in PICTURES}


@dataclass(frozen=True)
class Placed:
    """A line, a sound or a shot where it lies in its scene, in seconds."""

    id: str
    start_s: float
    end_s: float
    text: str = ""


@dataclass(frozen=True, eq=False)
class Take:
    """A shot where it lies in its scene, with its lines."""

    shot: Shot
    start_s: float
    end_s: float
    lines: tuple[tuple[Line, Placed], ...]


class SceneComposer:
    """Writes scenes as MP4 files with their truth beside them."""

    def __init__(
        self, script: Script, voices: HouseholdVoices, pictures: Mapping[str, Path], faces: FaceDetector
    ) -> None:
        self._script = script
        self._voices = voices
        self._pictures = pictures
        self._faces = faces

    def write(self, scene: Scene, path: Path) -> None:
        """FILE.mp4 and, last of all, FILE.json: what lies where."""
        cv2.setNumThreads(1)
        takes, pieces = self._plan(scene)
        sound = soundtrack(pieces, takes[-1].end_s)
        write_mp4(path, self._frames(scene, takes), FRAME_RATE_HZ, sound, SAMPLE_RATE_HZ)
        placed = [Placed(take.shot.id, take.start_s, take.end_s) for take in takes]
        placed += [where for take in takes for _, where in take.lines]
        text = json.dumps([asdict(one) for one in placed], ensure_ascii=False, indent=1)
        path.with_suffix(".json").write_text(f"{text}\n", encoding="utf-8")

    def _plan(self, scene: Scene) -> tuple[list[Take], list[tuple[float, Samples]]]:
        takes: list[Take] = []
        pieces: list[tuple[float, Samples]] = []
        now_s = 0.0
        for shot in scene.shots:
            start_s, lines = now_s, []
            now_s += BEFORE_S
            for line in shot.lines:
                spoken = self._voices.speak(line.say, self._script.people[line.who].voice, line.pitch)
                pieces.append((now_s, spoken))
                end_s = now_s + spoken.size / SAMPLE_RATE_HZ
                lines.append((line, Placed(line.id, round(now_s, 3), round(end_s, 3), line.say)))
                now_s = end_s + BETWEEN_S
            if shot.sound is not None:
                heard = _recording(shot.sound)
                pieces.append((now_s, heard))
                now_s += heard.size / SAMPLE_RATE_HZ
            now_s = _on_frame(max(now_s + AFTER_S - BETWEEN_S, start_s + shot.minimum_s))
            takes.append(Take(shot, start_s, now_s, tuple(lines)))
        return takes, pieces

    def _frames(self, scene: Scene, takes: list[Take]) -> Iterator[NDArray[np.uint8]]:
        room, day = draw_room(), self._script.day(scene)
        names = {name for take in takes for name in take.shot.people}
        people = {name: self._person(name, day) for name in sorted(names)}
        for take in takes:
            still = None if take.shot.still is None else self._still(take.shot.still)
            present = [people[name] for name in take.shot.people]
            for number in range(round(take.start_s * FRAME_RATE_HZ), round(take.end_s * FRAME_RATE_HZ)):
                time_s = number / FRAME_RATE_HZ
                if still is not None:
                    yield look(still, time_s, 0.9)
                    continue
                who = [
                    line.who for line, at in take.lines if at.start_s <= time_s < at.end_s and not line.unseen
                ]
                speaking = take.shot.people.index(who[0]) if who else None
                inside_s, left_s = time_s - take.start_s, take.end_s - time_s
                yield room_frame(room, present, time_s, inside_s, left_s, speaking)

    def _person(self, name: str, day: int) -> CutOut:
        photos = self._script.people[name].photos
        photo = photos[min(day, len(photos) - 1)]
        portrait = _PORTRAITS.get(photo)
        if portrait is not None and portrait.face is not None:
            return CutOut(self._pictures[photo], portrait.face)
        path = media(f"faces/lfw/{photo.rpartition('_')[0]}/{photo}")
        picture: Image = np.asarray(cv2.imread(str(path)), np.uint8)
        box = max(self._faces.detect(picture), key=lambda box: box.width * box.height)
        return CutOut(path, (round(box.x), round(box.y), round(box.width), round(box.height)))

    def _still(self, name: str) -> Image:
        file = "chelsea.png" if name == "cat" else "coffee.png"
        picture = np.asarray(cv2.imread(str(self._pictures[file])), np.uint8)
        if name == "coffee_moved":
            return picture[30:300, 100:580]
        if name == "coffee_blue":
            turned = cv2.cvtColor(picture, cv2.COLOR_BGR2HSV)
            turned[..., 0] = (turned[..., 0].astype(np.int32) + 110) % 180
            return np.asarray(cv2.cvtColor(turned, cv2.COLOR_HSV2BGR), np.uint8)
        return picture


def _recording(name: str) -> Samples:
    heard = read_sound(media(name))[: round(LONGEST_SOUND_S * SAMPLE_RATE_HZ)]
    return np.asarray(heard * (SOUND_PEAK / max(1e-6, float(np.abs(heard).max()))), np.float32)


def _on_frame(time_s: float) -> float:
    return round(math.ceil(time_s * FRAME_RATE_HZ - 1e-6) / FRAME_RATE_HZ, 3)
