"""Figures of a study: opinion scores with intervals, strengths, agreement, and what is still to do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from vmmetrics.errors import SetupError
from vmmetrics.rating.designs import Design, design_of
from vmmetrics.rating.flags import Criterion, judge, preferences_of, used, votes_of
from vmmetrics.rating.journal import State, given_out
from vmmetrics.rating.moments import ClipMarks, rater_agreement
from vmmetrics.rating.study import Study
from vmmetrics.rating.trials import Item, Session
from vmmetrics.utils.statistics.agreement import alpha_statistic, icc_statistic, recover_mos
from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate, Statistic, estimate, quotient, sampled
from vmmetrics.utils.statistics.bradley_terry import Strengths, fit_strengths
from vmmetrics.utils.statistics.clusters import (
    PROMPT_SHARE,
    Z95,
    design_effect,
    prompt_share,
    smallest_within_model,
)
from vmmetrics.utils.statistics.preferences import TIE, Preference

Votes = NDArray[np.floating[Any]]
"""Votes on items, or weights of items."""
_UNDEFINED = "votes do not differ, or no two raters share items"
LEAST_PAIRS = 3
"""Pairs of one model from which a share has an interval."""
LEAST_RECOVERED = 3
"""Raters from which bias and inconsistency are taken out of opinion scores."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """Opinion score of an item in a dimension.

    Attributes:
        item: The item.
        votes: Votes that count.
        mean: Their mean (MOS).
        deviation: Their standard deviation; None for one vote.
        low: Lower end of the 95 % interval of the mean (Student's t); None for one vote.
        high: Upper end.
        recovered: Quality with each rater's bias and inconsistency taken out (P.910, P.913), or None where the
            solver collapsed, or fewer than two raters are left.
        recovered_low: Lower end of its 95 % interval (Student's t; of another panel of raters).
        recovered_high: Upper end.
    """

    item: str
    votes: int
    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    recovered: float | None
    recovered_low: float | None
    recovered_high: float | None


@dataclass(frozen=True)
class Results:
    """A study with its answers.

    Attributes:
        study: The study.
        design: Its design.
        state: Its answers.
        judged: Criteria of each session.
        counted: Sessions whose answers count.
    """

    study: Study
    design: Design
    state: State
    judged: Mapping[str, Sequence[Criterion]]
    counted: Sequence[Session]

    @classmethod
    def of(cls, study: Study, state: State) -> Results:
        """Return the results of a study."""
        design = design_of(study)
        judged = judge(design, state)
        return cls(study, design, state, judged, used(state, judged))

    def table(self, dimension: str) -> tuple[list[Item], list[str], Votes]:
        """Return items with votes, raters, and (items, raters) votes, NaN where there is none."""
        given: dict[str, dict[str, float]] = {}
        for session in self.counted:
            given.setdefault(session.rater, {}).update(votes_of(self.design, session, dimension))
        voted = set[str]().union(*given.values())
        items = [item for key, item in self.design.items.items() if key in voted]
        row = {item.key: number for number, item in enumerate(items)}
        votes = np.full((len(items), len(given)), math.nan)
        for column, own in enumerate(given.values()):
            votes[[row[key] for key in own], column] = list(own.values())
        return items, list(given), votes

    def opinions(self, dimension: str) -> tuple[list[Opinion], str]:
        """Return the opinion score of each item, and limits of those recovered, or ""."""
        items, raters, votes = self.table(dimension)
        if not items:
            return [], ""
        recovered = recover_mos(votes.T)
        present = ~np.isnan(votes)
        enough = len(raters) >= LEAST_RECOVERED and not recovered.collapsed
        usable = ~np.isnan(recovered.inconsistency) & enough
        precision = 1 / np.maximum(np.nan_to_num(recovered.inconsistency, nan=1.0), 0.1) ** 2
        weights = np.where(present & usable, precision, 0.0)
        panel = np.nanvar(recovered.bias[usable], ddof=1) if usable.sum() > 1 else 0.0  # another panel, another mean
        opinions = []
        for number, item in enumerate(items):
            own = votes[number][present[number]]
            deviation = float(own.std(ddof=1)) if own.size > 1 else None
            half = None if deviation is None else float(stdtrit(own.size - 1, 0.975)) * deviation / own.size**0.5
            mean, quality = float(own.mean()), float(recovered.quality[number])
            given = weights[number][weights[number] > 0]
            has, width = given.size > 1 and not math.isnan(quality), 0.0
            if has:
                spread = panel * (given**2).sum() / given.sum() ** 2
                width = float(stdtrit(given.size - 1, 0.975)) * math.sqrt(1 / given.sum() + spread)
            opinions.append(
                Opinion(
                    item.key, own.size, mean, deviation,
                    None if half is None else mean - half, None if half is None else mean + half,
                    *((quality, quality - width, quality + width) if has else (None, None, None)),
                )
            )  # fmt: skip
        return opinions, recovered.note

    def preferences(self, dimension: str) -> list[Preference]:
        """Return the votes on pairs that count."""
        return preferences_of(self.design, self.counted, dimension)

    def strengths(self, dimension: str) -> Strengths | None:
        """Return the Bradley-Terry strengths of the clips, or None where every vote is a tie, or there is none."""
        votes = self.preferences(dimension)
        try:
            return fit_strengths(votes) if any(vote.outcome != TIE for vote in votes) else None
        except SetupError:
            return None

    def marked(self) -> list[ClipMarks]:
        """Return what raters marked in each clip, or no clips in designs without marks."""
        clips = {key: ClipMarks(self.study.clips[key].clip, item.prompt, self.design.seconds(item.clips), {})
                 for key, item in self.design.items.items() if self.design.marks}  # fmt: skip
        for session in self.counted:
            for at, answer in session.answers.items():
                if clips and session.trials[at].is_vote:
                    clips[session.trials[at].item].marks[session.rater] = answer.marks
        return [clip for clip in clips.values() if clip.marks]

    def agreement(self, dimension: str, resamples: int = RESAMPLES) -> dict[str, Estimate]:
        """Return the agreement of raters: α (ordinal), and ICC of opinions or the share of equal votes on pairs.

        Of marks, that of :func:`~vmmetrics.rating.moments.rater_agreement` as well.
        """
        of_marks = rater_agreement(self.marked(), resamples) if self.design.marks else {}
        return of_marks | self._agreement(dimension, resamples)

    def _agreement(self, dimension: str, resamples: int) -> dict[str, Estimate]:
        items, _, votes = self.table(dimension)
        names = ("α (ordinal)", *(("ICC(2,1)", "ICC(2,k)") if self.design.opinions else ("equal votes",)))
        if not items or not ((~np.isnan(votes)).sum(axis=1) > 1).any():
            return dict.fromkeys(names, Estimate(None, note="no item has two votes"))
        alpha = alpha_statistic(votes)
        beside = icc_statistic(votes) if self.design.opinions else _equal_votes(votes, self.design.values)

        def statistic(weights: Votes) -> Votes:
            return np.column_stack([alpha(weights)[:, 1:2], beside(weights)])

        prompts = [item.prompt for item in items]
        observed, samples = sampled(statistic, prompts, resamples, SEED)
        return {name: estimate(float(observed[n]), samples[:, n], prompts, _UNDEFINED) for n, name in enumerate(names)}

    def forecast(self, dimension: str) -> tuple[float | None, float | None]:
        """Return half the 95 % interval of a score's agreement with people inside models: now, and with all votes.

        Of a score that agrees no better than chance: in mean ρ within models
        (:func:`~vmmetrics.utils.statistics.clusters.smallest_within_model`), or in the share of decided pairs of one
        model. None where there are no models, or too few clips of each.
        """
        items, _, votes = self.table(dimension)
        every = list(self.design.items.values())
        if not self.design.opinions:
            decided = np.nansum(votes, axis=1) != 0
            now = [item for item, told in zip(items, decided, strict=True) if told]
            return _half_of_share(now), _half_of_share(every)
        models, means = np.array([item.models[-1] for item in items], object), np.nanmean(votes, axis=1)
        inside = np.array([mean - means[models == model].mean() for mean, model in zip(means, models, strict=True)])
        share = (prompt_share(inside, [item.prompt for item in items]) or 0.0) ** 2
        counts = [Counter(item.models[-1] for item in of if item.models[-1]) for of in (items, every)]
        now_half, end_half = (smallest_within_model([*of.values()], share) for of in counts)
        return now_half, end_half

    @property
    def wanted(self) -> dict[str, int]:
        """Valid votes that items still lack."""
        votes = self.state.votes(self.counted)
        target = self.study.settings.votes
        return {key: target - votes[key] for key in self.design.items if votes[key] < target}

    @property
    def open_sessions(self) -> int:
        """Sessions under way, those that were given out included."""
        moment, sessions = datetime.now(UTC), given_out(self.study, self.state) | self.state.sessions
        return sum(session.holds(moment, self.design.minutes) for session in sessions.values())

    def minutes(self) -> float | None:
        """Return the median length in minutes of the finished sessions, or None."""
        lengths = [session.minutes for session in self.state.sessions.values() if session.finished]
        return float(np.median(lengths)) if lengths else None

    def sessions_to_do(self) -> int:
        """Return how many more sessions give every item its votes, at the present share of sessions that count."""
        finished = sum(session.finished for session in self.state.sessions.values())
        share = (len(self.counted) + 1) / (finished + 1)
        settings = self.study.settings
        return math.ceil(sum(self.wanted.values()) / min(settings.items, len(self.design.items)) / min(share, 1))


def _half_of_share(pairs: Sequence[Item]) -> float | None:
    """Return half the 95 % interval of a share near one half of pairs of one model, prompts as clusters."""
    prompts = Counter(pair.prompt for pair in pairs if pair.models[0] and len(set(pair.models)) == 1)
    number = prompts.total()
    if number < LEAST_PAIRS:
        return None
    each = sum(count**2 for count in prompts.values()) / number
    return Z95 * 0.5 * math.sqrt(design_effect(each, PROMPT_SHARE**2) / number)


def _equal_votes(votes: Votes, values: Sequence[int]) -> Statistic:
    """Return the share of pairs of votes on one item that are equal, as a statistic of weighted items."""
    counts = np.stack([(votes == value).sum(axis=1) for value in values], axis=1).astype(float)
    total = counts.sum(axis=1)
    equal, pairs = (counts * (counts - 1)).sum(axis=1), total * (total - 1)

    def statistic(weights: Votes) -> Votes:
        return quotient(weights @ equal, weights @ pairs)[:, None]

    return statistic
