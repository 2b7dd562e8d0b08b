"""Part 4 of an audit: a score compared with people, with pairs of known order and with real footage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import factorial, isfinite
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from vmmetrics.alignment import levels
from vmmetrics.alignment.audit.effects import FEWEST
from vmmetrics.alignment.audit.lines import Grade, Line, NotTried, PartResult
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.audit.truth import KnownTruth, Truth, read_truth
from vmmetrics.alignment.pair_alignments import LESS_MOTION
from vmmetrics.alignment.preference import measure_preferences
from vmmetrics.alignment.readers.columns import measures_amount
from vmmetrics.alignment.readers.judgements import Judgements
from vmmetrics.alignment.readers.read import matched_study
from vmmetrics.alignment.readers.score_tables import SourceScores
from vmmetrics.alignment.study import Sample, Study, clips_with_both, sample_of
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import clean
from vmmetrics.utils.statistics.bootstrap import CONFIDENCE, LEAST_PROMPTS, RESAMPLES, SEED, Estimate
from vmmetrics.utils.statistics.permutation import BELOW
from vmmetrics.utils.statistics.shares import binomial_interval, winning_share

Scores = Mapping[str, Mapping[str, float]]
"""Score → clip → value."""
_RISK = 1 - CONFIDENCE
_PERFECT, _NEAR_ONE = 1 - 1e-6, 1 - 1e-15  # what a perfect order counts as in ``align``; ends of its interval


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
    if not clips:
        return PartResult((), [NotTried("people", "", "no clip has a score")])
    known = read_truth(truth, clips)
    lines: list[Line] = []
    footage = footage if truth.footage else None
    given = {
        ("ratings", "no human ratings were given"): bool(truth.ratings),
        ("pairs", "no pairs of known order were given"): truth.pairs is not None,
        ("footage", "no clips were said to be real footage"): footage is not None,
        ("worse", "no clips known to be worse were given"): worse is not None,
    }
    for name, values in scores.items():
        one = _OneScore(name, values, target, max(1, tests))
        for source, judged in known.ratings.items():
            lines += one.against_ratings(f"{source}: " if len(known.ratings) > 1 else "", judged, clips, amplitude)
        lines += [one.against_pairs(known)] if truth.pairs is not None else []
        for check, others in (("footage", footage), ("worse", worse)):
            lines += [one.against_group(check, others.get(name, {}))] if others is not None else []
    return PartResult(lines, [NotTried("people", *what) for what, is_there in given.items() if not is_there])


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
    another level, so p decides there. No p is below that of the best of all orders of the prompts.
    """
    if figure.value is None:
        return figure.note or "no correlation"
    if figure.low is None or figure.high is None or figure.p is None:
        return f"{figure.value:+.2f}, without an interval: {figure.note}"
    ends, p, remark = (figure.low, figure.high), figure.p, ""
    if permuted:
        remark = " (95 %, by permutation, not corrected for the card)" if tests > 1 else ""
    elif figure.low == figure.high:
        p, remark = 0.0, " (in every bootstrap sample)"
    else:
        centre = np.arctanh(np.clip(figure.value, -_PERFECT, _PERFECT))
        low, high = np.arctanh(np.clip(ends, -_NEAR_ONE, _NEAR_ONE))
        wider = student.ppf(1 - _RISK / tests / 2, prompts - 2) / student.ppf(1 - _RISK / 2, prompts - 2)
        reach = max(high - centre, centre - low) * wider
        ends = (float(np.tanh(centre - reach)), float(np.tanh(centre + reach)))
    least = 2 / factorial(min(prompts, 20))
    remark += f" ({prompts} prompts cannot pass at the level of the card)" if p < _RISK / tests <= least else ""
    side = int(np.sign(figure.value)) if max(p, least) < _RISK / tests else 0
    return _Figure(figure.value, *ends, side, remark)


def _share(value: float, low: float, high: float) -> _Figure:
    return _Figure(value - 0.5, low - 0.5, high - 0.5, int(low > 0.5) - int(high < 0.5))


class _OneScore:
    """Lines of one score, given its values by clip and the number of lines that share the risk."""

    def __init__(self, name: str, values: Mapping[str, float], target: Target, tests: int) -> None:
        self._name, self._tests, direction = name, tests, target.direction(name)
        self._is_amount = target.is_amount(name)
        self._sign = -1.0 if direction is False and not self._is_amount else 1.0
        self._neutral = "no direction was stated" if direction is None else ""
        if self._is_amount:
            self._neutral = "an amount of motion, of which neither more nor less is better"
        self._values = self._turned(values)

    def _turned(self, values: Mapping[str, float]) -> dict[str, float]:
        return {clip: self._sign * value for clip, value in values.items() if isfinite(value)}

    def _line(
        self,
        check: str,
        title: str,
        figure: _Figure | str,
        text: str,
        *,
        clips: int = 0,
        words: tuple[str, str] = ("agrees", "disagrees"),
        neutral: str | None = None,
    ) -> Line:
        """Return a line; a figure that is text says why there is none, ``neutral`` why neither side is good."""
        measured = None if isinstance(figure, str) else figure.value
        if isinstance(figure, str):
            figure, text = _Figure(0.0, None, None, 0), f"{figure}{text}"
        neutral = self._neutral if neutral is None else neutral
        grade: Grade = "good" if figure.side > 0 else "bad" if figure.side else "open"
        verdict = {1: words[0], 0: "not told apart", -1: words[1]}[figure.side]
        if figure.side and neutral:
            grade, verdict = "note", f"{'higher' if figure.side > 0 else 'lower'}: {neutral}"
        return Line(
            "people", clean(check), clean(title), grade, verdict, clean(text), score=self._name, effect=measured,
            low=figure.low, high=figure.high, clips=clips, expected=None if neutral else words[0],
        )  # fmt: skip

    # Ratings and judged pairs, by the machinery of ``align``.

    def against_ratings(
        self, prefix: str, judged: Judgements, clips: Sequence[str], amplitude: Mapping[str, float] | None
    ) -> list[Line]:
        """Return the lines of every dimension of one source of judgements."""
        column, moves = (np.array([of.get(c, np.nan) for c in clips]) for of in (self._values, amplitude or {}))
        none = (None,) * len(clips)
        try:
            study = matched_study(
                SourceScores("", tuple(clips), none, none, {self._name: column}, amplitude=moves), judged
            )
        except SetupError as error:
            return [self._line("agreement", f"{prefix}agreement with people", str(error), "")]
        lines = [line for d in study.ratings for line in self._agreement(prefix, study, d)]
        return lines + [self._preferred(prefix, study, d) for d, of in study.preferences.items() if of.outcome.size]

    def _about(self, dimension: str) -> str:
        """Return why agreement with a dimension is neither good nor bad, or ""."""
        if measures_amount(dimension):
            return "" if self._is_amount else "people rated an amount of motion, not how good it is"
        return self._neutral

    def _agreement(self, prefix: str, study: Study, dimension: str) -> list[Line]:
        both = clips_with_both(study, self._name, dimension)
        sample, amount = sample_of(study, dimension, [self._name], both), study.amount_of_motion()
        count, lost, calm = len(sample.ratings), len(study.matching.ratings_only), None
        if amount is not None and (moving := both & np.isfinite(amount)).sum() >= FEWEST:
            calm = sample_of(replace(study, scores={LESS_MOTION: -amount}), dimension, [LESS_MOTION], moving)
        lines = []
        for level, title in _LEVELS.items():
            figure: _Figure | str = f"{count} clips have a score and a rating, and it takes {FEWEST}"
            text = ""
            if count >= FEWEST:
                figure = _at_level(level, sample, self._tests)
            if isinstance(figure, _Figure):
                text = f"Spearman {figure.shown('+.2f')} on {count} clips"
                if level == _CONSTANT and not any(sample.models):
                    text += "; taken as clips of one model, since their models are not known"
            if calm is not None and level != _CONSTANT:
                alone = _at_level(level, calm, self._tests)
                text += "" if isinstance(alone, str) else f"; less motion alone: {alone.shown('+.2f')}"
            text += f"; {lost} rated clips have no score" if lost else ""
            name = f"{prefix}{dimension}"
            about = self._about(dimension)
            lines.append(self._line(f"{level}: {name}", f"{name}: {title}", figure, text, clips=count, neutral=about))
        return lines

    def _preferred(self, prefix: str, study: Study, dimension: str) -> Line:
        """Return the line of pairs that people judged."""
        # enough samples that p, which is 2 / (samples + 1) at least, can pass at the level of the card
        resamples = max(RESAMPLES, int(2 * self._tests / _RISK) + 1)
        found = measure_preferences(study, dimension, [self._name], resamples, SEED, combined=())[0].accuracy
        value, low, high, p, count = found.value, found.low, found.high, found.p, found.n
        figure: _Figure | str = found.note or f"{count} judged pairs have two scores, and it takes {FEWEST}"
        text, name = "", f"{prefix}{dimension}"
        if value is not None and low is not None and high is not None and p is not None and count >= FEWEST:
            side = int(np.sign(value - 0.5)) if max(p, 2.0 ** (1 - count)) < _RISK / self._tests else 0
            remark = " (95 %, not corrected for the card)" if self._tests > 1 else ""
            figure = _Figure(value - 0.5, low - 0.5, high - 0.5, side, remark)
            text = f"with people in {figure.shown('.0%', 0.5)} of {count} pairs, ties as half"
        title, about = f"{name}: pairs that people judged", self._about(dimension)
        return self._line(f"preferences: {name}", title, figure, text, clips=len(study.clips), neutral=about)

    # What is known of clips without ratings.

    def against_pairs(self, known: KnownTruth) -> Line:
        """Return the line of pairs of known order."""
        scores = self._values
        pairs = [(scores[one], scores[two]) for one, two in known.pairs if one in scores and two in scores]
        clips = len({clip for pair in known.pairs if all(c in scores for c in pair) for clip in pair})
        lost = known.left_out + len(known.pairs) - len(pairs)
        text = f"; {lost} rows left out: blank, repeated or without two scores" if lost else ""
        figure: _Figure | str = f"{len(pairs)} pairs have two scores, and it takes {FEWEST}"
        if len(pairs) >= FEWEST:
            ties = sum(one == two for one, two in pairs)
            wins = sum(one > two for one, two in pairs) + ties / 2
            figure = _share(wins / len(pairs), *binomial_interval(wins, len(pairs), self._tests))
            shared = "; pairs that share a clip count as independent" if clips < 2 * len(pairs) else ""
            share = f"{figure.shown('.0%', 0.5)} of {len(pairs)} pairs, {ties} ties as half"
            text = f"scores the better clip better in {share}{shared}{text}"
        words = ("better clip wins", "worse clip wins")
        return self._line("pairs", "Pairs of known order", figure, text, clips=clips, words=words)

    def against_group(self, check: str, others: Mapping[str, float]) -> Line:
        """Return the line of real footage, which should score better, or of worse clips, which should not."""
        title, *words = _GROUPS[check]
        groups = [list(of.values()) for of in (self._values, self._turned(others))]
        one, other = reversed(groups) if check == "footage" else groups
        clips, text = len(one) + len(other), ""
        figure: _Figure | str = f"{len(one)} and {len(other)} clips have a score, and it takes {FEWEST} on either side"
        if min(len(one), len(other)) >= FEWEST:
            figure = "the scores are all the same"
            if len({*one, *other}) > 1:
                figure = _share(*winning_share(one, other, self._tests))
                share, sides = figure.shown(".0%", 0.5), f"{len(one)} × {len(other)}"
                text = f"{words[0]}: in {share} of {sides} comparisons, ties as half"
        return self._line(check, title, figure, text, clips=clips, words=(words[0], words[1]))


_GROUPS = {
    "footage": ("Real footage", "real footage wins", "real footage does not win"),
    "worse": ("Clips known to be worse", "better than worse clips", "no better than worse clips"),
}
_CONSTANT = "amplitude constant"
_LEVELS = {
    "agreement": "agreement over all clips",
    "within models": "agreement among clips of one model",
    _CONSTANT: "agreement among clips of one model at a constant amount of motion",
}


def _at_level(level: str, sample: Sample, tests: int) -> _Figure | str:
    """Return Spearman of a sample of one metric at one of the levels."""
    drawn = (RESAMPLES, SEED)
    if level == "agreement":
        return _correlation(levels.overall_spearman(sample, *drawn)[0], len(set(sample.prompts)), tests)
    if level == _CONSTANT and not any(sample.models):
        sample = replace(sample, models=("all",) * len(sample.models))
    prompts = len(set(sample.with_named_models().prompts))
    if level == _CONSTANT:
        return _correlation(levels.amplitude_constant(sample, *drawn)[0], prompts, tests)
    permuted = LEAST_PROMPTS <= prompts < BELOW
    return _correlation(levels.within_model(sample, *drawn)[0].mean, prompts, tests, permuted=permuted)
