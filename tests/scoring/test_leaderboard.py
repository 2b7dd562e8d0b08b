from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.scoring.stored_runs import CONFIGURATION, clip, five
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.scoring.leaderboard import make_boards
from vmmetrics.scoring.leaderboard_text import board_parts, published_rows, to_csv
from vmmetrics.scoring.record import Record
from vmmetrics.utils.display.tables import to_latex, to_markdown


def write(path: Path, records: Sequence[Record], **configuration: Any) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    run = {"format": 1, "configuration": {**CONFIGURATION, **configuration}, "metrics": list(METRICS), "sessions": []}
    (path / "run.json").write_text(json.dumps(run))
    lines = [json.dumps(record.to_json()) + "\n" for record in records]
    (path / "scores.jsonl").write_text("".join(lines))
    return path


def random_run(path: Path, *, models: int = 3, prompts: int = 40, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    records = []
    for m in range(models):
        for p in range(prompts):
            values = np.clip(rng.normal(0.5 + 0.04 * m, 0.1, len(METRICS)), 0, 1)
            scores = {metric: float(v) for metric, v in zip(METRICS, values, strict=True) if rng.random() > 0.05}
            records.append(clip(f"m{m}/{p:04}.mp4", scores, f"prompt {p}"))
    return write(path, records)


def test_means_average_and_missing_by_hand(tmp_path: Path) -> None:
    records = [
        clip("a/1.mp4", {**five(0.5), "pas": 0.1}, "one"),
        clip("a/2.mp4", {"cas": 0.7, "mss": 1.0, "pas": 0.3, "tcs": 0.5}, "two", missing={"ois": "no person"}),
        clip("a/3.mp4", {}, "three", error="The file is empty"),
    ]
    (board,) = make_boards([str(write(tmp_path / "run", records))])
    (row,) = board.rows
    means = {"cas": 0.6, "mss": 0.75, "ois": 0.5, "pas": 0.2, "tcs": 0.5}
    assert {m: row.cells[m].mean for m in METRICS} == pytest.approx(means)
    assert row.cells["average"].mean == pytest.approx((4 * 0.5 + 0.1) / 5)  # of the one clip that has all five
    assert row.cells["average"].without == {"no OIS": 1, "failed": 1}
    assert {m: row.cells[m].prompts for m in METRICS} == {"cas": 2, "mss": 2, "ois": 1, "pas": 2, "tcs": 2}
    assert row.cells["ois"].without == {"no person": 1, "failed": 1}
    assert row.cells["cas"].without == {"failed": 1}
    assert (row.cells["ois"].low, row.cells["average"].low) == (None, None)  # one prompt knows no spread
    assert row.cells["cas"].low is None  # an interval of two would be the two, 0.5 and 0.7
    assert (row.prompts, row.clips, row.rank, row.shares) == (3, 3, 1, (1.0,))
    assert "a: no OIS for 2 of 3 clips: no person (1), failed (1)" in board.notes


def test_means_and_differences_are_over_clips(tmp_path: Path) -> None:
    records = [clip(f"a/{n}.mp4", five(v), p) for n, (v, p) in enumerate([(0.2, "x"), (0.4, "x"), (0.9, " y ")])]
    (board,) = make_boards([str(write(tmp_path / "run", records))])
    assert board.rows[0].cells["pas"].mean == pytest.approx((0.2 + 0.4 + 0.9) / 3)
    assert (board.rows[0].prompts, board.rows[0].clips) == (2, 3)
    records += [clip(f"b/{n}.mp4", five(v), p) for n, (v, p) in enumerate([(0.1, "x"), (0.1, "y")])]
    (step,) = make_boards([str(write(tmp_path / "two", records))], "pas")[0].steps
    assert step.difference == pytest.approx((0.2 + 0.4 + 0.9) / 3 - 0.1)


@pytest.mark.parametrize("seed", range(3))
def test_no_model_is_above_another_by_less_than_nothing(tmp_path: Path, seed: int) -> None:
    """On the same prompts the step is the difference of the means that rank, however many clips a prompt has."""
    rng = np.random.default_rng(seed)
    records = [clip("a/0.mp4", five(0.9), "x"), clip("b/0.mp4", five(0.5), "x")]
    records += [clip(f"{m}/{n}.mp4", five(v), "y") for m, v in (("a", 0.1), ("b", 0.2)) for n in range(1, 10)]
    for model in "cdef":
        clips = [(p, n) for p in "xy" for n in range(rng.integers(1, 9))]
        records += [clip(f"{model}/{p}{n}.mp4", five(rng.random() ** 2), p) for p, n in clips]
    (board,) = make_boards([str(write(tmp_path / "run", records))], "cas")
    means = {row.model: row.cells["cas"].mean for row in board.rows}
    assert (means["a"], means["b"]) == (pytest.approx(0.18), pytest.approx(0.23))
    for step in board.steps:
        assert step.difference == pytest.approx(means[step.above] - means[step.below])
        assert step.difference >= 0 and step.low is step.high is None  # of two prompts there is none


def test_without_prompts_clips_are_paired_by_name(tmp_path: Path) -> None:
    records = [clip("a/deep/1.mp4", five(0.2)), clip("b/deep/1.gif", five(0.4)), clip("b/2.mp4", five(0.9), "known")]
    (board,) = make_boards([str(write(tmp_path / "run", records))], "average")
    assert board.prompts == 2
    (step,) = board.steps
    assert (step.prompts, step.difference) == (1, pytest.approx(0.2))
    assert "file names" in " ".join(board.notes)


def test_prompts_cut_in_names_are_said_where_clips_are_paired_by_them(tmp_path: Path) -> None:
    cut = [clip(f"{m}/{n}.mp4", five(0.5), f"a dog {n}", prompt_source="name:wan (cut)") for m in "ab" for n in "12"]
    (board,) = make_boards([str(write(tmp_path / "run", cut))])
    assert "4 prompts were cut short in the clips' names" in " ".join(map(to_markdown, board_parts(board, [])))
    whole = [clip(f"{m}/{n}.mp4", five(0.5), f"a dog {n}", prompt_source="list") for m in "ab" for n in "12"]
    (board,) = make_boards([str(write(tmp_path / "other", whole))])
    assert "cut short" not in " ".join(map(to_markdown, board_parts(board, [])))


def test_a_failed_clip_without_prompt_does_not_change_the_pairing(tmp_path: Path) -> None:
    records = [clip("a/1.mp4", five(0.2), "x"), clip("b/2.mp4", five(0.4), "x"), clip("b/3.mp4", {}, error="empty")]
    (board,) = make_boards([str(write(tmp_path / "run", records))])
    assert board.steps[0].prompts == 1
    assert "by their prompts" in " ".join(board.notes)


def test_a_step_is_tested_on_common_prompts_as_by_scipy(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random(11), rng.random(11)
    records = [clip(f"a/{p}.mp4", five(v), str(p)) for p, v in enumerate(first)]
    records += [clip(f"b/{p}.mp4", five(v), str(p)) for p, v in enumerate(second)]
    records += [clip("a/99.mp4", five(0.0), "only here")]
    (board,) = make_boards([str(write(tmp_path / "run", records))], "average")
    (step,) = board.steps
    sign = 1 if step.above == "a" else -1
    known = stats.permutation_test((first - second,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert step.difference == pytest.approx(sign * np.mean(first - second))
    assert step.p == pytest.approx(known.pvalue)
    assert step.p_holm == step.p
    assert step.prompts == 11
    assert step.low is not None
    assert step.low < step.difference < step.high


def test_steps_are_raised_together(tmp_path: Path) -> None:
    (board,) = make_boards([str(random_run(tmp_path / "run", models=4))])
    raw, raised = [s.p for s in board.steps], [s.p_holm for s in board.steps]
    assert len(raw) == 3
    assert min(raised) == pytest.approx(min(1.0, 3 * min(raw)))
    assert all(p <= q for p, q in zip(raw, raised, strict=True))


def test_a_clear_order_is_sure_and_a_draw_is_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    records = []
    for p in range(60):
        ease = rng.normal(0, 0.1)  # of the prompt, for every model
        for model, level in (("good", 0.7), ("fair", 0.5), ("twin", 0.5)):
            records.append(clip(f"{model}/{p}.mp4", five(level + ease + rng.normal(0, 0.02)), str(p)))
    (board,) = make_boards([str(write(tmp_path / "run", records))], "average")
    assert board.rows[0].model == "good"
    assert board.rows[0].shares[0] == 1
    assert 0.02 < board.rows[1].shares[1] < 0.98 or abs(board.steps[1].difference) < 0.01
    assert board.steps[0].p_holm < 0.001
    width = board.rows[0].cells["average"].high - board.rows[0].cells["average"].low
    assert board.steps[0].high - board.steps[0].low < width / 2  # pairing takes the prompts' ease out


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.permutations(range(36)), st.booleans())
def test_the_order_of_clips_and_runs_does_not_matter(tmp_path: Path, order: list[int], swapped: bool) -> None:
    whole = random_run(tmp_path / "whole", models=3, prompts=12)
    lines = (whole / "scores.jsonl").read_text().splitlines(keepends=True)
    (known,) = make_boards([str(whole)])
    parts = {"m0": write(tmp_path / "part0", []), "others": write(tmp_path / "part1", [])}
    for number in order:
        model = json.loads(lines[number])["model"]
        with (parts.get(model, parts["others"]) / "scores.jsonl").open("a") as file:
            file.write(lines[number])
    (found,) = make_boards([str(part) for part in sorted(parts.values(), reverse=swapped)])
    assert found == known


def test_ranked_by_one_metric(tmp_path: Path) -> None:
    records = [clip("a/1.mp4", {"pas": 0.1, "mss": 0.9}, "x"), clip("b/1.mp4", {"pas": 0.2, "mss": 0.8}, "x")]
    run = str(write(tmp_path / "run", records))
    assert [row.model for row in make_boards([run], "pas")[0].rows] == ["b", "a"]
    assert [row.model for row in make_boards([run], "mss")[0].rows] == ["a", "b"]
    (board,) = make_boards([run], "average")
    assert [row.rank for row in board.rows] == [None, None]
    assert not board.steps
    why = "none of 1 clips has a score in CAS (not scored), OIS (not scored), TCS (not scored)"
    assert f"a is not ranked by average: {why}" in board.notes
    assert "All models can be ranked by MSS; PAS: --sort-by mss" in board.notes
    assert board.rows[0].cells["average"].without == {"no CAS and no OIS and no TCS": 1}


def test_the_index_ranks_unless_told_otherwise_and_says_what_it_lacks(tmp_path: Path) -> None:
    whole = {"cas": 0.512, "mss": 1.0}
    records = [
        clip("a/1.mp4", {**whole, "tcs": 0.5}, "x"),
        clip("b/1.mp4", whole, "x"),
        clip("c/1.mp4", {"mss": 1.0}, "x", missing={"cas": "one frame"}),
        clip("c/2.mp4", {}, "y", error="The file is empty"),
    ]
    run = str(write(tmp_path / "run", records))
    (board,) = make_boards([run])
    assert (board.by, board.columns[:2]) == ("motion_index", ("motion_index", "average"))
    assert [(row.model, row.rank) for row in board.rows] == [("b", 1), ("a", 2), ("c", None)]
    # 0.512^(2/3) = 0.64, less a fifth of half of it for TCS: docs of the formula
    assert [row.cells["motion_index"].mean for row in board.rows] == [pytest.approx(0.64), pytest.approx(0.576), None]
    assert board.steps[0].difference == pytest.approx(0.064)
    assert board.rows[2].cells["motion_index"].without == {"no CAS": 1, "failed": 1}
    assert "c is not ranked by INDEX: none of 2 clips has a score in CAS (one frame)" in board.notes
    (released,) = make_boards([str(write(tmp_path / "released", records, protocol="vmbench"))])
    assert (released.by, released.columns[0]) == ("average", "average")


def test_what_cannot_be_compared_gets_tables_of_its_own(tmp_path: Path) -> None:
    records = [clip("a/1.mp4", five(0.5), "x"), clip("a/2.mp4", five(0.6), "y")]
    runs = [
        write(tmp_path / "one", records),
        write(tmp_path / "protocol", records, protocol="vmbench"),
        write(tmp_path / "weights", records, weights={"a": "11"}),
    ]
    boards = make_boards([str(run) for run in runs])
    assert [len(board.rows) for board in boards] == [1, 1, 1]
    assert [board.protocol for board in boards] == ["vmmetrics", "vmbench", "vmmetrics"]


def test_other_versions_are_told(tmp_path: Path) -> None:
    one = write(tmp_path / "one", [clip("1.mp4", five(0.5), "x")])
    two = write(tmp_path / "two", [clip("1.mp4", five(0.6), "x")], versions={"av": "15"})
    (board,) = make_boards([str(one), str(two)])
    assert {row.model for row in board.rows} == {"one", "two"}
    assert any("versions.av" in note for note in board.notes)


def test_models_of_one_name_have_to_be_told_apart(tmp_path: Path) -> None:
    one = write(tmp_path / "x" / "run", [clip("1.mp4", five(0.5), "x")])
    two = write(tmp_path / "y" / "run", [clip("1.mp4", five(0.6), "x")])
    with pytest.raises(SetupError, match="NAME=DIRECTORY"):
        make_boards([str(one), str(two)])
    (board,) = make_boards([f"mine={one}", f"yours={two}"])
    assert [row.model for row in board.rows] == ["yours", "mine"]


def test_no_run_and_an_empty_run(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="not a run directory"):
        make_boards([str(tmp_path)])
    with pytest.raises(SetupError, match="no scored clips"):
        make_boards([str(write(tmp_path / "run", []))])


def test_the_published_rows_are_the_authors_and_two_do_not_add_up() -> None:
    rows = published_rows()
    assert [row.model for row in rows if not row.adds_up] == ["Wan2.1", "HunyuanVideo"]
    assert {row.model: round(row.mean, 4) for row in rows} == {
        "Wan2.1": 0.6574, "HunyuanVideo": 0.6434, "CogVideoX-5B": 0.6064, "OpenSora-Plan v1.3.0": 0.5892,
        "Mochi 1": 0.5326, "OpenSora v1.2": 0.5160,
    }  # fmt: skip


@pytest.mark.parametrize("comparable", [True, False])
def test_tables_for_other_programs(tmp_path: Path, comparable: bool) -> None:
    name = "m_0&|<b>%"
    records = [clip(f"{name}/{p}.mp4", five(0.1 * p), str(p)) for p in range(5)]
    records += [clip(f"b/{p}.mp4", five(0.05 * p), str(p)) for p in range(5)]
    boards = make_boards([str(write(tmp_path / "run", records, comparable=comparable))])
    published = published_rows()

    rows = list(csv.DictReader(io.StringIO(to_csv(boards, published))))
    assert len(rows) == 2 + len(published)
    assert rows[0]["model"] == name
    assert float(rows[0]["average"]) == pytest.approx(0.2)
    assert float(rows[0]["p"]) == boards[0].steps[0].p
    assert {row["comparable"] for row in rows} == {str(comparable)}

    parts = board_parts(boards[0], published)
    markdown = "\n".join(map(to_markdown, parts))
    table = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {9}
    assert ("not comparable with the above" in markdown) == (not comparable)
    assert "*0.784¹*" in markdown
    assert "¹ As printed: not the mean of its columns, which is 0.657." in markdown
    assert "² As printed: not the mean of its columns, which is 0.643." in markdown

    latex = "\n".join(map(to_latex, parts))
    body = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {7}
    assert r"m\_0\&|\textless{}b\textgreater{}\%" in latex  # a bare < is another letter in LaTeX
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1
