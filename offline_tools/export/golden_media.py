"""Pictures and sounds of golden prompts as files that the bundle carries and the robot's process is shown."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from offline_tools.chatml import MediaKind, Medium, Row, Text, Turn
from offline_tools.chatml_media import file_sha256
from offline_tools.export.errors import ExportError
from offline_tools.train.omni_media import Picture, frames_of, picture_of, sound_of
from offline_tools.train.sft_recipe import MediaRecipe
from offline_tools.wav_file import wav_bytes

_JPEG_QUALITY = 92


def shown_row(row: Row, number: int, folder: Path, recipe: MediaRecipe) -> Row:
    """The row as the robot's process shows it: pictures first (frames of a video are such), then sounds, then the text.

    The files are written into `folder`, named by the row's number. Raises TrainingError where a medium cannot be read.
    """
    turns = tuple(
        _shown(turn, row, f"golden-{number}-{at}", folder, recipe) if turn.media else turn
        for at, turn in enumerate(row.turns)
    )
    return Row(row.id, turns, row.source, folder)


def without_media(row: Row) -> Row:
    """The row for a model without senses: its words alone."""
    turns = tuple(Turn(turn.role, (Text(turn.text),)) for turn in row.turns)
    return Row(row.id, turns, row.source, row.folder)


def _shown(turn: Turn, row: Row, name: str, folder: Path, recipe: MediaRecipe) -> Turn:
    pictures: list[Picture] = []
    sounds = []
    for medium in turn.media:
        path = row.file(medium)
        if medium.kind == "audio":
            sounds.append(sound_of(path, recipe.sound_s))
        else:
            pictures += [picture_of(path)] if medium.kind == "image" else frames_of(path, recipe)
    files = [(f"{name}-{at}.jpg", _jpeg(picture)) for at, picture in enumerate(pictures)]
    files += [(f"{name}-{at}.wav", wav_bytes(sound)) for at, sound in enumerate(sounds)]
    media = []
    for file, content in files:
        (folder / file).write_bytes(content)
        kind: MediaKind = "audio" if file.endswith(".wav") else "image"
        media.append(Medium(kind, file, file_sha256(folder / file)))
    return Turn(turn.role, (*media, Text(turn.text)))


def _jpeg(picture: Picture) -> bytes:
    done, encoded = cv2.imencode(
        ".jpg", np.ascontiguousarray(picture[:, :, ::-1]), [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
    )
    if not done:
        raise ExportError("a golden picture cannot be written as JPEG")
    return encoded.tobytes()
