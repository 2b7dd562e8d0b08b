"""BERT's uncased WordPiece tokenizer: text to the numbers its model was trained on.

Devlin et al., "BERT" (2019), and Wu et al., "Google's Neural Machine Translation System" (2016, section 4.1). Texts
come out as Hugging Face's tokenizers cuts them, but for two things: names of special tokens (``[SEP]``) in a text are
words like any other, and Unicode's tables are Python's, which know newer characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vmmetrics.errors import SetupError, cannot

LONGEST_WORD: Final = 100
"""Characters; longer words are unknown as they stand, as BERT has it."""
_CONTINUES: Final = "##"
_SPECIAL: Final = ("[UNK]", "[CLS]", "[SEP]")
_LARGEST_VOCABULARY: Final = 16 * 2**20
"""Bytes; BERT's uncased vocabulary takes 0.2 MiB."""

_DROPPED: Final = frozenset(("Cc", "Cf", "Co", "Cs"))
_SPACES: Final = frozenset(("Zs", "Zl", "Zp"))
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
        """Numbers of a text's pieces, between those of ``[CLS]`` and ``[SEP]``."""
        unknown, start, end = (self.vocabulary[name] for name in _SPECIAL)
        numbers: list[int] = []
        for word in split_words(text):
            numbers += self._cut(word) or [unknown]
            if len(numbers) >= self.longest - 2:
                break
        return [start, *numbers[: self.longest - 2], end]

    def _cut(self, word: str) -> list[int] | None:
        """Numbers of the longest pieces that fit, from the left; None where none fits or the word is too long."""
        if len(word) > LONGEST_WORD:
            return None
        numbers: list[int] = []
        begin = 0
        while begin < len(word):
            mark = _CONTINUES if begin else ""
            for end in range(len(word), begin, -1):
                number = self.vocabulary.get(mark + word[begin:end])
                if number is not None:
                    break
            else:
                return None
            numbers.append(number)
            begin = end
        return numbers


def read_vocabulary(path: Path) -> dict[str, int]:
    """Read ``vocab.txt``: one piece a line, numbered from 0.

    Raises:
        SetupError: It cannot be read or is too large.
    """
    try:
        if path.stat().st_size > _LARGEST_VOCABULARY:
            raise SetupError(f"{path}: larger than {_LARGEST_VOCABULARY // 2**20} MiB; that is no vocabulary")
        lines = path.read_text("utf-8").split("\n")
    except OSError as error:
        raise cannot("read", path, error) from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path}: expected UTF-8 text but byte {error.start} is not") from error
    if lines and not lines[-1]:
        lines.pop()
    return {line.rstrip("\r"): number for number, line in enumerate(lines)}


def split_words(text: str) -> list[str]:
    """Words of a text in small letters without accents; punctuation marks and ideographs stand alone.

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
    if category in _DROPPED or character == "\N{REPLACEMENT CHARACTER}":
        return ""
    if category in _SPACES:
        return " "
    code = ord(character)
    return f" {character} " if any(first <= code <= last for first, last in _IDEOGRAPHS) else character


def _stands_alone(character: str) -> bool:
    """Whether it is punctuation: Unicode's, and every printable ASCII character that is neither letter nor digit."""
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")
