"""Pair comparison (ITU-T P.910): two clips of one prompt, which is better; "no difference" is an answer."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import ClassVar

import numpy as np

from vmmetrics.rating.designs import LEAST_SHARED, Z99, Design, broken
from vmmetrics.rating.trials import Item, Trial
from vmmetrics.utils.statistics.bradley_terry import fit_strengths
from vmmetrics.utils.statistics.pair_choice import choose_pairs
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE, Preference

_LEAST_DECIDED = 10  # decisions from which one side may be a habit


class Pair(Design):
    """Pairs of one prompt, of one model if the study says so. Answers: 1 left, −1 right, 0 no difference."""

    key = "pair"
    opinions = False
    asks: ClassVar = {"motion": "pair_question"}
    labels = ("a", "b")
    columns = ("left", "right")
    reads = frozenset({"within_model", "active", "stop_error", "in_turn"})
    outcomes: ClassVar = {LEFT: "left", TIE: "tie", RIGHT: "right"}
    needs = "two clips must share a prompt (and a model, with --within-model)"

    def make_items(self) -> list[Item]:
        """Return every pair of clips of a prompt."""
        by_prompt = defaultdict(list)
        for clip in self.study.clips.values():
            if clip.prompt is not None:
                by_prompt[clip.prompt, clip.model if self.settings.within_model else ""].append(clip)
        items = [
            Item(f"{one.id}|{other.id}", (one.id, other.id), prompt, (one.model or "", other.model or ""))
            for (prompt, _), clips in by_prompt.items()
            for one, other in combinations(clips, 2)
        ]
        self._groups = {clip.id: group for group, clips in by_prompt.items() for clip in clips if len(clips) > 1}
        self._keys = {frozenset(item.clips): item.key for item in items}
        return items

    @property
    def method(self) -> tuple[str, str]:
        """Clause of the standard, and the method."""
        return "ITU-T P.910, pair comparison", 'pairs of one prompt, "no difference" allowed'

    def make_choices(self) -> dict[int, str]:
        """Return left, no difference, right."""
        return {LEFT: "a", TIE: "same", RIGHT: "b"}

    def arrange(self, item: Item, shown: Counter[tuple[str, ...]], rng: np.random.Generator) -> tuple[str, ...]:
        """Return the clips by side: each side as often as the other, over all raters."""
        turned = item.clips[::-1]
        ahead = shown[item.clips] - shown[turned]
        return turned if ahead > 0 or (ahead == 0 and rng.random() < 0.5) else item.clips

    def gold_trial(self, clip: str, rng: np.random.Generator) -> Trial:
        """Return a clip beside its gold version, which is worse."""
        best = max(self.values) * self.first
        if rng.random() < 0.5:
            return Trial("gold", clip, (clip, broken(clip)), best)
        return Trial("gold", clip, (broken(clip), clip), -best)

    def again(self, trial: Trial) -> Trial:
        """Return the trial with its sides swapped."""
        return replace(trial, kind="repeat", media=trial.media[::-1])

    def informative(self, votes: Sequence[Preference], taken: set[str], number: int, seed: int) -> list[str]:
        """Return pairs whose answers would lower the doubt about the order of strengths most."""
        clips = list(self._groups)
        fit = fit_strengths(votes, clips) if any(vote.outcome != TIE for vote in votes) else None
        asked = choose_pairs(clips, list(self._groups.values()), fit, number + len(taken), seed=seed)
        keys = (self._keys[frozenset((pair.left, pair.right))] for pair in asked)
        return [key for key in keys if key not in taken][:number]

    def straight(self, values: Sequence[float]) -> tuple[float, bool]:
        """Return the larger share of decisions for one side, 1 where every answer is a tie."""
        sides = Counter(np.sign(value) for value in values if value != TIE)
        decided = sides.total()
        if not decided:
            return 1.0, len(values) < _LEAST_DECIDED
        share = max(sides.values()) / decided
        return share, decided < _LEAST_DECIDED or share <= self.rules.one_side

    def steady(self, votes: Sequence[tuple[float, float]]) -> tuple[float, bool]:
        """Return how many repeated pairs the other clip won; the sides of a repetition are swapped."""
        contradictions = sum(first * again > 0 for first, again in votes)
        return float(contradictions), contradictions <= self.rules.contradictions

    def agreement(self, own: Mapping[str, float], others: Mapping[str, Sequence[float]]) -> tuple[float, float] | None:
        """Return the share of decisions with the majority of the others, its interval by Wilson's formula."""
        sides = {key: np.sign(sum(votes)) for key, votes in others.items()}
        same = [own[key] * sides[key] > 0 for key in own if own[key] != TIE and sides.get(key)]
        number = len(same)
        if number < LEAST_SHARED:
            return None
        share, squared = float(np.mean(same)), Z99**2
        half = Z99 * math.sqrt(share * (1 - share) / number + squared / (4 * number**2))
        return share, (share + squared / (2 * number) + half) / (1 + squared / number)
