"""Degradation category rating (ITU-T P.910): the reference, then a clip of its prompt; how annoying its faults are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vmmetrics.rating.designs import DEPARTURE, GREY_SECONDS, broken
from vmmetrics.rating.designs.acr import Acr
from vmmetrics.rating.trials import Item, Trial


class Dcr(Acr):
    """Degradation category rating. Answers are 1 (very annoying) to 5 (imperceptible)."""

    key = "dcr"
    asks: ClassVar = {"motion": "dcr_question"}
    labels = ("reference", "rated")
    columns = ("reference", "clip")
    reads = frozenset({"reference"})
    scale = "impairment"
    turns = True
    needs = "give --reference MODEL, whose clips share prompts with other models'"

    @property
    def method(self) -> tuple[str, str]:
        """No clause, since it departs from the standard's, and the method."""
        shown = f"a clip of {self.settings.reference} as the reference, {GREY_SECONDS:g} s of grey, the clip"
        return "", f"degradation category rating on 5 levels: {shown}. {DEPARTURE.format('8.2')}"

    def make_items(self) -> list[Item]:
        """Return every clip whose prompt has one of the reference, by name the first."""
        clips, reference = self.study.clips.values(), self.settings.reference
        named = sorted((clip for clip in clips if clip.model == reference and clip.prompt), key=lambda clip: clip.clip)
        by_prompt = {clip.prompt: clip.id for clip in reversed(named)}
        self._references = {clip.id: by_prompt[clip.prompt] for clip in clips if clip.prompt in by_prompt}
        return [
            Item(clip.id, (self._references[clip.id], clip.id), str(clip.prompt), (clip.model or "",))
            for clip in clips
            if clip.id in self._references and clip.model != reference
        ]

    def gold_trial(self, clip: str, rng: np.random.Generator) -> Trial:  # noqa: ARG002
        """Return the gold version of a clip, whose motion is bad, after the reference."""
        return Trial("gold", clip, (self._references[clip], broken(clip)), 1)
