"""A memory into which made-up clips of faces and voices are memorized whole, as the daemon does it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_store.store import MemoryStore
from runtime.clips import ClipEnd, ClipSpan
from runtime.clock_steps import ClockSteps
from runtime.facts import NEVER_THE_SAME, FactLearner
from runtime.hear import HeardSpeech, Hearing
from runtime.media_files import MediaFiles
from runtime.memorize import MemorizedClip, Memorizer
from runtime.see import FaceTrack, Sight
from runtime.tentative import TentativePeople
from tests.identified_clips import CLIP_S, START_UTC_S, Household
from tests.vectors import axis


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """The same text, the same vector; other texts are elsewhere."""
    return np.stack([axis(sum(map(ord, text)) % 8, 8) for text in texts])


class Home:
    """Clips of 30 s, one after another, each of them written into the memory."""

    def __init__(
        self,
        store: MemoryStore,
        directory: Path,
        clock_steps: ClockSteps | None = None,
        embed: Callable[[Sequence[str]], NDArray[np.float32]] = embed,
    ) -> None:
        self.store = store
        files = MediaFiles(directory)
        self.memorizer = Memorizer(
            store,
            Household(store).identifier,
            files,
            embed,
            place="home",
            boot_id="",
            describes=False,
            keeps_sound=False,
            tentative=TentativePeople(store, files, 7.0, 200),
            facts=FactLearner(store, embed, NEVER_THE_SAME),
            clock_steps=clock_steps,
        )

    def clip(
        self, number: int, tracks: Sequence[FaceTrack] = (), speech: Sequence[HeardSpeech] = ()
    ) -> MemorizedClip | None:
        """Memorize clip `number`; times of tracks and speech count from its start."""
        begin = CLIP_S * number
        span = ClipSpan(
            number, f"clip:{number}", "test", begin, begin + CLIP_S, START_UTC_S + begin, time_known=True
        )
        moved = [
            FaceTrack(begin + track.start_s, begin + track.end_s, track.views)
            for track in sorted(tracks, key=lambda track: track.start_s)
        ]
        said = [
            HeardSpeech(
                begin + one.start_s, begin + one.end_s, one.text, one.language, one.confidence, one.overlapped,
                one.vector, source=one.source,
            )
            for one in speech
        ]  # fmt: skip
        end = ClipEnd(span, had_video=True, had_audio=True, dropped_frames=0, last=False)
        return self.memorizer.memorize(end, Sight(tuple(moved)), Hearing(tuple(said)))


def says(
    text: str, vector: NDArray[np.float32] | None, start_s: float = 1.0, end_s: float = 4.0
) -> HeardSpeech:
    """A sentence of a voice."""
    language = "zh" if any("\u4e00" <= letter <= "\u9fff" for letter in text) else "en"
    return HeardSpeech(start_s, end_s, text, language, 0.9, False, vector)
