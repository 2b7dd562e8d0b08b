"""Studies of clips that are not on the disk, with raters who took part, for what is computed of answers alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.rating.made import QUESTIONS, take_part
from vmmetrics.rating.journal import AnswerJournal, read_state
from vmmetrics.rating.results import Results
from vmmetrics.rating.sessions import RaterSessions
from vmmetrics.rating.study import KEYS, RECORD, Settings, StudyClip, append_private, default_texts, read_study
from vmmetrics.utils.schema import plain
from vmmetrics.utils.storage.atomic import write_json


def made(
    folder: Path, raters: int = 6, first: int = 0, design: str = "acr", models: int = 2, **settings: Any
) -> Results:
    """Return a study of 40 clips, one of each model for a prompt, with raters who took part; all sessions count."""
    given = {"questions": QUESTIONS, "votes": 99, "items": 6, "gold": 0, "training": 0, "texts": default_texts()}
    path = folder / f"study{first}"
    path.mkdir(parents=True)
    clips = [
        StudyClip(
            f"c{n:05d}", f"m{n % models}/secret-{n // models}.mp4", f"{first + n:064x}", 2.0, (64, 48), 0,
            f"m{n % models}", f"prompt {n // models}",
        ) for n in range(40)
    ]  # fmt: skip
    record = {"settings": Settings(design, "lab", "ours", **(given | settings)), "clips": clips, "left_out": {}}
    write_json(path / RECORD, plain({**record, "format": 1, "created": ""}))
    append_private(path / KEYS, {name: f"{name}{first}" for name in ("raters", "owner", "secret")})
    return with_raters(path, raters)


def with_raters(path: Path, raters: int) -> Results:
    found = read_study(path)
    with AnswerJournal(found) as journal:
        sessions = RaterSessions(journal, clock=None, seed=len(journal.state.sessions))
        for _ in range(raters):
            take_part(sessions)
    return replace(Results.of(found, read_state(found)), counted=[*read_state(found).sessions.values()])
