"""Extraction of metadata from a corpus of captions: subjects, actions and places, with counts.

    files ──► corpora ──► captions (cleaned or dropped) ──► parsing ──► tallies ──► lexicon ──► metadata

Everything before the lexicon sees one caption after another; the tallies are bounded, and so is the memory.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from vmmetrics.errors import SetupError, cannot, refusing
from vmmetrics.prompts.entry import Action, Metadata, Place, SubjectEntry
from vmmetrics.prompts.extract import parsing
from vmmetrics.prompts.extract.captions import DROPPED, Cleaner
from vmmetrics.prompts.extract.corpora import find_sources, is_place_list, read_corpus, read_place_list, sample
from vmmetrics.prompts.extract.lexicon import Lexicon
from vmmetrics.prompts.extract.parsing import CaptionParser, ParsedCaption
from vmmetrics.prompts.extract.tables import BoundedTally, Tables, actions_of, places_of, subjects_of
from vmmetrics.prompts.files import read_metadata, write_metadata
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.text import embedding

RECORD = "extract.json"
"""File in the metadata folder with the settings and counts of the extraction."""
FORMAT = 1
"""Version of the record's layout."""
_TABLES = ("classes", "subjects", "places", "actions")
_UNFINISHED = {
    "format": FORMAT,
    "unfinished": "stopped while writing; run the same command again to write everything anew",
}
"""Record written before the extraction is complete."""


@dataclass(frozen=True, slots=True)
class ExtractSettings:
    """Settings of an extraction.

    Attributes:
        column: Column or key with the captions; None finds it by its usual names.
        model: Package or path of a spaCy model; None takes the small English one.
        limit: Captions to read, from the first; None reads all.
        sample: Captions to draw at random from those; None takes all.
        seed: Of the draw.
        min_count: Times that a thing must have been seen to be written.
        examples: Captions kept of each thing.
        keep_repeats: True to count repeated captions again.
        infer: True to infer nouns missing from the lexicon by their nearest neighbours, if the sentence embedding is
            installed.

    Raises:
        ValueError: A number is below the least that makes sense.
    """

    column: str | None = None
    model: str | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    min_count: int = 1
    examples: int = 3
    keep_repeats: bool = False
    infer: bool = True

    def __post_init__(self) -> None:
        for name in ("limit", "sample", "min_count"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"Expected {name} to be at least 1 but got {value}")
        if self.examples < 0:
            raise ValueError(f"Expected examples to be at least 0 but got {self.examples}")


@dataclass(frozen=True, slots=True)
class Extraction:
    """Result of an extraction.

    Attributes:
        metadata: The tables, the most frequent first; of the classes, those that occur.
        record: Settings and counts, as in ``extract.json``.
    """

    metadata: Metadata
    record: dict[str, Any] = field(repr=False)


Listener = Callable[[int, float], None]
"""Receives the number of captions read and the share of the corpus."""


def extract(
    paths: Sequence[Path],
    out: Path | None = None,
    settings: ExtractSettings | None = None,
    lexicon: Path | None = None,
    listener: Listener | None = None,
    jobs: int = 1,
) -> Extraction:
    """Extract subjects, places and actions from captions and lists of places.

    Args:
        paths: Files of captions (see :data:`~vmmetrics.prompts.extract.corpora.SUFFIXES`), folders of such, and text
            files that list place categories, recognised by their form.
        out: Folder for the metadata and :data:`RECORD`; None writes nothing.
        settings: How; None for the defaults.
        lexicon: Folder of metadata with what is known already; None takes the shipped.
        listener: Told how far it is.
        jobs: Processes that parse; what is found does not depend on it.

    Raises:
        SetupError: Something cannot be read, is not installed, or the folder holds metadata of another origin.
    """
    chosen = settings or ExtractSettings()
    if out is not None:
        _prepare(out)
    try:
        sources = find_sources(paths)
        lists = [path for path in sources if is_place_list(path)]
        corpus = [path for path in sources if path not in lists]
        inferring = chosen.infer and embedding.embedding_installed()
        data = read_metadata(lexicon)
        entries = Lexicon(data, embedding.embed if inferring else None)
        categories = [item for path in lists for item in read_place_list(path)]
        cleaner, tables = Cleaner(chosen.keep_repeats), Tables(chosen.examples)
        versions: dict[str, str] = {}
        if corpus:
            words = (entries.nouns, entries.places, entries.verbs)
            parser = CaptionParser(chosen.model, *words)
            versions = parser.versions
            captions = _cleaned(corpus, chosen, cleaner, listener)
            parsed = parse_in_processes(captions, jobs, chosen.model, *words) if jobs > 1 else parser.parse(captions)
            for caption in parsed:
                tables.add(caption)
        sizes = {path: path.stat().st_size for path in sources}
        files = [{"name": path.name, "bytes": size, "sha256": sha256_of(path)} for path, size in sizes.items()]
    except OSError as error:
        raise cannot("read", error.filename or "the corpus", error) from error
    metadata, counts = _assemble(tables, categories, entries, chosen.min_count)
    record = {
        "format": FORMAT,
        "made": provenance.now(),
        "vmmetrics": provenance.version_of("vmmetrics"),
        "settings": asdict(chosen),
        "corpus": {"files": files, "bytes": sum(sizes.values())},
        "captions": {
            "read": cleaner.read,
            "parsed": tables.captions,
            "dropped": {reason: cleaner.dropped[reason] for reason in DROPPED if cleaner.dropped[reason]},
            "cleaned": dict(sorted(cleaner.changed.items())),
        },
        "found": counts,
        "parser": versions,
        "embedding": asdict(embedding.embedding_identity()) if inferring else None,
        "lexicon": {
            "folder": "shipped" if lexicon is None else str(lexicon),
            **{name: len(getattr(data, name)) for name in _TABLES},
        },
    }
    if out is not None:
        # First, so that tables left by a run that was killed here are known to be no one's work by hand.
        write_json(out / RECORD, _UNFINISHED)
        for name in _TABLES:
            (out / f"{name}.jsonl").unlink(missing_ok=True)
        write_metadata(out, metadata)
        write_json(out / RECORD, record)
    return Extraction(metadata, record)


def _prepare(out: Path) -> None:
    """Create the folder and test writing to it, before the work; metadata written by hand is not overwritten."""
    if out.exists() and not out.is_dir():
        raise SetupError(f"{out} is not a folder")
    with refusing("write", out):
        out.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=out).close()  # hours of parsing must not end at a folder that cannot be written
    if (out / RECORD).is_file():
        return
    existing = [f"{name}.jsonl" for name in _TABLES if (out / f"{name}.jsonl").exists()]
    if existing:
        raise SetupError(f"{out} holds {', '.join(existing)} not written by an extraction; choose another folder")


def _cleaned(
    corpus: Sequence[Path], settings: ExtractSettings, cleaner: Cleaner, listener: Listener | None
) -> Iterator[str]:
    """Yield the captions to parse, and report progress."""
    raw: Iterable[tuple[str, float]] = islice(read_corpus(corpus, settings.column), settings.limit)
    if settings.sample is not None:
        drawn = sample(raw, settings.sample, settings.seed)
        raw = [(caption, number / len(drawn)) for number, (caption, _) in enumerate(drawn, start=1)]
    for number, (caption, share) in enumerate(raw, start=1):
        text = cleaner(caption)
        if text:
            yield text
        if listener is not None:
            of_limit = number / settings.limit if settings.limit and settings.sample is None else 0.0
            listener(number, max(share, of_limit))


def _assemble(
    tables: Tables, categories: Sequence[Place], lexicon: Lexicon, min_count: int
) -> tuple[Metadata, dict[str, Any]]:
    subjects = subjects_of(tables.subjects, lexicon, min_count)
    actions = actions_of(tables.actions, lexicon, subjects, min_count)
    places = places_of(tables.places, categories, lexicon, min_count)
    used = {item.subject_class for item in subjects} | {name for item in actions for name in item.classes}
    classes = tuple(item for name, item in lexicon.classes.items() if name in used)
    counts = {
        "subjects": _origin(subjects, tables.subjects),
        "places": _origin(places, tables.places),
        "actions": _origin(actions, tables.actions),
        "actions_by_pattern": dict(Counter(action.pattern or "unknown" for action in actions)),
        "subjects_without_class": sum(not item.subject_class for item in subjects),
        "listed_places": len(categories),
    }
    return Metadata(classes, subjects, places, actions), counts


def _origin(things: Sequence[SubjectEntry | Place | Action], tally: BoundedTally) -> dict[str, int]:
    """Count the entries by source (known, inferred, unknown), with the losses to the memory bound."""
    sources = [thing.source for thing in things]
    inferred, unknown = sum(source.startswith("inferred") for source in sources), sources.count("")
    by_source = {"known": len(sources) - inferred - unknown, "inferred": inferred, "unknown": unknown}
    return {"all": len(sources), **by_source, "counts_may_lack": tally.short, "forgotten": tally.forgotten}


# Parsing in several processes, in order and with a bound on what waits.

_WAITING = 2
"""Batches in flight per process: one being parsed, one queued."""

_parser: CaptionParser


def parse_in_processes(captions: Iterable[str], jobs: int, *parser: Any) -> Iterator[ParsedCaption]:
    """Yield what :meth:`CaptionParser.parse` yields, in the same order, from several processes.

    Args:
        captions: Read no further than the processes can follow.
        jobs: Processes.
        parser: Arguments of :class:`CaptionParser`.

    Raises:
        SetupError: A process was killed, as a system does that runs out of memory.
    """
    context = multiprocessing.get_context("spawn")
    rest, waiting = iter(captions), deque[Future[list[ParsedCaption]]]()
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=parser) as pool:
        try:
            while True:
                while len(waiting) < _WAITING * jobs and (batch := list(islice(rest, parsing.BATCH))):
                    waiting.append(pool.submit(_parse, batch))
                if not waiting:
                    return
                yield from waiting.popleft().result()
        except BrokenProcessPool as error:
            raise SetupError("A parser process was killed, probably for lack of memory; use fewer --jobs") from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _start(*parser: Any) -> None:
    global _parser
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that reads stops these
    _parser = CaptionParser(*parser)


def _parse(captions: list[str]) -> list[ParsedCaption]:
    return list(_parser.parse(captions))
