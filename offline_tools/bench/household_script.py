"""The household's four days as they are written down: people, scenes, shots and lines, read strictly from YAML."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from offline_tools.bench.report import BenchmarkError

HERE = Path(__file__).parent
SCRIPT = HERE / "household_script.yaml"
CHINESE = HERE / "household_chinese.yaml"
STILLS = ("cat", "coffee", "coffee_moved", "coffee_blue")
_STRICT = ConfigDict(extra="forbid")

Read = TypeVar("Read")


@dataclass(frozen=True)
class Resident:
    """Somebody of the household: a name, a voice, and a photograph for each day; the last one stays."""

    __pydantic_config__ = _STRICT
    name: str
    voice: str
    photos: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """What somebody says. unseen: from outside the view; pitch: how the voice is bent, 1 not at all."""

    __pydantic_config__ = _STRICT
    id: str
    who: str
    say: str
    unseen: bool = False
    pitch: float = 1.0


@dataclass(frozen=True)
class Shot:
    """Who stands in the room while the lines are said; or a photograph that fills the view; or a sound alone."""

    __pydantic_config__ = _STRICT
    id: str
    people: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    still: str | None = None
    sound: str | None = None
    minimum_s: float = 2.0


@dataclass(frozen=True)
class Scene:
    """Shots one after another, and the local time at which they begin."""

    __pydantic_config__ = _STRICT
    id: str
    at: datetime
    shots: tuple[Shot, ...]


@dataclass(frozen=True)
class Script:
    """All that happens, in order."""

    __pydantic_config__ = _STRICT
    timezone: str
    people: Mapping[str, Resident]
    scenes: tuple[Scene, ...]

    @property
    def lines(self) -> Iterator[Line]:
        """All lines, in order."""
        return (line for scene in self.scenes for shot in scene.shots for line in shot.lines)

    @property
    def evidence_ids(self) -> frozenset[str]:
        """What evidence may name: lines, and shots."""
        shots = (shot.id for scene in self.scenes for shot in scene.shots)
        return frozenset((*shots, *(line.id for line in self.lines)))

    def day(self, scene: Scene) -> int:
        """0 for the first day of the script."""
        return (scene.at.date() - self.scenes[0].at.date()).days

    def start_utc_s(self, scene: Scene) -> float:
        """When a scene begins, UTC seconds."""
        return scene.at.replace(tzinfo=ZoneInfo(self.timezone)).timestamp()


def load_script(path: Path = SCRIPT) -> Script:
    """The script. Raises BenchmarkError with all its faults together."""
    return read_strictly(Script, path, lambda script: [*_faults(script), *_time_faults(script)])


def read_strictly(kind: type[Read], path: Path, faults_in: Callable[[Read], Iterable[str]]) -> Read:
    """What a YAML file holds. Raises BenchmarkError with all faults together, those of its form first."""
    try:
        read = TypeAdapter(kind).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
        faults = list(faults_in(read))
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    if faults:
        raise BenchmarkError(f"{path.name} has faults: {'; '.join(faults)}")
    return read


@cache
def chinese_phonemes() -> Mapping[str, str]:
    """The phonemes of each Chinese line."""
    return dict(yaml.safe_load(CHINESE.read_text(encoding="utf-8")))


def script_key() -> str:
    """A hash of what the scenes are composed of."""
    files = (SCRIPT, CHINESE, *(HERE / f"household_{part}.py" for part in ("scenes", "voices")))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def is_chinese(text: str) -> bool:
    """Whether a line is to be spoken in Chinese."""
    return any("\u4e00" <= mark <= "\u9fff" for mark in text)


def _faults(script: Script) -> Iterator[str]:
    ids = [shot.id for scene in script.scenes for shot in scene.shots] + [line.id for line in script.lines]
    yield from (f"{id} is the id of {count} things" for id, count in Counter(ids).items() if count > 1)
    for shot in (shot for scene in script.scenes for shot in scene.shots):
        unknown = {*shot.people, *(line.who for line in shot.lines)} - set(script.people)
        yield from (f"{shot.id} names {who}, who is not among the people" for who in sorted(unknown))
        if shot.still is not None and shot.still not in STILLS:
            yield f"{shot.id} shows {shot.still}; there are {', '.join(STILLS)}"
        for line in shot.lines:
            if line.who not in shot.people and not line.unseen:
                yield f"{line.id} is said by {line.who}, who is not in view"
            if is_chinese(line.say) and line.say not in chinese_phonemes():
                yield f"{line.id} has no phonemes in {CHINESE.name}"


def _time_faults(script: Script) -> Iterator[str]:
    times: Sequence[datetime] = [scene.at for scene in script.scenes]
    if list(times) != sorted(times):
        yield "the scenes are not in the order of their times"
