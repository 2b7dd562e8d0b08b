"""The embedded commonsense classifier: evidence against the motion of a clip, weighed as the ladder taught.

Views (:mod:`.views`) → deep features and flow at one size and pace → evidence cell by cell
(:mod:`.evidence`) → numbers (:mod:`.model`) → five probabilities
(:mod:`.model`). Trained by ``python -m benchmarks.cas_recipe.recipe``; no rating of anybody had a part in
it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vmmetrics.perception.embedded.plausibility import model as plausibility_model
from vmmetrics.perception.embedded.plausibility.evidence import CELLS, PlausibilityEvidence, gather
from vmmetrics.perception.embedded.plausibility.model import (
    NAMES,
    SUMMARIES,
    OrdinalModel,
    summarise,
    summarise_map,
    view_of,
)
from vmmetrics.perception.embedded.plausibility.views import Backbone, choose_strands, pictures
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray, Look
from vmmetrics.utils.weights.manifest import weight_path

PARTS = 4
"""Parts along each side of the picture that are hidden in turn to see what the model looked at."""
MOMENTS = 4
"""Stretches of a view that they are hidden in."""
_LITTLE = 0.2  # of the best part's gain; what has less is shared out evenly over the moments, which nobody will see
_NO_GAIN = 1e-6  # shares the whole out evenly where no moment alone changes anything
MAPS_HIDDEN = 12
"""Maps that matter most to the view; the rest hardly change when they are hidden."""

REASONS = {
    "drift": "content changes on its way",
    "foreign": "content that neither neighbouring frame has",
    "foreign kind": "something becomes something else for a moment",
    "other kind": "something becomes something else",
    "rough": "appearance goes to and fro",
    "not returning": "motion that cannot be followed",
    "misfit": "content is not where its motion takes it",
    "bent": "parts move against one another",
    "strain": "shapes stretch and shrink",
    "jerk": "motion jerks",
    "own jerk": "things jerk",
}
"""What a map is evidence of, by the beginning of its name."""


@dataclass(frozen=True, slots=True)
class _View:
    """A view: its clip frames, the evidence of its strand, its place in there, its numbers."""

    frames: tuple[int, ...]
    evidence: PlausibilityEvidence
    first: int
    stop: int
    numbers: FloatArray


@dataclass
class LadderPlausibility:
    """Five levels of commonsense from a clip, without torch.

    Attributes:
        threads: Threads for the network; None leaves it to LiteRT. The answer does not depend on it.
    """

    threads: int | None = None
    backbone: Backbone = field(init=False)
    model: OrdinalModel = field(init=False)

    def __post_init__(self) -> None:
        self.backbone = Backbone(threads=self.threads)
        self.model = OrdinalModel.load(weight_path(plausibility_model.WEIGHTS))

    def classify(self, scene: Scene) -> FloatArray:
        """Return (V, 5) float64, one row per view, Bad..Perfect; V is 0 for a clip of fewer than four frames."""
        views = self._views(scene)
        if not views:
            return np.zeros((0, plausibility_model.LEVEL_COUNT))
        return self.model.probabilities(np.stack([view.numbers for view in views]))

    def view_frames(self, scene: Scene) -> list[tuple[int, ...]]:
        """Return the clip's frames that each row of :meth:`classify` was judged by, ascending."""
        return [view.frames for view in self._views(scene)]

    def unsteadiness(self, scene: Scene) -> FloatArray:
        """Return (T,) in 0..1: how far what each place shows is of another kind in both neighbouring frames.

        The mean over the picture of the smaller of two Jensen-Shannon divergences of ImageNet's classes, in bits, at
        the pace of the views; between their frames it is interpolated. 0 for clips too short to tell.
        """
        found: dict[int, float] = {}
        for view in self._views(scene):
            maps = view.evidence.maps["foreign kind"][view.first : view.first + len(view.frames)]
            known = ~np.isnan(maps[:, 0, 0])  # not at the ends and beside cuts, where a neighbour is missing
            found |= {view.frames[i]: float(maps[i].mean() / np.log(2)) for i in np.flatnonzero(known)}
        if not found:
            return np.zeros(len(scene.clip))
        frames = sorted(found)
        return np.interp(np.arange(len(scene.clip)), frames, [found[f] for f in frames])

    def looked(self, scene: Scene) -> tuple[Look, ...]:
        """Return where the worst view's score comes from: how its badness falls with parts of the evidence hidden.

        A part is hidden by giving its cells what the best quarter of the frame has, in the maps that count most.
        """
        views = self._views(scene)
        if not views:
            return ()
        badness = self.model.badness(np.stack([view.numbers for view in views]))
        return self._occlusion(views[int(np.argmax(badness))])

    def _views(self, scene: Scene) -> list[_View]:
        return scene.once("plausibility evidence", lambda: self._measure(scene))

    def _measure(self, scene: Scene) -> list[_View]:
        views = []
        for strand in choose_strands(scene.clip):
            images = pictures(scene.clip.frames, strand)
            evidence = gather(images, self.backbone.features(images))
            for first, stop in strand.views:
                numbers = summarise(evidence, first, stop)
                views.append(_View(strand.frames[first:stop], evidence, first, stop, numbers))
        return sorted(views, key=lambda view: view.frames)

    def _occlusion(self, view: _View) -> tuple[Look, ...]:
        usual = np.full((1, len(NAMES)), np.nan)
        excess = self.model.shares(view.numbers[None])[0] - self.model.shares(usual)[0]
        by_map = excess[: len(view.evidence.maps) * len(SUMMARIES)].reshape(-1, len(SUMMARIES)).sum(1)
        names = [list(view.evidence.maps)[i] for i in np.argsort(-by_map, kind="stable")[:MAPS_HIDDEN]]
        before = _badness(self.model, view.numbers)
        edges = np.linspace(0, CELLS, PARTS + 1).astype(int)

        def gain(first: int, stop: int, asked: FloatArray) -> FloatArray:
            found = np.zeros((PARTS, PARTS))
            for row, column in np.argwhere(asked).tolist():
                rows, columns = slice(*edges[row : row + 2]), slice(*edges[column : column + 2])
                found[row, column] = before - _badness(self.model, _hidden(view, names, (first, stop), rows, columns))
            return np.maximum(found, 0.0)

        # What is wrong in one place throughout hardly shows when a quarter of the time is hidden: share out the whole.
        whole = gain(0, MOMENTS, np.ones((PARTS, PARTS)))
        matters = whole > _LITTLE * whole.max()
        alone = np.stack([gain(moment, moment + 1, matters) for moment in range(MOMENTS)]) + _NO_GAIN
        reason = next(text for start, text in sorted(REASONS.items(), reverse=True) if names[0].startswith(start))
        looks = []
        for moment, gains in enumerate(whole * alone / alone.sum(0)):
            place = round((moment + 0.5) / MOMENTS * (len(view.frames) - 1))
            looks.append(Look(view.frames[place], tuple(map(tuple, gains.tolist())), reason))
        return tuple(looks)


def _hidden(view: _View, names: list[str], moments: tuple[int, int], rows: slice, columns: slice) -> FloatArray:
    """Return the numbers of ``view`` with a part of the ``names`` maps hidden from one moment up to another."""
    numbers = view.numbers.copy()
    for name in names:
        values = view_of(view.evidence, name, view.first, view.stop)
        if len(values) == 0:
            continue
        values = values.copy()
        start, stop = (round(len(values) * m / MOMENTS) for m in moments)
        if stop > start:
            good = np.quantile(values[start:stop].reshape(stop - start, -1), 0.25, axis=1)[:, None, None]
            values[start:stop, rows, columns] = np.minimum(values[start:stop, rows, columns], good)
        at = NAMES.index(f"{name}: {SUMMARIES[0]}")
        numbers[at : at + len(SUMMARIES)] = summarise_map(name, values)
    return numbers


def _badness(model: OrdinalModel, numbers: FloatArray) -> float:
    return float(model.badness(numbers[None])[0])
