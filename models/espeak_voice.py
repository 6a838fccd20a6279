"""Speech from text by espeak-ng, for languages that no trained voice here speaks; plain, but it can be understood.

Always in a process of its own, as in models/phonemes.py: its licence (GPL) stays outside.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError

_CHILD = Path(__file__).with_name("espeak_speak.py")
_TIMEOUT_S = 20.0
_VOICES = {"zh": "cmn", "en": "en-us"}


class EspeakVoice:
    """One language of the copy of espeak-ng that the espeakng-loader package carries; ISO 639-1."""

    def __init__(self, language: str) -> None:
        self._voice = _VOICES.get(language, language)

    def synthesize(self, text: str) -> tuple[NDArray[np.float32], int]:
        """Samples, float32 (n,) in [-1, 1], and their rate in Hz. Raises ModelError where nothing can be spoken."""
        command = [sys.executable, "-P", str(_CHILD), self._voice]
        try:
            done = subprocess.run(
                command, input=text.encode(), capture_output=True, timeout=_TIMEOUT_S, check=True
            )
        except subprocess.CalledProcessError as error:
            raise ModelError(f"espeak-ng failed: {error.stderr.decode(errors='replace').strip()}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ModelError(f"espeak-ng could not be run: {error}") from error
        rate_hz, _, sound = done.stdout.partition(b"\n")
        samples = np.frombuffer(sound[: len(sound) // 2 * 2], dtype="<i2").astype(np.float32) / 32768.0
        if not samples.size:
            raise ModelError(f"nothing in {text[:40]!r} can be spoken by espeak-ng's voice {self._voice}")
        return samples, int(rate_hz)
