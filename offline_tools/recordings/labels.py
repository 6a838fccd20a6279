"""Label files: who is in view or speaks from when to when, as YAML that a person edits and that is checked when read.

    video: day.mp4
    sha256: 3f…            of the video that the labels belong to
    segments:
      - {start_s: 0.0, end_s: 3.0, person: anna, transcript: bin blue at F two now}

A segment without a transcript is of somebody who is in view and says nothing that was written down.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from offline_tools.chatml_media import file_sha256
from offline_tools.errors import OfflineToolError

_KEYS = {"start_s": float, "end_s": float, "person": str, "transcript": str}


class LabelError(OfflineToolError):
    """A label file cannot be used; `faults` holds every one, as FILE:LINE: what."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


@dataclass(frozen=True)
class Label:
    """Somebody in view, or speaking, in seconds of the video."""

    start_s: float
    end_s: float
    person: str
    transcript: str = ""


@dataclass(frozen=True)
class Labels:
    """The labels of one video."""

    video: str
    sha256: str
    segments: tuple[Label, ...]

    def as_truth(self) -> dict[str, Any]:
        """As the benchmarks read it beside a stream (FILE.gt.json)."""
        segments = [
            asdict(label) | {"speaking": bool(label.transcript)}
            for label in sorted(self.segments, key=lambda label: (label.start_s, label.end_s))
        ]
        return {
            "duration_s": max((label.end_s for label in self.segments), default=0.0),
            "segments": segments,
        }


def write_labels(path: Path, labels: Labels) -> None:
    """Write a file whole. Raises OfflineToolError."""
    head = yaml.safe_dump(
        {"video": labels.video, "sha256": labels.sha256}, allow_unicode=True, sort_keys=False
    )
    rows = "".join(
        "  - "
        + yaml.safe_dump(
            asdict(label), allow_unicode=True, default_flow_style=True, width=10_000, sort_keys=False
        )
        for label in labels.segments
    )
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(f"{head}segments:{'' if rows else ' []'}\n{rows}", encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise OfflineToolError(f"cannot write {path}: {error.strerror}") from error


def read_labels(path: Path, *, video: Path | None = None) -> Labels:
    """Read a file strictly. video: compare its hash too. Raises LabelError with all faults, each with its line."""
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise LabelError([f"{path}: cannot be read as UTF-8 text: {error}"]) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise LabelError([f"{path}: is not YAML: {' '.join(str(error).split())}"]) from error
    faults: list[str] = []
    labels = _labels(root, faults)
    if video is not None and not faults:
        faults += _other_video(labels, video)
    if faults:
        raise LabelError(
            [f"{path}:{fault}" if fault[0].isdigit() else f"{path}: {fault}" for fault in faults]
        )
    return labels


def _labels(root: yaml.Node | None, faults: list[str]) -> Labels:
    fields = dict(_fields(root, faults, {"video", "sha256", "segments"}))
    video, sha256 = _value(fields, "video", str, faults, root), _value(fields, "sha256", str, faults, root)
    listed = fields.get("segments")
    if not isinstance(listed, yaml.SequenceNode):
        faults.append(f"{_line(listed or root)}: segments must be a list")
        return Labels(str(video), str(sha256), ())
    segments = [_label(node, faults) for node in listed.value]
    return Labels(str(video), str(sha256), tuple(label for label in segments if label is not None))


def _label(node: yaml.Node, faults: list[str]) -> Label | None:
    before = len(faults)
    fields = dict(_fields(node, faults, set(_KEYS)))
    if not isinstance(node, yaml.MappingNode):
        return None
    start_s, end_s = (_value(fields, key, float, faults, node) for key in ("start_s", "end_s"))
    person = _value(fields, "person", str, faults, node)
    transcript = _value(fields, "transcript", str, faults, node) if "transcript" in fields else ""
    if len(faults) > before:
        return None
    assert isinstance(start_s, float) and isinstance(end_s, float)
    if not 0 <= start_s < end_s < 1e7:
        faults.append(f"{_line(node)}: from {start_s:g} to {end_s:g} s is no stretch of time")
        return None
    return Label(start_s, end_s, str(person), str(transcript))


def _fields(node: yaml.Node | None, faults: list[str], known: set[str]) -> Iterator[tuple[str, yaml.Node]]:
    """The keys of a mapping with their nodes; what is unknown or stands twice is a fault."""
    if not isinstance(node, yaml.MappingNode):
        faults.append(f"{_line(node)}: must be a mapping with {', '.join(sorted(known))}")
        return
    seen: set[str] = set()
    for key, value in node.value:
        name = str(key.value)
        if name not in known:
            faults.append(f"{_line(key)}: unknown key {name!r}: must be one of {', '.join(sorted(known))}")
        elif name in seen:
            faults.append(f"{_line(key)}: {name} stands twice")
        else:
            yield name, value
        seen.add(name)


def _value(
    fields: dict[str, yaml.Node], key: str, kind: type, faults: list[str], parent: yaml.Node | None
) -> str | float | None:
    node = fields.get(key)
    if node is None:
        faults.append(f"{_line(parent)}: {key} is missing")
        return None
    if not isinstance(node, yaml.ScalarNode) or (
        kind is str and not node.value.strip() and key != "transcript"
    ):
        faults.append(
            f"{_line(node)}: {key} must be a {'number' if kind is float else 'text that is not empty'}"
        )
        return None
    if kind is str:
        return str(node.value)
    try:
        return float(node.value)
    except ValueError:
        faults.append(f"{_line(node)}: {key} is {node.value!r}: must be a number of seconds")
        return None


def _other_video(labels: Labels, video: Path) -> list[str]:
    try:
        found = file_sha256(video)
    except OSError as error:
        return [f"its video {video} cannot be read: {error.strerror}"]
    if found != labels.sha256:
        return [f"belongs to another video: sha256 {labels.sha256[:12]}…, {video} has {found[:12]}…"]
    return []


def _line(node: yaml.Node | None) -> int:
    return 1 if node is None else int(node.start_mark.line) + 1
