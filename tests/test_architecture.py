"""Who may import whom, which package owns which heavy library, and what every module opens with."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAY_IMPORT = {
    "drivers": {"drivers"},
    "models": {"models"},
    "memory_store": {"memory_store"},
    "runtime": {"runtime", "drivers", "models", "memory_store"},
    "offline_tools": {"offline_tools", "runtime", "drivers", "models", "memory_store"},
}
OWNERS = {
    "cv2": {"drivers", "models", "offline_tools"},
    "av": {"drivers", "offline_tools"},
    "sounddevice": {"drivers"},
    "onnxruntime": {"models"},
    "onnx": {"models"},
    "llama_cpp": {"models"},
    "faster_whisper": {"models"},
    "ctranslate2": {"models"},
    "hnswlib": {"memory_store"},
    "sqlite_utils": {"memory_store"},
    "sqlite3": {"memory_store"},
    "cryptography": {"models", "offline_tools"},
    "torch": {"offline_tools"},
    "transformers": {"offline_tools"},
    "trl": {"offline_tools"},
    "accelerate": {"offline_tools"},
    "datasets": {"offline_tools"},
    "peft": {"offline_tools"},
    "gguf": {"offline_tools"},
    "networkx": {"offline_tools"},
    "ray": {"offline_tools"},
    "verl": {"offline_tools"},
    "openai": {"offline_tools"},
}
MODULES = [path for package in MAY_IMPORT for path in sorted((ROOT / package).rglob("*.py"))]


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.add(path.relative_to(ROOT).parts[0])
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    for name in _imports(path):
        assert name not in MAY_IMPORT or name in MAY_IMPORT[package], f"{package} must not import {name}"
        assert name not in OWNERS or package in OWNERS[name], f"{name} belongs to {sorted(OWNERS[name])}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_opens_with_what_it_is(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text and text.splitlines()[0].rstrip().endswith((".", ",", ";", ":")), f"{path}: say what it is"


def test_tasks_are_made_in_the_supervisor_alone() -> None:
    for path in (ROOT / "runtime").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "create_task(" not in text or path.name == "supervisor.py", path
        assert "except Exception" not in text or path.name == "supervisor.py", path
