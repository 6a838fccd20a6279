"""Model bundles: what was signed is read back, and nothing that was tampered with in any way is."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.bundle import extract_bundle, read_manifest, verify_bundle, write_bundle
from models.bundle_manifest import BundleFile, BundleManifest
from models.errors import ModelError
from models.signing import PrivateKey, PublicKey, make_key_pair, trusted_keys
from tests.bundles import FILES, a_bundle, a_key, a_manifest


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the key and one sound bundle."""
    directory = tmp_path_factory.mktemp("bundle")
    a_bundle(directory / "good.bundle", a_key(directory))
    return directory


@pytest.fixture(scope="module")
def key(place: Path) -> PrivateKey:
    return PrivateKey.read(place / "key")


def test_a_bundle_is_read_back_as_it_was_written(place: Path, key: PrivateKey, tmp_path: Path) -> None:
    signed = extract_bundle(place / "good.bundle", [key.public], tmp_path)
    assert signed.manifest == a_manifest()
    assert signed.key.id == key.public.id
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == FILES


def test_any_tar_program_can_look_into_it(place: Path) -> None:
    done = subprocess.run(
        ["tar", "tf", place / "good.bundle"], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == ["manifest.json", "manifest.sig", *FILES]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_no_byte_can_be_changed(
    place: Path, key: PrivateKey, tmp_path: Path, where: float, mask: int
) -> None:
    content = bytearray((place / "good.bundle").read_bytes())
    at = int(where * len(content))
    content[at] ^= mask
    changed = tmp_path / "changed.bundle"
    changed.write_bytes(content)
    with pytest.raises(ModelError):
        verify_bundle(changed, [key.public])


def test_every_header_byte_counts(place: Path, key: PrivateKey, tmp_path: Path) -> None:
    content = (place / "good.bundle").read_bytes()
    changed = tmp_path / "changed.bundle"
    for at in range(512):
        changed.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(ModelError):
            verify_bundle(changed, [key.public])


@pytest.mark.parametrize("cut", [0, 1, 511, 512, 700, 5_000, 200_000, -1024, -512, -1])
def test_a_bundle_cut_short_is_refused(place: Path, key: PrivateKey, tmp_path: Path, cut: int) -> None:
    content = (place / "good.bundle").read_bytes()
    short = tmp_path / "short.bundle"
    short.write_bytes(content[: cut if cut >= 0 else len(content) + cut])
    with pytest.raises(ModelError, match=r"cut short|damaged|does not end"):
        verify_bundle(short, [key.public])


def test_what_comes_after_the_end_is_refused(place: Path, key: PrivateKey, tmp_path: Path) -> None:
    longer = tmp_path / "longer.bundle"
    longer.write_bytes((place / "good.bundle").read_bytes() + bytes(512))
    with pytest.raises(ModelError, match="does not end"):
        verify_bundle(longer, [key.public])


def test_a_key_that_is_not_trusted_is_refused(place: Path, tmp_path: Path) -> None:
    other = a_key(tmp_path)
    with pytest.raises(ModelError, match=other.public.id):
        read_manifest(place / "good.bundle", [other.public])
    with pytest.raises(ModelError, match="no public key is trusted yet"):
        read_manifest(place / "good.bundle", [])


def test_the_signature_of_another_bundle_does_not_fit(place: Path, key: PrivateKey, tmp_path: Path) -> None:
    a_bundle(tmp_path / "second.bundle", key, "2.0")
    mixed = _members(tmp_path / "second.bundle")
    mixed[1] = _members(place / "good.bundle")[1]
    _pack(tmp_path / "mixed.bundle", mixed)
    with pytest.raises(ModelError, match="was changed after it was signed"):
        verify_bundle(tmp_path / "mixed.bundle", [key.public])


@pytest.mark.parametrize(
    "name", ["../model.gguf", "/tmp/model.gguf", "a/b.gguf", ".hidden", "..", "x" * 81, "a\0b"]
)
def test_a_path_out_of_the_folder_cannot_even_be_signed(key: PrivateKey, tmp_path: Path, name: str) -> None:
    good = a_manifest()
    bad = BundleManifest(**{**vars(good), "files": (BundleFile(name, 1, "0" * 64),), "golden": ()})
    with pytest.raises(ModelError, match=r"files\.0\.name"):
        write_bundle(tmp_path / "bad.bundle", bad, {}, key)
    assert not list(tmp_path.glob("*.bundle*"))


@pytest.mark.parametrize("name", ["../model.gguf", "/etc/passwd", "other.gguf"])
def test_a_member_renamed_afterwards_is_refused(
    place: Path, key: PrivateKey, tmp_path: Path, name: str
) -> None:
    members = _members(place / "good.bundle")
    members[2] = (_named(members[2][0], name), members[2][1])
    _pack(tmp_path / "renamed.bundle", members)
    (tmp_path / "into").mkdir()
    with pytest.raises(ModelError, match=r"where the plain file model\.gguf must be"):
        extract_bundle(tmp_path / "renamed.bundle", [key.public], tmp_path / "into")
    assert not list((tmp_path / "into").iterdir())


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.XHDTYPE]
)
def test_links_and_folders_are_refused(place: Path, key: PrivateKey, tmp_path: Path, kind: bytes) -> None:
    members = _members(place / "good.bundle")
    members[2][0].type, members[2][0].linkname = kind, "/etc/passwd"
    _pack(tmp_path / "linked.bundle", members)
    with pytest.raises(ModelError, match="where the plain file"):
        verify_bundle(tmp_path / "linked.bundle", [key.public])


def test_a_missing_an_added_and_a_swapped_member_are_refused(
    place: Path, key: PrivateKey, tmp_path: Path
) -> None:
    members = _members(place / "good.bundle")
    for changed in (
        members[:-1],
        [*members, members[-1]],
        [*members[:2], members[3], members[2], members[4]],
    ):
        _pack(tmp_path / "changed.bundle", changed)
        with pytest.raises(ModelError):
            verify_bundle(tmp_path / "changed.bundle", [key.public])


def test_a_member_of_another_size_is_refused_before_it_is_written(
    place: Path, key: PrivateKey, tmp_path: Path
) -> None:
    members = _members(place / "good.bundle")
    members[2] = (_named(members[2][0], "model.gguf", size=1 << 40), members[2][1])
    _pack(tmp_path / "huge.bundle", members)
    (tmp_path / "into").mkdir()
    with pytest.raises(ModelError, match=r"1099511627776 bytes, and the manifest says 280000"):
        extract_bundle(tmp_path / "huge.bundle", [key.public], tmp_path / "into")
    assert not list((tmp_path / "into").iterdir())


def test_a_manifest_too_large_to_be_one_is_not_read(place: Path, key: PrivateKey, tmp_path: Path) -> None:
    members = _members(place / "good.bundle")
    members[0] = (_named(members[0][0], "manifest.json", size=1 << 40), members[0][1])
    _pack(tmp_path / "huge.bundle", members)
    with pytest.raises(ModelError, match="no bundle of ours"):
        verify_bundle(tmp_path / "huge.bundle", [key.public])


def test_a_well_signed_manifest_with_faults_names_them_all(key: PrivateKey, tmp_path: Path) -> None:
    text = b'{"name": "Toy", "version": "1.x", "role": "face_embedding", "surprise": 1, "files": []}'
    _pack(
        tmp_path / "faulty.bundle", [_member("manifest.json", text), _member("manifest.sig", key.sign(text))]
    )
    with pytest.raises(ModelError) as caught:
        read_manifest(tmp_path / "faulty.bundle", [key.public])
    for fault in ("name", "version", "role", "surprise", "files", "licence"):
        assert fault in str(caught.value)


def test_keys_are_kept_for_their_owner_and_never_overwritten(tmp_path: Path) -> None:
    public = make_key_pair(tmp_path / "mine")
    assert (tmp_path / "mine").stat().st_mode & 0o077 == 0
    assert (tmp_path / "mine.pub").read_text().strip() == public.text
    with pytest.raises(ModelError, match="never overwritten"):
        make_key_pair(tmp_path / "mine")
    assert [one.id for one in trusted_keys([], tmp_path)] == [public.id]
    assert [one.id for one in trusted_keys([public.text], tmp_path / "none")] == [public.id]


@pytest.mark.parametrize("text", ["", "not base64!", "QUJD", "é"])
def test_a_mistyped_key_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ModelError, match="public key"):
        PublicKey(text)
    (tmp_path / "bad.pub").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"bad\.pub"):
        trusted_keys([], tmp_path)


def test_a_key_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n")
    with pytest.raises(ModelError, match="holds no unencrypted private key"):
        PrivateKey.read(tmp_path / "key")
    with pytest.raises(ModelError, match="cannot read the private key"):
        PrivateKey.read(tmp_path / "absent")


def test_a_file_that_is_not_what_the_manifest_says_is_not_packed(key: PrivateKey, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"other weights!")
    row = BundleFile("model.gguf", 14, hashlib.sha256(b"these weights!").hexdigest())
    manifest = BundleManifest(**{**vars(a_manifest()), "files": (row,), "golden": ()})
    with pytest.raises(ModelError, match=r"model\.gguf has sha256"):
        write_bundle(tmp_path / "bad.bundle", manifest, {"model.gguf": tmp_path / "model.gguf"}, key)
    assert not list(tmp_path.glob("*.bundle*"))


Member = tuple[tarfile.TarInfo, bytes]


def _members(path: Path) -> list[Member]:
    with tarfile.open(path) as archive:
        return [(info, (archive.extractfile(info) or io.BytesIO()).read()) for info in archive]


def _member(name: str, content: bytes) -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return info, content


def _named(info: tarfile.TarInfo, name: str, size: int | None = None) -> tarfile.TarInfo:
    other = tarfile.TarInfo(name)
    other.size = info.size if size is None else size
    return other


def _pack(path: Path, members: list[Member]) -> None:
    """A tar of these members, whatever their headers say."""
    blocks = [
        info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512) for info, content in members
    ]
    path.write_bytes(b"".join(blocks) + bytes(1024))
