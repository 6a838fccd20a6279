"""Reads files of annotations strictly: every fault is collected with the entry it is in, and told at once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from offline_tools.evaluate.errors import DatasetError, EvaluateError
from offline_tools.evaluate.questions import Question

T = TypeVar("T")
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Entry(BaseModel):
    """A part of a published file: fields it does not know are passed over, those that it knows are checked strictly."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


def read_file(path: Path) -> bytes:
    """All of a file. Raises EvaluateError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise EvaluateError(
            f"cannot read {path}: {error.strerror}; name the annotations with --file"
        ) from error


def sha256_of(data: bytes) -> str:
    """The hash of a file that was read."""
    return hashlib.sha256(data).hexdigest()


def parsed(path: Path, data: bytes, form: TypeAdapter[T]) -> T:
    """A file in its form. Raises DatasetError with all faults."""
    return parsed_json(path, json_of(path, data), form)


def parsed_json(path: Path, document: Any, form: TypeAdapter[T]) -> T:
    """The document of a file in its form. Raises DatasetError with all faults."""
    try:
        return form.validate_python(document)
    except ValidationError as error:
        raise DatasetError(path, list(faults_of(error))) from error


def json_of(path: Path, data: bytes) -> Any:
    """A JSON document, or, of a .jsonl file, the list of those in its lines. Raises DatasetError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(path, [f"byte {error.start}: not UTF-8"]) from error
    pieces = list(enumerate(text.split("\n"), 1)) if path.suffix == ".jsonl" else [(1, text)]
    documents, faults = list[Any](), list[str]()
    for number, piece in pieces:
        if path.suffix == ".jsonl" and not piece.strip():
            continue
        try:
            documents.append(json.loads(piece, parse_constant=_refused, object_pairs_hook=_unique))
        except json.JSONDecodeError as error:
            line = number + error.lineno - 1
            faults.append(f"line {line}, column {error.colno}: {error.msg}")
        except (ValueError, RecursionError) as error:
            faults.append(f"line {number}: {error}" if path.suffix == ".jsonl" else str(error))
    faults = faults or [
        f"{place_of(where)}: half a surrogate pair, which is no text" for where in _broken_text(documents)
    ]
    if faults:
        raise DatasetError(path, faults)
    return documents if path.suffix == ".jsonl" else documents[0]


def _broken_text(documents: list[Any]) -> Iterator[tuple[int | str, ...]]:
    """Where strings stand that cannot be written down, as JSON can escape halves of characters."""
    left: list[tuple[tuple[int | str, ...], Any]] = [((), documents[0] if len(documents) == 1 else documents)]
    while left:
        where, value = left.pop()
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            yield where
        elif isinstance(value, list):
            left += [((*where, place), one) for place, one in reversed(list(enumerate(value)))]
        elif isinstance(value, dict):
            left += [((*where, key), one) for key, one in reversed(list(value.items()))]
            left += [((*where, ascii(key)), key) for key in value if not key.isascii()]


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, whose keys must differ: the later of two entries of one name would hide the other."""
    counts = Counter(key for key, _ in pairs)
    twice = [key for key, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"the key {twice[0]!r} stands twice in one object")
    return dict(pairs)


def faults_of(error: ValidationError) -> Iterator[str]:
    """Each fault of a document: where, what, and the value."""
    for one in error.errors(include_url=False):
        where = place_of(one["loc"])
        value = repr(one["input"])
        shown = f", not {value if len(value) <= 60 else value[:57] + '…'}" if one["type"] != "missing" else ""
        yield f"{where}: {one['msg']}{shown}"


def place_of(location: Sequence[int | str]) -> str:
    """The place in a document: `living_room_06.qa_list[3].timestamp`; entries are counted from 0."""
    told = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return told.removeprefix(".") or "the document"


def checked(path: Path, questions: Sequence[Question], faults: Iterable[str] = ()) -> tuple[Question, ...]:
    """The questions, if nothing is wrong with them together. Raises DatasetError."""
    found = list(faults)
    counts = Counter(question.id for question in questions)
    found += [f"{id}: the id of {count} questions" for id, count in counts.items() if count > 1]
    for name in dict.fromkeys(question.memory for question in questions):
        if not is_safe(name):
            found.append(f"{name!r}: no name of a folder, which the name of a memory must be")
    if not questions and not found:
        found.append("it holds no questions")
    if found:
        raise DatasetError(path, found)
    return tuple(questions)


def is_safe(name: str) -> bool:
    """Whether a memory's name leads to a place inside of the folder of memories, and nowhere else."""
    path = PurePosixPath(name)
    plain = bool(path.parts) and name.isprintable() and "\\" not in name and name == str(path)
    return plain and not path.is_absolute() and all(part not in ("..", ".") for part in path.parts)
