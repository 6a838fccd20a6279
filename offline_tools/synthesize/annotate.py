"""One clip's answer by the paper's three stages: what happened, who is whose voice, what stays true.

M3-Agent (arXiv 2508.09736), appendix on demonstration data: one model captions frames, an audio-visual model merges the
captions with what it sees and hears; voices get their faces from the global dictionary; semantic lines come from one
question for each dimension. What a model writes is read and judged as the robot reads it (runtime/describe_repair.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory_store.tags import Tag
from models.errors import ModelError
from models.language import LanguageModel, Message
from offline_tools.endpoint import EndpointRefused
from offline_tools.errors import OfflineToolError
from offline_tools.synthesize import prompts
from offline_tools.synthesize.material import Material
from runtime.describe_repair import DescribedLine, Repaired, repair
from runtime.salvage import plain_text

MOST_EVENTS = 12
MOST_FACTS = 4  # of one dimension
MOST_CAPTION_CHARACTERS = 2000
_SHOWN_CHARACTERS = 120
_NOTHING = {"none", "nothing", "n/a", "无", "没有"}
_TEXT_CHARACTER = r'[^"\\<>{}\n\r\t|]'


class StageFailed(OfflineToolError):
    """A model failed at one stage of one clip, or wrote what cannot be used: the clip gives no row."""


@dataclass(frozen=True)
class Annotators:
    """The models of the stages. captions: None to go without captions; senses: whether a model takes the media."""

    captions: LanguageModel | None
    merge: LanguageModel
    semantic: LanguageModel
    merge_senses: bool
    semantic_senses: bool
    timeout_s: float = 120.0
    max_tokens: int = 512


@dataclass(frozen=True)
class Annotation:
    """What is to be remembered of a clip. facts: (dimension, line); equivalences: (face, voice)."""

    events: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    equivalences: tuple[tuple[Tag, Tag], ...]

    def as_answer(self) -> str:
        """The lines a model is to write: events, facts, equivalences, one JSON object each."""
        lines: list[dict[str, object]] = [{"event": text} for text in self.events]
        lines += [{"fact": text} for _, text in self.facts]
        lines += [{"equivalence": [str(face), str(voice)]} for face, voice in self.equivalences]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def annotate(material: Material, models: Annotators, faces: Mapping[Tag, Tag]) -> Annotation:
    """All three stages. faces: whose voice each voice is.

    Raises StageFailed where a model fails or answers nonsense, EndpointRefused where no call would succeed.
    """
    lines = material.told.lines
    captions = _captions(material, models)
    events = _events(material, models, lines, captions)
    pairs = equivalences(material.told.tags, faces)
    facts: list[tuple[str, str]] = []
    for dimension in prompts.DIMENSIONS:
        for text in _facts(material, models, [*lines, *captions], events, dimension):
            if text not in (known for _, known in facts):
                facts.append((dimension, text))
    return Annotation(tuple(events), tuple(facts), pairs)


def equivalences(tags: Sequence[Tag], faces: Mapping[Tag, Tag]) -> tuple[tuple[Tag, Tag], ...]:
    """Each voice of a clip with its face, where that is in the clip too."""
    present = set(tags)
    return tuple((faces[tag], tag) for tag in tags if tag in faces and faces[tag] in present)


def _captions(material: Material, models: Annotators) -> list[str]:
    captions: list[str] = []
    for jpeg in material.frames if models.captions is not None else ():
        assert models.captions is not None
        text = _asked(models.captions, prompts.caption_messages(jpeg), "captions", 160, models, None)
        caption = " ".join(plain_text(text).translate(str.maketrans("<>", "  ")).split())
        if not caption or len(caption) > MOST_CAPTION_CHARACTERS:
            raise StageFailed(f"captions: {models.captions.name} wrote no caption: {_shown(text)}")
        captions.append(caption)
    return captions


def _events(
    material: Material, models: Annotators, lines: Sequence[str], captions: Sequence[str]
) -> list[str]:
    user = _user(material, lines, captions, (), models.merge_senses)
    grammar = lines_grammar("event", material.told.tags, MOST_EVENTS)
    messages = prompts.episodic_messages(user)
    text = _asked(models.merge, messages, "episodic", models.max_tokens, models, grammar)
    read = repair(text, [*lines, *captions], grounded_only=not (user.images or user.audio))
    events = _texts(read.lines, "episodic")
    if not events:
        raise StageFailed(f"episodic: {_unusable(models.merge, read, text)}")
    return events[:MOST_EVENTS]


def _facts(
    material: Material, models: Annotators, told: Sequence[str], events: Sequence[str], dimension: str
) -> list[str]:
    user = _user(material, told, (), events, models.semantic_senses)
    grammar = lines_grammar("fact", material.told.tags, MOST_FACTS)
    messages = prompts.semantic_messages(dimension, MOST_FACTS, user)
    text = _asked(models.semantic, messages, f"semantic ({dimension})", models.max_tokens, models, grammar)
    if text.strip().strip(".").lower() in _NOTHING:
        return []
    read = repair(text, told, grounded_only=not (user.images or user.audio))
    if read.broken:
        raise StageFailed(f"semantic ({dimension}): {_unusable(models.semantic, read, text)}")
    facts = [fact for fact in _texts(read.lines, "semantic") if fact.strip(" .").lower() not in _NOTHING]
    return facts[:MOST_FACTS]


def _user(
    material: Material, lines: Sequence[str], captions: Sequence[str], events: Sequence[str], senses: bool
) -> Message:
    sound = material.sound
    audio = (sound.samples,) if senses and sound is not None and sound.samples.size else ()
    images = material.frames if senses else ()
    text = prompts.material_text(lines, captions, events, with_media=bool(images or audio))
    return Message("user", text, images, audio)


def _asked(
    model: LanguageModel,
    messages: list[Message],
    stage: str,
    max_tokens: int,
    models: Annotators,
    grammar: str | None,
) -> str:
    try:
        done = model.complete(messages, max_tokens=max_tokens, grammar=grammar, timeout_s=models.timeout_s)
    except EndpointRefused:
        raise
    except ModelError as error:
        raise StageFailed(f"{stage}: {error}") from error
    return done.text


def _texts(lines: Sequence[DescribedLine], kind: str) -> list[str]:
    return list(dict.fromkeys(line.text for line in lines if line.kind == kind))


def _unusable(model: LanguageModel, read: Repaired, text: str) -> str:
    dropped = ", ".join(f"{count} {reason}" for reason, count in sorted(read.dropped.items()))
    return f"{model.name} wrote nothing that can be used ({dropped or 'no line'}): {_shown(text)}"


def _shown(text: str) -> str:
    plain = " ".join(plain_text(text).split())
    return repr(plain[:_SHOWN_CHARACTERS] + ("…" if len(plain) > _SHOWN_CHARACTERS else ""))


def lines_grammar(key: str, tags: Sequence[Tag], most: int) -> str:
    """GBNF: one to `most` JSON objects with one text each; people only by the tags of the clip."""
    named = " | ".join(f'"{tag}"' for tag in tags)
    rules = [
        "root ::= line " + "line? " * (most - 1),
        f'line ::= "{{\\"{key}\\": \\"" text "\\"}}\\n"',
        "text ::= piece+" if named else f"text ::= {_TEXT_CHARACTER}+",
    ]
    if named:
        rules += [f"piece ::= {_TEXT_CHARACTER} | tag", f"tag ::= {named}"]
    return "\n".join(rules)
