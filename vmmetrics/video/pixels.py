"""Conversion of decoded pixels to upright 8-bit RGB: alpha, depth, palettes, colour matrix and range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vmmetrics.errors import ClipError
from vmmetrics.types import FloatArray, UInt8Array
from vmmetrics.video.budget import MAX_CLIP_PIXELS, FrameStore, SizePlan, check_total, make_plan
from vmmetrics.video.timing import Timing, assumed, from_times, regular

if TYPE_CHECKING:
    import av


BACKGROUND = 255
"""Grey level behind transparent pixels: white, as on the pages where transparent clips are mostly shown."""

OVERSHOOT = 0.01
"""How far floats may lie outside 0..1 or -1..1 and be clipped: decoders of latent models overshoot by about this."""

# Matrix coefficients of ITU-T H.273, table 4.
_RGB_MATRIX, _BT709, _UNSPECIFIED, _BT601 = 0, 1, 2, 5
_MATRICES = {1: 1, 4: 4, 5: 5, 6: 5, 7: 7, 9: 9, 10: 9}
_LIMITED, _FULL = 1, 2

HDR_TRANSFERS = {16: "PQ", 18: "HLG"}
"""Transfer characteristics (H.273, table 3) that stand for high dynamic range."""

# Studio range: 219 steps of luma above 16 (ITU-R BT.601-7, 2.5.3).
_EXPAND_LIMITED = np.clip(np.rint((np.arange(256) - 16) * 255 / 219), 0, 255).astype(np.uint8)


def composite(rgba: UInt8Array) -> UInt8Array:
    """Put (H, W, 4) uint8 with straight alpha on :data:`BACKGROUND`; returns (H, W, 3) uint8."""
    colour = rgba[..., :3].astype(np.uint16)
    alpha = rgba[..., 3:].astype(np.uint16)
    return ((colour * alpha + BACKGROUND * (255 - alpha) + 127) // 255).astype(np.uint8)


def _opaque(rgba: UInt8Array) -> tuple[UInt8Array, bool]:
    """Return (H, W, 3) uint8 without alpha, or on :data:`BACKGROUND`; and whether any pixel was transparent."""
    if rgba[..., 3].min() == 255:
        return np.ascontiguousarray(rgba[..., :3]), False
    return composite(rgba), True


def picture_to_rgb(picture: Image.Image) -> tuple[UInt8Array, bool]:
    """Convert a loaded Pillow picture of any mode.

    Returns:
        (H, W, 3) uint8 RGB, and whether any pixel was transparent.

    Raises:
        ClipError: Floats outside of 0..1, or integers outside of 0..65535.
    """
    if picture.mode.startswith("I;16") or picture.mode in ("I", "F"):  # in 16 bits, or opened as 32-bit integers
        deep = np.asarray(picture).astype(np.float64)
        kind, white, slack = "grey in 0..65535", 65535.0, 0.0
        if picture.mode == "F":
            kind, white, slack = "floats in 0..1", 1.0, OVERSHOOT
        least, most = float(deep.min()), float(deep.max())
        if not -slack <= least <= most <= white + slack:  # false for NaN too
            raise ClipError(f"Expected {kind} but got {least:g}..{most:g}; save the frames with 8 or 16 bits")
        grey = np.rint(np.clip(deep * (255.0 / white), 0, 255)).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=-1), False
    if picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info:
        return _opaque(np.asarray(picture.convert("RGBA")))
    return np.asarray(picture.convert("RGB")), False


@dataclass(frozen=True, slots=True)
class Colour:
    """Colour properties of a stream's frames.

    Attributes:
        matrix: H.273 matrix number that swscale knows, or 0 for RGB.
        full_range: True if black is 0 rather than 16.
        alpha: True if the pixel format has an alpha channel.
        grey: True if the pixel format has luma alone.
        notes: Assumptions.
    """

    matrix: int
    full_range: bool
    alpha: bool
    grey: bool
    notes: tuple[str, ...]


def colour_of(frame: av.VideoFrame) -> Colour:
    """Work out matrix and range from the tags, or by convention where they are silent.

    Untagged YUV is BT.709 from 720 lines or 1280 columns on and BT.601 below, limited range, which is what players do.
    Untagged grey is full range, which is what FFmpeg writes.
    """
    layout = frame.format
    name = layout.name
    alpha = name == "pal8" or any(component.is_alpha for component in layout.components)
    grey = name.startswith(("gray", "ya", "mono"))
    notes: list[str] = []
    if layout.is_rgb or name == "pal8":
        return Colour(_RGB_MATRIX, True, alpha, False, ())
    tagged = int(frame.colorspace)
    fallback = _BT709 if frame.height >= 720 or frame.width >= 1280 else _BT601
    if tagged not in _MATRICES and tagged not in (_UNSPECIFIED, _RGB_MATRIX):
        notes.append(f"colour matrix {tagged} is not supported; BT.{709 if fallback == _BT709 else 601} assumed")
    stated = int(frame.color_range)
    full = stated == _FULL or name.startswith("yuvj") or (grey and stated != _LIMITED)
    return Colour(_MATRICES.get(tagged, fallback), full, alpha, grey, tuple(notes))


class FrameConverter:
    """Converts the decoded frames of one stream to RGB, with the colours stated explicitly to swscale.

    Left to its defaults swscale rounds down and takes chroma at half resolution; both are switched off here.
    """

    def __init__(self) -> None:
        from av.video.reformatter import Interpolation, VideoReformatter

        self._reformatter = VideoReformatter()
        self._way = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
        self._area = Interpolation.AREA

    def convert(
        self, frame: av.VideoFrame, colour: Colour, size: tuple[int, int] | None = None
    ) -> tuple[UInt8Array, bool]:
        """Return (H, W, 3) uint8 RGB, and whether any pixel was transparent.

        Args:
            frame: The frame.
            colour: Its colours.
            size: (width, height) to shrink it to in the same step, by areas; None keeps its size.
        """
        matrix = colour.matrix or _BT601  # swscale wants one for RGB input too, and does not use it
        picture = self._reformatter.reformat(
            frame,
            format="rgba" if colour.alpha else "rgb24",
            src_colorspace=matrix,
            dst_colorspace=matrix,
            src_color_range=_FULL if colour.full_range else _LIMITED,
            dst_color_range=_FULL,
            interpolation=self._way if size is None else self._area,
            **({} if size is None else {"width": size[0], "height": size[1]}),
        )
        rgb = np.asarray(picture.to_ndarray(), np.uint8)
        if colour.grey and not colour.full_range:
            # swscale takes every grey format as full range, whatever it is told.
            rgb[..., :3] = _EXPAND_LIMITED[rgb[..., :3]]
        return _opaque(rgb) if colour.alpha else (rgb, False)


@dataclass(frozen=True, slots=True)
class Orientation:
    """Rotation and mirroring that turn stored frames upright: transpose first, then flip."""

    transpose: bool = False
    flip_x: bool = False
    flip_y: bool = False

    @classmethod
    def from_display_matrix(cls, matrix: NDArray[np.int32]) -> Orientation:
        """Read FFmpeg's 3x3 display matrix, to the nearest 90 degrees.

        Stored (p, q) shows at x = a p + c q, y = b p + d q.
        """
        a, b, c, d = (int(matrix[i, j]) for i in (0, 1) for j in (0, 1))
        if abs(a) >= abs(b):
            return cls(False, a < 0, d < 0)
        return cls(True, c < 0, b < 0)

    @property
    def note(self) -> str | None:
        """Note on the change, or None."""
        if self == Orientation():
            return None
        turned = (self.transpose and self.flip_x != self.flip_y) or (not self.transpose and self.flip_x and self.flip_y)
        return "turned upright as the file states" if turned else "mirrored as the file states"

    def apply(self, rgb: UInt8Array) -> UInt8Array:
        """Return the upright frame as a contiguous array."""
        if self.transpose:
            rgb = rgb.swapaxes(0, 1)
        rgb = rgb[:: -1 if self.flip_y else 1, :: -1 if self.flip_x else 1]
        return np.ascontiguousarray(rgb)


# What each reader hands to :func:`vmmetrics.video.reader.read_clip`.


@dataclass(frozen=True, slots=True)
class Decoded:
    """Frames out of one source, before they are named.

    Attributes:
        frames: (T, H, W, 3) uint8 RGB.
        timing: Their times.
        size: (width, height) as stored in the source.
        notes: Assumptions and changes, those of the times excluded.
        codec: Name of the codec in the source, or None where there is none.
    """

    frames: UInt8Array
    timing: Timing
    size: tuple[int, int]
    notes: tuple[str, ...] = ()
    codec: str | None = None


@dataclass(frozen=True, slots=True)
class Frames:
    """Frames of a source that are decoded one after the other, as often as they are asked for.

    Attributes:
        timing: Their times.
        size: (width, height) upright, in square pixels.
        decode: Yields them, (H, W, 3) uint8 RGB, and adds notes on what it found to the list.
        notes: Notes that are known before.
        codec: As in :class:`Decoded`.
        stored: (width, height) as stored in the source, where that is another.
        most: Pixels that all of them may have.
    """

    timing: Timing
    size: tuple[int, int]
    decode: Callable[[list[str]], Iterator[UInt8Array]]
    notes: tuple[str, ...] = ()
    codec: str | None = None
    stored: tuple[int, int] | None = None
    most: int = MAX_CLIP_PIXELS

    def read(self, limits: Limits, choose: Callable[[], tuple[Sequence[int], SizePlan]] | None = None) -> Decoded:
        """Return them in memory, at the size that ``max_memory`` of ``limits`` allows.

        Args:
            limits: The limits.
            choose: Returns the indices of those that are wanted, and their size; None takes all.

        Raises:
            ClipError: They are damaged, or too large.
        """
        count, found = len(self.timing.timestamps), list[str]()
        if choose is None:
            wanted: Sequence[int] = range(count)
            plan = make_plan(count, *self.size, limits.max_memory, self.most)
        else:
            check_total(count, *self.size, self.most)
            wanted, plan = choose()
        store, numbers = FrameStore(plan), set(wanted)
        for number, rgb in enumerate(self.decode(found)):
            if number in numbers:
                store.add(rgb)
        timing = Timing(self.timing.timestamps[list(wanted)], self.timing.fps, self.timing.notes)
        notes = (*self.notes, plan.note, *found)
        return Decoded(store.frames, timing, self.stored or self.size, tuple(filter(None, notes)), self.codec)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Choice of frames and their size.

    Attributes:
        choose: From the times of all frames, (T,) seconds from the first, and the time at which the last one ends, to
            the indices of the chosen ones: at least one. None takes all, shrunk while they are converted.
        side: Longer side that frames are made smaller to; None keeps them as they are.
        reference: Without ``choose``: leave out frames that no other frame refers to, where the codec has such.
    """

    choose: Callable[[FloatArray, float], Sequence[int]] | None
    side: int | None = None
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits and assumptions for reading a clip.

    Attributes:
        max_memory: Bytes a clip may take while it is scored.
        assume_fps: Frame rate where the source states none.
        fps: Frame rate that overrides what the source states, or None.
        sampling: Choice of frames; None for all.
    """

    max_memory: int
    assume_fps: float
    fps: float | None = None
    sampling: Sampling | None = None

    def regular(self, count: int) -> Timing:
        """Return times of ``count`` frames of a source that states none."""
        return assumed(count, self.assume_fps) if self.fps is None else regular(count, self.fps)

    def timing(self, times: Sequence[float | None], rate: float | None) -> Timing:
        """Return times as a container states them, unless the rate is given."""
        return from_times(times, rate, self.assume_fps) if self.fps is None else regular(len(times), self.fps)


TRANSPARENT = "transparent pixels put on white"
"""Note on clips with transparent pixels."""
