"""Clauses of the standards: a sentence each on whether a study meets it. Which text says what: docs/rating.md."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vmmetrics.rating.results import Results

LEAST_OBSERVERS = 15
"""Valid observers of a study (BT.500-15)."""
LONGEST_MINUTES = 30.0
"""Length of a session (BT.500)."""
_PLATFORM_CHECKS = 2


class Clause(NamedTuple):
    """A clause.

    Attributes:
        source: Standard and clause.
        met: True, False, or None where this program cannot know.
        text: The sentence.
    """

    source: str
    met: bool | None
    text: str


def clauses(results: Results) -> list[Clause]:
    """Return the clauses, each with a sentence on this study."""
    settings, design = results.study.settings, results.design
    raters = {session.rater for session in results.counted}
    votes = [len(row[~np.isnan(row)]) for row in results.table(next(iter(settings.questions)))[2]]
    minutes = results.minutes() or design.minutes
    answers = [answer for session in results.counted for answer in session.answers.values()]
    drops = sum(clip.dropped for answer in answers for clip in answer.clips)
    frames = sum(clip.frames for answer in answers for clip in answer.clips)
    fewest, gold = min(votes, default=0), settings.gold if design.gold else 0  # clips may be too short for any
    flash = max((clip.flashes for clip in results.study.clips.values()), default=0)
    return [
        Clause(design.method[0] or "Method", bool(design.method[0]), f"The method is {design.method[1]}."),
        Clause("ITU-R BT.500-15, 2.5.1", len(raters) >= LEAST_OBSERVERS,
               f"{len(raters)} valid observers took part; {LEAST_OBSERVERS} are the least."),
        Clause("ITU-R BT.500-15, 2.5.1, per item", bool(votes) and fewest >= LEAST_OBSERVERS,
               f"The item with the fewest has {fewest} valid votes."),
        Clause("ITU-R BT.500, length of a session", minutes <= LONGEST_MINUTES,
               f"A session takes {minutes:.0f} minutes; {LONGEST_MINUTES:.0f} are the most."),
        Clause("ITU-R BT.500, order", True, "Each rater saw the items in a random order of their own."),
        Clause("ITU-T P.910, training", settings.training > 0,
               f"{settings.training} training items, whose votes are not kept, came before the first session."),
        Clause("ITU-T P.910, instructions and screening", None,
               "Acuity and colour vision were not screened here; in a laboratory, do so beforehand."),
        Clause("ITU-T P.910 crowdsourcing, gold and trapping items", min(gold, settings.traps) > 0,
               f"A session has {gold} gold items and {settings.traps} attention checks, never first or last."),
        Clause("ITU-T P.910 crowdsourcing, playback", True,
               "Clips were loaded whole before they were shown, and no vote was taken before their end; "
               f"{drops:,} of {frames:,} frames were dropped."),
        Clause("ITU-T P.910 crowdsourcing, straight-lining and consistency", True,
               "Criteria of each session are in sessions.csv; rules were fixed before the first answer."),
        Clause("ITU-T P.910 (2023) and P.913, rater bias", True if design.opinions else None,
               "Bias and inconsistency of raters are estimated jointly with the qualities (mos.csv)."
               if design.opinions else "Raters' bias is of scales; pairs have none."),
        Clause("ITU-T P.910, report", True, "Scores have number of votes, deviation and 95 % interval."),
        Clause("ITU-R BT.1702, flashes", flash <= 3 or None,
               f"No clip has more than {flash} flashes in a second over a quarter of the frame."
               if flash <= 3 else f"A clip has {flash} flashes in a second; raters were warned."),
        Clause("Prolific, checks", settings.traps >= _PLATFORM_CHECKS,
               f"{settings.traps} attention checks, by explicit instruction; {_PLATFORM_CHECKS} are asked for above "
               "5 minutes. Exclusion acts on use, not on pay."),
        Clause("Ethics", bool(settings.ethics) or None,
               f"Approval: {settings.ethics}." if settings.ethics else "No number of an ethics approval was stated."),
    ]  # fmt: skip


def to_markdown(listed: list[Clause]) -> str:
    """Return the clauses as a Markdown table."""
    words = {True: "met", False: "not met", None: "not known"}
    rows = [f"| {one.source} | {words[one.met]} | {one.text} |" for one in listed]
    return "\n".join(["| clause | | |", "|---|---|---|", *rows, ""])
