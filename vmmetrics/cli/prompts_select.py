"""``vmmetrics prompts select``: a balanced subset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmmetrics.cli.numbers import MAX_COUNT, MAX_SEED
from vmmetrics.cli.prompts_outputs import check_outputs


def select(
    prompts: Annotated[
        str, typer.Argument(metavar="LIST", help="'library', 'mini', or a list (.json, .jsonl).", show_default=False)
    ],
    size: Annotated[int, typer.Option(min=1, max=MAX_COUNT, help="Prompts to choose.")],
    out: Annotated[Path, typer.Option(help="File for the subset (.json, .jsonl), in the list's order.")],
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of ties and of the random subsets.")] = 0,
    balance: Annotated[bool, typer.Option(help="Give every pattern as many prompts.")] = True,
    embedding: Annotated[
        bool, typer.Option(help="Also come near every prompt of the list (facility location on sentence embeddings).")
    ] = False,
    random: Annotated[int, typer.Option(min=1, max=MAX_COUNT, help="Random subsets to hold it against.")] = 1000,
    json_file: Annotated[Path | None, typer.Option("--json", help="File for the figures.")] = None,
) -> None:
    """Choose prompts that cover actions, subjects and places and keep the list's proportions.

    Prints the objective and the distance to the list's proportions beside those of random subsets.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.prompts.files import read_entries, write_entries
    from vmmetrics.prompts.report.tables import print_selection
    from vmmetrics.prompts.selection import select as choose
    from vmmetrics.utils.schema import plain
    from vmmetrics.utils.storage.atomic import write_json

    check_outputs([prompts], [out, json_file])
    output, messages = open_consoles()
    entries = read_entries(prompts)
    vectors = None
    if embedding:
        from vmmetrics.utils.text.embedding import embed

        vectors = embed([entry.prompt for entry in entries])
    found = choose(entries, size, seed=seed, balanced=balance, vectors=vectors, random_subsets=random)
    write_entries(out, [entries[place] for place in found.places])
    if json_file is not None:
        write_json(json_file, {"list": prompts, "seed": seed, **plain(found)})
    print_selection(found, len(entries), output)
    messages.print(f"written: {out}", soft_wrap=True)
