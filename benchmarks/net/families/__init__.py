"""The families of cases, each a module with ``CASES``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from benchmarks.net.case import Case

FAMILIES = {
    "names": "names",
    "help": "helps",
    "scores": "scores",
    "understand": "understand",
    "align": "align",
    "prompts": "prompts",
    "cas": "cas",
    "weights": "weights",
    "baselines": "baselines",
}
"""Family to module, in the order in which they are computed."""


def chosen(only: Sequence[str]) -> list[Case]:
    """Return the cases of some families, named FAMILY or FAMILY/NAME; all without a name."""
    wanted = {name.partition("/")[0] for name in only} or set(FAMILIES)
    if unknown := wanted - set(FAMILIES):
        raise SystemExit(f"Expected some of {', '.join(FAMILIES)} but got {', '.join(sorted(unknown))}")
    found = [
        case
        for family, module in FAMILIES.items()
        if family in wanted
        for case in import_module(f"benchmarks.net.families.{module}").CASES
        if not only or family in only or case.key in only
    ]
    keys = [case.key for case in found]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise SystemExit(f"Two cases of one name: {sorted(twice)}")
    return found
