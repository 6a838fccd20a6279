"""The real small language model answers one question from memory, and nothing else is asserted of its taste."""

from pathlib import Path

import pytest

from models.language_process import LanguageProcess
from models.manifest import Manifest
from runtime.control import Control
from runtime.control_rounds import ControlLimits
from runtime.recall import Recall
from tests.household import NOW, ZONE, embed_words, open_household

MODEL = Manifest.load().default("language")
MODELS_DIRECTORY = Path("~/.cache/hearsight/models").expanduser()
FILE = next((path for path in MODEL.directory(MODELS_DIRECTORY).glob("*.gguf")), None)


@pytest.mark.timeout(900)
@pytest.mark.skipif(FILE is None, reason="the language model is not fetched; run `hearsight models fetch`")
def test_the_real_model_reads_a_memory_and_its_answer_holds_the_fact(tmp_path: Path) -> None:
    assert FILE is not None
    language = LanguageProcess(FILE, start_timeout_s=600)
    try:
        with open_household(tmp_path) as store:
            control = Control(
                Recall(store, embed_words),
                language,
                clock=lambda: NOW,
                zone=ZONE,
                limits=ControlLimits(round_timeout_s=800),
            )
            answer = control.answer("What is the wifi password?")
    finally:
        language.close()
    assert "sunflower" in answer.text
    assert answer.model_calls >= 1 and answer.rounds[0].action in ("answer", "search")
    assert any("wifi" in item.line for item in answer.evidence)
