"""Everything that ``vmmetrics prompts stats`` says of a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.extract.parsing import INSTALL
from vmmetrics.prompts.metadata import Metadata
from vmmetrics.prompts.statistics import skeletons
from vmmetrics.prompts.statistics.diversity import ORDER, SMOOTHING, neighbours
from vmmetrics.prompts.statistics.measures import (
    OF_SAMPLE,
    SAMPLE,
    LemmaSource,
    Lengths,
    Taken,
    coverage,
    lengths_of,
    measure,
    pattern_counts,
    tag_counts,
    take_apart,
)
from vmmetrics.prompts.statistics.plausibility_flags import Plausibility, judge
from vmmetrics.utils.schema import plain
from vmmetrics.utils.text import embedding

SEED = 0
NEAREST_STEP = 0.05
"""Width of a bar of the histogram of nearest neighbours, in cosine."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A list, taken to pieces as a whole and, where it is long, a seeded sample of it more thoroughly.

    Attributes:
        name: What to call it.
        entries: All of it.
        whole: All of it, without parser and embedding where it is longer than a sample.
        sampled: The sample, all of it where it is no longer.
        sample: The sample with everything that is installed.
        notes: What is not known, why, and what mends it.
    """

    name: str
    entries: tuple[PromptEntry, ...]
    whole: Taken
    sampled: tuple[PromptEntry, ...]
    sample: Taken
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListStatistics:
    """A list in figures.

    Attributes:
        name: What it is called.
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
        plausibility: What the metadata say; None without metadata.
        settings: What the figures depend on.
        notes: What is not known, why, and what mends it.
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
        """As plain values; the coverage as a list of objects."""
        found = {name: plain(getattr(self, name)) for name in self.__slots__ if name != "coverage"}
        found["coverage"] = [
            {"class": kind, "pattern": pattern, "actions": dict(actions)}
            for (kind, pattern), actions in self.coverage.items()
        ]
        return found


def prepare(entries: Sequence[PromptEntry], name: str, *, seed: int = SEED, parse: bool = True, embed: bool = True,
            say: Callable[[str], None] = lambda _: None) -> Prepared:  # fmt: skip
    """Take a list to pieces with what is installed.

    Args:
        entries: The list.
        name: What to call it.
        seed: Of the sample of a list of more than :data:`~vmmetrics.prompts.statistics.measures.SAMPLE` prompts.
        parse: Whether to use the parser where it is installed.
        embed: Whether to use the sentence embedding where it is installed.
        say: Told what takes a while, before it begins.

    Raises:
        SetupError: The list is empty, or the embedding's files are damaged.
    """
    if not entries:
        raise SetupError(f"{name}: expected prompts but the list is empty")
    notes = list(_missing(entries))
    if parse and skeletons.parser_name() is None:
        notes.append(f"no part-of-speech skeletons: spaCy's model is not installed ({INSTALL})")
        parse = False
    if embed and not embedding.embedding_installed():
        notes.append(f"no nearest neighbours: the embedding is not installed ({embedding.INSTALL})")
        embed = False
    sampled = tuple(entries)
    if len(entries) > SAMPLE and (parse or embed):
        places = np.sort(np.random.default_rng(seed).choice(len(entries), SAMPLE, replace=False))
        sampled = tuple(entries[place] for place in places)
        notes.append(f"skeletons and neighbours: of a sample of {SAMPLE} prompts (seed {seed}); the rest: of all")
    slow = " and ".join(what for what, done in (("embeddings", embed), ("parts of speech", parse)) if done)
    if slow:
        say(f"{name}: {slow} of {len(sampled):,} prompts")
    vectors: NDArray[np.float32] | None = embedding.embed([entry.prompt for entry in sampled]) if embed else None
    sample = take_apart(sampled, parse=parse, vectors=vectors)
    whole = sample if len(sampled) == len(entries) else take_apart(entries)
    return Prepared(name, tuple(entries), whole, sampled, sample, tuple(notes))


def _missing(entries: Sequence[PromptEntry]) -> list[str]:
    lacking = {
        "pattern": sum(not entry.pattern for entry in entries),
        "subject class": sum(not entry.subject_class for entry in entries),
        "base form of the action": sum(not entry.action_lemma for entry in entries),
        "tags": sum(entry.tags is None for entry in entries),
        "place": sum(not entry.place for entry in entries),
        "subject noun": sum(not entry.subject_noun for entry in entries),
    }
    every = [what for what, number in lacking.items() if number == len(entries)]
    some = [f"{number} entries have no {what}" for what, number in lacking.items() if 0 < number < len(entries)]
    return ([f"the list does not give: {', '.join(every)}"] if every else []) + some


def describe(prepared: Prepared, metadata: Metadata | None, *, seed: int = SEED) -> ListStatistics:
    """Work out everything about a list.

    Args:
        prepared: From :func:`prepare`.
        metadata: What to hold it against; None leaves plausibility out.
        seed: The one it was prepared with, to be reported.
    """
    entries, whole, sample = prepared.entries, prepared.whole, prepared.sample
    figures = measure(whole)
    if sample is not whole:
        figures |= {key: value for key, value in measure(sample).items() if key in OF_SAMPLE}
    texts = Counter(" ".join(entry.prompt.lower().split()) for entry in entries)
    nearest = neighbours(sample.vectors).nearest if sample.vectors is not None else np.empty(0)
    bins = Counter(np.floor(nearest / NEAREST_STEP).astype(int).tolist())
    return ListStatistics(
        name=prepared.name,
        prompts=len(entries),
        patterns=pattern_counts(entries),
        tags=tag_counts(entries),
        figures=figures,
        sampled=len(prepared.sampled),
        actions=whole.source,
        lengths=lengths_of(entries),
        repeats=sum(number for number in texts.values() if number > 1),
        nearest={round(place * NEAREST_STEP, 2): number for place, number in sorted(bins.items())},
        plausibility=None if metadata is None else judge(entries, metadata, whole.lemmas),
        settings=_settings(sample, seed),
        notes=prepared.notes,
        coverage=coverage(entries, whole.lemmas),
    )


def _settings(sample: Taken, seed: int) -> dict[str, Any]:
    identity = None if sample.vectors is None else embedding.embedding_identity()
    return {
        "seed": seed,
        "self_bleu": f"BLEU-{ORDER}, all other prompts as references, {SMOOTHING} for a length without a match",
        "parser": skeletons.parser_name() if "skeletons" in sample.labels else None,
        "embedding": plain(identity),
    }
