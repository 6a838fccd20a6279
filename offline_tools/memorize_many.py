"""`python -m offline_tools.memorize_many VIDEO… --out DIR`: many videos into memories, in parallel by video with Ray.

Each video gets a memory of its own, DIR/NAME-SHA256. The clips of one video share a graph, so one worker takes a whole
video and its clips stay in order; videos know nothing of each other. That is how M3-Agent's 26,943 clips are memorized.
A video that fails is named and the others are kept; a stopped run goes on, clip by clip. `offline_tools.synthesize
--replay VIDEO… --memories DIR` makes training rows of what is memorized there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from drivers.media import DriverError
from memory_store.errors import MemoryStoreError
from models.errors import ModelError
from offline_tools.errors import OfflineToolError
from offline_tools.extras import missing_extra
from offline_tools.memorize_video import memorize_video, memory_directory, parts_for
from runtime.config import Settings, load_settings
from runtime.errors import HearsightError

DONE = "memorized.json"
RETRIES = 1  # of a video whose worker process died, as for want of memory


@dataclass(frozen=True)
class Outcome:
    """What became of a video. clips: all that its memory now holds of it; fault: why not, or ""."""

    video: str
    memory: str
    clips: int = 0
    new_clips: int = 0
    fault: str = ""


def memorize_one(video: str, out: str, settings: Settings) -> Outcome:
    """Memorize one video whole, unless that was done; a fault is told and not raised. Runs in a worker process."""
    try:
        directory = memory_directory(Path(out), Path(video))
    except OSError as error:
        return Outcome(video, "", fault=f"cannot be read: {error.strerror}")
    done = directory / DONE
    if done.exists():
        before = json.loads(done.read_text(encoding="utf-8"))
        return Outcome(video, str(directory), int(before["clips"]))
    try:
        report = memorize_video(parts_for(settings, directory), Path(video))
    except (DriverError, HearsightError, ModelError, MemoryStoreError, OSError) as error:
        return Outcome(video, str(directory), fault=str(error))
    outcome = Outcome(video, str(directory), report.clips + report.already_known, report.clips)
    part = done.with_name(done.name + ".part")
    part.write_text(json.dumps({"video": video, "clips": outcome.clips}) + "\n", encoding="utf-8")
    os.replace(part, done)
    return outcome


def serially(videos: Iterable[str], out: str, settings: Settings) -> Iterator[Outcome]:
    """One video after the other, in this process."""
    for video in videos:
        yield memorize_one(video, out, settings)


def with_ray(
    videos: Sequence[str],
    out: str,
    settings: Settings,
    *,
    workers: int,
    address: str | None = None,
    work: Callable[[str, str, Settings], Outcome] = memorize_one,
) -> Iterator[Outcome]:
    """As many videos at once as there are workers; outcomes as they come. address: a cluster's, None for this machine;
    neither counts where this process has started Ray already.

    On a cluster, Hearsight is installed on every machine, and videos and `out` lie where all see them. A worker process
    that dies fails its video alone, after RETRIES more. Needs ray (the training extra). Raises OfflineToolError where
    the cluster is not there.
    """
    import ray
    from ray.exceptions import RayError

    with _connected(workers, address):
        remote = ray.remote(num_cpus=1, max_retries=RETRIES, runtime_env={"env_vars": _threads()})(work)
        waiting = list(videos)
        running: dict[ray.ObjectRef[Outcome], str] = {}
        while waiting or running:
            while waiting and len(running) < workers:  # no more at once: each holds a set of models
                video = waiting.pop(0)
                running[remote.remote(video, out, settings)] = video
            ready, _ = ray.wait(list(running), num_returns=1)
            video = running.pop(ready[0])
            try:
                yield ray.get(ready[0])
            except RayError as error:
                yield Outcome(video, "", fault=f"its worker died: {str(error).splitlines()[0]}")


def _threads() -> dict[str, str]:
    """As many OpenMP threads as this process has, where Ray would give one: another order of sums moves a comma."""
    return {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS") or str(len(os.sched_getaffinity(0)))}


@contextmanager
def _connected(workers: int, address: str | None) -> Iterator[None]:
    """Ray, started or found for as long as the block runs, unless this process has it already."""
    import ray

    if ray.is_initialized():
        yield
        return
    try:
        if address is None:
            ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, configure_logging=False)
        else:
            ray.init(address=address, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise OfflineToolError(f"Ray cannot be used at {address or 'this machine'}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def main(arguments: Sequence[str]) -> int:
    """0: all videos are memorized; 1: some are not, and are named, or one sentence says why nothing could be done."""
    parser = argparse.ArgumentParser(
        prog="python -m offline_tools.memorize_many",
        description="Memorizes many videos, in parallel by video.",
    )
    parser.add_argument("videos", type=Path, nargs="+", metavar="VIDEO")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a memory for each video")
    parser.add_argument(
        "--workers", type=int, default=0, metavar="N", help="videos at once; 0: without Ray, serially"
    )
    parser.add_argument("--ray", metavar="ADDRESS", help="a Ray cluster, such as auto or ray://head:10001")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a robot.yaml")
    options = parser.parse_args(arguments)
    try:
        if options.workers < 0 or (options.ray and not options.workers):
            raise OfflineToolError("--workers must be above zero where --ray is given, and never below")
        settings = load_settings(options.config) if options.config else Settings()
        return _told(_outcomes(options, settings))
    except (OfflineToolError, HearsightError) as error:
        message, status = str(error), 1
    except ModuleNotFoundError as error:
        sentence = missing_extra(error)
        if sentence is None:
            raise
        message, status = sentence, 1
    except KeyboardInterrupt:
        message, status = "interrupted; the same command goes on where it was", 130
    print(f"memorize_many: {message}", file=sys.stderr)
    return status


def _outcomes(options: argparse.Namespace, settings: Settings) -> Iterator[Outcome]:
    videos = list(dict.fromkeys(str(video.resolve()) for video in options.videos))
    out = str(options.out.resolve())
    if options.workers == 0:
        return serially(videos, out, settings)
    return with_ray(videos, out, settings, workers=options.workers, address=options.ray)


def _told(outcomes: Iterator[Outcome]) -> int:
    count = failed = 0
    for outcome in outcomes:
        count += 1
        failed += bool(outcome.fault)
        print(json.dumps(asdict(outcome), ensure_ascii=False), flush=True)
        if outcome.fault:
            print(f"memorize_many: {outcome.video}: {outcome.fault}", file=sys.stderr)
    print(json.dumps({"videos": count, "failed": failed}))
    return 1 if failed else 0


if __name__ == "__main__":
    from offline_tools.memorize_many import main as importable  # Ray's workers cannot import __main__

    sys.exit(importable(sys.argv[1:]))
