"""``vmmetrics prompts``: metadata from corpora, prompts from metadata, and selection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import argument, check_outputs, check_picture, count_option, option, out_option, seed_option
from vmmetrics.cli.terminal import open_consoles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vmmetrics.prompts.statistics.report import ListComparison, ListStatistics, Prepared


@dataclass
class ListOptions:
    """Options of the commands that measure prompt lists."""

    metadata: Annotated[Path | None, option("Folder of metadata to compare with. Default: the library's.")] = None
    picture: options.PictureFile = None
    form: options.Format = "text"
    parse: options.Parse = True
    embedding: options.Embedding = True
    seed: options.Seed = 0

    def prepare(self, source: str, name: str, messages: Console) -> Prepared:
        """Read a list, and parse and embed its prompts."""
        from vmmetrics.prompts.files import read_entries
        from vmmetrics.prompts.statistics.report import prepare

        say = partial(_say, messages)
        return prepare(read_entries(source), name, seed=self.seed, parse=self.parse, embed=self.embedding, say=say)


# ``vmmetrics prompts stats``: a prompt list in figures.


def stats(prompts: options.PromptList, of: ListOptions) -> None:
    """Count what is in a list, measure how varied it is, and flag what contradicts the metadata."""
    from vmmetrics.prompts.files import read_metadata
    from vmmetrics.prompts.report.tables import statistics_parts
    from vmmetrics.prompts.statistics.report import describe

    check_picture(of.picture)
    check_outputs([prompts], [of.picture])
    output, messages = open_consoles()
    library = read_metadata(of.metadata)
    statistics = describe(of.prepare(prompts, Path(prompts).stem, messages), library, seed=of.seed)
    print_result(of.form, statistics_parts(statistics), output, data=statistics.to_json)
    _save(statistics, of.picture, messages)


def _say(messages: Console, step: str) -> None:
    """Print a step that takes a while."""
    messages.print(f"{step} ...", soft_wrap=True)


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
    of: ListOptions,
    subset_size: Annotated[
        int | None, count_option("Subset size to compare variety at. Default: the smaller list's.", 2)
    ] = None,
    draws: Annotated[int, count_option("Random subsets of that size.")] = 200,
) -> None:
    """Compare two lists: counts as they are, variety also at equal size, with intervals."""
    from vmmetrics.prompts.files import read_metadata
    from vmmetrics.prompts.report.tables import comparison_parts
    from vmmetrics.prompts.statistics.report import compare as compare_lists

    check_picture(of.picture)
    check_outputs([first, second], [of.picture])
    output, messages = open_consoles()
    library = read_metadata(of.metadata)
    names = [Path(source).stem for source in (first, second)]
    if names[0] == names[1]:
        names = [first, second]
    sides = [of.prepare(source, name, messages) for source, name in zip((first, second), names, strict=True)]
    _say(messages, f"{draws} random subsets")
    comparison = compare_lists(sides[0], sides[1], library, size=subset_size, draws=draws, seed=of.seed)
    print_result(of.form, comparison_parts(comparison), output, data=comparison.to_json)
    _save(comparison, of.picture, messages)


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
