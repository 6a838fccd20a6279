"""Wake words in streaming sound: openWakeWord's trained heads, through the optional pyopen-wakeword package.

The package's code is Apache-2.0; the heads were trained on recordings whose licences may forbid commercial use, so that
nothing here depends on them: `pip install 'hearsight[wake]'`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError

PHRASES = ("alexa", "hey_jarvis", "hey_mycroft", "hey_rhasspy", "okay_nabu")
THRESHOLD = 0.5  # openWakeWord's own
REFRACTORY = 25  # scores (2 s) for which one utterance of the phrase goes on sounding like it


class WakeWordDetector:
    """Listens for one phrase. Used from one thread."""

    def __init__(self, phrase: str) -> None:
        """Raises ModelError where the package is missing or knows no such phrase."""
        library = _library()
        if phrase not in PHRASES:
            raise ModelError(f"there is no wake word {phrase!r}: choose one of {', '.join(PHRASES)}")
        self._phrase = phrase
        self._features = library.OpenWakeWordFeatures.from_builtin()
        self._head = library.OpenWakeWord.from_builtin(library.Model(phrase))
        self._deaf = 0
        self.hear(np.zeros(1280, dtype=np.float32))  # its first call works through eight seconds of silence

    def hear(self, samples: NDArray[np.float32]) -> str | None:
        """Take the next sound (n,), 16 kHz, at most a second; the phrase where it has just been said."""
        if not samples.size:
            return None
        pcm = (np.clip(samples, -1.0, 1.0) * 32767).astype("<i2").tobytes()
        said = False
        for features in self._features.process_streaming(pcm):
            for score in self._head.process_streaming(features):
                self._deaf = max(0, self._deaf - 1)
                if score >= THRESHOLD and not self._deaf:
                    said, self._deaf = True, REFRACTORY
        return self._phrase if said else None


def _library() -> Any:
    try:
        import pyopen_wakeword
    except (ImportError, OSError) as error:
        raise ModelError(
            f"wake words need the package pyopen-wakeword ({error}): run `pip install 'hearsight[wake]'`, name a "
            "Wyoming service as voice.wake, or take wake out of voice.addressed_by"
        ) from error
    return pyopen_wakeword
