"""What the grammar of a turn lets a model write, asked of llama.cpp itself."""

from collections.abc import Iterator

import numpy as np
import pytest

from models.language_wire import ServerSettings
from models.llama_native import LlamaNative, NativeLog
from models.token_sampler import TokenSampler
from runtime.control_turn import turn_grammar
from runtime.prompts import load_prompt
from tests.tiny_omni import write_text_model

WRITTEN = [
    ("Reasoning: the second.\n[Answer] Anna keeps bees. (memory 2)", True),
    ("Reasoning: the second.\n[Answer] Mrs. Keller lives in St. Ives with Dr. Moss. (memory 1)", True),
    ("Reasoning: the second.\n[Answer] It costs 2.50 at 7 p.m. (memory 1)", True),
    ("Reasoning: the second.\n[Answer] It costs 2.50 at 7 p.m. now. (memory 1, 2)", True),
    ("Reasoning: the second.\n[Answer] Anna keeps bees. She sells honey. (memory 2)", False),
    ("Reasoning: the second.\n[Answer] Anna keeps bees. (memory 3)", False),
    ("Reasoning: the second.\n[Answer] [Search] bees. (memory 1)", False),
    ("Reasoning: the second.\n[Answer] <|im_end|> bees. (memory 1)", False),
    ("Reasoning: the second.\n[Search] who keeps bees", True),
    ("[Answer] Anna keeps bees. (memory 2)", False),
]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaNative]:
    path = write_text_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf")
    native = LlamaNative(
        ServerSettings(model_path=str(path), mmproj_path=None, context_tokens=512, threads=1), NativeLog()
    )
    yield native
    native.close()


@pytest.mark.parametrize(("text", "allowed"), WRITTEN)
def test_a_turn_is_one_sentence_that_cites_or_a_search(native: LlamaNative, text: str, allowed: bool) -> None:
    grammar = turn_grammar(load_prompt("control", "en"), 2, last=False)
    assert may_write(native, grammar, text) == allowed


def may_write(native: LlamaNative, grammar: str, text: str) -> bool:
    """Whether a model that wants nothing more than to write the text gets to its end."""
    sampler = TokenSampler(native, grammar=grammar, temperature=0.0, complaint=str)
    try:
        for token in native.tokenize(text, special=False):
            logits = np.zeros(native.vocab_size, np.float32)
            logits[token] = 1.0
            if sampler.next_token(logits) != token:
                return False
    finally:
        sampler.close()
    return True
