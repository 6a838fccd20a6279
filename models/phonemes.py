"""Phonemes of a text from espeak-ng, always in a process of its own: its licence (GPL) stays outside.

The `espeak-ng` program is preferred; where it is not installed, models/phonemize.py runs the copy that the
espeakng-loader package carries.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from models.errors import ModelError

Phonemizer = Callable[[Sequence[str], str], list[str]]
"""Takes clauses of text and an espeak-ng voice like "en-us"; gives the phonemes (IPA) of each clause."""

_CHILD = Path(__file__).with_name("phonemize.py")
_TIMEOUT_S = 20.0


def phonemizer() -> Phonemizer:
    """The installed espeak-ng where there is one, else the packaged one."""
    program = shutil.which("espeak-ng")
    if program is None:
        return packaged_phonemes
    return lambda clauses, voice: installed_phonemes(program, clauses, voice)


def installed_phonemes(program: str, clauses: Sequence[str], voice: str) -> list[str]:
    """Through the program, once for each clause, because it breaks lines where it likes. Raises ModelError."""
    command = [program, "-q", "--ipa", "-b", "1", "-v", voice, "--stdin"]
    return [" ".join(_run(command, f"{_one_line(clause)}\n").split()) for clause in clauses]


def packaged_phonemes(clauses: Sequence[str], voice: str) -> list[str]:
    """Through the espeakng-loader package, all clauses at once. Raises ModelError."""
    command = [sys.executable, "-P", str(_CHILD), voice]
    written = _run(command, "".join(f"{_one_line(clause)}\n" for clause in clauses)).split("\n")[:-1]
    if len(written) != len(clauses):
        raise ModelError(f"espeak-ng gave {len(written)} lines of phonemes for {len(clauses)} clauses")
    return written


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _run(command: list[str], text: str) -> str:
    try:
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=_TIMEOUT_S, check=True
        )
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip() or f"exit status {error.returncode}"
        raise ModelError(
            f"espeak-ng failed: {reason}; install it (Debian: `apt install espeak-ng`) or the espeakng-loader package"
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(f"espeak-ng could not be run: {error}") from error
    return done.stdout.decode(errors="replace")
