"""``vmmetrics prompts filter``: which prompts of a list are worth keeping, and why the others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli.bars import StepBar, agreed
from vmmetrics.cli.options import (
    KEY_VARIABLE,
    KeyEnv,
    MaxCost,
    ModelThere,
    PerMinute,
    Prices,
    PromptList,
    Threads,
    Tokens,
    Url,
    Yes,
    check_outputs,
    count_option,
    finite,
    open_client,
    share_option,
)
from vmmetrics.cli.running import EXIT_FAILURES
from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from vmmetrics.prompts.entry import PromptEntry
    from vmmetrics.prompts.filter.filtering import Embed, FilterDecision, FilterSettings
    from vmmetrics.prompts.filter.verdicts import Verdict
    from vmmetrics.utils.endpoint import Client, CostEstimate


def filter_prompts(
    prompts: PromptList,
    out: Annotated[Path, typer.Option(help="File for what is kept (.json, .jsonl), in the list's order.")],
    decisions: Annotated[
        Path | None,
        typer.Option(help="File for what became of every prompt (JSONL). Default: OUT with .decisions.jsonl."),
    ] = None,
    against: Annotated[
        list[str] | None, typer.Option(metavar="LIST", help="None may repeat a prompt of this list; repeatable.")
    ] = None,
    embedding: Annotated[
        bool, typer.Option(help="Look for near-duplicates by sentence embeddings too, where they are installed.")
    ] = True,
    embedding_folder: Annotated[
        Path | None, typer.Option(help="Folder of the embedding's files. Default: the installed package.")
    ] = None,
    cosine: Annotated[float | None, share_option("From which two prompts are the same. Default: 0.9.")] = None,
    overlap: Annotated[
        float | None, share_option("Share of the shorter prompt's 5-grams, likewise. Default: 0.4.")
    ] = None,
    ease: Annotated[
        float | None, typer.Option(callback=finite, help="Least reading ease (Flesch). Default: 30.")
    ] = None,
    openings: Annotated[int | None, count_option("Most prompts with the same first three words.")] = None,
    without: Annotated[list[str] | None, typer.Option(help="Leave out this check; repeatable.")] = None,
    url: Url = None,
    model: ModelThere = None,
    tokens: Tokens = 1024,
    per_minute: PerMinute = None,
    threads: Threads = 4,
    key_env: KeyEnv = KEY_VARIABLE,
    prices: Prices = None,
    max_cost: MaxCost = None,
    yes: Yes = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="File for settings and counts.")] = None,
) -> None:
    """Drop near-duplicates and what is unsafe, hard to read or badly made; have a second model judge the rest.

    Every prompt is in the decisions file with every reason and figure. Replies of the model are kept: the same command
    asks only for those it has not. Exit codes: 0 all decided, 3 some undecided, 2 wrong usage or setup.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.prompts.files import read_entries
    from vmmetrics.prompts.filter.filtering import filter_entries
    from vmmetrics.prompts.filter.verdicts import VerdictJudge

    client = open_client(
        url, model, out.with_suffix(".replies"), tokens=tokens, per_minute=per_minute, prices=prices,
        max_cost=max_cost, key_env=key_env,
    )  # fmt: skip
    path = out.with_suffix(".decisions.jsonl") if decisions is None else decisions
    check_outputs([prompts, *(against or ())], [out, path, json_file])
    output, messages = open_consoles()
    settings = _settings(cosine, overlap, ease, openings, without)
    entries = read_entries(prompts)
    others = [(name, entry) for name in against or () for entry in read_entries(name)]
    embed, identity = _embedding(embedding, embedding_folder, messages)
    with stoppable(), _Verdicts(messages, yes) as progress:
        judge = None if client is None else VerdictJudge(client, progress, threads)
        try:
            found = filter_entries(entries, settings, against=others, embed=embed, judge=judge)
        except KeyboardInterrupt:
            progress.stop()
            kept = "nothing was written" if client is None else "replies are kept, the same command goes on"
            messages.print(f"stopped; {kept}")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    pairs = list(zip(entries, found, strict=True))
    about = {"list": prompts, "against": against or [], "embedding": identity}
    _write(pairs, out, path, json_file, _summary(found, settings, about, client))
    _print(pairs, client, output)
    messages.print(f"written: {out}, {path}", soft_wrap=True)
    undecided = sum(decision.outcome == "undecided" for decision in found)
    if undecided:
        again = sum(decision.again for decision in found)
        told = f"{undecided} undecided and not kept, see {path}; the same command asks again about {again} of them"
        messages.print(told, soft_wrap=True)
        raise typer.Exit(EXIT_FAILURES)


def _settings(
    cosine: float | None, overlap: float | None, ease: float | None, openings: int | None, without: list[str] | None
) -> FilterSettings:
    from vmmetrics.prompts.filter.filtering import FilterSettings

    given = {"least_cosine": cosine, "least_overlap": overlap, "least_ease": ease}
    named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        return FilterSettings(most_openings=openings, without=frozenset(without or ()), **named)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _embedding(wanted: bool, folder: Path | None, messages: Console) -> tuple[Embed | None, Any]:
    """The embedding and which it is; None where there is none, which is said."""
    from vmmetrics.utils.schema import plain
    from vmmetrics.utils.text.embedding import INSTALL, embed, embedding_identity, embedding_installed

    if not wanted:
        return None, None
    if folder is None and not embedding_installed():
        messages.print(f"near-duplicates by n-grams alone; in other words too with: {INSTALL}", style="yellow")
        return None, None

    def said(texts: Sequence[str]) -> NDArray[np.float32]:
        messages.print(f"embeddings of {len(texts):,} prompts ...")
        with StepBar(messages, len(texts)) as bar:
            return embed(texts, folder=folder, advance=bar.step)

    return said, plain(embedding_identity(folder=folder))


def _write(
    pairs: Sequence[tuple[PromptEntry, FilterDecision]],
    out: Path,
    decisions: Path,
    json_file: Path | None,
    told: dict[str, Any],
) -> None:
    from vmmetrics.prompts.files import write_entries
    from vmmetrics.prompts.filter.filtering import decision_line
    from vmmetrics.utils.storage.atomic import write_atomically, write_json
    from vmmetrics.utils.storage.journal import encode

    write_entries(out, [entry for entry, decision in pairs if decision.outcome == "kept"])
    decisions.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(decisions, b"".join(encode(decision_line(entry, decision)) for entry, decision in pairs))
    if json_file is not None:
        write_json(json_file, told)


def _counts(found: Sequence[FilterDecision]) -> dict[str, int]:
    return {name: sum(d.outcome == name for d in found) for name in ("kept", "dropped", "undecided")}


def _summary(
    found: Sequence[FilterDecision], settings: FilterSettings, about: dict[str, Any], client: Client | None
) -> dict[str, Any]:
    from vmmetrics.utils.schema import plain

    dropped = Counter(name for d in found if d.outcome == "dropped" for name in {r.check for r in d.reasons})
    asked = None if client is None else client.settings.part() | {"cost": client.ledger.cost}
    told = plain(settings) | {"without": sorted(settings.without)}
    return {**about, "settings": told, "model": asked, **_counts(found), "dropped_for": dict(dropped.most_common())}


def _print(pairs: Sequence[tuple[PromptEntry, FilterDecision]], client: Client | None, output: Console) -> None:
    """What was dropped for what, with an example of each, and how many were kept."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from vmmetrics.prompts.filter.filtering import NAMES
    from vmmetrics.utils.display.markup import shortened

    shown = Table(box=SIMPLE_HEAD)
    for head in ("check", "dropped", "noted"):
        shown.add_column(head, justify="left" if head == "check" else "right")
    shown.add_column("example", overflow="fold")
    for name in NAMES:
        dropped = [(e, r) for e, d in pairs if d.outcome == "dropped" for r in d.reasons if r.check == name]
        noted = [(e, r) for e, d in pairs if d.outcome == "kept" for r in d.notes if r.check == name]
        if dropped or noted:
            entry, reason = (dropped or noted)[0]
            figure = "" if reason.figure is None else f" ({reason.figure:g}, limit {reason.limit:g})"
            example = f"{entry.index}: {shortened(reason.why, 100)}{figure}"
            counts = (len({id(e) for e, _ in some}) for some in (dropped, noted))
            shown.add_row(Text(name), *(str(number) for number in counts), Text(example))
    if shown.row_count:
        output.print(shown)
    told = ", ".join(f"{number:,} {name}" for name, number in _counts([d for _, d in pairs]).items())
    output.print(f"{len(pairs):,} prompts: {told}")
    if client is not None:
        output.print(f"this time: {client.ledger}")


class _Verdicts(StepBar):
    """Asks whether the cost is fine; then verdicts done."""

    def __init__(self, console: Console, yes: bool) -> None:
        super().__init__(console)
        self._agreed = yes

    def begin(self, estimate: CostEstimate, total: int) -> None:
        """Say what asking would take, and go on only where that is fine."""
        self.stop()
        self._console.print(f"{total:,} to be judged: {estimate}")
        if estimate.requests and not self._agreed and not agreed(self._console):
            raise typer.Exit(EXIT_INTERRUPTED)
        self._agreed = True
        self.start(total)

    def advance(self, entry: PromptEntry, verdict: Verdict) -> None:
        """Count a verdict, and say where there is none."""
        if verdict.decision == "undecided":
            self._console.print(f"undecided: {entry.index}: {verdict.why}", style="red")
        self.step()
