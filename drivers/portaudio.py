"""PortAudio through sounddevice, loaded when a device is opened, since the Linux wheel carries no library."""

from typing import Any

from drivers.media import DriverError


def load_portaudio() -> Any:
    """Return the sounddevice module. Raises DriverError naming what to install."""
    try:
        import sounddevice
    except OSError as error:
        raise DriverError(
            "PortAudio is missing: install libportaudio2 (Debian, Ubuntu, Jetson: sudo apt install libportaudio2)"
        ) from error
    except ImportError as error:
        raise DriverError("the Python package sounddevice is missing: install it with pip") from error
    return sounddevice


def known_devices(backend: Any, kind: str) -> str:
    """Return the names of the devices that have `kind` ("input" or "output") channels, for a message."""
    try:
        devices = [device for device in backend.query_devices() if device[f"max_{kind}_channels"] > 0]
    except (backend.PortAudioError, OSError):
        return "none"
    return ", ".join(f"{device['index']}: {device['name']}" for device in devices) or "none"
