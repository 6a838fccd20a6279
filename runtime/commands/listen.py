"""`hearsight listen`: push-to-talk; the running robot takes what is said next for a question."""

from __future__ import annotations

import argparse

from runtime.api_client import running_daemon
from runtime.commands import session
from runtime.errors import HearsightError


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("listen", parents=[shared], help="have the robot listen to a question now")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Tell the running daemon."""
    parts = session.parts_of(options)
    daemon = running_daemon(parts.settings.data_dir)
    if daemon is None:
        raise HearsightError(
            f"no robot runs on {parts.settings.data_dir}: start `hearsight run` with voice.enabled: true"
        )
    daemon.listen()
    if options.json:
        session.print_json({"listening": True})
    else:
        print(f"{parts.settings.robot.name} listens.")
    return 0
