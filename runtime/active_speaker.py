"""Whose face a voice belongs to: the one whose mouth moves with the speech, or nobody's where that is open.

Which faces are in view is left to runtime/see.py; what a voice and a face met together mean, to runtime/identify.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.mouth import grey_crop
from models.rigid_motion import change_of_shape
from models.speech_noise import Loudness
from runtime.face_identity import SeenFace
from runtime.hear import HeardSpeech, SpeechSource
from runtime.see import FaceLook, FaceTrack

IN_VIEW = 0.6  # a face belongs to an utterance when it is in view for this share of it
PASSING = 0.2  # and it is not alone when another is in view for this share
# Grey levels between two frames at 5 fps, as measured on the visitors' recording and on faces that keep still.
STILL = 1.6  # a mouth that changes less than this on average did not speak
MOVES = 2.6  # one that changes more than this may have
SMALLEST_PX = 48  # a face less wide shows too little of its mouth to be called still
LEAST_LOOKS = 5
OFF_SCREEN_S = 1.5  # speech this long, beside a mouth that keeps still, is somebody else's
# Several mouths that may move: how far the better must follow the speech, and lead.
FOLLOWS = 0.4
LEADS = 0.4
FOLLOW_LOOKS = 10
MARGIN_S = 0.6  # the silence before and after counts too: a mouth that speaks rests there
LEAST_WATCHED = 0.4  # of an utterance there must be pictures for, where they end before the sound
FLAT = 0.06  # change of shape over contrast; less is a picture's
LEAST_VIEWS = 3
HELD_DRIFT = 0.01  # of the face's width; one that hangs trembles by 0.002 as it is found
LOUD_DB = 20.0  # below an utterance's loudest moment: what is quieter is a pause

Mouth = Literal["moves", "still", "unknown"]


@dataclass(frozen=True)
class MouthDuring:
    """What one face's mouth did while somebody spoke: `follows` is its correlation with the loudness."""

    mouth: Mouth
    follows: float | None


@dataclass(eq=False)
class _Company:
    """One owner of faces in view during an utterance: all tracks of the same known face, or one unknown track."""

    first: SeenFace
    share: float
    tracks: list[FaceTrack]

    def mouth(self, speech: HeardSpeech) -> MouthDuring:
        """What the mouth did during the speech; of a picture that is moved about nothing is known."""
        looks = [look for track in self.tracks for look in track.looks]
        found = mouth_during(looks, speech.start_s, speech.end_s, speech.loudness)
        return MouthDuring("unknown", None) if all(map(is_moved_picture, self.tracks)) else found


def track_alone(speech: HeardSpeech, faces: tuple[SeenFace, ...]) -> SeenFace | None:
    """The one face in view while somebody spoke, known or not; None when there were several or none.

    Of several tracks of the same known face the first is returned.
    """
    passing = _in_view(speech, faces)
    return passing[0].first if len(passing) == 1 and passing[0].share >= IN_VIEW else None


def speaking_face(speech: HeardSpeech, faces: tuple[SeenFace, ...]) -> SeenFace | None:
    """The face whose voice the speech is: the one alone in view, unless its mouth kept still through long speech;
    of several, the active speaker where that is sure; else None, as for what a screen may have said.
    """
    if speech.source != "room":
        return None
    passing = _in_view(speech, faces)
    mouths = [one.mouth(speech) for one in passing]
    if len(passing) == 1:
        listens = mouths[0].mouth == "still" and speech.duration_s >= OFF_SCREEN_S
        return None if listens or passing[0].share < IN_VIEW else passing[0].first
    speaker = active_speaker(mouths)
    return None if speaker is None or passing[speaker].share < IN_VIEW else passing[speaker].first


def watched(
    speech: tuple[HeardSpeech, ...], stretches: tuple[tuple[float, float], ...]
) -> tuple[HeardSpeech, ...]:
    """The utterances, each with how long of it there were pictures; 0 where that is too little to tell anything.

    A recording's pictures may end before its sound: whoever was in view until then is not thereby gone.
    """
    if not stretches:
        return speech
    lengths = [
        sum(max(0.0, min(end_s, one.end_s) - max(start_s, one.start_s)) for start_s, end_s in stretches)
        for one in speech
    ]
    return tuple(
        replace(one, watched_s=length_s if length_s >= LEAST_WATCHED * one.duration_s else 0.0)
        for one, length_s in zip(speech, lengths, strict=True)
    )


def is_moved_picture(track: FaceTrack) -> bool:
    """Whether a track shows a flat picture of a face that is held or pushed about: its mouth tells nothing.

    Nothing in it changes but where and how it is held: measured on photographs pushed to and fro (up to 0.04, behind a
    camera's noise 0.06) and on people who talk (0.10 and more, also in the dark), the greatest change between four
    views. One that also stays where it is hangs there, and does not speak (runtime/presence.py).
    """
    if len(track.views) < LEAST_VIEWS or not track.looks:
        return False
    middles = np.array([[look.x + look.width / 2, look.y + look.height / 2] for look in track.looks])
    width = float(np.median([look.width for look in track.looks]))
    if middles.std(axis=0).max() <= HELD_DRIFT * width:
        return False
    chosen = np.unique(np.linspace(0, len(track.views) - 1, 4).round().astype(int))
    crops = [grey_crop(track.views[int(index)].crop) for index in chosen]
    changes = (change_of_shape(one, other) for one, other in combinations(crops, 2))
    return all(change is not None and change <= FLAT for change in changes)


def speech_source(
    speech: HeardSpeech, faces: tuple[SeenFace, ...], screen: tuple[FaceTrack, ...]
) -> SpeechSource:
    """Whether somebody in the room spoke, or a face of a screen did; open where a screen's face may have."""
    shown = [track.looks for track in screen if track.overlaps(speech.start_s, speech.end_s) > 0]
    if not shown:
        return "room"
    looks = [[look for track in one.tracks for look in track.looks] for one in _in_view(speech, faces)]
    mouths = [
        mouth_during(list(seen), speech.start_s, speech.end_s, speech.loudness) for seen in (*looks, *shown)
    ]
    speaker = active_speaker(mouths)
    if speaker is None:
        return "open"
    if speaker < len(looks):
        return "room"
    follows = mouths[
        speaker
    ].follows  # beside somebody out of view, a mouth that merely moves says too little
    return "screen" if follows is not None and follows >= FOLLOWS else "open"


def _in_view(speech: HeardSpeech, faces: tuple[SeenFace, ...]) -> list[_Company]:
    company: dict[tuple[bool, int], _Company] = {}
    through_s = speech.duration_s if speech.watched_s is None else speech.watched_s
    for number, face in enumerate(faces):
        owner = (True, face.face_id) if face.face_id is not None else (False, number)
        one = company.setdefault(owner, _Company(face, 0.0, []))
        seen_s = face.track.overlaps(speech.start_s, speech.end_s)
        one.share += seen_s / through_s if through_s > 0 else 0.0
        one.tracks.append(face.track)
    return [one for one in company.values() if one.share > PASSING]


def mouth_during(looks: list[FaceLook], start_s: float, end_s: float, sound: Loudness | None) -> MouthDuring:
    """Whether a face's mouth moved during a span of speech, and how well it followed the sound."""
    known = sorted(
        (look.time_s, look.motion.mouth, look.width)
        for look in looks
        if look.motion is not None and start_s - MARGIN_S <= look.time_s <= end_s + MARGIN_S
    )
    if not known:
        return MouthDuring("unknown", None)
    times, motion, widths = np.array(known, dtype=np.float64).T
    within = (times > start_s) & (times <= end_s)
    level = None
    if sound is not None:
        step_s = float(np.median(np.diff(times))) if len(times) > 1 else 0.2
        level = np.array([sound.decibels(time_s - step_s, time_s) for time_s in times])
        if within.any():
            within &= level >= level[within].max() - LOUD_DB
    return MouthDuring(_mouth(motion[within], float(np.median(widths))), _follows(motion, level))


def _mouth(motion: NDArray[np.float64], width_px: float) -> Mouth:
    if len(motion) < LEAST_LOOKS:
        return "unknown"
    mean = float(motion.mean())
    if mean >= MOVES:
        return "moves"
    return "still" if mean <= STILL and width_px >= SMALLEST_PX else "unknown"


def _follows(motion: NDArray[np.float64], level: NDArray[np.float64] | None) -> float | None:
    if level is None or len(motion) < FOLLOW_LOOKS or motion.std() < 1e-6 or level.std() < 1e-6:
        return None
    floor = level.max() - 2 * LOUD_DB
    return float(np.corrcoef(motion, np.maximum(level, floor))[0, 1])


def active_speaker(mouths: list[MouthDuring]) -> int | None:
    """The index of the face that speaks, None where it is open.

    One mouth that moves among mouths that are still is sure. Where several may move, the one that moves must follow
    the loudness and lead the others; one of which nothing is known may always be the speaker's.
    """
    able = [number for number, mouth in enumerate(mouths) if mouth.mouth != "still"]
    if len(able) == 1:
        return able[0] if mouths[able[0]].mouth == "moves" else None
    scored = []
    for number in able:
        follows = mouths[number].follows
        if follows is None:
            return None
        scored.append((-follows, number))
    if not scored:
        return None
    (best, speaker), (second, _) = sorted(scored)[:2]
    sure = -best >= FOLLOWS and second - best >= LEADS
    return speaker if sure and mouths[speaker].mouth == "moves" else None
