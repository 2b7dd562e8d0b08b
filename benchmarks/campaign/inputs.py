"""Bad clips: each read, and one of each kind scored, in a process of its own with bounds on memory and CPU time."""

from __future__ import annotations

import os
from typing import Any

from benchmarks.campaign.results import OK, Campaign
from tests.reliability.bad_arrays import MARK
from tests.reliability.bad_clips import BadClip, catalogue
from tests.reliability.reading import executed, fault_of_reason, read_one, verdict
from tests.reliability.warm import import_what
from tests.reliability.watched import GIB, Limits, watched

LIMITS = Limits(cpu=40, idle=40, memory=6 * GIB)
METRICS = ("mss", "pas")


def run(campaign: Campaign) -> None:
    """Read every input, then score the first of each kind."""
    os.chdir(campaign.scratch)  # where a payload would leave its mark
    clips = catalogue(campaign.scratch / "clips", dense=True)
    import_what(lambda: score_one(clips[0]))
    scored: set[str] = set()
    for clip in clips:
        key = str(clip.path.relative_to(campaign.scratch))
        if not campaign.done(f"read {key}"):
            _read(campaign, clip, f"read {key}")
        if clip.kind not in scored and not campaign.done(f"score {key}"):
            _score(campaign, clip, f"score {key}")
        scored.add(clip.kind)
    marks = executed(campaign.scratch, [MARK])
    campaign.add("payloads", "payloads", f"executed: {marks}" if marks else "")


def _family(clip: BadClip) -> str:
    folder = next(part for part in clip.path.parts if part.startswith(("bad_", "listed")))
    return folder.removeprefix("bad_")


def _read(campaign: Campaign, clip: BadClip, key: str) -> None:
    ended = watched(lambda: read_one(clip), LIMITS)
    outcome = ended.value
    if outcome is None or ended.trouble:
        campaign.add(f"read: {_family(clip)}", key, ended.trouble or f"exit code {ended.code}")
        return
    refused = "refused" if outcome["error"] is not None else "read"
    campaign.add(f"read: {_family(clip)}", key, verdict(clip, outcome), refused)


def score_one(clip: BadClip) -> dict[str, Any]:
    """Score a clip as a worker does; its record and events must be strict JSON."""
    from vmmetrics.scoring.scorer import Scorer
    from vmmetrics.scoring.settings import Settings
    from vmmetrics.scoring.tasks import Task
    from vmmetrics.utils.storage.journal import encode

    settings = Settings(metrics=METRICS)
    name = clip.path.name.encode("utf-8", "backslashreplace").decode()
    task = Task(clip=name, model=None, path=clip.path.absolute(), metrics=METRICS)
    outcome = Scorer(settings).score(task)
    record = outcome.record.to_json()
    encode(record)
    encode({"metrics": outcome.events})
    return {name: record[name] for name in ("error", "errors", "scores", "missing", "sha256")}


def _score(campaign: Campaign, clip: BadClip, key: str) -> None:
    ended = watched(lambda: score_one(clip), LIMITS)
    record, row = ended.value, f"score: {_family(clip)}"
    if record is None or ended.trouble:
        campaign.add(row, key, ended.trouble or f"exit code {ended.code}")
        return
    reasons = [record["error"] or "", *record["errors"].values()]
    fault = next((fault for reason in reasons if (fault := fault_of_reason(reason))), "")
    if record["error"] and clip.path.is_symlink() and record["sha256"] is not None and clip.rule == "error":
        fault = fault or "hash of a file that was refused"
    outcome = "refused" if record["error"] else "missing" if record["missing"] else OK
    campaign.add(row, key, fault, "scored" if outcome == OK else outcome)
