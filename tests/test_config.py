"""robot.yaml: the file and the defaults agree, and every mistake is named at once."""

from pathlib import Path

import pytest

from runtime.config import Settings, load_settings
from runtime.errors import ConfigError

ROOT = Path(__file__).resolve().parents[1]


def _faults(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    return caught.value.faults


def test_the_repository_file_holds_every_default() -> None:
    assert load_settings(ROOT / "robot.yaml") == Settings()


def test_every_key_stands_in_the_file_with_a_comment() -> None:
    lines = (ROOT / "robot.yaml").read_text(encoding="utf-8").splitlines()
    for name, field in Settings.model_fields.items():
        section = field.annotation
        keys = section.model_fields if isinstance(section, type) and hasattr(section, "model_fields") else {}
        for key in keys or [name]:
            stated = [line for line in lines if line.strip().startswith(f"{key}:")]
            assert stated, f"{name}.{key} is not in robot.yaml"
            assert all("#" in line for line in stated if key != "enabled"), f"{key} has no comment"


def test_the_models_lie_in_the_cache_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARSIGHT_CACHE", "/srv/cache")
    assert Settings().models.dir == Path("/srv/cache/models")
    monkeypatch.delenv("HEARSIGHT_CACHE")
    assert Settings().models.dir == Path("~/.cache/hearsight/models").expanduser()


def test_five_mistakes_are_five_sentences(tmp_path: Path) -> None:
    faults = _faults(
        tmp_path / "robot.yaml",
        "robot:\n  timezone: Mars/Olympus\n  nmae: Rob\ncamera:\n  width_px: wide\n"
        "clip:\n  length_s: 0.1\ncontorl:\n  max_rounds: 3\n",
    )
    assert len(faults) == 5
    text = "\n".join(faults)
    assert "line 2: robot.timezone" in text and "'Mars/Olympus'" in text
    assert "did you mean robot.name?" in text
    assert "line 5: camera.width_px" in text and "'wide'" in text
    assert "line 7: clip.length_s" in text and "greater than or equal to 5" in text
    assert "contorl" in text and "did you mean control?" in text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [1", "is not YAML"),
        ("- 1\n- 2\n", "must be a mapping"),
        ("robot: 5\n", "robot"),
        ("control:\n  max_rounds: 3\ncontrol:\n  policy: abstain\n", "stands twice"),
        ("data_dir: 5\n", "data_dir"),
        ('data_dir: "a\\0b"\n', "NUL"),
        ("robot:\n  name: 2026-13-45\n", "month"),
        ("[" * 5000, "is not YAML"),
        ("robot: &a\n  name: *a\n", "alias"),
        ("clip:\n  length_s: .nan\n", "clip.length_s"),
    ],
)
def test_other_bad_files(tmp_path: Path, text: str, part: str) -> None:
    assert part in "\n".join(_faults(tmp_path / "robot.yaml", text))


def test_missing_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_settings(tmp_path / "none.yaml")
    (tmp_path / "robot.yaml").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path / "robot.yaml")


def test_empty_file_and_empty_sections_mean_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text("", encoding="utf-8")
    assert load_settings(path) == Settings()
    path.write_text("camera:\nrobot:\n  name: Ada\n", encoding="utf-8")
    assert load_settings(path).robot.name == "Ada"
