"""What questions give away by their words alone: answers by rules that see no clip, and how often they are right."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from vmmetrics.video.prompt_questions import PromptQuestion

Guess = Callable[[PromptQuestion, Sequence[PromptQuestion]], str]
"""An answer to a question, from its words and the questions about other prompts with their answers."""
_OPENING = re.compile(
    r"^(?:is|are|does|do|did|has|have|can|was|were|there|any|all|both|at|by|in|on|the|a|an|its?|of|end|start|first|"
    r"beginning|video|clip|end,)\b[\s,]*",
    re.IGNORECASE,
)


def first_noun(question: str) -> str:
    """The first word that no question opens with: "Is the horse over the fence?" is about a horse."""
    rest = question.strip()
    while match := _OPENING.match(rest):
        rest = rest[match.end() :]
    return re.split(r"\W+", rest.lower(), maxsplit=1)[0]


def by_length(question: PromptQuestion, others: Sequence[PromptQuestion]) -> str:
    """The usual answer of questions on the same side of the middle length."""
    lengths = sorted(len(other.question) for other in others)
    middle = lengths[len(lengths) // 2]
    side = len(question.question) > middle
    return _majority([other for other in others if (len(other.question) > middle) == side], others)


def by_first_noun(question: PromptQuestion, others: Sequence[PromptQuestion]) -> str:
    """The usual answer of questions with the same first noun."""
    noun = first_noun(question.question)
    return _majority([other for other in others if first_noun(other.question) == noun], others)


def _majority(alike: Sequence[PromptQuestion], others: Sequence[PromptQuestion]) -> str:
    """The answer that is more frequent among like questions than among all."""
    share = sum(other.answer == "yes" for other in others) / len(others)
    yes = sum(other.answer == "yes" for other in alike)
    return "yes" if not alike or yes >= share * len(alike) else "no"


GUESSERS: dict[str, Guess] = {
    "always yes": lambda question, others: "yes",
    "length": by_length,
    "first noun": by_first_noun,
}


def guessed_right(questions: Sequence[PromptQuestion], folds: int = 10) -> dict[str, dict[str, float]]:
    """Share of right guesses by guesser: by kind, over "all", and "balanced" (the mean over the two answers).

    Guessers learn from the questions about prompts of other folds.
    """
    prompts = sorted({question.prompt for question in questions})
    fold = {prompt: number % folds for number, prompt in enumerate(prompts)}
    others = [[q for q in questions if fold[q.prompt] != number] for number in range(folds)]
    shares: dict[str, dict[str, float]] = {}
    for name, guess in GUESSERS.items():
        right: defaultdict[str, list[bool]] = defaultdict(list)
        for question in questions:
            hit = guess(question, others[fold[question.prompt]]) == question.answer
            for key in (question.kind, "all", question.answer):
                right[key].append(hit)
        shares[name] = {key: sum(hits) / len(hits) for key, hits in right.items()}
        shares[name]["balanced"] = (shares[name].pop("yes", 0.0) + shares[name].pop("no", 0.0)) / 2
    return shares


def yes_by_kind(questions: Sequence[PromptQuestion]) -> dict[str, float]:
    """Share of questions whose answer is yes, by kind."""
    counts = Counter(question.kind for question in questions)
    yes = Counter(question.kind for question in questions if question.answer == "yes")
    return {kind: yes[kind] / number for kind, number in counts.items()}
