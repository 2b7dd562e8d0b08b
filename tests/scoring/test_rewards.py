"""``vmmetrics.rewards``: groups by hand, the fake suite for faults, and the real metrics against single calls."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

import vmmetrics
from tests.scoring.conftest import MakeClips
from vmmetrics.functional.motion_index import motion_index
from vmmetrics.functional.tripwires import UNITS
from vmmetrics.scoring import rewards as module
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.reward_groups import ScoredSample, combine
from vmmetrics.video import read_clip
from vmmetrics.video.encoding import write_h264

STILL = "nothing moves: all 8 frames show the same image"


def sample(
    missing: dict[str, str] | None = None, error: str | None = None, own: float | None = 0.2, **scores: float
) -> Any:
    record = Record("a", None, None, None, "embedded", "vmmetrics", scores, missing or {}, error=error, own_change=own)
    return ScoredSample(record, {"tripwires": {"frozen_share": 0.5}})


FULL = {"cas": 0.8, "mss": 0.9, "ois": 0.5, "pas": 0.3, "tcs": 0.7}
NOBODY = {key: score for key, score in FULL.items() if key != "ois"}
WHY = {"ois": "no person"}


def by_hand(scores: dict[str, float], own: float | None = 0.2) -> float:
    index = motion_index(scores, own).score
    assert index is not None
    return index


def test_a_part_that_one_sample_lacks_is_left_out_for_its_group_alone() -> None:
    samples = [sample(**FULL), sample(WHY, **NOBODY), sample(**FULL)]
    found = combine(samples, {"motion_index": 1}, ["a", "a", "b"], "drop-component", "least")
    assert found.values == pytest.approx([by_hand(NOBODY), by_hand(NOBODY), by_hand(FULL)], abs=1e-12)
    assert found.dropped == {"a": ("ois in motion_index",)}
    assert "ois in motion_index" in found.reasons[0]
    assert "ois in motion_index" not in found.reasons[2]
    # else the sample without a person would win for having none
    assert by_hand(NOBODY) > by_hand(FULL)


def test_what_no_sample_of_a_group_has_is_missing_for_none() -> None:
    found = combine([sample(WHY, **NOBODY)] * 3, {"motion_index": 1}, [0, 0, 0], "raise", "least")
    assert found.values == pytest.approx(by_hand(NOBODY))
    assert not found.dropped


def test_a_missing_component_raises_or_is_nan() -> None:
    samples = [sample(**FULL), sample(WHY, **NOBODY)]
    with pytest.raises(vmmetrics.RewardError, match=r"no motion_index for sample 1 .*no ois: no person"):
        combine(samples, {"motion_index": 1}, [0, 0], "raise", "least")
    found = combine(samples, {"motion_index": 1}, [0, 0], "nan", "least")
    assert found.values == pytest.approx([by_hand(FULL), math.nan], nan_ok=True)
    assert "no person" in found.reasons[1]["motion_index"]


def test_the_factor_of_the_index_is_a_part_of_it() -> None:
    samples = [sample(own=0.001, **FULL), sample(own=None, **FULL)]
    found = combine(samples, {"motion_index": 1}, [0, 0], "drop-component", "least")
    assert found.values == pytest.approx(by_hand(FULL, None))
    assert found.dropped == {0: ("own change in motion_index",)}


@pytest.mark.parametrize("missing", ["drop-component", "nan"])
def test_where_nothing_is_left_there_is_no_number(missing: Any) -> None:
    samples = [
        sample(**FULL),
        sample(error="it cannot be read", own=None),
        sample({"cas": STILL, "mss": STILL}, own=None),
    ]
    found = combine(samples, {"motion_index": 1}, [0, 0, 0], missing, "least")
    whole = missing == "drop-component"
    assert np.isnan(found.values).tolist() == [whole, True, whole]
    assert found.reasons[1]["reward"] == "it cannot be read"
    assert all(found.reasons[number].get("reward") for number in np.flatnonzero(np.isnan(found.values)))


def test_a_collapsed_sample_has_the_least_and_drops_nothing() -> None:
    samples = [sample(**FULL), sample({"cas": STILL, "mss": STILL, "ois": STILL}, own=None, pas=0.0)]
    weights = {"motion_index": 1, "mss": -0.5, "frozen_share": -0.25}
    found = combine(samples, weights, [0, 0], "raise", "least")
    assert found.values[0] == pytest.approx((by_hand(FULL) - 0.45 - 0.125) / 1.75)
    assert found.values[1] == pytest.approx((0 - 0.5 - 0.125) / 1.75)  # the least of the scale where more costs
    assert found.collapsed.tolist() == [False, True]
    assert found.reasons[1]["reward"] == f"the least of the scale: {STILL}"
    assert math.isnan(combine(samples, weights, [0, 0], "raise", "nan").values[1])


@pytest.fixture
def fake(fake_suite: None) -> Iterator[None]:
    module._loaded.cache_clear()
    yield
    module._loaded.cache_clear()


ALL = {"mss": 1.0, "ois": 1.0}


def test_files_bytes_and_arrays_are_samples_alike(fake: None, make_clips: MakeClips) -> None:
    path = make_clips("a") / "a.npy"
    frames = np.load(path)
    video = io.BytesIO()
    pictures = [Image.fromarray(frame) for frame in frames]
    pictures[0].save(video, "gif", save_all=True, append_images=pictures[1:], duration=100)
    found = vmmetrics.rewards([path, frames, pictures, video.getvalue()], fps=10, weights=ALL)
    assert found.values[0] == found.values[1] == found.values[2]
    assert found.values[3] == pytest.approx(found.values[0], abs=0.01)  # 256 colours
    assert [event["reason"] for event in found.events[0]["mss"]] == ["made up"]
    assert found.tripwires.keys() == UNITS.keys()


@pytest.mark.parametrize("layout", ["BTCHW", "BCTHW", "BTHWC"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (0.0, 255.0)])
def test_layouts_and_ranges(fake: None, layout: str, low: float, high: float) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (3, 5, 16, 24, 3), dtype=np.uint8)
    expected = vmmetrics.rewards(frames, fps=8, layout="BTHWC", weights=ALL).values
    floats = (frames / 255 * (high - low) + low).astype(np.float32)
    turned = np.transpose(floats, ["BTHWC".index(axis) for axis in layout])
    found = vmmetrics.rewards(turned, fps=8, layout=layout, value_range=(low, high), weights=ALL)
    assert found.values == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="say value_range"):
        vmmetrics.rewards(turned, fps=8, layout=layout, weights=ALL)


def test_what_is_wrong_with_a_sample_is_its_own(fake: None, make_clips: MakeClips, tmp_path: Path) -> None:
    good = np.load(make_clips("a") / "a.npy").astype(np.float32)
    nan = np.where(np.arange(4)[:, None, None, None] == 2, np.nan, good)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(b"\0\0\0\x18ftypmp42")
    found = vmmetrics.rewards(
        [good, nan, good * 2, cut, make_clips("noone") / "noone.npy", tmp_path / "not there.mp4"],
        fps=8, value_range=(0, 255), weights=ALL, missing="nan", groups=range(6),
    )  # fmt: skip
    assert np.isnan(found.values).tolist() == [False, True, False, True, True, True]
    assert "NaN" in found.reasons[1]["reward"]
    assert "no person" in found.reasons[4]["ois"]
    outside = vmmetrics.rewards([good, good * 20], fps=8, value_range=(0, 255), weights=ALL, missing="nan", groups="ab")
    assert "0..255" in outside.reasons[1]["reward"]


def test_a_file_that_states_another_rate_fails_before_it_is_scored(
    fake: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_SUITE_LOG", str(tmp_path / "scored"))
    pictures = [Image.new("RGB", (24, 16), (9 * n, 0, 0)) for n in range(4)]
    video = io.BytesIO()
    pictures[0].save(video, "gif", save_all=True, append_images=pictures[1:], duration=50)
    found = vmmetrics.rewards([video.getvalue()], fps=8, weights=ALL, missing="nan")
    assert "states 20 frames per second but fps is 8" in found.reasons[0]["reward"]
    assert not (tmp_path / "scored").exists()
    assert not np.isnan(vmmetrics.rewards([video.getvalue()], fps=None, weights=ALL).values).any()


@pytest.mark.slow
def test_workers_that_die_or_hang_cost_their_sample(fake: None, make_clips: MakeClips) -> None:
    folder = make_clips("a", "hang", "kill", "b")
    paths = [folder / f"{name}.npy" for name in ("a", "hang", "kill", "b")]
    try:
        found = vmmetrics.rewards(
            paths, fps=None, weights=ALL, missing="nan", groups=range(4), jobs=2, timeout=2, retries=1
        )
        assert np.isnan(found.values).tolist() == [False, True, True, False]
        assert "longer than 2 s" in found.reasons[1]["reward"]
        again = vmmetrics.rewards(paths[::3], fps=None, weights=ALL, jobs=2, timeout=2)
        assert again.values.tolist() == found.values[::3].tolist()
    finally:
        module._loaded(("mss", "ois"), 2, 2).close()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"weights": {"speed": 1}}, "'speed'"),
        ({"weights": {"mss": 0}}, "not all zero"),
        ({"weights": {"mss": math.nan}}, "finite"),
        ({"missing": "zero"}, "drop-component"),
        ({"collapsed": "mean"}, "least"),
        ({"retries": 1}, "jobs to 1"),
        ({"timeout": 3}, "jobs to 1"),
        ({"prompts": ["a"]}, "2 prompts"),
        ({"groups": "abc"}, "2 groups"),
        ({"layout": "TCHW"}, "Expected a batch"),
        ({"fps": None}, "say fps"),
    ],
)
def test_wrong_options_are_the_callers(fake: None, options: dict[str, Any], says: str) -> None:
    videos = np.zeros((2, 4, 3, 16, 24), np.uint8)
    with pytest.raises(ValueError, match=says):
        vmmetrics.rewards(videos, **{"fps": 8, "weights": ALL, **options})


def moving(step: float) -> np.ndarray:
    y, x = np.mgrid[:96, :128]
    grey = [
        127 + 60 * np.sin((x + step * t) / 5) * np.cos(y / 7) + 40 * np.sin((y - step * t) / 3 + x / 11)
        for t in range(8)
    ]
    return np.repeat(np.stack(grey)[..., None], 3, -1).astype(np.uint8)


def test_a_batch_of_the_real_metrics_equals_single_calls() -> None:
    batch = np.stack([moving(1), moving(3), np.repeat(moving(1)[:1], 8, 0)])
    weights = {"mss": 2.0, "pas": 1.0}
    found = vmmetrics.rewards(batch, fps=8, weights=weights)
    single = [vmmetrics.rewards(batch[n : n + 1], fps=8, weights=weights).values[0] for n in range(3)]
    assert found.values == pytest.approx(single, abs=1e-9)
    suite = vmmetrics.Suite(metrics=("mss", "pas"))
    for number in range(2):
        scores = suite.score_clip(batch[number], fps=8).scores
        assert found.values[number] == pytest.approx((2 * scores["mss"] + scores["pas"]) / 3, abs=1e-9)
    assert found.values[2] == 0
    assert found.collapsed.tolist() == [False, False, True]
    assert found.tripwires["frozen_share"].tolist() == [0, 0, 1]
    assert found.tripwires["onset"].tolist() == [0, 0, 1]


@pytest.mark.slow
def test_a_batch_of_all_five_metrics_equals_single_calls(tmp_path: Path) -> None:
    samples = Path(__file__).parents[1] / "data" / "samples"
    clips = [tmp_path / "a.mp4", tmp_path / "b.mp4"]
    for clip, name in zip(clips, ("zeroscope/woman-walks-and-sits", "modelscope-t2v/cars-drive-fast"), strict=True):
        frames = read_clip(samples / f"{name}.mp4").frames[:5]
        write_h264(clip, [cv2.resize(frame, (80, 80), interpolation=cv2.INTER_AREA) for frame in frames], 8, {})
    options: Any = {"fps": None, "weights": {"motion_index": 1.0, "tcs": 0.5, "pas": 0.5}, "missing": "nan"}
    found = vmmetrics.rewards(clips, groups=[0, 1], **options)
    assert not np.isnan(found.values).any()
    for number, clip in enumerate(clips):
        single = vmmetrics.rewards([clip], **options)
        assert found.values[number] == pytest.approx(single.values[0], abs=1e-9)
        assert {"cas", "mss", "ois", "pas", "tcs"} <= single.components.keys() == found.components.keys()
        for name, values in single.components.items():
            assert found.components[name][number] == pytest.approx(values[0], abs=1e-9, nan_ok=True), name
    scores = vmmetrics.Suite().score_clip(clips[1]).scores
    assert {name: found.components[name][1] for name in scores} == pytest.approx(scores, abs=1e-9)
    assert scores.keys() == {"cas", "mss", "ois", "pas", "tcs"}


def test_a_tensor_on_a_device_is_copied_once(fake: None) -> None:
    class OnDevice:
        """A tensor on a GPU, of which numpy sees nothing before it is copied."""

        def __init__(self, array: np.ndarray) -> None:
            self.array, self.shape, self.ndim, self.dtype, self.copies = array, array.shape, array.ndim, None, 0

        def detach(self) -> OnDevice:
            return self

        def cpu(self) -> Any:
            self.copies += 1
            return SimpleNamespace(numpy=lambda: self.array, dtype=None)

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} of a tensor that was not copied")

    batch = OnDevice(np.random.default_rng(0).integers(0, 256, (5, 4, 3, 16, 24), dtype=np.uint8))
    found = vmmetrics.rewards(batch, fps=8, layout="BTCHW", weights=ALL, groups=range(5))
    assert batch.copies == 1
    assert found.values.tolist() == vmmetrics.rewards(batch.array, fps=8, layout="BTCHW", weights=ALL).values.tolist()


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    batch = torch.from_numpy(np.stack([moving(1), moving(2)])).permute(0, 1, 4, 2, 3).to(torch.bfloat16) / 255
    found = vmmetrics.rewards(batch, fps=8, value_range=(0, 1), weights={"mss": 1})
    assert found.to_torch().dtype == torch.float32
    assert found.to_torch().tolist() == pytest.approx(found.values.tolist())
