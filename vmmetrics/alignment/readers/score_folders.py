"""Folders of score files: metric and model are read from file and folder names where the file lacks them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.names import stem
from vmmetrics.alignment.readers.score_files import (
    LARGEST,
    PROMPT_LIST,
    SHOWN,
    ScoreFile,
    is_released,
    read_score_file,
)
from vmmetrics.alignment.readers.score_levels import ScoreEntry, is_metric_name, is_registered_metric
from vmmetrics.alignment.readers.score_tables import scores_of_table
from vmmetrics.alignment.readers.tables import TABLE_SUFFIXES, read_table
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import listed

MOST_FILES = 5000
"""Maximum files of a folder that are read."""
FORMS = (
    "run.json (ours), *_eval_results.json (VBench), auto_eval_results_MODEL.json (FETV-EVAL), METRIC_record.txt "
    "(EvalCrafter), or a JSON or CSV file per metric"
)
"""Supported contents of a folder of scores."""
_TABLES = "scores by clip in tables"
_GENERAL = frozenset({"score", "scores", "metric", "metrics", "quality"})  # of these words alone: no metric's folder
_RATINGS = frozenset({"rating", "ratings", "human_ratings", "mos", "annotations"})  # files that hold no scores


def read_score_folder(path: Path, besides: Path | None = None) -> ScoreFile:
    """Read all files of scores in a folder and below it.

    Where files of VBench, FETV-EVAL or EvalCrafter are there, others are passed over; so are tables of several columns
    none of which is known as a metric's, which may be ratings.

    Args:
        path: The folder.
        besides: A file to skip, such as the ratings.

    Raises:
        SetupError: There are none, or two of them give a clip different scores.
    """
    paths = [file for file in islice(_walk(path), MOST_FILES) if file.is_file()]
    paths = [file for file in paths if besides is None or not file.samefile(besides)]
    if runs := [str(file.parent) for file in paths if file.name == "run.json"]:
        raise SetupError(f"{path} holds run directories; give them one by one: {listed(runs, SHOWN)}")
    reasons: list[str] = []
    files = {file: read for file in paths if (read := _read(file, reasons)) is not None}
    if released := {file: read for file, read in files.items() if is_released(file)}:
        files = released
    if not files:
        there = listed([file.relative_to(path).as_posix() for file in paths], SHOWN) or "nothing"
        raise SetupError(
            f"{path} is no run directory and holds no scores by clip: found {there}; expected {FORMS}", *reasons[:1]
        )
    merged = _together(path, files)
    passed = [file.relative_to(path).as_posix() for file in paths if file not in files]
    if passed := [name for name in passed if not name.endswith(PROMPT_LIST)]:
        merged.notes.append(f"{path.name}: passed over, no scores by clip were read there: {listed(passed, SHOWN)}")
    return merged


def read_score_files(paths: Sequence[Path]) -> ScoreFile | None:
    """Read files of VBench, FETV-EVAL or EvalCrafter that were given one by one as if they were a folder's.

    Returns:
        None where they are not all of one of these, or two of them give a clip different scores.

    Raises:
        SetupError: One cannot be read.
    """
    if len(paths) < 2 or not all(path.is_file() and is_released(path) for path in paths):
        return None
    files = {path: read for path in paths if (read := read_score_file(path)) is not None}
    if len(files) < len(paths) or len({read.form for read in files.values()}) > 1:
        return None
    try:
        return _together(Path(os.path.commonpath([path.absolute().parent for path in paths])), files)
    except SetupError:  # each is a source of its own
        return None


def _walk(root: Path) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders, without hidden ones, sorted by name; lazily."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def _read(file: Path, reasons: list[str]) -> ScoreFile | None:
    """Return one file of a folder; None where it has no scores by clip."""
    if file.suffix.lower() not in {".txt", *TABLE_SUFFIXES} - {".md"} or file.name.endswith(PROMPT_LIST):
        return None
    try:
        if (score_file := read_score_file(file)) is not None:
            return score_file
        if file.stat().st_size > LARGEST or file.suffix.lower() == ".txt":
            return None
        scores = scores_of_table(read_table(file, file.name), file.name)
    except SetupError as error:
        reasons.append(str(error))
        return None
    if scores.of_models or not (len(scores.values) == 1 or any(map(is_registered_metric, scores.values))):
        return None
    alone = len(scores.values) == 1 and normalised(next(iter(scores.values))) in called.RATING
    if alone and normalised(file.stem) in _RATINGS:
        return None
    rows = zip(scores.clips, scores.models, scores.prompts, strict=True)
    entries = [
        ScoreEntry(clip, model, None if alone else metric, float(column[row]), prompt)
        for row, (clip, model, prompt) in enumerate(rows)
        for metric, column in scores.values.items()
    ]
    return ScoreFile(_TABLES, entries, dict(scores.columns[file.name]), list(scores.notes))


def _together(root: Path, files: Mapping[Path, ScoreFile]) -> ScoreFile:
    """Return the files as one; names of files and folders say what is not in them."""
    unnamed = [file for file, read in files.items() if any(entry.metric is None for entry in read.entries)]
    metric_of, model_of = _names_from_paths(root, unnamed) if unnamed else ({}, {})
    forms = list(dict.fromkeys(read.form for read in files.values()))
    merged = ScoreFile(f"{len(files)} file{'s' * (len(files) != 1)}, {listed(forms, SHOWN)}")
    for file, read in files.items():
        if (metric := metric_of.get(file)) is not None:
            model = model_of.get(file)
            read.entries = [e._replace(metric=e.metric or metric, model=e.model or model) for e in read.entries]
            read.roles[file.name if file.parent == root else f"{file.parent.name}/{file.name}"] = f"score {metric}" + (
                f", model {model}" if model else ""
            )
        merged.roles |= read.roles
        merged.notes += read.notes
        merged.lower |= read.lower
    merged.entries = _whole_names(_without_clashes(root, files, merged))
    return merged


def _whole_names(entries: Sequence[ScoreEntry]) -> list[ScoreEntry]:
    """Return the entries with "1" called "1.mp4" where other files of the folder call it so."""
    names = {entry.clip for entry in entries}
    whole = {stem(name): name for name in names if stem(name) != name}
    return [e._replace(clip=whole[e.clip]) if e.clip in whole else e for e in entries]


def _names_from_paths(root: Path, files: Sequence[Path]) -> tuple[dict[Path, str], dict[Path, str]]:
    """Return file → metric and file → model from file and folder names; names like those of known metrics are metrics.

    Files in one folder none of which is called like a metric are of a model each.
    """
    stems = {file: file.stem for file in files}
    folders = {file: file.parent.name for file in files if file.parent != root and not _is_general(file.parent.name)}
    by_folder, by_stem = (_likeness(names.values()) for names in (folders, stems))
    if by_folder > by_stem and (by_stem == 0 or sum(map(is_metric_name, set(folders.values()))) > 1):
        return {file: folders.get(file, stem) for file, stem in stems.items()}, stems
    if not folders and by_stem == 0 and len(set(stems.values())) > 1:
        name = root.resolve().name
        return dict.fromkeys(files, name if is_metric_name(name) and not _is_general(name) else "score"), stems
    return stems, folders


def _is_general(folder: str) -> bool:
    return set(normalised(folder).split("_")) <= _GENERAL


def _likeness(names: Iterable[str]) -> float:
    """Return the share of some names that are those of metrics."""
    distinct = set(names)
    return sum(map(is_metric_name, distinct)) / max(len(distinct), 1)


def _without_clashes(root: Path, files: Mapping[Path, ScoreFile], merged: ScoreFile) -> list[ScoreEntry]:
    """Return all entries; folders are models where scores of one clip differ, or file names repeat."""
    seen: dict[tuple[str | None, str, str | None], tuple[float, Path]] = {}
    clashes = []
    for file, read in files.items():
        for entry in read.entries:
            value, first = seen.setdefault((entry.model, entry.clip, entry.metric), (entry.value, file))
            differ = value != entry.value and value == value and entry.value == entry.value
            if differ or (first.name == file.name and first.parent != file.parent):
                clashes.append((entry, first, file))
    if not clashes:
        return [entry for read in files.values() for entry in read.entries]
    entry, first, file = clashes[0]
    if first.parent == file.parent:
        raise SetupError(
            f"{root}: {first.name} and {file.name} give {entry.clip} different scores in {entry.metric}; keep one of "
            "them, or put the files of each model into a folder of its name"
        )
    folders = list(dict.fromkeys(file.parent.name for file in files))
    merged.notes.append(f"{root.name}: clips have the same names, folders are read as models: {listed(folders, SHOWN)}")
    return [entry._replace(model=file.parent.name) for file, read in files.items() for entry in read.entries]
