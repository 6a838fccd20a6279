"""Silences all speech that is not surely of somebody who may be heard, and listens again whether that worked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_store.tags import Tag
from models.voices import VoiceActivity
from offline_tools.recordings.video import SAMPLE_RATE_HZ, Samples
from offline_tools.remembered import Stretch

MARGIN_S = 0.4  # a word begins before it is heard as speech and fades after
_ROUNDS = 3


@dataclass(frozen=True)
class Silenced:
    """Sound without the voices that may not be heard. silenced_s, kept_s: seconds of speech; left_s: still found."""

    samples: Samples
    silenced_s: float
    kept_s: float
    left_s: float


def silence(
    samples: Samples, heard: Iterable[Stretch], refused: frozenset[Tag], activity: VoiceActivity
) -> Silenced:
    """Zero whatever is speech and not of a voice that may be heard; where two speak at once, both go.

    heard: all utterances, in seconds of `samples`. An utterance without a voice tag may not be heard.
    """
    allowed, forbidden, around = (np.zeros(samples.size, bool) for _ in range(3))
    for one in heard:
        if one.tag is not None and one.tag.kind == "voice" and one.tag not in refused:
            _mark(allowed, one.start_s, one.end_s, 0.0)
        else:
            _mark(forbidden, one.start_s, one.end_s, 0.0)
            _mark(around, one.start_s, one.end_s, MARGIN_S)
    allowed &= ~forbidden
    silenced = (forbidden | around) & ~allowed
    samples = np.where(silenced, np.float32(0), samples).astype(np.float32)
    for _ in range(_ROUNDS):
        stray = _speech(samples, activity) & ~allowed
        if not stray.any():
            break
        samples = np.where(stray, np.float32(0), samples).astype(np.float32)
        silenced |= stray
    left = _speech(samples, activity, margin_s=0.0) & ~allowed & (samples != 0)
    seconds = [float(mask.sum()) / SAMPLE_RATE_HZ for mask in (silenced, allowed, left)]
    return Silenced(samples, *seconds)


def _speech(samples: Samples, activity: VoiceActivity, margin_s: float = MARGIN_S) -> NDArray[np.bool_]:
    mask = np.zeros(samples.size, bool)
    for span in activity.spans(samples) if samples.size else ():
        _mark(mask, span.start_s, span.end_s, margin_s)
    return mask


def _mark(mask: NDArray[np.bool_], start_s: float, end_s: float, margin_s: float) -> None:
    first, last = (round(at * SAMPLE_RATE_HZ) for at in (start_s - margin_s, end_s + margin_s))
    mask[max(0, first) : max(0, last)] = True
