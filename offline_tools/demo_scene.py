"""Composes the demo scene: three people in a room who say household sentences, as one MP4 with its script.

Run as `python -m offline_tools.demo_scene --out FILE.mp4`; the script goes to FILE.json.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from offline_tools.demo_pictures import CutOut, draw_room, look, room_frame
from offline_tools.demo_script import DEMO_QUESTIONS, ROLES, SHOTS, Role, Shot
from offline_tools.demo_sound import SAMPLE_RATE_HZ, Samples, Synthesizer, soundtrack, speak
from offline_tools.demo_sources import PICTURES, DemoError, cache_directory, fetch_pictures
from offline_tools.media_writer import write_mp4

FRAME_RATE_HZ = 10
_BEFORE_S, _BETWEEN_S, _AFTER_S = 1.2, 0.9, 1.2


@dataclass(frozen=True, slots=True)
class Spoken:
    """One line where it lies in the scene."""

    person: str
    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True, slots=True)
class Take:
    """One shot where it lies in the scene."""

    shot: Shot
    start_s: float
    end_s: float
    spoken: tuple[Spoken, ...]


def plan(
    shots: tuple[Shot, ...], roles: Mapping[str, Role], voice: Synthesizer | None
) -> tuple[list[Take], list[tuple[float, Samples]]]:
    """Return the shots on a timeline, and the spoken pieces with their times; a silent scene without a voice."""
    takes: list[Take] = []
    pieces: list[tuple[float, Samples]] = []
    now_s = 0.0
    for shot in shots:
        start_s, spoken = now_s, []
        now_s += _BEFORE_S if shot.lines else 0.0
        for line in shot.lines:
            role = roles[line.speaker]
            sound = np.zeros(2 * SAMPLE_RATE_HZ, np.float32)
            if voice is not None:
                sound = speak(voice, line.text, pitch=role.pitch, tempo=role.tempo)
                pieces.append((now_s, sound))
                end_s = now_s + sound.size / SAMPLE_RATE_HZ
                spoken.append(Spoken(line.speaker, round(now_s, 3), round(end_s, 3), line.text))
            now_s += sound.size / SAMPLE_RATE_HZ + _BETWEEN_S
        now_s += _AFTER_S - _BETWEEN_S if shot.lines else 0.0
        now_s = _on_frame(max(now_s, start_s + shot.minimum_s))
        takes.append(Take(shot, start_s, now_s, tuple(spoken)))
    return takes, pieces


def compose(
    path: Path,
    pictures: Mapping[str, Path],
    voice: Synthesizer | None,
    shots: tuple[Shot, ...] = SHOTS,
) -> dict[str, Any]:
    """Write the scene to `path` and its script beside it, and return the script.

    People whose picture is missing are left out, with their lines. Raises DemoError when nobody is left.
    """
    cv2.setNumThreads(1)
    faces = {picture.name: picture.face for picture in PICTURES}
    roles = {role.name: role for role in ROLES if role.picture in pictures}
    if not roles:
        raise DemoError("no portrait could be fetched; check the network and run the set-up again")
    takes, pieces = plan(available(shots, set(roles), set(pictures)), roles, voice)
    appearing = {name for take in takes for name in take.shot.people}
    people = {
        name: CutOut(pictures[role.picture], face)
        for name, role in roles.items()
        if name in appearing and (face := faces[role.picture]) is not None
    }
    sound = soundtrack(pieces, takes[-1].end_s) if voice is not None else None
    path.parent.mkdir(parents=True, exist_ok=True)
    write_mp4(path, _pictures(takes, people, pictures), FRAME_RATE_HZ, sound, SAMPLE_RATE_HZ)
    script = _script(takes, list(roles.values()))
    text = json.dumps(script, indent=1, ensure_ascii=False)
    path.with_suffix(".json").write_text(f"{text}\n", encoding="utf-8")
    return script


def available(shots: tuple[Shot, ...], people: set[str], pictures: set[str]) -> tuple[Shot, ...]:
    """Return the shots that these people and pictures allow; a scene of several needs them all."""
    return tuple(
        shot
        for shot in shots
        if set(shot.people) <= people and (shot.still is None or shot.still in pictures)
    )


def main(arguments: list[str] | None = None) -> int:
    """Fetch what is missing, compose the scene, and say in plain words what was left out."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.demo_scene", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the MP4 to write")
    parser.add_argument("--models-dir", type=Path, default=cache_directory().parent / "models")
    options = parser.parse_args(arguments)
    pictures, faults = fetch_pictures(cache_directory())
    voice, fault = _voice(options.models_dir)
    for sentence in (*faults, *([fault] if fault else [])):
        print(f"left out of the scene: {sentence}", file=sys.stderr)
    try:
        script = compose(options.out, pictures, voice)
    except DemoError as error:
        print(error, file=sys.stderr)
        return 1
    print(
        f"{options.out}: {script['duration_s']:.1f} s, {len(script['people'])} people, {len(script['lines'])} lines"
    )
    return 0


def _voice(models_directory: Path) -> tuple[Synthesizer | None, str | None]:
    from models.errors import ModelError
    from models.manifest import Manifest
    from models.synthesis import SpeechSynthesizer

    try:
        entry = Manifest.load().default("speech_synthesis")
        voice = SpeechSynthesizer(entry.directory(models_directory))
        voice.synthesize("Hello.")  # finds out now whether phonemes can be had
        return voice, None
    except ModelError as error:
        return None, f"speech ({error})"


def _pictures(
    takes: list[Take], people: Mapping[str, CutOut], pictures: Mapping[str, Path]
) -> Iterator[NDArray[np.uint8]]:
    room = draw_room()
    for take in takes:
        still = cv2.imread(str(pictures[take.shot.still])) if take.shot.still else None
        present = [people[name] for name in take.shot.people]
        for number in range(round(take.start_s * FRAME_RATE_HZ), round(take.end_s * FRAME_RATE_HZ)):
            time_s = number / FRAME_RATE_HZ
            if still is not None:
                yield look(np.asarray(still, np.uint8), time_s, 0.85)
                continue
            speakers = [line.person for line in take.spoken if line.start_s <= time_s < line.end_s]
            speaking = take.shot.people.index(speakers[0]) if speakers else None
            yield room_frame(room, present, time_s, time_s - take.start_s, take.end_s - time_s, speaking)


def _script(takes: list[Take], roles: list[Role]) -> dict[str, Any]:
    licences = {picture.name: picture.licence for picture in PICTURES}
    return {
        "duration_s": takes[-1].end_s,
        "people": [
            {"name": role.name, "picture": role.picture, "licence": licences[role.picture]} for role in roles
        ],
        "appearances": [
            {
                "people": list(take.shot.people),
                "start_s": take.start_s,
                "end_s": take.end_s,
                "object": take.shot.still,
            }
            for take in takes
            if take.shot.people or take.shot.still
        ],
        "lines": [asdict(line) for take in takes for line in take.spoken],
        "questions": [asdict(question) for question in DEMO_QUESTIONS],
    }


def _on_frame(time_s: float) -> float:
    return round(math.ceil(time_s * FRAME_RATE_HZ - 1e-6) / FRAME_RATE_HZ, 3)


if __name__ == "__main__":
    raise SystemExit(main())
