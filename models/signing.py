"""Ed25519 keys (RFC 8032): made, kept in files, and used to sign and verify; what is signed is the bundle's to say."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from models.errors import ModelError

SIGNATURE_BYTES = 64
_PUBLIC_BYTES = 32
_PRIVATE_MODE = 0o600


class PublicKey:
    """Whom a signature is from; written as the base64 of its 32 bytes."""

    def __init__(self, text: str, origin: str = "a public key") -> None:
        """Raises ModelError where the text is no key; origin: where it stood, for the message."""
        try:
            raw = base64.b64decode(text.strip(), validate=True)
        except ValueError as error:
            raise ModelError(f"{origin} is not base64: {text.strip()[:60]!r}") from error
        if len(raw) != _PUBLIC_BYTES:
            raise ModelError(f"{origin} has {len(raw)} bytes; an Ed25519 public key has {_PUBLIC_BYTES}")
        self._raw = raw
        self._key = Ed25519PublicKey.from_public_bytes(raw)

    @property
    def text(self) -> str:
        """As it stands in robot.yaml and in a .pub file."""
        return base64.b64encode(self._raw).decode()

    @property
    def id(self) -> str:
        """A short name for messages: the first 16 hexadecimal digits of its sha256."""
        return hashlib.sha256(self._raw).hexdigest()[:16]

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """Whether the owner of this key signed these bytes."""
        try:
            self._key.verify(signature, signed)
        except InvalidSignature:
            return False
        return True


class PrivateKey:
    """What signs; kept in a PKCS #8 file that its owner alone can read."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @staticmethod
    def read(path: Path) -> PrivateKey:
        """Raises ModelError where the file cannot be read or holds no unencrypted Ed25519 key."""
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except OSError as error:
            raise ModelError(f"cannot read the private key {path}: {error.strerror}") from error
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise ModelError(f"{path} holds no unencrypted private key in PEM: {error}") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise ModelError(f"{path} holds a key of another kind: Ed25519 is needed")
        return PrivateKey(key)

    @property
    def public(self) -> PublicKey:
        """The key others verify with."""
        raw = self._key.public_key().public_bytes_raw()
        return PublicKey(base64.b64encode(raw).decode())

    def sign(self, signed: bytes) -> bytes:
        """The signature, 64 bytes."""
        return self._key.sign(signed)


def make_key_pair(path: Path) -> PublicKey:
    """Make a new private key at `path` and its public key at `path`.pub. Raises ModelError where either is there."""
    public_path = path.with_name(path.name + ".pub")
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = PrivateKey(key).public
    try:
        _write_new(path, pem, _PRIVATE_MODE)
        _write_new(public_path, f"{public.text}\n".encode(), 0o644)
    except FileExistsError as error:
        raise ModelError(f"{error.filename} is there already, and a key is never overwritten") from error
    except OSError as error:
        raise ModelError(f"cannot write the key {error.filename}: {error.strerror}") from error
    return public


def trusted_keys(texts: Iterable[str], directory: Path) -> list[PublicKey]:
    """The keys given as text (robot.yaml) and those of the .pub files in a directory, which need not be there.

    Raises ModelError naming a text or file that is no key: a mistyped one must not go unnoticed.
    """
    keys = [PublicKey(text, "a key of models.trusted_keys in robot.yaml") for text in texts]
    for path in sorted(directory.glob("*.pub")):
        try:
            keys.append(PublicKey(path.read_text(encoding="ascii"), f"the key in {path}"))
        except UnicodeDecodeError as error:
            raise ModelError(f"the key in {path} is not base64") from error
        except OSError as error:
            raise ModelError(f"cannot read the key {path}: {error.strerror}") from error
    return keys


def _write_new(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as sink:
        sink.write(content)
