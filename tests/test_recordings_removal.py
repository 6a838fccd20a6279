"""Whoever has not agreed is gone from a real recording: found by no detector, recognised by nobody, heard by nobody."""

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from drivers.sound_file import decode_flac, encode_flac
from memory_store.store import MemoryStore
from memory_store.tags import Tag
from models.faces import FaceDetector
from models.voices import VoiceActivity
from offline_tools.consent import ConsentRule, consent_rule
from offline_tools.errors import OfflineToolError
from offline_tools.media_writer import write_mp4
from offline_tools.memorize_video import memorize_video, parts_for
from offline_tools.recordings.__main__ import main
from offline_tools.recordings.export import Exporter
from offline_tools.recordings.faces import FaceFinder, cover
from offline_tools.recordings.labels import read_labels
from offline_tools.recordings.video import RATE_HZ, pictures, sound
from offline_tools.recordings.voices import silence
from offline_tools.remembered import Stretch
from runtime import compose
from runtime.config import Settings
from runtime.media_files import MediaFiles, sound_name
from tests.recordings import SHARED_MEDIA, write_recording

STREAM = SHARED_MEDIA / "streams/visitors_day1.mp4"
pytestmark = [
    pytest.mark.skipif(not STREAM.exists(), reason="the shared media folder is not here"),
    pytest.mark.timeout(300),
]
# Three people, 3 s each; the second has agreed.
LENGTH_S, AGREED = 9, (3.0, 6.0)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A video, and a memory of it in which the second of its three people is a resident."""
    folder = tmp_path_factory.mktemp("recorded")
    video, memory = folder / "visit.mp4", folder / "memory"
    shown = (picture for _, picture in zip(range(LENGTH_S * RATE_HZ), pictures(STREAM), strict=False))
    heard = sound(STREAM)
    assert heard is not None
    write_mp4(video, shown, RATE_HZ, heard[: LENGTH_S * 16000], 16000)
    parts = parts_for(Settings(), memory)
    memorize_video(parts, video)
    with opened(memory) as store, store.transaction():
        people = sorted(store.people(), key=lambda person: person.face_ids)
        assert len(people) == 3 and all(person.voice_ids for person in people)
        store.set_consent(people[1].id, "resident")
    return video, memory


def opened(memory: Path) -> MemoryStore:
    return compose.open_store(parts_for(Settings(), memory))


@pytest.fixture(scope="module")
def exported(recorded: tuple[Path, Path]) -> Path:
    """The dataset made of it by command."""
    video, memory = recorded
    out = video.with_name("dataset")
    assert main(["export", str(video), "--memory", str(memory), "--out", str(out)]) == 0
    return out


def faces_at(path: Path, score: float) -> list[bool]:
    """For each picture whether a detector of its own finds a face."""
    parts = parts_for(Settings(), path)
    detector = FaceDetector(parts.directory(parts.entry("face_detection")), score_threshold=score)
    return [bool(detector.detect(picture)) for picture in pictures(path)]


def test_the_faces_are_found_by_no_detector(recorded: tuple[Path, Path], exported: Path) -> None:
    assert all(faces_at(recorded[0], 0.7))
    found = faces_at(exported / "visit.mp4", 0.3)  # far below what the robot asks for
    first, last = (round(at * RATE_HZ) for at in AGREED)
    assert len(found) == LENGTH_S * RATE_HZ
    assert not any(found[:first]) and not any(found[last:])
    shown = found[first:last]
    assert sum(shown) >= 0.7 * len(shown)  # the resident stays, but for the edges of the others' patches


def test_the_robot_meets_nobody_else_in_it(exported: Path, tmp_path: Path) -> None:
    parts = parts_for(Settings(), tmp_path)
    memorize_video(parts, exported / "visit.mp4")
    with opened(tmp_path) as store:
        people = store.people()
        assert [len(people), len(people[0].face_ids), len(people[0].voice_ids)] == [1, 1, 1]
        heard = [node for node in store.nodes(kinds=["episodic"]) if node.provenance.get("event") == "heard"]
        assert len(heard) == 1


def test_the_removed_are_recognised_by_nobody(recorded: tuple[Path, Path], exported: Path) -> None:
    parts = parts_for(Settings(), recorded[1])
    with opened(recorded[1]) as store:
        everybody = {face: person.id for person in store.people() for face in person.face_ids}
        finder = FaceFinder(parts, store, consent_rule(["unknown"]))
        before = {everybody.get(finder.whose(track) or 0) for track in finder.tracks(pictures(recorded[0]))}
        after = {
            everybody.get(finder.whose(track) or 0)
            for track in finder.tracks(pictures(exported / "visit.mp4"))
        }
        residents = {person.id for person in store.people() if person.consent == "resident"}
    assert before - {None} == set(everybody.values()) and after - {None} == residents


def test_the_removed_voices_are_silent(recorded: tuple[Path, Path], exported: Path) -> None:
    parts = parts_for(Settings(), recorded[1])
    activity = VoiceActivity(parts.directory(parts.entry("voice_activity")))
    before, after = sound(recorded[0]), sound(exported / "visit.mp4")
    assert before is not None and after is not None
    with opened(recorded[1]) as store:
        heard = [node for node in store.nodes(kinds=["episodic"]) if node.provenance.get("event") == "heard"]
        spans = sorted(node.provenance["media_s"] for node in heard)
    assert len(spans) == 3
    for number, (start_s, end_s) in enumerate(spans):
        piece = slice(round(start_s * 16000), round(end_s * 16000))
        if number == 1:
            assert float(np.abs(after[piece]).max()) > 0.5 * float(np.abs(before[piece]).max())
        else:
            assert float(np.abs(before[piece]).max()) > 0.05 > 0.01 > float(np.abs(after[piece]).max())
    for span in activity.spans(after):
        assert AGREED[0] - 0.3 < span.start_s and span.end_s < AGREED[1] + 0.3


def test_the_labels_name_only_who_has_agreed(exported: Path) -> None:
    labels = read_labels(exported / "visit.labels.yaml", video=exported / "visit.mp4")
    assert len({label.person for label in labels.segments}) == 1
    assert all(AGREED[0] - 0.5 < label.start_s < label.end_s < AGREED[1] + 0.5 for label in labels.segments)
    assert any(label.transcript for label in labels.segments)


def test_with_everybody_allowed_nothing_is_removed(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    arguments = ["export", str(recorded[0]), "--memory", str(recorded[1]), "--out", str(tmp_path)]
    assert main([*arguments, "--allow", "unknown"]) == 0
    assert sum(faces_at(tmp_path / "visit.mp4", 0.7)) >= 0.95 * LENGTH_S * RATE_HZ
    assert len({label.person for label in read_labels(tmp_path / "visit.labels.yaml").segments}) == 3


def test_a_video_that_nobody_remembers_is_not_exported(
    recorded: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = write_recording(tmp_path / "other.mp4", picture_times_s=[0.0, 0.2])
    out = tmp_path / "out"
    assert main(["export", str(stranger), "--memory", str(recorded[1]), "--out", str(out)]) == 1
    assert "is not remembered: run `hearsight run --replay" in capsys.readouterr().err
    assert not list(out.glob("*.mp4"))


def test_the_memorys_own_clips_lose_the_same_people(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    video, memory = recorded
    heard = sound(video)
    assert heard is not None
    with opened(memory) as store:
        clip = store.clips()[0]
        MediaFiles(memory).write(sound_name(clip.id), encode_flac(heard, 16000))
        exporter = Exporter(parts_for(Settings(), memory), store, ConsentRule())
        faults: list[str] = []
        removed = list(exporter.memory(tmp_path, faults.append))
    assert not faults and len(removed) == 1 and removed[0].faces >= 1 and removed[0].speech_silenced_s > 2
    folder = tmp_path / "clips" / f"{clip.id:08d}"
    lines = (folder / "lines.json").read_text()
    assert lines.count("<face_") <= 1 and lines.count("says") == 1
    after, _ = decode_flac((folder / "sound.flac").read_bytes())
    assert float(np.abs(after[9600:41600]).max()) == 0.0 < float(np.abs(after[64000:80000]).max())
    parts = parts_for(Settings(), memory)
    detector = FaceDetector(parts.directory(parts.entry("face_detection")), score_threshold=0.4)
    faces = 0
    for path in sorted(folder.glob("*.jpg")):
        image = cv2.imread(str(path))
        assert image is not None
        faces += len(detector.detect(np.asarray(image, np.uint8)))
    assert faces <= 1  # the resident's, where a key frame shows them


def test_a_clip_that_cannot_be_made_fit_is_not_handed_out(
    recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    broken = tmp_path / "memory"
    shutil.copytree(recorded[1], broken)
    next((broken / "media" / "clips").rglob("*.jpg")).write_bytes(b"no picture")
    faults: list[str] = []
    with opened(broken) as store:
        exporter = Exporter(parts_for(Settings(), broken), store, ConsentRule())
        assert list(exporter.memory(tmp_path / "out", faults.append)) == []
    assert "cannot be decoded" in faults[0] and not list((tmp_path / "out" / "clips").iterdir())


def test_a_replay_is_compared_with_what_it_gave_before(
    recorded: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = tmp_path / "visit.golden.json"
    assert main(["replay", str(recorded[0]), "--golden", str(golden), "--write"]) == 0
    text = golden.read_text()
    assert text.count("is in view.") == 3 and text.count(" says: ") == 3
    assert main(["replay", str(recorded[0]), "--golden", str(golden)]) == 0
    golden.write_text(text.replace("<face_5>", "<face_9>"))
    assert main(["replay", str(recorded[0]), "--golden", str(golden)]) == 1
    assert "<face_9>" in capsys.readouterr().out


class Stubborn:
    """A voice detector that always finds speech at the same place."""

    def spans(self, samples: np.ndarray) -> list[Stretch]:
        return [Stretch(1.0, 2.0, None)]


def test_two_at_once_are_both_silenced_and_unknown_speech_too() -> None:
    samples = np.ones(5 * 16000, np.float32)
    may, may_not = Tag("voice", 1), Tag("voice", 2)
    heard = [Stretch(2.5, 4.5, may), Stretch(4.0, 5.0, may_not)]
    quiet = silence(samples, heard, frozenset({may_not}), Stubborn())  # type: ignore[arg-type]
    at = lambda second: float(quiet.samples[round(second * 16000)])  # noqa: E731
    assert [at(0.5), at(1.5), at(3.0), at(3.9), at(4.2), at(4.9)] == [1, 0, 1, 1, 0, 0]
    assert quiet.left_s == 0 and quiet.kept_s == pytest.approx(1.5, abs=0.01)


def test_a_patch_leaves_nothing_of_what_was_there() -> None:
    draw = np.random.default_rng(1)
    first, second = (draw.integers(0, 255, (90, 120, 3), np.uint8) for _ in range(2))
    box = (-5.0, -5.0, 140.0, 120.0)
    assert len(np.unique(cover(first, [box]).reshape(-1, 3), axis=0)) <= 9
    assert np.array_equal(cover(first, []), first) and not np.array_equal(first, second)
    assert np.array_equal(cover(first, [(500.0, 0.0, 5.0, 5.0)]), first)


def test_a_memory_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--memory", str(tmp_path), "--out", str(tmp_path / "o")]) == 1
    assert "no memory in" in capsys.readouterr().err
    with pytest.raises(OfflineToolError, match="cannot be allowed"):
        consent_rule(["everybody"])
