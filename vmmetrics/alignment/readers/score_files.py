"""Scores as other programs write them: VBench, FETV-EVAL, EvalCrafter, JSON nested by model, clip and metric.

Every file becomes entries of clip, model, metric and value. Names of fields and files were looked up in the released
code; :mod:`.score_folders` puts several files together.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.score_levels import ScoreEntry, is_metric_name, nested_scores
from vmmetrics.alignment.readers.score_tables import to_score
from vmmetrics.alignment.readers.tables import SourceTable, read_json_or_lines, read_table
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.tables import read_text

LARGEST = 256 * 2**20
"""Maximum size of a score file in bytes; VBench's for 5,000 clips and 16 dimensions has a tenth of this."""
SHOWN = 5
"""Maximum names in a note."""
_LONGEST = 2000  # letters of a line that may be one of a log
PROMPT_LIST = "_full_info.json"
"""Name of the prompt list that VBench writes beside its results."""
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
        of = f" of {listed(models, SHOWN)}" if models else ""
        return f"{self.form}: {listed(metrics, SHOWN)}{of}, {len(clips)} clips"

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
    if path.stat().st_size > LARGEST:
        raise SetupError(f"{path}: larger than {LARGEST // 2**20} MiB; a file of scores is expected")
    content, _ = read_json_or_lines(path)
    if (match := _FETV.match(path.name)) is not None:
        return _fetv(path, match["model"], content)
    lists = content if isinstance(content, Mapping) else {"list": content}
    named = any(normalised(name) in (*called.CLIP, *called.MODEL, "models") for name in lists)
    if lists and not named and all(_is_bare(values) for values in lists.values()):
        raise SetupError(
            f"{path}, {listed(list(map(str, lists)), SHOWN)}: numbers without clips, which do not say whose they are; "
            "write {clip: score}, or a table with a clip column"
        )
    return (_vbench(path, content) or _nested(path, content)) if isinstance(content, Mapping) else None


def _is_bare(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(v, int | float | None) for v in values)


def _or_nan(score: float | None) -> float:
    return math.nan if score is None else score


def is_released(path: Path) -> bool:
    """Return True if a file is by its name one of VBench, FETV-EVAL or EvalCrafter."""
    name = path.name
    return name.endswith((_RESULTS, "_record.txt")) or name == "dover.csv" or _FETV.match(name) is not None


# VBench: {"dimension": [mean, [{"video_path": ..., "video_results": ...}, ...]]}


def _vbench(path: Path, content: Mapping[str, Any]) -> ScoreFile | None:
    clips_of = {str(name): list(_clips_of_dimension(value)) for name, value in content.items()}
    read = {name: clips for name, clips in clips_of.items() if clips}
    if not read:
        return None
    result, prompts = ScoreFile("VBench results"), _vbench_prompts(path)
    for name, clips in read.items():
        metric, unread = normalised(name), 0
        for clip, value in clips:
            match, score = _INDEXED.match(clip.rpartition("/")[2]), to_score(value)
            prompt = prompts.get(clip) or (match and match["prompt"])
            unread += score is None
            result.entries.append(ScoreEntry(clip, _model_of(clip), metric, _or_nan(score), prompt))
        result.roles[name] = "score" if metric == name else f"score {metric}"
        result.notes += (
            [f"{path.name}: {unread} results of {name} are no number and count as missing"] if unread else []
        )
    result.roles |= {"video_path": "clip", "video_results": "score; true and false are 1 and 0"}
    result.roles |= {"first entry of a dimension": "passed over: the mean of all clips, which VBench may scale"}
    result.roles |= {name: "passed over: no results by clip" for name in clips_of if name not in read}
    return result


def _clips_of_dimension(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield clip and result of a dimension, of any list in it."""
    for part in value if isinstance(value, list) else ():
        for entry in part if isinstance(part, list) else ():
            if isinstance(entry, Mapping) and "video_path" in entry and "video_results" in entry:
                yield str(entry["video_path"]).replace("\\", "/"), entry["video_results"]


def _vbench_prompts(path: Path) -> dict[str, str]:
    """Return clip → prompt of the list that VBench writes beside its results."""
    beside = path.with_name(path.name.removesuffix(_RESULTS) + PROMPT_LIST)
    if not path.name.endswith(_RESULTS) or not beside.is_file() or beside.stat().st_size > LARGEST:
        return {}
    content, _ = read_json_or_lines(beside)
    entries = [entry for entry in content if isinstance(entry, Mapping)] if isinstance(content, list) else []
    return {
        str(clip).replace("\\", "/"): str(entry["prompt_en"])
        for entry in entries
        if isinstance(entry.get("video_list"), list) and entry.get("prompt_en")
        for clip in entry["video_list"]
    }


def _model_of(clip: str) -> str | None:
    """Return the folder of a clip if it may be its model's: not a dimension's, as in VBench's own layout."""
    folders = [part for part in clip.split("/")[:-1] if part not in {"", ".", ".."}]
    return next((f for f in reversed(folders) if normalised(f) not in _NO_MODEL and not is_metric_name(f)), None)


# FETV-EVAL: METRIC/auto_eval_results_MODEL.json with {"sentence": score}; EvalCrafter: METRIC_record.txt and dover.csv


def _fetv(path: Path, model: str, content: Any) -> ScoreFile:
    result, metric = ScoreFile("FETV-EVAL results"), path.resolve().parent.name
    lines = content if isinstance(content, list) else [content]
    for line in lines:
        if not isinstance(line, Mapping) or any(to_score(value) is None for value in line.values()):
            raise SetupError(f"{path}: expected {{sentence: score}}, as FETV-EVAL writes it")
        for sentence, value in line.items():
            score = to_score(value)
            name = f"{model}/{sentence}"
            result.entries.append(ScoreEntry(name, model, metric, _or_nan(score)))
    result.roles |= {"sentence": "clip, called MODEL/sentence", f"folder {metric}": f"score {metric}"}
    result.roles |= {path.name: f"model {model}"}
    return result


def _record(path: Path) -> ScoreFile | None:
    """Read a log of EvalCrafter: a line for each clip; None where it is another text.

    Raises:
        SetupError: It is called like one, and no line is of a clip.
    """
    result = ScoreFile("EvalCrafter's logs")
    text = read_text(path, LARGEST, "a log of scores is expected", errors="replace")
    lines = (line for line in text.splitlines() if len(line) <= _LONGEST)
    for match in filter(None, map(_RECORD.search, lines)):
        metric, score = normalised(match["metric"]), to_score(match["value"])
        result.entries.append(ScoreEntry(match["clip"].strip(), None, metric, _or_nan(score)))
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
                score = to_score(table.columns[name][row])
                result.entries.append(ScoreEntry(str(clip), None, metric, _or_nan(score)))
    result.roles |= {"path": "clip", **{name: f"score {metric}" for name, metric in scores.items()}}
    return result


# JSON nested by model, clip and metric


def _nested(path: Path, content: Mapping[str, Any]) -> ScoreFile | None:
    """Read nested scores; None where they are a table, or no scores.

    Raises:
        SetupError: They are one number for each metric.
    """
    if content and all(is_metric_name(name) and to_score(value) is not None for name, value in content.items()):
        raise SetupError(
            f"{path}: one number for each of {listed(list(content), SHOWN)} and no clips; give the scores of each clip "
            "({clip: {metric: score}}, or a table with a clip column)"
        )
    read = nested_scores(content)
    if read is None or read.is_table:
        return None
    return ScoreFile(f"scores as {read.shape}", read.entries, dict(read.roles))
