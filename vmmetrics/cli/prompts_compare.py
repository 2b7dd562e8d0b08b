"""``vmmetrics prompts compare``: two prompt lists side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmmetrics.cli.numbers import MAX_COUNT, MAX_SEED
from vmmetrics.cli.prompts_outputs import check_outputs
from vmmetrics.cli.prompts_stats import check_picture, save_json, save_picture, teller


def compare(
    first: Annotated[
        str, typer.Argument(metavar="A", help="'library', 'mini', or a list (.json, .jsonl).", show_default=False)
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Another.", show_default=False)],
    metadata: Annotated[
        Path | None, typer.Option(help="Folder of metadata to hold both against. Default: the library's.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="File for the picture (.png, .svg).")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="File for the figures.")] = None,
    size: Annotated[
        int | None,
        typer.Option(min=2, max=MAX_COUNT, help="Prompts to compare variety at. Default: the smaller list's."),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, max=MAX_COUNT, help="Random subsets of that size.")] = 200,
    parse: Annotated[bool, typer.Option(help="Parts of speech, where spaCy is installed.")] = True,
    embedding: Annotated[bool, typer.Option(help="Nearest neighbours, where the embedding is installed.")] = True,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of the subsets.")] = 0,
) -> None:
    """Hold two lists against each other: counts as they are, variety also at equal size, with intervals."""
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.prompts.files import read_entries, read_metadata
    from vmmetrics.prompts.report.tables import print_comparison
    from vmmetrics.prompts.statistics.report import compare as hold_against
    from vmmetrics.prompts.statistics.report import prepare

    check_picture(picture)
    check_outputs([first, second], [picture, json_file])
    output, messages = open_consoles()
    say = teller(messages)
    known = read_metadata(metadata)
    names = [Path(source).stem for source in (first, second)]
    if names[0] == names[1]:
        names = [first, second]
    sides = [
        prepare(read_entries(source), name, seed=seed, parse=parse, embed=embedding, say=say)
        for source, name in zip((first, second), names, strict=True)
    ]
    say(f"{draws} random subsets")
    found = hold_against(sides[0], sides[1], known, size=size, draws=draws, seed=seed)
    print_comparison(found, output)
    if picture is not None:
        from vmmetrics.prompts.report.charts import comparison_chart

        save_picture(comparison_chart(found), picture)
    save_json(found.to_json(), json_file)
    for path in (picture, json_file):
        if path is not None:
            messages.print(f"written: {path}", soft_wrap=True)
