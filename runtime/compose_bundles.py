"""Builds what installs bundles: the keys that are trusted, and the trial of a new model before it serves."""

from __future__ import annotations

from models.bundle_manifest import BundleManifest
from models.errors import ModelError
from models.golden import ask_golden, mean_agreement
from models.language import Message
from models.signing import PublicKey, trusted_keys
from models.slots import TRUSTED_KEYS, InstalledModel, Trial
from runtime.compose import LanguageFiles, Parts, language_process


def keys_of(parts: Parts) -> list[PublicKey]:
    """The keys of robot.yaml and of the models directory."""
    models = parts.settings.models
    return trusted_keys(models.trusted_keys, models.dir / TRUSTED_KEYS)


def trial(parts: Parts) -> Trial:
    """Loads a new model as the robot would and has it answer its golden cases; raises ModelError where it fails."""

    def try_model(installed: InstalledModel) -> None:
        directory = installed.require()
        files = LanguageFiles(installed.entry, directory)
        process = language_process(parts.settings, files, keeps_heads=False)
        try:
            process.complete(
                [Message("user", "Hello")], max_tokens=1
            )  # that it loads, where there are no cases
            results = ask_golden(process, installed.manifest.golden, directory)
        finally:
            process.close()
        _judge(installed.manifest, mean_agreement(results))

    return try_model


def _judge(manifest: BundleManifest, found: float) -> None:
    if found < manifest.least_golden:
        raise ModelError(
            f"{manifest.name} {manifest.version} does not answer its golden cases as it did when it was made "
            f"(agreement {found:.2f}, at least {manifest.least_golden:.2f} is needed): it was not installed"
        )
