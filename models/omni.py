"""Pictures and sound into the prompt: the encoders of a multimodal model (mmproj file) through llama.cpp's mtmd.

Runs inside the language model's own process, beside llama_native, which owns the text model.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import secrets
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import llama_cpp
import numpy as np
from llama_cpp import mtmd_cpp
from numpy.typing import NDArray

from models.errors import ModelError
from models.language import Message
from models.language_wire import ServerSettings
from models.llama_native import SEQUENCE, LlamaNative
from models.prompt_items import MediaPiece, PromptItem

_SAMPLE_RATE_HZ = 16000
_STRETCH = 30 * _SAMPLE_RATE_HZ  # samples that the encoder hears at once, padded with silence
_SLIVER, _TWO_FRAMES = _SAMPLE_RATE_HZ // 10, 320
# mtmd brackets pictures with Qwen2.5-VL's control tokens; the Omni vocabulary has others in their place
_OMNI_PICTURE = ("<|vision_bos|>", "<|vision_eos|>")


class _Chunks:
    """Owns the native result of tokenizing one picture or sound."""

    def __init__(self) -> None:
        self.pointer = mtmd_cpp.mtmd_input_chunks_init()
        weakref.finalize(self, mtmd_cpp.mtmd_input_chunks_free, self.pointer)

    def __iter__(self) -> Iterator[int]:
        for index in range(mtmd_cpp.mtmd_input_chunks_size(self.pointer)):
            yield int(mtmd_cpp.mtmd_input_chunks_get(self.pointer, index))


class _Chunk:
    """One native chunk; keeps its owner alive."""

    def __init__(self, owner: _Chunks, pointer: int) -> None:
        self.owner = owner
        self.pointer = pointer


class MediaReader:
    """Turns the media of messages into prompt items and evaluates them. Raises ModelError."""

    def __init__(self, settings: ServerSettings, native: LlamaNative) -> None:
        self._native = native
        self.marker = f"[media {secrets.token_hex(8)}]"  # cannot be guessed by whoever is heard or seen
        path = Path(settings.mmproj_path or "")
        if not path.is_file():
            raise ModelError(f"mmproj file {path} is not there: run `hearsight models fetch`")
        mtmd_cpp.mtmd_log_set(native.log.callback, ctypes.c_void_p(0))
        mtmd_cpp.mtmd_helper_log_set(native.log.callback, ctypes.c_void_p(0))
        parameters = mtmd_cpp.mtmd_context_params_default()
        parameters.use_gpu = settings.gpu_layers != 0
        parameters.print_timings = False
        parameters.warmup = False
        parameters.n_threads = settings.threads
        parameters.image_max_tokens = settings.image_tokens
        self._marker_bytes = self.marker.encode()
        parameters.media_marker = self._marker_bytes
        native.log.clear()
        self._context = mtmd_cpp.mtmd_init_from_file(str(path).encode(), native.model, parameters)
        if not self._context:
            raise ModelError(
                f"mmproj file {path} cannot be loaded ({native.log.last() or 'no reason given'}): "
                "run `hearsight models verify`, and check that it belongs to the text model"
            )
        self._sees = bool(mtmd_cpp.mtmd_support_vision(self._context))
        self._hears = bool(mtmd_cpp.mtmd_support_audio(self._context))
        tokens = [native.tokenize(text, special=True) for text in _OMNI_PICTURE]
        self._picture_brackets = tokens if all(len(token) == 1 for token in tokens) else None

    def items(self, messages: Sequence[Message], rendered: str) -> list[PromptItem]:
        """The rendered prompt as tokens, with the media of the messages in the place of the markers."""
        media = [piece for message in messages for piece in self._pieces(message)]
        texts = re.split(re.escape(self.marker), rendered)
        if len(texts) != len(media) + 1:
            raise ModelError(
                f"the chat template kept {len(texts) - 1} of {len(media)} pictures and sounds: "
                "put them into user messages"
            )
        items: list[PromptItem] = []
        for text, pieces in zip(texts, [*media, []], strict=True):
            items += self._native.tokenize(text, special=True) if text else []
            items += pieces
        return items

    def _pieces(self, message: Message) -> Iterator[list[PromptItem]]:
        for image in message.images:
            yield self._picture(image)
        for samples in message.audio:
            yield self._sound(samples)

    def _picture(self, jpeg: bytes) -> list[PromptItem]:
        if not self._sees:
            raise ModelError(
                "a picture was given, but the mmproj file has no vision encoder: take an omni model"
            )
        data = np.frombuffer(jpeg, np.uint8)
        decoded = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
        if decoded is None:
            raise ModelError(f"a picture of {len(jpeg)} bytes cannot be decoded: give a whole JPEG file")
        image = np.ascontiguousarray(decoded[:, :, ::-1])
        height, width = image.shape[:2]
        pointer = image.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        bitmap = int(mtmd_cpp.mtmd_bitmap_init(width, height, pointer) or 0)
        pieces = self._tokenize(bitmap, hashlib.sha256(jpeg).hexdigest())
        if self._picture_brackets is None:
            return pieces
        begin, end = self._picture_brackets
        return [*begin, *(piece for piece in pieces if isinstance(piece, MediaPiece)), *end]

    def _sound(self, samples: NDArray[np.float32]) -> list[PromptItem]:
        if not self._hears:
            raise ModelError("sound was given, but the mmproj file has no audio encoder: take an omni model")
        rate_hz = mtmd_cpp.mtmd_get_audio_sample_rate(self._context)
        if rate_hz != _SAMPLE_RATE_HZ:
            raise ModelError(
                f"the mmproj file wants sound at {rate_hz} Hz, but messages hold {_SAMPLE_RATE_HZ} Hz"
            )
        if samples.ndim != 1 or not samples.size or not np.isfinite(samples).all():
            raise ModelError(
                f"sound of shape {samples.shape} was given: give finite mono samples, at least one"
            )
        data = np.ascontiguousarray(_without_sliver(samples), np.float32)
        pointer = data.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        bitmap = int(mtmd_cpp.mtmd_bitmap_init_from_audio(data.size, pointer) or 0)
        return self._tokenize(bitmap, hashlib.sha256(data.tobytes()).hexdigest())

    def _tokenize(self, bitmap: int, key: str) -> list[PromptItem]:
        text = mtmd_cpp.mtmd_input_text()
        text.text, text.text_len = self._marker_bytes, len(self._marker_bytes)
        text.add_special, text.parse_special = False, True
        chunks = _Chunks()
        try:
            bitmaps = (mtmd_cpp.mtmd_bitmap_p_ctypes * 1)(ctypes.c_void_p(bitmap))
            self._native.log.clear()
            code = mtmd_cpp.mtmd_tokenize(self._context, chunks.pointer, ctypes.byref(text), bitmaps, 1)
        finally:
            mtmd_cpp.mtmd_bitmap_free(bitmap)
        if code != 0:
            reason = self._native.log.last() or "no reason given"
            raise ModelError(f"a picture or sound could not be prepared (code {code}, {reason})")
        items: list[PromptItem] = []
        for number, chunk in enumerate(chunks):
            if mtmd_cpp.mtmd_input_chunk_get_type(chunk) == mtmd_cpp.MTMD_INPUT_CHUNK_TYPE_TEXT:
                items += _text_tokens(chunk)
            else:
                tokens = mtmd_cpp.mtmd_input_chunk_get_n_tokens(chunk)
                positions = mtmd_cpp.mtmd_input_chunk_get_n_pos(chunk)
                items.append(MediaPiece(f"{key}:{number}", tokens, positions, _Chunk(chunks, chunk)))
        return items

    def evaluate(self, piece: MediaPiece, position: int) -> None:
        """Encode one piece and let the text model read it from a position on."""
        assert isinstance(piece.chunk, _Chunk)
        after = llama_cpp.llama_pos(0)
        code = mtmd_cpp.mtmd_helper_eval_chunk_single(
            self._context,
            self._native.context,
            piece.chunk.pointer,
            position,
            SEQUENCE,
            self._native.batch_tokens,
            False,
            ctypes.byref(after),
        )
        self._native.check(code)

    def close(self) -> None:
        mtmd_cpp.mtmd_free(self._context)


def _without_sliver(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """A clip of 30.00 s would cost a second stretch of 750 tokens of silence: cut its last 20 ms."""
    over = samples.size % _STRETCH
    if samples.size < _STRETCH or over >= _SLIVER:
        return samples
    return samples[: samples.size - over - _TWO_FRAMES]


def _text_tokens(chunk: int) -> list[int]:
    count = ctypes.c_size_t()
    pointer = mtmd_cpp.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(count))
    return list(pointer[: count.value])
