"""``vmmetrics rate export``: tables of a study, and its marks beside the events of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from vmmetrics.cli.options import option, out_option
from vmmetrics.cli.rate import StudyFolder
from vmmetrics.cli.terminal import count, open_consoles, warn

if TYPE_CHECKING:
    from vmmetrics.rating.moments import TimedEvent


def export(
    study: StudyFolder,
    out: Annotated[
        Path | None, out_option("Folder; an earlier export there is replaced. Default: export in the study.")
    ] = None,
    run: Annotated[Path | None, option("Run of the clips, whose events are compared with the marks (moments).")] = None,
) -> None:
    """Write the answers as tables: what counts for align and cas label, and every answer with what excludes it.

    The sheet of payments stays in the study's folder. Exit codes: 0 written, 2 wrong usage or setup.
    """
    from vmmetrics.rating.export import PAYMENTS, SUMMARY
    from vmmetrics.rating.export import export as write
    from vmmetrics.rating.study import read_study
    from vmmetrics.utils.display.tables import bounds
    from vmmetrics.utils.schema import read_json

    output, messages = open_consoles()
    folder = study / "export" if out is None else out
    results = write(read_study(study), folder, None if run is None else _events(run, messages))
    excluded = sum(session.finished for session in results.state.sessions.values()) - len(results.counted)
    messages.print(f"{count(len(results.counted), 'session')} counted, {excluded} excluded; {study / PAYMENTS}")
    for name, one in read_json(folder / SUMMARY).get("events", {}).get("all", {}).items():
        text = one["note"] if one["value"] is None else f"{one['value']:.2f} {bounds(one['low'], one['high'])}"
        messages.print(f"{name}: {text}", soft_wrap=True)
    output.print(str(folder), soft_wrap=True)


def _events(run: Path, messages: Any) -> dict[str, list[TimedEvent]]:
    """Return the events of a run that cost points and have frames, by the SHA-256 of the clip."""
    from vmmetrics.rating.moments import TimedEvent, joined
    from vmmetrics.scoring.record import result_from_json
    from vmmetrics.scoring.records import opened_events, records_by_name

    warnings, events = list[str](), dict[str, list[TimedEvent]]()
    records = records_by_name(run, warnings)
    with opened_events(run, warnings) as events_of:
        for record in records:
            if record.sha256 is None or not (record.frames and record.fps and record.size):
                continue
            times = record.timestamps or [at / record.fps for at in range(record.frames)]
            ends = [*times[1:], times[-1] + 1 / record.fps]
            width, height = record.scored_size or record.size
            try:
                results = [result_from_json(metric, line, None, "") for metric, line in events_of(record).items()]
            except ValueError as error:
                warnings.append(f"events.jsonl, {record.clip}: {error}; left out, score the clip again")
                continue
            events[record.sha256] = [
                TimedEvent(
                    one.metric, one.reason,
                    # a change names the later of two frames, and a rater may mark either
                    tuple(joined([(times[max(0, at - 1)], ends[at]) for at in one.frames])), one.target,
                    one.box and (one.box[0] / width, one.box[1] / height, one.box[2] / width, one.box[3] / height),
                )
                for result in results for one in result.events
                if one.excuse is None and one.frames and min(one.frames) >= 0 and max(one.frames) < record.frames
            ]  # fmt: skip
    warn(messages, warnings)
    return events
