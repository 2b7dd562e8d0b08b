"""Bench of part 3: reference scores of a few clips, calls in fresh processes, and comparisons with a tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import NamedTuple, Self

import numpy as np

from vmmetrics.alignment.audit import runner
from vmmetrics.alignment.audit.calls import Answer, Caller, Item, Limits
from vmmetrics.alignment.audit.clips import PROMPTS
from vmmetrics.alignment.audit.lines import Finding, Grade, Look
from vmmetrics.alignment.audit.material import Material
from vmmetrics.alignment.audit.target import FILES, Target
from vmmetrics.clip import Clip
from vmmetrics.errors import VMMetricsError

FEW = 5
"""Most clips that checks use."""
TIGHT = 1e-3
"""Largest difference of equal input, as a share of the scale: the range of the scores of all clips."""
LOOSE = 0.05
"""The same where decoders round colours otherwise."""


class NotRunError(VMMetricsError):
    """A check could not be run; the text says why."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: Name, for ``--checks``.
        title: What is done.
        fault: What is often wrong with a scorer that fails.
        needs: Returns why it does not apply to a target, or None.
        run: Runs it.
        exact: True if it looks for any change at all, which scores that differ from call to call always show.
    """

    name: str
    title: str
    fault: str
    needs: Callable[[Bench], str | None]
    run: Callable[[Bench], Iterator[Finding]]
    exact: bool = False


class Variant(NamedTuple):
    """The clips of the reference in another form.

    Attributes:
        label: What is different.
        items: In the order of the clips that they are compared with.
        route: Way of taking them; None for the bench's.
        omit: Keyword parameters left out.
    """

    label: str
    items: Sequence[Item]
    route: str | None = None
    omit: Sequence[str] = ()


class Bench:
    """State of part 3.

    Args:
        target: The target.
        clips: Clips, varied ones first; all of them are scored once.
        folder: Scratch folder.
        limits: Of a process.
        seed: Chooses the clips of most checks, and everything random.
        pythons: Interpreters of other environments.

    Attributes:
        names: Names of the scores.
        items: All clips.
        answers: Their scores.
        few: Clips of most checks: scored, with scores that differ where there are.
        reference: Their answers.
        scale: Range of the scores by name.
        typical: Mean distance of the scores from their median by name, or a twentieth of the scale where it is less.
        slack: Largest difference between two processes that make the same calls, by name.
        facts: What the runner says of the target.
        constant: Names of scores that are the same for every clip.
        check: Name of the check that runs; empty before the first.
        blind: True if what is asked must not depend on answers, which are made elsewhere.

    Raises:
        NotRunError: The target cannot be loaded, or scores no clip.
    """

    blind = False

    def __init__(
        self,
        target: Target,
        clips: Sequence[Clip],
        folder: Path,
        limits: Limits,
        seed: int,
        pythons: Sequence[str] = (),
    ) -> None:
        self.target, self.limits, self.pythons = target, limits, tuple(pythons)
        self.rng = np.random.default_rng(seed)
        self._caller: Caller | None = None
        self._open: set[Caller] = set()  # shared by the benches of all checks, as is the next
        self._stopped = Event()
        self.check = ""
        route = target.single or target.batch
        assert route is not None  # noqa: S101
        self.route = route
        self.clips = [
            clip if clip.prompt else replace(clip, prompt=PROMPTS[n % len(PROMPTS)]) for n, clip in enumerate(clips)
        ]
        with self.process():
            if (why := self.caller.start()) is not None:
                raise NotRunError(why)
            self.facts = self.caller.facts
            compares = bool({"reference", "references"} & set(self.facts.get("named", ())))
            self.material = Material(folder, PROMPTS[0], compares=compares)
            self.items = [self.material.item(clip) for clip in self.clips]
            self.answers = [self.survived(item) for item in self.items]
            scored = [n for n, answer in enumerate(self.answers) if answer.scores]
            if not scored:
                raise NotRunError(f"it scores none of {len(clips)} clips: {self.answers[0].refused}")
            self.names = tuple(dict.fromkeys(name for answer in self.answers for name in answer.scores))
            self.chosen = self._chosen(scored)
            self.few = [self.items[n] for n in self.chosen]
        self.reference, again = ([self.survived(item) for item in self.few] for _ in self._processes(2))
        self._by = {route: self.reference}
        self.scale = {name: self._span(name) for name in self.names}
        self.constant = {
            name for name in self.names if len({a.scores[name] for a in self.answers if name in a.scores}) < 2
        }
        self.typical = {name: self._typical(name) for name in self.names}
        self.slack = {name: max((d for d in differences(self.reference, again, name) if d is not None), default=0.0)
                      for name in self.names}  # fmt: skip

    def _processes(self, count: int) -> Iterator[None]:
        """Have calls answered by one new process after another, in which nothing was scored before."""
        for _ in range(count):
            with self.process():
                yield

    def _chosen(self, scored: Sequence[int]) -> list[int]:
        """Return up to :data:`FEW` clips, drawn at random among those that differ most from one another in score."""
        order = self.rng.permutation(scored).tolist()
        seen: set[tuple[float, ...]] = set()
        distinct: list[int] = []
        rest: list[int] = []
        for number in order:
            values = tuple(self.answers[number].scores.get(name, math.nan) for name in self.names)
            (rest if values in seen else distinct).append(number)
            seen.add(values)
        return [*distinct, *rest][:FEW]  # some checks take the first three

    def _span(self, name: str) -> float:
        values = [a.scores[name] for a in self.answers if math.isfinite(a.scores.get(name, math.nan))]
        span = float(np.ptp(values)) if values else 0.0
        if not span and (stated := self.target.span(name)):
            span = (stated[1] - stated[0]) / 10
        return span or max(map(abs, values), default=0.0) or 1.0

    def _typical(self, name: str) -> float:
        values = [a.scores[name] for a in self.answers if math.isfinite(a.scores.get(name, math.nan))]
        spread = float(np.mean(np.abs(np.asarray(values) - np.median(values)))) if values else 0.0
        return max(spread, self.scale[name] / 20)

    @property
    def caller(self) -> Caller:
        """Process of the check that runs."""
        assert self._caller is not None  # noqa: S101
        return self._caller

    def opened(self, python: str | None, environment: Mapping[str, str] | None) -> Caller:
        """Return a caller of the target, in a process of its own."""
        return Caller(self.target, self.limits, python, environment)

    def why_not(self, check: Check) -> str | None:
        """Return why a check does not apply, or None."""
        return check.needs(self)

    def copied(self, rng: np.random.Generator | None = None, check: str | None = None) -> Self:
        """Return a bench of the same answers, for what runs at the same time."""
        own = copy(self)
        own.rng, own.check, own._caller = rng or self.rng, check or self.check, None
        return own

    @contextmanager
    def process(self, python: str | None = None, environment: Mapping[str, str] | None = None) -> Iterator[None]:
        """Have calls answered by a new process meanwhile."""
        before = self._caller
        with self.opened(python, environment) as self._caller:
            self._open.add(self._caller)
            if self._stopped.is_set():
                self._caller.stop()
            try:
                yield
            finally:
                self._open.discard(self._caller)
                self._caller = before

    def stop(self) -> None:
        """End all processes, and refuse further calls; for another thread than theirs."""
        self._stopped.set()
        for caller in list(self._open):
            caller.stop()

    def ask(
        self, items: Sequence[Item], route: str | None = None, omit: Sequence[str] = (), *, together: bool = False
    ) -> list[Answer]:
        """Return the answers for clips; one call for all where they go together, by a way of taking several.

        Raises:
            NotRunError: The process hung, died, or broke a limit.
        """
        route = route or (self.target.batch if together else None) or self.route
        groups = [list(items)] if together else [[item] for item in items]
        if route not in runner.BATCHES:
            groups = [list(items)]
        if route == "folder":
            groups = [self.material.copied(group) for group in groups]
        answers = [answer for group in groups for answer in self.caller(group, route, omit)]
        if dead := next((answer.refused for answer in answers if answer.failed), None):
            raise NotRunError(dead)
        return answers

    def survived(self, item: Item, route: str | None = None) -> Answer:
        """Return an answer; a process that dies refuses."""
        try:
            return self.ask([item], route)[0]
        except NotRunError as error:
            return Answer(refused=f"its process ended: {error}", failed=True)

    def moves(self, before: Sequence[Answer], after: Sequence[Answer], name: str) -> bool:
        """Return True if any of the answers changes at all, one that is lost included."""
        for one, other, gap in zip(before, after, differences(before, after, name), strict=True):
            if gap is None:
                if (name in one.scores) != (name in other.scores):
                    return True
            elif gap == math.inf or gap > max(1e-9 * abs(one.scores[name]), self.slack[name] * 3):
                return True
        return False

    def tolerance(self, name: str, values: Sequence[float], share: float = TIGHT) -> float:
        """Return the largest difference of two scores that counts as none."""
        largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
        return max(share * self.scale[name], 1e-6 * largest, 3 * self.slack[name])

    def compare(
        self, variants: Sequence[Variant], share: float = TIGHT, *, same: str = "the same scores",
        grade: Grade = "bad", reference: Sequence[Answer] | None = None, clips: Sequence[Item] | None = None,
    ) -> Iterator[Finding]:  # fmt: skip
        """Yield, for each score, whether variants of the clips score as the clips themselves do.

        Args:
            variants: At least one.
            share: Tolerance as a share of the scale.
            same: Verdict where they do.
            grade: Grade where they do not.
            reference: Answers to compare with; None for those of the first of :attr:`few` in the same way.
            clips: The clips of these answers; None for :attr:`few`.
        """
        expected = reference or self.by(variants[0].route or self.route)[: len(variants[0].items)]
        asked = [(v, self.ask(v.items, v.route, v.omit, together=v.route in runner.BATCHES)) for v in variants]
        yield from self.judged(asked, expected, share, same, grade, clips=clips)

    def judged(
        self, asked: Sequence[tuple[Variant, Sequence[Answer]]], expected: Sequence[Answer], share: float = TIGHT,
        same: str = "the same scores", grade: Grade = "bad", *, clips: Sequence[Item] | None = None,
        lost: bool = False,
    ) -> Iterator[Finding]:  # fmt: skip
        """Yield what answers for variants say, as :meth:`compare` does; with ``lost``, a lost score is another one."""
        refusing = {v.label: next(a.refused for a in answers if a.refused) for v, answers in asked
                    if all(a.refused for a in answers)}  # fmt: skip
        for label, reason in refusing.items():
            if str(reason).startswith(runner.MalformedError.__name__):
                yield Finding("bad", "not one score a clip", f"{label}: {reason}")
        if len(refusing) == len(asked) and not lost:
            why = "; ".join(f"{label}: {reason}" for label, reason in refusing.items())
            yield Finding("note", "refuses, and says so", why)
            return
        partly = [v.label for v, answers in asked if v.label not in refusing and
                  any(a.refused and e.scores for a, e in zip(answers, expected, strict=True))]  # fmt: skip
        refuses = (
            f" Refused: {', '.join([*refusing, *(f'{label} for some clips' for label in partly)])}."
            if refusing or partly
            else ""
        )
        for name in self.names:
            worst: tuple[float, str, int] = (0.0, "", 0)
            differing = []
            for variant, answers in asked:
                gaps = [
                    math.inf if lost and gap is None and name in one.scores else gap
                    for gap, one in zip(differences(expected, answers, name), expected, strict=True)
                ]
                values = [a.scores[name] for a in expected if name in a.scores]
                bound = self.tolerance(name, values, share)
                large = [(gap, n) for n, gap in enumerate(gaps) if gap is not None and not gap <= bound]
                if large:
                    gap, at = max(large)
                    size = f"by up to {gap:.3g}" if math.isfinite(gap) else "without a score, or no number"
                    differing.append(f"{variant.label} {size} ({len(large)} of {len(variant.items)} clips)")
                    worst = max(worst, (gap, variant.label, at))
            if not differing and 3 * self.slack[name] > max(share, TIGHT) * self.scale[name]:
                yield Finding("open", "not told apart", "its scores differ from call to call by as much", name)
                continue
            if not differing:
                yield Finding(
                    "good", same, f"{', '.join(v.label for v, _ in asked)}: equal within the tolerance.{refuses}", name
                )
                continue
            gap, label, at = worst
            variant, answers = next((v, a) for v, a in asked if v.label == label)
            beside = (clips or self.few)[at]
            looks = self.look(variant.items[at], label, answers[at], beside, expected[at], name)
            text = f"differs: {'; '.join(differing)}; the scores of all clips span {self.scale[name]:.3g}.{refuses}"
            yield Finding(grade, f"another score: {label}", text, name, gap, looks)

    def look(
        self, item: Item, label: str, answer: Answer, beside: Item | None, expected: Answer | None, name: str,
        was: str = "as it was",
    ) -> list[Look]:  # fmt: skip
        """Return a clip to look at, another beside it; none for an array alone."""
        if item.path is None or not Path(item.path).is_file():
            return []
        other = None if expected is None else expected.scores.get(name)
        at = beside.path if beside is not None else None
        return [Look(item.path, label, answer.scores.get(name), at, was, other)]

    def by(self, route: str) -> list[Answer]:
        """Return the answers for :attr:`few` by a way of taking clips, scored once by each."""
        if route not in self._by:
            with self.process():
                self._by[route] = self.ask(self.few, route)
        return self._by[route]

    @property
    def file_route(self) -> str | None:
        """First way in which it takes files."""
        return next((route for route in self.target.takes if route in FILES), None)

    @property
    def array_route(self) -> str | None:
        """First way in which it takes one clip as an array."""
        return next((route for route in self.target.takes if route in ("frames", "floats")), None)


def always(_: Bench) -> str | None:
    """Return None: the check applies to every target."""
    return None


def files(bench: Bench) -> str | None:
    """Return why checks of files do not apply, or None."""
    return None if bench.file_route else "it takes no files"


def arrays(bench: Bench) -> str | None:
    """Return why checks of arrays do not apply, or None."""
    return None if bench.array_route else "it takes no array of one clip"


def batches(bench: Bench) -> str | None:
    """Return why checks of several clips in one call do not apply, or None."""
    return None if bench.target.batch else "it takes one clip a call"


def differences(first: Sequence[Answer], second: Sequence[Answer], name: str) -> list[float | None]:
    """Return absolute differences of a score; None where one has none, infinite where one is no finite number."""
    gaps: list[float | None] = []
    for one, other in zip(first, second, strict=True):
        a, b = one.scores.get(name), other.scores.get(name)
        if a is None or b is None:
            gaps.append(None)
        elif math.isfinite(a) and math.isfinite(b):
            gaps.append(abs(a - b))
        else:
            gaps.append(0.0 if a == b or (math.isnan(a) and math.isnan(b)) else math.inf)
    return gaps
