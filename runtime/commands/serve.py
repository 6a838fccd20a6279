"""`hearsight serve`: answers over HTTP and Wyoming from what is remembered, without seeing or hearing anything."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import ExitStack

from runtime import compose, compose_hearing, compose_speech
from runtime.clock import SystemClock
from runtime.commands import session
from runtime.errors import HearsightError
from runtime.instance import only_instance
from runtime.pipeline import FATAL
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
    if not (parts.settings.api.enabled or parts.settings.wyoming.enabled):
        raise HearsightError(
            "api.enabled and wyoming.enabled are false in robot.yaml: there is nothing to serve"
        )
    with only_instance(parts.settings.data_dir):
        asyncio.run(_serve(parts, as_json=options.json))
    return 0


async def _serve(parts: compose.Parts, *, as_json: bool) -> None:
    def told(url: str) -> None:
        if as_json:
            session.print_json({"serving": url})
        else:
            print(f"{'Ask' if url.startswith('http') else 'Wyoming'} at {url}", flush=True)

    def engines() -> compose_speech.SpeechEngines:
        return compose_speech.own_engines(
            parts, compose_hearing.speech_recognizer(parts), compose_hearing.voice_embedder(parts)
        )

    with ExitStack() as stack:
        worker = Worker("answer")
        stack.callback(worker.close)
        language = compose.language_model(parts)
        if language is not None:
            stack.callback(language.close)
        embedder = await worker.call(compose.text_embedder, parts)
        speech = await worker.call(engines) if parts.settings.wyoming.enabled else None
        serving = await build_serving(parts, language, embedder, worker, stack, told, speech)
        stack.enter_context(stop_on_signals(serving.stop))
        await Supervisor(serving.table(FATAL), parts.settings.supervisor, SystemClock()).run()
