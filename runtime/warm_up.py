"""Does once, at start, what the first question would wait for: first calls, and the fixed part of the prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError, Preempted
from models.language import LanguageModel
from models.speech import Transcript
from runtime.control_rounds import ControlLimits
from runtime.control_turn import build_prompt
from runtime.grounding import stem
from runtime.hear import SAMPLE_RATE_HZ
from runtime.prompts import Language, load_prompt
from runtime.question_time import Household
from runtime.say import Speech
from runtime.voice import Synthesize

_WORDS: Mapping[str, str] = {"en": "Hello.", "zh": "你好。"}


def warm_speech(
    transcribe: Callable[[NDArray[np.float32]], Transcript],
    embed: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    voices: Mapping[str, Synthesize],
) -> None:
    """Let each engine work once. Raises ModelError."""
    noise = np.random.default_rng(1).normal(0.0, 0.01, SAMPLE_RATE_HZ).astype(np.float32)
    transcribe(noise)
    embed(noise)
    stem("said")  # the list of words' forms is read when it is first needed
    for language, synthesize in voices.items():
        synthesize(_WORDS.get(language, _WORDS["en"]))


def warm_language(language: LanguageModel, languages: Sequence[Language], household: Household) -> str:
    """Start the model's process, and let it read the fixed part of the control prompts; what failed, or "".

    A question that comes meanwhile goes first, and then reads them itself.
    """
    limits = ControlLimits()
    try:
        for spoken in languages:
            prompt = load_prompt("control", spoken)
            shown = build_prompt(
                prompt,
                "?",
                (),
                (prompt.sentences["instruction"],),
                Speech(spoken, household.zone, 0.0),
                language,
                reply_tokens=limits.reply_tokens,
                max_shown=limits.shown,
            )
            language.complete(shown.messages, max_tokens=1)
    except Preempted:
        return ""
    except ModelError as error:
        return str(error)
    return ""
