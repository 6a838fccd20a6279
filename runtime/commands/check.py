"""`hearsight check`: everything that is wrong with this robot's set-up, all at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

from drivers.camera import Camera
from drivers.media import DriverError
from drivers.microphone import Microphone
from memory_store.errors import MemoryStoreError
from models.errors import ModelError
from models.manifest import Manifest
from models.wake_words import PHRASES
from runtime import compose, compose_speech
from runtime.commands import session
from runtime.commands.devices import camera_of, microphone_of
from runtime.config import Settings
from runtime.config_talking import peer_of
from runtime.errors import ConfigError, HearsightError, InstanceError
from runtime.instance import only_instance
from runtime.wyoming_engines import describe_peer

Finding = tuple[str, bool, str]
_FAILURES = (HearsightError, DriverError, ModelError, MemoryStoreError)


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("check", parents=[shared], help="say everything that is wrong")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Print every finding; 1 when something is wrong."""
    findings = list(_findings(options))
    if options.json:
        rows = [{"what": what, "ok": fine, "detail": detail} for what, fine, detail in findings]
        session.print_json(rows)
    else:
        for what, fine, detail in findings:
            print(f"{'ok   ' if fine else 'WRONG'}  {what}: {detail}")
    return 0 if all(fine for _, fine, _ in findings) else 1


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    path = session.config_path(options)
    try:
        settings = session.settings_of(options)
        yield "configuration", True, str(path or "defaults, no robot.yaml found")
    except ConfigError as error:
        for fault in error.faults:
            yield f"configuration {error.path}", False, fault
        settings = Settings()  # the rest is still looked at, with the defaults
        if options.data_dir is not None:
            settings = settings.model_copy(update={"data_dir": options.data_dir.expanduser()})
    try:
        parts = compose.Parts(settings, Manifest.load())
    except ModelError as error:
        yield "model manifest", False, str(error)
    else:
        for role, chosen in compose.needed_models(settings):
            yield _probe(f"model for {role}", partial(_model, parts, role, chosen))
        yield _probe("memory", partial(_memory, parts))
        if settings.voice.enabled:
            yield from _engines(parts)
    if settings.camera.enabled:
        yield _probe("camera", lambda: _opens(camera_of(settings), settings.camera.device))
    if settings.microphone.enabled:
        yield _probe(
            "microphone",
            lambda: _opens(microphone_of(settings), settings.microphone.device or "system default"),
        )


def _probe(what: str, look: Callable[[], str]) -> Finding:
    try:
        return what, True, look()
    except _FAILURES as error:
        return what, False, str(error)


def _model(parts: compose.Parts, role: str, chosen: str | None) -> str:
    if role == "language":
        files = parts.language_files
        return "none" if files is None else files.name or files.entry.id
    entry = parts.entry(role, chosen)
    parts.directory(entry)
    return entry.id


def _engines(parts: compose.Parts) -> Iterator[Finding]:
    """The wake word, and speech engines elsewhere."""
    voice = parts.settings.voice
    for name in ("recognizer", "synthesizer", "wake"):
        chosen = getattr(voice, name)
        if chosen is not None:
            yield _probe(f"voice.{name}", partial(_engine, parts, chosen))


def _engine(parts: compose.Parts, chosen: str) -> str:
    if chosen in PHRASES:
        compose_speech.wake_word(parts)
        return chosen
    names = describe_peer(*peer_of(chosen))
    return f"{chosen} ({', '.join(names) or 'offers nothing'})"


def _memory(parts: compose.Parts) -> str:
    directory = parts.settings.data_dir
    try:
        with only_instance(directory):
            pass
        running = ""
    except InstanceError:
        running = ", in use by a running daemon"
        if not directory.is_dir():
            raise
    store = compose.open_store(parts)
    try:
        faults = store.check()
    finally:
        store.close()
    if faults:
        raise HearsightError(f"{directory}: {'; '.join(faults)}")
    return f"{directory}{running}"


def _opens(device: Camera | Microphone, name: object) -> str:
    device.open()
    device.close()
    return str(name)
