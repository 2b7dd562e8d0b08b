"""The alignment page: complete, self-contained, and nothing a user wrote becomes markup."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.alignment.report.sample_study import make_degenerate, make_report, make_study
from vmmetrics.viewer.study import to_html

VOID = {"meta", "br", "img", "link", "hr", "input"}
ATTACK = '"><script>alert(1)</script><img src=http://evil/x onerror=alert(1)>'


class Page(HTMLParser):
    """Checks nesting and gathers tags, references and text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)
        if self.open and "td" in self.open:
            self.tables[-1][-1][-1] += f"{data} "

    def references(self) -> list[str]:
        names = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
        return [value or "" for _, attributes in self.tags for name, value in attributes.items() if name in names]


@pytest.fixture(scope="module")
def html() -> str:
    study = make_study(metrics=("cas", "mss"))
    return to_html(study, make_report(study))


def test_tags_are_closed_in_order(html: str) -> None:
    assert Page(html).open == []


def test_nothing_is_fetched(html: str) -> None:
    for reference in Page(html).references():
        assert reference.startswith(("#", "data:application/json;base64,", "data:image/png;base64,")), reference
    assert "http:" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in html
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_claims_come_first_and_everything_is_there(html: str) -> None:
    study = make_study(metrics=("cas", "mss"))
    report = make_report(study)
    page = Page(html)
    said = "".join(page.said)
    positions = [
        said.index(part) for part in (report.claims[0], "Against naturalness", "People", "Reproduce this study")
    ]
    assert positions == sorted(positions)
    assert all(problem in said for problem in report.problems)
    assert sum(tag == "svg" for tag, _ in page.tags) == 8
    assert report.agreements[0].disputed[0].clip in said


def test_many_claims_are_folded_but_all_there() -> None:
    study, report = make_degenerate()
    claims = tuple(f"claim number {number}." for number in range(30))
    html = to_html(study, replace(report, claims=claims))
    assert all(claim in html for claim in claims)
    assert html.index(claims[0]) < html.index("18 more") < html.index(claims[12])


def test_tables_have_the_numbers(html: str) -> None:
    report = make_report(make_study(metrics=("cas", "mss")))
    rows = {row[0].strip(): row for row in Page(html).tables[0] if row}
    for pair in report.alignments:
        if pair.dimension == "naturalness":
            pooled, inside = pair.spearman, pair.within_model.mean
            for cell, e in ((rows[pair.metric][2], pooled), (rows[pair.metric][3], inside)):
                found = [float(part) for part in re.findall(r"-?\d+\.\d+", cell.replace("−", "-"))]
                assert found == [float(f"{value:.2f}") for value in (e.value, e.low, e.high) if value is not None]


def test_the_report_inside_is_the_report(html: str) -> None:
    found = re.search(r'href="data:application/json;base64,([^"]+)"', html)
    assert found
    assert json.loads(base64.b64decode(found[1])) == make_report(make_study(metrics=("cas", "mss"))).to_json()


def test_ids_are_unique(html: str) -> None:
    ids = [attributes["id"] for _, attributes in Page(html).tags if "id" in attributes]
    assert len(ids) == len(set(ids)) > 10


def test_references_inside_a_chart_exist(html: str) -> None:
    page = Page(html)
    ids = {attributes.get("id") for _, attributes in page.tags}
    used = {reference[1:] for reference in page.references() if reference.startswith("#")}
    used |= set(re.findall(r"url\(#([^)]+)\)", html))
    assert used
    assert used <= ids


def test_colours_follow_the_page(html: str) -> None:
    charts = "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    assert "#181c24" not in charts
    assert "var(--ink)" in charts
    assert "prefers-color-scheme: dark" in html and 'data-theme="dark"' in html


def test_hostile_names_stay_text() -> None:
    study = make_study(metrics=(ATTACK,), models=("good", f"model {ATTACK}"), dimensions=(f"dimension {ATTACK}",))
    study = replace(study, clips=tuple(f"{clip}{ATTACK}" for clip in study.clips))
    read = {f"source {ATTACK}": {f"column {ATTACK}": f"score {ATTACK}"}}
    study = replace(study, matching=replace(study.matching, columns=read))
    report = replace(make_report(study), claims=(ATTACK,), problems=(ATTACK,), matching=(ATTACK,))
    page = Page(to_html(study, report))
    assert page.open == []
    assert [tag for tag, _ in page.tags if tag in ("script", "img", "iframe", "link")] == ["script"]
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    said = "".join(page.said)
    assert all(f"{what}{ATTACK}" in said for what in ("", "Columns of source ", "column ", "score "))
    assert all(not reference.startswith("http") for reference in page.references())


def test_degenerate_studies_have_a_page() -> None:
    page = Page(to_html(*make_degenerate(clip="</svg><b>.mp4")))
    assert page.open == []
    assert "the score is the same for every clip" in "".join(page.said)


def test_the_page_is_the_same_each_time() -> None:
    assert to_html(*make_degenerate()) == to_html(*make_degenerate())
