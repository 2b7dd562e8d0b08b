"""Figures of a prompt list: counts, lengths and diversity."""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.prompts.checks import LONGEST, SHORTEST
from vmmetrics.prompts.entry import CHOICES, PATTERNS, PromptEntry
from vmmetrics.prompts.extract.parsing import INSTALL, MODELS
from vmmetrics.prompts.statistics import diversity
from vmmetrics.prompts.statistics.diversity import Grams, NumberedWords, Subset, share_alone
from vmmetrics.utils.text.similarity import number_labels

# Parts of speech and base forms, by spaCy's small English model.

_NOT_WORDS: Final = frozenset({"PUNCT", "SPACE", "SYM"})


def parser_name() -> str | None:
    """Return the installed spaCy model, or None."""
    if importlib.util.find_spec("spacy") is None:
        return None
    return next((name for name in MODELS if importlib.util.find_spec(name) is not None), None)


def parse_entries(entries: Sequence[PromptEntry]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Parse prompts, and actions of entries without a base form.

    Returns:
        Universal parts of speech of the words of each prompt, without punctuation, and base form of each action's verb.

    Raises:
        SetupError: spaCy or its model is missing.
    """
    parser = _parser()
    asked = list(dict.fromkeys(_sentence(entry.action) for entry in entries if not entry.action_lemma and entry.action))
    lemmas = dict(zip(asked, map(_verb, parser.pipe(asked)), strict=True))
    documents = parser.pipe(entry.prompt for entry in entries)
    skeletons = [tuple(token.pos_ for token in document if token.pos_ not in _NOT_WORDS) for document in documents]
    return skeletons, [entry.action_lemma or lemmas.get(_sentence(entry.action), "") for entry in entries]


@cache
def _parser() -> Any:
    name = parser_name()
    if name is None:
        raise SetupError(f"Parts of speech need spaCy and its small English model: {INSTALL}")
    return importlib.import_module(name).load(exclude=["ner", "parser"])


def _sentence(action: str) -> str:
    """Return an action as a sentence with a subject; a tagger reads a bare verb as a noun."""
    first = action.split(maxsplit=1)[0] if action.strip() else ""
    if first.endswith("ing"):
        return f"They are {action}."
    return f"It {action}." if first.endswith("s") and not first.endswith("ss") else f"They {action}."


def _verb(doc: Any) -> str:
    """Return the base form of the first verb, else of the first word, after the added subject."""
    words = [token for token in doc[1:] if token.pos_ not in _NOT_WORDS and token.pos_ != "AUX"]
    verbs = [token for token in words if token.pos_ == "VERB"]
    return str((verbs or words or list(doc[:1]))[0].lemma_.lower())


SAMPLE = 2_000
"""Prompts parsed and embedded; longer lists are sampled by seed. 1,488 took three minutes on one shared core."""

TAG_VALUES: Mapping[str, tuple[str, ...]] = {
    name: CHOICES[name] for name in ("skeleton", "amplitude", "speed", "subjects", "interaction", "camera")
}
"""Values of each tag in the order of charts."""

LemmaSource = Literal["given", "parsed", "words"]
"""Source of actions: the list's base forms, the parser's, or the action's words."""


@dataclass(frozen=True, slots=True)
class DiversityFigure:
    """A figure of diversity.

    Attributes:
        key: Of the results.
        title: For people.
        more: True if a higher value means more variety.
        count: True for a count; otherwise a share or a mean within [0, 1].
    """

    key: str
    title: str
    more: bool
    count: bool = False


FIGURES = (
    DiversityFigure("actions", "distinct actions (verbs)", more=True, count=True),
    DiversityFigure("subjects", "distinct subject nouns", more=True, count=True),
    DiversityFigure("places", "distinct places", more=True, count=True),
    DiversityFigure("deeds", "distinct (action, subject noun)", more=True, count=True),
    DiversityFigure("classes", "distinct subject classes", more=True, count=True),
    DiversityFigure("categories", "distinct categories (action, class, pattern)", more=True, count=True),
    DiversityFigure("openings", "share their first three words", more=False),
    DiversityFigure("skeletons", "unique part-of-speech skeleton", more=True),
    DiversityFigure("distinct_1", "distinct-1", more=True),
    DiversityFigure("distinct_2", "distinct-2", more=True),
    DiversityFigure("distinct_3", "distinct-3", more=True),
    DiversityFigure("self_bleu", "self-BLEU", more=False),
    DiversityFigure("distance", "mean distance to the nearest neighbour", more=True),
    DiversityFigure("pairs", "pairs over 0.9 cosine", more=False, count=True),
)
"""Figures in the order of tables."""
OF_SAMPLE = frozenset({"skeletons", "distance", "pairs"})
"""Figures for which long lists are sampled."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A tokenised and labelled list, to be measured whole or in part.

    Attributes:
        entries: The list.
        words: Of the prompts.
        grams: Their n-grams, of 1 to 4 words.
        labels: Figure to an (N,) number of each entry's value; -1 where it is not known. Without a figure that no
            entry knows, or that the parser was needed for and not there.
        vectors: (N, D) unit embeddings, or None.
        lemmas: Base form of each entry's action, as far as known.
        source: Where those come from.
    """

    entries: tuple[PromptEntry, ...]
    words: NumberedWords
    grams: tuple[Grams, ...]
    labels: Mapping[str, NDArray[np.int64]]
    lemmas: tuple[str, ...]
    source: LemmaSource
    vectors: NDArray[np.float32] | None = field(default=None, repr=False)


def take_apart(
    entries: Sequence[PromptEntry], *, parse: bool = False, vectors: NDArray[np.float32] | None = None
) -> Taken:
    """Tokenise and label a list.

    Args:
        entries: The list.
        parse: True to parse for skeletons, and for base forms that the list lacks.
        vectors: (N, D) unit embeddings of the prompts, or None.

    Raises:
        SetupError: ``parse`` without the parser.
    """
    texts = [entry.prompt for entry in entries]
    words = diversity.number_words(texts)
    skeletons, lemmas = parse_entries(entries) if parse else ([], [entry.action_lemma for entry in entries])
    source: LemmaSource = "given"
    if not all(entry.action_lemma or not entry.action for entry in entries):
        source = "parsed" if parse else "words"
    values = _values(entries, lemmas if source != "words" else [entry.action.lower() for entry in entries])
    values |= {"openings": diversity.openings(texts), "skeletons": skeletons}
    grams, labels = diversity.bleu_grams(words), _encoded(values)
    return Taken(tuple(entries), words, grams, labels, tuple(lemmas), source, vectors)


def by_words(taken: Taken) -> Taken:
    """Return the list with actions compared by their words, for a list whose base forms are unknown."""
    values = _values(taken.entries, [entry.action.lower() for entry in taken.entries])
    return replace(taken, labels={**taken.labels, **_encoded(values)}, source="words")


def _values(entries: Sequence[PromptEntry], actions: Sequence[str]) -> dict[str, Sequence[Hashable]]:
    pairs = zip(entries, actions, strict=True)
    return {
        "actions": actions,
        "subjects": [entry.subject_noun.lower() for entry in entries],
        "places": [entry.place.lower() for entry in entries],
        "deeds": [
            (action, entry.subject_noun.lower()) if action and entry.subject_noun else "" for entry, action in pairs
        ],
        "classes": [entry.subject_class for entry in entries],
        "categories": [entry.category if all(entry.category) else "" for entry in entries],
    }


def _encoded(values: Mapping[str, Sequence[Hashable]]) -> dict[str, NDArray[np.int64]]:
    labels = {key: np.where([bool(v) for v in column], number_labels(column), -1) for key, column in values.items()}
    return {key: column for key, column in labels.items() if (column >= 0).any()}


def measure(taken: Taken, subset: Subset = None) -> dict[str, float]:
    """Return the available :data:`FIGURES`, over all entries or a subset.

    Args:
        taken: The list.
        subset: (N,) which entries count.
    """
    figures: dict[str, float] = {}
    for key, labels in taken.labels.items():
        chosen = labels if subset is None else labels[subset]
        if key == "openings":
            figures[key] = 1 - share_alone(chosen)
        elif key == "skeletons":
            figures[key] = share_alone(chosen)
        else:
            figures[key] = float(np.unique(chosen[chosen >= 0]).size)
    for grams in taken.grams[:3]:
        figures[f"distinct_{grams.size}"] = diversity.distinct_n(grams, subset)
    figures["self_bleu"] = diversity.self_bleu(taken.words, taken.grams, subset)
    if taken.vectors is not None:
        nearest, pairs = diversity.neighbours(taken.vectors if subset is None else taken.vectors[subset])
        figures["distance"] = float(np.mean(1 - nearest)) if nearest.size else float("nan")
        figures["pairs"] = float(pairs)
    return {figure.key: figures[figure.key] for figure in FIGURES if figure.key in figures}


@dataclass(frozen=True, slots=True)
class Lengths:
    """Prompt lengths in words, split at white space.

    Attributes:
        mean: Their mean.
        quantiles: Shortest, quarter, middle, three quarters, longest.
        within: Share of prompts with :data:`SHORTEST` to :data:`LONGEST` words.
        counts: Words to the number of prompts that have so many.
    """

    mean: float
    quantiles: tuple[float, ...]
    within: float
    counts: Mapping[int, int]


def lengths_of(entries: Sequence[PromptEntry]) -> Lengths:
    """Measure the prompts of a list that has any."""
    words = np.array([len(entry.prompt.split()) for entry in entries])
    within = (words >= SHORTEST) & (words <= LONGEST)
    quantiles = tuple(float(value) for value in np.percentile(words, (0, 25, 50, 75, 100)))
    return Lengths(float(words.mean()), quantiles, float(within.mean()), dict(sorted(Counter(words.tolist()).items())))


def pattern_counts(entries: Sequence[PromptEntry]) -> dict[str, int]:
    """Count the prompts of each pattern in the usual order, those without one under ""."""
    counts = Counter(entry.pattern for entry in entries)
    if counts.keys() == {""}:
        return {"": counts[""]}
    return {pattern: counts[pattern] for pattern in (*PATTERNS, "") if counts[pattern] or pattern}


def tag_counts(entries: Sequence[PromptEntry]) -> dict[str, dict[str, int]]:
    """Count the prompts of each tag and value in the usual order; empty if no entry has tags."""
    tags = [entry.tags for entry in entries if entry.tags is not None]
    by_tag: dict[str, dict[str, int]] = {}
    for name, values in TAG_VALUES.items():
        counts = Counter(getattr(tag, name) for tag in tags)
        by_tag[name] = {value: counts[value] for value in values if counts[value]}
    by_tag["seconds"] = {f"{value:g}": number for value, number in sorted(Counter(t.seconds for t in tags).items())}
    return by_tag if tags else {}


def coverage(entries: Sequence[PromptEntry], lemmas: Sequence[str]) -> dict[tuple[str, str], Counter[str]]:
    """Count the actions by (class, or noun without one; pattern)."""
    covered: dict[tuple[str, str], Counter[str]] = {}
    for entry, lemma in zip(entries, lemmas, strict=True):
        kind, action = entry.subject_class or entry.subject_noun, lemma or entry.action.lower()
        if kind and action:
            covered.setdefault((kind, entry.pattern), Counter())[action] += 1
    return covered
