"""Chooses the next token: greedy or at a temperature, and only what the grammar allows."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.llama_native import LlamaNative

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)], align=True)
_FIRST_LOOK = 256
_TOP_K, _TOP_P = 40, 0.95


class TokenSampler:
    """One for each completion. The grammar first sees the likeliest few, all only if it refuses those."""

    def __init__(
        self, native: LlamaNative, *, grammar: str | None, temperature: float, complaint: Callable[[], str]
    ) -> None:
        """complaint: what the grammar's parser printed. Raises ModelError when the grammar is faulty."""
        self._native = native
        self._grammar = None
        if grammar is not None:
            complaint()
            native.log.clear()
            self._grammar = llama_cpp.llama_sampler_init_grammar(native.vocab, grammar.encode(), b"root")
            if not self._grammar:
                reason = complaint() or native.log.last() or "no rule `root`"
                raise ModelError(f"invalid grammar: {reason}; write GBNF that begins at a rule `root`")
        self._chain = None
        if temperature > 0:
            self._chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
            for part in (
                llama_cpp.llama_sampler_init_top_k(_TOP_K),
                llama_cpp.llama_sampler_init_top_p(_TOP_P, 1),
                llama_cpp.llama_sampler_init_temp(temperature),
                llama_cpp.llama_sampler_init_dist(llama_cpp.LLAMA_DEFAULT_SEED),
            ):
                llama_cpp.llama_sampler_chain_add(self._chain, part)

    def next_token(self, logits: NDArray[np.float32]) -> int:
        """The grammar moves on by the token that is returned."""
        token = self._choose(logits)
        if self._grammar:
            llama_cpp.llama_sampler_accept(self._grammar, token)
        return token

    def _choose(self, logits: NDArray[np.float32]) -> int:
        if self._chain is None:
            token = int(logits.argmax())
            if not self._grammar or self._allowed(_candidates(logits, np.array([token]))).size:
                return token
        count = min(_FIRST_LOOK, logits.size)
        few = np.argpartition(logits, -count)[-count:]
        allowed = self._allowed(_candidates(logits, few))
        if not allowed.size and count < logits.size:
            allowed = self._allowed(_candidates(logits, np.arange(logits.size)))
        if not allowed.size:
            raise ModelError("the grammar allows no token here: check that its rules can come to an end")
        if self._chain is None:
            return int(allowed["id"][allowed["logit"].argmax()])
        view, array = _native_array(allowed)
        llama_cpp.llama_sampler_apply(self._chain, ctypes.byref(array))
        return int(view["id"][array.selected])

    def _allowed(self, candidates: NDArray[np.void]) -> NDArray[np.void]:
        if not self._grammar:
            return candidates
        view, array = _native_array(candidates)
        llama_cpp.llama_sampler_apply(self._grammar, ctypes.byref(array))
        allowed: NDArray[np.void] = view[np.isfinite(view["logit"])]
        return allowed

    def close(self) -> None:
        for sampler in (self._grammar, self._chain):
            if sampler:
                llama_cpp.llama_sampler_free(sampler)
        self._grammar = self._chain = None


def _candidates(logits: NDArray[np.float32], tokens: NDArray[np.int64]) -> NDArray[np.void]:
    """Sorted by token id, so that equal logits are always chosen between alike."""
    candidates = np.zeros(tokens.size, _CANDIDATE)
    candidates["id"] = np.sort(tokens)
    candidates["logit"] = logits[candidates["id"]]
    return candidates


def _native_array(candidates: NDArray[np.void]) -> tuple[NDArray[np.void], llama_cpp.llama_token_data_array]:
    """The same memory as llama.cpp sees it; hold the first while the second is used."""
    array = llama_cpp.llama_token_data_array()
    array.data = (llama_cpp.llama_token_data * candidates.size).from_address(candidates.ctypes.data)
    array.size = candidates.size
    array.selected = -1
    array.sorted = False
    return candidates, array
