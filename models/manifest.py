"""The model manifest: which models there are, where their files come from and what their thresholds are.

Fetching the files is left to models/fetch.py; what a model's numbers mean, to the module that runs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from models.errors import ModelError
from models.stored_files import ModelFile, check_file

MANIFEST_PATH = Path(__file__).with_name("manifest.yaml")

Tier = Literal["default", "alternative", "production"]
Conversion = Literal["campplus", "pyannote", "e5", "cedict"]
_STRICT = ConfigDict(extra="forbid")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same, compiled


@dataclass(frozen=True)
class Carrier:
    """A registry package of a pinned version that happens to hold model files; opened, never installed."""

    __pydantic_config__ = _STRICT
    version: str
    bytes: int


@dataclass(frozen=True)
class Member:
    """One file inside a carrier."""

    __pydantic_config__ = _STRICT
    carrier: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Source:
    """How some files of a model come about.

    The members, joined in order, are the one file, or are converted into the files. `url` is the publisher's
    copy of the same bytes (of the single member, where there is a conversion).
    """

    __pydantic_config__ = _STRICT
    files: tuple[ModelFile, ...] = ()
    members: tuple[Member, ...] = ()
    url: str | None = None
    convert: Conversion | None = None


@dataclass(frozen=True)
class Entry:
    """A model: its role, licence, sources, thresholds and shapes."""

    __pydantic_config__ = _STRICT
    id: str
    role: str
    tier: Tier
    licence: str
    publisher: str
    sources: tuple[Source, ...]
    revision: str | None = None
    note: str = ""
    input: str = ""
    output: str = ""
    dimension: int = 0
    languages: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)

    @property
    def default(self) -> bool:
        """Whether this is the model of its role unless another is chosen."""
        return self.tier == "default"

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """All files of the model, in the order of the manifest."""
        return tuple(file for source in self.sources for file in source.files)

    @property
    def bytes(self) -> int:
        """The size of all files whose size is known."""
        return sum(file.bytes or 0 for file in self.files)

    @property
    def main_file(self) -> str:
        """The name of the file a loader opens: the first one."""
        if not self.files:
            raise ModelError(f"model {self.id} lists no files; it is got from {self.publisher} by hand")
        return self.files[0].name

    @property
    def mmproj_file(self) -> str | None:
        """The name of the projector that gives a language model eyes and ears, or None."""
        return next((file.name for file in self.files if file.name.startswith("mmproj")), None)

    def directory(self, models_dir: Path) -> Path:
        """Where the files of the model lie."""
        return models_dir.expanduser() / self.id

    def require(self, models_dir: Path) -> Path:
        """The directory, after checking that every file is there, whole and right.

        Hashing happens once; an unchanged file costs a stat. Raises ModelError naming the file and the cure.
        """
        directory = self.directory(models_dir)
        if not self.files:
            raise ModelError(f"model {self.id} lists no files; it is got from {self.publisher} by hand")
        for file in self.files:
            check = check_file(directory, file)
            if check.state != "ok":
                raise ModelError(f"model {self.id}: {check.problem}: run `hearsight models fetch {self.id}`")
        return directory


@dataclass(frozen=True)
class Manifest:
    """All carriers and entries."""

    carriers: Mapping[str, Carrier]
    entries: tuple[Entry, ...]

    @staticmethod
    def load(path: Path | None = None) -> "Manifest":
        """Read a manifest file, by default the one of this package. All faults are reported together."""
        path = path or MANIFEST_PATH
        try:
            document = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
        except (OSError, yaml.YAMLError) as error:
            raise ModelError(f"cannot read the model manifest {path}: {error}") from error
        try:
            manifest = _DOCUMENT.validate_python(_with_ids(document))
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
            )
            raise ModelError(f"the model manifest {path} has faults: {faults}") from error
        faults = "; ".join(_faults(manifest))
        if faults:
            raise ModelError(f"the model manifest {path} has faults: {faults}")
        return manifest

    def entry(self, id: str) -> Entry:
        """The entry of this id. Raises ModelError listing those there are."""
        for entry in self.entries:
            if entry.id == id:
                return entry
        known = ", ".join(entry.id for entry in self.entries)
        raise ModelError(f"the manifest has no model {id!r}; it has: {known}")

    def default(self, role: str) -> Entry:
        """The default model of a role. Raises ModelError where there is none."""
        for entry in self.entries:
            if entry.role == role and entry.default:
                return entry
        known = ", ".join(sorted({entry.role for entry in self.entries if entry.default}))
        raise ModelError(f"the manifest has no default model for {role!r}; it has one for: {known}")

    def defaults(self) -> tuple[Entry, ...]:
        """The default model of every role."""
        return tuple(entry for entry in self.entries if entry.default)


_DOCUMENT = TypeAdapter(Manifest, config=None)


def _with_ids(document: Any) -> Any:
    """The YAML maps ids to entries; the records carry their id."""
    if not isinstance(document, dict) or not isinstance(document.get("models"), dict):
        return document
    rows = [{"id": id, **row} if isinstance(row, dict) else row for id, row in document["models"].items()]
    return {key: value for key, value in document.items() if key != "models"} | {"entries": rows}


def _faults(manifest: Manifest) -> list[str]:
    """What the types cannot say: one default a role, known carriers, sizes that add up, plain file names."""
    faults = []
    roles = [entry.role for entry in manifest.defaults()]
    faults += [f"role {role} has several defaults" for role in sorted(set(roles)) if roles.count(role) > 1]
    for entry in manifest.entries:
        names = [file.name for file in entry.files]
        if len(set(names)) < len(names) or any(Path(name).name != name for name in names):
            faults.append(f"{entry.id}: file names must be plain and differ")
        for source in entry.sources:
            faults += [f"{entry.id}: {fault}" for fault in _source_faults(manifest, source)]
    return faults


def _source_faults(manifest: Manifest, source: Source) -> list[str]:
    faults = [
        f"unknown carrier {member.carrier}"
        for member in source.members
        if member.carrier not in manifest.carriers
    ]
    if not source.members and source.url is None:
        faults.append("a source needs members or a url")
    if source.members and any(file.sha256 is None or file.bytes is None for file in source.files):
        faults.append("a file made from members needs its bytes and sha256")
    if source.convert is not None and len(source.members) != 1:
        faults.append("a conversion takes exactly one member")
    if source.convert is None and len(source.files) > 1:
        faults.append("without a conversion a source makes one file")
    joined = sum(member.bytes for member in source.members)
    if source.convert is None and source.members and [file.bytes for file in source.files] != [joined]:
        faults.append(f"the members hold {joined} bytes, the file another number")
    return faults
