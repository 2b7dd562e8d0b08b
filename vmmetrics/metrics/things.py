"""The part of OIS for clips without people: constancy of the surfaces of objects."""

from __future__ import annotations

from vmmetrics.functional.shapes import shape_constancy_score
from vmmetrics.perception.scene import Scene
from vmmetrics.perception.surfaces import follow_surfaces, owners
from vmmetrics.types import MetricResult
from vmmetrics.utils.text.words import words_of

SHAPELESS = words_of(
    "avalanche avalanches blaze blizzard bonfire bonfires bubbles campfire campfires clouds cloud explosion explosions "
    "fire fires firework fireworks flame flames flood floods foam fog fountain fountains geyser geysers hurricane lava "
    "lightning mist ocean rain rainfall rapids river rivers sea smoke snow snowfall sparks spray steam storm storms "
    "stream streams surf tornado tornadoes vapor vapour water waterfall waterfalls wave waves whirlpool wildfire "
    "wildfires"
)
"""Subjects without a constant shape, which look like an object repainted in every frame; only the prompt separates
them."""


def measure_things(scene: Scene) -> MetricResult:
    """Score the integrity of the objects in a clip in which no person can be judged: animals, hands, vehicles, objects.

    Returns:
        The score and its events, with targets ``"object i"`` or ``"scene"``; missing where the prompt is about fire,
        water and the like, with fewer than three moments, or with too little texture.
    """
    clip = scene.clip
    if clip.subject is not None and clip.subject.noun in SHAPELESS:
        return MetricResult(None, f"the prompt is about {clip.subject.noun}, which has no shape of its own")
    surfaces = follow_surfaces(scene.flow, clip.fps)
    return shape_constancy_score(
        surfaces.lost, surfaces.textured, surfaces.motion, owners(scene.objects, surfaces), surfaces.frames,
        num_frames=len(clip), tile=surfaces.tile,
    )  # fmt: skip
