"""What docs/alignment.md says of people: our metrics, the index and the baselines held against fetv-dev's ratings.

    python -m benchmarks.human_alignment [--half open] [--runs RUNS]
    python -m benchmarks.human_alignment --half sealed --why "..."     # or all; logs what it finds (benchmarks/seal.py)

Scores the clips (needs ../shared) into run directories below ``--runs``, which it resumes, and prints for the generated
clips of the chosen prompts: pooled ρ, mean ρ within a model, pooled ρ without each model at worst, their 95 % intervals
over prompts, what a person and the name of the model reach, and the index less each other score.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from typing import Any

from rich.console import Console

import vmmetrics
from benchmarks.fetv_dev import RATINGS, REAL, rated_clips, read
from benchmarks.seal import halves, log
from vmmetrics.alignment import StudyReport, align, read_study
from vmmetrics.alignment.baselines.suite import measure
from vmmetrics.utils.statistics.bootstrap import Estimate

DIMENSION = "temporal_quality"


def score_all(folder: Path, rows: list[dict[str, str]], runs: Path, jobs: int) -> list[Path]:
    """Score every clip by our metrics and by the baselines; what is done already is not done again."""
    ours, theirs = runs / "ours", runs / "baselines"
    clips = [read(folder, row) for row in rows]
    vmmetrics.score(clips, out=ours, jobs=jobs)
    measure(clips, out=theirs, jobs=jobs)
    return [ours, theirs]


def study_of(rows: list[dict[str, str]], sources: list[Path]) -> StudyReport:
    study = read_study([str(source) for source in sources], rows, dimensions=[DIMENSION])
    return align(study, exclude_models=(REAL,), against="motion_index")


def figures(report: StudyReport) -> dict[str, Any]:
    """Per metric: clips, pooled, within model, lowest without a model."""
    values = {}
    for a in report.alignments:
        without = [e.value for e in a.without_model.values() if e.value is not None]
        values[a.metric] = {
            "n": a.spearman.n,
            "pooled": _listed(a.spearman),
            "within model": _listed(a.within_model.mean),
            "least without a model": round(min(without), 3) if without else None,
        }
    return values


def _listed(estimate: Estimate) -> list[float | None]:
    return [None if v is None else round(v, 3) for v in (estimate.value, estimate.low, estimate.high)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=Path, default=RATINGS)
    parser.add_argument("--runs", type=Path, default=Path("alignment-runs"))
    parser.add_argument("--half", choices=("open", "sealed", "all"), default="open")
    parser.add_argument("--why", help="why sealed prompts are looked at; goes into the log")
    parser.add_argument("--jobs", type=int, default=0)
    options = parser.parse_args()
    if options.half != "open" and not options.why:
        raise SystemExit("say with --why what sealed prompts are looked at for: it is logged")
    rows = rated_clips(options.ratings)
    opened, sealed = halves(row["prompt_id"] for row in rows)
    sources = score_all(options.ratings, rows, options.runs, options.jobs)
    clips_by_half = {"open": opened, "sealed": sealed, "all": [*opened, *sealed]}[options.half]
    report = study_of([row for row in rows if row["prompt_id"] in clips_by_half], sources)
    if options.half != "open":
        code = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
        log(f"{options.half}: {options.why}", code.stdout.strip() or "no checkout", figures(report))
    from vmmetrics.alignment.report.text import print_report

    print_report(report, Console(width=120))


if __name__ == "__main__":
    main()
