"""Language models to be trained: loaded from a folder or a GGUF file, given adapters, merged and saved again."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offline_tools.train.errors import TrainingError
from offline_tools.train.memory_limit import is_out_of_memory
from offline_tools.train.sft_recipe import LoraRecipe

OMNI = "Qwen2_5OmniThinkerForConditionalGeneration"
_OMNI_TYPES = ("qwen2_5_omni", "qwen2_5_omni_thinker")
ADAPTER_CONFIG = "adapter_config.json"


@dataclass(frozen=True)
class Loaded:
    """A model with what turns text into its tokens. source: the folder or file it came from."""

    model: Any
    tokenizer: Any
    source: Path

    @property
    def has_senses(self) -> bool:
        """Whether it takes pictures and sound."""
        return type(self.model).__name__ == OMNI

    @property
    def architecture(self) -> str:
        """The name of its class and its size, by which a checkpoint is known to belong to it."""
        config = self.model.config.get_text_config()
        return (
            f"{type(self.model).__name__}, {config.num_hidden_layers} layers, width {config.hidden_size}, "
            f"vocabulary {config.vocab_size}"
        )


def load_model(source: Path, dtype: str) -> Loaded:
    """A model from a folder in Hugging Face's format (adapters are merged into their base) or from a GGUF file.

    dtype: "float32" or "bfloat16". Raises TrainingError where it cannot be read or is no model that writes text.
    """
    if not source.exists():
        raise TrainingError(f"there is no model at {source}")
    if (source / ADAPTER_CONFIG).is_file():
        return _merged(source, dtype)
    from safetensors import SafetensorError

    broken = (OSError, ValueError, KeyError, IndexError, RuntimeError, struct.error, SafetensorError)
    try:
        return _from_gguf(source, dtype) if source.is_file() else _from_folder(source, dtype)
    except (*broken, MemoryError) as error:
        if is_out_of_memory(error):
            raise TrainingError(
                f"memory ran out while {source} was loaded: whole weights take 4 bytes a parameter, adapters in "
                "bfloat16 (method: lora) 2"
            ) from error
        raise TrainingError(f"cannot load the model {source}: {_first_line(error)}") from error


def _from_folder(source: Path, dtype: str) -> Loaded:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    from transformers import Qwen2_5OmniThinkerForConditionalGeneration as Thinker

    config = AutoConfig.from_pretrained(source)
    if config.model_type in _OMNI_TYPES:
        model = Thinker.from_pretrained(source, dtype=getattr(torch, dtype))
    else:
        named = config.architectures or []
        if not any("CausalLM" in name for name in named):
            raise TrainingError(
                f"{source} holds a {', '.join(named) or config.model_type}: a causal language model or the thinker "
                "of a Qwen2.5-Omni is needed"
            )
        model = AutoModelForCausalLM.from_pretrained(source, dtype=getattr(torch, dtype))
    return Loaded(model, _with_template(AutoTokenizer.from_pretrained(source), source), source)


def _from_gguf(source: Path, dtype: str) -> Loaded:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    folder, name = str(source.parent), source.name
    model = AutoModelForCausalLM.from_pretrained(
        folder,
        gguf_file=name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=getattr(torch, dtype),
    )
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    return Loaded(model, _with_template(tokenizer, source), source)


def _with_template(tokenizer: Any, source: Path) -> Any:
    if not tokenizer.chat_template:
        raise TrainingError(f"the model {source} has no chat template: take one that was trained to chat")
    return tokenizer


def _merged(source: Path, dtype: str) -> Loaded:
    """The base of an adapter with the adapter merged into it."""
    from peft import PeftModel

    try:
        stored = json.loads((source / ADAPTER_CONFIG).read_text(encoding="utf-8"))
        base_path = Path(stored["base_model_name_or_path"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{source / ADAPTER_CONFIG} cannot be read: {_first_line(error)}") from error
    base = load_model(base_path, dtype)
    try:
        model = PeftModel.from_pretrained(base.model, source).merge_and_unload()
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise TrainingError(
            f"the adapter {source} does not fit its base {base_path}: {_first_line(error)}"
        ) from error
    return Loaded(model, base.tokenizer, source)


def adapter_settings(recipe: LoraRecipe, loaded: Loaded) -> Any:
    """What PEFT needs to add adapters. Raises TrainingError where the model has none of the named layers."""
    from peft import LoraConfig

    layers = {name.rpartition(".")[2] for name, _ in loaded.model.named_modules()}
    missing = [name for name in recipe.targets if name not in layers]
    if missing:
        raise TrainingError(
            f"the model has no layers named {', '.join(missing)} (lora.targets): it has {_shown(layers)}"
        )
    return LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=_within_language_model(loaded, recipe.targets),
        task_type="CAUSAL_LM",
    )


def _within_language_model(loaded: Loaded, targets: Iterable[str]) -> list[str]:
    """The full names of the layers of the language model, so that encoders of pictures and sound stay as they are."""
    return [
        name
        for name, _ in loaded.model.named_modules()
        if name.rpartition(".")[2] in set(targets) and "visual" not in name and "audio_tower" not in name
    ]


def freeze_encoders(loaded: Loaded) -> None:
    """Keep the encoders of pictures and sound as they are."""
    for name, parameter in loaded.model.named_parameters():
        if "visual" in name or "audio_tower" in name:
            parameter.requires_grad_(False)


def _shown(layers: set[str]) -> str:
    return ", ".join(sorted(name for name in layers if name and not name.isdigit())[:20])


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
