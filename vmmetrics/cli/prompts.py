"""``vmmetrics prompts``: metadata from corpora, prompts from metadata, and selection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import argument, check_outputs, check_picture, count_option, option, out_option, seed_option
from vmmetrics.cli.terminal import open_consoles

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from vmmetrics.prompts.statistics.report import ListComparison, ListStatistics


# ``vmmetrics prompts stats``: a prompt list in figures.


def stats(
    prompts: options.PromptList,
    metadata: Annotated[
        Path | None, option("Folder of metadata to compare the list with. Default: the library's.")
    ] = None,
    picture: options.PictureFile = None,
    form: options.Format = "text",
    parse: options.Parse = True,
    embedding: options.Embedding = True,
    seed: Annotated[int, seed_option("Random seed.")] = 0,
) -> None:
    """Count what is in a list, measure how varied it is, and flag what contradicts the metadata."""
    from vmmetrics.prompts.files import read_entries, read_metadata
    from vmmetrics.prompts.report.tables import statistics_parts
    from vmmetrics.prompts.statistics.report import describe, prepare

    check_picture(picture)
    check_outputs([prompts], [picture])
    output, messages = open_consoles()
    library = read_metadata(metadata)
    prepared = prepare(
        read_entries(prompts), Path(prompts).stem, seed=seed, parse=parse, embed=embedding, say=_teller(messages)
    )
    statistics = describe(prepared, library, seed=seed)
    print_result(form, statistics_parts(statistics), output, data=statistics.to_json)
    _save(statistics, picture, messages)


def _teller(messages: Console) -> Callable[[str], None]:
    """Return a function that prints steps that take a while."""
    return lambda text: messages.print(f"{text} ...", soft_wrap=True)


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


def _save(statistics: ListStatistics | ListComparison, picture: Path | None, messages: Console) -> None:
    """Write the picture that was asked for."""
    if picture is not None:
        from vmmetrics.prompts.report.charts import comparison_chart, statistics_chart
        from vmmetrics.prompts.statistics.report import ListStatistics

        save_picture(
            statistics_chart(statistics) if isinstance(statistics, ListStatistics) else comparison_chart(statistics),
            picture,
        )
        messages.print(f"written: {picture}", soft_wrap=True)


# ``vmmetrics prompts compare``: two prompt lists side by side.


def compare(
    first: Annotated[str, argument("'library', 'mini', or a list (.json, .jsonl).", metavar="A")],
    second: Annotated[str, argument("Another.", metavar="B")],
    metadata: Annotated[Path | None, option("Folder of metadata to compare both with. Default: the library's.")] = None,
    picture: options.PictureFile = None,
    form: options.Format = "text",
    subset_size: Annotated[
        int | None, count_option("Subset size to compare variety at. Default: the smaller list's.", 2)
    ] = None,
    draws: Annotated[int, count_option("Random subsets of that size.")] = 200,
    parse: options.Parse = True,
    embedding: options.Embedding = True,
    seed: Annotated[int, seed_option("Random seed.")] = 0,
) -> None:
    """Compare two lists: counts as they are, variety also at equal size, with intervals."""
    from vmmetrics.prompts.files import read_entries, read_metadata
    from vmmetrics.prompts.report.tables import comparison_parts
    from vmmetrics.prompts.statistics.report import compare as compare_lists
    from vmmetrics.prompts.statistics.report import prepare

    check_picture(picture)
    check_outputs([first, second], [picture])
    output, messages = open_consoles()
    say = _teller(messages)
    library = read_metadata(metadata)
    names = [Path(source).stem for source in (first, second)]
    if names[0] == names[1]:
        names = [first, second]
    sides = [
        prepare(read_entries(source), name, seed=seed, parse=parse, embed=embedding, say=say)
        for source, name in zip((first, second), names, strict=True)
    ]
    say(f"{draws} random subsets")
    comparison = compare_lists(sides[0], sides[1], library, size=subset_size, draws=draws, seed=seed)
    print_result(form, comparison_parts(comparison), output, data=comparison.to_json)
    _save(comparison, picture, messages)


# ``vmmetrics prompts select``: a balanced subset.


def select(
    prompts: options.PromptList,
    count: Annotated[int, count_option("Prompts to choose.")],
    out: Annotated[Path, out_option("File for the subset (.json, .jsonl), in the list's order.")],
    seed: Annotated[int, seed_option("Random seed.")] = 0,
    balance: Annotated[bool, option("Choose equally many prompts per pattern.")] = True,
    embedding: Annotated[bool, option("Also cover the list in embedding space (facility location).")] = False,
    draws: Annotated[int, count_option("Random subsets to compare it with.")] = 1000,
    form: options.Format = "text",
) -> None:
    """Choose prompts that cover actions, subjects and places and keep the list's proportions.

    Prints the objective and the distance to the list's proportions beside those of random subsets.
    """
    from vmmetrics.prompts.files import read_entries, write_entries
    from vmmetrics.prompts.report.tables import selection_parts
    from vmmetrics.prompts.selection import select as choose
    from vmmetrics.utils.schema import plain

    check_outputs([prompts], [out])
    output, messages = open_consoles()
    entries = read_entries(prompts)
    vectors = None
    if embedding:
        from vmmetrics.utils.text.embedding import embed

        vectors = embed([entry.prompt for entry in entries])
    selection = choose(entries, count, seed=seed, balanced=balance, vectors=vectors, random_subsets=draws)
    write_entries(out, [entries[index] for index in selection.places])
    data = {"list": prompts, "seed": seed, **plain(selection)}
    print_result(form, selection_parts(selection, len(entries)), output, data=lambda: data)
    messages.print(f"written: {out}", soft_wrap=True)
