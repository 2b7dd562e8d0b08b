"""Similarity of texts and actions in FAVOR-Bench's released second step, and what it asks of NLTK.

:class:`NltkWords` is NLTK itself: scores are then the released code's. :class:`PlainWords` stands in for it by rules.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.benchmarks.favor.lexicon import FUNCTION_WORDS, VERBS, verb_lemma, word_set

DATA: Final = data_file("favor")["upstream"]
"""Word lists and constants of the released code."""
_CAMERA_ROWS: Final = tuple(map(word_set, DATA["camera_rows"]))
_VERB_PAIRS: Final = frozenset(map(word_set, DATA["verb_pairs"]))
_SYNONYMS: Final = {verb: word_set(words) for verb, words in DATA["synonyms"].items()}
_TERMS: Final = [(term, near) for term, nears in DATA["terms"].items() for near in nears]
_TERM_PAIRS: Final = [pair.split() for pair in DATA["term_pairs"]]
_TOKEN: Final = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")


class PlainWords:
    """Tokeniser and tagger for the released second step without NLTK: a token is a verb if the lexicon lists it.

    Attributes:
        name: For records.
        stop_words: Words that do not count in token overlap.
    """

    name = "our lexicon; NLTK is not installed (pip install nltk)"
    stop_words: Collection[str] = FUNCTION_WORDS

    def tokens(self, text: str) -> list[str]:
        """Split a text into words and punctuation marks."""
        return _TOKEN.findall(text)

    def tags(self, tokens: Sequence[str]) -> list[str]:
        """Return the Penn Treebank tag of each token: ``VB`` for listed verb forms, ``NN`` for other words."""
        return ["VB" if verb_lemma(token) in VERBS else "NN" if token[:1].isalpha() else "." for token in tokens]

    def lemma(self, verb: str) -> str:
        """Return the base form of a verb."""
        return verb_lemma(verb) or verb

    def share_sense(self, verb: str, other: str) -> bool:
        """Return True if two verbs share a WordNet synset; without WordNet, if they are equal."""
        return verb == other


class NltkWords(PlainWords):
    """NLTK with its data, where it is installed: scores are then the released code's.

    Raises:
        SetupError: NLTK or any of its data is not installed.
    """

    def __init__(self) -> None:
        try:
            self._nltk: Any = import_module("nltk")
            corpus: Any = import_module("nltk.corpus")
            self._wordnet, self._lemmatizer = corpus.wordnet, self._nltk.stem.WordNetLemmatizer()
            self.stop_words = frozenset(corpus.stopwords.words("english"))
            self.tags(self.tokens("it moves"))
            self.lemma("moves")
        except (ImportError, LookupError) as error:
            raise SetupError(
                "NLTK or its data is missing: pip install nltk, then python -m nltk.downloader punkt_tab "
                "averaged_perceptron_tagger_eng stopwords wordnet"
            ) from error
        self.name = f"NLTK {self._nltk.__version__}"

    def tokens(self, text: str) -> list[str]:
        """See :class:`PlainWords`."""
        return list(self._nltk.word_tokenize(text))

    def tags(self, tokens: Sequence[str]) -> list[str]:
        """See :class:`PlainWords`."""
        return [tag for _, tag in self._nltk.pos_tag(list(tokens))]

    def lemma(self, verb: str) -> str:
        """See :class:`PlainWords`."""
        return str(self._lemmatizer.lemmatize(verb, "v"))

    def share_sense(self, verb: str, other: str) -> bool:
        """See :class:`PlainWords`."""
        return not set(self._senses(verb)).isdisjoint(self._senses(other))

    @lru_cache(maxsize=100_000)  # noqa: B019 - one instance lives as long as the process
    def _senses(self, verb: str) -> tuple[str, ...]:
        return tuple(sense.name() for sense in self._wordnet.synsets(verb, pos=self._wordnet.VERB))


Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to (N, D) embeddings."""
_MARKS: Final = str.maketrans("", "", string.punctuation)


class ReleasedSimilarity:
    """Similarity of texts and of actions, 0 to 1 (with embeddings it may be negative).

    As in the released code, one cache serves both under one key: a pair first compared as texts keeps that value when
    compared as actions, and vice versa, for the lifetime of the instance.

    Args:
        words: English.
        verbs: Base forms that the released code counts as actions: ``COMMON_VERBS`` and ``PHRASAL_VERBS``.
        embed: Sentence embedding; None compares sets of tokens instead, as the released code does without one.

    Attributes:
        words: Name of the English.
    """

    def __init__(self, words: PlainWords, verbs: Collection[str], embed: Embed | None) -> None:
        self.words = words.name
        self._words = words
        self._verbs = frozenset(verbs)
        self._embed = embed
        self._cached: dict[tuple[str, ...], float] = {}
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def prepare(self, texts: Sequence[str]) -> None:
        """Embed texts in one batch before they are compared; others are embedded on demand."""
        by_key = {text.strip().lower(): text for text in reversed(texts) if text}
        missing = {key: text for key, text in by_key.items() if key not in self._vectors}
        if self._embed is not None and missing:
            self._vectors.update(zip(missing, self._embed(list(missing.values())), strict=True))

    def texts(self, text: str, other: str) -> float:
        """Return the similarity of two texts, 0 to 1."""
        if not text or not other:
            return 0.0
        key = _key(text, other)
        if key not in self._cached:
            self._cached[key] = 1.0 if key[0] == key[1] else self._compared(text, other)
        return self._cached[key]

    def actions(self, action: str, other: str) -> float:
        """Return the similarity of two actions, 0 to 1: of their texts, with boosts for their verbs."""
        if not action or not other:
            return 0.0
        key = _key(action, other)
        if key[0] == key[1]:
            return 1.0
        if key not in self._cached:
            value = self.texts(action, other)
            verb, other_verb = self._core_verb(action), self._core_verb(other)
            if verb and other_verb:
                value = min(1.0, value + 0.3 * self._verbs_agree(verb, other_verb))
            if _linked(action.lower(), other.lower(), DATA["laptop_pairs"]):
                value = min(1.0, value + 0.15)
            self._cached[key] = value
        return self._cached[key]

    def matrix(self, actions: Sequence[str], others: Sequence[str]) -> FloatArray:
        """Return (N, M) similarities of all pairs; for two or more on each side mixed with relative position."""
        self.prepare([*actions, *others])
        values = np.array([[self.actions(action, other) for other in others] for action in actions], np.float64)
        n, m = len(actions), len(others)
        if n < 2 or m < 2:
            return values.reshape(n, m)
        offsets = (np.arange(n) / (n - 1))[:, None] - (np.arange(m) / (m - 1))[None, :]
        weight = float(DATA["position_weight"])
        return (1 - weight) * values + weight * np.exp(-4 * offsets**2)

    def _compared(self, text: str, other: str) -> float:
        if self._embed is None:
            first, second = self._bag(text), self._bag(other)
            value = len(first & second) / len(first | second) if first and second else 0.0
        else:
            self.prepare([text, other])
            one, two = self._vectors[text.strip().lower()], self._vectors[other.strip().lower()]
            size = np.linalg.norm(one) * np.linalg.norm(two)
            value = float(np.dot(one, two) / size) if size else 0.0
        words, others = text.lower().strip(), other.lower().strip()
        if _linked(words, others, _TERMS) or _linked(set(words.split()), set(others.split()), _TERM_PAIRS):
            value = min(1.0, value + 0.3)
        return value

    @lru_cache(maxsize=100_000)  # noqa: B019 - of an instance that lives as long as a scoring
    def _bag(self, text: str) -> frozenset[str]:
        plain = re.sub(r"\s+", " ", text.lower().translate(_MARKS)).strip()
        return frozenset(self._words.tokens(plain)) - frozenset(self._words.stop_words)

    @lru_cache(maxsize=100_000)  # noqa: B019
    def _core_verb(self, action: str) -> str:
        """Return the first listed verb, else the first verb, else a listed noun, else the first token."""
        tokens = self._words.tokens(action.lower())
        tags = self._words.tags(tokens)
        verbs, nouns = (
            [self._words.lemma(token) for token, tag in zip(tokens, tags, strict=True) if tag.startswith(kind)]
            for kind in ("VB", "NN")
        )
        listed, as_nouns = ([word for word in found if word in self._verbs] for found in (verbs, nouns))
        return next(iter([*listed, *verbs, *as_nouns, *tokens]), "")

    def _verbs_agree(self, verb: str, other: str) -> float:
        """Return 1 for the same verb, 0.8 for synonyms, else 0."""
        if verb == other:
            return 1.0
        first, second = self._words.lemma(verb.lower()), self._words.lemma(other.lower())
        alike = (
            first == second
            or any(first in row and second in row for row in _CAMERA_ROWS)
            or frozenset((first, second)) in _VERB_PAIRS
            or first in _SYNONYMS.get(second, ())
            or second in _SYNONYMS.get(first, ())
            or self._words.share_sense(first, second)
        )
        return 0.8 if alike else 0.0


def _key(text: str, other: str) -> tuple[str, ...]:
    return tuple(sorted((text.lower().strip(), other.lower().strip())))


def _linked(text: Collection[str], other: Collection[str], pairs: Sequence[Sequence[str]]) -> bool:
    """Return True if one side has the first and the other the second of a pair."""
    return any((a in text and b in other) or (a in other and b in text) for a, b in pairs)
