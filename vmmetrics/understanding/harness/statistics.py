"""Means over questions with intervals clustered by video, and paired tests of two models.

Questions about one video are alike, so videos are what is resampled: the percentile bootstrap over clusters of
:mod:`vmmetrics.utils.statistics.bootstrap`. The standard error beside it is computed another way, from the spread of
the sums of clusters (Liang and Zeger, Biometrika 1986, with the factor C / (C - 1)), as a check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from vmmetrics.models.questions import Question
from vmmetrics.understanding.harness.benchmark import Figure, Scored
from vmmetrics.utils.statistics import bootstrap
from vmmetrics.utils.statistics.paired import corrected, sign_flip_p

ALL = "all"
"""Group, and name in it, of the figure over every question."""
FEW_VIDEOS = 20
"""Number of videos below which an interval is called rough, as percentile intervals are too narrow. In simulated
benchmarks with one to nine questions a video, 84 % of the intervals held the mean at 5 videos, 88 % at 8, 91 % at 12,
94 % at 20, 92 to 96 % at 40 and 100."""
_ROUNDING = 1e-12  # an error under this is of clusters that are alike

_TAIL = (1 - bootstrap.CONFIDENCE) / 2

Value = Callable[[Scored], float | None]
"""The averaged value of a question; None leaves the question out."""


def whole(scored: Scored) -> float | None:
    """Return the question's value; 0 if no option was recognised."""
    return scored.value


def where_answered(scored: Scored) -> float | None:
    """Return the question's value if an answer was recognised, else None."""
    return scored.value if scored.answered else None


def part(name: str) -> Value:
    """Return a function for one of the question's other scores."""
    return lambda scored: scored.parts.get(name)


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """A mean of clustered values.

    Attributes:
        value: Their mean, each value counting once; None for none.
        low: Lower end of the 95 % interval; None for fewer than three clusters.
        high: Upper end.
        error: Clustered standard error; None for fewer than two clusters.
        n: Values.
        clusters: Clusters.
        noun: For a cluster.
    """

    value: float | None
    low: float | None
    high: float | None
    error: float | None
    n: int
    clusters: int
    noun: str = "video"

    @property
    def note(self) -> str:
        """Caveat of the interval; empty if there is none."""
        if self.clusters == 1:
            return f"no interval: there is a single {self.noun}"
        if self.clusters and self.error == 0:
            return f"all {self.noun}s score alike: no bootstrap interval"
        if 0 < self.clusters < bootstrap.LEAST_PROMPTS:
            return f"no interval: it takes {bootstrap.LEAST_PROMPTS} {self.noun}s"
        return f"rough interval: under {FEW_VIDEOS} {self.noun}s" if 0 < self.clusters < FEW_VIDEOS else ""


def too_few_videos(questions: Iterable[Question], cluster: str = "video") -> list[str]:
    """Return warnings if there are too few videos for intervals, known before any question is asked; else empty."""
    videos = len({question.video for question in questions})
    if not 0 < videos < FEW_VIDEOS:
        return []
    if videos == 1:
        return [f"all questions are about one {cluster}: no interval can be given"]
    needs = f"need {bootstrap.LEAST_PROMPTS} and " if videos < bootstrap.LEAST_PROMPTS else ""
    return [f"the questions are about {videos} {cluster}s: intervals {needs}will be rough below {FEW_VIDEOS}"]


def clustered_mean(
    values: Sequence[float],
    clusters: Sequence[str],
    resamples: int = bootstrap.RESAMPLES,
    seed: int = bootstrap.SEED,
    noun: str = "video",
) -> ClusteredMean:
    """Return the mean of values with a cluster bootstrap interval.

    Args:
        values: (N,) values.
        clusters: (N,) cluster of each.
        resamples: Bootstrap samples.
        seed: Of the samples.
        noun: For a cluster.

    >>> found = clustered_mean([1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "c"])
    >>> found.value, found.low, found.high
    (0.5, 0.0, 1.0)
    """
    if not values:
        return ClusteredMean(None, None, None, None, 0, 0, noun)
    codes, count = bootstrap.prompt_codes(clusters)
    numbers = np.asarray(values, np.float64)
    mean = float(numbers.mean())
    if count < 2:
        return ClusteredMean(mean, None, None, None, len(numbers), count, noun)
    sums = np.bincount(codes, numbers, minlength=count).astype(np.float64)
    sizes = np.bincount(codes, minlength=count).astype(np.float64)
    drawn = np.concatenate(
        [(block @ sums) / (block @ sizes) for block in bootstrap.prompt_blocks(count, resamples, seed)]
    )
    low, high = bootstrap.percentile_interval(drawn) if count >= bootstrap.LEAST_PROMPTS else (None, None)
    error = float(np.sqrt(count / (count - 1) * np.square(sums - mean * sizes).sum()) / sizes.sum())
    return ClusteredMean(mean, low, high, error if error > _ROUNDING else 0.0, len(numbers), count, noun)


def chance_of(questions: Iterable[Question]) -> float | None:
    """Return the expected accuracy of random guessing, 0 to 1; None if a question has no options."""
    counts = [len(question.options) for question in questions]
    return sum(1 / count for count in counts) / len(counts) if counts and all(counts) else None


def grouped(questions: Sequence[Question], grouping: str) -> dict[str, list[int]]:
    """Return the indices of questions by value of a grouping, in order of first occurrence."""
    groups: dict[str, list[int]] = {}
    for index, question in enumerate(questions):
        for name in question.groups.get(grouping, ()):
            groups.setdefault(name, []).append(index)
    return groups


def subsets(
    questions: Sequence[Question], scored: Sequence[Scored], grouping: str
) -> dict[str, tuple[list[Question], list[Scored]]]:
    """Return questions with their scores by value of a grouping, in order of first occurrence."""
    groups = grouped(questions, grouping).items()
    return {name: ([questions[i] for i in members], [scored[i] for i in members]) for name, members in groups}


def figure(
    questions: Sequence[Question],
    scored: Sequence[Scored],
    measure: str = "accuracy",
    value: Value = whole,
    group: str = ALL,
    name: str = ALL,
    chance: float | None = None,
    note: str = "",
    cluster: str = "video",
) -> Figure:
    """Return the mean of a measure over some questions, as a figure.

    Args:
        questions: Of which questions.
        scored: Their scores, in the same order.
        measure: Its name.
        value: The averaged value.
        group: Grouping that the questions were chosen by.
        name: Their value in it.
        chance: Expected value of guessing.
        note: Caveat.
        cluster: Noun for what intervals resample.
    """
    counted = [(q, s, v) for q, s in zip(questions, scored, strict=True) if (v := value(s)) is not None]
    mean = clustered_mean([v for *_, v in counted], [q.video for q, *_ in counted], noun=cluster)
    with_value = [s for s in scored if s.value is not None] or [s for _, s, _ in counted]
    answered = sum(s.answered for s in with_value) / len(with_value) if with_value else None
    if mean.error == 0 and mean.value in (0, 1) and all(q.options for q, *_ in counted):  # right or wrong, not a score
        edge = _TAIL ** (1 / mean.clusters)
        mean = replace(mean, low=0.0 if mean.value == 0 else edge, high=1.0 if mean.value == 1 else 1 - edge)
        why = f"all {cluster}s score alike: exact interval over {cluster}s (Clopper and Pearson)"
    else:
        hidden = "no question with a key" if any(q.options for q in questions) else "nothing was scored"
        why = mean.note if counted else ("nothing was answered" if with_value else hidden)
    notes = [text for text in (note, why) if text]
    return Figure(
        group, name, measure, mean.value, mean.low, mean.high, mean.n, mean.clusters, answered,
        chance, "; ".join(notes), error=mean.error,
    )  # fmt: skip


def accuracy_figures(
    questions: Sequence[Question], scored: Sequence[Scored], groupings: Sequence[str] = (), order: Sequence[str] = ()
) -> list[Figure]:
    """Return accuracy over all questions (unrecognised answers are wrong), over answered ones, and by category.

    Args:
        questions: All of them.
        scored: Their scores; those without a value (hidden key) are left out.
        groupings: Groupings to go through.
        order: Names of categories in the order in which they are shown; others follow as they come.
    """
    keyed = [(q, s) for q, s in zip(questions, scored, strict=True) if s.value is not None]
    asked, got = [q for q, _ in keyed], [s for _, s in keyed]
    chance = chance_of(asked)
    answered = figure(asked, got, "answered_accuracy", where_answered, chance=chance)
    figures = [figure(asked, got, chance=chance), answered]
    ranks = {name: rank for rank, name in enumerate(order)}
    for grouping in groupings:
        groups = subsets(asked, got, grouping).items()
        for name, subset in sorted(groups, key=lambda item: ranks.get(item[0], len(ranks))):
            figures.append(figure(*subset, group=grouping, name=name, chance=chance_of(subset[0])))
    return figures


PAIR_CHANCE = 0.25
"""Share of pairs that guessing gets right: two answers of two options each."""


def pairs_of(questions: Sequence[Question], scored: Sequence[Scored]) -> tuple[list[Question], list[Scored]]:
    """Return the minimal pairs among questions, each as one question, and their scores: 1 where both are right.

    A question with ``reference["pair"]``, the video of its twin, is paired with the same question of that video that
    has another right answer, of the same model (``reference["model"]``), the first clip with the first. A pair's
    ``video`` is both: intervals of :func:`figure` are clustered by pair. Its value is None where one of the two has
    none; what has no twin is left out.
    """
    members: dict[tuple[Any, ...], dict[str, list[tuple[Question, Scored]]]] = {}
    for question, score in zip(questions, scored, strict=True):
        if _has_twin(question):
            videos = tuple(sorted((question.video, question.reference["pair"])))
            key = (videos, question.text, question.reference.get("model"))
            members.setdefault(key, {}).setdefault(question.video, []).append((question, score))
    pairs, scores = [], []
    for (videos, *_), clips in members.items():
        for (question, first), (other, second) in zip(*(clips.get(video, ()) for video in videos), strict=False):
            if question.answer is not None and question.answer == other.answer:
                continue  # who always says the same has both right
            values = [score.value for score in (first, second) if score.value is not None]
            value = math.prod(values) if len(values) == 2 else None
            pairs.append(replace(question, id=f"{question.id} & {other.id}", video=" & ".join(videos)))
            scores.append(Scored(pairs[-1].id, value, answered=value is not None))
    return pairs, scores


def pair_figures(questions: Sequence[Question], scored: Sequence[Scored], grouping: str = "contrast") -> list[Figure]:
    """Return the share of minimal pairs with both right (:func:`pairs_of`), over all and by a grouping; [] for none.

    The figure over all has a note on the questions of pairs that are left out.
    """
    pairs, scores = pairs_of(questions, scored)
    if not pairs:
        return []
    without = sum(map(_has_twin, questions)) - 2 * len(pairs)
    note = f"left out: {without:,} without a clip of the twin, or with its right answer" if without else ""
    made = partial(figure, measure="pairs", chance=PAIR_CHANCE, cluster="pair")
    groups = subsets(pairs, scores, grouping).items()
    return [made(pairs, scores, note=note), *(made(*subset, group=grouping, name=name) for name, subset in groups)]


def _has_twin(question: Question) -> bool:
    twin = question.reference.get("pair")
    return isinstance(twin, str) and twin != question.video


@dataclass(frozen=True, slots=True)
class ModelDifference:
    """Difference of two models on the same questions.

    Attributes:
        group: Grouping, or "all".
        name: Value in it, or "all".
        measure: The compared measure.
        first: Mean of the first model.
        second: Mean of the second.
        difference: Second minus first.
        low: Lower end of its 95 % interval, bootstrap over videos; None for fewer than three videos.
        high: Upper end.
        p: Of no difference: the models swapped at random video by video.
        p_holm: The same, raised for the other categories of its grouping.
        n: Questions both have a value for.
        clusters: Videos they are about.
        only_first: Questions where the first got more.
        only_second: Questions where the second got more.
        note: Caveat.
    """

    group: str
    name: str
    measure: str
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    p: float
    p_holm: float
    n: int
    clusters: int
    only_first: int
    only_second: int
    note: str = ""


def differences(
    questions: Sequence[Question],
    first: Sequence[Scored],
    second: Sequence[Scored],
    groupings: Sequence[str] = (),
    measure: str = "accuracy",
    cluster: str = "video",
) -> list[ModelDifference]:
    """Compare two models over all questions, and within each category.

    Args:
        questions: The questions.
        first: Scores of the first model, in the same order.
        second: Scores of the second.
        groupings: Groupings to go through; each is a family of its own to Holm's method.
        measure: The measure to compare, where both have it.
        cluster: Noun for what intervals resample.
    """
    rows = [
        (q, a.value, b.value)
        for q, a, b in zip(questions, first, second, strict=True)
        if a.value is not None and b.value is not None
    ]
    asked = [q for q, *_ in rows]
    families = [(ALL, {ALL: list(range(len(rows)))} if rows else {})]
    families += [(grouping, grouped(asked, grouping)) for grouping in groupings]
    tested: list[ModelDifference] = []
    for group, names in families:
        tests = []
        for name, indices in names.items():
            firsts, seconds = (np.array([rows[index][side] for index in indices]) for side in (1, 2))
            deltas, videos = seconds - firsts, [asked[index].video for index in indices]
            codes, count = bootstrap.prompt_codes(videos)
            p = sign_flip_p(np.bincount(codes, deltas, minlength=count).astype(np.float64))
            mean = clustered_mean(deltas.tolist(), videos, noun=cluster)
            tests.append(
                ModelDifference(
                    group, name, measure, float(firsts.mean()), float(seconds.mean()), mean.value or 0.0, mean.low,
                    mean.high, p, p, mean.n, mean.clusters, int((deltas < 0).sum()), int((deltas > 0).sum()), mean.note,
                )
            )  # fmt: skip
        tested += corrected(tests)
    return tested
