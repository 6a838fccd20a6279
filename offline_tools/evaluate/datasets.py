"""The benchmarks that can be asked, by name, and where their annotations lie if nothing else is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from offline_tools.bench.report import MEDIA
from offline_tools.evaluate.egotempo import read_egotempo
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.locomo import read_locomo
from offline_tools.evaluate.longmemeval import read_longmemeval
from offline_tools.evaluate.m3bench import read_m3bench
from offline_tools.evaluate.openeqa import read_openeqa
from offline_tools.evaluate.questions import Dataset
from offline_tools.evaluate.videomme import read_videomme


@dataclass(frozen=True)
class Source:
    """A benchmark: its file below the media's folder of benchmarks, None where none is kept there, and its reader."""

    file: str | None
    read: Callable[[Path], Dataset]


DATASETS = {
    "m3bench_robot": Source("m3bench/robot.json", partial(read_m3bench, "m3bench_robot")),
    "m3bench_web": Source("m3bench/web.json", partial(read_m3bench, "m3bench_web")),
    "locomo": Source("locomo10.json", partial(read_locomo, "locomo")),
    "longmemeval": Source("longmemeval_sample3.json", partial(read_longmemeval, "longmemeval")),
    "openeqa": Source("open-eqa-v0.json", partial(read_openeqa, "openeqa")),
    "videomme": Source(None, partial(read_videomme, "videomme")),
    "egotempo": Source("egotempo_openQA.json", partial(read_egotempo, "egotempo")),
}


def read_dataset(name: str, path: Path | None = None) -> Dataset:
    """The benchmark from its file, or from where the media lie beside the project. Raises EvaluateError."""
    source = DATASETS[name]
    if path is None:
        if source.file is None:
            raise EvaluateError(f"{name}: no annotations are kept here; name their file with --file")
        path = MEDIA / "benchmarks" / source.file
    return source.read(path)
