"""How `hearsight run` shows what happens: a progress bar with the written lines, or one JSON line each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from types import TracebackType
from typing import Protocol
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from runtime.clock import iso_utc
from runtime.commands.session import print_json
from runtime.describe_service import DescribedClip
from runtime.memorize import MemorizedClip
from runtime.pipeline import Report


class View(Protocol):
    """Told by the daemon's listeners; a context that lasts as long as the run."""

    def __enter__(self) -> View: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def on_clip(self, clip: MemorizedClip) -> None: ...
    def on_described(self, clip: DescribedClip) -> None: ...
    def on_progress(self, media_s: float) -> None: ...
    def finish(self, report: Report, warnings: Sequence[str]) -> None: ...


class JsonView:
    """One JSON object a line: each clip, each described clip, and at last the report."""

    def __init__(self, source_name: str) -> None:
        self._source_name = source_name

    def __enter__(self) -> JsonView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def on_clip(self, clip: MemorizedClip) -> None:
        span = clip.span
        lines = [
            {"media_start_s": start, "media_end_s": end, "text": text} for start, end, text in clip.lines
        ]
        print_json(
            {
                "event": "clip",
                "clip": clip.clip_id,
                "source": self._source_name,
                "start": iso_utc(span.start_utc_s) if span.time_known else None,
                "media_start_s": span.media_start_s,
                "media_end_s": round(span.media_end_s, 3),
                "quiet": clip.quiet,
                "unsure": clip.unsure,
                "lines": lines,
            }
        )

    def on_described(self, clip: DescribedClip) -> None:
        print_json({"event": "described", **asdict(clip)})

    def on_progress(self, media_s: float) -> None:
        return None

    def finish(self, report: Report, warnings: Sequence[str]) -> None:
        for warning in warnings:
            print(f"hearsight: {warning}", file=sys.stderr)
        factor = round(report.real_time_factor, 4)
        print_json(
            {"event": "report", **asdict(report), "real_time_factor": factor, "warnings": list(warnings)}
        )


class TextView:
    """Lines as they are written, above a progress bar that counts seconds of the source."""

    def __init__(self, console: Console, source_name: str, duration_s: float | None, zone: ZoneInfo) -> None:
        self._console = console
        self._zone = zone
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn(
                "{task.completed:.0f} of {task.total:.0f} s" if duration_s else "{task.completed:.0f} s"
            ),
            TimeElapsedColumn(),
            console=console,
        )
        self._task = self._progress.add_task(escape(source_name), total=duration_s)

    def __enter__(self) -> TextView:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def on_clip(self, clip: MemorizedClip) -> None:
        if clip.quiet:
            return
        for start_s, _, text in clip.lines:
            moment = self._clock_time(clip.span.utc_s(start_s)) if clip.span.time_known else "time unknown"
            self._console.print(f"[dim]{moment}[/]  {escape(text)}", highlight=False, soft_wrap=True)

    def on_described(self, clip: DescribedClip) -> None:
        for text in clip.lines:
            self._console.print(f"[dim]   model[/]  {escape(text)}", highlight=False, soft_wrap=True)
        if clip.failed:
            self._console.print(f"[yellow]clip {clip.clip_id} got no model lines: {escape(clip.failed)}[/]")

    def on_progress(self, media_s: float) -> None:
        self._progress.update(self._task, completed=media_s)

    def finish(self, report: Report, warnings: Sequence[str]) -> None:
        for warning in warnings:
            self._console.print(f"[yellow]{escape(warning)}[/]", soft_wrap=True)
        known = f", {report.already_known} were remembered already" if report.already_known else ""
        self._console.print(
            f"{report.clips} clips written{known}; {report.media_s:.0f} s of media in {report.wall_s:.1f} s"
        )
        dropped = {name: count for name, count in report.dropped.items() if count}
        if dropped:
            self._console.print(f"[yellow]dropped, since the robot fell behind: {dropped}[/]")

    def _clock_time(self, utc_s: float) -> str:
        return datetime.fromtimestamp(utc_s, self._zone).strftime("%H:%M:%S")
