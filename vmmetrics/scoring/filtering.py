"""Filters of training data: the measures of clips, and of each whether a condition keeps it."""

from __future__ import annotations

import json
import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vmmetrics.clip import Subject
from vmmetrics.engines.connection import Cluster
from vmmetrics.errors import explain
from vmmetrics.functional.curation import CAMERA_KINDS, CameraKind, camera_kind
from vmmetrics.functional.tripwires import UNITS
from vmmetrics.scoring.filter_suite import CAMERA, MEASURES, FilterSettings, FilterSuite
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.reward_groups import Rewards
from vmmetrics.scoring.rewards import rewards
from vmmetrics.scoring.run import Run, Start
from vmmetrics.scoring.session import Listener
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.tasks import Inputs
from vmmetrics.types import MetricResult
from vmmetrics.utils.conditions import Condition, Value
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.atomic import write_text, writing
from vmmetrics.video.manifest import ListedClip, write_manifest
from vmmetrics.video.prompts import PromptOf
from vmmetrics.video.shards import temporary_file

Verdict = Literal["kept", "dropped", "undecided", "failed"]
VERDICTS: tuple[Verdict, ...] = ("kept", "dropped", "undecided", "failed")
FACTS = ("duration", "fps", "width", "height")
"""What a condition can name besides the measures: seconds, frames per second, pixels."""
KEPT, DECISIONS, ABOUT = "kept.jsonl", "decisions.jsonl", "filter.json"
"""Files in the run directory: list of the clips kept, decision on every clip, and the condition with the counts."""


def condition(text: str) -> Condition:
    """Parse a condition on :data:`MEASURES`, :data:`FACTS` and ``camera``, the kind of camera motion.

    Raises:
        ValueError: It is none, or names something else.
    """
    return Condition(text, (*MEASURES, *FACTS), {"camera": CAMERA_KINDS})


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision on one clip.

    Attributes:
        clip: Its name.
        path: Its path or address; None for an array.
        verdict: ``"undecided"`` where a measure that matters could not be made, ``"failed"`` where the clip could not
            be read: neither kept nor dropped.
        reasons: The comparisons that decided, with their values; for the last two why there is no decision.
        values: Measures, facts and the kind of camera motion.
        missing: Reason of each measure that could not be made.
    """

    clip: str
    path: str | None
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    values: Mapping[str, Value] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def decide(record: Record, keep: Condition) -> Decision:
    """Judge the record of a clip that was measured."""
    missing = {**record.missing, **record.errors}
    values: dict[str, Value] = dict(record.scores)
    if record.error is not None or record.frames is None or record.fps is None or record.size is None:
        return Decision(record.clip, record.path, "failed", (record.error or "not read",))
    last = record.timestamps[-1] if record.timestamps else (record.frames - 1) / record.fps
    aspect = record.scores.get("aspect", record.size[0] / record.size[1])
    size = record.upright_size(aspect) or record.size
    facts = (last + 1 / record.fps, record.fps, *map(float, size))
    values.update(zip(FACTS, facts, strict=True))
    speeds: dict[CameraKind, float] = {kind: record.scores[kind] for kind in CAMERA_KINDS if kind in record.scores}
    if len(speeds) == len(CAMERA):
        values["camera"] = camera_kind(speeds, (aspect, 1.0))
    else:
        missing["camera"] = next((missing[kind] for kind in CAMERA if kind in missing), "not measured")
    outcome = keep.judge(values, missing)
    verdict: Verdict = "undecided" if outcome.holds is None else "kept" if outcome.holds else "dropped"
    return Decision(record.clip, record.path, verdict, outcome.reasons, values, missing)


class Filtered:
    """Decisions on the clips of a table, made while they are iterated over: a million need no memory.

    Attributes:
        table: The measures.
        keep: The condition.
    """

    def __init__(self, table: Table, keep: Condition) -> None:
        self.table, self.keep = table, keep
        self._counts: dict[Verdict, int] = {}
        self._reasons: dict[Verdict, Counter[str]] = {}

    def __iter__(self) -> Iterator[Decision]:
        return (decision for _, decision in self._decided())

    def __len__(self) -> int:
        return len(self.table)

    def _decided(self) -> Iterator[tuple[Record, Decision]]:
        """Yield each record with the decision on it, and keep at the end what was counted on the way."""
        counts, reasons = dict.fromkeys(VERDICTS, 0), {verdict: Counter[str]() for verdict in VERDICTS}
        for record in self.table.records:
            decision = decide(record, self.keep)
            counts[decision.verdict] += 1
            if decision.verdict == "undecided":
                reasons["undecided"].update(decision.reasons)
            else:  # without values and paths, which differ from clip to clip
                reasons[decision.verdict].update(reason.partition(": ")[0] for reason in decision.reasons)
            yield record, decision
        self._counts, self._reasons = counts, reasons

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """Number of clips by verdict."""
        if not self._counts:
            deque(self._decided(), maxlen=0)
        return self._counts

    @property
    def kept(self) -> list[str]:
        """Paths of the clips kept; names of arrays."""
        return [decision.path or decision.clip for decision in self if decision.verdict == "kept"]

    def reasons(self, verdict: Verdict) -> Counter[str]:
        """Return how often each comparison, or missing measure, decided for a verdict."""
        return self._reasons[verdict] if self.counts else Counter()

    def write(self, folder: Path) -> None:
        """Write :data:`KEPT`, which can be given as clips again, :data:`DECISIONS` and :data:`ABOUT` into a run.

        The last is removed first and written last: where it is, the others are those that it tells of.
        """

        def kept() -> Iterator[ListedClip]:
            """Write each decision, and yield the clips kept."""
            for record, decision in self._decided():
                file.write(json.dumps(asdict(decision), allow_nan=False).encode() + b"\n")
                if decision.verdict == "kept" and record.path is not None:
                    yield _listed(record)

        (folder / ABOUT).unlink(missing_ok=True)
        with writing(folder / DECISIONS) as file:
            write_manifest(folder / KEPT, [], kept())
        about = {"keep": self.keep.text, "counts": self.counts, "written": provenance.now(), **provenance.invocation()}
        write_text(folder / ABOUT, json.dumps(about, indent=2) + "\n")


def _listed(record: Record) -> ListedClip:
    subject = None if record.subject is None else Subject(**record.subject)
    prompt = PromptOf(record.prompt, subject, record.prompt_source or "none", dict(record.tags or {}))
    return ListedClip(str(record.path), record.clip, record.model, prompt=prompt)


def filter_clips(
    clips: Any,
    keep: str,
    *,
    prompts: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 0,
    fps: float | None = None,
    layout: str | None = None,
    reference: bool = False,
    listener: Listener | None = None,
    cluster: Cluster | None = None,
) -> Filtered:
    """Measure clips and keep those for which a condition holds; everything else is as :func:`vmmetrics.score` has it.

    Args:
        clips: Files, folders, lists, arrays or tensors, as :func:`vmmetrics.score` takes them.
        keep: The condition, such as ``'amplitude > 0.05 and cuts == 0 and camera != "shake"'``.
        prompts: Prompt list, which the list of the clips kept repeats; None looks beside the clips.
        out: Run directory to write to and to resume from; another condition measures nothing again.
        jobs: Worker processes; 0 measures in this process.
        fps: Frames per second of arrays.
        layout: Axes of arrays.
        reference: Decode only frames that others refer to (:class:`~vmmetrics.scoring.filter_suite.FilterSuite`).
        listener: Called with every clip that is done.
        cluster: A Ray cluster whose nodes measure; None measures on this machine.

    Raises:
        ValueError: ``keep`` is no condition.
        SetupError: A path does not exist, or ``out`` holds another run.
        ClipError: An array is no clip.

    Example:
        >>> import numpy as np
        >>> filter_clips(np.full((8, 64, 64, 3), 128, np.uint8), "frozen_share < 0.5", fps=8).counts["dropped"]
        1
    """
    parsed = condition(keep)
    run = Run(
        Inputs(clips, prompts, fps=fps, layout=layout),
        FilterSettings(reference=reference),
        Start(max(jobs, 1) if cluster else jobs, cluster=cluster),
        None if out is None else Path(out),
    )
    run.find()
    filtered = Filtered(run.score(listener), parsed)
    if out is not None:
        filtered.write(Path(out))
    return filtered


def score_apart(videos: Sequence[Any], component: str) -> Rewards:
    """Score files that are not compared with one another, as filters do, by one component; NaN where it is missing.

    A measure of ``vmmetrics filter`` that is no tripwire costs a hundredth of what the others do.
    """
    if component in MEASURES.keys() - UNITS.keys():
        return _measured(videos, component)
    return rewards(list(videos), fps=None, weights={component: 1}, missing="nan", groups=range(len(videos)))


def _measured(videos: Sequence[Any], name: str) -> Rewards:
    suite, results = FilterSuite((name,)), list[MetricResult]()
    for video in videos:
        try:
            with temporary_file(video) if isinstance(video, bytes) else nullcontext(video) as path:
                results.append(suite.score_clip(path).results[name])
        except Exception as error:  # the other clips go on
            results.append(MetricResult(None, explain(error)))
    values = np.array([np.nan if result.score is None else result.score for result in results])
    reasons = tuple({} if result.missing is None else {name: result.missing} for result in results)
    return Rewards(values, {name: values}, np.zeros(len(values), np.bool_), reasons, ({},) * len(values))
