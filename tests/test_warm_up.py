"""Warming up: every engine works once, the language model reads its prompt's fixed part, and what fails is told."""

from __future__ import annotations

import asyncio
import os
import threading
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError, Preempted
from models.speech import Transcript
from runtime.prompts import load_prompt
from runtime.question_time import Household
from runtime.warm_up import warm_language, warm_speech
from runtime.workers import NICER, Worker
from tests.scripted_language import ScriptedLanguage

HOUSEHOLD = Household(ZoneInfo("UTC"))


def test_the_model_reads_what_every_question_begins_with() -> None:
    language = ScriptedLanguage(lambda _messages: "x")
    assert warm_language(language, ["en", "zh"], HOUSEHOLD) == ""
    english, chinese = (call.messages for call in language.calls)
    prompt = load_prompt("control", "en")
    assert english[0].content == prompt.system and len(english) == 2 + 2 * len(prompt.examples)
    assert chinese[0].content == load_prompt("control", "zh").system
    assert all(call.max_tokens == 1 for call in language.calls)


def test_a_model_that_cannot_be_made_ready_is_told_of() -> None:
    broken = ScriptedLanguage([ModelError("the language model crashed")])
    assert "crashed" in warm_language(broken, ["en"], HOUSEHOLD)


def test_a_question_that_comes_first_is_no_fault() -> None:
    busy = ScriptedLanguage([Preempted("given up for a call that cannot wait")])
    assert warm_language(busy, ["en", "zh"], HOUSEHOLD) == "" and len(busy.calls) == 1


def test_every_engine_of_speech_works_once() -> None:
    done: list[str] = []

    def transcribe(samples: NDArray[np.float32]) -> Transcript:
        done.append(f"{len(samples)} samples")
        return Transcript(0.0, 1.0, "", "en", 0.0)

    def embed(samples: NDArray[np.float32]) -> NDArray[np.float32]:
        done.append("voice")
        return samples

    def speak(text: str) -> tuple[NDArray[np.float32], int]:
        done.append(text)
        return np.zeros(1, dtype=np.float32), 16000

    warm_speech(transcribe, embed, {"en": speak, "zh": speak, "de": speak})
    assert done == ["16000 samples", "voice", "Hello.", "你好。", "Hello."]


def test_a_background_thread_steps_back_and_others_do_not() -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    async def both() -> tuple[int, int]:
        workers = Worker("front"), Worker("back", background=True)
        front, back = [await worker.call(priority) for worker in workers]
        for worker in workers:
            worker.close()
        return front, back

    front, back = asyncio.run(both())
    assert front == priority() and back == min(19, front + NICER)
