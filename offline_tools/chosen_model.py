"""The language model that a tool was told to use: an endpoint's address, a GGUF file, or a name of the manifest."""

from __future__ import annotations

import os
from pathlib import Path

from models.errors import ModelError
from models.language import LanguageModel
from models.language_process import LanguageProcess
from models.manifest import Manifest
from offline_tools.endpoint import Endpoint
from offline_tools.errors import OfflineToolError
from runtime.compose import Parts
from runtime.config import Settings
from runtime.errors import HearsightError

CHOICES = (
    "URL#MODEL (OpenAI-compatible), FILE.gguf[,MMPROJ.gguf], a name of models/manifest.yaml, or installed"
)
KEY_VARIABLE = "OPENAI_API_KEY"


def open_model(
    choice: str,
    *,
    key_variable: str = KEY_VARIABLE,
    context_tokens: int = 4096,
    threads: int = 2,
    settings: Settings | None = None,
) -> LanguageModel:
    """The model behind a choice such as http://127.0.0.1:8000/v1#qwen, not yet asked nor started.

    key_variable: the environment variable that holds an endpoint's key: a command line is seen by everybody.
    Raises OfflineToolError where the choice means nothing, or an endpoint names no model and serves several.
    """
    if choice.startswith(("http://", "https://")):
        return _endpoint(choice, os.environ.get(key_variable) or None, context_tokens)
    try:
        if choice.partition(",")[0].endswith(".gguf"):
            return _file(choice, context_tokens, threads)
        return _of_manifest(choice, context_tokens, threads, settings or Settings())
    except (ModelError, HearsightError) as error:
        raise OfflineToolError(f"{choice!r} is no usable model ({error}); give {CHOICES}") from error


def has_senses(choice: str) -> bool:
    """Whether a choice takes pictures and sound, as far as its name tells: an endpoint is taken at its word."""
    if choice.startswith(("http://", "https://")) or "," in choice:
        return True
    if choice.endswith(".gguf"):
        return False
    return _parts(choice, Settings()).language_has_senses


def _endpoint(choice: str, key: str | None, context_tokens: int) -> Endpoint:
    url, _, model = choice.partition("#")
    if model:
        return Endpoint(url, model, key=key, context_tokens=max(context_tokens, 32768))
    try:
        served = Endpoint(url, "", key=key).served_models()
    except ModelError as error:
        raise OfflineToolError(f"{error}; name the model as {url}#MODEL") from error
    if len(served) != 1:
        raise OfflineToolError(
            f"{url} serves {len(served)} models ({', '.join(served[:5])}): name one as {url}#MODEL"
        )
    return Endpoint(url, served[0], key=key, context_tokens=max(context_tokens, 32768))


def _file(choice: str, context_tokens: int, threads: int) -> LanguageProcess:
    model, _, mmproj = choice.partition(",")
    for name in filter(None, (model, mmproj)):
        if not Path(name).is_file():
            raise OfflineToolError(f"there is no file {name}: give {CHOICES}")
    projector = Path(mmproj) if mmproj else None
    return LanguageProcess(
        Path(model),
        mmproj_path=projector,
        context_tokens=context_tokens,
        threads=threads,
        name=Path(model).stem,
    )


def _of_manifest(choice: str, context_tokens: int, threads: int, settings: Settings) -> LanguageProcess:
    files = _parts(choice, settings).language_files
    if files is None:
        raise OfflineToolError(f"{choice!r} means no model at all: give {CHOICES}")
    return LanguageProcess(
        files.directory / files.entry.main_file,
        mmproj_path=files.directory / files.entry.mmproj_file if files.entry.mmproj_file else None,
        context_tokens=context_tokens,
        threads=threads,
        name=files.name or files.entry.id,
    )


def _parts(choice: str, settings: Settings) -> Parts:
    """The robot's own parts with this model, so that `installed` is the bundle that was installed."""
    models = settings.models.model_copy(update={"language": choice})
    return Parts(settings.model_copy(update={"models": models}), Manifest.load())
