"""An index of one's own: its file, what it holds for, and runs, gates, rewards and suites that use it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vmmetrics
from tests.scoring.stored_runs import CONFIGURATION, clip, five, write
from vmmetrics.errors import SetupError
from vmmetrics.functional.motion_index import EXPONENTS, motion_index
from vmmetrics.metrics import METRICS, registry
from vmmetrics.scoring.leaderboard import make_boards
from vmmetrics.scoring.leaderboard_text import board_records
from vmmetrics.scoring.own_index import CalibrationStudy, OwnIndex, read_index, register_index, with_own_index
from vmmetrics.scoring.prompt_scores import read_run
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.reward_groups import ScoredSample, combine
from vmmetrics.scoring.suite import Suite
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.thresholds import judge, read_threshold

SHARES = {"cas": 0.5, "mss": 0.0, "ois": 3.0, "tcs": 2.0, "pas": 1.0}
STILL = "nothing moves: all 4 frames show the same image"


@pytest.fixture(autouse=True)
def registered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test sees the indexes of these."""
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))


def own(name: str = "mine", **changes: Any) -> OwnIndex:
    study = CalibrationStudy("ratings.csv", "ab" * 32, "motion", 48, 12, 4)
    decisive = {key: CONFIGURATION[key] for key in ("preset", "protocol", "models", "weights")}
    versions = dict.fromkeys(SHARES, 1)
    index = OwnIndex(1, name, "2", study=study, exponents=SHARES, versions=versions, held_out={}, **decisive)
    return replace(index, **changes)


def file_of(folder: Path, index: OwnIndex) -> Path:
    index.write(folder / "mine.toml")
    return folder / "mine.toml"


def by_hand(cas: float, mss: float, ois: float = 1, tcs: float = 1, pas: float = 1, factor: float = 1) -> float:
    return (
        cas**0.5 * (1 - 0.2 * (1 - ois)) ** 3 * (1 - 0.2 * (1 - tcs)) ** 2
        * (1 - 0.05 * (1 - min(pas / 0.1, 1))) * factor * mss**0
    )  # fmt: skip


def test_the_formula_with_other_exponents() -> None:
    scores = {"cas": 0.5, "mss": 0.8, "ois": 0.6, "tcs": 0.7, "pas": 0.05}
    assert motion_index(scores, 0.001, SHARES).score == pytest.approx(by_hand(**scores, factor=0.5))
    assert motion_index(scores, exponents=EXPONENTS) == motion_index(scores)
    assert motion_index({"cas": 0.0, "mss": 0.9}, exponents={**SHARES, "cas": 0.0}).score == 1.0


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    hostile = 'a "b"\\ \x1b[31m\x7f\n[x] é 𝄞.csv'
    study = replace(own().study, ratings=hostile)
    index = own(study=study, weights={'w "1".pt': "00"}, held_out={"the model's name": {"pooled": (0.1, -0.2, 0.3)}})
    file = file_of(tmp_path, index)
    read, source = read_index(file)
    assert replace(read, study=index.study) == index
    assert read.study.ratings.isprintable() and read.study.ratings.endswith("é 𝄞.csv")
    assert source["index"] == "mine.toml" and len(source["sha256"]) == 64
    assert tomllib.loads(file.read_text("utf-8"))["exponents"]["ois"] == 3.0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("ois = 3.0", "ois = -1.0", "0 or more"),
        ("ois = 3.0", "ois = nan", "finite number"),
        ("ois = 3.0", "ois = inf", "finite number"),
        ("ois = 3.0", "ois = true", "true|True"),
        ("cas = 0.5\n", "", "versions of the same"),
        ("format = 1", "format = 2", "format: expected 1"),
        ('name = "mine"', 'name = "cas"', "already a metric called 'cas'"),
        ('name = "mine"', 'name = "index"', "another column"),
        ('name = "mine"', 'name = "../x"', "a-z"),
        ('protocol = "vmmetrics"', 'protocol = "vmbench"', "protocol: expected vmmetrics"),
        ("[study]", "[study", "as TOML"),
        ('name = "mine"\n', "", "name"),
    ],
)
def test_a_file_that_is_no_index_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = file_of(tmp_path, own())
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(SetupError, match=said):
        register_index(file)
    with pytest.raises(SetupError, match="Cannot read"):
        register_index(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (own(preset="vmbench"), "preset embedded, not vmbench"),
        (own(models={"flow": "RAFT"}), r"other models \(flow\)"),
        (own(weights={}), r"other weights \(a\)"),
        (own(versions={**dict.fromkeys(SHARES, 1), "tcs": 3}), "TCS version 1, not 3"),
        (own(formula="1"), "version 2 of the formula, not 1"),
    ],
)
def test_other_scores_are_refused_and_the_difference_said(tmp_path: Path, index: OwnIndex, said: str) -> None:
    run = write(tmp_path / "run", [clip("a/1.mp4", five(0.5))])
    with pytest.raises(SetupError, match=f"mine does not hold for these scores, of {said}: calibrate again"):
        make_boards([run], index=file_of(tmp_path, index))


def records() -> list[Record]:
    collapsed = dict.fromkeys(METRICS, STILL)
    return [
        clip("a/1.mp4", {"cas": 0.9, "mss": 0.9, "ois": 0.2, "tcs": 1.0, "pas": 0.3}, "one"),
        clip("a/2.mp4", {"cas": 0.8, "mss": 0.9, "tcs": 0.5, "pas": 0.3}, "two", missing={"ois": "no object"}),
        clip("b/1.mp4", {"cas": 0.5, "mss": 0.9, "ois": 1.0, "tcs": 1.0, "pas": 0.3}, "one", own_change=0.001),
        clip("b/2.mp4", {}, "two", missing=collapsed),
        clip("b/3.mp4", {}, "three", error="broken"),
    ]


def test_a_leaderboard_is_ranked_by_it_and_names_its_file(tmp_path: Path) -> None:
    run, file = write(tmp_path / "run", records()), file_of(tmp_path, own())
    (board,) = make_boards([run], index=file)
    assert board.by == "mine"
    cells = {row.model: row.cells["mine"] for row in board.rows}
    a = (by_hand(0.9, 1, 0.2) + by_hand(0.8, 1, tcs=0.5)) / 2
    assert cells["a"].mean == pytest.approx(a)
    assert cells["b"].mean == pytest.approx(by_hand(0.5, 1, factor=0.5) / 2)  # the still one counts as 0
    (note,) = (text for text in board.notes if "mine.toml" in text)
    assert f"sha256 {read_index(file)[1]['sha256'][:12]}" in note
    assert {"motion_index", "mine"} <= set(board.columns)  # the default is not replaced
    (skipped,) = make_boards([run], index=file, collapsed="skip")
    cell = next(row.cells["mine"] for row in skipped.rows if row.model == "b")
    assert cell.mean == pytest.approx(by_hand(0.5, 1, factor=0.5))
    assert cell.without == {STILL: 1, "failed": 1}
    assert "mine" in board_records([board], [])[0]
    (default,) = make_boards([run])
    assert "mine" not in default.columns


def test_a_run_with_another_metric_of_its_name_is_refused(tmp_path: Path) -> None:
    own_metric = {"parts": {"mine": {"range": [0, 1], "source": {"plugin": "mine.py"}}}}
    run = read_run(Path(write(tmp_path / "run", records(), own_metric)))
    with pytest.raises(SetupError, match="another metric called mine"):
        with_own_index(run, file_of(tmp_path, own()))


def test_a_gate_counts_collapsed_clips_as_0(tmp_path: Path) -> None:
    index = register_index(file_of(tmp_path, own()))
    table = Table([index.scored(record) for record in records() if record.model == "b"])
    threshold = read_threshold("mine=0.3", (*METRICS, "mine"))
    whole, missing = judge(table, [threshold], most_missing=0.0)
    value = by_hand(0.5, 1, factor=0.5)
    assert not whole.passed
    assert f"{value / 2:.4f}" in str(whole) and "1 collapsed as 0" in str(whole)
    assert "1 of 3 clips failed" in str(missing)
    assert judge(table, [threshold], collapsed="skip")[0].passed is (value >= 0.3)


def sample(**scores: float) -> Any:
    missing = {key: "no object" for key in METRICS if key not in scores}
    return ScoredSample(Record("a", None, None, None, "embedded", "vmmetrics", scores, missing, own_change=0.2), {})


def test_a_group_of_rewards_has_indexes_of_the_same_parts(tmp_path: Path) -> None:
    index = register_index(file_of(tmp_path, own()))
    scores = {"cas": 0.8, "mss": 0.9, "ois": 0.5, "pas": 0.3, "tcs": 0.7}
    without = {key: score for key, score in scores.items() if key != "ois"}
    samples = [sample(**scores), sample(**without), sample(**scores)]
    samples = [ScoredSample(index.scored(one.record), {}) for one in samples]
    found = combine(samples, {"mine": 1}, ["x", "x", "y"], "drop-component", "least")
    full, less = by_hand(0.8, 1, 0.5, 0.7), by_hand(0.8, 1, tcs=0.7)
    assert found.values == pytest.approx([less, less, full])
    assert found.dropped == {"x": ("ois in mine",)}
    with pytest.raises(vmmetrics.RewardError, match="no mine for sample 1"):
        combine(samples, {"mine": 1}, ["x", "x", "y"], "raise", "least")


# With the real metrics.


@pytest.fixture(scope="module")
def moving() -> np.ndarray:
    """A textured square that goes to the right, of 12 frames."""
    rng = np.random.default_rng(0)
    ground, square = rng.integers(60, 100, (96, 128, 3)), rng.integers(120, 255, (32, 32, 3))
    frames = np.repeat(ground[None], 12, axis=0).astype(np.uint8)
    for number, frame in enumerate(frames):
        frame[30:62, 10 + 5 * number : 42 + 5 * number] = square
    return frames


def real(**changes: Any) -> OwnIndex:
    described = Suite().describe()
    decisive = {key: described[key] for key in ("preset", "protocol", "models", "weights")}
    return own(**decisive, versions={key: registry.version_of(key) for key in SHARES}, **changes)


def expected(scores: dict[str, float], own_change: float | None) -> float | None:
    return motion_index({key: scores[key] for key in METRICS if key in scores}, own_change, SHARES).score


def test_a_suite_scores_it_beside_the_index(tmp_path: Path, moving: np.ndarray) -> None:
    suite = Suite(index=file_of(tmp_path, real()))
    scored = suite.score_clip(moving, fps=8)
    assert scored.scores["mine"] == expected(scored.scores, scored.own_change)
    assert scored.index is not None and scored.index != scored.scores["mine"]
    alone = Suite(metrics=("mine",)).score_clip(moving, fps=8)
    assert alone.scores == {"mine": scored.scores["mine"]}
    still = suite.score_clip(np.repeat(moving[:1], 8, axis=0), fps=8)
    assert still.missing["mine"] == still.missing["cas"]
    *_, whole = suite.stream(iter(np.concatenate([moving] * 3)), fps=4)
    assert len(whole.windows) > 1
    assert whole.scores["mine"] == pytest.approx(expected(whole.scores, whole.own_change), abs=1e-12)
    with pytest.raises(SetupError, match=f"CAS version {registry.version_of('cas')}, not 99"):
        versions = {**real().versions, "cas": 99}
        Suite(index=file_of(tmp_path, replace(real(), versions=versions)))


@pytest.fixture
def clips(tmp_path: Path, moving: np.ndarray) -> Iterator[Path]:
    (tmp_path / "clips").mkdir()
    np.save(tmp_path / "clips" / "a.npy", moving)
    np.save(tmp_path / "clips" / "still.npy", np.repeat(moving[:1], 8, axis=0))
    return tmp_path / "clips"  # type: ignore[return-value]


def test_a_run_has_its_column_and_its_hash(tmp_path: Path, clips: Path) -> None:
    file, out = file_of(tmp_path, real()), tmp_path / "run"
    first = vmmetrics.score(clips, out=out)
    table = vmmetrics.score(clips, out=out, index=file)
    moved, still = table
    assert moved.scores["mine"] == expected(moved.scores, moved.own_change)
    assert moved.motion_index == first[0].motion_index
    assert still.missing["mine"] == still.missing["cas"]
    assert "mine" in (out / "scores.csv").read_text().partition("\n")[0].split(",")
    part = json.loads((out / "run.json").read_text())["parts"]["mine"]
    assert part["source"] == dict(read_index(file)[1])
    (board,) = make_boards([str(out)], "mine")  # the still one counts as 0 in the index of the run itself
    assert board.rows[0].cells["mine"].mean == pytest.approx(moved.scores["mine"] / 2)
    file_of(tmp_path, real(exponents={**SHARES, "ois": 4.0}))
    with pytest.raises(SetupError, match=r"mine\.source\.sha256"):
        vmmetrics.score(clips, out=out, index=file)


def test_rewards_are_those_of_the_file(tmp_path: Path, moving: np.ndarray) -> None:
    file = file_of(tmp_path, real())
    found = vmmetrics.rewards([moving, moving[:, :, ::-1].copy()], fps=8, index=file, missing="drop-component")
    assert found.values == pytest.approx(found.components["mine"])
    scores = {key: float(found.components[key][0]) for key in METRICS if np.isfinite(found.components[key][0])}
    suite = Suite().score_clip(moving, fps=8)
    assert scores == pytest.approx(suite.scores)
    both = vmmetrics.rewards([moving], fps=8, index=file, weights={"mine": 1, "motion_index": 1})
    assert both.values[0] == pytest.approx((both.components["mine"][0] + both.components["motion_index"][0]) / 2)
    file_of(tmp_path, real(exponents={**SHARES, "cas": 3.0}))  # another file of that path is another index
    with pytest.raises(ValueError, match="file of mine"):  # though the process has registered it
        vmmetrics.rewards([moving], fps=8, weights={"mine": 1})
    again = vmmetrics.rewards([moving], fps=8, index=file)
    assert again.values[0] == pytest.approx(motion_index(suite.scores, suite.own_change, {**SHARES, "cas": 3.0}).score)
