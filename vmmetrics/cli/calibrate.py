"""``vmmetrics calibrate``: an index of one's own from scores and ratings."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import argument, option, out_option, seed_option
from vmmetrics.cli.ratings import RatingsReading
from vmmetrics.cli.terminal import EXIT_WORSE, error, open_consoles, usage
from vmmetrics.errors import SetupError, refusing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vmmetrics.alignment.calibration_gains import Gains
    from vmmetrics.scoring.own_index import OwnIndex
    from vmmetrics.scoring.versions import Versions
    from vmmetrics.utils.display.tables import Part
    from vmmetrics.utils.statistics.bootstrap import Estimate


def calibrate(
    sources: Annotated[
        list[str],
        argument("Run directories, then ratings in any form that align reads.", metavar="RUN... RATINGS"),
    ],
    out: Annotated[Path, out_option("File of the index to write, such as my-index.toml.", show_default=False)],
    reading: RatingsReading,
    name: Annotated[str | None, option("Name of the index. Default: that of the file.")] = None,
    dimension: Annotated[
        list[str] | None, option("Calibrate on this column of ratings; repeatable. Default: the average of all.")
    ] = None,
    exclude_model: Annotated[list[str] | None, option("Leave out a model, such as real footage; repeatable.")] = None,
    seed: Annotated[int | None, seed_option("Random seed. Default: a fixed one.")] = None,
    form: options.Format = "text",
) -> None:
    """Fit an index of your own: the formula of INDEX with exponents from ratings, tested on unseen prompts and models.

    Prints agreement on held-out clips and gains over the default INDEX, the model's name, the prompt and less motion.
    Exit codes: 0 written, 2 wrong usage or setup, 4 refused, as there is no gain over INDEX or under 10 prompts.
    """
    from vmmetrics.alignment.calibration import PARTS, RatedParts, rated_dimension
    from vmmetrics.alignment.calibration import calibrate as fit_index
    from vmmetrics.alignment.calibration_gains import measure_gains, refusal
    from vmmetrics.alignment.readers.read import matched_study, read_sides
    from vmmetrics.alignment.study_report import without_models
    from vmmetrics.scoring.own_index import CalibrationStudy, OwnIndex
    from vmmetrics.utils.schema import plain
    from vmmetrics.utils.statistics.bootstrap import SEED

    if len(sources) < 2:
        raise typer.BadParameter("expected run directories and then ratings: vmmetrics calibrate RUN... RATINGS")
    output, messages = open_consoles()
    seed = SEED if seed is None else seed
    described = _configuration(sources[:-1])
    scores, judged = read_sides(sources[:-1], sources[-1], reading.options(dimension or ()))
    study = without_models(matched_study(scores, judged, None, dimension or ()), exclude_model or ())
    study, rated = rated_dimension(study)
    data = RatedParts.of(study, rated)
    counts = len(data.ratings), len(set(data.prompts)), len(set(data.models))
    versions = _versions(scores.versions)
    with usage("--name"):
        of = CalibrationStudy(Path(sources[-1]).name, _sha256(Path(sources[-1])), rated, *counts)
        name = name or re.sub(r"[^a-z0-9]+", "_", out.stem.lower()).strip("_")
        index = OwnIndex.unfitted(name, of, versions, described)
    fit = fit_index(data, seed)
    gains = measure_gains(data, fit, seed=seed)
    fitted = dict(zip(PARTS, fit.exponents.round(6).tolist(), strict=True))
    held_out = {row: {level: _rounded(of) for level, of in levels.items()} for row, levels in gains.items()}
    index = replace(index, exponents={key: fitted[key] for key in index.exponents}, held_out=held_out)
    why = refusal(gains, index.study.prompts)
    print_result(
        form, _parts(index, gains, study.matching.notes), output, data=lambda: {**plain(index), "refused": why}
    )
    if why:
        error(messages, f"refused, nothing was written: {why}", "bold red")
        raise typer.Exit(EXIT_WORSE)
    index.write(out)
    messages.print(f"written: {out}; use it with score, leaderboard, report or serve --index {out}", soft_wrap=True)


def _parts(index: OwnIndex, gains: Gains, notes: Sequence[str]) -> list[Part]:
    from vmmetrics.alignment.calibration import DEFAULT, PARTS
    from vmmetrics.alignment.calibration_gains import LEVELS, OWN
    from vmmetrics.metrics.registry import label
    from vmmetrics.utils.display.tables import DisplayTable, Lines, figure, heads

    study = index.study
    of = f"{study.dimension}: {study.clips} clips, {study.prompts} prompts, {study.models} models"
    exponents = DisplayTable("exponents", "Exponents", "", heads("part", index.name, "INDEX"))
    default = dict(zip(PARTS, DEFAULT.tolist(), strict=True))
    for key, power in index.exponents.items():
        exponents.add(label(key), figure(power), figure(default[key]))
    unseen = "prompts and models" if study.models > 1 else "prompts"
    caption = (
        "Spearman's ρ with the ratings, and differences of it [95 % interval over prompts], on clips scored with "
        f"exponents fitted without their {unseen}; amplitude constant: partial ρ within models, given the motion."
    )
    table = DisplayTable("gains", f"{index.name} on unseen {unseen}", caption, heads("", *LEVELS))
    for row, levels in gains.items():
        table.add(row if row == OWN else f"gain over {row}", *(table.estimate(levels[level]) for level in LEVELS))
    return [Lines("study", index.name, (of, *notes)), exponents, table]


def _rounded(of: Estimate) -> tuple[float, ...]:
    return tuple(round(end, 4) for end in (of.value, of.low, of.high) if end is not None)


def _versions(sources: Sequence[tuple[str, Versions]]) -> dict[str, int]:
    """Return the version of each metric.

    Raises:
        SetupError: One has several.
    """
    from vmmetrics.scoring.versions import differing

    if mixed := differing(sources):
        raise SetupError(f"Scores of several versions cannot be calibrated together: {'; '.join(mixed.values())}")
    return {metric: versions[0] for _, of in sources for metric, versions in of.items()}


def _sha256(ratings: Path) -> str:
    """Return the SHA-256 of ratings: of the file, or of the tables in a folder."""
    from vmmetrics.alignment.readers.tables import TABLE_SUFFIXES, exported_table
    from vmmetrics.utils.storage.opening import read_regular

    digest, ratings = hashlib.sha256(), exported_table(ratings)
    for file in sorted(ratings.iterdir()) if ratings.is_dir() else [ratings]:
        if file.is_file() and (file == ratings or file.suffix in TABLE_SUFFIXES):
            with refusing("read", file):
                digest.update(read_regular(file))
    return digest.hexdigest()


def _configuration(sources: Sequence[str]) -> dict[str, Any]:
    """Return what the scores of run directories depend on.

    Raises:
        SetupError: One is no run directory, or two differ.
    """
    from vmmetrics.scoring.prompt_scores import DECISIVE, split_source
    from vmmetrics.scoring.records import read_run_json

    found: dict[str, Any] = {}
    for source in sources:
        path = split_source(source)[0]
        if not (path / "run.json").is_file():
            raise SetupError(
                f"{path} does not say which preset, protocol and versions its scores are of: give the run directory, "
                "which has run.json"
            )
        configuration = read_run_json(path)["configuration"]
        if different := [key for key in DECISIVE if found and found.get(key) != configuration.get(key)]:
            raise SetupError(f"{path} has other {', '.join(different)} than {sources[0]}: calibrate on one of them")
        found = {key: configuration.get(key) for key in DECISIVE}
    return found
