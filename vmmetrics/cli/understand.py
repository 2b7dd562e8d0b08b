"""``vmmetrics understand``: whether a video language model sees motion, by public benchmarks and our own suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import argument, count_option, option, out_option, seed_option, threads_option
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, agree, count, error, open_consoles, until_stopped, usage, warn
from vmmetrics.cli.understand_run import finish_run, judge_of, reopen, scoring
from vmmetrics.utils.storage.atomic import write_text

if TYPE_CHECKING:
    from vmmetrics.understanding.construction.recipe import QuestionRecipe

# ``vmmetrics understand list``: the benchmarks that are there.


def list_benchmarks(form: options.Format = "text", _plugin: options.BenchmarkPlugins = None) -> None:
    """Print the benchmarks: name, default frames, whether scoring asks a judge, and where they come from."""
    from vmmetrics.understanding import registry
    from vmmetrics.utils.display.tables import DisplayTable, heads

    output, _ = open_consoles()
    shown = DisplayTable("benchmarks", "Benchmarks", "", heads("benchmark", "frames", "judge", "about", texts=4))
    for name in registry.names():
        benchmark = registry.find(name)
        about = ": ".join(str(benchmark.data[key]) for key in ("title", "paper") if benchmark.data.get(key))
        judge = "yes" if benchmark.needs_judge else ""
        shown.add(name, str(benchmark.policy), judge, about)
    print_result(form, [shown], output)


# ``vmmetrics understand compare``: two runs of one benchmark, question by question.


def compare(
    first: Annotated[Path, argument("Folder of a run.", metavar="RUN")],
    second: Annotated[Path, argument("Folder of another run.", metavar="RUN")],
    protocol: options.ScoredBy = "vmmetrics",
    form: options.Format = "text",
    _plugin: options.BenchmarkPlugins = None,
) -> None:
    """Compare two models on the questions both were asked.

    Differences are second minus first, with 95 % intervals that draw videos; p values swap the models at random video
    by video, and Holm's are raised for the other categories of a grouping.
    """
    from vmmetrics.understanding.harness.leaderboard import compare_runs, difference_table

    output, _ = open_consoles()
    compared = compare_runs(first, second, scoring(protocol))
    print_result(form, [difference_table(compared)], output, data=lambda: compared)


# ``vmmetrics understand leaderboard``: runs of models, or of one model at several frame rates, side by side.


def leaderboard(
    runs: Annotated[list[Path], argument("Folders of runs.", metavar="RUN...")],
    protocol: options.ScoredBy = "vmmetrics",
    group_by: Annotated[
        str | None, option("Grouping for the columns (task, minFPS, ...). Default: the benchmark's first.")
    ] = None,
    form: options.Format = "text",
    _plugin: options.BenchmarkPlugins = None,
) -> None:
    """Rank scored runs in one table, with intervals over videos, paired tests and published rows.

    A model's name is its folder's or endpoint's. Runs of several benchmarks get a table each.
    """
    from vmmetrics.understanding.harness.leaderboard import board_parts, board_records, make_boards, to_csv

    output, _ = open_consoles()
    boards = make_boards(runs, scoring(protocol), group_by)
    parts = [part for board in boards for part in board_parts(board)]
    print_result(form, parts, output, data=lambda: {"figures": board_records(boards)}, csv=lambda: to_csv(boards))


# ``vmmetrics understand score``: answers of a run, scored again.


def score(
    folder: options.RunArgument,
    cost: options.CostOptions,
    protocol: Annotated[str, option("vmmetrics, or upstream as the released code does.")] = "vmmetrics",
    data: options.DataOfRun = None,
    judge: Annotated[str | None, option("endpoint:MODEL@URL, or a file of recorded verdicts.")] = None,
    max_tokens: Annotated[int, count_option("Maximum tokens per answer of the judge.")] = 8192,
    form: options.Format = "text",
    _plugin: options.BenchmarkPlugins = None,
) -> None:
    """Score the answers of a run without asking the model again. The benchmark's data must be those of the run."""
    from vmmetrics.understanding.harness import scoring as work
    from vmmetrics.understanding.harness.running import asked_of
    from vmmetrics.utils.endpoint.client import Client

    output, messages = open_consoles()
    way = scoring(protocol)
    run, benchmark, loaded, answers = reopen(folder, data, messages)
    configuration, session = run["configuration"], run["sessions"][-1]
    shown = configuration.get("frames")
    looks = shown is not None and not str(shown["policy"]).startswith("none")
    questions = asked_of(loaded.questions, session.get("limit"), looks, answers)
    asked = judge_of(judge, folder, messages, cost, max_tokens)
    expected = benchmark.judge_estimate(questions, answers, asked) if isinstance(asked, Client) else None
    if expected is not None:
        messages.print(f"{judge}: {expected}", soft_wrap=True)
        agree(messages, cost.yes or not expected.requests)
    result = work.score(benchmark, configuration, questions, answers, way, asked, loaded.problems)
    finish_run(result, folder, output, messages, form)


# ``vmmetrics understand submission``: answers of a run as a benchmark's leaderboard takes them.


def submission(
    folder: options.RunArgument,
    out: Annotated[Path, out_option("File to write.")],
    protocol: Annotated[
        str, option("How answers are read: vmmetrics, or upstream as the released code does.")
    ] = "vmmetrics",
    data: options.DataOfRun = None,
    _plugin: options.BenchmarkPlugins = None,
) -> None:
    """Write a submission file: all questions of the benchmark, including test questions with hidden keys."""
    from vmmetrics.errors import SetupError

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


# ``vmmetrics understand lmms-eval``: questions as a task that lmms-eval's servers answer.


def lmms_eval(
    name: options.BenchmarkName,
    data: Annotated[Path, option("Folder or file of the benchmark, as it was released.")],
    out: Annotated[Path, out_option("Folder for the task files; may hold tasks of other benchmarks.")],
    videos: options.Videos = None,
    protocol: Annotated[str, option("Wording of the prompts: vmmetrics, or upstream.")] = "vmmetrics",
    _plugin: options.BenchmarkPlugins = None,
) -> None:
    """Write the questions as a task of lmms-eval; its sample log comes back with 'understand run --model recorded:LOG'.

    lmms-eval chooses the frames by its model's own rule, and tells the model neither times nor rate.
    """
    from vmmetrics.understanding import registry
    from vmmetrics.understanding.harness.lmms_eval import write_task

    output, messages = open_consoles()
    benchmark = registry.find(name)
    task = write_task(benchmark, benchmark.load(data, videos), out, scoring(protocol))
    for reason, times in task.left_out.items():
        messages.print(f"left out: {times:,} {reason}", soft_wrap=True)
    messages.print(f"written: {out}/{task.name}.yaml, {task.questions:,} questions", soft_wrap=True)
    log, where = f"logs/MODEL/DATE_samples_{task.name}.jsonl", f" --videos {quote(str(videos))}" if videos else ""
    for line in (
        f"python -m lmms_eval --include_path {quote(str(out))} --tasks {task.name} --log_samples --output_path logs "
        "--model MODEL --model_args ARGS",
        f"vmmetrics understand run {name} --data {quote(str(data))}{where} --model recorded:{log}",
    ):
        output.print(line, soft_wrap=True)


# ``vmmetrics understand synthetic``: our own suite of clips and questions, rendered.


def synthetic(
    out: Annotated[Path, out_option("Folder for clips and questions; new, empty, or of an earlier suite.")],
    count: Annotated[
        int,
        option("Number of questions, one clip each; 540 gives 60 per task.", "--count", min=1, max=options.MAX_COUNT),
    ] = 540,
    seed: Annotated[int, seed_option("Random seed.")] = 0,
) -> None:
    """Render clips with exact answers, whose lowest sufficient frame rate is known by construction.

    'vmmetrics understand run synthetic --data OUT --model ...' puts them to a model.
    """
    from rich.progress import track

    from vmmetrics.understanding.synthetic.suite import BUCKETS, TASKS, bucket_of, write_suite

    output, messages = open_consoles()
    tasks: Counter[str] = Counter()
    buckets: Counter[str] = Counter()
    with until_stopped(messages, "stopped; the suite is incomplete: run the same command again"):
        for item in track(write_suite(out, count, seed), "rendering", count, console=messages, transient=True):
            tasks[item.task] += 1
            buckets[bucket_of(item.draft.min_fps)] += 1
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file()) / 1e6
    output.print(", ".join(f"{name} {tasks[name]}" for name in TASKS if tasks[name]))
    output.print("minFPS " + ", ".join(f"{name}: {buckets[name]}" for *_, name in BUCKETS))
    messages.print(f"written: {out} ({size:.1f} MB)", soft_wrap=True)


# ``vmmetrics understand build``: generate and filter questions about motion, or check existing ones.

FOLDER = "vmmetrics-questions"
"""Default folder of questions."""
_TELLING_Z = 3.0
"""Standard deviations above chance at which a guesser is reported: by chance once in 150 builds of five."""


def build(
    recipe: Annotated[str, argument("motionbench or tuna, which write; fpsbench, which filters.")],
    source: Annotated[Path, argument("Captions or questions; JSON lines.", metavar="INPUT")],
    cost: options.CostOptions,
    out: Annotated[Path, out_option("Folder for the questions; resumes what is there.")] = Path(FOLDER),
    videos: Annotated[Path | None, option("Folder of the videos. Default: beside INPUT.")] = None,
    url: options.Url = None,
    model: Annotated[str | None, option("Model that writes questions (fpsbench: proofreads them).")] = None,
    filter_model: Annotated[
        list[str] | None, option("Model that filters: MODEL[@URL] or hf:FOLDER. fpsbench: answers blind.")
    ] = None,
    video_model: Annotated[str | None, option("tuna: MODEL[@URL] that misreads the video.")] = None,
    review_model: Annotated[list[str] | None, option("fpsbench: model that reviews: MODEL[@URL] or hf:FOLDER.")] = None,
    answers: Annotated[Path | None, option("fpsbench: rows of id, reviewer, answer, by people.")] = None,
    read_as: Annotated[str, option("fpsbench: benchmark in whose form INPUT is.")] = "custom",
    keep_single: Annotated[bool, option("tuna: keep questions that one frame answers.", "--keep-single")] = False,
    require_multi: Annotated[
        int | None, count_option("tuna: drop questions that this many frames do not answer.", 2)
    ] = None,
    decisions: Annotated[list[Path] | None, option("Review file whose decisions (keep, drop) to apply.")] = None,
    seed: options.Seed = 0,
    temperature: options.Temperature = 0.7,
    max_tokens: Annotated[int, count_option("Maximum tokens per generated text.")] = 4096,
    per_minute: options.PerMinute = None,
    threads: Annotated[int, threads_option("Videos processed at a time.")] = 4,
) -> None:
    """Generate questions with an LLM, validate them, and drop those answerable without watching the video.

    Writes questions.jsonl ('vmmetrics understand run custom' reads it), rejected.jsonl with reasons, review.jsonl for
    people, and summary.json. Re-run the same command to resume; nothing is paid for twice. Options for models
    and review files can be repeated. Exit codes: 0 all done, 3 some videos are missing or got no reply, 2 wrong usage
    or setup, 130 stopped.
    """
    from vmmetrics.understanding.construction.building import BuildFolder, read_decisions
    from vmmetrics.understanding.construction.settings import BuildSettings, open_build

    decided = None if decisions is None else read_decisions(decisions)
    with usage():
        settings = BuildSettings(
            recipe, source, videos, url, model, tuple(filter_model or ()), video_model, tuple(review_model or ()),
            answers, read_as, not keep_single, require_multi, seed, temperature, max_tokens, cost.max_cost,
            {"per_minute": per_minute, "prices": cost.price_per_million, "key_variable": cost.key_env},
        )  # fmt: skip
        made, problems = open_build(settings, out)
    output, messages = open_consoles()
    with BuildFolder(out, made) as folder:
        warn(messages, folder.warnings)
        for problem, number in problems.items():
            messages.print(f"{number:,} {problem}")
        _begin(made, folder.remaining, bool(filter_model), cost.yes, messages)
        stopped = f"stopped; results so far are in {folder.path}; run the same command again to resume"
        try:
            with until_stopped(messages, stopped), Bar(messages, len(folder.remaining)) as bar:
                for outcome in folder.run(threads):
                    if outcome.why:
                        error(messages, f"{outcome.status}: {outcome.unit}: {outcome.why}")
                    bar.step()
            left = len(folder.remaining)
        finally:  # whatever stopped it, the files are of what is done
            summary, reviewed = folder.finish(seed, decided)
    _report(summary, output)
    if reviewed is not None:
        undecided, others = reviewed
        text = f"{undecided} of the questions were not reviewed; {others} decisions are about others"
        output.print(text, soft_wrap=True)
    if made.pool is not None:
        output.print(f"this time: {made.pool.ledger}", soft_wrap=True)
    messages.print(f"written: {out}/questions.jsonl", soft_wrap=True)
    if left:
        error(messages, f"{left} not done; run the same command again to retry")
        raise typer.Exit(EXIT_FAILURES)


def _begin(recipe: QuestionRecipe, todo: Sequence[str], filtered: bool, yes: bool, messages: Console) -> None:
    """Print what is to be done and its cost, and ask to confirm it where needed."""
    done = len(recipe.units) - len(todo)
    before = f", {done:,} of them done before" if done else ""
    messages.print(f"{count(len(recipe.units), 'video' if recipe.makes else 'question')}{before}")
    if not filtered:
        kept = "that one frame answers are kept" if recipe.makes else "are not filtered by blind answers"
        messages.print(f"no --filter-model: questions {kept}")
    if todo and recipe.pool is not None:
        for name, estimate in recipe.estimates(todo):
            messages.print(f"{name}: {estimate}")
        agree(messages, yes)


def _report(summary: dict[str, Any], output: Console) -> None:
    """Print the result in a few lines, with warnings."""

    def say(text: str) -> None:
        output.print(text, soft_wrap=True)

    say(f"{count(summary['questions'], 'question')} passed, {summary['rejected']} rejected")
    say("units: " + ", ".join(f"{number} {name}" for name, number in summary["units"].items()))
    for reason, number in summary["rejected_by"].items():
        say(f"  {number} {reason}")
    if summary["questions"]:
        say("letters: " + ", ".join(f"{letter} {number}" for letter, number in summary["letters"].items()))
    for name, guess in summary["guessers"].items():
        note = "  <- above chance" if guess["z"] > _TELLING_Z else ""
        say(f"guessing blind by '{name}': {guess['right']:.1%} right, chance {guess['chance']:.1%}{note}")
    for stage, models in summary["views"].items():
        for name, kinds in models.items():
            say(f"{stage}, {name}: " + ", ".join(f"{number} {kind}" for kind, number in kinds.items()))
