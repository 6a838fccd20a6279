"""The converter of llama.cpp, taken out of the pinned source distribution of the very llama-cpp-python that runs it.

Fetched once into the cache; only the converter and its gguf package are kept, the rest is thrown away.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path, PurePosixPath

from offline_tools.export.errors import ExportError

VERSION = "0.3.36"
SDIST = f"llama_cpp_python-{VERSION}.tar.gz"
SDIST_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
CONVERTER = "convert_hf_to_gguf.py"
_TREE = PurePosixPath(f"llama_cpp_python-{VERSION}/vendor/llama.cpp")
_KEPT = (CONVERTER, "conversion", "gguf-py", "LICENSE")
_READ_BYTES = 1 << 20


def cache_directory() -> Path:
    """Where things that can be fetched again are kept."""
    return Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser()


def converter(cache: Path | None = None) -> Path:
    """The folder with convert_hf_to_gguf.py, fetched where it is not there yet.

    A copy of the source distribution in the cache's `downloads` or `wheels` is taken before the registry is asked.
    Raises ExportError where it cannot be had or is not the pinned file.
    """
    cache = cache or cache_directory()
    folder = cache / f"llama.cpp-{VERSION}"
    if (folder / CONVERTER).is_file():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="llama.cpp-", suffix=".part") as workshop:
            sdist = _local(cache) or _downloaded(Path(workshop))
            _compare(sdist)
            part = Path(workshop) / "tree"
            _unpack(sdist, part)
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
    except OSError as error:
        raise ExportError(f"cannot keep llama.cpp's converter in {cache}: {error}") from error
    return folder


def _local(cache: Path) -> Path | None:
    places = (cache / "downloads" / SDIST, cache / "wheels" / SDIST)
    return next((path for path in places if path.is_file()), None)


def _downloaded(folder: Path) -> Path:
    """By pip, which prepares the package's metadata on the way, as it does when the wheel is built from it."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary=:all:", "--no-input"]
    command += ["--progress-bar=off", "--disable-pip-version-check", "--dest", str(folder)]
    done = subprocess.run(
        [*command, f"llama-cpp-python=={VERSION}"], capture_output=True, text=True, check=False
    )
    sdist = folder / SDIST
    if done.returncode or not sdist.is_file():
        said = (
            [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines() or [""]
        )
        raise ExportError(
            f"pip could not download the source of llama-cpp-python {VERSION}: {said[-1].strip()}; put {SDIST} into "
            f"{cache_directory() / 'downloads'} where there is no network"
        )
    return sdist


def _compare(sdist: Path) -> None:
    digest = sha256()
    with sdist.open("rb") as source:
        while block := source.read(_READ_BYTES):
            digest.update(block)
    if digest.hexdigest() != SDIST_SHA256:
        raise ExportError(
            f"{sdist} has sha256 {digest.hexdigest()[:12]}…, not the pinned {SDIST_SHA256[:12]}…: remove it"
        )


def _unpack(sdist: Path, target: Path) -> None:
    """Plain files of the kept parts alone, each inside `target`."""
    try:
        with tarfile.open(sdist) as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                if not (member.isreg() and path.is_relative_to(_TREE)):
                    continue
                inner = path.relative_to(_TREE)
                if inner.parts[0] in _KEPT:
                    member.name = str(inner)
                    archive.extract(member, target, filter="data")
    except tarfile.TarError as error:
        raise ExportError(f"{sdist} cannot be opened: {error}") from error
    if not (target / CONVERTER).is_file():
        raise ExportError(f"{sdist} holds no {_TREE / CONVERTER}")
