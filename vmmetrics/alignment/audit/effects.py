"""Parts 1 and 2 of an audit: what a score sees, ignores and is fooled by, in the cases of the probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product, takewhile
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from vmmetrics.alignment.audit.called import ENDED, CalledTarget
from vmmetrics.alignment.audit.calls import CRASH, Limits
from vmmetrics.alignment.audit.lines import Grade, Line, NotTried, Part, PartResult
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.perturbations.library import DEFECTS, INVARIANCES
from vmmetrics.alignment.perturbations.traps import TRAPS
from vmmetrics.alignment.probe.analysis import NOISE_FLOOR, ProbeScores, monotone_fit
from vmmetrics.alignment.probe.cases import Plan
from vmmetrics.clip import Clip
from vmmetrics.types import FloatArray

FEWEST = 5
"""Clips from which on an interval is given."""
SHOULD = {"lower": "worse", "not higher": "no better", "unchanged": "unchanged"}
"""What is expected of a score by which way is better, in words that hold for scores of which less is better."""
MOST_CLIPS = 200
"""Clips beyond which it is not said how many would settle a line."""
HARMLESS = 0.1
"""Change by a harmless change that counts as none, as a share of the range of the clean clips' scores."""


class Effect(NamedTuple):
    """Typical change of a score with its corrected interval.

    Attributes:
        shift: Median of the means of pairs of changes (Hodges and Lehmann 1963).
        low: Lower end.
        high: Upper end; both infinite for fewer than :data:`FEWEST` clips.
        clips: Clips with a score before and after.
        gone: Clips that lost their score.
    """

    shift: float
    low: float
    high: float
    clips: int
    gone: int

    def enough(self, distance: float) -> str:
        """Return about how many clips would tell the shift from what lies so far from it, intervals being as wide."""
        if not np.isfinite(self.low):
            return f"; {FEWEST} clips give an interval" if self.clips < FEWEST else ""
        reach = max(self.shift - self.low, self.high - self.shift)
        needed = self.clips * (reach / distance) ** 2 if distance else np.inf
        return f"; about {np.ceil(needed):.0f} clips (--clips) would tell" if needed <= MOST_CLIPS else ""


def effect_of(changes: Sequence[float], gone: int, tests: int) -> Effect | None:
    """Return the shift of changes with its interval at 95 % for ``tests`` lines together (Bonferroni).

    The interval is that of Wilcoxon's signed ranks, exact (Hollander and Wolfe 1999, section 3.3), and Student's where
    there are too few clips for its level.

    >>> effect_of([0.0] * 6, 0, 50)
    Effect(shift=0.0, low=0.0, high=0.0, clips=6, gone=0)
    """
    values: FloatArray = np.asarray(changes, np.float64)
    count = int(values.size)
    if not count:
        return None
    walsh = np.sort(((values[:, None] + values) / 2)[np.triu_indices(count)])
    shift = float(np.median(walsh))
    if count < FEWEST:
        return Effect(shift, -np.inf, np.inf, count, gone)
    tail = 0.025 / max(1, tests)
    below = np.cumsum(signed_ranks(count))
    rank = int(np.searchsorted(below, tail, side="right"))  # of the average at either end, from 1; 0: no such interval
    if rank:
        return Effect(shift, float(walsh[rank - 1]), float(walsh[-rank]), count, gone)
    if not values.std() and values.any():  # equal changes have no width to judge by, and are too few for ranks
        return Effect(shift, -np.inf, np.inf, count, gone)
    reach = float(student.ppf(1 - tail, count - 1) * values.std(ddof=1) / np.sqrt(count))
    mean = float(values.mean())
    return Effect(shift, mean - reach, mean + reach, count, gone)


def signed_ranks(count: int) -> FloatArray:
    """Return the probability of each sum of positive ranks of ``count`` changes without effect, from 0."""
    chances = np.ones(1)
    for rank in range(1, count + 1):
        wider = np.zeros(len(chances) + rank)
        wider[: len(chances)] += chances / 2
        wider[rank:] += chances / 2
        chances = wider
    return chances


class Effects:
    """Lines of parts 1 and 2 of one target.

    Args:
        lines: Of a probe.
        target: Directions and kinds of its scores.
        plan: What was done.
        tests: Lines of the card that share the risk of 5 %.
    """

    def __init__(self, lines: Sequence[Mapping[str, Any]], target: Target, plan: Plan, tests: int) -> None:
        self._scores = ProbeScores(lines)
        self._target, self._plan = target, plan
        self.names = [n for n in self._scores.metrics if any(n in of["scores"] for of in self._scores.clean.values())]
        harmless = [(kind, s) for kind, s in plan.cases() if kind in INVARIANCES]
        self._tests = tests
        self.spread = {name: self._spread(name) for name in self.names}
        self.noise = {name: self._noise(name, harmless) for name in self.names}

    def _clean(self, name: str) -> dict[str, float]:
        """Return the scores of the clips as they are, without those that have none."""
        return {clip: line["scores"][name] for clip, line in self._scores.clean.items() if name in line["scores"]}

    def _spread(self, name: str) -> float:
        """Return the range of the clean clips' scores, or a hundredth of that of all where they are equal."""
        everything = [line["scores"][name] for line in self._scores.lines if name in line.get("scores", ())]
        return max(float(np.ptp(list(self._clean(name).values()))), NOISE_FLOOR * float(np.ptp(everything))) or 1.0

    def _noise(self, name: str, harmless: Sequence[tuple[str, float]]) -> float:
        moved = [c for kind, s in harmless for c in self._scores.changes(name, kind, s)[0].values()]
        root = float(np.sqrt(np.mean(np.square(moved)))) if moved else 0.0
        return max(min(root, HARMLESS * self.spread[name]), NOISE_FLOOR * self.spread[name])

    def _effect(self, name: str, kind: str, strength: float) -> Effect | None:
        changes, _ = self._scores.changes(name, kind, strength)
        return effect_of(list(changes.values()), self._lost(name, kind, strength), self._tests)

    def _lost(self, name: str, kind: str, strength: float) -> int:
        """Return how many clips that had a score are refused after a change; a crash is no answer."""
        after = {
            line["clip"]: line for line in self._scores.lines if (line["kind"], line["strength"]) == (kind, strength)
        }
        lines = [after[clip] for clip in self._clean(name) if "scores" in after.get(clip, ())]
        return sum(name not in line["scores"] and not _crash(line) for line in lines)

    def all(self) -> PartResult:
        """Return the lines of every score, and what was not done."""
        lines = [
            line for name in self.names for part in (self._sees, self._ignores, self._fooled) for line in part(name)
        ]
        tried = {line.check for line in lines}
        why = {of["kind"]: of["inapplicable"] for of in self._scores.lines if "inapplicable" in of}
        left = [NotTried("fooled" if kind in TRAPS else "sees", kind, reason) for kind, reason in why.items()
                if kind not in tried and (kind in TRAPS or kind in DEFECTS)]  # fmt: skip
        left += [
            NotTried("sees", "", f"{clip} has no score as it is: {why}")
            for clip, line in self._scores.clean.items()
            for why in (*line.get("missing", {}).values(), *line.get("errors", {}).values())
        ]
        return PartResult(lines, left, self.noise, self.spread)

    def moving(self) -> tuple[str, ...]:
        """Return the defects that move a score at their greatest strength."""
        strongest = max(self._plan.strengths)
        pairs = product(self._plan.defects or (), self.names)
        effects = ((kind, name, self._effect(name, kind, strongest)) for kind, name in pairs)
        return tuple(dict.fromkeys(kind for kind, name, e in effects if e is not None and self._is_moved(e, name)))

    def _figures(self, effect: Effect, name: str, kind: str, strength: float) -> str:
        changes = self._scores.changes(name, kind, strength)[0]
        before = float(np.mean([self._scores.clean[clip]["scores"][name] for clip in changes]))
        after = before + float(np.mean(list(changes.values())))
        interval = (
            f" [{effect.low:.3g}, {effect.high:.3g}]" if np.isfinite(effect.low) else " (too few for an interval)"
        )
        lost = f"; {effect.gone} lost their score" if effect.gone else ""
        times = f"{abs(effect.shift) / self.noise[name]:.1f} times its noise"
        typical = f"typically {effect.shift:+.3g}{interval}"
        sign = 0.0 if self._target.is_amount(name) else self._target.sign(name)
        up = sum(change * (sign or 1) > 0 for change in changes.values())
        where = f"{'better' if sign else 'higher'} on {up} of {effect.clips} clips{lost}"
        return f"means {before:.3g} → {after:.3g}, {typical}, {times}; {where}"

    def _line(
        self, part: Part, check: str, title: str, name: str, effect: Effect | None, grade: Grade, verdict: str,
        text: str, expected: str | None = None,
    ) -> Line:  # fmt: skip
        ends = {} if effect is None or not np.isfinite(effect.low) else {"low": effect.low, "high": effect.high}
        figures = {} if effect is None else {"effect": effect.shift, "clips": effect.clips}
        return Line(part, check, title, grade, verdict, text, name, expected=expected, **figures, **ends)  # type: ignore[arg-type]

    def _is_moved_as(self, shift: float, name: str, point: tuple[float, Effect]) -> bool:
        """Return True for a strength that moves a score as the greatest does."""
        return self._is_moved(point[1], name) and shift * point[1].shift > 0

    def _enough(self, effect: Effect, name: str) -> str:
        """Return how many clips would show that a score moves, or that it stays within its noise."""
        moved, noise = abs(effect.shift), self.noise[name]
        return effect.enough(moved if moved > noise else noise - moved)

    def _is_moved(self, effect: Effect, name: str) -> bool:
        return (effect.low > 0 or effect.high < 0) and abs(effect.shift) > self.noise[name]

    def _ended(self, name: str, part: Part, kind: str, title: str) -> list[Line]:
        """Return a line that says how the target hung, died or crashed, where it did."""
        had = self._clean(name)
        of = (_crash(line) for line in self._scores.lines if line["kind"] == kind and line["clip"] in had)
        crashes = [crash for crash in of if crash]
        if ended := [crash for crash in crashes if ENDED in crash]:
            text = f"{len(ended)} calls: {ended[0]}"
            return [self._line(part, kind, title, name, None, "error", "hangs or dies", text)]
        return [self._line(part, kind, title, name, None, "error", "crashes", text) for text in crashes[:1]]

    def _sees(self, name: str) -> list[Line]:
        lines = []
        for kind in self._plan.defects or ():
            points = [(s, e) for s in self._plan.strengths if (e := self._effect(name, kind, s)) is not None]
            title = DEFECTS[kind].what.capitalize()
            lines += self._ended(name, "sees", kind, title)
            if not points:
                if lost := self._lost(name, kind, max(self._plan.strengths)):
                    text = f"{lost} clips lose their score"
                    lines.append(self._line("sees", kind, title, name, None, "good", "refused", text))
                continue
            sign = self._target.sign(name)
            # from the greatest strength down to the first that is not noticed: no correction for their number
            same = partial(self._is_moved_as, points[-1][1].shift, name)
            found = takewhile(same, reversed(points))
            noticed = [strength for strength, _ in found][::-1]
            strongest, effect = points[-1]
            fitted = monotone_fit([e.shift for _, e in points], [e.clips for _, e in points])
            steady = float(np.abs(fitted - [e.shift for _, e in points]).max()) <= self.noise[name]
            order = "" if steady else "; not in the order of strengths"
            text = f"at strength {strongest:g}: {self._figures(effect, name, kind, strongest)}{order}"
            grade: Grade = "good"
            better = [s for s, e in points if self._is_moved(e, name) and sign * e.shift > 0]
            if better and not self._target.is_amount(name):
                grade, verdict = "bad", f"better from strength {better[0]:g}"
            elif noticed and better:
                grade, verdict = "note", f"more from strength {better[0]:g}"
            elif noticed:
                verdict = f"noticed from strength {noticed[0]:g}"
            elif abs(effect.low) <= self.noise[name] and abs(effect.high) <= self.noise[name]:
                grade, verdict = "note", "ignored"
            else:
                grade, verdict = "open", "not told apart"
                text += self._enough(effect, name)
            expected = None if self._target.is_amount(name) else "worse"
            lines.append(self._line("sees", kind, title, name, effect, grade, verdict, text, expected))
        return lines

    def _ignores(self, name: str) -> list[Line]:
        lines = []
        for kind in self._plan.invariances or ():
            strengths, title = self._scores.strengths(kind), INVARIANCES[kind].what.capitalize()
            lines += self._ended(name, "ignores", kind, title)
            effect = self._effect(name, kind, strengths[-1]) if strengths else None
            lost = self._lost(name, kind, strengths[-1]) if strengths else 0
            if effect is None or lost > effect.clips:
                text = f"{lost} clips lose their score"
                lines += [self._line("ignores", kind, title, name, None, "bad", "refused", text)] * bool(lost)
                continue
            changes = list(self._scores.changes(name, kind, strengths[-1])[0].values())
            size = effect_of(np.abs(changes).tolist(), 0, self._tests)
            assert size is not None  # noqa: S101
            bound = HARMLESS * self.spread[name]
            grade: Grade = "open"
            verdict = "not told apart"
            if size.high <= bound:
                grade, verdict = "good", "unchanged"
            elif size.low > bound:
                grade, verdict = "bad", "changes"
            text = (
                f"at strength {strengths[-1]:.2g}: {self._figures(effect, name, kind, strengths[-1])}; "
                f"absolute change {size.shift:.3g}, "
                f"{size.shift / self.spread[name]:.0%} of the range of the unchanged clips"
            )
            if grade == "open":
                text += size.enough(abs(size.shift - bound))
            lines.append(self._line("ignores", kind, title, name, effect, grade, verdict, text, "unchanged"))
        return lines

    def _fooled(self, name: str) -> list[Line]:
        lines = []
        sign = self._target.sign(name)
        for kind in self._plan.traps or ():
            trap, lost = TRAPS[kind], self._lost(name, kind, 1.0)
            effect = self._effect(name, kind, 1.0)
            expected = trap.motion if self._target.is_amount(name) else trap.expected
            title = trap.what.capitalize()
            lines += self._ended(name, "fooled", kind, title)
            if effect is None or effect.clips < FEWEST <= lost:
                if lost:
                    text = f"{lost} clips get no score; {trap.why}"
                    lines.append(self._line("fooled", kind, title, name, None, "good", "refused", text, expected))
                continue
            grade, verdict = judged(expected, effect, sign, self.noise[name])
            told = self._enough(effect, name) if grade == "open" else ""
            should = expected if self._target.is_amount(name) else SHOULD[expected]
            text = f"{self._figures(effect, name, kind, 1.0)}; should be {should}: {trap.why}{told}"
            lines.append(self._line("fooled", kind, title, name, effect, grade, verdict, text, expected))
        return lines


def _crash(line: Mapping[str, Any]) -> str:
    """Return why the target's process ended, or the text of its crash; "" for an answer."""
    why = str(next(iter(line.get("errors", {}).values()), ""))
    found = CRASH.match(why.removeprefix("RuntimeError: "))
    return why if ENDED in why else found[0].partition(" (called.py:")[0] if found else ""


def judged(expected: str, effect: Effect, sign: float, noise: float) -> tuple[Grade, str]:
    """Return grade and verdict of the change by a trap.

    Args:
        expected: "lower", "not higher" or "unchanged", in the direction of good scores.
        effect: Change of the score.
        sign: 1 where higher is better, -1 where lower is, 0 where that was not said.
        noise: Change that counts as none.
    """
    if sign == 0:
        moved = (effect.low > 0 or effect.high < 0) and abs(effect.shift) > noise
        return (
            ("note", f"{'higher' if effect.shift > 0 else 'lower'}: no direction was stated")
            if moved
            else ("open", "not told apart")
        )
    low, high = sorted((sign * effect.low, sign * effect.high))
    if low > 0 and sign * effect.shift > noise:
        return "bad", "fooled: better"
    if expected == "lower":
        if high < 0:
            return "good", "worse, as it should"
        return ("bad", "no worse") if -noise <= low and high <= noise else ("open", "not told apart")
    if expected == "unchanged" and high < -noise:
        return "bad", "worse"
    if high <= noise and (expected != "unchanged" or low >= -noise):
        return "good", "no better" if expected == "not higher" else "unchanged"
    return "open", "not told apart"


OTHER_PROMPT, OTHER_PROMPT_TITLE = "other-prompt", "Another clip's prompt"
"""Check of part 2 for targets that take prompts."""
OTHER_PROMPT_WHY = "a reward that does not read the prompt pays for any clip"


def other_prompts(target: Target, limits: Limits, clips: Sequence[Clip], effects: PartResult, tests: int) -> PartResult:
    """Score clips with what they show as prompt, and with what another one shows: should be lower.

    Args:
        target: A target that takes prompts.
        limits: Of its process.
        clips: Clips; those without a prompt are left out.
        effects: Parts 1 and 2, whose noise is that of the card.
        tests: Lines of the card that share the risk of 5 %.
    """
    shown = [clip for clip in clips if clip.prompt]
    others = [
        next((c.prompt for c in (*shown[n + 1 :], *shown) if c.prompt != clip.prompt), None)
        for n, clip in enumerate(shown)
    ]
    title, why = OTHER_PROMPT_TITLE, OTHER_PROMPT_WHY
    changes: dict[str, list[float]] = {}
    function = CalledTarget(target, limits)
    try:
        for clip, prompt in zip(shown, others, strict=True):
            if prompt is not None:
                own, other = function(clip), function(replace(clip, prompt=prompt))
                for name in own.keys() & other.keys():
                    changes.setdefault(name, []).append(float(other[name] or 0) - float(own[name] or 0))
    except RuntimeError as error:
        return PartResult(not_tried=[NotTried("fooled", OTHER_PROMPT, str(error))])
    finally:
        function.close()
    lines = []
    for name, of in changes.items():
        effect = effect_of(of, 0, tests)
        assert effect is not None  # noqa: S101  (there are changes)
        noise = effects.noise.get(name, 0.0)
        grade, verdict = judged("lower", effect, target.sign(name), noise)
        if not any(of):
            grade, verdict = "note", "does not read the prompt"
        text = (
            f"{effect.shift:+.3g} [{effect.low:.3g}, {effect.high:.3g}] on {effect.clips} clips; should be worse: {why}"
        )
        ends: dict[str, Any] = {"low": effect.low, "high": effect.high} if np.isfinite(effect.low) else {}
        lines.append(
            Line("fooled", OTHER_PROMPT, title, grade, verdict, text, score=name, effect=effect.shift,
                 clips=effect.clips, expected="lower", **ends)
        )  # fmt: skip
    left = [] if lines else [NotTried("fooled", OTHER_PROMPT, "fewer than two clips have prompts of their own")]
    return PartResult(lines, left)
