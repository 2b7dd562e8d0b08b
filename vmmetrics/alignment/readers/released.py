"""Rated sets as their authors released them, by name; docs/ratings-formats.md says what each schema rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.judgements import Gatherer, Judgements, looks_like_pairs
from vmmetrics.alignment.readers.ratings import read_ratings
from vmmetrics.alignment.readers.tables import (
    SourceTable,
    numbers,
    read_json_or_lines,
    read_table,
    texts,
    to_number,
)
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.utils.tables import open_parquet

RatingScale = tuple[float, float] | None

FETV_FILE = re.compile(r"^manual_eval_results_(?P<model>.+)\.json$")
_FETV_DIMENSIONS = ("static_quality", "temporal_quality", "alignment")
# Folders of the videos are not always called as the files of ratings are.
_FETV_FOLDERS = {"damo-text2video": "modelscope-t2v", "ground-truth": "real"}
_VIDEO_FEEDBACK = ("visual_quality", "temporal_consistency", "dynamic_degree", "text_to_video_alignment",
                   "factual_consistency")  # fmt: skip
_VIDEO_FEEDBACK2 = {
    "visual_quality": ("visual_score", "visual_quality", "vq_score"),
    "text_to_video_alignment": ("t2v_score", "text_to_video_alignment", "t2v_alignment"),
    "physical_consistency": ("phy_score", "physical_common_sense_consistency", "physical_consistency", "pc_score"),
}
_PUBLISHED = "vmbench"


def read_released(path: Path, name: str | None, scale: RatingScale) -> Judgements | None:
    """Read a released set.

    Args:
        path: A file, or a folder of files of one set.
        name: One of :data:`RELEASED`; None tells it from the files.
        scale: Lowest and highest rating there can be.

    Returns:
        Its judgements; None if ``name`` is None and it is none of them.

    Raises:
        SetupError: It is not in the format named, or cannot be read.
    """
    if name is not None:
        return RELEASED[name](path, scale)
    if str(path) == _PUBLISHED and not path.exists():
        return _vmbench(path, scale)
    told = _name_of_folder(path) if path.is_dir() else _name_of_file(path)
    return None if told is None else RELEASED[told](path, scale)


def _name_of_folder(path: Path) -> str | None:
    if any(FETV_FILE.match(file.name) for file in path.glob("**/*.json")):
        return "fetv"
    told = {_name_of_file(file) for file in (*path.glob("*.json"), *path.glob("**/*.parquet"))} - {None}
    if len(told) > 1:
        raise SetupError(f"{path} holds files of several sets: {', '.join(sorted(map(str, told)))}; give one of them")
    return told.pop() if told else None


def _name_of_file(path: Path) -> str | None:
    suffix = path.suffix.lower()
    if FETV_FILE.match(path.name):
        return "fetv"
    if suffix in {".json", ".jsonl"}:
        content, _ = read_json_or_lines(path)
        row = content[0] if isinstance(content, list) and content else None
        if isinstance(row, Mapping) and {"videos", "human_anno"} <= row.keys():
            return "video-bench"
        if isinstance(row, Mapping) and isinstance(row.get("annotation"), Mapping):
            return "visionreward"
        columns = {normalised(name) for name in row} if isinstance(row, Mapping) else set()
    elif suffix == ".parquet":
        with open_parquet(path) as file:
            schema = file.schema_arrow
        from pyarrow.types import is_struct

        if any(field.name == "annotation" and is_struct(field.type) for field in schema):
            return "visionreward"
        columns = {normalised(name) for name in read_table(path, path.name).columns}
    else:
        return None
    if columns >= set(_VIDEO_FEEDBACK):
        return "videofeedback"
    if all(columns & set(names) for names in _VIDEO_FEEDBACK2.values()):
        return "videofeedback2"
    return None


def _fetv(path: Path, scale: RatingScale) -> Judgements:
    """FETV's ``manual_eval_results/human0/manual_eval_results_<model>.json``: one ``{sentence: ratings}`` a line."""
    if path.is_file() and not FETV_FILE.match(path.name):
        return read_ratings(read_table(path, path.name), scale=scale)
    files = [path] if path.is_file() else sorted(f for f in path.glob("**/*.json") if FETV_FILE.match(f.name))
    if not files:
        raise SetupError(f"{path}: expected files manual_eval_results_<model>.json, in a folder per rater")
    gatherer = Gatherer()
    names: dict[str, tuple[str, str, str]] = {}
    for file in files:
        match = FETV_FILE.match(file.name)
        model = match["model"] if match else file.stem
        content, _ = read_json_or_lines(file)
        for sentence, said in _entries(content, file):
            folder, video = _FETV_FOLDERS.get(model, model), said.get("video_id")
            clip = f"{model}/{sentence}"
            names[clip] = (
                f"{folder}/videos/{sentence}" if folder != "real" else f"{folder}/{video}",
                f"{folder}/{sentence}",
                f"{sentence.zfill(3)}_{folder}",
            )
            index = gatherer.clip(clip, f"sentence {sentence}", model)
            for dimension in _FETV_DIMENSIONS:
                gatherer.rate(index, dimension, _rating(said.get(dimension), f"{file}, {sentence}"), file.parent.name)
    note = f"Released format FETV: {len(files)} files; the prompt is the number of the sentence"
    return gatherer.finish([note], scale=scale, other_names=list(zip(*names.values(), strict=True)))


def _entries(content: Any, file: Path) -> list[tuple[str, Mapping[str, Any]]]:
    lines = [content] if isinstance(content, Mapping) else content
    if not isinstance(lines, list) or not all(isinstance(line, Mapping) for line in lines):
        raise SetupError(f"{file}: expected lines of {{sentence: ratings}}")
    found = [(str(sentence), said) for line in lines for sentence, said in line.items()]
    if not all(isinstance(said, Mapping) for _, said in found):
        raise SetupError(f"{file}: expected lines of {{sentence: ratings}}")
    return found


def _video_bench(path: Path, scale: RatingScale) -> Judgements:
    """Video-Bench's ``human_anno/<dimension>.json``: a list of prompts with the videos and ratings of each model."""
    files = [path] if path.is_file() else sorted(path.glob("*.json"))
    if not files:
        raise SetupError(f"{path}: expected a JSON file per dimension")
    gatherer = Gatherer()
    for file in files:
        content, _ = read_json_or_lines(file)
        if not isinstance(content, list):
            raise SetupError(f"{file}: expected a list of prompts with videos and human_anno")
        for number, entry in enumerate(content, 1):
            _rate_prompt(gatherer, entry, file, number)
    note = f"Released format Video-Bench: {', '.join(file.stem for file in files)}; raters are told by their place"
    return gatherer.finish([note], scale=scale)


def _rate_prompt(gatherer: Gatherer, entry: Any, file: Path, number: int) -> None:
    where = f"{file}, entry {number}"
    videos, said = (entry.get("videos"), entry.get("human_anno")) if isinstance(entry, Mapping) else (None, None)
    if not isinstance(videos, Mapping) or not isinstance(said, Mapping):
        raise SetupError(f"{where}: expected videos and human_anno, each by model")
    for model, video in videos.items():
        if model not in said:
            continue
        ratings = said[model]
        by_rater = (
            {str(rater): rating for rater, rating in ratings.items()}
            if isinstance(ratings, Mapping)
            else {str(place): rating for place, rating in enumerate(ratings, 1)}
            if isinstance(ratings, Sequence) and not isinstance(ratings, str)
            else {"1": ratings}
        )
        index = gatherer.clip(str(video), str(entry.get("prompt_en") or "") or None, str(model))
        for rater, rating in by_rater.items():
            gatherer.rate(index, file.stem.replace(" ", "_"), _rating(rating, f"{where}, {model}"), rater)


def _rating(value: Any, where: str) -> float:
    number = to_number(value)
    if number is None:
        raise SetupError(f"{where}: expected a rating but got {str(value)[:40]!r}")
    return number


def _of_dimensions(
    path: Path, scale: RatingScale, name: str, wanted: Mapping[str, Sequence[str]], clip_columns: Sequence[str]
) -> Judgements:
    """VideoFeedback and VideoFeedback2: a clip, its prompt and address, and a column of whole numbers per dimension."""
    gatherer = Gatherer()
    links: dict[str, str] = {}
    for table in _tables(path):
        clip = first_column(table.columns, clip_columns)
        columns = {dimension: first_column(table.columns, names) for dimension, names in wanted.items()}
        if clip is None or not any(columns.values()):
            raise SetupError(f"{table.source}: not {name}'s columns: {table.heading}")
        prompts = texts(table, first_column(table.columns, ("text_prompt", "prompt", "caption")))
        models = texts(table, first_column(table.columns, ("model", "gen_model", "generator", "model_name")))
        addresses = texts(table, first_column(table.columns, ("video_url", "video_link")))
        values = {d: numbers(table, column, wanted=True) for d, column in columns.items() if column is not None}
        for row, called in enumerate(texts(table, clip)):
            if called is None:
                continue
            index = gatherer.clip(called, prompts[row], models[row])
            links[called] = PurePosixPath((addresses[row] or called).partition("?")[0]).name
            for dimension, found in values.items():
                gatherer.rate(index, dimension, float("nan") if found is None else float(found[row]))
    distinct = len(set(links.values())) == len(links)
    note = f"Released format {name}: one averaged rating per dimension, raters are not told apart"
    return gatherer.finish([note], scale=scale, other_names=[tuple(links.values())] if distinct else ())


def _tables(path: Path) -> list[SourceTable]:
    """The table of a file, or those of a folder."""
    if path.is_file():
        return [read_table(path, path.name)]
    files = sorted((*path.glob("**/*.parquet"), *path.glob("*.json"), *path.glob("*.jsonl")))
    if not files:
        raise SetupError(f"{path}: expected a file or a folder of Parquet or JSON files")
    return [read_table(file, file.name) for file in files]


def _visionreward(path: Path, scale: RatingScale) -> Judgements:
    """VisionRewardDB-Video: ``video_path``, ``prompt`` and a structure ``annotation`` of numbers; or its pairs."""
    gatherer, pairs = Gatherer(), []
    for table in _tables(path):
        if looks_like_pairs(table, None):
            pairs.append(read_ratings(table, form="pairs"))
            continue
        clip = first_column(table.columns, ("video_path", "internal_id"))
        rated = [name for name in table.columns if normalised(name) not in _VISIONREWARD_OTHERS]
        if clip is None or not rated:
            raise SetupError(f"{table.source}: not VisionRewardDB-Video's columns: {table.heading}")
        prompts = texts(table, first_column(table.columns, ("prompt",)))
        values = {name: numbers(table, name) for name in rated}
        for row, called in enumerate(texts(table, clip)):
            if called is None:
                continue
            index = gatherer.clip(called, prompts[row])
            for name, found in values.items():
                if found is not None:
                    gatherer.rate(index, normalised(name), float(found[row]))
    note = "Released format VisionRewardDB-Video: one rating per aspect"
    if pairs:
        if len(pairs) > 1 or gatherer.finish().clips:
            raise SetupError(f"{path} holds ratings and preferences; give one file of them")
        return pairs[0]
    return gatherer.finish([note], scale=scale)


_VISIONREWARD_OTHERS = frozenset({"video_path", "internal_id", "prompt", "url", "meta_result", "meta_mask"})


def _vmbench(path: Path, scale: RatingScale) -> Judgements:
    """VMBench's leaderboard: a row per model with its published scores; "vmbench" is the copy that we ship."""
    if not path.exists() and str(path) == _PUBLISHED:
        from vmmetrics.scoring.leaderboard_text import published_rows

        rows = published_rows()
        columns: dict[str, list[Any]] = {"model": [row.model for row in rows]}
        columns |= {metric: [row.scores[metric] for row in rows] for metric in METRICS}
        table = SourceTable("VMBench's published table", columns)
    else:
        table = read_table(path, path.name)
    model = first_column(table.columns, ("model", "models", "method"))
    rated = {normalised(name): name for name in table.columns if normalised(name) in {*METRICS, "avg", "average"}}
    if model is None or not rated:
        raise SetupError(f"{table.source}: expected a column model and columns cas to tcs but got {table.heading}")
    gatherer = Gatherer()
    for row, called in enumerate(texts(table, model)):
        if called is not None:
            index = gatherer.clip(called, None, called)
            for dimension, name in rated.items():
                found = numbers(table, name, wanted=True)
                gatherer.rate(index, f"published_{dimension}", float("nan") if found is None else float(found[row]))
    note = "Released format VMBench's leaderboard: its rows are models, so only models can be compared"
    return gatherer.finish([note], scale=scale, of_models=True)


RELEASED: Mapping[str, Callable[[Path, RatingScale], Judgements]] = {
    "fetv": _fetv,
    "video-bench": _video_bench,
    "videofeedback": partial(
        _of_dimensions,
        name="VideoFeedback",
        wanted={dimension: (dimension,) for dimension in _VIDEO_FEEDBACK},
        clip_columns=("id", "video_id", "video_name"),
    ),
    "videofeedback2": partial(
        _of_dimensions,
        name="VideoFeedback2",
        wanted=_VIDEO_FEEDBACK2,
        clip_columns=("video_name", "video", "video_path", "id"),
    ),
    "visionreward": _visionreward,
    "vmbench": _vmbench,
}
"""Released formats by name."""
