"""Rated sets as their authors released them, by name; docs/ratings-formats.md says what each schema rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from vmmetrics.alignment.readers import judgements
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.judgements import AVERAGED, Judgements, RatedClip, RatingScale
from vmmetrics.alignment.readers.pairs import looks_like_pairs, read_pairs
from vmmetrics.alignment.readers.source_table import SourceTable, numbers, texts, to_number
from vmmetrics.alignment.readers.tables import read_json_or_lines, read_table
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.utils.tables import open_parquet

FETV_FILE = re.compile(r"^manual_eval_results_(?P<model>.+)\.json$")
_FETV_DIMENSIONS = ("static_quality", "temporal_quality", "alignment")
# Folders of the videos are not always called as the files of ratings are.
_FETV_FOLDERS = {"damo-text2video": "modelscope-t2v", "ground-truth": "real"}
_VIDEOFEEDBACK2 = {
    "visual_quality": ("visual_score", "visual_quality", "vq_score"),
    "text_to_video_alignment": ("t2v_score", "text_to_video_alignment", "t2v_alignment"),
    "physical_consistency": ("phy_score", "physical_common_sense_consistency", "physical_consistency", "pc_score"),
}
_VISIONREWARD_OTHERS = frozenset({"video_path", "internal_id", "prompt", "url", "meta_result", "meta_mask"})
_VIDEOFEEDBACK = (
    *("visual_quality", "temporal_consistency", "dynamic_degree"),
    *("text_to_video_alignment", "factual_consistency"),
)
_PUBLISHED = "vmbench"
_PROMPT, _MODEL = ("text_prompt", "prompt", "caption"), ("model", "gen_model", "generator", "model_name")
_LINK = ("video_url", "video_link")


class ReleasedSet(NamedTuple):
    """A rated set: tables with a row per clip or model and a column of averaged ratings per dimension, or what else.

    Attributes:
        title: What it is called.
        note: How it was read; ``{count}`` and ``{names}`` are of its files.
        clip: What the column that names the clip may be called.
        dimensions: Dimension to its columns; where empty every column of numbers that is not about the clip.
        of_models: Whether models were rated, not clips.
        rated: What a file holds, clip by clip, where it is no such table.
        files: Patterns of its files in a folder.
        expected: What a folder without any lacks.
        fields: How its fields are read, where it is no such table.
    """

    title: str
    note: str
    clip: tuple[str, ...] = ()
    dimensions: Mapping[str, Sequence[str]] = MappingProxyType({})
    of_models: bool = False
    rated: Callable[[Path], Iterable[RatedClip]] | None = None
    files: tuple[str, ...] = ("**/*.parquet", "*.json", "*.jsonl")
    expected: str = "a file or a folder of Parquet or JSON files"
    fields: Mapping[str, str] = MappingProxyType({})


def read_released(path: Path, name: str | None, scale: RatingScale) -> Judgements | None:
    """Read a released set.

    Args:
        path: A file, or a folder of files of one set.
        name: One of :data:`RELEASED`; None tells it from the files.
        scale: Lowest and highest rating there can be.

    Returns:
        Its judgements; None if it is a table like any other.

    Raises:
        SetupError: It is not in the format named, or cannot be read.
    """
    if name is None:
        name = _PUBLISHED if _is_published(path) else _name_of_folder(path) if path.is_dir() else _name_of_file(path)
    if name is None or (name == "fetv" and path.is_file() and not FETV_FILE.match(path.name)):
        return None
    released = RELEASED[name]
    files = [path] if path.is_file() or _is_published(path) else sorted(f for g in released.files for f in path.glob(g))
    if not files:
        raise SetupError(f"{path}: no file of {released.title} in this folder; expected {released.expected}")
    if name == "visionreward" and (pairs := [table for table in map(_table, files) if looks_like_pairs(table)]):
        if len(files) > 1:
            raise SetupError(f"{path} holds ratings and preferences; give one file of them")
        return read_pairs(pairs[0])
    columns = dict(released.fields)
    rated: list[Iterable[RatedClip]] = []
    for file in files:
        if released.rated is not None:
            rated.append(released.rated(file))
            continue
        table = _table(file)
        rated.append(_of_table(table, released))
        columns |= _roles(table, released)
    note = released.note.format(count=len(files), names=", ".join(file.stem for file in files))
    notes = [f"Released format {released.title}: {note}"]
    everything = chain.from_iterable(rated)
    return judgements.join_ratings(everything, notes, scale=scale, of_models=released.of_models, columns=columns)


def _roles(table: SourceTable, released: ReleasedSet) -> dict[str, str]:
    """Return column → how it is read."""
    named = dict.fromkeys([first_column(table.columns, released.clip)], "model" if released.of_models else "clip")
    others = (("prompt", _PROMPT), ("model", _MODEL), ("name of the clip", _LINK))
    other_roles = {first_column(table.columns, names): role for role, names in others}
    rated = {column: f"rating of {dimension}" for column, dimension in _rated(table, released).items()}
    roles = {column: role for column, role in (other_roles | named).items() if column is not None}
    return dict.fromkeys(table.columns, "not read") | rated | roles


def _rated(table: SourceTable, released: ReleasedSet) -> dict[str, str]:
    """Return column of ratings → dimension."""
    named = {first_column(table.columns, names): dimension for dimension, names in released.dimensions.items()}
    if not released.dimensions:
        named = {name: normalised(name) for name in table.columns if normalised(name) not in _VISIONREWARD_OTHERS}
    return {name: named[name] for name in table.columns if name in named}


def _is_published(path: Path) -> bool:
    return str(path) == _PUBLISHED and not path.exists()


def _name_of_folder(path: Path) -> str | None:
    if any(FETV_FILE.match(file.name) for file in path.glob("**/*.json")):
        return "fetv"
    names = {_name_of_file(file) for file in (*path.glob("*.json"), *path.glob("**/*.parquet"))} - {None}
    if len(names) > 1:
        raise SetupError(f"{path} holds files of several sets: {', '.join(sorted(map(str, names)))}; give one of them")
    return names.pop() if names else None


def _name_of_file(path: Path) -> str | None:
    suffix = path.suffix.lower()
    row: Mapping[str, Any] = {}
    if FETV_FILE.match(path.name):
        return "fetv"
    if suffix in {".json", ".jsonl"}:
        content, _ = read_json_or_lines(path)
        if isinstance(content, list) and content and isinstance(content[0], Mapping):
            row = content[0]
        if {"videos", "human_anno"} <= row.keys():
            return "video-bench"
    elif suffix == ".parquet":
        with open_parquet(path) as file:
            schema = file.schema_arrow
        from pyarrow.types import is_struct

        row = {field.name: {} if is_struct(field.type) else None for field in schema}
    if isinstance(row.get("annotation"), Mapping):
        return "visionreward"
    columns = {normalised(name) for name in row}
    for name in ("videofeedback", "videofeedback2"):
        if all(columns & set(names) for names in RELEASED[name].dimensions.values()):
            return name
    return None


def _fetv(file: Path) -> Iterator[RatedClip]:
    """Yield clips of FETV's ``manual_eval_results/human0/manual_eval_results_<model>.json``, one a line."""
    match = FETV_FILE.match(file.name)
    model = match["model"] if match else file.stem
    folder = _FETV_FOLDERS.get(model, model)
    content, _ = read_json_or_lines(file)
    for line in content if isinstance(content, list) else [content]:
        for sentence, record in line.items() if isinstance(line, Mapping) else [("", None)]:
            if not isinstance(record, Mapping):
                raise SetupError(f"{file}: expected lines of {{sentence: ratings}}")
            where, name = f"{file}, {sentence}", str(sentence)
            ratings = [(d, _rating(record.get(d), where), file.parent.name) for d in _FETV_DIMENSIONS]
            video = record.get("video_id") if folder == "real" else f"videos/{name}"
            others = [f"{of}/{clip}" for of in (folder, model) for clip in (video, name)]
            others += [f"{name.zfill(3)}_{of}" for of in (folder, model)]
            yield RatedClip(f"{model}/{name}", ratings, f"sentence {name}", model, tuple(others))


def _video_bench(file: Path) -> Iterator[RatedClip]:
    """Yield clips of Video-Bench's ``human_anno/<dimension>.json``: prompts with videos and ratings by model."""
    content, _ = read_json_or_lines(file)
    if not isinstance(content, list):
        raise SetupError(f"{file}: expected a list of prompts with videos and human_anno")
    dimension = file.stem.replace(" ", "_")
    for number, entry in enumerate(content, 1):
        where = f"{file}, entry {number}"
        videos, annotations = (
            (entry.get("videos"), entry.get("human_anno")) if isinstance(entry, Mapping) else (None, None)
        )
        if not isinstance(videos, Mapping) or not isinstance(annotations, Mapping):
            raise SetupError(f"{where}: expected videos and human_anno, each by model")
        for model, video in videos.items():
            if model not in annotations:
                continue
            ratings = (
                annotations[model] if isinstance(annotations[model], list | tuple | Mapping) else [annotations[model]]
            )
            by_rater = ratings if isinstance(ratings, Mapping) else dict(enumerate(ratings, 1))
            triples = [
                (dimension, _rating(rating, f"{where}, {model}"), str(rater)) for rater, rating in by_rater.items()
            ]
            yield RatedClip(str(video), triples, str(entry.get("prompt_en") or "") or None, str(model))


def _rating(value: Any, where: str) -> float:
    if (number := to_number(value)) is None:
        raise SetupError(f"{where}: expected a rating but got {str(value)[:40]!r}")
    return number


def _of_table(table: SourceTable, released: ReleasedSet) -> Iterator[RatedClip]:
    clip, strict = first_column(table.columns, released.clip), bool(released.dimensions)
    rated = _rated(table, released)
    if clip is None or not rated:
        columns = ", ".join((*released.clip[:1], *(names[0] for names in released.dimensions.values())))
        raise SetupError(f"{table.source}: expected {released.title}'s columns {columns} but got {table.heading}")
    clips = texts(table, clip)
    prompts, models, links = (
        texts(table, first_column(table.columns, names))
        for names in (
            _PROMPT,
            released.clip if released.of_models else _MODEL,
            _LINK,
        )
    )
    values = {name: cells for name in rated if (cells := numbers(table, name, required=strict)) is not None}
    files = {
        name: PurePosixPath((link or name).partition("?")[0]).name
        for name, link in zip(clips, links, strict=True)
        if name is not None
    }
    linked = not released.of_models and strict and len(set(files.values())) == len(files)
    for row, name in enumerate(clips):
        if name is not None:
            ratings = [(rated[column], float(cells[row]), AVERAGED) for column, cells in values.items()]
            yield RatedClip(name, ratings, prompts[row], models[row], (files[name],) if linked else ())


def _table(file: Path) -> SourceTable:
    if not _is_published(file):
        return read_table(file, file.name)
    from vmmetrics.scoring.leaderboard_text import published_rows

    rows = published_rows()
    columns = {metric: [row.scores[metric] for row in rows] for metric in rows[0].scores}
    return SourceTable("VMBench's published table", {"model": [row.model for row in rows], **columns})


_AVERAGES = "one averaged rating per dimension, raters are not distinguished"

RELEASED: Mapping[str, ReleasedSet] = {
    "fetv": ReleasedSet(
        "FETV",
        "{count} files; the prompt is the number of the sentence",
        rated=_fetv,
        files=("**/manual_eval_results_*.json",),
        expected="files manual_eval_results_<model>.json, in a folder per rater",
        fields={
            "folder": "rater",
            "file": "model",
            "sentence": "clip and prompt",
            "video_id": "clip",
            **{dimension: f"rating of {dimension}" for dimension in _FETV_DIMENSIONS},
            "fine-grained_alignment": "not read",
        },
    ),
    "video-bench": ReleasedSet(
        "Video-Bench",
        "{names}; raters by position",
        rated=_video_bench,
        files=("*.json",),
        expected="a JSON file per dimension",
        fields={
            "file": "dimension",
            "prompt_en": "prompt",
            "videos": "model and clip",
            "human_anno": "ratings by their place",
            "grid_view": "not read",
        },
    ),
    "videofeedback": ReleasedSet(
        "VideoFeedback", _AVERAGES, ("id", "video_id", "video_name"), {name: (name,) for name in _VIDEOFEEDBACK}
    ),
    "videofeedback2": ReleasedSet(
        "VideoFeedback2", _AVERAGES, ("video_name", "video", "video_path", "id"), _VIDEOFEEDBACK2
    ),
    "visionreward": ReleasedSet("VisionRewardDB-Video", "one rating per aspect", ("video_path", "internal_id")),
    "vmbench": ReleasedSet(
        "VMBench's leaderboard",
        "its rows are models, so only models can be compared",
        ("model", "models", "method"),
        {f"published_{name}": (name,) for name in (*METRICS, "avg", "average")},
        of_models=True,
        files=(),
        expected="a table",
    ),
}
"""Released formats by name."""
