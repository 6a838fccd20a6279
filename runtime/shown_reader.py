"""Looks at a picture, and listens to a sound, that comes with a question; the models are loaded when first needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.media import DriverError
from drivers.photo import decode_photo
from memory_store.store import MemoryStore
from models.face_quality import face_quality
from models.faces import FaceBox, FaceDetector, FaceEmbedder, align_face
from models.images import Image
from models.object_looks import ObjectLooks
from models.objects import ObjectDetector
from models.voices import VoiceEmbedder
from runtime.enroll import HALVES_FROM_S, SAMPLE_RATE_HZ, EnrollError, VoiceFiles
from runtime.errors import HearsightError
from runtime.face_identity import FaceRule
from runtime.gallery import MatchRule, usable
from runtime.object_kinds import SURFACES, alike, may_have_id
from runtime.object_views import ObjectView, distinct, look_at
from runtime.shown import Shown, ShownOne, face_in, left_to_right, thing_in, voice_in
from runtime.shown_question import ShownAsked

MOST_BYTES = 10 * 2**20
SHORTEST_VOICE_S = 1.0
MOST_FACES = 12
STANDS_OUT = 2.0  # how many times larger than the next thing the one meant is
BYSTANDER = 0.25  # share of the largest face's area up to which a face is a passer-by's


class ShownError(HearsightError):
    """What came with the question cannot be looked at or listened to; the message says why."""


@dataclass(frozen=True)
class Senses:
    """What builds the models, each called once at most, and the rules that belong to them."""

    detector: Callable[[], FaceDetector]
    faces: Callable[[], FaceEmbedder]
    objects: Callable[[], ObjectDetector]
    looks: Callable[[], ObjectLooks]
    voice_files: Callable[[], VoiceFiles]
    voices: Callable[[], VoiceEmbedder]
    face_rule: FaceRule
    object_rule: MatchRule
    voice_rule: MatchRule


class ShownReader:
    """Reads pictures and sounds against a memory. Used from one thread; nothing is written anywhere."""

    def __init__(self, senses: Senses) -> None:
        self._senses = senses

    @cached_property
    def _detector(self) -> FaceDetector:
        return self._senses.detector()

    @cached_property
    def _faces(self) -> FaceEmbedder:
        return self._senses.faces()

    @cached_property
    def _objects(self) -> ObjectDetector:
        return self._senses.objects()

    @cached_property
    def _looks(self) -> ObjectLooks:
        return self._senses.looks()

    @cached_property
    def _voice_files(self) -> VoiceFiles:
        return self._senses.voice_files()

    @cached_property
    def _voices(self) -> VoiceEmbedder:
        return self._senses.voices()

    def picture(self, store: MemoryStore, data: bytes, asked: ShownAsked) -> Shown:
        """The faces in a picture or, where a thing is asked about, the thing. Raises ShownError."""
        check_size("picture", len(data))
        try:
            image = decode_photo(data, "the picture")
        except DriverError as error:
            raise ShownError(str(error)) from error
        if asked.about == "thing":
            return self._thing(store, image, asked)
        boxes = self._detector.detect(image) if asked.about != "nothing" else []
        least = BYSTANDER * max((box.width * box.height for box in boxes), default=0.0)
        boxes = [box for box in boxes if box.width * box.height > least][:MOST_FACES]
        faces = [self._face(store, image, box) for box in boxes]
        return Shown("picture", left_to_right([box.x for box in boxes], faces))

    def _face(self, store: MemoryStore, image: Image, box: FaceBox) -> ShownOne:
        rule, crop = self._senses.face_rule, align_face(image, box.landmarks)
        if not rule.recognisable(face_quality(crop, box)):
            return ShownOne("unsure", poor="faint")
        vector = self._faces.embed([crop])[0]
        if not usable(vector):
            return ShownOne("unsure", poor="faint")
        return face_in(store, vector, rule.match, rule.middle)

    def _thing(self, store: MemoryStore, image: Image, asked: ShownAsked) -> Shown:
        views, _ = look_at(self._looks, image, distinct(self._objects.detect(image)))
        wanted = {kin for label in asked.labels for kin in alike(label)}
        things = [view for view in views if may_have_id(view.box.label)]
        things = [view for view in things if not wanted or view.box.label in wanted]
        if not wanted:  # what stands on the table is meant, and not the table
            things = [view for view in things if view.box.label not in SURFACES] or things
        things.sort(key=_area, reverse=True)
        if not things:
            return Shown("picture", (), tuple(dict.fromkeys(view.box.label for view in views)))
        if len(things) > 1 and _area(things[0]) < STANDS_OUT * _area(things[1]):
            return Shown("picture", (), tuple(dict.fromkeys(view.box.label for view in things)))
        view = things[0]
        return Shown("picture", (thing_in(store, view.vector, view.box.label, self._senses.object_rule),))

    def sound(self, store: MemoryStore, data: bytes) -> Shown:
        """The voice in a sound. Raises ShownError."""
        check_size("sound", len(data))
        speech = self._speech(data)
        if speech.size < SHORTEST_VOICE_S * SAMPLE_RATE_HZ:
            return Shown("sound", (ShownOne("unsure", poor="short"),))
        half = speech.size // 2
        rule = self._senses.voice_rule
        if speech.size >= HALVES_FROM_S * SAMPLE_RATE_HZ:
            alike_ = float(self._voices.embed(speech[:half]) @ self._voices.embed(speech[half:]))
            if alike_ < rule.unsure:
                return Shown("sound", (ShownOne("unsure", poor="mixed"),))
        vector = self._voices.embed(speech)
        if not usable(vector):
            return Shown("sound", (ShownOne("unsure", poor="short"),))
        return Shown("sound", (voice_in(store, vector, rule),))

    def _speech(self, data: bytes) -> NDArray[np.float32]:
        """What is spoken in it; the decoder reads it from memory that has a path and lies on no disk."""
        number = os.memfd_create("sound")
        path = Path(f"/proc/self/fd/{number}")
        try:
            with open(number, "wb", closefd=False) as file:
                file.write(data)
            return self._voice_files.speech(path)
        except (DriverError, EnrollError) as error:
            raise ShownError(str(error).replace(str(path), "the sound")) from error
        finally:
            os.close(number)


def check_size(medium: str, size: int) -> None:
    """Raises ShownError for more bytes than are taken, or none."""
    if size > MOST_BYTES:
        raise ShownError(
            f"the {medium} has {size} bytes, and the most is {MOST_BYTES}: make it smaller, or cut a part out"
        )
    if not size:
        raise ShownError(f"the {medium} is empty: give a file that holds one")


def _area(view: ObjectView) -> float:
    return view.box.width * view.box.height
