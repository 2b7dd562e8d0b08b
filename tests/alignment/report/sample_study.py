"""Studies with known structure and reports filled by hand, so that the output is tested apart from the arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from vmmetrics.alignment.power import Power
from vmmetrics.alignment.results import (
    Ablation,
    Agreement,
    CombinationFigure,
    DisputedClip,
    Estimate,
    Grouped,
    HumanAgreement,
    Matrix,
    MetricDifference,
    NameBaseline,
    OutlyingRater,
    PairAlignment,
    PreferenceAccuracy,
)
from vmmetrics.alignment.study import Matching, Preferences, Study
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.types import FloatArray

MODELS = ("cogvideo", "damo", "t2v-zero", "zeroscope", "real")
DIMENSIONS = ("naturalness", "smoothness")
NOISE = {"cas": 0.8, "mss": 1.0, "ois": 1.3, "pas": 3.0, "tcs": 1.6, "flow": 9.0, "ssim": 2.0, "flicker": 4.0}
"""Metric to how much noise it adds to what people see."""


def make_study(
    metrics: tuple[str, ...] = tuple(NOISE),
    models: tuple[str, ...] = MODELS,
    prompts: int = 17,
    raters: int = 3,
    dimensions: tuple[str, ...] = DIMENSIONS,
    seed: int = 5,
) -> Study:
    """A clip per model and prompt; people and metrics see its quality, each with noise of their own."""
    rng = np.random.default_rng(seed)
    names = [(model, prompt) for prompt in range(prompts) for model in models]
    level = np.array([models.index(model) / max(1, len(models) - 1) for model, _ in names])
    quality = 2.0 * level + rng.normal(size=len(names)) * 0.8
    scores = {}
    for place, metric in enumerate(metrics):
        noise = NOISE.get(metric, 1.0 + place)
        score = 1 / (1 + np.exp(-(quality - 1 + noise * rng.normal(size=len(names)))))
        score[place::40] = np.nan
        scores[metric] = score
    ratings = {}
    for dimension in dimensions:
        seen = quality[:, None] + rng.normal(size=(len(names), raters)) * 0.7
        ratings[dimension] = np.clip(np.round(seen + 2), 1, 5).astype(np.float64)
    left = np.arange(0, len(names) - 1, 2)
    outcome = np.sign(np.round(quality[left] - quality[left + 1])).astype(np.int64)
    return Study(
        clips=tuple(f"{model}/{prompt:03d}.mp4" for model, prompt in names),
        prompts=tuple(f"{prompt:03d}" for _, prompt in names),
        models=tuple(model for model, _ in names),
        scores=scores,
        ratings=ratings,
        raters={dimension: tuple(f"rater {r + 1}" for r in range(raters)) for dimension in dimensions},
        preferences={dimensions[0]: Preferences(left, left + 1, outcome, ("",) * len(left))},
        pairing=dict.fromkeys(metrics, dimensions),
        matching=Matching(len(names), ("only/scored.mp4",), ("only/rated.mp4",), ("matched by path",)),
    )


class _Maker:
    """Makes up estimates, no two alike."""

    def __init__(self, clips: int) -> None:
        self.rng = np.random.default_rng(11)
        self.clips = clips

    def made(self, value: float) -> Estimate:
        half = float(self.rng.uniform(0.05, 0.2))
        return Estimate(value, value - half, value + half, float(self.rng.uniform(0, 0.2)), self.clips)

    def some(self, low: float = -0.3, high: float = 0.9) -> Estimate:
        return self.made(float(self.rng.uniform(low, high)))

    def figure(self) -> CombinationFigure:
        return CombinationFigure(self.some(0.5, 0.9), self.some(), self.some())

    def alignment(self, study: Study, metric: str, dimension: str) -> PairAlignment:
        models, score, rating = sorted(set(study.models)), study.scores[metric], study.mean_rating(dimension)
        rows = {model: np.array([m == model for m in study.models]) for model in models}
        inside = {model: self.made(_spearman(score[rows[model]], rating[rows[model]])) for model in models}
        mean = float(np.mean([e.value for e in inside.values() if e.value is not None]))
        some = self.some
        return PairAlignment(
            metric, dimension, self.made(_spearman(score, rating)), some(), some(), some(),
            Grouped(some(), {"000": some()}), Grouped(self.made(mean), inside), some(), some(),
            {model: some() for model in models},
            Estimate(0.9, note="5 models: no interval", n=5), Estimate(0.2, 0.1, 0.3, n=1000), 40, 0.25,
            missing=3 if metric == "cas" else 0,
        )  # fmt: skip


def make_report(study: Study) -> StudyReport:
    """A report with real pooled and within-model correlations; intervals and the rest are made up."""
    maker = _Maker(len(study.clips))
    made, some, figure, rng = maker.made, maker.some, maker.figure, maker.rng
    models = set(study.models)
    alignments = [maker.alignment(study, metric, d) for metric, faced in study.pairing.items() for d in faced]
    names = tuple(study.scores) + tuple(study.ratings)
    columns = [*study.scores.values(), *(study.mean_rating(d) for d in study.ratings)]
    values = np.array([[_spearman(a, b) for b in columns] for a in columns])
    metrics = list(study.scores)
    return StudyReport(
        clips=len(study.clips),
        prompts=len(set(study.prompts)),
        models=len(models),
        matching=(f"{study.matching.matched} clips matched by path", "1 clip has a score only: only/scored.mp4"),
        facing=study.pairing,
        alignments=tuple(alignments),
        baselines=tuple(NameBaseline(d, some(0.3, 0.6), some(0.5, 0.7)) for d in study.ratings),
        differences=tuple(
            MetricDifference(metrics[0], metric, d, replace(some(), p=p), some(), pooled_holm=p, pooled_bh=p)
            for d in study.ratings
            for metric, p in zip(metrics[1:], (0.0004, 0.03, 0.3, 0.7, 0.9, 0.5, 0.04), strict=False)
        ),
        ceilings=tuple(
            HumanAgreement(
                d, {r: some() for r in study.raters[d]}, made(0.77), some(0.7, 0.8), made(0.56),
                *(some() for _ in range(5)),
            )
            for d in study.ratings
        ),
        agreements=tuple(
            Agreement(
                d, *(some(0.1, 0.8) for _ in range(8)),
                outlying=(OutlyingRater("rater 3", 0.21, -0.8, "correlates far less with the others than they do"),),
                disputed=(DisputedClip(study.clips[-1], 2.08, (1, 5, 2)), DisputedClip(study.clips[0], 2.12, (1, 4))),
            )
            for d in study.ratings
        ),
        preferences=tuple(
            PreferenceAccuracy(name, d, some(0.4, 0.9), 600 + place, 41, place, "Ties of people are left out.")
            for d in study.preferences
            for place, name in enumerate([*metrics, "equal weights", "fitted"])
        ),
        ablations=tuple(
            Ablation(
                d, combination, figure(), {m: figure() for m in metrics}, {m: float(rng.uniform()) for m in metrics},
            )
            for d in study.preferences
            for combination in ("equal weights", "fitted")
        ),
        matrix=Matrix(names, len(metrics), values, np.full(values.shape, float(len(study.clips)))),
        models_ranked=(),
        repeats={},
        powers=tuple(
            Power(d, 0.6, 0.7, 0.31, 430, 86, {1: 800, 3: 430, 5: 390}, 0.25, "as noisy as these raters")
            for d in study.ratings
        ),
        claims=("cas agrees with people beyond telling models apart.", "No claim about new models."),
        problems=("flow: nothing wrong, but see note.",),
        settings={"resamples": 1000, "seed": 202411, "confidence": 0.95, "numpy": "2.4"},
    )  # fmt: skip


def make_degenerate(
    clip: str = "a.mp4", metric: str = "still", dimension: str = "quality"
) -> tuple[Study, StudyReport]:
    """Two clips of no known model, a constant score and one rater: hardly anything can be computed."""
    study = Study(
        clips=(clip, "b.mp4"),
        prompts=("x", "y"),
        models=("", ""),
        scores={metric: np.array([0.5, 0.5]), "never": np.array([np.nan, np.nan])},
        ratings={dimension: np.array([[3.0], [np.nan]])},
        pairing={metric: (dimension,), "never": (dimension,)},
        matching=Matching(2),
    )
    none = Estimate(None, n=1, note="one clip has a score and a rating")
    alignments = tuple(
        PairAlignment(
            name,
            dimension,
            *[none] * 4,
            Grouped(none),
            Grouped(none),
            none,
            none,
            {},
            none,
            none,
            0,
            None,
            missing=place,
        )
        for place, name in enumerate(study.scores)
    )
    names = (metric, "never", dimension)
    report = StudyReport(
        clips=2, prompts=2, models=0, matching=("2 clips matched",), facing=study.pairing, alignments=alignments,
        baselines=(NameBaseline(dimension, none, none),),
        differences=(MetricDifference(metric, "never", dimension, none, none),),
        ceilings=(), agreements=(Agreement(dimension, *[Estimate(None, note="one rater")] * 8),), preferences=(),
        ablations=(), matrix=Matrix(names, 2, np.full((3, 3), np.nan), np.ones((3, 3))), models_ranked=(), repeats={},
        powers=(), claims=(), problems=(f"{metric}: the score is the same for every clip",), settings={"seed": 1},
    )  # fmt: skip
    return study, report


def _spearman(first: FloatArray, second: FloatArray) -> float:
    both = ~(np.isnan(first) | np.isnan(second))
    if len(set(first[both])) < 2 or len(set(second[both])) < 2:
        return 0.0  # any number will do for what is only drawn
    return float(stats.spearmanr(first[both], second[both]).statistic)
