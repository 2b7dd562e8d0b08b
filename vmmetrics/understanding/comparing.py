"""Two runs of one benchmark, on the questions that both were asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.understanding.benchmark import Scored, Scoring
from vmmetrics.understanding.questions import Question
from vmmetrics.understanding.run_folder import read_run
from vmmetrics.understanding.scoring import UNLIKE, ReadScores, read_scores
from vmmetrics.understanding.statistics import Difference, differences


@dataclass(frozen=True)
class Compared:
    """Two runs, compared.

    Attributes:
        benchmark: Name of the benchmark.
        names: The two models; where they are one, with the frames each was shown, or the folders.
        differences: Over all questions, then by category.
        notes: What must be known to read them.
    """

    benchmark: str
    names: tuple[str, str]
    differences: Sequence[Difference]
    notes: Sequence[str]


def compare_runs(first: Path, second: Path, protocol: Scoring) -> Compared:
    """Compare the scores of two runs.

    Args:
        first: Folder of a run.
        second: Folder of another.
        protocol: Scores of which protocol.

    Raises:
        SetupError: One is not scored, or they are of different benchmarks or have no scored question in common.
    """
    configurations = [read_run(folder)["configuration"] for folder in (first, second)]
    sides = [
        read_scores(folder, configuration, protocol)
        for folder, configuration in zip((first, second), configurations, strict=True)
    ]
    if sides[0].benchmark != sides[1].benchmark:
        raise SetupError(f"{first} is a run of {sides[0].benchmark}, {second} one of {sides[1].benchmark}")
    scored = [{s.question: s for s in side.scored} for side in sides]
    common = [question for question in sides[0].questions if question.id in scored[1]]
    if not common:
        raise SetupError(f"{first} and {second} have no question in common")
    found = differences(
        common, _of(common, scored[0]), _of(common, scored[1]), _groupings(common), sides[0].measure
    )  # fmt: skip
    if not found:
        raise SetupError(f"{first} and {second} have no question in common that both have a score for")
    notes = []
    apart = len(scored[0]) + len(scored[1]) - 2 * len(common)
    if apart:
        notes.append(f"{apart} questions that only one of the runs was asked are left out")
    if sides[0].data != sides[1].data:
        notes.append("the runs were asked from different data files")
    if sides[0].by != sides[1].by:
        notes.append(f"{UNLIKE}: {'; '.join(sorted(sides[0].by))} / {'; '.join(sorted(sides[1].by))}")
    return Compared(sides[0].benchmark, _names(sides, configurations, (first, second)), found, notes)


def _names(
    sides: Sequence[ReadScores], configurations: Sequence[Mapping[str, Any]], folders: tuple[Path, Path]
) -> tuple[str, str]:
    """The models; where they are one, with the frames they were shown, and where these are too, with the folders."""
    models = [side.model for side in sides]
    policies = [(configuration.get("frames") or {}).get("policy") for configuration in configurations]
    if models[0] != models[1]:
        return models[0], models[1]
    more = policies if policies[0] != policies[1] else folders
    return f"{models[0]}, {more[0]}", f"{models[1]}, {more[1]}"


def _of(questions: Sequence[Question], scored: dict[str, Scored]) -> list[Scored]:
    return [scored[question.id] for question in questions]


def _groupings(questions: Sequence[Question]) -> list[str]:
    return list(dict.fromkeys(name for question in questions for name in question.groups))
