"""Points followed through a clip: flow says where to look, the point's own picture whether it is there.

One call follows one set of points that belong together (an object, the background). For every step
1. visible points go where the flow takes them and are shifted until they fit their reference patch, which stops drift;
2. the motion of the set, a similarity fitted to them, carries the points that cannot be seen, so that a point that left
   the picture goes on outside it, and one behind an occluder moves on with the rest;
3. a point is visible where its patch fits, some of its neighbours are visible too;
4. a set out of sight altogether moves with the camera and its own dying speed, and is searched for around there.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from vmmetrics.perception.embedded.camera import apply, fit_similarity, rescale
from vmmetrics.perception.embedded.flow import Patches, inside, sample
from vmmetrics.perception.scene import Camera, Flow, PointTracks, Scene
from vmmetrics.types import BoolArray, FloatArray, IntArray

DISTINCT = 5.0
"""Grey levels per pixel, in the direction of least change, from which on a patch is not found just anywhere."""

WHOLE = 0.7
"""Share of the points in the picture that must be visible for their arrangement to be trusted."""

LONGEST_SEARCH = 128.0
"""Working pixels that a set out of sight may have gone, half of a usual frame's height."""


ALIKE = 0.55
"""Likeness to its reference patch at which a point that the flow follows stays visible. Likeness is that of
:meth:`~vmmetrics.perception.embedded.flow.Patches.likeness`."""

SURE = 0.75
"""Likeness at which a point counts as seen where the flow does not vouch for it."""

RENEW_BELOW = 0.85
"""Likeness under which a point that is safely followed gets a new reference patch (it turned)."""

REACH = 3.0
"""Working pixels, the farthest that fitting the patch may move a point away from where the flow took it."""

LIGHTING = 35.0
"""Change of grey level, against that of the whole set, that shows another surface."""

NEIGHBOURS = 6
"""How many nearest points say where a point should be and whether it can be visible."""

SPEED_HALF_LIFE = 0.25
"""Seconds in which the assumed own speed of a set out of sight halves."""


class GridTracker:
    """Follows sets of query points forwards and backwards; same answer as CoTracker gives."""

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
    """One set of points on its way in one direction of time."""

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
        """Go from frame ``t`` to the next one; returns the points that were found again."""
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
        """Keep the arrangement of the points while it can be trusted; a set out of sight returns to it.

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
        """Where the set's motion takes every point, and how it turns and scales patches (2, 2)."""
        by_camera = apply(self.camera[pair], was)
        count = int(safe.sum())
        if count == 0:
            self.speed = self.speed * self.decay
            self.lead += self.cruise - self.speed
            return by_camera + self.speed, np.eye(2)
        self.lead = np.zeros(2)
        own = np.median(there[safe] - by_camera[safe], axis=0)
        # The few points still seen while a set goes behind something say less about its speed than all did before.
        trust = 0.5 * (count / len(was)) ** 2 if self.cruise.any() else 1.0
        self.cruise = self.speed = self.cruise + trust * (own - self.cruise)
        if count < max(8, len(was) / 3) or np.ptp(was[safe], axis=0).max() < 6:
            return by_camera + own, np.eye(2)
        model = fit_similarity(was[safe], there[safe], noise=0.5)
        return apply(model, was), model[:2, :2]

    def _fit(
        self, reference: Patches, image: FloatArray, begin: FloatArray, linear: FloatArray, seen: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Shift points until their patches fit; returns where (N, 2) and the likeness (N,), −1 for another surface."""
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
        """Where points should be: as the set moves, and as the flow of the nearest ones differs from it in the median.

        At the rim of an object the flow is half the background's; its neighbours further in correct it.
        """
        if not safe.any():
            return carried
        near = _nearest(was[safe], was, NEIGHBOURS)
        return np.asarray(carried + np.median((there - carried)[safe][near], axis=1))

    def _convincing(self, active: IntArray, likeness: FloatArray, shifted: FloatArray) -> bool:
        """Whether enough points that cannot be mistaken for others were found, all together, for a lost set to be back.

        ``shifted`` (N, 2) is how far each point was moved to fit; by chance they go every way.
        """
        distinct = self.reference[active].corner() > DISTINCT
        if distinct.sum() < 4:
            return False
        matched = distinct & (likeness >= SURE + 0.05)
        if matched.any():
            matched &= np.hypot(*(shifted - np.median(shifted[matched], axis=0)).T) < 1.0
        return bool(matched.sum() >= 0.35 * distinct.sum())

    def _supported(self, at: FloatArray, fits: BoolArray) -> BoolArray:
        """Leave out chance finds in a set of eight or more.

        A third of a visible point's neighbours are visible, and a fifth of all points that lie in the picture.
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
        """Give points that changed slowly, with nothing passing in front of them, a new reference patch."""
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
        """Offset (2,) at which the hidden set shows again, 0 where it does not."""
        textured = np.flatnonzero(self.reference[active].corner() > DISTINCT)
        some = textured[:: max(1, len(textured) // 24)]
        length = min(float(np.hypot(*self.lead)), LONGEST_SEARCH)
        # It may have kept its speed, or slowed down or stopped out of sight: look all along that way.
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
        """Let points that were found again have moved evenly, but for the camera, since they were last known."""
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
    """(N, k) indices into ``of`` of the points nearest to each of ``to``."""
    _, index = cKDTree(of).query(to, k=range(1, min(count, len(of)) + 1))
    return np.asarray(index, np.int64)
