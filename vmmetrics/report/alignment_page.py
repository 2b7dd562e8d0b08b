"""An alignment study as one page that needs no network: claims first, then the picture, the tables, the clips."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from matplotlib.figure import Figure

from vmmetrics.alignment.results import Agreement, StudyReport
from vmmetrics.alignment.study import Study
from vmmetrics.report.alignment_cells import Cell, Column, Row, Table, named
from vmmetrics.report.alignment_charts import draw_charts
from vmmetrics.report.alignment_comparisons import comparison_parts, differences_part
from vmmetrics.report.alignment_html import CSS, JS, chart, lines, part, table, text
from vmmetrics.report.alignment_parted import parted_table
from vmmetrics.report.alignment_source import flat_settings, study_of
from vmmetrics.report.alignment_tables import dimensions_of, group_tables, main_table, matching_lines, people_parts
from vmmetrics.utils.markup import clean

TITLE = "How far can these scores be trusted?"
_TERMS = {
    "ρ": "Spearman's rank correlation: 1 where score and people put the clips in the same order, 0 where the order is "
    "chance, −1 where it is reversed.",
    "over all clips": "The easiest to reach: a score that only tells good models from bad ones gets far without "
    "looking at any clip.",
    "within model": "ρ among the clips of one model, then the mean over models. Recognising the model wins nothing.",
    "single rater": "The ρ of one person with the mean of the others: a score that reaches it is as good as one more "
    "person.",
    "model's name": "Guesses each clip's rating from other clips of the same model, and never opens the clip.",
    "interval": "95 %, from drawing prompts (not clips) anew: it speaks of other prompts like these.",
}
_CLAIMS_SHOWN = 12  # what stands above the fold of a screen
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def to_html(study: Study, report: StudyReport) -> str:
    """Everything a study says on one page, charts, styles and data inside.

    Args:
        study: What ``align`` was called with.
        report: What it returned.
    """
    charts = draw_charts(study, report)
    sections = [
        *_opening(report),
        *_dimensions(study_of(study, report), report, charts),
        *_overview(report, charts),
        *_closing(report),
    ]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{TITLE}</title>\n<style>{CSS}</style>\n</head>\n<body>",
            *sections,
            f"<script>{JS}</script>\n</body>\n</html>\n",
        ]
    )


def _opening(report: StudyReport) -> Iterator[str]:
    yield f"<header><h1>{TITLE}</h1>"
    yield f'<p class="hint">{text(matching_lines(report).lines[0])}</p></header>'
    if report.claims:
        first, more = report.claims[:_CLAIMS_SHOWN], report.claims[_CLAIMS_SHOWN:]
        rest = f"<details><summary>{len(more)} more</summary>{_list(more)}</details>" if more else ""
        yield f'<section class="claims"><h3>What the data supports</h3>{_list(first)}{rest}</section>'
    if report.problems:
        yield f"<section><h3>What could not be computed</h3>{_list(report.problems)}</section>"
    terms = "".join(f"<dt>{text(term)}</dt><dd>{text(meaning)}</dd>" for term, meaning in _TERMS.items())
    yield f"<details><summary>How to read this page</summary><dl>{terms}</dl></details>"


def _dimensions(study: Study, report: StudyReport, charts: dict[str, Figure]) -> Iterator[str]:
    groups = {found.key: found for found in group_tables(report)}
    for dimension in dimensions_of(report):
        yield f"<section>\n<h2>Against {text(dimension)}</h2>"
        yield _drawn(charts, f"intervals-{dimension}", "Each metric's ρ with people, with its interval, best first.")
        yield table(main_table(report, dimension))
        looks = (
            ("scatter", "Each clip's score against its mean rating; bars reach from the lowest to the highest rater."),
            ("calibration", "Mean rating along the score: a trustworthy score rises, and does not turn."),
            ("models", "Each model's clips, by people and by score: quartiles, and what lies beyond."),
        )
        for name, told in looks:
            yield _drawn(charts, f"{name}-{dimension}", told)
        for name in ("within", "without"):
            if (found := groups.get(f"{name}-{dimension}")) is not None:
                yield f"<details><summary>{text(found.title)}</summary>{table(found)}</details>"
        if dimension in study.ratings and (parted := parted_table(study, report, dimension)) is not None:
            yield part(parted)
        yield "</section>"


def _overview(report: StudyReport, charts: dict[str, Figure]) -> Iterator[str]:
    people = people_parts(report)
    if people:
        yield "<section><h2>People</h2>"
        yield from map(part, people)
        for agreement in report.agreements:
            if agreement.disputed:
                yield _disputed(agreement)
        yield "</section>"
    yield "<section><h2>Metrics beside one another</h2>"
    yield _drawn(charts, "matrix", "Spearman's ρ between all metrics, and beyond the line with what people say.")
    for key in charts:
        if key.startswith("accuracy-"):
            yield _drawn(charts, key, "How often a metric or combination prefers the clip that people prefer.")
    yield from map(part, comparison_parts(report))
    if report.differences:
        every = differences_part(report.differences, only_significant=False)
        yield f"<details><summary>{text(every.title)}</summary>{part(every)}</details>"
    yield "</section>"


def _closing(report: StudyReport) -> Iterator[str]:
    yield "<section><h2>To repeat this study</h2>"
    yield lines(matching_lines(report))
    rows = tuple(Row((named(name), named(str(setting)))) for name, setting in flat_settings(report))
    if rows:
        yield table(Table("settings", "", "", (Column("setting", number=False), Column("value", number=False)), rows))
    data = base64.b64encode(json.dumps(report.to_json()).encode()).decode()
    link = f'<a download="alignment.json" href="data:application/json;base64,{data}">alignment.json</a>'
    yield f"<p>Everything above, in full precision: {link}</p></section>"


def _list(sentences: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{text(sentence)}</li>' for sentence in sentences)}</ul>"


def _drawn(charts: dict[str, Figure], key: str, told: str) -> str:
    return chart(charts[key], f"c{list(charts).index(key)}", told) if key in charts else ""


def _disputed(agreement: Agreement) -> str:
    rows = tuple(
        Row((named(clip.clip), Cell(f"{clip.spread:.2f}"), Cell(", ".join(f"{rating:g}" for rating in clip.ratings))))
        for clip in agreement.disputed
    )
    columns = (Column("clip", number=False), Column("spread"), Column("ratings", number=False))
    title = f"Clips that people disagree on: {clean(agreement.dimension)}"
    caption = "Spread: standard deviation of a clip's ratings."
    return (
        f"<details><summary>{text(title)}</summary>{table(Table('disputed', title, caption, columns, rows))}</details>"
    )
