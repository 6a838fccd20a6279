"""The robot's voice: says a text sentence by sentence, the next one synthesized while one is played."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from runtime.workers import Worker

_SENTENCE = re.compile(r".+?(?:[.!?]+[\"”’')]*(?=\s|$)|[。！？]+[”’」]*|$)", re.DOTALL)
_FIRST_CLAUSE = re.compile(r"(?P<first>.{12,}?[,;:](?=\s)|.{6,}?[，；：])\s*(?P<rest>.{12,})", re.DOTALL)
Sound = tuple[NDArray[np.float32], int]


Synthesize = Callable[[str], Sound]
"""Text to samples, float32 (n,) in [-1, 1], and their rate in Hz. Raises ModelError."""


class Loudspeaker(Protocol):
    """What plays. `play` returns when the sound is over or was stopped; `stop` may come from another thread."""

    def play(self, samples: NDArray[np.float32], sample_rate_hz: int) -> None:
        """Raises DriverError."""
        ...

    def stop(self) -> None:
        """Fall silent."""
        ...


@dataclass(frozen=True)
class Said:
    """How far a text was spoken, in pieces of a sentence at most.

    first_sound_s: the clock when its first sound began; None where there was none.
    """

    sentences: int
    of: int
    first_sound_s: float | None


class Voice:
    """Speaks one text at a time. synthesizers: by language, ISO 639-1; the first one takes what has none of its own."""

    def __init__(
        self,
        synthesizers: Mapping[str, Synthesize],
        loudspeaker: Loudspeaker,
        *,
        synthesis: Worker,
        playing: Worker,
        clock: Callable[[], float],
    ) -> None:
        self._synthesizers = dict(synthesizers)
        self._loudspeaker = loudspeaker
        self._synthesis = synthesis
        self._playing = playing
        self._clock = clock
        self._stopped = False
        self.speaking = False

    async def say(self, text: str, language: str) -> Said:
        """Speak to the end, or until `stop`. Raises ModelError, DriverError."""
        sentences = spoken_pieces(text)
        self.speaking, self._stopped = True, False
        spoken, first_s = 0, None
        try:
            following = await self._made(sentences[0], language) if sentences else None
            while following is not None and not self._stopped:
                first_s = self._clock() if first_s is None else first_s
                next_text = sentences[spoken + 1] if spoken + 1 < len(sentences) else None
                _, following = await asyncio.gather(
                    self._playing.call(self._loudspeaker.play, *following), self._made(next_text, language)
                )
                spoken += not self._stopped
        finally:
            self.speaking = False
        return Said(spoken, len(sentences), first_s)

    def stop(self) -> None:
        """Fall silent in the middle of a word; nothing where nothing is said."""
        if self.speaking:
            self._stopped = True
            self._loudspeaker.stop()

    async def _made(self, sentence: str | None, language: str) -> Sound | None:
        if sentence is None:
            return None
        return await self._synthesis.call(voice_for(language, self._synthesizers), sentence)


def voice_for(language: str, synthesizers: Mapping[str, Synthesize]) -> Synthesize:
    """The voice of a language, ISO 639-1; the first one where it has none."""
    return synthesizers.get(language) or next(iter(synthesizers.values()))


def spoken_pieces(text: str) -> list[str]:
    """The sentences of a text, the first one cut after its first clause, so that it sounds sooner.

    The clause must last until what follows is synthesized, and so must not be too short.
    """
    sentences = split_sentences(text)
    if not sentences:
        return []
    clause = _FIRST_CLAUSE.match(sentences[0])
    if clause is None or not any(character.isalnum() for character in clause["rest"]):
        return sentences
    return [clause["first"], clause["rest"], *sentences[1:]]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text that hold a letter or digit."""
    parts = [match.group().strip() for match in _SENTENCE.finditer(text)]
    return [part for part in parts if any(character.isalnum() for character in part)]
