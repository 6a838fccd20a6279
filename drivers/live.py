"""Camera and microphone as one stream in order of time; either may be missing, vanish and come back."""

import heapq
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from drivers.camera import Camera
from drivers.media import AudioBlock, DriverError, Frame, StaleFrame
from drivers.microphone import Microphone

_WAIT_S = 0.05


class LiveSource:
    """Frames at `frame_rate_hz` and audio blocks on one clock that starts at 0 when `items` is first pulled.

    Each item is held for `hold_s` so that sound, which arrives a block late, finds its place; what
    comes later than that is dropped and counted in `late_items`.
    """

    def __init__(
        self,
        camera: Camera | None,
        microphone: Microphone | None,
        frame_rate_hz: float = 5.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        hold_s: float = 1.0,
        retry_s: Sequence[float] = (1.0, 2.0, 5.0, 10.0, 30.0),
    ) -> None:
        if camera is None and microphone is None:
            raise DriverError("neither a camera nor a microphone is set; name at least one device")
        self._camera = camera
        self._microphone = microphone
        self._period_s = 1.0 / frame_rate_hz
        self._clock = clock
        self._hold_s = hold_s
        self._doors = {
            name: _Door(device, retry_s)
            for name, device in (("camera", camera), ("microphone", microphone))
            if device is not None
        }
        self.late_items = 0
        self._origin_s: float | None = None
        self._overhear: Callable[[AudioBlock], None] | None = None
        self._oversee: Callable[[Frame], None] | None = None

    def overhear(self, take: Callable[[AudioBlock], None]) -> None:
        """Have each block given to `take` as soon as it is heard, `hold_s` before `items` gives it."""
        self._overhear = take

    def oversee(self, take: Callable[[Frame], None]) -> None:
        """Have each frame given to `take` as soon as it is seen."""
        self._oversee = take

    def media_s(self) -> float:
        """The time that a block or frame of this moment has; 0 before `items` is pulled."""
        return 0.0 if self._origin_s is None else self._clock() - self._origin_s

    def items(self, stop: threading.Event) -> Iterator[Frame | AudioBlock]:
        """Yield frames and blocks in order of time until `stop` is set; then close both devices."""
        origin_s = self._origin_s = self._clock()
        held: list[tuple[float, int, Frame | AudioBlock]] = []
        number, emitted_s, last_picture_s, next_frame_s = 0, 0.0, -1.0, 0.0
        try:
            while not stop.is_set():
                for door in self._doors.values():
                    door.keep_open(self._clock())
                for block in self._heard():
                    number += 1
                    sound = AudioBlock(max(0.0, block.time_s - origin_s), block.samples)
                    if self._overhear is not None:
                        self._overhear(sound)
                    heapq.heappush(held, (sound.time_s, number, sound))
                now_s = self._clock() - origin_s
                if now_s >= next_frame_s:
                    next_frame_s = max(next_frame_s + self._period_s, now_s)
                    picture = self._seen()
                    if picture is not None and picture.time_s > last_picture_s:
                        number, last_picture_s = number + 1, picture.time_s
                        frame = Frame(max(0.0, picture.time_s - origin_s), picture.image)
                        if self._oversee is not None:
                            self._oversee(frame)
                        heapq.heappush(held, (frame.time_s, number, frame))
                while held and held[0][0] <= now_s - self._hold_s:
                    item = heapq.heappop(held)[2]
                    if item.time_s < emitted_s:
                        self.late_items += 1
                        continue
                    emitted_s = item.time_s
                    yield item
                stop.wait(min(_WAIT_S, self._period_s / 2))
            while held:
                yield heapq.heappop(held)[2]
        finally:
            for door in self._doors.values():
                door.close()

    def state(self) -> dict[str, str]:
        """Return "ok", "lost" or "frozen" for each device, or why it could not be opened."""
        return {name: door.state() for name, door in self._doors.items()}

    def _heard(self) -> Iterator[AudioBlock]:
        while self._microphone is not None and (block := self._microphone.read(0.0)) is not None:
            yield block

    def _seen(self) -> Frame | None:
        if self._camera is None or not self._doors["camera"].is_open:
            return None
        try:
            return self._camera.latest(max_age_s=2.0 * self._period_s)
        except StaleFrame:
            return None


class _Door:
    """Opens one device, and again with growing pauses while it fails or is lost."""

    def __init__(self, device: Camera | Microphone, retry_s: Sequence[float]) -> None:
        self._device = device
        self._retry_s = tuple(retry_s)
        self._attempt = 0
        self._next_s: float | None = None
        self._fault = ""
        self.is_open = False

    def keep_open(self, now_s: float) -> None:
        if self.is_open and self._device.state == "ok":
            self._attempt = 0
        lost = self.is_open and self._device.state == "lost" and isinstance(self._device, Microphone)
        if (self.is_open and not lost) or (self._next_s is not None and now_s < self._next_s):
            return  # an open camera opens itself again
        self._next_s = now_s + self._retry_s[min(self._attempt, len(self._retry_s) - 1)]
        self._attempt += 1
        try:
            self._device.close()
            self._device.open()
        except DriverError as error:
            self.is_open, self._fault = False, str(error)
            return
        self.is_open, self._fault = True, ""

    def state(self) -> str:
        return self._fault or self._device.state

    def close(self) -> None:
        self.is_open = False
        try:
            self._device.close()
        except DriverError as error:
            self._fault = str(error)
