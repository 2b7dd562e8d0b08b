"""Filters a prompt list, with a reason for every dropped prompt.

Three stages, each on the prompts that remain: checks of a single prompt (form, wording, reading ease, safety);
near-duplicates, of which one is kept; a model's verdict. If the verdict drops a prompt, its near-duplicates are
considered again.

The first stage is independent of the list's order. Among near-duplicates and shared openings, prompts without a note
for a person are preferred, then earlier ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from vmmetrics.prompts.checks import CHECKS, reading_ease, words
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.filter.safety import find_unsafe
from vmmetrics.prompts.filter.verdicts import Verdict, VerdictJudge
from vmmetrics.prompts.statistics.diversity import NEAR_DUPLICATE
from vmmetrics.utils.endpoint.messages import CostLimitError, NoAnswerError
from vmmetrics.utils.schema import plain
from vmmetrics.utils.text.similarity import Indices, Measure, TextMatch, containment, cosine, take_distinct

# Prompts that say what another one says: by sentence embeddings, and by the n-grams of words they share.
#
# The n-grams find texts made from one another by changing a few words, and need no model; the embedding also finds the
# same scene in other words.

COSINE: Final = NEAR_DUPLICATE
"""Least cosine of two embeddings at which prompts are near-duplicates."""
GRAM: Final = 5
"""Words of an n-gram: longer than any idiom of prompts ("in the middle of the" is the longest common one)."""
OVERLAP: Final = 0.4
"""Least share of the shorter prompt's 5-grams at which two prompts are near-duplicates. Prompts written one by one
share at most 0.19 (measured on 1,489 of ours); VMBench's two nearest, one sentence with another subject, share 0.40."""

MEANING_LEAST: Final = 0.72
"""Least mean of the cosines of two prompts and of their events (subject and action) at which both ask for one shot. Of
47 pairs that a reader of our 1,428 prompts called one shot it finds 14, and 4 others; at 0.66 24, and 34 others."""

EMBEDDING: Final = "embedding"
MEANING: Final = "meaning"
N_GRAMS: Final = "n-grams"


EASE: Final = 30.0
"""Least reading ease; lower is "very difficult" (Flesch). Drops 4 % of VMBench's prompts (median 57) and none of ours
(median 77, minimum 42; measured on 1,489)."""
OPENING: Final = 3
"""Words of an opening."""

READING, SAFETY, OPENINGS, VERDICT = "reading ease", "safety", "opening", "verdict"
NAMES: Final = (*CHECKS, READING, SAFETY, EMBEDDING, MEANING, N_GRAMS, OPENINGS, VERDICT)
"""Names of all checks."""

_LEAST: Final = {EMBEDDING: "least_cosine", MEANING: "least_meaning", N_GRAMS: "least_overlap"}
"""Setting of each measure of repeats."""

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
Outcome = Literal["kept", "dropped", "undecided"]


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """Thresholds of the filter.

    Attributes:
        least_cosine: Least cosine of two embeddings of near-duplicates.
        least_meaning: Least mean of the cosines of prompts and of events of two that ask for one shot.
        least_overlap: Least share of common 5-grams of near-duplicates.
        least_ease: Least reading ease.
        most_openings: How many may share their first three words; None for any number.
        without: Checks of :data:`NAMES` that are left out.

    Raises:
        ValueError: A check is not known, or a number cannot be.
    """

    least_cosine: float = COSINE
    least_meaning: float = MEANING_LEAST
    least_overlap: float = OVERLAP
    least_ease: float = EASE
    most_openings: int | None = None
    without: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        unknown = self.without - set(NAMES)
        if unknown:
            raise ValueError(f"Expected checks of {', '.join(NAMES)} but got {', '.join(sorted(unknown))}")
        for name in ("least_cosine", "least_meaning", "least_overlap"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"Expected {name} in (0, 1] but got {getattr(self, name)}")
        if self.most_openings is not None and self.most_openings < 1:
            raise ValueError(f"Expected at least 1 prompt with an opening but got {self.most_openings}")


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason to drop a prompt, or a note on it.

    Attributes:
        check: Of :data:`NAMES`.
        why: In words.
        figure: Measured value, if any.
        limit: Its limit.
        other: Index of the prompt that it repeats; those of another list have its name before them.
    """

    check: str
    why: str
    figure: float | None = None
    limit: float | None = None
    other: str | None = None


@dataclass(frozen=True, slots=True)
class FilterDecision:
    """Outcome of the filter for one prompt.

    Attributes:
        outcome: "kept", "dropped", or "undecided" where the model was asked and gave no usable answer.
        reasons: Every reason it was dropped for, or is undecided; empty where it was kept.
        notes: Notes for a person to review, and the verdict that kept it.
        words: Of the prompt.
        ease: Its reading ease.
        again: True if it is undecided because the model was unreachable, so that asking again may help.
    """

    outcome: Outcome
    reasons: tuple[Reason, ...]
    notes: tuple[Reason, ...]
    words: int
    ease: float
    again: bool = False


def likeness_measures(
    entries: Sequence[PromptEntry], embed: Embed | None, settings: FilterSettings
) -> dict[str, Measure]:
    """Return the similarity measures for :func:`~vmmetrics.utils.text.similarity.take_distinct`.

    Args:
        entries: N prompts.
        embed: Embedding of texts; None leaves it out.
        settings: From where on two are the same, and whether meaning and n-grams are looked at.
    """
    texts, measures = [entry.prompt for entry in entries], {}
    if embed is not None:
        prompts = cosine(embed(texts))
        measures[EMBEDDING] = Measure(prompts, settings.least_cosine)
        known = np.array([bool(entry.subject_noun and entry.action) for entry in entries])
        if MEANING not in settings.without and known.any():
            events = cosine(embed([f"{entry.subject_noun} {entry.action}" for entry in entries]))

            def alike(rows: Indices, others: Indices) -> NDArray[np.float32]:
                both = (prompts(rows, others) + events(rows, others)) / 2
                return np.where(np.outer(known[rows], known[others]), both, np.float32(-1))

            measures[MEANING] = Measure(alike, settings.least_meaning)
    if N_GRAMS not in settings.without:
        split = [[word.lower() for word in words(text)] for text in texts]
        measures[N_GRAMS] = Measure(containment(split, GRAM), settings.least_overlap)
    return measures


def filter_entries(
    entries: Sequence[PromptEntry],
    settings: FilterSettings | None = None,
    *,
    against: Sequence[tuple[str, PromptEntry]] = (),
    embed: Embed | None = None,
    judge: VerdictJudge | None = None,
) -> list[FilterDecision]:
    """Filter a prompt list; return a decision for every prompt.

    Args:
        entries: The list.
        settings: Thresholds; None for the defaults.
        against: Prompts that none may repeat, each with the name of its list.
        embed: From N texts to (N, D) unit vectors; None finds near-duplicates by their n-grams alone.
        judge: A second model; None does without.

    Returns:
        A decision for each entry.
    """
    chosen = settings or FilterSettings()
    embed = None if EMBEDDING in chosen.without else embed
    judge = None if VERDICT in chosen.without else judge
    state = _Filter(entries, chosen, against, embed, judge)
    for index, entry in enumerate(entries):
        state.check_entry(index, entry)
    open_indices = [index for index in range(len(entries)) if not state.reasons[index]]
    repeated = state.settle(sorted(open_indices, key=lambda index: (bool(state.notes[index]), index)))
    return [state.decision(index, repeated.get(index, [])) for index in range(len(entries))]


@dataclass(slots=True)
class _Filter:
    entries: Sequence[PromptEntry]
    settings: FilterSettings
    against: Sequence[tuple[str, PromptEntry]]
    embed: Embed | None
    judge: VerdictJudge | None
    notes: defaultdict[int, list[Reason]] = field(default_factory=lambda: defaultdict(list))
    reasons: defaultdict[int, list[Reason]] = field(default_factory=lambda: defaultdict(list))
    verdicts: dict[int, Verdict] = field(default_factory=dict)

    def check_entry(self, index: int, entry: PromptEntry) -> None:
        """Record the faults of a prompt by itself."""
        settings, ease = self.settings, reading_ease(entry.prompt)
        for name, check in CHECKS.items():
            if name not in settings.without and (why := check(entry)) is not None:
                self.reasons[index].append(Reason(name, why))
        if READING not in settings.without and not ease >= settings.least_ease:
            self.reasons[index].append(Reason(READING, "hard to read", round(ease, 1), settings.least_ease))
        for finding in [] if SAFETY in settings.without else find_unsafe(entry.prompt):
            reason = Reason(SAFETY, f"{finding.kind}: {finding.words!r}")
            (self.reasons if finding.certain else self.notes)[index].append(reason)

    def settle(self, rivals: Sequence[int]) -> dict[int, list[Reason]]:
        """Find near-duplicates and ask the model about the others, until no new prompt is left to ask about."""
        # over the other lists' prompts and then the rivals, which have the places behind them
        entries = [entry for _, entry in self.against] + [self.entries[index] for index in rivals]
        measures = likeness_measures(entries, self.embed, self.settings)
        ended: str | None = None
        while True:
            left = [p for p in rivals if p not in self.verdicts or self.verdicts[p].decision != "drop"]
            repeated = self._repeated(left, rivals, measures)
            unasked = [index for index in left if index not in repeated and index not in self.verdicts]
            if self.judge is None or not unasked:
                return repeated
            if ended is None:
                try:
                    for number, verdict in self.judge.verdicts([self.entries[index] for index in unasked]):
                        self.verdicts[unasked[number]] = verdict
                except (NoAnswerError, CostLimitError) as error:
                    ended = str(error)
            for index in unasked:
                self.verdicts.setdefault(index, Verdict("undecided", f"not asked: {ended}", kind="unreachable"))

    def _repeated(
        self, left: Sequence[int], rivals: Sequence[int], measures: Mapping[str, Measure]
    ) -> dict[int, list[Reason]]:
        """Return those of ``left`` that are near-duplicates or share a common opening, with reasons."""
        before = len(self.against)
        at = {index: before + number for number, index in enumerate(rivals)}
        crowded: dict[int, list[Reason]] = {}
        while True:
            order = [index for index in left if index not in crowded]
            matches = zip(order, take_distinct([at[p] for p in order], measures, range(before)), strict=True)
            repeated = {index: [self._repeat(match, rivals) for match in near] for index, near in matches if near}
            more = self._crowded([index for index in order if index not in repeated])
            if not more:
                return crowded | repeated
            crowded |= more

    def _repeat(self, match: TextMatch, rivals: Sequence[int]) -> Reason:
        before = len(self.against)
        if match.index < before:
            name, entry = self.against[match.index]
            other = f"{name}:{entry.index}"
        else:
            entry = self.entries[rivals[match.index - before]]
            other = entry.index
        limit = getattr(self.settings, _LEAST[match.measure])
        return Reason(match.measure, f"repeats {entry.prompt!r}", round(match.likeness, 4), limit, other)

    def _crowded(self, indices: Sequence[int]) -> dict[int, list[Reason]]:
        most = self.settings.most_openings
        if most is None or OPENINGS in self.settings.without:
            return {}
        seen: Counter[tuple[str, ...]] = Counter()
        crowded = {}
        for index in indices:
            opening = tuple(word.lower() for word in words(self.entries[index].prompt)[:OPENING])
            seen[opening] += 1
            if seen[opening] > most:
                why = f"{seen[opening]} begin with {' '.join(opening)!r}"
                crowded[index] = [Reason(OPENINGS, why, float(seen[opening]), float(most))]
        return crowded

    def decision(self, index: int, repeated: list[Reason]) -> FilterDecision:
        """Return the outcome for a prompt, given the reasons of its near-duplicates."""
        prompt, reasons, notes = self.entries[index].prompt, self.reasons[index] + repeated, self.notes[index]
        outcome: Outcome = "dropped" if reasons else "kept"
        verdict = self.verdicts.get(index)
        if verdict is not None and not reasons:
            reason = Reason(VERDICT, f"{verdict.fault}: {verdict.why}" if verdict.decision == "drop" else verdict.why)
            if verdict.decision == "keep":
                notes = [*notes, reason]
            else:
                reasons = [reason]
                outcome = "dropped" if verdict.decision == "drop" else "undecided"
        again = outcome == "undecided" and verdict is not None and verdict.kind == "unreachable"
        count, ease = len(words(prompt)), reading_ease(prompt)
        return FilterDecision(outcome, tuple(reasons), tuple(notes), count, ease, again)


def decision_line(entry: PromptEntry, decision: FilterDecision) -> dict[str, Any]:
    """Return a decision as a line of the decisions file: index, prompt, outcome, reasons."""
    reasons, notes = (
        [{key: value for key, value in plain(reason).items() if value is not None} for reason in listed]
        for listed in (decision.reasons, decision.notes)
    )
    line = {"index": entry.index, "prompt": entry.prompt, "decision": decision.outcome, "reasons": reasons}
    ease = None if decision.ease != decision.ease else round(decision.ease, 1)
    return line | {"notes": notes, "words": decision.words, "reading_ease": ease}
