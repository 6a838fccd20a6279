"""A memory with an identifier over it, and made-up clips of faces and voices that arrive one after another."""

from pathlib import Path

import numpy as np

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.face_quality import FaceQuality
from runtime.binding import Binder, VoteRule
from runtime.clips import ClipSpan
from runtime.config import IdentifySettings
from runtime.exemplars import LearnRule, Profiles
from runtime.face_identity import FaceIdentifier, FaceRule
from runtime.gallery import MatchRule
from runtime.hear import HeardSpeech, Hearing
from runtime.identify import Identified, Identifier
from runtime.presence import Presence
from runtime.screens import Screen
from runtime.see import FaceTrack, FaceView, Sight
from runtime.settling import Settler
from runtime.voice_identity import VoiceIdentifier, VoiceRule

SPACES = (VectorSpace("text", 8, "t"), VectorSpace("face", 128, "f"), VectorSpace("voice", 192, "v"))
START_UTC_S = 1e9
CLIP_S = 30.0
CAP = 4
RULE = MatchRule(match=0.5, unsure=0.4, margin=0.05)
VOICE_RULE = VoiceRule(RULE, sight_bonus=0.1, min_enroll_s=2.0, min_enroll_in_view_s=1.0)
SHARP = FaceQuality(sharpness=200.0, width_px=120.0, roll_deg=0.0, yaw=0.0)
PROFILE = FaceQuality(sharpness=200.0, width_px=120.0, roll_deg=0.0, yaw=-0.9)
BLURRED = FaceQuality(sharpness=20.0, width_px=120.0, roll_deg=0.0, yaw=0.0)
CROP = np.zeros((112, 112, 3), dtype=np.uint8)


class Household:
    """A memory, an identifier over it, and clips that arrive one after another."""

    def __init__(
        self,
        store: MemoryStore,
        *,
        step_s: float = CLIP_S,
        presence: Presence | None = None,
        voice_rule: VoiceRule | None = None,
    ) -> None:
        self.step_s = step_s
        self.start_utc_s = START_UTC_S
        self.store = store
        face_rule = FaceRule(RULE, 15, 50, 32, 56, 30, 0.7)
        learn = LearnRule(learn=0.56, margin=0.05, redundant=0.8, cap=CAP)
        self.identifier = Identifier(
            store,
            FaceIdentifier(store, face_rule, Profiles(store, "face", learn), model="test"),
            VoiceIdentifier(store, voice_rule or VOICE_RULE, Profiles(store, "voice", learn), model="test"),
            Settler(store, assist=0.3),
            Binder(store, VoteRule(least=1.0, margin=2.0, half_life_days=90.0)),
            IdentifySettings(),
            presence,
        )
        self.clips = 0

    def clip(
        self,
        tracks: list[FaceTrack],
        speech: list[HeardSpeech] | None = None,
        screens: tuple[Screen, ...] = (),
        *,
        time_known: bool = True,
        watched: tuple[tuple[float, float], ...] = (),
    ) -> Identified:
        start_utc_s = self.start_utc_s + self.step_s * self.clips
        span = ClipSpan(self.clips, f"k{self.clips}", "test", 0.0, CLIP_S, start_utc_s, time_known)
        self.clips += 1
        with self.store.transaction():
            clip_id = self.store.add_clip(
                source_key=span.key,
                source_name="test",
                start_utc_s=span.start_utc_s,
                end_utc_s=span.end_utc_s,
                time_known=time_known,
            )
            in_order = tuple(sorted(tracks, key=lambda track: track.start_s))
            sight = Sight(in_order, screens=screens, watched=watched)
            return self.identifier.identify(clip_id, span, sight, Hearing(tuple(speech or ())))


def track(
    vector: np.ndarray, start_s: float = 0.0, end_s: float = 3.0, quality: FaceQuality = SHARP
) -> FaceTrack:
    return FaceTrack(start_s, end_s, (FaceView(start_s, vector, quality, CROP),))


def says(
    vector: np.ndarray | None, start_s: float = 0.5, end_s: float = 2.5, overlapped: bool = False
) -> HeardSpeech:
    return HeardSpeech(start_s, end_s, "hello", "en", 0.9, overlapped, vector)


def open_store(directory: Path) -> MemoryStore:
    """A memory with small text vectors and real face and voice dimensions."""
    return MemoryStore.open(directory, SPACES)
