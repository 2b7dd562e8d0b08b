"""Statistics of a prompt list, as ``vmmetrics prompts stats`` reports them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import Metadata, PromptEntry
from vmmetrics.prompts.extract.parsing import INSTALL
from vmmetrics.prompts.plausibility import Plausibility, judge
from vmmetrics.prompts.statistics import measures
from vmmetrics.prompts.statistics.diversity import ORDER, SMOOTHING, neighbours
from vmmetrics.prompts.statistics.measures import FIGURES, DiversityFigure, LemmaSource, Lengths, Taken, measure
from vmmetrics.utils.schema import plain
from vmmetrics.utils.text import embedding

SEED = 0
NEAREST_STEP = 0.05
"""Bin width of the nearest-neighbour histogram, cosine."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A tokenised list and, if it is long, a parsed and embedded sample of it.

    Attributes:
        name: Name of the list.
        whole: All of it, without parser and embedding where it is longer than a sample.
        sample: The sample, all of it where it is no longer, with everything that is installed.
        notes: Missing figures, with reasons and remedies.
    """

    name: str
    whole: Taken
    sample: Taken
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListStatistics:
    """Statistics of a list.

    Attributes:
        name: Name.
        prompts: How many.
        patterns: Pattern to prompts; "" for those that have none.
        tags: Tag to value to prompts; empty where nothing is tagged.
        figures: Key of :data:`~vmmetrics.prompts.statistics.measures.FIGURES` to value, as far as known.
        sampled: Prompts that the parser and the embedding had; the figures of those are about them.
        actions: Where actions come from.
        lengths: Words of the prompts.
        repeats: Prompts whose text another has as well.
        nearest: Lower end of a cosine's bin to the number of sampled prompts whose nearest neighbour is in it.
        coverage: (Class or noun, pattern) to actions and their use.
        plausibility: Plausibility by the metadata; None without metadata.
        settings: Settings that the figures depend on.
        notes: Missing figures, with reasons and remedies.
    """

    name: str
    prompts: int
    patterns: Mapping[str, int]
    tags: Mapping[str, Mapping[str, int]]
    figures: Mapping[str, float]
    sampled: int
    actions: LemmaSource
    lengths: Lengths
    repeats: int
    nearest: Mapping[float, int]
    plausibility: Plausibility | None
    settings: Mapping[str, Any]
    notes: tuple[str, ...]
    coverage: Mapping[tuple[str, str], Counter[str]] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return plain values, the coverage as a list of objects."""
        coverage = [
            {"class": kind, "pattern": pattern, "actions": dict(actions)}
            for (kind, pattern), actions in self.coverage.items()
        ]
        return {**plain(self), "coverage": coverage}


def prepare(entries: Sequence[PromptEntry], name: str, *, seed: int = SEED, parse: bool = True, embed: bool = True,
            say: Callable[[str], None] = lambda _: None) -> Prepared:  # fmt: skip
    """Tokenise, parse and embed a list with what is installed.

    Args:
        entries: The list.
        name: Name of the list.
        seed: Of the sample of a list of more than :data:`~vmmetrics.prompts.statistics.measures.SAMPLE` prompts.
        parse: True to use the parser if installed.
        embed: True to use the sentence embedding if installed.
        say: Told what takes a while, before it begins.

    Raises:
        SetupError: The list is empty, or the embedding's files are damaged.
    """
    if not entries:
        raise SetupError(f"{name}: expected prompts but the list is empty")
    notes = list(_missing(entries))
    if parse and measures.parser_name() is None:
        notes.append(f"no part-of-speech skeletons: spaCy's model is not installed ({INSTALL})")
        parse = False
    if embed and not embedding.embedding_installed():
        notes.append(f"no nearest neighbours: the embedding is not installed ({embedding.INSTALL})")
        embed = False
    sampled = entries
    if len(entries) > (most := measures.SAMPLE) and (parse or embed):
        indices = np.sort(np.random.default_rng(seed).choice(len(entries), most, replace=False))
        sampled = [entries[index] for index in indices]
        notes.append(
            f"skeletons and neighbours are of a sample of {most} prompts (seed {seed}), "
            "the other figures of the whole list"
        )
    slow = " and ".join(what for what, done in (("embeddings", embed), ("parts of speech", parse)) if done)
    if slow:
        say(f"{name}: {slow} of {len(sampled):,} prompts")
    vectors: NDArray[np.float32] | None = embedding.embed([entry.prompt for entry in sampled]) if embed else None
    sample = measures.take_apart(sampled, parse=parse, vectors=vectors)
    whole = sample if sampled is entries else measures.take_apart(entries)
    return Prepared(name, whole, sample, tuple(notes))


def _missing(entries: Sequence[PromptEntry]) -> list[str]:
    """List the fields that all entries lack, and those that some lack."""
    fields = {"base form of the action": "action_lemma"}
    lacking = {
        what: sum(not getattr(entry, fields.get(what, what.replace(" ", "_"))) for entry in entries)
        for what in ("pattern", "subject class", "base form of the action", "tags", "place", "subject noun")
    }
    every = [what for what, number in lacking.items() if number == len(entries)]
    partial = [f"{number} entries have no {what}" for what, number in lacking.items() if 0 < number < len(entries)]
    return ([f"the list lacks: {', '.join(every)}"] if every else []) + partial


def describe(prepared: Prepared, metadata: Metadata | None, *, seed: int = SEED) -> ListStatistics:
    """Compute all statistics of a list.

    Args:
        prepared: From :func:`prepare`.
        metadata: Metadata for the plausibility checks; None skips them.
        seed: The one it was prepared with, to be reported.
    """
    whole, sample, entries = prepared.whole, prepared.sample, prepared.whole.entries
    figures = measure(whole)
    if sample is not whole:
        figures |= {key: value for key, value in measure(sample).items() if key in measures.OF_SAMPLE}
    texts = Counter(" ".join(entry.prompt.lower().split()) for entry in entries)
    nearest = neighbours(sample.vectors)[0] if sample.vectors is not None else np.empty(0)
    bins = Counter(np.floor(nearest / NEAREST_STEP).astype(int).tolist())
    settings = {
        "seed": seed,
        "self_bleu": f"BLEU-{ORDER}, all other prompts as references, {SMOOTHING} for a length without a match",
        "parser": measures.parser_name() if "skeletons" in sample.labels else None,
        "embedding": None if sample.vectors is None else plain(embedding.embedding_identity()),
    }
    return ListStatistics(
        name=prepared.name,
        prompts=len(entries),
        patterns=measures.pattern_counts(entries),
        tags=measures.tag_counts(entries),
        figures=figures,
        sampled=len(sample.entries),
        actions=whole.source,
        lengths=measures.lengths_of(entries),
        repeats=sum(number for number in texts.values() if number > 1),
        nearest={round(index * NEAREST_STEP, 2): number for index, number in sorted(bins.items())},
        plausibility=None if metadata is None else judge(entries, metadata, whole.lemmas),
        settings=settings,
        notes=prepared.notes,
        coverage=measures.coverage(entries, whole.lemmas),
    )


# Two lists side by side, and how varied they are at equal size.
#
# Counts of distinct things, shared openings, self-BLEU and neighbours all change with the number of prompts alone. So
# both lists are cut to one size, many times at random without replacement; a list that has no more than that counts
# as it is. The intervals are about which prompts were drawn, not about other lists that might have been written.

DRAWS = 200
"""Subsets of each list: each end of a 95 % interval rests on five of them."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure of a list at the common size, with its spread.

    Attributes:
        mean: Over subsets.
        low: 2.5th percentile.
        high: 97.5th percentile.
        draws: Subsets; 1 where the list has no more prompts than a subset.
    """

    mean: float
    low: float
    high: float
    draws: int


@dataclass(frozen=True, slots=True)
class Paired:
    """A figure of both lists at the common size.

    Attributes:
        first: Of the first list.
        second: Of the second.
        more_varied: Share of pairs of subsets in which the first list's is the better value, ties counting half.
    """

    first: Spread
    second: Spread
    more_varied: float


@dataclass(frozen=True, slots=True)
class ListComparison:
    """Comparison of two lists.

    Attributes:
        first: All of the first list.
        second: All of the second.
        size: Prompts of a subset.
        figures: Key of :data:`~vmmetrics.prompts.statistics.measures.FIGURES` to the figure; those that both
            lists know.
        notes: Caveats.
    """

    first: ListStatistics
    second: ListStatistics
    size: int
    figures: Mapping[str, Paired]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        equal = {"size": self.size, "figures": plain(self.figures), "notes": list(self.notes)}
        return {"first": self.first.to_json(), "second": self.second.to_json(), "at_equal_size": equal}


def compare(
    first: Prepared,
    second: Prepared,
    metadata: Metadata | None,
    *,
    size: int | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
) -> ListComparison:
    """Compare two lists.

    Args:
        first: One, from :func:`~vmmetrics.prompts.statistics.report.prepare`.
        second: The other.
        metadata: For plausibility; None leaves it out.
        size: Prompts of a subset; None takes the smaller list's, or its sample's.
        draws: Subsets of each list.
        seed: Of the subsets.

    Raises:
        SetupError: A list (or its sample) has fewer prompts than ``size``, or than two.
    """
    most = min(len(first.sample.entries), len(second.sample.entries))
    size = most if size is None else size
    if not 2 <= size <= most:
        raise SetupError(f"Expected a size from 2 to {most}, the prompts that both lists have, but got {size}")
    pieces = [first.sample, second.sample]
    sources = [taken.source for taken in pieces]
    notes: tuple[str, ...] = ()
    if "words" in sources:  # both lists' actions are told apart in the same way
        pieces = list(map(measures.by_words, pieces))
        notes = ("actions are compared by their words, as one list has no base forms",)
    elif "parsed" in sources:
        notes = ("base forms of actions: the parser's where the list has none",)
    generator = np.random.default_rng(seed)
    measured = [_draw(taken, size, draws, generator) for taken in pieces]
    figures = {
        figure.key: _paired(figure, *(values[figure.key] for values in measured))
        for figure in FIGURES
        if all(figure.key in values for values in measured)
    }
    both = [describe(side, metadata, seed=seed) for side in (first, second)]
    return ListComparison(both[0], both[1], size, figures, notes)


def _draw(taken: Taken, size: int, draws: int, generator: np.random.Generator) -> dict[str, list[float]]:
    number = len(taken.entries)
    values = defaultdict(list)
    for _ in range(1 if size == number else draws):
        subset = np.zeros(number, bool)
        subset[generator.choice(number, size, replace=False)] = True
        for key, value in measure(taken, subset).items():
            values[key].append(value)
    return values


def _paired(figure: DiversityFigure, first: list[float], second: list[float]) -> Paired:
    difference = np.subtract.outer(first, second) if figure.more else np.subtract.outer(second, first)
    better = np.mean(difference > 0) + np.mean(difference == 0) / 2
    return Paired(_spread(first), _spread(second), float(better))


def _spread(values: list[float]) -> Spread:
    low, high = np.percentile(values, (2.5, 97.5))
    return Spread(float(np.mean(values)), float(low), float(high), len(values))
