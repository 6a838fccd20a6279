"""The manifest: strict loading, the entries others rely on, and checking a model's files when it is loaded."""

import os
from pathlib import Path

import pytest

from models.errors import ModelError
from models.fetch import list_models, verify
from models.manifest import Entry, Manifest, Source
from models.stored_files import VERIFIED
from tests.carrier_wheels import entry, file, joined_model, manifest

DATA = b"weights" * 1000
CACHE = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "models"
DEFAULTS = {
    "face_detection": "yunet",
    "face_embedding": "sface",
    "objects": "ssd-mobilenet-v2-coco",
    "appearance": "mobilenet-v3-small",
    "voice_activity": "silero-vad",
    "speaker_turns": "pyannote-segmentation-3",
    "voice_embedding": "campplus-zh-en",
    "speech_recognition": "whisper-base",
    "speech_synthesis": "piper-joe",
    "text_embedding": "multilingual-e5-small",
    "dictionary": "cc-cedict",
    "language": "qwen2.5-coder-0.5b",
}


@pytest.fixture
def model(tmp_path: Path) -> Entry:
    """A model of one file, whole on disk."""
    one = entry("toy", Source((file("toy.onnx", DATA),), url="https://example.org/toy.onnx"))
    directory = one.directory(tmp_path)
    directory.mkdir()
    (directory / "toy.onnx").write_bytes(DATA)
    return one


def test_every_role_has_its_default() -> None:
    loaded = Manifest.load()
    assert {one.role: one.id for one in loaded.defaults()} == DEFAULTS
    for role, dimension in (("face_embedding", 128), ("voice_embedding", 192), ("text_embedding", 384)):
        assert loaded.default(role).dimension == dimension


def test_identity_thresholds_are_in_order() -> None:
    for role in ("face_embedding", "voice_embedding", "appearance"):
        limits = Manifest.load().default(role).thresholds
        assert 0 < limits["margin"] < limits["unsure"] < limits["match"] < 1, role


def test_everything_not_for_production_is_pinned() -> None:
    for one in Manifest.load().entries:
        if one.tier != "production":
            assert one.files, one.id
            assert all(each.bytes and each.sha256 for each in one.files), one.id


def test_main_and_projector_files_are_told_apart() -> None:
    loaded = Manifest.load()
    omni = loaded.entry("qwen2.5-omni-7b")
    assert omni.main_file.endswith("Q4_K_M.gguf")
    assert omni.mmproj_file is not None and omni.mmproj_file.startswith("mmproj")
    assert loaded.entry("qwen2.5-coder-0.5b").mmproj_file is None


def test_unknown_model_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r"no model 'yunett'.*yunet, sface"):
        Manifest.load().entry("yunett")


def test_role_without_default_is_refused() -> None:
    with pytest.raises(ModelError, match="no default model for 'omni'"):
        Manifest.load().default("omni")


def test_all_faults_are_reported_together(tmp_path: Path) -> None:
    path = tmp_path / "manifest.yaml"
    path.write_text(
        "carriers: {}\nmodels:\n"
        "  a: {role: r, tier: default, licence: MIT, publisher: p, colour: red, sources: []}\n"
        "  b: {role: r, tier: sometimes, licence: MIT, publisher: p, sources: []}\n"
    )
    with pytest.raises(ModelError, match=r"entries\.0\.colour.*entries\.1\.tier"):
        Manifest.load(path)


@pytest.mark.parametrize(
    ("sources", "fault"),
    [
        ("[{files: [{name: f, bytes: 2, sha256: x}]}]", "needs members or a url"),
        (
            "[{files: [{name: f, bytes: 2, sha256: x}], members: [{carrier: c, path: p, bytes: 2, sha256: x}]}]",
            "unknown carrier c",
        ),
        ("[{url: u, files: [{name: ../f}]}]", "file names must be plain"),
        ("[{url: u, files: [{name: f}, {name: g}]}]", "makes one file"),
        ("[{url: u, convert: e5, files: [{name: f}]}]", "exactly one member"),
    ],
)
def test_impossible_sources_are_refused(tmp_path: Path, sources: str, fault: str) -> None:
    path = tmp_path / "manifest.yaml"
    row = f"{{role: r, tier: default, licence: MIT, publisher: p, sources: {sources}}}"
    path.write_text(f"carriers: {{}}\nmodels:\n  a: {row}\n")
    with pytest.raises(ModelError, match=fault):
        Manifest.load(path)


def test_two_defaults_of_a_role_are_refused(tmp_path: Path) -> None:
    row = "{role: r, tier: default, licence: MIT, publisher: p, sources: []}"
    path = tmp_path / "manifest.yaml"
    path.write_text(f"carriers: {{}}\nmodels:\n  a: {row}\n  b: {row}\n")
    with pytest.raises(ModelError, match="role r has several defaults"):
        Manifest.load(path)


def test_unreadable_manifest_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot read the model manifest"):
        Manifest.load(tmp_path / "none.yaml")


def test_whole_model_is_accepted(model: Entry, tmp_path: Path) -> None:
    assert model.require(tmp_path) == tmp_path / "toy"


def test_missing_file_is_named_with_the_cure(model: Entry, tmp_path: Path) -> None:
    (tmp_path / "toy/toy.onnx").unlink()
    with pytest.raises(
        ModelError, match=r"model toy: file toy.onnx is missing: run `hearsight models fetch toy`"
    ):
        model.require(tmp_path)


def test_file_cut_short_is_named_with_its_size(model: Entry, tmp_path: Path) -> None:
    (tmp_path / "toy/toy.onnx").write_bytes(DATA[:100])
    with pytest.raises(ModelError, match=r"file toy.onnx has 100 of 7000 bytes: run"):
        model.require(tmp_path)


def test_changed_file_is_found_although_it_was_verified(model: Entry, tmp_path: Path) -> None:
    model.require(tmp_path)
    path = tmp_path / "toy/toy.onnx"
    path.write_bytes(b"x" * len(DATA))
    os.utime(path, ns=(1, 1))
    with pytest.raises(ModelError, match=r"file toy.onnx has sha256"):
        model.require(tmp_path)


def test_unchanged_file_is_hashed_once(model: Entry, tmp_path: Path) -> None:
    """Content changed behind the back of size and time is seen by verify, not by every start."""
    model.require(tmp_path)
    path = tmp_path / "toy/toy.onnx"
    stamp = path.stat().st_mtime_ns
    path.write_bytes(b"x" * len(DATA))
    os.utime(path, ns=(stamp, stamp))
    model.require(tmp_path)
    assert [one.state for one in verify(manifest([model]), tmp_path)] == ["corrupt"]


def test_damaged_sidecar_costs_one_hashing(model: Entry, tmp_path: Path) -> None:
    (tmp_path / "toy" / VERIFIED).write_text("[1, 2")
    model.require(tmp_path)
    assert "toy.onnx" in (tmp_path / "toy" / VERIFIED).read_text()


def test_model_without_files_points_to_its_publisher(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"got from https://huggingface.co/ByteDance-Seed/M3-Agent-Control by hand"
    ):
        Manifest.load().entry("m3-agent-control").require(tmp_path)


def test_list_tells_the_states_apart(model: Entry, tmp_path: Path) -> None:
    others = joined_model(tmp_path / "mirror")
    both = manifest([model, *others.entries])
    (tmp_path / "big").mkdir()
    (tmp_path / "big/big.gguf").write_bytes(b"half")
    states = {one.entry.id: (one.state, one.bytes) for one in list_models(both, tmp_path)}
    assert states == {"toy": ("ok", len(DATA)), "big": ("partial", 4), "small": ("missing", 0)}


def test_the_default_set_on_this_machine_is_right() -> None:
    defaults = Manifest.load().defaults()
    if not all(one.directory(CACHE).is_dir() for one in defaults):
        pytest.skip("the default models are not fetched: run `hearsight models fetch`")
    for one in defaults:
        one.require(CACHE)
