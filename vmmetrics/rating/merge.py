"""Merging of answers into a study (``vmmetrics rate merge``): files of offline raters, and studies of other sites.

A session goes in as one line of the journal, in the place of what was known of it: an interruption leaves it whole or
out, and the same input again changes nothing. Of two versions of a session the one with more answers stays.
"""

from __future__ import annotations

import hmac
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from vmmetrics.errors import SetupError, refusing
from vmmetrics.rating.designs import design_of
from vmmetrics.rating.journal import ANSWERS, AnswerJournal, State, holding_copies, mark_of, read_packs, read_state
from vmmetrics.rating.pack import FORMAT, key_of
from vmmetrics.rating.sessions import RaterSessions, RefusedStepError, check_id, digest, line_of
from vmmetrics.rating.study import BROKEN, Study, StudyClip, read_study
from vmmetrics.rating.trials import Session, Trial
from vmmetrics.utils.schema import check, convert, parse_json, plain, read_json
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.journal import Line, iterate_lines
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.utils.storage.provenance import differences

if TYPE_CHECKING:
    from vmmetrics.rating.export import Forgotten

COPIES = "merged.json"
"""File of a study that says where its answers are besides."""
SITE = frozenset((
    "contact", "licence", "votes", "sessions", "seed", "min_age", "ethics", "pay", "currency", "completion_url",
))  # fmt: skip
"""Settings in which sites of one study may differ; besides texts of the consent, and all in another language."""
_LARGEST = 1 << 24  # bytes of a file of answers; an answer has about 800
_SHOWN = 20  # differences
_IDS = re.compile(r"[0-9a-f]{16} [0-9a-f]{12} [0-9a-f]{64}")  # of a session, its rater and the rater's key
_VOTED = frozenset(("item", "active", "repeat"))  # trials of which the votes are counted or compared
_EARLIEST = "2020-01-01T00:00:00+00:00"  # before any study


class Merged(NamedTuple):
    """What came of an input.

    Attributes:
        sessions: Sessions that are new, or have more answers than before.
        answers: Answers in them.
        forgotten: Sessions left out, of raters who were forgotten on their request.
        removed: What was removed here of raters who were forgotten there.
    """

    sessions: int
    answers: int
    forgotten: int
    removed: Sequence[Forgotten] = ()


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
class _Returned:
    """A file that an offline page gave back."""

    format: int
    session: str
    rater: str
    key: str
    consent: str
    begun: str
    answers: tuple[dict[str, Any], ...]
    withdrawn: bool


def merge(study: Study, path: Path) -> Merged:
    """Take the answers of a rater's file, or of another study, into a study.

    Args:
        study: The study.
        path: The file, or the folder of the study.

    Raises:
        SetupError: It is none, was altered, is of another study, or the study is being served.
    """
    with AnswerJournal(study) as journal:
        if path.is_dir():
            return _merge_study(journal, read_study(path))
        return _merge_file(journal, path)


def _merge_file(journal: AnswerJournal, path: Path) -> Merged:
    study, returned = journal.study, _read_returned(path)
    if returned.format != FORMAT:
        raise SetupError(f"{path} was written by another version of vmmetrics (format {FORMAT} expected)")
    if mark_of(study, returned.rater) in journal.state.marks:
        return Merged(0, 0, 1)
    drawn = read_packs(study).get(returned.session)
    if drawn is None:
        raise SetupError(f"{path} is of no page that {study.path} gave out")
    genuine = hmac.compare_digest(key_of(study, drawn).encode(), returned.key.encode("utf-8", "replace"))
    if not genuine or (returned.rater, returned.consent) != (drawn["rater"], drawn["consent"]):
        raise SetupError(f"{path}: its key does not fit its session: it was altered, or is of another study")
    try:
        lines = _replayed(journal, drawn, returned)
    except (RefusedStepError, ValueError) as error:
        raise SetupError(f"{path} has an answer that its page does not give: {error}") from error
    resolved, inside = path.resolve(), study.path.resolve()
    place = resolved.relative_to(inside) if resolved.is_relative_to(inside) else resolved  # moves with the study
    _note(study, answers={str(place): returned.rater})
    return _take(journal, [lines])


def _read_returned(path: Path) -> _Returned:
    try:
        with refusing("read", path):
            return convert(_Returned, parse_json(read_regular(path, _LARGEST)))
    except ValueError as error:
        raise SetupError(f"{path} is no file of answers: {error}") from error


def _replayed(journal: AnswerJournal, drawn: Line, returned: _Returned) -> list[Line]:
    """Return the lines of a session whose answers were taken one by one, as the server takes them.

    Raises:
        RefusedStepError: The server would not have taken one.
        ValueError: One is no answer.
    """
    alone = copy(journal)
    alone.state = State(ids={one: of for one, of in journal.state.ids.items() if of[0] != drawn["session"]})
    at = _moment(returned.begun, drawn["at"])
    lines = [alone.take({**drawn, "at": at})]
    sessions = RaterSessions(alone, clock=None)
    for answer in returned.answers:
        at = _moment(answer.get("at"), at)
        lines += sessions.answer(returned.key, answer, at)
    (session,) = alone.state.sessions.values()
    if session.next < len(returned.answers):
        raise ValueError("a trial has two")
    return lines + (sessions.withdraw(returned.key) if returned.withdrawn else [])


def _moment(text: object, earliest: str) -> str:
    """Return a time that a rater's clock said, not before another and not after now: clocks go wrong."""
    said = datetime.fromisoformat(str(text))
    if said.tzinfo is None:
        raise ValueError(f"expected a time with its zone but got {text}")
    moment = min(max(said, datetime.fromisoformat(earliest)), datetime.now(UTC))
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _merge_study(journal: AnswerJournal, other: Study) -> Merged:
    study = journal.study
    if other.path.resolve() == study.path.resolve():
        raise SetupError(f"{other.path} is the study itself")
    translated = _Translation(study, other, _same_clips(study, other))
    theirs = read_state(other)
    sessions = theirs.sessions.values()
    try:
        wholes = [translated(session) for session in sessions]
        _check_owners(journal.state, theirs)
    except (ValueError, LookupError) as error:
        raise SetupError(f"{other.path} has a session that is none of this study: {error}") from error
    _note(other, studies={str(study.path.resolve()): identity_of(study)})  # before any answer is there
    _note(study, studies={str(other.path.resolve()): identity_of(other)})
    removed = list(_forget_with(journal, other))
    marks = [
        journal.take(line) for line in _marks(other) if journal.state.marks.isdisjoint(line["marks"])
    ]  # fmt: skip
    forgotten = {
        one.rater for one in sessions
        if not journal.state.marks.isdisjoint(mark_of(of, one.rater) for of in (study, other))
    }  # fmt: skip
    return _take(journal, wholes, forgotten, marks)._replace(removed=removed)


def _forget_with(journal: AnswerJournal, other: Study) -> Iterator[Forgotten]:
    """Remove raters who were forgotten in another study; one of this study's own alone by the mark that it made."""
    from vmmetrics.rating.export import remove  # it knows of merged studies

    marks = {mark: line["marks"] for line in _marks(other) for mark in line["marks"]}
    for rater, own in list(journal.state.raters.items()):
        known_by = (journal.study, other) if all(one.elsewhere for one in own) else (journal.study,)
        for mark in {mark_of(of, rater) for of in known_by} & marks.keys():
            yield remove([journal], rater, [*{mark_of(journal.study, rater), *marks[mark]}])
            break


def _marks(study: Study) -> Iterator[Line]:
    """Yield the lines on raters who were forgotten."""
    for line in iterate_lines(study.path / ANSWERS, b'"forgotten"'):
        if line["kind"] == "forgotten" and line.get("marks"):
            yield line | {"marks": [*map(str, line["marks"])]}


def _check_owners(*states: State) -> None:
    """Refuse studies in which an id is of two: what is done to one rater would be done to another.

    Raises:
        ValueError: It is.
    """
    owners: dict[tuple[str, str], str] = {}
    for state in states:
        links = [("answer", answer, session) for answer, (session, _) in state.ids.items()]
        for one in state.sessions.values():
            links += [("session", one.session, one.rater), ("rater", one.rater, one.token)]
            links += [("key", one.token, one.rater)]
        for kind, name, owner in links:
            if owners.setdefault((kind, name), owner) != owner:
                raise ValueError(f"the {kind} {name} is of another")


class _Translation:
    """Sessions of another study in the ids of this one, as the lines of their last answers.

    Raises:
        SetupError: The other makes other items of the clips.
        ValueError: A session is none, or an answer none to its trial.
        LookupError: A session shows other clips.
    """

    def __init__(self, study: Study, other: Study, clips: Mapping[str, str]) -> None:
        self._design, self._clips = design_of(study), clips
        ours = {frozenset(item.clips): item.key for item in self._design.items.values()}
        theirs = {item.key: frozenset(map(clips.__getitem__, item.clips)) for item in design_of(other).items.values()}
        if ours.keys() != set(theirs.values()):
            raise SetupError(f"{other.path} makes other items of the clips than {study.path}")
        self._items = {**clips, **{key: ours[shown] for key, shown in theirs.items()}}

    def __call__(self, session: Session) -> list[Line]:
        if not _IDS.fullmatch(f"{session.session} {session.rater} {session.token}"):
            raise ValueError("expected hexadecimal ids")
        trials, training = (tuple(map(self._trial, listed)) for listed in (session.trials, session.training))
        moment, answers = _moment(session.at, _EARLIEST), list[Line]()
        made = line_of(replace(session, trials=trials, training=training, at=moment, elsewhere=True))
        for at, answer in sorted(session.answers.items()):
            check_id(answer)
            self._design.check(trials[at], answer)
            if len(answer.clips) != len(trials[at].media):
                raise ValueError("an answer is about other clips")
            moment = _moment(answer.at, moment)
            answers.append(plain(replace(answer, at=moment)) | {"kind": "answer"})
        return [made | {"changes": session.changes}, *answers]

    def _trial(self, trial: Trial) -> Trial:
        media = tuple(self._clips[one.removesuffix(BROKEN)] + BROKEN * one.endswith(BROKEN) for one in trial.media)
        made = replace(trial, item=self._items[trial.item], media=media)
        item = self._design.items.get(made.item, next(iter(self._design.items.values())))
        own = made.item == item.key and {*media} == {*item.clips}
        if len(media) != len(item.clips) or (trial.kind in _VOTED and not own):
            raise ValueError("a trial shows other clips than its item")
        return made


def _same_clips(study: Study, other: Study) -> dict[str, str]:
    """Return the ids of this study's clips by those of another one.

    Raises:
        SetupError: Clips, or settings that are not of a site, differ.
    """
    names = {clip.sha256: clip.clip for one in (other, study) for clip in one.clips.values()}
    ours, theirs = _described(study, names), _described(other, names)
    texts, others = ours["settings"]["texts"], theirs["settings"]["texts"]
    shared = texts.keys() & others.keys() if texts.get("language") == others.get("language") else ()
    for one in (ours["settings"], theirs["settings"]):
        one["texts"] = {name: one["texts"][name] for name in shared if not name.startswith("consent")}
    if lines := differences(ours, theirs, names=("this study", "the other")):
        raise SetupError(f"{other.path} is no other site of {study.path}:", *(f"  {line}" for line in lines[:_SHOWN]))
    pairs = zip(*(sorted(one.clips.values(), key=_in_order) for one in (study, other)), strict=True)
    return {their.id: our.id for our, their in pairs}


def _described(study: Study, names: Mapping[str, str]) -> dict[str, Any]:
    """Return clips, by their names and what they are, and settings that sites of a study share."""
    clips = defaultdict[str, list[Any]](list)
    for clip in sorted(study.clips.values(), key=_in_order):
        clips[f"{names[clip.sha256]} ({clip.sha256[:8]})"].append([clip.model, clip.prompt])
    settings = {name: value for name, value in plain(study.settings).items() if name not in SITE}
    return {"clips": clips, "settings": settings}


def _in_order(clip: StudyClip) -> tuple[str, ...]:
    return clip.sha256, clip.model or "", clip.prompt or "", clip.clip


def _take(
    journal: AnswerJournal, wholes: Iterable[list[Line]], forgotten: Collection[str] = (), marks: Iterable[Line] = ()
) -> Merged:
    """Write sessions that are new, have more answers than before, or were withdrawn.

    Args:
        journal: The answers.
        wholes: The lines of each session, that of the session first.
        forgotten: Raters who are left out.
        marks: Lines on raters who were forgotten.
    """
    lines, sessions, answers, without = list(marks), 0, 0, 0
    for whole in wholes:
        state = State()
        for line in whole:
            state.apply(line)
        (session,) = state.sessions.values()
        known = journal.state.sessions.get(session.session)
        if session.rater in forgotten:
            without += 1
        elif known is None or len(session.answers) + session.changes > len(known.answers) + known.changes:
            lines.append(journal.take({"kind": "merged", "lines": whole}))
            sessions, answers = sessions + 1, answers + len(session.answers)
        elif session.withdrawn and not known.withdrawn:
            lines.append(journal.take({"kind": "withdrawal", "rater": session.rater}))
    journal.write([*journal.start(), *lines] if lines else [])
    return Merged(sessions, answers, without)


# Where answers are besides: what 'rate forget' has to know.


def identity_of(study: Study) -> str:
    """Return what tells a study from others, whatever its folder is called."""
    return digest(study.keys["secret"])[:16]


def read_copies(study: Study) -> Copies:
    """Return where answers of a study are besides."""
    path = study.path / COPIES
    return check(Copies, read_json(path), path) if path.exists() else Copies()


def _note(study: Study, studies: Mapping[str, str] | None = None, answers: Mapping[str, str] | None = None) -> None:
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
            found = _read_returned(path).rater == rater
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
