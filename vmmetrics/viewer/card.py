"""HTML page of an audit's card: what a scorer of videos sees, ignores, is fooled by and breaks on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import asinh
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from vmmetrics.alignment.audit.card import AGAINST, WRONG, Beside, beside, compared
from vmmetrics.alignment.report.tables import flat_settings
from vmmetrics.errors import ClipError
from vmmetrics.utils.display.bundle import digest
from vmmetrics.utils.display.tables import MINUS, NONE, DisplayCell, DisplayTable, heads, html_list, to_html
from vmmetrics.utils.display.tables import html_text as text
from vmmetrics.utils.storage.atomic import write_text
from vmmetrics.video.files import index_of
from vmmetrics.viewer.page import filled, policy, script, style, to_script

Json = Mapping[str, Any]

PARTS = {
    "sees": "Sees defects", "ignores": "Ignores harmless changes", "fooled": "Is fooled by traps",
    "breaks": "Breaks in silence", "people": "People and footage",
}  # fmt: skip
"""Titles of the parts of a card, in their order."""
GRADES = {"bad": "✗ bad", "error": "! error", "open": "? open", "note": "• note", "good": "✓ good"}
"""Sign and word of each grade, in the order of a summary."""
_MIDDLE, _HALF = 80, 76  # of a bar that is 16 high: where 0 is, and the length of either side
_LEAST = 3.0  # multiples of the noise that a bar reaches at least


def write_card_page(card: Json, folder: Path, other: Json | None = None) -> Path:
    """Write ``index.html`` of a card, which opens from the disk and asks for nothing but the card's clips.

    Args:
        card: Content of ``card.json``, format 1.
        folder: Folder of the card; paths of clips are relative to it.
        other: Card to compare with: its verdicts stand beside, lines with another verdict first.

    Returns:
        The page.

    Raises:
        OSError: The page cannot be written.
    """
    others = beside(card, other)
    looks = [look for score in card["scores"] for line in score["lines"] for look in line["looks"]]
    files = dict.fromkeys(look[side] for look in looks for side in ("beside", "file") if look[side])
    rows = {file: row for row, file in enumerate(files)}
    scores = [_score(f"s{n}", score, others.get(score["name"]), rows) for n, score in enumerate(card["scores"])]
    program, styles = script("card.js"), style("card.js")
    page = filled(
        "card.html", policy=policy(digest(program), digest(styles)), styles=styles, script=program,
        clips=to_script(_played(folder, list(files))), target=text(card["target"]["text"]), scores="\n".join(scores),
        opening="\n".join(_opening(card, other)), closing="\n".join(_closing(card)),
    )  # fmt: skip
    write_text(folder / "index.html", page)
    return folder / "index.html"


def _played(folder: Path, files: Sequence[str]) -> dict[str, Any]:
    """Return clips as the report's player reads them: columns, and in a shard for each the seconds of its frames."""
    media, reasons, seconds = list[str | int](), list[str](), list[list[float]]()
    for file in files:
        times, url = [0.0], _url(file)
        try:
            if url is None:
                raise ClipError("its path leads out of the card's folder")
            stated = index_of(folder / file).stated_times
            times = [time - stated[0] for time in stated] or times
            media.append(url)
        except (ClipError, OSError) as error:
            reasons.append(str(error))
            media.append(-len(reasons))
        seconds.append(times)
    fps = [(len(times) - 1) / times[-1] if times[-1] else 0 for times in seconds]
    clips = {"name": files, "frames": list(map(len, seconds)), "fps": fps, "media": media, "poster": [], "overlay": []}
    index = {"format": 1, "shard": 1, "metrics": [], "reasons": reasons, "clips": clips}
    return {"index": index, "details": [[{"events": [], "timestamps": times}] for times in seconds]}


def _url(file: str) -> str | None:
    """Return the relative URL of a file of the card, None for a path that leads elsewhere."""
    path = PurePosixPath(file)
    return None if path.is_absolute() or ".." in path.parts else quote(os.fsencode(path))


def _opening(card: Json, other: Json | None) -> Iterator[str]:
    target = card["target"]
    facts = [f"a {target['kind']} that takes {', '.join(target['takes'])}" if target["takes"] else target["kind"]]
    facts += [_counted(len(card["clips"])), f"its last run took {card['seconds']:,.0f} s"]
    yield f'<p class="muted">{text(" · ".join(facts))}</p>'
    yield html_list(target["notes"]) if target["notes"] else ""
    if other:
        versions = ", ".join(f"{name} {version}" for name, version in other["produced_by"].items())
        counts = text(compared(card, other))
        yield f"<p>Compared with the card of {text(other['target']['text'])} ({text(versions)}); {counts}.</p>"


def _score(key: str, score: Json, other: Beside | None, rows: Mapping[str, int]) -> str:
    """Return the section of a score: how its lines are graded, those to look at first, and a table for each part."""
    lines = score["lines"]
    before, changed = (other.before, other.changed) if other else ([None] * len(lines), [])
    failed = [n for n, line in enumerate(lines) if line["grade"] == "bad"]
    parts = [part for part in PARTS if any(line["part"] == part for line in lines)]
    facts = [{True: "higher is better", False: "lower is better"}.get(score["higher_is_better"], "direction not known")]
    facts += ["from {} to {}".format(*map(_figure, score["range"]))] if score["range"] else []
    stated = (("noise", "noise"), ("its scores span", "scale"))
    facts += [f"{what} {_figure(score[name])}" for what, name in stated if score[name] is not None]
    content = [
        f'<section class="score" id="{key}" data-name="{text(score["name"])}" data-bad="{len(failed)}">',
        f"<h2>{text(score['name'])} <small>{text(' · '.join(facts))}</small></h2>",
        _grid(key, parts, lines),
        _list("Changed since the other card", key, lines, changed, before),
        *(
            _list(
                title, key, lines, [n for n in failed if (lines[n]["part"] == "breaks") == wrong], [None] * len(lines)
            )
            for wrong, title in ((True, WRONG), (False, AGAINST))
        ),
    ]
    if other and other.gone:
        content.append(f"<h3>Only in the other card</h3>{html_list(other.gone)}")
    more = '<th scope="col">Other card</th>' if other else ""
    head = f'<tr><th scope="col">Check</th><th scope="col">Verdict</th>{more}<th scope="col">Effect</th></tr>'
    for part in parts:
        of_part = (n for n, line in enumerate(lines) if line["part"] == part)
        numbers = sorted(of_part, key=lambda n: (n not in changed, lines[n]["grade"] != "bad"))
        unit = None if part == "people" else score["noise"]  # agreement with people is no change of the score
        reach = max((abs(value) for n in numbers for value in _ends(lines[n], unit)), default=0.0)
        reach = max(reach, _LEAST) if unit else reach
        inside = " × noise, compressed outwards; the grey band is within the noise" if unit else ""
        caption = f"<caption>Bars end at ±{_figure(reach)}{inside}.</caption>" if reach else ""
        content.append(f'<h3 id="{key}-{part}">{PARTS[part]}</h3>')
        bodies = {}
        for n in numbers:
            beside = f'<td class="before">{_verdict(before[n])}</td>' if other else ""
            effect = _effect(lines[n], unit, reach)
            bodies[n] = _line(f"{key}-l{n}", lines[n], effect, beside, n in changed, rows)
        start = f'<table class="lines">{caption}<thead>{head}</thead>'
        folded = {grade: [bodies.pop(n) for n in numbers if lines[n]["grade"] == grade and n not in changed]
                  for grade in ("open", "good")}  # fmt: skip
        content += [start, *bodies.values(), "</table>"] if bodies else []
        for grade, of in folded.items():
            summary = f"<summary>{_grade(grade)} ({len(of)})</summary>"
            content += [f'<details class="fold">{summary}{start}', *of, "</table></details>"] if of else []
    return "\n".join([*content, "</section>"])


def _grid(key: str, parts: Sequence[str], lines: Sequence[Json]) -> str:
    """Return how many lines of each part have each grade."""
    counts = Counter((line["part"], line["grade"]) for line in lines)
    head = "".join(f'<th scope="col" class="n">{_grade(grade)}</th>' for grade in GRADES)
    rows = ""
    for part in parts:
        numbers = ((grade, counts[part, grade]) for grade in GRADES)
        cells = "".join(f'<td class="n {f"g-{grade}" if n else "none"}">{n}</td>' for grade, n in numbers)
        rows += f'<tr><th scope="row"><a href="#{key}-{part}">{PARTS[part]}</a></th>{cells}</tr>'
    return f'<table class="grid"><thead><tr><th scope="col">Part</th>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _grade(grade: str) -> str:
    return f'<span class="grade g-{grade}">{GRADES[grade]}</span>'


def _list(title: str, key: str, lines: Sequence[Json], numbers: Sequence[int], before: Sequence[Json | None]) -> str:
    """Return links to some lines with their verdicts, those of before as well; nothing where there are none."""
    items = ""
    for n in numbers:
        was = f"{_verdict(before[n])} → " if before[n] else ""
        items += f'<li><a href="#{key}-l{n}">{text(lines[n]["title"])}</a>: {was}{_verdict(lines[n])}</li>'
    return f'<section class="claims"><h3>{title} ({len(numbers)})</h3><ul>{items}</ul></section>' if items else ""


def _verdict(line: Json | None) -> str:
    return f"{_grade(line['grade'])} {text(line['verdict'])}" if line else NONE


def _counted(clips: int) -> str:
    return f"{clips:,} clip{'' if clips == 1 else 's'}"


def _line(key: str, line: Json, effect: str, beside: str, changed: bool, rows: Mapping[str, int]) -> str:
    """Return a row of a table and, below it, what unfolds: its clips and the command that repeats it."""
    title, mark = text(line["title"]), ' <span class="badge">changed</span>' if changed else ""
    head = f'<th scope="row">{title}{mark}<small>{text(line["text"])}</small></th>'
    looks = "".join(_look(look, rows) for look in line["looks"])
    repeat = f'<p class="repeat">Repeat it: <code>{text(line["repeat"])}</code></p>'
    summary = f"Clips ({len(line['looks'])}) and command" if looks else "Command"
    return (
        f'<tbody id="{key}"{" class=changed" if changed else ""}><tr>{head}<td>{_verdict(line)}</td>{beside}'
        f'<td class="g-{line["grade"]}">{effect}</td></tr><tr class="rest"><td colspan="{4 if beside else 3}">'
        f'<details class="more"><summary>{summary}<span class="unseen"> of {title}</span></summary>'
        f"{looks}{repeat}</details></td></tr></tbody>"
    )


def _look(look: Json, rows: Mapping[str, int]) -> str:
    """Return the captions of a clip and of the one beside it, that one first; the page's script adds the players."""
    shown = ""
    for side, label, score in (("beside", "beside_label", "beside_score"), ("file", "label", "score")):
        if file := look[side]:
            url, name = _url(file), text(look[label] or file)
            link = f'<a href="{text(url)}">{name}</a>' if url else name
            shown += f'<figure data-row="{rows[file]}"><figcaption>{link}: {_figure(look[score])}</figcaption></figure>'
    return f'<div class="look" role="group" aria-label="{text(look["label"])}">{shown}</div>'


def _figure(value: float | None) -> str:
    """Return a number with three digits, a dash for none."""
    return NONE if value is None else f"{value:.3g}".replace("-", MINUS)


def _ends(line: Json, noise: float | None) -> Iterable[float]:
    """Return a line's effect and the ends of its interval, in multiples of the noise where it is known."""
    return (line[name] / (noise or 1.0) for name in ("effect", "low", "high") if line[name] is not None)


def _effect(line: Json, noise: float | None, reach: float) -> str:
    """Return a line's effect as a bar around 0 that ends at ``reach``, and as figures."""
    if line["effect"] is None:
        return NONE
    effect, *interval = _ends(line, noise)

    def place(value: float) -> float:
        share = asinh(value) / asinh(reach) if noise else value / (reach or 1.0)
        return round(_MIDDLE + _HALF * share, 1)

    drawn = f'<rect class="noise" x="{place(-1)}" width="{place(1) - place(-1):.1f}" height="16"/>' if noise else ""
    drawn += f'<path class="zero" d="M{_MIDDLE} 0v16"/><circle cx="{place(effect)}" cy="8" r="3"/>'
    figures = f"{'+' if effect > 0 else ''}{_figure(effect)}{' × noise' if noise else ''}"
    if len(interval) == 2:
        drawn += f'<path class="interval" d="M{place(interval[0])} 8H{place(interval[1])}"/>'
        figures += " [{}, {}]".format(*map(_figure, interval))
    notes = [_counted(line["clips"])] if line["clips"] else []
    notes += [f"expected: {line['expected']}"] if line["expected"] else []
    bar = f'<svg class="bar" viewBox="0 0 {2 * _MIDDLE} 16" aria-hidden="true">{drawn}</svg>'
    return f'{bar}<span>{figures}</span> <span class="muted small">{text(", ".join(notes))}</span>'


def _closing(card: Json) -> Iterator[str]:
    if card["not_tried"]:
        table = DisplayTable("not-tried", "", "", heads("part", "check", "why", texts=3))
        for row in card["not_tried"]:
            table.add(PARTS[row["part"]], row["check"], row["why"])
        yield f"<details><summary>Not tried ({len(table.rows)})</summary>{to_html(table)}</details>"
    table = DisplayTable("settings", "", "", heads("setting", "value", texts=2))
    elsewhere = ("target", "clips", "prompts", "versions")  # in other places of the page
    told = {name: value for name, value in card["settings"].items() if name not in elsewhere}
    for name, setting in flat_settings({"produced_by": card["produced_by"], **told}):
        if setting not in ("", None, {}, []):
            is_size = name.startswith("limits.")
            table.add(name.replace(".", ": ").replace("_", " "), f"{setting >> 20} MiB" if is_size else str(setting))
    yield f"<details><summary>How this card was made</summary>{to_html(table)}</details>"
    table = DisplayTable("clips", "", "", heads("clip", "source", "frames", "fps", "width", "height", texts=2))
    for clip in card["clips"]:
        numbers = (DisplayCell(_figure(clip[name])) for name in ("frames", "fps", "width", "height"))
        table.add(clip["name"], clip["source"], *numbers)
    yield f"<details><summary>{_counted(len(card['clips']))}</summary>{to_html(table)}</details>"
