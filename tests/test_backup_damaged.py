"""A backup that is damaged, foreign or made up is refused, and nothing is touched."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_store import (
    BackupUnusable,
    NewerSchema,
)
from tests.backups import backed_up, bring_back, files_of, with_pictures, write_lines


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def _rewrite(path: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _escape(members: dict[str, bytes]) -> None:
    name = next(name for name in members if name.startswith("media/"))
    members["media/../../evil.jpg"] = members.pop(name)
    members["manifest.json"] = members["manifest.json"].replace(name.encode(), b"media/../../evil.jpg")


def _other_manifest(old: bytes, new: bytes) -> Callable[[Path], object]:
    def change(members: dict[str, bytes]) -> None:
        assert old in members["manifest.json"]
        members["manifest.json"] = members["manifest.json"].replace(old, new, 1)

    return lambda path: _rewrite(path, change)


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _flip,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"Milk, bread, eggs\n" * 100),
        lambda path: _rewrite(path, lambda members: members.update({"media/more.jpg": b"x"})),
        lambda path: _rewrite(path, lambda members: members.pop("manifest.json")),
        lambda path: _rewrite(path, lambda members: members.pop("memory.db")),
        lambda path: _rewrite(
            path, lambda members: members.update({"memory.db": members["memory.db"][:-1] + b"x"})
        ),
        lambda path: _rewrite(path, _escape),
        _other_manifest(b'"format": 1', b'"format": 2'),
        _other_manifest(b'"sha256": "', b'"sha256": "0'),
        _other_manifest(b'"clips": 9', b'"clips": 8'),
        _other_manifest(b'"m001_schema"', b'"m999_schema"'),
    ],
)
def test_a_damaged_backup_is_refused_and_nothing_is_touched(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    memory = tmp_path / "memory"
    with_pictures(memory)
    archive = backed_up(memory, tmp_path / "backup.zip")
    write_lines(memory, "newer")
    before = files_of(memory)
    damage(archive)
    with pytest.raises((BackupUnusable, NewerSchema), match="backup") as refusal:
        bring_back(archive, memory)
    assert len(str(refusal.value).splitlines()) == 1
    assert files_of(memory) == before
    assert not (tmp_path.parent / "evil.jpg").exists()
