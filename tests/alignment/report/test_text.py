"""Alignment reports as text: every number that went in can be read back from each format."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sample_study import make_degenerate, make_report, make_study

from vmmetrics.alignment import align, read_study
from vmmetrics.alignment.claims import widest_claims
from vmmetrics.alignment.report.tables import HUMAN, NAME_ONLY, brief_table, main_table, report_parts, study_of
from vmmetrics.alignment.report.text import print_report, to_csv, to_latex, to_markdown
from vmmetrics.alignment.study_results import StudyReport
from vmmetrics.utils.display.markup import clean, markdown, shortened, tex
from vmmetrics.utils.display.tables import DisplayTable, number
from vmmetrics.utils.statistics.bootstrap import Estimate

HOSTILE = "a|b_$x$ %&#{}\\~^<b>*`[1]\x1b[31m\n\udc80"
DATA = Path(__file__).parents[2] / "data/fetv-dev"
REPORT = make_report(make_study())


def estimates(part: Any) -> list[Estimate]:
    """Every estimate anywhere in a report."""
    if isinstance(part, Estimate):
        return [part]
    if is_dataclass(part):
        return [found for field in fields(part) for found in estimates(getattr(part, field.name))]
    if hasattr(part, "values") and not isinstance(part, np.ndarray):
        return [found for value in part.values() for found in estimates(value)]
    if isinstance(part, tuple):
        return [found for value in part for found in estimates(value)]
    return []


def printed(report: StudyReport, width: int = 120) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    print_report(report, console)
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue()


def plain_number(cell: str) -> float:
    return float(cell.replace("−", "-").replace("$-$", "-"))


def rounded(*values: float | None) -> list[float]:
    return [float(f"{value:.2f}") for value in values if value is not None]


def numbers(cell: str) -> list[float]:
    """All decimals of a cell, in order."""
    return [float(found) for found in re.findall(r"-?\d+\.\d+", cell.replace("$-$", "-").replace("−", "-"))]


def expected_rows(report: StudyReport, dimension: str) -> dict[str, list[list[float]]]:
    """Per metric, what stands in its row, column by column; columns of names and counts left out."""
    rows = {}
    for pair in report.alignments:
        if pair.dimension == dimension:
            lowest = min(e.value for e in pair.without_model.values() if e.value is not None)
            inside = (pair.within_model.mean, pair.amplitude_constant)
            levels = (pair.spearman, *inside, pair.without_both, pair.within_prompt.mean)
            rows[pair.metric] = [
                *(rounded(e.value, e.low, e.high) for e in levels),
                rounded(lowest),
                *(rounded(e.value) for e in (pair.model_level, pair.kendall_b, pair.kendall_c, pair.pearson)),
                [],
                [],
                rounded(pair.shuffled.value, pair.shuffled.low, pair.shuffled.high),
            ]
    return rows


def test_the_csv_has_every_estimate_in_full() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(REPORT))))
    wanted = Counter((e.value, e.low, e.high, e.p, e.n) for e in estimates(REPORT) if e.value is not None)
    sections = {"alignment", "name_baseline", "difference", "ceiling", "agreement", "preference", "ablation"}
    found = Counter(
        (float(r["value"]), *(float(r[c]) if r[c] else None for c in ("low", "high", "p")), int(r["n"]))
        for r in rows
        if r["section"] in sections and r["value"] and r["n"] and r["statistic"] != "disputed_spread"
    )
    assert found == wanted


def test_the_csv_has_the_numbers_that_are_no_estimates() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(REPORT))))

    def values(section: str, statistic: str, metric: str = "", group: str = "") -> list[float]:
        keys = (section, statistic, metric, group)
        return [
            float(r["value"])
            for r in rows
            if (r["section"], r["statistic"], r["metric"], r["group"]) == keys and r["value"]
        ]

    assert values("study", "clips") == [REPORT.clips]
    assert values("power", "clips_with_raters", group="5") == [390, 390]
    assert values("power", "smallest") == [0.25, 0.25]
    assert values("preference", "pairs", "mss") == [601]
    assert values("alignment", "missing", "cas") == [3, 3]
    assert values("agreement", "outlying_bias", group="rater 3") == [-0.8, -0.8]
    assert values("settings", "resamples") == [1000]
    weights = [values("ablation", "weight", a.combination, "pas") for a in REPORT.ablations]
    assert weights == [[a.weights["pas"]] for a in REPORT.ablations]
    for i, first in enumerate(REPORT.matrix.names):
        for j, second in enumerate(REPORT.matrix.names[: i + 1]):
            found = [
                float(r["value"])
                for r in rows
                if (r["section"], r["metric"], r["dimension"]) == ("matrix", first, second)
            ]
            assert found == [REPORT.matrix.values[i, j]]


def test_missing_estimates_are_rows_with_their_reason() -> None:
    _, report = make_degenerate()
    rows = list(csv.DictReader(io.StringIO(to_csv(report))))
    spearman = [r for r in rows if r["statistic"] == "spearman"]
    assert [(r["value"], r["note"]) for r in spearman] == [("", "one clip has a score and a rating")] * 2
    assert "nan" not in to_csv(report).lower()


@pytest.mark.parametrize("dimension", ["naturalness", "smoothness"])
def test_the_markdown_table_has_the_numbers(dimension: str) -> None:
    section = to_markdown(REPORT).split(f"### Against {dimension}\n")[1].split("###")[0]
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows}) == 1
    found = {row[0]: [numbers(cell) for cell in row[2:]] for row in rows[2:-2]}
    assert found == expected_rows(REPORT, dimension)
    ceiling = next(c for c in REPORT.ceilings if c.dimension == dimension)
    assert rows[-2][0] == f"*{HUMAN}*"
    assert numbers(rows[-2][2]) == rounded(ceiling.overall.value, ceiling.overall.low, ceiling.overall.high)
    assert rows[-1][0] == f"*{NAME_ONLY}*"


@pytest.mark.parametrize("dimension", ["naturalness", "smoothness"])
def test_the_latex_table_has_the_numbers(dimension: str) -> None:
    section = to_latex(REPORT).split(f"% Against {dimension}\n")[1].split(r"\bottomrule")[0]
    body = section.split(r"\midrule")[1]
    rows = [line.removesuffix(r" \\").split(" & ") for line in body.strip().splitlines()]
    found = {row[0]: [numbers(cell) for cell in row[2:]] for row in rows}
    assert found == expected_rows(REPORT, dimension)


def test_latex_environments_and_braces_are_closed() -> None:
    text = to_latex(make_report(make_study(metrics=(HOSTILE,), dimensions=("q_1",))))
    code = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert code.count(r"\begin{tabular}") == code.count(r"\end{tabular}") > 0
    bare = code.replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"(?<!\\)[#%]", bare)
    assert code.isascii()


def test_the_terminal_shows_the_numbers_in_120_columns() -> None:
    shown = printed(REPORT)
    tables = [line for line in shown.splitlines() if "   " in line or "──" in line]
    assert max(map(len, tables)) <= 120
    shown_metrics = [pair for dimension in ("naturalness", "smoothness") for pair in REPORT.ranked(dimension)[:6]]
    for pair in shown_metrics:
        inside = (pair.within_model.mean, pair.amplitude_constant)
        figures = (pair.spearman, *inside, pair.without_both, pair.kendall_b)
        for value in (figure.value for figure in figures):
            assert value is not None
            assert number(value) in shown
    assert "85 clips, 17 prompts, 5 models" in shown
    assert shown.index("What the data support") < shown.index("Against naturalness")
    assert all(claim in shown for claim in widest_claims(REPORT, brief=True))


def test_the_terminal_is_read_in_a_glance() -> None:
    many = make_report(make_study(metrics=tuple(f"metric_{number}" for number in range(30))))
    assert len([line for line in printed(many).splitlines() if line.startswith(" metric_")]) <= 12
    study = read_study(DATA / "scores.csv", DATA / "ratings.csv")
    shown = printed(align(study, exclude_models=["real"], resamples=50))
    assert sum(max(1, -(-len(line.rstrip()) // 120)) for line in shown.splitlines()) <= 60


def test_metrics_are_sorted_by_what_neither_the_model_nor_the_prompt_explains() -> None:
    table = main_table(REPORT, "naturalness")
    both = {p.metric: p.without_both.value or 0.0 for p in REPORT.alignments if p.dimension == "naturalness"}
    assert [row.cells[0].text for row in table.rows if not row.reference] == sorted(both, key=lambda m: -both[m])


def test_the_prompt_alone_stands_beside_the_name_of_the_model() -> None:
    study = read_study(DATA / "scores.csv", DATA / "ratings.csv")
    report = align(study, exclude_models=["real"], resamples=50)
    for table in (main_table(report, "temporal_quality"), brief_table(report, "temporal_quality", 3)):
        *_, name, prompt = table.rows
        assert (name.cells[0].text, prompt.cells[0].text, prompt.reference) == ("model's name", "prompt alone", True)
        assert prompt.cells[3].text.startswith("0.38")
    assert "prompt_baseline,,temporal_quality,within_model,,0.38" in to_csv(report)


def test_what_is_missing_is_a_dash_with_a_footnote() -> None:
    _, report = make_degenerate()
    table = main_table(report, "quality")
    for row in table.rows[:2]:
        for column, cell in zip(table.columns[2:], row.cells[2:], strict=True):
            assert cell.text == "–"
            assert cell.mark > 0 or column.name in ("r fitted", "RMSE")
    assert "one clip has a score and a rating" in table.notes
    assert "² one clip" in to_markdown(report) or "one clip has a score and a rating" in to_markdown(report)
    assert "still: the score is the same for every clip" in to_markdown(report)
    assert "1 line of what could not be computed" in printed(report)


def test_footnote_marks_lead_to_notes() -> None:
    for report in (REPORT, make_degenerate()[1]):
        for part in report_parts(report):
            if isinstance(part, DisplayTable):
                marks = {cell.mark for row in part.rows for cell in row.cells if cell.mark}
                assert marks == set(range(1, len(part.notes) + 1))
                assert all(len(row.cells) == len(part.columns) for row in part.rows)


def test_only_significant_differences_are_listed() -> None:
    listed = next(part for part in report_parts(REPORT) if part.key == "differences")
    assert isinstance(listed, DisplayTable)
    found = {(row.cells[0].text, row.cells[2].text) for row in listed.rows}
    chosen = [d for d in REPORT.differences if (d.pooled_holm or 0) < 0.05]
    assert found == {(d.dimension, d.second) for d in chosen}
    assert f"{len(chosen)} of {len(REPORT.differences)} pairs" in listed.caption


def test_hostile_names_stay_names() -> None:
    report = make_report(make_study(metrics=(HOSTILE, "m"), dimensions=("d|\n# head",)))
    for text in (printed(report), to_markdown(report), to_latex(report)):
        text.encode()  # no stray bytes
        assert "\x1b" not in text
    lines = to_markdown(report).splitlines()
    assert not any(line.startswith("# head") for line in lines)
    assert markdown("<b>|*x*") == r"\<b\>\|\*x\*"
    assert tex("a_b&50%") == r"a\_b\&50\%"
    assert clean("é\x07") == r"é\x07"


def test_long_names_are_cut_in_the_middle() -> None:
    assert shortened("abcdefghij", 5) == "ab…ij"
    assert len(shortened("x" * 99, 20)) == 20


def test_every_format_is_the_same_each_time() -> None:
    again = make_report(make_study())
    for write in (to_csv, to_markdown, to_latex):
        assert write(REPORT) == write(again)


def test_narrow_terminals_do_not_break_it() -> None:
    assert "cas" in printed(REPORT, width=60)


def test_the_study_of_a_report_lacks_what_was_left_out_and_has_the_averages() -> None:
    study = make_study()
    report = make_report(study)
    settings = {**report.settings, "left out": ["real"]}
    held = study_of(
        study, StudyReport(**{f.name: getattr(report, f.name) for f in fields(report)} | {"settings": settings})
    )
    assert "real" not in held.models
    assert len(held.clips) == 68
    first, second = (held.mean_rating(dimension) for dimension in ("naturalness", "smoothness"))
    assert np.allclose(held.mean_rating("average"), (first + second) / 2)
