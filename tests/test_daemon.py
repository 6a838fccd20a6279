"""The whole daemon on live devices: a scripted camera and microphone that show and play the demo scene."""

import asyncio
import itertools
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.camera import Camera
from drivers.live import LiveSource
from drivers.media import AudioBlock, Frame
from drivers.microphone import Microphone
from drivers.replay import Replay
from memory_store.store import MemoryStore
from models.manifest import Manifest
from runtime import compose
from runtime.capture import Pace
from runtime.clips import Live
from runtime.clock import SystemClock
from runtime.config import ClipSettings, ModelSettings, Settings
from runtime.config_talking import ApiSettings
from runtime.daemon import Daemon, Listeners, Report
from runtime.memorize import MemorizedClip
from tests.fake_devices import FakePortAudio
from tests.pictures import demo_scene

SECONDS = 13.5
CLIP_S = 7.0  # one of the two sentences lies whole in a clip
BLOCK_S = 0.1


class Scene:
    """The first seconds of the demo scene, played in real time from the first look on."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        blocks: list[NDArray[np.float32]] = []
        for item in Replay(demo_scene(), frame_rate_hz=10.0).items():
            if item.time_s > SECONDS + 1:
                break
            if isinstance(item, AudioBlock):
                blocks.append(item.samples)
            else:
                self.frames.append(item)
        self.sound = np.concatenate(blocks)
        self._began_s: float | None = None

    def now_s(self) -> float:
        if self._began_s is None:
            self._began_s = time.monotonic()
        return time.monotonic() - self._began_s

    def picture(self) -> NDArray[np.uint8]:
        return self.frames[min(int(self.now_s() * 10), len(self.frames) - 1)].image


class SceneCapture:
    """Looks like cv2.VideoCapture. `unplugged` makes every read fail."""

    def __init__(self, scene: Scene, unplugged: threading.Event) -> None:
        self._scene = scene
        self._unplugged = unplugged

    def isOpened(self) -> bool:
        return not self._unplugged.is_set()

    def set(self, _property: int, _value: float) -> bool:
        return True

    def read(self) -> tuple[bool, NDArray[np.uint8] | None]:
        time.sleep(0.05)
        return (False, None) if self._unplugged.is_set() else (True, self._scene.picture().copy())

    def release(self) -> None:
        return


class House:
    """A daemon on a scripted house; `run` starts its timers when the microphone is open."""

    def __init__(self, directory: Path) -> None:
        self.scene = Scene()
        self.unplugged = threading.Event()
        self.backend = FakePortAudio()
        self.clips: list[MemorizedClip] = []
        settings = Settings(
            data_dir=directory,
            clip=ClipSettings(length_s=CLIP_S),
            models=ModelSettings(language="none"),
            api=ApiSettings(port=0),
        )
        self.parts = compose.Parts(settings, Manifest.load())
        camera = Camera(
            0, width=640, height=360, rate_hz=10, retry_s=(0.2,),
            open_capture=lambda device: SceneCapture(self.scene, self.unplugged),
        )  # fmt: skip
        microphone = Microphone(None, block_s=BLOCK_S, backend=self.backend)
        self.source = Live(LiveSource(camera, microphone, 5.0), "test-boot", SystemClock())
        self._done = threading.Event()

    def run(self, *timers: threading.Timer) -> Report:
        all_timers = (threading.Timer(SECONDS, self.source.stop), *timers)
        speaker = threading.Thread(target=self._speak, args=(all_timers,))
        speaker.start()
        daemon = Daemon(
            self.parts, self.source, Pace(None), SystemClock(), Listeners(on_clip=self.clips.append)
        )
        try:
            return asyncio.run(asyncio.wait_for(daemon.run(), 100))
        finally:
            self._done.set()
            speaker.join(timeout=5)

    def _speak(self, timers: Iterable[threading.Timer]) -> None:
        while not any(stream.state == "started" for stream in self.backend.streams):
            if self._done.wait(0.02):
                return
        for timer in timers:
            timer.start()
        size, began_s = round(16000 * BLOCK_S), time.monotonic()
        self.scene.now_s()
        for number in range(len(self.scene.sound) // size):
            if self._done.wait(max(0.0, began_s + (number + 1) * BLOCK_S - time.monotonic())):
                return
            for stream in self.backend.streams:
                if stream.state == "started":
                    stream.hear(self.scene.sound[number * size : (number + 1) * size])

    def lines(self) -> list[str]:
        return [text for clip in self.clips for _, _, text in clip.lines]

    def memory(self) -> MemoryStore:
        return compose.open_store(self.parts)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_live_it_sees_hears_and_remembers(house: House) -> None:
    began_utc_s = time.time()
    report = house.run()
    assert report.clips >= 2 and report.dropped["sound"] == 0
    lines = house.lines()
    assert any("is in view" in line for line in lines)
    assert any("keys" in line and "person_" in line for line in lines), lines
    with house.memory() as store:
        clips = store.clips()
        assert all(clip.time_known and clip.boot_id for clip in clips)
        assert began_utc_s - 5 < clips[0].start_utc_s < time.time()
        for before, after in itertools.pairwise(clips):
            assert after.start_utc_s == pytest.approx(before.start_utc_s + CLIP_S, abs=0.5)
        (person,) = [person for person in store.people() if person.face_ids]
        assert person.voice_ids


def test_with_the_camera_pulled_out_it_goes_on_listening(house: House) -> None:
    report = house.run(threading.Timer(1.0, house.unplugged.set))
    assert report.clips >= 2
    assert any("keys" in line for line in house.lines()), house.lines()
    with house.memory() as store:
        assert not store.clips()[-1].has_video and store.clips()[-1].has_audio
