"""Two slots for the language model: a bundle is installed into the one that does not serve, tried, then switched to.

Everything stands in the folder `bundles` of the models directory; which slot serves is one small file that is replaced
whole, so that a power cut leaves either the old model or the new one serving, never half of one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from models.bundle import MANIFEST, SIGNATURE, Progress, SignedManifest, extract_bundle, read_manifest
from models.bundle_manifest import BundleManifest
from models.errors import ModelError
from models.manifest import Entry
from models.signing import PublicKey
from models.stored_files import check_file, mark_verified, put_in_place

Slot = Literal["a", "b"]
FOLDER = "bundles"
TRUSTED_KEYS = "trusted_keys"
_STATE = "state.json"
_LOCK = ".install.lock"
_SPARE_BYTES = 200 << 20
_INCOMING = "incoming.part"
_OUTGOING = "outgoing-{}.part"


@dataclass(frozen=True)
class Seen:
    """The newest version of a model that ever served here, and the sha256 of its manifest."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    order: tuple[int, ...]
    manifest_sha256: str


@dataclass(frozen=True)
class SlotState:
    """Which slot serves, which served before it (None: the manifest's own model), and what was seen, by name."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    active: Slot | None = None
    before: Slot | None = None
    newest: Mapping[str, Seen] = field(default_factory=dict)


@dataclass(frozen=True)
class InstalledModel:
    """The bundle of a slot, as a model of its own: `root` is to its entry what the models directory is to others."""

    slot: Slot
    root: Path
    manifest: BundleManifest

    @property
    def entry(self) -> Entry:
        """Its entry; `entry.directory(root)` holds its files."""
        return self.manifest.entry

    def require(self) -> Path:
        """The directory of its files, after checking that all are there and whole. Raises ModelError with the cure."""
        directory = self.entry.directory(self.root)
        for file in self.entry.files:
            check = check_file(directory, file)
            if check.state != "ok":
                raise ModelError(
                    f"the installed model {self.manifest.name} {self.manifest.version}: {check.problem}: install its "
                    "bundle again, or go back with `hearsight models rollback`"
                )
        return directory


Trial = Callable[[InstalledModel], None]  # raises ModelError where the model does not do what it must

_STATE_DOCUMENT = TypeAdapter(SlotState)


class Slots:
    """The two slots of a models directory. Raises ModelError for everything that is wrong."""

    def __init__(self, models_dir: Path) -> None:
        self._folder = models_dir.expanduser() / FOLDER

    def state(self) -> SlotState:
        """What serves now; the empty state where nothing was ever installed."""
        path = self._folder / _STATE
        try:
            return _STATE_DOCUMENT.validate_json(path.read_bytes())
        except FileNotFoundError:
            return SlotState()
        except OSError as error:
            raise ModelError(f"cannot read {path}: {error.strerror}") from error
        except ValidationError as error:
            raise ModelError(
                f"{path} is damaged: remove it to go back to the manifest's model, then install the bundle again"
            ) from error

    def active(self) -> InstalledModel | None:
        """The model that serves, or None while none is installed."""
        slot = self.state().active
        return None if slot is None else self._model(slot)

    def model(self, slot: Slot) -> InstalledModel | None:
        """The model of a slot, whether it serves or not; None where it is empty or damaged."""
        try:
            return self._model(slot)
        except ModelError:
            return None

    def install(
        self,
        path: Path,
        trusted: Sequence[PublicKey],
        trial: Trial,
        *,
        allow_older: bool = False,
        progress: Progress | None = None,
    ) -> InstalledModel:
        """Verify a bundle, write it beside the slots, try it, put it into the idle slot and switch.

        Whatever goes wrong before the switch, the slot that serves goes on serving, and so does the way back.
        """
        with self._only_one():
            signed = read_manifest(path, trusted)
            state = self.state()
            self._refuse_older(state, signed, allow_older)
            idle: Slot = "b" if state.active == "a" else "a"
            incoming = InstalledModel(idle, self._folder / _INCOMING, signed.manifest)
            self._write(path, trusted, incoming, progress)
            trial(incoming)
            self._put_into_slot(idle)
            self._switch(SlotState(idle, state.active, _newest(state, signed)))
            return self._model(idle)

    def rollback(self) -> InstalledModel | None:
        """Switch to what served before; None: that was the manifest's own model. Twice leads back again."""
        with self._only_one():
            state = self.state()
            if state.active is None and state.before is None:
                raise ModelError("nothing was installed here: there is nothing to go back to")
            if state.before is not None:
                self._model(state.before).require()
            self._switch(replace(state, active=state.before, before=state.active))
            return self.active()

    def _model(self, slot: Slot) -> InstalledModel:
        root = self._folder / slot
        try:
            manifest = BundleManifest.parse((root / MANIFEST).read_bytes())
        except OSError as error:
            raise ModelError(
                f"slot {slot} in {self._folder} has no model ({error.strerror}): install a bundle"
            ) from error
        return InstalledModel(slot, root, manifest)

    def _refuse_older(self, state: SlotState, signed: SignedManifest, allow_older: bool) -> None:
        seen, manifest = state.newest.get(signed.manifest.name), signed.manifest
        if seen is None or allow_older or manifest.order > seen.order:
            return
        newest = ".".join(map(str, seen.order))
        if manifest.order < seen.order:
            raise ModelError(
                f"{manifest.name} {manifest.version} is older than {newest}, which was installed here before: "
                "--allow-older installs it all the same"
            )
        if _seen(signed) != seen:
            raise ModelError(
                f"another {manifest.name} {manifest.version} was installed here before: give this one a higher version"
            )

    def _write(
        self, path: Path, trusted: Sequence[PublicKey], incoming: InstalledModel, progress: Progress | None
    ) -> None:
        """All of the bundle into the incoming folder."""
        needed, free = incoming.manifest.bytes + _SPARE_BYTES, shutil.disk_usage(self._folder).free
        if free < needed:
            raise ModelError(
                f"{self._folder} has {free >> 20} MiB free, and the bundle needs {needed >> 20} MiB: make room"
            )
        directory = incoming.entry.directory(incoming.root)
        try:
            directory.mkdir(parents=True)
            told = {} if progress is None else {"progress": progress}
            signed = extract_bundle(path, trusted, directory, **told)
            if signed.manifest != incoming.manifest:
                raise ModelError(f"{path} was replaced while it was read: install it again")
            for file in signed.manifest.files:
                mark_verified(directory, file.name, file.sha256)
            for name, content in ((MANIFEST, signed.text), (SIGNATURE, signed.signature)):
                _write_durably(incoming.root / name, content)
        except OSError as error:
            raise ModelError(f"cannot write the bundle's files into {directory}: {error.strerror}") from error

    def _put_into_slot(self, idle: Slot) -> None:
        """The slot's former model stays beside it until the switch is made; see `_recover`."""
        slot = self._folder / idle
        if slot.exists():
            os.rename(slot, self._outgoing(idle))
        os.rename(self._folder / _INCOMING, slot)
        _sync(self._folder)

    def _switch(self, state: SlotState) -> None:
        _write_durably(self._folder / _STATE, json.dumps(asdict(state), indent=1).encode())

    def _outgoing(self, slot: Slot) -> Path:
        return self._folder / _OUTGOING.format(slot)

    def _recover(self) -> None:
        """Finish or take back what an installation that was stopped had begun."""
        shutil.rmtree(self._folder / _INCOMING, ignore_errors=True)
        slots: tuple[Slot, Slot] = ("a", "b")
        for slot in slots:
            outgoing, place = self._outgoing(slot), self._folder / slot
            if not outgoing.exists():
                continue
            if self.state().active != slot:  # the switch was never made: the former model comes back
                shutil.rmtree(place, ignore_errors=True)
                os.rename(outgoing, place)
            shutil.rmtree(outgoing, ignore_errors=True)

    @contextmanager
    def _only_one(self) -> Iterator[None]:
        """Hold the lock of the slots; it falls with the process that holds it."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / _LOCK).open("a") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise ModelError(
                        f"another installation is working on {self._folder}: wait for it"
                    ) from error
                self._recover()
                try:
                    yield
                finally:
                    self._recover()
        except OSError as error:
            raise ModelError(f"cannot install into {self._folder}: {error}") from error


def _newest(state: SlotState, signed: SignedManifest) -> Mapping[str, Seen]:
    """An older version that was let in all the same does not open the door to others as old."""
    name, seen = signed.manifest.name, _seen(signed)
    before = state.newest.get(name)
    return {**state.newest, name: before if before is not None and before.order > seen.order else seen}


def _seen(signed: SignedManifest) -> Seen:
    return Seen(signed.manifest.order, hashlib.sha256(signed.text).hexdigest())


def _write_durably(path: Path, content: bytes) -> None:
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    put_in_place(part, path)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
