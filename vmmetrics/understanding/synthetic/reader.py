"""Frame reader: a baseline that uses only the frames shown, with rules for each kind of question.

It finds the markers by their colours and reads the frames as people do: what moved took the shortest way, what was not
seen did not happen. Where that leaves several options, or none, it has no answer. It is limited by its frames as a
model is: where they are fewer than minFPS asks for it may find no answer, or a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import ModelAnswer, OneByOne
from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.types import FloatArray
from vmmetrics.understanding.synthetic.figures import MARKERS, SIDE, Picture
from vmmetrics.understanding.synthetic.scenes import Reading, Tracks, reading_of
from vmmetrics.utils.endpoint.messages import Turn

_NEAR: Final = 40
"""Largest difference per colour channel, 0 to 255, between a pixel and its marker's colour: any two drawn colours
differ by more than twice this in a channel; coding changes the inside of a shape by a few."""
_LEAST: Final = 40
"""Smallest visible area of a marker, square units: the smallest marker has several times this, edges of other colours
less."""
_RAISED: Final = 12.0
"""Height above its lowest position from which a marker is raised, units: lifts exceed 30 in their first frame."""
_ELSEWHERE: Final = 60.0
"""Least distance of different positions, units: holes are over 100 apart, rising in one takes under 40."""
_NEAR_RATIO: Final = 0.12
"""Largest relative difference of a speed ratio from the option's."""
_NOTICED: Final = {"pan": 10.0, "zoom": 0.04, "roll": 1.8}
"""Least camera motion, in units, logarithm of scale, and degrees: a third or less of ours in the first frame, many
times the error of a centre."""


def find_markers(pictures: NDArray[np.uint8], names: Sequence[str]) -> Tracks:
    """Locate markers by colour.

    Args:
        pictures: (T, H, W, 3) RGB, of any size.
        names: Marker names.

    Returns:
        Of each (T, 2) x and y in units of SIDE, whatever the pictures' size.
    """
    return {name: np.array([_centre(picture, name) for picture in pictures]).reshape(-1, 2) for name in names}


def _centre(picture: Picture, name: str) -> FloatArray:
    colour = np.array(MARKERS[name])
    moments = cv2.moments(cv2.inRange(picture, colour - _NEAR, colour + _NEAR), binaryImage=True)
    count, unit = moments["m00"], SIDE / picture.shape[1]
    at = np.array([moments["m10"], moments["m01"]]) / max(count, 1)
    return (at + 0.5) * unit - 0.5 if count * unit**2 >= _LEAST else np.full(2, np.nan)


def answer(reading: Reading, tracks: Tracks, seconds: float, times: Sequence[float]) -> int | None:
    """Return the index of the only option that fits the frames; None for none or several.

    Args:
        reading: The reading.
        tracks: Of the markers in the frames shown.
        seconds: Length of the clip.
        times: (T,) seconds of the frames.
    """
    if not len(times):
        return None
    shape = (len(times), 2)
    of_markers = [tracks.get(name, np.full(shape, np.nan)) for name in reading.markers]
    fits = READERS[reading.kind](reading, of_markers, np.asarray(times) / seconds)
    indices = np.flatnonzero(fits)
    return int(indices[0]) if len(indices) == 1 else None


def _cycles_of(track: FloatArray) -> int:
    """Count how often a marker leaves the lower half of its range, along its main axis."""
    ways = np.ptp(track, axis=0)
    along = track[:, int(np.argmax(ways))]
    if np.isnan(along).any() or ways.max() < _RAISED:
        return 0
    beginning = along[0]
    beyond_half = np.abs(along - beginning) > np.abs(along - beginning).max() / 2
    return int((beyond_half[1:] & ~beyond_half[:-1]).sum())


def _cycles(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    return [value == _cycles_of(tracks[0]) for value in reading.values]


def _places(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    seen = tracks[0][~np.isnan(tracks[0][:, 0])]
    new = [np.hypot(*(b - a)) > _ELSEWHERE for a, b in pairwise(seen)]
    count = int(sum(new)) + bool(len(seen))
    return [value == count for value in reading.values]


def _raised(track: FloatArray) -> NDArray[np.bool_]:
    """Return (T,) bool: the marker is above its lowest position."""
    heights = np.nan_to_num(track[:, 1], nan=-np.inf)
    raised: NDArray[np.bool_] = heights < heights.max() - _RAISED
    return raised


def _order(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    """Return the options that agree with the order in which markers were raised."""
    first = {name: int(np.argmax(up)) for name, track in zip(reading.markers, tracks, strict=True)
             if (up := _raised(track)).any()}  # fmt: skip
    seen = sorted(first, key=lambda name: first[name])
    return [[name for name in value if name in first] == seen for value in reading.values]


def _turning(reading: Reading, tracks: list[FloatArray], relative_times: FloatArray) -> list[bool]:
    """Return the options whose direction of rotation, one sign per half of the clip, is that of all steps seen."""
    dot, hub = tracks
    angle = np.arctan2(*(dot - hub).T[::-1])
    step = (np.diff(angle) + np.pi) % (2 * np.pi) - np.pi
    directions = ""  # of the first and second half: "+" clockwise, "-" anticlockwise, "?" mixed or not seen
    for in_half in (relative_times[1:] <= 0.5, relative_times[:-1] >= 0.5):
        signs = set(np.sign(step[in_half]))
        directions += {1.0: "+", -1.0: "-"}.get(signs.pop(), "?") if len(signs) == 1 else "?"
    return [value == directions for value in reading.values]


def _ratio(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    first, second = (_cycles_of(track) for track in tracks)
    if not first or not second:
        return [False] * len(reading.values)
    return [abs(np.log(first / second / value)) < np.log1p(_NEAR_RATIO) for value in reading.values]


def _gone(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    missing = {name for name, track in zip(reading.markers, tracks, strict=True) if np.isnan(track[:, 0]).any()}
    return [value in missing for value in reading.values]


def _together(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    raised = {name: _raised(track) for name, track in zip(reading.markers, tracks, strict=True)}
    return [np.array_equal(raised[a], raised[b]) for a, b in reading.values]


def _camera(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    """Infer the camera motion from two landmarks, between the first frame and the one that differs most."""
    left, right = tracks
    if len(left) < 2 or np.isnan(left).any() or np.isnan(right).any():
        return [False] * len(reading.values)
    middle, across = (left + right) / 2, right - left
    pan = (middle - middle[0])[:, 0] / _NOTICED["pan"]
    zoom = np.log(np.hypot(*across.T) / np.hypot(*across[0])) / _NOTICED["zoom"]
    roll = np.degrees(np.arctan2(*across.T[::-1]) - np.arctan2(*across[0][::-1])) / _NOTICED["roll"]
    moved = {"pan": pan, "zoom": zoom, "roll": roll}
    kind = max(moved, key=lambda name: float(np.abs(moved[name]).max()))
    most = float(moved[kind][np.argmax(np.abs(moved[kind]))])
    # what is in the picture moves against the camera
    motion = {"pan": "left" if most > 0 else "right", "zoom": "in" if most > 0 else "out", "roll": "roll"}[kind]
    return [value == (motion if abs(most) > 1 else "still") for value in reading.values]


Reader = Callable[[Reading, list[FloatArray], FloatArray], Sequence[Any]]
_READERS: Final[tuple[Reader, ...]] = (_cycles, _places, _order, _turning, _ratio, _gone, _together, _camera)
READERS: Final[Mapping[str, Reader]] = {reader.__name__[1:]: reader for reader in _READERS}
"""Readers by kind: from the reading, the marker tracks and the relative frame times (0..1) to the options that fit."""


# As a model: it answers from the frames shown, and fails where they are too few.

UNSURE = "The frames do not show it."
"""Answer where the frames leave several options, or none."""
_NOT_OURS = "The frame reader answers questions of the synthetic suite only"


class FrameReader(OneByOne):
    """Model with a rule for each question of the suite, which sees only the frames shown."""

    sees = True
    name = "frame-reader"
    identity: Mapping[str, Any] = MappingProxyType({"frame-reader": 1})

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:  # noqa: ARG002
        """Return a letter, or :data:`UNSURE`.

        Raises:
            SetupError: It is no question of the synthetic suite.
        """
        index = look_up(question, frames)
        return ModelAnswer(UNSURE if index is None else LETTERS[index])


def look_up(question: Question, frames: Frames, begun: float = 0.0) -> int | None:
    """Return the index of the option that the frames show to be right; None if they do not.

    Args:
        question: Of the synthetic suite.
        frames: Of its clip.
        begun: Second of the clip at which they begin to be taken.

    Raises:
        SetupError: It is no question of the synthetic suite.
    """
    try:
        reading = reading_of(question.reference["reading"])
    except KeyError as error:
        raise SetupError(_NOT_OURS) from error
    times = [begun + second for second in frames.shown.seconds]
    return answer(reading, find_markers(frames.pictures, reading.markers), seconds_of(question), times)


def seconds_of(question: Question) -> float:
    """Return the length of a question's clip, seconds.

    Raises:
        SetupError: It is no question of the synthetic suite.
    """
    try:
        return float(question.reference["frames"] / question.reference["fps"])
    except KeyError as error:
        raise SetupError(_NOT_OURS) from error
