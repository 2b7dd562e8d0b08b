from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.scoring.stored_runs import clip, random_clips, rows_of, write
from vmmetrics.alignment.pair_alignments import LESS_MOTION
from vmmetrics.alignment.readers.judgements import RatingOptions
from vmmetrics.alignment.readers.read import read_study
from vmmetrics.alignment.study_report import align
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.viewer.human_ratings import HumanRatings, agreement_of, read_human_ratings
from vmmetrics.viewer.sources import read_runs


def table(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def ratings_of(files: Sequence[str | Path], *sources: str, options: RatingOptions | None = None) -> HumanRatings:
    runs = read_runs(sources)
    return read_human_ratings(files, runs, rows_of(runs), options or RatingOptions())


def test_means_and_each_raters_ratings_by_hand(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [clip(f"a/{n}.mp4", {"tcs": 0.5}) for n in range(3)])
    file = table(tmp_path / "r.csv", "clip,smoothness_1,smoothness_2", "a/2.mp4,5,4", "a/0.mp4,2,", "a/9.mp4,1,1")
    ratings = ratings_of([file], run)
    assert ratings.of_clip(2) == {"smoothness": {"mean": 4.5, "each": [5, 4]}}
    assert ratings.of_clip(0) == {"smoothness": {"mean": 2, "each": [2, None]}}
    assert ratings.of_clip(1) == {}
    assert [ratings.means(row) for row in range(3)] == [{"rating:smoothness": 2}, {}, {"rating:smoothness": 4.5}]
    (metric,) = ratings.metrics()
    assert (metric["key"], metric["kind"], metric["colour"]) == ("rating:smoothness", "rating", "rating")
    assert (metric["range"], metric["unit"], metric["title"]) == (
        [2, 5],
        "2..5",
        "human rating of smoothness, 2 raters",
    )
    assert "r.csv: ratings of 2 of 3 clips" in ratings.notes
    assert "r.csv: 1 rated clips are in no run" in ratings.notes


def test_averaged_ratings_have_no_raters(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [clip("a.mp4", {"tcs": 0.5}), clip("b.mp4", {"tcs": 0.6})])
    ratings = ratings_of([table(tmp_path / "mos.csv", "clip,mos", "a.mp4,3.5", "b.mp4,4")], run)
    (dimension,) = ratings.values
    assert ratings.of_clip(0) == {dimension: {"mean": 3.5, "each": []}}


def test_several_files_are_dimensions_and_raters_side_by_side(tmp_path: Path) -> None:
    sources = [write(tmp_path / model, [clip(f"{model}/1.mp4", {"tcs": 0.5})]) for model in "ab"]
    first = table(tmp_path / "1.csv", "clip,smoothness_1,smoothness_2", "a/1.mp4,1,2", "b/1.mp4,3,4")
    second = table(tmp_path / "2.csv", "clip,rater,smoothness,flicker", "b/1.mp4,zoe,5,2", "a/1.mp4,zoe,,1")
    ratings = ratings_of([first, second], *sources)
    assert ratings.of_clip(1)["smoothness"] == {"mean": 4, "each": [3, 4, 5]}
    assert ratings.of_clip(0)["smoothness"] == {"mean": 1.5, "each": [1, 2, None]}
    assert [ratings.of_clip(row)["flicker"]["mean"] for row in (0, 1)] == [1, 2]


def test_a_rating_is_of_the_clip_that_was_rated_not_of_another_of_its_name(tmp_path: Path) -> None:
    file = table(tmp_path / "r.csv", "clip,smoothness_1,smoothness_2", "1.mp4,5,4", "2.mp4,1,2")
    old = write(tmp_path / "old", [clip("1.mp4", {"tcs": 0.5}), clip("2.mp4", {"tcs": 0.5})])
    new = write(tmp_path / "new", [clip("1.mp4", {"tcs": 0.6}), clip("2.mp4", {"tcs": 0.5}, sha256="generated anew")])
    ratings = ratings_of([file], old, new)
    assert [bool(ratings.of_clip(row)) for row in range(4)] == [True, True, True, False]
    assert any(note.startswith("r.csv: 1 clips of later runs") for note in ratings.notes)


def test_clips_of_one_file_name_are_told_apart_by_folder_and_run(tmp_path: Path) -> None:
    others = write(tmp_path / "others", [clip(f"c/{n}.mp4", {"tcs": 0.5}) for n in range(2)])
    rated = write(tmp_path / "rated", [clip(f"a/{n}.mp4", {"tcs": 0.5}) for n in range(2)])
    plain = write(tmp_path / "plain", [clip(f"{n}.mp4", {"tcs": 0.5}) for n in range(2)])
    rows = [f"{model}/{n}.mp4,{n + 1},{n + 1 + (model == 'b')}" for model in "ab" for n in range(2)]
    ratings = ratings_of([table(tmp_path / "r.csv", "clip,smooth_1,smooth_2", *rows)], others, rated, f"b={plain}")
    means = [ratings.of_clip(row).get("smooth", {}).get("mean") for row in range(6)]
    assert means == [None, None, 1, 2, 1.5, 2.5]


def test_a_file_may_be_of_one_run(tmp_path: Path) -> None:
    runs = [write(tmp_path / name, [clip("1.mp4", {"tcs": 0.5}, sha256=name)]) for name in ("old", "new")]
    file = table(tmp_path / "r.csv", "clip,rater,smooth", "1.mp4,x,4", "1.mp4,y,5")
    assert [bool(ratings_of([file], *runs).of_clip(row)) for row in (0, 1)] == [True, False]
    of_new = f"new={file}"
    assert [bool(ratings_of([of_new], *runs).of_clip(row)) for row in (0, 1)] == [False, True]
    with pytest.raises(SetupError, match=r"No run 'other'.*there are old, new"):
        ratings_of([f"other={file}"], *runs)


def test_what_holds_no_ratings_of_these_clips_is_refused(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [clip("a/1.mp4", {"tcs": 0.5}), clip("b/1.mp4", {"tcs": 0.6})])
    output = tmp_path / "aligned"
    output.mkdir()
    (output / "matching.json").write_text("{}")
    with pytest.raises(SetupError, match="report of vmmetrics align, which holds no ratings"):
        ratings_of([output], run)
    pairs = table(tmp_path / "pairs.csv", "left,right,preferred", "a/1.mp4,b/1.mp4,left", "a/1.mp4,b/1.mp4,right")
    with pytest.raises(SetupError, match="preferences between clips"):
        ratings_of([pairs], run)
    with pytest.raises(SetupError, match="No clip is in both"):
        ratings_of([table(tmp_path / "x.csv", "clip,smoothness_1,smoothness_2", "x.mp4,1,2", "y.mp4,3,2")], run)
    with pytest.raises(SetupError):
        ratings_of([table(tmp_path / "models.csv", "model,smoothness", "a,1", "b,2")], run)
    with pytest.raises(SetupError):
        ratings_of([tmp_path / "absent.csv"], run)


def test_what_may_mean_several_things_is_read_as_the_user_states(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [clip(f"a/{n}.mp4", {"tcs": 0.1 * n}) for n in range(4)])
    file = table(tmp_path / "r.csv", "Film,Anna,Bert", "a/0.mp4,5,4", "a/1.mp4,-99,3", "a/2.mp4,2,1", "a/3.mp4,1,1")
    with pytest.raises(SetupError, match="--map 'Anna'=rater"):
        ratings_of([file], run)
    roles = {"Film": "clip", "Anna": "rater", "Bert": "rater"}
    with pytest.raises(SetupError, match="--missing -99"):
        ratings_of([file], run, options=RatingOptions(roles=roles))
    ratings = ratings_of([file], run, options=RatingOptions(roles=roles, missing=[-99], lower=["rating"]))
    assert [ratings.of_clip(row)["rating"]["mean"] for row in range(4)] == [4.5, 3, 1.5, 1]
    (metric,) = ratings.metrics()
    assert metric["lower_is_better"]
    runs = read_runs([run])
    agreement = agreement_of(ratings, ["tcs"], [], runs, rows_of(runs))
    assert next(row["rho"] for row in agreement if row["metric"] == "tcs") == pytest.approx(1)
    with pytest.raises(SetupError, match="No dimension severity"):
        ratings_of([file], run, options=RatingOptions(roles=roles, missing=[-99], lower=["severity"]))


def rated(tmp_path: Path, prompts: int = 12) -> tuple[str, Path]:
    clips = random_clips("ab", prompts, seed=3, missing=0.1)
    rng = np.random.default_rng(4)
    rows = [
        (c.clip, *np.clip(np.round(3 + 4 * (c.scores.get("tcs", 0.5) - 0.5 + rng.normal(0, 0.3, 2))), 1, 5))
        for c in clips
    ]
    file = table(tmp_path / "r.csv", "clip,smoothness_1,smoothness_2", *(f"{n},{a:g},{b:g}" for n, a, b in rows))
    return write(tmp_path / "run", clips), file


@pytest.mark.slow
def test_agreement_is_that_of_align_and_of_scipy(tmp_path: Path) -> None:
    source, file = rated(tmp_path)
    runs = read_runs([source])
    ratings = read_human_ratings([file], runs, rows_of(runs))
    metrics = ("motion_index", *METRICS)
    rows = {row["metric"]: row for row in agreement_of(ratings, metrics, (), runs, rows_of(runs))}
    assert tuple(rows) == (*metrics, LESS_MOTION)
    study = read_study(source, file, pairing=dict.fromkeys(metrics, "smoothness"))
    report = align(study)
    known = {a.metric: a for a in (*report.alignments, *report.less_motion) if a.dimension == "smoothness"}
    assert rows["pas"]["amplitude_constant"] is rows[LESS_MOTION]["amplitude_constant"] is None
    for metric, row in rows.items():
        here = known[metric]
        for name, estimate in (
            (None, here.spearman),
            ("within_model", here.within_model.mean),
            ("amplitude_constant", here.amplitude_constant),
        ):
            if estimate.value is None:
                continue
            figures = row if name is None else row[name]
            assert [figures[k] for k in ("rho", "low", "high")] == pytest.approx(
                [estimate.value, estimate.low, estimate.high], abs=1e-4
            )
        pairs = [
            (record.scores[metric], ratings.of_clip(n)["smoothness"]["mean"])
            for n, record in enumerate(runs[0].records)
            if metric in record.scores
        ]
        if pairs:
            assert row["clips"] == len(pairs)
            assert row["rho"] == pytest.approx(stats.spearmanr(*zip(*pairs, strict=True)).statistic, abs=1e-4)


def test_agreement_of_a_metric_of_which_lower_is_better_is_turned(tmp_path: Path) -> None:
    source, file = rated(tmp_path)
    runs = read_runs([source])
    ratings = read_human_ratings([file], runs, rows_of(runs))
    (plain,), (turned,) = (agreement_of(ratings, ["tcs"], lower, runs, rows_of(runs)) for lower in ([], ["tcs"]))
    assert plain["rho"] > 0
    assert turned["rho"] == -plain["rho"]


def test_what_has_no_correlation_is_left_out(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [clip(f"{n}.mp4", {"tcs": 0.5, "mss": n / 9}) for n in range(5)])
    lines = (f"{n}.mp4,{n + 1},{n + 2}" for n in range(5))
    runs = read_runs([run])
    ratings = read_human_ratings([table(tmp_path / "r.csv", "clip,smooth_1,smooth_2", *lines)], runs, rows_of(runs))
    (row,) = agreement_of(ratings, ["tcs", "mss", "ois"], (), runs, rows_of(runs))
    assert (row["metric"], row["rho"], row["within_model"]) == ("mss", 1, None)
