"""Putting model files in place: joined or converted from verified parts, compared with their hash, renamed."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from models import convert_campplus, convert_cedict, convert_e5, convert_pyannote
from models.carriers import join_parts
from models.errors import ModelError
from models.manifest import Conversion, Entry, Source
from models.stored_files import ModelFile, hash_file, mark_verified, put_in_place

_CONVERSIONS: Mapping[Conversion, Callable[[Path, Path], None]] = {
    "campplus": convert_campplus.convert,
    "pyannote": convert_pyannote.convert,
    "e5": convert_e5.convert,
    "cedict": convert_cedict.convert,
}


class Installer:
    """Knows the models directory and the hashes: those of the manifest and those given by hand."""

    def __init__(self, models_dir: Path, expected_sha256: Mapping[str, str]) -> None:
        self._models_dir = models_dir
        self._expected = expected_sha256

    def pinned(self, file: ModelFile) -> ModelFile:
        """The file with the hash given by hand, where the manifest has none."""
        return replace(file, sha256=file.sha256 or self._expected.get(file.name, "").lower() or None)

    def sha256(self, entry: Entry, file: ModelFile) -> str:
        """The hash a file must have. Raises ModelError where nobody has named one."""
        wanted = self.pinned(file).sha256
        if wanted is None:
            raise ModelError(
                f"model {entry.id}: the manifest pins no sha256 for {file.name}, so it is not fetched unchecked: "
                f"look it up at {entry.publisher} and give it with --sha256 {file.name}=HASH"
            )
        return wanted

    def build(self, entry: Entry, source: Source, parts: Sequence[Path]) -> None:
        """Make the files of a source out of its verified parts and put them in place."""
        if source.convert is None:
            file = source.files[0]
            part = self.new_part(entry, file.name)
            join_parts(parts, part)
            self.install(entry, file, part)
            return
        workshop = entry.directory(self._models_dir) / ".convert.part"
        shutil.rmtree(workshop, ignore_errors=True)
        workshop.mkdir(parents=True)
        try:
            _CONVERSIONS[source.convert](parts[0], workshop / source.files[0].name)
            for file in reversed(source.files):
                self.install(entry, file, workshop / file.name)
        finally:
            shutil.rmtree(workshop)

    def install(self, entry: Entry, file: ModelFile, part: Path) -> None:
        """Compare a finished file with its hash, then give it its name."""
        sha256, found = self.sha256(entry, file), hash_file(part)
        if found != sha256:
            part.unlink()
            raise ModelError(
                f"model {entry.id}: {file.name} came out with sha256 {found[:12]}…, not {sha256[:12]}…"
            )
        target = entry.directory(self._models_dir) / file.name
        put_in_place(part, target)
        mark_verified(target.parent, file.name, sha256)

    def new_part(self, entry: Entry, name: str) -> Path:
        """Where a file of an entry grows before it gets its name."""
        directory = entry.directory(self._models_dir)
        directory.mkdir(parents=True, exist_ok=True)
        return directory / f"{name}.part"
