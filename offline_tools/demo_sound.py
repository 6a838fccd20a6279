"""The sound of the demo scene: one synthesis voice bent into several, laid on a timeline over a quiet room."""

from collections.abc import Sequence
from typing import Protocol

import av
import av.filter
import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]

SAMPLE_RATE_HZ = 16000


class Synthesizer(Protocol):
    """What speaks: text in, mono samples and their rate out (models/synthesis.py)."""

    def synthesize(self, text: str) -> tuple[Samples, int]: ...


def speak(voice: Synthesizer, text: str, *, pitch: float, tempo: float) -> Samples:
    """Return `text` spoken at 16 kHz, its frequencies times `pitch`, its speed times `tempo`, peak 0.5."""
    samples, rate_hz = voice.synthesize(text)
    bent = bend(np.asarray(samples, np.float32), rate_hz, pitch=pitch, tempo=tempo)
    peak = float(np.abs(bent).max(initial=0.0))
    return np.asarray(bent * (0.5 / peak), np.float32) if peak > 0.0 else bent


def bend(samples: Samples, rate_hz: int, *, pitch: float, tempo: float) -> Samples:
    """Return the samples at 16 kHz with pitch and speed changed, through FFmpeg's asetrate and atempo."""
    graph = av.filter.Graph()
    source = graph.add_abuffer(sample_rate=rate_hz, format="fltp", layout="mono", time_base=None)
    filters = [
        graph.add("asetrate", str(round(rate_hz * pitch))),
        graph.add("atempo", f"{tempo / pitch:.6f}"),
        graph.add("aresample", str(SAMPLE_RATE_HZ)),
        graph.add("aformat", f"sample_fmts=fltp:channel_layouts=mono:sample_rates={SAMPLE_RATE_HZ}"),
        graph.add("abuffersink"),
    ]
    graph.link_nodes(source, *filters).configure()
    frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="fltp", layout="mono")
    frame.sample_rate = rate_hz
    graph.push(frame)
    graph.push(None)
    pieces = [np.zeros(0, np.float32)]
    while True:
        try:
            pieces.append(np.asarray(graph.pull().to_ndarray(), np.float32).reshape(-1))
        except (av.error.EOFError, av.error.BlockingIOError):
            return np.concatenate(pieces)


def soundtrack(spoken: Sequence[tuple[float, Samples]], duration_s: float) -> Samples:
    """Return the pieces laid at their times over faint room noise, the same on every run."""
    noise = np.random.default_rng(11).normal(0.0, 0.0012, round(duration_s * SAMPLE_RATE_HZ))
    track = noise.astype(np.float32)
    for start_s, samples in spoken:
        start = round(start_s * SAMPLE_RATE_HZ)
        piece = samples[: max(0, track.size - start)]
        track[start : start + piece.size] += piece
    return np.clip(track, -1.0, 1.0)
