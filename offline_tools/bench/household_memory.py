"""The household's memory: its scenes composed once, and replayed once by the robot as it is; both lie in the cache."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from models.faces import FaceDetector
from offline_tools.bench.household_scenes import Placed, SceneComposer
from offline_tools.bench.household_script import Script, script_key
from offline_tools.bench.household_voices import HouseholdVoices
from offline_tools.bench.measured_process import hearsight, measure
from offline_tools.bench.report import ROOT, BenchmarkError, code_key
from offline_tools.demo_sources import CAT, PICTURES, fetch_pictures
from runtime import compose
from runtime.compose import Parts
from runtime.config import load_settings

_CODE = ("drivers", "memory_store", "models", "runtime")
_DONE = "replayed.json"


@dataclass(frozen=True)
class Spoken:
    """What was really said or shown, in UTC seconds: `text` is "" for a shot."""

    id: str
    start_utc_s: float
    end_utc_s: float
    text: str


@dataclass(frozen=True)
class HouseholdMemory:
    """A replayed memory: where it lies, under which settings, and when everything in it really happened.

    key: of the code that it was written by. No language model wrote into it, so all that answer have the same before
    them.
    """

    directory: Path
    config: Path
    key: str
    truth: dict[str, Spoken]


def cache() -> Path:
    """Where the benchmark keeps what took long."""
    return Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "household"


def household_memory(script: Script, parts: Parts, *, keep: bool = False) -> HouseholdMemory:
    """The memory of the script, replayed where the cache has none by this code; `keep`: of whatever code it is."""
    scenes = _composed(script, parts)
    truth = _truth(script, scenes)
    key = code_key(*_CODE)[:8]
    if keep:
        replayed = cache().glob(f"memory-{script_key()}-*/{_DONE}")
        kept = [path.parent for path in sorted(replayed, key=lambda path: path.stat().st_mtime)]
        if not kept:
            raise BenchmarkError("there is no replayed memory of this script yet: leave out --keep-memory")
        directory = kept[-1]
        return HouseholdMemory(directory, directory / "robot.yaml", directory.name.split("-")[2], truth)
    directory = cache() / f"memory-{script_key()}-{key}"
    config = directory / "robot.yaml"
    if not (directory / _DONE).exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        config.write_text(yaml.safe_dump({"robot": {"timezone": script.timezone}}), encoding="utf-8")
        reports = [_replayed(script, scenes, number, directory) for number in range(len(script.scenes))]
        heard = _named(script, truth, _parts_at(parts, config, directory))
        done = {"scenes": reports, "names_heard": heard}
        (directory / _DONE).write_text(json.dumps(done, indent=1, ensure_ascii=False), encoding="utf-8")
    return HouseholdMemory(directory, config, key, truth)


def _composed(script: Script, parts: Parts) -> Path:
    directory = cache() / f"scenes-{script_key()}"
    missing = [scene for scene in script.scenes if not (directory / f"{scene.id}.json").exists()]
    if missing:
        directory.mkdir(parents=True, exist_ok=True)
        pictures, faults = fetch_pictures(cache() / "pictures", (*PICTURES, CAT))
        if faults:
            raise BenchmarkError("; ".join(faults))
        faces = FaceDetector(parts.directory(parts.entry("face_detection")))
        models = parts.directory(parts.entry("face_detection")).parent
        composer = SceneComposer(script, HouseholdVoices(models, cache() / "voices"), pictures, faces)
        for scene in missing:
            print(f"composing {scene.id}", flush=True)
            composer.write(scene, directory / f"{scene.id}.mp4")
    return directory


def _truth(script: Script, scenes: Path) -> dict[str, Spoken]:
    truth = {}
    for scene in script.scenes:
        start_s = script.start_utc_s(scene)
        for one in json.loads((scenes / f"{scene.id}.json").read_text(encoding="utf-8")):
            placed = Placed(**one)
            truth[placed.id] = Spoken(
                placed.id, start_s + placed.start_s, start_s + placed.end_s, placed.text
            )
    return truth


def _replayed(script: Script, scenes: Path, number: int, directory: Path) -> dict[str, object]:
    scene = script.scenes[number]
    print(f"replaying {scene.id}", flush=True)
    run = measure(
        hearsight(
            "run", "--replay", str(scenes / f"{scene.id}.mp4"), "--speed", "max",
            "--start-at", scene.at.isoformat(), "--language", "none", "--json",
            "--data-dir", str(directory), "--config", str(directory / "robot.yaml"),
        ),
        ROOT,
    )  # fmt: skip
    report: dict[str, object] = json.loads(run.output.splitlines()[-1])
    return {"scene": scene.id, **report}


def _parts_at(parts: Parts, config: Path, directory: Path) -> Parts:
    settings = load_settings(config).model_copy(update={"data_dir": directory})
    return Parts(settings, parts.manifest)


def _named(script: Script, truth: Mapping[str, Spoken], parts: Parts) -> list[str]:
    """Name the residents whose names were not proved by what was heard, as a household does once; those that were.

    Who is who is taken from the truth: it is the person who was mostly heard while the resident spoke in view.
    """
    store = compose.open_store(parts)
    heard = []
    try:
        rows = [row for row in store.timeline() if row.kind == "heard" and row.person_id is not None]
        for who, resident in script.people.items():
            said = [truth[line.id] for line in script.lines if line.who == who and not line.unseen]
            voices = Counter(
                row.person_id
                for row in rows
                for one in said
                if one.start_utc_s <= (row.start_utc_s + row.end_utc_s) / 2 <= one.end_utc_s
            )
            if not voices:
                continue
            person = store.person(int(voices.most_common(1)[0][0] or 0))
            if person.name == resident.name:
                heard.append(resident.name)
            elif person.name is None:
                with store.transaction():
                    store.name_person(person.id, resident.name, source="resident")
    finally:
        store.close()
    return heard
