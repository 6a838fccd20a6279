"""A child program: reads lines of text on standard input, writes each line's phonemes (IPA) on a line of its own.

It loads the espeak-ng shared library (GPL) that the espeakng-loader package carries. It is only ever run as a
process of its own (`python phonemize.py VOICE`), so that nothing else here is linked with that library.
"""

import ctypes
import sys

import espeakng_loader

_AUDIO_RETRIEVAL = 1
_NO_EXIT = 0x8000
_UTF8 = 1
_IPA = 2


def phonemes_of(lines: list[str], voice: str) -> list[str]:
    """Raises OSError where the library or its data cannot be used, ValueError for an unknown voice."""
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    library.espeak_TextToPhonemes.restype = ctypes.c_char_p
    data_path = espeakng_loader.get_data_path().encode()
    if library.espeak_Initialize(_AUDIO_RETRIEVAL, 0, data_path, _NO_EXIT) < 0:
        raise OSError(f"espeak-ng cannot read its data in {data_path.decode()}")
    if library.espeak_SetVoiceByName(voice.encode()) != 0:
        raise ValueError(f"espeak-ng has no voice {voice!r}")
    return [_line(library, line) for line in lines]


def _line(library: ctypes.CDLL, line: str) -> str:
    left = ctypes.c_char_p(line.encode())  # moved on by the library, NULL at the end
    clauses: list[str] = []
    while left.value:
        phonemes: bytes | None = library.espeak_TextToPhonemes(ctypes.byref(left), _UTF8, _IPA)
        clauses.append((phonemes or b"").decode())
    return " ".join(clauses)


def main() -> int:
    lines = sys.stdin.buffer.read().decode().splitlines()
    try:
        written = phonemes_of(lines, sys.argv[1])
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    sys.stdout.buffer.write("".join(f"{line}\n" for line in written).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
