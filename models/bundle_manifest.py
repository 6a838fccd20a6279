"""What a model bundle says of itself: its files, what the model is for, and the golden cases it must still answer.

The bytes of this manifest are what is signed; models/bundle.py reads and writes the file around it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from models.errors import ModelError
from models.language import Role
from models.manifest import Entry, Source
from models.stored_files import ModelFile

MAX_MANIFEST_BYTES = 4 << 20
MAX_FILES = 256
_STRICT = ConfigDict(extra="forbid")

BundleRole = Literal["language", "omni"]
# Plain names that no file system reads as anything else; a folder, a hidden file or a part never has one.
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$", max_length=80)]
ModelName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=60)]
Version = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){0,3}$")]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class BundleFile:
    """One file of the bundle, in the order in which they follow the manifest."""

    __pydantic_config__ = _STRICT
    name: FileName
    bytes: Annotated[int, Field(ge=0)]
    sha256: Sha256


@dataclass(frozen=True)
class GoldenMessage:
    """One turn of a golden case; images (JPEG) and sounds (WAV, mono 16 kHz) are files of the bundle."""

    __pydantic_config__ = _STRICT
    role: Role
    content: str
    images: tuple[FileName, ...] = ()
    sounds: tuple[FileName, ...] = ()


@dataclass(frozen=True)
class GoldenCase:
    """A prompt with the answer this very model gave to it when it was exported, at temperature 0."""

    __pydantic_config__ = _STRICT
    id: str
    messages: Annotated[tuple[GoldenMessage, ...], Field(min_length=1)]
    answer: str
    max_tokens: Annotated[int, Field(ge=1, le=4096)] = 64


@dataclass(frozen=True)
class BundleManifest:
    """A bundle's own description.

    files[0] is the model; another whose name begins with "mmproj" is its projector. made_of: the checkpoint it
    came from, and with what; least_golden: the mean agreement (0 to 1) with the golden answers below which an
    installation is refused; accuracy: what the export measured, step by step.
    """

    __pydantic_config__ = _STRICT
    name: ModelName
    version: Version
    role: BundleRole
    licence: str
    publisher: str
    made_utc: str
    files: Annotated[tuple[BundleFile, ...], Field(min_length=1, max_length=MAX_FILES)]
    golden: tuple[GoldenCase, ...] = ()
    least_golden: Annotated[float, Field(ge=0, le=1)] = 0.8
    languages: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    made_of: Mapping[str, str] = field(default_factory=dict)
    accuracy: Mapping[str, Any] = field(default_factory=dict)
    format: Literal[1] = 1

    @staticmethod
    def parse(text: bytes) -> BundleManifest:
        """Read a manifest strictly. Raises ModelError with all faults together."""
        try:
            manifest = _DOCUMENT.validate_json(text)
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
            )
            raise ModelError(f"the bundle's manifest has faults: {faults}") from error
        faults = "; ".join(manifest._faults())
        if faults:
            raise ModelError(f"the bundle's manifest has faults: {faults}")
        return manifest

    def to_bytes(self) -> bytes:
        """As it is signed. Raises ModelError where `parse` would refuse it."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()
        if len(text) > MAX_MANIFEST_BYTES:
            raise ModelError(
                f"the bundle's manifest has {len(text)} bytes, more than {MAX_MANIFEST_BYTES}: fewer golden cases"
            )
        self.parse(text)
        return text

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def order(self) -> tuple[int, ...]:
        """The version as numbers, so that 1.10 is newer than 1.9 and 1.0 is 1."""
        numbers = [int(part) for part in self.version.split(".")]
        while len(numbers) > 1 and numbers[-1] == 0:
            numbers.pop()
        return tuple(numbers)

    @property
    def entry(self) -> Entry:
        """The model as the manifest of models would list it, so that it is checked and loaded like any other."""
        files = tuple(ModelFile(file.name, file.bytes, file.sha256) for file in self.files)
        return Entry(
            id=self.name,
            role=self.role,
            tier="alternative",
            licence=self.licence,
            publisher=self.publisher,
            sources=(Source(files=files, url=self.publisher),),
            revision=self.version,
            languages=self.languages,
            prefixes=self.prefixes,
            thresholds=self.thresholds,
        )

    def _faults(self) -> Iterator[str]:
        names = [file.name.lower() for file in self.files]
        yield from (f"files: {name} is there twice" for name in sorted(set(names)) if names.count(name) > 1)
        ids = [case.id for case in self.golden]
        yield from (f"golden: {id} is there twice" for id in sorted(set(ids)) if ids.count(id) > 1)
        known = {file.name for file in self.files}
        for case in self.golden:
            media = {name for message in case.messages for name in (*message.images, *message.sounds)}
            yield from (f"golden.{case.id}: {name} is no file of it" for name in sorted(media - known))
        if self.role == "omni" and self.entry.mmproj_file is None:
            yield "files: an omni model needs its mmproj file"


_DOCUMENT = TypeAdapter(BundleManifest)
