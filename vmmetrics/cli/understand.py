"""``vmmetrics understand``: whether a video language model sees motion, by public benchmarks and our own suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli import understand_build, understand_minfps, understand_run
from vmmetrics.cli.bars import agreed
from vmmetrics.cli.options import (
    KEY_VARIABLE,
    MAX_COUNT,
    BenchmarkPlugins,
    CsvFile,
    DataOfRun,
    KeyEnv,
    LatexFile,
    MarkdownFile,
    MaxCost,
    Prices,
    RunArgument,
    ScoredBy,
    Yes,
    count_option,
    seed_option,
)
from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable
from vmmetrics.cli.understand_run import judge_of, print_differences, print_result, reopen, scoring

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.understanding.harness.leaderboard import RunBoard


# ``vmmetrics understand list``: the benchmarks that are there.


def list_benchmarks(_plugin: BenchmarkPlugins = None) -> None:
    """Print the benchmarks: name, default frames, whether scoring asks a judge, and where they come from."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.understanding import registry

    output, _ = open_consoles()
    shown = Table("benchmark", "frames", "judge", "about", box=SIMPLE_HEAD)
    for name in registry.names():
        benchmark = registry.find(name)
        about = ": ".join(str(benchmark.data[key]) for key in ("title", "paper") if benchmark.data.get(key))
        judge = "yes" if benchmark.needs_judge else ""
        shown.add_row(Text(name), Text(benchmark.policy), judge, Text(about))
    output.print(shown)


# ``vmmetrics understand compare``: two runs of one benchmark, question by question.


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of another.", show_default=False)],
    protocol: ScoredBy = "vmmetrics",
    json_file: Annotated[Path | None, typer.Option("--json", help="File for the differences.")] = None,
    _plugin: BenchmarkPlugins = None,
) -> None:
    """Hold two models against each other on the questions both were asked.

    Differences are second minus first, with 95 % intervals that draw videos; p values swap the models at random video
    by video, and Holm's are raised for the other categories of a grouping.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.understanding.harness.leaderboard import compare_runs
    from vmmetrics.utils.schema import plain

    output, messages = open_consoles()
    compared = compare_runs(first, second, scoring(protocol))
    title = f"{compared.benchmark}: {compared.names[1]} (second) minus {compared.names[0]} (first)"
    print_differences(compared.differences, title, output)
    for note in compared.notes:
        output.print(note)
    if json_file is not None:
        from vmmetrics.utils.storage.atomic import write_json

        write_json(json_file, plain(compared))
        messages.print(f"written: {json_file}", soft_wrap=True)


# ``vmmetrics understand leaderboard``: runs of models, or of one model at several frame rates, side by side.


def leaderboard(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)],
    protocol: ScoredBy = "vmmetrics",
    by: Annotated[
        str | None, typer.Option(help="Grouping for the columns (task, minFPS, ...). Default: the benchmark's first.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Chart, PNG or SVG; a file for each benchmark.")] = None,
    csv: CsvFile = None,
    markdown: MarkdownFile = None,
    latex: LatexFile = None,
    _plugin: BenchmarkPlugins = None,
) -> None:
    """Put scored runs into one table, the best first, with intervals over videos, paired tests and published rows.

    A model's name is its folder's or endpoint's; runs of one model at different frame rates also become a curve in the
    picture. Runs of several benchmarks get a table each.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.cli.prompts import check_picture, save_picture
    from vmmetrics.understanding.harness import leaderboard as text
    from vmmetrics.understanding.harness.leaderboard import make_boards

    check_picture(picture)
    from vmmetrics.utils.storage.atomic import write_text

    output, messages = open_consoles()
    boards = make_boards(runs, scoring(protocol), by)
    for board in boards:
        _print(board, output)
    for path, write in ((csv, text.to_csv), (markdown, text.to_markdown), (latex, text.to_latex)):
        if path is not None:
            write_text(path, write(boards))
            messages.print(f"written: {path}", soft_wrap=True)
    if picture is not None:
        from vmmetrics.understanding.report import understanding_chart

        for board in boards:
            file = picture if len(boards) == 1 else picture.with_stem(f"{picture.stem}-{board.benchmark}")
            save_picture(understanding_chart(board), file)
            messages.print(f"written: {file}", soft_wrap=True)


def _print(board: RunBoard, output: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from vmmetrics.understanding.harness import leaderboard as text

    grid = Table(title=text.title(board), title_justify="left", box=SIMPLE_HEAD)
    for place, head in enumerate(text.heads(board)):
        grid.add_column(head, justify="left" if place < 2 else "right", overflow="fold", no_wrap=place == text.OVERALL)
    runs, published = text.cells(board)
    for row in runs:
        grid.add_row(*row)
    if published:
        grid.add_section()
    for row in published:
        grid.add_row(*row, style="dim")
    output.print(grid)
    for remark in text.remarks(board):
        output.print(f"- {remark}", soft_wrap=True)


# ``vmmetrics understand score``: answers of a run scored anew.


def score(
    folder: RunArgument,
    protocol: Annotated[str, typer.Option(help="vmmetrics, or upstream as the released code does.")] = "vmmetrics",
    data: DataOfRun = None,
    judge: Annotated[
        str | None, typer.Option(help="endpoint:MODEL@URL, or a file with what a judge said before.")
    ] = None,
    tokens: Annotated[int, count_option("Most tokens of a judge's answer.")] = 8192,
    prices: Prices = None,
    max_cost: MaxCost = None,
    key_env: KeyEnv = KEY_VARIABLE,
    yes: Yes = False,
    _plugin: BenchmarkPlugins = None,
) -> None:
    """Score the answers of a run; nothing is asked of the model. The benchmark's data must be those of the run."""
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.understanding.harness import scoring as work
    from vmmetrics.understanding.harness.running import asked_of
    from vmmetrics.utils.endpoint import Client

    output, messages = open_consoles()
    way = scoring(protocol)
    run, benchmark, loaded, answers = reopen(folder, data, messages)
    configuration, session = run["configuration"], run["sessions"][-1]
    shown = configuration.get("frames")
    looks = shown is not None and not str(shown["policy"]).startswith("none")
    questions = asked_of(loaded.questions, session.get("limit"), looks, answers)
    asked = judge_of(judge, folder, tokens, prices, max_cost, key_env, messages)
    expected = benchmark.judge_estimate(questions, answers, asked) if isinstance(asked, Client) else None
    if expected is not None:
        messages.print(f"{judge}: {expected}", soft_wrap=True)
        if expected.requests and not yes and not agreed(messages):
            raise typer.Exit(EXIT_INTERRUPTED)
    result = work.score(benchmark, configuration, questions, answers, way, asked, loaded.problems)
    files = work.write(result, folder)
    print_result(result, output)
    for file in files:
        messages.print(f"written: {file}", soft_wrap=True)


# ``vmmetrics understand submission``: answers of a run as a benchmark's leaderboard takes them.


def submission(
    folder: RunArgument,
    out: Annotated[Path, typer.Option(help="File to write.")],
    protocol: Annotated[
        str, typer.Option(help="How answers are read: vmmetrics, or upstream as the released code does.")
    ] = "vmmetrics",
    data: DataOfRun = None,
    _plugin: BenchmarkPlugins = None,
) -> None:
    """Write the file that is handed in: every question of the benchmark, test questions with hidden keys among them."""
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.errors import SetupError
    from vmmetrics.utils.storage.atomic import write_text

    _, messages = open_consoles()
    way = scoring(protocol)
    _, benchmark, loaded, answers = reopen(folder, data, messages)
    questions = loaded.questions
    written = benchmark.submission(questions, answers, way)
    if written is None:
        raise SetupError(f"{benchmark.name} has no leaderboard that takes a file of answers")
    write_text(out, written)
    there = sum(1 for q in questions if q.id in answers and answers[q.id].error is None)
    messages.print(f"{there:,} of {len(questions):,} questions are answered")
    messages.print(f"written: {out}", soft_wrap=True)


# ``vmmetrics understand synthetic``: our own suite of clips and questions, rendered.


def synthetic(
    out: Annotated[Path, typer.Option(help="Folder for clips and questions; new, empty, or of an earlier suite.")],
    count: Annotated[
        int, typer.Option("--n", min=1, max=MAX_COUNT, help="Questions, each with a clip of its own.")
    ] = 120,
    seed: Annotated[int, seed_option("Of everything random.")] = 0,
) -> None:
    """Render clips with exact answers, whose lowest sufficient frame rate is known by construction.

    'vmmetrics understand run synthetic --data OUT --model ...' puts them to a model.
    """
    from collections import Counter

    from rich.progress import track

    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.understanding.synthetic.suite import BUCKETS, TASKS, bucket_of, write_suite

    output, messages = open_consoles()
    tasks: Counter[str] = Counter()
    buckets: Counter[str] = Counter()
    with stoppable():
        try:
            for item in track(write_suite(out, count, seed), "rendering", count, console=messages, transient=True):
                tasks[item.task] += 1
                buckets[bucket_of(item.draft.min_fps)] += 1
        except KeyboardInterrupt:
            messages.print("stopped; a suite is only whole when all of it is there, run it again")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file()) / 1e6
    output.print(", ".join(f"{name} {tasks[name]}" for name in TASKS if tasks[name]))
    output.print("minFPS " + ", ".join(f"{name}: {buckets[name]}" for *_, name in BUCKETS))
    messages.print(f"written: {out} ({size:.1f} MB)", soft_wrap=True)


app = typer.Typer(help="Motion understanding of video language models: run, score, compare.", no_args_is_help=True)
app.command("run")(understand_run.run)
app.command("score")(score)
app.command("compare")(compare)
app.command("leaderboard")(leaderboard)
app.command("build")(understand_build.build)
app.command("synthetic")(synthetic)
app.command("submission")(submission)
app.command("minfps")(understand_minfps.minfps)
app.command("list")(list_benchmarks)
