"""`make demo`: composes the demo scene, replays it as if it were camera and microphone, and asks three questions."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from offline_tools import demo_scene
from offline_tools.demo_script import DEMO_QUESTIONS
from offline_tools.demo_sources import cache_directory
from runtime.cli import main as hearsight

ROOT = Path(__file__).resolve().parents[1]
MEMORY = ROOT / "data" / "demo"


def main() -> int:
    """Run the demo; 0 when every step went through."""
    scene = cache_directory() / "scene.mp4"
    print(f"1. The scene: three people in a room, {scene}")
    if not scene.exists() and demo_scene.main(["--out", str(scene)]) != 0:
        return 1
    shutil.rmtree(MEMORY, ignore_errors=True)
    print("\n2. Hearsight sees, hears and writes down", flush=True)
    memory = ["--data-dir", str(MEMORY)]
    if hearsight(["run", "--replay", str(scene), "--speed", "max", *memory]) != 0:
        return 1
    print("\n3. Whom it met")
    hearsight(["people", "list", *memory])
    print("\n4. Three questions")
    for question in DEMO_QUESTIONS:
        print(f"\n> {question.question}", flush=True)
        if hearsight(["ask", question.question, *memory]) != 0:
            return 1
    shown = MEMORY.relative_to(ROOT)
    print(f'\nAsk your own: .venv/bin/hearsight ask --data-dir {shown} "What did Anna say?"')
    return 0


if __name__ == "__main__":
    sys.exit(main())
