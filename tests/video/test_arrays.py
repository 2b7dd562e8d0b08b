"""Arrays and tensors: axis orders, value ranges, devices."""

from __future__ import annotations

import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.bad_inputs import moving_frames
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.video import read_batch, read_clip
from vmmetrics.video.arrays import guess_layout, load_npy
from vmmetrics.video.budget import clip_bytes

FRAMES = moving_frames(10, (24, 16))


@pytest.mark.parametrize(
    ("layout", "axes"),
    [("THWC", (0, 1, 2, 3)), ("TCHW", (0, 3, 1, 2)), ("CTHW", (3, 0, 1, 2)), ("HWTC", (1, 2, 0, 3))],
)
@pytest.mark.parametrize("batched", [False, True])
def test_layouts(layout: str, axes: tuple[int, ...], batched: bool) -> None:
    array = FRAMES.transpose(axes)
    if batched:
        array, layout = array[None], "B" + layout
    np.testing.assert_array_equal(read_clip(array, layout=layout).frames, FRAMES)
    np.testing.assert_array_equal(read_clip(array, layout=layout.lower()).frames, FRAMES)
    if layout != "HWTC" and layout != "BHWTC":
        guessed = read_clip(array)
        np.testing.assert_array_equal(guessed.frames, FRAMES)
        assert f"axes taken as {layout}" in guessed.notes


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((16, 64, 64, 3), "THWC"),
        ((16, 64, 64, 1), "THWC"),
        ((16, 3, 64, 64), "TCHW"),
        ((4, 3, 64, 64), "TCHW"),  # four frames of colour rather than three with alpha
        ((1, 3, 64, 64), "TCHW"),
        ((3, 16, 64, 64), "CTHW"),
        ((4, 64, 64, 3), "THWC"),
        ((64, 4, 32, 32), "TCHW"),
        ((16, 64, 64), "THW"),
        ((2, 16, 3, 64, 64), "BTCHW"),
        ((2, 3, 16, 64, 64), "BCTHW"),
    ],
)
def test_guessed_layouts(shape: tuple[int, ...], layout: str) -> None:
    assert guess_layout(shape) == layout


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ((3, 3, 64, 64), "TCHW or CTHW"),
        ((16, 64, 64, 5), "no axis of 1, 3 or 4 channels"),
        ((16, 16, 64, 64), "no axis of 1, 3 or 4 channels"),
        ((8, 7, 7, 3), r"a side under 8 pixels.*layout="),
        ((8, 3, 64, 7), r"a side under 8 pixels.*layout="),
        ((64, 64), "3, 4 or 5 axes"),
        ((1, 1, 16, 3, 64, 64), "3, 4 or 5 axes"),
    ],
)
def test_unclear_layouts(shape: tuple[int, ...], match: str) -> None:
    with pytest.raises(ClipError, match=match):
        read_clip(np.zeros(shape, np.uint8))


@pytest.mark.parametrize(("layout", "match"), [("THWX", "layout such as"), ("TWC", "such as"), ("THW", "3 axes")])
def test_wrong_layouts(layout: str, match: str) -> None:
    with pytest.raises(ClipError, match=match):
        read_clip(FRAMES, layout=layout)


@given(
    dtype=st.sampled_from([np.float16, np.float32, np.float64, ml_dtypes.bfloat16]),
    signed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_floats_round_to_the_nearest_level(dtype: Any, signed: bool, seed: int) -> None:
    levels = np.random.default_rng(seed).integers(0, 256, (3, 8, 9, 3)).astype(np.uint8)
    levels[0, 0, 0] = (0, 255, 128)  # so that a signed range shows
    unit = levels / 255.0
    values = (unit * 2 - 1 if signed else unit).astype(dtype)
    # A step of the type at 1, in levels (half as much in the signed range), and the rounding.
    step = {"float16": 2**-11, "bfloat16": 2**-8}.get(np.dtype(dtype).name, 0)
    read = read_clip(values)
    assert np.abs(read.frames.astype(int) - levels).max() <= np.ceil(step * 255)
    assert f"floats taken as {'-1..1' if signed else '0..1'}" in read.notes


def test_overshoot_is_clipped_and_more_is_refused() -> None:
    values = FRAMES / 255.0
    values[0, 0, 0, 0], values[0, 0, 0, 1] = 1.004, -0.003
    assert tuple(read_clip(values).frames[0, 0, 0, :2]) == (255, 0)
    values[0, 0, 0, 0] = 1.2
    with pytest.raises(ClipError, match=r"0\.\.1 or -1\.\.1 but got -0\.003\.\.1\.2"):
        read_clip(values)


def test_grey_and_alpha() -> None:
    grey = FRAMES[..., 0]
    np.testing.assert_array_equal(read_clip(grey).frames, np.repeat(grey[..., None], 3, -1))
    np.testing.assert_array_equal(read_clip(grey[..., None]).frames, np.repeat(grey[..., None], 3, -1))
    alpha = np.concatenate([FRAMES, np.zeros_like(FRAMES[..., :1])], -1)
    alpha[:, :8, :, 3] = 255
    clip = read_clip(alpha)
    np.testing.assert_array_equal(clip.frames[:, :8], FRAMES[:, :8])
    assert (clip.frames[:, 8:] == 255).all()


def test_rates() -> None:
    assert read_clip(FRAMES).fps == 8
    assert read_clip(FRAMES).notes[0] == "states no frame rate; 8 frames per second assumed"
    clip = read_clip(FRAMES, fps=30, name="mine")
    assert (clip.fps, clip.name) == (30, "mine")
    np.testing.assert_allclose(clip.timestamps, np.arange(10) / 30)
    for wrong in (0, -1, float("nan"), 1e9):
        with pytest.raises(ClipError, match="frame rate"):
            read_clip(FRAMES, fps=wrong)


def test_the_clip_is_a_copy() -> None:
    array = FRAMES.copy()
    clip = read_clip(array)
    array[:] = 0
    np.testing.assert_array_equal(clip.frames, FRAMES)


def test_batches() -> None:
    other = FRAMES[::-1]
    with pytest.raises(ClipError, match="batch holds 2"):
        read_clip(np.stack([FRAMES, other]))
    first, second = read_batch(np.stack([FRAMES, other]), name="x", fps=4)
    np.testing.assert_array_equal(first.frames, FRAMES)
    np.testing.assert_array_equal(second.frames, other)
    assert (first.name, second.name, second.fps) == ("x[0]", "x[1]", 4)


def test_range_is_told_from_the_whole_batch() -> None:
    bright, dark = np.full((4, 16, 16, 3), 0.5), np.full((4, 16, 16, 3), -0.5)
    first, _ = read_batch(np.stack([bright, dark]))
    assert first.frames[0, 0, 0, 0] == round(0.75 * 255)


def test_sequences_of_pictures_and_arrays() -> None:
    np.testing.assert_array_equal(read_clip([Image.fromarray(frame) for frame in FRAMES]).frames, FRAMES)
    np.testing.assert_array_equal(read_clip(list(FRAMES)).frames, FRAMES)
    with pytest.raises(ClipError, match="one size"):
        read_clip([FRAMES[0], FRAMES[1][:8]])
    with pytest.raises(ClipError, match="empty sequence"):
        read_clip([])


@pytest.mark.parametrize("wrong", [5, None, {"a": 1}, object()])
def test_what_is_no_clip(wrong: object) -> None:
    with pytest.raises(ClipError, match="a path, an array or a tensor"):
        read_clip(wrong)


def test_memory_bound_holds_for_arrays() -> None:
    clip = read_clip(moving_frames(4, (400, 200)), max_memory=clip_bytes(4, 200, 100))
    assert clip.frames.shape == (4, 100, 200, 3)
    assert clip.size == (400, 200)


class DLPackOnly:
    """An array of a library that we do not know."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def test_dlpack() -> None:
    np.testing.assert_array_equal(read_clip(DLPackOnly(FRAMES.copy())).frames, FRAMES)


class DeviceTensor:
    """Behaves like a torch tensor on a device that needs a gradient: numpy() works only after detach and cpu."""

    def __init__(self, array: np.ndarray[Any, Any], state: tuple[str, ...] = ()) -> None:
        self.array, self.state, self.dtype = array, state, "float32"

    def detach(self) -> DeviceTensor:
        return DeviceTensor(self.array, (*self.state, "detached"))

    def cpu(self) -> DeviceTensor:
        return DeviceTensor(self.array, (*self.state, "cpu"))

    def numpy(self) -> np.ndarray[Any, Any]:
        if self.state != ("detached", "cpu"):
            raise RuntimeError(f"not from here: {self.state}")
        return self.array


def test_device_tensor_without_torch() -> None:
    np.testing.assert_array_equal(read_clip(DeviceTensor(FRAMES)).frames, FRAMES)


def test_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", FRAMES.transpose(0, 3, 1, 2))
    clip = read_clip(tmp_path / "a.npy", fps=12)
    np.testing.assert_array_equal(clip.frames, FRAMES)
    assert clip.name == "a.npy"
    np.save(tmp_path / "f.npy", np.asfortranarray(FRAMES))
    np.testing.assert_array_equal(read_clip(tmp_path / "f.npy").frames, FRAMES)


def test_pt_without_torch_names_the_mending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "a.pt").write_bytes(b"PK\x03\x04 anything")
    with pytest.raises(SetupError, match="pip install torch"):
        read_clip(tmp_path / "a.pt")


def test_pt_is_loaded_without_running_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def load(path: Path, **options: Any) -> DeviceTensor:
        asked.update(options)
        return DeviceTensor(FRAMES)

    fake = types.ModuleType("torch")
    fake.load, fake.Tensor, fake.bfloat16 = load, DeviceTensor, "bfloat16"  # type: ignore[attr-defined]
    fake.__version__ = "2.6.0+cpu"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", fake)
    (tmp_path / "a.pt").write_bytes(b"PK\x03\x04 anything")
    np.testing.assert_array_equal(read_clip(tmp_path / "a.pt").frames, FRAMES)
    assert asked == {"map_location": "cpu", "weights_only": True}


@pytest.mark.parametrize("version", ["2.5.1+cu121", "1.13", "unknown"])
def test_pt_is_refused_where_torch_would_run_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    fake = types.ModuleType("torch")
    fake.__version__ = version  # type: ignore[attr-defined]
    fake.load = lambda *_, **__: pytest.fail("the file was opened")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", fake)
    (tmp_path / "a.pt").write_bytes(b"PK\x03\x04 and anything")
    with pytest.raises(SetupError, match=r"install torch 2\.6 or newer"):
        read_clip(tmp_path / "a.pt")


HEADERS = [
    "{'descr': '|u1', 'fortran_order': False, 'shape': (True, 8, 8, 3), }",
    "{'descr': '|u1', 'fortran_order': False, 'shape': [8, 8, 8, 3], }",
    "if 1:\n  {'descr': '|u1',\n 'fortran_order': False}",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 8,",
    "{'descr': '''",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (8L, 8L, 8L, 3L), ",
    "{'descr': 5, 'fortran_order': False, 'shape': (8, 8, 8, 3), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (8, 8, 8, 3), }",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (-8, 8, 8, 3), }",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807, 8, 8, 3), }",
    "(" * 3000,
    "\x00",
    "",
]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("version", [1, 2, 3, 9])
def test_npy_with_a_damaged_header(tmp_path: Path, header: str, version: int) -> None:
    body = header.encode("latin-1")
    length = len(body).to_bytes(2 if version == 1 else 4, "little")
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY" + bytes([version, 0]) + length + body + bytes(1536))
    with pytest.raises(ClipError, match=r"^The \.npy file cannot be read: .*; save the frames again") as caught:
        load_npy(tmp_path / "a.npy")
    assert str(caught.value).isprintable()  # one line, none of it numpy's


def test_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(FRAMES).permute(0, 3, 1, 2)
    np.testing.assert_array_equal(read_clip(tensor).frames, FRAMES)
    floats = (tensor.float() / 127.5 - 1).requires_grad_()
    np.testing.assert_array_equal(read_clip(floats).frames, FRAMES)
    assert np.abs(read_clip(floats.bfloat16()).frames.astype(int) - FRAMES).max() <= 1
    for saved in (tensor, {"frames": tensor, "fps": 8}, {"latent": tensor}):
        torch.save(saved, tmp_path / "a.pt")
        np.testing.assert_array_equal(read_clip(tmp_path / "a.pt").frames, FRAMES)
    for wrong in ({"a": tensor, "b": tensor}, [1, 2], {"a": 1}):
        torch.save(wrong, tmp_path / "a.pt")
        with pytest.raises(ClipError, match=r"\.pt file holds"):
            read_clip(tmp_path / "a.pt")
    torch.save(print, tmp_path / "a.pt")
    with pytest.raises(ClipError, match="plain tensors") as caught:
        read_clip(tmp_path / "a.pt")
    assert "weights_only" not in str(caught.value)  # torch's advice is to set it to False


def test_headers_are_parsed_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 loses count where two threads parse at once, which is seen too seldom for a test."""
    np.save(tmp_path / "a.npy", FRAMES)
    inside, most, opened = [0], [0], np.lib.format.open_memmap

    def watched(*arguments: Any, **named: Any) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.01)  # whoever may come in does
        inside[0] -= 1
        return opened(*arguments, **named)

    monkeypatch.setattr(np.lib.format, "open_memmap", watched)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(load_npy, [tmp_path / "a.npy"] * 8))
    assert most == [1]
    assert all(np.array_equal(array, FRAMES) for array in found)
