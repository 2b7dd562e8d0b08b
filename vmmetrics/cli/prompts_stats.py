"""``vmmetrics prompts stats``: a prompt list in figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli.numbers import MAX_SEED
from vmmetrics.cli.prompts_outputs import check_outputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure
    from rich.console import Console

PICTURES = (".png", ".svg")


def stats(
    prompts: Annotated[
        str, typer.Argument(metavar="LIST", help="'library', 'mini', or a list (.json, .jsonl).", show_default=False)
    ],
    metadata: Annotated[
        Path | None, typer.Option(help="Folder of metadata to hold the list against. Default: the library's.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="File for the picture (.png, .svg).")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="File for the figures.")] = None,
    parse: Annotated[bool, typer.Option(help="Parts of speech, where spaCy is installed.")] = True,
    embedding: Annotated[bool, typer.Option(help="Nearest neighbours, where the embedding is installed.")] = True,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of the sample of a long list.")] = 0,
) -> None:
    """Count what is in a list, measure how varied it is, and flag what contradicts the metadata."""
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.prompts.files import read_entries, read_metadata
    from vmmetrics.prompts.report.tables import print_statistics
    from vmmetrics.prompts.statistics.report import describe, prepare

    check_picture(picture)
    check_outputs([prompts], [picture, json_file])
    output, messages = open_consoles()
    known = read_metadata(metadata)
    prepared = prepare(
        read_entries(prompts), Path(prompts).stem, seed=seed, parse=parse, embed=embedding, say=teller(messages)
    )
    found = describe(prepared, known, seed=seed)
    print_statistics(found, output)
    if picture is not None:
        from vmmetrics.prompts.report.charts import statistics_chart

        save_picture(statistics_chart(found), picture)
    save_json(found.to_json(), json_file)
    for path in (picture, json_file):
        if path is not None:
            messages.print(f"written: {path}", soft_wrap=True)


def teller(messages: Console) -> Callable[[str], None]:
    """Prints what takes a while."""
    return lambda text: messages.print(f"{text} ...", soft_wrap=True)


def check_picture(path: Path | None) -> None:
    """Refuse a name that no picture can have, before anything is worked out."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise typer.BadParameter(f"expected a name in {' or '.join(PICTURES)} but got {path}", param_hint="--picture")


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all."""
    from tempfile import TemporaryDirectory

    from vmmetrics.errors import cannot
    from vmmetrics.utils.display.canvas import save_charts

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".picture-", dir=path.parent) as beside:
            save_charts({"picture": figure}, Path(beside), path.suffix.lower())[0].replace(path)
    except OSError as error:
        raise cannot("write", path, error) from error


def save_json(value: Any, path: Path | None) -> None:
    """Write figures where a file was asked for."""
    from vmmetrics.utils.storage.atomic import write_json

    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, value)
