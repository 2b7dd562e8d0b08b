"""Parts of speech and base forms, by spaCy's small English model."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.extract.parsing import INSTALL, MODELS

_NOT_WORDS: Final = frozenset({"PUNCT", "SPACE", "SYM"})


class Parsed(NamedTuple):
    """What the parser says of an entry.

    Attributes:
        skeleton: Universal part of speech of each word of the prompt, without punctuation.
        lemma: Base form of the action's verb.
    """

    skeleton: tuple[str, ...]
    lemma: str


def parser_name() -> str | None:
    """The model that is installed with spaCy, or None."""
    if importlib.util.find_spec("spacy") is None:
        return None
    return next((name for name in MODELS if importlib.util.find_spec(name) is not None), None)


def parse(entries: Sequence[PromptEntry]) -> list[Parsed]:
    """Parse prompts; and actions, where an entry has no base form of its own.

    Raises:
        SetupError: spaCy or its model is missing.
    """
    parser = _parser()
    asked = list(dict.fromkeys(_sentence(entry.action) for entry in entries if not entry.action_lemma and entry.action))
    lemmas = dict(zip(asked, map(_verb, parser.pipe(asked)), strict=True))
    found: list[Parsed] = []
    for entry, doc in zip(entries, parser.pipe(entry.prompt for entry in entries), strict=True):
        skeleton = tuple(token.pos_ for token in doc if token.pos_ not in _NOT_WORDS)
        found.append(Parsed(skeleton, entry.action_lemma or lemmas.get(_sentence(entry.action), "")))
    return found


@cache
def _parser() -> Any:
    name = parser_name()
    if name is None:
        raise SetupError(f"Parts of speech need spaCy and its small English model: {INSTALL}")
    return importlib.import_module(name).load(exclude=["ner", "parser"])


def _sentence(action: str) -> str:
    """An action with a subject before it, without which a tagger takes a bare verb for a noun."""
    first = action.split(maxsplit=1)[0] if action.strip() else ""
    if first.endswith("ing"):
        return f"They are {action}."
    return f"It {action}." if first.endswith("s") and not first.endswith("ss") else f"They {action}."


def _verb(doc: Any) -> str:
    """Base form of the first verb, or else of the first word, after the subject that was put before."""
    words = [token for token in doc[1:] if token.pos_ not in _NOT_WORDS and token.pos_ != "AUX"]
    verbs = [token for token in words if token.pos_ == "VERB"]
    chosen = (verbs or words or list(doc[:1]))[0]
    return str(chosen.lemma_.lower())
