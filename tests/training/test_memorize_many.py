"""Many videos at once: Ray gives what one after another gives, in the same order; faults are named and runs go on."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.media import AudioBlock, Frame
from drivers.replay import Replay
from offline_tools.media_writer import write_mp4
from offline_tools.memorize_many import DONE, Outcome, main, memorize_one, serially, with_ray
from offline_tools.memorize_video import parts_for
from runtime import compose
from runtime.config import ClipSettings, Settings
from tests.recordings import SHARED_MEDIA, tone, write_recording

pytest.importorskip("ray", reason="needs the training extra: make setup-training")
pytestmark = [pytest.mark.training, pytest.mark.timeout(900)]  # Ray's own processes take their time to start

SETTINGS = Settings(clip=ClipSettings(length_s=5, carry_speech_s=2))
STREAM = SHARED_MEDIA / "streams/visitors_day1.mp4"


def cut(path: Path, start_s: float, end_s: float) -> str:
    """A piece of the visitors stream as a video of its own."""
    pictures: list[Any] = []
    sound: list[np.ndarray] = []
    for item in Replay(STREAM, frame_rate_hz=10).items(start_s):
        if item.time_s >= end_s:
            break
        if isinstance(item, Frame):
            pictures.append(item.image)
        elif isinstance(item, AudioBlock):
            sound.append(item.samples)
    write_mp4(path, iter(pictures), 10, np.concatenate(sound), 16000)
    return str(path)


def contents(directory: Path) -> dict[str, Any]:
    """All that is remembered, but for how alike vectors were: that differs in the last digits between machines."""
    store = compose.open_store(parts_for(SETTINGS, directory))
    try:
        nodes = store.nodes()
        return {
            "clips": [
                (clip.id, clip.source_key, clip.media_start_s, clip.start_utc_s) for clip in store.clips()
            ],
            "nodes": [(n.id, n.kind, n.text, n.weight, n.clip_id, n.start_utc_s, n.end_utc_s) for n in nodes],
            "edges": [(e.source, e.target, e.relation, e.detail) for n in nodes for e in store.edges(n.id)],
            "people": [(p.id, p.face_ids, p.voice_ids, p.appearances) for p in store.people()],
            "votes": sorted(store.votes().items()),
        }
    finally:
        store.close()


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    """One Ray with two workers for all tests."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("local_ray")
@pytest.mark.skipif(not STREAM.exists(), reason="the shared media folder is not here")
def test_ray_gives_what_one_after_another_gives(tmp_path: Path) -> None:
    videos = [cut(tmp_path / f"{start}.mp4", start, start + 8) for start in (0, 48)]
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video")
    mixed = [videos[0], str(broken), *videos[1:], str(tmp_path / "gone.mp4")]
    one_by_one = {one.video: one for one in serially(mixed, str(tmp_path / "serial"), SETTINGS)}
    at_once = {one.video: one for one in with_ray(mixed, str(tmp_path / "ray"), SETTINGS, workers=2)}
    assert sorted(at_once) == sorted(mixed)
    for video in videos:
        assert at_once[video].fault == "" and at_once[video].clips == one_by_one[video].clips == 2
        serial, ray = contents(Path(one_by_one[video].memory)), contents(Path(at_once[video].memory))
        assert serial == ray
        assert any("says" in text for _, _, text, *_ in ray["nodes"]) and len(ray["people"]) >= 2
        starts = [start_s for _, _, start_s, _ in ray["clips"]]
        assert starts == sorted(starts) == [0, 5]
    assert at_once[str(broken)].fault == one_by_one[str(broken)].fault != ""
    assert "No such file" in at_once[str(tmp_path / "gone.mp4")].fault


def _dies(video: str, out: str, settings: Settings) -> Outcome:
    if video == "bad":
        os._exit(9)
    return Outcome(video, out, 1, 1)


@pytest.mark.usefixtures("local_ray")
def test_a_worker_that_dies_costs_its_video_alone(tmp_path: Path) -> None:
    found = {o.video: o for o in with_ray(["a", "bad", "b"], str(tmp_path), SETTINGS, workers=2, work=_dies)}
    assert "its worker died" in found["bad"].fault
    assert found["a"].fault == found["b"].fault == "" and len(found) == 3


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Path]:
    """Twelve seconds in which nobody comes."""
    times = [number / 5 for number in range(60)]
    yield write_recording(tmp_path / "quiet.mp4", picture_times_s=times, sounds=[(0.0, tone(12))])


def test_what_is_done_is_not_done_again_and_what_was_begun_goes_on(quiet: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    first = memorize_one(str(quiet), out, SETTINGS)
    assert (first.fault, first.clips, first.new_clips) == ("", 2, 2)
    assert memorize_one(str(quiet), out, SETTINGS).new_clips == 0
    before = contents(Path(first.memory))
    (Path(first.memory) / DONE).unlink()  # as if killed before it could say that it was done
    again = memorize_one(str(quiet), out, SETTINGS)
    assert (again.clips, again.new_clips) == (2, 0) and contents(Path(first.memory)) == before


def test_the_command_names_what_failed(
    quiet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"")
    assert main([str(broken), str(quiet), str(quiet), "--out", str(tmp_path / "out")]) == 1
    told = capsys.readouterr()
    outcomes = [json.loads(line) for line in told.out.splitlines()]
    assert outcomes[-1] == {"videos": 2, "failed": 1} and len(outcomes) == 3
    assert f"memorize_many: {broken}: " in told.err
    assert main([str(quiet), "--out", str(tmp_path / "out"), "--workers", "-1"]) == 1
    assert "--workers must be above zero" in capsys.readouterr().err
