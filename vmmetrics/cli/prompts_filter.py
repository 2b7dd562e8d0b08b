"""``vmmetrics prompts filter``: drop poor prompts from a list, with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import (
    check_outputs,
    count_option,
    number_option,
    option,
    out_option,
    share_option,
)
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, agree, error, open_consoles, until_stopped, usage
from vmmetrics.utils.display.markup import shortened
from vmmetrics.utils.schema import plain
from vmmetrics.utils.storage.atomic import write_atomically
from vmmetrics.utils.storage.journal import encode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vmmetrics.prompts.entry import PromptEntry
    from vmmetrics.prompts.filter.filtering import Embed, FilterDecision
    from vmmetrics.prompts.filter.verdicts import Verdict
    from vmmetrics.utils.display.tables import Part
    from vmmetrics.utils.endpoint.messages import CostEstimate

    _Decided = Sequence[tuple[PromptEntry, FilterDecision]]


def filter_prompts(
    prompts: options.PromptList,
    out: Annotated[Path, out_option("File for the prompts kept (.json, .jsonl), in the list's order.")],
    endpoint: options.EndpointOptions,
    decisions: Annotated[
        Path | None, option("File for the decision on every prompt (JSONL). Default: OUT with .decisions.jsonl.")
    ] = None,
    against: Annotated[
        list[str] | None, option("Drop prompts that repeat one of this list; repeatable.", metavar="LIST")
    ] = None,
    embedding: Annotated[bool, option("Find near-repeats by sentence embeddings too, if installed.")] = True,
    embedding_folder: Annotated[
        Path | None, option("Folder of the embedding's files. Default: the installed package.")
    ] = None,
    cosine: Annotated[float | None, share_option("Cosine similarity of duplicates. Default: 0.9.")] = None,
    meaning: Annotated[
        float | None, share_option("Mean cosine of prompts and of their events, of one shot. Default: 0.72.")
    ] = None,
    overlap: Annotated[float | None, share_option("Share of common 5-grams of duplicates. Default: 0.4.")] = None,
    ease: Annotated[float | None, number_option("Minimum reading ease (Flesch). Default: 30.")] = None,
    openings: Annotated[int | None, count_option("Maximum prompts with the same first three words.")] = None,
    without: Annotated[list[str] | None, option("Skip this check; repeatable.")] = None,
    max_tokens: options.MaxTokens = 1024,
    form: options.Format = "text",
) -> None:
    """Drop duplicate, unsafe, unreadable and ill-formed prompts; let a second model judge the rest.

    Every prompt is in the decisions file with every reason and figure. Replies of the model are cached: run the same
    command again to ask for missing ones. Exit codes: 0 all decided, 3 some undecided, 2 wrong usage or setup.
    """
    from vmmetrics.prompts.files import read_entries
    from vmmetrics.prompts.filter.filtering import FilterSettings, filter_entries
    from vmmetrics.prompts.filter.verdicts import VerdictJudge

    client = endpoint.client(out.with_suffix(".replies"), tokens=max_tokens)
    path = out.with_suffix(".decisions.jsonl") if decisions is None else decisions
    check_outputs([prompts, *(against or ())], [out, path])
    output, messages = open_consoles()
    least: dict[str, Any] = {
        "least_cosine": cosine,
        "least_meaning": meaning,
        "least_overlap": overlap,
        "least_ease": ease,
    }
    thresholds = {name: value for name, value in least.items() if value is not None}
    with usage():
        settings = FilterSettings(most_openings=openings, without=frozenset(without or ()), **thresholds)
    entries = read_entries(prompts)
    others = [(source, entry) for source in against or () for entry in read_entries(source)]
    embed, identity = _embedding(embedding, embedding_folder, messages)
    message = "nothing was written" if client is None else "replies are kept; run the same command again to resume"
    with until_stopped(messages, f"stopped; {message}"), _Verdicts(messages, endpoint.yes) as progress:
        judge = None if client is None else VerdictJudge(client, progress, endpoint.threads)
        filtered = filter_entries(entries, settings, against=others, embed=embed, judge=judge)
    pairs = list(zip(entries, filtered, strict=True))
    about: dict[str, Any] = {"list": prompts, "against": against or [], "embedding": identity}
    about["settings"] = plain(settings) | {"without": sorted(settings.without)}
    about["model"] = None if client is None else client.settings.part() | {"cost": client.ledger.cost}
    counts = _write(pairs, out, path)
    dropped = Counter(check for d in filtered if d.outcome == "dropped" for check in {r.check for r in d.reasons})
    data = {**about, **counts, "dropped_for": dict(dropped.most_common())}
    text = f"{len(pairs):,} prompts: " + ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items())
    print_result(form, _reasons(pairs, text), output, data=lambda: data)
    if client is not None:
        messages.print(f"this time: {client.ledger}")
    messages.print(f"written: {out}, {path}", soft_wrap=True)
    if counts["undecided"]:
        again = sum(decision.again for decision in filtered)
        text = f"{counts['undecided']} undecided and not kept, see {path}"
        error(messages, f"{text}; run the same command again to retry {again} of them")
        raise typer.Exit(EXIT_FAILURES)


def _write(pairs: _Decided, out: Path, path: Path) -> dict[str, int]:
    """Write what is kept and every decision, and return how many of each there are."""
    from vmmetrics.prompts.files import write_entries
    from vmmetrics.prompts.filter.filtering import decision_line

    write_entries(out, [entry for entry, decision in pairs if decision.outcome == "kept"])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, b"".join(encode(decision_line(entry, decision)) for entry, decision in pairs))
    outcomes = [decision for _, decision in pairs]
    return {outcome: sum(d.outcome == outcome for d in outcomes) for outcome in ("kept", "dropped", "undecided")}


def _embedding(enabled: bool, folder: Path | None, messages: Console) -> tuple[Embed | None, Any]:
    """Return the embedding and its identity; None, with a message, where there is none."""
    from vmmetrics.utils.text.embedding import INSTALL, embed, embedding_identity, embedding_installed

    if not enabled:
        return None, None
    if folder is None and not embedding_installed():
        messages.print(f"near-repeats are found by n-grams only; for close rewordings: {INSTALL}", style="yellow")
        return None, None

    def embed_texts(texts: Sequence[str]) -> NDArray[np.float32]:
        messages.print(f"embeddings of {len(texts):,} prompts ...")
        with Bar(messages, len(texts)) as bar:
            return embed(texts, folder=folder, advance=bar.step)

    return embed_texts, plain(embedding_identity(folder=folder))


def _reasons(pairs: _Decided, summary: str) -> list[Part]:
    """Return what each check dropped, with an example."""
    from vmmetrics.prompts.filter.filtering import NAMES
    from vmmetrics.utils.display.tables import DisplayColumn, DisplayTable, heads

    columns = heads("check", "dropped", "noted", DisplayColumn("example", number=False))
    shown = DisplayTable("checks", "What the checks found", summary, columns)
    for check in NAMES:
        dropped = [(e, r) for e, d in pairs if d.outcome == "dropped" for r in d.reasons if r.check == check]
        noted = [(e, r) for e, d in pairs if d.outcome == "kept" for r in d.notes if r.check == check]
        if dropped or noted:
            entry, reason = (dropped or noted)[0]
            figure = "" if reason.figure is None else f" ({reason.figure:g}, limit {reason.limit:g})"
            example = f"{entry.index}: {shortened(reason.why, 100)}{figure}"
            shown.add(check, *(str(len({id(e) for e, _ in some})) for some in (dropped, noted)), example)
    return [shown]


class _Verdicts(Bar):
    """Progress of a judge: asks to confirm the cost, then counts verdicts."""

    def __init__(self, console: Console, yes: bool) -> None:
        super().__init__(console)
        self._agreed = yes

    def begin(self, estimate: CostEstimate, total: int) -> None:
        """Print the cost of asking, and ask to confirm it."""
        self.stop()
        self._console.print(f"{total:,} to be judged: {estimate}")
        agree(self._console, self._agreed or not estimate.requests)
        self._agreed = True
        self.start(total)

    def advance(self, entry: PromptEntry, verdict: Verdict) -> None:
        """Count a verdict, and say where there is none."""
        if verdict.decision == "undecided":
            error(self._console, f"undecided: {entry.index}: {verdict.why}")
        self.step()
