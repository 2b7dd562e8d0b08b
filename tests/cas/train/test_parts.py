"""The parts of training: views that keep defects in time, order, rates, weights, mixing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vmmetrics.cas.labelled_clips import LabelledClip  # noqa: E402
from vmmetrics.cas.train.data import Order, draw_crop, draw_stretch, level_weights, training_view  # noqa: E402  # noqa: E402
from vmmetrics.cas.train.settings import Augmentation, TrainSettings  # noqa: E402
from vmmetrics.cas.train.state import read_last, save  # noqa: E402
from vmmetrics.cas.train.trainer import learning_rate, make_optimiser, mix, set_learning_rate, soft_labels  # noqa: E402  # noqa: E402
from vmmetrics.errors import SetupError  # noqa: E402
from vmmetrics.perception.views import IMAGENET_MEAN, IMAGENET_STD, ViewPlan  # noqa: E402
from vmmetrics.perception.vmbench.ported.videomae import Architecture, VideoMAE  # noqa: E402

PLAN = ViewPlan(frames=8, rate=2, size=32)
STRONG = Augmentation(least_crop=0.3, flip=0.5, colour=0.5, erase=1.0)


def draws(count: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(count)]


def test_a_still_clip_stays_still():
    still = np.repeat(np.random.default_rng(0).integers(0, 256, (1, 48, 64, 3), dtype=np.uint8), 30, axis=0)
    views = [training_view(still, PLAN, STRONG, draw) for draw in draws(20)]
    assert all(np.ptp(view, axis=1).max() == 0 for view in views)
    assert len({view.tobytes() for view in views}) == 20  # and yet no view is like another


def test_a_flickering_clip_goes_on_flickering():
    levels = np.where(np.arange(32) // 2 % 2, 90, 110)  # sampled at every other frame: up, down, up, down
    clip = np.broadcast_to(levels[:, None, None, None], (32, 40, 40, 3)).astype(np.uint8)
    for draw in draws(20):
        view = training_view(clip, PLAN, Augmentation(colour=0.5, erase=0), draw)
        steps = np.diff(view.mean(axis=(0, 2, 3)))
        assert np.all(steps[1:] * steps[:-1] < 0)
        assert np.abs(steps).min() > 0.05


def test_time_runs_forward_at_one_pace():
    for draw in draws(50):
        frames = draw_stretch(40, PLAN, draw)
        assert np.array_equal(np.diff(frames), [2] * 7)
        assert frames[0] >= 0 and frames[-1] < 40
    assert {int(draw_stretch(16, PLAN, draw)[0]) for draw in draws(50)} == {0, 1}


def test_a_clip_too_short_repeats_its_last_frame_alone():
    for draw in draws(20):
        frames = draw_stretch(9, PLAN, draw)
        steps = np.diff(frames)
        assert set(steps.tolist()) == {0, 2}
        assert np.all(np.diff(steps) <= 0)  # once it stands, it stands
        assert frames[-1] in (7, 8)
    assert draw_stretch(1, PLAN, np.random.default_rng(0)).tolist() == [0] * 8


def test_crops_lie_inside_and_keep_their_size():
    for draw in draws(200):
        top, left, height, width = draw_crop(48, 64, (0.5, 1), draw)
        assert 0 <= top <= 48 - height and 0 <= left <= 64 - width
        assert height * width >= 0.45 * 48**2  # a side may have been cut to the frame's
        assert 0.7 <= height / width <= 1.4


def test_without_changes_a_view_is_the_clip_itself():
    clip = np.random.default_rng(1).integers(0, 256, (15, 32, 32, 3), dtype=np.uint8)
    none = Augmentation(least_crop=1.0, flip=0, colour=0, erase=0)
    unchanged = 0
    for draw in draws(100):
        view = training_view(clip, PLAN, none, draw)
        pixels = view.transpose(1, 2, 3, 0) * IMAGENET_STD + IMAGENET_MEAN
        unchanged += np.allclose(pixels * 255, clip[::2], atol=0.6)
    assert unchanged > 0  # where the aspect drawn is near 1


def test_order_visits_every_clip_and_is_shared_out():
    order = Order(clips=24, batch=3, processes=2, seed=4)
    assert order.steps == 4
    parts = [list(order.batches(epoch=5, first=0, rank=rank)) for rank in (0, 1)]
    assert sorted(clip for part in parts for batch in part for _, clip in batch) == list(range(24))
    (alone,) = [list(Order(24, 6, 1, 4).batches(5, 0, 0))]
    for step in range(4):
        assert sorted(parts[0][step] + parts[1][step]) == sorted(alone[step])
    assert list(order.batches(5, 2, 1)) == parts[1][2:]
    assert list(order.batches(6, 0, 0)) != parts[0]


def test_fewer_clips_than_a_batch_still_make_a_step():
    order = Order(clips=3, batch=8, processes=1, seed=0)
    (batch,) = order.batches(0, 0, 0)
    assert len(batch) == 8
    assert {clip for _, clip in batch} == {0, 1, 2}


def labelled(levels: list[int]) -> list[LabelledClip]:
    return [LabelledClip(str(n), Path(str(n)), level, "p", None) for n, level in enumerate(levels)]


def test_level_weights_by_hand():
    clips = labelled([0] * 6 + [1] * 2 + [4] * 1)
    full = level_weights(clips, 1.0)
    assert full * [6, 2, 0, 0, 1] == pytest.approx([3, 3, 0, 0, 3])  # every level weighs the same, 9 in all
    assert level_weights(clips, 0.0) == pytest.approx([1, 1, 0, 0, 1])
    assert level_weights(clips, 0.5)[4] / level_weights(clips, 0.5)[0] == pytest.approx(np.sqrt(6))


def test_soft_labels_and_mixing_by_hand():
    targets = soft_labels(torch.tensor([0, 4]), 0.1)
    assert targets[0].tolist() == pytest.approx([0.92, 0.02, 0.02, 0.02, 0.02])
    clips = torch.stack([torch.zeros(3, 2, 4, 4), torch.ones(3, 2, 4, 4)])
    for seed in range(10):
        mixed, soft = mix(clips, targets, 0.5, np.random.default_rng(seed))
        share = float(mixed[1].mean())  # of the second view that is left in the second
        assert float(mixed[1].max() - mixed[1].min()) == 0
        expected = share * targets[1] + (1 - share) * targets[0]
        assert soft[1].tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert mix(clips, targets, 0, np.random.default_rng(0))[0] is clips


def test_layers_learn_at_their_share():
    net = Architecture(width=8, depth=3, heads=2, mlp_width=8, patch=4, image=8, frames=2)
    model = VideoMAE(net, 5)
    settings = TrainSettings(layer_decay=0.5, weight_decay=0.3)
    optimiser = make_optimiser(model, settings)
    set_learning_rate(optimiser, 1.0)
    names = {id(weight): name for name, weight in model.named_parameters()}
    rates = {names[id(w)]: (g["lr"], g["weight_decay"]) for g in optimiser.param_groups for w in g["params"]}
    assert len(rates) == len(names)
    assert rates["head.weight"] == (1.0, 0.3)
    assert rates["fc_norm.weight"] == (1.0, 0.0)
    assert rates["blocks.2.mlp.fc1.weight"] == (0.5, 0.3)
    assert rates["blocks.0.attn.q_bias"] == (0.125, 0.0)
    assert rates["patch_embed.proj.weight"] == (0.0625, 0.3)


def test_the_learning_rate_rises_then_falls():
    settings = TrainSettings(lr=2.0, warmup=0.1, final_lr=0.05)
    rates = np.array([learning_rate(step, 200, settings) for step in range(200)])
    assert rates[0] == pytest.approx(0.1) and rates[19] == rates.max() == 2.0
    assert np.all(np.diff(rates[:20]) > 0) and np.all(np.diff(rates[20:]) < 0)
    assert rates[-1] == pytest.approx(0.1, abs=1e-3)
    assert learning_rate(0, 1, TrainSettings(warmup=0.9)) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs of at least 1 but got 0"),
        ({"lr": 0.0}, "lr above 0"),
        ({"held_out": 1.0}, "held_out from 0 to below 1"),
        ({"mixup": -0.1}, "mixup of at least 0"),
    ],
)
def test_settings_are_checked(options: dict[str, float], message: str):
    with pytest.raises(ValueError, match=message):
        TrainSettings(**options)
    with pytest.raises(ValueError, match="shares and probabilities"):
        Augmentation(least_crop=0)


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "last.pt"
    save({"run": {"a": 1}, "step": 1}, path)

    def full(content: object, file: object) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(SetupError, match="No space left"):
        save({"run": {"a": 1}, "step": 2}, path)
    stored = read_last(path, {"a": 1})
    assert stored is not None and stored["step"] == 1
    with pytest.raises(SetupError, match="holds another training run"):
        read_last(path, {"a": 2})
    path.write_bytes(b"damaged")
    with pytest.raises(SetupError, match="cannot be resumed from"):
        read_last(path, {"a": 1})
