"""A child program: reads text on standard input, writes the rate in Hz on a line, then 16-bit little-endian samples.

It loads the espeak-ng shared library (GPL) that the espeakng-loader package carries. It is only ever run as a
process of its own (`python espeak_speak.py VOICE`), so that nothing else here is linked with that library.
"""

import ctypes
import sys

import espeakng_loader

_SYNCHRONOUS = 2
_NO_EXIT = 0x8000
_CHARACTER_POSITION = 1
_UTF8 = 1
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


def spoken(text: str, voice: str) -> tuple[bytes, int]:
    """Raises OSError where the library or its data cannot be used, ValueError for an unknown voice."""
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    data_path = espeakng_loader.get_data_path().encode()
    rate_hz = library.espeak_Initialize(_SYNCHRONOUS, 0, data_path, _NO_EXIT)
    if rate_hz < 0:
        raise OSError(f"espeak-ng cannot read its data in {data_path.decode()}")
    if library.espeak_SetVoiceByName(voice.encode()) != 0:
        raise ValueError(f"espeak-ng has no voice {voice!r}")
    sound = bytearray()

    def take(samples: "ctypes._Pointer[ctypes.c_short]", count: int, _events: object) -> int:
        if samples and count > 0:
            sound.extend(ctypes.string_at(samples, 2 * count))
        return 0

    callback = _Callback(take)  # must outlive the synthesis
    library.espeak_SetSynthCallback(callback)
    data = text.encode() + b"\0"
    size = ctypes.c_size_t(len(data))
    library.espeak_Synth(data, size, 0, _CHARACTER_POSITION, 0, _UTF8, None, None)
    library.espeak_Synchronize()
    return bytes(sound), int(rate_hz)


def main() -> int:
    text = sys.stdin.buffer.read().decode().replace("\0", " ")
    try:
        sound, rate_hz = spoken(text, sys.argv[1])
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(f"{rate_hz}\n".encode() + sound)
    return 0


if __name__ == "__main__":
    sys.exit(main())
