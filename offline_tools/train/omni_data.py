"""Training rows with pictures and sound for the thinker of Qwen2.5-Omni: encoded once, media read when they are due."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from models.control_texts import ControlTexts
from offline_tools.chatml import Medium, Row, Text, Turn, shown_parts
from offline_tools.train.errors import TrainingError
from offline_tools.train.omni_collator import OmniCollator, OmniTokens
from offline_tools.train.omni_media import STRETCH_S, STRETCH_TOKENS
from offline_tools.train.sft_model import Loaded
from offline_tools.train.sft_recipe import MediaRecipe, SftRecipe
from offline_tools.train.sft_run import TrainingData
from offline_tools.train.sft_tokens import EncodedRow, encode_rows

_MEL_RATE_HZ = 100
_MERGED_SIDE_PX = 28  # pixels of a picture's side that become one token


def omni_data(
    loaded: Loaded, rows: Sequence[Row], recipe: SftRecipe, sha256: str
) -> tuple[TrainingData, list[str]]:
    """Rows for the trainer with the collator that fills in their media, and the ids of rows dropped as too long.

    A row counts with the most tokens its media may become, so that none turns out too long in the midst of a run.
    """
    if recipe.media.sound_as == "robot":
        _hear_as_the_robot(loaded)
    tokens = OmniTokens.of(loaded)
    control = ControlTexts(loaded.tokenizer.get_added_vocab())
    by_id = {row.id: row for row in rows}
    encoded, dropped = encode_rows(
        loaded.tokenizer,
        rows,
        max_tokens=recipe.max_tokens,
        drop_too_long=recipe.drop_too_long,
        content=lambda turn: _with_places(turn, tokens, control),
        extra_tokens=lambda row: sum(_most_tokens(medium, recipe.media) for medium in _media(row)),
    )
    prepared = [_prepared(row, by_id[row.id]) for row in encoded]
    return TrainingData(prepared, sha256, OmniCollator(loaded, recipe.media)), dropped


def _hear_as_the_robot(loaded: Loaded) -> None:
    """One attention window over each stretch of sound; the saved configuration says so too."""
    tower = loaded.model.get_submodule("model.audio_tower")
    tower.n_window = tower.config.n_window = STRETCH_S * _MEL_RATE_HZ // 2


def _with_places(turn: Turn, tokens: OmniTokens, control: ControlTexts) -> str:
    """The words of a turn, with one placeholder for each medium, bracketed and joined as Qwen's own template does."""
    pieces = [
        control.harmless(part.text) if isinstance(part, Text) else tokens.place(part.kind)
        for part in shown_parts(turn)
    ]
    return "".join(pieces)


def _media(row: Row) -> list[Medium]:
    return [medium for turn in row.turns for medium in turn.media]


def _most_tokens(medium: Medium, recipe: MediaRecipe) -> int:
    picture = recipe.pixels // _MERGED_SIDE_PX**2
    if medium.kind == "audio":
        stretches = math.ceil(recipe.sound_s / STRETCH_S)
        return (stretches * STRETCH_TOKENS if recipe.sound_as == "robot" else int(recipe.sound_s * 25)) + 2
    if medium.kind == "image":
        return picture + 2
    if recipe.video_as == "images":
        return recipe.frames * (picture + 2)
    return (recipe.frames + 1) // 2 * picture + 2


def _prepared(encoded: EncodedRow, row: Row) -> dict[str, Any]:
    media = [{"kind": medium.kind, "path": str(_present(row, medium))} for medium in _media(row)]
    return {
        "id": row.id,
        "input_ids": list(encoded.input_ids),
        "labels": list(encoded.labels),
        "media": json.dumps(media),
    }


def _present(row: Row, medium: Medium) -> Path:
    path = row.file(medium).resolve()
    if not path.is_file():
        raise TrainingError(f"row {row.id}: its {medium.kind} {path} is missing")
    return path
