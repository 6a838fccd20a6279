"""Writes a tiny Qwen2.5-Omni of random weights as GGUF files: a text model and its mmproj with both encoders.

It proves that text, pictures and sound run through the real native code, offline, in under a second; what it
says means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

WIDTH = 64  # of the text model, and what the encoders project to
LAYERS, HEADS, KEY_HEADS, FEED_FORWARD = 2, 4, 2, 128
ENCODER_WIDTH, ENCODER_HEADS, ENCODER_FEED_FORWARD = 32, 2, 64
PATCH_PX, MEL_BINS, AUDIO_POSITIONS = 14, 128, 1500
CONTEXT_TOKENS = 8192
CONTROL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|audio_bos|>",
    "<|audio_eos|>",
    "<|vision_bos|>",
    "<|vision_eos|>",
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
Tensors = Iterator[tuple[str, NDArray[np.floating]]]


class _Weights:
    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def matrix(self, *shape: int, half: bool = False) -> NDArray[np.floating]:
        values = self._random.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape)
        return values.astype(np.float16 if half else np.float32)

    def vector(self, length: int) -> NDArray[np.floating]:
        return self._random.normal(0, 0.1, length).astype(np.float32)


def write_text_model(path: Path, *, seed: int = 1, chat_template: str | None = CHAT_TEMPLATE) -> Path:
    """About 1 MB: architecture qwen2vl (M-RoPE), a vocabulary of bytes, a few merges and the control tokens."""
    writer = gguf.GGUFWriter(path, "qwen2vl")
    writer.add_name("tiny-omni")
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_sections([2, 3, 3, 0])
    tokens = _add_vocabulary(writer)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
    return _finish(writer, path, _text_tensors(_Weights(seed), tokens))


def write_mmproj(path: Path, *, seed: int = 2, vision: bool = True, audio: bool = True) -> Path:
    """About 1 MB: the encoders of Qwen2.5-Omni (windowed ViT, Whisper encoder), two layers each."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_clip_projector_type("qwen2.5o")
    writer.add_clip_has_vision_encoder(vision)
    writer.add_clip_has_audio_encoder(audio)
    tensors: list[tuple[str, NDArray[np.floating]]] = []
    if vision:
        _add_vision(writer)
        tensors += _vision_tensors(_Weights(seed))
    if audio:
        _add_audio(writer)
        tensors += _audio_tensors(_Weights(seed + 1))
    return _finish(writer, path, iter(tensors))


def _add_vocabulary(writer: gguf.GGUFWriter) -> int:
    """Byte-level BPE as in GPT-2: printable stand-ins for the bytes. Returns the number of tokens."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    stand_ins = [chr(byte) for byte in printable] + [chr(256 + index) for index in range(len(others))]
    pairs = [("t", "h"), ("th", "e"), ("i", "n"), ("a", "n"), ("\u0120", "the"), ("e", "r"), ("o", "n")]
    tokens = stand_ins + [first + second for first, second in pairs]
    kinds = [gguf.TokenType.NORMAL] * len(tokens) + [gguf.TokenType.CONTROL] * len(CONTROL_TOKENS)
    tokens += CONTROL_TOKENS
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{first} {second}" for first, second in pairs])
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_pad_token_id(tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    return len(tokens)


def _text_tensors(weights: _Weights, tokens: int) -> Tensors:
    key_width = WIDTH // HEADS * KEY_HEADS
    yield "token_embd.weight", weights.matrix(tokens, WIDTH)
    yield "output_norm.weight", np.ones(WIDTH, np.float32)
    yield "output.weight", 6 * weights.matrix(tokens, WIDTH)
    for layer in range(LAYERS):
        name = f"blk.{layer}"
        yield f"{name}.attn_norm.weight", np.ones(WIDTH, np.float32)
        yield f"{name}.ffn_norm.weight", np.ones(WIDTH, np.float32)
        for part, width in (("q", WIDTH), ("k", key_width), ("v", key_width)):
            yield f"{name}.attn_{part}.weight", weights.matrix(width, WIDTH)
            yield f"{name}.attn_{part}.bias", weights.vector(width)
        yield f"{name}.attn_output.weight", weights.matrix(WIDTH, WIDTH)
        yield f"{name}.ffn_gate.weight", weights.matrix(FEED_FORWARD, WIDTH)
        yield f"{name}.ffn_up.weight", weights.matrix(FEED_FORWARD, WIDTH)
        yield f"{name}.ffn_down.weight", weights.matrix(WIDTH, FEED_FORWARD)


def _add_vision(writer: gguf.GGUFWriter) -> None:
    writer.add_vision_projection_dim(WIDTH)
    writer.add_vision_embedding_length(ENCODER_WIDTH)
    writer.add_vision_feed_forward_length(ENCODER_FEED_FORWARD)
    writer.add_vision_block_count(LAYERS)
    writer.add_vision_head_count(ENCODER_HEADS)
    writer.add_vision_attention_layernorm_eps(1e-6)
    writer.add_vision_image_size(560)
    writer.add_vision_patch_size(PATCH_PX)
    writer.add_vision_image_mean([0.48, 0.46, 0.41])
    writer.add_vision_image_std([0.27, 0.26, 0.28])
    writer.add_vision_use_silu(True)
    writer.add_vision_n_wa_pattern(2)


def _vision_tensors(weights: _Weights) -> Tensors:
    width = ENCODER_WIDTH
    yield "v.patch_embd.weight", weights.matrix(width, 3, PATCH_PX, PATCH_PX, half=True)
    yield "v.patch_embd.weight.1", weights.matrix(width, 3, PATCH_PX, PATCH_PX, half=True)
    for layer in range(LAYERS):
        name = f"v.blk.{layer}"
        yield from _attention(weights, name, biased=("q", "k", "v", "out"))
        yield f"{name}.ln1.weight", np.ones(width, np.float32)
        yield f"{name}.ln2.weight", np.ones(width, np.float32)
        for part in ("gate", "up"):
            yield f"{name}.ffn_{part}.weight", weights.matrix(ENCODER_FEED_FORWARD, width)
            yield f"{name}.ffn_{part}.bias", weights.vector(ENCODER_FEED_FORWARD)
        yield f"{name}.ffn_down.weight", weights.matrix(width, ENCODER_FEED_FORWARD)
        yield f"{name}.ffn_down.bias", weights.vector(width)
    yield "v.post_ln.weight", np.ones(width, np.float32)
    yield "mm.0.weight", weights.matrix(4 * width, 4 * width)
    yield "mm.0.bias", weights.vector(4 * width)
    yield "mm.2.weight", weights.matrix(WIDTH, 4 * width)
    yield "mm.2.bias", weights.vector(WIDTH)


def _add_audio(writer: gguf.GGUFWriter) -> None:
    writer.add_audio_projection_dim(WIDTH)
    writer.add_audio_embedding_length(ENCODER_WIDTH)
    writer.add_audio_feed_forward_length(ENCODER_FEED_FORWARD)
    writer.add_audio_block_count(LAYERS)
    writer.add_audio_head_count(ENCODER_HEADS)
    writer.add_audio_attention_layernorm_eps(1e-5)
    writer.add_audio_num_mel_bins(MEL_BINS)


def _audio_tensors(weights: _Weights) -> Tensors:
    width = ENCODER_WIDTH
    for number, channels in ((1, MEL_BINS), (2, width)):
        yield f"a.conv1d.{number}.weight", weights.matrix(width, channels, 3, half=True)
        yield f"a.conv1d.{number}.bias", weights.vector(width).reshape(width, 1)
    yield "a.position_embd.weight", weights.matrix(AUDIO_POSITIONS, width)
    for layer in range(LAYERS):
        name = f"a.blk.{layer}"
        yield from _attention(weights, name, biased=("q", "v", "out"))
        for norm in ("ln1", "ln2"):
            yield f"{name}.{norm}.weight", np.ones(width, np.float32)
            yield f"{name}.{norm}.bias", weights.vector(width)
        yield f"{name}.ffn_up.weight", weights.matrix(ENCODER_FEED_FORWARD, width)
        yield f"{name}.ffn_up.bias", weights.vector(ENCODER_FEED_FORWARD)
        yield f"{name}.ffn_down.weight", weights.matrix(width, ENCODER_FEED_FORWARD)
        yield f"{name}.ffn_down.bias", weights.vector(width)
    yield "a.post_ln.weight", np.ones(width, np.float32)
    yield "a.post_ln.bias", weights.vector(width)
    yield "mm.a.fc.weight", weights.matrix(WIDTH, width)
    yield "mm.a.fc.bias", weights.vector(WIDTH)


def _attention(weights: _Weights, name: str, *, biased: tuple[str, ...]) -> Tensors:
    for part in ("q", "k", "v", "out"):
        yield f"{name}.attn_{part}.weight", weights.matrix(ENCODER_WIDTH, ENCODER_WIDTH)
        if part in biased:
            yield f"{name}.attn_{part}.bias", weights.vector(ENCODER_WIDTH)


def _finish(writer: gguf.GGUFWriter, path: Path, tensors: Tensors) -> Path:
    for name, values in tensors:
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
