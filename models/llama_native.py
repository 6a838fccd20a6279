"""One llama.cpp model with its context: loading, tokens, evaluation and the key-value memory of sequence 0.

Runs inside the language model's own process only. Prompts, sampling and reuse are left to llama_engine.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError, Preempted
from models.language_wire import ServerSettings

SEQUENCE = 0
ABORTED = 2
_WARNING_LEVEL, _ERROR_LEVEL = 3, 4  # ggml.h, enum ggml_log_level


class NativeLog:
    """Silences llama.cpp and keeps its last warnings and errors for messages."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=12)
        self.callback = llama_cpp.llama_log_callback(self._receive)  # must outlive the library's use of it
        llama_cpp.llama_log_set(self.callback, ctypes.c_void_p(0))

    def _receive(self, level: int, text: bytes, _user_data: object) -> None:
        if level in (_WARNING_LEVEL, _ERROR_LEVEL) and text.strip():
            self._lines.append(text.decode("utf-8", "replace").strip())

    def clear(self) -> None:
        self._lines.clear()

    def last(self, lines: int = 2) -> str:
        """The newest lines in one, empty when nothing was said."""
        return "; ".join(list(self._lines)[-lines:])


class LlamaNative:
    """Owns the C objects. Raises ModelError when the file cannot be loaded or the memory is not there."""

    def __init__(self, settings: ServerSettings, log: NativeLog) -> None:
        self.log = log
        self.threads = settings.threads
        self.batch_tokens = min(settings.batch_tokens, settings.context_tokens)
        self._deadline = self._allowed_s = float("inf")
        self._yields = self._preempted = False
        llama_cpp.llama_backend_init()
        self.model = self._load_model(settings)
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.vocab_size: int = llama_cpp.llama_vocab_n_tokens(self.vocab)
        self.context = self._make_context(settings)
        self.memory = llama_cpp.llama_get_memory(self.context)
        self._batch = llama_cpp.llama_batch_init(self.batch_tokens, 0, 1)
        # evaluation checks the clock between operations, so that a slow prompt ends in time on the CPU
        self._abort = llama_cpp.ggml_abort_callback(lambda _data: self._must_stop())
        llama_cpp.llama_set_abort_callback(self.context, self._abort, ctypes.c_void_p(0))

    def _load_model(self, settings: ServerSettings) -> int:
        path = Path(settings.model_path)
        if not path.is_file():
            raise ModelError(f"language model {path} is not there: run `hearsight models fetch`")
        parameters = llama_cpp.llama_model_default_params()
        parameters.n_gpu_layers = settings.gpu_layers
        self.log.clear()
        model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
        if not model:
            raise ModelError(
                f"language model {path} cannot be loaded ({self.log.last() or 'no reason given'}): "
                "run `hearsight models verify`, and fetch it again if it is damaged"
            )
        trained = llama_cpp.llama_model_n_ctx_train(model)
        if settings.context_tokens > trained:
            raise ModelError(
                f"context_tokens is {settings.context_tokens}, but {path.name} was trained for {trained}: "
                "lower it"
            )
        return int(model)

    def _make_context(self, settings: ServerSettings) -> int:
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = settings.context_tokens
        parameters.n_batch = parameters.n_ubatch = self.batch_tokens
        parameters.n_seq_max = 1
        parameters.n_threads = parameters.n_threads_batch = settings.threads
        parameters.no_perf = True
        self.log.clear()
        context = llama_cpp.llama_init_from_model(self.model, parameters)
        if not context:
            raise ModelError(
                f"no memory for a context of {settings.context_tokens} tokens of {settings.model_path} "
                f"({self.log.last() or 'no reason given'}): lower context_tokens or take a smaller model"
            )
        return int(context)

    def metadata(self, key: str) -> str | None:
        """A string of the file's metadata."""
        size = 1 << 16
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = llama_cpp.llama_model_meta_val_str(self.model, key.encode(), buffer, size)
            if length < 0:
                return None
            if length < size:
                return buffer.value.decode("utf-8", "replace")
            size = length + 1

    def tokenize(self, text: str, *, special: bool, bos: bool = False) -> list[int]:
        """special: whether the texts of control tokens in it become those tokens; bos: as the model wants it."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self.vocab, data, len(data), tokens, room, bos, special)
        if count < 0:
            raise ModelError(f"the model's tokenizer refused a text of {len(data)} bytes")
        return list(tokens[:count])

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of a token; empty for control tokens unless special."""
        size = 256
        buffer = ctypes.create_string_buffer(size)
        length = llama_cpp.llama_token_to_piece(self.vocab, token, buffer, size, 0, special)
        return buffer.raw[: max(0, length)]

    def special_text(self, name: str) -> str:
        """The text of the "bos" or "eos" token; empty where there is none."""
        find = {"bos": llama_cpp.llama_vocab_bos, "eos": llama_cpp.llama_vocab_eos}[name]
        token = find(self.vocab)
        return self.piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

    def ends(self, token: int) -> bool:
        return bool(llama_cpp.llama_vocab_is_eog(self.vocab, token))

    def control_texts(self) -> list[str]:
        """The texts that the tokenizer takes for control tokens."""
        texts = (
            llama_cpp.llama_vocab_get_text(self.vocab, token)
            for token in range(self.vocab_size)
            if llama_cpp.llama_vocab_is_control(self.vocab, token)
        )
        return [text.decode("utf-8", "replace") for text in texts if text]

    def allow(self, time_s: float, *, yields: bool = False) -> None:
        """From now on; evaluation stops with ModelError when it has passed.

        One that yields also stops, with Preempted, after `preempt`, which may come before it: what it was sent for
        is only over when a call that does not yield begins.
        """
        self._yields = yields
        self._preempted = self._preempted and yields
        self._allowed_s = time_s
        self._deadline = time.monotonic() + time_s

    def preempt(self) -> None:
        """Let the evaluation that runs, if it yields, stop with Preempted; for a signal handler."""
        self._preempted = True

    def _must_stop(self) -> bool:
        return (self._yields and self._preempted) or time.monotonic() > self._deadline

    def evaluate(self, tokens: Sequence[int], position: int, *, logits: bool) -> None:
        """Evaluate at most batch_tokens tokens from a position on; logits: of the last one."""
        batch, count = self._batch, len(tokens)
        batch.n_tokens = count
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = position + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = SEQUENCE
            batch.logits[index] = False
        batch.logits[count - 1] = logits
        self.check(llama_cpp.llama_decode(self.context, batch))

    def check(self, code: int) -> None:
        """Translate what llama_decode returned."""
        if code == ABORTED and self._yields and self._preempted:
            raise Preempted("the language model was wanted for something more urgent")
        if code == ABORTED:
            raise ModelError(f"the language model took longer than timeout_s = {self._allowed_s:g}")
        if code != 0:
            raise ModelError(f"evaluation failed with code {code} ({self.log.last() or 'no reason given'})")

    def logits(self) -> NDArray[np.float32]:
        """A view (vocabulary,) on the last logits, valid until the next evaluation."""
        pointer = llama_cpp.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(pointer, shape=(self.vocab_size,))

    def keep_until(self, position: int) -> bool:
        """Forget everything from this position on. False: this model cannot, and all was forgotten."""
        if llama_cpp.llama_memory_seq_rm(self.memory, SEQUENCE, position, -1):
            return True
        llama_cpp.llama_memory_clear(self.memory, True)
        return False

    def save_state(self) -> NDArray[np.uint8]:
        size = llama_cpp.llama_state_seq_get_size(self.context, SEQUENCE)
        state = np.empty(size, np.uint8)
        pointer = state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        written = llama_cpp.llama_state_seq_get_data(self.context, pointer, size, SEQUENCE)
        return state[:written]

    def load_state(self, state: NDArray[np.uint8]) -> bool:
        """Replace the memory of the sequence. False: it did not fit, and all was forgotten."""
        pointer = state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        llama_cpp.llama_memory_clear(self.memory, False)
        if llama_cpp.llama_state_seq_set_data(self.context, pointer, state.size, SEQUENCE):
            return True
        llama_cpp.llama_memory_clear(self.memory, True)
        return False

    def close(self) -> None:
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self.context)
        llama_cpp.llama_model_free(self.model)
