"""Scoring of a run's answers, and the files of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError, cannot
from vmmetrics.models.protocol import NO_TIMES
from vmmetrics.models.questions import Answered, Question
from vmmetrics.understanding.harness.benchmark import Benchmark, Figure, Reference, Scored, Scoring
from vmmetrics.understanding.harness.running import usage_of
from vmmetrics.utils.display import tables
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, Lines, Part, number
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.schema import check, plain, read_json
from vmmetrics.utils.storage.atomic import write_atomically, write_json, write_text
from vmmetrics.utils.storage.journal import Journal, encode
from vmmetrics.utils.tables import sha256_of

_LENGTHS: Final = {
    "cut": "answers cut off for their length",
    "thinking": "of these still thinking, so without an answer",
    "again": "asked a second time with more tokens",
    "fewer": "asked with fewer tokens, as the model's context holds no more",
}
"""What the usage of an answer says of its length, in words; see :class:`~vmmetrics.models.protocol.Said`."""


@dataclass(frozen=True, slots=True)
class _Figures:
    """Fields read from ``figures.json``."""

    benchmark: str
    model: str
    frames: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class ScoredRun(_Figures):
    """A scored run.

    Attributes:
        benchmark: Name of the benchmark.
        model: Name of the model.
        frames: Frame policy as text.
        protocol: How it was scored.
        questions: The questions.
        scored: Scores of the questions.
        figures: The benchmark's table.
        references: Published rows.
        counts: Questions and answers of each kind, and what was wrong with the data.
        usage: Usage of the answers.
        judge: The judge, for benchmarks with one: an endpoint's model with how it was asked, or a file and its hash.
        cluster: Noun for what intervals resample.
    """

    protocol: Scoring
    questions: Sequence[Question]
    scored: Sequence[Scored]
    references: Sequence[Reference] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    judge: Mapping[str, Any] = field(default_factory=dict)
    cluster: str = "video"

    @property
    def way(self) -> str:
        """Description of the scoring protocol."""
        return self.protocol + (f", judged by {self.judge.get('model') or self.judge['file']}" if self.judge else "")

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``figures.json``."""
        rows = [
            {"model": row.model, "source": row.source, "figures": [[*key, v] for key, v in row.figures.items()]}
            for row in self.references
        ]
        names = ("benchmark", "model", "frames", "protocol", "judge", "counts", "usage", "figures")
        fields = {name: plain(getattr(self, name)) for name in names if name != "judge" or self.judge}
        return fields | {"references": rows}


def score(
    benchmark: Benchmark,
    configuration: Mapping[str, Any],
    questions: Sequence[Question],
    answers: Mapping[str, Answered],
    protocol: Scoring,
    judge: Any = None,
    problems: Mapping[str, int] | None = None,
) -> ScoredRun:
    """Score the answers of a run.

    Args:
        benchmark: Whose questions they are.
        configuration: Of the run.
        questions: The questions.
        answers: By question; one that is missing counts as not understood. By our scoring a question about a video that
            cannot be read is left out, as one whose video is missing: it says nothing of the model.
        protocol: Ours, or the released code's.
        judge: For benchmarks that need one.
        problems: Problems of the data as text, with counts.

    Raises:
        SetupError: The benchmark needs a judge.
    """
    if benchmark.needs_judge and judge is None:
        raise SetupError(
            f"{benchmark.name} is scored by a judge; 'vmmetrics understand score FOLDER --judge endpoint:MODEL@URL' "
            "or, with what a judge said before, '--judge FILE'"
        )
    unseen = {key for key, answered in answers.items() if answered.unseen and protocol == "vmmetrics"}
    left_out = sum(question.id in unseen for question in questions)
    questions = [question for question in questions if question.id not in unseen]
    scored = benchmark.score(questions, answers, protocol, judge)
    asked = {question.id: answers[question.id] for question in questions if question.id in answers}
    shown = [answered.shown for answered in asked.values() if answered.shown is not None]
    counts = {
        "left out, because the video cannot be read": left_out,
        f"without an answer yet, {benchmark.unanswered}": len(questions) - len(asked),
        f"with an error, {benchmark.unanswered}": sum(answered.failed for answered in asked.values()),
        f"without a decision, {benchmark.unanswered}": sum(
            answered.error is not None and not answered.failed for answered in asked.values()
        ),
        "not understood": sum(not s.answered for s in scored if s.question in asked and not asked[s.question].error),
        "empty answers": sum(not answered.text.strip() and answered.error is None for answered in asked.values()),
        **{words: sum(name in answered.usage for answered in asked.values()) for name, words in _LENGTHS.items()},
        "clips shown with fewer frames than requested": sum(one.limited is not None for one in shown),
        **(problems or {}),
    }
    counts = {"asked": len(questions)} | {name: count for name, count in counts.items() if count}
    model, policy = configuration["model"], configuration.get("frames")
    frames = str(policy["policy"]) if policy else "not known" if "recorded" in model else "none"
    if times_of(configuration) == NO_TIMES:
        frames += ", times not told"
    identity = judge.settings.part() if isinstance(judge, Client) else {}
    if isinstance(judge, Path):
        identity = {"file": judge.name, "sha256": sha256_of(judge)}
    figures = tuple(benchmark.figures(questions, scored, protocol))
    return ScoredRun(
        benchmark=benchmark.name,
        model=str(model["name"]),
        frames=frames,
        figures=figures,
        protocol=protocol,
        questions=questions,
        scored=scored,
        references=benchmark.references,
        counts=counts,
        usage=usage_of(asked),
        judge=identity,
        cluster=benchmark.cluster,
    )


def times_of(configuration: Mapping[str, Any]) -> str:
    """Return how a run's model got frame times; empty if unknown, or if no frames were shown.

    Args:
        configuration: Of the run. One from before times were told in words says nothing of them.
    """
    model, frames = configuration["model"], configuration.get("frames")
    if not frames or "form" not in model or str(frames["policy"]).startswith("none"):
        return ""
    return str(model.get("times", NO_TIMES if model["form"] == "images" else ""))


def file_in(folder: Path, name: str, protocol: Scoring) -> Path:
    """Return the path of a run's file for a protocol (``scores.jsonl``, ``scores-upstream.jsonl``)."""
    path = folder / name
    return path if protocol == "vmmetrics" else path.with_stem(f"{path.stem}-{protocol}")


def page_parts(result: ScoredRun, most: int | None = None) -> list[Part]:
    """Return the report of the run: settings, figures next to published ones, counts.

    Args:
        result: The run.
        most: Published rows at most; None for all.
    """
    keys = {(figure.measure, figure.group, figure.name) for figure in result.figures}
    published = [reference for reference in result.references if keys & set(reference.figures)][:most]
    models = (reference.model for reference in published)
    numbered = ("n", f"{result.cluster}s", "answered", "chance")
    columns = tables.heads("group", "name", "measure", "value", *numbered, *models, texts=3)
    title = f"{result.benchmark}: {result.model}, frames {result.frames}, scored as {result.way}"
    table = DisplayTable("figures", title, f"Intervals: 95 %, bootstrap over {result.cluster}s.", columns)
    for figure in result.figures:
        key = (figure.measure, figure.group, figure.name)
        value = DisplayCell(number(figure.value, 3), tables.bounds(figure.low, figure.high, 3), table.mark(figure.note))
        counts = [tables.count(figure.n), tables.count(figure.clusters or None), share(figure.answered)]
        numbers = [figure.chance, *(reference.figures.get(key) for reference in published)]
        table.add(*key[1:], key[0], value, *counts, *(number(each, 3) for each in numbers))
    sources = [f"{reference.model}: {reference.source}" for reference in published]
    counted = [f"{name}: {times:,}" for name, times in result.counts.items()]
    return [table, Lines("counts", "Counts, and sources of the published rows", (*counted, *sources))]


def share(value: float | None) -> str:
    """Format a share for tables; a dash for None."""
    return tables.NONE if value is None else f"{value:.1%}"


def write(result: ScoredRun, folder: Path) -> list[Path]:
    """Write the scores, the figures and the table of a run.

    Returns:
        The files.

    Raises:
        SetupError: The folder cannot be written.
    """
    names = ("scores.jsonl", "figures.csv", "table.md", "figures.json")
    paths = [file_in(folder, name, result.protocol) for name in names]
    about = ({"question": q.id, "video": q.video, "groups": q.groups} for q in result.questions)
    lines = (encode(plain(a | plain(scored))) for a, scored in zip(about, result.scored, strict=True))
    write_atomically(paths[0], b"".join(lines))
    write_text(paths[1], csv_text([[part.name for part in fields(Figure)], *map(astuple, result.figures)]))
    write_text(paths[2], "\n".join(map(tables.to_markdown, page_parts(result))))
    write_json(paths[3], result.to_json())
    return paths


UNLIKE: Final = "scored by different means, so not comparable: score both again with the same packages"
"""Note where runs differ in :attr:`ReadScores.by`."""
UNTOLD: Final = "not every model was told the times of its frames, so scores on speed and rate are not comparable"
"""Note where runs differ in :attr:`ReadScores.times`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line(Scored):
    """A line of ``scores.jsonl``."""

    video: str
    groups: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ReadScores(_Figures):
    """Scores of a run, read from its files.

    Attributes:
        benchmark: Name of the benchmark.
        model: Name of the model.
        frames: Frame policy as text.
        figures: The benchmark's table.
        questions: Keys, videos and groups of the questions; nothing else of them.
        scored: Scores of the questions.
        data: SHA-256 of the benchmark's files.
        by: Scoring method, where it depends on installed packages: a text similarity.
        method: What scores must have in common to be compared: how descriptions were taken apart, or which version of
            the synthetic suite was asked.
        times: Form of the frame times; see :func:`times_of`.
    """

    questions: Sequence[Question]
    scored: Sequence[Scored]
    data: tuple[str, ...]
    by: frozenset[str]
    method: str
    times: str

    @property
    def label(self) -> str:
        """Model and frame policy."""
        return f"{self.model}, {self.frames}"

    @property
    def measure(self) -> str:
        """Name of a question's value."""
        return next((figure.measure for figure in self.figures), "accuracy")

    def check_same_method(self, other: ReadScores) -> None:
        """Check that both runs were scored the same way.

        Raises:
            SetupError: They were not.
        """
        if self.method != other.method:
            ways = " and ".join(one.method or "an earlier version" for one in (self, other))
            raise SetupError(
                f"Runs of {self.benchmark} were asked or scored in two ways, so not comparable: {ways}",
                "score both again: 'vmmetrics understand score FOLDER'; where they were asked different suites, ask "
                "both models the same",
            )


def read_scores(folder: Path, configuration: Mapping[str, Any], protocol: Scoring) -> ReadScores:
    """Read the scores of a run.

    Raises:
        SetupError: It was not scored, or a file is damaged.
    """
    path, figures = file_in(folder, "scores.jsonl", protocol), file_in(folder, "figures.json", protocol)
    if not (path.is_file() and figures.is_file()):
        way = "" if protocol == "vmmetrics" else f" --protocol {protocol}"
        raise SetupError(f"{folder} is not scored; run 'vmmetrics understand score {folder}{way}'")
    try:
        read = check(_Figures, read_json(figures), figures)
        journal = Journal(path)
        lines = journal.read_as(_Line)
    except OSError as error:
        raise cannot("read", path, error) from error
    if journal.damaged:
        raise SetupError(*journal.warnings(), f"score {folder} again")
    questions = [Question(line.question, line.video, "", groups=line.groups) for line in lines]
    by = frozenset(str(line.detail["by"]) for line in lines if "by" in line.detail)
    method = next((str(line.detail["method"]) for line in lines if "method" in line.detail), "")
    data = tuple(sorted(configuration["data"].values()))
    return ReadScores(
        read.benchmark, read.model, read.frames, read.figures, questions, lines, data, by, method,
        times_of(configuration),
    )  # fmt: skip
