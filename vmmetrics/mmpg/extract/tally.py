"""Counts of very many different things in memory that has a bound, and what was seen with each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

MOST_ENTRIES = 150_000
"""Different things counted at once; at about 1.5 kB each they take a quarter of a GiB. A corpus of a million captions
has fewer different nouns; of actions with their complements it may have more."""
MOST_WORDS = 64
"""Different forms, modifiers or links remembered of one thing."""
LONGEST_EXAMPLE = 200
"""Characters; a longer caption says more than one needs to see how a word was used."""


@dataclass(slots=True)
class Entry:
    """What was seen of one thing.

    Attributes:
        count: Times it was seen.
        forms: How it was said.
        modifiers: What described it.
        links: What it was seen with: members of a collective, doers of an action.
        others: Of an action what it was done to, of a noun how its plural was written.
        examples: The shortest captions it was seen in, distinct, the shortest first.
    """

    count: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    modifiers: Counter[str] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


class Tally:
    """Counts things by a key.

    Where there are too many, the rarest are forgotten. A thing forgotten and seen again counts from 0, so a count may
    be too small by :attr:`short`, never too large: whatever is left out was seen that seldom between two clearings.

    Args:
        examples: Captions kept of each.
        most: Different things at once.

    Attributes:
        short: Upper bound of what a count may lack.
        forgotten: Times something was forgotten.
    """

    def __init__(self, examples: int, most: int = MOST_ENTRIES) -> None:
        self.short = 0
        self.forgotten = 0
        self._most = most
        self._examples = examples
        self._entries: dict[str, Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[str, Entry]]:
        """Keys and entries, the most frequent first; of equally frequent ones in the order of their keys."""
        yield from sorted(self._entries.items(), key=lambda item: (-item[1].count, item[0]))

    def add(
        self,
        key: str,
        form: str,
        example: str,
        modifiers: Iterable[str] = (),
        links: Iterable[str] = (),
        others: Iterable[str] = (),
    ) -> None:
        """Count a thing once."""
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= self._most:
                self._forget()
            entry = self._entries[key] = Entry()
        entry.count += 1
        _count(entry.forms, (form,))
        _count(entry.modifiers, modifiers)
        _count(entry.links, links)
        _count(entry.others, others)
        self._keep(entry.examples, example)

    def _keep(self, examples: list[str], text: str) -> None:
        if len(text) > LONGEST_EXAMPLE or text in examples:
            return
        if len(examples) < self._examples or (examples and len(text) < len(examples[-1])):
            examples.append(text)
            examples.sort(key=lambda example: (len(example), example))
            del examples[self._examples :]

    def _forget(self) -> None:
        """Forget the rarest, at least a quarter of all."""
        counts = sorted(entry.count for entry in self._entries.values())
        limit = counts[len(counts) // 4]
        kept = {key: entry for key, entry in self._entries.items() if entry.count > limit}
        self.forgotten += len(self._entries) - len(kept)
        self.short += limit
        self._entries = kept


def _count(counter: Counter[str], words: Iterable[str]) -> None:
    counter.update(words)
    if len(counter) > 2 * MOST_WORDS:
        kept = counter.most_common(MOST_WORDS)
        counter.clear()
        counter.update(dict(kept))
