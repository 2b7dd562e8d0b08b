from __future__ import annotations

from pathlib import Path

import pytest

import vmmetrics
from tests.scoring.stored_runs import clip, five, random_clips, rows_of, write
from vmmetrics.viewer.comparisons import changes_of
from vmmetrics.viewer.sources import read_runs


def changes(*sources: str) -> list[dict]:
    runs = read_runs(sources)
    return changes_of(runs, rows_of(runs))


def test_rows_are_those_of_diff(tmp_path: Path) -> None:
    sources = [write(tmp_path / name, random_clips("ab", 20, seed, 0.1)) for seed, name in enumerate(("old", "new"))]
    (change,) = changes(*sources)
    known = vmmetrics.diff(*sources)
    assert (change["before"], change["after"], change["refused"]) == (0, 1, None)
    assert change["paired_by"] == known.paired_by == {"name": 40}
    assert [(row["metric"], row["model"]) for row in change["rows"]] == [(d.metric, d.model) for d in known.differences]
    assert {row["model"] for row in change["rows"]} == {None, "a", "b"}
    for row, d in zip(change["rows"], known.differences, strict=True):
        for name in ("before", "after", "difference", "low", "high"):
            assert row[name] == pytest.approx(getattr(d, name), abs=1e-4)
        assert (row["p"], row["p_holm"]) == pytest.approx((d.p, d.p_holm), rel=1e-3)
        assert [row[name] for name in ("clips", "prompts", "lost", "gained", "lower_is_better")] == [
            d.clips, d.prompts, d.lost, d.gained, d.lower_is_better
        ]  # fmt: skip


def test_pairs_are_rows_of_the_index_by_hand(tmp_path: Path) -> None:
    old = [clip("a.mp4", five(0.5)), clip("b.mp4", five(0.5)), clip("gone.mp4", five(0.5))]
    new = [clip("b.mp4", five(0.6)), clip("c.mp4", five(0.6), sha256="of a.mp4"), clip("new.mp4", five(0.5))]
    runs = read_runs([write(tmp_path / "old", old), write(tmp_path / "new", new)])
    (change,) = changes_of(runs, rows_of(runs))
    assert sorted(change["pairs"]) == [(0, 4), (1, 3)]
    assert change["paired_by"] == {"name": 1, "content": 1}
    assert (change["gone"], change["new"]) == (["gone.mp4"], ["new.mp4"])
    without = [{}, rows_of(runs)[1]]  # the report leaves out the clips of the first run
    assert changes_of(runs, without)[0]["pairs"] == []


def test_every_later_run_is_compared_with_the_first(tmp_path: Path) -> None:
    values = {"one": 0.5, "two": 0.6, "three": 0.4}
    sources = [write(tmp_path / name, [clip("a.mp4", {"tcs": value})]) for name, value in values.items()]
    differences = [(c["before"], c["after"], c["rows"][0]["difference"]) for c in changes(*sources)]
    assert differences == [(0, 1, 0.1), (0, 2, -0.1)]
    assert changes(sources[0]) == []


def test_runs_that_are_not_comparable_say_why(tmp_path: Path) -> None:
    first = write(tmp_path / "one", [clip("a.mp4", five(0.5))])
    settings = write(tmp_path / "two", [clip("a.mp4", five(0.5))], preset="other")
    versions = write(tmp_path / "three", [clip("a.mp4", five(0.5), score_version={"tcs": 9})])
    others = write(tmp_path / "four", [clip("z.mp4", five(0.5))])
    by_settings, by_versions, by_clips = changes(first, settings, versions, others)
    assert "different settings" in by_settings["refused"]
    assert "other" in by_settings["refused"]
    assert by_versions["refused"] == "The runs have different metric versions: TCS: version 1 (one), 9 (three)"
    assert by_clips["refused"].startswith("No clip of four is in one")
    assert all(c["rows"] == c["pairs"] == c["gone"] == [] for c in (by_settings, by_versions, by_clips))
    assert str(tmp_path) not in str([by_settings, by_versions, by_clips])


def test_ones_own_metric_keeps_its_scale_and_direction(tmp_path: Path) -> None:
    header = {
        "parts": {"shake": {"title": "shake", "lower_is_better": True, "range": [0, 10], "source": {}}},
        "lower_is_better": ["shake"],
    }
    sources = [write(tmp_path / str(v), [clip("a.mp4", {"shake": float(v)})], header) for v in (3, 5)]
    (row,) = changes(*sources)[0]["rows"]
    assert (row["before"], row["after"], row["difference"], row["lower_is_better"]) == (3, 5, 2, True)
