"""Removal of a rater's answers for good, on that rater's request (``vmmetrics rate forget``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from vmmetrics.errors import SetupError
from vmmetrics.rating.copies import COPIES, linked, remove_files
from vmmetrics.rating.export import EVENTS, PAYMENTS, SESSIONS, SUMMARY, known_exports, write_export, write_payments
from vmmetrics.rating.journal import PEOPLE, AnswerJournal, holding_copies, mark_of, read_packs
from vmmetrics.rating.results import Results
from vmmetrics.rating.sessions import digest
from vmmetrics.rating.study import RECORD, Study
from vmmetrics.utils.schema import read_json
from vmmetrics.utils.storage.atomic import remove_leftovers

_RATER = re.compile(r"[0-9a-f]{12}")


class Forgotten(NamedTuple):
    """What was removed of a rater.

    Attributes:
        answers: Number of answers.
        lost: Copies that are not where they were, or cannot be written.
        eventless: Exports that were written again without the events of scores.
    """

    answers: int
    lost: list[Path]
    eventless: list[Path]


def forget(study: Study, rater: str) -> Forgotten:
    """Remove a rater's answers from the journal, the files given back, and the exports, which are written again.

    So it is done in the studies that exchanged answers with this one.

    Args:
        study: The study.
        rater: The rater's id, or the rater's link or key. After an interruption an id may be given again.

    Raises:
        SetupError: There is no such rater, or a study is being served.
    """
    studies, lost = linked(study)
    with ExitStack() as opened:
        journals = [opened.enter_context(AnswerJournal(one)) for one in studies]
        lines = [line for one in studies for line in read_packs(one).values()]
        known = {line["token"]: line["rater"] for line in lines}
        known |= {one.token: one.rater for journal in journals for one in journal.state.sessions.values()}
        rater = known.get(digest(rater.rpartition("#r=")[2]), rater)
        if rater not in known.values() and not any(_is_named(rater, one) for one in studies):
            raise SetupError(
                f"{study.path} has no rater {rater!r}; sessions.csv of an export names them, or give the rater's link"
            )
        removed = remove(journals, rater, [mark_of(one, rater) for one in studies])
        return removed._replace(lost=lost + removed.lost)


def remove(journals: Sequence[AnswerJournal], rater: str, marks: Sequence[str]) -> Forgotten:
    """Remove a rater from studies: from all journals, then from their copies.

    Args:
        journals: Answers of the studies.
        rater: The rater.
        marks: What stays in the journals.
    """
    lost, eventless = list[Path](), list[Path]()
    with ExitStack() as held:
        for journal in journals:
            held.enter_context(holding_copies(journal.study))
        removed = max(journal.forget(rater, marks) for journal in journals)
        for journal in journals:
            for path in known_exports(journal.study):
                remove_leftovers(path.parent)  # of an export that was killed
                had_events = (path / EVENTS).exists()
                try:
                    if not _is_export(path, journal.study):
                        raise SetupError(f"{path} is no export of the study")
                    write_export(journal.study, path)
                except SetupError:  # the others do not wait for it
                    lost.append(path)
                else:
                    eventless += [path] * had_events
            write_payments(Results.of(journal.study, journal.state))
            lost += remove_files(journal.study, rater)
    return Forgotten(removed, lost, eventless)


def _is_export(path: Path, study: Study) -> bool:
    """Return True if a folder holds an export of this study: a study that came from elsewhere may name any folder."""
    files = (path / SUMMARY, path / RECORD)
    return all(file.is_file() for file in files) and read_json(files[1]) == study.configuration


def _is_named(rater: str, study: Study) -> bool:
    """Return True if a rater without answers is in another file, as after an interruption."""
    files = [study.path / name for name in (PEOPLE, PAYMENTS, COPIES)]
    files += [path / SESSIONS for path in known_exports(study)]
    named = re.compile(rf'(?m)^{re.escape(rater)},|"{re.escape(rater)}"'.encode())
    known = any(named.search(path.read_bytes()) for path in files if path.exists())
    return known and _RATER.fullmatch(rater) is not None
