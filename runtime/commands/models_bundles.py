"""`hearsight models install`, `rollback` and `verify FILE`: signed bundles of a language model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from models.bundle import verify_bundle
from models.signing import PublicKey
from models.slots import InstalledModel, Slots
from runtime import compose_bundles
from runtime.commands import session
from runtime.compose import INSTALLED, Parts

SUFFIX = ".bundle"


def add_to(verbs: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verbs to `hearsight models`."""
    installing = verbs.add_parser(
        "install", parents=[shared], help="verify a bundle, try it, and let it serve"
    )
    installing.add_argument("bundle", type=Path, metavar="FILE")
    installing.add_argument(
        "--allow-older", action="store_true", help="also a version older than one installed before"
    )
    installing.set_defaults(command=install_bundle)
    going_back = verbs.add_parser(
        "rollback", parents=[shared], help="go back to the model that served before"
    )
    going_back.set_defaults(command=roll_back)


def is_bundle(name: str) -> bool:
    """Whether an argument of `models verify` is a bundle's file and not a model of the manifest."""
    return name.endswith(SUFFIX) or "/" in name


def install_bundle(options: argparse.Namespace) -> int:
    """Install, and say what serves now and from when on."""
    parts = session.parts_of(options)
    installed = Slots(parts.settings.models.dir).install(
        options.bundle,
        compose_bundles.keys_of(parts),
        compose_bundles.trial(parts),
        allow_older=options.allow_older,
    )
    _say(installed, parts, "installed", as_json=options.json)
    return 0


def roll_back(options: argparse.Namespace) -> int:
    """Switch back, and say what serves now."""
    parts = session.parts_of(options)
    _say(Slots(parts.settings.models.dir).rollback(), parts, "rolled back to", as_json=options.json)
    return 0


def verify_bundles(paths: list[Path], parts: Parts, *, as_json: bool) -> None:
    """Read every byte of the bundles and say whose they are. Raises ModelError at the first that is wrong."""
    trusted = compose_bundles.keys_of(parts)
    for path in paths:
        signed = verify_bundle(path, trusted)
        manifest = signed.manifest
        if as_json:
            session.print_json({"file": str(path), **_told(manifest.name, manifest.version, signed.key)})
        else:
            print(
                f"ok  {path}: {manifest.name} {manifest.version}, {manifest.role}, {manifest.bytes / 1e6:.0f} MB, "
                f"{len(manifest.golden)} golden cases, signed by {signed.key.id}"
            )


def _say(installed: InstalledModel | None, parts: Parts, what: str, *, as_json: bool) -> None:
    chosen = parts.settings.models.language
    if installed is None:
        name, version = parts.manifest.default("language").id, ""
    else:
        name, version = installed.manifest.name, installed.manifest.version
    if as_json:
        session.print_json({"serves": chosen == INSTALLED, **_told(name, version)})
        return
    print(f"{what} {name} {version}".rstrip())
    if chosen == INSTALLED:
        print("It answers from now on; a robot that is running takes it when it is started again.")
    else:
        print(f"robot.yaml chooses models.language: {chosen}; with `{INSTALLED}` there, this one serves.")


def _told(name: str, version: str, key: PublicKey | None = None) -> dict[str, Any]:
    return {"name": name, "version": version} | ({} if key is None else {"key": key.id})
