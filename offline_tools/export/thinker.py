"""The thinker of Qwen2.5-Omni as llama.cpp's converter knows it: named and laid out as a part of the whole model.

The converter registers `Qwen2_5OmniModel`, whose configuration holds the thinker's and whose tensors begin with
"thinker."; a thinker saved alone (all that is trained) is written down in that form.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from offline_tools.export.errors import ExportError

_PREPROCESSOR = "preprocessor_config.json"
_MEAN, _DEVIATION = (
    (0.48145466, 0.4578275, 0.40821073),
    (0.26862954, 0.26130258, 0.27577711),
)  # CLIP's, as Qwen's


def as_whole_model(folder: Path, target: Path) -> None:
    """Write the thinker in `folder` into `target` as the converter reads it. Raises ExportError where it cannot."""
    from safetensors import safe_open
    from safetensors.torch import save_file

    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    whole: dict[str, Any] = {
        "architectures": ["Qwen2_5OmniModel"],
        "model_type": "qwen2_5_omni",
        "thinker_config": config,
        "enable_audio_output": False,
    }
    (target / "config.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")
    shards = sorted(folder.glob("*.safetensors"))
    if not shards:
        raise ExportError(f"{folder} holds no *.safetensors")
    index: dict[str, str] = {}
    for shard in shards:
        with safe_open(str(shard), framework="pt") as tensors:
            renamed = {f"thinker.{name}": tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
        save_file(renamed, str(target / shard.name), metadata={"format": "pt"})
        index |= dict.fromkeys(renamed, shard.name)
    if len(shards) > 1:
        rows = {"metadata": {}, "weight_map": index}
        (target / "model.safetensors.index.json").write_text(json.dumps(rows), encoding="utf-8")
    for path in folder.iterdir():
        if path.suffix in (".json", ".jinja", ".txt", ".model") and path.name not in (
            "config.json",
            "model.safetensors.index.json",
        ):
            shutil.copy2(path, target / path.name)
    preprocessor = target / _PREPROCESSOR
    if not preprocessor.exists():
        preprocessor.write_text(json.dumps({"image_mean": _MEAN, "image_std": _DEVIATION}), encoding="utf-8")
