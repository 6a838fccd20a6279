"""robot.yaml as frozen, typed settings: read once, strictly, with every fault reported together."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from runtime.config_section import Section
from runtime.config_talking import ApiSettings, VoiceSettings, WyomingSettings
from runtime.errors import ConfigError


def _known_zone(name: str) -> str:
    if name:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(f"{name!r} is no IANA time zone, such as Europe/Berlin") from error
    return name


def _expanded(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("a path cannot hold the character NUL")
    return path.expanduser()


def _or_cache(path: object) -> object:
    """The models' place in the cache that the environment names, where the file names none."""
    return Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")) / "models" if path is None else path


DirectoryPath = Annotated[Path, AfterValidator(_expanded)]
ModelsPath = Annotated[Path, BeforeValidator(_or_cache), AfterValidator(_expanded)]


class RobotSettings(Section):
    name: str = Field("Hearsight", min_length=1, max_length=60)
    place: str = Field("home", max_length=120)
    timezone: Annotated[str, AfterValidator(_known_zone)] = ""


Hours = tuple[Annotated[float, Field(ge=0, le=30)], Annotated[float, Field(ge=0, le=30)]]


class HouseholdSettings(Section):
    country: str = Field("", pattern="^(?:[A-Z]{2})?$")
    breakfast_h: Hours = (7.0, 9.0)
    lunch_h: Hours = (12.0, 14.0)
    dinner_h: Hours = (18.0, 20.0)
    bedtime_h: Hours = (22.0, 23.0)

    @field_validator("breakfast_h", "lunch_h", "dinner_h", "bedtime_h")
    @classmethod
    def _first_before_last(cls, hours: Hours) -> Hours:
        if hours[0] >= hours[1]:
            raise ValueError("the first hour must come before the last")
        return hours

    @property
    def meals(self) -> dict[str, tuple[float, float]]:
        """By name, first and last hour of the local day."""
        return {
            "breakfast": self.breakfast_h,
            "lunch": self.lunch_h,
            "dinner": self.dinner_h,
            "bedtime": self.bedtime_h,
        }


class ModelSettings(Section):
    dir: ModelsPath = Field(default=None, validate_default=True)  # filled by the validator
    text_embedding: str = "multilingual-e5-small"
    speech_recognition: str = "whisper-base"
    accelerator: Literal["cpu", "cuda", "tensorrt"] = "cpu"
    language: str = "installed"
    trusted_keys: tuple[str, ...] = ()
    language_threads: int = Field(2, ge=1, le=64)
    context_tokens: int = Field(4096, ge=1024, le=131072)
    speech_languages: tuple[str, ...] = Field(("en", "zh"), min_length=1)


class CameraSettings(Section):
    enabled: bool = True
    device: int | str = 0
    width_px: int = Field(1280, ge=160, le=7680)
    height_px: int = Field(720, ge=120, le=4320)
    rate_hz: float = Field(15.0, gt=0, le=240)


class MicrophoneSettings(Section):
    enabled: bool = True
    device: int | str | None = None
    ring_s: float = Field(60.0, ge=1, le=600)


class ClipSettings(Section):
    length_s: float = Field(30.0, ge=5, le=120)
    frame_rate_hz: float = Field(5.0, ge=0.5, le=30)
    carry_speech_s: float = Field(10.0, ge=0, le=25)


class PerceiveSettings(Section):
    face_detector_side_px: int = Field(640, ge=160, le=1920)
    face_score: float = Field(0.7, ge=0.1, le=1)
    object_score: float = Field(0.5, ge=0.1, le=1)
    keyframes_per_clip: int = Field(4, ge=1, le=30)
    keyframe_side_px: int = Field(640, ge=160, le=3840)


class IdentifySettings(Section):
    exemplars: int = Field(8, ge=1, le=64)
    min_enroll_speech_s: float = Field(2.0, ge=0.5, le=10)
    min_enroll_speech_in_view_s: float = Field(1.0, ge=0.5, le=10)
    min_votes: float = Field(1.0, ge=0.5, le=100)
    vote_margin: float = Field(2.0, ge=1, le=100)
    meta_speech_s: float = Field(5.0, ge=0, le=60)
    meta_vote: float = Field(2.0, ge=1, le=100)
    vote_half_life_days: float = Field(90.0, gt=0, le=36500)
    tentative_days: float = Field(7.0, gt=0, le=3650)
    tentative_limit: int = Field(200, ge=1, le=100000)
    picture_clips: int = Field(3, ge=2, le=100)


class ObjectSettings(Section):
    exemplars: int = Field(6, ge=1, le=64)
    tentative_days: float = Field(7.0, gt=0, le=3650)
    limit: int = Field(400, ge=10, le=100000)


class MemorizeSettings(Section):
    language_model: bool = True
    max_tokens: int = Field(160, ge=32, le=2048)


class ControlSettings(Section):
    max_rounds: int = Field(5, ge=1, le=20)
    policy: Literal["abstain", "best_effort"] = "abstain"
    most_waiting: int = Field(8, ge=1, le=1000)


Scope = Literal["all", "own", "none"]


class PrivacySettings(Section):
    resident: Scope = "all"
    child: Scope = "own"
    guest: Scope = "own"
    unknown: Scope = "none"
    typed: Literal["all", "none"] = "all"
    children: tuple[str, ...] = ()


class SupervisorSettings(Section):
    restarts: int = Field(5, ge=0, le=1000)
    restart_window_s: float = Field(300.0, gt=0)
    backoff_s: float = Field(1.0, ge=0, le=60)


class Settings(Section):
    """All settings; the defaults here are the same as in the repository's robot.yaml (a test compares)."""

    data_dir: DirectoryPath = Path("~/.local/share/hearsight").expanduser()
    robot: RobotSettings = RobotSettings()
    household: HouseholdSettings = HouseholdSettings()
    models: ModelSettings = Field(default_factory=ModelSettings)
    camera: CameraSettings = CameraSettings()
    microphone: MicrophoneSettings = MicrophoneSettings()
    clip: ClipSettings = ClipSettings()
    perceive: PerceiveSettings = PerceiveSettings()
    identify: IdentifySettings = IdentifySettings()
    objects: ObjectSettings = ObjectSettings()
    memorize: MemorizeSettings = MemorizeSettings()
    control: ControlSettings = ControlSettings()
    privacy: PrivacySettings = PrivacySettings()
    voice: VoiceSettings = VoiceSettings()
    api: ApiSettings = Field(default_factory=ApiSettings)
    wyoming: WyomingSettings = WyomingSettings()
    supervisor: SupervisorSettings = SupervisorSettings()

    @model_validator(mode="after")
    def _sees_who_looks(self) -> Settings:
        if "look" in self.voice.addressed_by and not self.camera.enabled:
            raise ValueError("voice.addressed_by has look, which needs the camera: set camera.enabled: true")
        return self


def load_settings(path: Path) -> Settings:
    """Read `path` whole.

    Raises:
        ConfigError: the file is missing, no YAML, or holds faults; all of them are listed, each with its
            line, its path and, for an unknown key, the nearest legal one.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(str(path), ["the file does not exist: pass --config FILE or create it"]) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [f"cannot be read as UTF-8 text: {error}"]) from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        raw = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: such as the 13th month
        raise ConfigError(str(path), [f"is not YAML: {' '.join(str(error).split())}"]) from error
    if raw is None:
        return Settings()
    if not isinstance(raw, dict):
        raise ConfigError(str(path), [f"must be a mapping of sections, found {type(raw).__name__}"])
    lines: dict[tuple[str, ...], int] = {}
    try:
        repeated = _collect_lines(root, (), lines)
    except RecursionError as error:
        raise ConfigError(
            str(path), ["an alias (*name) stands within what it names: write it out"]
        ) from error
    try:
        settings = Settings.model_validate({key: value for key, value in raw.items() if value is not None})
    except ValidationError as error:
        raise ConfigError(str(path), repeated + _faults(error, lines)) from error
    if repeated:
        raise ConfigError(str(path), repeated)
    return settings


def _collect_lines(node: Any, at: tuple[str, ...], lines: dict[tuple[str, ...], int]) -> list[str]:
    """Fill `lines` with the line of every key, and return a fault for each key that stands twice."""
    repeated: list[str] = []
    if not isinstance(node, yaml.MappingNode):
        return repeated
    for key, value in node.value:
        path = (*at, str(key.value))
        if path in lines:
            first, second = lines[path], key.start_mark.line + 1
            repeated.append(f"line {second}: {'.'.join(path)}: stands twice, first on line {first}: keep one")
        lines[path] = key.start_mark.line + 1
        repeated += _collect_lines(value, path, lines)
    return repeated


def _faults(error: ValidationError, lines: dict[tuple[str, ...], int]) -> list[str]:
    faults: dict[tuple[str, ...], str] = {}
    for item in error.errors():
        where = tuple(str(part) for part in item["loc"])
        known = next((where[:size] for size in range(len(where), 0, -1) if where[:size] in lines), where)
        line = f"line {lines[known]}: " if known in lines else ""
        if item["type"] == "extra_forbidden":
            text = f"{'.'.join(where)}: unknown key{_nearest(where)}"
        else:
            reason = item["msg"].removeprefix("Value error, ")
            text = f"{'.'.join(known)}: {reason[0].lower()}{reason[1:]}, found {item['input']!r}"
        faults.setdefault(known, line + text)
    return list(faults.values())


def _nearest(where: tuple[str, ...]) -> str:
    """Suggest the legal key closest to the last part of `where`, in its section or in any other."""
    section: type[BaseModel] = Settings
    for part in where[:-1]:
        field = section.model_fields.get(part)
        if field is None or not isinstance(field.annotation, type):
            return ""
        section = field.annotation
    near = difflib.get_close_matches(where[-1], section.model_fields, n=1, cutoff=0.5)
    if near:
        return f"; did you mean {'.'.join((*where[:-1], near[0]))}?"
    return f"; legal keys here: {', '.join(sorted(section.model_fields))}"
