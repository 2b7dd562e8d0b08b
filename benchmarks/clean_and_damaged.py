"""Scores of clean windows of footage, of the same windows damaged, of their first frames moved, and changed otherwise.

    python -m benchmarks.clean_and_damaged --cache FOLDER [--splits validation] [--parts speeds damage ...]

Clean footage is right by definition: it should score near the top however fast it moves, above its damaged copies and
above its own first frame moved as a whole. Repositories count equally, with 95 % bootstrap intervals over them; UCF101
stands apart. What is refused as a still or noise counts as 0. A scored window is kept in ``--cache``; sealed footage
needs ``--why``, which is logged.

Parts: ``speeds`` 1, 2 and 3, the only one for UCF101; ``stills``; ``objects``: events in clean windows, and recall of
object and limb defects; ``controls``; ``damage`` by the 17 defects of CAS, every other on a window and at strengths 0.5
and 1 in turn (``--all``: each at both); ``harmless`` changes. ``--cached`` scores nothing and reports what is there.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from scipy.stats import spearmanr

from benchmarks.cas_recipe.ladder import CLEAN
from benchmarks.cas_recipe.ladder import DEFECTS as OF_MOTION
from benchmarks.footage import Recording, by_repository, code_digest, recordings, window
from benchmarks.footage_changes import (
    AS_FILMED,
    CHANGES,
    CONTROLS,
    HARMLESS,
    OF_OBJECTS,
    SEVERITY_OF,
    STILLS,
    applies,
    damaged,
    with_object_defect,
)
from benchmarks.known_groups import Interval, separation
from vmmetrics.alignment.perturbations.objects import NotApplicableError
from vmmetrics.alignment.probe.cases import objects_of
from vmmetrics.functional.motion_index import PLAIN_OWN_CHANGE
from vmmetrics.metrics.registry import METRICS
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.suite import Suite
from vmmetrics.scoring.summary import INDEX
from vmmetrics.types import Box, collapse_of
from vmmetrics.utils.storage.atomic import write_text

UCF = "Satyamwork43/Video_App"
"""Repository of the UCF101 clips."""
SPEEDS = (1, 2, 3)
STRENGTHS = tuple(SEVERITY_OF)
NEAR = 3
"""Frames around a defect within which an event answers for it."""
PARTS = ("speeds", "stills", "objects", "controls", "damage", "harmless")

Row = dict[str, Any]


class Job(NamedTuple):
    """A window to score: how fast it is shown, what is done to it, and how much."""

    item: Recording
    kind: str = CLEAN
    strength: float = 0.0
    speed: int = 1


def jobs(items: Sequence[Recording], parts: Sequence[str], every: bool) -> Iterator[Job]:
    """Yield what is scored for the parts; clean windows always. ``every`` defect at both strengths, else a quarter."""
    yield from map(Job, items)
    if "speeds" in parts:
        yield from (Job(item, speed=speed) for item in items for speed in SPEEDS[1:])
    items = [item for item in items if item.repo != UCF]
    kinds = {"stills": STILLS, "objects": dict.fromkeys(OF_OBJECTS)}
    yield from (Job(item, kind, 1.0) for part in kinds if part in parts for item in items for kind in kinds[part])
    if "controls" in parts:
        yield from (
            Job(item, kind) for item in items for kind in (CONTROLS if item.generator == "camera" else AS_FILMED)
        )
    if "harmless" in parts:
        yield from (Job(item, kind) for item in items for kind in HARMLESS)
    for number, kind in enumerate(OF_MOTION if "damage" in parts else ()):
        for place, item in enumerate(items):
            turn = place + number
            yield from (Job(item, kind, s) for k, s in enumerate(STRENGTHS) if every or turn % 4 == 2 * k)


_digest = lru_cache(maxsize=1)(code_digest)


@lru_cache(maxsize=1)
def _suite() -> Suite:
    cv2.setNumThreads(1)
    return Suite(threads=1)


def score(job: Job, cache: Path, known: bool = False) -> Row | None:
    """Return the scores of one window, from the cache where it is there; None where it cannot be made.

    Those ``known`` alone come from the cache or not at all.
    """
    name = f"{job.item.name}-{job.speed}-{job.kind}-{job.strength}-{_digest()}.json".replace(" ", "-")
    if known and not (cache / name).is_file():
        return None
    if not (cache / name).is_file():
        write_text(cache / name, json.dumps(_make(job)))
    stored: Row | None = json.loads((cache / name).read_text(encoding="utf-8"))
    return None if stored is None else {**stored, **job._asdict()}


def _make(job: Job) -> Row | None:
    shown = window(job.item.read(), job.speed)
    if shown is None or not applies(job.kind, shown):
        return None
    changed: list[tuple[int, Box]] = []
    if job.kind in OF_MOTION:
        shown = damaged(shown, job.kind, job.strength)
    elif job.kind in OF_OBJECTS:
        try:
            shown, changed = with_object_defect(shown, job.kind, objects_of(_suite().scene(shown)))
        except NotApplicableError:
            return None
    else:
        shown = CHANGES[job.kind](shown)
    return {**row_of(_suite().score_clip(shown)), "changed": changed}


def row_of(scores: ClipScores) -> Row:
    """Return what is kept of the scores of a window."""
    events = [
        (event.metric, event.frames, event.reason, event.box)
        for result in scores.results.values()
        for event in result.events
        if event.excuse is None and event.metric in ("ois", "tcs")
    ]
    return {
        **{metric: scores.scores.get(metric) for metric in METRICS},
        INDEX: 0.0 if any(map(collapse_of, scores.missing.values())) else scores.index,
        "amplitude": scores.amplitude or 0.0,
        "own_change": scores.own_change,
        "missing": scores.missing,
        "events": events,
    }


def chosen(rows: Sequence[Row], **wanted: object) -> list[Row]:
    """Return the rows with an index whose fields are as wanted."""
    return [row for row in rows if row[INDEX] is not None and all(row[k] == v for k, v in wanted.items())]


def auc(high: Sequence[Row], low: Sequence[Row], metric: str = INDEX) -> Interval:
    """Return the chance that one of ``high`` scores above one of ``low``, with its interval; repositories equal.

    A window without the score, as it was refused, counts as 0. NaN where one side is empty.
    """
    if not high or not low:
        return Interval(np.nan, np.nan, np.nan)
    repos = [[row["item"].repo for row in side] for side in (high, low)]
    return separation([r[metric] or 0.0 for r in high], [r[metric] or 0.0 for r in low], (repos[0], repos[1]))


def mean_of(rows: Sequence[Row], value: Callable[[Row], float]) -> str:
    mean, low, high = by_repository([value(row) for row in rows], [row["item"] for row in rows])
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def weighted_quantile(rows: Sequence[Row], values: Sequence[float], q: float) -> float:
    """Return the quantile of ``values`` with equal weight per repository."""
    count = Counter(row["item"].repo for row in rows)
    order = np.argsort(values)
    weights = np.cumsum([1 / count[rows[i]["item"].repo] for i in order])
    return float(np.asarray(values)[order][np.searchsorted(weights, q * weights[-1])])


def report_clean(rows: Sequence[Row]) -> None:
    for metric in (*METRICS, INDEX):
        for speed in SPEEDS:
            scored = [row for row in rows if row["kind"] == CLEAN and row["speed"] == speed and row[metric] is not None]
            if not scored:
                continue
            values = [row[metric] for row in scored]
            rho = spearmanr(values, [row["amplitude"] for row in scored]).statistic
            print(
                f"{metric:13s}x{speed}: n {len(values)}, mean {mean_of(scored, lambda r, m=metric: r[m])}, median "
                f"{weighted_quantile(scored, values, 0.5):.3f}, 5 % {weighted_quantile(scored, values, 0.05):.3f}, "
                f"ρ with amplitude {rho:+.2f}"
            )
    slow = {row["item"].file: row[INDEX] for row in chosen(rows, kind=CLEAN, speed=1)}
    for speed in SPEEDS[1:]:
        fast = [row for row in chosen(rows, kind=CLEAN, speed=speed) if row["item"].file in slow]
        if fast:
            change = [row[INDEX] - slow[row["item"].file] for row in fast]
            mean, low, high = by_repository(change, [row["item"] for row in fast])
            falls = weighted_quantile(fast, [-c for c in change], 0.95)
            print(f"INDEX x{speed} less x1: mean {mean:+.3f} [{low:+.3f}, {high:+.3f}], 95 % of falls to {falls:.3f}")
    unscored = [row for row in rows if row["kind"] == CLEAN and row[INDEX] is None]
    print("clean windows without an index: " + ("; ".join(f"{_name(r)} {r['missing']}" for r in unscored) or "none"))
    lost = [row for row in chosen(rows, kind=CLEAN, speed=1) if row["own_change"] is not None]
    fell = [f"{_name(row)} {row['own_change']:.4f}" for row in lost if row["own_change"] < PLAIN_OWN_CHANGE]
    print(f"factor of the INDEX below 1: {len(fell)} of {len(lost)}: {', '.join(fell) or 'none'}")


def _name(row: Row) -> str:
    return f"{row['item'].name}×{row['speed']}"


def report_damage(rows: Sequence[Row]) -> None:
    clean = chosen(rows, kind=CLEAN, speed=1)
    bad = [row for row in chosen(rows) if row["kind"] in OF_MOTION]
    for metric in ("cas", "mss", INDEX):
        areas = {kind: auc(clean, [r for r in bad if r["kind"] == kind], metric) for kind in OF_MOTION}
        mean = np.nanmean([area.value for area in areas.values()])
        print(f"{metric}: mean AUC of the kinds {mean:.3f}, together {auc(clean, bad, metric)}")
        print("  " + ", ".join(f"{k} {a}" for k, a in sorted(areas.items(), key=lambda item: item[1].value)))
    top = weighted_quantile(clean, [row[INDEX] for row in clean], 0.5)
    for strength in STRENGTHS:
        some = [row for row in bad if row["strength"] == strength]
        seen = mean_of(some, lambda r: float(r[INDEX] > top))
        print(f"at {strength}: above the median of the clean {seen}")
    print("speed crossed with defects")
    amounts = {row["item"].file: row["amplitude"] for row in clean}
    low, middle, high = (weighted_quantile(clean, list(amounts.values()), q) for q in (1 / 3, 1 / 2, 2 / 3))

    def part(some: Sequence[Row], least: float, most: float) -> list[Row]:
        return [row for row in some if least <= amounts.get(row["item"].file, -1.0) < most]

    print(f"  clean of the faster half above damaged of the slower {auc(part(clean, middle, 9), part(bad, 0, middle))}")
    print(f"  clean of the slower half above damaged of the faster {auc(part(clean, 0, middle), part(bad, middle, 9))}")
    for name, ends in {"slow": (0, low), "middle": (low, high), "fast": (high, 9)}.items():
        print(f"  {name} third {auc(part(clean, *ends), part(bad, *ends))}")


def report_stills(rows: Sequence[Row]) -> None:
    own = {row["item"].file: row for row in chosen(rows, kind=CLEAN, speed=1)}
    for kind in STILLS:
        pairs = [(own[row["item"].file], row) for row in chosen(rows, kind=kind) if row["item"].file in own]
        won = [float(real[INDEX] > still[INDEX]) for real, still in pairs]
        mean, low, high = by_repository(won, [real["item"] for real, _ in pairs])
        print(f"real above its own first frame, {kind}: {mean:.2f} [{low:.2f}, {high:.2f}], {sum(won):g} of {len(won)}")


def report_objects(rows: Sequence[Row]) -> None:
    for speed in SPEEDS:
        clean = chosen(rows, kind=CLEAN, speed=speed)
        if clean:
            blamed = [f"{_name(row)} {[e[0] + ' ' + e[2] for e in row['events']]}" for row in clean if row["events"]]
            share = mean_of(clean, lambda r: float(bool(r["events"])))
            print(f"clean ×{speed} with an event of TCS or OIS: {share}, {len(blamed)} of {len(clean)}: {blamed}")
    own = {row["item"].file: row["events"] for row in chosen(rows, kind=CLEAN, speed=1)}
    for kind in OF_OBJECTS:
        owner = "ois" if kind.startswith("limb") else "tcs"
        made = [row for row in rows if row["kind"] == kind and row["item"].file in own]
        hits = [float(any(answers(event, row, owner, own) for event in row["events"])) for row in made]
        mean = by_repository(hits, [row["item"] for row in made]) if made else (np.nan,) * 3
        print(f"recall of {kind} at 1: {sum(hits):g} of {len(made)}, {Interval(*mean)}")


def answers(event: list[Any], row: Row, owner: str, own: Mapping[str, list[Any]]) -> bool:
    """Return True if an event is of the owner, at the begin or end of the defect, and not in the clean window."""
    metric, frames, reason, box = event
    if metric != owner or any(e[0] == owner and e[2] == reason and e[1] == frames for e in own[row["item"].file]):
        return False
    changed = dict(row["changed"])
    ends = (min(changed), max(changed) + 1)
    lasts = metric == "ois" and any(frame in changed for frame in frames)  # a limb is wrong throughout
    if not lasts and not any(abs(frame - end) <= NEAR for frame in frames for end in ends):
        return False
    return box is None or any(_touch(box, region) for region in changed.values())


def _touch(a: Sequence[float], b: Sequence[float]) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])


def report_harmless(rows: Sequence[Row]) -> None:
    own = {row["item"].file: row for row in rows if row["kind"] == CLEAN and row["speed"] == 1}
    for kind in (*HARMLESS, *CONTROLS, *AS_FILMED):
        for metric in (INDEX, "pas"):
            pairs = [(own[r["item"].file], r) for r in rows if r["kind"] == kind and r["item"].file in own]
            pairs = [(a, b) for a, b in pairs if a[metric] is not None and b[metric] is not None]
            if not pairs:
                continue
            change = np.array([after[metric] - before[metric] for before, after in pairs])
            if metric == "pas":
                change = np.array([c / max(before["pas"], 0.02) for c, (before, _) in zip(change, pairs, strict=True)])
            after = [row for _, row in pairs]
            ends = weighted_quantile(after, np.abs(change).tolist(), 0.95)
            size, signed = (by_repository(values.tolist(), [row["item"] for row in after])[0]
                            for values in (np.abs(change), change))  # fmt: skip
            print(
                f"{kind:14s}{metric:13s} n {len(pairs)}: mean |change| {size:.3f}, 95 % {ends:.3f}, "
                f"mean {signed:+.3f}, median {weighted_quantile(after, change.tolist(), 0.5):+.3f}"
            )


REPORTS: dict[str, Callable[[Sequence[Row]], None]] = {
    "speeds": report_clean,
    "stills": report_stills,
    "objects": report_objects,
    "controls": report_harmless,
    "damage": report_damage,
    "harmless": report_harmless,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--splits", nargs="+", default=["validation"])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--all", action="store_true", help="each defect on each window at both strengths")
    parser.add_argument("--cached", action="store_true", help="score nothing, report what the cache has")
    parser.add_argument("--why", help="why sealed footage is opened; goes into the log")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    items = recordings(*options.splits, reason=options.why)
    todo = list(jobs(items, options.parts, options.all))
    with ProcessPoolExecutor(options.processes) as pool:
        rows = []
        for number, row in enumerate(pool.map(partial(score, cache=options.cache, known=options.cached), todo), 1):
            rows += [] if row is None else [row]
            print(f"\r{number} of {len(todo)}", end="", flush=True)
    print()
    for name in ("", "UCF101: "):
        group = [row for row in rows if (row["item"].repo == UCF) == bool(name)]
        for part in (options.parts if not name else ["speeds"]) if group else ():
            print(f"\n{name}{part}")
            REPORTS[part](group)


if __name__ == "__main__":
    main()
