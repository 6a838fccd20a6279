"""Where the running daemon's API is: a file in the data directory, readable by its owner alone."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from runtime.config_talking import ApiSettings

_NAME = "api.json"


@dataclass(frozen=True)
class Reachable:
    """How the API of the daemon on a data directory is reached."""

    url: str
    token: str | None
    certificate: str | None


@dataclass(frozen=True)
class ApiAddress:
    """Writes and removes the file of one data directory."""

    data_dir: Path
    settings: ApiSettings

    def write(self, url: str) -> None:
        """Say that the API is served there; the file is there whole or not at all."""
        value = {
            "url": url,
            "token": self.settings.token,
            "certificate": None
            if self.settings.certificate is None
            else str(self.settings.certificate.resolve()),
        }
        part = self.data_dir / f"{_NAME}.part"
        part.unlink(missing_ok=True)
        with os.fdopen(
            os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as file:
            json.dump(value, file)
        part.replace(self.data_dir / _NAME)

    def remove(self) -> None:
        """The API is served no more."""
        (self.data_dir / _NAME).unlink(missing_ok=True)


def read_address(data_dir: Path) -> Reachable | None:
    """Where the API of this directory was last served; None where it is not. It may be out of date after a crash."""
    try:
        value = json.loads((data_dir / _NAME).read_text(encoding="utf-8"))
        return Reachable(str(value["url"]), value["token"], value["certificate"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
