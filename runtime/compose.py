"""The composition root: the only place that builds the parts and hands them to one another."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.appearance import AppearanceEmbedder
from models.dictionary import Dictionary
from models.errors import ModelError
from models.faces import FaceDetector, FaceEmbedder
from models.language_process import LanguageProcess
from models.manifest import Entry, Manifest
from models.object_looks import LOOK_MODEL, LOOK_SIZE, ObjectLooks
from models.objects import ObjectDetector
from models.slots import Slots
from models.text import TextEmbedder
from runtime.across_words import AcrossWords
from runtime.binding import Binder, VoteRule
from runtime.clock import local_zone
from runtime.config import Settings
from runtime.errors import HearsightError
from runtime.exemplars import LearnRule, Profiles
from runtime.face_identity import FaceIdentifier, FaceRule
from runtime.facts import NEVER_THE_SAME, FactLearner
from runtime.gallery import MatchRule
from runtime.identify import Identifier
from runtime.media_files import MediaFiles
from runtime.presence import Presence
from runtime.question_time import Household
from runtime.see import Watcher
from runtime.settling import Settler
from runtime.tentative import TentativePeople
from runtime.voice_identity import VoiceIdentifier, VoiceRule

log = logging.getLogger(__name__)

NO_LANGUAGE_MODEL = "none"
INSTALLED = "installed"  # the bundle that was installed, or the manifest's default while there is none


@dataclass(frozen=True)
class LanguageFiles:
    """Which language or omni model runs, where its files lie (checked), and what it is called where it wrote."""

    entry: Entry
    directory: Path
    name: str | None = None


@dataclass(frozen=True)
class Parts:
    """The settings and the model manifest, from which everything else is built."""

    settings: Settings
    manifest: Manifest

    def entry(self, role: str, chosen: str | None = None) -> Entry:
        """The manifest's default for a role, or the entry chosen in robot.yaml, which must have that role."""
        if chosen is None:
            return self.manifest.default(role)
        entry = self.manifest.entry(chosen)
        if entry.role != role:
            raise HearsightError(
                f"model {chosen} is for {entry.role}, not for {role}: choose another in robot.yaml"
            )
        return entry

    def directory(self, entry: Entry) -> Path:
        """Where the entry's files lie, after checking that they are there and whole."""
        return entry.require(self.settings.models.dir)

    @property
    def text_entry(self) -> Entry:
        return self.entry("text_embedding", self.settings.models.text_embedding)

    @property
    def language_entry(self) -> Entry | None:
        """The language or omni model, or None where robot.yaml says none."""
        chosen = self.settings.models.language
        if chosen == NO_LANGUAGE_MODEL:
            return None
        if chosen == INSTALLED:
            installed = self._slots.active()
            return self.manifest.default("language") if installed is None else installed.entry
        entry = self.manifest.entry(chosen)
        if entry.role not in ("language", "omni"):
            raise HearsightError(
                f"model {chosen} is for {entry.role}, not for language: choose another in robot.yaml"
            )
        return entry

    @property
    def language_files(self) -> LanguageFiles | None:
        """The same with its files, after checking that they are there and whole."""
        installed = self._slots.active() if self.settings.models.language == INSTALLED else None
        if installed is not None:
            name = f"{installed.manifest.name}-{installed.manifest.version}"
            return LanguageFiles(installed.entry, installed.require(), name)
        entry = self.language_entry
        return None if entry is None else LanguageFiles(entry, self.directory(entry))

    @property
    def _slots(self) -> Slots:
        return Slots(self.settings.models.dir)

    @property
    def language_has_senses(self) -> bool:
        """Whether the chosen model takes pictures and sound itself."""
        entry = self.language_entry
        return entry is not None and entry.role == "omni"


def needed_models(settings: Settings) -> list[tuple[str, str | None]]:
    """The roles that must be filled to run, each with the entry that robot.yaml chose, or None for the default."""
    models = settings.models
    needed: list[tuple[str, str | None]] = [
        ("face_detection", None),
        ("face_embedding", None),
        ("objects", None),
        ("appearance", None),
        ("voice_activity", None),
        ("speaker_turns", None),
        ("voice_embedding", None),
        ("speech_recognition", models.speech_recognition),
        ("text_embedding", models.text_embedding),
    ]
    if _speaks_both(settings):
        needed.append(("dictionary", None))
    if models.language != NO_LANGUAGE_MODEL:
        needed.append(("language", models.language))
    if settings.voice.enabled or settings.wyoming.enabled:
        needed.append(("speech_synthesis", None))
    return needed


def _speaks_both(settings: Settings) -> bool:
    """Whether residents speak both languages, between which memories are found word by word."""
    return {"en", "zh"} <= set(settings.models.speech_languages)


def open_store(parts: Parts, *, busy_timeout_s: float = 10.0) -> MemoryStore:
    """The memory of the data directory, with one vector space for each model that embeds."""
    directory = parts.settings.data_dir
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HearsightError(
            f"cannot make the data directory {directory}: {error.strerror}; choose another with --data-dir"
        ) from error
    return MemoryStore.open(directory, vector_spaces(parts), busy_timeout_s=busy_timeout_s)


def vector_spaces(parts: Parts) -> list[VectorSpace]:
    """One vector space for each model that embeds."""
    roles = {
        "text": parts.text_entry,
        "face": parts.entry("face_embedding"),
        "voice": parts.entry("voice_embedding"),
    }
    spaces = [VectorSpace(name, entry.dimension, entry.id) for name, entry in roles.items()]
    looks = parts.entry("appearance")
    return [
        *spaces,
        VectorSpace("image", looks.dimension, looks.id),
        VectorSpace("object", LOOK_SIZE, f"{looks.id}+{LOOK_MODEL}"),
    ]


def text_embedder(parts: Parts) -> TextEmbedder:
    """The text embedding model."""
    entry = parts.text_entry
    return TextEmbedder(
        parts.directory(entry),
        query_prefix=entry.prefixes["query"],
        passage_prefix=entry.prefixes["passage"],
        accelerator=parts.settings.models.accelerator,
    )


def across_words(parts: Parts) -> AcrossWords | None:
    """What looks words up between English and Chinese; None where one is not spoken, or no dictionary can be read."""
    if not _speaks_both(parts.settings):
        return None
    entry = parts.entry("dictionary")
    try:
        return AcrossWords(Dictionary(parts.directory(entry) / entry.main_file))
    except ModelError as error:
        log.warning("memories of another language are found by likeness alone: %s", error)
        return None


def language_model(parts: Parts) -> LanguageProcess | None:
    """The language model's process, not yet started; None where robot.yaml says none."""
    files = parts.language_files
    return None if files is None else language_process(parts.settings, files, keeps_heads=True)


def language_process(settings: Settings, files: LanguageFiles, *, keeps_heads: bool) -> LanguageProcess:
    """A process for these files; keeps_heads: evaluated beginnings of prompts are kept beside them."""
    entry, directory = files.entry, files.directory
    return LanguageProcess(
        directory / entry.main_file,
        mmproj_path=directory / entry.mmproj_file if entry.mmproj_file else None,
        context_tokens=settings.models.context_tokens,
        threads=min(settings.models.language_threads, os.cpu_count() or 1),
        name=files.name,
        heads_dir=directory / "heads" if keeps_heads else None,
        model_sha256=entry.files[0].sha256 or "",
    )


def watcher(parts: Parts) -> Watcher:
    """Eyes: face detection and embedding, objects."""
    settings, faces = parts.settings, parts.entry("face_embedding")
    return Watcher(
        face_detector(parts),
        FaceEmbedder(parts.directory(faces), accelerator=settings.models.accelerator),
        ObjectDetector(
            parts.directory(parts.entry("objects")), score_threshold=settings.perceive.object_score
        ),
        settings.perceive,
        frame_rate_hz=settings.clip.frame_rate_hz,
        same_face=faces.thresholds["same_track"],
        looks=ObjectLooks(
            AppearanceEmbedder(
                parts.directory(parts.entry("appearance")), accelerator=settings.models.accelerator
            )
        ),
    )


def identifier(parts: Parts, store: MemoryStore) -> Identifier:
    """Who is who, with the thresholds that belong to the models."""
    settings = parts.settings.identify
    faces, voices = parts.entry("face_embedding"), parts.entry("voice_embedding")
    face, voice = faces.thresholds, voices.thresholds
    voice_rule = VoiceRule(
        match=match_rule(voices),
        sight_bonus=voice["sight_bonus"],
        min_enroll_s=settings.min_enroll_speech_s,
        min_enroll_in_view_s=settings.min_enroll_speech_in_view_s,
        min_enroll_snr_db=voice["min_enroll_snr_db"],
        conversation=voice["conversation"],
    )
    profiles = {
        space: Profiles(store, space, learn_rule(entry, settings.exemplars))
        for space, entry in (("face", faces), ("voice", voices))
    }
    votes = VoteRule(settings.min_votes, settings.vote_margin, settings.vote_half_life_days)
    return Identifier(
        store,
        FaceIdentifier(store, face_rule(faces), profiles["face"], model=faces.id),
        VoiceIdentifier(store, voice_rule, profiles["voice"], model=voices.id),
        Settler(store, face["assist"]),
        Binder(store, votes),
        settings,
        Presence(store, picture_clips=settings.picture_clips),
    )


def tentative_people(parts: Parts, store: MemoryStore) -> TentativePeople:
    """What lets go of people met only once."""
    settings = parts.settings.identify
    files = MediaFiles(parts.settings.data_dir)
    return TentativePeople(store, files, settings.tentative_days, settings.tentative_limit)


def fact_learner(parts: Parts, store: MemoryStore, embedder: TextEmbedder) -> FactLearner:
    """What reads facts; with a text model of which it was not measured when two are one, only equal ones are."""
    same = parts.text_entry.thresholds.get("same_triple", NEVER_THE_SAME)
    return FactLearner(store, embedder.embed_passage, same)


def face_detector(parts: Parts) -> FaceDetector:
    """What finds faces."""
    settings = parts.settings
    return FaceDetector(
        parts.directory(parts.entry("face_detection")),
        input_side_px=settings.perceive.face_detector_side_px,
        score_threshold=settings.perceive.face_score,
        accelerator=settings.models.accelerator,
    )


def face_rule(entry: Entry) -> FaceRule:
    """The face model's thresholds."""
    limits = entry.thresholds
    return FaceRule(
        match=match_rule(entry),
        sharpness_recognise=limits["sharpness_reject"],
        sharpness_enroll=limits["sharpness_enroll"],
        width_recognise_px=limits["width_recognise_px"],
        width_enroll_px=limits["width_enroll_px"],
        roll_max_deg=limits["roll_max_deg"],
        yaw_max=limits["yaw_max"],
        middle=limits["middle"],
    )


def learn_rule(entry: Entry, cap: int) -> LearnRule:
    """When a model's vectors may change a profile of at most `cap` exemplars."""
    limits = entry.thresholds
    return LearnRule(limits["learn"], limits["margin"], limits["new_exemplar"], cap)


def match_rule(entry: Entry) -> MatchRule:
    """When a model's vectors are taken for the same person."""
    return MatchRule(entry.thresholds["match"], entry.thresholds["unsure"], entry.thresholds["margin"])


def household_of(parts: Parts) -> Household:
    """What words for times mean where the robot stands."""
    settings = parts.settings
    return Household(
        local_zone(settings.robot.timezone), settings.household.meals, settings.household.country
    )
