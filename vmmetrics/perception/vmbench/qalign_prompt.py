"""What Q-Align is asked, as token numbers: LLaMA's vocabulary through SentencePiece itself.

The prompt is cut where the images go and each piece is tokenised by itself, so that the second piece starts with a
blank of its own, before its line break; the model was trained like that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vmmetrics.errors import SetupError

PROMPT = (
    "USER: How would you rate the quality of this video?\n",
    "\nASSISTANT: The quality of the video is",
)
"""VMBench's prompt, before and after the images."""

LEVELS = {"excellent": 1.0, "good": 0.75, "fair": 0.5, "poor": 0.25, "bad": 0.0}
"""Words that the answer may start with, and what each is worth."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Token numbers.

    Attributes:
        before: The text before the images, the beginning-of-text token first.
        after: The text after the images.
        levels: Of each of :data:`LEVELS`.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    levels: tuple[int, ...]


def read_prompt(vocabulary: Path) -> Prompt:
    """Tokenise the prompt.

    Args:
        vocabulary: ``tokenizer.model``.

    Raises:
        SetupError: SentencePiece is not installed, the file is missing or no vocabulary, or a level is not one token
            of it.
    """
    try:
        from sentencepiece import SentencePieceProcessor
    except ModuleNotFoundError as error:
        raise SetupError(f"{error.name} is missing; install it with: pip install 'vmmetrics[vmbench]'") from error
    if not vocabulary.is_file():
        raise SetupError(f"{vocabulary} is missing; fetch it with: vmmetrics weights fetch vmbench")
    try:
        words = SentencePieceProcessor(model_proto=vocabulary.read_bytes())
    except (RuntimeError, ValueError) as error:
        raise SetupError(f"{vocabulary}: not readable as a SentencePiece vocabulary: {error}") from error
    levels = {level: words.encode(level) for level in LEVELS}
    split = [level for level, numbers in levels.items() if len(numbers) != 1 or numbers[0] == words.unk_id()]
    if split:
        raise SetupError(f"{vocabulary}: {', '.join(split)} should be one token each: it is another vocabulary")
    before, after = (tuple(words.encode(piece)) for piece in PROMPT)
    return Prompt((words.bos_id(), *before), after, tuple(numbers[0] for numbers in levels.values()))
