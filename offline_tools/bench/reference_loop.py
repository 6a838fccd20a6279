"""The control loop of M3-Agent (arXiv 2508.09736, section 4.3 and its published code), rebuilt over this memory.

No round 0; in each of five rounds the model reasons and then answers or searches; a search gives the two clips whose
best line is nearest to the query by vectors alone, with a cosine of at least 0.5, leaving out clips given before; what
to write is said again in each round; the last one must answer. Kinder than the original: clips carry their time, the
format is held by a grammar and shown in an example, nothing is answered before anything was found, and where the
conversation outgrows the context the oldest finds are dropped. Less than the original: the model is not trained for it,
decoding is greedy, and there is no special search for ids of characters, as lines carry names already.
"""

from __future__ import annotations

import json
import re
from typing import Any

from memory_store.records import NodeKind
from models.language import Message
from offline_tools.bench.answer_methods import Answered, Calls, Setting, fits, line_of, prompts
from runtime.say import Speech

ROUNDS = 5
CLIPS = 2
THRESHOLD = 0.5

_KINDS: tuple[NodeKind, ...] = ("episodic", "semantic")
_REPLY = re.compile(r"Action: \[(Answer|Search)\]\s*Content: (.*)", re.DOTALL)
_KEPT = 300  # characters of a turn's beginning that are never cut
_TEXT = r"[^\n\r\[\]<>{}]+"


class ReferenceLoop:
    """The loop, for one question after another."""

    def __init__(
        self, setting: Setting, *, rounds: int = ROUNDS, clips: int = CLIPS, threshold: float = THRESHOLD
    ) -> None:
        self._setting = setting
        self._rounds = rounds
        self._clips = clips
        self._threshold = threshold

    def answer(self, question: str, *, asker: int | None = None) -> Answered:
        calls = Calls(self._setting.language)
        speech = self._setting.speech(question)
        words = prompts()[speech.language]["reference"]
        messages = _begun(words)
        head = len(messages)
        shown: list[int] = []
        seen: set[int] = set()
        found, empty = "{}", ""
        for number in range(1, self._rounds + 1):
            last = number == self._rounds
            messages.append(Message("user", _turn(words, question, found + empty, last=last)))
            self._shorten(messages, head)
            text = calls.complete(messages, grammar=_grammar(speech, last=last, known=bool(shown)))
            messages.append(Message("assistant", text))
            action, content = _read(text)
            if action == "Answer":
                return calls.answered(content, shown, shown)
            clips = self._search(content, seen, shown, speech)
            found, empty = json.dumps(clips, ensure_ascii=False), "" if clips else f"\n{words['empty']}"
        return calls.answered("", (), shown)

    def _search(self, query: str, seen: set[int], shown: list[int], speech: Speech) -> dict[str, list[str]]:
        """The lines of the nearest clips that were not given yet, by clip; notes them as seen and shown."""
        if not query:
            return {}
        store = self._setting.store
        hits = store.search_clip(
            vector=self._setting.embed_query([query])[0],
            kinds=_KINDS,
            k=self._clips + len(seen),
            threshold=self._threshold,
        )
        clips = [hit.clip.id for hit in hits if hit.clip.id not in seen][: self._clips]
        found = {}
        for clip_id in sorted(clips):
            nodes = store.nodes(clip_id=clip_id, kinds=_KINDS)
            found[f"CLIP_{clip_id}"] = [line_of(store, node, speech) for node in nodes]
            shown += [node.id for node in nodes if node.id not in shown]
        seen.update(clips)
        return found

    def _shorten(self, messages: list[Message], head: int) -> None:
        """Drop the oldest finds, with what the model wrote of them, until the conversation fits the context."""
        while len(messages) > head + 1 and not fits(self._setting.language, messages):
            del messages[head : head + 2]
        while len(messages[-1].content) > 4 * _KEPT and not fits(self._setting.language, messages):
            content = messages[-1].content  # cut behind the question and before the instruction
            messages[-1] = Message("user", content[:_KEPT] + content[_KEPT + len(content) // 4 :])


def _begun(words: dict[str, Any]) -> list[Message]:
    """What stands before the question: the task, and one question answered."""
    messages = [Message("system", words["system"].strip())]
    for example in words["examples"]:
        asked = _turn(words, example["question"], example["found"], last=False)
        messages += [Message("user", asked), Message("assistant", example["assistant"].strip())]
    return messages


def _turn(words: dict[str, Any], question: str, found: str, *, last: bool) -> str:
    told = [words["turn"].strip().format(question=question, found=found), words["instruction"].strip()]
    return "\n".join([*told, *([words["last"]] if last else [])])


def _grammar(speech: Speech, *, last: bool, known: bool) -> str:
    reasoning = "Reasoning: " if speech.language == "en" else "思考："
    actions = '"[Answer]"' if last else '("[Answer]" | "[Search]")' if known else '"[Search]"'
    return "\n".join(
        (
            f'root ::= "{reasoning}" text "\\nAction: " {actions} "\\nContent: " text',
            f"text ::= {_TEXT}",
        )
    )


def _read(text: str) -> tuple[str, str]:
    match = _REPLY.search(text)
    return ("Search", "") if match is None else (match[1], match[2].strip())
