"""Scores, events and series of clips, the run directory, and what is made of it."""

from __future__ import annotations

from benchmarks.net.case import cases_of
from benchmarks.net.inputs import data, fetv, film, real, samples, shipped, text, whole

WALKS, CARS = "zeroscope/woman-walks-and-sits.mp4", "text2video-zero/cars-drive-fast.mp4"
SOME = (samples("cogvideo"), samples("zeroscope"))
FLUID = {"prompt": "water pours", "subject": "water", "pattern": "fluid dynamics", "tags": {"skeleton": "none"}}
OUTPUTS = "--format csv"

CASES = [
    *cases_of("scores", {
        "samples": ((samples(),), [
            "score in/samples --out run",
            "score in/samples --out run",
            "score in/samples --out bench --protocol vmbench",
            f"leaderboard run bench {OUTPUTS}",
            "leaderboard run --sort-by cas --no-published",
            f"show run {WALKS} --out show.png",
            f"show bench {CARS} --out bench.png",
            "show run text2video-zero/woman-walks-and-sits.gif --out show.mp4",
            "show run nothing.mp4 --out none.png",
            "score in/samples --out run --protocol vmbench",
        ]),
        "shards": ((samples(),), [
            "score in/samples --metrics pas,mss --shard 1/2 --out a",
            "score in/samples --metrics pas,mss --shard 2/2 --out b",
            "merge a b --out merged",
            f"leaderboard merged first=a second=b --sort-by pas {OUTPUTS}",
            "merge a b --out merged",
            "merge a nowhere --out other",
        ]),
        "grown": (SOME, [
            "score in/samples --metrics pas --out run --jobs 1",
            "score in/samples --metrics pas,tcs --out run --jobs 1",
            "score in/samples --metrics tcs --out run --subject horse --assume-fps 12",
        ]),
        "default-folder": ((samples("zeroscope"),), [
            "score in/samples --metrics mss",
            "score in/samples/zeroscope/cars-drive-fast.mp4 --metrics mss --max-memory 64MB",
        ]),
        "prompts": ((samples("zeroscope"), shipped("samples/prompts.csv"), data("tagged.json", [
            {**FLUID, "index": 1, "clip": "zeroscope/cars-drive-fast.mp4"},
            {**FLUID, "index": 2, "clip": WALKS, "tags": {"skeleton": "person", "seconds": 5}, "pattern": "x"},
        ])), [
            "score in/samples --prompts in/prompts.csv --metrics pas,tcs --out listed",
            "score in/samples --prompts in/tagged.json --out tagged",
            "score in/samples --prompts library --metrics mss --out library",
            "score in/samples --prompts nowhere.json --metrics mss --out none",
        ]),
        "wrong": ((text("clips/bad.mp4", "no clip"), film("clips/one.mp4", frames=1), film("clips/two.mp4", frames=2),
                   text("clips/empty.mp4", ""), film("clips/good.mp4", 3)), [
            "score in/clips --out run",
            "score in/clips --out allowed --allow-failures --metrics mss",
            "score in/nowhere",
            "score in/clips --metrics xyz",
            "score in/clips --protocol xyz",
            "score in/clips --preset vmbench",
            "score in/clips --shard 3/2",
            "score in/clips --max-memory 5XB",
            "score",
            "score in/clips --nonsense",
            "leaderboard run",
            "show run good.mp4 --out good.png",
            "show run good.mp4 --out good.xyz",
            "merge run --out run",
        ]),
        **{f"fetv-{protocol}-{part}": ((fetv(14, *bounds),), [f"score in/fetv --protocol {protocol} --out run"])
           for protocol in ("vmmetrics", "vmbench") for part, bounds in enumerate(((0, 7), (7, 14)))},
        **{f"real-{protocol}-{part}": ((real(6, *bounds),), [f"score in/real --protocol {protocol} --out run"])
           for protocol in ("vmmetrics", "vmbench") for part, bounds in enumerate(((0, 3), (3, 6)))},
        "real-whole": ((whole("mmpose_demo.mp4"),), ["score in/mmpose_demo.mp4 --out run"]),
        "suite-samples": ((samples("zeroscope"), samples("text2video-zero")), [
            "@suite_scores in/samples vmmetrics", "@suite_scores in/samples vmbench",
        ]),
        "suite-others": ((fetv(3), real(2)), ["@suite_scores in vmmetrics"]),
        "table": ((samples("zeroscope"),), ["@score_table in/samples"]),
    }),
]  # fmt: skip
