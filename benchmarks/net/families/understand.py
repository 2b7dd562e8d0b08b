"""Video language models asked: every benchmark, protocol, form of file, and what is made of the runs."""

from __future__ import annotations

from benchmarks.net import inputs_questions as made
from benchmarks.net.case import cases_of
from benchmarks.net.inputs import data, lines, table, text

U = "understand"
MODELS = ("random", "random:7", "majority")
OUT = "--format csv"


def asked(name: str, folder: str, *files: str, more: str = "") -> list[str]:
    """Return commands that run, score, compare and rank on one benchmark, and write what is handed in."""
    run = f"{U} run {name} --data in/{folder} --yes {more}"
    recorded = [f"recorded:in/said/{file}" for file in files]
    if len(files) == 1:
        return [
            f"{run} --model majority --out run0",
            f"{run} --model {recorded[0]} --out run1",
            f"{U} score run1 --protocol upstream",
            f"{U} leaderboard run0 run1 {OUT}",
            f"{U} submission run1 --out out/handed-in.json",
        ]
    return [
        *(f"{run} --model {model} --out run{n}" for n, model in enumerate((*MODELS, *recorded))),
        *(f"{run} --model {model} --out up{n} --protocol upstream" for n, model in enumerate(recorded)),
        f"{run} --model random --out run0",
        f"{run} --model majority --out run0",
        f"{U} score run0 --protocol upstream",
        f"{U} score run3 --protocol upstream",
        f"{U} compare run0 run2 --format json",
        f"{U} compare run0 run3 --protocol upstream",
        f"{U} leaderboard run0 run1 run2 run3 {OUT}",
        f"{U} leaderboard run0 run3 --protocol upstream",
        f"{U} submission run3 --out out/handed-in.json",
        f"{U} submission run0 --out out/handed-in.jsonl",
    ]


FORMS = ("map.json", "lines.jsonl", "rows.json", "rows.csv", "rows.tsv", "torn.jsonl", "none.json")
MB = (made.motionbench(), *made.recorded_maps(made.MB_KEYS), made.films([f"v{n}" for n in range(13)], "mb/"))
FPS = (made.fpsbench(), *made.recorded_maps(made.FPS_KEYS), made.films(["video0", "video1"], "fps/"))
FAVOR = (data("favor/video_perspective.json", made.favor_rows()), *made.recorded_maps(made.FAVOR_KEYS),
         made.films(["7R8ZU", "P01_ego_3", "AB123", "QQ7"], "favor/videos/FAVOR-Bench/"))  # fmt: skip
TUNA_KEYS = [str(n) for n in range(16)]
TUNA = (table("mcq/TUNA_MCQ.tsv", made.tuna_mcq_rows(), "\t"), *made.recorded_maps(TUNA_KEYS),
        made.films([f"clip{n}" for n in range(8)], "mcq/video/"))  # fmt: skip
FAVOR_CAP = (data("favor/FAVOR_gt_annotations.json", made.FAVOR_GT), data("said/captions.json", made.FAVOR_CAPTIONS),
             data("said/own.json", {name: entry["caption"] for name, entry in made.FAVOR_GT.items()}))  # fmt: skip
TUNA_CAP = (table("tuna/TUNA_CAP.tsv", made.TUNA_CAP_ROWS, "\t"), data("tuna/metadata.json", made.TUNA_GT),
            data("result.json", made.TUNA_JUDGED), data("said/captions.json", made.TUNA_CAPTIONS))  # fmt: skip
CUSTOM = (lines("custom/questions.jsonl", made.CUSTOM), *made.recorded_maps(made.CUSTOM_KEYS),
          made.films([f"v{n}" for n in range(5)], "custom/"))  # fmt: skip
ASK = f"{U} run custom --data in/custom --model endpoint:net@{{url}} --threads 1"
CAPTION = "--model recorded:in/said/captions.json"
BUILD_CAPTIONS = [{"video": f"v{n}", "caption": f"Caption {n}: it turns over, then slides off."} for n in range(3)]
VIDEOS = made.films([f"v{n}" for n in range(5)])

CASES = [
    *cases_of("understand", {
        "list": ((), [f"{U} list"]),
        "motionbench": (MB, asked("motionbench", "mb", *FORMS)),
        "fpsbench": (FPS, asked("fpsbench", "fps", *FORMS)),
        "fpsbench-certificate": (FPS, asked("fpsbench-certificate", "fps", "map.json", more="--control blind")),
        "fpsbench-slowed": (FPS, asked("fpsbench-slowed", "fps", "rows.json")),
        "fpsbench-hidden": ((made.fpsbench(key=False), *made.recorded_maps(made.FPS_KEYS)),
                            asked("fpsbench", "fps", "map.json")),
        "favor-mcq": (FAVOR, asked("favor-mcq", "favor", *FORMS)),
        "favor-mcq-flat": ((data("favor/question_perspective.json", made.favor_flat()), *FAVOR[1:-1]),
                           asked("favor-mcq", "favor", "map.json")),
        "favor-mcq-table": ((table("favor.tsv", made.favor_flat(), "\t"), *FAVOR[1:-1]),
                            asked("favor-mcq", "favor.tsv", "map.json")),
        "tuna-mcq": (TUNA, asked("tuna-mcq", "mcq", *FORMS)),
        "tuna-mcq-json": ((data("mcq/TUNA_MCQ.json", made.tuna_mcq_rows()), *TUNA[1:]),
                          asked("tuna-mcq", "mcq", "map.json", more="--limit 10")),
        "custom": (CUSTOM, asked("custom", "custom", *FORMS)),
        "custom-file": (CUSTOM, asked("custom", "custom/questions.jsonl", "map.json")),
        "custom-frames": (CUSTOM, [
            f"{U} run custom --data in/custom --model random --out run{n} --frames '{frames}'" for n, frames in
            enumerate(("8 uniform", "2 fps", "adaptive", "native", "single", "first", "none", "slowed 4", "at most 3",
                       "nonsense"))
        ] + [f"{U} run custom --data in/custom --model random --out c{n} --control {control}"
             for n, control in enumerate(("blind", "single-frame", "nonsense"))]),
        "favor-caption": (FAVOR_CAP, [
            f"{U} run favor-caption {CAPTION} --data in/favor --out run",
            f"{U} run favor-caption --model recorded:in/said/own.json --data in/favor --out own",
            f"{U} run favor-caption --model random --data in/favor --out random",
            f"{U} score run --protocol upstream", f"{U} score own --protocol upstream",
            f"{U} compare run own --format json", f"{U} leaderboard run own {OUT}",
            f"{U} submission run --out out/handed-in.json",
        ]),
        "tuna-cap": (TUNA_CAP, [
            f"{U} run tuna-cap {CAPTION} --data in/tuna --out run", f"{U} score run --judge in/result.json",
            f"{U} score run --judge in/result.json --protocol upstream", f"{U} leaderboard run {OUT}",
            f"{U} score run --judge in/nowhere.json", f"{U} submission run --out out/handed-in.json",
        ]),
        "synthetic": ((), [
            f"{U} synthetic --out suite --count 8 --seed 1",
            f"{U} run synthetic --data suite --model frame-reader --out reader",
            f"{U} run synthetic --data suite --model frame-reader --out reader30 --frames '30 fps'",
            *(f"{U} run synthetic --data suite --model {model} --out {model}" for model in ("random", "majority")),
            f"{U} compare random majority", f"{U} leaderboard reader reader30 random majority --group-by minFPS {OUT}",
            f"{U} minfps synthetic --data suite --annotator frame-reader --out rates",
            f"{U} submission random --out out/handed-in.json", f"{U} synthetic --out suite --count 8 --seed 1",
        ]),
        "minfps": ((*CUSTOM, text("answers.txt", "n\ny\nn\n" * 20)), [
            f"{U} minfps custom --data in/custom --annotator person:Ann --out rates --limit 3 < in/answers.txt",
            f"{U} minfps custom --data in/custom --annotator person:Bob --out rates --limit 3 --group-by kind"
            " < in/answers.txt",
            f"{U} minfps custom --data in/custom --annotator random --out rates",
            f"{U} minfps custom --data in/custom --annotator nonsense --out rates",
        ]),
        "wrong": (CUSTOM, [
            f"{U} run nothing --data in/custom --model random", f"{U} run custom --data in/nowhere --model random",
            f"{U} run custom --data in/custom --model nonsense",
            f"{U} run custom --data in/custom --model frame-reader",
            f"{U} run custom --data in/custom --model recorded:nowhere.json", f"{U} score nowhere",
            f"{U} run custom --data in/custom --model hf:nowhere --out hf", f"{U} compare nowhere in",
            f"{U} run custom --data in/custom --model random --protocol nonsense", f"{U} leaderboard in",
            f"{U} run custom --data in/custom --model random", f"{U} submission in --out out.json",
            f"{U} build nonsense in/custom/questions.jsonl", f"{U} build motionbench nowhere.jsonl",
            f"{U} build motionbench in/custom/questions.jsonl",
        ]),
        "build-rules": ((lines("questions.jsonl", [
            *made.CUSTOM, {**made.CUSTOM[0], "id": "x1", "text": "When does subject 1 turn?"},
            {**made.CUSTOM[1], "id": "x2", "options": ["left", "left", "B"]}, {**made.CUSTOM[2], "answer": "Z"},
        ]), VIDEOS, table("people.csv", [{"id": "c0", "reviewer": r, "answer": "A"} for r in ("a", "b", "c")])), [
            f"{U} build fpsbench in/questions.jsonl --out made", f"{U} run custom --data made --model random --out run",
            f"{U} build fpsbench in/questions.jsonl --out reviewed --answers in/people.csv",
            f"{U} build fpsbench in/questions.jsonl --out made --seed 4",
            f"{U} build fpsbench in/questions.jsonl --out made --decisions made/review.jsonl",
        ]),
    }),
    *cases_of("understand", {
        "endpoint": (CUSTOM, [
            f"{ASK} --out run --yes --price-per-million 2 8",
            f"{ASK} --out run --yes --price-per-million 2 8",
            f"{ASK} --out film --yes --video-format video --max-size 32",
            f"{ASK} --out cheap --yes --price-per-million 1 1 --max-cost 1e-4",
            f"{U} minfps custom --data in/custom --annotator endpoint:net@{{url}} -o rates --limit 3 -y --repeats 2",
            f"{U} compare run film",
        ]),
        "endpoint-captions": ((*FAVOR_CAP, *TUNA_CAP[:-1]), [
            f"{U} run favor-caption --data in/favor {CAPTION} --out run",
            f"{U} score run --judge endpoint:net@{{url}} --yes",
            f"{U} run tuna-cap --data in/tuna --model recorded:in/said/captions.json --out tuna --yes",
            f"{U} score tuna --judge endpoint:net@{{url}} --yes",
        ]),
        "build": ((lines("captions.jsonl", BUILD_CAPTIONS), VIDEOS,
                   lines("questions.jsonl", made.CUSTOM)), [
            f"{U} build {recipe} --out {recipe.partition(' ')[0]} --url {{url}} --yes --threads 1 {more}"
            for recipe, more in (
                ("motionbench in/captions.jsonl", "--model net --filter-model a --filter-model b"),
                ("tuna in/captions.jsonl", "--model net --video-model v --filter-model a"),
                (
                    "fpsbench in/questions.jsonl",
                    "--model net --filter-model a --review-model r --review-model s --review-model t",
                ),
                ("motionbench in/captions.jsonl", "--model net --filter-model a --filter-model b"),
            )
        ]),
    }, endpoint=True),
]  # fmt: skip
