"""``vmmetrics prompts generate``: metadata in, a folder of candidate prompts out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import number, table
from vmmetrics.cli.options import count_option, option, out_option, share_option
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, agree, count, error, open_consoles, until_stopped, usage, warn

if TYPE_CHECKING:
    from vmmetrics.prompts.generate.generation import Candidates, GenerationPlan
    from vmmetrics.utils.endpoint.client import Client
    from vmmetrics.utils.storage.journal import Line

FOLDER = "vmmetrics-prompts"
"""Default folder of candidates."""


def generate(
    endpoint: options.EndpointOptions,
    out: Annotated[Path, out_option("Folder for the candidates; resumes what is there.")] = Path(FOLDER),
    metadata: Annotated[Path | None, option("Folder of metadata. Default: the library's.")] = None,
    count: Annotated[int, count_option("Combinations in total; may be raised on resume.")] = 60,
    candidates: Annotated[int, count_option("Prompts written per combination.")] = 3,
    pattern: Annotated[list[str] | None, option("Only this motion pattern; repeatable.")] = None,
    camera_share: Annotated[float, share_option("Share of the combinations that ask for a camera motion.")] = 0.06,
    seed: options.Seed = 0,
    temperature: options.Temperature = 0.8,
    max_tokens: options.MaxTokens = 2048,
) -> None:
    """Combine compatible subjects, actions and places, and write and check prompts for each.

    Without an endpoint (--url, --model) sentences are made by grammar alone. Re-run the same command to resume;
    nothing is paid for twice. Exit codes: 0 all done, 3 some combinations got no reply, 2 wrong
    usage or setup.
    """
    from vmmetrics.prompts.entry import PATTERNS
    from vmmetrics.prompts.files import read_metadata
    from vmmetrics.prompts.generate.generation import Candidates, GenerationPlan, GenerationSettings

    client = endpoint.client(out / "replies", tokens=max_tokens, temperature=temperature)
    output, messages = open_consoles()
    patterns = tuple(name.lower().replace("-", " ") for name in pattern) if pattern else PATTERNS
    with usage():
        settings = GenerationSettings(count, candidates, seed, patterns, camera_share, temperature)
    library = read_metadata(metadata)
    plan = GenerationPlan.draw(library, settings)
    with Candidates(out, settings.configuration(library, client)) as store:
        warn(messages, store.warnings)
        _begin(plan, store, client, endpoint.yes, messages)
        unreached = 0
        stopped = f"stopped; results so far are in {store.path}; run the same command again to resume"
        with until_stopped(messages, stopped), Bar(messages, len(plan.remaining(store))) as bar:
            for outcome in plan.run(store, client, endpoint.threads):
                unreached += outcome.status == "unreachable"
                if outcome.status not in ("written", "implausible"):
                    about = f"{outcome.combination.noun_phrase}, {outcome.combination.action.lemma}"
                    error(messages, f"{outcome.status}: {about}: {outcome.why}")
                bar.step()
        heads = ("combinations", "implausible", "no use", "candidates", "rejected", "categories")
        shown = table("pattern", *map(number, heads))
        for name in plan.settings.patterns:
            shown.add_row(name, *map(str, _row([line for line in store.lines if line.get("pattern") == name])))
        output.print(shown)
        if client is not None:
            output.print(f"this time: {client.ledger}")
    messages.print(f"written: {out}/candidates.jsonl", soft_wrap=True)
    if unreached:
        error(messages, f"{unreached} combinations got no reply; run the same command again to retry")
        raise typer.Exit(EXIT_FAILURES)


def _begin(plan: GenerationPlan, candidates: Candidates, client: Client | None, yes: bool, messages: Console) -> None:
    """Print what is to be done and its cost, and ask to confirm it where needed."""
    total, todo = len(plan.combinations), len(plan.remaining(candidates))
    if total < plan.settings.count:
        messages.print(f"the metadata allow {count(total, 'combination')}, fewer than asked for")
    if total > todo:
        messages.print(f"{total - todo} of {count(total, 'combination')} were done before")
    if client is None:
        messages.print("no endpoint (--url, --model): sentences are made by grammar, and need editing")
    elif todo:
        messages.print(f"{client.settings.model}: {plan.estimate(client, candidates)}")
        agree(messages, yes)


def _row(lines: list[Line]) -> tuple[int, ...]:
    status = Counter(str(line.get("status")) for line in lines)
    accepted, rejected = (sum(int(line.get(name, 0)) for line in lines) for name in ("accepted", "rejected"))
    categories = {(line.get("lemma"), line.get("class")) for line in lines if line.get("accepted")}
    no_use = status["refused"] + status["unusable"]
    return len(lines), status["implausible"], no_use, accepted, rejected, len(categories)
