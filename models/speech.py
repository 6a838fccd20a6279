"""What was said: Whisper (CTranslate2) on short windows, one transcript for each span that is handed in.

When somebody speaks, and who, is left to models/voices.py. Whisper is made for windows of 30 s; its encoder
takes shorter ones at a cost proportional to their length, but without the silence that it was trained to
expect it repeats its last sentence. Decoding with timestamps cures that: what follows the end of the audio is cut.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import ctranslate2
import numpy as np
import tokenizers
from faster_whisper.feature_extractor import FeatureExtractor
from faster_whisper.tokenizer import Tokenizer
from numpy.typing import NDArray

from models.errors import ModelError
from models.speech_windows import batches, pieces
from models.transcript_text import TextLimits, plausible, without_repeats
from models.waveform import SAMPLE_RATE_HZ, Samples, check_samples, cut

_LONGEST_PIECE_S = 27.0
_SHORTEST_S = 0.1
_TAIL_S = 2.0  # silence after each piece; piece and tail stay under Whisper's 30 s
_GROUP_S = 60.0  # speech encoded before it is decoded, which bounds memory
_BATCH_S = 30.0
# Of full scale: where nothing is louder nobody speaks, and on some processors Whisper hears "you".
_SILENT = 1e-4
_TOKENS_PER_S = 10.0
_TOKENS_AT_LEAST = 12
_TIMESTAMP_STEP_S = 0.02
_END_SLACK_S = 0.5
_SURE_OF_LANGUAGE = 0.8
_PROMPTS = {"zh": "以下是普通话的句子。"}  # simplified characters, with punctuation
_NO_SPACES = frozenset({"zh", "ja", "th"})


class Timed(Protocol):
    """Anything with a start and an end, in seconds from the first sample."""

    @property
    def start_s(self) -> float: ...

    @property
    def end_s(self) -> float: ...


@dataclass(frozen=True)
class Transcript:
    """What was said in a span; text is empty where nothing intelligible was said.

    language: ISO 639-1. confidence: exp of the mean log probability of the tokens, 0 where text is empty.
    """

    start_s: float
    end_s: float
    text: str
    language: str
    confidence: float


@dataclass(frozen=True, eq=False)
class _Piece:
    number: int
    span: int
    samples: Samples

    @property
    def duration_s(self) -> float:
        return self.samples.size / SAMPLE_RATE_HZ


@dataclass(frozen=True, eq=False)
class _Heard:
    piece: _Piece
    text: str
    language: str
    confidence: float


@dataclass(frozen=True, eq=False)
class _Encoded:
    pieces: list[_Piece]
    states: NDArray[np.float32]  # (pieces, frames, width)
    shares: list[dict[str, float]]  # probability of each permitted language


class SpeechRecognizer:
    """A multilingual or English-only Whisper in CTranslate2's format.

    languages: those that may be heard, ISO 639-1; each span gets the likeliest of them. at_once: how many threads may
    recognise at the same time, with `threads` each, without waiting for one another. Raises ModelError when a
    file is missing or damaged.
    """

    def __init__(
        self,
        directory: Path,
        *,
        languages: Sequence[str] = ("en", "zh"),
        compute_type: str = "int8",
        limits: TextLimits | None = None,
        threads: int = 1,
        at_once: int = 1,
    ) -> None:
        self._model, words = _load(directory, compute_type, threads, at_once)
        self.provider = f"ctranslate2 {self._model.device} {self._model.compute_type}"
        self._limits = limits or TextLimits()
        multilingual: bool = self._model.is_multilingual
        self._languages = tuple(languages) if multilingual else ("en",)
        if not self._languages:
            raise ModelError(
                f"speech model {directory.name} was given no language; give at least one, like 'en'"
            )
        try:
            self._tokenizers = {
                language: Tokenizer(words, multilingual, task="transcribe", language=language)
                for language in self._languages
            }
        except ValueError as error:
            raise ModelError(
                f"speech model {directory.name} does not know one of {self._languages}: {error}"
            ) from error
        self._features = FeatureExtractor(feature_size=self._model.n_mels)

    def transcribe(self, samples: NDArray[Any], spans: Sequence[Timed]) -> list[Transcript]:
        """One transcript for each span, in order. samples: float32 (n,), 16 kHz, [-1, 1].

        Raises ModelError for audio that is not finite or not of that kind, and where the model fails.
        """
        checked = check_samples(samples)
        heard: dict[int, list[_Heard]] = {}
        for group in _groups(checked, spans):
            for found in sorted(self._recognise(group), key=lambda found: found.piece.number):
                heard.setdefault(found.piece.span, []).append(found)
        return [_joined(span, heard.get(number, []), self._languages[0]) for number, span in enumerate(spans)]

    def _recognise(self, group: list[_Piece]) -> list[_Heard]:
        try:
            encoded = [
                self._encode([group[index] for index in batch])
                for batch in batches([piece.duration_s + _TAIL_S for piece in group], _BATCH_S)
            ]
            usual = _usual_language(encoded, self._languages)
            return [
                found
                for batch in encoded
                for language in self._languages
                for found in self._decode(batch, language, usual)
            ]
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"the speech model failed on {len(group)} pieces of speech: {error}") from error

    def _encode(self, batch: list[_Piece]) -> _Encoded:
        spectra = [self._features(piece.samples, padding=round(_TAIL_S * SAMPLE_RATE_HZ)) for piece in batch]
        frames = max(spectrum.shape[1] for spectrum in spectra)
        frames += frames % 2
        stacked = np.stack(
            [
                np.pad(spectrum, ((0, 0), (0, frames - spectrum.shape[1])), constant_values=spectrum.min())
                for spectrum in spectra
            ]
        )
        view = self._model.encode(
            ctranslate2.StorageView.from_array(np.ascontiguousarray(stacked, dtype=np.float32)), to_cpu=True
        )
        shares = [{self._languages[0]: 1.0} for _ in batch]
        if len(self._languages) > 1:
            shares = [_shares(dict(found), self._languages) for found in self._model.detect_language(view)]
        return _Encoded(batch, np.array(view, dtype=np.float32), shares)

    def _decode(self, encoded: _Encoded, language: str, usual: str) -> Iterator[_Heard]:
        """The pieces of a batch that are in `language`."""
        rows = [row for row, share in enumerate(encoded.shares) if _language(share, usual) == language]
        if not rows:
            return
        tokenizer = self._tokenizers[language]
        before = _PROMPTS.get(language)
        prompt = [
            *([tokenizer.sot_prev, *tokenizer.encode(before)] if before else []),
            *tokenizer.sot_sequence,
        ]
        longest_s = max(encoded.pieces[row].duration_s for row in rows)
        results = self._model.generate(
            ctranslate2.StorageView.from_array(np.ascontiguousarray(encoded.states[rows])),
            [prompt] * len(rows),
            beam_size=1,
            max_length=len(prompt) + _TOKENS_AT_LEAST + math.ceil(_TOKENS_PER_S * longest_s),
            return_scores=True,
            return_no_speech_prob=True,
        )
        for row, result in zip(rows, results, strict=True):
            piece = encoded.pieces[row]
            written = _text(result.sequences_ids[0], tokenizer, piece.duration_s)
            text = without_repeats(written)
            said = plausible(
                text, self._limits, log_probability=result.scores[0], no_speech=result.no_speech_prob
            )
            confidence = math.exp(min(0.0, result.scores[0])) * len(text) / max(1, len(written))
            yield _Heard(piece, text if said else "", language, confidence if said else 0.0)


def _load(directory: Path, compute_type: str, threads: int, at_once: int) -> tuple[Any, tokenizers.Tokenizer]:
    for name in ("model.bin", "config.json", "tokenizer.json"):
        if not (directory / name).is_file():
            raise ModelError(f"model file {directory / name} is missing; run `hearsight models fetch`")
    words_file = directory / "tokenizer.json"
    try:
        model = ctranslate2.models.Whisper(
            str(directory),
            device="cpu",
            compute_type=compute_type,
            intra_threads=threads,
            inter_threads=at_once,
        )
        return model, tokenizers.Tokenizer.from_buffer(words_file.read_bytes())
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"speech model {directory} cannot be opened ({error}); run `hearsight models verify` and fetch it again"
        ) from error


def _groups(samples: Samples, spans: Sequence[Timed]) -> Iterator[list[_Piece]]:
    group: list[_Piece] = []
    for number, span in enumerate(spans):
        for piece in pieces(cut(samples, span.start_s, span.end_s), _LONGEST_PIECE_S):
            if piece.size < _SHORTEST_S * SAMPLE_RATE_HZ or np.abs(piece).max() < _SILENT:
                continue
            if group and sum(item.duration_s for item in group) + piece.size / SAMPLE_RATE_HZ > _GROUP_S:
                yield group
                group = []
            group.append(_Piece(len(group), number, piece))
    if group:
        yield group


def _shares(probabilities: dict[str, float], languages: Sequence[str]) -> dict[str, float]:
    found = {language: probabilities.get(f"<|{language}|>", 0.0) + 1e-9 for language in languages}
    total = sum(found.values())
    return {language: share / total for language, share in found.items()}


def _usual_language(encoded: list[_Encoded], languages: Sequence[str]) -> str:
    """The language of most of the speech, which decides for the spans whose own language is unsure."""
    weights = dict.fromkeys(languages, 0.0)
    for batch in encoded:
        for piece, shares in zip(batch.pieces, batch.shares, strict=True):
            for language, share in shares.items():
                weights[language] += share * piece.duration_s
    return max(languages, key=lambda language: weights[language])


def _language(shares: dict[str, float], usual: str) -> str:
    likeliest = max(shares, key=lambda language: shares[language])
    return likeliest if shares[likeliest] >= _SURE_OF_LANGUAGE else usual


def _text(tokens: list[int], tokenizer: Tokenizer, duration_s: float) -> str:
    """The words up to the first timestamp at the end of the audio."""
    words: list[int] = []
    for token in tokens:
        if token < tokenizer.eot:
            words.append(token)
        elif token >= tokenizer.timestamp_begin and words:
            time_s = (token - tokenizer.timestamp_begin) * _TIMESTAMP_STEP_S
            if time_s >= duration_s - _END_SLACK_S:
                break
    return str(tokenizer.decode(words)).strip()


def _joined(span: Timed, heard: list[_Heard], language: str) -> Transcript:
    said = [found for found in heard if found.text]
    if not said:
        return Transcript(span.start_s, span.end_s, "", heard[0].language if heard else language, 0.0)
    total_s = sum(found.piece.duration_s for found in said)
    confidence = sum(found.confidence * found.piece.duration_s for found in said) / total_s
    language = max(said, key=lambda found: found.piece.duration_s).language
    text = ("" if language in _NO_SPACES else " ").join(found.text for found in said)
    return Transcript(span.start_s, span.end_s, text, language, confidence)
