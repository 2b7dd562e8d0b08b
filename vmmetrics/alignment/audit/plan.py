"""Plan of an audit: its parts and checks, and a list of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from vmmetrics.alignment.audit.breaks import CHECKS
from vmmetrics.alignment.audit.calls import Limits
from vmmetrics.alignment.audit.effects import OTHER_PROMPT, OTHER_PROMPT_TITLE, OTHER_PROMPT_WHY, SHOULD
from vmmetrics.alignment.audit.lines import PARTS
from vmmetrics.alignment.perturbations.library import DEFECTS, INVARIANCES
from vmmetrics.alignment.perturbations.traps import TRAPS
from vmmetrics.alignment.probe.cases import Plan

CHECK_NAMES = (*DEFECTS, *INVARIANCES, *TRAPS, OTHER_PROMPT, *(check.name for check in CHECKS))
"""Names for ``only``."""


def known_checks() -> Iterator[tuple[str, str, str, str]]:
    """Yield part, name, what is done, and what a bad line means, of every check in the order of a card."""
    for name, defect in DEFECTS.items():
        yield "sees", name, defect.what, "the score gets better"
    for name, change in INVARIANCES.items():
        yield "ignores", name, change.what, "the score changes, though nothing is worse"
    for name, trap in TRAPS.items():
        yield "fooled", name, trap.what, f"should be {SHOULD[trap.expected]}: {trap.why}"
    yield "fooled", OTHER_PROMPT, OTHER_PROMPT_TITLE.lower(), f"should be worse: {OTHER_PROMPT_WHY}"
    for check in CHECKS:
        yield "breaks", check.name, check.title[0].lower() + check.title[1:], f"often: {check.fault}"


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What an audit does.

    Attributes:
        parts: Parts of the card.
        only: Names of checks; None for all.
        probe: Defects, harmless changes and strengths.
        limits: Of each process.
        jobs: Processes at the same time.
        limit: Clips of parts 1 to 3, the first.
        seed: Everything random.
        pythons: Interpreters of other environments.

    Raises:
        ValueError: An unknown part or check.
    """

    parts: tuple[str, ...] = ("sees", "ignores", "fooled", "breaks")
    only: tuple[str, ...] | None = None
    probe: Plan = field(
        default_factory=lambda: Plan(strengths=(0.25, 0.5, 1.0), harmless_strengths=(1.0,), rates=False)
    )
    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    limit: int = 20
    seed: int = 0
    pythons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for chosen, known, what in ((self.parts, PARTS, "part"), (self.only or (), CHECK_NAMES, "check")):
            if unknown := [name for name in chosen if name not in known]:
                near = get_close_matches(unknown[0], known, n=1)
                hint = f"did you mean {near[0]}? " if near else ""
                raise ValueError(f"No {what} {unknown[0]!r}; {hint}'vmmetrics audit checks' lists them")

    @property
    def effects(self) -> Plan:
        """Plan of the probe, without what was not asked for."""

        def chosen(part: str, names: Sequence[str] | None) -> tuple[str, ...]:
            if part not in self.parts:
                return ()
            return tuple(name for name in names or () if self.only is None or name in self.only)

        return replace(
            self.probe, seed=self.seed, rates=False,
            defects=chosen("sees", self.probe.defects),
            invariances=self.probe.invariances if {"sees", "ignores", "fooled"} & set(self.parts) else (),
            traps=chosen("fooled", list(TRAPS)),
        )  # fmt: skip

    @property
    def has_effects(self) -> bool:
        """True if parts 1 and 2 have anything to do."""
        plan = self.effects
        asked = set(plan.invariances or ()) & set(self.only or plan.invariances or ())
        prompts = "fooled" in self.parts and OTHER_PROMPT in (self.only or ())
        return bool(plan.defects or plan.traps or prompts or ("ignores" in self.parts and asked))

    @property
    def tests(self) -> int:
        """Number of lines of parts 1 and 2, those not asked for included: a line alone is judged as in the card."""
        return len(self.probe.defects or ()) + len(self.probe.invariances or ()) + len(TRAPS)

    @property
    def breaks(self) -> tuple[str, ...]:
        """Names of the checks of part 3."""
        names = tuple(check.name for check in CHECKS) if "breaks" in self.parts else ()
        return tuple(name for name in names if self.only is None or name in self.only)
