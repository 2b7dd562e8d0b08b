"""Sharing and pooling of studies: figures and counts leave the house; no clip, vote or name does.

Protected: a figure rests on at least 5 raters (as many as their votes are spread over, (Σ votes)² / Σ votes²), 30 clips
and 12 prompts; the figures of a dimension are at most half as many as its clips, over all shares of a study, and of
four digits, so that mean ratings cannot be solved for; a share that differs from an earlier one of its study by fewer
than 5 raters is refused, since the difference would be what these said.

Not protected: who has the very file of a clip, and the key, can tell that it was in the study; copies of a study, and
studies that it was merged into, do not know its shares; that there was a study of this size is plain. That one rater
took part in two studies is noticed by nobody, and a share is as true as who sends it.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from vmmetrics.errors import SetupError
from vmmetrics.rating.moments import Numbers
from vmmetrics.rating.results import Results
from vmmetrics.utils.display.markup import shortened
from vmmetrics.utils.schema import check, plain, read_json
from vmmetrics.utils.statistics.bootstrap import CONFIDENCE, Estimate
from vmmetrics.utils.statistics.clusters import Z95
from vmmetrics.utils.statistics.meta_analysis import MetaAnalysis, random_effects
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.provenance import now

FORMAT = 1
"""Version of the layout of a share."""
SHARES = "shares.json"
"""File of a study on the shares made of it: whose answers, by a hash of each rater's sessions, and which metrics."""
LEAST_RATERS, LEAST_CLIPS, LEAST_PROMPTS = 5, 30, 12
"""Fewest of a figure; also of raters in whom two shares of a study differ. From 12 prompts on errors are good."""
LEVELS: Mapping[str, str] = {
    "pooled": "over all clips", "within_model": "within models", "amplitude_constant": "amplitude constant",
    "preference": "preferences",
}  # fmt: skip
"""Levels of agreement: Spearman's ρ, or for preferences the share that the metric shares, 2 · share − 1."""
_STATED = ("preset", "protocol", "models and weights", "design")  # conditions of every share
_ROWS = ("all studies", "another study")  # of pooled figures, after those of the studies
_CLIPS_TO_A_FIGURE = 2
_SURE = 0.25  # times 1 / √clips: no error on Fisher's scale is smaller
_NEAR_ONE = 0.9999


@dataclass(frozen=True, slots=True)
class Figure:
    """Agreement of a metric with people, on Fisher's scale.

    Attributes:
        z: Inverse hyperbolic tangent of the correlation, the bias of few clips taken out.
        error: Its standard error, clustered over prompts.
        clips: Clips, or pairs of them, that it rests on.
        prompts: Their prompts.
        raters: Raters over whom the votes are spread.
    """

    z: float
    error: float
    clips: int
    prompts: int
    raters: int

    def __post_init__(self) -> None:
        least = {"raters": LEAST_RATERS, "clips": LEAST_CLIPS, "prompts": LEAST_PROMPTS}
        if few := [f"{getattr(self, name)} {name}, of {number}" for name, number in least.items()
                   if getattr(self, name) < number]:  # fmt: skip
            raise ValueError(f"rests on too few: {', '.join(few)}")
        if not abs(self.z) <= math.atanh(_NEAR_ONE) or not _SURE / math.sqrt(self.clips) <= self.error <= 1:
            raise ValueError(f"no figure of {self.clips} clips: {self.z:.3g} with an error of {self.error:.3g}")


class Measured(NamedTuple):
    """A figure of a study before it is shared.

    Attributes:
        dimension: Of people's votes.
        metric: The metric.
        level: One of :data:`LEVELS`.
        estimate: The correlation, its 95 % interval symmetric on Fisher's scale, by Student's t with prompts − 2; of
            preferences by percentiles. Of a mean over models ``n`` is their number.
        clips: Clips, or pairs, that it rests on.
        prompts: Their prompts.
        votes: Votes on them, by rater.
        scores: (n,) the metric's scores of the study's clips.
    """

    dimension: str
    metric: str
    level: str
    estimate: Estimate
    clips: int
    prompts: int
    votes: Iterable[int]
    scores: Numbers

    def figure(self) -> Figure:
        """Return it as it is shared.

        Raises:
            ValueError: It is not shared; the text says why.
        """
        value, low, high = self.estimate.value, self.estimate.low, self.estimate.high
        if value is None or low is None or high is None:
            raise ValueError(self.estimate.note or "it has no interval")
        value, low, high = np.clip((value, low, high), -_NEAR_ONE, _NEAR_ONE).tolist()
        if self.level == "preference":
            error = (high - low) / 2 / Z95 / (1 - value**2)
        else:
            error = (math.atanh(high) - math.atanh(low)) / 2 / stdtrit(max(1, self.prompts - 2), (1 + CONFIDENCE) / 2)
        votes = np.array([*self.votes], float)
        raters = int(votes.sum() ** 2 / max(1.0, (votes**2).sum()))
        z = math.atanh(value) if self.level == "preference" else self._unbiased(value, error)
        return Figure(float(f"{z:.4g}"), float(f"{error:.4g}"), self.clips, self.prompts, raters)

    def _unbiased(self, value: float, error: float) -> float:
        """Return a mean of Spearman's ρ on Fisher's scale, less what few clips add: pooling would not average it out.

        Spearman's ρ in n clips is too small on average (Moran, Biometrika 1948), its transform too large.
        """
        clips = self.clips if self.level == "pooled" else self.clips / max(1, self.estimate.n)  # of a model
        normal = 2 * math.sin(math.pi * value / 6)  # Pearson's r of normal variables with this ρ
        lacking = 6 / math.pi * (3 * math.asin(normal / 2) - math.asin(normal)) / (clips + 1)
        return math.atanh(value) + lacking / (1 - value**2) - value * error**2


@dataclass(frozen=True, slots=True)
class Share:
    """What a study shares.

    Attributes:
        study: Hash that tells the study from others.
        key: Hash of the key that hashes are made with.
        clips: Hashes of the clips' files.
        conditions: What must be alike where figures are pooled, by name: scores, design, wording of the questions.
        figures: By dimension, metric and level.
        raters: Raters whose votes count.
        sessions: Their sessions.
        began: Day of the first of these, UTC.
        ended: Day of the last answer.
        format: Version of this layout.
    """

    study: str
    key: str
    clips: tuple[str, ...]
    conditions: Mapping[str, str]
    figures: Mapping[str, Mapping[str, Mapping[str, Figure]]]
    raters: int
    sessions: int
    began: str
    ended: str
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class _Noted:
    """A share that was made; each metric with a hash of its scores."""

    at: str
    raters: tuple[str, ...]
    metrics: tuple[str, ...]


def share(
    results: Results, measured: Iterable[Measured], scores: Mapping[str, str], key: str = ""
) -> tuple[Share, dict[str, str]]:
    """Return what a study shares, and the figures that it does not with the reasons; note in the study that it does.

    Args:
        results: The study and its answers.
        measured: Its figures.
        scores: What the scores depend on, by name: preset, protocol, models and weights, ``"version of METRIC"``.
        key: Text that those who pool agree on; hashes are made with it.

    Raises:
        SetupError: There is nothing to share, or an earlier share tells too little apart from this.
    """
    study, settings, record = results.study, results.study.settings, results.study.path / SHARES
    earlier = check(tuple[_Noted, ...], read_json(record), record) if record.exists() else ()
    sessions = defaultdict(list)
    for session in results.counted:
        sessions[session.rater].append(f"{session.session} {session.changes}")  # the last vote may still change
    marks = {_hashed(study.keys["secret"], rater, *sorted(own)) for rater, own in sessions.items()}
    for one in earlier:
        apart = max(len(marks.difference(one.raters)), len({*one.raters} - marks))
        if 0 < apart < LEAST_RATERS:
            raise SetupError(
                f"votes of {apart} raters were added or removed since the share of {one.at}, and the difference would "
                f"be theirs; send that one, or share again when it is {LEAST_RATERS}"
            )
    figures: dict[str, dict[str, dict[str, Figure]]] = {}
    withheld, metrics = dict[str, str](), dict.fromkeys(name for one in earlier for name in one.metrics)
    for cell in measured:
        name = f"{cell.metric}, {cell.dimension}, {LEVELS[cell.level]}"
        scored = f"{cell.metric} {hashlib.sha256(cell.scores.tobytes()).hexdigest()[:16]}"  # other scores tell more
        room = len({*metrics, scored}) * (len(LEVELS) - 1) * _CLIPS_TO_A_FIGURE  # of each dimension
        try:
            if f"version of {cell.metric}" not in scores:
                raise ValueError("the run states no version of it")
            if room > cell.clips:
                raise ValueError("more figures would be too many for so few clips")
            figure = cell.figure()
        except ValueError as error:
            withheld[name] = str(error)
            continue
        metrics[scored] = None
        figures.setdefault(cell.dimension, {}).setdefault(cell.metric, {})[cell.level] = figure
    if not figures:
        raise SetupError("nothing can be shared:", *(f"  {name}: {why}" for name, why in withheld.items()))
    shared_metrics = {metric for of in figures.values() for metric in of}
    reference = f", reference {_hashed(key, 'reference', settings.reference)}" * bool(settings.reference)
    conditions = {
        "design": f"{settings.design}, {settings.levels} levels" + ", in turn" * settings.in_turn
                  + ", within models" * settings.within_model + reference,
        **{f"question of {name}": asked for name, asked in results.design.wording(settings.texts).items()},
        **{name: text for name, text in scores.items() if name.removeprefix("version of ") in {name, *shared_metrics}},
    }  # fmt: skip
    write_json(record, plain([*earlier, _Noted(now()[:10], tuple(sorted(marks)), tuple(metrics))]))
    shared = Share(
        _hashed(key, "study", study.keys["secret"]), _hashed(key, "key"),
        tuple(sorted(_hashed(key, "clip", clip.sha256) for clip in study.clips.values())),
        conditions, figures, len(sessions), len(results.counted),
        min(session.at for session in results.counted)[:10], max(session.last for session in results.counted)[:10],
    )  # fmt: skip
    return shared, withheld


def _hashed(key: str, *parts: str) -> str:
    return hmac.new(f"vmmetrics rate share/{key}".encode(), "\0".join(parts).encode(), hashlib.sha256).hexdigest()[:16]


def read_share(path: Path) -> Share:
    """Read a share.

    Raises:
        SetupError: It cannot be read, is of another version, or a figure is none that is shared.
    """
    value = read_json(path)
    if isinstance(value, dict) and value.get("format") != FORMAT:
        raise SetupError(f"{path} was written by another version of vmmetrics (format {FORMAT} expected)")
    found = check(Share, value, path)
    if not found.clips or len(set(found.clips)) < len(found.clips):
        raise SetupError(f"{path}, clips: expected hashes, each once")
    if not LEAST_RATERS <= found.raters <= found.sessions:
        raise SetupError(f"{path}: {found.raters} raters cannot have had {found.sessions} sessions")
    for level, one in [cell for of in found.figures.values() for levels in of.values() for cell in levels.items()]:
        most = math.comb(len(found.clips), 1 + (level == "preference"))  # of these, pairs
        if one.clips > most or one.prompts > len(found.clips) or one.raters > found.raters:
            raise SetupError(f"{path}: a figure rests on more clips, prompts or raters than the study has")
    metrics = {f"version of {metric}" for of in found.figures.values() for metric in of}
    if lacking := {*_STATED, *metrics, *(f"question of {name}" for name in found.figures)} - found.conditions.keys():
        raise SetupError(f"{path}, conditions: there is no {', '.join(sorted(lacking))}")
    return found


class Pooled(NamedTuple):
    """A figure of several studies.

    Attributes:
        dimension: Of people's votes.
        metric: The metric.
        level: One of :data:`LEVELS`.
        studies: Figure of each study, by its name.
        result: Their meta-analysis, on Fisher's scale.
    """

    dimension: str
    metric: str
    level: str
    studies: Mapping[str, Figure]
    result: MetaAnalysis

    def shown(self, z: float) -> float:
        """Return a figure of Fisher's scale as people read it: ρ, or the share of preferences."""
        return (1 + math.tanh(z)) / 2 if self.level == "preference" else math.tanh(z)

    def estimates(self) -> dict[str, Estimate]:
        """Return the figure of each study with its 95 % interval, then the pooled one and that of another study."""
        ends = {name: (f.z, f.z - Z95 * f.error, f.z + Z95 * f.error) for name, f in self.studies.items()}
        ends[_ROWS[0]] = self.result.mean, self.result.low, self.result.high
        if self.result.predicted is not None:
            ends[_ROWS[1]] = self.result.mean, *self.result.predicted
        return {
            name: Estimate(self.shown(z), self.shown(low), self.shown(high)) for name, (z, low, high) in ends.items()
        }


def pool(shares: Mapping[str, Share]) -> list[Pooled]:
    """Pool every figure that two shares or more have.

    Args:
        shares: Shares by name.

    Raises:
        SetupError: Clips would count twice, the figures are not of one thing, or none is in two shares.
    """
    taken = [f"{name}: give its file another name: pooled figures have this one" for name in _ROWS if name in shares]
    if problems := [*taken, *_counted_twice(shares), *_unlike(shares)]:
        raise SetupError("these cannot be pooled:", *(f"  {problem}" for problem in problems))
    cells: dict[tuple[str, str, str], dict[str, Figure]] = {}
    for name, one in shares.items():
        for dimension, metrics in one.figures.items():
            for metric, levels in metrics.items():
                for level in [level for level in LEVELS if level in levels]:
                    cells.setdefault((dimension, metric, level), {})[name] = levels[level]
    if not any(len(studies) > 1 for studies in cells.values()):
        raise SetupError("no two of these have a figure of the same dimension, metric and level")
    return [
        Pooled(*cell, studies, random_effects(*np.array([[one.z, one.error] for one in studies.values()]).T))
        for cell, studies in cells.items() if len(studies) > 1
    ]  # fmt: skip


def _counted_twice(shares: Mapping[str, Share]) -> Iterable[str]:
    if len({one.key for one in shares.values()}) > 1:
        yield "they were made with different keys, so that common clips cannot be seen: share again with one --key"
    for (first, one), (second, other) in combinations(shares.items(), 2):
        if one.study == other.study:
            yield f"{first} and {second} are of one study: give the later one"
        elif common := len({*one.clips} & {*other.clips}):
            yield (
                f"{first} and {second} have {common} clips in common (of {len(one.clips)} and {len(other.clips)}): "
                "leave one out, or join the studies with 'vmmetrics rate merge' and share the whole"
            )


def _unlike(shares: Mapping[str, Share]) -> Iterable[str]:
    for name in dict.fromkeys(name for one in shares.values() for name in one.conditions):
        owners: dict[str, list[str]] = {}
        for title, one in shares.items():
            if name in one.conditions:
                owners.setdefault(one.conditions[name], []).append(title)
        if len(owners) > 1:
            told = "; ".join(f"{shortened(value, 60)} ({', '.join(titles)})" for value, titles in owners.items())
            yield f"{name}: {told}: pool those apart that differ"
