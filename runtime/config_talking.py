"""The blocks of robot.yaml about who speaks with the robot: voice, the HTTP API, and the Wyoming protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from models.wake_words import PHRASES
from runtime.config_section import Section

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def peer_of(address: str) -> tuple[str, int]:
    """Host and port of "wyoming://host:port". Raises ValueError."""
    parts = urlsplit(address)
    if parts.scheme != "wyoming" or not parts.hostname or parts.port is None or parts.path or parts.query:
        raise ValueError(f"{address!r} is no address like wyoming://192.168.1.5:10300")
    return parts.hostname, parts.port


def _checked_peer(address: str) -> str:
    peer_of(address)
    return address


Peer = Annotated[str, AfterValidator(_checked_peer)]


def _checked_wake_word(chosen: str) -> str:
    if chosen not in PHRASES and not chosen.startswith("wyoming:"):
        raise ValueError(f"{chosen!r} is no wake word: {', '.join(PHRASES)}, or wyoming://host:port")
    return chosen if chosen in PHRASES else _checked_peer(chosen)


WakeWord = Annotated[str, AfterValidator(_checked_wake_word)]


class VoiceSettings(Section):
    enabled: bool = False
    loudspeaker: int | str | None = None
    recognizer: Peer | None = None
    synthesizer: Peer | None = None
    addressed_by: tuple[Literal["name", "push", "wake", "look"], ...] = ("name", "push")
    wake: WakeWord | None = None
    also_called: tuple[str, ...] = ()
    end_silence_s: float = Field(0.8, ge=0.2, le=5)
    longest_question_s: float = Field(15.0, ge=2, le=25)
    listen_s: float = Field(8.0, ge=1, le=60)
    follow_up_s: float = Field(6.0, ge=0, le=60)

    @model_validator(mode="after")
    def _wakeable(self) -> VoiceSettings:
        if ("wake" in self.addressed_by) != (self.wake is not None):
            raise ValueError("voice.wake and wake in voice.addressed_by belong together: set both or none")
        return self


class ApiSettings(Section):
    enabled: bool = True
    host: str = Field("127.0.0.1", min_length=1, max_length=255)
    port: int = Field(8465, ge=0, le=65535)
    token: str | None = Field(None, min_length=16, max_length=200)
    certificate: Path | None = None
    key: Path | None = None

    @model_validator(mode="after")
    def _safe(self) -> ApiSettings:
        if self.host not in _LOOPBACK and self.token is None:
            raise ValueError(f"api.host {self.host} can be reached from elsewhere: set api.token as well")
        if (self.certificate is None) != (self.key is None):
            raise ValueError("api.certificate and api.key belong together: set both or none")
        return self


class WyomingSettings(Section):
    enabled: bool = False
    host: str = Field("127.0.0.1", min_length=1, max_length=255)
    port: int = Field(10465, ge=0, le=65535)
    trusted_network: bool = False

    @model_validator(mode="after")
    def _safe(self) -> WyomingSettings:
        if self.host not in _LOOPBACK and not self.trusted_network:
            raise ValueError(
                f"wyoming.host {self.host} can be reached from elsewhere, and this protocol has no authentication "
                "and no encryption: set wyoming.trusted_network: true if all who reach it may ask, or keep 127.0.0.1"
            )
        return self
