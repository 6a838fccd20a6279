"""The household's voices: Kokoro-82M, each resident one of its voices, spoken lines kept in the cache."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.manifest import Manifest
from models.phonemes import phonemizer
from models.sessions import open_session
from offline_tools.bench.household_script import chinese_phonemes, is_chinese
from offline_tools.bench.report import BenchmarkError
from offline_tools.demo_sound import Samples, bend

MODEL = "kokoro-82m"
RATE_HZ = 24000
PEAK = 0.5
VOICES_PACKAGE = "kokoro-js@1.2.1"  # an npm package that carries the voices beside its code; Apache-2.0
VOICES_SHA256 = "1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860"
_STYLE_SIZE = 256
_LONGEST = 500  # phonemes that the model takes at once
_DOWNLOAD_TIMEOUT_S = 300.0
# What espeak-ng writes for English, and what the model learned for it.
_PHONEMES = (
    ("aɪ", "I"), ("eɪ", "A"), ("oʊ", "O"), ("ɔɪ", "Y"), ("aʊ", "W"), ("tʃ", "ʧ"), ("dʒ", "ʤ"), ("ɚ", "əɹ"),
    ("ɜː", "ɜɹ"), ("ɾ", "T"), ("ɐ", "ə"), ("ː", ""), ("r", "ɹ"),
)  # fmt: skip
_PRONOUN = re.compile(r"(?<!\S)I(?=[\sə])")  # "I" without any stress is swallowed
_MARKS = ",.?!"


class HouseholdVoices:
    """Speaks lines, one voice a resident. cache: a directory for voices and spoken lines."""

    def __init__(self, models: Path, cache: Path) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        self._cache = cache
        directory = models / MODEL
        entry = Manifest.load().entry(MODEL)
        if not (directory / entry.main_file).exists():
            raise BenchmarkError(f"the voices need {MODEL}: run `hearsight models fetch {MODEL}`")
        self._session = open_session(directory / entry.main_file, threads=2)
        document = json.loads((directory / "vocab.json").read_text(encoding="utf-8"))
        self._numbers: dict[str, int] = document["vocab"]
        self._phonemes = phonemizer()

    def speak(self, text: str, voice: str, pitch: float) -> Samples:
        """The line at 16 kHz; its frequencies times `pitch`, its speed as it was."""
        key = hashlib.sha256(f"{voice}\n{pitch}\n{text}".encode()).hexdigest()[:24]
        path = self._cache / f"{key}.npy"
        if not path.exists():
            spoken = bend(self._spoken(text, voice), RATE_HZ, pitch=pitch, tempo=1.0)
            np.save(path, spoken * np.float32(PEAK / max(1e-6, float(np.abs(spoken).max()))))
        return np.asarray(np.load(path), np.float32)

    def _spoken(self, text: str, voice: str) -> Samples:
        phonemes = chinese_phonemes()[text] if is_chinese(text) else self._english(text)
        tokens = [self._numbers[mark] for mark in phonemes if mark in self._numbers][:_LONGEST]
        style = self._style(voice)[len(tokens)]
        outputs = self._session.run(
            {
                "tokens": np.array([[0, *tokens, 0]], np.int64),
                "style": style.reshape(1, _STYLE_SIZE),
                "speed": np.ones(1, np.float32),
            }
        )
        return np.asarray(outputs[self._session.output_names[0]], np.float32).reshape(-1)

    def _english(self, text: str) -> str:
        clauses, marks = [""], list[str]()
        for mark in text:
            if mark in _MARKS:
                marks.append(mark)
                clauses.append("")
            else:
                clauses[-1] += mark
        spoken = [clause.strip() for clause in clauses if clause.strip()]
        told = self._phonemes(spoken, "en-us")
        whole = " ".join(f"{part.strip()}{mark}" for part, mark in zip(told, marks, strict=True))
        for written, learned in _PHONEMES:
            whole = whole.replace(written, learned)
        return _PRONOUN.sub("ˌI", whole)

    def _style(self, voice: str) -> NDArray[np.float32]:
        """(510, 256): how the voice sounds, by the number of phonemes."""
        path = self._cache / f"{voice}.bin"
        if not path.exists():
            _fetch_voices(self._cache)
        return np.fromfile(path, np.float32).reshape(-1, _STYLE_SIZE)


def _fetch_voices(directory: Path) -> None:
    """Take the voices out of the package that carries them. Raises BenchmarkError."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", VOICES_PACKAGE, "--pack-destination", folder]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_DOWNLOAD_TIMEOUT_S)
        except (OSError, subprocess.SubprocessError) as error:
            raise BenchmarkError(f"the voices need {VOICES_PACKAGE}, got with npm: {error}") from error
        archive = next(Path(folder).glob("*.tgz"))
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        if digest != VOICES_SHA256:
            raise BenchmarkError(f"{VOICES_PACKAGE} has sha256 {digest}, not {VOICES_SHA256}: do not use it")
        with tarfile.open(archive) as package:
            for member in package.getmembers():
                if member.name.startswith("package/voices/") and (read := package.extractfile(member)):
                    (directory / Path(member.name).name).write_bytes(read.read())
