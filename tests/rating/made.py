"""Studies of small clips, and raters who answer without a browser."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.rating.designs import Design
from vmmetrics.rating.journal import AnswerJournal
from vmmetrics.rating.sessions import Consent, RaterSessions
from vmmetrics.rating.study import ClipSource, Settings, Study, new_study
from vmmetrics.rating.trials import Session

QUESTIONS = {"motion": ""}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "dcr": {"reference": "m0"},
    "questions": {
        "questions": dict.fromkeys(("right_subject", "right_step", "right_foil"), ""),
        "prompt_questions": {
            f"a square moves, number {prompt}": {
                "right_subject": (f"Is there a thing with the mark {'abcdefghijkl'[prompt] * 5}?", "yes"),
                "right_step": (f"Does it move {prompt} times?", ("yes", "no")[prompt % 2]),
                "right_foil": (f"Is it round the {prompt}. time?", "no"),
            }
            for prompt in range(12)
        },
    },
    "vmbench5": {"questions": dict.fromkeys(("mss", "cas", "ois", "pas", "tcs"), "")},
}
"""What designs need beside clips."""


def frames(seed: int, count: int = 10, size: tuple[int, int] = (32, 48)) -> Any:
    """Return a bright square that moves over a textured ground."""
    rng = np.random.default_rng(seed)
    ground = rng.integers(60, 90, (*size, 3)).astype(np.uint8)
    made = np.repeat(ground[None], count, axis=0)
    for at, frame in enumerate(made):
        left = 2 + at * (size[1] - 14) // count
        frame[8:20, left : left + 10] = 120 + 10 * (seed % 10)
    return made


def sources(folder: Path, prompts: int = 4, models: int = 3, count: int = 10) -> list[ClipSource]:
    """Write clips, one of each model for each prompt."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for model in range(models):
        for prompt in range(prompts):
            path = folder / f"m{model}-{prompt}.npy"
            np.save(path, frames(model * 100 + prompt, count))
            made.append(ClipSource(f"m{model}/{prompt}.npy", path, f"m{model}", f"a square moves, number {prompt}"))
    return made


def study(folder: Path, design: str = "acr", prompts: int = 4, models: int = 3, **settings: Any) -> Study:
    """Make a study of such clips."""
    given = {"questions": QUESTIONS, "votes": 3, "items": 6, **SETTINGS.get(design, {}), **settings}
    made = Settings(design, "lab@example.org", "made by us", **given)
    return new_study(folder / "study", sources(folder / "clips", prompts, models), made)


def play(trial: Any) -> list[dict[str, Any]]:
    return [{"ended": True, "seconds": 1.0, "frames": 10}] * len(trial.media)


def body(session: Session, at: int, value: int, **more: Any) -> dict[str, Any]:
    """Return what a browser sends."""
    answer = {
        "id": secrets.token_hex(16),
        "session": session.session,
        "trial": at,
        "values": {"motion": value},
        "seconds": 1.0,
    }
    return answer | {"clips": play(session.trials[at]), "display": {"refresh": 60.0}} | more


def rightly(design: Design, session: Session, at: int) -> int:
    """Return the answer of a rater who misses nothing, and otherwise rates by the clip's name."""
    trial = session.trials[at]
    if trial.expected is not None:
        return trial.expected
    ranks = [hash_of(identity) for identity in trial.media]
    if design.facts:
        return ranks[0] % 2
    if design.opinions:
        return 1 + ranks[-1] % 5
    return design.first * min(max(ranks[0] - ranks[1], min(design.values)), max(design.values))


def marks(design: Design, session: Session, at: int, value: int) -> list[dict[str, Any]]:
    """Return the mark of a value of designs with marks: of so many fifths of the clip; of others none."""
    end = value * design.seconds(session.trials[at].media) / 5
    return [{"kind": value, "begin": 0.0, "end": end, "box": [0.0, 0.0, 1.0, 1.0]}] if design.marks and value else []


def hash_of(identity: str) -> int:
    return int(identity.partition("-")[0].lstrip("c"))


def take_part(sessions: RaterSessions, upto: int | None = None, **parameters: str) -> Session:
    """Let a rater begin and answer, all or so many trials; the lines are written."""
    token = secrets.token_hex(16)
    lines = sessions.begin(Consent(token, sessions.study.consent, True, parameters))
    session = sessions.session(token)
    assert session is not None
    for at in range(len(session.trials) if upto is None else upto):
        value = rightly(sessions.design, session, at)
        values = dict.fromkeys(sessions.study.settings.questions, value)
        marked = marks(sessions.design, session, at, value)
        lines += sessions.answer(token, body(session, at, 0, values=values, marks=marked))
    sessions.journal.write(lines)
    return session


def filled(made: Study, raters: int, **options: Any) -> Study:
    """Let raters take part in a study."""
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        for _ in range(raters):
            take_part(sessions, **options)
    return made
