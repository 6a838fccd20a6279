"""Whose voice it is: CAM++ (Wang et al. 2023), 192 numbers for a stretch of speech of one person.

When somebody speaks is in models/voice_activity.py, who speaks when in models/speaker_turns.py, what they make
together in models/utterances.py; which person a voice belongs to is left to the runtime.
"""

from pathlib import Path
from typing import Any

import kaldi_native_fbank
import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.sessions import normalised, open_session
from models.speaker_turns import SpeakerTurns, Turn
from models.utterances import Utterance, utterances
from models.voice_activity import Span, VoiceActivity
from models.waveform import SAMPLE_RATE_HZ, Samples, check_samples

__all__ = [
    "EMBEDDING_SIZE",
    "Span",
    "SpeakerTurns",
    "Turn",
    "Utterance",
    "VoiceActivity",
    "VoiceEmbedder",
    "utterances",
]

MODEL_FILE = "campplus_cn_en_common.onnx"
EMBEDDING_SIZE = 192
_MEL_BANDS = 80


class VoiceEmbedder:
    """CAM++ zh+en. Speech shorter than `min_duration_s` says too little about a voice and is refused."""

    def __init__(self, directory: Path, *, min_duration_s: float = 0.5, threads: int = 1) -> None:
        self._session = open_session(directory / MODEL_FILE, threads=threads)
        self.provider = self._session.provider
        self._min_duration_s = min_duration_s

    def embed(self, samples: NDArray[Any]) -> NDArray[np.float32]:
        """float32 (192,), length 1. samples: (n,), 16 kHz, [-1, 1], speech of one person.

        Raises ModelError for speech that is too short, silent throughout, or not finite.
        """
        checked = check_samples(samples)
        duration_s = checked.size / SAMPLE_RATE_HZ
        if duration_s < self._min_duration_s:
            raise ModelError(
                f"{duration_s:.2f} s of speech is too short for a voice; give at least {self._min_duration_s} s"
            )
        if not np.any(checked):
            raise ModelError(
                f"{duration_s:.2f} s of silence hold no voice; give a stretch where somebody speaks"
            )
        features = filterbank(checked)
        outputs = self._session.run({"features": features[np.newaxis]})
        vectors: NDArray[np.float32] = normalised(outputs["embedding"], "CAM++")
        vector: NDArray[np.float32] = vectors[0]
        return vector


def filterbank(samples: Samples) -> NDArray[np.float32]:
    """Kaldi's log mel filterbank less its mean over time, (frames, 80): 25 ms windows every 10 ms, povey window."""
    options = kaldi_native_fbank.FbankOptions()
    options.frame_opts.samp_freq = SAMPLE_RATE_HZ
    options.frame_opts.dither = 0.0
    options.frame_opts.snip_edges = True
    options.frame_opts.window_type = "povey"
    options.mel_opts.num_bins = _MEL_BANDS
    options.use_energy = False
    computer = kaldi_native_fbank.OnlineFbank(options)
    computer.accept_waveform(SAMPLE_RATE_HZ, samples)
    computer.input_finished()
    frames = [computer.get_frame(number) for number in range(computer.num_frames_ready)]
    spectrum = np.asarray(frames, dtype=np.float32)
    less_mean: NDArray[np.float32] = spectrum - spectrum.mean(axis=0)
    return less_mean
