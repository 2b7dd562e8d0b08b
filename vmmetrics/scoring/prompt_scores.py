"""Runs in memory, and the scores of their models by prompt."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import METRICS, in_order
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import index_origins, read_records, read_run_json
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO
from vmmetrics.scoring.versions import Versions, differing, of_one_meaning, versions_of
from vmmetrics.types import FloatArray
from vmmetrics.utils.storage.addresses import address_of
from vmmetrics.video.prompt_lists import refuse_retired

DECISIVE = ("preset", "protocol", "models", "weights")
"""Fields of a configuration that must agree for scores to be comparable."""
AVERAGE = "average"
"""The mean of a clip's five scores."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run directory in memory.

    Attributes:
        path: The directory.
        name: Name of its model where clips lie in no folder per model; "" for none.
        title: Its name in notes and errors.
        header: ``run.json``.
        records: The newest record of every clip, in order of name.
        warnings: Texts on damaged lines.
    """

    path: Path
    name: str
    title: str
    header: Mapping[str, Any]
    records: Sequence[Record]
    warnings: tuple[str, ...] = ()

    @property
    def configuration(self) -> Mapping[str, Any]:
        """Configuration of the run."""
        configuration: Mapping[str, Any] = self.header["configuration"]
        return configuration

    @property
    def own(self) -> Mapping[str, Mapping[str, Any]]:
        """Metrics of one's own and baselines whose range the run states, by key."""
        return {key: part for key, part in self.header.get("parts", {}).items() if "range" in part}

    @property
    def indexes(self) -> dict[str, str]:
        """Origin of each index of one's own, in words, by its name."""
        return index_origins(self.header.get("parts", {}))

    def model_name(self, model: str | None) -> str:
        """Return the name of a model (:attr:`Record.model`) of this run on a leaderboard."""
        if self.name and model:
            return f"{self.name}/{model}"
        return model or self.name or self.path.resolve().name


def split_source(source: str) -> tuple[Path, str]:
    """Return directory and name of ``NAME=DIRECTORY``; the name is "" for a directory alone."""
    name, equals, folder = source.partition("=")
    named = equals and not Path(source).exists() and address_of(source) is None  # "?token=" is no name
    return (Path(folder), name) if named else (Path(source), "")


def read_run(path: Path, name: str = "") -> Run:
    """Read a run directory.

    Args:
        path: The directory.
        name: Name of its model where clips lie in no folder per model; "" for none.

    Raises:
        SetupError: It is not a run, or cannot be read.
    """
    warnings: list[str] = []
    header = read_run_json(path)
    records = read_records(path, warnings)
    return Run(path, name, str(path), header, records, tuple(warnings))


def name_in_model(record: Record) -> str:
    """Return a clip's name without its model's folder and without its suffix."""
    path = PurePosixPath(record.clip)
    inner = path.relative_to(record.model) if record.model and path.is_relative_to(record.model) else path
    return str(inner.with_suffix("") if inner.name else inner)


def score_of(record: Record, column: str) -> float | None:
    """Return a clip's score, average or index; None where there is none."""
    if record.error is not None:
        return None
    attribute = _OF_CLIPS.get(column)
    score: float | None = record.scores.get(column) if attribute is None else getattr(record, attribute)
    return score


_OF_CLIPS = {INDEX: "motion_index", INDEX_OR_ZERO: "index_or_zero", AVERAGE: "average"}


@dataclass(frozen=True, slots=True)
class Model:
    """A model of a run: its name, its clips and the versions of their scores."""

    name: str
    run: Run
    records: tuple[Record, ...]
    versions: tuple[str, Versions]


def comparable_models(runs: Iterable[Run]) -> list[tuple[list[Model], list[str]]]:
    """Return the models of runs in groups of one preset, protocol and set of metric versions, and notes on each.

    Raises:
        SetupError: A run has no preset, protocol or clip.
    """
    alike: dict[str, list[Model]] = {}
    for run in runs:
        for model in _models(run):
            key = json.dumps({name: run.configuration.get(name) for name in DECISIVE}, sort_keys=True)
            alike.setdefault(key, []).append(model)
    groups = []
    for models in alike.values():
        mixed = differing([model.versions for model in models])
        notes = [f"Not comparable, as the metric versions differ: {text}" for text in mixed.values()]
        groups += [(group, notes) for group in of_one_meaning(models, attrgetter("versions"))]
    return groups


def _models(run: Run) -> Iterator[Model]:
    """Yield the models of a run: one per folder, or one in all."""
    if not {"preset", "protocol"} <= run.configuration.keys():
        raise SetupError(f"run.json of {run.title} has no preset or protocol; score the clips again")
    by_model: dict[str | None, list[Record]] = {}
    for record in run.records:
        by_model.setdefault(record.model, []).append(record)
    if not by_model:
        raise SetupError(f"{run.title} has no scored clips yet")
    for model, records in by_model.items():
        name = run.model_name(model)
        yield Model(name, run, tuple(records), (name, versions_of(records)))


@dataclass(frozen=True, slots=True)
class PromptScores:
    """Scores of comparable models by prompt.

    Attributes:
        models: (M,) models, in order of name.
        prompts: (P,) prompts, in order.
        keys: (K,) metrics, the average, and last the index where there can be one: of the clips judged, and where any
            collapsed with these as 0.
        scores: (M, P, K) means over the clips of a prompt; NaN where missing.
        clips: (M, P, K) how many clips they are of.
        counts: (M,) number of prompts of each model.
        own: Metrics of one's own and baselines, as the runs describe them, by key.
        note: How clips were paired.
    """

    models: tuple[Model, ...]
    prompts: tuple[str, ...]
    keys: tuple[str, ...]
    scores: FloatArray
    clips: FloatArray
    counts: tuple[int, ...]
    own: Mapping[str, Mapping[str, Any]]
    note: str


def prompt_scores(models: Iterable[Model]) -> PromptScores:
    """Average the scores of comparable models over the clips of each prompt.

    Raises:
        SetupError: Two runs have a model of one name; or clips are of prompts that replaced one another.
    """
    runs: dict[str, Run] = {}
    models = tuple(sorted(models, key=attrgetter("name")))
    for model in models:
        other = runs.setdefault(model.name, model.run)
        if other is not model.run:
            raise SetupError(
                f"Both {other.title} and {model.run.title} have a model {model.name!r}; tell them apart as "
                "NAME=DIRECTORY, or join the parts of one run with 'vmmetrics merge'"
            )
    own = {key: part for model in models for key, part in model.run.own.items()}
    keys = (*in_order([*METRICS, *own]), AVERAGE)
    if models[0].run.configuration["protocol"] == "vmmetrics":
        collapsed = any(record.counts_as_zero for m in models for record in m.records)
        keys = (*keys, INDEX, *([INDEX_OR_ZERO] if collapsed else []))
    keyed, note = _by_prompt(models)
    prompts = sorted({prompt for by_prompt in keyed for prompt in by_prompt})
    refuse_retired({" ".join(r.prompt.split()) for model in models for r in model.records if r.prompt})
    matrices = [_matrices(by_prompt, prompts, keys) for by_prompt in keyed]
    scores, clips = (np.stack(side) for side in zip(*matrices, strict=True))
    return PromptScores(models, tuple(prompts), keys, scores, clips, tuple(map(len, keyed)), own, note)


def _by_prompt(models: Sequence[Model]) -> tuple[list[dict[str, list[Record]]], str]:
    """Return each model's records by prompt, and a note on how clips were paired."""
    everywhere = all(record.prompt for model in models for record in model.records if record.scores)
    keyed: list[dict[str, list[Record]]] = []
    for model in models:
        by_prompt: dict[str, list[Record]] = {}
        for record in model.records:
            key = " ".join(record.prompt.split()) if everywhere and record.prompt else name_in_model(record)
            by_prompt.setdefault(key, []).append(record)
        keyed.append(by_prompt)
    basis = "their prompts" if everywhere else "their file names, since not every scored clip has a known prompt"
    pairing = f"Clips of different models are paired by {basis}; a prompt counts by its clips, as in the means."
    cut = sum(bool(r.prompt_source) and str(r.prompt_source).endswith("(cut)") for m in models for r in m.records)
    if everywhere and cut:
        pairing += f" {cut} prompts were cut short in the clips' names, so that those that begin alike count as one."
    return keyed, pairing


def _matrices(
    by_prompt: Mapping[str, list[Record]], prompts: list[str], keys: Sequence[str]
) -> tuple[FloatArray, FloatArray]:
    """Return (P, K) scores averaged over the clips of a prompt, NaN where missing, and the number of these clips."""
    scores, clips = np.full((len(prompts), len(keys)), np.nan), np.zeros((len(prompts), len(keys)))
    for row, prompt in enumerate(prompts):
        for column, metric in enumerate(keys):
            of_clips = (score_of(record, metric) for record in by_prompt.get(prompt, ()))
            values = [score for score in of_clips if score is not None]
            if values:
                scores[row, column], clips[row, column] = math.fsum(values) / len(values), len(values)
    return scores, clips
