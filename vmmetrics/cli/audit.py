"""``vmmetrics audit``: any scorer of videos in, a card out of what it sees, ignores, is fooled by and breaks on."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.options import argument, count_option, jobs_option, names_option, number_option, option, out_option
from vmmetrics.cli.probe import CaseProgress
from vmmetrics.cli.running import parse_names
from vmmetrics.cli.terminal import EXIT_WORSE, error, open_consoles, until_stopped, usage

if TYPE_CHECKING:
    from vmmetrics.alignment.audit.card import Card
    from vmmetrics.alignment.audit.plan import AuditPlan

Clips = Annotated[list[Path] | None, option("Your own good clips, files or folders. Default: clips that ship.")]
Limit = Annotated[int, count_option("Clips of the parts but people: the first N.", 5)]
Parts = Annotated[str, names_option("Parts: sees, ignores, fooled, breaks.")]
Checks = Annotated[str | None, names_option("Only these checks, by name.")]
Defects = Annotated[str | None, names_option("Use only these defects. Default: all.")]
Strengths = Annotated[str, names_option("Strengths of the defects, in (0, 1].")]
Jobs = Annotated[int, jobs_option("Processes that call the scorer at the same time.")]
Compare = Annotated[Path | None, option("Another card; the page shows its verdicts beside.")]
FailOn = Annotated[
    str | None, names_option("Exit with 4 on lines of these grades or parts: bad, error, note, breaks, fooled, ...")
]
Range = Annotated[
    tuple[float, float] | None,
    option("Least and greatest score.", "--range", metavar="LOW HIGH", callback=options.finite),
]
Out = Annotated[Path, out_option("Folder of the card; resumes what is there.")]
ALL_PARTS, STRENGTHS = "sees,ignores,fooled,breaks", "0.25,0.5,1"


def run(
    target: Annotated[
        str | None,
        argument("module:function, an http:// address, or metrics and baselines between commas.", metavar="TARGET"),
    ] = None,
    command: Annotated[
        str | None, option("Command line instead of TARGET; {clip} or {folder}, {prompt} and {fps} are filled in.")
    ] = None,
    takes: Annotated[
        str | None,
        names_option("How it takes clips: path, paths, frames, floats, list, videos, tensors, clip. Default: guessed."),
    ] = None,
    direction: Annotated[
        Literal["higher", "lower"] | None, option("Which scores are better. Default: higher; ours say so themselves.")
    ] = None,
    value_range: Range = None,
    amount: Annotated[bool, option("The score measures how much moves, not how well.", "--amount")] = False,
    key: Annotated[str | None, option("Place of the score in a JSON answer, such as scores.0.motion.")] = None,
    body: Annotated[
        str | None, option("JSON body of a request, with {clip} or {video_b64}. Default: UniRL's /score.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, option("Host other than this machine that may be asked; repeatable.")
    ] = None,
    plugin: options.Plugins = None,
    clips: Clips = None,
    prompts: options.PromptsBeside = None,
    references: Annotated[Path | None, option("Folder with a reference of each clip, by file name.")] = None,
    ratings: Annotated[
        list[Path] | None, option("Human ratings of the clips, as align reads them; repeatable.")
    ] = None,
    pairs: Annotated[Path | None, option("Table of pairs of clips: columns better and worse.")] = None,
    footage: Annotated[list[Path] | None, option("Real footage, files or folders, to compare the clips with.")] = None,
    worse: Annotated[list[Path] | None, option("Clips that are known to be worse, files or folders.")] = None,
    limit: Limit = 20,
    parts: Parts = ALL_PARTS,
    checks: Checks = None,
    defects: Defects = None,
    strengths: Strengths = STRENGTHS,
    python: Annotated[
        list[str] | None, option("Interpreter of another environment to compare with; repeatable.")
    ] = None,
    timeout: Annotated[
        float, number_option("Seconds that a call, and loading, may take.", 0.1, options.MAX_SECONDS)
    ] = 120,
    memory: Annotated[int, count_option("MiB of memory that its processes may take.", 64)] = 8192,
    disk: Annotated[int, count_option("MiB that it may write.", 1)] = 1024,
    seed: options.Seed = 0,
    jobs: Jobs = 1,
    compare: Compare = None,
    fail_on: FailOn = None,
    out: Out = Path("audit"),
    form: options.Format = "text",
) -> None:
    """Audit a scorer of videos from outside, and write a card: index.html, card.json and clips to look at.

    Re-run the same command to resume. Exit codes: 0 written, 2 wrong usage or setup, 4 --fail-on.
    """
    from vmmetrics.alignment.audit.audit import audit
    from vmmetrics.alignment.audit.calls import Limits
    from vmmetrics.alignment.audit.card import read_card
    from vmmetrics.alignment.audit.target import kind_of, target_of
    from vmmetrics.alignment.audit.truth import Truth

    output, messages = open_consoles()
    plugins = [str(path.absolute()) for path in plugin or ()]
    with usage():
        audited = target_of(
            target, command=command, takes=() if takes is None else parse_names(takes),
            higher_is_better=None if direction is None and kind_of(target) == "metric" else direction != "lower",
            value_range=value_range, amount=amount, key=key, body=body, hosts=allow_host or (), plugins=plugins,
        )  # fmt: skip
        size = 1 << 20
        plan = replace(
            plan_of(parts, checks, defects, strengths, seed=seed, jobs=jobs, limit=limit),
            limits=Limits(timeout, memory * size, min(256, disk) * size, disk * size), pythons=tuple(python or ()),
        )  # fmt: skip
    gates = () if fail_on is None else checked_gates(fail_on)
    other = None if compare is None else read_card(compare)
    if direction is None and not amount and audited.kind != "metric":
        messages.print("higher scores are taken for better: state --direction lower where they are not")
    message = f"stopped; what is done is in {out}; run the same command again to resume"
    with until_stopped(messages, message), usage(), AuditProgress(messages) as progress:
        card = audit(
            audited, out, clips=clips or (), prompts=prompts, references=references, plan=plan,
            truth=Truth(tuple(ratings or ()), pairs=pairs) if ratings or pairs else None,
            footage=footage or (), worse=worse or (), command=command_words(), listener=progress,
        )  # fmt: skip
    finish(card, out, other, gates, form, output, messages)


def checks(form: options.Format = "text") -> None:
    """List the checks of an audit: their part, what each does, and what a bad line means."""
    from vmmetrics.alignment.audit.plan import known_checks
    from vmmetrics.cli.formats import print_result
    from vmmetrics.utils.display.tables import DisplayTable, heads

    table = DisplayTable("checks", "Checks", "", heads("part", "check", "what is done", "bad means", texts=4))
    rows = list(known_checks())
    for row in rows:
        table.add(*row)
    output, _ = open_consoles()
    print_result(
        form, [table], output, data=lambda: [dict(zip(("part", "check", "what", "bad"), r, strict=True)) for r in rows]
    )


def plan_of(
    parts: str, checks: str | None, defects: str | None, strengths: str, *, seed: int, jobs: int, limit: int
) -> AuditPlan:
    """Return the plan that options name.

    Raises:
        ValueError: An unknown part, check or defect.
        typer.BadParameter: A strength is no number.
    """
    from vmmetrics.alignment.audit.plan import AuditPlan

    doses = options.numbers(parse_names(strengths), strengths, "numbers between commas")
    named = None if defects is None else parse_names(defects)
    return AuditPlan(
        parts=parse_names(parts), only=None if checks is None else parse_names(checks),
        probe=replace(AuditPlan().probe, defects=named, strengths=doses), jobs=jobs, limit=limit, seed=seed,
    )  # fmt: skip


def command_words() -> list[str]:
    """Return the words of this command line that repeat it, without those that a repetition sets anew."""
    words, skipped = [], False
    for word in sys.argv[1:]:
        if skipped:
            skipped = False
        elif word in ("--out", "--checks", "--format", "--fail-on", "--compare"):
            skipped = True
        elif not word.startswith(("--out=", "--checks=", "--format=", "--fail-on=", "--compare=")):
            words.append(word)
    return ["vmmetrics", *words]


def checked_gates(text: str) -> tuple[str, ...]:
    """Return the grades and parts of ``--fail-on``.

    Raises:
        typer.BadParameter: One is neither.
    """
    from vmmetrics.alignment.audit.lines import GRADES, PARTS

    gates = parse_names(text)
    known = (*GRADES, *PARTS)
    if unknown := [name for name in gates or ("",) if name not in known]:  # no names would let everything pass
        raise typer.BadParameter(
            f"--fail-on: expected grades and parts among {', '.join(known)} but got {unknown[0]!r}"
        )
    return gates


def finish(
    card: Card,
    out: Path,
    other: dict[str, Any] | None,
    gates: Sequence[str],
    form: str,
    output: Console,
    messages: Console,
) -> None:
    """Write the page of a card, print its tables, and apply ``--fail-on``.

    Raises:
        typer.Exit: A line is of a grade and part that ``gates`` name.
    """
    from vmmetrics.alignment.audit.card import compared, summary
    from vmmetrics.alignment.audit.lines import GRADES, PARTS
    from vmmetrics.cli.formats import print_result
    from vmmetrics.viewer.card import write_card_page

    content = card.to_json()
    page = write_card_page(content, out, other)
    print_result(form, summary(card, other), output, data=lambda: content)
    messages.print(f"written: {page}", soft_wrap=True)
    if other is not None:
        messages.print(f"beside the other card: {compared(content, other)}", soft_wrap=True)
    faults = [line for score in card.scores for line in score.failing() if line.repeat and line.part == "breaks"]
    if faults:
        which = [] if card.settings["parts"] == ["breaks"] else ["--parts", "breaks"]
        if card.settings["checks"] is not None:
            which = ["--checks", ",".join(dict.fromkeys(line.check for line in faults))]
        text = f"mended? {shlex.join([*command_words(), *which, '--out', next_name(out), '--compare', str(out)])}"
        messages.print(text, soft_wrap=True, markup=False, highlight=False)
    grades = [name for name in gates if name in GRADES] or ["bad", "error"]
    parts = [name for name in gates if name in PARTS] or list(PARTS)
    named = [line for score in card.scores for line in score.lines if line.grade in grades and line.part in parts]
    if gates and named:
        first = f"{named[0].check}: {named[0].verdict}"
        error(messages, f"{len(named)} lines that --fail-on names, the first: {first}", "bold red")
        raise typer.Exit(EXIT_WORSE)


def next_name(out: Path) -> str:
    """Return a folder for the next card.

    >>> [next_name(Path(name)) for name in ("card", "card-again", "card-again2")]
    ['card-again', 'card-again2', 'card-again3']
    """
    base, again, count = str(out).rpartition("-again")
    return f"{base}-again{int(count or 1) + 1}" if again and (count or "1").isdecimal() else f"{out}-again"


class AuditProgress(CaseProgress):
    """Progress of an audit: of the checks, then of the cases of the probe, whose refusals the card tells."""

    _rounds = 0  # of strengths

    def begin(self, total: int, settled: int) -> None:
        """Begin; unchanged clips, done in the first round of strengths, are no news in the next."""
        is_more = self._rounds > 0 and total > settled
        super().begin(total - settled if is_more else total, 0 if is_more else settled)
        self._rounds += 1

    def advance(self, line: dict[str, Any]) -> None:
        """Count a case."""
        super().advance({key: value for key, value in line.items() if key not in ("error", "errors")})

    def part(self, part: str, total: int) -> None:
        """Begin a part."""
        self.stop()
        self._console.print(part)
        if total:
            self.start(total)

    def checked(self, name: str, faults: Sequence[str] = ()) -> None:
        """Count a check, and say at once what is wrong by it."""
        for fault in faults:
            self._console.print(f"bad: {name}: {fault}", markup=False, highlight=False, soft_wrap=True)
        left = (time.monotonic() - self._start) / (self._done + 1) * (self._total - self._done - 1)
        self.step(detail=f"{name}, about {left / 60:.0f} min left")
