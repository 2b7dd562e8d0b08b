"""Tables and verdict for a comparison of two runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from vmmetrics.scoring.diff import LEVEL, ClipPair, MeanDifference, RunDifference
from vmmetrics.scoring.leaderboard import head
from vmmetrics.scoring.prompt_scores import score_of
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.summary import INDEX, INDEX_OR_ZERO
from vmmetrics.scoring.thresholds import MOST_MISSING, MissingCheck
from vmmetrics.types import INDEX_NEEDS
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, Lines, Part, bounds, heads, number, p_value

SHOWN_CLIPS = 10
"""Clips that changed most, in a table."""
_NAMED = 5  # clips of a kind in a line
_DIGITS = 3


def diff_parts(difference: RunDifference) -> list[Part]:
    """Return tables of the means before and after and of the clips that changed most, and remarks."""
    caption = (
        "Means over prompts of the clips with a score in both runs; difference: after − before [95 % interval over "
        "prompts]; p: sign-flip test, Holm-corrected over the metrics of a row's model."
    )
    models = any(d.model is not None for d in difference.differences)
    columns = (*(["model"] if models else []), "metric", "clips", "before", "after", "difference", "p", "Holm")
    means = DisplayTable("differences", difference.label, caption, heads(*columns, texts=2 if models else 1))
    for d in (d for d in difference.differences if d.clips):
        change = DisplayCell(_signed(d.difference), bounds(d.low, d.high, _DIGITS))
        judged = ", judged in both" if d.metric == INDEX and INDEX_OR_ZERO in difference.metrics else ""
        name = head(d.metric) + judged + (" (lower is better)" if d.lower_is_better else "")
        figures = (number(d.before, _DIGITS), number(d.after, _DIGITS), change, p_value(d.p), p_value(d.p_holm))
        means.add(*([d.model or "all"] if models else []), name, str(d.clips), *figures)
    changed = difference.most_changed(SHOWN_CLIPS)
    remarks = Lines("remarks", "Clips", (*_pairing(difference), *_lost(difference), *difference.notes))
    return [means, *([_clips(difference, changed)] if changed else []), remarks]


def _clips(difference: RunDifference, changed: Iterable[ClipPair]) -> DisplayTable:
    first, *others = difference.metrics
    columns = heads("clip", f"{head(first)} before", "after", "difference", *(f"Δ {head(other)}" for other in others))
    table = DisplayTable("clips", f"Clips whose {head(first)} changed most", "", columns)
    for pair in changed:
        scores = (number(score_of(side, first), _DIGITS) for side in (pair.before, pair.after))
        table.add(pair.after.clip, *scores, *(_signed(pair.difference(metric)) for metric in difference.metrics))
    return table


def _signed(value: float | None) -> str:
    text = number(value, _DIGITS)
    return f"+{text}" if value is not None and value > 0 and float(text) else text


def _pairing(difference: RunDifference) -> list[str]:
    counts = ", ".join(f"{clips} by {what}" for what, clips in difference.paired_by.items())
    same = sum(pair.before.sha256 == pair.after.sha256 and pair.after.sha256 is not None for pair in difference.pairs)
    lines = [f"{_clip_count(len(difference.pairs))} in both runs, paired {counts}; {same} of them the same file"]
    sides: Mapping[str, tuple[str, ...]] = {"new": difference.new, "gone": difference.gone}
    lines += [f"{len(names)} {what}: {listed(names, _NAMED)}" for what, names in sides.items() if names]
    reasons = [f"{clip} ({reason})" for clip, reason in difference.failed.items()]
    return [*lines, *([f"{len(reasons)} failed now: {listed(reasons, _NAMED)}"] if reasons else [])]


def _lost(difference: RunDifference) -> list[str]:
    """Return lines on clips that only one run has a score of, and on those that collapsed."""
    overall = [d for d in difference.differences if d.model is None]
    lost = [f"{head(d.metric)} {d.lost}" for d in overall if d.lost]
    gained = [f"{head(d.metric)} {d.gained}" for d in overall if d.gained]
    new = [pair for pair in difference.pairs if pair.after.collapsed and not pair.before.collapsed]
    which = listed([f"{pair.after.clip} ({pair.after.collapsed})" for pair in new], _NAMED)
    lines = [f"{_clip_count(len(new))} collapsed now: {which}"] if new else []
    lines += [f"Clips that lost their score (in no mean of it above): {', '.join(lost)}"] if lost else []
    return [*lines, *([f"Clips that gained a score (in no mean of it above): {', '.join(gained)}"] if gained else [])]


def verdict(difference: RunDifference, metric: str, most_missing: float = MOST_MISSING) -> tuple[bool, str]:
    """Return True if a run is not significantly worse than the one before in a metric (or in any), and the reason.

    A run fails the comparison, too, if no clip has a score in both runs, if clips that had one in another metric than
    INDEX failed, if some lost it by collapse (unless these are left out), or if too many have no INDEX otherwise.

    Args:
        difference: The comparison.
        metric: The metric, ``"motion_index"`` or ``"any"``.
        most_missing: As of :func:`missing_verdict`, where INDEX is tested.

    Raises:
        ValueError: The runs do not both have the metric.
    """
    tested, worse = difference.tested(metric), difference.worse(metric)
    name = "any metric" if metric == "any" else head(metric)
    metrics = {INDEX if d.metric == INDEX_OR_ZERO else d.metric for d in tested}
    failed = _failed(difference, metrics - {INDEX})
    collapsed = _collapsed(difference, metrics) if difference.collapsed == "zero" else []
    enough, missing = _missing(difference, most_missing)
    measured = [d for d in tested if d.clips]
    empty = [d for d in tested if not d.clips and (d.lost or metric != "any" or not measured)]
    if worse:
        return False, f"failed: worse in {'; '.join(map(_change_text, worse))}"
    if failed:
        which = f"{_clip_count(len(failed))} with a score in the first run: {listed(failed, _NAMED)}"
        return False, f"failed: {name} could not be computed now for {which}"
    if collapsed:
        which = f"{_clip_count(len(collapsed))} with a score in the first run: {listed(collapsed, _NAMED)}"
        return False, f"failed: {name} lost by collapse in {which} (left out with --collapsed skip)"
    if INDEX in metrics and not enough:
        return False, missing
    if empty:
        what = ", ".join(f"{head(d.metric)}{_of(d)}" for d in empty)
        return False, f"failed: no clip has a score in both runs in {what}"
    fewest = min(d.prompts for d in measured)
    least = 2.0 ** (1 - fewest)  # the p of differences that all have one sign
    few = f", and {fewest} prompts are too few to show it" if least * len(measured) >= LEVEL else ""
    only_first = (
        f"; {_clip_count(len(difference.gone))} of the first run left out, as the second lacks them"
        if difference.gone
        else ""
    )
    lost = max(d.lost for d in tested)
    less = f"; {_clip_count(lost)} with a score in the first run left out, without one in the second" if lost else ""
    return (
        True,
        f"passed: not shown to be worse in {name}{few}: {'; '.join(map(_change_text, measured))}{only_first}{less}",
    )


def missing_verdict(difference: RunDifference, most_missing: float) -> tuple[bool, str]:
    """Return True if no model lacks INDEX in too many clips of the second run, as ``score`` counts them, and the text.

    Args:
        difference: The comparison.
        most_missing: Largest share of a model's clips that failed, or have no INDEX without having collapsed.

    Raises:
        ValueError: The runs do not both have CAS and MSS of protocol ``vmmetrics``.
    """
    if not {*INDEX_NEEDS} <= {*difference.metrics} or difference.second[0].protocol != "vmmetrics":
        raise ValueError("it counts clips without an INDEX: both runs need CAS and MSS, by protocol vmmetrics")
    return _missing(difference, most_missing)


def _missing(difference: RunDifference, most: float) -> tuple[bool, str]:
    by_model: dict[str | None, list[Record]] = {}
    several = len({record.model for record in difference.second}) > 1
    for record in difference.second:
        by_model.setdefault(record.model if several else None, []).append(record)
    texts: dict[bool, list[str]] = {True: [], False: []}
    for model, records in by_model.items():
        missing = [record.clip for record in records if record.unjudged]
        check = MissingCheck(most, model, len(missing), len(records))
        whose = "" if not several else f" of {model}" if model is not None else " without a model"
        which = f": {listed(missing, _NAMED)}" if missing else ""
        texts[check.passed].append(f"{len(missing)} of {_clip_count(len(records))}{whose}{which}; {check.allowed}")
    passed = not texts[False]
    return passed, f"{'passed' if passed else 'failed'}: INDEX missing now in {'; '.join(texts[passed])}"


def _failed(difference: RunDifference, metrics: Collection[str]) -> list[str]:
    """Return the clips that lost their score in one of these metrics because they failed."""
    return [
        pair.after.clip
        for pair in difference.pairs
        if any(
            score_of(pair.before, metric) is not None and (pair.after.error or metric in pair.after.errors)
            for metric in metrics
        )
    ]


def _collapsed(difference: RunDifference, metrics: Collection[str]) -> list[str]:
    """Return the clips that lost their score in one of these metrics by collapse, with its kind."""
    return [
        f"{after.clip} ({after.collapsed})"
        for before, after in ((pair.before, pair.after) for pair in difference.pairs)
        if after.collapsed and any(score_of(before, m) is not None and score_of(after, m) is None for m in metrics)
    ]


def _change_text(d: MeanDifference) -> str:
    interval = bounds(d.low, d.high, _DIGITS)
    change = " ".join(filter(None, (_signed(d.difference), interval)))
    return f"{head(d.metric)}{_of(d)} {change} over {_clip_count(d.clips)}, p {p_value(d.p_holm)}"


def _clip_count(clips: int) -> str:
    return "1 clip" if clips == 1 else f"{clips} clips"


def _of(d: MeanDifference) -> str:
    return "" if d.model is None else f" of {d.model}"
