"""Dry run of a study: simulated raters of known kinds go through its sessions, journal and export."""

from __future__ import annotations

import secrets
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.stats import spearmanr

from vmmetrics.errors import SetupError
from vmmetrics.rating.designs import Design
from vmmetrics.rating.export import SUMMARY, export
from vmmetrics.rating.journal import AnswerJournal
from vmmetrics.rating.moments import Mark
from vmmetrics.rating.results import Results
from vmmetrics.rating.sessions import Consent, RaterSessions
from vmmetrics.rating.study import BROKEN, KEYS, Study, append_private
from vmmetrics.rating.trials import Session, Trial
from vmmetrics.utils.schema import plain, read_json
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.journal import Line

RaterKind = Literal["honest", "lazy", "random", "reversed"]
KINDS: tuple[RaterKind, ...] = ("honest", "lazy", "random", "reversed")
_BROKEN_QUALITY, _BROKEN_LESS = -2.4, 3.0  # of gold versions at most, and less than the clip: bad beyond doubt
_SLIP = 0.005  # of attention checks that honest raters miss
_ACR_SCALE, _PAIR_SCALE = 0.9, 1.7
MOMENT = 0.3
"""Share of a clip's time in which something is wrong."""
_PAIR_GRADES = (0.5, 1.5, 3.0)  # log odds from which a clip is (slightly) better, better, much better


@dataclass(frozen=True, slots=True)
class DryRun:
    """What came of simulated raters.

    Attributes:
        raters: Raters by kind.
        flagged: Of them flagged, by kind.
        criteria: Kind to criterion to sessions that failed it.
        fewest: Votes of the item with the fewest, without exclusion.
        most: Votes of the item with the most.
        recovered: Spearman's ρ of recovered and true qualities; None where nothing was recovered.
        error: Root mean square error of the opinion scores in levels; None for pairs and marks.
        covered: Share of the 95 % intervals that hold the true level; None for pairs and marks.
        sessions: Sessions that the study needs, at the share of the simulation's sessions that count.
        minutes: Expected length of a session.
        files: Files of the export.
    """

    raters: Mapping[str, int]
    flagged: Mapping[str, int]
    criteria: Mapping[str, Mapping[str, int]]
    fewest: int
    most: int
    recovered: float | None
    error: float | None
    covered: float | None
    sessions: int
    minutes: float
    files: tuple[str, ...]


class SimulatedRater:
    """A rater with a bias and an inconsistency.

    Args:
        kind: ``"honest"``; ``"lazy"`` answers the same nearly always, and at once; ``"random"`` answers anything;
            ``"reversed"`` takes the scale the wrong way round.
        quality: True quality of each clip, mean 0 and standard deviation 1.
        design: The design.
        rng: Random numbers.
    """

    def __init__(self, kind: RaterKind, quality: Mapping[str, float], design: Design, rng: np.random.Generator) -> None:
        self.kind, self._quality, self._design, self._rng = kind, quality, design, rng
        self._bias, self._noise = float(rng.normal(0, 0.3)), float(rng.uniform(0.4, 0.9))
        self._habit = int(rng.choice(design.values))

    def answer(self, trial: Trial, dimension: str) -> int:
        """Return the rater's answer to a question of a trial."""
        rng, values = self._rng, self._design.values
        if self.kind == "random" or (self.kind == "lazy" and rng.random() < 0.15):
            return int(rng.choice(values))
        if self.kind == "lazy":
            return self._habit
        if trial.kind == "trap" and rng.random() >= _SLIP:
            return int(trial.expected or 0)
        opinion = self._fact(trial, dimension) if self._design.facts else self._opinion(trial.media)
        return opinion if self.kind == "honest" else self._turned(opinion)

    def marks(self, trial: Trial, value: int) -> list[Mark]:
        """Return the marks that go with an answer, in designs that have them; true moments are those of the quality."""
        identity, rng = trial.media[0], self._rng
        seconds = self._design.seconds(trial.media)
        begin = true_moment(self._quality[identity])
        ends = np.array([begin, begin + MOMENT]) + rng.normal(0, 0.05, 2)
        if self.kind in ("random", "reversed"):
            ends = rng.uniform(0, 1, 2)
        if self.kind == "lazy" or identity.endswith(BROKEN):
            ends = np.array([0, 1])
        low, high = np.sort(ends.clip(0, 1)) * seconds
        whole = (0.0, 0.0, 1.0, 1.0)
        return [Mark(value, float(low), float(high), whole)] if self._design.marks and value and low < high else []

    def seconds(self) -> float:
        """Return the time that the rater thinks about an answer."""
        return float(self._rng.uniform(0.05, 0.5) if self.kind == "lazy" else self._rng.lognormal(0.7, 0.5))

    def _fact(self, trial: Trial, dimension: str) -> int:
        """Return the right answer, where the clip is good enough to show it and the question is of its prompt."""
        seen = self._quality[trial.media[0]] > self._bias + float(self._rng.normal(0, self._noise))
        right = self._design.right(trial, dimension)
        return right if seen and trial.media == self._design.items[trial.item].clips else self._turned(right)

    def _opinion(self, media: tuple[str, ...]) -> int:
        quality = [self._quality[identity] for identity in media]
        levels, step = self._design.values, self._design.step
        if self._design.marks:
            return levels[0] if quality[0] < self._bias + float(self._rng.normal(0, self._noise)) else 0
        if not self._design.opinions:
            seen = _PAIR_SCALE * (quality[0] - quality[1]) + float(self._rng.logistic(0, self._noise))
            grade = sum(abs(seen) >= least for least in _PAIR_GRADES[: max(levels)])
            return grade * self._design.first * (1 if seen > 0 else -1)
        seen = true_level(quality[-1], len(levels)) + step * (self._bias + float(self._rng.normal(0, self._noise)))
        return int(min(max(round(seen), levels[0]), levels[-1]))

    def _turned(self, value: int) -> int:
        if self._design.marks:
            return 0 if value else self._design.values[0]
        return min(self._design.values) + max(self._design.values) - value


def true_level(quality: float, levels: int) -> float:
    """Return the level of a quality on a scale of so many."""
    step = (levels - 1) / 4
    return min(max((levels + 1) / 2 + step * _ACR_SCALE * quality, 1), levels)


def true_moment(quality: float) -> float:
    """Return where the moment of a clip of this quality begins, at which something is wrong: a share of its time."""
    return quality * 1000 % 1 * (1 - MOMENT)


def qualities(design: Design, rng: np.random.Generator) -> dict[str, float]:
    """Return true qualities of the clips of a study: half of their variance is between models."""
    clips = design.study.clips
    of_models = {model: float(rng.normal()) for model in sorted({clip.model or "" for clip in clips.values()})}
    raw = np.array([of_models[clip.model or ""] + rng.normal() for clip in clips.values()])
    scaled = (raw - raw.mean()) / (raw.std() or 1.0)
    quality = {identity: float(value) for identity, value in zip(clips, scaled, strict=True)}
    for identity in design.gold:
        quality[f"{identity}{BROKEN}"] = min(_BROKEN_QUALITY, quality[identity] - _BROKEN_LESS)
    return quality


def body_of(session: Session, at: int, rater: SimulatedRater, seconds: float) -> dict[str, object]:
    """Return what a browser sends for an answer of a simulated rater."""
    trial = session.trials[at]
    asked = rater._design.asked(trial)
    values = {name: rater.answer(trial, name) for name in asked}
    if trial.kind == "trap":  # whoever reads it answers every question of it
        values = dict.fromkeys(asked, rater.answer(trial, next(iter(asked))))
    marks = rater.marks(trial, next(iter(values.values())))
    clip = {"ended": True, "seconds": seconds, "frames": 100, "dropped": 0}
    return {
        "id": secrets.token_hex(16), "trial": at, "values": values, "seconds": rater.seconds(), "marks": plain(marks),
        "clips": [clip] * len(trial.media), "display": {"refresh": 60.0, "window": [1280, 720], "screen": [1280, 720]},
    }  # fmt: skip


def dry_run(study: Study, raters: Mapping[RaterKind, int], seed: int = 0, out: Path | None = None) -> DryRun:
    """Let simulated raters take part in a copy of a study.

    Args:
        study: The study; nothing of it changes.
        raters: Number of raters by kind; they come in random order.
        seed: Of the raters and their sessions.
        out: Folder for the export, whose ``summary.json`` says that raters were simulated; None for none.

    Raises:
        SetupError: The copy or the export cannot be written.
    """
    if out is not None and (out / SUMMARY).is_file() and "simulated" not in read_json(out / SUMMARY):
        raise SetupError(f"{out} holds an export of people's answers; choose another folder for simulated ones")
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        copy = replace(study, path=Path(folder), settings=replace(study.settings, votes=10**6))
        append_private(copy.path / KEYS, {"raters": "r", "owner": "o", "secret": secrets.token_hex(8)})
        kinds: dict[str, RaterKind] = {}
        with AnswerJournal(copy) as journal:
            sessions = RaterSessions(journal, clock=None, seed=seed)
            quality = qualities(sessions.design, rng)
            everyone = [kind for kind, number in raters.items() for _ in range(number)]
            for at in rng.permutation(len(everyone)):
                _take_part(sessions, SimulatedRater(everyone[at], quality, sessions.design, rng), kinds)
        exported = out or copy.path / "export"
        results = export(copy, exported)
        write_json(exported / SUMMARY, {"simulated": dict(raters), **read_json(exported / SUMMARY)})
        files = tuple(sorted(path.name for path in exported.iterdir()))
        return _outcome(study, results, kinds, quality, files)


def _take_part(sessions: RaterSessions, rater: SimulatedRater, kinds: dict[str, RaterKind]) -> None:
    """Write the whole session of a rater."""
    token = secrets.token_hex(16)
    lines: list[Line] = sessions.begin(Consent(token, sessions.study.consent, True))
    session = sessions.state.sessions[lines[-1]["session"]]
    for at, trial in enumerate(session.trials):
        seconds = float(np.mean([sessions.study.seconds(identity) for identity in trial.media]))
        lines += sessions.answer(token, body_of(session, at, rater, seconds))
    sessions.journal.write(lines)
    kinds[session.session] = rater.kind


def _outcome(
    study: Study,
    results: Results,
    kinds: Mapping[str, RaterKind],
    quality: Mapping[str, float],
    files: tuple[str, ...],
) -> DryRun:
    failed = {kind: Counter[str]() for kind in KINDS}
    flagged, raters = Counter[str](), Counter[str](kinds.values())
    for name, criteria in results.judged.items():
        names = [one.name for one in criteria if not one.passed]
        failed[kinds[name]].update(names)
        flagged[kinds[name]] += bool(names)
    counts = results.state.votes(results.state.sessions.values())
    votes = [counts[key] for key in results.design.items]
    dimension = next(iter(study.settings.questions))
    recovered = error = covered = None
    if results.design.opinions:
        facts = results.design.facts  # of yes and no the mean is all there is to recover
        opinions = [one for one in results.opinions(dimension)[0] if facts or one.recovered is not None]
        got = np.array([one.mean if facts else one.recovered for one in opinions], float)
        true = np.array([true_level(quality[one.item], study.settings.levels) for one in opinions])
        if len(opinions) > 2:
            recovered = float(spearmanr(got, true)[0])
        if len(opinions) > 2 and not results.design.marks and not facts:  # shares of time or raters are no levels
            error = float(np.sqrt(np.mean((got - true) ** 2)))
            held = [one.recovered_low <= t <= one.recovered_high for one, t in zip(opinions, true, strict=True)]
            covered = float(np.mean(held))
    elif (fit := results.strengths(dimension)) is not None:
        true = np.array([quality[identity] for identity in fit.items])
        for component in range(fit.graph.components):  # strengths are relative to those of their component
            inside = fit.graph.component == component
            true[inside] -= true[inside].mean()
        recovered = float(spearmanr(fit.strength, true)[0])
    share = (len(results.counted) + 1) / (len(kinds) + 1)
    items = len(results.design.items)
    needed = items * study.settings.votes / min(study.settings.items, items) / min(share, 1)
    return DryRun(
        dict(raters), {kind: flagged[kind] for kind in raters}, {k: dict(failed[k]) for k in KINDS if raters[k]},
        min(votes), max(votes), recovered, error, covered, int(np.ceil(needed)), results.design.minutes, files,
    )  # fmt: skip
