"""Sentences to vectors for search: multilingual-e5-small, or bge-small-en where everyone speaks English.

The two were trained with different words before a question; those prefixes are handed in.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.errors import ModelError
from models.sessions import Accelerator, normalised, open_session

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
MODEL_TOKENS = 512  # both models have this many positions


class TextEmbedder:
    """Texts to vectors of length 1; the inner product is the similarity.

    A model that gives one vector a text is taken as it is; one that gives a vector a token is read at the
    first token, as bge was trained. Longer texts are cut at `max_tokens`.
    On a CPU one text at a time is as fast as a batch and takes the least memory, and the vectors of an int8 model
    then do not depend on their neighbours.
    """

    def __init__(
        self,
        directory: Path,
        *,
        query_prefix: str = "query: ",
        passage_prefix: str = "passage: ",
        max_tokens: int = 256,
        batch_size: int = 1,
        threads: int = 1,
        accelerator: Accelerator = "cpu",
    ) -> None:
        if not 8 <= max_tokens <= MODEL_TOKENS:
            raise ModelError(f"max_tokens is {max_tokens}; give 8 to {MODEL_TOKENS}")
        if batch_size < 1:
            raise ModelError(f"batch_size is {batch_size}; give at least 1")
        self._session = open_session(directory / MODEL_FILE, threads=threads, accelerator=accelerator)
        self.provider = self._session.provider
        self._tokenizer = _open_tokenizer(directory / TOKENIZER_FILE, max_tokens)
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self._batch_size = batch_size

    def embed_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (n, size) of questions. Raises ModelError for an empty list or text."""
        return self._embed(texts, self._query_prefix)

    def embed_passage(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (n, size) of things to be found. Raises ModelError for an empty list or text."""
        return self._embed(texts, self._passage_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        if isinstance(texts, str):
            raise ModelError("one text was given where a list of texts is wanted; put it in a list")
        if not texts:
            raise ModelError("no text to embed; give at least one")
        for number, text in enumerate(texts):
            if not text.strip():
                raise ModelError(f"text {number} of {len(texts)} is empty; leave empty texts out")
        prefixed = [prefix + text for text in texts]
        starts = range(0, len(prefixed), self._batch_size)
        return np.vstack([self._embed_batch(prefixed[start : start + self._batch_size]) for start in starts])

    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        encodings = self._tokenizer.encode_batch(texts)
        columns = {
            "input_ids": [encoding.ids for encoding in encodings],
            "attention_mask": [encoding.attention_mask for encoding in encodings],
            "token_type_ids": [encoding.type_ids for encoding in encodings],
        }
        feeds = {
            name: np.array(rows, dtype=np.int64)
            for name, rows in columns.items()
            if name in self._session.input_names
        }
        output = self._session.run(feeds)[self._session.output_names[0]]
        return normalised(output if output.ndim == 2 else output[:, 0], self._session.path.parent.name)


def _open_tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    if not path.is_file():
        raise ModelError(f"tokenizer file {path} is missing; run `hearsight models fetch`")
    try:
        tokenizer = Tokenizer.from_buffer(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"tokenizer file {path} is damaged ({error}); fetch it again") from error
    padding = next((token for token in ("<pad>", "[PAD]") if tokenizer.token_to_id(token) is not None), None)
    if padding is None:
        raise ModelError(f"tokenizer file {path} has no padding token (<pad> or [PAD])")
    tokenizer.enable_truncation(max_length=max_tokens)
    tokenizer.enable_padding(pad_id=tokenizer.token_to_id(padding), pad_token=padding)
    return tokenizer
