"""``vmmetrics prompts ask``: the questions of each prompt, asked of a video model about its clips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import argument, option, out_option
from vmmetrics.cli.terminal import EXIT_FAILURES, agree, count, error, open_consoles, usage, warn
from vmmetrics.cli.understand_run import (
    CONTROLS,
    ModelOptions,
    announce,
    ask_remaining,
    open_run,
    report_unanswered,
    scored_run,
)
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import clean, listed

if TYPE_CHECKING:
    from vmmetrics.scoring.record import Record
    from vmmetrics.understanding.harness.benchmark import Scored
    from vmmetrics.utils.endpoint.messages import CostEstimate
    from vmmetrics.video.discover import Source

FOLDER = "vmmetrics-ask"
"""Default folder of the answers."""
CLIPS = "clips.csv"
"""Table of the clips."""
_SHOWN = 5  # names in a note
_UNKNOWN = "a question about it has no answer"


def ask(
    clips: Annotated[
        list[str], argument("Files, folders, quoted patterns, Parquet files, hf://datasets/ORG/NAME; run directories.")
    ],
    model: Annotated[
        str, option("endpoint:MODEL@URL, hf:FOLDER, hf:ORG/NAME, recorded:FILE, random, random:SEED, perception.")
    ],
    cost: options.CostOptions,
    of_model: ModelOptions,
    questions: Annotated[
        Path | None, option("Questions (JSONL: prompt, kind, question, answer). Default: the library's.")
    ] = None,
    prompts: Annotated[str, option("Their prompts: library, core, core-300, mini, pairs or a file.")] = "library",
    out: Annotated[Path, out_option("Folder for answers and tables; resumes what is there.")] = Path(FOLDER),
    controls: Annotated[bool, option("Ask without frames (blind) and with the middle frame alone too.")] = True,
    into: Annotated[
        Path | None, option("Run directory of these clips: success becomes a column of it.", metavar="RUN")
    ] = None,
    form: options.Format = "text",
) -> None:
    """Ask a video model yes/no questions about the clips of prompts: do they show what the prompt says?

    A clip succeeds if all its questions are answered right. Re-run the same command to resume; nothing is asked or
    paid for twice. Exit codes: 0 all answered, 3 some questions without an answer that can be read, 1 declined,
    2 wrong usage or setup, 130 stopped.
    """
    from vmmetrics.models.frames import FramePolicy
    from vmmetrics.scoring.outside_scores import add_column, check_column
    from vmmetrics.understanding.benchmarks.prompt_questions import SUCCESS, PromptQuestions, clip_rows, clips_of
    from vmmetrics.understanding.harness import controls as work
    from vmmetrics.understanding.harness.models import open_model
    from vmmetrics.understanding.harness.running import Asking, RunFolder
    from vmmetrics.understanding.harness.scoring import write
    from vmmetrics.utils.display.markup import csv_text
    from vmmetrics.utils.storage.atomic import write_text
    from vmmetrics.utils.storage.job_folder import check_folder
    from vmmetrics.video.locations import is_on_hub
    from vmmetrics.video.prompt_questions import shipped_questions

    output, messages = open_consoles()
    benchmark, again = PromptQuestions(prompts), of_model.retry_errors
    file = questions or shipped_questions(prompts)
    with usage():
        settings = of_model.settings(model, cost)
        policies = {"frames": FramePolicy.parse(of_model.frames or benchmark.policy)}
        if controls:
            policies |= {name: FramePolicy.parse(policy) for name, policy in CONTROLS.items()}
    loaded = benchmark.load_clips(file, _sources(clips))
    check_folder(out, "frames", ("replies",), "answers of 'prompts ask'")
    for name in policies:
        RunFolder.check(out / name)
    opened = open_model(settings, loaded.questions, out / "replies")
    if controls and not opened.sees:
        messages.print(f"{opened.name} is shown no frames: no controls are asked")
        policies = {"frames": policies["frames"]}
    loaded = replace(loaded, problems={**loaded.problems, **getattr(opened, "problems", {})})
    views: dict[str, Asking] = {}
    for name, policy in policies.items():
        remarked = replace(loaded, problems={} if views else loaded.problems)  # said of the first alone
        views[name] = Asking(benchmark, remarked, opened, policy, side=of_model.max_size)
    column = {
        "title": "all questions about the prompt answered right", "lower_is_better": False, "range": [0.0, 1.0],
        "source": {name: part for name, part in views["frames"].configuration().items() if name != "versions"},
    }  # fmt: skip
    if into is not None:
        check_column(into, SUCCESS, column, {question.reference["key"] for question in loaded.questions})
    places = [path if is_on_hub(path) else str(Path(path).absolute()) for path in clips]
    session = {"model": model, "data": str(file.absolute()), "videos": ", ".join(places)}
    failed = 0
    with ExitStack() as stack:
        folders = {name: stack.enter_context(open_run(asking, out / name, session)) for name, asking in views.items()}
        expected: CostEstimate | None = None
        for name, asking in views.items():
            messages.print(f"{name}:")
            estimate = announce(asking, folders[name], again, messages)
            expected = estimate if expected is None else expected + estimate if estimate else expected
        if expected is not None:
            messages.print(f"{model}: {expected}", soft_wrap=True)
            agree(messages, cost.yes)
        for name, asking in views.items():
            messages.print(f"asking: {name}")
            failed += ask_remaining(asking, folders[name], again, messages)
    scored = {name: scored_run(asking, out / name) for name, asking in views.items()}
    for name, of_view in scored.items():
        write(of_view, out / name)
    asked, successes = clips_of(loaded.questions, scored["frames"].scored)
    result = work.with_controls(scored, {"accuracy": (lambda *same: same, "kind"), SUCCESS: (clips_of, "model")})
    notes = _notes(successes)
    files = [*work.write_controlled(result, out, notes), out / CLIPS]
    write_text(files[-1], csv_text(clip_rows(asked, successes)))
    print_result(form, work.control_parts(result, notes), output, data=result.to_json, csv=result.to_csv)
    for path in files:
        messages.print(f"written: {path}", soft_wrap=True)
    if into is not None:
        known = [_UNKNOWN if success.value is None else success.value for success in successes]
        values = {clip.reference["key"]: value for clip, value in zip(asked, known, strict=True)}
        contents = {clip.reference["key"]: clip.reference["sha256"] for clip in asked}
        taken, others = add_column(into, SUCCESS, values, contents, column)
        messages.print(f"written: column {SUCCESS} of {count(taken, 'clip')} in {into}", soft_wrap=True)
        if others:
            changed = "they have changed since they were scored, or are being scored: score them, then ask again"
            warn(messages, [f"{count(others, 'clip')} of {into} got no {SUCCESS}; {changed}"])
    unread = scored["frames"].counts.get("not understood", 0)  # those of a control are counted in the report
    if unread:
        error(messages, f"{count(unread, 'answer')} could not be read and {benchmark.unanswered}")
    report_unanswered(failed, messages)
    if failed or unread:
        raise typer.Exit(EXIT_FAILURES)


def _sources(paths: Sequence[str]) -> list[Source]:
    """Return the clips of files and folders, and those that run directories have scored.

    Raises:
        SetupError: There are none, one is at an address, or two have one name.
    """
    from vmmetrics.scoring.records import read_records
    from vmmetrics.utils.storage.addresses import address_of, safe_name
    from vmmetrics.video.discover import Source, discover, no_clips
    from vmmetrics.video.locations import is_on_hub

    runs = [Path(path) for path in paths if (Path(path) / "run.json").is_file()]
    others = [path for path in paths if Path(path) not in runs]
    records = [(record, record.path) for run in runs for record in read_records(run) if record.path is not None]
    asked = [*(path for path in others if not is_on_hub(path)), *(path for _, path in records)]
    if address := next(filter(address_of, asked), None):
        raise SetupError(
            f"{clean(safe_name(address))} is an address, and questions are asked about clips on disk: download the "
            "clips and name their folder; for --into, score them there"
        )
    sources = discover(others) if others else []
    sources += [Source(Path(path), record.clip, record.model, prompt=_stated(record)) for record, path in records]
    if not sources:
        raise SetupError(no_clips(paths))
    if twice := [name for name, times in Counter(source.name for source in sources).items() if times > 1]:
        raise SetupError(f"Two clips are called {clean(twice[0])}; ask about one run at a time")
    return sources


def _stated(record: Record) -> str | None:
    """Return the prompt of a scored clip, unless its name alone has it, which may be cut."""
    return None if (record.prompt_source or "").startswith("name") else record.prompt


def _notes(successes: Sequence[Scored]) -> list[str]:
    """Return what is to be said of the clips."""
    unknown = [success.question for success in successes if success.value is None]
    known = len(successes) - len(unknown)
    names = f" ({listed(unknown, _SHOWN)})" if unknown else ""
    return [f"clips: {known:,} of known success, {len(unknown):,} with a question that has no answer{names}"]
