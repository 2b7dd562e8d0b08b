"""What the understanding commands share: tables of figures and differences, progress, judges."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vmmetrics.cli.bars import StepBar

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.models.questions import Answered, LoadedBenchmark
    from vmmetrics.understanding.harness.benchmark import Benchmark, Scoring
    from vmmetrics.understanding.harness.running import AnswerOutcome
    from vmmetrics.understanding.harness.scoring import ScoredRun
    from vmmetrics.understanding.harness.statistics import ModelDifference

    Answers = dict[str, Answered]

BESIDE = 3
"""Published rows shown in a terminal; the page has all."""


def scoring(text: str) -> Scoring:
    """A protocol by its name."""
    if text == "vmmetrics":
        return "vmmetrics"
    if text == "upstream":
        return "upstream"
    raise typer.BadParameter(f"expected vmmetrics or upstream but got {text!r}", param_hint="--protocol")


def reopen(
    folder: Path, data: Path | None, messages: Console
) -> tuple[dict[str, Any], Benchmark, LoadedBenchmark, Answers]:
    """A run, its benchmark, the questions it was asked, and its answers; what is damaged is said.

    Args:
        folder: Of the run.
        data: The benchmark's data; None for where the run had them.
        messages: For what is damaged.

    Raises:
        SetupError: There is no run, or the data are not those of the run.
    """
    from vmmetrics.errors import SetupError
    from vmmetrics.understanding import registry
    from vmmetrics.understanding.harness.running import read_answers, read_run

    run = read_run(folder)
    configuration, session = run["configuration"], run["sessions"][-1]
    benchmark = registry.find(configuration["benchmark"])
    videos = session.get("videos")
    loaded = benchmark.load(data or Path(session["data"]), None if videos is None else Path(videos))
    if sorted(loaded.source.values()) != sorted(configuration["data"].values()):
        raise SetupError(f"The data of {benchmark.name} are not those that the run in {folder} was asked from")
    answers, warnings = read_answers(folder)
    for warning in warnings:
        messages.print(f"warning: {warning}", style="yellow")
    return run, benchmark, loaded, answers


def print_result(result: ScoredRun, output: Console) -> None:
    """The figures beside published ones, and what was counted."""
    from vmmetrics.understanding.harness.scoring import HEADS, row

    keys = {(figure.measure, figure.group, figure.name) for figure in result.figures}
    known = [reference for reference in result.references if keys & set(reference.figures)][:BESIDE]
    heads = [*HEADS, *(reference.model for reference in known)]
    title = f"{result.benchmark}: {result.model}, frames {result.frames}, scored as {result.way}"
    _print_table(output, title, heads, [row(figure, known) for figure in result.figures])
    _print_notes([(f"{f.group} {f.name} {f.measure}", f.note) for f in result.figures], output)
    for name, count in result.counts.items():
        output.print(f"{name}: {count:,}")


def print_differences(found: Sequence[ModelDifference], title: str, output: Console) -> None:
    """A row for each category."""
    from vmmetrics.understanding.harness.scoring import DIFFERENCE_HEADS, difference_row

    _print_table(output, title, DIFFERENCE_HEADS, [difference_row(difference) for difference in found])
    _print_notes([(f"{d.group} {d.name}", d.note) for d in found], output)


def _print_notes(notes: Sequence[tuple[str, str]], output: Console) -> None:
    """Each note once, with the first few rows that have it; from pairs of row and note."""
    for note in dict.fromkeys(note for _, note in notes if note):
        places = [place for place, its in notes if its == note]
        shown = ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")
        output.print(f"{shown}: {note}", style="dim")


def _print_table(output: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for place, head in enumerate(heads):
        shown.add_column(head, justify="left" if place < 3 else "right")
    for place, cells in enumerate(rows):
        last = place + 1 == len(rows) or rows[place + 1][0] != cells[0]
        shown.add_row(*cells, end_section=last)
    output.print(shown)


def judge_of(
    text: str | None,
    folder: Path,
    tokens: int,
    prices: tuple[float, float] | None,
    max_cost: float | None,
    key_env: str,
    messages: Console,
) -> Any:
    """The judge that a command names: an endpoint's client, which shows how far it is, or what one said before."""
    from vmmetrics.understanding.harness.models import ModelSettings
    from vmmetrics.utils.endpoint import THREADS, Client

    class Judge(Client):
        def work_through(self, work: Any, items: Iterable[Any], threads: int = THREADS) -> Generator[tuple[Any, Any]]:
            todo = list(items)
            with StepBar(messages, len(todo)) as bar, closing(super().work_through(work, todo, threads)) as judged:
                for done in judged:
                    bar.step()
                    yield done
            messages.print(f"judge, this time: {self.ledger}")

    if text is None or not text.startswith("endpoint:"):
        return None if text is None else Path(text)
    try:
        settings = ModelSettings(text, tokens=tokens, prices=prices, key_variable=key_env)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--judge") from error
    return Judge(settings.endpoint(), folder / "replies", max_cost)


class AnswerProgress(StepBar):
    """Questions answered.

    Args:
        console: Where.
        total: Questions to be asked.

    Attributes:
        failed: Questions without an answer so far.
    """

    def __init__(self, console: Console, total: int) -> None:
        super().__init__(console, total)
        self.failed = 0

    def advance(self, outcome: AnswerOutcome) -> None:
        """Count a question, and say what went wrong with it."""
        answered = outcome.answered
        if answered.error is not None:
            self.failed += 1
            kind = "error" if outcome.kept else "no answer"
            self._console.print(f"{kind}: {answered.question}: {answered.error}", style="red", soft_wrap=True)
        self.step()
