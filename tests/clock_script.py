"""Dates the clips of a boot to and fro until it is killed; prints a line when it begins."""

import sys
from pathlib import Path

from memory_store.store import MemoryStore
from runtime.clips import live_prefix
from tests.memory_samples import SPACES

BOOT, SHIFT_S, CLIPS = "b", 1_700_000_000.0, 150


def main(directory: Path) -> None:
    with MemoryStore.open(directory, SPACES) as store:
        print("ready", flush=True)
        while True:
            for sign in (1.0, -1.0):
                starts = {
                    clip.id: clip.start_utc_s + sign * SHIFT_S
                    for clip in store.clips_by_key(live_prefix(BOOT))
                }
                with store.transaction():
                    store.redate_clips(starts, 0.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
