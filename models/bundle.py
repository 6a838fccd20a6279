"""A model bundle: one file with a signed manifest and the files it lists, written here and read strictly.

The file is a plain tar: manifest.json, manifest.sig, then the files in the manifest's order, and nothing else. Its
headers are read one by one (tarfile.TarInfo), since nothing of it may be trusted before the signature is checked,
and nothing but what the signed manifest promises is ever written.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from models.bundle_manifest import MAX_MANIFEST_BYTES, BundleFile, BundleManifest
from models.errors import ModelError
from models.signing import SIGNATURE_BYTES, PrivateKey, PublicKey
from models.stored_files import put_in_place

MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
_BLOCK = tarfile.BLOCKSIZE
_COPY_BYTES = 1 << 20
_END = bytes(2 * _BLOCK)

Progress = Callable[[str, int, int], None]  # file, bytes of the bundle done, bytes in all


def _silent(name: str, done: int, total: int) -> None:
    return


@dataclass(frozen=True)
class SignedManifest:
    """A manifest whose signature was checked: parsed, and as the bytes that were signed."""

    manifest: BundleManifest
    text: bytes
    signature: bytes
    key: PublicKey


def write_bundle(path: Path, manifest: BundleManifest, sources: Mapping[str, Path], key: PrivateKey) -> None:
    """Write and sign a bundle; `sources` says where each file of the manifest lies.

    It appears under its name only when it is whole. Raises ModelError where a file cannot be read or is not what
    the manifest says.
    """
    part = path.with_name(path.name + ".part")
    text = manifest.to_bytes()
    try:
        with part.open("wb") as sink:
            for name, content in ((MANIFEST, text), (SIGNATURE, key.sign(text))):
                sink.write(_header(name, len(content)) + content + _padding(len(content)))
            for file in manifest.files:
                sink.write(_header(file.name, file.bytes))
                with sources[file.name].open("rb") as source:
                    _copy(source, sink, file, lambda _: None)
                sink.write(_padding(file.bytes))
            sink.write(_END)
        put_in_place(part, path)
    except OSError as error:
        raise ModelError(f"cannot write the bundle {path}: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def read_manifest(path: Path, trusted: Sequence[PublicKey]) -> SignedManifest:
    """The manifest of a bundle, after checking its signature; its files are not read.

    Raises ModelError where no trusted key made the signature, or the file is no bundle.
    """
    with _opened(path) as source:
        return _read_signed(path, source, trusted)


def verify_bundle(path: Path, trusted: Sequence[PublicKey], progress: Progress = _silent) -> SignedManifest:
    """Read the whole bundle and compare every byte with the manifest. Raises ModelError as `extract_bundle` does."""
    with _opened(path) as source, open(os.devnull, "wb") as sink:
        signed = _read_signed(path, source, trusted)
        for file, told in _files(path, source, signed, progress):
            _copy(source, sink, file, told)
    return signed


def extract_bundle(
    path: Path, trusted: Sequence[PublicKey], directory: Path, progress: Progress = _silent
) -> SignedManifest:
    """Write the files into an empty directory, each made durable once its size and sha256 have been compared.

    Raises ModelError where the signature is not a trusted key's, or the bundle is cut short, lacks a file, holds
    another or more than the manifest lists, or a byte of it was changed. What was written until then stays.
    """
    with _opened(path) as source:
        signed = _read_signed(path, source, trusted)
        for file, told in _files(path, source, signed, progress):
            part = directory / f"{file.name}.part"
            with part.open("xb") as sink:
                _copy(source, sink, file, told)
            put_in_place(part, directory / file.name)
    return signed


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") as source:
            yield source
    except OSError as error:
        raise ModelError(f"cannot read or write the bundle's files ({path}): {error}") from error


def _read_signed(path: Path, source: IO[bytes], trusted: Sequence[PublicKey]) -> SignedManifest:
    size = _member(path, source, MANIFEST)
    if size > MAX_MANIFEST_BYTES:
        raise ModelError(
            f"{path} says its manifest has {size} bytes; {MAX_MANIFEST_BYTES} are the most: no bundle of ours"
        )
    text = _content(path, source, size)
    size = _member(path, source, SIGNATURE)
    if size != SIGNATURE_BYTES:
        raise ModelError(f"{path} has a signature of {size} bytes, not {SIGNATURE_BYTES}: no bundle of ours")
    signature = _content(path, source, size)
    if not trusted:
        raise ModelError(
            "no public key is trusted yet: put it into models.trusted_keys in robot.yaml, or its .pub file into "
            "trusted_keys in the models directory"
        )
    for key in trusted:
        if key.verifies(signature, text):
            return SignedManifest(BundleManifest.parse(text), text, signature, key)
    ids = ", ".join(key.id for key in trusted)
    raise ModelError(
        f"{path} was changed after it was signed, or was signed by a key that is not trusted (trusted: {ids})"
    )


def _files(
    path: Path, source: IO[bytes], signed: SignedManifest, progress: Progress
) -> Iterator[tuple[BundleFile, Callable[[int], None]]]:
    """Each file the manifest lists, once its header was compared; the caller reads exactly its bytes in between."""
    done, total = 0, signed.manifest.bytes
    for file in signed.manifest.files:
        size = _member(path, source, file.name)
        if size != file.bytes:
            raise ModelError(f"{path}: {file.name} has {size} bytes, and the manifest says {file.bytes}")
        yield file, lambda read, name=file.name, before=done: progress(name, before + read, total)  # type: ignore[misc]
        _skip_padding(path, source, size)
        done += size
    if source.read(len(_END) + 1) != _END:
        raise ModelError(f"{path} does not end where its manifest ends: it holds more, or was cut short")


def _member(path: Path, source: IO[bytes], name: str) -> int:
    """The size of the next member, which must be a plain file of that very name."""
    block = source.read(_BLOCK)
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError) as error:
        raise ModelError(
            f"{path} is cut short or damaged, or no bundle: {name} was expected ({error})"
        ) from error
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.name != name or info.size < 0:
        raise ModelError(f"{path} holds {info.name[:100]!r} where the plain file {name} must be")
    if block != _header(name, info.size):
        raise ModelError(f"{path}: the header of {name} was changed")
    return info.size


def _content(path: Path, source: IO[bytes], size: int) -> bytes:
    content = source.read(size)
    if len(content) != size:
        raise ModelError(f"{path} is cut short")
    _skip_padding(path, source, size)
    return content


def _copy(source: IO[bytes], sink: IO[bytes], file: BundleFile, told: Callable[[int], None]) -> None:
    """Copy exactly the file's bytes, and compare their sha256."""
    digest, left = hashlib.sha256(), file.bytes
    while left:
        block = source.read(min(left, _COPY_BYTES))
        if not block:
            raise ModelError(f"{file.name} is cut short: {left} of its {file.bytes} bytes are missing")
        digest.update(block)
        sink.write(block)
        left -= len(block)
        told(file.bytes - left)
    found = digest.hexdigest()
    if found != file.sha256:
        raise ModelError(f"{file.name} has sha256 {found[:12]}…, and the manifest says {file.sha256[:12]}…")


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    info.mode = 0o644
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "strict")


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


def _skip_padding(path: Path, source: IO[bytes], size: int) -> None:
    wanted = _padding(size)
    if source.read(len(wanted)) != wanted:
        raise ModelError(f"{path} is cut short or damaged")
