"""A list after review: what was kept, with the new texts, and what reviewers do not agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from vmmetrics.mmpg.entry import PromptEntry
from vmmetrics.mmpg.review_decisions import DROP, Decision, Standing, key_of, reviewers_of


class Rule(StrEnum):
    """What decides where reviewers differ.

    ``unanimous``: nothing. ``any-drop``: one who drops it. ``majority``: an outcome more than half of them chose.
    """

    UNANIMOUS = "unanimous"
    ANY_DROP = "any-drop"
    MAJORITY = "majority"


@dataclass(frozen=True, slots=True)
class Applied:
    """A list parted by what reviewers decided, each part in the list's order.

    Attributes:
        kept: Entries that stay, edited ones with their new text; provenance says who reviewed them.
        edited: How many of them have a new text.
        dropped: Entries that go.
        conflicts: Entries that the reviewers differ on, as they were; a third person can review them.
        undecided: Entries with fewer decisions than wanted.
    """

    kept: tuple[PromptEntry, ...]
    edited: int
    dropped: tuple[PromptEntry, ...]
    conflicts: tuple[PromptEntry, ...]
    undecided: tuple[PromptEntry, ...]


def apply_decisions(
    entries: Sequence[PromptEntry], decisions: Sequence[Decision], rule: Rule = Rule.UNANIMOUS, reviewers: int = 1
) -> Applied:
    """Apply what stands of the decisions to a list.

    Args:
        entries: The list.
        decisions: Of all reviewers, each one's in order of time.
        rule: What decides where they differ.
        reviewers: How many must have decided upon an entry; at least 1.
    """
    verdicts = [Standing(decisions, name).verdicts() for name in reviewers_of(decisions)]
    kept: list[PromptEntry] = []
    others: dict[str, list[PromptEntry]] = {"dropped": [], "conflicts": [], "undecided": []}
    for entry in entries:
        key = key_of(entry)
        votes = [found[key] for found in verdicts if key in found]
        if len(votes) < max(1, reviewers):
            others["undecided"].append(entry)
            continue
        agreed = _outcome(votes, rule)
        if not agreed:
            others["conflicts"].append(entry)
        elif agreed[0].decision == DROP:
            others["dropped"].append(entry)
        else:
            kept.append(_reviewed(entry, agreed))
    edited = sum("edited_from" in entry.provenance.get("review", {}) for entry in kept)
    return Applied(tuple(kept), edited, *(tuple(others[name]) for name in ("dropped", "conflicts", "undecided")))


def _outcome(votes: Sequence[Decision], rule: Rule) -> list[Decision]:
    """The decisions for the outcome that wins; none where none does. Outcomes are texts, None for dropping."""
    counts = Counter(vote.text for vote in votes)
    if rule is Rule.ANY_DROP and None in counts:
        return [vote for vote in votes if vote.text is None]
    text, count = counts.most_common(1)[0]
    wanted = len(votes) // 2 + 1 if rule is Rule.MAJORITY else len(votes)
    return [vote for vote in votes if vote.text == text] if count >= wanted else []


def _reviewed(entry: PromptEntry, agreed: Sequence[Decision]) -> PromptEntry:
    """The entry as they leave it. Its other fields stay: who edits a prompt must leave subject and action in it."""
    review: dict[str, Any] = {
        "by": [decision.reviewer for decision in agreed],
        "when": max(decision.when for decision in agreed),
    }
    text = agreed[0].text or entry.prompt
    if text != entry.prompt:
        review["edited_from"] = entry.prompt
    provenance: Mapping[str, Any] = {**entry.provenance, "review": review}
    return replace(entry, prompt=text, provenance=provenance)
