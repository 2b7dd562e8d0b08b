"""An index of one's own: the formula of the motion index with the exponents in a file of ``vmmetrics calibrate``.

It is a metric under its own name (:attr:`vmmetrics.metrics.registry.Metric.is_index`), made of the scores of others. It
holds for scores of the preset, protocol, models and versions that it was calibrated on, and is refused with others.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, refusing
from vmmetrics.functional.motion_index import EXPONENTS, VERSION, index_parts, motion_index
from vmmetrics.metrics.registry import Metric, find, label, register, registered
from vmmetrics.scoring.prompt_scores import DECISIVE, Run
from vmmetrics.scoring.record import Collapsed, Record
from vmmetrics.scoring.records import described, index_origins
from vmmetrics.scoring.versions import Versions, versions_of
from vmmetrics.types import INDEX_NEEDS, MetricResult
from vmmetrics.utils import plugins
from vmmetrics.utils.display.markup import clean
from vmmetrics.utils.schema import check, plain
from vmmetrics.utils.storage.atomic import write_text
from vmmetrics.utils.storage.opening import read_regular

FORMAT = 1
"""Version of the layout of the file."""
_LARGEST = 2**20  # bytes of a file
_BARE = re.compile(r"[A-Za-z0-9_-]+")  # a key without quotes


DEFAULT_EXPONENTS: Mapping[str, float] = EXPONENTS
"""Exponents of the default index, by metric."""


def default_parts(scores: Mapping[str, float]) -> tuple[dict[str, float], float | None]:
    """Return the parts of the default index of a clip, 0..1 each, and the index; None without CAS or MSS."""
    return index_parts(scores), motion_index(scores).score


@dataclass(frozen=True, slots=True)
class CalibrationStudy:
    """What an index was calibrated on.

    Attributes:
        ratings: File of the ratings.
        sha256: Of that file.
        dimension: Dimension of the ratings.
        clips: Clips with an index and a rating.
        prompts: Their prompts.
        models: Their models.
    """

    ratings: str
    sha256: str
    dimension: str
    clips: int
    prompts: int
    models: int


@dataclass(frozen=True, slots=True)
class OwnIndex:
    """An index of one's own.

    Attributes:
        format: Version of the layout.
        name: Name of the metric.
        formula: Version of the formula (:data:`vmmetrics.functional.motion_index.VERSION`).
        preset: Preset of the scores.
        protocol: Protocol of the scores.
        study: What it was calibrated on.
        exponents: Exponent of the part of each metric, 0 or more; metrics that are not named have no part in it.
        versions: Version of the scores of each of them.
        models: Model by ability.
        weights: SHA-256 by weight name.
        held_out: Agreement with ratings on held-out clips, and gains in it over each reference, by level: the figure
            and the ends of its interval (:mod:`vmmetrics.alignment.calibration_gains`).

    Raises:
        ValueError: The numbers are no such index, or the name is that of another column.
    """

    format: int
    name: str
    formula: str
    preset: str
    protocol: str
    study: CalibrationStudy
    exponents: Mapping[str, float]
    versions: Mapping[str, int]
    models: Mapping[str, str]
    weights: Mapping[str, str]
    held_out: Mapping[str, Mapping[str, tuple[float, ...]]]

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(f"format: expected {FORMAT} but got {self.format}")
        keys, powers = self.exponents.keys(), self.exponents.values()
        if not {*INDEX_NEEDS} <= keys <= EXPONENTS.keys() or self.versions.keys() != keys:
            raise ValueError(f"exponents: expected those of {', '.join(EXPONENTS)}, and versions of the same")
        if not all(0 <= power < math.inf for power in powers) or not any(powers):
            raise ValueError("exponents: expected numbers of 0 or more, not all 0")
        if self.protocol != "vmmetrics":
            raise ValueError(f"protocol: expected vmmetrics but got {self.protocol!r}")
        if (taken := find(self.metric().key)) is not None and not taken.is_index:
            raise ValueError(f"name: there is already a metric called {self.name!r}")

    @classmethod
    def unfitted(
        cls, name: str, study: CalibrationStudy, versions: Mapping[str, int], configuration: Mapping[str, Any]
    ) -> OwnIndex:
        """Return the index with the default's exponents, of scores of these versions and this configuration."""
        exponents = {key: power for key, power in EXPONENTS.items() if key in versions}
        return cls(
            FORMAT, name, VERSION, study=study, exponents=exponents, versions={key: versions[key] for key in exponents},
            held_out={}, **configuration,
        )  # fmt: skip

    def metric(self) -> Metric:
        """Return the metric that it is.

        Raises:
            ValueError: The name is that of another column, or no name of a metric.
        """
        title = f"{self.name}, an index calibrated on {self.study.ratings}"
        return Metric(self.name, title, self.result, after=tuple(self.exponents), low_is_fault=False, is_index=True)

    def result(self, results: Mapping[str, MetricResult], own_change: float | None) -> MetricResult:
        """Return the index of a clip, from the results of its metrics and its own change; missing as the index is."""
        scores = {key: of.score for key in self.exponents if (of := results.get(key)) and of.score is not None}
        for key in (key for key in INDEX_NEEDS if key not in scores):
            return MetricResult(None, results[key].missing if key in results else f"no score for {key}")
        return MetricResult(motion_index(scores, own_change, self.exponents).score)

    def scored(self, record: Record) -> Record:
        """Return a record with this index, computed from its scores."""
        if record.error is not None:
            return record
        reasons = {**record.errors, **record.missing}
        scores, missing = dict(record.scores), dict(record.missing)
        results = {key: MetricResult(scores[key]) for key in self.exponents if key in scores}
        results |= {key: MetricResult(None, why) for key, why in reasons.items()}
        result = self.result(results, record.own_change)
        for of in (scores, missing):
            of.pop(self.name, None)
        if result.score is None:
            missing[self.name] = str(result.missing)
        else:
            scores[self.name] = result.score
        return replace(record, scores=scores, missing=missing, score_version={**record.score_version, self.name: 1})

    def check(self, configuration: Mapping[str, Any], versions: Versions) -> None:
        """Check that it holds for scores.

        Args:
            configuration: What the scores depend on (:meth:`vmmetrics.scoring.suite.Suite.describe`).
            versions: Versions of the scores by metric.

        Raises:
            SetupError: It does not; the text says which.
        """
        different = []
        for name in DECISIVE:
            ours, theirs = getattr(self, name), configuration.get(name)
            if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
                unlike = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
                different += [f"other {name} ({', '.join(unlike)})"] if unlike else []
            elif ours != theirs:
                different.append(f"{name} {theirs}, not {ours}")
        for key, version in self.versions.items():
            others = [str(other) for other in versions.get(key, ()) if other != version]
            different += [f"{label(key)} version {', '.join(others)}, not {version}"] if others else []
        different += [f"version {VERSION} of the formula, not {self.formula}"] if self.formula != VERSION else []
        if different:
            raise SetupError(f"{self.name} does not hold for these scores, of {'; '.join(different)}: calibrate again")

    def write(self, path: Path) -> None:
        """Write the file."""
        write_text(path, "\n".join([*_toml(plain(self)), ""]))


def read_index(path: str | os.PathLike[str]) -> tuple[OwnIndex, Mapping[str, str]]:
    """Read a file of ``vmmetrics calibrate``; return the index, and name and SHA-256 of the file.

    Raises:
        SetupError: It cannot be read, or is no such index.
    """
    file = Path(path)
    with refusing("read", file):
        content = read_regular(file, _LARGEST)
    try:
        value = tomllib.loads(content.decode("utf-8"))
    except ValueError as error:
        raise SetupError(f"{file} cannot be read as TOML: {error}") from error
    return check(OwnIndex, value, file), {"index": file.name, "sha256": hashlib.sha256(content).hexdigest()}


def register_index(path: str | os.PathLike[str]) -> OwnIndex:
    """Register the index in a file as a metric of this process; a later one of its name takes its place.

    Raises:
        SetupError: The file is no index, or another metric has its name.
    """
    index, source = read_index(path)
    try:
        with plugins.registering(source):
            register(index.metric())
    except ValueError as error:
        raise SetupError(f"{path}: {error}") from error
    return index


def zeroed(record: Record, names: Sequence[str]) -> Record:
    """Return a record with 0 in indexes of one's own where the clip collapsed (:attr:`Record.counts_as_zero`)."""
    if not names or not record.counts_as_zero:
        return record
    missing = {key: why for key, why in record.missing.items() if key not in names}
    return replace(record, scores={**record.scores, **dict.fromkeys(names, 0.0)}, missing=missing)


def with_own_index(run: Run, path: str | os.PathLike[str] | None = None, collapsed: Collapsed = "zero") -> Run:
    """Return a run with the index in a file, computed from its scores.

    Args:
        run: The run.
        path: The file; None for the indexes alone that it was scored with.
        collapsed: ``"zero"`` gives collapsed clips 0 in them, ``"skip"`` leaves them without.

    Raises:
        SetupError: The index does not hold for the scores, or the run has another metric of its name.
    """
    parts, records = dict(run.header.get("parts", {})), run.records
    if path is not None:
        index = register_index(path)
        index.check(run.configuration, versions_of(records))
        if index.name in parts and index.name not in index_origins(parts):
            raise SetupError(f"{run.title} has another metric called {index.name}: calibrate with another --name")
        parts[index.name] = registered()[index.name].describe()
        records = [index.scored(record) for record in records]
    names = [*index_origins(parts)]
    if not names:
        return run
    records = [zeroed(record, names) for record in records] if collapsed == "zero" else records
    return replace(run, records=records, header={**run.header, **described(parts)})


def _toml(value: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """Yield the lines of a table, what is not itself a table first."""
    yield from (f"{_key(key)} = {_text(part)}" for key, part in value.items() if not isinstance(part, Mapping))
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield f"\n[{name}{_key(key)}]"
            yield from _toml(part, f"{name}{_key(key)}.")


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else _text(text)


def _text(value: Any) -> str:
    return json.dumps(clean(value) if isinstance(value, str) else value, ensure_ascii=False)
