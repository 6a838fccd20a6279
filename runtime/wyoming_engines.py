"""Speech engines elsewhere, reached over the Wyoming protocol: a recogniser and a voice. Called from worker threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from wyoming.asr import Transcribe
from wyoming.event import Event
from wyoming.info import Describe
from wyoming.tts import Synthesize, SynthesizeVoice

from models.speech import Transcript
from runtime.grounding import language_of
from runtime.hear import SAMPLE_RATE_HZ
from runtime.voice import Sound
from runtime.wyoming_sound import SoundCollector, sound_chunks, sound_start, sound_stop
from runtime.wyoming_wire import BadMessage, PeerConnection

CONNECT_S = 3.0
ANSWER_S = 20.0
_LONGEST_SOUND_S = 120.0


class EngineFault(BadMessage):
    """A speech engine said that it cannot do what it was asked."""


class WyomingRecognizer:
    """Recognises speech elsewhere."""

    def __init__(self, host: str, port: int, *, answer_s: float = ANSWER_S) -> None:
        self._host = host
        self._port = port
        self._answer_s = answer_s

    def transcribe(self, samples: NDArray[np.float32]) -> Transcript:
        """What is said in `samples` (n,), 16 kHz; confidence 1 where anything is, since the protocol tells none.

        Raises PeerGone, BadMessage.
        """
        with PeerConnection(self._host, self._port, connect_s=CONNECT_S, deadline_s=self._answer_s) as peer:
            peer.send(Transcribe().event())
            peer.send(sound_start(SAMPLE_RATE_HZ))
            for chunk in sound_chunks(samples, SAMPLE_RATE_HZ):
                peer.send(chunk)
            peer.send(sound_stop())
            for event in _until(peer, "transcript"):
                data = event.data
        text, language = data.get("text"), data.get("language")
        if not isinstance(text, str):
            raise BadMessage(f"a transcript without a text: {data!r:.80}")
        return Transcript(
            0.0,
            samples.size / SAMPLE_RATE_HZ,
            text.strip(),
            language[:2] if isinstance(language, str) and language else language_of(text),
            1.0 if text.strip() else 0.0,
        )


class WyomingVoice:
    """Speaks one language (ISO 639-1) elsewhere."""

    def __init__(self, host: str, port: int, language: str, *, answer_s: float = ANSWER_S) -> None:
        self._host = host
        self._port = port
        self._voice = SynthesizeVoice(language=language)
        self._answer_s = answer_s

    def synthesize(self, text: str) -> Sound:
        """Samples, float32 (n,) in [-1, 1], and their rate in Hz. Raises PeerGone, BadMessage."""
        sound = SoundCollector(_LONGEST_SOUND_S)
        with PeerConnection(self._host, self._port, connect_s=CONNECT_S, deadline_s=self._answer_s) as peer:
            peer.send(Synthesize(text=text, voice=self._voice).event())
            for event in _until(peer, "audio-stop"):
                if event.type == "audio-chunk":
                    sound.add(event)
        samples = sound.whole()
        if not samples.size:
            raise EngineFault(f"the voice at {self._host}:{self._port} gave no sound for {text[:40]!r}")
        return samples, sound.rate_hz


def describe_peer(host: str, port: int) -> list[str]:
    """What a peer offers: "asr: …", "tts: …". Raises PeerGone, BadMessage."""
    with PeerConnection(host, port, connect_s=CONNECT_S, deadline_s=CONNECT_S) as peer:
        peer.send(Describe().event())
        for event in _until(peer, "info"):
            data = event.data
    offers = {kind: data.get(kind) for kind in ("asr", "tts", "wake", "handle")}
    return [
        f"{kind}: {program.get('name')!s:.60}"
        for kind, programs in offers.items()
        if isinstance(programs, list)
        for program in programs
        if isinstance(program, dict)
    ]


def _until(peer: PeerConnection, last: str) -> Iterator[Event]:
    """The events up to the one of type `last`. Raises EngineFault where the peer tells of an error."""
    while (event := peer.receive()).type != last:
        if event.type == "error":
            raise EngineFault(f"the speech engine refused: {event.data.get('text')!s:.200}")
        yield event
    yield event
