"""The media of one training row as files beside the rows: written before the row, the same bytes for the same clip."""

from __future__ import annotations

import os
from pathlib import Path

from offline_tools.chatml import MediaKind, Medium
from offline_tools.chatml_media import file_sha256
from offline_tools.errors import OfflineToolError
from offline_tools.media_writer import write_mp4
from offline_tools.synthesize.material import FRAME_RATE_HZ, Material
from offline_tools.wav_file import wav_bytes


def write_media(folder: Path, row_id: str, material: Material) -> tuple[Medium, ...]:
    """Write folder/media/<row_id>/… and return the media in the order of a row: clip, sound, faces, voices.

    Raises OfflineToolError when a file cannot be written.
    """
    target = folder / "media" / row_id
    try:
        target.mkdir(parents=True, exist_ok=True)
        found = _clip(target, material)
        for tag, jpeg in material.faces.items():
            found.append(("image", _write(target / f"face_{tag.node_id}.jpg", jpeg), str(tag)))
        for tag, samples in material.voices.items():
            found.append(("audio", _write(target / f"voice_{tag.node_id}.wav", wav_bytes(samples)), str(tag)))
        return tuple(
            Medium(kind, path.relative_to(folder).as_posix(), file_sha256(path), tag)
            for kind, path, tag in found
        )
    except OSError as error:
        raise OfflineToolError(
            f"cannot write {target}: {error.strerror}; free some space or rights"
        ) from error


def _clip(target: Path, material: Material) -> list[tuple[MediaKind, Path, str]]:
    found: list[tuple[MediaKind, Path, str]] = []
    if material.video:
        path = target / "clip.mp4"
        write_mp4(path, iter(material.video), FRAME_RATE_HZ, None, 0)
        found.append(("video", path, ""))
    else:
        for number, jpeg in enumerate(material.frames):
            found.append(("image", _write(target / f"frame_{number}.jpg", jpeg), ""))
    if material.sound is not None and material.sound.samples.size:
        clip = material.told.clip
        samples = material.sound.cut(clip.media_start_s, clip.media_end_s)
        found.append(("audio", _write(target / "clip.wav", wav_bytes(samples)), ""))
    return found


def _write(path: Path, data: bytes) -> Path:
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)
    return path
