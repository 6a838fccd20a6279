"""Training rows: round trip, every fault named with its file and line, and files that survive a kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from offline_tools.chatml import ChatMLError, Medium, Text, check_rows, parse_row, read_rows, shown_parts
from offline_tools.chatml_writer import RowWriter, write_rows
from offline_tools.errors import OfflineToolError
from tests.training_rows import LINES, training_row

ROOT = Path(__file__).resolve().parents[1]


def changed(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> list[str]:
    """The faults of a good row after a change to its JSON."""
    row = training_row(tmp_path, "a")
    document = json.loads(row.as_line())
    change(document)
    (tmp_path / "rows.jsonl").write_text(json.dumps(document) + "\n", encoding="utf-8")
    return check_rows(tmp_path / "rows.jsonl")[1]


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [training_row(tmp_path, "a", video="day.mp4", start_s=0.0), training_row(tmp_path, "b")]
    write_rows(tmp_path / "rows.jsonl", rows)
    assert read_rows(tmp_path / "rows.jsonl") == rows
    assert rows[0].file(rows[0].turns[1].media[0]).is_file()
    assert "base64" not in rows[0].as_line() and len(rows[0].as_line()) < 2000


def test_whose_face_a_picture_is_stands_before_it(tmp_path: Path) -> None:
    parts = shown_parts(training_row(tmp_path, "a").turns[1])
    kinds = [part.text if isinstance(part, Text) else part.kind for part in parts]
    assert kinds == ["video", "audio", "<face_1>:", "image", "<voice_2>:", "audio", LINES]


def test_every_fault_of_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    good = training_row(tmp_path, "a")
    lost = training_row(tmp_path, "lost")
    lost.file(lost.turns[1].media[1]).unlink()
    lines = [
        good.as_line().encode(),
        b'{"id": "cut", "messages": [{"ro\n',
        b"\n",
        b"[1, 2]\n",
        b'{"id": "\xff"}\n',
        lost.as_line().encode(),
        good.as_line().encode(),
        b'{"id": "", "messages": [], "kind": 3}\n',
    ]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(lines))
    rows, faults = check_rows(path)
    assert [row.id for row in rows] == ["a"]
    said = "\n".join(faults)
    for expected in (
        f"{path}:2: is not JSON",
        f"{path}:4: must be an object",
        f"{path}:5: is not UTF-8",
        f"{path}:6: audio {lost.file(lost.turns[1].media[1])} cannot be read: No such file",
        f"{path}:7: id 'a' stands already on line 1",
        f"{path}:8: has an unknown key 'kind'",
        f"{path}:8: id must be",
        f"{path}:8: messages must be",
    ):
        assert expected in said, said
    with pytest.raises(ChatMLError) as found:
        read_rows(path)
    assert found.value.faults == faults and str(found.value) == said


def test_many_faults_are_shown_in_part_and_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("nonsense\n" * 50, encoding="utf-8")
    with pytest.raises(ChatMLError, match=r"and 30 more") as found:
        read_rows(path)
    assert len(found.value.faults) == 50


def _roles(*roles: str) -> Callable[[dict[str, Any]], object]:
    return lambda row: row.update(messages=[{"role": role, "content": "x"} for role in roles])


def _part(index: int, **values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda row: row["messages"][1]["content"][index].update(values)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_roles("system", "assistant"), "messages[1] is the assistant's, expected user"),
        (_roles("user", "user", "assistant"), "messages[1] is the user's, expected assistant"),
        (_roles("system", "user"), "the last message must be an assistant's"),
        (_roles("user", "system", "assistant"), "messages[1] is the system's"),
        (_roles("system"), "the last message must be"),
        (_roles("robot", "assistant"), "messages[0].role is 'robot'"),
        (lambda row: row["messages"][2].update(content=" "), "says nothing"),
        (lambda row: row["messages"][2].update(content=None), "must be a text or a list"),
        (lambda row: row["messages"][2].update(content="<face_12> and <face_1>"), "uses <face_12>, which"),
        (lambda row: row["messages"][2].update(content="<voice_1> left"), "uses <voice_1>, which"),
        (
            lambda row: row["messages"][2].update(content=row["messages"][1]["content"]),
            "only a user's turn may",
        ),
        (lambda row: row["messages"].insert(0, "hello"), "messages[0] must be an object"),
        (lambda row: row.update(source=[1]), "source must be an object, found list"),
        (_part(0, video="data:video/mp4;base64,AAAA"), "media do not stand in a row"),
        (_part(0, video="/etc/passwd"), "must lie under the folder"),
        (_part(0, video="../secret.mp4"), "must lie under the folder"),
        (_part(0, video="http://host/x.mp4"), "must lie under the folder"),
        (_part(0, video=7), "must be the name of a file, found int"),
        (_part(0, sha256="ABC"), "64 hexadecimal digits"),
        (_part(0, sha256="0" * 64), "is another file than the row's"),
        (_part(0, type="hologram"), "is no part"),
        (_part(2, tag="<face_x>"), "tag is '<face_x>'"),
        (_part(2, tag="<face_1> "), "tag is '<face_1> '"),
        (lambda row: row["messages"][1]["content"].append("text"), "is no part"),
        (lambda row: row["messages"][0].update(name="x"), "has an unknown key 'name'"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, change: Callable[[dict[str, Any]], object], expected: str) -> None:
    faults = changed(tmp_path, change)
    assert any(expected in fault for fault in faults), faults
    assert all(fault.startswith(f"{tmp_path / 'rows.jsonl'}:1: ") for fault in faults)


@pytest.mark.parametrize("name", ["clip.mp4", "clip.wav", "face_1.jpg"])
def test_a_medium_that_does_not_decode_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "media" / "a" / name

    def spoil(row: dict[str, Any]) -> None:
        path.write_bytes(b"no medium at all")
        for part in row["messages"][1]["content"]:
            if part.get(part["type"], "").endswith(name):
                part["sha256"] = sha256(b"no medium at all").hexdigest()

    faults = changed(tmp_path, spoil)
    assert len(faults) == 1 and "can be decoded" in faults[0] and name in faults[0]


def test_a_video_without_sound_is_no_audio(tmp_path: Path) -> None:
    faults = changed(tmp_path, lambda row: row["messages"][1]["content"].__setitem__(0, _as_audio(row)))
    assert len(faults) == 1 and "holds no audio that can be decoded" in faults[0]


def _as_audio(row: dict[str, Any]) -> dict[str, str]:
    video = row["messages"][1]["content"][0]
    return {"type": "audio", "audio": video["video"], "sha256": video["sha256"]}


def test_a_file_that_is_missing_or_empty(tmp_path: Path) -> None:
    assert "No such file" in check_rows(tmp_path / "none.jsonl")[1][0]
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    assert check_rows(tmp_path / "empty.jsonl") == ([], [f"{tmp_path / 'empty.jsonl'}: holds no row"])
    assert "Is a directory" in check_rows(tmp_path)[1][0]


def test_plain_text_rows_are_rows() -> None:
    line = (
        b'{"id": "q", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}'
    )
    row, faults = parse_row(line, Path())
    assert row is not None and not faults and row.answer == "b" and not row.source
    again, _ = parse_row(row.as_line().encode(), Path())
    assert again == row


def test_hidden_depth_is_a_fault_and_no_crash() -> None:
    assert parse_row(b"[" * 200_000, Path())[1][0].startswith("is not JSON")


def test_a_row_is_written_once_and_a_torn_line_is_cut_away(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    first, second = training_row(tmp_path / "new", "a"), training_row(tmp_path / "new", "b")
    with RowWriter(path) as writer:
        assert writer.append(first) and not writer.append(first)
        with pytest.raises(OfflineToolError, match="another run writes"):
            RowWriter(path)
    with path.open("ab") as file:
        file.write(second.as_line().encode()[:57])
    with RowWriter(path) as writer:
        assert writer.known == {"a"} and writer.append(second)
    assert read_rows(path) == [first, second]


def test_a_line_that_is_no_row_stops_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a"}\nnonsense\n', encoding="utf-8")
    with pytest.raises(OfflineToolError, match=r"rows.jsonl:2: is no row"):
        RowWriter(path)
    assert path.read_text(encoding="utf-8").endswith("nonsense\n")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OfflineToolError, match="choose another file"):
        RowWriter(tmp_path / "file" / "rows.jsonl")
    with pytest.raises(OfflineToolError, match="cannot write"):
        write_rows(tmp_path / "file" / "rows.jsonl", [])


_KILLED = """
import os, resource, signal, sys
from pathlib import Path
from offline_tools.chatml import Row, Text, Turn
from offline_tools.chatml_writer import RowWriter
from offline_tools.errors import OfflineToolError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))
with RowWriter(Path(sys.argv[1])) as writer:
    for number in range(100):
        try:
            writer.append(Row(str(number), (Turn("user", (Text("a" * 100),)), Turn("assistant", (Text("b"),)))))
        except OfflineToolError as error:
            print(error, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_full_disk_leaves_whole_rows_only(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    run = subprocess.run(
        [sys.executable, "-c", _KILLED, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert "cannot write" in run.stdout and "free some space" in run.stdout
    rows = read_rows(path)
    assert [row.id for row in rows] == ["0", "1", "2"] and path.read_bytes().endswith(b"\n")


def test_media_are_not_looked_at_where_not_wanted(tmp_path: Path) -> None:
    row = training_row(tmp_path, "a")
    row.file(row.turns[1].media[0]).unlink()
    write_rows(tmp_path / "rows.jsonl", [row])
    assert read_rows(tmp_path / "rows.jsonl", media=False) == [row]
    assert isinstance(row.turns[1].media[0], Medium)
