"""Part 3 of an audit: what breaks in silence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vmmetrics.alignment.audit.breaks import arrays, content, files, repetition
from vmmetrics.alignment.audit.breaks.bench import Bench, Check, NotRunError, line_of
from vmmetrics.alignment.audit.calls import Limits
from vmmetrics.alignment.audit.lines import Line, NotTried, PartResult
from vmmetrics.alignment.audit.target import Target
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError, explain

CHECKS: tuple[Check, ...] = (*content.CHECKS, *repetition.CHECKS, *files.CHECKS, *arrays.CHECKS)
"""All checks of part 3."""


def breaks(
    target: Target,
    clips: Sequence[Clip],
    folder: Path,
    limits: Limits,
    *,
    only: Sequence[str] | None = None,
    seed: int = 0,
    pythons: Sequence[str] = (),
    advance: Callable[[str], None] = lambda _: None,
) -> PartResult:
    """Check what breaks in silence; each check in a process of its own, which can spoil its own lines alone.

    Args:
        target: The target.
        clips: Clips, four or more.
        folder: Scratch folder.
        limits: Of each process.
        only: Names of checks; None for all.
        seed: Chooses clips and places.
        pythons: Interpreters of other environments.
        advance: Called with the name of each check that is done.

    Raises:
        SetupError: The target cannot be loaded, or scores no clip.
    """
    try:
        bench = Bench(target, clips, folder, limits, seed, pythons)
    except NotRunError as error:
        raise SetupError(f"The target cannot be audited: {error}") from error
    lines: list[Line] = []
    left: list[NotTried] = []
    for check in CHECKS:
        if only is not None and check.name not in only:
            continue
        if (why := check.needs(bench)) is not None:
            left.append(NotTried("breaks", check.name, why))
            continue
        try:
            lines += [line_of(check, finding) for finding in check.run(bench)]
        except NotRunError as error:
            lines.append(Line("breaks", check.name, check.title, "error", "could not be run", str(error)))
        except Exception as error:  # one check must not cost the others
            lines.append(Line("breaks", check.name, check.title, "error", "could not be run", explain(error)))
        advance(check.name)
    return PartResult(lines, left, scale=bench.scale)
