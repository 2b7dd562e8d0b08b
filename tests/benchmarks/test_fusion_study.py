"""The clips of the fusion study show what their answers say; its training and report hold together."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("timm")

from benchmarks import fusion_report as report  # noqa: E402 - beside what needs torch
from benchmarks import fusion_study as study  # noqa: E402 - needs torch

FRAMES = 32


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def rendered() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    clips, options = study.render(80, FRAMES, (5, 6, 7))
    return clips, dict(zip(report.QUESTIONS, options.T, strict=True))


def shift(before: np.ndarray, after: np.ndarray) -> tuple[int, int]:
    """Pixels (x, y) by which a picture that wraps round has moved, by phase-free cross-correlation."""
    product = np.conj(np.fft.fft2(before - before.mean())) * np.fft.fft2(after - after.mean())
    y, x = np.unravel_index(np.argmax(np.fft.ifft2(product).real), before.shape)
    half = study.PIXELS // 2
    return int((x + half) % study.PIXELS - half), int((y + half) % study.PIXELS - half)


def test_draws_are_a_function_of_the_seed() -> None:
    first, options = study.render(3, 8, (1, 2))
    again, same = study.render(3, 8, (1, 2))
    other, _ = study.render(3, 8, (1, 3))
    assert np.array_equal(first, again)
    assert np.array_equal(options, same)
    assert not np.array_equal(first, other)
    assert first.shape == (3, 8, 3, study.PIXELS, study.PIXELS)
    assert first.dtype == np.float32


def test_disc_flies_as_direction_says(rendered: tuple[np.ndarray, dict[str, np.ndarray]]) -> None:
    clips, truth = rendered
    signs = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    for clip, direction, camera in zip(clips, truth["direction"], truth["camera"], strict=True):
        disc = (clip[:, 0] - clip[:, 1:].min(axis=1) > 0.6).astype(float)  # red without ground and lamps
        if camera == 0:
            moved = np.sum([shift(a, b) for a, b in zip(disc, disc[4:], strict=False)], axis=0)
            # the ring hides some of the disc, by whose edges it may seem to move a little across
            assert tuple(np.sign(np.where(np.abs(moved) > np.abs(moved).max() / 4, moved, 0))) == signs[direction]


def test_ground_moves_with_the_camera_alone(rendered: tuple[np.ndarray, dict[str, np.ndarray]]) -> None:
    clips, truth = rendered
    ground = clips.min(axis=2)  # disc, ring and bar are in one colour each
    for clip, still in zip(ground, truth["camera"] == 0, strict=True):
        changes = np.median(np.abs(np.diff(clip, axis=0)), axis=(1, 2))
        assert (np.median(changes) < 1e-3) == still


def test_bar_sweeps_by_as_often_as_passes_say(rendered: tuple[np.ndarray, dict[str, np.ndarray]]) -> None:
    clips, truth = rendered
    blue = clips[:, :, 2].mean(axis=2) - clips[:, :, :2].min(axis=2).mean(axis=2)  # (clips, frames, x)
    grid = 2j * np.pi * np.arange(study.PIXELS) / study.PIXELS
    place = np.unwrap(np.angle((blue * np.exp(grid)).sum(axis=2)), axis=1) / (2 * np.pi)
    passes = (place[:, -1] - place[:, 0]) * FRAMES / (FRAMES - 1)
    assert np.array_equal(np.round(passes).astype(int), np.array([1, 3, 5])[truth["passes"]])


def test_lamps_flash_in_the_order_told_for_a_sixteenth(rendered: tuple[np.ndarray, dict[str, np.ndarray]]) -> None:
    clips, truth = rendered
    half = study.PIXELS // 2
    light = clips.min(axis=2).mean(axis=2)
    difference = light[..., :half].mean(axis=2) - light[..., half:].mean(axis=2)
    for each, first in zip(difference, truth["flashes"], strict=True):
        left, right = np.flatnonzero(each > 0.6), np.flatnonzero(each < -0.6)
        assert len(left) == len(right) == FRAMES // 16
        assert (left[0] < right[0]) == (first == 0)


def test_ring_flies_at_the_ratio_told() -> None:
    clips, options = study.render(60, FRAMES, (8,))
    seen = []
    for clip, ratio, camera in zip(clips, options[:, 1], options[:, 4], strict=True):
        if camera == 1:
            continue
        disc, ring = (clip[:, i] - clip[:, [1 - i, 2]].min(axis=1) > 0.6 for i in (0, 1))
        far = [np.abs(np.sum([shift(a, b) for a, b in zip(x, x[2:], strict=False)], 0)) for x in (disc, ring)]
        seen.append((ratio, far[1].max() / far[0].max()))
    for ratio, expected in enumerate((0.5, 1.0, 2.0)):
        assert np.median([r for which, r in seen if which == ratio]) == pytest.approx(expected, rel=0.1)


def test_all_paradigms_give_the_decoder_as_much_and_start_alike() -> None:
    settings = study.Settings(k=4)
    clips = torch.zeros(2, 4 * study.GROUPS, 3, study.PIXELS, study.PIXELS)
    starts = []
    for paradigm in study.PARADIGMS:
        reader = study.Reader(paradigm, settings, seed=3)
        assert reader.positions.shape == (study.GROUPS * reader.fused.tokens, settings.width)
        assert [tuple(x.shape) for x in reader(clips)] == [(2, len(o)) for o in report.QUESTIONS.values()]
        starts.append((reader.ask, reader.fused.encoder.vit.blocks[0].attn.qkv.weight))
    assert all(torch.equal(a, b) for start in starts for a, b in zip(start, starts[0], strict=True))


def test_baseline_sees_frames_at_even_times() -> None:
    settings = study.Settings(k=4)
    reader = study.Reader("none", settings, seed=3).eval()
    clips = torch.from_numpy(study.render(1, 16, (4,))[0])
    changed = clips.clone()
    changed[:, [0, 1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15]] += 1
    assert torch.equal(reader(clips)[0], reader(changed)[0])


def test_interval_by_hand() -> None:
    middle, low, high = report.interval([0.5, 0.6, 0.7])
    assert middle == pytest.approx(0.6)
    assert high - middle == pytest.approx(4.3027 * 0.1 / np.sqrt(3), rel=1e-4)  # t of 2 degrees of freedom
    assert middle - low == pytest.approx(high - middle)


def test_order_beside_the_papers() -> None:
    rising = {name: [x / 100, x / 100 + 0.01] for name, x in report.PAPER[8].items()}
    same, _, *pairs = report.ordering(rising, 8)
    assert "+1.00 of the means (as near by chance: 0.01), +1.00 [+1.00, +1.00] by seed" in same  # 1 / 5!
    assert "10 of 10 pairs" in same
    assert sum("| holds | 0.00 |" in pair for pair in pairs) == 10
    assert "| through-encoder > average | +1.6 | +1.6 [+1.6, +1.6] | 2 of 2 | holds | 0.00 |" in pairs
    falling = {name: [1 - x for x in values] for name, values in rising.items()}
    other, _, *pairs = report.ordering(falling, 8)
    assert "-1.00 of the means (as near by chance: 1.00)" in other
    assert sum("| reversed |" in pair for pair in pairs) == 10
    level = {name: [0.5, 0.6] for name in rising}
    assert "+0.00 of the means" in report.ordering(level, 8)[0]  # not NaN
    assert "undecided | 1.00 |" in report.ordering(level, 8)[-1]


def test_p_of_paired_differences_by_hand() -> None:
    # mean 2, s = 1, n = 3: t = 3.4641 of 2 degrees of freedom; two-sided p = 1 - t / sqrt(t^2 + 2)
    assert report._p(np.array([1.0, 2.0, 3.0])) == pytest.approx(1 - 3.4641 / np.sqrt(14), abs=1e-4)
    assert report._p(np.array([2.0])) == 1


def test_the_best_rate_is_the_lowest_of_equals() -> None:
    assert report.best_rate({2e-3: 0.6, 1e-3: 0.6, 5e-4: 0.5}) == 1e-3


def run(output: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
    command = ["fusion_study", "--k", "4", "--seeds", "1", "2", "--steps", "2", "--batch", "4", "--test", "8"]
    command += ["--depth", "1", "--decoder-layers", "1", "--rates", "1e-4", "0.1", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", [*command, *more])
    study.main()


def test_a_short_run_writes_and_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, monkeypatch)
    printed = capsys.readouterr().out
    trial, stored = (json.loads((tmp_path / f"k4_{name}.json").read_text()) for name in ("trial100", "seed2"))
    assert stored["settings"]["steps"] == 2
    tried = dict(zip(map(tuple, trial["runs"]), trial["accuracies"], strict=True))
    assert len(tried) == 2 * len(study.PARADIGMS) == 2 * len(stored["accuracies"])
    for paradigm, rate in stored["runs"]:  # each at the rate that was right most often in the trial
        right = {peak: np.mean(list(tried[paradigm, peak].values())) for peak in (1e-4, 0.1)}
        assert rate == report.best_rate(right)
    assert (tmp_path / "k4.md").read_text() == printed
    assert "Kendall's tau" in printed
    monkeypatch.setattr(study, "train", lambda *_: pytest.fail("trained again"))
    run(tmp_path, monkeypatch)
    assert capsys.readouterr().out == printed
    with pytest.raises(SystemExit, match="other settings"):
        run(tmp_path, monkeypatch, "--rates", "0.01")
    with pytest.raises(SystemExit, match="chooses the rates"):
        run(tmp_path, monkeypatch, "--trial", "2")


def test_training_lowers_the_loss() -> None:
    settings = study.Settings(k=4, steps=40, batch=8, depth=1, decoder_layers=1)
    clips, options = map(torch.from_numpy, study.render(64, 16, (9,)))
    start = study.Reader("through-encoder", settings, seed=1)
    (trained,) = study.train(settings, 1, [("through-encoder", 1e-3)])
    with torch.no_grad():
        assert study.loss(trained(clips), options) < study.loss(start(clips), options) - 0.02
