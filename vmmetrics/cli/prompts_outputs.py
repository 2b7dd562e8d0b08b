"""What the commands on prompt lists must not do with the files they are given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer


def check_outputs(lists: Sequence[str], outputs: Sequence[Path | None]) -> None:
    """Refuse, before any work, outputs that would overwrite a list that is read, or one another.

    Args:
        lists: Lists that are read, as given.
        outputs: Files that will be written; None for those not asked for.

    Raises:
        typer.BadParameter: One would.
    """
    from vmmetrics.utils.weights.manifest import shipped_list

    written = [path.resolve() for path in outputs if path is not None]
    if set(written) & {shipped_list(name).resolve() for name in lists}:
        raise typer.BadParameter("a list that is read would be written over; choose another name")
    if len(set(written)) < len(written):
        raise typer.BadParameter("two of the files to be written are one; give them different names")
