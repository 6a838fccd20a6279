"""A tiny thinker of Qwen2.5-Omni with random weights: every encoder is there, two layers each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.training.tiny_models import SPECIAL, tokenizer

MEDIA_TOKENS = (
    "<|AUDIO|>",
    "<|audio_bos|>",
    "<|audio_eos|>",
    "<|IMAGE|>",
    "<|VIDEO|>",
    "<|vision_bos|>",
    "<|vision_eos|>",
)


def save_tiny_thinker(folder: Path, *, seed: int = 5, words: Any = None) -> Path:
    """About 300,000 parameters, saved as transformers saves a thinker. words: a tokenizer, else one of bytes."""
    import torch
    from transformers import Qwen2_5OmniThinkerConfig, Qwen2_5OmniThinkerForConditionalGeneration

    words = words or tokenizer(SPECIAL)
    words.add_special_tokens({"additional_special_tokens": [*SPECIAL, *MEDIA_TOKENS]})
    audio, audio_bos, audio_eos, image, video, vision_bos, vision_eos = words.convert_tokens_to_ids(
        list(MEDIA_TOKENS)
    )
    config = Qwen2_5OmniThinkerConfig(
        audio_config={
            "num_mel_bins": 128, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 64,
            "d_model": 32, "output_dim": 64, "n_window": 50,
        },
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64,
            "fullatt_block_indexes": [1],
        },
        text_config={
            "vocab_size": len(words), "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]},
            "tie_word_embeddings": False,
        },
        audio_token_index=audio, image_token_index=image, video_token_index=video,
        audio_start_token_id=audio_bos, audio_end_token_id=audio_eos,
        vision_start_token_id=vision_bos, vision_end_token_id=vision_eos,
    )  # fmt: skip
    torch.manual_seed(seed)
    model = Qwen2_5OmniThinkerForConditionalGeneration(config)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
