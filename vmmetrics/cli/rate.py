"""``vmmetrics rate``: a rating study, from clips to tables that ``align`` and ``cas label`` read."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import MAX_PRICE, argument, count_option, number_option, option, out_option
from vmmetrics.cli.stopping import stoppable
from vmmetrics.cli.terminal import Bar, count, open_consoles, until_stopped, usage, warn
from vmmetrics.errors import SetupError, install
from vmmetrics.rating import DESIGNS
from vmmetrics.utils.request_rules import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from vmmetrics.rating.designs import Design
    from vmmetrics.rating.forgetting import Forgotten
    from vmmetrics.rating.study import ClipSource
    from vmmetrics.utils.display.tables import Part

StudyFolder = Annotated[Path, argument("Folder of the study.", metavar="STUDY")]
_LEFT_OUT = 5  # clips that are left out and named


@dataclass
class SessionOptions:
    """Options on a rater's session."""

    votes: Annotated[int, count_option("Valid votes wanted per clip or pair.")] = 15
    items: Annotated[int, count_option("Clips or pairs in a session.", 4)] = 24
    gold: Annotated[int, count_option("Items of a session with a known answer: frames in disorder.", 0)] = 3
    traps: Annotated[int, count_option("Attention checks of a session.", 0)] = 2
    repeats: Annotated[int, count_option("Items of a session shown again; of pairs with sides swapped.", 0)] = 2
    training: Annotated[int, count_option("Training items before a rater's first session.", 0)] = 3
    sessions: Annotated[int, count_option("Sessions of a rater at most.")] = 1


def new(
    study: StudyFolder,
    clips: Annotated[list[str], option("Run directory, or folder or files of clips; repeatable.", show_default=False)],
    design: Annotated[
        str,
        option("; ".join(f"{name}: {text}" for name, text in DESIGNS.items()) + ".", metavar="|".join(DESIGNS)),
    ],
    contact: Annotated[str, option("Whom raters can ask: a name and an address.", show_default=False)],
    licence: Annotated[
        str, option("Licence of the clips, or by what right they are shown to raters.", show_default=False)
    ],
    session: SessionOptions,
    question: Annotated[
        list[str] | None,
        option("Ask this; repeatable. Default: how good the motion is.", metavar="DIMENSION=TEXT"),
    ] = None,
    levels: Annotated[Literal["5", "9", "11"], option("Levels of the scale of acr and vmbench5.")] = "5",
    reference: Annotated[
        str,
        option(
            "dcr: model whose clip of the prompt is the reference, as real footage.",
            metavar="MODEL",
            show_default=False,
        ),
    ] = "",
    within_model: Annotated[bool, option("Compare clips of one model alone.", "--within-model")] = False,
    active: Annotated[
        float, number_option("Share of pairs chosen by the answers so far; the others alone show agreement.", 0, 0.8)
    ] = 0.0,
    stop_error: Annotated[
        float, number_option("Stop when strengths have this standard error (log odds). 0: by --votes alone.", 0)
    ] = 0.0,
    in_turn: Annotated[bool, option("Play the clips of a pair one after the other.", "--in-turn")] = False,
    flashing: Annotated[
        Literal["leave-out", "warn"], option("Clips with more than 3 flashes a second: leave them out, or warn raters.")
    ] = "leave-out",
    prompts: Annotated[str | None, option("Prompt list of the clips. Default: looked for beside them.")] = None,
    prompt_questions: Annotated[
        Path | None, option("questions: file of the prompts' questions. Default: the library's.", metavar="FILE")
    ] = None,
    texts: Annotated[
        Path | None, option("Texts of the raters' page (TOML), in any language. Default: English.")
    ] = None,
    min_age: Annotated[int, count_option("Age in years that raters confirm.")] = 18,
    ethics: Annotated[str, option("Number of the ethics approval.", show_default=False)] = "",
    pay: Annotated[float, number_option("Payment for a session.", 0, MAX_PRICE)] = 0.0,
    currency: Annotated[str, option("Its currency.", show_default=False)] = "",
    completion_url: Annotated[str, option("Where raters go at the end, as of a platform.", show_default=False)] = "",
    detect: Annotated[
        tuple[float, float] | None,
        number_option("Set --votes to tell two metrics apart whose Spearman with people is this (see plan).", -1, 1),
    ] = None,
    seed: options.Seed = 0,
) -> None:
    """Make a study: clips are looked at for flashes and transcoded alike; settings are fixed.

    Rules of exclusion are in study.json, and may be edited until the first rater. 'rate check' tries the study with
    simulated raters, 'rate serve' opens it. Exit codes: 0 made, 2 wrong usage or setup.
    """
    from vmmetrics.rating.designs import design_named, design_of, shown_sources
    from vmmetrics.rating.study import Settings, new_study, read_texts

    output, messages = open_consoles()
    sources = _sources(clips, prompts)
    of_prompts, subjects, asks = {}, {}, [*design_named(design).asks]
    if "prompt_questions" in design_named(design).reads:
        if question:
            raise typer.BadParameter(f"the design {design} asks the questions of the prompts: leave --question out")
        from vmmetrics.rating.designs.questions import dimensions, questions_of, subjects_of

        of_prompts = questions_of((source.prompt for source in sources), prompt_questions, prompts)
        subjects, asks = subjects_of(of_prompts, prompts), dimensions(of_prompts)
    elif prompt_questions is not None:
        raise typer.BadParameter(f"the design {design} has no --prompt-questions")
    questions = _questions(question or [f"{name}=" for name in asks])
    if detect is not None:
        session.votes = _votes(detect, sources)
        messages.print(f"--votes {session.votes}, by 'vmmetrics plan'")
    with usage():
        settings = Settings(
            design, contact, licence, questions, int(levels), **vars(session), within_model=within_model,
            active=active, stop_error=stop_error, in_turn=in_turn, reference=reference,
            prompt_questions=of_prompts, prompt_subjects=subjects, flashing=flashing, seed=seed,
            min_age=min_age, ethics=ethics, pay=pay, currency=currency, completion_url=completion_url,
            texts={} if texts is None else read_texts(texts),
        )  # fmt: skip
    shown = shown_sources(sources, settings)
    if len(shown) < len(sources):
        messages.print(f"left out: {count(len(sources) - len(shown), 'clip')} that no item shows", style="yellow")
    with until_stopped(messages, "stopped; nothing was written"), Bar(messages, len(shown)) as bar:
        made = new_study(study, shown, settings, lambda _: bar.step())
    for name, why in list(made.left_out.items())[:_LEFT_OUT]:
        messages.print(f"left out: {name}: {why}", style="yellow", soft_wrap=True)
    if len(made.left_out) > _LEFT_OUT:
        messages.print(f"left out: {len(made.left_out) - _LEFT_OUT} more, see study.json", style="yellow")
    made_design = design_of(made)
    if (gold := len(made_design.gold)) < made.settings.gold:
        messages.print(f"gold items of {count(gold, 'clip')} alone: others are too short, or flash", style="yellow")
    _say_size(made_design, messages)
    output.print(str(study), soft_wrap=True)


def _questions(texts: Sequence[str]) -> dict[str, str]:
    from vmmetrics.rating.export import RESERVED

    questions = dict[str, str]()
    for text in texts:
        name, equals, words = text.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"expected DIMENSION=TEXT but got {text!r}", param_hint="--question")
        if name.lower() in {*RESERVED, *map(str.lower, questions)}:
            why = "is asked twice" if name.lower() not in RESERVED else "is a column of the export"
            raise typer.BadParameter(f"{name!r} {why}; choose another name", param_hint="--question")
        questions[name] = words.strip()
    return questions


def _sources(clips: Sequence[str], prompts: str | None) -> list[ClipSource]:
    """Return the clips of runs and folders."""
    from vmmetrics.rating.study import ClipSource
    from vmmetrics.scoring.prompt_scores import read_run
    from vmmetrics.video import Prompts, discover
    from vmmetrics.video.discover import no_clips

    listed = Prompts(prompts)
    sources = []
    for run in (Path(text) for text in clips if (Path(text) / "run.json").is_file()):
        sources += [
            ClipSource(one.clip, Path(one.path), one.model, one.prompt)
            for one in read_run(run).records if one.error is None and one.path is not None
        ]  # fmt: skip
    if folders := [text for text in clips if not (Path(text) / "run.json").is_file()]:
        for found in discover(folders):
            match = listed.lookup(found)
            sources.append(ClipSource(found.name, found.path, match.model or found.model, match.prompt))
    if not sources:
        raise SetupError(no_clips(clips))
    if len({one.clip for one in sources}) < len(sources):
        raise SetupError("two clips have one name: make the study of one run, or of folders that do not overlap")
    return sources


def _votes(detect: tuple[float, float], sources: Sequence[ClipSource]) -> int:
    """Return the fewest raters per clip with which so many clips tell two correlations apart."""
    from vmmetrics.alignment.power import plan_study

    per_prompt = max(1, round(len(sources) / len({one.prompt or one.clip for one in sources})))
    with usage("--detect"):
        plans = [plan_study(*detect, raters=raters, clips_per_prompt=per_prompt) for raters in range(1, 41)]
    for plan in plans:
        if plan.clips <= len(sources):
            return plan.raters
    raise SetupError(
        f"{count(len(sources), 'clip')} cannot tell {detect[0]:g} from {detect[1]:g}: even 40 raters need "
        f"{plans[-1].clips}; 'vmmetrics plan' has more"
    )


def _say_size(design: Design, messages: Any) -> None:
    settings, items = design.settings, len(design.items)
    sessions = math.ceil(items * settings.votes / min(settings.items, items))
    money = f", {sessions * settings.pay:.2f} {settings.currency}".rstrip() if settings.pay else ""
    messages.print(
        f"{count(len(design.study.clips), 'clip')}, {items} items, {settings.votes} votes each: {sessions} sessions of "
        f"{design.minutes:.0f} minutes{money}; recruit more, since some will be excluded",
        soft_wrap=True,
    )


def serve(
    study: StudyFolder,
    host: Annotated[str, option("Address to listen on; another than this machine's needs --public-url.")] = HOST,
    port: Annotated[int, option("Port of the raters' page; 0 takes a free one.", min=0, max=65535)] = 8090,
    owner_port: Annotated[
        int, option("Port of the owner's page, of this machine alone; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    public_url: Annotated[
        str, option("Address that raters see, https://...; with TLS files, or --behind-proxy.", show_default=False)
    ] = "",
    behind_proxy: Annotated[bool, option("A proxy on this machine or network speaks TLS.", "--behind-proxy")] = False,
    tls_cert: Annotated[Path | None, option("File of the TLS certificate.")] = None,
    tls_key: Annotated[Path | None, option("File of its key.")] = None,
) -> None:
    """Serve a study to raters until Ctrl-C; the link that is printed is the one to hand out.

    Every answer is on the disk before the browser hears of it. The owner's page, under the second link, is answered on
    this machine alone. Exit codes: 0 stopped, 2 wrong usage or setup, a full disk included.
    """
    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise SetupError(f"The server needs {package}: {install('serve')}")
    from vmmetrics.rating.address import Address
    from vmmetrics.rating.journal import AnswerJournal
    from vmmetrics.rating.service import run
    from vmmetrics.rating.study import read_study

    output, messages = open_consoles()
    if public_url and not (behind_proxy or tls_cert):
        raise typer.BadParameter("give --tls-cert and --tls-key, or --behind-proxy", param_hint="--public-url")
    if behind_proxy and not public_url:
        raise typer.BadParameter("give --public-url, the address that raters see", param_hint="--behind-proxy")
    address = Address(host, port, owner_port, public_url, tls_cert, tls_key)
    address.check()
    journal = AnswerJournal(read_study(study))
    warn(messages, journal.warnings)

    def announce(raters: str, owner: str) -> None:
        messages.print("for raters:")
        output.print(raters, soft_wrap=True)
        messages.print(f"for you alone: {owner} (Ctrl-C ends it)", soft_wrap=True)

    with stoppable(), suppress(KeyboardInterrupt):
        run(journal, address, announce)


def status(study: StudyFolder, form: options.Format = "text") -> None:
    """Print how far a study is: votes, sessions and flags, agreement of raters, and what is still to come.

    Reads the answers while they are written, and takes no lock. Exit codes: 0, 2 no study.
    """
    from vmmetrics.rating.export import summary
    from vmmetrics.rating.journal import read_state
    from vmmetrics.rating.results import Results
    from vmmetrics.rating.study import read_study

    output, messages = open_consoles()
    found, warnings = read_study(study), list[str]()
    results = Results.of(found, read_state(found, warnings))
    warn(messages, warnings)
    figures = summary(results)
    print_result(form, _status_parts(study.resolve().name, figures), output, data=lambda: figures)


def _status_parts(name: str, figures: dict[str, Any]) -> list[Part]:
    from vmmetrics.utils.display.tables import DisplayTable, Lines, bounds, figure, heads

    counts = ("items", "votes", "fewest", "most", "votes_to_come", "finished", "counted", "open", "withdrawn",
              "sessions_to_come")  # fmt: skip
    progress = DisplayTable("study", "Study", f"{figures['votes_wanted']} votes are wanted of each item.",
                            heads("study", *(one.replace("_", " ") for one in counts), "minutes"))  # fmt: skip
    progress.add(name, *(figure(figures[one], str(figures[one])) for one in counts), figure(figures["minutes"]))
    agreement = DisplayTable("agreement", "Agreement of raters", "Intervals of 95 %, over prompts.",
                             heads("dimension", "measure", "value", "interval", texts=2))  # fmt: skip
    for dimension, measures in figures["agreement"].items():
        for measure, one in measures.items():
            interval = bounds(one["low"], one["high"])
            agreement.add(dimension, measure, figure(one["value"], why=one["note"] or ""), interval)
    forecast = DisplayTable("forecast", "Agreement of a score inside models", "Half the 95 % interval to expect.",
                            heads("dimension", "now", "with all votes", texts=1))  # fmt: skip
    for dimension, half in figures["within_models"].items():
        forecast.add(dimension, *(figure(half[when], why="too few clips of a model") for when in ("now", "end")))
    flags = DisplayTable("flags", "Finished sessions that a criterion excludes", "", heads("criterion", "sessions"))
    for criterion, number in figures["flagged"].items():
        flags.add(criterion, figure(number, str(number)))
    notes = tuple(f"{dimension}: {note}" for dimension, note in figures["recovered"].items() if note)
    limits = [Lines("recovered", "Limits of recovered opinion scores", notes)] if notes else []
    return [progress, agreement, forecast, *limits, *([flags] if flags.rows else [])]


def check(
    study: StudyFolder,
    honest: Annotated[int, count_option("Honest raters.", 0)] = 20,
    lazy: Annotated[int, count_option("Raters who answer the same at once.", 0)] = 5,
    at_random: Annotated[int, count_option("Raters who answer anything.", 0)] = 5,
    turned: Annotated[int, count_option("Raters who take the scale the wrong way round.", 0)] = 5,
    out: Annotated[Path | None, out_option("Folder for the export of their answers, to try align with.")] = None,
    seed: options.Seed = 0,
    form: options.Format = "text",
) -> None:
    """Try a study with simulated raters, through its own sessions, journal and export; nothing of it changes.

    Exit codes: 0 tried, 2 no study.
    """
    from vmmetrics.rating.simulation import RaterKind, dry_run
    from vmmetrics.rating.study import read_study
    from vmmetrics.utils.display.tables import DisplayTable, Lines, figure, heads

    output, _ = open_consoles()
    found = read_study(study)
    raters: dict[RaterKind, int] = {"honest": honest, "lazy": lazy, "random": at_random, "reversed": turned}
    if not sum(raters.values()):
        raise typer.BadParameter("there must be raters")
    run = dry_run(found, raters, seed, out)
    table = DisplayTable("check", "Simulated raters", "Flagged by the rules of study.json.",
                         heads("raters", "number", "flagged", "share", "criteria", texts=1))  # fmt: skip
    for kind, number in run.raters.items():
        failed = ", ".join(f"{name} {times}" for name, times in sorted(run.criteria[kind].items()))
        flagged = run.flagged[kind]
        table.add(kind, figure(number, str(number)), figure(flagged, str(flagged)), figure(flagged / number), failed)
    settings = found.settings
    lines = [f"votes of an item: {run.fewest} to {run.most}"]
    lines += [f"true and recovered qualities: ρ = {run.recovered:.2f}"] if run.recovered is not None else []
    lines += [f"error of opinion scores: {run.error:.2f} levels"] if run.error is not None else []
    pay = f", {run.sessions * settings.pay:.2f} {settings.currency}" if settings.pay else ""
    lines += [f"{run.sessions} sessions of {run.minutes:.0f} minutes give {settings.votes} valid votes each{pay}"]
    print_result(form, [table, Lines("size", "The study", tuple(lines))], output, data=lambda: run)


def tell_forgotten(messages: Console, removed: Forgotten) -> None:
    """Print what was removed of a rater, and what is left to do."""
    messages.print(f"removed {count(removed.answers, 'answer')}")
    lost = (f"{path} is not there any more, or cannot be written: remove it, or the copy" for path in removed.lost)
    warn(messages, [*lost, *(f"{path}: export again with --run; its events went" for path in removed.eventless)])


def forget(
    study: StudyFolder, rater: Annotated[str, argument("The rater, as in sessions.csv, or the rater's link.")]
) -> None:
    """Remove a rater's answers for good, on that rater's request: journal, exports, files given back, merged studies.

    A date and the number of answers stay. Copies that were moved are yours to remove. Exit codes: 0 removed, 2 no such
    rater.
    """
    from vmmetrics.rating.forgetting import forget as remove
    from vmmetrics.rating.journal import read_state
    from vmmetrics.rating.study import read_study

    _, messages = open_consoles()
    found, warnings = read_study(study), list[str]()
    tell_forgotten(messages, remove(found, rater))
    read_state(found, warnings)
    warn(messages, warnings)  # a damaged line may be the rater's and not say so
