"""Builds what looks at the picture, and hears the sound, that comes with a question."""

from __future__ import annotations

from models.appearance import AppearanceEmbedder
from models.faces import FaceEmbedder
from models.object_looks import ObjectLooks
from models.objects import ObjectDetector
from models.voices import VoiceEmbedder
from runtime.compose import Parts, face_detector, face_rule, match_rule
from runtime.compose_enroll import voice_files
from runtime.shown_reader import Senses, ShownReader


def shown_reader(parts: Parts) -> ShownReader:
    """Loads nothing yet: most questions come without either."""
    return ShownReader(senses(parts))


def senses(parts: Parts) -> Senses:
    """What loads the models, and the thresholds that belong to them."""
    faces, voices, looks = (parts.entry(role) for role in ("face_embedding", "voice_embedding", "appearance"))
    accelerator = parts.settings.models.accelerator
    score = parts.settings.perceive.object_score
    return Senses(
        detector=lambda: face_detector(parts),
        faces=lambda: FaceEmbedder(parts.directory(faces), accelerator=accelerator),
        objects=lambda: ObjectDetector(parts.directory(parts.entry("objects")), score_threshold=score),
        looks=lambda: ObjectLooks(AppearanceEmbedder(parts.directory(looks), accelerator=accelerator)),
        voice_files=lambda: voice_files(parts),
        voices=lambda: VoiceEmbedder(parts.directory(voices)),
        face_rule=face_rule(faces),
        object_rule=match_rule(looks),
        voice_rule=match_rule(voices),
    )
