"""The part of the composition root that builds what remembers objects."""

from __future__ import annotations

from memory_store.store import MemoryStore
from models.manifest import Entry
from runtime.compose import Parts, learn_rule, match_rule
from runtime.exemplars import LearnRule
from runtime.media_files import MediaFiles
from runtime.object_identity import ObjectRule
from runtime.object_memory import ObjectLimits, ObjectMemory
from runtime.object_scene import ObjectScene


def object_memory(parts: Parts, store: MemoryStore) -> ObjectMemory:
    """What remembers things, with the thresholds that belong to the model."""
    settings = parts.settings.objects
    rule, learn = object_rules(parts.entry("appearance"), settings.exemplars)
    limits = ObjectLimits(settings.tentative_days, settings.limit)
    scene = ObjectScene(store, rule, parts.settings.robot.place)
    return ObjectMemory(store, MediaFiles(parts.settings.data_dir), scene, learn, limits)


def object_rules(entry: Entry, exemplars: int) -> tuple[ObjectRule, LearnRule]:
    """When an object is known, and when it teaches the robot something."""
    limits = entry.thresholds
    rule = ObjectRule(match_rule(entry), limits["still"], limits["place_bonus"])
    return rule, learn_rule(entry, exemplars)
