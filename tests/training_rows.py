"""Small training rows with real media files, for tests of whatever reads or writes them."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from offline_tools.chatml import MediaKind, Medium, Row, Text, Turn
from offline_tools.chatml_media import file_sha256
from offline_tools.wav_file import wav_bytes
from tests.recordings import picture, tone, write_recording

ANSWER = '{"event": "<face_1> greets somebody."}\n{"equivalence": ["<face_1>", "<voice_2>"]}\n'
LINES = 'Lines:\n<face_1> is in view.\n<voice_2> says: "Good morning."'


def write_media(folder: Path, name: str) -> dict[str, Path]:
    """A clip's video, its sound, a face and a voice under folder/media/name."""
    target = folder / "media" / name
    target.mkdir(parents=True)
    write_recording(target / "clip.mp4", picture_times_s=[0.0, 0.2, 0.4, 0.6])
    (target / "clip.wav").write_bytes(wav_bytes(tone(0.8)))
    (target / "voice_2.wav").write_bytes(wav_bytes(tone(0.3, frequency_hz=300)))
    encoded = cv2.imencode(".jpg", np.ascontiguousarray(picture(5)))[1]
    (target / "face_1.jpg").write_bytes(encoded.tobytes())
    return {path.name: path for path in target.iterdir()}


def training_row(folder: Path, name: str, answer: str = ANSWER, **source: Any) -> Row:
    """A whole row whose media are written under `folder`."""
    files = write_media(folder, name)

    def medium(kind: MediaKind, file: str, tag: str = "") -> Medium:
        path = files[file]
        return Medium(kind, path.relative_to(folder).as_posix(), file_sha256(path), tag)

    user = Turn(
        "user",
        (
            medium("video", "clip.mp4"),
            medium("audio", "clip.wav"),
            medium("image", "face_1.jpg", "<face_1>"),
            medium("audio", "voice_2.wav", "<voice_2>"),
            Text(LINES),
        ),
    )
    turns = (Turn("system", (Text("Write memories."),)), user, Turn("assistant", (Text(answer),)))
    return Row(name, turns, source, folder)
