"""FPS-Bench's scoring as released: letters, accuracy over what was understood, its interval and groups."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vmmetrics.models.questions import Question
from vmmetrics.understanding.harness.benchmark import Figure, Scored

RESAMPLES: Final = 1000
SEED: Final = 0  # of the resamples
CHANCE: Final = 0.2  # "5-way", whatever options there are

_LEADING: Final = re.compile(r"\s*\(?\*{0,2}([A-Ea-e])\b")
_NAMED: Final = re.compile(r"\b(?:answer|option|choice|select|choose|pick)\b[^A-Za-z0-9]{0,12}\(?([A-Ea-e])\b")
_ALONE: Final = re.compile(r"\b([A-E])\b")
_GROUPS: Final = ("category", "domain", "subdomain", "minFPS", "clip duration")


def released_letter(text: str, letters: Sequence[str]) -> str | None:
    """Letter that the released parser finds unless told otherwise; None for none.

    At the beginning (the article ``A`` of a sentence too). Else the first after ``answer``, ``option`` and the like in
    lower case; else the first capital that stands alone and is an option's.

    >>> released_letter("A man", "ABCD"), released_letter("It is B", "ABCD"), released_letter("Apple", "ABCD")
    ('A', 'B', None)
    """
    said = text.strip()
    leading = _LEADING.match(said)
    if leading and leading[1].upper() in letters:
        return leading[1].upper()
    named = _NAMED.search(said)
    if named and named[1].upper() in letters:
        return named[1].upper()
    return next((letter for letter in _ALONE.findall(said) if letter in letters), None)


def min_fps_group(rate: Any) -> str:
    """Group of a minFPS in the released report: what is not whole and above 4 lands in the highest, but for 8 to 10."""
    if rate is None:
        return "unknown"
    if rate <= 4:
        return "4"
    if rate in (5, 6, 7):
        return f"{rate:.0f}"
    return "8-10" if 8 <= rate <= 10 else "10+"


@dataclass(frozen=True, slots=True)
class Interval:
    """Ends of a 95 % interval."""

    low: float
    high: float


def interval(values: Sequence[float]) -> Interval | None:
    """The released bootstrap over questions, to its four decimals; None for fewer than two values."""
    if len(values) < 2:
        return None
    rng = random.Random(SEED)  # noqa: S311 - no secret
    count = len(values)
    means = sorted(sum(values[rng.randrange(count)] for _ in range(count)) / count for _ in range(RESAMPLES))
    return Interval(round(means[int(0.025 * RESAMPLES)], 4), round(means[int(0.975 * RESAMPLES)], 4))


def released_figures(questions: Sequence[Question], scored: Sequence[Scored]) -> list[Figure]:
    """The released report: accuracy over answers that were understood, the share that was not, accuracy by group.

    The interval is the released one where the file of answers has the order of the annotations, as the released
    harness writes it: its draws depend on the order.

    Args:
        questions: The questions.
        scored: What each got under ``protocol="upstream"``: ``detail["given"]`` tells whether there is an answer.
    """
    given = [(q, s) for q, s in zip(questions, scored, strict=True) if s.detail.get("given")]
    counted = [(q, s.value) for q, s in given if s.value is not None]
    values = [value for _, value in counted]
    ends = interval(values)
    silent = sum(not s.answered for _, s in given)
    found = [
        Figure(
            "all", "all", "accuracy", sum(values) / len(values) if values else 0.0,
            ends.low if ends else None, ends.high if ends else None, len(values), answered=_share(counted, given),
            chance=CHANCE, note="over answers that were understood; the interval draws questions, not videos",
        ),
        Figure("all", "all", "no_answer_rate", silent / len(given) if given else 0.0, n=len(given)),
    ]  # fmt: skip
    for group in _GROUPS:
        of_group: dict[str, list[float]] = {}
        for question, value in counted:
            of_group.setdefault(_name_in(group, question), []).append(value)
        found += [
            Figure(group, name, "accuracy", sum(of_group[name]) / len(of_group[name]), n=len(of_group[name]))
            for name in sorted(of_group)
        ]
    return found


def _share(counted: Sequence[Any], given: Sequence[Any]) -> float | None:
    return len(counted) / len(given) if given else None


def _name_in(group: str, question: Question) -> str:
    reference: Mapping[str, Any] = question.reference
    return min_fps_group(reference["min_fps"]) if group == "minFPS" else question.groups[group][0]
