"""Criteria of a session, by rules that were fixed before the first answer; what fails one is flagged, not deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vmmetrics.rating.designs import Design
from vmmetrics.rating.journal import State
from vmmetrics.rating.trials import Answer, Session, Trial
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE, Outcome, Preference

LEAST_REFRESH = 30.0
"""Refreshes of a screen in a second below which clips are not shown as they are (P.910 toolkit)."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion.

    Attributes:
        name: Its name, a column of ``sessions.csv``.
        value: What was measured, or None where there was nothing to measure.
        passed: True if the session passes.
    """

    name: str
    value: float | None
    passed: bool


def own_criteria(design: Design, session: Session) -> list[Criterion]:
    """Return the criteria that need no other session."""
    rules, clips = design.rules, [clip for answer in session.answers.values() for clip in answer.clips]
    answered = _answered(session, "item", "active")
    votes = [design.vote(trial, answer, name) for trial, answer in answered for name in answer.values]
    first = next(iter(design.settings.questions))  # a gold item breaks the motion: other dimensions may stay good
    missed = {
        "traps": sum({*answer.values.values()} != {trial.expected} for trial, answer in _answered(session, "trap")),
        "gold": sum(not design.is_right(trial, one.values[first]) for trial, one in _answered(session, "gold")),
    }
    straight, varied = design.straight(votes)
    repeated = list(_repeated(design, session))
    steady, consistent = design.steady(repeated)
    thinking = [answer.seconds for answer in session.answers.values()]
    shown = sum(design.study.seconds(media) for at in session.answers for media in session.trials[at].media)
    played = sum(clip.seconds for clip in clips) / shown if shown else None
    refresh = [answer.display.refresh for answer in session.answers.values() if answer.display.refresh]
    return [
        Criterion("finished", len(session.answers) / max(1, len(session.trials)), session.finished),
        Criterion("kept_consent", float(not session.withdrawn), not session.withdrawn),
        Criterion("played_to_end", float(np.mean([clip.ended for clip in clips])) if clips else None,
                  all(clip.ended for clip in clips)),
        Criterion("playing_time", played, played is None or played <= rules.playback),
        Criterion("refresh_rate", min(refresh, default=None), min(refresh, default=LEAST_REFRESH) >= LEAST_REFRESH),
        Criterion("traps_missed", missed["traps"], missed["traps"] <= rules.traps),
        Criterion("gold_missed", missed["gold"], missed["gold"] <= rules.gold),
        Criterion("straight_lining", straight if votes else None, not votes or varied),
        Criterion("seconds_to_vote", float(np.median(thinking)) if thinking else None,
                  not thinking or float(np.median(thinking)) >= rules.seconds),
        Criterion("repeats_apart", steady if repeated else None, consistent),
    ]  # fmt: skip


def judge(design: Design, state: State) -> dict[str, list[Criterion]]:
    """Return the criteria of every session, by its id.

    Agreement is with the sessions that pass everything else, each rater's own left out.
    """
    judged = {name: own_criteria(design, session) for name, session in state.sessions.items()}
    passing = [state.sessions[name] for name, criteria in judged.items() if all(one.passed for one in criteria)]
    dimension = next(iter(design.settings.questions))
    given = {name: votes_of(design, session, dimension) for name, session in state.sessions.items()}
    votes: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for session in passing:
        for key, value in given[session.session].items():
            votes[key].append((session.rater, value))
    for name, session in state.sessions.items():
        own = given[name]
        others = {
            key: [value for rater, value in votes[key] if rater != session.rater] for key in own if key in votes
        }  # fmt: skip
        agreed = design.agreement(own, others)
        least = design.rules.agreement
        judged[name].append(Criterion("agreement", agreed and agreed[0], agreed is None or agreed[1] >= least))
    return judged


def used(state: State, judged: Mapping[str, Sequence[Criterion]]) -> list[Session]:
    """Return the sessions whose answers count."""
    return [session for name, session in state.sessions.items() if all(one.passed for one in judged[name])]


def votes_of(design: Design, session: Session, dimension: str, *, active: bool = False) -> dict[str, float]:
    """Return a session's vote by item; of a pair as if its sides had been those of the item.

    Args:
        design: The design.
        session: The session.
        dimension: Of the answers.
        active: Count items too that were chosen by the answers before.
    """
    votes = {}
    for at, answer in session.answers.items():
        trial = session.trials[at]
        if (trial.is_vote if active else trial.kind == "item") and dimension in answer.values:
            turned = len(trial.media) > 1 and trial.media != design.items[trial.item].clips
            vote = design.vote(trial, answer, dimension)
            votes[trial.item] = -vote if turned else vote
    return votes


def preferences_of(design: Design, sessions: Iterable[Session], dimension: str) -> list[Preference]:
    """Return the votes of sessions on pairs, those on pairs that were chosen included."""
    outcomes: dict[int, Outcome] = {LEFT: LEFT, TIE: TIE, RIGHT: RIGHT}
    votes = [
        (design.items[key].clips, design.first * int(np.sign(vote)), session.rater)
        for session in sessions
        for key, vote in votes_of(design, session, dimension, active=True).items()
    ]
    return [Preference(left, right, outcomes[vote], rater=rater) for (left, right), vote, rater in votes]


def _answered(session: Session, *kinds: str) -> list[tuple[Trial, Answer]]:
    """Return the trials of some kinds that were answered, and the answers."""
    answers = sorted(session.answers.items())
    return [(session.trials[at], answer) for at, answer in answers if session.trials[at].kind in kinds]


def _repeated(design: Design, session: Session) -> Iterable[tuple[float, float]]:
    """Yield first and repeated vote of each repetition and dimension."""
    first = {trial.item: at for at, trial in enumerate(session.trials) if trial.is_vote}
    for at, answer in session.answers.items():
        before = session.answers.get(first.get(session.trials[at].item, -1))
        if session.trials[at].kind == "repeat" and before is not None:
            trial = session.trials[at]
            for name in answer.values.keys() & before.values.keys():
                yield design.vote(trial, before, name), design.vote(trial, answer, name)
