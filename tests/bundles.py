"""Small signed bundles of made-up bytes, and a trial that is passed, for tests of installing them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from models.bundle import write_bundle
from models.bundle_manifest import BundleFile, BundleManifest, GoldenCase, GoldenMessage
from models.signing import PrivateKey, make_key_pair
from models.slots import InstalledModel

FILES = {"model.gguf": b"weights" * 40_000, "picture.jpg": b"\xff\xd8 a picture", "empty.txt": b""}
CASE = GoldenCase(
    "greeting", (GoldenMessage("user", "Hello", images=("picture.jpg",)),), "Good day to you.", 8
)


def a_key(directory: Path, name: str = "key") -> PrivateKey:
    """A new key, kept in the directory."""
    make_key_pair(directory / name)
    return PrivateKey.read(directory / name)


def a_manifest(version: str = "1.0", files: Mapping[str, bytes] = FILES) -> BundleManifest:
    """What a bundle of these files says of itself."""
    rows = tuple(
        BundleFile(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()
    )
    return BundleManifest(
        name="toy-model", version=version, role="language", licence="Apache-2.0", publisher="https://example.org",
        made_utc="2026-11-30T08:00:00Z", files=rows, golden=(CASE,) if "picture.jpg" in files else (),
    )  # fmt: skip


def a_bundle(
    path: Path, key: PrivateKey, version: str = "1.0", files: Mapping[str, bytes] = FILES
) -> BundleManifest:
    """Write a signed bundle."""
    sources = path.with_name(f"{path.name}.files")
    sources.mkdir(exist_ok=True)
    for name, data in files.items():
        (sources / name).write_bytes(data)
    manifest = a_manifest(version, files)
    write_bundle(path, manifest, {name: sources / name for name in files}, key)
    return manifest


def passes(installed: InstalledModel) -> None:
    """A trial that looks at the files and is content."""
    installed.require()
