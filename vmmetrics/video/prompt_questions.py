"""Questions about the motion of a prompt, each answered yes or no: the file that lies beside a prompt list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import clean, shortened
from vmmetrics.utils.tables import located_rows
from vmmetrics.utils.weights.manifest import PROMPT_LISTS, shipped_folder, shipped_list
from vmmetrics.video.prompt_lists import PromptList, read_list

CONTRAST = "contrast"
KINDS = ("subject", "before", "step", "end", "foil", CONTRAST)
"""Kinds of questions: the subject is there; it begins in the state before; the decisive step is seen; it ends as the
prompt says; something that the prompt rules out; what parts the prompt from its twin."""
ANSWERS = ("yes", "no")
RIGHT = "right_"
"""What columns begin with that say, of a kind, whether its questions were answered right."""
QUESTIONS, PAIR_QUESTIONS = "questions.jsonl", "pair-questions.jsonl"
"""Names of the file, and of that about the minimal pairs."""
MAX_BYTES = 64 * 2**20
"""Larger files are refused: the questions of a hundred thousand prompts take about this."""
_TEXTS = ("prompt", "kind", "question", "answer")
_SHOWN = 60  # characters of a wrong value in a message


@dataclass(frozen=True, slots=True)
class PromptQuestion:
    """A question about the clips of a prompt.

    Attributes:
        prompt: Index of the prompt in its list ("0003").
        kind: One of :data:`KINDS`.
        question: The question, readable on its own.
        answer: The answer of a clip that shows what the prompt says, one of :data:`ANSWERS`.
        measure: How perception decides it (:func:`vmmetrics.functional.outcomes.decider`); empty where it does not.
    """

    prompt: str
    kind: str
    question: str
    answer: str
    measure: Mapping[str, Any] = field(default_factory=dict)


def shipped_questions(prompts: str | Path = "library") -> Path:
    """Return the path of the questions that lie beside the shipped list of a name; else those of the library."""
    return shipped_folder("prompts") / (PAIR_QUESTIONS if str(prompts) == "pairs" else QUESTIONS)


def questions_of_list(
    prompts: str | Path = "library", path: Path | None = None
) -> tuple[Path, PromptList, dict[int, tuple[PromptQuestion, ...]]]:
    """Read a prompt list and the questions about it.

    Args:
        prompts: Name of a shipped list, or a file.
        path: The questions; None for those that are shipped. Of those, a shipped list takes the ones on its prompts.

    Returns:
        The path of the questions, the list, and :func:`read_questions`.

    Raises:
        SetupError: As :func:`read_questions`; or the list is invalid.
    """
    shipped = shipped_questions(prompts)
    path, list_file = path or shipped, shipped_list(prompts)
    listed = PromptList(read_list(list_file))
    subset = str(prompts) in PROMPT_LISTS and list_file.parent == shipped.parent and path == shipped
    return path, listed, read_questions(path, listed, subset)


def read_questions(path: Path, listed: PromptList, subset: bool = False) -> dict[int, tuple[PromptQuestion, ...]]:
    """Read the questions about the prompts of a list.

    Args:
        path: JSON Lines, an object a question: prompt, kind, question and answer, perhaps measure; other fields are
            ignored.
        listed: The list.
        subset: Leave out questions on prompts outside of the list, which are otherwise refused.

    Returns:
        The questions by the position of their prompt in the list, in the order of the file.

    Raises:
        SetupError: The file cannot be read or has no question, or one lacks a field, has another kind or answer, is
            about a prompt that the list does not have, or comes twice.
    """
    questions: dict[int, tuple[PromptQuestion, ...]] = {}
    places: dict[tuple[int, str], str] = {}
    for where, row in located_rows(path, most=MAX_BYTES, expected="questions are expected"):
        question = _question(row, where)
        number = listed.find(question.prompt)
        if number is None:
            if subset:
                continue
            raise SetupError(
                f"{where}: no prompt {_quoted(question.prompt)} in the list of {len(listed.entries):,} prompts; name "
                "the list that the questions were written for"
            )
        first = places.setdefault((number, " ".join(question.question.casefold().split())), where)
        if first is not where:
            raise SetupError(
                f"{where}: prompt {_quoted(question.prompt)} has the question {_quoted(question.question)} twice, "
                f"first in {first}; remove one"
            )
        questions[number] = (*questions.get(number, ()), question)
    if not questions:
        raise SetupError(f"{path} has no questions; expected a line {{prompt, kind, question, answer}} for each")
    return questions


def _question(row: object, where: str) -> PromptQuestion:
    values = {name: row.get(name) if isinstance(row, Mapping) else None for name in _TEXTS}
    texts = {name: value.strip() for name, value in values.items() if isinstance(value, str) and value.strip()}
    if missing := [name for name in values if name not in texts]:
        raise SetupError(f"{where}: expected an object with text in {', '.join(values)} but {missing[0]} has none")
    for name, choices in (("kind", KINDS), ("answer", ANSWERS)):
        if texts[name] not in choices:
            raise SetupError(f"{where}: expected {name} to be {' or '.join(choices)} but got {_quoted(texts[name])}")
    measure = row.get("measure") if isinstance(row, Mapping) else None
    return PromptQuestion(**texts, measure=measure if isinstance(measure, Mapping) else {})


def _quoted(text: str) -> str:
    return repr(shortened(clean(text), _SHOWN))
