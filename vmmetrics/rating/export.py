"""Export of a study: tables that ``align`` and ``cas label`` read, sessions with each criterion, clauses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.rating.journal import PEOPLE, holding_copies, read_state
from vmmetrics.rating.moments import KINDS, ClipMarks, TimedEvent, consensus, event_agreement, event_hits
from vmmetrics.rating.results import Results
from vmmetrics.rating.standards import clauses, to_markdown
from vmmetrics.rating.study import BROKEN, RECORD, Study
from vmmetrics.rating.trials import Session, Trial
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.schema import check, plain, read_json
from vmmetrics.utils.statistics.bootstrap import Estimate
from vmmetrics.utils.statistics.bradley_terry import INTERVAL_Z
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT
from vmmetrics.utils.storage.atomic import making, write_json, write_text
from vmmetrics.utils.storage.job_folder import check_folder
from vmmetrics.utils.storage.journal import encode, iterate_lines

SUMMARY, EXPORTS, SESSIONS, EVENTS = "summary.json", "exports.json", "sessions.csv", "events.csv"
PAYMENTS = "payments.csv"
"""Sheet of payments, beside the export: it names people by the ids of their platform."""
_PLAYED = ("seconds", "replays", "frames", "dropped", "stalls", "stalled", "width", "height")
RESERVED = frozenset((
    *("clip", "left", "right", "rater", "session", "position", "kind", "outcome", "dimension", "prompt", "model"),
    *("left_model", "right_model", "marks", "expected", "excluded", "seconds_to_vote", "refresh", "window", "screen"),
    *("ratio", "zoom", "full", "hidden", "ended", "reference"),
    *(f"{side}{name}" for side in ("", "left_", "right_", "reference_", "clip_") for name in _PLAYED),
))  # fmt: skip
"""Columns of tables beside those of the dimensions."""
_BOX = ("left", "top", "right", "bottom")
_SIDE: Mapping[int, str] = {LEFT: "a", 0: "tie", RIGHT: "b"}


Events = Mapping[str, Sequence[TimedEvent]]
"""Events of scores, by the SHA-256 of the clip."""


def export(study: Study, out: Path, events: Events | None = None) -> Results:
    """Write the export of a study; a server may go on meanwhile. An earlier one is replaced.

    ``ratings.csv`` and ``mos.csv``, or ``pairs.csv``, ``comparisons.jsonl``, ``clips.csv`` and ``strengths.csv`` (and
    ``cmos.csv``), hold what counts; ``answers.csv`` holds every answer, those that do not count with the reason.

    Args:
        study: The study.
        out: Folder.
        events: Events of scores to compare marks with.

    Raises:
        SetupError: It cannot be written, answers cannot be read, or events are of other clips, or of no marks.
    """
    with holding_copies(study):  # or an answer that is forgotten meanwhile would come back
        return write_export(study, out, events)


def write_export(study: Study, out: Path, events: Events | None = None) -> Results:
    """Write the export of a study whose copies are held; arguments and errors as of :func:`export`."""
    check_folder(out, SUMMARY, holds="export of a study")
    results = Results.of(study, read_state(study))
    marked = results.marked()
    figures, of_clips = summary(results), None
    if events is not None:
        of_clips = {clip.clip: events[clip.sha256] for clip in study.clips.values() if clip.sha256 in events}
        compared = [one for one in marked if one.clip in of_clips]
        if not compared:
            raise SetupError("no clip of the run was marked")
        figures["events"] = {name: _figures(of) for name, of in event_agreement(compared, of_clips).items()}
    known, path, inside = known_exports(study), out.resolve(), study.path.resolve()
    if path not in known:
        paths = (one.relative_to(inside) if one.is_relative_to(inside) else one for one in (*known, path))
        write_json(study.path / EXPORTS, [str(one) for one in paths])  # those in the study move with it
    with making(out, replace=True) as folder:
        for name, rows in _tables(results, marked, of_clips):
            write_text(folder / name, csv_text(rows))
        if not results.design.opinions:
            for dimension in study.settings.questions:
                one = "" if len(study.settings.questions) == 1 else f"-{dimension}"
                lines = b"".join(map(encode, _comparisons(results, dimension)))
                write_text(folder / f"comparisons{one}.jsonl", lines.decode("utf-8", "backslashreplace"))
        write_text(folder / "standards.md", to_markdown(clauses(results)))
        write_json(folder / RECORD, study.configuration)
        write_json(folder / SUMMARY, figures)
    write_payments(results)
    return results


def known_exports(study: Study) -> list[Path]:
    """Return the folders of the exports of a study."""
    path = study.path / EXPORTS
    listed = check(tuple[str, ...], read_json(path), path) if path.exists() else ()
    return [study.path.resolve() / text for text in listed]


def write_payments(results: Results) -> None:
    """Write the sheet of payments beside the study."""
    path = results.study.path / PAYMENTS
    write_text(path, csv_text(_payments(results)))
    path.chmod(0o600)


def summary(results: Results) -> dict[str, Any]:
    """Return numbers of sessions, votes and flags, agreement with intervals, and limits of recovered scores."""
    sessions, judged = results.state.sessions, results.judged
    finished = [name for name, session in sessions.items() if session.finished and not session.withdrawn]
    forgotten = results.state.forgotten
    votes = results.state.votes(results.counted)
    counts = [votes[key] for key in results.design.items]
    questions = results.study.settings.questions
    return {
        "items": len(counts), "votes": sum(counts), "fewest": min(counts), "most": max(counts),
        "votes_wanted": results.study.settings.votes, "votes_to_come": sum(results.wanted.values()),
        "sessions": len(sessions), "open": results.open_sessions, "finished": len(finished),
        "counted": len(results.counted), "sessions_to_come": results.sessions_to_do(),
        "withdrawn": len({session.rater for session in sessions.values() if session.withdrawn}) + len(forgotten),
        "forgotten_answers": sum(number for _, number in forgotten),
        "flagged": {
            name: sum(not one.passed for key in finished for one in judged[key] if one.name == name)
            for name in (one.name for one in next(iter(judged.values()), ()))
        },
        "minutes": results.minutes() or results.design.minutes,
        "agreement": {dimension: _figures(results.agreement(dimension)) for dimension in questions},
        "within_models": {name: dict(zip(("now", "end"), results.forecast(name), strict=True)) for name in questions},
        "recovered": {name: results.opinions(name)[1] for name in questions} if results.design.opinions else {},
    }  # fmt: skip


def _figures(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    return {
        name: {"value": one.value, "low": one.low, "high": one.high, "note": one.note}
        for name, one in estimates.items()
    }  # fmt: skip


Rows = Iterator[tuple[object, ...]]


def _tables(results: Results, marked: Sequence[ClipMarks], events: Events | None) -> Iterator[tuple[str, Rows]]:
    """Yield the tables of a design by the names of their files."""
    if results.design.opinions:
        yield "ratings.csv", _ratings(results)
    else:
        yield "pairs.csv", _pairs(results)
        yield "strengths.csv", _strengths(results)
        listed = results.study.clips.values()
        yield "clips.csv", iter([("clip", "prompt", "group"), *((c.clip, c.prompt, c.model) for c in listed)])
    if results.design.means:
        yield results.design.means, _means(results)
    if results.design.marks:
        yield from _mark_files(results, marked, events)
    yield "answers.csv", _answers(results)
    yield SESSIONS, _sessions(results)


def _mark_files(results: Results, marked: Sequence[ClipMarks], events: Events | None) -> Iterator[tuple[str, Rows]]:
    """Yield the tables of marks, of moments that most raters marked, and of events by the name of the clip."""
    of_clip = {clip.clip: (clip.prompt, clip.model) for clip in results.study.clips.values()}
    yield "moments.csv", iter([
        ("clip", "rater", "kind", "begin", "end", *_BOX, "prompt", "model"),
        *((one.clip, rater, KINDS[mark.kind - 1], mark.begin, mark.end, *mark.box, *of_clip[one.clip])
          for one in marked for rater, mark in one.flat),
    ])  # fmt: skip
    yield "consensus.csv", iter([
        ("clip", "begin", "end", "raters", "raters_of_clip", *_BOX, "prompt", "model"),
        *((one.clip, moment.begin, moment.end, moment.raters, len(one.marks), *moment.box, *of_clip[one.clip])
          for one in marked for moment in consensus(one)),
    ])  # fmt: skip
    if events is not None:
        yield EVENTS, iter([
            ("clip", "metric", "reason", "target", "begin", "end", "seconds", "raters", "raters_of_clip", "tiou",
             "box_iou", "prompt", "model"),
            *((one.clip, event.metric, event.reason, event.target, _rounded(event.spans[0][0]),
               _rounded(event.spans[-1][1]), _rounded(sum(end - begin for begin, end in event.spans)), hits.raters,
               len(one.marks), _rounded(hits.tiou), _rounded(hits.box_iou), *of_clip[one.clip])
              for one in marked if one.clip in events
              for event, hits in zip(events[one.clip], event_hits(one, events[one.clip]), strict=True)),
        ])  # fmt: skip


def _ratings(results: Results) -> Rows:
    dimensions = list(results.study.settings.questions)
    yield "clip", "rater", *dimensions, "prompt", "model"
    for session, trial, values in _counted(results):
        clip = results.study.clips[trial.item]
        yield clip.clip, session.rater, *(values.get(name) for name in dimensions), clip.prompt, clip.model


def _means(results: Results) -> Rows:
    design = results.design
    sides, models = (("clip",), ("model",)) if design.opinions else (design.columns, ("left_model", "right_model"))
    recovered = ("recovered", "recovered_low", "recovered_high") if design.opinions else ()
    yield *sides, "dimension", Path(design.means).stem, "votes", "sd", "low", "high", *recovered, "prompt", *models
    for dimension in results.study.settings.questions:
        for one in results.opinions(dimension)[0]:
            clips = [results.study.clips[identity] for identity in one.item.split("|")]
            numbers = (one.deviation, one.low, one.high, *(getattr(one, name) for name in recovered))
            yield (*(clip.clip for clip in clips), dimension, round(one.mean, 4), one.votes, *map(_rounded, numbers),
                   clips[0].prompt, *(clip.model for clip in clips))  # fmt: skip


def _pairs(results: Results) -> Rows:
    dimensions, outcomes = list(results.study.settings.questions), results.design.outcomes
    of_dimension = ("dimension",) if len(dimensions) > 1 else ()
    yield "left", "right", "outcome", *of_dimension, "rater", "prompt", "left_model", "right_model"
    for session, trial, values in _counted(results):
        left, right = (results.study.clips[identity] for identity in trial.media)
        for name in dimensions:
            of = (name,) if of_dimension else ()
            yield (left.clip, right.clip, outcomes[values[name]], *of, session.rater, left.prompt, left.model,
                   right.model)  # fmt: skip


def _comparisons(results: Results, dimension: str) -> Iterator[dict[str, Any]]:
    for session, trial, values in _counted(results, active=True):
        left, right = (results.study.clips[identity] for identity in trial.media)
        yield {
            "a": left.clip, "b": right.clip, "winner": _SIDE[results.design.first * int(np.sign(values[dimension]))],
            "rater": session.rater, "prompt": left.prompt,
        }  # fmt: skip


def _strengths(results: Results) -> Rows:
    yield "clip", "dimension", "strength", "se", "low", "high", "component", "prompt", "model"
    for dimension in results.study.settings.questions:
        if (fit := results.strengths(dimension)) is None:
            continue
        for n, identity in enumerate(fit.items):
            clip, strength, error = results.study.clips[identity], float(fit.strength[n]), float(fit.error[n])
            ends = (strength, error, strength - INTERVAL_Z * error, strength + INTERVAL_Z * error)
            component = int(fit.graph.component[n])
            yield clip.clip, dimension, *map(_rounded, ends), component, clip.prompt, clip.model


def _counted(results: Results, *, active: bool = False) -> Iterator[tuple[Session, Trial, Any]]:
    for session in results.counted:
        for at, answer in sorted(session.answers.items()):
            if session.trials[at].kind == "item" or (active and session.trials[at].is_vote):
                trial = session.trials[at]
                yield session, trial, {name: results.design.vote(trial, answer, name) for name in answer.values}


def _answers(results: Results) -> Rows:
    dimensions = list(results.study.settings.questions)
    sides, of_marks = results.design.columns, ("marks",) if results.design.marks else ()
    played = [name if len(sides) == 1 else f"{side}_{name}" for side in sides for name in _PLAYED]
    yield ("rater", "session", "position", "kind", *sides, *dimensions, *of_marks, "expected", "excluded",
           "seconds_to_vote", *played, "refresh", "window", "screen", "ratio", "zoom", "full", "hidden",
           "ended")  # fmt: skip
    for name, session in results.state.sessions.items():
        failed = "; ".join(one.name for one in results.judged[name] if not one.passed)
        for at, answer in sorted(session.answers.items()):
            trial, seen = session.trials[at], answer.display
            clips = [_clip_name(results.study, identity) for identity in trial.media]
            numbers = [getattr(clip, field) for clip in answer.clips for field in _PLAYED]
            marks = [json.dumps(plain(answer.marks))] if of_marks else []
            yield (
                session.rater, name, at, trial.kind, *clips, *(answer.values.get(of) for of in dimensions),
                *marks, trial.expected, failed, answer.seconds, *numbers, seen.refresh,
                *("x".join(f"{side:g}" for side in size) for size in (seen.window, seen.screen)),
                seen.ratio, seen.zoom, int(seen.full), seen.hidden, answer.at,
            )  # fmt: skip


def _clip_name(study: Study, identity: str) -> str:
    clip = study.clips[identity.removesuffix(BROKEN)].clip
    return f"{clip} (frames in disorder)" if identity.endswith(BROKEN) else clip


def _sessions(results: Results) -> Rows:
    names = [one.name for one in next(iter(results.judged.values()), ())]
    yield ("rater", "session", "counts", "failed", "source", "consent", "began", "minutes", "answers", "changes",
           *(f"{name}{end}" for name in names for end in ("", "_passed")))  # fmt: skip
    counted = {session.session for session in results.counted}
    for key, session in results.state.sessions.items():
        criteria = results.judged[key]
        yield (
            session.rater, key, int(key in counted), "; ".join(one.name for one in criteria if not one.passed),
            session.source, session.consent, session.at, round(session.minutes, 1), len(session.answers),
            session.changes,
            *(cell for one in criteria for cell in (_rounded(one.value), int(one.passed))),
        )  # fmt: skip


def _payments(results: Results) -> Rows:
    """Yield a line per finished session: whoever has finished is paid, whether the answers count or not."""
    settings = results.study.settings
    people = {line.get("rater"): line for line in iterate_lines(results.study.path / PEOPLE)}
    yield "rater", "platform", "participant", "session_of_platform", "session", "finished", "amount", "currency"
    for key, session in results.state.sessions.items():
        if session.elsewhere:
            continue
        line = people.get(session.rater, {})
        finished = session.finished
        yield (session.rater, session.source, line.get("participant"), line.get("SESSION_ID"), key, int(finished),
               settings.pay if finished else 0.0, settings.currency)  # fmt: skip


def _rounded(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, 4)
