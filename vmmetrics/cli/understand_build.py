"""``vmmetrics understand build``: generate and filter questions about motion, or check existing ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.options import argument, count_option, option, out_option, threads_option
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, agree, count, error, open_consoles, until_stopped, usage, warn

if TYPE_CHECKING:
    from vmmetrics.understanding.construction.building import BuildFolder
    from vmmetrics.understanding.construction.settings import Opened

FOLDER = "vmmetrics-questions"
"""Default folder of questions."""
_TELLING_Z = 3.0
"""Standard deviations above chance at which a guesser is reported: by chance once in 150 builds of five."""


def build(
    recipe: Annotated[str, argument("motionbench, favor or tuna, which write; fpsbench, which filters.")],
    source: Annotated[Path, argument("Captions, annotations or questions; JSON lines.", metavar="INPUT")],
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
            answers, read_as, not keep_single, require_multi, seed, temperature, max_tokens, per_minute,
            cost.price_per_million, cost.max_cost, cost.key_env,
        )  # fmt: skip
        opened = open_build(settings, out)
    output, messages = open_consoles()
    with BuildFolder(out, opened.recipe) as folder:
        warn(messages, folder.warnings)
        _begin(opened, folder, cost.yes, messages)
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
    _report(opened, summary, reviewed, output)
    messages.print(f"written: {out}/questions.jsonl", soft_wrap=True)
    if left:
        error(messages, f"{left} not done; run the same command again to retry")
        raise typer.Exit(EXIT_FAILURES)


def _begin(opened: Opened, folder: BuildFolder, yes: bool, messages: Console) -> None:
    """Print what is to be done and its cost, and ask to confirm it where needed."""
    for problem, number in opened.problems.items():
        messages.print(f"{number:,} {problem}")
    todo, total = folder.remaining, len(opened.recipe.places)
    before = f", {total - len(todo):,} of them done before" if total > len(todo) else ""
    what = count(total, "question" if opened.recipe.name == "fpsbench" else "video")
    messages.print(f"{what}{before}")
    if opened.unfiltered:
        passed = (
            "questions are not filtered by blind answers"
            if opened.recipe.name == "fpsbench"
            else "questions that one frame answers are kept"
        )
        messages.print(f"no --filter-model: {passed}")
    if todo and opened.ledger is not None:
        for name, estimate in opened.recipe.estimates(todo):
            messages.print(f"{name}: {estimate}")
        agree(messages, yes)


def _report(opened: Opened, summary: dict[str, Any], reviewed: tuple[int, int] | None, output: Console) -> None:
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
    if reviewed is not None:
        undecided, strange = reviewed
        say(f"{undecided} of the questions were not reviewed; {strange} decisions are about others")
    if opened.ledger is not None:
        say(f"this time: {opened.ledger}")
