"""Where a question's memory comes from: a dialogue is written down, a video's memory lies in a folder or is made.

Every memory is asked as a copy, since answers leave their traces in it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from memory_store.errors import MemoryStoreError, UnknownId
from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from offline_tools.bench.dialogues import Dialogue, EmbedPassage, Remembered, remember
from offline_tools.evaluate.errors import EvaluateError, MemoryUnusable
from offline_tools.evaluate.m3bench import CLIP_S
from offline_tools.memorize_many import Outcome, memorize_one
from runtime.config import Settings
from runtime.facts import FactLearner
from runtime.grounded import GroundedLine
from runtime.quotes import quote_in
from runtime.recall import EmbedQuery, Recall

VIDEO_SUFFIXES = (".mp4", ".mkv", ".webm", ".mov", ".avi")
_HASHED = re.compile(r"-[0-9a-f]{16}")  # what memorize_many puts behind a video's name
_SLACK_S = 0.5  # a clip of 30 s may end a frame late


@dataclass(frozen=True)
class TextModel:
    """What searches: the name of the model and its spaces, how it embeds, and what the robot makes of it.

    facts: what reads facts from talk; None: none are read.
    """

    name: str
    spaces: Sequence[VectorSpace]
    query: EmbedQuery
    passage: EmbedPassage
    recall: Callable[[MemoryStore], Recall]
    facts: Callable[[MemoryStore], FactLearner] | None = None


@dataclass(frozen=True)
class Memory:
    """A memory that is open. fingerprint: of its content; where: of a dialogue's turns; asked_utc_s: of questions."""

    name: str
    store: MemoryStore
    fingerprint: str
    asked_utc_s: float
    where: Remembered = field(default_factory=Remembered)
    dialogue: Dialogue | None = None

    @cached_property
    def removable(self) -> dict[str, int]:
        """What the ablations of memory take away: conclusions and facts, and faces that are one with a voice."""
        people = self.store.people()
        return {
            "semantic": len(self.store.nodes(kinds=["semantic"])),
            "equivalences": sum(bool(person.face_ids and person.voice_ids) for person in people),
        }

    def keys_of(self, node_ids: Iterable[int]) -> frozenset[str]:
        """What the annotations call these memories, and those that facts were read from."""
        ids = set(node_ids)
        for node_id in tuple(ids - self.where.keys.keys()):
            try:
                edges = self.store.edges(node_id)
            except UnknownId:
                continue
            ids |= {edge.target for edge in edges if edge.relation == "derived_from"}
        return frozenset(self.where.keys[node_id] for node_id in ids if node_id in self.where.keys)


class Memories:
    """The memories of a data set. folder: one memory a folder, by its name; videos: one file a video."""

    def __init__(
        self,
        text: TextModel,
        dialogues: Mapping[str, Dialogue],
        *,
        folder: Path | None = None,
        videos: Path | None = None,
        make: Callable[[str, str, Settings], Outcome] = memorize_one,
    ) -> None:
        """make: what writes the memory of a video below a folder. Raises EvaluateError."""
        for place, option in ((folder, "--memories"), (videos, "--videos")):
            if place is not None and place.exists() and not place.is_dir():
                raise EvaluateError(f"{option} {place}: no folder")
        if videos is not None and not videos.is_dir():
            raise EvaluateError(f"--videos {videos}: there is no such folder")
        if videos is not None and folder is None:
            raise EvaluateError("--videos needs --memories DIR, the folder in which the memories are kept")
        self._text, self._dialogues = text, dialogues
        self._folder, self._videos = folder, videos
        self._make = make

    def missing(self, names: Iterable[str]) -> dict[str, str]:
        """Of these memories those that cannot be had, with the reason."""
        return {name: reason for name in dict.fromkeys(names) if (reason := self._missing(name))}

    def _missing(self, name: str) -> str:
        try:
            if name in self._dialogues or self._directory(name) is not None or self._video(name) is not None:
                return ""
        except MemoryUnusable as error:
            return str(error)
        wanted = [f"no memory in {self._folder}" if self._folder else "no --memories DIR was named"]
        return "; ".join([*wanted, *([f"no video in {self._videos}"] if self._videos else [])])

    def fingerprint(self, name: str) -> str | None:
        """Of a memory's content, as `Memory` has it; None where it is not made yet."""
        if name in self._dialogues:
            return f"dialogue, {'with' if self._text.facts is not None else 'without'} facts"
        directory = self._directory(name)
        return None if directory is None else _fingerprint(directory)

    @contextmanager
    def open(self, name: str) -> Iterator[Memory]:
        """A copy of the memory, made first where it is not there yet. Raises EvaluateError."""
        with tempfile.TemporaryDirectory(prefix="hearsight-") as place:
            if name in self._dialogues:
                with self._of_dialogue(self._dialogues[name], Path(place)) as memory:
                    yield memory
            else:
                with self._of_video(name, Path(place) / "memory") as memory:
                    yield memory

    @contextmanager
    def _of_dialogue(self, dialogue: Dialogue, place: Path) -> Iterator[Memory]:
        try:
            with MemoryStore.open(place, self._text.spaces, clock=lambda: dialogue.asked_utc_s) as store:
                where = remember(store, dialogue, self._text.passage)
                if self._text.facts is not None:
                    learn_facts(store, where, self._text.facts(store))
                fingerprint = self.fingerprint(dialogue.name) or ""
                yield Memory(dialogue.name, store, fingerprint, dialogue.asked_utc_s, where, dialogue)
        except MemoryStoreError as error:
            raise MemoryUnusable(f"the dialogue {dialogue.name} cannot be remembered: {error}") from error

    @contextmanager
    def _of_video(self, name: str, place: Path) -> Iterator[Memory]:
        directory = self._directory(name) or self._made(name)
        try:
            shutil.copytree(directory, place, ignore=shutil.ignore_patterns("media"))
            with MemoryStore.open(place, self._text.spaces) as store:
                asked_utc_s = max((clip.end_utc_s for clip in store.clips()), default=0.0)
                yield Memory(name, store, self.fingerprint(name) or "", asked_utc_s)
        except (MemoryStoreError, OSError) as error:
            raise MemoryUnusable(f"the memory in {directory} cannot be asked: {error}") from error

    def _directory(self, name: str) -> Path | None:
        """The folder of that name, or the only whole one that memorize_many made of a video of that name."""
        if self._folder is None:
            return None
        if (self._folder / name / "memory.db").is_file():
            return self._folder / name
        found = self._memorized(name)
        if len(found) > 1:
            raise MemoryUnusable(
                f"{name}: {len(found)} memories, of different videos: keep one of {_listed(found)}"
            )
        return found[0] if found else None

    def _memorized(self, name: str) -> list[Path]:
        places = {self._folder / name, self._folder / Path(name).name} if self._folder else set[Path]()
        return sorted(
            path
            for place in places
            if place.parent.is_dir()
            for path in place.parent.iterdir()
            if _HASHED.fullmatch(path.name.removeprefix(place.name))
            and path.name.startswith(place.name)
            and (path / "memorized.json").is_file()
        )

    def _video(self, name: str) -> Path | None:
        if self._videos is None:
            return None
        paths = (self._videos / f"{name}{suffix}" for suffix in VIDEO_SUFFIXES)
        return next((path for path in paths if path.is_file()), None)

    def _made(self, name: str) -> Path:
        """The memory that is made of a video beside the others; one that was begun goes on."""
        video, folder = self._video(name), self._folder
        if video is None or folder is None:
            raise MemoryUnusable(f"{name}: {self._missing(name)}")
        outcome = self._make(str(video), str((folder / name).parent), Settings())
        if outcome.fault:
            raise MemoryUnusable(f"no memory can be made of {video}: {outcome.fault}")
        return Path(outcome.memory)


def learn_facts(store: MemoryStore, where: Remembered, learner: FactLearner) -> int:
    """Read facts from what was said, as the robot does when it memorizes a clip; how many were new."""
    lines = []
    for node_id in where.keys:
        node = store.node(node_id)
        said = quote_in(node.text)
        speaker = next((edge.target for edge in store.edges(node_id) if edge.relation == "mentions"), None)
        if said is None or speaker is None:
            continue
        provenance = {"said": said, "attributed_by": "voice"}
        lines.append(
            (
                node_id,
                GroundedLine(
                    "heard", node.text, said, node.start_utc_s, node.end_utc_s, (speaker,), provenance
                ),
            )
        )
    with store.transaction():
        return learner.learn(lines)


def first_unknown(store: MemoryStore, before_clip: int | None) -> int | None:
    """The id of the first clip behind the last one, of 30 s and from 0, that may be known; None: all may be."""
    if before_clip is None:
        return None
    known_s = CLIP_S * (before_clip + 1) + _SLACK_S
    return next((clip.id for clip in store.clips() if clip.media_end_s > known_s), None)


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(path.name for path in paths)


def _fingerprint(place: Path) -> str:
    """A hash of the memory's rows as they lie on the disk."""
    hashed = hashlib.sha256()
    for name in ("memory.db", "memory.db-wal"):
        if (place / name).exists():
            hashed.update((place / name).read_bytes())
    return hashed.hexdigest()[:16]
