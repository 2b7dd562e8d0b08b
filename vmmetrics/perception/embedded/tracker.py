"""Point tracking through a clip: flow predicts positions, reference patches decide visibility and correct drift.

One call follows one set of points that belong together (an object, the background). For every step
1. visible points follow the flow and are shifted until they fit their reference patch, which stops drift;
2. the motion of the set, a similarity fitted to them, carries the invisible points: outside the frame, or behind an
   occluder together with the rest;
3. a point is visible where its patch fits and some of its neighbours are visible too;
4. a set that is wholly invisible moves with the camera and its own decaying speed, and is searched for around there.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from vmmetrics.perception.embedded.camera import apply, fit_similarity, rescale
from vmmetrics.perception.embedded.flow import Patches, inside, sample
from vmmetrics.perception.scene import Camera, Flow, PointTracks, Scene
from vmmetrics.types import BoolArray, FloatArray, IntArray

DISTINCT = 5.0
"""Slope in grey levels per pixel, in the direction of least change, from which a patch is distinctive."""

WHOLE = 0.7
"""Share of the points within the frame that must be visible for their layout to be trusted."""

LONGEST_SEARCH = 128.0
"""Working pixels that an invisible set may have moved: half the height of a usual frame."""


ALIKE = 0.55
"""Similarity to its reference patch (:meth:`~vmmetrics.perception.embedded.flow.Patches.likeness`) from which a point
with consistent flow stays visible."""

SURE = 0.75
"""Similarity from which a point without consistent flow counts as visible."""

RENEW_BELOW = 0.85
"""Similarity below which a point with consistent flow gets a new reference patch (its surface turned)."""

REACH = 3.0
"""Largest distance, working pixels, that fitting the patch may move a point from the flow's prediction."""

LIGHTING = 35.0
"""Change of grey level, relative to the whole set's, from which a patch shows another surface."""

NEIGHBOURS = 6
"""Number of nearest points that predict a point's position and support its visibility."""

SPEED_HALF_LIFE = 0.25
"""Half-life, seconds, of the assumed own speed of an invisible set."""


class GridTracker:
    """Tracker of query points, forwards and backwards, with the output format of CoTracker."""

    def track(self, scene: Scene, queries: FloatArray) -> PointTracks:
        """Track ``queries`` (N, 3): frame index, x, y in clip pixels.

        Raises:
            ValueError: If ``queries`` is not (N, 3), not finite, or names a frame that the clip does not have.
        """
        frames = len(scene.clip)
        queries = np.asarray(queries, np.float64)
        if queries.ndim != 2 or queries.shape[1] != 3 or not np.isfinite(queries).all():
            raise ValueError(f"Expected finite queries of shape (N, 3) but got shape {queries.shape}")
        start = queries[:, 0].astype(np.int64)
        if len(start) and (start.min() < 0 or start.max() >= frames):
            raise ValueError(f"Expected query frames in 0..{frames - 1} but got {start.min()}..{start.max()}")
        scale = np.array(scene.flow.scale)
        at = (queries[:, 1:] + 0.5) / scale - 0.5
        xy = np.zeros((frames, len(queries), 2))
        visible = np.zeros((frames, len(queries)), np.bool_)
        if len(queries):
            decay = 0.5 ** (1.0 / (SPEED_HALF_LIFE * scene.clip.fps))
            for forwards in (True, False):
                _Walk(scene.flow, scene.camera, forwards, decay).run(start, at, xy, visible)
        return PointTracks((xy + 0.5) * scale - 0.5, visible, start)


class _Walk:
    """State of one set of points, tracked in one direction of time."""

    def __init__(self, flow: Flow, camera: Camera, forwards: bool, decay: float) -> None:
        self.images, self.forwards, self.decay = flow.images, forwards, decay
        inverse_scale = (1 / flow.scale[0], 1 / flow.scale[1])
        models = camera.homographies if forwards else np.linalg.inv(camera.homographies)
        self.camera = [rescale(model, inverse_scale) for model in models]
        self.flow, self.valid = (flow.forward, flow.forward_valid) if forwards else (flow.backward, flow.backward_valid)

    def run(self, start: IntArray, at: FloatArray, xy: FloatArray, visible: BoolArray) -> None:
        """Fill ``xy`` (T, N, 2) and ``visible`` (T, N) from each point's ``start`` frame on."""
        count, frames = len(start), len(self.images)
        self.at = at.copy()
        self.seen = np.zeros(count, np.bool_)
        self.last_seen = start.copy()
        self.linear = np.tile(np.eye(2), (count, 1, 1))
        self.layout = at.copy()
        self.reference = Patches.cut(np.zeros((1, 1), np.float32), at)
        self.cruise, self.speed, self.lead = np.zeros(2), np.zeros(2), np.zeros(2)
        order = range(frames) if self.forwards else range(frames - 1, -1, -1)
        image = self.images[order[0]].astype(np.float32)
        for t in order:
            new = start == t
            if new.any():
                self.reference.replace(new, Patches.cut(image, at[new]))
                self.seen[new] = self._inside(at[new])
            active = np.flatnonzero(start <= t if self.forwards else start >= t)
            xy[t, active], visible[t, active] = self.at[active], self.seen[active]
            if t == order[-1]:
                break
            following = self.images[t + order.step].astype(np.float32)
            if len(active):
                reappeared = self._step(t, active, image, following)
                self._close_gaps(reappeared, t + order.step, xy)
            image = following

    def _step(self, t: int, active: IntArray, image: FloatArray, following: FloatArray) -> IntArray:
        """Advance from frame ``t`` to the next one and return the points that became visible again."""
        pair = t if self.forwards else t - 1
        was, seen = self.at[active], self.seen[active]
        motion = sample(self.flow[pair], was[:, None])[0][:, 0]
        safe = seen & self._is_valid(pair, was)
        carried, turn = self._carry(pair, was, was + motion, safe)
        linear = turn @ self.linear[active]
        hidden = not seen.any()
        expected = self._expected(was, was + motion, carried, safe)
        if hidden:
            expected = expected + self._search(following, active, carried, linear)
        at, likeness = self._fit(self.reference[active], following, expected, linear, seen)
        fits = self._inside(at) & (likeness >= np.where(safe, ALIKE, SURE))
        fits &= safe | hidden | (np.hypot(*(at - expected).T) < REACH / 2)
        now = self._supported(at, fits)
        reappeared = now & ~seen
        if hidden and self._convincing(active, likeness, at - expected):
            carried, reappeared = expected, np.ones_like(seen)
        elif hidden:
            now, reappeared = np.zeros_like(seen), np.zeros_like(seen)
        self.at[active] = np.where(now[:, None], at, carried)
        self.seen[active] = now
        self._remember(pair, active, linear, vanished=bool(seen.any() and not now.any()))
        self._renew(pair, active, image, following, was, now & safe & (likeness < RENEW_BELOW))
        return active[reappeared]

    def _remember(self, pair: int, active: IntArray, linear: FloatArray, vanished: bool) -> None:
        """Update the layout of the points while it can be trusted; a set that vanishes is reset to it.

        Points that an occluder is about to cover stick to its edge for a frame or two.
        """
        at = self.at[active]
        within = self._inside(at)
        if self.seen[active].sum() >= WHOLE * within.sum():
            self.layout[active], self.linear[active] = at, linear
            return
        self.layout[active] = apply(self.camera[pair], self.layout[active]) + self.speed
        if vanished:
            self.at[active] = self.layout[active]

    def _carry(self, pair: int, was: FloatArray, there: FloatArray, safe: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the positions (N, 2) predicted by the set's motion, and its linear part (2, 2) for the patches."""
        by_camera = apply(self.camera[pair], was)
        count = int(safe.sum())
        if count == 0:
            self.speed = self.speed * self.decay
            self.lead += self.cruise - self.speed
            return by_camera + self.speed, np.eye(2)
        self.lead = np.zeros(2)
        own = np.median(there[safe] - by_camera[safe], axis=0)
        # The few points still visible while a set gets occluded tell less about its speed than all did before.
        trust = 0.5 * (count / len(was)) ** 2 if self.cruise.any() else 1.0
        self.cruise = self.speed = self.cruise + trust * (own - self.cruise)
        if count < max(8, len(was) / 3) or np.ptp(was[safe], axis=0).max() < 6:
            return by_camera + own, np.eye(2)
        model = fit_similarity(was[safe], there[safe], noise=0.5)
        return apply(model, was), model[:2, :2]

    def _fit(
        self, reference: Patches, image: FloatArray, begin: FloatArray, linear: FloatArray, seen: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Shift points until their patches fit; return positions (N, 2) and similarity (N,), −1 for another surface."""
        at = begin.copy()
        likeness = np.full(len(begin), -1.0)
        near = np.flatnonzero(self._inside(begin))
        if len(near) == 0:
            return at, likeness
        part, turn = reference[near], linear[near]
        fitted = part.fit(image, begin[near], turn)
        too_far = np.hypot(*(fitted - begin[near]).T) > REACH
        fitted[too_far] = begin[near][too_far]
        at[near] = fitted
        alike, shift = part.likeness(image, fitted, turn)
        usual = float(np.clip(np.median(shift[seen[near]]), -15, 15)) if seen[near].any() else 0.0
        likeness[near] = np.where(np.abs(shift - usual) < LIGHTING, alike, -1.0)
        return at, likeness

    def _expected(self, was: FloatArray, there: FloatArray, carried: FloatArray, safe: BoolArray) -> FloatArray:
        """Return predicted positions (N, 2): the set's motion plus the nearest points' median deviation from it.

        At the rim of an object the flow is half the background's; its neighbours further in correct it.
        """
        if not safe.any():
            return carried
        near = _nearest(was[safe], was, NEIGHBOURS)
        return np.asarray(carried + np.median((there - carried)[safe][near], axis=1))

    def _convincing(self, active: IntArray, likeness: FloatArray, shifted: FloatArray) -> bool:
        """Return True if enough distinctive points fit, with a common shift, for an invisible set to be back.

        ``shifted`` (N, 2) is the displacement of each point by the fit; chance matches have no common direction.
        """
        distinct = self.reference[active].corner() > DISTINCT
        if distinct.sum() < 4:
            return False
        matched = distinct & (likeness >= SURE + 0.05)
        if matched.any():
            matched &= np.hypot(*(shifted - np.median(shifted[matched], axis=0)).T) < 1.0
        return bool(matched.sum() >= 0.35 * distinct.sum())

    def _supported(self, at: FloatArray, fits: BoolArray) -> BoolArray:
        """Return ``fits`` (N,) without chance matches, in a set of eight or more.

        A third of a visible point's neighbours are visible, and a fifth of all points within the frame.
        """
        if len(at) < 8 or not fits.any():
            return fits
        near = _nearest(at, at, NEIGHBOURS + 1)[:, 1:]
        supported: BoolArray = fits & (fits[near].mean(1) >= 1 / 3)
        if supported.sum() < self._inside(at).sum() / 5:
            supported[:] = False
        return supported

    def _renew(
        self, pair: int, active: IntArray, image: FloatArray, following: FloatArray, was: FloatArray, stale: BoolArray
    ) -> None:
        """Renew the reference patches of ``stale`` (N,) points that have consistent flow around them."""
        stale = stale.copy()
        for dx, dy in ((-3, -3), (3, -3), (-3, 3), (3, 3)):
            stale &= self._is_valid(pair, was + np.array([dx, dy]))
        which = active[stale]
        if len(which) == 0:
            return
        lately = Patches.cut(image, was[stale])
        upright = np.tile(np.eye(2), (len(which), 1, 1))
        likeness, _ = lately.likeness(following, self.at[which], upright)
        which = which[likeness >= 0.9]
        if len(which):
            self.reference.replace(which, Patches.cut(following, self.at[which]))
            self.linear[which] = np.eye(2)

    def _search(self, image: FloatArray, active: IntArray, carried: FloatArray, linear: FloatArray) -> FloatArray:
        """Return the offset (2,) at which the invisible set reappears, 0 where it does not."""
        textured = np.flatnonzero(self.reference[active].corner() > DISTINCT)
        some = textured[:: max(1, len(textured) // 24)]
        length = min(float(np.hypot(*self.lead)), LONGEST_SEARCH)
        # It may have kept its speed, slowed down or stopped while invisible: search along that whole path.
        ahead = self.lead / np.hypot(*self.lead) if length > 0 else np.array([1.0, 0.0])
        along, across = np.arange(-12.0, 1.2 * length + 13.0, 3.0), np.arange(-9.0, 10.0, 3.0)
        grid = np.stack(np.meshgrid(along, across), -1).reshape(-1, 2)
        offsets = grid @ np.array([ahead, [-ahead[1], ahead[0]]])
        candidates = carried[some] + offsets[:, None]
        within = self._inside(candidates)
        possible = within.mean(1) >= 0.2 if len(some) else np.zeros(len(offsets), np.bool_)
        if len(some) < 4 or not possible.any():
            return np.zeros(2)
        offsets, candidates, within = offsets[possible], candidates[possible], within[possible]
        reference = self.reference[active[some]].coarse(len(offsets))
        turn = np.tile(linear[some], (len(offsets), 1, 1))
        likeness, shift = reference.likeness(image, candidates.reshape(-1, 2), turn)
        hit = (likeness > 0.6) & (np.abs(shift) < LIGHTING)
        share = (hit.reshape(within.shape) & within).mean(1)
        best = int(np.argmax(share))
        return offsets[best] if share[best] >= 0.2 else np.zeros(2)

    def _close_gaps(self, reappeared: IntArray, now: int, xy: FloatArray) -> None:
        """Interpolate the path of ``reappeared`` points since last seen: even motion on top of the camera's."""
        for since in np.unique(self.last_seen[reappeared]).tolist():
            which = reappeared[self.last_seen[reappeared] == since]
            gap = abs(now - since)
            path = [xy[since, which]]
            for k in range(gap):
                path.append(apply(self.camera[since + k if self.forwards else since - k - 1], path[-1]))
            missed = self.at[which] - path[-1]
            for k in range(1, gap):
                xy[since + k if self.forwards else since - k, which] = path[k] + missed * (k / gap)
        self.last_seen[self.seen] = now
        self.last_seen[reappeared] = now

    def _is_valid(self, pair: int, points: FloatArray) -> BoolArray:
        height, width = self.images.shape[1:]
        x, y = np.rint(points).astype(int).T
        return np.asarray(self.valid[pair][np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)])

    def _inside(self, points: FloatArray) -> BoolArray:
        return inside(points, *self.images.shape[1:])


def _nearest(of: FloatArray, to: FloatArray, count: int) -> IntArray:
    """Return (N, k) indices into ``of`` of the points nearest to each of ``to``."""
    _, index = cKDTree(of).query(to, k=range(1, min(count, len(of)) + 1))
    return np.asarray(index, np.int64)
