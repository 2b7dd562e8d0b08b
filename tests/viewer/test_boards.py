from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.scoring.stored_runs import clip, five, random_clips, rows_of, write
from vmmetrics.metrics import METRICS
from vmmetrics.scoring.leaderboard import make_boards
from vmmetrics.viewer.comparisons import MOST_MODELS, comparisons_of
from vmmetrics.viewer.sources import distinct_titles, read_runs


def comparisons(*sources: str) -> dict[str, list[dict]]:
    runs = read_runs(sources)
    return comparisons_of(runs, rows_of(runs))


def test_means_by_hand(tmp_path: Path) -> None:
    records = [clip("a/1.mp4", five(0.5), "x"), clip("a/2.mp4", five(0.7), "y"), clip("b/1.mp4", five(0.9), "x")]
    (board,) = comparisons(write(tmp_path / "run", records))["boards"]
    assert [(row["model"], row["rank"], row["prompts"], row["clips"]) for row in board["rows"]] == [
        ("b", 1, 1, 1),
        ("a", 2, 2, 2),
    ]
    assert board["rows"][1]["cells"]["tcs"] == {
        "mean": 0.6, "low": None, "high": None, "prompts": 2, "clips": 2, "without": {},
    }  # fmt: skip
    assert board["steps"][0]["difference"] == pytest.approx(index(0.9) - index(0.5), abs=1e-6)
    assert (board["prompts"], board["by"], board["comparable"]) == (2, "motion_index", False)


def index(score: float) -> float:
    value = clip("a.mp4", five(score)).motion_index
    assert value is not None
    return value


def test_boards_are_those_of_the_leaderboard(tmp_path: Path) -> None:
    sources = [
        write(tmp_path / "one", random_clips("abc", 30, missing=0.1)),
        "d=" + write(tmp_path / "two", [clip(f"{n}.mp4", five(n / 30), f"prompt {n}") for n in range(30)]),
        write(tmp_path / "three", random_clips("ef", 5), preset="other"),
    ]
    ours, theirs = comparisons(*sources)["boards"], make_boards(sources)
    assert len(ours) == len(theirs) == 2
    for board, known in zip(ours, theirs, strict=True):
        assert [row["model"] for row in board["rows"]] == [row.model for row in known.rows]
        assert board["columns"] == list(known.columns)
        for row, of_row in zip(board["rows"], known.rows, strict=True):
            assert row["shares"] == pytest.approx(of_row.shares, abs=1e-4)
            for column, cell in row["cells"].items():
                same = of_row.cells[column]
                assert [cell["mean"], cell["low"], cell["high"]] == pytest.approx(
                    [same.mean, same.low, same.high], abs=1e-4
                )
                assert (cell["prompts"], cell["without"]) == (same.prompts, same.without)
        for step, of_step in zip(board["steps"], known.steps, strict=True):
            assert (step["above"], step["below"], step["prompts"]) == (of_step.above, of_step.below, of_step.prompts)
            assert step["p_holm"] == pytest.approx(of_step.p_holm, rel=1e-3)


def test_no_path_is_in_what_a_report_says_of_its_runs(tmp_path: Path) -> None:
    first = write(tmp_path / "a", random_clips("x", 3), versions={"av": "17"})
    second = write(tmp_path / "b", random_clips("y", 3))
    third = write(tmp_path / "c", random_clips("z", 3), preset="other")
    (Path(second) / "scores.jsonl").open("a").write("{broken\n")
    result = comparisons(first, second, third)
    notes, text = result["boards"][0]["notes"], json.dumps(result)
    assert any(note.startswith("The runs differ in") for note in notes)
    assert any(note.startswith("b: scores.jsonl") and "line 4" in note for note in notes), notes
    assert str(tmp_path) not in text


def test_models_of_one_name_are_told_apart_by_their_runs(tmp_path: Path) -> None:
    sources = [write(tmp_path / name, random_clips(models, 3)) for name, models in (("old", "ab"), ("new", "a"))]
    runs = read_runs([*sources, write(tmp_path / "more", random_clips("c", 3))])
    (board,) = comparisons_of(runs, rows_of(runs))["boards"]
    names = {run.model_name(record.model) for run in runs for record in run.records}
    assert {row["model"] for row in board["rows"]} == names == {"old/a", "old/b", "new/a", "c"}


@pytest.mark.parametrize(
    ("names", "paths", "titles"),
    [
        (["", ""], ["/x/run", "/x/other"], ["run", "other"]),
        (["", ""], ["/x/a/run", "/y/a/run"], ["x/a/run", "y/a/run"]),
        (["", ""], ["/run", "/x/run"], ["run", "x/run"]),
        (["m", "m", ""], ["/a", "/b", "/m"], ["m", "m (2)", "m (3)"]),
        ([""], ["/"], ["run"]),
    ],
)
def test_titles_are_distinct(names: list[str], paths: list[str], titles: list[str]) -> None:
    assert distinct_titles(names, [Path(path) for path in paths]) == titles


def test_a_pair_is_tested_on_common_prompts_as_by_scipy(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random(12), rng.random(12)
    records = [clip(f"a/{p}.mp4", {**five(0.5), "tcs": v}, str(p)) for p, v in enumerate(first)]
    records += [clip(f"b/{p}.mp4", {**five(0.5), "tcs": v}, str(p)) for p, v in enumerate(second)]
    records += [clip("a/99.mp4", five(0.0), "only here")]
    (pair,) = comparisons(write(tmp_path / "run", records))["pairs"]
    sign = 1 if pair["a"] == "0/a" else -1
    tcs = pair["metrics"]["tcs"]
    assert (pair["board"], tcs["prompts"], pair["metrics"]["cas"]["difference"]) == (0, 12, 0)
    assert tcs["difference"] == pytest.approx(sign * np.mean(first - second), abs=1e-4)
    known = stats.permutation_test((first - second,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert tcs["p"] == tcs["p_holm"] == pytest.approx(known.pvalue, rel=1e-3)
    boot = stats.bootstrap((sign * (first - second),), np.mean, method="percentile", rng=0)
    assert (tcs["low"], tcs["high"]) == pytest.approx(tuple(boot.confidence_interval), abs=0.005)


def test_every_two_models_are_compared_and_p_is_corrected_over_them_by_hand(tmp_path: Path) -> None:
    records = random_clips("abcd", 25, missing=0.2)
    result = comparisons(write(tmp_path / "run", records))
    order = [row["model"] for row in result["boards"][0]["rows"]]
    names = [(pair["a"].removeprefix("0/"), pair["b"].removeprefix("0/")) for pair in result["pairs"]]
    assert len({frozenset(pair) for pair in names}) == len(names) == 6
    assert all(order.index(a) < order.index(b) for a, b in names)
    scores = {(r.model, r.prompt): r.scores.get("ois") for r in records}
    for (a, b), pair in zip(names, result["pairs"], strict=True):
        both = [(scores[a, p], scores[b, p]) for m, p in scores if m == a]
        differences = [x - y for x, y in both if x is not None and y is not None]
        assert pair["metrics"]["ois"]["prompts"] == len(differences)
        assert pair["metrics"]["ois"]["difference"] == pytest.approx(np.mean(differences), abs=1e-4)
    for metric in (*METRICS, "motion_index"):
        ps = sorted((pair["metrics"][metric]["p"], pair["metrics"][metric]["p_holm"]) for pair in result["pairs"])
        stepped = np.minimum(1, np.maximum.accumulate([(6 - n) * p for n, (p, _) in enumerate(ps)]))
        assert [holm for _, holm in ps] == pytest.approx(stepped, rel=1e-3)
    by_models = {
        frozenset(pair): of["metrics"]["motion_index"] for pair, of in zip(names, result["pairs"], strict=True)
    }
    for step in result["boards"][0]["steps"]:  # the leaderboard tests the same between neighbours
        same = by_models[frozenset((step["above"], step["below"]))]
        assert all(
            same[key] == pytest.approx(step[key], abs=2e-3) for key in ("difference", "low", "high", "p", "prompts")
        )


def test_models_without_a_common_prompt_have_no_difference(tmp_path: Path) -> None:
    records = [clip("a/1.mp4", five(0.5), "x"), clip("b/1.mp4", five(0.6), "y"), clip("b/2.mp4", {}, "x", error="bad")]
    (pair,) = comparisons(write(tmp_path / "run", records))["pairs"]
    empty = dict.fromkeys(("difference", "low", "high", "p", "p_holm"))
    assert pair["metrics"]["tcs"] == {**empty, "prompts": 0}


def test_of_many_models_only_neighbours_are_compared_and_a_note_says_so(tmp_path: Path) -> None:
    models = [f"m{number}" for number in range(MOST_MODELS + 1)]
    result = comparisons(write(tmp_path / "run", random_clips(models, 3)))
    order = [row["model"] for row in result["boards"][0]["rows"]]
    assert [(pair["a"], pair["b"]) for pair in result["pairs"]] == [(f"0/{a}", f"0/{b}") for a, b in pairwise(order)]
    assert any("neighbours" in note for note in result["boards"][0]["notes"])


def test_metrics_of_ones_own_are_on_their_own_scale(tmp_path: Path) -> None:
    parts = {"shake": {"title": "shake", "lower_is_better": True, "range": [0, 10], "source": {}}}
    records = [clip(f"{m}/1.mp4", {**five(0.5), "shake": v}, "x") for m, v in (("a", 3.0), ("b", 5.0))]
    result = comparisons(write(tmp_path / "run", records, {"parts": parts, "lower_is_better": ["shake"]}))
    assert {row["model"]: row["cells"]["shake"]["mean"] for row in result["boards"][0]["rows"]} == {"a": 3, "b": 5}
    assert abs(result["pairs"][0]["metrics"]["shake"]["difference"]) == 2


def test_runs_that_cannot_be_ranked_are_on_no_board(tmp_path: Path) -> None:
    empty, ranked = write(tmp_path / "empty", []), write(tmp_path / "ranked", random_clips("a", 2))
    foreign = write(tmp_path / "foreign", [clip("1.mp4", {"vbench": 0.5})])
    header = json.loads((Path(foreign) / "run.json").read_text())
    header["configuration"] = {}
    (Path(foreign) / "run.json").write_text(json.dumps(header))
    result = comparisons(empty, foreign, ranked)
    assert [[row["model"] for row in board["rows"]] for board in result["boards"]] == [["a"]]


def test_the_same_runs_give_the_same_statistics(tmp_path: Path) -> None:
    source = write(tmp_path / "run", random_clips("ab", 40, missing=0.1))
    assert json.dumps(comparisons(source), allow_nan=False) == json.dumps(comparisons(source))
