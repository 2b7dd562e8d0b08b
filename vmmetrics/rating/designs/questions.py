"""Yes/no questions about what a clip shows of its prompt, as ``vmmetrics prompts ask`` asks them of models."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.rating.designs.acr import LEAST_VOTES, Acr
from vmmetrics.rating.study import Study
from vmmetrics.rating.trials import Answer, Item, Trial
from vmmetrics.utils.weights.manifest import shipped_list
from vmmetrics.video.prompt_lists import read_list
from vmmetrics.video.prompt_questions import ANSWERS, KINDS, RIGHT, questions_of_list

YES, NO = 1, 0
_FIRST: Final = RIGHT + KINDS[0]
"""Dimension of gold items: whether the subject is there."""
_WORDS: Final = re.compile(r"\w{4,}")
_FEW: Final = 4
"""A gold item takes the questions of one of so few: the quarter of the other items that shares the fewest words, of
those with another subject."""


class Verdict(float):
    """1 if an answer is that of a clip which shows what its prompt says, else 0.

    Attributes:
        said: The answer.
    """

    said: int


class Questions(Acr):
    """One clip at a time, with the questions of its prompt. Votes are 1 where the answer is the right one, else 0.

    Gold items ask about a clip what another prompt asks: its subject is not there.
    """

    key = "questions"
    asks: ClassVar = {_FIRST: "prompt_question"}
    reads = frozenset({"prompt_questions", "prompt_subjects"})
    needs = "their prompts must have questions, one of them on the subject"
    facts = True
    vote_seconds = 4.0

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        words = {key: self._words(item) for key, item in self.items.items()}
        self._strangers = dict[str, list[str]]()
        for key, item in self.items.items():
            own = {item.prompt, self._subject(item)}
            others = [key for key, other in self.items.items() if not {other.prompt, self._subject(other)} & own]
            shared = {other: len(words[key] & words[other]) for other in others}
            self._strangers[key] = sorted(others, key=shared.__getitem__)[: max(1, len(others) // _FEW)]
        self.gold = [key for key, others in self._strangers.items() if others]

    @property
    def method(self) -> tuple[str, str]:
        """The method; it is of no standard."""
        return "", "questions about what a clip shows, answered yes or no, which no clause describes"

    def make_items(self) -> list[Item]:
        """Return every clip whose prompt has a question on its subject."""
        return [item for item in super().make_items() if _FIRST in self._of(item)]

    def make_choices(self) -> dict[int, str]:
        """Return yes and no."""
        return {YES: "answer_yes", NO: "answer_no"}

    def _of(self, item: Item) -> Mapping[str, tuple[str, str]]:
        return self.settings.prompt_questions.get(item.prompt, {})

    def _subject(self, item: Item) -> str:
        """Return the last word of the subject's noun; where it is not known, the prompt."""
        prompt = str(item.prompt)
        return (self.settings.prompt_subjects.get(prompt, "").casefold().split() or [prompt])[-1]

    def _words(self, item: Item) -> set[str]:
        asked = " ".join(question for question, _ in self._of(item).values())
        return set(_WORDS.findall(f"{item.prompt} {asked}".lower()))

    def asked(self, trial: Trial) -> dict[str, str]:
        """Return the questions of a trial by dimension, in an order that tells nothing of their kinds."""
        questions = self._of(self.items[trial.item])
        order = sorted(questions, key=lambda name: hashlib.sha256(f"{trial.item} {name}".encode()).digest())
        return {name: questions[name][0] for name in order}

    def right(self, trial: Trial, dimension: str) -> int:
        """Return the answer of a clip that shows what the prompt says."""
        return YES if self._of(self.items[trial.item])[dimension][1] == ANSWERS[0] else NO

    def vote(self, trial: Trial, answer: Answer, dimension: str) -> Verdict:
        """Return whether the answer is the right one."""
        vote = Verdict(answer.values[dimension] == self.right(trial, dimension))
        vote.said = answer.values[dimension]
        return vote

    def gold_trial(self, clip: str, rng: np.random.Generator) -> Trial:
        """Return a clip with the questions of another prompt, whose subject is not there."""
        other = self.items[str(rng.choice(self._strangers[clip]))]
        right = self.right(Trial("gold", other.key, other.clips), _FIRST)
        return Trial("gold", other.key, (clip,), YES + NO - right)

    def straight(self, values: Sequence[Any]) -> tuple[float, bool]:
        """Return the variance of what was said, in levels of five: that all is right may be true of every clip."""
        variance = float(np.var([value.said / self.step for value in values])) if values else 0.0
        return variance, len(values) < LEAST_VOTES or variance >= self.rules.variance

    def page(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Return what the raters' page is told; practice explains what a gold item of this design is."""
        told = {name: texts.get(f"absent_{name}", "") for name in ("right", "wrong")}
        return {**super().page(texts), "texts": {**texts, **{f"training_{name}": text for name, text in told.items()}}}


def questions_of(
    prompts: Iterable[str | None], path: Path | None = None, listed: str | None = None
) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the questions about prompts with their right answers, by prompt and dimension (``right_`` and the kind).

    Args:
        prompts: Texts of the prompts; those without questions are left out.
        path: The questions; None for those of a shipped list.
        listed: The list of prompts that they are about; None for the library.

    Raises:
        SetupError: A file is invalid, or none of the prompts has questions.
    """
    path, entries, asked = questions_of_list(listed or "library", path)
    by_text = {entries.entries[number].prompt: of_prompt for number, of_prompt in asked.items()}
    questions: dict[str, dict[str, tuple[str, str]]] = {}
    for prompt in dict.fromkeys(filter(None, prompts)):
        for one in by_text.get(prompt, ()):
            of_prompt = questions.setdefault(prompt, {})
            same = sum(_kind(name) == one.kind for name in of_prompt)
            of_prompt[f"{RIGHT}{one.kind}{same + 1 if same else ''}"] = (one.question, one.answer)
    if not questions:
        raise SetupError(f"{path} has no question about the prompts of these clips; name their list: --prompts")
    return questions


def subjects_of(prompts: Iterable[str], listed: str | None = None) -> dict[str, str]:
    """Return the nouns of the subjects of prompts, by prompt, where their list has them; the library's if None."""
    entries = read_list(shipped_list(listed or "library"))
    nouns = {entry.prompt: entry.subject.noun for entry in entries if entry.prompt and entry.subject}
    return {prompt: nouns[prompt] for prompt in prompts if prompt in nouns}


def dimensions(questions: Mapping[str, Mapping[str, tuple[str, str]]]) -> list[str]:
    """Return the dimensions of questions in the order of their kinds, that of gold items first."""
    names = {name for of_prompt in questions.values() for name in of_prompt}
    return sorted(names, key=lambda name: (KINDS.index(_kind(name)), name))


def _kind(dimension: str) -> str:
    return dimension.removeprefix(RIGHT).rstrip("0123456789")
