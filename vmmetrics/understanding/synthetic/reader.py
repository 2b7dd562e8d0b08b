"""The frame reader: a baseline that sees nothing but the frames shown, and knows what to look for.

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
"""Steps of each of red, green and blue by which a pixel of a marker's colour may differ: no two colours that are drawn
are within twice as much in all three, and coding at our quality moves the inside of a shape by a few."""
_LEAST: Final = 40
"""Units of area of a colour below which its marker is not there: the smallest marker has several times as many, edges
between other colours do not make so many."""
_RAISED: Final = 12.0
"""Units above its lowest place from which a marker is raised: lifts are over 30 in their first frame."""
_ELSEWHERE: Final = 60.0
"""Units between places that are not the same: holes are over 100 apart, rising in one takes under 40."""
_NEAR_RATIO: Final = 0.12
"""Share by which a ratio of speeds may differ from the option's."""
_NOTICED: Final = {"pan": 10.0, "zoom": 0.04, "roll": 1.8}
"""Units, logarithm of the scale, and degrees from which a camera has moved: a third or less of what ours do in the
first frame, many times the error of a centre."""


def find_markers(pictures: NDArray[np.uint8], names: Sequence[str]) -> Tracks:
    """Find markers by their colours.

    Args:
        pictures: (T, H, W, 3) RGB, of any size.
        names: Which markers.

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
    """Index of the one option that the frames say is right; None where they do not.

    Args:
        reading: What has to be read.
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
    """Times that a marker left the lower half of its way, along the axis it moves on more."""
    ways = np.ptp(track, axis=0)
    along = track[:, int(np.argmax(ways))]
    if np.isnan(along).any() or ways.max() < _RAISED:
        return 0
    beginning = along[0]
    far = np.abs(along - beginning) > np.abs(along - beginning).max() / 2
    return int((far[1:] & ~far[:-1]).sum())


def _cycles(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    return [value == _cycles_of(tracks[0]) for value in reading.values]


def _instances(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    seen = tracks[0][~np.isnan(tracks[0][:, 0])]
    new = [np.hypot(*(b - a)) > _ELSEWHERE for a, b in pairwise(seen)]
    count = int(sum(new)) + bool(len(seen))
    return [value == count for value in reading.values]


def _raised(track: FloatArray) -> NDArray[np.bool_]:
    """(T,) whether a marker is above its lowest place."""
    there = np.nan_to_num(track[:, 1], nan=-np.inf)
    raised: NDArray[np.bool_] = there < there.max() - _RAISED
    return raised


def _order(reading: Reading, tracks: list[FloatArray], _: FloatArray) -> list[bool]:
    """Options that have those seen raised in the order in which they were."""
    first = {name: int(np.argmax(up)) for name, track in zip(reading.markers, tracks, strict=True)
             if (up := _raised(track)).any()}  # fmt: skip
    seen = sorted(first, key=lambda name: first[name])
    return [[name for name in value if name in first] == seen for value in reading.values]


def _turning(reading: Reading, tracks: list[FloatArray], share: FloatArray) -> list[bool]:
    """Way it turns in each half of the clip, if all steps within it agree."""
    dot, hub = tracks
    angle = np.arctan2(*(dot - hub).T[::-1])
    step = (np.diff(angle) + np.pi) % (2 * np.pi) - np.pi
    ways = ""
    for inside in (share[1:] <= 0.5, share[:-1] >= 0.5):
        signs = set(np.sign(step[inside]))
        ways += {1.0: "+", -1.0: "-"}.get(signs.pop(), "?") if len(signs) == 1 else "?"
    return [value == ways for value in reading.values]


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
_READERS: Final[tuple[Reader, ...]] = (_cycles, _instances, _order, _turning, _ratio, _gone, _together, _camera)
READERS: Final[Mapping[str, Reader]] = {reader.__name__[1:]: reader for reader in _READERS}
"""From what is wanted, the markers' tracks and the frames' places in the clip (0..1) to which options fit."""


# As a model: it answers from the frames shown, and fails where they are too few.

UNSURE = "The frames do not show it."
"""Said where they leave several options, or none."""
_NOT_OURS = "The frame reader answers questions of the synthetic suite only"


class FrameReader(OneByOne):
    """Knows what to look for in each question of the suite; sees nothing but what it is shown."""

    sees = True
    name = "frame-reader"
    identity: Mapping[str, Any] = MappingProxyType({"frame-reader": 1})

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:  # noqa: ARG002
        """A letter, or that the frames do not show it.

        Raises:
            SetupError: It is no question of the synthetic suite.
        """
        index = look_up(question, frames)
        return ModelAnswer(UNSURE if index is None else LETTERS[index])


def look_up(question: Question, frames: Frames, begun: float = 0.0) -> int | None:
    """Index of the option that frames show to be right; None where they do not.

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
    """Length of a question's clip.

    Raises:
        SetupError: It is no question of the synthetic suite.
    """
    try:
        return float(question.reference["frames"] / question.reference["fps"])
    except KeyError as error:
        raise SetupError(_NOT_OURS) from error
