"""One round's text: the prompt that fits the model's context, the grammar of a turn, and how a turn is read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from models.language import Message
from runtime.answer import Evidence
from runtime.evidence_words import shown_line
from runtime.heard import trust_last
from runtime.prompts import Prompt
from runtime.quotes import only_asks
from runtime.say import Speech

_TEXT = r"[^\n\r\[\]<>|()（）{}]"
_SENTENCE = r"[^\n\r\[\]<>|()（）{}.。!！?？]"
# Full stops that end no sentence.
_STOPS_WITHIN = '("Mr" | "Mrs" | "Ms" | "Dr" | "Prof" | "St") ". " | [0-9] "." [0-9] | [ap] ".m" (". ")?'


class PromptMeasure(Protocol):
    """What a prompt must fit: a language model, or the tokenizer of one that is being trained."""

    @property
    def context_tokens(self) -> int:
        """How many tokens a prompt and its reply may have together."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Length of a prompt in tokens, the chat template included."""
        ...


@dataclass(frozen=True)
class Turn:
    """What the model wrote, read. cited: numbers of memories as shown in the prompt, from 1."""

    action: Literal["answer", "search", "unreadable"]
    reasoning: str
    content: str
    cited: tuple[int, ...]


@dataclass(frozen=True)
class RoundPrompt:
    """The messages of one round, the evidence that is in them, by number from 1, and what did not fit."""

    messages: tuple[Message, ...]
    shown: tuple[Evidence, ...]
    left_out: tuple[Evidence, ...]
    examples: int


def build_prompt(
    prompt: Prompt,
    question: str,
    evidence: Sequence[Evidence],
    hints: Sequence[str],
    speech: Speech,
    measure: PromptMeasure,
    *,
    reply_tokens: int,
    max_shown: int,
) -> RoundPrompt:
    """The prompt with as much evidence, best first, as the context holds; then fewer examples; never too long.

    The best stands last, next to the question; what is left out has the lowest score, or only asks something itself.
    """
    budget = measure.context_tokens - reply_tokens
    ranked = sorted(evidence, key=lambda item: _rank(item, question))
    count, examples = min(len(ranked), max_shown), len(prompt.examples)
    while True:
        shown = ranked[:count][::-1]
        messages = _messages(prompt, question, shown, hints, speech, examples)
        if (count == 0 and examples == 0) or measure.count_tokens(messages) <= budget:
            return RoundPrompt(messages, tuple(shown), tuple(ranked[count:]), examples)
        if count > 2 or (count and not examples):
            count -= 1
        else:
            examples -= 1


def _rank(item: Evidence, question: str) -> tuple[bool, bool, float, int]:
    return trust_last(item.line, question), only_asks(item.line), -item.score, item.id


def _messages(
    prompt: Prompt,
    question: str,
    shown: Sequence[Evidence],
    hints: Sequence[str],
    speech: Speech,
    examples: int,
) -> tuple[Message, ...]:
    lines = [f"[{number}] {shown_line(item, speech)}" for number, item in enumerate(shown, 1)]
    user = prompt.turn.format(
        memories="\n".join(lines) or prompt.sentences["none"], question=question, hint="\n".join(hints)
    ).rstrip()
    turns = [Message("system", prompt.system)]
    for example in prompt.examples[:examples]:
        turns += [Message("user", example.user), Message("assistant", example.assistant)]
    return (*turns, Message("user", user))


def turn_grammar(prompt: Prompt, shown: int, *, last: bool) -> str:
    """GBNF of a turn: a reasoning line, then an answer that cites shown memories, "I don't know", or a search.

    The line of reasoning is left out where the prompt has no words that open one.
    """
    words = {
        key: _quoted(prompt.sentences[key])
        for key in ("reasoning", "unknown", "cite_open", "cite_join", "cite_close")
    }
    actions = [f'"[Answer] " {words["unknown"]}'] if last else []
    if shown:
        numbers_cited = f"number ({words['cite_join']} number){{0,2}}"
        actions.append(f'"[Answer] " sentence {words["cite_open"]} {numbers_cited} {words["cite_close"]}')
    if not last:
        actions.append('"[Search] " query')
    numbers = " | ".join(f'"{number}"' for number in range(1, max(shown, 1) + 1))
    reasoning = f'{words["reasoning"]} text "\\n" ' if prompt.sentences["reasoning"] else ""
    return "\n".join(
        (
            f"root ::= {reasoning}action",
            f"action ::= {' | '.join(actions)}",
            f"text ::= {_TEXT}+",
            f"sentence ::= ({_SENTENCE} | {_STOPS_WITHIN})+ [.。]",
            f"query ::= {_TEXT}+",
            f"number ::= {numbers}",
        )
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def read_turn(prompt: Prompt, text: str) -> Turn:
    """Read what the model wrote, also when no grammar held it; unreadable when there is no action in it."""
    match = re.search(r"\[(Answer|Search)\]\s*(.*)", text, re.DOTALL | re.IGNORECASE)
    if match is None:
        return Turn("unreadable", text.strip(), "", ())
    reasoning = text[: match.start()].strip().removeprefix(prompt.sentences["reasoning"].strip()).strip()
    content = match[2].strip().split("\n")[0].strip()
    if match[1].lower() == "search":
        return Turn("search", reasoning, content, ()) if content else Turn("unreadable", text.strip(), "", ())
    citation = re.search(r"[(（](?:memor(?:y|ies)|evidence|记忆|证据)[^)）]*[)）]?", content, re.IGNORECASE)
    cited: tuple[int, ...] = ()
    if citation is not None:
        cited = tuple(dict.fromkeys(int(number) for number in re.findall(r"\d{1,6}", citation.group())))
        content = (content[: citation.start()] + content[citation.end() :]).strip()
    return (
        Turn("answer", reasoning, content, cited) if content else Turn("unreadable", text.strip(), "", cited)
    )
