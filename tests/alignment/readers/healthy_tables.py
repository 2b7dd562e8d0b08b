"""40 tables and more that are to be read without a question: clear names, no traps."""

from __future__ import annotations

import json

import numpy as np

from tests.alignment.readers.outside_tables import (
    CLIPS,
    DECIDED,
    MEANS,
    PROMPTS,
    QUALITY,
    RATERS,
    RATING,
    SHAPE,
    SMOOTH,
    SMOOTHNESS,
    UNNAMED_MEANS,
    VOTES,
    Kind,
    Pairs,
    Ratings,
    Row,
    json_lines,
    of_clips,
    parquet,
    rated,
    records,
    table,
    voted,
)

PREFERENCE = Pairs({"preference": VOTES})
BOTH = Ratings({"smoothness": SMOOTH, "integrity": SHAPE})
NOBODY = Ratings({"smoothness": SMOOTH}, ())
LONG = ("clip", "rater", "smoothness")
ACR = ("Bad", "Poor", "Fair", "Good", "Excellent")
DCR = ("Very annoying", "Annoying", "Slightly annoying", "Perceptible but not annoying", "Imperceptible")
LIKERT = ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree")
STARS = tuple("★" * n + "☆" * (5 - n) for n in range(1, 6))
SIDES = {1: "left", 0: "tie", -1: "right"}
BETTER = {1: "A much better", 0: "About the same", -1: "B better"}
GRADES = {1: -2, 0: 0, -1: 2}  # P.910's CCR: the second against the first
plainly = rated(lambda clip, rater, n: (clip.name, rater, n))
both = [(c.name, r, int(SMOOTH[i, j]), int(SHAPE[i, j])) for i, c in enumerate(CLIPS) for j, r in enumerate(RATERS)]


def in_words(words: tuple[str, ...]) -> list[Row]:
    return rated(lambda clip, rater, n: (clip.name, rater, words[n - 1]))


# The forms of docs/ratings-formats.md


_BATCH = ("HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds", "Input.video_url")
_LABELS = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "video", "smoothness")

DOCUMENTED = [
    Kind("long.csv", table(("clip", "rater", "smoothness", "integrity"), both), BOTH),
    Kind("cells.csv", table(
        ("clip", "rater", "dimension", "rating"),
        [(c, r, d, n) for c, r, *two in both for d, n in zip(("smoothness", "integrity"), two, strict=True)]), BOTH),
    Kind("wide.csv", table(
        ("clip", *(f"{d}_{n}" for d in ("smoothness", "integrity") for n in range(1, 5))),
        of_clips(lambda clip, i: (clip.name, *SMOOTH[i], *SHAPE[i]))),
        Ratings({"smoothness": SMOOTH, "integrity": SHAPE}, ())),
    Kind("averaged.csv", table(("clip", "smoothness"), of_clips(lambda c, i: (c.name, MEANS[i]))), UNNAMED_MEANS),
    Kind("repeated.csv", table(("clip", "smoothness"), [(c, n) for c, _, n in plainly]), NOBODY),
    Kind("pairs.csv", table(
        ("left", "right", "outcome", "rater"), voted(lambda a, b, o, r: (a.name, b.name, SIDES[o], r))), PREFERENCE),
    Kind("chosen.csv", table(
        ("winner", "loser", "rater"),
        voted(lambda a, b, o, r: (a.name, b.name, r) if o > 0 else (b.name, a.name, r), DECIDED)),
        Pairs({"preference": DECIDED})),
    Kind("signs.csv", table(
        ("video1", "video2", "outcome", "annotator"),
        voted(lambda a, b, o, r: (a.name, b.name, {1: "A>B", 0: "=", -1: "B>A"}[o], r))), PREFERENCE),
    Kind("ccr.csv", table(
        ("left", "right", "outcome", "rater"), voted(lambda a, b, o, r: (a.name, b.name, GRADES[o], r))), PREFERENCE),
    Kind("arena.jsonl", json_lines(voted(lambda a, b, o, r: {
        "model_a": a.model, "model_b": b.model, "winner": {1: "model_a", 0: "tie (bothbad)", -1: "model_b"}[o],
        "prompt": a.prompt, "judge": r})), PREFERENCE),
    Kind("no-clip.csv", table(
        ("model", "prompt", "rater", "smoothness"), rated(lambda c, r, n: (c.model, c.prompt, r, n))), SMOOTHNESS),
    Kind("nested.json", json.dumps(
        [{"video": c, "rater": r, "ratings": {"smoothness": n, "integrity": m}} for c, r, n, m in both]), BOTH),
    Kind("nested-lists.jsonl", json_lines(
        {"video": c.name, "ratings": {"smoothness": SMOOTH[i].tolist()}} for i, c in enumerate(CLIPS)), NOBODY),
    Kind("mapping.json", json.dumps({c.name: {"smoothness": MEANS[i]} for i, c in enumerate(CLIPS)}), UNNAMED_MEANS),
    Kind("columns.json", json.dumps({name: [row[i] for row in plainly] for i, name in enumerate(LONG)}), SMOOTHNESS),
    Kind("rows.jsonl", json_lines(records(LONG, plainly)), SMOOTHNESS),
    Kind("page.md", "# Ratings\n\n| clip | smoothness |\n|---|---|\n"
         + "".join(f"| {clip.name} | {mean} |\n" for clip, mean in zip(CLIPS, MEANS, strict=True)), UNNAMED_MEANS),
    Kind("list.txt", "".join(f"{c.name}|{c.prompt}|{mean}\n" for c, mean in zip(CLIPS, MEANS, strict=True)),
         UNNAMED_MEANS),
    Kind("comma.csv", table(LONG, [(c, r, f"{n},0") for c, r, n in plainly], ";").encode("cp1252"), SMOOTHNESS),
    Kind("forms.csv", table(
        ("Timestamp", "Email Address", *(f"How smooth is the motion? [{c.name}]" for c in CLIPS)),
        [("2026/11/02 1:02:03 PM GMT+1", f"{r}@lab.org", *SMOOTH[:, i]) for i, r in enumerate(RATERS)]),
        Ratings({"How smooth is the motion": SMOOTH}, tuple(f"{name}@lab.org" for name in RATERS))),
    Kind("Batch_7_batch_results.csv", table(
        (*_BATCH, "Answer.smoothness", "Approve", "Reject"),
        rated(lambda c, r, n: ("3X", f"{c.name}{r}", r, "Approved", 31, f"https://cdn.org/{c.name}", n, "", ""))),
        SMOOTHNESS),
    Kind("project.csv", table(
        _LABELS, rated(lambda c, r, n: (c.number, r, 1, "2026-03-02T10:11Z", "2026-03-02T10:11Z", 9.5, c.name, n))),
        SMOOTHNESS),
    Kind("videobench_smoothness.json", json.dumps([
        {"prompt_en": prompt,
         "videos": {c.model: f"action/{c.model}/{prompt}_0.mp4" for c in CLIPS if c.prompt == prompt},
         "human_anno": {c.model: SMOOTH[i].tolist() for i, c in enumerate(CLIPS) if c.prompt == prompt}}
        for prompt in PROMPTS.values()]),
        NOBODY, scored=lambda clip: f"action/{clip.model}/{clip.prompt}_0.mp4"),
    Kind("genai.json", json.dumps(voted(lambda a, b, o, r: {
        "prompt": a.prompt, "left_model": a.model, "left_video": f"videos/{a.name}", "right_model": b.model,
        "right_video": f"videos/{b.name}", "vote_type": {1: "leftvote", 0: "tievote", -1: "rightvote"}[o]})),
        Pairs({"preference": VOTES}, named=False)),
    Kind("numbered-words.csv", table(LONG, in_words(tuple(f"{n + 1} - {w}" for n, w in enumerate(ACR)))), SMOOTHNESS),
    Kind("of-five.csv", table(LONG, [(c, r, f"{n}/5") for c, r, n in plainly]), SMOOTHNESS),
    Kind("percent.csv", table(LONG, [(c, r, f"{20 * n} %") for c, r, n in plainly]), SMOOTHNESS),
    Kind("table.parquet", parquet(records(LONG, plainly)), SMOOTHNESS, needs="pyarrow"),
]  # fmt: skip


# New ones: the same ratings as other labs write them


def _with_gaps(missing: str) -> tuple[list[Row], Ratings]:
    there = SMOOTH.astype(float)
    there[np.add.outer(np.arange(24), np.arange(4)) % 5 == 0] = np.nan
    rows = rated(lambda c, r, n: (c.name, r, missing if np.isnan(n) else int(n)), there)
    return rows, Ratings({"smoothness": there})


def _slid(low: float, high: float, step: float) -> tuple[list[Row], Ratings]:
    """Ratings on a scale from low to high, with both ends used."""
    values = np.round((low + (high - low) * (SMOOTH - 1) / 4) / step) * step
    values[2:20] = np.clip(values[2:20] + step * (np.arange(72).reshape(18, 4) % 3 - 1), low, high)
    return rated(lambda c, r, n: (c.name, r, round(n, 2)), values), Ratings({"rating": values})


def _scale(file: str, low: float, high: float, step: float) -> Kind:
    rows, truth = _slid(low, high, step)
    return Kind(file, table(("clip", "rater", "rating"), rows), truth)


_gaps, _there = _with_gaps("")
_marked_gaps, _ = _with_gaps("n/a")
_null = [(c, r, n if n != "" else None) for c, r, n in _gaps]
_THREE = ("motion_smoothness", "subject_consistency", "dynamic_degree")
_DEGREE = 6 - SHAPE[::-1]
_SLIDER = [3 + 4 * (7 * i % 24) for i in range(24)]  # no number twice, and not in order
_once = [vote for n, vote in enumerate(VOTES) if n % 4 == n // 4 % 4]  # one rater a pair

NEW = [
    Kind(
        "bom.tsv",
        table(LONG, plainly, "\t", "\r\n", quoting=1).encode("utf-8-sig"),
        SMOOTHNESS,
    ),
    Kind("utf16.csv", table(("Clip", "Rater", "Rating"), plainly, ";", "\r\n").encode("utf-16"), RATING),
    Kind("reordered.csv", table(("rating", "worker", "filename"), [(n, r, c) for c, r, n in plainly]), RATING),
    Kind("index.csv", table(("", *LONG), [(i, *row) for i, row in enumerate(plainly)]), SMOOTHNESS),
    Kind("CAPITALS.CSV", table(("VIDEO", "ANNOTATOR", "SCORE"), plainly), Ratings({"score": SMOOTH})),
    Kind(
        "quoted.csv",
        table(
            ("Video Name", "Rater", "Motion smoothness", "Prompt"),
            rated(lambda c, r, n: (f"{c.model}, take {c.number}.mp4", r, n, f'{c.prompt},\nin "slow" motion')),
        ),
        Ratings({"Motion smoothness": SMOOTH}),
        scored=lambda clip: f"{clip.model}, take {clip.number}.mp4",
    ),
    Kind(
        "folders.csv",
        table(("path", "rater", "mos"), rated(lambda c, r, n: (f"/data/round2/{c.model}/{c.number}.mp4", r, n))),
        Ratings({"mos": SMOOTH}),
        scored=lambda clip: f"{clip.model}/{clip.number}.mp4",
    ),
    Kind(
        "windows.csv",
        table(("file", "rater", "rating"), rated(lambda c, r, n: (rf"D:\study\{c.model}\{c.number}.mp4", r, n))),
        RATING,
        scored=lambda clip: f"{clip.model}/{clip.number}.mp4",
    ),
    Kind("stems.csv", table(LONG, [(c[:-4], r, n) for c, r, n in plainly]), SMOOTHNESS),
    Kind(
        "numbers.csv",
        table(("video_id", "rater", "rating"), rated(lambda c, r, n: (CLIPS.index(c) + 1, r, n))),
        RATING,
        scored=lambda clip: f"{CLIPS.index(clip) + 1}.mp4",
    ),
    Kind(
        "urls.csv",
        table(("video_url", "user_id", "rating"), rated(lambda c, r, n: (f"https://cdn.lab.org/v/{c.name}", r, n))),
        RATING,
    ),
    Kind("one-rater.csv", table(LONG, [row for row in plainly if row[1] == "bert"]),
         Ratings({"smoothness": SMOOTH[:, 1:2]}, ("bert",))),
    Kind("one-slider.csv", table(("clip", "rater", "rating"), of_clips(lambda c, i: (c.name, "bert", _SLIDER[i]))),
         Ratings({"rating": np.array(_SLIDER)[:, None]}, ("bert",))),
    Kind("two-averages.csv", table(("video", "smoothness", "integrity"), of_clips(
        lambda c, i: (c.name, MEANS[i], SHAPE[i].mean()))),
        Ratings({"smoothness": MEANS, "integrity": SHAPE.mean(axis=1)}, (), means=True)),
    Kind("odd-grades.csv", table(LONG, [(c, r, 2 * n - 1) for c, r, n in plainly]), SMOOTHNESS),
    _scale("slider.csv", 0, 100, 1),
    _scale("seven.csv", 1, 7, 1),
    _scale("half-points.csv", 1, 5, 0.5),
    _scale("eleven.csv", 0, 10, 1),
    _scale("from-zero.csv", 0, 4, 1),
    _scale("around-zero.csv", -2, 2, 1),
    _scale("shares.csv", 0, 1, 0.25),
    Kind("accepted.csv", table(("clip", "rater", "rating"), [(c, r, int(n > 3)) for c, r, n in plainly]),
         Ratings({"rating": (SMOOTH > 3).astype(int)})),
    Kind("elo.csv", table(("video", "rating"), of_clips(lambda c, i: (c.name, round(1000 + 99 * QUALITY[i], 1)))),
         Ratings({"rating": np.round(1000 + 99 * QUALITY, 1)}, (), means=True)),
    Kind("z-scores.csv", table(("video", "mos"), of_clips(lambda c, i: (c.name, round(QUALITY[i], 3)))),
         Ratings({"mos": np.round(QUALITY, 3)}, (), means=True)),
    Kind("acr.csv", table(("clip", "participant", "rating"), in_words(ACR)), RATING),
    Kind("dcr.csv", table(("clip", "participant", "rating"), in_words(DCR)), RATING),
    Kind("likert.csv", table(("clip", "participant", "The motion is smooth"), in_words(LIKERT)),
         Ratings({"The motion is smooth": SMOOTH})),
    Kind("stars.csv", table(("clip", "user", "rating"), in_words(STARS)), RATING),
    Kind(
        "three.csv",
        table(
            ("video", "annotator", *_THREE),
            [(c.name, r, SMOOTH[i, j], SHAPE[i, j], _DEGREE[i, j])
             for i, c in enumerate(CLIPS) for j, r in enumerate(RATERS)],
        ),
        Ratings(dict(zip(_THREE, (SMOOTH, SHAPE, _DEGREE), strict=True))),
    ),
    Kind("twice.csv", table(LONG, [*plainly, *(row for row in plainly if row[1] == "bert")]), SMOOTHNESS),
    Kind("gaps.csv", table(LONG, _gaps), _there),
    Kind("marked-gaps.csv", table(LONG, _marked_gaps), _there),
    Kind("no-rows-for-gaps.csv", table(LONG, [row for row in _gaps if row[2] != ""]), _there),
    Kind("records.json", json.dumps(records(LONG, _null), indent=1), _there),
    Kind(
        "unicode.jsonl",
        json_lines(rated(lambda c, r, n: {"video": f"übung_{c.name}", "worker_id": f"Zoë {r}", "rating": n})),
        Ratings({"rating": SMOOTH}, tuple(f"Zoë {name}" for name in RATERS)),
        scored=lambda clip: f"übung_{clip.name}",
    ),
    Kind(
        "rows.parquet",
        parquet(records(("video", "model", "worker", "rating"), rated(lambda c, r, n: (c.name, c.model, r, float(n))))),
        RATING,
        needs="pyarrow",
    ),
    Kind(
        "numbered-raters.csv",
        table(("video", *(f"rater_{n}" for n in range(1, 5))), of_clips(lambda c, i: (c.name, *SMOOTH[i]))),
        Ratings({"rating": SMOOTH}, ()),
    ),
    Kind("file-per-rater", {f"{name}.csv": table(LONG, [row for row in plainly if row[1] == name]) for name in RATERS},
         SMOOTHNESS),
    Kind(
        "commented.csv",
        table(
            (*LONG, "comment", "created_at"),
            [(*row, 'fine; "good", no cut' if row[1] == "bert" else "", "2026-03-02T10:11:12Z") for row in plainly],
        )
        + "\n\n",
        SMOOTHNESS,
    ),
    Kind(
        "ties.csv",
        table(("clip_a", "clip_b", "preference", "worker"),
              voted(lambda a, b, o, r: (a.name, b.name, {1: "A", 0: "tie", -1: "B"}[o], r))),
        PREFERENCE,
    ),
    Kind(
        "winner.csv",
        table(("video_a", "video_b", "winner", "rater"),
              voted(lambda a, b, o, r: (a.name, b.name, {1: a.name, 0: "tie", -1: b.name}[o], r))),
        PREFERENCE,
    ),
    Kind(
        "numbered-sides.csv",
        table(("video_1", "video_2", "choice", "rater"),
              voted(lambda a, b, o, r: (a.name, b.name, {1: 1, -1: 2}[o], r), DECIDED)),
        Pairs({"preference": DECIDED}),
    ),
    Kind(
        "two-questions.csv",
        table(
            ("left", "right", "dimension", "outcome", "rater"),
            [(*row[:2], d, SIDES[row[2] * turn], row[3]) for d, turn in (("smoothness", 1), ("integrity", -1))
             for row in voted(lambda a, b, o, r: (a.name, b.name, o, r))],
        ),
        Pairs({"smoothness": VOTES, "integrity": [(a, b, -o, r) for a, b, o, r in VOTES]}),
    ),
    Kind(
        "models.csv",
        table(("prompt", "left_model", "right_model", "left_video", "right_video", "outcome"),
              voted(lambda a, b, o, r: (a.prompt, a.model, b.model, a.name, b.name, SIDES[o]), _once)),
        Pairs({"preference": _once}, named=False),
    ),
    Kind(
        "votes.json",
        json.dumps(voted(lambda a, b, o, r: {
            "prompt": a.prompt, "model_a": a.model, "model_b": b.model, "user_id": r,
            "winner": {1: a.model, 0: "tie", -1: b.model}[o],
        })),
        PREFERENCE,
    ),
    Kind(
        "much-better.csv",
        table(("Video A", "Video B", "Participant", "Which is better?"),
              voted(lambda a, b, o, r: (a.name, b.name, r, BETTER[o]))),
        PREFERENCE,
    ),
]  # fmt: skip
