"""Clips that a report lists, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vmmetrics.scoring.record import Record
from vmmetrics.viewer.selection import Selection
from vmmetrics.viewer.sources import Source
from vmmetrics.viewer.texts import Texts


@dataclass(frozen=True, slots=True)
class Row:
    """A clip of a report.

    Attributes:
        number: Position in the report.
        record: Its record.
        name: Its name, unlike those of other clips of the run.
        run: Position of its run.
        model: Its model as the leaderboard names it.
        texts: Removes paths and hosts.
    """

    number: int
    record: Record
    name: str
    run: int
    model: str
    texts: Texts

    def text(self, text: str) -> str:
        """Return a text on the clip without paths and hosts."""
        return self.texts(text, self.record, self.name)


def rows_of(sources: Sequence[Source], selection: Selection, texts: Texts) -> list[list[Row]]:
    """Return the clips of each run that are listed."""
    rows: list[list[Row]] = []
    number = 0
    for run, (source, positions) in enumerate(zip(sources, selection.positions, strict=True)):
        models: dict[str | None, str] = {}
        of_run = []
        for position in positions:
            record = source.records[position]
            if record.model not in models:
                models[record.model] = texts(source.run.model_name(record.model))
            of_run.append(Row(number, record, source.names[position], run, models[record.model], texts))
            number += 1
        rows.append(of_run)
    return rows
