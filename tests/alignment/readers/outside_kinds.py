"""Tables with a trap, of the kinds that a stranger's files had: read right, or refused with the option that decides."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable

import numpy as np

from tests.alignment.readers.healthy_tables import ACR, DCR, LONG, PREFERENCE, SIDES, plainly
from tests.alignment.readers.outside_tables import (
    CLIPS,
    DECIDED,
    MEANS,
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
from vmmetrics.types import IntArray

SEEN = {"created_at": "2026-03-02T10:11:12Z", "updated_at": "2026-03-02T10:11:12Z"}


def mapped(*roles: str) -> tuple[str, ...]:
    """Return the options that give columns their roles."""
    return tuple(word for role in roles for word in ("--map", role))


# Right, whatever else is in the file


def _annotation(clip: int, rater: int, *, cancelled: bool = False) -> dict[str, object]:
    result = {
        "value": {"rating": int(SMOOTH[clip, rater])},
        "from_name": "smoothness",
        "to_name": "v",
        "type": "rating",
    }
    person = {"id": rater + 3, "email": f"{RATERS[rater]}@lab.org"}
    return {"id": 4 * clip + rater, "completed_by": person, "result": [result], "was_cancelled": cancelled, **SEEN}


_tasks = [
    {
        "id": 500 + i,
        "data": {"video": f"/data/upload/7/{i:08x}-{clip.name}", "prompt": clip.prompt},
        "annotations": [*(_annotation(i, j) for j in range(4)), _annotation((i + 5) % 24, 0, cancelled=True)],
        "predictions": [{"result": _annotation((i + 3) % 24, 1)["result"], "score": 0.9}],
    }
    for i, clip in enumerate(CLIPS)
]
_HIT = ("HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds", "Input.video_url")
_GERMAN = ("sehr schlecht", "schlecht", "mittel", "gut", "sehr gut")


def _hit(clip: str, rater: str) -> Row:
    return "3H", f"{clip}{rater}", rater, "Approved", 33, f"https://cdn.org/{clip}"


RIGHT = [
    Kind("tasks.json", json.dumps(_tasks), Ratings({"smoothness": SMOOTH}, tuple(f"{r}@lab.org" for r in RATERS))),
    Kind("project.csv", table(
        ("annotation_id", "annotator", "clip_url", "created_at", "id", "lead_time", "smoothness"),
        rated(lambda c, r, n: (7, r, f"s3://bucket/{c.name}", "2026-03-02", 5, 1.5, json.dumps([{"rating": n}])))),
        SMOOTHNESS),
    Kind("compared.csv", table(
        ("annotation_id", "annotator", "id", "lead_time", "pairwise", "video_left", "video_right"),
        voted(lambda a, b, o, r: (7, r, 5, 1.5, SIDES[o], a.name, b.name), DECIDED)), Pairs({"preference": DECIDED})),
    Kind("antworten.csv", table(
        ("Zeitstempel", "Wie alt bist du?", *(f"Video {c.name}: Wie flüssig ist die Bewegung?" for c in CLIPS)),
        [("02.03.2026 10:11:12", 30 + j, *(f"{n} - {_GERMAN[n - 1]}" for n in SMOOTH[:, j])) for j in range(4)]),
        Ratings({"Wie flüssig ist die Bewegung": SMOOTH}, ())),
    Kind("radio.csv", table(
        (*_HIT, *(f"Answer.smoothness.{k}" for k in range(1, 6))),
        rated(lambda c, r, n: (*_hit(c.name, r), *(str(n == k).lower() for k in range(1, 6))))), SMOOTHNESS),
    Kind("task-answers.csv", table(
        (*_HIT, "Answer.taskAnswers"),
        rated(lambda c, r, n: (*_hit(c.name, r), json.dumps([{"smoothness": {k: n == k for k in range(1, 6)}}])))),
        SMOOTHNESS),
    Kind("videofeedback2.json", json.dumps([
        {"video_name": c.name, "prompt": c.prompt, "visual_score": int(SMOOTH[i, 0]), "t2v_score": int(SHAPE[i, 0]),
         "phy_score": int(SMOOTH[i, 2]), "elo": None} for i, c in enumerate(CLIPS)]),
        Ratings({"visual_quality": SMOOTH[:, 0], "text_to_video_alignment": SHAPE[:, 0],
                 "physical_consistency": SMOOTH[:, 2]}, (), means=True)),
    Kind("model-and-id.csv", table(
        ("model", "id", "rater", "smoothness"), rated(lambda c, r, n: (c.model, c.number, r, n))), SMOOTHNESS),
    Kind("total.csv", table(LONG, [*((c, r, 20 * n) for c, r, n in plainly), ("AVERAGE", "", 55.3)]), SMOOTHNESS),
    Kind("artifacts.csv", table(  # the words say that few artifacts are good
        ("clip", "rater", "Motion artifacts"), rated(lambda c, r, n: (c.name, r, DCR[n - 1]))),
        Ratings({"Motion artifacts": SMOOTH})),
    Kind("breit.csv", table(
        ("Clip", "Modell", *(f"Glätte_{n}" for n in range(1, 5))),
        of_clips(lambda c, i: (c.name, c.model, *(f"{n},0" for n in SMOOTH[i]))), ";"),
        Ratings({"Glätte": SMOOTH}, ())),
    Kind("timed-pairs.csv", table(
        ("trial_index", "left", "right", "outcome", "rater", "rt_ms"),
        [(n, *row, 900 + 61 * n % 700)
         for n, row in enumerate(voted(lambda a, b, o, r: (a.name, b.name, SIDES[o], r)))]), PREFERENCE),
    Kind("unlike-scales.csv", table(
        ("clip", "rater", "smoothness", "coherence"),
        [(c.name, r, SMOOTH[i, j], 20 * SHAPE[i, j] - i % 3)
         for i, c in enumerate(CLIPS) for j, r in enumerate(RATERS)]),
        Ratings({"smoothness": SMOOTH, "coherence": 20 * SHAPE - np.arange(24)[:, None] % 3})),
]  # fmt: skip


# Refused, and read with the option


def _coded(code: int, ratings: IntArray = SMOOTH) -> list[Row]:
    """Ratings of which each sixth is a code for none."""
    rows = rated(lambda c, r, n: (c.name, r, n), ratings)
    return [(c, r, code if n % 6 == 0 else rating) for n, (c, r, rating) in enumerate(rows)]


def _code(file: str, code: int, ratings: IntArray = SMOOTH) -> Kind:
    return Kind(file, table(LONG, _coded(code, ratings)), SMOOTHNESS, refused=(str(code), "smoothness", "--scale"))


def _zero_is_a_rating() -> Kind:
    zeros = SMOOTH.copy()
    for n in range(0, 96, 6):
        zeros[(7 * n) % 96 % 24, (7 * n) % 96 // 24] = 0
    words = ("smoothness", "--scale")
    return Kind("zero.csv", table(LONG, _coded(0)), Ratings({"smoothness": zeros}), ("--scale", "0", "5"), words)


def _worse(file: str, head: tuple[str, ...], rows: list[Row], truth: Ratings, *turned: str) -> Kind:
    options = tuple(word for name in turned for word in ("--lower-is-better", name))
    return Kind(file, table(head, rows), truth, options, ("--lower-is-better", turned[0]))


def _turned(*names: str) -> Ratings:
    return Ratings(dict.fromkeys(names, SMOOTH))


_RANKS = np.array(
    [[1 + sum(SMOOTH[k, j] > SMOOTH[i, j] for k in range(i % 4, 24, 4)) for j in range(4)] for i in range(24)]
)


def _workbook() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        book.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


_REVERSED = rated(lambda c, r, n: (c.name, r, 6 - n))
REFUSED = [
    _code("minus-99.csv", -99),
    _code("999.csv", 999),
    _code("99.csv", 99),
    _code("minus-1.csv", -1),
    _code("slider-minus-1.csv", -1, 25 * (SMOOTH - 1)),
    _zero_is_a_rating(),
    _worse("dmos.csv", ("video", "DMOS"), of_clips(lambda c, i: (c.name, 100 - 20 * MEANS[i])),
           Ratings({"DMOS": MEANS}, (), means=True), "DMOS"),
    _worse("rank.csv", ("clip", "prompt", "rater", "motion_rank"),
           rated(lambda c, r, n: (c.name, c.prompt, r, n), _RANKS), Ratings({"motion_rank": -_RANKS}), "motion_rank"),
    _worse("severity.csv", ("clip", "rater", "flicker_severity", "jitter_annoyance"),
           [(c, r, n, n) for c, r, n in _REVERSED], _turned("flicker_severity", "jitter_annoyance"),
           "flicker_severity", "jitter_annoyance"),
    _worse("annoyance.csv", ("clip", "rater", "annoyance"), _REVERSED, _turned("annoyance"), "annoyance"),
    _worse("artifacts.csv", ("clip", "rater", "motion_artifacts"), _REVERSED, _turned("motion_artifacts"),
           "motion_artifacts"),
    _worse("cells.csv", ("clip", "rater", "dimension", "rating"),
           [(c, r, "jitter severity", n) for c, r, n in _REVERSED], _turned("jitter severity"), "jitter severity"),
    _worse("schulnote.csv", ("Video", "Rater", "Schulnote"), _REVERSED, _turned("Schulnote"), "Schulnote"),
    Kind("label.csv", table(("video_a", "video_b", "label", "rater"),
                            voted(lambda a, b, o, r: (a.name, b.name, int(o < 0), r), DECIDED)),
         Pairs({"preference": DECIDED}), ("--scale", "0", "1"), ("label", "--scale")),
    Kind("book.xlsx", _workbook, SMOOTHNESS, refused=("CSV",)),
]  # fmt: skip


# Right, or refused with the cause

_wide = of_clips(lambda c, i: (c.name, *SMOOTH[i]))
_people = ("clip", *RATERS)
_MISREAD = ("--map",)


def _extra(name: str, cells: Callable[[int], object], file: str = "") -> Kind:
    """Ratings beside one column that is none; ``cells`` maps the row's number to its cell."""
    rows = [(c, r, cells(n), rating) for n, (c, r, rating) in enumerate(plainly)]
    text = table(("clip", "rater", name, "smoothness"), rows)
    return Kind(file or f"{name}.csv", text, SMOOTHNESS, mapped(f"{name}=ignore"), (name, "--map"))


def _some(n: int, low: float, high: float) -> float:
    """Some number between the two, as people's reaction times and ages are."""
    return round(low + (high - low) * (37 * n % 97) / 97, 2)


BOOKKEEPING = [
    _extra("STUDY_ID", lambda n: "st1"),
    _extra("session", lambda n: 1 + n % 2),
    _extra("rt_ms", lambda n: int(_some(n, 700, 9000))),
    _extra("rt", lambda n: _some(n, 0.7, 9)),
    _extra("slider.rt", lambda n: _some(n, 0.7, 9)),
    _extra("reaction_time", lambda n: _some(n, 0.7, 9)),
    _extra("trials.thisN", lambda n: n),
    _extra("trial_no", lambda n: n + 1),
    _extra("trial_index", lambda n: n // 4),
    _extra("attention_check", lambda n: 5 if n % 13 else 4),
    _extra("annotation_id", lambda n: 88_000 + n),
    _extra("lead_time", lambda n: _some(n, 2, 60)),
    _extra("confidence", lambda n: 1 + n % 5),
    _extra("age", lambda n: 25 + n % 4),
    _extra("frameRate", lambda n: 60.01),
    # by what they hold
    _extra("position", lambda n: n + 1, "counter.csv"),
    _extra("wave", lambda n: 3, "constant.csv"),
    _extra("token", lambda n: 1_700_000_000 + 61 * n, "numbers.csv"),
    _extra("difficulty", lambda n: 1 + sum(plainly[n][0].encode()) % 5, "one-per-clip.csv"),
    _extra("years", lambda n: 3 + RATERS.index(plainly[n][1]), "one-per-rater.csv"),
]


def _beside_means(*columns: str) -> Kind:
    """Mean ratings beside other numbers about the clips or their ratings."""
    rows = of_clips(lambda c, i: (c.name, MEANS[i], *(round(0.3 + (k + 2) * (7 * i % 23) / 23, 2)
                                                      for k in range(len(columns)))))  # fmt: skip
    options = mapped(*(f"{name}=ignore" for name in columns))
    return Kind(
        f"mos-{'-'.join(columns)}.csv", table(("video", "MOS", *columns), rows), UNNAMED_MEANS, options, _MISREAD
    )


def _beside_counts(name: str) -> Kind:
    rows = of_clips(lambda c, i: (c.name, MEANS[i], 14 + 7 * i % 5))
    return Kind(
        f"mos-{name}.csv", table(("video", "MOS", name), rows), UNNAMED_MEANS, mapped(f"{name}=ignore"), _MISREAD
    )


def _orient(file: str, data: object) -> Kind:
    return Kind(file, json.dumps(data), SMOOTHNESS, refused=("records",))


_objects = records(LONG, plainly)
_columns = {name: {str(i): row[name] for i, row in enumerate(_objects)} for name in LONG}
_FIELDS = [{"name": "index", "type": "integer"}, *({"name": name, "type": "string"} for name in LONG)]
_QUALTRICS = ("StartDate", "Status", "Progress", "Duration (in seconds)", "Finished", "ResponseId")
_MAJORITY = [(a, b, int(np.sign(SMOOTH[a].sum() - SMOOTH[b].sum())), "") for a, b, _, r in VOTES if r == "anna"]
_SHARES = (
    "prompt",
    "video1",
    "video2",
    "model1",
    "model2",
    "weighted_results1_Coherence",
    "weighted_results2_Coherence",
)
_shares = [
    (CLIPS[a].prompt, CLIPS[a].name, CLIPS[b].name, CLIPS[a].model, CLIPS[b].model, 0.5 + o / 5, 0.5 - o / 5)
    for a, b, o, _ in _MAJORITY
]
_groups = [list(range(4 * k, 4 * k + 4)) for k in range(6)]

EITHER = [
    *BOOKKEEPING,
    *map(_beside_means, ("SD", "std", "CI95", "stderr", "duration", "variance")),
    *map(_beside_counts, ("N", "n_ratings", "num_votes", "count", "fps", "seed")),
    _beside_means("ci_low", "ci_high"),
    _beside_means("SD", "CI95", "N"),
    Kind("people.csv", table(_people, _wide), RATING, mapped(*(f"{name}=rater" for name in RATERS)), ("--map", "anna")),
    Kind("codes.csv", table(("clip", "P01", "P02", "P03", "P07"), _wide), Ratings({"rating": SMOOTH}, ()),
         mapped("P01=rater", "P02=rater", "P03=rater", "P07=rater"), ("--map", "P01")),
    Kind("prolific.csv", table(
        ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "stimulus", "ACR", "rt_ms", "trial_index"),
        [(r, "st1", f"se{r}", f"stimuli/{c}", ACR[n - 1], 2000 + 7 * k, k) for k, (c, r, n) in enumerate(plainly)]),
        RATING, mapped("stimulus=clip", "PROLIFIC_PID=rater", "ACR=rating", "rt_ms=ignore", "STUDY_ID=ignore"),
        _MISREAD),
    Kind("psychopy.csv", table(
        ("trials.thisN", "stim", "slider.response", "slider.rt", "participant", "session", "date", "frameRate"),
        [(k, c, n, 1.2 + k / 10, r, 1, "2026-03-02", 60.01) for k, (c, r, n) in enumerate(plainly)]),
        RATING, mapped(
            "trials.thisN=ignore", "stim=clip", "slider.response=rating", "slider.rt=ignore", "participant=rater"),
        _MISREAD),
    Kind("seconds.csv", table(("clip", "rater", "second", "rating"),
                              [(c, r, t, n) for c, r, n in plainly for t in range(3)]),
         RATING, mapped("second=ignore"), ("second", "--map")),
    Kind("lists.parquet", parquet(
        [{"video": c.name, "smoothness_ratings": SMOOTH[i].tolist()} for i, c in enumerate(CLIPS)]),
         Ratings({"smoothness": SMOOTH}, ()), refused=("smoothness_ratings", "list"), needs="pyarrow"),
    Kind("lists.jsonl", json_lines({"video": c.name, "smoothness_ratings": SMOOTH[i].tolist()}
                                   for i, c in enumerate(CLIPS)),
         Ratings({"smoothness": SMOOTH}, ()), refused=("smoothness_ratings", "list")),
    Kind("lists.csv", table(("video", "smoothness_ratings"), of_clips(lambda c, i: (c.name, SMOOTH[i].tolist()))),
         Ratings({"smoothness": SMOOTH}, ()), refused=("smoothness_ratings", "list")),
    Kind("sep.csv", ("sep=;\r\n" + table(LONG, plainly, ";", "\r\n")).encode("utf-8-sig"), SMOOTHNESS,
         refused=("sep=",)),
    Kind("signed.csv", table(("video_url", "user", "smoothness"), rated(
        lambda c, r, n: (f"https://cdn.net/a/{c.name}?X-Amz-Expires=3600&X-Amz-Signature=ab%2F{n}{r}#t=0,4", r, n))),
        SMOOTHNESS, refused=("query",)),
    _orient("columns.json", _columns),
    _orient("split.json", {"columns": LONG, "index": list(range(96)), "data": plainly}),
    _orient("table.json", {"schema": {"fields": _FIELDS, "primaryKey": ["index"], "pandas_version": "1.4.0"},
                           "data": [{"index": i, **row} for i, row in enumerate(_objects)]}),
    _orient("index.json", {str(i): row for i, row in enumerate(_objects)}),
    Kind("comma.csv", table(
        ("clip", "smoothness"), of_clips(lambda c, i: (c.name, f"{MEANS[i]:.2f}".replace(".", ",")))),
         UNNAMED_MEANS, refused=("decimal comma", "smoothness")),
    Kind("qualtrics.csv", table(
        (*_QUALTRICS, *(f"Q{n}_1" for n in range(1, 25))),
        [("Start Date", "Response Type", "Progress", "Duration (in seconds)", "Finished", "Response ID",
          *(f"Please rate the smoothness of {c.name}" for c in CLIPS)),
         tuple(json.dumps({"ImportId": name}) for name in (*_QUALTRICS, *(f"QID{n}_1" for n in range(1, 25)))),
         *(("2026-03-02", 0, 100, 300, 1, f"R_{r}", *SMOOTH[:, j]) for j, r in enumerate(RATERS))]),
        Ratings({"smoothness": SMOOTH}, tuple(f"R_{r}" for r in RATERS)), refused=("Qualtrics",)),
    Kind("yes-no.csv", table(("clip", "rater", "Is the motion smooth?"),
                             rated(lambda c, r, n: (c.name, r, "Yes" if n > 3 else "No"))),
         Ratings({"Is the motion smooth?": (SMOOTH > 3).astype(int)}), refused=("Yes", "Is the motion smooth")),
    Kind("of-5.csv", table(LONG, [(c, r, f"{n} (of 5)") for c, r, n in plainly]), SMOOTHNESS,
         refused=("(of 5)", "smoothness")),
    Kind("best-worst.csv", table(
        ("trial", "rater", "item1", "item2", "item3", "item4", "best", "worst"),
        [(k, r, *(CLIPS[i].name for i in four), CLIPS[max(four, key=lambda i: SMOOTH[i, j])].name,
          CLIPS[min(four, key=lambda i: SMOOTH[i, j])].name)
         for k, four in enumerate(_groups) for j, r in enumerate(RATERS)]),
        SMOOTHNESS, refused=("best-worst",)),
    Kind("labels.csv", table(
        ("caption", "video_0", "video_1", "label_0", "label_1", "has_label"),
        voted(lambda a, b, o, r: (a.prompt, a.name, b.name, 0.5 + o / 2, 0.5 - o / 2, True), _MAJORITY)),
        Pairs({"preference": _MAJORITY}, named=False),
        mapped("video_0=left", "video_1=right", "label_0=outcome", "label_1=ignore"), ("label_0", "--map")),
    Kind("shares.csv", table(_SHARES, _shares), Pairs({"Coherence": _MAJORITY}, named=False),
         refused=("weighted_results1_Coherence",)),
    Kind("clip-in-model.csv", table(("model", "clip", "rater", "smoothness"),
                                    rated(lambda c, r, n: (c.model, f"{c.number:03}.mp4", r, n))),
         SMOOTHNESS, refused=("model",)),
    Kind("bewerter.csv", table(("Datei", "Bewerter", "Bewegung"), [(c, r, f"{n},0") for c, r, n in plainly], ";"),
         Ratings({"Bewegung": SMOOTH}), mapped("Datei=clip", "Bewerter=rater", "Bewegung=rating"),
         ("Bewerter", "--map")),
]  # fmt: skip


# Read once their columns are named

MAPPED = [
    Kind("clip.csv", table(("Schnipsel", "Wer", "Wert"), plainly), RATING,
         mapped("Schnipsel=clip", "Wer=rater", "Wert=rating")),
    Kind("sides.csv", table(("oben", "unten", "besser", "wer"),
                            voted(lambda a, b, o, r: (a.name, b.name, {1: a.name, 0: "tie", -1: b.name}[o], r))),
         PREFERENCE, mapped("oben=left", "unten=right", "besser=outcome", "wer=rater")),
    Kind("questions.csv", table(
        ("Schnipsel", "Wer", "Frage", "Antwort"),
        [(c.name, r, d, of[i, j]) for d, of in (("smoothness", SMOOTH), ("integrity", SHAPE))
         for i, c in enumerate(CLIPS) for j, r in enumerate(RATERS)]),
        Ratings({"smoothness": SMOOTH, "integrity": SHAPE}),
        mapped("Schnipsel=clip", "Wer=rater", "Frage=dimension", "Antwort=rating")),
    Kind("systems.csv", table(("Verfahren", "Satz", "rater", "smoothness"),
                              rated(lambda c, r, n: (c.model, c.prompt, r, n))),
         SMOOTHNESS, mapped("Verfahren=model", "Satz=prompt")),
    Kind("two-dimensions.csv", table(
        ("Schnipsel", "Ruhe", "Form", "Dauer"),
        of_clips(lambda c, i: (c.name, MEANS[i], SHAPE[i].mean(), _some(i, 2, 9)))),
        Ratings({"Ruhe": MEANS, "Form": SHAPE.mean(axis=1)}, (), means=True),
        mapped("Schnipsel=clip", "Ruhe=rating", "Form=rating", "Dauer=ignore")),
    Kind("confident.csv", table(("clip", "rater", "confidence"), plainly), Ratings({"confidence": SMOOTH}),
         mapped("confidence=rating")),
    Kind("two-clips.csv", table(("video", "file", "rater", "rating"),
                                rated(lambda c, r, n: (f"source{c.number}.mp4", c.name, r, n))),
         RATING, mapped("video=ignore", "file=clip")),
    Kind("anna.csv", table(_people, _wide), Ratings({r: SMOOTH[:, j] for j, r in enumerate(RATERS)}, (), means=True),
         mapped(*(f"{name}=rating" for name in RATERS))),
    Kind("quality-dmos.csv", table(("video", "DMOS"), of_clips(lambda c, i: (c.name, MEANS[i]))),
         Ratings({"DMOS": MEANS}, (), means=True), ("--higher-is-better", "DMOS")),
]  # fmt: skip
