"""Camera and microphone as robot.yaml describes them, not yet opened."""

from drivers.camera import Camera
from drivers.microphone import Microphone
from runtime.config import Settings

BLOCK_S = 0.1  # short, because the end of a spoken question is heard no sooner than the block's


def camera_of(settings: Settings) -> Camera:
    """The configured camera."""
    camera = settings.camera
    return Camera(camera.device, width=camera.width_px, height=camera.height_px, rate_hz=camera.rate_hz)


def microphone_of(settings: Settings) -> Microphone:
    """The configured microphone."""
    return Microphone(settings.microphone.device, ring_s=settings.microphone.ring_s, block_s=BLOCK_S)
