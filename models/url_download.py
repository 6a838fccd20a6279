"""Downloading a file over HTTP into a .part file that a later run continues."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from models.errors import ModelError

_READ_BYTES = 1 << 18
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416


def download(
    url: str, part: Path, *, size: int | None, progress: Callable[[int, int], None], timeout_s: float = 60.0
) -> None:
    """Fetch `url` into `part`, continuing where an earlier attempt stopped.

    `size` is the expected number of bytes, if known. Raises ModelError when the server cannot be reached, refuses,
    stops early or sends another number of bytes; what has arrived stays in `part`, except when it is too much.
    """
    if not url.startswith(("https://", "http://")):
        raise ModelError(f"cannot download {url}: only http and https addresses can be fetched")
    have = part.stat().st_size if part.exists() else 0
    if size is not None and have == size:
        return
    request = urllib.request.Request(url, headers={"User-Agent": "hearsight"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            continues = have > 0 and answer.status == _PARTIAL_CONTENT
            start = have if continues else 0
            total = size or int(answer.headers.get("Content-Length") or 0) + start
            _receive(answer, part, start, total, progress)
    except urllib.error.HTTPError as error:
        if error.code == _RANGE_NOT_SATISFIABLE and have:
            part.unlink()
            raise ModelError(f"{url} is shorter than what was fetched before: run the fetch again") from error
        raise ModelError(f"cannot download {url}: the server says {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise ModelError(f"cannot download {url}: {error}; run the fetch again to continue") from error
    arrived = part.stat().st_size
    if total and arrived != total:
        if arrived > total:
            part.unlink()
        raise ModelError(f"{url} gave {arrived} of {total} bytes; run the fetch again to continue")


def _receive(
    answer: http.client.HTTPResponse, part: Path, done: int, total: int, progress: Callable[[int, int], None]
) -> None:
    with part.open("ab" if done else "wb") as sink:
        while block := answer.read(_READ_BYTES):
            sink.write(block)
            done += len(block)
            progress(done, total)
