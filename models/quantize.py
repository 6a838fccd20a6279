"""Quantizing a GGUF by llama.cpp, in a process of its own: native code that crashes takes nothing else with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from models.errors import ModelError

KINDS = ("Q2_K", "Q3_K_M", "Q4_0", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K", "Q8_0")
_PACKAGE_ROOT = Path(__file__).resolve().parents[1]


def quantize(source: Path, target: Path, kind: str, *, threads: int = 0) -> None:
    """Write a quantized copy of a GGUF of float16 or float32 weights; it gets its name when it is whole.

    threads: 0 for as many as the machine has. Raises ModelError where the kind is unknown, the file is no such GGUF,
    or the disk is full.
    """
    if kind not in KINDS:
        raise ModelError(f"{kind} is no quantization this project uses: one of {', '.join(KINDS)}")
    part = target.with_name(target.name + ".part")
    command = [sys.executable, "-P", "-m", "models.quantize", str(source), str(part), kind, str(threads)]
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(_PACKAGE_ROOT), *([inherited] if inherited else [])])
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    if done.returncode != 0:
        part.unlink(missing_ok=True)
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise ModelError(
            f"{source.name} cannot be quantized to {kind}: {said[-1][:300] if said else 'it crashed'}"
        )
    os.replace(part, target)


def main(source: str, target: str, kind: str, threads: str) -> int:
    """The child: 0 where llama.cpp says so."""
    import llama_cpp

    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    settings.nthread = int(threads)
    status: int = llama_cpp.llama_model_quantize(source.encode(), target.encode(), settings)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
