"""Scores as VBench, FETV-EVAL and EvalCrafter write them: a file, several, or a folder of them.

Every file becomes entries of clip, model, metric and value. Names of fields and files were looked up in the released
code.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.names import stem
from vmmetrics.alignment.readers.score_tables import to_score
from vmmetrics.alignment.readers.source_table import SourceTable
from vmmetrics.alignment.readers.tables import read_json_or_lines, read_table
from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import registered
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.tables import read_text

_LARGEST = 256 * 2**20  # bytes of a file; VBench's for 5,000 clips and 16 dimensions has a tenth of this
_SHOWN, _LONGEST = 5, 2000  # names in a note; letters of a line that may be one of a log
_PROMPT_LIST = "_full_info.json"  # the prompts that VBench writes beside its results
_RESULTS = "_eval_results.json"
_FETV = re.compile(r"^auto_eval_results_(?P<model>.+)\.json$")
_RECORD = re.compile(
    r"Vid:\s*(?P<clip>.+?),\s+Current (?P<metric>[\w ]+?): (?:tensor\()?(?P<value>[-+]?\d[\d.eE+-]*|nan)", re.IGNORECASE
)
_INDEXED = re.compile(r"^(?P<prompt>.*\s.*\S)-\d+\.\w+$")  # VBench's names: the prompt, and which clip of it
_LOWER = frozenset({"warping_error", "ocr_score", "celebrity_id_score"})
"""EvalCrafter's metrics that its released code inverts (1 − score)."""
_DOVER = {"aesthetic_score": "VQA_A", "technical_score": "VQA_T", "overall_final_score": "VQA_overall"}
_NO_MODEL = frozenset(
    {"", "videos", "video", "clips", "samples", "sampled_videos", "outputs", "output", "results", "generated", "tmp"}
)
"""Names of clip folders that are no model names."""
MOST_FILES = 5000  # of a folder that are looked at
_VBENCH = frozenset((
    "subject_consistency", "background_consistency", "temporal_flickering", "motion_smoothness", "dynamic_degree",
    "aesthetic_quality", "imaging_quality", "overall_consistency", "object_class", "multiple_objects", "human_action",
    "color", "spatial_relationship", "scene", "appearance_style", "temporal_style", "human_anatomy", "human_identity",
    "human_clothes", "diversity", "composition", "dynamic_spatial_relationship", "dynamic_attribute",
    "motion_order_understanding", "human_interaction", "complex_landscape", "complex_plot", "camera_motion",
    "motion_rationality", "instance_preservation", "mechanics", "thermotics", "material",
))  # fmt: skip
"""Dimensions of VBench and VBench-2.0."""


class ScoreEntry(NamedTuple):
    """A score of a clip.

    Attributes:
        clip: Name.
        model: Its model, where known.
        metric: Name of the score; None where the file does not name it.
        value: NaN where there is none.
        prompt: Its prompt, where known.
    """

    clip: str
    model: str | None
    metric: str | None
    value: float
    prompt: str | None = None


@dataclass(slots=True)
class ScoreFile:
    """Scores read from one or several files.

    Attributes:
        form: Whose form it is, in words.
        entries: The scores.
        roles: Key to how it was read.
        notes: What was passed over.
        lower: Metrics of which lower is better by the released code.
    """

    form: str
    entries: list[ScoreEntry] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lower: set[str] = field(default_factory=set)

    def summary(self) -> str:
        """Return what was read, as text."""
        metrics, models, clips = (
            list(dict.fromkeys(str(entry[field_index]) for entry in self.entries if entry[field_index] is not None))
            for field_index in (2, 1, 0)
        )
        of = f" of {listed(models, _SHOWN)}" if models else ""
        return f"{self.form}: {listed(metrics, _SHOWN)}{of}, {len(clips)} clips"

    def table(self, source: str) -> SourceTable:
        """Return a row per clip and a column per metric.

        Raises:
            SetupError: A clip has two scores in a metric.
        """
        rows: defaultdict[tuple[str | None, str], dict[str, float]] = defaultdict(dict)
        prompts: dict[tuple[str | None, str], str] = {}
        for entry in self.entries:
            key, metric = (entry.model, entry.clip), entry.metric or "score"
            before = rows[key].setdefault(metric, entry.value)
            if before != entry.value and not (math.isnan(before) and math.isnan(entry.value)):
                raise SetupError(f"{source}: {metric} of {entry.clip} is {before:g} and {entry.value:g}; keep one")
            if entry.prompt:
                prompts[key] = entry.prompt
        columns: dict[str, list[Any]] = {"clip": [clip for _, clip in rows]}
        columns |= {"model": [model for model, _ in rows]} if any(model for model, _ in rows) else {}
        columns |= {"prompt": [prompts.get(key) for key in rows]} if prompts else {}
        for metric in dict.fromkeys(metric for row in rows.values() for metric in row):
            columns[metric] = [row.get(metric) for row in rows.values()]
        return SourceTable(source, columns, (self.summary(), *self.notes))


def read_score_file(path: Path) -> ScoreFile | None:
    """Read a file of scores that another program wrote; None for a table like any other.

    Raises:
        SetupError: It is recognised and cannot be read, or holds no scores by clip.
    """
    if path.suffix.lower() == ".txt":
        return _record(path)
    if path.name == "dover.csv":
        return _dover(path)
    if path.suffix.lower() != ".json":
        return None
    if path.stat().st_size > _LARGEST:
        raise SetupError(f"{path}: larger than {_LARGEST // 2**20} MiB; a file of scores is expected")
    content, _ = read_json_or_lines(path)
    if (match := _FETV.match(path.name)) is not None:
        return _fetv(path, match["model"], content)
    lists = content if isinstance(content, Mapping) else {"list": content}
    named = any(normalised(name) in (*called.CLIP, *called.MODEL, "models") for name in lists)
    bare = (isinstance(of, list) and of and all(isinstance(v, int | float | None) for v in of) for of in lists.values())
    if lists and not named and all(bare):
        raise SetupError(
            f"{path}, {listed(list(map(str, lists)), _SHOWN)}: numbers without clips, which do not say whose they are; "
            "write {clip: score}, or a table with a clip column"
        )
    return (_vbench(path, content) or _scores_by_clip(path, content)) if isinstance(content, Mapping) else None


def _score(cell: Any) -> float:
    """Return a cell as a score; NaN where it is none."""
    return math.nan if (score := to_score(cell)) is None else score


def is_released(path: Path) -> bool:
    """Return True if a file is by its name one of VBench, FETV-EVAL or EvalCrafter."""
    name = path.name
    return name.endswith((_RESULTS, "_record.txt")) or name == "dover.csv" or _FETV.match(name) is not None


# VBench: {"dimension": [mean, [{"video_path": ..., "video_results": ...}, ...]]}


def _vbench(path: Path, content: Mapping[str, Any]) -> ScoreFile | None:
    clips_of: dict[str, list[tuple[str, Any]]] = {}
    for name, value in content.items():
        lists = (part for part in value if isinstance(part, list)) if isinstance(value, list) else ()
        entries = (e for e in chain(*lists) if isinstance(e, Mapping) and {"video_path", "video_results"} <= e.keys())
        clips_of[str(name)] = [(str(e["video_path"]).replace("\\", "/"), e["video_results"]) for e in entries]
    read = {name: clips for name, clips in clips_of.items() if clips}
    if not read:
        return None
    result, prompts = ScoreFile("VBench results"), _vbench_prompts(path)
    for name, clips in read.items():
        metric, unread = normalised(name), 0
        for clip, value in clips:
            *folders, file = clip.split("/")
            # the innermost that may be a model's: in VBench's own layout some are a dimension's
            of_models = (f for f in reversed(folders) if normalised(f) not in _NO_MODEL and not _is_metric(f))
            match = _INDEXED.match(file)
            prompt = prompts.get(clip) or (match and match["prompt"])
            unread += to_score(value) is None
            result.entries.append(ScoreEntry(clip, next(of_models, None), metric, _score(value), prompt))
        result.roles[name] = "score" if metric == name else f"score {metric}"
        result.notes += (
            [f"{path.name}: {unread} results of {name} are no number and count as missing"] if unread else []
        )
    result.roles |= {"video_path": "clip", "video_results": "score; true and false are 1 and 0"}
    result.roles |= {"first entry of a dimension": "passed over: the mean of all clips, which VBench may scale"}
    result.roles |= {name: "passed over: no results by clip" for name in clips_of if name not in read}
    return result


def _vbench_prompts(path: Path) -> dict[str, str]:
    """Return clip → prompt of the list that VBench writes beside its results."""
    beside = path.with_name(path.name.removesuffix(_RESULTS) + _PROMPT_LIST)
    if not path.name.endswith(_RESULTS) or not beside.is_file() or beside.stat().st_size > _LARGEST:
        return {}
    content, _ = read_json_or_lines(beside)
    entries = [entry for entry in content if isinstance(entry, Mapping)] if isinstance(content, list) else []
    return {
        str(clip).replace("\\", "/"): str(entry["prompt_en"])
        for entry in entries
        if isinstance(entry.get("video_list"), list) and entry.get("prompt_en")
        for clip in entry["video_list"]
    }


# FETV-EVAL: METRIC/auto_eval_results_MODEL.json with {"sentence": score}; EvalCrafter: METRIC_record.txt and dover.csv


def _fetv(path: Path, model: str, content: Any) -> ScoreFile:
    result, metric = ScoreFile("FETV-EVAL results"), path.resolve().parent.name
    lines = content if isinstance(content, list) else [content]
    for line in lines:
        if not isinstance(line, Mapping) or any(to_score(value) is None for value in line.values()):
            raise SetupError(f"{path}: expected {{sentence: score}}, as FETV-EVAL writes it")
        for sentence, value in line.items():
            result.entries.append(ScoreEntry(f"{model}/{sentence}", model, metric, _score(value)))
    result.roles |= {"sentence": "clip, called MODEL/sentence", f"folder {metric}": f"score {metric}"}
    result.roles |= {path.name: f"model {model}"}
    return result


def _record(path: Path) -> ScoreFile | None:
    """Read a log of EvalCrafter: a line for each clip; None where it is another text.

    Raises:
        SetupError: It is called like one, and no line is of a clip.
    """
    result = ScoreFile("EvalCrafter's logs")
    text = read_text(path, _LARGEST, "a log of scores is expected", errors="replace")
    lines = (line for line in text.splitlines() if len(line) <= _LONGEST)
    for match in filter(None, map(_RECORD.search, lines)):
        entry = ScoreEntry(match["clip"].strip(), None, normalised(match["metric"]), _score(match["value"]))
        result.entries.append(entry)
    if not result.entries:
        if not is_released(path):
            return None
        raise SetupError(f"{path}: no line 'Vid: CLIP, Current METRIC: SCORE' there, as EvalCrafter writes it")
    result.roles["Vid"] = "clip"
    for metric in dict.fromkeys(entry.metric or "" for entry in result.entries):
        result.roles[f"Current {metric}"] = f"score {metric}"
        result.lower |= {metric} & _LOWER
    result.roles["Current avg., Final average"] = "passed over: means of all clips"
    return result


def _dover(path: Path) -> ScoreFile | None:
    """Read EvalCrafter's table of DOVER, whose last line has means; None where it is another table."""
    table = read_table(path, path.name)
    scores = {name: _DOVER[normalised(name)] for name in table.columns if normalised(name) in _DOVER}
    if "path" not in table.columns or not scores:
        return None
    result = ScoreFile("EvalCrafter's logs")
    for row, clip in enumerate(table.columns["path"]):
        if clip and not str(clip).startswith("Avg. scores"):
            for name, metric in scores.items():
                result.entries.append(ScoreEntry(str(clip), None, metric, _score(table.columns[name][row])))
    result.roles |= {"path": "clip", **{name: f"score {metric}" for name, metric in scores.items()}}
    return result


# {clip: score}; the metric is called as the source is


def _scores_by_clip(path: Path, content: Mapping[str, Any]) -> ScoreFile | None:
    """Read a score for each clip; None where the values are no scores.

    Raises:
        SetupError: They are one number for each metric.
    """
    scores = {str(name): to_score(value) for name, value in content.items()}
    if not scores or None in scores.values():
        return None
    if all(map(_is_metric, scores)):
        raise SetupError(
            f"{path}: one number for each of {listed(list(content), _SHOWN)} and no clips; give the scores of each "
            "clip ({clip: {metric: score}}, or a table with a clip column)"
        )
    entries = [ScoreEntry(clip, None, None, _score(score)) for clip, score in scores.items()]
    return ScoreFile("scores as {clip: score}", entries, {"name": "clip"})


def _is_metric(name: str) -> bool:
    """Return True if a metric of ours or a dimension of VBench has this name."""
    return normalised(name) in {*registered(), *_VBENCH, "motion_index"}


# Several files


def read_score_folder(path: Path) -> ScoreFile:
    """Read all files of VBench, FETV-EVAL or EvalCrafter in a folder and below it.

    Raises:
        SetupError: There are none, or two of them give a clip different scores.
    """
    paths = [file for file in islice(_walk(path), MOST_FILES) if file.is_file()]
    if runs := [str(file.parent) for file in paths if file.name == "run.json"]:
        raise SetupError(f"{path} holds run directories; give them one by one: {listed(runs, _SHOWN)}")
    files, reasons = dict[Path, ScoreFile](), list[str]()
    for file in filter(is_released, paths):
        try:
            files |= {file: read} if (read := read_score_file(file)) is not None else {}
        except SetupError as error:
            reasons.append(str(error))
    if not files:
        there = listed([file.relative_to(path).as_posix() for file in paths], _SHOWN) or "nothing"
        raise SetupError(
            f"{path} is no run directory and holds no scores by clip: found {there}; expected run.json (ours), "
            "*_eval_results.json (VBench), auto_eval_results_MODEL.json (FETV-EVAL) or METRIC_record.txt "
            "(EvalCrafter); give tables one by one, METRIC=PATH",
            *reasons[:1],
        )
    merged = _together(path, files)
    others = (file for file in paths if file not in files and not file.name.endswith(_PROMPT_LIST))
    if passed := [file.relative_to(path).as_posix() for file in others]:
        merged.notes.append(f"{path.name}: passed over, no scores by clip were read there: {listed(passed, _SHOWN)}")
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


def _together(root: Path, files: Mapping[Path, ScoreFile]) -> ScoreFile:
    """Return the files as one."""
    forms = list(dict.fromkeys(read.form for read in files.values()))
    merged = ScoreFile(f"{len(files)} file{'s' * (len(files) != 1)}, {listed(forms, _SHOWN)}")
    for read in files.values():
        merged.roles |= read.roles
        merged.notes += read.notes
        merged.lower |= read.lower
    entries = _without_clashes(root, files, merged)
    names = {entry.clip for entry in entries}
    whole = {stem(name): name for name in names if stem(name) != name}  # "1" is "1.mp4" where another file says so
    merged.entries = [entry._replace(clip=whole.get(entry.clip, entry.clip)) for entry in entries]
    return merged


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
    merged.notes.append(
        f"{root.name}: clips have the same names, folders are read as models: {listed(folders, _SHOWN)}"
    )
    return [entry._replace(model=file.parent.name) for file, read in files.items() for entry in read.entries]
