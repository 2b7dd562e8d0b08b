"""Part 3 of an audit: what breaks in silence."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

import numpy as np

from vmmetrics.alignment.audit.breaks import arrays, content, coverage, files, rendered, repetition
from vmmetrics.alignment.audit.breaks.bench import TIGHT, Bench, Check, NotRunError
from vmmetrics.alignment.audit.calls import Limits
from vmmetrics.alignment.audit.lines import Finding, Line, NotTried, PartResult
from vmmetrics.alignment.audit.target import Target
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError, explain

CHECKS: tuple[Check, ...] = (
    *content.CHECKS, *rendered.CHECKS, *coverage.CHECKS, *repetition.CHECKS, *files.CHECKS, *arrays.CHECKS
)  # fmt: skip
"""All checks of part 3."""


def breaks(
    target: Target,
    clips: Sequence[Clip],
    folder: Path,
    limits: Limits,
    *,
    skip: Collection[str] = (),
    only: Collection[str] | None = None,
    seed: int = 0,
    pythons: Sequence[str] = (),
    bench_of: Callable[..., Bench] = Bench,
    jobs: int = 1,
) -> Generator[tuple[str, PartResult], None, None]:
    """Yield each check of what breaks in silence; each runs in processes of its own, and can spoil its own lines alone.

    Args:
        target: The target.
        clips: Clips, five or more.
        folder: Scratch folder; clips to look at lie there.
        limits: Of each process.
        skip: Names of checks that were run before.
        only: Names of checks; None for all.
        seed: Chooses clips and places.
        pythons: Interpreters of other environments.
        bench_of: Makes the bench, from the arguments of :class:`Bench`.
        jobs: Checks that run at the same time.

    Raises:
        SetupError: The target cannot be loaded, or scores no clip.
    """
    chosen = [check for check in CHECKS if check.name not in skip and (only is None or check.name in only)]
    if not chosen:
        return
    limits = replace(limits, seconds=limits.seconds * max(jobs, 1))  # they share the machine
    try:
        bench = bench_of(target, clips, folder, limits, seed, pythons)
    except NotRunError as error:
        raise SetupError(f"The target cannot be audited: {error}") from error
    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        try:
            running = {pool.submit(_result_of, bench, check, seed): check for check in chosen}
            for done in as_completed(running):
                yield running[done].name, done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            bench.stop()


def _result_of(bench: Bench, check: Check, seed: int) -> PartResult:
    """Return the lines of a check, or why it was not tried."""
    if (why := bench.why_not(check)) is not None:
        return PartResult(not_tried=[NotTried("breaks", check.name, why)])
    own = bench.copied(np.random.default_rng([seed, zlib.crc32(check.name.encode())]), check.name)
    try:
        lines = [_line_of(own, check, finding) for finding in check.run(own)]
    except Exception as error:  # one check must not cost the others
        why = str(error) if isinstance(error, NotRunError) else explain(error)
        lines = [Line("breaks", check.name, check.title, "error", "could not be run", why)]
    return PartResult(lines, scale=bench.scale)


def _line_of(bench: Bench, check: Check, finding: Finding) -> Line:
    """Return the line of a card for a finding."""
    grade, verdict = finding.grade, finding.verdict
    of = bench.names if finding.score is None else (finding.score,)
    if check.exact and grade != "good" and any(bench.slack[name] > TIGHT * bench.scale[name] for name in of):
        grade, verdict = "open", "not told apart: its scores differ from call to call"
    if grade == "good" and finding.score in bench.constant and check.name != "distinct" and not check.exact:
        grade, verdict = "open", "not told apart: the same score for every clip"
    text = f"{finding.text.rstrip('.')}. Often: {check.fault}." if grade == "bad" else finding.text
    return Line(
        "breaks", check.name, check.title, grade, verdict, text,
        score=finding.score, effect=finding.effect, looks=finding.looks,
    )  # fmt: skip
