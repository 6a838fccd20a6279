"""The two slots: a bundle serves once it was tried, never an older one by accident, and the way back stays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from models.bundle_manifest import BundleManifest
from models.errors import ModelError
from models.signing import PrivateKey
from models.slots import FOLDER, InstalledModel, Slots
from tests.bundles import FILES, a_bundle, a_key, passes

V1, V2, V10 = "1.9", "1.10", "10"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundles of three versions."""
    directory = tmp_path_factory.mktemp("bundles")
    key = a_key(directory)
    for version in (V1, V2, V10):
        a_bundle(
            directory / f"{version}.bundle", key, version, FILES | {"model.gguf": version.encode() * 999}
        )
    return directory


@pytest.fixture
def install(place: Path, tmp_path: Path) -> Install:
    return Install(place, Slots(tmp_path), PrivateKey.read(place / "key"))


class Install:
    """Installs the bundle of a version."""

    def __init__(self, place: Path, slots: Slots, key: PrivateKey) -> None:
        self.place, self.slots, self.key = place, slots, key

    def __call__(self, version: str, *, allow_older: bool = False) -> InstalledModel:
        path = self.place / f"{version}.bundle"
        return self.slots.install(path, [self.key.public], passes, allow_older=allow_older)

    @property
    def serving(self) -> str | None:
        active = self.slots.active()
        if active is None:
            return None
        assert (active.require() / "model.gguf").read_bytes() == active.manifest.version.encode() * 999
        return active.manifest.version


def test_each_bundle_takes_the_slot_that_does_not_serve(install: Install) -> None:
    assert install.slots.active() is None
    assert [install(version).slot for version in (V1, V2, V10)] == ["a", "b", "a"]
    assert install.serving == V10


def test_the_way_back_leads_to_what_served_before_and_forth_again(install: Install) -> None:
    with pytest.raises(ModelError, match="nothing was installed"):
        install.slots.rollback()
    install(V1)
    assert install.slots.rollback() is None
    assert install.serving is None
    install.slots.rollback()
    install(V2)
    install.slots.rollback()
    assert install.serving == V1
    install.slots.rollback()
    assert install.serving == V2


def test_an_older_version_is_refused_unless_asked_for(install: Install) -> None:
    install(V2)
    with pytest.raises(ModelError, match=r"1\.9 is older than 1\.10"):
        install(V1)
    assert install.serving == V2
    install(V1, allow_older=True)
    assert install.serving == V1
    install.slots.rollback()
    with pytest.raises(ModelError, match="is older"):
        install(V1)


def test_the_same_version_with_other_content_is_refused(install: Install, tmp_path: Path) -> None:
    install(V2)
    install(V2)  # the very same: put in again, as a repair
    a_bundle(tmp_path / "other.bundle", install.key, V2, {"model.gguf": b"other"})
    with pytest.raises(ModelError, match=r"another toy-model 1\.10"):
        install.slots.install(tmp_path / "other.bundle", [install.key.public], passes)
    assert install.serving == V2


def test_a_model_that_fails_its_trial_never_serves(install: Install) -> None:
    install(V1)
    install(V2)

    def fails(installed: InstalledModel) -> None:
        assert installed.require().is_dir()
        raise ModelError("it answers nonsense")

    with pytest.raises(ModelError, match="nonsense"):
        install.slots.install(install.place / "10.bundle", [install.key.public], fails)
    assert install.serving == V2
    install.slots.rollback()
    assert install.serving == V1, "the way back was kept"
    with pytest.raises(ModelError, match="is older"):
        install(V1)  # 1.10 served; 10 never did
    install(V10)


def test_a_damaged_bundle_leaves_both_slots_as_they_were(install: Install, tmp_path: Path) -> None:
    install(V1)
    install(V2)
    damaged = tmp_path / "damaged.bundle"
    content = bytearray((install.place / "10.bundle").read_bytes())
    content[-3000] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(ModelError):
        install.slots.install(damaged, [install.key.public], passes)
    assert install.serving == V2
    assert not list((tmp_path / FOLDER).glob("*.part"))
    install.slots.rollback()
    assert install.serving == V1


def test_a_file_changed_in_the_slot_is_noticed_and_a_way_out_named(install: Install) -> None:
    installed = install(V1)
    path = installed.require() / "model.gguf"
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(ModelError, match=r"rollback"):
        install.slots.active().require()  # type: ignore[union-attr]
    install(V1)
    assert install.serving == V1


def test_the_way_back_is_not_taken_to_a_damaged_model(install: Install) -> None:
    first = install(V1)
    install(V2)
    (first.require() / "model.gguf").unlink()
    with pytest.raises(ModelError, match=r"1\.9: file model\.gguf is missing"):
        install.slots.rollback()
    assert install.serving == V2
    shutil.rmtree(first.root)
    with pytest.raises(ModelError, match="slot a"):
        install.slots.rollback()
    assert install.serving == V2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"active": "c"}', '{"active": "a", "more": 1}'])
def test_a_damaged_state_is_said_with_the_cure(install: Install, tmp_path: Path, text: str) -> None:
    install(V1)
    (tmp_path / FOLDER / "state.json").write_text(text)
    with pytest.raises(ModelError, match=r"state\.json is damaged: remove it"):
        install.slots.active()


def test_two_installations_at_once_are_refused(install: Install) -> None:
    def meanwhile(installed: InstalledModel) -> None:
        with pytest.raises(ModelError, match="another installation"):
            install(V2)

    install.slots.install(install.place / f"{V1}.bundle", [install.key.public], meanwhile)
    assert install.serving == V1


def test_versions_are_compared_as_numbers() -> None:
    def order(version: str) -> tuple[int, ...]:
        return BundleManifest("m", version, "language", "", "", "", ()).order

    assert order("1.10") > order("1.9") > order("1.0") == order("1")
    assert order("0.0.1") > order("0")


def test_the_state_is_plain_to_read(install: Install, tmp_path: Path) -> None:
    install(V1)
    state = json.loads((tmp_path / FOLDER / "state.json").read_text())
    assert (state["active"], state["before"], state["newest"]["toy-model"]["order"]) == ("a", None, [1, 9])
