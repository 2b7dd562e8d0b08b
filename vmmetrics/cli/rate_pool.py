"""``vmmetrics rate share`` and ``pool``: studies of several houses, without their clips."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import argument, option, out_option
from vmmetrics.cli.rate import StudyFolder
from vmmetrics.cli.terminal import count, open_consoles
from vmmetrics.errors import SetupError, refusing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vmmetrics.alignment.study import Study
    from vmmetrics.rating.sharing import Measured, Pooled, Share
    from vmmetrics.scoring.prompt_scores import Run
    from vmmetrics.utils.display.tables import Part


def share(
    study: StudyFolder,
    run: Annotated[Path, option("Run directory with scores of the clips.", show_default=False)],
    out: Annotated[Path, out_option("File to write (JSON).", show_default=False)],
    key: Annotated[
        str,
        option(
            "Text that all who pool agree on; without it, whoever has a clip can tell that it was rated.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Write how well scores agree with raters, for 'rate pool': no clip, no vote, no name.

    Figures of fewer than 5 raters, 30 clips or 12 prompts are left out; a second share of a study must differ by 5
    raters. Exit codes: 0 written, 2 wrong usage or setup.
    """
    from vmmetrics.alignment.readers.judgements import RatingOptions
    from vmmetrics.alignment.readers.read import matched_study, read_sides
    from vmmetrics.rating.export import export
    from vmmetrics.rating.journal import ANSWERS
    from vmmetrics.rating.sharing import share as shared
    from vmmetrics.rating.study import read_study
    from vmmetrics.scoring.prompt_scores import read_run
    from vmmetrics.scoring.summary import INDEX
    from vmmetrics.utils.schema import plain
    from vmmetrics.utils.storage.atomic import write_json

    output, messages = open_consoles()
    found, scored = read_study(study), read_run(run)
    if not (study / ANSWERS).exists():
        raise SetupError(f"{study} has no answers yet")
    with TemporaryDirectory() as folder:
        copy = replace(found, path=Path(folder))  # answers may come meanwhile
        shutil.copyfile(study / ANSWERS, copy.path / ANSWERS)
        results = export(copy, copy.path / "export")
        if not results.counted:
            excluded = sum(session.finished for session in results.state.sessions.values())
            raise SetupError(f"no session of {study} counts yet, {excluded} were excluded: see 'rate status'")
        table = copy.path / "export" / ("ratings.csv" if results.design.opinions else "pairs.csv")
        aligned = matched_study(*read_sides([str(run)], str(table), RatingOptions()), None, ())
    asked = found.settings.questions
    named = dict(zip(asked, aligned.preferences.values(), strict=False)) if len(asked) == 1 else aligned.preferences
    aligned = replace(aligned, preferences=named, pairing={name: tuple(asked) for name in aligned.scores})
    measured = sorted(_measured(aligned), key=lambda one: one.metric != INDEX)  # first what there is most use for
    made, withheld = shared(replace(results, study=found), measured, _conditions(scored), key)
    for name, why in withheld.items():
        messages.print(f"left out: {name}: {why}", style="yellow", soft_wrap=True)
    write_json(out, plain(made))
    messages.print(f"{count(made.raters, 'rater')}, {count(len(made.clips), 'clip')}; the file may leave the house")
    output.print(str(out), soft_wrap=True)


def _measured(study: Study) -> Iterator[Measured]:
    """Yield the agreement of the run's metrics with the votes of each dimension, as ``vmmetrics align`` has it."""
    import numpy as np

    from vmmetrics.alignment.pair_alignments import measure_alignments
    from vmmetrics.alignment.preference import measure_preferences
    from vmmetrics.alignment.study import clips_with_both
    from vmmetrics.rating.sharing import Measured
    from vmmetrics.utils.statistics.bootstrap import RESAMPLES, SEED, Estimate

    for pair in measure_alignments(study, list(study.ratings), RESAMPLES, SEED):
        both = clips_with_both(study, pair.metric, pair.dimension)
        named = both & np.array([bool(model) for model in study.models])
        for level, estimate, clips in (
            ("pooled", pair.spearman, both),
            ("within_model", pair.within_model.mean, named),
            ("amplitude_constant", pair.amplitude_constant, named),
        ):
            votes = (~np.isnan(study.ratings[pair.dimension][clips])).sum(axis=0)
            prompts = len({study.prompts[at] for at in np.flatnonzero(clips)})
            counts, scores = (int(clips.sum()), prompts, votes), study.scores[pair.metric]
            yield Measured(pair.dimension, pair.metric, level, estimate, *counts, scores)
    for dimension, pairs in study.preferences.items():
        for one in measure_preferences(study, dimension, list(study.scores), combined=()):
            scored, found = np.isfinite(study.scores[one.name]), one.accuracy
            there = np.flatnonzero(scored[pairs.left] & scored[pairs.right])
            ends = [None if end is None else 2 * end - 1 for end in (found.value, found.low, found.high)]
            votes = np.unique([pairs.raters[at] for at in there], return_counts=True)[1]
            distinct = {frozenset((pairs.left[at], pairs.right[at])) for at in there}
            prompts = len({study.prompts[pairs.left[at]] for at in there})
            estimate = Estimate(ends[0], ends[1], ends[2], note=found.note)
            counts = len(distinct), prompts, votes
            yield Measured(dimension, one.name, "preference", estimate, *counts, study.scores[one.name])


def _conditions(run: Run) -> dict[str, str]:
    """Return what the scores of a run depend on, in words and hashes."""
    from vmmetrics.scoring.prompt_scores import DECISIVE
    from vmmetrics.scoring.summary import INDEX
    from vmmetrics.scoring.versions import differing, versions_of

    def hashed(value: Any) -> str:
        return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]

    stated, versions, parts = run.configuration, versions_of(run.records), run.header.get("parts", {})
    if mixed := differing([(run.title, versions)]):
        raise SetupError("scores of several versions cannot be shared; score the clips again:", *mixed.values())
    known = {name: str(stated.get(name, "not stated")) for name in ("preset", "protocol", INDEX)}
    return {
        "preset": known["preset"], "protocol": known["protocol"], f"version of {INDEX}": known[INDEX],
        "models and weights": hashed([stated.get(name) for name in DECISIVE]),
        **{f"version of {metric}": f"{version}" + (f" ({hashed(parts[metric])})" if metric in parts else "")
           for metric, (version,) in versions.items()},
    }  # fmt: skip


def pool(
    files: Annotated[list[Path], argument("Files that 'rate share' wrote, one per study.")],
    out: Annotated[Path | None, out_option("Folder for forest plots (SVG).")] = None,
    form: options.Format = "text",
) -> None:
    """Pool the agreement of several studies by random-effects meta-analysis, with how much they differ.

    A study or clip that would count twice is refused, and so are scores of other versions, presets or protocols and
    other questions. That a rater took part in two studies is not noticed. Exit codes: 0, 2 refused or wrong usage.
    """
    from vmmetrics.rating.sharing import pool as pooled
    from vmmetrics.rating.sharing import read_share

    output, messages = open_consoles()
    names = [path.stem if len({one.stem for one in files}) == len(files) else str(path) for path in files]
    if len(set(names)) < max(2, len(files)):
        raise typer.BadParameter("expected two files or more, each once")
    shares = dict(zip(names, map(read_share, files), strict=True))
    cells = pooled(shares)
    if out is not None:
        from vmmetrics.utils.display.canvas import save_charts

        with refusing("write", out):
            messages.print(f"written: {len(save_charts(_forests(cells), out, '.svg'))} forest plots in {out}")
    print_result(form, _parts(shares, cells), output)


def _parts(shares: Mapping[str, Share], cells: Sequence[Pooled]) -> list[Part]:
    from vmmetrics.rating.sharing import LEVELS
    from vmmetrics.utils.display.tables import NONE, DisplayCell, DisplayTable, bounds, figure, heads, p_value
    from vmmetrics.utils.statistics.bootstrap import Estimate

    studies = DisplayTable("studies", "Studies", "", heads("study", "raters", "clips", "began", "ended"))
    for name, one in shares.items():
        studies.add(name, *(figure(n, str(n)) for n in (one.raters, len(one.clips))), one.began, one.ended)
    table = DisplayTable(
        "pooled", "Agreement with people over all studies",
        "ρ, or the share of equal preferences. Intervals of 95 %, Hartung and Knapp's, modified; τ on Fisher's scale "
        "(Paule and Mandel). I²: share of the differences that is no error of sampling; p: of one truth for all, by Q.",
        heads("dimension", "metric", "figure", "studies", "pooled", "another study", "τ", "I²", "Q", "p", texts=3),
    )  # fmt: skip
    for cell in cells:
        ends, result, studied = cell.estimates(), cell.result, len(cell.studies)
        another = ends.get("another study")
        table.add(
            cell.dimension, cell.metric, LEVELS[cell.level], figure(studied, str(studied)),
            table.estimate(ends["all studies"]),
            DisplayCell(NONE if another is None else bounds(another.low, another.high)),
            table.estimate(Estimate(result.tau, result.tau_low, result.tau_high)),
            table.estimate(Estimate(result.i2, result.i2_low, result.i2_high)), figure(result.q),
            figure(result.p, p_value(result.p)),
        )  # fmt: skip
    return [studies, table]


def _forests(cells: Sequence[Pooled]) -> dict[str, Figure]:
    """Return a forest plot for each dimension and metric: a panel per level, a row per study, the pooled ones last."""
    from matplotlib.figure import Figure

    from vmmetrics.rating.sharing import LEVELS
    from vmmetrics.utils.display import canvas
    from vmmetrics.utils.statistics.bootstrap import Estimate

    charts, none = {}, Estimate(None, note="no figure is shared")
    for dimension, metric in dict.fromkeys((one.dimension, one.metric) for one in cells):
        shown = {LEVELS[one.level]: one for one in cells if (one.dimension, one.metric) == (dimension, metric)}
        names = dict.fromkeys(name for one in shown.values() for name in one.studies)
        names |= dict.fromkeys(name for one in shown.values() for name in one.estimates())  # these stand last
        with canvas.chart_style():
            chart = Figure(
                (canvas.WIDTH * (1 + len(shown)) / 4, canvas.FOREST_ROW * len(names) + 1), layout="constrained"
            )
            panels = chart.subplots(1, len(shown), sharey=True, squeeze=False)[0].tolist()
            for axes, (level, one) in zip(panels, shown.items(), strict=True):
                rows = [one.estimates().get(name, none) for name in names]
                chance = one.shown(0.0)
                canvas.forest(axes, rows, canvas.axis_range(rows, chance - 0.1, chance + 0.1), chance)
                axes.set_title(level)
                axes.set_xlabel(f"{canvas.label(metric, 20)}, {canvas.label(dimension, 20)}")
            panels[0].set_yticks(range(len(names)), [canvas.label(name, canvas.FOREST_NAME) for name in names])
        charts[f"{metric}-{dimension}"] = chart
    return charts
