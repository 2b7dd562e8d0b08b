"""Part 4 of an audit: a score compared with people, with pairs of known order and with real footage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import factorial, isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, norm
from scipy.stats import t as student

from vmmetrics.alignment import levels
from vmmetrics.alignment.audit.calls import Limits
from vmmetrics.alignment.audit.effects import FEWEST, function_of
from vmmetrics.alignment.audit.lines import Line, NotTried, PartResult
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.pair_alignments import LESS_MOTION
from vmmetrics.alignment.preference import measure_preferences
from vmmetrics.alignment.probe import cases
from vmmetrics.alignment.readers.columns import first_column, measures_amount
from vmmetrics.alignment.readers.judgements import Judgements, RatingOptions, judgements_of_dimensions
from vmmetrics.alignment.readers.names import match_names
from vmmetrics.alignment.readers.read import matched_study, read_judgements
from vmmetrics.alignment.readers.score_tables import SourceScores
from vmmetrics.alignment.readers.source_table import texts
from vmmetrics.alignment.readers.tables import read_table
from vmmetrics.alignment.reference_values import measure_preference_baselines
from vmmetrics.alignment.study import Sample, Study, clips_with_both, sample_of
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray
from vmmetrics.utils.display.markup import clean
from vmmetrics.utils.statistics.bootstrap import (
    CONFIDENCE,
    LEAST_PROMPTS,
    MEAN_RESAMPLES,
    RESAMPLES,
    SEED,
    Estimate,
    percentile_interval,
    prompt_draws,
)
from vmmetrics.utils.statistics.permutation import BELOW

Scores = Mapping[str, Mapping[str, float]]
"""Score → clip → value."""
_RISK = 1 - CONFIDENCE
_UNSEPARATED = 1 - 1e-12  # below the root at 1 that Newcombe's equation has besides the interval's end


@dataclass(frozen=True, slots=True)
class Truth:
    """What the user knows of clips.

    Attributes:
        ratings: Human ratings and preferences, each in a form that ``vmmetrics align`` reads.
        rating_options: What the user states about them.
        pairs: Table with the columns ``better`` and ``worse``: names of clips.
        footage: True if the clips passed as footage are real footage.
    """

    ratings: tuple[Path, ...] = ()
    rating_options: RatingOptions = field(default_factory=RatingOptions)
    pairs: Path | None = None
    footage: bool = False


class KnownTruth(NamedTuple):
    """A truth as read.

    Attributes:
        ratings: Judgements by name of the source.
        pairs: Better and worse clip, by the names of the scored clips.
        unmatched: Rows of the pairs that are blank or name a clip that was not scored.
    """

    ratings: Mapping[str, Judgements]
    pairs: Sequence[tuple[str, str]]
    unmatched: int


def read_truth(truth: Truth, clips: Sequence[str]) -> KnownTruth:
    """Read ratings and pairs; worth a call before anything is scored, since it finds what cannot be read.

    Args:
        truth: What the user knows.
        clips: Names of the clips that are, or will be, scored.

    Raises:
        SetupError: A file cannot be read, holds no judgement or lacks a column, or a name may be that of several clips.
    """
    ratings = {}
    for path in truth.ratings:
        judged = read_judgements(path, clips, truth.rating_options)
        if truth.rating_options.dimensions:
            judged = judgements_of_dimensions(judged, truth.rating_options.dimensions)
        if not judged.dimensions:
            raise SetupError("; ".join((f"{path} contains no rating and no preference", *judged.notes)))
        ratings[path.stem if path.stem not in ratings else str(path)] = judged
    if truth.pairs is None:
        return KnownTruth(ratings, (), 0)
    table = read_table(truth.pairs, "pairs")
    columns = [first_column(table.columns, (name,)) for name in ("better", "worse")]
    if None in columns:
        raise SetupError(f"{truth.pairs}: expected columns better and worse, names of clips, but got {table.heading}")
    rows = list(zip(*(texts(table, column) for column in columns), strict=True))
    named = list(dict.fromkeys(name for row in rows for name in row if name is not None))
    matched = match_names(clips, named, sides=("scores", str(truth.pairs))).pairs
    scored_as = {named[theirs]: clips[ours] for ours, theirs in matched}
    pairs = [
        (scored_as[one], scored_as[two]) for one, two in rows if one in scored_as and two in scored_as and one != two
    ]
    return KnownTruth(ratings, list(dict.fromkeys(pairs)), len(rows) - len(pairs))


def scored(target: Target, limits: Limits, clips: Iterable[Clip]) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Score clips by a target, one at a time.

    Args:
        target: The target.
        limits: Of its process.
        clips: Clips of different names.

    Returns:
        Score → clip → value, all finite; and clip → why it lacks a score.

    Raises:
        ValueError: Two clips have the same name.
    """
    source = cases.FunctionSource(function_of(target, limits))
    scores: dict[str, dict[str, float]] = {}
    reasons: dict[str, str] = {}
    names: set[str] = set()
    for clip in clips:
        if clip.name in names:
            raise ValueError(f"Expected clips of different names but got {clip.name!r} twice")
        names.add(clip.name)
        outcome = cases.score([source], clip)
        for name, value in outcome["scores"].items():
            scores.setdefault(name, {})[clip.name] = value
        why = [f"{name}: {reason}" for kind in ("missing", "errors") for name, reason in outcome[kind].items()]
        if why:
            reasons[clip.name] = "; ".join(why)
    return scores, reasons


def people(
    scores: Scores,
    target: Target,
    truth: Truth,
    *,
    footage: Scores | None = None,
    worse: Scores | None = None,
    amplitude: Mapping[str, float] | None = None,
    tests: int = 1,
) -> PartResult:
    """Compare scores with what is known of clips.

    The effect of a line is a correlation, or a share of comparisons less one half: 0 is chance, and above 0 is good
    where the direction of the score is known (lower-is-better scores are turned). Where it is not, and for amounts of
    motion, a line is a note.

    Args:
        scores: Of the user's clips.
        target: Directions and kinds of the scores.
        truth: What the user knows of the clips.
        footage: Scores of real footage.
        worse: Scores of clips that are known to be worse.
        amplitude: Amount of motion by clip.
        tests: Lines of the card among which the risk of 5 % is shared.

    Raises:
        SetupError: As of :func:`read_truth`.
    """
    clips = list(dict.fromkeys(clip for of in scores.values() for clip in of))
    known = read_truth(truth, clips)
    lines: list[Line] = []
    left: list[NotTried] = []
    against = footage if truth.footage else None
    for check, why in (
        ("ratings", "" if truth.ratings else "no human ratings were given"),
        ("pairs", "" if truth.pairs else "no pairs of known order were given"),
        ("footage", "" if against is not None else "no clips were said to be real footage"),
        ("worse", "" if worse is not None else "no clips known to be worse were given"),
    ):
        if why:
            left.append(NotTried("people", check, why))
    for name, values in scores.items():
        one = _OneScore(name, target, max(1, tests))
        for source, judged in known.ratings.items():
            prefix = f"{source}: " if len(known.ratings) > 1 else ""
            lines += one.against_ratings(prefix, judged, clips, values, amplitude)
        if truth.pairs is not None:
            lines.append(one.against_pairs(known, values))
        if against is not None:
            words = ("real footage wins", "real footage does not win")
            lines.append(
                one.of_groups("footage", "Real footage against the clips", against.get(name, {}), values, words)
            )
        if worse is not None:
            words = ("better than the worse clips", "no better than the worse clips")
            lines.append(
                one.of_groups("worse", "Clips against clips known to be worse", values, worse.get(name, {}), words)
            )
    return PartResult(lines, left)


class _Figure(NamedTuple):
    """A figure less its value by chance, ends of its interval, its side of chance (0: not told apart), and a remark."""

    value: float
    low: float | None
    high: float | None
    side: int
    remark: str = ""

    def shown(self, form: str, chance: float = 0.0) -> str:
        """Return the figure and its interval as text."""
        ends = [f"{chance + end:{form}}" for end in (self.low, self.high) if end is not None]
        return f"{chance + self.value:{form}}" + (f" [{', '.join(ends)}]" if ends else "") + self.remark


def _correlation(figure: Estimate, prompts: int, tests: int, *, permuted: bool = False) -> _Figure | str:
    """Return a correlation with its interval at the level of the card, or why it has none.

    The interval of ``align`` is widened on Fisher's scale, on which it is Student's; one by permutation has no width at
    another level, so p decides there. Samples that all say the same prove no more than the orders of the prompts do.
    """
    if figure.value is None:
        return figure.note or "no correlation"
    if figure.low is None or figure.high is None or figure.p is None:
        return f"{figure.value:+.2f}, without an interval: {figure.note}"
    ends, p, remark = (figure.low, figure.high), figure.p, ""
    if permuted:
        remark = " (95 %, by permutation, not corrected for the card)" if tests > 1 else ""
    elif figure.low == figure.high:
        p, remark = 2 / factorial(min(prompts, 100)), " (in every bootstrap sample)"
    else:
        centre, low, high = np.arctanh(np.clip((figure.value, *ends), -_UNSEPARATED, _UNSEPARATED))
        wider = student.ppf(1 - _RISK / tests / 2, prompts - 2) / student.ppf(1 - _RISK / 2, prompts - 2)
        reach = max(high - centre, centre - low) * wider
        ends = (float(np.tanh(centre - reach)), float(np.tanh(centre + reach)))
    side = int(np.sign(figure.value)) if p < _RISK / tests else 0
    return _Figure(figure.value, *ends, side, remark)


def _share(value: float, low: float, high: float) -> _Figure:
    return _Figure(value - 0.5, low - 0.5, high - 0.5, int(low > 0.5) - int(high < 0.5))


def binomial_interval(wins: float, count: int, tests: int = 1) -> tuple[float, float]:
    """Return the exact interval (Clopper and Pearson 1934) of a share, at 95 % for all of ``tests`` lines together.

    >>> [round(end, 3) for end in binomial_interval(8, 10)]
    [0.444, 0.975]
    """
    tail = _RISK / tests / 2
    low = float(beta.ppf(tail, wins, count - wins + 1)) if wins > 0 else 0.0
    return low, float(beta.ppf(1 - tail, wins + 1, count - wins)) if wins < count else 1.0


def winning_share(first: Sequence[float], second: Sequence[float], tests: int = 1) -> tuple[float, float, float]:
    """Return the share of pairs in which the value of the first group is higher, ties as half, and its interval.

    The interval is of bootstrap samples of both groups, or Newcombe's (Statistics in Medicine 2006, method 5) where
    that reaches farther: groups of few clips that do not overlap have no width in samples.

    >>> winning_share([3.0, 4.0], [1.0, 3.0])[0]
    0.875
    """
    one, other = np.asarray(first, np.float64)[:, None], np.asarray(second, np.float64)
    wins: FloatArray = (one > other) + 0.5 * (one == other)
    rows, columns = wins.shape
    value, tail = float(wins.mean()), _RISK / tests / 2
    drawn = zip(prompt_draws(rows, MEAN_RESAMPLES, SEED), prompt_draws(columns, MEAN_RESAMPLES, SEED + 1), strict=True)
    low, high = percentile_interval(np.array([a @ wins @ b for a, b in drawn]) / wins.size, tail)
    assert low is not None and high is not None  # noqa: S101, PT018  (every sample defines a share)
    squared = float(norm.isf(tail)) ** 2

    def lower(share: float) -> float:
        def beyond(true: float) -> float:
            spread = 1 + ((rows + columns) / 2 - 1) * ((1 - true) / (2 - true) + true / (1 + true))
            return (share - true) ** 2 - squared * true * (1 - true) * spread / wins.size

        return float(brentq(beyond, 0.0, min(share, _UNSEPARATED))) if share > 0 else 0.0

    return value, min(low, lower(value)), max(high, 1 - lower(1 - value))


class _OneScore:
    """Lines of one score."""

    def __init__(self, name: str, target: Target, tests: int) -> None:
        self._name, self._tests = name, tests
        self._is_amount, direction = target.is_amount(name), target.direction(name)
        self._sign = -1.0 if direction is False and not self._is_amount else 1.0
        self._neutral = "" if direction is not None else "no direction was stated"
        if self._is_amount:
            self._neutral = "an amount of motion, of which neither more nor less is better"

    def _turned(self, values: Mapping[str, float]) -> dict[str, float]:
        return {clip: self._sign * value for clip, value in values.items() if isfinite(value)}

    def _line(
        self, check: str, title: str, figure: _Figure | str, text: str, words: tuple[str, str], clips: int, neutral: str
    ) -> Line:
        """Return a line; a figure that is text says why there is none."""
        check, title = clean(check), clean(title)
        if isinstance(figure, str):
            why = clean(f"{figure}{text}")
            return Line("people", check, title, "open", "not told apart", why, score=self._name, clips=clips)
        good, bad = words
        side = figure.side
        if not side:
            grade, verdict = "open", "not told apart"
        elif neutral:
            grade, verdict = "note", f"{'higher' if side > 0 else 'lower'}: {neutral}"
        else:
            grade, verdict = ("good", good) if side > 0 else ("bad", bad)
        return Line(
            "people", check, title, grade, verdict, clean(text), score=self._name, effect=figure.value,
            low=figure.low, high=figure.high, clips=clips, expected=None if neutral else good,
        )  # type: ignore[arg-type]  # fmt: skip

    # Ratings and judged pairs, by the machinery of ``align``.

    def against_ratings(
        self, prefix: str, judged: Judgements, clips: Sequence[str], values: Mapping[str, float],
        amplitude: Mapping[str, float] | None,
    ) -> list[Line]:  # fmt: skip
        """Return the lines of every dimension of one source of judgements."""
        turned, none = self._turned(values), (None,) * len(clips)
        column = np.array([turned.get(clip, np.nan) for clip in clips])
        moves = None if amplitude is None else np.array([amplitude.get(clip, np.nan) for clip in clips])
        try:
            study = matched_study(
                SourceScores("scores", tuple(clips), none, none, {self._name: column}, amplitude=moves), judged
            )
        except SetupError as error:
            return [self._line("agreement", f"{prefix}agreement with people", str(error), "", ("", ""), 0, "")]
        lines = [line for d in study.ratings for line in self._agreement(prefix, study, d)]
        return lines + [self._preferred(prefix, study, d) for d, of in study.preferences.items() if of.outcome.size]

    def _about(self, dimension: str) -> str:
        """Return why a dimension is no measure of this score, or ""."""
        if measures_amount(dimension):
            return "" if self._is_amount else "people rated an amount of motion here, not how good it is"
        return self._neutral

    def _agreement(self, prefix: str, study: Study, dimension: str) -> list[Line]:
        both = clips_with_both(study, self._name, dimension)
        sample, amount = sample_of(study, dimension, [self._name], both), study.amount_of_motion()
        calm = None
        if amount is not None and (moving := both & np.isfinite(amount)).sum() >= FEWEST:
            calm = sample_of(replace(study, scores={LESS_MOTION: -amount}), dimension, [LESS_MOTION], moving)
        count, name = len(sample.ratings), f"{prefix}{dimension}"
        lost = len(study.matching.ratings_only)
        lines = []
        for check, title in _LEVELS.items():
            figure: _Figure | str = f"{count} clips have a score and a rating, and it takes {FEWEST}"
            rest = ""
            if count >= FEWEST:
                figure = _at_level(check, sample, self._tests)
            if calm is not None and check != "amplitude constant":
                alone = _at_level(check, calm, self._tests)
                rest = f"; less motion alone: {alone if isinstance(alone, str) else alone.shown('+.2f')}"
            if check == "amplitude constant" and not any(sample.models):
                rest += "; all clips taken as of one model, since theirs are not known"
            rest += f"; {lost} rated clips were not scored" if lost else ""
            if isinstance(figure, _Figure):
                rest = f"Spearman {figure.shown('+.2f')} on {count} clips{rest}"
            line = self._line(
                f"{check}: {name}",
                f"{name}: {title}",
                figure,
                rest,
                ("agrees", "disagrees"),
                count,
                self._about(dimension),
            )
            lines.append(line)
        return lines

    def _preferred(self, prefix: str, study: Study, dimension: str) -> Line:
        """Return the line of pairs that people judged; the bootstrap's interval of 95 % is not widened, p decides."""
        drawn = (max(RESAMPLES, int(2 * self._tests / _RISK)), SEED)
        accuracy = measure_preferences(study, dimension, [self._name], *drawn, combined=())[0].accuracy
        name, count = f"{prefix}{dimension}", accuracy.n
        figure: _Figure | str = accuracy.note or f"{count} pairs were judged, and it takes {FEWEST}"
        text = ""
        if None not in (accuracy.value, accuracy.low, accuracy.high, accuracy.p) and count >= FEWEST:
            p = max(accuracy.p, 2.0 ** (1 - count))  # type: ignore[type-var]  # of which none is None
            side = int(np.sign(accuracy.value - 0.5)) if p < _RISK / self._tests else 0  # type: ignore[operator]
            ends = [float(of) - 0.5 for of in (accuracy.value, accuracy.low, accuracy.high)]  # type: ignore[arg-type]
            figure = _Figure(*ends, side, " (95 %, not corrected for the card)" if self._tests > 1 else "")  # type: ignore[misc]
            text = f"prefers the clip that people prefer in {figure.shown('.0%', 0.5)} of {count} judged pairs, ties as half"
        for calm in measure_preference_baselines(study, dimension, *drawn):
            if calm.name == LESS_MOTION and calm.accuracy.value is not None:
                text += f"; less motion alone: {calm.accuracy.value:.0%}"
        words = ("agrees", "disagrees")
        return self._line(
            f"preferences: {name}",
            f"{name}: pairs that people judged",
            figure,
            text,
            words,
            len(study.clips),
            self._about(dimension),
        )

    # What is known of clips without ratings.

    def against_pairs(self, known: KnownTruth, values: Mapping[str, float]) -> Line:
        """Return the line of pairs of known order."""
        turned = self._turned(values)
        pairs = [(turned[one], turned[two]) for one, two in known.pairs if one in turned and two in turned]
        clips = len({clip for pair in known.pairs for clip in pair if clip in turned})
        lost = known.unmatched + len(known.pairs) - len(pairs)
        rest = f"; {lost} rows left out: repeated, blank or without two scores" if lost else ""
        figure: _Figure | str = f"{len(pairs)} pairs have two scores, and it takes {FEWEST}"
        if len(pairs) >= FEWEST:
            ties = sum(one == two for one, two in pairs)
            wins = sum(one > two for one, two in pairs) + ties / 2
            figure = _share(wins / len(pairs), *binomial_interval(wins, len(pairs), self._tests))
            shared = "; pairs that share a clip count as independent" if clips < 2 * len(pairs) else ""
            rest = (
                f"the better clip scores better in {figure.shown('.0%', 0.5)} of {len(pairs)} pairs, "
                f"{ties} ties as half{shared}{rest}"
            )
        words = ("the better clip wins", "the worse clip wins")
        return self._line("pairs", "Pairs of known order", figure, rest, words, clips, self._neutral)

    def of_groups(
        self, check: str, title: str, first: Mapping[str, float], second: Mapping[str, float], words: tuple[str, str]
    ) -> Line:
        """Return the line of two groups of clips, of which the first should score better."""
        one, other = list(self._turned(first).values()), list(self._turned(second).values())
        clips, rest = len(one) + len(other), ""
        figure: _Figure | str = f"{len(one)} and {len(other)} clips have a score, and it takes {FEWEST} of either"
        if min(len(one), len(other)) >= FEWEST:
            figure = "the scores are all the same"
            if len({*one, *other}) > 1:
                figure = _share(*winning_share(one, other, self._tests))
                rest = (
                    f"the first wins {figure.shown('.0%', 0.5)} of the comparisons of {len(one)} clips with {len(other)}, "
                    "ties as half"
                )
        return self._line(check, title, figure, rest, words, clips, self._neutral)


_LEVELS = {
    "agreement": "agreement over all clips",
    "within models": "agreement among clips of one model",
    "amplitude constant": "agreement among clips of one model, amount of motion constant",
}


def _at_level(level: str, sample: Sample, tests: int) -> _Figure | str:
    """Return Spearman of a sample of one metric at one of the levels."""
    drawn = (RESAMPLES, SEED)
    if level == "agreement":
        return _correlation(levels.overall_spearman(sample, *drawn)[0], len(set(sample.prompts)), tests)
    if level == "amplitude constant" and not any(sample.models):
        sample = replace(sample, models=("all",) * len(sample.models))
    prompts = len(set(sample.with_named_models().prompts))
    if level == "within models":
        permuted = LEAST_PROMPTS <= prompts < BELOW
        return _correlation(levels.within_model(sample, *drawn)[0].mean, prompts, tests, permuted=permuted)
    return _correlation(levels.amplitude_constant(sample, *drawn)[0], prompts, tests)
