"""Person tags in memory texts, `<face_12>` and `<voice_13>`: the number is a node id, matched as a whole."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

_TAG = re.compile(r"<(face|voice)_([1-9][0-9]{0,17})>")

TagKind = Literal["face", "voice"]


@dataclass(frozen=True)
class Tag:
    """A reference to a face or voice node from within a text."""

    kind: TagKind
    node_id: int

    def __str__(self) -> str:
        return f"<{self.kind}_{self.node_id}>"


def _tag(match: re.Match[str]) -> Tag:
    return Tag(cast(TagKind, match[1]), int(match[2]))


def find_tags(text: str) -> tuple[Tag, ...]:
    """The distinct tags of a text in the order of their first appearance."""
    return tuple(dict.fromkeys(_tag(match) for match in _TAG.finditer(text)))


def replace_tags(text: str, replacement: Callable[[Tag], str | None]) -> str:
    """The text with each tag replaced; a tag for which None comes back stays as it is.

    Each tag is one token: replacing `<face_1>` never touches `<face_12>`, and what a replacement
    puts in is not looked at again.
    """

    def replaced(match: re.Match[str]) -> str:
        new = replacement(_tag(match))
        return match[0] if new is None else new

    return _TAG.sub(replaced, text)
