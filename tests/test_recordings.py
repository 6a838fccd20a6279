"""Recordings are made with consent, labelled by hand and read strictly, and compared with what they gave before."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from drivers.media import AudioBlock, Frame
from drivers.replay import Replay
from offline_tools.chatml_media import file_sha256
from offline_tools.errors import OfflineToolError
from offline_tools.recordings.__main__ import main
from offline_tools.recordings.devices import stopped_after
from offline_tools.recordings.golden import difference, write_golden
from offline_tools.recordings.labels import Label, LabelError, Labels, read_labels, write_labels
from offline_tools.recordings.record import read_sidecar, record, sidecar_path
from offline_tools.recordings.video import pictures, sound
from tests.recordings import picture, tone, write_recording

NOW = 1.7e9


def scene(*, hole: bool = False, size: tuple[int, int] = (96, 64)) -> Iterator[Frame | AudioBlock]:
    """Four seconds at 5 pictures a second with a tone, both from 0 on; hole: one second of both is lost."""
    for number in range(20):
        time_s = number / 5
        if hole and 1.0 <= time_s < 2.0:
            continue
        yield Frame(time_s, picture(number, *size))
        yield AudioBlock(time_s, tone(0.2))


def test_a_recording_is_an_ordinary_video_with_a_sidecar(tmp_path: Path) -> None:
    out = tmp_path / "new" / "day.mp4"
    made = record(out, scene(), agreed=["Anna", "Ben"], start_utc_s=NOW, source="test")
    assert read_sidecar(out) == made and made.agreed == ("Anna", "Ben")
    assert made.sha256 == file_sha256(out) and made.duration_s == pytest.approx(4, abs=0.2)
    info = Replay(out).info
    assert (info.has_video, info.has_audio, info.width, info.height) == (True, True, 96, 64)
    shown = list(pictures(out))
    assert len(shown) == pytest.approx(40, abs=2)
    assert abs(float(shown[20][:, :40].mean()) - 8 * 10) < 12  # the picture of that moment
    heard = sound(out)
    assert heard is not None and heard.size / 16000 == pytest.approx(4, abs=0.2)
    assert float(np.abs(heard[8000:56000]).max()) == pytest.approx(0.5, abs=0.1)


def test_lost_sound_is_silence_and_lost_pictures_stand(tmp_path: Path) -> None:
    record(tmp_path / "a.mp4", scene(hole=True), agreed=["Anna"], start_utc_s=NOW, source="test")
    heard = sound(tmp_path / "a.mp4")
    assert heard is not None
    assert float(np.abs(heard[18000:30000]).max()) < 0.05 < float(np.abs(heard[34000:60000]).max())
    assert len(list(pictures(tmp_path / "a.mp4"))) == pytest.approx(40, abs=2)


@pytest.mark.parametrize("kind", [Frame, AudioBlock])
def test_one_device_alone_makes_a_recording(tmp_path: Path, kind: type) -> None:
    only = (item for item in scene() if isinstance(item, kind))
    record(tmp_path / "a.mp4", only, agreed=["Anna"], start_utc_s=NOW, source="test")
    info = Replay(tmp_path / "a.mp4").info
    assert (info.has_video, info.has_audio) == (kind is Frame, kind is AudioBlock)


def test_a_picture_of_another_size_and_damaged_sound_are_borne(tmp_path: Path) -> None:
    def odd() -> Iterator[Frame | AudioBlock]:
        yield from (Frame(0.0, picture(1, 97, 65)), AudioBlock(0.0, np.full(1600, np.nan, np.float32)))
        yield from (
            Frame(0.1, picture(1, 40, 40)),
            Frame(0.1, picture(1, 97, 65)),
            Frame(0.05, picture(1, 97, 65)),
        )
        yield from (Frame(0.2, picture(2, 97, 65)), AudioBlock(0.05, tone(0.3)))

    record(tmp_path / "a.mp4", odd(), agreed=["Anna"], start_utc_s=NOW, source="test")
    assert next(one.shape for one in pictures(tmp_path / "a.mp4")) == (64, 96, 3)


def test_nothing_is_recorded_without_consent(tmp_path: Path) -> None:
    with pytest.raises(OfflineToolError, match="without consent"):
        record(tmp_path / "a.mp4", scene(), agreed=[], start_utc_s=NOW, source="test")
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_not_written_over_and_nothing_is_no_recording(tmp_path: Path) -> None:
    record(tmp_path / "a.mp4", scene(), agreed=["Anna"], start_utc_s=NOW, source="test")
    with pytest.raises(OfflineToolError, match="is there already"):
        record(tmp_path / "a.mp4", scene(), agreed=["Anna"], start_utc_s=NOW, source="test")
    with pytest.raises(OfflineToolError, match="nothing was recorded"):
        record(tmp_path / "b.mp4", iter(()), agreed=["Anna"], start_utc_s=NOW, source="test")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "a.mp4.recording.json"]


def test_a_sidecar_of_other_bytes_says_nothing(tmp_path: Path) -> None:
    video = tmp_path / "a.mp4"
    record(video, scene(), agreed=["Anna"], start_utc_s=NOW, source="test")
    video.write_bytes(video.read_bytes() + b"x")
    with pytest.raises(OfflineToolError, match="other bytes"):
        read_sidecar(video)
    sidecar_path(video).write_text("[]")
    with pytest.raises(OfflineToolError, match="no sidecar"):
        read_sidecar(video)
    sidecar_path(video).unlink()
    with pytest.raises(OfflineToolError, match="nobody in"):
        read_sidecar(video)


def test_a_file_is_taken_over_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_recording(
        tmp_path / "phone.mkv", picture_times_s=[n / 5 for n in range(30)], sounds=[(0.0, tone(6))]
    )
    out = tmp_path / "day.mp4"
    arguments = ["record", "--from", str(source), "--out", str(out), "--seconds", "4"]
    assert main(arguments) == 1 and "without consent" in capsys.readouterr().err
    assert main([*arguments, "--agreed", "Anna"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["agreed"] == ["Anna"] and told["duration_s"] == pytest.approx(4, abs=0.5)
    assert main(["record", "--from", str(source), "--out", str(out), "--seconds", "0"]) == 1
    assert main(["record", "--from", "gone.mp4", "--out", "x.mp4", "--seconds", "1", "--agreed", "A"]) == 1


def test_no_device_is_said_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "robot.yaml"
    config.write_text("camera: {device: /nowhere}\nmicrophone: {enabled: false}\n")
    arguments = ["record", "--config", str(config), "--out", str(tmp_path / "a.mp4"), "--seconds", "5"]
    assert main([*arguments, "--agreed", "Anna"]) == 1
    assert "no device to record with: " in capsys.readouterr().err
    config.write_text("camera: {enabled: false}\nmicrophone: {enabled: false}\n")
    assert main([*arguments, "--agreed", "Anna"]) == 1
    assert "both are disabled" in capsys.readouterr().err


def test_a_device_that_gives_nothing_and_an_interrupt_end_a_recording() -> None:
    with stopped_after(-2.9) as stop:
        assert stop.wait(10)
    with stopped_after(60) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()


LABELS = Labels("day.mp4", "a" * 64, (Label(0.0, 3.0, "anna", 'bin blue: at "F" two'), Label(2.5, 4, "ben")))


def test_labels_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "day.labels.yaml"
    write_labels(path, LABELS)
    assert read_labels(path) == LABELS
    assert len(path.read_text().splitlines()) == 5  # a line for each, as a person edits it
    truth = LABELS.as_truth()
    assert truth["duration_s"] == 4 and truth["segments"][1]["speaking"] is False
    write_labels(path, Labels("day.mp4", "a" * 64, ()))
    assert read_labels(path).segments == ()


def test_every_fault_of_a_label_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "day.labels.yaml"
    path.write_text(
        "video: day.mp4\nsha265: abc\nsegments:\n"
        "  - {start_s: 3, end_s: 1, person: anna}\n"
        "  - {start_s: soon, end_s: 4, person: anna}\n"
        "  - {start_s: 1, end_s: 4, person: ''}\n"
        "  - {start_s: 1, end_s: 4, person: anna, mood: glad}\n"
        "  - {start_s: 1, start_s: 2, end_s: .nan, person: [anna]}\n"
        "  - anna\n"
        "  - {end_s: 4, person: anna}\n"
    )
    with pytest.raises(LabelError) as found:
        read_labels(path)
    told = "\n".join(found.value.faults)
    for expected in (
        ":2: unknown key 'sha265'",
        ":1: sha256 is missing",
        ":4: from 3 to 1 s is no stretch",
        ":5: start_s is 'soon'",
        ":6: person must be a text",
        ":7: unknown key 'mood'",
        ":8: start_s stands twice",
        ":8: person must be a text",
        ":9: must be a mapping",
        ":10: start_s is missing",
    ):
        assert expected in told, told


@pytest.mark.parametrize(
    "text",
    ["segments: 3", "- a", "", "video: [", "a: &b [*b]", "segments: [{start_s: .nan, end_s: 1, person: a}]"],
)
def test_what_is_no_label_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(LabelError, match=str(path)):
        read_labels(path)


def test_labels_are_made_checked_and_turned_into_truth_by_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video = write_recording(tmp_path / "day.mp4", picture_times_s=[0.0, 0.2])
    labels = tmp_path / "day.labels.yaml"
    assert main(["label", str(labels), "--video", str(video), "--new"]) == 0
    text = labels.read_text().replace("segments: []", "segments:\n  - {start_s: 0, end_s: 1, person: anna}")
    labels.write_text(text)
    truth = tmp_path / "day.gt.json"
    assert main(["label", str(labels), "--video", str(video), "--truth", str(truth)]) == 0
    assert json.loads(truth.read_text())["segments"][0]["person"] == "anna"
    assert main(["label", str(labels), "--video", str(video), "--new"]) == 1
    video.write_bytes(b"another")
    assert main(["label", str(labels), "--video", str(video)]) == 1
    assert "belongs to another video" in capsys.readouterr().err


def test_a_golden_file_tells_what_changed(tmp_path: Path) -> None:
    golden = tmp_path / "day.golden.json"
    with pytest.raises(OfflineToolError, match="--write"):
        difference(golden, ["a"])
    write_golden(golden, ["clip 0", '  Anna says: "Hello."'])
    assert difference(golden, ["clip 0", '  Anna says: "Hello."']) == []
    changed = difference(golden, ["clip 0", '  Ben says: "Hello."'])
    assert '-  Anna says: "Hello."' in changed and '+  Ben says: "Hello."' in changed
    golden.write_text("[]")
    with pytest.raises(OfflineToolError, match="no golden file"):
        difference(golden, [])
