"""A made-up index of a report, every number of it set by hand, for tests of the views of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vmmetrics.viewer.page import call, page, script, style

KEYS = ("motion_index", "cas", "mss", "ois", "pas", "tcs")
MODELS = ("ant", "bee", "cat")
PROMPTS = ("a dog runs", "a cat jumps", "waves roll")
BASE = {"ant": 0.4, "bee": 0.6, "cat": 0.5}
"""Score of a model's first prompt; each further prompt has 0.1 more."""
HOSTILE = '<img src=x onerror="window.ran=1"><x-made></x-made></script>'


def metric(key: str, **more: Any) -> dict[str, Any]:
    """Return a column of scores from 0 to 1."""
    colour = "index" if key == "motion_index" else key
    described = {"key": key, "label": key.upper(), "title": f"title of {key}", "range": [0, 1], "unit": "0..1"}
    return {
        **described, "lower_is_better": False, "low_is_fault": key != "pas", "colour": colour, "kind": "metric", **more,
    }  # fmt: skip


def cell(mean: float | None, without: dict[str, int] | None = None, prompts: int = 3) -> dict[str, Any]:
    """Return a cell of a leaderboard, its interval 0.031 below to 0.042 above the mean."""
    ends = (None, None) if mean is None or prompts < 2 else (round(mean - 0.031, 4), round(mean + 0.042, 4))
    return {
        "mean": mean,
        "low": ends[0],
        "high": ends[1],
        "prompts": prompts,
        "clips": prompts,
        "without": without or {},
    }


def difference(value: float, p: float, **more: Any) -> dict[str, Any]:
    """Return a paired difference with an interval of 0.02 to both sides."""
    return {
        "difference": value, "low": round(value - 0.02, 4), "high": round(value + 0.02, 4), "p": p / 2, "p_holm": p,
        "prompts": 3, **more,
    }  # fmt: skip


def board(models: Sequence[str] = MODELS) -> dict[str, Any]:
    """Return a leaderboard; cat has no TCS, and the OIS of bee is missing or failed for some clips."""
    columns = ["motion_index", "average", *KEYS[1:]]
    rows = []
    for rank, model in enumerate(sorted(models, key=lambda model: -BASE[model])):
        cells = {key: cell(round(BASE[model] + (k + 0.34) / 100, 4)) for k, key in enumerate(columns)}
        if model == "bee":
            cells["ois"] = cell(0.712, {"no person; nothing else moved": 2, "failed": 1}, prompts=2)
        if model == "cat":
            cells["tcs"] = cell(None, {"no object moved": 3}, prompts=0)
        shares = [(0.7, 0.29, 0.01), (0.28, 0.7, 0.02), (0.01, 0.01, 0.98)][rank][: len(models)]
        rows.append(
            {"model": model, "rank": rank + 1, "prompts": 3, "clips": 3, "shares": list(shares), "cells": cells}
        )
    steps = [
        {"above": "bee", "below": "cat", **difference(0.1025, 0.02)},
        {"above": "cat", "below": "ant", **difference(0.0975, 0.2)},
    ]
    label = "preset embedded, protocol vmmetrics: not comparable with published VMBench numbers"
    return {
        "label": label, "comparable": False, "columns": columns, "by": "motion_index", "prompts": 3,
        "notes": ["a remark on the table"], "rows": rows, "steps": steps if len(models) > 2 else [],
    }  # fmt: skip


def run(name: str) -> dict[str, Any]:
    """Return a run of nine clips."""
    return {
        "name": name, "label": board()["label"], "preset": "embedded", "protocol": "vmmetrics", "comparable": False,
        "clips": 9, "failed": 1, "versions": {"tcs": [2]}, "vmmetrics": ["0.2.0"], "begun": "2026-11-23T12:00:00+00:00",
        "ended": None, "notes": ["a remark on the run"], "group": 0,
    }  # fmt: skip


def made_index() -> dict[str, Any]:
    """Return an index of two runs, each of 3 models x 3 prompts.

    The second run has 0.05 more everywhere, but for TCS of bee's clips: 0.3, 0.1 and 0.2 less, with a new event.
    """
    names: list[str] = []
    scores: dict[str, list[float | None]] = {key: [] for key in (*KEYS, "rating:motion")}
    missing: dict[str, dict[str, Any]] = {key: {} for key in KEYS}
    runs: list[int] = []
    models: list[int] = []
    prompts: list[int] = []
    events: list[list[int]] = []
    for number in range(2):
        for m, model in enumerate(MODELS):
            for p in range(len(PROMPTS)):
                names.append(f"{model}/{p}.mp4")
                runs.append(number)
                models.append(m)
                prompts.append(p)
                worse = number == 1 and model == "bee"
                events.append([0, 1] if worse else [0])
                for key in KEYS:
                    score = BASE[model] + 0.1 * p + 0.05 * number
                    scores[key].append(round(score - (0.35, 0.15, 0.25)[p] * (worse and key == "tcs"), 4))
                scores["rating:motion"].append(float(1 + m + p))
    for row in (6, 7, 8, 15, 16, 17):
        scores["tcs"][row] = None
        missing["tcs"][str(row)] = {"reason": 1, "kind": "missing"}
    scores["ois"][9] = None
    missing["ois"]["9"] = {"reason": 2, "kind": "failed"}
    n = len(names)
    rows = [
        {**difference(-0.2, 0.01), "metric": "tcs", "model": None, "before": 0.7031, "after": 0.5031, "lost": 0,
         "gained": 0, "clips": 6, "lower_is_better": False},
        {**difference(0.05, 0.3), "metric": "cas", "model": None, "before": 0.6012, "after": 0.6512, "lost": 0,
         "gained": 0, "clips": 9, "lower_is_better": False},
    ]  # fmt: skip
    change = {
        "before": 0, "after": 1, "refused": None, "notes": ["a remark on the change"], "paired_by": {"name": 9},
        "rows": rows, "pairs": [[row, row + 9] for row in range(9)], "gone": ["old.mp4"], "new": [],
    }  # fmt: skip
    refused = {**change, "refused": "the presets differ: embedded, openmmlab", "rows": [], "pairs": [], "notes": []}
    pairs = [
        {"a": f"0/{a}", "b": f"0/{b}", "board": 0, "metrics": {key: difference(value, p) for key in KEYS}}
        for a, b, value, p in (("bee", "cat", 0.1025, 0.02), ("bee", "ant", 0.205, 0.004), ("cat", "ant", 0.0975, 0.2))
    ]
    groups = [
        {"tag": "pattern", "value": value, "model": model, "run": 0, "clips": 6, "means": means}
        for model in (None, "ant")
        for value, means in (
            ("one way", {"cas": {"mean": 0.4321, "low": 0.4, "high": 0.5, "clips": 6}}),
            (
                "to and fro",
                {
                    "cas": {"mean": 0.6543, "low": 0.6, "high": 0.7, "clips": 6},
                    "tcs": {"mean": 0.2, "low": None, "high": None, "clips": 1},
                },
            ),
        )
    ]
    rating = metric("rating:motion", label="motion", title="human rating of motion", kind="rating", range=[1, 5])
    return {
        "format": 1, "title": "Made up",
        "provenance": {"vmmetrics": "0.2.0", "notes": ["a remark on the report"], "total": 20, "shown": n,
                       "left_out": [{"reason": "not among the worst", "clips": 2}]},
        "runs": [run("first"), run("second")],
        "metrics": [*map(metric, KEYS), {**rating, "colour": "rating"}],
        "models": list(MODELS), "prompts": list(PROMPTS),
        "reasons": ["no video", "no object moved", "ValueError: broken"],
        "events": [{"metric": "mss", "reason": "blurred"}, {"metric": "tcs", "reason": "vanished without cause"}],
        "tags": [{"name": "pattern", "values": ["one way", "to and fro"]}], "bases": [],
        "clips": {
            "name": names, "run": runs, "model": models, "prompt": prompts, "frames": [16] * n, "fps": [8.0] * n,
            "failed": [-1] * n, "scores": scores, "missing": missing, "events": events,
            "tags": {"pattern": [row % 2 for row in range(n)]}, "media": [-1] * n, "poster": [0] * n,
            "overlay": [0] * n,
        },
        "boards": [board()], "pairs": pairs, "changes": [change, refused], "groups": groups, "shard": 256,
        "agreement": [
            {"metric": "tcs", "dimension": "motion", "rho": 0.42, "low": 0.11, "high": 0.63, "clips": 12,
             "within_model": None, "amplitude_constant": None},
        ],
    }  # fmt: skip


def replaced(value: Any, text: str, other: str) -> Any:
    """Return a value with a text replaced in all its texts, names of fields included."""
    if isinstance(value, dict):
        return {replaced(key, text, other): replaced(item, text, other) for key, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, text, other) for item in value]
    return value.replace(text, other) if isinstance(value, str) else value


def write_page(folder: Path, index: dict[str, Any]) -> Path:
    """Write a report of an index: clips without posters, videos, overlays and events in detail."""
    for name in ("app", "data"):
        (folder / name).mkdir(parents=True)
    (folder / "data" / "index.js").write_text(call("index", index))
    empty = ("size", "pixels", "timestamps", "codec", "sha256", "path", "prompt_source", "subject", "probabilities")
    detail: dict[str, Any] = dict.fromkeys(empty) | {"seconds": 1.0, "notes": [], "events": [], "series": {}}
    detail |= {"saliency": [], "lost": {}, "ratings": {}}
    (folder / "data" / "detail-000.js").write_text(call("detail", 0, [detail] * len(index["clips"]["name"])))
    (folder / "app" / "report.js").write_text(script())
    (folder / "app" / "report.css").write_text(style())
    (folder / "index.html").write_text(page())
    return folder
