"""What :mod:`~vmmetrics.mmpg.checks` finds wrong with an entry as a reviewer would leave it."""

from __future__ import annotations

from collections.abc import Iterable

from vmmetrics.mmpg.checks import faults
from vmmetrics.mmpg.entry import PromptEntry
from vmmetrics.mmpg.statistics.diversity import OPENING, openings

_NAMED = 3  # entries with the same opening that a warning names


def warnings_of(entry: PromptEntry, others: Iterable[PromptEntry]) -> list[str]:
    """Everything that is wrong with an entry, in words; empty where nothing is.

    Args:
        entry: The entry, with its new text and fields.
        others: The rest of the list, as it stands: what shares the first words of its prompts is told.
    """
    found = faults(entry)
    (opening,) = openings([entry.prompt])
    rest = list(others)
    same = [
        other.index for other, begun in zip(rest, openings([o.prompt for o in rest]), strict=True) if begun == opening
    ]
    if same and len(opening) == OPENING:
        more = f" and {len(same) - _NAMED} more" if len(same) > _NAMED else ""
        found.append(f"it begins with {' '.join(opening)!r} like {', '.join(same[:_NAMED])}{more}")
    return found
