"""Review session of one person: order of entries, decisions, progress."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.prompts.checks import faults
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.review import decisions
from vmmetrics.prompts.review.decisions import DecisionFile, ReviewDecision, Standing
from vmmetrics.prompts.statistics.diversity import OPENING, openings
from vmmetrics.utils.storage.provenance import now

_NAMED = 3  # entries with the same opening that a warning names

_PACE_OVER = 20
"""Number of recent decisions whose median is the pace, so that breaks do not count."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a reviewer.

    Attributes:
        total: Entries of the list.
        kept: Of them kept as they are.
        edited: Kept with another text.
        dropped: Dropped.
        skipped: Put off.
        corrected: Entries with a correction of a field, whatever was decided upon them.
        pace: Seconds a decision takes, the median of the last twenty that were timed; None before the first.
    """

    total: int
    kept: int
    edited: int
    dropped: int
    skipped: int
    corrected: int
    pace: float | None

    @property
    def done(self) -> int:
        """Number of decided entries."""
        return self.kept + self.edited + self.dropped

    @property
    def seconds_left(self) -> float | None:
        """Estimated time for the remaining entries, seconds."""
        return None if self.pace is None else self.pace * (self.total - self.done)


class Review:
    """One reviewer's session over a list. The file is the state: a new session resumes where the last ended.

    Entries come in an order shuffled by the seed that does not change when entries are added, the same for every
    reviewer, so that two who stop early have seen the same entries. Skipped entries come again at the end.

    Args:
        entries: The list; of entries that agree in text, subject, action and place the first counts.
        file: Decisions so far, and where new ones go.
        reviewer: Name of the reviewer.
        seed: Of the order.
        clock: Clock in seconds, for decision times; a constant one for scripts.

    Attributes:
        entries: In the order they are shown.
        current: Position of the entry shown; None where everything is decided.
        matches: Positions that :meth:`find` found, the next to be shown first.
    """

    def __init__(
        self,
        entries: Sequence[PromptEntry],
        file: DecisionFile,
        reviewer: str,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        unique: dict[str, PromptEntry] = {}
        for entry in entries:
            unique.setdefault(decisions.key_of(entry), entry)
        self.keys = sorted(unique, key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).digest())
        self.entries = [unique[key] for key in self.keys]
        self.reviewer = reviewer
        self._position = {key: position for position, key in enumerate(self.keys)}
        self._file = file
        self._clock = clock
        self._shown_at = clock()
        self.current: int | None = None
        self.matches: list[int] = []
        self._advance(-1)

    @property
    def entry(self) -> PromptEntry | None:
        """The current entry."""
        return None if self.current is None else self.entries[self.current]

    def keep(self) -> None:
        """Keep the current entry as it is, and advance."""
        self._decide(decisions.KEEP)

    def edit(self, text: str) -> None:
        """Keep the current entry with another text, and advance; an unchanged text means keep."""
        if text == self.entries[self._shown()].prompt:
            self.keep()
        else:
            self._decide(decisions.EDIT, edited=text)

    def warnings_of(self, text: str) -> list[str]:
        """Return the faults the checks report if the current entry had this text."""
        problems = faults(replace(self.with_corrections(), prompt=text))
        (opening,) = openings([text])
        standing, same = self._standing(), []
        for position, (key, entry) in enumerate(zip(self.keys, self.entries, strict=True)):
            verdict = standing.by_key.get(key)
            remains = position != self.current and (verdict is None or verdict.decision != decisions.DROP)
            if remains and openings([(verdict and verdict.text) or entry.prompt]) == [opening]:
                same.append(entry.index)
        if same and len(opening) == OPENING:
            more = f" and {len(same) - _NAMED} more" if len(same) > _NAMED else ""
            problems.append(f"it begins with {' '.join(opening)!r} like {', '.join(same[:_NAMED])}{more}")
        return problems

    def correct(self, field: str, value: str) -> tuple[str, list[str]]:
        """Correct a field of the current entry, without advancing; its verdict is unchanged.

        The value that it has already is a line too: so one says that another reviewer's correction is wrong.

        Args:
            field: One of :data:`~vmmetrics.prompts.review.decisions.FIELDS`; a tag may go without "tags.".
            value: New value, as text.

        Returns:
            The full name of the field, and what the checks find wrong since.

        Raises:
            ValueError: No such field, or it cannot hold the value.
        """
        entry = self.with_corrections()
        name = decisions.field_named(field)
        decisions.corrected(entry, {name: value})
        before = self.warnings_of(entry.prompt)
        self._write(self._shown(), decisions.SET, field=name, value=value)
        return name, [what for what in self.warnings_of(entry.prompt) if what not in before]

    def corrections(self) -> dict[str, str]:
        """Return this reviewer's corrections of the current entry: values by field."""
        corrected = self._standing().corrections[self.keys[self._shown()]]
        return {field: decision.value for field, decision in corrected.items()}

    def with_corrections(self) -> PromptEntry:
        """Return the current entry with this reviewer's corrections; its text is that of the list."""
        entry = self.entries[self._shown()]
        try:
            return decisions.corrected(entry, self.corrections())
        except ValueError as error:  # it had tags when it was corrected
            raise SetupError(f"{entry.index}: {error}") from error

    def drop(self, reason: str) -> None:
        """Drop the current entry, and advance."""
        self._decide(decisions.DROP, reason=reason)

    def skip(self) -> None:
        """Put the current entry off, and advance; its verdict is unchanged."""
        self._shown()
        if self.own() is None:
            self._decide(decisions.SKIP)
        else:
            self.show_next_undecided()

    def undo(self, position: int | None = None) -> ReviewDecision | None:
        """Undo this reviewer's last line on this list, of an earlier session too, and show its entry.

        Args:
            position: Of the entry whose last line is meant; None for the last of all.

        Returns:
            What was taken back; None where there is nothing.
        """
        self._file.refresh()
        positions = self._position if position is None else {self.keys[position]: position}
        undone = next((line for line in reversed(self._standing().lines) if line.key in positions), None)
        if undone is not None:
            self._write(positions[undone.key], decisions.UNDO)
            self.show(positions[undone.key])
        return undone

    def show(self, position: int) -> None:
        """Show the entry at a position of the review order."""
        self.current = position
        self._shown_at = self._clock()

    def show_next_undecided(self) -> None:
        """Leave the current entry and show the next undecided one."""
        self._advance(-1 if self.current is None else self.current)

    def show_match(self) -> None:
        """Show the next match, cyclically."""
        position, *rest = self.matches
        self.matches = [*rest, position]
        self.show(position)

    def find(self, text: str) -> list[int]:
        """Find the entries that contain a text in any field, ignoring case, from the next one on, cyclically."""
        names = ("index", "prompt", "subject", "subject_noun", "action", "place", "pattern")
        start = 0 if self.current is None else self.current + 1
        around = [*range(start, len(self.entries)), *range(start)]
        texts = {position: " ".join(getattr(self.entries[position], name) for name in names) for position in around}
        self.matches = [position for position, whole in texts.items() if text.casefold() in whole.casefold()]
        return self.matches

    def at_index(self, index: str) -> int | None:
        """Return the position of the entry with an index, ignoring leading zeros; None if there is none.

        Raises:
            ValueError: There are several.
        """
        names = [entry.index for entry in self.entries]
        positions = [p for p, name in enumerate(names) if name == index]
        positions = positions or [p for p, name in enumerate(names) if name.lstrip("0") == index.lstrip("0")]
        if len(positions) > 1:
            raise ValueError(f"{len(positions)} entries have the index {index}")
        return positions[0] if positions else None

    def own(self) -> ReviewDecision | None:
        """Return this reviewer's decision on the current entry; None if undecided or put off."""
        return None if self.current is None else self._standing().verdicts().get(self.keys[self.current])

    def others(self) -> list[ReviewDecision]:
        """Return the other reviewers' decisions on the current entry."""
        if self.current is None:
            return []
        key, standing = self.keys[self.current], decisions.reviews(self._file.decisions)
        verdicts = [own.verdicts() for name, own in standing.items() if name != self.reviewer]
        return [own[key] for own in verdicts if key in own]

    def progress(self) -> Progress:
        """Return the progress of this reviewer."""
        standing = self._standing()
        kinds = [decision.decision for key, decision in standing.by_key.items() if key in self._position]
        recent = [d for d in self._file.decisions if d.reviewer == self.reviewer and d.decision in decisions.VERDICTS]
        timed = [decision.seconds for decision in recent[-_PACE_OVER:] if decision.timed]
        put_right = sum(bool(standing.corrections[key]) for key in self.keys)
        keeps, edited, dropped, skipped = (
            kinds.count(kind) for kind in (decisions.KEEP, decisions.EDIT, decisions.DROP, decisions.SKIP)
        )
        pace = median(timed) if timed else None
        return Progress(len(self.entries), keeps, edited, dropped, skipped, put_right, pace)

    def warnings(self) -> list[str]:
        """Return and clear the warnings about damaged lines in the file."""
        warnings, self._file.warnings = self._file.warnings, []
        return warnings

    def _shown(self) -> int:
        if self.current is None:
            raise ValueError("no entry is shown")
        return self.current

    def _standing(self) -> Standing:
        return Standing(self._file.decisions, self.reviewer)

    def _decide(self, decision: str, **more: str) -> None:
        position = self._shown()
        self._write(position, decision, seconds=round(self._clock() - self._shown_at, 3), **more)
        self._advance(position)

    def _write(self, position: int, decision: str, **more: Any) -> None:
        entry, key = self.entries[position], self.keys[position]
        self._file.append(ReviewDecision(self.reviewer, now(), key, entry.index, entry.prompt, decision, **more))

    def _advance(self, position: int) -> None:
        """Show the next undecided entry, else the one put off longest, else none."""
        self._file.refresh()
        standing = self._standing()
        around = [*range(position + 1, len(self.keys)), *range(position + 1)]
        following = next((p for p in around if self.keys[p] not in standing.by_key), None)
        if following is None:  # the one put off longest stands at the end
            by_last = dict.fromkeys(line.key for line in reversed(standing.lines))
            waiting = {key for key, verdict in standing.by_key.items() if verdict.decision == decisions.SKIP}
            put_off = [key for key in by_last if key in waiting and key in self._position]
            following = self._position[put_off[-1]] if put_off else None
        self.current = following
        self._shown_at = self._clock()
