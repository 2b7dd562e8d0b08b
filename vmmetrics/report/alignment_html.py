"""Pieces of the alignment page: tables, lists and charts as HTML, with everything a user wrote escaped."""

from __future__ import annotations

import re
from html import escape

from matplotlib.figure import Figure

from vmmetrics.report.alignment_canvas import FAINT, INK, NULL, RULE, to_svg
from vmmetrics.report.alignment_cells import Cell, Column, Lines, Part, Row, Table
from vmmetrics.utils.markup import clean

_THEMED = {INK: "ink", FAINT: "faint", RULE: "rule", NULL: "null"}
"""Colours of charts that change between a light and a dark page."""

CSS = """
:root{--ink:#181c24;--faint:#767c88;--rule:#e0e3e9;--null:#b9bfca;--paper:#fff;--panel:#f5f6f8;--link:#0072b2}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaee;--faint:#9aa1ad;--rule:#333a45;--null:#59616f;--paper:#15181d;
--panel:#1e232b;--link:#56b4e9}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:64rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;margin:0}h2{margin:2.5rem 0 .5rem;border-top:2px solid var(--rule);padding-top:1rem}
h3{margin:1.5rem 0 .25rem;font-size:1.05rem}
a{color:var(--link)}
.claims{background:var(--panel);border-radius:.5rem;padding:.75rem 1.25rem}
.claims li{margin:.4rem 0}
.hint,caption,.notes{color:var(--faint);font-size:.85rem;text-align:left}
.notes{padding-left:1.25rem;margin:.25rem 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.85rem}
caption{caption-side:bottom;padding:.35rem 0}
th,td{padding:.25rem .6rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{border-bottom:2px solid var(--rule);vertical-align:bottom}
th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid var(--link)}
th[aria-sort=ascending] button::after{content:" ▲"}th[aria-sort=descending] button::after{content:" ▼"}
td{border-bottom:1px solid var(--rule)}
.n{text-align:right;white-space:nowrap}
td small{display:block;color:var(--faint)}
tfoot td{background:var(--panel);font-style:italic}
figure{margin:1rem 0;overflow-x:auto}figure svg{display:block;max-width:100%;height:auto}
figcaption{color:var(--faint);font-size:.85rem}
details{margin:.75rem 0}summary{cursor:pointer;font-weight:600}
dt{font-weight:600;margin-top:.5rem}dd{margin:0 0 0 1.25rem}
"""

JS = """
for (const button of document.querySelectorAll("th button")) button.onclick = () => {
  const head = button.parentNode, body = head.closest("table").tBodies[0], place = head.cellIndex;
  const numbers = head.className === "n", before = head.getAttribute("aria-sort");
  const down = before ? before === "ascending" : numbers;
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = row => row.cells[place].dataset.key;
  const order = (x, y) => (down ? -1 : 1) * (numbers ? x - y : x.localeCompare(y));
  body.append(...[...body.rows].sort((a, b) => {
    const x = key(a), y = key(b);
    return x === "" || y === "" ? (x === "") - (y === "") : order(x, y);
  }));
};
"""


def text(user_text: str) -> str:
    """A user's text as it stands on a page, in an element or an attribute."""
    return escape(clean(user_text), quote=True)


def part(content: Part) -> str:
    """A table or a list under its title."""
    return f"<h3>{text(content.title)}</h3>\n{table(content) if isinstance(content, Table) else lines(content)}"


def lines(content: Lines, kind: str = "") -> str:
    """A list."""
    items = "\n".join(f"<li>{text(line)}</li>" for line in content.lines)
    return f"<ul{f' class={kind}' if kind else ''}>\n{items}\n</ul>"


def table(content: Table) -> str:
    """A table that can be sorted by any column; rows of reference stay at its foot."""
    heads = "".join(map(_head, content.columns))
    body = "\n".join(_row(content, row) for row in content.rows if not row.reference)
    foot = "\n".join(_row(content, row) for row in content.rows if row.reference)
    caption = f"<caption>{text(content.caption)}</caption>\n" if content.caption else ""
    notes = "".join(f"<li>{text(note)}</li>" for note in content.notes)
    return (
        f'<div class="wide"><table>\n{caption}<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n'
        + (f"<tfoot>\n{foot}\n</tfoot>\n" if foot else "")
        + "</table></div>"
        + (f'\n<ol class="notes">{notes}</ol>' if notes else "")
    )


def _head(column: Column) -> str:
    kind = " class=n" if column.number else ""
    hint = f' title="{text(column.hint)}"' if column.hint else ""
    return f'<th scope="col"{kind}{hint}><button>{text(column.name)}</button></th>'


def _row(content: Table, row: Row) -> str:
    cells = zip(row.cells, content.columns, strict=True)
    return f"<tr>{''.join(_cell(cell, column.number) for cell, column in cells)}</tr>"


def _cell(cell: Cell, is_number: bool) -> str:
    key = sort_key(cell.text) if is_number else cell.text
    mark = f"<sup>{cell.mark}</sup>" if cell.mark else ""
    below = f"<small>{text(cell.below)}</small>" if cell.below else ""
    return f'<td{" class=n" if is_number else ""} data-key="{text(key)}">{text(cell.text)}{mark}{below}</td>'


def sort_key(shown: str) -> str:
    """The number that a cell begins with, as JavaScript reads it; nothing where there is none.

    >>> sort_key("−0.12"), sort_key("1,234"), sort_key("< 0.001"), sort_key("–")
    ('-0.12', '1234', '0.001', '')
    """
    found = re.search(r"-?\d+(\.\d+)?", shown.replace("−", "-").replace(",", ""))
    return found.group() if found else ""


def chart(figure: Figure, key: str, told: str) -> str:
    """A chart in the page's own colours.

    Args:
        figure: The chart.
        key: Short name, unique on the page: its ids begin with it.
        told: What it shows, for those who do not see it.
    """
    svg = to_svg(figure)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], count=1, flags=re.DOTALL)
    svg = re.sub(r"<[^>]+>", lambda tag: _tag(tag.group(), key), svg)
    opening = f'<svg role="img" aria-label="{text(told)}" '
    return f"<figure>{svg.replace('<svg ', opening, 1)}<figcaption>{text(told)}</figcaption></figure>"


def _tag(tag: str, key: str) -> str:
    """A tag of a chart with ids of its own and colours of the page, and no names of schemata."""
    tag = re.sub(r'\bid="', f'id="{key}-', tag)
    tag = re.sub(r'href="#|url\(#', lambda found: f"{found.group()}{key}-", tag)
    tag = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", tag)
    for colour, name in _THEMED.items():
        tag = tag.replace(colour, f"var(--{name})")
    return tag
