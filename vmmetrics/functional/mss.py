"""MSS, motion smoothness: the share of frames without a drop of quality."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from vmmetrics.functional._checks import as_floats, check_protocol
from vmmetrics.functional.event_costs import Loss
from vmmetrics.types import BoolArray, Event, FloatArray, MetricResult, Protocol


@dataclass(frozen=True, slots=True)
class SmoothnessThresholds:
    """Allowed change of quality by amplitude of motion, since fast motion blurs.

    A table is specific to a protocol and a quality model: amplitudes are in the protocol's unit, thresholds in the
    model's.

    Attributes:
        amplitude_bounds: Ascending amplitudes that separate the rows; a bound belongs to the row above it.
        thresholds: One threshold per row, one more than there are bounds.
        unknown_amplitude: Threshold where the amplitude is missing.
    """

    amplitude_bounds: tuple[float, ...]
    thresholds: tuple[float, ...]
    unknown_amplitude: float

    def at(self, amplitude: float | None) -> float:
        """Return the threshold at ``amplitude``, None where it is missing.

        Raises:
            ValueError: If ``amplitude`` is negative or not finite.
        """
        if amplitude is None:
            return self.unknown_amplitude
        if not np.isfinite(amplitude) or amplitude < 0:
            raise ValueError(f"Expected amplitude to be None or at least 0 but got {amplitude}")
        return self.thresholds[bisect.bisect_right(self.amplitude_bounds, amplitude)]


# VMBench's amplitudes are diagonals per clip; its 49-frame clips at 8 fps last 48 / 8 = 6 s from first to last frame.
_VMBENCH_CLIP_SECONDS = 6.0
_Q_ALIGN_BOUNDS = (0.1, 0.3, 0.5)
_Q_ALIGN_THRESHOLDS = (0.01, 0.015, 0.025, 0.03)

SMOOTHNESS_THRESHOLDS: Mapping[str, SmoothnessThresholds] = MappingProxyType(
    {
        "vmbench": SmoothnessThresholds(_Q_ALIGN_BOUNDS, _Q_ALIGN_THRESHOLDS, unknown_amplitude=0.01),
        "vmmetrics": SmoothnessThresholds(
            tuple(bound / _VMBENCH_CLIP_SECONDS for bound in _Q_ALIGN_BOUNDS), _Q_ALIGN_THRESHOLDS, 0.01
        ),
    }
)
"""The table used per protocol where no ``threshold`` is given; both are for Q-Align's video quality."""


def motion_smoothness_score(
    quality: ArrayLike,
    amplitude: float | None = None,
    *,
    threshold: float | None = None,
    unsteadiness: ArrayLike | None = None,
    protocol: Protocol = "vmmetrics",
) -> MetricResult:
    """Score motion smoothness: one minus the share of frames with a drop of quality.

    ``vmmetrics`` (the paper): MSS = 1 − (1/T) Σ_{t≥1} 1(Q(t−1) − Q(t) > τ). A drop flags the frame it leads to.
    With ``unsteadiness`` u, an extension of the paper: MSS = 1 − (1/T) Σ_t max(1(drop at t), u(t)²). A clip that is
    unsteady throughout never drops, and would count as smooth; the square discounts a little of it.
    ``vmbench`` (the released code): a change in either direction flags both frames of the pair.

    Args:
        quality: (T,) float in 0..1, 1 best, one value per frame.
        amplitude: Amplitude of the clip's motion, the ``.amplitude`` of PAS under the same protocol (diagonals per
            second under ``vmmetrics``, per clip under ``vmbench``); None where it is missing.
        threshold: τ, in the unit of ``quality``; None takes it from :data:`SMOOTHNESS_THRESHOLDS` at ``amplitude``.
            Another quality model than Q-Align needs its own.
        unsteadiness: (T,) float in 0..1, deviation of each frame's content from both neighbours; None where unknown.
            Only under ``vmmetrics``.
        protocol: ``"vmmetrics"`` or ``"vmbench"``.

    Returns:
        Score in 0..1, 1 best; missing for one frame under ``vmmetrics`` (``vmbench`` gives 1). One event per flagged
        frame with a drop of quality. Series: ``quality``, ``change`` (Q(t) − Q(t−1), NaN at frame 0), and
        ``unsteadiness`` where it is given.

    Raises:
        ValueError: If ``quality`` is empty, not (T,), NaN or outside 0..1; if ``amplitude`` or ``threshold`` is
            negative or not finite; if ``unsteadiness`` is not (T,) in 0..1, or given for ``vmbench``; if
            ``protocol`` is unknown.

    References:
        VMBench (arXiv 2503.10076), motion smoothness score; released code's quirk Q16 in ``docs/protocols.md``.

    Example:
        >>> quality = [0.80, 0.80, 0.70, 0.80, 0.80]
        >>> motion_smoothness_score(quality, threshold=0.05).score
        0.8
        >>> motion_smoothness_score(quality, threshold=0.05, protocol="vmbench").score
        0.4
    """
    check_protocol(protocol)
    values = as_floats("quality", quality, "T")
    if len(values) == 0:
        raise ValueError("Expected quality of at least one frame but got shape (0,)")
    if values.min() < 0 or values.max() > 1:
        raise ValueError(f"Expected quality in 0..1 but got values from {values.min():.6g} to {values.max():.6g}")
    allowed = SMOOTHNESS_THRESHOLDS[protocol].at(amplitude)
    if threshold is not None:
        if not np.isfinite(threshold) or threshold < 0:
            raise ValueError(f"Expected threshold to be None or at least 0 but got {threshold}")
        allowed = float(threshold)

    change = np.diff(values)
    if protocol == "vmbench":
        breaks = np.abs(change) > allowed
        flagged = np.concatenate([breaks, [False]]) | np.concatenate([[False], breaks])
    elif len(values) == 1:
        return MetricResult(score=None, missing="one frame: no change of quality to judge")
    else:
        flagged = np.concatenate([[False], -change > allowed])
    series = {"quality": values, "change": np.concatenate([[np.nan], change])}
    cost = flagged.astype(np.float64)
    if unsteadiness is not None:
        series["unsteadiness"] = _checked_unsteadiness(unsteadiness, len(values), protocol)
        cost = np.maximum(cost, series["unsteadiness"] ** 2)
    return MetricResult(
        score=1 - float(cost.sum()) / len(values),
        events=_events(flagged, change, allowed),
        series=MappingProxyType(series),
    )


def _checked_unsteadiness(unsteadiness: ArrayLike, frames: int, protocol: Protocol) -> FloatArray:
    if protocol == "vmbench":
        raise ValueError("Expected no unsteadiness under protocol 'vmbench': the released code has none")
    values = as_floats("unsteadiness", unsteadiness, "T")
    if len(values) != frames or values.min() < 0 or values.max() > 1:
        raise ValueError(
            f"Expected unsteadiness ({frames},) in 0..1 but got {values.shape}, {values.min()} to {values.max()}"
        )
    return values


def _events(flagged: BoolArray, change: FloatArray, allowed: float) -> tuple[Event, ...]:
    events = []
    for frame in np.flatnonzero(flagged).tolist():
        into = change[frame - 1] if frame > 0 else 0.0
        out_of = change[frame] if frame < len(change) else 0.0
        # the change that flagged the frame: the one into it, or under vmbench also the one out of it
        blamed = into if abs(into) > allowed else out_of
        reason = "quality drops" if blamed < 0 else "quality jumps up"
        events.append(Event("mss", (frame,), reason, magnitude=abs(float(blamed)), threshold=allowed))
    return tuple(events)


def divide_loss(loss: Loss) -> list[float | None]:
    """Return the cost of each unexcused event (:mod:`.event_costs`): 1/T; the rest of the loss is unsteadiness."""
    return [1 / loss.num_frames] * len(loss.events)
