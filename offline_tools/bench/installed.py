"""The parts under test: the models in the cache with the shipped thresholds and the default settings."""

from __future__ import annotations

from models.errors import ModelError
from models.manifest import Manifest
from offline_tools.bench.report import BenchmarkError
from runtime.compose import Parts
from runtime.config import Settings

ROLES = (
    "face_detection",
    "face_embedding",
    "voice_activity",
    "speaker_turns",
    "voice_embedding",
)


def installed_parts(*more: str) -> Parts:
    """Parts whose models for faces and voices, and for `more` roles, are there and whole. Raises BenchmarkError."""
    parts = Parts(Settings(), Manifest.load())
    for role in (*ROLES, *more):
        try:
            parts.directory(parts.entry(role))
        except ModelError as error:
            raise BenchmarkError(str(error)) from error
    return parts
