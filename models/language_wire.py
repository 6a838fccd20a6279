"""What passes between the language model's process and its owner: settings, requests and replies."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from models.language import Completion, Message

PREEMPT = signal.SIGUSR1  # to the child: give up the call that runs


@dataclass(frozen=True)
class ServerSettings:
    """How the child loads the model; handed over as one JSON argument.

    batch_tokens: prompt tokens evaluated in one step; kept_prefixes: prompts of other callers whose state is
    kept in memory; image_tokens: the most one picture may take; gpu_layers: -1 puts all on the GPU if the
    build has one; nice: added to the process's niceness, so that perception goes first; heads_dir: where evaluated
    prompt heads are kept between processes, None for nowhere; model_sha256: of the model's file, which they belong to.
    """

    model_path: str
    mmproj_path: str | None
    context_tokens: int
    threads: int
    batch_tokens: int = 256
    kept_prefixes: int = 2
    image_tokens: int = 256
    gpu_layers: int = -1
    nice: int = 5
    heads_dir: str | None = None
    model_sha256: str = ""


@dataclass(frozen=True)
class CompleteRequest:
    messages: tuple[Message, ...]
    max_tokens: int
    grammar: str | None
    temperature: float
    stop: tuple[str, ...]
    timeout_s: float
    yields: bool = False


@dataclass(frozen=True)
class CountRequest:
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Ready:
    """The model is loaded."""


@dataclass(frozen=True)
class Failed:
    """The request could not be served; the process goes on. preempted: it was told to give it up."""

    message: str
    preempted: bool = False


Request = CompleteRequest | CountRequest
Reply = Ready | Failed | Completion | int
