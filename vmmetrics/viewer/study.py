"""HTML page of an alignment study, without network access: claims, chart, tables, clips."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain

from vmmetrics.alignment.report import tables as parts
from vmmetrics.alignment.report.charts import draw_charts
from vmmetrics.alignment.report.comparisons import comparison_parts, differences_part, misranked_table
from vmmetrics.alignment.report.text import column_tables
from vmmetrics.alignment.results import Agreement
from vmmetrics.alignment.study import Study
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.utils.display import tables
from vmmetrics.utils.display.bundle import digest
from vmmetrics.utils.display.canvas import INK, MUTED, NULL, RULE, to_svg
from vmmetrics.utils.display.markup import clean
from vmmetrics.utils.display.tables import DisplayColumn, DisplayTable, Part, heads, html_list
from vmmetrics.utils.display.tables import html_text as text
from vmmetrics.viewer.page import filled, policy, script, style

_THEMED = {INK: "ink", MUTED: "muted", RULE: "rule", NULL: "null"}
"""Colours of charts that change between a light and a dark page."""


def chart(svg: str, key: str, caption: str) -> str:
    """Return a chart in the page's own colours.

    Args:
        svg: The chart.
        key: Short name, unique on the page: its ids begin with it.
        caption: What it shows, for those who do not see it.
    """
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], count=1, flags=re.DOTALL)
    svg = re.sub(r"<[^>]+>", lambda tag: _tag(tag.group(), key), svg)
    opening = f'<svg role="img" aria-label="{text(caption)}" '
    return f"<figure>{svg.replace('<svg ', opening, 1)}<figcaption>{text(caption)}</figcaption></figure>"


def _tag(tag: str, key: str) -> str:
    """Return a tag of a chart with ids of its own and colours of the page, and no names of schemata."""
    tag = re.sub(r'\bid="', f'id="{key}-', tag)
    tag = re.sub(r'href="#|url\(#', lambda match: f"{match.group()}{key}-", tag)
    tag = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", tag)
    for colour, name in _THEMED.items():
        tag = tag.replace(colour, f"var(--{name})")
    return tag


_CLAIMS_SHOWN = 12  # what stands above the fold of a screen


def to_html(study: Study, report: StudyReport, charts: Mapping[str, str] | None = None) -> str:
    """Return the report as one HTML page with charts, styles and data inside.

    Args:
        study: What ``align`` was called with.
        report: What it returned.
        charts: Its charts as SVG, by their keys; None draws them.
    """
    if charts is None:
        charts = {key: to_svg(figure) for key, figure in draw_charts(study, report).items()}
    program = script("study.js")
    dimensions = _dimensions(parts.study_of(study, report), report, charts)
    return filled(
        "study.html",
        policy=policy(digest(program), "'unsafe-inline'"),  # charts have styles in attributes
        styles=style("study.js"),
        opening="\n".join(_opening(report)),
        sections="\n".join(chain(dimensions, _overview(report, charts), _closing(study, report))),
        script=program,
    )


def _opening(report: StudyReport) -> Iterator[str]:
    yield f'<p class="muted">{text(parts.matching_lines(report).lines[0])}</p>'
    if report.claims:
        first, more = report.claims[:_CLAIMS_SHOWN], report.claims[_CLAIMS_SHOWN:]
        rest = f"<details><summary>{len(more)} more</summary>{html_list(more)}</details>" if more else ""
        yield f'<section class="claims"><h3>What the data support</h3>{html_list(first)}{rest}</section>'
    if report.problems:
        yield f"<section><h3>What could not be computed</h3>{html_list(report.problems)}</section>"


def _dimensions(study: Study, report: StudyReport, charts: Mapping[str, str]) -> Iterator[str]:
    groups = {table.key: table for table in parts.group_tables(report)}
    for dimension in parts.dimensions_of(report):
        yield f"<section>\n<h2>Against {text(dimension)}</h2>"
        yield _drawn(
            charts,
            f"intervals-{dimension}",
            "Each metric's ρ with people, with its interval, by ρ within model; bands: the lines' intervals.",
        )
        yield tables.to_html(parts.main_table(report, dimension))
        looks = (
            ("scatter", "Score and mean rating of each clip, with the best rising fit; bars: lowest to highest rater."),
            ("models", "Each model's clips, by people and by score: quartiles, and what lies beyond."),
        )
        for name, caption in looks:
            yield _drawn(charts, f"{name}-{dimension}", caption)
        for name in ("within", "without"):
            if (table := groups.get(f"{name}-{dimension}")) is not None:
                yield _folded(table, tables.to_html(table))
        if dimension in study.ratings and (table := misranked_table(study, report, dimension)) is not None:
            yield _titled(table)
        yield "</section>"


def _overview(report: StudyReport, charts: Mapping[str, str]) -> Iterator[str]:
    if people := parts.people_parts(report):
        yield "<section><h2>People</h2>"
        yield from map(_titled, people)
        for agreement in report.agreements:
            if agreement.disputed:
                yield _disputed(agreement)
        yield "</section>"
    yield "<section><h2>Comparison of metrics</h2>"
    yield _drawn(
        charts,
        "matrix",
        "Spearman's ρ between all metrics, and beyond the line with what people say; none on under ten clips.",
    )
    for key in charts:
        if key.startswith("accuracy-"):
            yield _drawn(charts, key, "How often a metric or combination prefers the clip that people prefer.")
    yield from map(_titled, comparison_parts(report))
    if report.differences:
        every = differences_part(report.differences, only_significant=False)
        yield _folded(every, _titled(every))
    yield "</section>"


def _closing(study: Study, report: StudyReport) -> Iterator[str]:
    yield "<section><h2>Reproduce this study</h2>"
    yield tables.to_html(parts.matching_lines(report))
    yield from (_folded(read, tables.to_html(read)) for read in column_tables(study.matching.columns))
    table = DisplayTable("settings", "", "", heads("setting", "value", texts=2))
    for name, setting in parts.flat_settings(report.settings):
        table.add(name, str(setting))
    if table.rows:
        yield tables.to_html(table)
    data = base64.b64encode(json.dumps(report.to_json()).encode()).decode()
    link = f'<a download="alignment.json" href="data:application/json;base64,{data}">alignment.json</a>'
    yield f"<p>Everything above, in full precision: {link}</p></section>"


def _drawn(charts: Mapping[str, str], key: str, caption: str) -> str:
    return chart(charts[key], f"c{list(charts).index(key)}", caption) if key in charts else ""


def _titled(part: Part) -> str:
    """Return a table or a list under its title."""
    return f"<h3>{text(part.title)}</h3>\n{tables.to_html(part)}"


def _folded(table: Part, content: str) -> str:
    return f"<details><summary>{text(table.title)}</summary>{content}</details>"


def _disputed(agreement: Agreement) -> str:
    columns = heads("clip", "spread", DisplayColumn("ratings", number=False))
    title = f"Clips that people disagree on: {clean(agreement.dimension)}"
    table = DisplayTable("disputed", title, "Spread: standard deviation of a clip's ratings.", columns)
    for clip in agreement.disputed:
        table.add(clip.clip, f"{clip.spread:.2f}", ", ".join(f"{rating:g}" for rating in clip.ratings))
    return _folded(table, tables.to_html(table))
