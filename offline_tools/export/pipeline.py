"""The whole export: checkpoint → GGUF → quantized → golden prompts → signed bundle, with the accuracy of each step."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from models.bundle import verify_bundle, write_bundle
from models.bundle_manifest import BundleFile, BundleManifest
from models.quantize import KINDS, quantize
from models.signing import PrivateKey
from models.stored_files import hash_file
from offline_tools.chatml import Row
from offline_tools.export.answering import answers_of_checkpoint, answers_of_gguf
from offline_tools.export.convert import architecture, convert
from offline_tools.export.errors import ExportError
from offline_tools.export.golden import (
    Answers,
    GoldenPrompt,
    StepAccuracy,
    accuracy,
    golden_cases,
    golden_prompt,
)
from offline_tools.export.golden_media import shown_row, without_media
from offline_tools.export.llama_source import VERSION
from offline_tools.export.thinker import as_whole_model
from offline_tools.train.memory_limit import is_out_of_memory
from offline_tools.train.sft_recipe import MediaRecipe

REPORT = "report.json"
Told = Callable[[str], None]


@dataclass(frozen=True)
class ExportPlan:
    """What is exported, and as what.

    least_likeness: of a quantized model's answers to the checkpoint's; a model below it is not packed.
    """

    checkpoint: Path
    to: Path
    kinds: tuple[str, ...]
    golden: tuple[Row, ...]
    key: PrivateKey
    name: str
    version: str
    licence: str
    publisher: str
    max_tokens: int = 64
    context_tokens: int = 4096
    least_likeness: float = 0.5


@dataclass(frozen=True)
class Exported:
    """The bundles that were made, and one line of accuracy for each step, those not packed included."""

    bundles: tuple[Path, ...]
    steps: tuple[StepAccuracy, ...]


def export(plan: ExportPlan, told: Told = print) -> Exported:
    """Run all steps; the report is written after each, so that what was measured stays if a later one fails.

    Raises ExportError or ModelError naming the step, ExportError where nothing was good enough to be packed.
    """
    unknown = [kind for kind in plan.kinds if kind not in KINDS]
    if unknown:
        raise ExportError(f"--quantize {', '.join(unknown)}: one or more of {', '.join(KINDS)}")
    _check_names(plan)
    plan.to.mkdir(parents=True, exist_ok=True)
    told(f"checkpoint {plan.checkpoint}: {architecture_of(plan.checkpoint)}")
    work = _Work(plan, told)
    try:
        folder = work.checkpoint()
        f16 = plan.to / f"{plan.name}-f16.gguf"
        convert(folder, f16)
        work.project(folder)
        work.measured(f16, "f16")
        bundles = [bundle for kind in plan.kinds if (bundle := work.quantized(f16, kind)) is not None]
    finally:
        work.clean()
    if not bundles:
        raise ExportError(
            f"no quantization answers enough like the checkpoint (at least {plan.least_likeness}): see "
            f"{plan.to / REPORT}; nothing was packed"
        )
    return Exported(tuple(bundles), tuple(work.steps))


def _check_names(plan: ExportPlan) -> None:
    """Raise ModelError where no bundle may be called so, before anything takes minutes."""
    file = BundleFile(f"{plan.name}.gguf", 0, "0" * 64)
    BundleManifest(plan.name, plan.version, "language", plan.licence, plan.publisher, "", (file,)).to_bytes()


def architecture_of(checkpoint: Path) -> str:
    """What a checkpoint is, an adapter or a whole model. Raises ExportError where it is neither."""
    if (checkpoint / "adapter_config.json").is_file():
        return "an adapter"
    return architecture(checkpoint)


class _Work:
    """One run: keeps what has been measured."""

    def __init__(self, plan: ExportPlan, told: Told) -> None:
        self._plan = plan
        self._told = told
        self._reference: Answers | None = None
        self._tokenizer: Any = None
        self._prompts: tuple[GoldenPrompt, ...] = ()
        self._mmproj: Path | None = None
        self._senses = False
        self._media = plan.to / "golden"
        self._merged, self._whole = plan.to / "merged.part", plan.to / "whole.part"
        self.steps: list[StepAccuracy] = []

    def checkpoint(self) -> Path:
        """Load the checkpoint and let it answer; the folder to convert, with adapters merged into their base."""
        from offline_tools.train.sft_model import load_model

        plan = self._plan
        try:
            loaded = load_model(plan.checkpoint, "float32")
            self._tokenizer, self._senses = loaded.tokenizer, loaded.has_senses
            self._prompts = self._golden()
            self._reference = answers_of_checkpoint(loaded, self._prompts, plan.max_tokens)
            self._note(self._reference)
            folder = self._mergeable(loaded)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise ExportError(
                f"memory ran out while {plan.checkpoint} was loaded or asked: it needs 4 bytes a parameter"
            ) from error
        if not self._senses:
            return folder
        as_whole_model(folder, self._whole)
        return self._whole

    def project(self, folder: Path) -> None:
        """Convert the encoders of pictures and sound, of a model that has them."""
        if self._senses:
            self._mmproj = self._plan.to / f"mmproj-{self._plan.name}-f16.gguf"
            convert(folder, self._mmproj, mmproj=True)

    def clean(self) -> None:
        """Remove what was needed on the way only."""
        for folder in (self._merged, self._whole):
            shutil.rmtree(folder, ignore_errors=True)

    def _golden(self) -> tuple[GoldenPrompt, ...]:
        rows = self._plan.golden
        if self._senses:
            self._media.mkdir(exist_ok=True)
            rows = tuple(shown_row(row, at, self._media, MediaRecipe()) for at, row in enumerate(rows))
        else:
            rows = tuple(without_media(row) for row in rows)
        return tuple(golden_prompt(row) for row in rows)

    def _mergeable(self, loaded: Any) -> Path:
        """The folder of a whole model: the checkpoint, or what an adapter and its base make together."""
        from offline_tools.train.sft_model import ADAPTER_CONFIG

        if not (self._plan.checkpoint / ADAPTER_CONFIG).is_file():
            return self._plan.checkpoint
        shutil.rmtree(self._merged, ignore_errors=True)
        loaded.model.save_pretrained(self._merged)
        loaded.tokenizer.save_pretrained(self._merged)
        return self._merged

    def measured(self, path: Path, step: str) -> Answers:
        """Let a GGUF answer and note how well."""
        plan = self._plan
        answers = answers_of_gguf(
            step,
            path,
            self._prompts,
            plan.max_tokens,
            context_tokens=plan.context_tokens,
            mmproj=self._mmproj,
            media=self._media,
        )
        self._note(answers)
        return answers

    def quantized(self, f16: Path, kind: str) -> Path | None:
        """Quantize, measure and pack; None where the answers are too unlike the checkpoint's."""
        plan = self._plan
        path = plan.to / f"{plan.name}-{kind}.gguf"
        quantize(f16, path, kind)
        answers = self.measured(path, kind)
        if self.steps[-1].likeness < plan.least_likeness:
            self._told(f"{kind}: answers too unlike the checkpoint's ({self.steps[-1].likeness}), not packed")
            return None
        return self._packed(path, kind, answers)

    def _packed(self, path: Path, kind: str, answers: Answers) -> Path:
        plan = self._plan
        sources = {one.name: one for one in self._files(path)}
        manifest = BundleManifest(
            name=plan.name,
            version=plan.version,
            role="omni" if self._senses else "language",
            licence=plan.licence,
            publisher=plan.publisher,
            made_utc=datetime.now(UTC).isoformat(timespec="seconds"),
            files=tuple(
                BundleFile(name, one.stat().st_size, hash_file(one)) for name, one in sources.items()
            ),
            golden=golden_cases(self._prompts, answers, plan.max_tokens),
            made_of={"checkpoint": plan.checkpoint.name, "quantization": kind, "llama-cpp-python": VERSION},
            accuracy={"steps": [asdict(step) for step in self.steps]},
        )
        bundle = plan.to / f"{plan.name}-{plan.version}-{kind}.bundle"
        write_bundle(bundle, manifest, sources, plan.key)
        verify_bundle(bundle, [plan.key.public])  # as the robot will, before anybody carries it there
        self._told(f"{bundle.name}: {bundle.stat().st_size / 1e6:.1f} MB, signed by {plan.key.public.id}")
        return bundle

    def _files(self, model: Path) -> list[Path]:
        """The model first, then its projector and the pictures and sounds of its golden prompts."""
        names = {
            name
            for prompt in self._prompts
            for message in prompt.messages
            for name in (*message.images, *message.sounds)
        }
        projector = [] if self._mmproj is None else [self._mmproj]
        return [model, *projector, *(self._media / name for name in sorted(names))]

    def _note(self, answers: Answers) -> None:
        assert self._reference is not None
        self.steps.append(accuracy(answers, self._reference, self._prompts, self._tokens))
        rows = {
            "checkpoint": str(self._plan.checkpoint),
            "prompts": len(self._prompts),
            "steps": [asdict(step) for step in self.steps],
        }
        path = self._plan.to / REPORT
        path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        self._told(f"{answers.step}: asked {len(answers.texts)} prompts in {answers.duration_s:.1f} s")

    def _tokens(self, text: str) -> Sequence[int]:
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens
