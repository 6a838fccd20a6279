"""Rows read from the pages of a SQLite file without its trees, for what a damaged page has cut off.

The layout is that of https://www.sqlite.org/fileformat2.html, sections 1.3, 1.6 and 2.1.
"""

import mmap
import struct
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

_LEAF, _INTERIOR = 0x0D, 0x05  # the pages of a table that has rowids
_SIZES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes of an integer by its serial type
Value = int | float | str | bytes | None


@dataclass(frozen=True)
class RawRow:
    """One row as it stands in a page: its rowid, and its columns in the order of the table."""

    page: int
    rowid: int
    values: tuple[Value, ...]


class RawPages:
    """A database file, read page by page; what is not well formed is passed over."""

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            empty = path.stat().st_size == 0
            self._data = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = struct.unpack_from(">H", self._data, 16)[0] if len(self._data) > 100 else 0
        size = 65536 if size == 1 else size
        sound = self._data[:15] == b"SQLite format 3" and size >= 512 and not size & (size - 1)
        self._page_size = size if sound else 4096
        self._usable = self._page_size - (self._data[20] if sound else 0)

    def leaves(self, but: Container[int] = ()) -> Iterator[list[RawRow]]:
        """The rows of each leaf page that holds any, without those of some pages."""
        for number in range(1, len(self._data) // self._page_size + 1):
            if number in but:
                continue
            rows = [self._row(number, position) for position in self._cells(number, _LEAF, 8)]
            whole = [row for row in rows if row is not None]
            if whole:
                yield whole

    def leaves_under(self, root: int) -> Iterator[tuple[int, list[int]]]:
        """The leaf pages that the tree of a table leads to, each with its rowids; damaged pages are passed over."""
        open_pages, seen = [root], set[int]()
        while open_pages:
            number = open_pages.pop()
            if number in seen or not 0 < number <= len(self._data) // self._page_size:
                continue
            seen.add(number)
            try:
                if cells := self._cells(number, _INTERIOR, 12):
                    rightmost = self._header(number) + 8
                    for position in (*cells, rightmost):
                        open_pages.append(struct.unpack_from(">I", self._data, position)[0])
                elif cells := self._cells(number, _LEAF, 8):
                    starts = [self._varint(position)[1] for position in cells]
                    yield number, [_signed(self._varint(start)[0]) for start in starts]
            except (IndexError, struct.error):
                continue

    def _header(self, number: int) -> int:
        return (number - 1) * self._page_size + (100 if number == 1 else 0)

    def _cells(self, number: int, kind: int, header_bytes: int) -> list[int]:
        """Where the cells of a page begin; none where it is of another kind or not well formed."""
        start, header = (number - 1) * self._page_size, self._header(number)
        if self._data[header] != kind:
            return []
        (count,) = struct.unpack_from(">H", self._data, header + 3)
        if header + header_bytes + 2 * count > start + self._usable:
            return []
        offsets = struct.unpack_from(f">{count}H", self._data, header + header_bytes)
        return [start + offset for offset in offsets]

    def _row(self, page: int, position: int) -> RawRow | None:
        try:
            size, position = self._varint(position)
            rowid, position = self._varint(position)
            return RawRow(page, _signed(rowid), _record(self._payload(size, position)))
        except (IndexError, ValueError, struct.error):
            return None

    def _varint(self, position: int) -> tuple[int, int]:
        return _varint(self._data, position)

    def _payload(self, size: int, position: int) -> bytes:
        """The bytes of a record, gathered from its overflow pages."""
        if size > len(self._data):
            raise ValueError("longer than the file")
        most = self._usable - 35
        if size <= most:
            return self._data[position : position + size]
        least = (self._usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (self._usable - 4)
        local = local if local <= most else least
        parts = [self._data[position : position + local]]
        (following,) = struct.unpack_from(">I", self._data, position + local)
        left = size - local
        while left > 0:
            start = (following - 1) * self._page_size
            if following < 1 or start + self._page_size > len(self._data):
                raise ValueError("an overflow page that is not there")
            parts.append(self._data[start + 4 : start + 4 + min(left, self._usable - 4)])
            left -= self._usable - 4
            (following,) = struct.unpack_from(">I", self._data, start)
        return b"".join(parts)


def _record(payload: bytes) -> tuple[Value, ...]:
    """The columns of a record; raises ValueError, IndexError or struct.error where it is none."""
    header_bytes, position = _varint(payload, 0)
    if not 0 < header_bytes <= len(payload):
        raise ValueError("no header")
    kinds = []
    while position < header_bytes:
        kind, position = _varint(payload, position)
        kinds.append(kind)
    values: list[Value] = []
    for kind in kinds:
        value, position = _value(payload, position, kind)
        values.append(value)
    if position != len(payload):
        raise ValueError("bytes left over")
    return tuple(values)


def _value(payload: bytes, position: int, kind: int) -> tuple[Value, int]:
    if kind == 0:
        return None, position
    if kind in (8, 9):
        return kind - 8, position
    if kind in (10, 11):
        raise ValueError("a kind that SQLite never writes")
    size = _SIZES.get(kind, 8 if kind == 7 else (kind - 12) // 2)
    part = payload[position : position + size]
    if len(part) != size:
        raise ValueError("cut short")
    if kind in _SIZES:
        return int.from_bytes(part, "big", signed=True), position + size
    if kind == 7:
        return float(struct.unpack(">d", part)[0]), position + size
    return (part.decode("utf-8") if kind % 2 else part), position + size


def _varint(data: bytes | mmap.mmap, position: int) -> tuple[int, int]:
    value = 0
    for i in range(8):
        byte = data[position + i]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, position + i + 1
    return value << 8 | data[position + 8], position + 9


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
