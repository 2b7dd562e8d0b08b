"""Small files of scores and ratings in the forms that ``align`` reads; all values are made up."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.net.case import SHARED, Input
from benchmarks.net.inputs import data, drawn, lines, table

MODELS = ("alpha", "beta", "gamma")
CLIPS = [(f"{model}/{prompt}.mp4", model, f"prompt {prompt}") for prompt in range(8) for model in MODELS]


def quality(clip: str, what: str = "quality") -> int:
    """Return 1 to 5, much the same for all that is asked of a clip."""
    return 1 + (drawn(clip, "q", most=5) + drawn(clip, what, most=2)) % 5


def scores(name: str = "scores.csv", clips: Any = CLIPS) -> Input:
    rows = [
        {"clip": clip, "mss": quality(clip, "mss") / 5 + drawn(clip, "n") / 5000, "cas": drawn(clip, "cas") / 1000,
         "pas": drawn(clip, "pas") / 1000, "ssim": quality(clip, "s") / 7 - drawn(clip, "t") / 4000}
        for clip, *_ in clips
    ]  # fmt: skip
    return table(name, rows)


def long() -> Input:
    return table(
        "long.csv",
        [
            {"clip": clip, "rater": rater, "model": model, "prompt": prompt, "smoothness": quality(clip, rater),
             "realism": quality(clip, f"{rater}r"), "lead_time": 7}
            for clip, model, prompt in CLIPS
            for rater in ("ann", "bob", "eve")
        ],
    )  # fmt: skip


def cells() -> Input:
    return table(
        "cells.csv",
        [
            {"clip": clip, "rater": rater, "dimension": dimension, "rating": quality(clip, rater + dimension)}
            for clip, *_ in CLIPS
            for rater in ("1", "2")
            for dimension in ("smoothness", "aesthetics")
        ],
    )


def wide() -> Input:
    rows = [{"clip": c, **{f"smoothness_{n}": quality(c, str(n)) for n in (1, 2, 3)}} for c, *_ in CLIPS]
    return table("wide.tsv", rows, "\t")


def averaged() -> Input:
    return data("averaged.json", {clip: {"smoothness": quality(clip) + 0.25} for clip, *_ in CLIPS})


def pairs() -> Input:
    found = [(a[0], b[0], b[2]) for a, b in pairwise(CLIPS) if a[2] == b[2]]
    outcome = ("left", "right", "tie")
    rows = [
        {"left": a, "right": b, "rater": r, "prompt": p, "outcome": outcome[drawn(a, b, r, most=3)]}
        for a, b, p in found
        for r in "xyz"
    ]
    return lines("pairs.jsonl", rows)


def by_model() -> Input:
    """Place a row for each of some models, those of VMBench's table among them."""
    names = (*MODELS, "Wan2.1", "HunyuanVideo", "CogVideoX-5B", "OpenSora", "Mochi 1")
    return table("models.csv", [{"Models": m, **{k: drawn(m, k) / 10 for k in ("CAS", "MSS", "TCS")}} for m in names])


def label_studio() -> Input:
    rows = [
        {"video": f"/data/local-files/?d=clips/{clip}", "prompt": prompt, "id": number, "annotator": rater,
         "smoothness": [{"rating": quality(clip, rater)}], "natural": str(quality(clip, f"{rater}n")),
         "annotation_id": 10 * number, "lead_time": 7.5, "created_at": "2026-01-02T03:04:05.678901Z", "comment": "fine"}
        for number, (clip, _, prompt) in enumerate(CLIPS)
        for rater in ("1", "ann@example.org")
    ]  # fmt: skip
    return data("label-studio.json", rows)


def fetv_form() -> Input:
    def place(folder: Path) -> None:
        for rater in range(2):
            part = folder / "manual_eval_results" / f"human{rater}"
            part.mkdir(parents=True)
            for model in ("cogvideo", "modelscope-t2v"):
                rows = [
                    {f"sentence {n}": {"video_id": f"video{n}", "static_quality": 3, "alignment": 2,
                                       "temporal_quality": quality(f"{n}{model}", str(rater))}}
                    for n in range(6)
                ]  # fmt: skip
                (part / f"manual_eval_results_{model}.json").write_text("".join(json.dumps(r) + "\n" for r in rows))

    return place


FETV_CLIPS = [(f"{n:03d}_{model}.gif",) for n in range(6) for model in ("cogvideo", "modelscope-t2v")]


def videofeedback() -> Input:
    names = ("visual quality", "temporal consistency", "dynamic degree", "factual consistency")
    rows = [
        {"id": f"100{n}", "text prompt": f"p{n % 4}", "video link": f"https://h/x/100{n}.mp4?d=1"}
        | {name: quality(str(n), name) for name in names}
        for n in range(12)
    ]
    return data("videofeedback.json", rows)


def videofeedback2() -> Input:
    rows = [
        {"video_name": f"{n}_h", "prompt": f"p{n % 4}", "video_url": f"https://h/m/{n}.mp4"}
        | {name: quality(str(n), name) for name in ("visual_score", "t2v_score", "phy_score")}
        for n in range(12)
    ]
    return data("videofeedback2.json", rows)


def visionreward() -> Input:
    rows = [
        {"internal_id": f"i{n}", "prompt": f"p{n % 4}", "url": f"https://h/{n}.mp4", "video_path": f"v/{n}.mp4",
         "annotation": {"movement smoothness": quality(str(n)), "physics law": quality(str(n), "law"), "color": None}}
        for n in range(12)
    ]  # fmt: skip
    return data("visionreward.json", rows)


def visionreward_pairs() -> Input:
    rows = [
        {"internal_id": f"i{n}", "prompt": "p", "standard_answer": ("video1", "video2")[drawn(n, most=2)],
         "video1_path": f"v/{n}.mp4", "video2_path": f"v/{(n + 1) % 12}.mp4"}
        for n in range(12)
    ]  # fmt: skip
    return data("visionreward-pairs.json", rows)


def videobench_scores(limit: int = 40) -> Input:
    """Place made-up scores of clips of Video-Bench."""

    def place(folder: Path) -> None:
        rated = json.loads((SHARED / "ratings-tables" / "videobench_motion_effects.json").read_text())
        scores("videobench-scores.csv", [(clip,) for row in rated[:limit] for clip in row["videos"].values()])(folder)

    return place


def motion_scores() -> Input:
    """Place made-up scores of the pairs of human motion."""
    return scores("motion-scores.csv", [(f"m{number:03d}.mp4",) for number in range(108)])
