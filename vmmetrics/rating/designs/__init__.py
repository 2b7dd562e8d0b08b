"""Designs of a rating study: what is shown, in which order, and what an answer is. One file per design."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.rating import DESIGNS
from vmmetrics.rating.study import BROKEN, ClipSource, Rules, Settings, Study, StudyClip
from vmmetrics.rating.trials import Answer, Item, Trial
from vmmetrics.utils.statistics.preferences import Preference

LEAST_SHARED = 8
"""Votes on items that others voted on too, below which a rater's agreement is not judged."""
Z99 = 2.326
"""Quantile of the normal distribution for the upper end of a 99 % interval, one-sided."""
GREY_SECONDS = 2.0
"""Seconds of grey between clips that are played in turn (P.910)."""
DEPARTURE = "It departs from ITU-T P.910 (10/2023), {}, by which the two are of one source; these are of one prompt"
"""What to say of a method whose clause compares a clip with its source, or versions of one."""
_CANDIDATES = 20  # of equally few votes that are looked at for each item of a session
_TRIES = 20  # orders of which the one with the fewest neighbours of one prompt is taken


class Design(ABC):
    """A design of a study.

    Args:
        study: The study.

    Attributes:
        shown: Ids of the clips that items show.
        gold: Those of them that have a gold version.
        choices: Answers that there are, in the order shown, each with the name of its text, "" for none.
        values: The answers.
        items: Items by key.

    Raises:
        SetupError: The study has no items for it, or a setting that it does not read.
    """

    key: ClassVar[str]
    opinions: ClassVar[bool]
    """True if votes are opinions of a clip, which have a mean; False if they are preferences between two."""
    first: ClassVar[int] = 1
    """Sign of an answer for the first of two clips that are compared."""
    means: ClassVar[str] = ""
    """Table of the means of items; "" for none."""
    outcomes: ClassVar[Mapping[int, str]] = {}
    """Preferences as ``pairs.csv`` has them."""
    asks: ClassVar[Mapping[str, str]]
    """Dimensions asked about where the study names none, each with the name of its question's text."""
    labels: ClassVar[tuple[str, ...]]
    """Names of the texts under the clips, in the order shown; "" for none."""
    columns: ClassVar[tuple[str, ...]]
    """Columns of the clips in ``answers.csv``."""
    turns: ClassVar[bool] = False
    """True if clips are always played one after the other."""
    reads: ClassVar[frozenset[str]]
    """Settings that it reads, of those that not every design does."""
    needs: ClassVar[str]
    """What clips it needs, in words."""
    marks: ClassVar[int] = 0
    """Marks of an answer at most."""
    facts: ClassVar[bool] = False
    """True if questions are about what a clip shows, each with a right answer (:meth:`right`)."""
    vote_seconds: ClassVar[float] = 6.0
    """Seconds that an answer takes, to foretell the length of a session."""

    def __init__(self, study: Study) -> None:
        self.study, self.settings = study, study.settings
        for one in fields(Settings):
            default = one.default if one.default_factory is MISSING else one.default_factory()
            given = one.metadata and getattr(self.settings, one.name) != default
            if given and one.name not in self.reads:
                raise SetupError(f"the design {self.key} has no --{one.name.replace('_', '-')}")
        self.items = {item.key: item for item in self.make_items()}
        self.shown = {identity for item in self.items.values() for identity in item.clips}
        self.gold = [clip.id for clip in study.clips.values() if clip.broken and clip.id in self.shown]
        self.choices = self.make_choices()
        self.values = tuple(self.choices)
        if not self.items:
            raise SetupError(f"the clips make no items of the design {self.key}: {self.needs}")

    @property
    @abstractmethod
    def method(self) -> tuple[str, str]:
        """Clause of a standard that it follows, and the method in words."""

    @abstractmethod
    def make_items(self) -> list[Item]:
        """Return the items."""

    @abstractmethod
    def make_choices(self) -> dict[int, str]:
        """Return the answers that there are, each with the name of its text."""

    @abstractmethod
    def arrange(self, item: Item, shown: Counter[tuple[str, ...]], rng: np.random.Generator) -> tuple[str, ...]:
        """Return the clips of an item in the order in which they are shown.

        Args:
            item: The item.
            shown: How often each order was shown.
            rng: Random numbers.
        """

    @abstractmethod
    def gold_trial(self, clip: str, rng: np.random.Generator) -> Trial:
        """Return a trial with a known answer about a clip that has a gold version."""

    @abstractmethod
    def again(self, trial: Trial) -> Trial:
        """Return the repetition of a trial."""

    @abstractmethod
    def straight(self, values: Sequence[float]) -> tuple[float, bool]:
        """Return a measure of straight-lining of a session's votes, and True if they pass."""

    @abstractmethod
    def steady(self, votes: Sequence[tuple[float, float]]) -> tuple[float, bool]:
        """Return a measure of the differences of repeated votes (first, again), and True if they pass."""

    @abstractmethod
    def agreement(self, own: Mapping[str, float], others: Mapping[str, Sequence[float]]) -> tuple[float, float] | None:
        """Return agreement of a rater with the others and the upper end of its 99 % interval, or None for too few.

        Args:
            own: The rater's vote by item, sides as in the item.
            others: Votes of the others.
        """

    def informative(self, votes: Sequence[Preference], taken: set[str], number: int, seed: int) -> list[str]:  # noqa: ARG002
        """Return items whose votes would tell most, none of them in hand; of designs that have no such choice none.

        Args:
            votes: Those so far.
            taken: Items in hand, or had by the rater.
            number: How many at most.
            seed: Random seed.
        """
        return []

    def trap(self, rng: np.random.Generator, beside: Sequence[str]) -> Trial:
        """Return an attention check: an item beside the session's, and the answer that its text asks for.

        Args:
            rng: Random numbers.
            beside: Items of the session; where these are all, any item is shown.
        """
        item = self.items[str(rng.choice(self._others(beside)))]
        return Trial("trap", item.key, item.clips, int(rng.choice(self.values)))

    @property
    def rules(self) -> Rules:
        """Rules of exclusion."""
        return self.settings.rules

    @property
    def in_turn(self) -> bool:
        """True if the clips of an item are played one after the other."""
        return self.turns or self.settings.in_turn

    @property
    def step(self) -> float:
        """Difference of answers that is one level of a scale of five."""
        return (max(self.values) - min(self.values)) / 4

    @property
    def tolerance(self) -> float:
        """Difference from the expected answer of a gold item up to which an answer is right, by the rules."""
        return self.rules.tolerance * self.step

    def is_right(self, trial: Trial, value: int) -> bool:
        """Return True if a value is the expected answer of a gold item, by the rules."""
        return trial.expected is not None and abs(value - trial.expected) <= self.tolerance

    def asked(self, trial: Trial) -> Mapping[str, str]:  # noqa: ARG002
        """Return the questions of a trial by dimension: the study's, with their own words alone."""
        return self.settings.questions

    def right(self, trial: Trial, dimension: str) -> int:
        """Return the right answer about a clip that shows what its prompt says, in designs that ask for facts."""
        raise NotImplementedError

    def check(self, trial: Trial, answer: Answer) -> None:
        """Refuse what is no answer to a trial.

        Raises:
            ValueError: It is none.
        """
        questions = self.asked(trial)
        if answer.values.keys() != questions.keys() or not set(answer.values.values()) <= set(self.values):
            raise ValueError(f"values: expected one of {self.values} for each of {', '.join(questions)}")
        if len(answer.marks) > self.marks:
            raise ValueError(f"marks: expected {self.marks} at most")

    def vote(self, trial: Trial, answer: Answer, dimension: str) -> float:  # noqa: ARG002
        """Return the vote that an answer is, of clips in the order shown."""
        return answer.values[dimension]

    def seconds(self, media: Sequence[str]) -> float:
        """Return how long clips take to be shown, in seconds."""
        seconds = [self.study.seconds(identity) for identity in media]
        return sum(seconds) + GREY_SECONDS * (len(seconds) - 1) if self.in_turn else max(seconds)

    @cached_property
    def minutes(self) -> float:
        """Expected length of a session in minutes."""
        settings = self.settings
        shown = float(np.mean([self.seconds(item.clips) for item in self.items.values()]))
        trials = settings.items + settings.gold + settings.traps + settings.repeats + settings.training
        return trials * (shown + self.vote_seconds * max(1, len(settings.questions))) / 60

    def training(self, rng: np.random.Generator, beside: Sequence[str]) -> tuple[Trial, ...]:
        """Return training items over the range: a gold one, and others that are not in the session if there are any.

        Args:
            rng: Random numbers.
            beside: Items of the session.
        """
        number = self.settings.training
        chosen = [self.items[key] for key in rng.permutation(self._others(beside))[: max(0, number - bool(self.gold))]]
        trials = [Trial("training", item.key, item.clips) for item in chosen]
        if number and self.gold:
            gold = self.gold_trial(str(rng.choice(self.gold)), rng)
            trials.insert(len(trials) // 2, Trial("training", gold.item, gold.media, gold.expected))
        return tuple(trials)

    def wording(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the question of each dimension: the study's own, or the one among texts of the page."""
        usual, questions = next(iter(self.asks.values())), self.settings.questions.items()
        return {name: asked or texts.get(self.asks.get(name, usual), "") for name, asked in questions}

    def page(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Return what the raters' page is told of the design.

        Args:
            texts: Texts of the page by name.
        """
        return {
            "questions": self.wording(texts),
            "choices": [[value, texts.get(name, "")] for value, name in self.choices.items()],
            "labels": [texts.get(name, "") for name in self.labels],
            "tolerance": self.tolerance, "in_turn": self.in_turn, "grey": GREY_SECONDS,
            "marks": self.marks,
        }  # fmt: skip

    def session(
        self,
        counts: Mapping[str, int],
        seen: Sequence[str],
        shown: Counter[tuple[str, ...]],
        rng: np.random.Generator,
        active: Sequence[str] = (),
    ) -> tuple[Trial, ...]:
        """Return the trials of a session.

        Items with the fewest votes come first, among them those of models and prompts that the session has least of;
        so votes differ by one at most while nobody leaves. The order is random, with few neighbours of one prompt.
        Gold items and attention checks are never first or last; a repetition is a third of the session away.

        Args:
            counts: Votes of each item, those in hand included.
            seen: Items that the rater has had.
            shown: How often each order of clips was shown.
            rng: Random numbers.
            active: Items that were chosen by the answers so far; the others are drawn.
        """
        drawn = self._choose(counts, {*seen, *active}, rng, self.settings.items - len(active))
        chosen = [*drawn, *(self.items[key] for key in active)]
        orders = [[chosen[at] for at in rng.permutation(len(chosen))] for _ in range(_TRIES)]
        chosen = min(orders, key=lambda order: sum(a.prompt == b.prompt for a, b in pairwise(order)))
        trials = [
            Trial("active" if item.key in active else "item", item.key, self.arrange(item, shown, rng))
            for item in chosen
        ]
        settings = self.settings
        apart = max(2, len(trials) // 3)
        early = rng.permutation(max(0, len(trials) - apart))[: settings.repeats]
        for trial in [trials[at] for at in early]:
            where = int(rng.integers(trials.index(trial) + apart, len(trials) + 1))
            trials.insert(where, self.again(trial))
        clips = [str(clip) for clip in rng.permutation(self.gold)]
        checks = [self.gold_trial(clips[number % len(clips)], rng) for number in range(settings.gold) if clips]
        voted = [item.key for item in chosen]
        checks += [self.trap(rng, voted) for _ in range(settings.traps)]
        for at in rng.permutation(len(checks)):
            trials.insert(int(rng.integers(1, max(2, len(trials)))), checks[at])
        return tuple(trials)

    def _others(self, beside: Sequence[str]) -> list[str]:
        """Return the items that are not in a session, or all where there are none."""
        return [key for key in self.items if key not in set(beside)] or list(self.items)

    def _choose(self, counts: Mapping[str, int], seen: set[str], rng: np.random.Generator, number: int) -> list[Item]:
        keys = [key for key in self.items if key not in seen]
        keys = sorted((keys[at] for at in rng.permutation(len(keys))), key=lambda key: counts.get(key, 0))
        most = counts.get(keys[min(number, len(keys)) - 1], 0) if keys else 0
        below = sum(counts.get(key, 0) < most for key in keys)
        tied = sum(counts.get(key, 0) == most for key in keys)
        open_items = [self.items[key] for key in keys[: below + min(tied, _CANDIDATES * number)]]
        models, prompts = Counter[str](), Counter[str]()
        chosen: list[Item] = []
        while open_items and len(chosen) < number:
            best = min(
                range(len(open_items)),
                key=lambda at: (
                    counts.get(open_items[at].key, 0), prompts[open_items[at].prompt],
                    sum(models[model] for model in open_items[at].models),
                ),
            )  # fmt: skip
            item = open_items.pop(best)
            models.update(item.models)
            prompts[item.prompt] += 1
            chosen.append(item)
        return chosen


def broken(clip: str) -> str:
    """Return the id of the gold version of a clip."""
    return f"{clip}{BROKEN}"


def design_named(name: str) -> type[Design]:
    """Return the design with this name.

    Raises:
        SetupError: There is none.
    """
    if name not in DESIGNS:
        raise SetupError(f"there is no design {name!r}; there are {', '.join(DESIGNS)}")
    design: type[Design] = getattr(import_module(f"vmmetrics.rating.designs.{name}"), name.capitalize())
    return design


def design_of(study: Study) -> Design:
    """Return the design of a study.

    Raises:
        SetupError: There is no such design, or the clips do not make items of it.
    """
    return design_named(study.settings.design)(study)


def shown_sources(sources: Sequence[ClipSource], settings: Settings) -> list[ClipSource]:
    """Return the clips that items show, before any is transcoded.

    Raises:
        SetupError: They make none.
    """
    clips = {
        str(number): StudyClip(str(number), one.clip, "", 0.0, (0, 0), 0, one.model, one.prompt)
        for number, one in enumerate(sources)
    }
    shown = design_of(Study(Path(), settings, clips, {}, {})).shown
    return [source for number, source in enumerate(sources) if str(number) in shown]
