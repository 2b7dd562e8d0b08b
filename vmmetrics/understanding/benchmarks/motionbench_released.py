"""MotionBench's scoring as released: how an answer becomes a letter, repeats are merged, and accuracies counted.

Where the released script stops with an error, this goes on, and :class:`Tally` says so: nothing answered or nothing
counted (it divides by zero: no accuracy), and a second answered question in one record with a known answer (it wraps
the record's task in one more list for each: counted in the task it has).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.motionbench_reading import HIDDEN
from vmmetrics.understanding.harness.benchmark import Scored

_KEPT = "ABCD"


def polish(text: str) -> str:
    """The first character of what an answer says, as the released tools find it; often no letter at all.

    What precedes the first ``)``, of that what follows the first ``(``, of that the first word.

    >>> [polish(text) for text in ("(A) x", "The answer is B", "Answer: (C)", "b", ")A")]
    ['A', 'T', 'C', 'b', '']
    """
    said = text.strip().partition(")")[0]
    if "(" in said:
        said = said.split("(")[1].strip()
    return said.split(" ")[0][:1]


def merge(old: str | None, text: str) -> str:
    """What the released tools keep of a question answered again: the old letter if it is A to D, else the new one."""
    if old and any(letter in old for letter in _KEPT):
        return polish(old)
    return polish(text)


@dataclass(slots=True)
class Tally:
    """The counts of the released script.

    Attributes:
        total: Questions, but for those with a hidden key that were answered: its ``total_qa_num``.
        answered: Questions with an answer, whatever it is, hidden keys included: its ``total_answered_num``.
        right: Its ``right_num``.
        tasks_right: Right answers by task.
        tasks_answered: Answered questions with a known key by task.
        stops: Why the released script would have stopped; empty where it would not.
    """

    total: int = 0
    answered: int = 0
    right: int = 0
    tasks_right: Counter[str] = field(default_factory=Counter)
    tasks_answered: Counter[str] = field(default_factory=Counter)
    stops: list[str] = field(default_factory=list)

    @property
    def accuracy(self) -> float | None:
        """Its ``acc``; None where it divides by zero."""
        return self.right / self.total if self.total else None

    @property
    def answered_accuracy(self) -> float | None:
        """Its ``answered_acc``; None where it divides by zero."""
        return self.right / self.answered if self.answered else None

    def task_accuracy(self) -> dict[str, float]:
        """Accuracy of each task that was counted."""
        return {task: self.tasks_right[task] / count for task, count in self.tasks_answered.items()}


def tally(questions: Sequence[Question], scored: Iterable[Scored]) -> Tally:
    """Count as the released script does.

    Args:
        questions: In the order of the file.
        scored: What each got under ``protocol="upstream"``.
    """
    counts = Tally()
    answered_in: Counter[object] = Counter()
    several = 0
    for question, entry in zip(questions, scored, strict=True):
        hidden = question.reference["answer"] == HIDDEN
        if entry.answered:
            counts.answered += 1
            answered_in[question.reference["record"]] += 1
            if hidden:
                continue
            several += answered_in[question.reference["record"]] > 1
            task = question.groups["task"][0]
            counts.tasks_answered[task] += 1
            counts.tasks_right[task] += entry.value == 1
            counts.right += entry.value == 1
        counts.total += 1
    if several:
        counts.stops.append(f"a record has several answered questions ({several} beyond the first)")
    if not counts.answered or not counts.total:
        counts.stops.append("nothing is answered" if not counts.answered else "every answer is to a hidden key")
    return counts
