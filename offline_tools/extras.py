"""What the tools say where a library of an extra is missing; those libraries are imported only where they are used."""

from __future__ import annotations

CLUSTER = frozenset({"verl", "transfer_queue", "hydra", "omegaconf", "tensordict"})
TRAIN = frozenset(
    {
        "torch",
        "transformers",
        "trl",
        "accelerate",
        "datasets",
        "peft",
        "gguf",
        "sentencepiece",
        "safetensors",
        "networkx",
        "ray",
    }
)


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """One sentence that names the extra which the missing library belongs to; None where it belongs to none."""
    library = (error.name or "").partition(".")[0]
    if library in TRAIN:
        return f"needs the training extra ({library} is missing): make setup-training"
    if library in CLUSTER:
        return (
            f"needs the cluster extra ({library} is missing), in an environment of its own: "
            "pip install 'hearsight[cluster]'"
        )
    return None
