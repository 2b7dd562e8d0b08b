"""Known groups and one format: the statistics by cases that can be counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.footage import Recording
from benchmarks.known_groups import claims, kept_claims, lines, name_of, scores_of, separation
from benchmarks.one_format import FRAMES, HEIGHT, WIDTH, margin, one_format
from vmmetrics.clip import Clip


def recording(name: str, repo: str, pair: str = "", role: str = "example", split: str = "open") -> Recording:
    generator, year = ("maker", "2024") if split == "open" else ("camera", "")
    return Recording(
        f"x/{name}.mp4", split, "A", source=repo, repo=repo, generator=generator, year=year, pair=pair, role=role,
        sha256="",
    )  # fmt: skip


def no_ratings(folder: Path, *rows: str) -> Path:
    file = folder / "ratings.csv"
    file.write_text("\n".join(("file_a,file_b,MQ", *rows)) + "\n")
    return file


def test_separation_counts_pairs_and_half_of_ties() -> None:
    found = separation([3, 1], [1, 2, 0], (["a", "b"], ["c", "d", "e"]))
    assert found.value == pytest.approx((3 + 1.5) / 6)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_repository_of_many_clips_weighs_as_much_as_one_of_few() -> None:
    high, of_high = [5.0] * 9 + [0.0], ["many"] * 9 + ["few"]
    assert separation(high, [1.0], (of_high, ["other"])).value == pytest.approx(0.5)
    assert separation(high, [1.0], (of_high, ["other"]), equal=False).value == pytest.approx(0.9)


@pytest.mark.slow
def test_the_interval_draws_repositories_for_both_sides_at_once() -> None:
    rng = np.random.default_rng(1)
    level = rng.normal(0, 10, 12).repeat(2)
    names = [f"r{n}" for n in range(12) for _ in range(2)]
    high, low = level + 1, level
    found = separation(high, low, (names, names))
    drawn = []
    for _ in range(2000):
        chosen = rng.integers(12, size=12)
        pairs = [(high[2 * i], low[2 * j]) for i in chosen for j in chosen]  # the two clips of one are alike
        drawn.append(np.mean([(a > b) + 0.5 * (a == b) for a, b in pairs]))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.02)


def test_claims_are_ours_with_each_baseline_and_what_raters_prefer(tmp_path: Path) -> None:
    items = [
        recording("o", "r", "p", "ours"), recording("b1", "r", "p", "baseline"), recording("f", "r", "p", "failure"),
        recording("e", "r", "p", "example"), recording("alone", "r", "q", "ours"),
        recording("A", "r", "v"), recording("B", "r", "v"), recording("C", "r"),
    ]  # fmt: skip
    ratings = no_ratings(tmp_path, "x/A.mp4,x/B.mp4,B", "x/A.mp4,x/C.mp4,same", "x/A.mp4,x/gone.mp4,A")
    ordered = claims(items, ratings)
    assert [(c.better.name, c.worse.name) for c in ordered] == [("o", "b1"), ("o", "f"), ("B", "A")]
    scores = {"o": {"cas": 0.5}, "b1": {"cas": 0.4}, "f": {"cas": 0.5}, "B": {"cas": 0.1}, "A": {}}
    held, won = kept_claims(ordered, scores, "cas")
    assert len(held) == 2 and won.tolist() == [1.0, 0.5]  # lower; equal; one without a score


def test_names_and_scores_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("clip,motion_index,cas,mss\na/v0.1.gif,0.5,,1\nw.x@1,,0.2,0\n")
    assert scores_of(tmp_path) == {"v0.1": {"motion_index": 0.5, "mss": 1.0}, "w.x": {"cas": 0.2, "mss": 0.0}}
    assert name_of("a/b@2") == "b"
    (tmp_path / "scores.csv").write_text("clip,cas\na/x.gif,1\nb/x.mp4,0\n")
    with pytest.raises(SystemExit, match="same name"):
        scores_of(tmp_path)


def test_the_tables_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.known_groups.claims", lambda items: claims(items, no_ratings(tmp_path)))
    items = [
        recording("r1", "a", split="train"), recording("r2", "b", split="validation"),
        recording("g1", "c", "p", "ours"), recording("g2", "c", "p", "baseline"), recording("lost", "d"),
    ]  # fmt: skip
    scores = {n: {"motion_index": v} for n, v in (("r1", 0.9), ("r2", 0.7), ("g1", 0.3), ("g2", 0.8))}
    text = "\n".join(lines(items, scores))
    assert "2 real, 3 generated clips; 1 without an index" in text
    assert "| real | 0.80 [0.70, 0.90] (2, 2)" in text
    assert "| maker | 0.55 (2, 1)" in text and "| 2024 | 0.55 (2, 1)" in text
    assert "| motion_index | 0.75 " in text and "0 of 1" in text
    assert "g1 0.30, g2 0.80" in text


def test_real_less_the_best_model() -> None:
    values = np.array([0.9, 0.5, 0.2, 0.7, 0.5, 0.8])
    models, prompts = ["real", "a", "b"] * 2, ["1"] * 3 + ["2"] * 3
    best, found = margin(values, models, prompts)
    assert best == "a" and found.value == pytest.approx(0.8 - 0.5)
    # prompt 1 alone: 0.9 - 0.5; prompt 2 alone: 0.7 - 0.8
    assert (found.low, found.high) == pytest.approx((-0.1, 0.4))


@pytest.mark.parametrize(("height", "width"), [(256, 256), (160, 160), (180, 300), (144, 192)])
def test_one_format_cuts_to_the_middle_and_keeps_proportions(height: int, width: int) -> None:
    frames = np.zeros((33, height, width, 3), np.uint8)
    frames[..., 0] = np.linspace(0, 255, 33).round()[:, None, None]
    side = min(height, width * 3 // 4) // 4
    top, left = height // 2 - side, width // 2 - side
    frames[:, top : top + 2 * side, left : left + 2 * side, 1] = 255  # a square in the middle
    shown = one_format(Clip(frames, np.arange(33) / 16, 16.0))
    assert shown.frames.shape == (FRAMES, HEIGHT, WIDTH, 3) and shown.fps == 8
    # every second of the 33 frames from the second on: their own speed, in the middle
    assert (shown.frames[0, 0, 0, 0], shown.frames[-1, 0, 0, 0]) == (frames[1, 0, 0, 0], frames[31, 0, 0, 0])
    green = shown.frames[0, ..., 1] > 127
    rows, columns = green.any(1).sum(), green.any(0).sum()
    assert rows == pytest.approx(columns, abs=2) and rows == pytest.approx(HEIGHT / 2, abs=3)
    assert np.argwhere(green).mean(0) == pytest.approx([HEIGHT / 2, WIDTH / 2], abs=2)
