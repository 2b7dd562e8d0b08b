"""Copies of a study's answers: studies that exchanged some with it, and files that raters gave back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, refusing
from vmmetrics.rating.journal import holding_copies
from vmmetrics.rating.sessions import digest
from vmmetrics.rating.study import Study, read_study
from vmmetrics.utils.schema import check, convert, parse_json, plain, read_json
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.opening import read_regular

COPIES = "merged.json"
"""File of a study that says where its answers are besides."""
_LARGEST = 1 << 24  # bytes of a file of answers; an answer has about 800


@dataclass(frozen=True, slots=True)
class Copies:
    """Where answers of a study are besides.

    Attributes:
        studies: Folders of studies that it was merged into, or that were merged into it, and what tells each.
        answers: Files that raters gave back, and the rater of each.
    """

    studies: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Returned:
    """A file that an offline page gave back."""

    format: int
    session: str
    rater: str
    key: str
    consent: str
    begun: str
    answers: tuple[dict[str, Any], ...]
    withdrawn: bool


def read_returned(path: Path) -> Returned:
    """Read a file that an offline page gave back.

    Raises:
        SetupError: It cannot be read, or is none.
    """
    try:
        with refusing("read", path):
            return convert(Returned, parse_json(read_regular(path, _LARGEST)))
    except ValueError as error:
        raise SetupError(f"{path} is no file of answers: {error}") from error


def identity_of(study: Study) -> str:
    """Return what tells a study from others, whatever its folder is called."""
    return digest(study.keys["secret"])[:16]


def read_copies(study: Study) -> Copies:
    """Return where answers of a study are besides."""
    path = study.path / COPIES
    return check(Copies, read_json(path), path) if path.exists() else Copies()


def note(study: Study, studies: Mapping[str, str] | None = None, answers: Mapping[str, str] | None = None) -> None:
    """Note where answers of a study are besides; arguments as of :class:`Copies`."""
    with holding_copies(study):
        before = read_copies(study)
        after = Copies({**before.studies, **(studies or {})}, {**before.answers, **(answers or {})})
        if after != before:
            write_json(study.path / COPIES, plain(after))


def linked(study: Study) -> tuple[list[Study], list[Path]]:
    """Return a study and those that exchanged answers with it, directly or not, and folders where one was once."""
    studies, lost, waiting = {str(study.path.resolve()): study}, list[Path](), [study]
    while waiting:
        for text, identity in read_copies(waiting.pop()).studies.items():
            path = Path(text)
            if text in studies or path in lost:
                continue
            try:
                other = read_study(path)
                if identity_of(other) != identity:
                    raise SetupError(f"{path} is another study now")
            except SetupError:
                lost.append(path)
            else:
                studies[text] = other
                waiting.append(other)
    return list(studies.values()), lost


def remove_files(study: Study, rater: str) -> list[Path]:
    """Remove the files that a rater gave back; return those that are not where they were."""
    copies, lost = read_copies(study), list[Path]()
    for path in (study.path.resolve() / text for text, one in copies.answers.items() if one == rater):
        try:
            found = read_returned(path).rater == rater
        except SetupError:
            found = False
        if not found:
            lost.append(path)
            continue
        with refusing("write", path):
            path.unlink()
    if rater in copies.answers.values():
        kept = {text: one for text, one in copies.answers.items() if one != rater}
        write_json(study.path / COPIES, plain(replace(copies, answers=kept)))
    return lost
