"""What FAVOR-Bench's released code asks of NLTK: tokens, parts of speech, lemmas, senses of verbs.

:class:`NltkWords` is NLTK itself, where it and its data are installed: scores are then the released code's.
:class:`PlainWords` stands in for it without any of that, by rules and a list of verbs, :class:`WordNetWords` with
WordNet's files alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, Protocol

from vmmetrics.errors import SetupError
from vmmetrics.understanding.favor.lexicon import FUNCTION_WORDS, VERBS, verb_lemma
from vmmetrics.understanding.favor.wordnet import WordNetVerbs, installed_wordnet

_TOKEN: Final = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")


class Words(Protocol):
    """English, as far as the released second step needs it."""

    name: str
    """For records."""
    stop_words: Collection[str]
    """Words that do not count in token overlap."""

    def tokens(self, text: str) -> list[str]:
        """Words and marks of a text."""
        ...

    def tags(self, tokens: Sequence[str]) -> list[str]:
        """Penn Treebank part of speech of each token."""
        ...

    def lemma(self, verb: str) -> str:
        """Base form of a verb."""
        ...

    def share_sense(self, verb: str, other: str) -> bool:
        """Whether two verbs have a synonym set of WordNet in common."""
        ...


class PlainWords:
    """Without NLTK: a token is a verb if the lexicon has it, and no two verbs are known to share a sense."""

    name = "our lexicon; neither NLTK nor WordNet (apt install wordnet-base) is installed"
    stop_words: Collection[str] = FUNCTION_WORDS

    def tokens(self, text: str) -> list[str]:
        """Words and marks; see :class:`Words`."""
        return _TOKEN.findall(text)

    def tags(self, tokens: Sequence[str]) -> list[str]:
        """``VB`` for forms of known verbs, ``NN`` for other words; see :class:`Words`."""
        return ["VB" if verb_lemma(token) in VERBS else "NN" if token[:1].isalpha() else "." for token in tokens]

    def lemma(self, verb: str) -> str:
        """Base form by the lexicon; see :class:`Words`."""
        return verb_lemma(verb) or verb

    def share_sense(self, verb: str, other: str) -> bool:
        """Whether they are one verb; see :class:`Words`."""
        return verb == other


class WordNetWords(PlainWords):
    """Our lexicon for what is a verb; base forms and senses of WordNet, as NLTK has them.

    Args:
        verbs: Of WordNet.
    """

    def __init__(self, verbs: WordNetVerbs) -> None:
        self._wordnet = verbs
        self.name = f"our lexicon (no NLTK) with the verbs of WordNet in {verbs.folder}"

    def lemma(self, verb: str) -> str:
        """See :class:`Words`."""
        return self._wordnet.lemma(verb)

    def share_sense(self, verb: str, other: str) -> bool:
        """See :class:`Words`."""
        return not self._wordnet.senses(verb).isdisjoint(self._wordnet.senses(other))


class NltkWords:
    """NLTK with its data (``punkt_tab``, ``averaged_perceptron_tagger_eng``, ``stopwords``, ``wordnet``).

    Raises:
        SetupError: NLTK or any of its data is not installed.
    """

    def __init__(self) -> None:
        try:
            self._nltk: Any = import_module("nltk")
            corpus: Any = import_module("nltk.corpus")
            self._wordnet, self._lemmatizer = corpus.wordnet, self._nltk.stem.WordNetLemmatizer()
            self.stop_words: Collection[str] = frozenset(corpus.stopwords.words("english"))
            self.tags(self.tokens("it moves"))
            self.lemma("moves")
        except (ImportError, LookupError) as error:
            raise SetupError(
                "NLTK or its data is missing: pip install nltk, then python -m nltk.downloader punkt_tab "
                "averaged_perceptron_tagger_eng stopwords wordnet"
            ) from error
        self.name = f"NLTK {self._nltk.__version__}"

    def tokens(self, text: str) -> list[str]:
        """See :class:`Words`."""
        tokens: list[str] = self._nltk.word_tokenize(text)
        return tokens

    def tags(self, tokens: Sequence[str]) -> list[str]:
        """See :class:`Words`."""
        return [tag for _, tag in self._nltk.pos_tag(list(tokens))]

    def lemma(self, verb: str) -> str:
        """See :class:`Words`."""
        return str(self._lemmatizer.lemmatize(verb, "v"))

    def share_sense(self, verb: str, other: str) -> bool:
        """See :class:`Words`."""
        return not set(self._senses(verb)).isdisjoint(self._senses(other))

    @lru_cache(maxsize=100_000)  # noqa: B019 - one instance lives as long as the process
    def _senses(self, verb: str) -> tuple[str, ...]:
        return tuple(sense.name() for sense in self._wordnet.synsets(verb, pos=self._wordnet.VERB))


def installed_words() -> Words:
    """NLTK where it is installed with its data, else our stand-in, with WordNet where that is installed."""
    try:
        return NltkWords()
    except SetupError:
        wordnet = installed_wordnet()
        return PlainWords() if wordnet is None else WordNetWords(wordnet)
