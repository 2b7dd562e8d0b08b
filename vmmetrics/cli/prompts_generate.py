"""``vmmetrics prompts generate``: metadata in, a folder of candidate prompts out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli.bars import StepBar, agreed
from vmmetrics.cli.options import (
    KEY_VARIABLE,
    KeyEnv,
    MaxCost,
    ModelThere,
    PerMinute,
    Prices,
    Seed,
    Temperature,
    Tokens,
    Url,
    Yes,
    count_option,
    finite,
    jobs_option,
    open_client,
)
from vmmetrics.cli.running import EXIT_FAILURES
from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.prompts.generate.generation import Candidates, CombinationOutcome, GenerationPlan
    from vmmetrics.utils.endpoint import Client
    from vmmetrics.utils.storage.journal import Line

FOLDER = "vmmetrics-prompts"
"""Where candidates go that were given no folder."""


def generate(
    out: Annotated[Path, typer.Option(help="Folder for the candidates; goes on with what is there.")] = Path(FOLDER),
    metadata: Annotated[Path | None, typer.Option(help="Folder of metadata. Default: the library's.")] = None,
    count: Annotated[int, count_option("Combinations in all; may grow from start to start.")] = 60,
    candidates: Annotated[int, count_option("Prompts written for each.")] = 3,
    pattern: Annotated[list[str] | None, typer.Option(help="Only this motion pattern; repeatable.")] = None,
    camera_share: Annotated[
        float,
        typer.Option(callback=finite, min=0, max=1, help="Share of the combinations that ask for a camera motion."),
    ] = 0.06,
    seed: Seed = 0,
    url: Url = None,
    model: ModelThere = None,
    temperature: Temperature = 0.8,
    tokens: Tokens = 2048,
    per_minute: PerMinute = None,
    threads: Annotated[int, jobs_option("Combinations in hand at once.")] = 4,
    key_env: KeyEnv = KEY_VARIABLE,
    prices: Prices = None,
    max_cost: MaxCost = None,
    yes: Yes = False,
) -> None:
    """Combine subjects, actions and places that go together, and have prompts written and looked over for each.

    Without an endpoint (--url, --model) sentences are made by grammar alone. Running the same command again goes on
    where it stopped; nothing is paid for twice. Exit codes: 0 all done, 3 some combinations got no reply, 2 wrong
    usage or setup.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.prompts.files import read_metadata
    from vmmetrics.prompts.generate.generation import Candidates, GenerationPlan, GenerationSettings

    client = open_client(
        url, model, out / "replies", tokens=tokens, temperature=temperature, per_minute=per_minute, prices=prices,
        max_cost=max_cost, key_env=key_env,
    )  # fmt: skip
    output, messages = open_consoles()
    try:
        settings = GenerationSettings(count, candidates, seed, _patterns(pattern), camera_share, temperature)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    known = read_metadata(metadata)
    plan = GenerationPlan.draw(known, settings)
    with Candidates(out, settings.configuration(known, client)) as kept:
        for warning in kept.warnings:
            messages.print(f"warning: {warning}", style="yellow")
        if not _begin(plan, kept, client, yes, messages):
            raise typer.Exit(EXIT_INTERRUPTED)
        unreached = _work(plan, kept, client, threads, messages)
        _report(plan, kept, client, output)
    messages.print(f"written: {out}/candidates.jsonl", soft_wrap=True)
    if unreached:
        messages.print(f"{unreached} combinations got no reply; the same command tries them again")
        raise typer.Exit(EXIT_FAILURES)


def _patterns(names: list[str] | None) -> tuple[str, ...]:
    """The patterns as entries name them; a hyphen may stand for the space."""
    from vmmetrics.prompts.entry import PATTERNS

    return tuple(name.lower().replace("-", " ") for name in names) if names else PATTERNS


def _begin(plan: GenerationPlan, kept: Candidates, client: Client | None, yes: bool, messages: Console) -> bool:
    """Say what is to be done and what it may cost; whether to go on."""
    from vmmetrics.cli.progress import count

    wanted, todo = len(plan.combinations), len(plan.remaining(kept))
    if wanted < plan.settings.count:
        messages.print(f"the metadata allow {count(wanted, 'combination')}, fewer than asked for")
    if wanted > todo:
        messages.print(f"{wanted - todo} of {count(wanted, 'combination')} were done before")
    if client is None:
        messages.print("no endpoint (--url, --model): sentences are made by grammar, and need editing")
        return True
    if not todo:
        return True
    messages.print(f"{client.settings.model}: {plan.estimate(client, kept)}")
    return yes or agreed(messages)


def _work(plan: GenerationPlan, kept: Candidates, client: Client | None, threads: int, messages: Console) -> int:
    """Do what is not done; how many combinations could not be reached."""
    unreached = 0
    with stoppable(), _Progress(messages, len(plan.remaining(kept))) as progress:
        try:
            for outcome in plan.run(kept, client, threads):
                unreached += outcome.status == "unreachable"
                progress.advance(outcome)
        except KeyboardInterrupt:
            progress.stop()
            messages.print(f"stopped; what was done is in {kept.path}, the same command goes on")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    return unreached


def _report(plan: GenerationPlan, kept: Candidates, client: Client | None, output: Console) -> None:
    """A row for each pattern: combinations, what became of them, and what the candidates are."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=SIMPLE_HEAD)
    heads = ("combinations", "implausible", "no use", "candidates", "rejected", "categories")
    shown.add_column("pattern")
    for head in heads:
        shown.add_column(head, justify="right")
    for pattern in plan.settings.patterns:
        lines = [line for line in kept.lines if line.get("pattern") == pattern]
        shown.add_row(Text(pattern), *(str(number) for number in _row(lines)))
    output.print(shown)
    if client is not None:
        output.print(f"this time: {client.ledger}")


def _row(lines: list[Line]) -> tuple[int, ...]:
    status = Counter(str(line.get("status")) for line in lines)
    accepted, rejected = (sum(int(line.get(name, 0)) for line in lines) for name in ("accepted", "rejected"))
    categories = {(line.get("lemma"), line.get("class")) for line in lines if line.get("accepted")}
    no_use = status["refused"] + status["unusable"]
    return len(lines), status["implausible"], no_use, accepted, rejected, len(categories)


class _Progress(StepBar):
    """Combinations done."""

    def advance(self, outcome: CombinationOutcome) -> None:
        """Count a combination, and say what went wrong with it."""
        if outcome.status not in ("written", "implausible"):
            about = f"{outcome.combination.noun_phrase}, {outcome.combination.action.lemma}"
            self._console.print(f"{outcome.status}: {about}: {outcome.why}", style="red")
        self.step()
