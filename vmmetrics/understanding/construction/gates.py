"""FPS-Bench's gates for existing questions: solvable without video, missed by all reviewers, or badly written.

After the paper's quality control: a language model without the video answers each question in four orders of its
options, "None of the above" taken out, and may be right three times; of three outside reviewers one must be right; the
language is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vmmetrics.models.frames import NO_FRAMES, FramePolicy
from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding.benchmarks.custom import line_of
from vmmetrics.understanding.construction.options import generator, shuffles, without_none_of_the_above
from vmmetrics.understanding.construction.question_checks import faults
from vmmetrics.understanding.construction.recipe import (
    VERSION,
    FilterAnswer,
    FilterModel,
    QuestionRecipe,
    viewed,
    views_of,
)
from vmmetrics.understanding.construction.units import RejectedQuestion, UnitOutcome, noted
from vmmetrics.utils.endpoint.asking import in_words, object_shape
from vmmetrics.utils.endpoint.client import AskedQuestion as Asked
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import CostEstimate, NoAnswerError, Turn

SHUFFLES: Final = 4
MOST_RIGHT: Final = 3
"""Most right answers without video; all four are right by chance with probability 1 in 256."""
REVIEWERS: Final = 3
"""Fewest outside reviewers, all of whom must be wrong to reject a question."""
BLIND: Final = FramePolicy("none")
ADAPTIVE: Final = FramePolicy("adaptive")
"""Frames that reviewers see."""
RULES: Final = ("one answer", "distinct", "lettered", "left open", "language")
"""Rules that apply whoever wrote a question."""
_LANGUAGE: Final = """\
You proofread questions of a multiple-choice test about videos; you do not see the videos. Judge three things, each by \
itself:
- clear: the question can be understood in one way, says whom and what it is about, and asks one thing
- options: each fits the question grammatically, is of the same kind, and excludes the others
- language: correct, natural English throughout
For whatever is not so, say briefly what is wrong.
"""
_VERDICT_TOKENS: Final = 40
_ASPECTS: Final = ("clear", "options", "language")
_WHY: Final = {"type": "string", "maxLength": 400}
_VERDICT: Final = object_shape({name: {"type": "boolean"} for name in _ASPECTS} | {"why": _WHY})


@dataclass
class GateRecipe(QuestionRecipe):
    """FPS-Bench's gates over existing questions.

    Args:
        questions: With options and key.
        blind: Language models that answer without the video; a question goes if any of them is right too often.
        reviewers: Models that see the video.
        answers: Of people who saw it: question's id to reviewer to letter of the options as they stand.
        proofreader: Asks a language model about the language; None leaves it to the rules.
        seed: Of the orders of the options.
    """

    name = "fpsbench"
    makes = False

    questions: Sequence[Question]
    blind: Sequence[FilterModel]
    reviewers: Sequence[FilterModel]
    answers: Mapping[str, Mapping[str, str]]
    proofreader: Client | None
    seed: int

    def __post_init__(self) -> None:
        self.places = {question.id: question for question in self.questions}
        clients = [self.proofreader, *(viewer.client for viewer in (*self.blind, *self.reviewers))]
        self.pool = next(filter(None, clients), None)

    def _input(self, unit: str) -> list[Any]:
        return [line_of(replace(self.places[unit], path=None)), self.answers.get(unit, {})]

    def configuration(self) -> dict[str, Any]:
        """Return the settings that outcomes depend on."""
        blind, reviewers = (
            [dict(viewer.model.identity) for viewer in models] for models in (self.blind, self.reviewers)
        )
        part = {"recipe": self.name, "instructions": VERSION, "seed": self.seed, "blind": blind, "reviewers": reviewers}
        asked = self.proofreader and self.proofreader.settings
        more = {"proofreader": {"url": asked.url, "model": asked.model}} if asked else {}
        return part | {"policy": str(ADAPTIVE)} | more

    def estimates(self, units: Sequence[str]) -> list[tuple[str, CostEstimate]]:
        """Estimate the costs as if no question were rejected early."""
        estimates = self.viewers_estimates(self.blind, SHUFFLES * len(units), 0.0)
        estimates += self.viewers_estimates(self.reviewers, len(units), 16.0)
        if self.proofreader is not None:
            asked = (self._language(self.places[unit]) for unit in units)
            estimates.append((self.proofreader.settings.model, self.proofreader.estimate(asked, _VERDICT_TOKENS)))
        return estimates

    def _outcome(self, unit: str) -> UnitOutcome:
        """Apply the gates in order of cost until one rejects the question."""
        question = self.places[unit]
        gates = {
            "checks": self._checked,
            "language": self._proofread,
            "blind": self._guessed,
            "reviewers": self._missed,
        }
        for stage, gate in gates.items():
            question, why = gate(question)
            if why:
                return UnitOutcome(unit, rejected=(RejectedQuestion(question, stage, tuple(why)),))
        return UnitOutcome(unit, accepted=(question,))

    def _checked(self, question: Question) -> tuple[Question, list[str]]:
        return question, faults(question, RULES)

    def _proofread(self, question: Question) -> tuple[Question, list[str]]:
        if self.proofreader is None:
            return question, []
        answer = self.proofreader.ask(self._language(question))
        if answer.kind == "unreachable":
            raise NoAnswerError(answer.why or "")
        if answer.value is None:  # it says nothing about the question
            return noted(question, "language", {"error": f"{answer.kind}: {answer.why}"}), []
        wrong = [name for name in _ASPECTS if not answer.value[name]]
        reasons = [f"{', '.join(wrong)}: {answer.value['why']}"] if wrong else []
        return noted(question, "language", {name: answer.value[name] for name in _ASPECTS}), reasons

    def _guessed(self, question: Question) -> tuple[Question, list[str]]:
        bare = without_none_of_the_above(question)
        if bare is None or not self.blind:
            return question, []
        orders = shuffles(bare, SHUFFLES, "blind", self.seed)
        views, reasons = [], []
        for viewer in self.blind:
            own = [viewer.ask(arranged, BLIND, NO_FRAMES) for arranged in orders]
            views += own
            silent = sum(view.error is not None for view in own)
            if sum(view.right for view in own) + silent > MOST_RIGHT:
                more = f", {silent} without an answer" if silent else ""
                reasons.append(
                    f"{viewer.model.name} was never seen to be wrong without the video in {SHUFFLES} orders{more}"
                )
        return views_of(question, "blind", views), reasons

    def _missed(self, question: Question) -> tuple[Question, list[str]]:
        letters = self.answers.get(question.id, {})
        views = [_answered(question, name, letter) for name, letter in sorted(letters.items())]
        views += viewed(self.reviewers, question, ADAPTIVE)
        if not views:
            return question, []
        checked = views_of(question, "reviewers", views)
        judged = [view for view in views if view.chosen is not None]  # who chose no option decides nothing
        if len(judged) >= REVIEWERS and not any(view.right for view in judged):
            return checked, [f"all {len(judged)} reviewers are wrong: {', '.join(view.model for view in judged)}"]
        return checked, []

    def _language(self, question: Question) -> Asked[str]:
        instruction = Turn("system", f"{_LANGUAGE}\n{in_words(_VERDICT)}")
        options = list(question.options)
        generator("language", self.seed, question.id).shuffle(options)  # an order that tells nothing
        listed = "\n".join(f"- {option}" for option in options)
        return Asked(question.id, (instruction, Turn("user", f"{question.text}\n{listed}")), _VERDICT)


def _answered(question: Question, reviewer: str, letter: str) -> FilterAnswer:
    """Return a person's answer; no option is chosen if the letter is none of an option."""
    index = LETTERS.find(letter.strip().upper()) if len(letter.strip()) == 1 else -1
    chosen = question.options[index] if 0 <= index < len(question.options) else None
    return FilterAnswer(reviewer, "the video", chosen is not None and index == question.answer, chosen)
