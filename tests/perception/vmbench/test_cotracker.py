"""CoTracker's adapter against its own predictor called the released way; needs the user's own CoTracker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vmmetrics.errors import SetupError  # noqa: E402
from vmmetrics.perception.vmbench.adapters import cotracker as module  # noqa: E402
from vmmetrics.perception.vmbench.adapters.cotracker import CoTracker, find_cotracker, released_predictor  # noqa: E402
from vmmetrics.perception.vmbench.runtime import DeviceCache  # noqa: E402

LENGTH, HEIGHT, WIDTH = 4, 50, 70
RESOLUTION = (32, 48)
"""In the place of 384 x 512: the same code on less."""


def installed() -> bool:
    try:
        find_cotracker()
    except SetupError:
        return False
    return True


needs_cotracker = pytest.mark.skipif(not installed(), reason="CoTracker (CC-BY-NC 4.0) is not installed")


def small_predictor(checkpoint: Path | None = None) -> Any:
    """CoTracker3 offline with seeded random weights, norms and biases too, at a small resolution."""
    with module._importable(find_cotracker()):
        from cotracker.models.core.cotracker.cotracker3_offline import CoTrackerThreeOffline
        from cotracker.predictor import CoTrackerPredictor
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        predictor = CoTrackerPredictor(checkpoint=None, v2=False, offline=True, window_len=60)
        model = CoTrackerThreeOffline(stride=4, corr_radius=3, window_len=60, model_resolution=RESOLUTION)
        for name, weight in model.named_parameters():
            if weight.ndim == 1:
                torch.nn.init.normal_(weight, 1.0 if "norm" in name and "weight" in name else 0.0, 0.1)
            elif "flow_head" in name or "vis_conf_head" in name:  # as initialised, no point would move or be hidden
                torch.nn.init.normal_(weight, 0.0, 0.05 if "flow" in name else 0.5)
    predictor.model, predictor.interp_shape = model.eval(), RESOLUTION
    return predictor


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (LENGTH, HEIGHT, WIDTH, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def mask() -> np.ndarray:
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    mask[10:40, 15:60] = 255
    return mask


@pytest.fixture(scope="module")
def upstream() -> Any:
    if not installed():
        pytest.skip("CoTracker (CC-BY-NC 4.0) is not installed")
    return small_predictor()


def adapter() -> CoTracker:
    return CoTracker(Path("unused"), DeviceCache(torch.device("cpu")), small_predictor)


def released(predictor: Any, frames: np.ndarray, half: bool = False, **asked: Any) -> tuple[np.ndarray, np.ndarray]:
    video = torch.from_numpy(frames).permute(0, 3, 1, 2)[None].float()
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        tracks, visible = predictor(video, backward_tracking=True, **asked)
    return tracks[0].numpy(), visible[0].numpy()


@needs_cotracker
@pytest.mark.parametrize(("query", "length", "half"), [(0, LENGTH, False), (2, LENGTH, False), (1, 2, True)])
def test_grid_in_a_mask_is_bit_identical(
    upstream: Any, frames: np.ndarray, mask: np.ndarray, query: int, length: int, half: bool
):
    segmentation, frames = torch.from_numpy(mask)[None, None], frames[:length]  # bfloat16 is slow on a CPU
    tracks, visible = released(upstream, frames, half, grid_size=5, grid_query_frame=query, segm_mask=segmentation)
    got = adapter().grid(frames, 5, query, mask, half=half)
    assert 5 < tracks.shape[1] < 25
    assert np.ptp(tracks, axis=0).max() > 1  # the points do move
    assert 0 < visible.mean() < 1
    np.testing.assert_array_equal(got.xy, tracks)
    np.testing.assert_array_equal(got.visible, visible)
    np.testing.assert_array_equal(got.query_frames, query)


@needs_cotracker
def test_grid_everywhere_is_bit_identical(upstream: Any, frames: np.ndarray):
    tracks, visible = released(upstream, frames, grid_size=4, grid_query_frame=2)
    got = adapter().grid(frames, 4, 2, None)
    np.testing.assert_array_equal(got.xy, tracks)
    np.testing.assert_array_equal(got.visible, visible)


@needs_cotracker
def test_queries_in_any_frame_are_bit_identical(upstream: Any, frames: np.ndarray):
    queries = np.array([[0, 10, 20], [2, 40.5, 30.25], [3, 69, 49], [1, 0, 0]], np.float64)
    tracks, visible = released(upstream, frames, queries=torch.from_numpy(queries).float()[None])
    got = adapter().points(frames, queries)
    np.testing.assert_array_equal(got.xy, tracks)
    np.testing.assert_array_equal(got.visible, visible)
    np.testing.assert_array_equal(got.query_frames, [0, 2, 3, 1])


@needs_cotracker
def test_features_are_computed_once_and_change_nothing(frames: np.ndarray, mask: np.ndarray):
    tracker, seen = adapter(), []
    net = tracker._model.get().shared.net
    net.register_forward_hook(lambda _, images, __: seen.append(len(images[0])))
    other = 255 - mask
    both = [tracker.grid(frames, 3, query, m) for query, m in ((0, mask), (2, other), (0, other))]
    assert seen == [LENGTH]
    for shared, (query, m) in zip(both, ((0, mask), (2, other), (0, other)), strict=True):
        tracker._model.get().forget()
        own = tracker.grid(frames, 3, query, m)
        np.testing.assert_array_equal(shared.xy, own.xy)
        np.testing.assert_array_equal(shared.visible, own.visible)
    assert seen == [LENGTH] * 4
    again = frames[:1].copy()
    tracker.grid(again, 2, 0, None)
    assert seen == [LENGTH] * 4 + [1]  # another clip
    tracker.grid(again, 2, 0, None, half=True)
    assert seen == [LENGTH] * 4 + [1, 1]  # other features in bfloat16


@needs_cotracker
def test_nowhere_to_put_points(frames: np.ndarray):
    got = adapter().grid(frames[:2], 8, 0, np.zeros((HEIGHT, WIDTH), np.uint8))
    assert got.xy.shape == (2, 0, 2)
    assert got.visible.shape == (2, 0)
    none = adapter().points(frames, np.zeros((0, 3)))
    assert none.xy.shape == (LENGTH, 0, 2)


@needs_cotracker
def test_a_clip_is_let_go(frames: np.ndarray):
    tracker, own = adapter(), frames[:1].copy()
    tracker.grid(own, 2, 0, None)
    loaded = tracker._model.get()
    del own
    assert loaded.frames() is None


@needs_cotracker
def test_where_memory_does_not_do_the_others_go(frames: np.ndarray, mask: np.ndarray, monkeypatch: pytest.MonkeyPatch):
    tracker = adapter()
    other = module.CachedModel("other", lambda: "net", 1, tracker._model.cache)
    other.get()
    ask, calls = module._Loaded.ask, []

    def full_at_first(self: Any, *asked: Any, **how: Any) -> Any:
        calls.append(other in self_shelf._model)
        if len(calls) == 1:
            raise torch.OutOfMemoryError
        return ask(self, *asked, **how)

    self_shelf = tracker._model.cache
    monkeypatch.setattr(module._Loaded, "ask", full_at_first)
    assert tracker.grid(frames[:1], 2, 0, None).xy.shape == (1, 4, 2)
    assert calls == [True, False]
    assert "CoTracker3" in self_shelf.notes[0]


@needs_cotracker
def test_a_wrong_checkpoint_is_named(tmp_path: Path):
    path = tmp_path / "scaled_offline.pth"
    for content in (b"no checkpoint", None):
        if content is None:
            torch.save({"model": {"fnet.conv1.weight": torch.zeros(3)}}, path)
        else:
            path.write_bytes(content)
        with pytest.raises(SetupError, match=r"scaled_offline.pth.*weights fetch cotracker3-offline"):
            released_predictor(path)
    with pytest.raises(SetupError, match="no such checkpoint"):
        released_predictor(tmp_path / "other.pth")


@needs_cotracker
def test_loads_what_upstream_saves(tmp_path: Path):
    with module._importable(find_cotracker()):
        from cotracker.models.build_cotracker import build_cotracker
    model = build_cotracker(None, offline=True, window_len=60)
    torch.save(model.state_dict(), tmp_path / "scaled_offline.pth")
    predictor = released_predictor(tmp_path / "scaled_offline.pth")
    assert predictor.interp_shape == (384, 512)
    for name, weight in predictor.model.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name])


def test_without_cotracker_the_licence_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv(module.CHECKOUT, raising=False)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    with pytest.raises(SetupError, match="non-commercial use only"):
        find_cotracker()
    place = tmp_path / "facebookresearch_co-tracker_main" / "cotracker"
    place.mkdir(parents=True)
    (place / "predictor.py").touch()
    assert find_cotracker() == place.parent
    monkeypatch.setenv(module.CHECKOUT, str(tmp_path / "elsewhere"))
    with pytest.raises(SetupError, match="elsewhere"):
        find_cotracker()
