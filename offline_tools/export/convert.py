"""A checkpoint in Hugging Face's format as a GGUF of float16 weights, by llama.cpp's own converter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from offline_tools.export.errors import ExportError
from offline_tools.export.llama_source import CONVERTER, converter

_TEMPLATE_FILES = ("chat_template.jinja", "tokenizer_config.json")


def convert(folder: Path, target: Path, *, mmproj: bool = False) -> None:
    """Write the GGUF; it gets its name when it is whole. mmproj: of the encoders of pictures and sound.

    Raises ExportError where the architecture is not one llama.cpp knows, or the template is the one for training.
    """
    _refuse_training_template(folder)
    part = target.with_name(target.name + ".part")
    command = [
        sys.executable,
        str(converter() / CONVERTER),
        str(folder),
        "--outfile",
        str(part),
        "--outtype",
        "f16",
    ]
    done = subprocess.run(
        [*command, *(["--mmproj"] if mmproj else [])],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
    )  # fmt: skip
    if done.returncode != 0 or not part.is_file():
        part.unlink(missing_ok=True)
        raise ExportError(f"{folder} cannot be converted to GGUF: {_reason(done.stderr)}")
    os.replace(part, target)


def _refuse_training_template(folder: Path) -> None:
    """Marks for the loss would reach the robot with the template, whose interpreter does not know them."""
    for name in _TEMPLATE_FILES:
        path = folder / name
        if path.is_file() and "endgeneration" in path.read_text(encoding="utf-8"):
            raise ExportError(
                f"{path} holds the chat template for training, with {{% generation %}} marks: save the model with "
                "the one it is asked with"
            )


def architecture(folder: Path) -> str:
    """What config.json calls the model. Raises ExportError where there is none."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return str((config.get("architectures") or [config.get("model_type")])[0])
    except (OSError, ValueError, AttributeError) as error:
        raise ExportError(f"{folder} is no checkpoint: its config.json cannot be read ({error})") from error


def _reason(errors: str) -> str:
    """The line of the converter's output that says what was wrong."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    told = [line.partition("ERROR:hf-to-gguf:")[2] for line in lines if "ERROR:hf-to-gguf:" in line]
    return (told or lines or ["it said nothing"])[-1][:300]
