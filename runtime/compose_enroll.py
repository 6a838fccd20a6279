"""Builds what enrols people from files; the rest of the composition root is runtime/compose.py."""

from __future__ import annotations

from memory_store.records import NodeKind
from models.faces import FaceEmbedder
from models.voices import VoiceActivity, VoiceEmbedder
from runtime.compose import Parts, face_detector, face_rule, match_rule
from runtime.enroll import FacePhotos, VoiceFiles
from runtime.gallery import MatchRule


def face_photos(parts: Parts) -> FacePhotos:
    """What learns a face from photos."""
    faces = parts.entry("face_embedding")
    return FacePhotos(face_detector(parts), FaceEmbedder(parts.directory(faces)), face_rule(faces))


def voice_files(parts: Parts) -> VoiceFiles:
    """What learns a voice from sound files."""
    voices = parts.entry("voice_embedding")
    return VoiceFiles(
        VoiceActivity(parts.directory(parts.entry("voice_activity"))),
        VoiceEmbedder(parts.directory(voices)),
        match_rule(voices),
        min_speech_s=parts.settings.identify.min_enroll_speech_s,
    )


def match_rules(parts: Parts) -> dict[NodeKind, MatchRule]:
    """When a face or a voice is taken for a known one."""
    return {
        "face": match_rule(parts.entry("face_embedding")),
        "voice": match_rule(parts.entry("voice_embedding")),
    }
