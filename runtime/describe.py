"""Lets the language model add a few lines to what code wrote of a clip, and keeps only those that hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory_store.tags import Tag, find_tags, replace_tags
from models.errors import ModelError, Preempted
from models.language import Completion, LanguageModel, Message
from runtime.describe_repair import DescribedLine, Repaired, repair
from runtime.grounding import language_of
from runtime.prompts import load_prompt
from runtime.quotes import quote_in
from runtime.recall import as_data
from runtime.salvage import plain_text

__all__ = ["DescribedLine", "Describer", "Description"]

MOST_RAW_CHARACTERS = 4_000
_TEXT_CHARACTER = r'[^"\\<>{}\n\r\t|]'


@dataclass(frozen=True)
class Description:
    """What the model added to one clip, and what that cost.

    equivalences: pairs of a face and a voice the model takes for one person; hints only, identity is decided by
    code. raw: what the model wrote, where not all of it could be read; broken: nothing could. dropped: how many
    lines were left out, by reason. asked: false where there was nothing to ask about. error: the model's failure.
    """

    lines: tuple[DescribedLine, ...] = ()
    equivalences: tuple[tuple[Tag, Tag], ...] = ()
    model: str = ""
    asked: bool = False
    broken: bool = False
    error: str = ""
    raw: str = ""
    dropped: dict[str, int] = field(default_factory=dict)
    left_out: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    duration_s: float = 0.0


class Describer:
    """One clip, one call. Blocking: the caller owns the thread.

    sees, hears: whether the model takes pictures and sound; what it cannot take is not sent. max_tokens bounds
    the time of a clip: a small model writes about 20 tokens a second.
    """

    def __init__(
        self,
        language: LanguageModel,
        *,
        sees: bool = False,
        hears: bool = False,
        max_tokens: int = 140,
        max_lines: int = 16,
        timeout_s: float = 120.0,
    ) -> None:
        self._language = language
        self._sees = sees
        self._hears = hears
        self._max_tokens = max_tokens
        self._max_lines = max_lines
        self._timeout_s = timeout_s

    def describe(
        self,
        lines: Sequence[str],
        *,
        images: Sequence[bytes] = (),
        audio: Sequence[NDArray[np.float32]] = (),
    ) -> Description:
        """Model lines for a clip. lines: its grounded lines, with tags, in the order of time.

        images: JPEG key frames; audio: float32 mono 16 kHz in [-1, 1]. Where nothing was said and the model sees
        and hears nothing, it is not asked. A failing model is reported in the record and not raised. Raises Preempted
        where the call gave way to a more urgent one.
        """
        images = tuple(images) if self._sees else ()
        audio = tuple(audio) if self._hears else ()
        cleaned = [_as_line(line) for line in lines]
        if not (images or audio or any(quote_in(line) for line in cleaned)):
            return Description(model=self._language.name)
        shown, messages = self._messages(cleaned, images, audio)
        try:
            completion = self._language.complete(
                messages,
                max_tokens=self._max_tokens,
                grammar=description_grammar(find_tags("\n".join(shown))),
                timeout_s=self._timeout_s,
            )
        except Preempted:
            raise
        except ModelError as error:
            return Description(model=self._language.name, asked=True, error=str(error))
        repaired = repair(completion.text, cleaned, grounded_only=not (images or audio))
        return self._description(repaired, completion, len(cleaned) - len(shown))

    def _messages(
        self, lines: list[str], images: tuple[bytes, ...], audio: tuple[NDArray[np.float32], ...]
    ) -> tuple[list[str], tuple[Message, ...]]:
        """The lines that fit, speech before everything else, and the prompt: the static part first, for reuse."""
        prompt = load_prompt("describe", language_of(" ".join(quote_in(line) or "" for line in lines)))
        turns = [Message("system", prompt.system)]
        for example in prompt.examples:
            turns += [Message("user", example.user), Message("assistant", example.assistant)]
        order = sorted(range(len(lines)), key=lambda index: (quote_in(lines[index]) is None, index))
        count = min(len(lines), self._max_lines)
        while True:
            shown = [lines[index] for index in sorted(order[:count])]
            user = prompt.turn.format(lines="\n".join(shown))
            if images or audio:
                user = f"{prompt.sentences['media']}\n{user}"
            messages = (*turns, Message("user", user, images, audio))
            budget = self._language.context_tokens - self._max_tokens
            if count <= 1 or self._language.count_tokens(messages) <= budget:
                return shown, messages
            count -= 1

    def _description(self, repaired: Repaired, completion: Completion, left_out: int) -> Description:
        unread = repaired.broken or repaired.dropped.get("unread")
        return Description(
            lines=repaired.lines,
            equivalences=repaired.equivalences,
            model=self._language.name,
            asked=True,
            broken=repaired.broken,
            raw=plain_text(completion.text[:MOST_RAW_CHARACTERS]) if unread else "",
            dropped=repaired.dropped,
            left_out=left_out,
            prompt_tokens=completion.prompt_tokens,
            cached_tokens=completion.cached_tokens,
            generated_tokens=completion.generated_tokens,
            duration_s=completion.duration_s,
        )


def _as_line(line: str) -> str:
    """A grounded line as harmless data: inside what was said, a tag is only words and names nobody."""
    line = as_data(line)
    quote = quote_in(line)
    if not quote:
        return line
    plain = replace_tags(quote, lambda tag: f"{tag.kind} {tag.node_id}")
    return line[::-1].replace(quote[::-1], plain[::-1], 1)[::-1]


def description_grammar(tags: Sequence[Tag]) -> str:
    """GBNF: an event, up to 2 facts, then an equivalence; people only by the tags that are in the clip."""
    faces = [f'"{tag}"' for tag in tags if tag.kind == "face"]
    voices = [f'"{tag}"' for tag in tags if tag.kind == "voice"]
    named = " | ".join([*faces, *voices])
    rules = [
        "root ::= event fact? fact?" + (" same?" if faces and voices else ""),
        'event ::= "{\\"event\\": \\"" text "\\"}\\n"',
        'fact ::= "{\\"fact\\": \\"" text "\\"}\\n"',
        "text ::= piece+" if named else f"text ::= {_TEXT_CHARACTER}+",
    ]
    if named:
        rules += [f"piece ::= {_TEXT_CHARACTER} | tag", f"tag ::= {named}"]
    if faces and voices:
        rules.append('same ::= "{\\"equivalence\\": [\\"" face "\\", \\"" voice "\\"]}\\n"')
        rules += [f"face ::= {' | '.join(faces)}", f"voice ::= {' | '.join(voices)}"]
    return "\n".join(rules)
