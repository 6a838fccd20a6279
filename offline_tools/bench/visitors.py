"""The main job on one real stream: who was there, who said what, how fast and in how much memory."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from offline_tools.bench.attribution import (
    Agreement,
    Claim,
    TrueSegment,
    agreement,
    people_of_ids,
    tied_transcripts,
    true_segments,
    word_error_rate,
)
from offline_tools.bench.composed_stream import compose
from offline_tools.bench.measured_process import Measured, hearsight, measure
from offline_tools.bench.report import ROOT, BenchmarkError, media, print_report

START_AT = "2026-05-02T09:00:00+00:00"


def main(arguments: list[str]) -> int:
    """Replay the stream without and with the language model, then once more over the same memory."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench visitors")
    parser.add_argument("--stream", type=Path, help="another video with FILE.gt.json beside it")
    parser.add_argument(
        "--composed", type=int, metavar="SEED", help="a stream composed of other people instead"
    )
    parser.add_argument("--language", default="qwen2.5-coder-0.5b", help="language model, or none")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        if options.composed is not None:
            return _bench(compose(Path(directory), options.composed), options.language)
    return _bench(options.stream or media("streams/visitors_day1.mp4"), options.language)


def _bench(stream: Path, language: str) -> int:
    truth_file = stream.with_name(stream.stem + ".gt.json")
    if not truth_file.exists():
        raise BenchmarkError(
            f"{truth_file} is missing: the benchmark needs to know who is really in {stream}"
        )
    document = json.loads(truth_file.read_text(encoding="utf-8"))
    truth = true_segments(document)
    with tempfile.TemporaryDirectory() as directory:
        figures, rows = _without_model(stream, truth, Path(directory) / "grounded")
        if language != "none":
            more, more_rows = _with_model(stream, language, Path(directory) / "described")
            figures, rows = {**figures, **more}, rows + more_rows
    print_report(f"visitors: {stream.name}", rows, figures)
    return 0


Rows = list[tuple[str, str, str]]


def _without_model(stream: Path, truth: list[TrueSegment], data_dir: Path) -> tuple[dict[str, Any], Rows]:
    first = _replay(stream, data_dir, "none")
    before = _state(data_dir)
    second = _replay(stream, data_dir, "none")
    after = _state(data_dir)
    faces, voices, seen, heard = _claims(data_dir)
    names = people_of_ids(seen, truth)
    tied = tied_transcripts(heard, truth, names)
    pairs = [
        (segment.transcript, text or "")
        for segment, text in zip(truth, tied, strict=True)
        if segment.transcript
    ]
    wrong_words = word_error_rate([said for said, _ in pairs], [text for _, text in pairs])
    report, again = _report(first), _report(second)
    people = len(json.loads(_ask("people", "list", data_dir)))
    true_people = len({segment.person for segment in truth})
    face, voice = agreement(faces, truth), agreement(voices, truth)
    found = sum(text is not None for text in tied)
    factor = report["wall_s"] / report["media_s"]
    figures = {
        "people": people,
        "true_people": true_people,
        "face": _rounded(face),
        "voice": _rounded(voice),
        "tied_transcripts": found,
        "segments": len(truth),
        "word_error_rate": round(wrong_words, 4),
        "real_time_factor": round(factor, 4),
        "whole_process_real_time_factor": round(first.wall_s / report["media_s"], 4),
        "cpu_s": round(first.cpu_s, 2),
        "peak_mib": round(first.peak_mib),
        "stage_s": {name: round(seconds, 3) for name, seconds in report["stage_s"].items()},
        "second_run_new_rows": sum(abs(after[name] - before[name]) for name in before),
    }
    rows = [
        ("people found", str(people), f"{true_people} ± 1"),
        ("face ids, purity", f"{face.ids}, {face.purity:.3f}", "≥ 0.97"),
        ("face completeness", f"{face.completeness:.3f}", "≥ 0.95"),
        ("voice ids, purity", f"{voice.ids}, {voice.purity:.3f}", f"{true_people} ± 2, ≥ 0.90"),
        ("voice completeness", f"{voice.completeness:.3f}", ""),
        ("segments with words tied to the right person", f"{found} of {len(truth)}", "≥ 24 of 26"),
        ("word error rate of those words (missing ones count)", f"{wrong_words:.3f}", ""),
        ("real-time factor, no language model", f"{factor:.3f}", "≤ 0.35"),
        ("  with start-up of the process", f"{first.wall_s / report['media_s']:.3f}", ""),
        ("peak memory, no language model", f"{first.peak_mib:.0f} MiB", "≤ 1536 MiB"),
        *_stage_rows(report["stage_s"], report["media_s"]),
        ("second run: people and memories added", str(figures["second_run_new_rows"]), "0"),
        ("second run: clips found to be remembered", str(again["already_known"]), str(report["clips"])),
    ]
    return figures, rows


def _with_model(stream: Path, language: str, data_dir: Path) -> tuple[dict[str, Any], Rows]:
    run = _replay(stream, data_dir, language)
    report = _report(run)
    factor = report["wall_s"] / report["media_s"]
    described = report["description"]
    figures = {
        "language": language,
        "language_real_time_factor": round(factor, 4),
        "language_peak_mib": round(run.peak_mib),
        "language_stage_s": {name: round(seconds, 3) for name, seconds in report["stage_s"].items()},
        "description": described,
    }
    rows = [
        (f"real-time factor with {language}", f"{factor:.3f}", "≤ 1.0"),
        (f"peak memory with {language}", f"{run.peak_mib:.0f} MiB", "≤ 2560 MiB"),
        ("model lines kept, dropped", f"{described.get('lines', 0)}, {described.get('dropped', 0)}", ""),
        ("  describe", _share(report["stage_s"]["describe"], report["media_s"]), ""),
    ]
    return figures, rows


def _replay(stream: Path, data_dir: Path, language: str) -> Measured:
    return measure(
        hearsight(
            "run", "--replay", str(stream), "--speed", "max", "--start-at", START_AT,
            "--data-dir", str(data_dir), "--language", language, "--json",
        ),
        ROOT,
    )  # fmt: skip


def _report(run: Measured) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(run.output.splitlines()[-1])
    return report


def _ask(*arguments: str | Path) -> str:
    *verbs, data_dir = arguments
    return measure(hearsight(*map(str, verbs), "--data-dir", str(data_dir), "--json"), ROOT).output


def _state(data_dir: Path) -> dict[str, int]:
    return {
        "people": len(json.loads(_ask("people", "list", data_dir))),
        "memories": len(json.loads(_ask("memory", "list", data_dir))),
        "rows": len(json.loads(_ask("timeline", data_dir))),
    }


def _claims(data_dir: Path) -> tuple[list[Claim], list[Claim], list[Claim], list[Claim]]:
    """Claims by face id, by voice id, by person seen and by person heard."""
    faces, voices, seen, heard = [], [], [], []
    tags = {node["id"]: node["tagged_text"] for node in json.loads(_ask("memory", "list", data_dir))}
    for row in json.loads(_ask("timeline", data_dir)):
        start_s, end_s = row["media_start_s"], row["media_end_s"]
        tag = tags[row["evidence"][0]].partition(">")[0]
        if row["kind"] == "seen" and row["person"]:
            faces.append(Claim(start_s, end_s, tag))
            seen.append(Claim(start_s, end_s, row["person"]))
        elif row["kind"] == "heard" and row["person"]:
            if tag.startswith("<voice_"):
                voices.append(Claim(start_s, end_s, tag))
            heard.append(Claim(start_s, end_s, row["person"], row["text"].partition('"')[2].rstrip('"')))
    return faces, voices, seen, heard


def _rounded(value: Agreement) -> dict[str, float]:
    return {"ids": value.ids, "purity": round(value.purity, 4), "completeness": round(value.completeness, 4)}


def _stage_rows(stage_s: dict[str, float], media_s: float) -> Rows:
    return [(f"  {name}", _share(seconds, media_s), "") for name, seconds in sorted(stage_s.items())]


def _share(seconds: float, media_s: float) -> str:
    return f"{seconds:.2f} s, {seconds / media_s:.3f} of real time"
