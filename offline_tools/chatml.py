"""Training rows of the memory model in ChatML: one JSON object a line, with its media as files beside the file.

A row is one clip of at most 30 s and what is to be remembered of it (M3-Agent, arXiv 2508.09736, section 4.2 and the
appendix on demonstration data: video clip, faces and voices in; episodic lines, semantic lines and equivalences out).
The messages are Qwen2.5-Omni's: a list of parts, where a medium is {"type": "video", "video": FILE}, and so on.

    {"id": "0a1b2c3d4e5f-0003",                                     unique in the file
     "messages": [
       {"role": "system", "content": "You turn the lines of …"},    the robot's own prompt (runtime/prompts/describe)
       {"role": "user", "content": [
         {"type": "video", "video": "media/0a1b2c3d4e5f-0003/clip.mp4", "sha256": "…"},   pictures, no sound
         {"type": "audio", "audio": "media/0a1b2c3d4e5f-0003/clip.wav", "sha256": "…"},   16 kHz mono, the same span
         {"type": "image", "image": "media/0a1b2c3d4e5f-0003/face_1.jpg", "sha256": "…", "tag": "<face_1>"},
         {"type": "audio", "audio": "media/0a1b2c3d4e5f-0003/voice_2.wav", "sha256": "…", "tag": "<voice_2>"},
         {"type": "text", "text": "Lines:\\n<face_1> is in view.\\n<voice_2> says: \\"Good morning.\\""}]},
       {"role": "assistant", "content": "{\\"event\\": \\"<face_1> greets somebody.\\"}\\n{\\"fact\\": …}\\n"
                                        "{\\"equivalence\\": [\\"<face_1>\\", \\"<voice_2>\\"]}\\n"}],
     "source": {"video": "day.mp4", "sha256": "…", "start_s": 90.0, "end_s": 120.0, …}}

FILE is relative to the folder of the JSONL file and lies under it; media never stand in a row themselves. A part with a
"tag" is preceded, where a model reads it, by the text "TAG:" (`shown_parts` does it). The answer is what
runtime/describe_repair.py reads, so that a trained model takes the place of the robot's without another change. An
optional system turn comes first; user and assistant turns alternate and an assistant's turn is last; text may stand as
a plain string. Tags in an answer must stand in its input. Loss belongs on the assistant's turns alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast, get_args

from memory_store.tags import find_tags
from models.language import Role
from offline_tools.chatml_media import medium_fault
from offline_tools.errors import OfflineToolError

MediaKind = Literal["video", "audio", "image"]
MOST_FAULTS_SHOWN = 20


class ChatMLError(OfflineToolError):
    """A file of training rows cannot be used; `faults` holds every one, as FILE:LINE: what."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        more = len(faults) - MOST_FAULTS_SHOWN
        shown = [*faults[:MOST_FAULTS_SHOWN], *([f"… and {more} more"] if more > 0 else [])]
        super().__init__("\n".join(shown))


@dataclass(frozen=True)
class Text:
    """Words of a turn."""

    text: str


@dataclass(frozen=True)
class Medium:
    """A file of a turn. path: relative to the rows' file, with /; tag: whose face or voice it is, such as <face_1>."""

    kind: MediaKind
    path: str
    sha256: str
    tag: str = ""


Part = Text | Medium


@dataclass(frozen=True)
class Turn:
    """One message."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its words, a line for each part."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def media(self) -> tuple[Medium, ...]:
        """Its files, in order."""
        return tuple(part for part in self.parts if isinstance(part, Medium))


@dataclass(frozen=True)
class Row:
    """One training row. folder: what the paths of its media are relative to; source: where it comes from."""

    id: str
    turns: tuple[Turn, ...]
    source: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()

    def file(self, medium: Medium) -> Path:
        """Where a medium lies."""
        return self.folder / medium.path

    @property
    def answer(self) -> str:
        """What the model is to write, the last turn."""
        return self.turns[-1].text

    def as_line(self) -> str:
        """The row as it stands in a file, with the line's end."""
        messages = [{"role": turn.role, "content": _content(turn)} for turn in self.turns]
        document = {"id": self.id, "messages": messages, "source": dict(self.source)}
        return json.dumps(document, ensure_ascii=False) + "\n"


def shown_parts(turn: Turn) -> tuple[Part, ...]:
    """A turn as a model reads it: whose face or voice a medium is stands as text before it."""
    shown: list[Part] = []
    for part in turn.parts:
        if isinstance(part, Medium) and part.tag:
            shown.append(Text(f"{part.tag}:"))
        shown.append(part)
    return tuple(shown)


def read_rows(path: Path, *, media: bool = True) -> list[Row]:
    """All rows of a file. media: also compare every medium's hash and decode its beginning.

    Raises ChatMLError with every fault, also where the file is missing or holds no row.
    """
    rows, faults = check_rows(path, media=media)
    if faults:
        raise ChatMLError(faults)
    return rows


def check_rows(path: Path, *, media: bool = True) -> tuple[list[Row], list[str]]:
    """The rows that are whole, and the faults of the others, each as FILE:LINE: what."""
    rows: list[Row] = []
    faults: list[str] = []
    first_lines: dict[str, int] = {}
    try:
        data = path.read_bytes()
    except OSError as error:
        return [], [f"{path}: cannot be read: {error.strerror}"]
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        row, found = parse_row(line, path.parent)
        if row is not None:
            found += _media_faults(row) if media else []
            if row.id in first_lines:
                found.append(
                    f"id {row.id!r} stands already on line {first_lines[row.id]}: give each row its own"
                )
            first_lines.setdefault(row.id, number)
        faults += [f"{path}:{number}: {fault}" for fault in found]
        if row is not None and not found:
            rows.append(row)
    if not rows and not faults:
        faults.append(f"{path}: holds no row")
    return rows, faults


def parse_row(line: bytes, folder: Path) -> tuple[Row | None, list[str]]:
    """A line as a row, or None where it is none, and all that is wrong with it but for its media's bytes."""
    try:
        document = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return None, [f"is not UTF-8 at byte {error.start}"]
    except (ValueError, RecursionError) as error:
        return None, [f"is not JSON ({error}): was the file cut off, or the line broken in two?"]
    if not isinstance(document, dict):
        return None, [f"must be an object with id and messages, found {type(document).__name__}"]
    faults = [f"has an unknown key {key!r}" for key in sorted(set(document) - {"id", "messages", "source"})]
    row_id, messages, source = (document.get(key) for key in ("id", "messages", "source"))
    if not isinstance(row_id, str) or not row_id:
        faults.append("id must be a text that is not empty")
    if not isinstance(source, dict | None):
        faults.append(f"source must be an object, found {type(source).__name__}")
    if not isinstance(messages, list) or not messages:
        return None, [*faults, "messages must be a list that is not empty"]
    turns = [_turn(number, message, faults) for number, message in enumerate(messages)]
    faults += _order_faults([turn.role for turn in turns])
    faults += _tag_faults(turns)
    return Row(str(row_id), tuple(turns), source if isinstance(source, dict) else {}, folder), faults


def _turn(number: int, message: Any, faults: list[str]) -> Turn:
    where = f"messages[{number}]"
    if not isinstance(message, dict):
        faults.append(f"{where} must be an object with role and content, found {type(message).__name__}")
        return Turn("user", ())
    role, content = message.get("role"), message.get("content")
    if role not in get_args(Role):
        faults.append(f"{where}.role is {role!r}: must be one of {', '.join(get_args(Role))}")
        role = "user"
    faults += [f"{where} has an unknown key {key!r}" for key in sorted(set(message) - {"role", "content"})]
    if isinstance(content, str):
        parts: list[Part] = [Text(content)]
    elif isinstance(content, list):
        read = [_part(f"{where}.content[{index}]", part, faults) for index, part in enumerate(content)]
        parts = [part for part in read if part is not None]
    else:
        faults.append(f"{where}.content must be a text or a list of parts")
        parts = []
    turn = Turn(cast(Role, role), tuple(parts))
    if role != "user" and turn.media:
        faults.append(f"{where} is the {role}'s and holds media: only a user's turn may")
    if role == "assistant" and not turn.text.strip():
        faults.append(f"{where} is an assistant's and says nothing")
    return turn


def _part(where: str, part: Any, faults: list[str]) -> Part | None:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(part["text"])
    if kind not in get_args(MediaKind):
        faults.append(f"{where} is no part: its type must be text (with a text), video, audio or image")
        return None
    name, sha256, tag = part.get(kind), part.get("sha256"), part.get("tag", "")
    found = []
    if not isinstance(name, str) or _path_fault(name):
        shown = f"{name[:60]!r}" if isinstance(name, str) else type(name).__name__
        why = _path_fault(name) if isinstance(name, str) else "must be the name of a file"
        found.append(f"{where}.{kind} {why}, found {shown}")
    if not isinstance(sha256, str) or len(sha256) != 64 or set(sha256) - set("0123456789abcdef"):
        found.append(f"{where}.sha256 must be the file's 64 hexadecimal digits")
    if not isinstance(tag, str) or (tag and [str(one) for one in find_tags(tag)] != [tag]):
        found.append(f"{where}.tag is {tag!r}: must be such as <face_1> or <voice_2>")
    faults += found
    return None if found else Medium(cast(MediaKind, kind), str(name), str(sha256), tag)


def _path_fault(name: str) -> str:
    """Why a name is not that of a file under the rows' folder, or ""."""
    if name.startswith("data:") or len(name) > 1000:
        return "must name a file, media do not stand in a row"
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name or "://" in name:
        return "must lie under the folder of this file and be relative to it"
    return ""


def _order_faults(roles: list[Role]) -> Iterator[str]:
    talk = roles[1:] if roles[:1] == ["system"] else roles
    for number, role in enumerate(talk, start=len(roles) - len(talk)):
        wanted = "user" if (number - (len(roles) - len(talk))) % 2 == 0 else "assistant"
        if role != wanted:
            yield f"messages[{number}] is the {role}'s, expected {wanted}: roles must alternate"
            return
    if not talk or talk[-1] != "assistant":
        yield "the last message must be an assistant's: there is nothing to learn otherwise"


def _tag_faults(turns: list[Turn]) -> Iterator[str]:
    """Tags that an answer uses and nothing before it holds."""
    known: set[str] = set()
    for number, turn in enumerate(turns):
        used = [str(tag) for tag in find_tags(turn.text)]
        if turn.role == "assistant":
            missing = sorted(set(used) - known)
            if missing:
                yield f"messages[{number}] uses {', '.join(missing)}, which its input does not hold"
        known |= {*used, *(medium.tag for medium in turn.media)}


def _media_faults(row: Row) -> list[str]:
    media = dict.fromkeys(medium for turn in row.turns for medium in turn.media)
    found = (medium_fault(row.file(medium), medium.kind, medium.sha256) for medium in media)
    return [fault for fault in found if fault]


def _content(turn: Turn) -> str | list[dict[str, str]]:
    if len(turn.parts) == 1 and isinstance(turn.parts[0], Text):
        return turn.parts[0].text
    content = []
    for part in turn.parts:
        if isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
        else:
            tag = {"tag": part.tag} if part.tag else {}
            content.append({"type": part.kind, part.kind: part.path, "sha256": part.sha256, **tag})
    return content
