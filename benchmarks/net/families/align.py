"""Scores held against people's ratings: shipped tables, every form of ratings, and the size of a study."""

from __future__ import annotations

from benchmarks.net import inputs_ratings as made
from benchmarks.net.case import cases_of
from benchmarks.net.inputs import film, samples, shared, shipped, table, text

DEV = (shipped("fetv-dev"),)
TABLES = "align in/fetv-dev/scores.csv in/fetv-dev/ratings.csv"
FEW = "--resamples 100"
MADE = {
    "long": made.long(), "cells": made.cells(), "wide": made.wide(), "averaged": made.averaged(),
    "pairs": made.pairs(), "label-studio": made.label_studio(),
}  # fmt: skip
FILES = {
    "long": "long.csv", "cells": "cells.csv", "wide": "wide.tsv", "averaged": "averaged.json", "pairs": "pairs.jsonl",
    "label-studio": "label-studio.json",
}  # fmt: skip
NUMBERED = {"feedback": "100{}", "feedback2": "{}_h", "reward": "v/{}.mp4"}
RELEASED = {
    "videofeedback": (made.videofeedback(), "feedback", ["in/videofeedback.json"]),
    "videofeedback2": (made.videofeedback2(), "feedback2", ["in/videofeedback2.json"]),
    "visionreward": (made.visionreward(), "reward", ["in/visionreward.json"]),
    "visionreward-pairs": (made.visionreward_pairs(), "reward", ["in/visionreward-pairs.json"]),
}  # fmt: skip

CASES = [
    *cases_of("align", {
        "shipped": (DEV, [f"{TABLES} --exclude-model real --out study"]),
        "shipped-all": (DEV, [f"{TABLES} {FEW} --reference ssim --out study"]),
        "shipped-options": (DEV, [
            f"{TABLES} {FEW} --metrics mss --metrics cas --dimension static_quality --seed 3",
            f"{TABLES} {FEW} --lower-is-better brisque --metrics brisque --out lower",
            f"{TABLES} {FEW} --pair mss=temporal_quality,static_quality --metrics mss --scale 1 5",
            f"{TABLES} {FEW} --scale 2 4",
            f"{TABLES} --metrics nothing",
            f"{TABLES} --dimension nothing",
            f"{TABLES} --ratings-format nothing",
            f"{TABLES} --clip-column source",
            "align in/fetv-dev/scores.csv in/nowhere.csv",
            "align in/fetv-dev/scores.csv",
        ]),
        "several": ((*DEV, made.scores("other.csv"), made.long()), [
            f"align in/fetv-dev/scores.csv in/other.csv in/fetv-dev/ratings.csv {FEW} --metrics mss",
            f"align a=in/other.csv b=in/other.csv in/long.csv {FEW} --metrics mss --out two",
        ]),
        "vmbench": ((made.by_model(), *DEV, made.scores()), [
            f"align in/models.csv vmbench {FEW}", f"align in/scores.csv vmbench {FEW}",
            f"align in/models.csv in/models.csv {FEW} --out models",
        ]),
        "video-bench": ((made.videobench_scores(), shared("ratings-tables/videobench_motion_effects.json",
                                                          "ratings-tables/videobench_temporal_consistency.json")), [
            f"align in/videobench-scores.csv in/videobench_motion_effects.json {FEW} --out study",
            f"align in/videobench-scores.csv in/videobench_temporal_consistency.json {FEW}"
            " --ratings-format video-bench",
        ]),
        "motion-pairs": ((made.motion_scores(), shared("motion-pairs/pairs.csv")), [
            f"align in/motion-scores.csv in/pairs.csv {FEW} --out study",
        ]),
        **{name: ((made.scores(), place), [
            f"align in/scores.csv in/{FILES[name]} {FEW} --out study",
            f"align in/scores.csv in/{FILES[name]} {FEW} --exclude-model gamma --reference mss",
        ]) for name, place in MADE.items()},
        **{name: ((place, made.scores(clips=[(NUMBERED[form].format(n),) for n in range(12)])), [
            f"align in/scores.csv {rated} {FEW} --out study-{number}" for number, rated in enumerate(ratings)
        ]) for name, (place, form, ratings) in RELEASED.items()},
        "fetv": ((made.fetv_form(), made.scores(clips=made.FETV_CLIPS)), [
            f"align in/scores.csv in/manual_eval_results {FEW} --out study",
            f"align in/scores.csv in/manual_eval_results {FEW} --ratings-format fetv",
        ]),
        "wrong": ((made.scores(), text("empty.csv", ""), text("words.csv", "clip,smoothness\nalpha/0.mp4,good\n"),
                   text("none.csv", "clip,smoothness\nother/1.mp4,3\n"), text("few.csv", "clip,s\nalpha/0.mp4,3\n"),
                   table("bare.csv", [{"left": "alpha/0.mp4", "right": "beta/0.mp4", "outcome": 0}])), [
            f"align in/scores.csv in/{name}.csv" for name in ("empty", "words", "none", "few", "bare")
        ]),
        "run": ((samples("zeroscope"), samples("cogvideo"), film("more/a.mp4"), text("r.csv", "\n".join([
            "clip,smoothness_1,smoothness_2",
            "zeroscope/cars-drive-fast.mp4,5,4", "zeroscope/woman-walks-and-sits.mp4,4,4",
            "cogvideo/cars-drive-fast.mp4,2,3", "cogvideo/woman-walks-and-sits.mp4,2,1", "",
        ]))), [
            "score in/samples --metrics mss,pas --out run",
            "baselines in/samples --metrics ssim,frame_difference --out base",
            f"align run base in/r.csv {FEW} --out study",
        ]),
        "plan": ((), [
            "plan", "plan --first 0.5 --second 0.6 --raters 3 --clips-per-prompt 2 --power 0.9",
            "plan --between 0.5", "plan --first 0.7 --second 0.7", "plan --first 2",
        ]),
    }),
]  # fmt: skip
