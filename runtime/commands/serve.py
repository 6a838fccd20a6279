"""`hearsight serve`: answers over HTTP from what is remembered, without seeing or hearing anything."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import ExitStack

from runtime import compose
from runtime.clock import SystemClock
from runtime.commands import session
from runtime.daemon import FATAL
from runtime.errors import HearsightError
from runtime.instance import only_instance
from runtime.serving import build_serving
from runtime.stop_signals import stop_on_signals
from runtime.supervisor import Supervisor
from runtime.workers import Worker


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "serve", parents=[shared], help="answer over HTTP, without camera and microphone"
    )
    parser.add_argument("--language", metavar="MODEL", help="entry of the model manifest, or none")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    parts = session.parts_of(options)
    if not parts.settings.api.enabled:
        raise HearsightError("api.enabled is false in robot.yaml: there is nothing to serve")
    with only_instance(parts.settings.data_dir):
        asyncio.run(_serve(parts, as_json=options.json))
    return 0


async def _serve(parts: compose.Parts, *, as_json: bool) -> None:
    def told(url: str) -> None:
        session.print_json({"serving": url}) if as_json else print(f"Ask at {url}", flush=True)

    with ExitStack() as stack:
        worker = Worker("answer")
        stack.callback(worker.close)
        language = compose.language_model(parts)
        if language is not None:
            stack.callback(language.close)
        embedder = await worker.call(compose.text_embedder, parts)
        serving = await build_serving(parts, language, embedder, worker, stack, on_listening=told)
        stack.enter_context(stop_on_signals(serving.stop))
        await Supervisor(serving.table(FATAL), parts.settings.supervisor, SystemClock()).run()
