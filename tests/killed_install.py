"""Installs a bundle again and again, killed (signal 9) at each step in turn, and looks at what serves afterwards.

A process of its own, started by test_slots_killed.py: it forks. Prints one JSON line.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

from models.errors import ModelError
from models.signing import PublicKey
from models.slots import FOLDER, Slots
from tests.bundles import passes

_STEPS = frozenset(
    {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "shutil.rmtree", "os.scandir"}
)


def main(models_dir: Path, bundle: Path, key_file: Path) -> None:
    """models_dir: with a model in each slot; bundle: a newer one."""
    key = PublicKey(key_file.read_text())
    template = models_dir.with_name("template")
    shutil.copytree(models_dir, template)
    served, way_back, step = [], [], 0
    while True:
        step += 1
        shutil.rmtree(models_dir)
        shutil.copytree(template, models_dir)
        child = os.fork()
        if child == 0:
            _install_until(step, Slots(models_dir), bundle, key)
        _, status = os.waitpid(child, 0)
        slots = Slots(models_dir)
        active = slots.active()
        assert active is not None
        active.require()
        served.append(active.manifest.version)
        slots.rollback()
        back = slots.active()
        way_back.append("" if back is None else back.manifest.version)
        slots.rollback()
        slots.install(bundle, [key], passes)  # and it can be installed all the same
        assert not list((models_dir / FOLDER).glob("*.part"))
        if os.WIFEXITED(status):
            break
    print(json.dumps({"served": served, "way_back": way_back, "ended": os.WEXITSTATUS(status)}))


def _install_until(step: int, slots: Slots, bundle: Path, key: PublicKey) -> None:
    """Install in this process, which dies of signal 9 before its step-th access to the file system."""
    left = step

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in _STEPS:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    try:
        slots.install(bundle, [key], passes)
    except ModelError as error:
        print(error, file=sys.stderr)
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
