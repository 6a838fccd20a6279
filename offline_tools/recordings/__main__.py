"""`python -m offline_tools.recordings record|export|label|replay`: recordings as datasets, with consent."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from drivers.media import AudioBlock, DriverError, Frame
from drivers.replay import Replay
from memory_store.errors import MemoryStoreError
from models.errors import ModelError
from offline_tools.consent import consent_rule
from offline_tools.errors import OfflineToolError
from offline_tools.memorize_video import UNDATED_UTC_S, parts_for
from offline_tools.recordings.devices import live_items, stopped_after
from offline_tools.recordings.export import Exporter, Removed, write_manifest
from offline_tools.recordings.golden import difference, replayed, write_golden
from offline_tools.recordings.labels import Labels, read_labels, write_labels
from offline_tools.recordings.record import record, until
from offline_tools.recordings.video import RATE_HZ
from runtime import compose
from runtime.config import Settings, load_settings
from runtime.errors import HearsightError

_FAULTS = (OfflineToolError, DriverError, HearsightError, ModelError, MemoryStoreError)


def main(arguments: Sequence[str]) -> int:
    """0: done; 1: one sentence says why not, or a replay differs from its golden file; 130: interrupted."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
        return status
    except _FAULTS as error:
        print(f"recordings: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("recordings: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m offline_tools.recordings", description=__doc__)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--config", type=Path, metavar="FILE", help="a robot.yaml")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    made = verbs.add_parser("record", parents=[shared], help="camera and microphone, or a file, with consent")
    made.add_argument("--out", type=Path, required=True, metavar="FILE.mp4")
    made.add_argument("--seconds", type=float, required=True, help="at most")
    made.add_argument(
        "--from", dest="file", type=Path, metavar="FILE", help="instead of camera and microphone"
    )
    made.add_argument("--agreed", nargs="+", default=[], metavar="NAME", help="everybody in it has agreed")
    made.set_defaults(command=_record)
    out = verbs.add_parser("export", parents=[shared], help="a dataset without people who have not agreed")
    out.add_argument(
        "videos", type=Path, nargs="*", metavar="VIDEO", help="remembered videos; none: the memory's clips"
    )
    out.add_argument(
        "--memory", type=Path, required=True, metavar="DATA_DIR", help="who is who, with what consent"
    )
    out.add_argument("--out", type=Path, required=True, metavar="DIR")
    out.add_argument(
        "--allow", nargs="+", default=[], metavar="CONSENT", help="besides residents: guest, unknown"
    )
    out.set_defaults(command=_export)
    label = verbs.add_parser(
        "label", parents=[shared], help="checks a label file; --truth: for the benchmarks"
    )
    label.add_argument("labels", type=Path, metavar="FILE.labels.yaml")
    label.add_argument("--video", type=Path, help="that it must belong to")
    label.add_argument(
        "--new", action="store_true", help="write an empty file for --video, to be filled by hand"
    )
    label.add_argument("--truth", type=Path, metavar="FILE.gt.json")
    label.set_defaults(command=_label)
    again = verbs.add_parser(
        "replay", parents=[shared], help="through the real app, compared with a golden file"
    )
    again.add_argument("videos", type=Path, nargs="+", metavar="VIDEO")
    again.add_argument("--golden", type=Path, required=True, metavar="FILE.json")
    again.add_argument("--write", action="store_true", help="rewrite the golden file")
    again.set_defaults(command=_replay)
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    return load_settings(options.config) if options.config else Settings()


def _record(options: argparse.Namespace) -> int:
    if not 0 < options.seconds <= 86400:
        raise OfflineToolError(f"--seconds {options.seconds:g}: give a length above 0, at most a day")
    with ExitStack() as stack:
        if options.file is not None:
            replay = Replay(options.file, frame_rate_hz=RATE_HZ)
            start_utc_s = replay.info.recorded_utc_s or UNDATED_UTC_S
            items: Iterator[Frame | AudioBlock] = replay.items()
            source = str(options.file)
        else:
            stop = stack.enter_context(stopped_after(options.seconds))
            items, start_utc_s, source = (
                live_items(_settings(options), stop),
                time.time(),
                "camera and microphone",
            )
        made = record(
            options.out,
            until(items, options.seconds),
            agreed=options.agreed,
            start_utc_s=start_utc_s,
            source=source,
        )
    print(json.dumps(asdict(made), ensure_ascii=False))
    return 0


def _export(options: argparse.Namespace) -> int:
    rule = consent_rule(options.allow)
    if not (options.memory / "memory.db").is_file():
        raise OfflineToolError(f"no memory in {options.memory}: name a data directory of a robot")
    parts = parts_for(_settings(options), options.memory)
    options.out.mkdir(parents=True, exist_ok=True)
    removed: list[Removed] = []
    faults: list[str] = []
    store = compose.open_store(parts)
    try:
        exporter = Exporter(parts, store, rule)
        for video in options.videos:
            try:
                removed.append(exporter.video(video, options.out))
            except (OfflineToolError, DriverError, OSError) as error:
                faults.append(f"{video}: {error}")
        if not options.videos:
            removed += exporter.memory(options.out, faults.append)
    finally:
        store.close()
    write_manifest(options.out, rule, removed)
    for one in removed:
        print(json.dumps(asdict(one), ensure_ascii=False))
    for fault in faults:
        print(f"recordings: {fault}", file=sys.stderr)
    return 1 if faults else 0


def _label(options: argparse.Namespace) -> int:
    from offline_tools.chatml_media import file_sha256

    if options.new:
        if options.video is None or options.labels.exists():
            raise OfflineToolError("--new needs --video VIDEO, and a label file that is not there yet")
        write_labels(options.labels, Labels(options.video.name, file_sha256(options.video), ()))
    labels = read_labels(options.labels, video=options.video)
    if options.truth is not None:
        options.truth.write_text(json.dumps(labels.as_truth(), ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps({"video": labels.video, "segments": len(labels.segments)}))
    return 0


def _replay(options: argparse.Namespace) -> int:
    lines = replayed(options.videos, _settings(options))
    if options.write:
        write_golden(options.golden, lines)
        return 0
    changed = difference(options.golden, lines)
    for line in changed:
        print(line)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
