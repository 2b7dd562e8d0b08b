"""Settings of a build, its input (captions by video, people's answers) and its models, opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.models.endpoint import EndpointModel
from vmmetrics.models.frames import FramePolicy
from vmmetrics.models.questions import Question
from vmmetrics.understanding import registry
from vmmetrics.understanding.benchmarks.custom import find_video
from vmmetrics.understanding.construction.captions import MotionBenchRecipe, TunaRecipe
from vmmetrics.understanding.construction.gates import (
    ADAPTIVE,
    FilterModel,
    blind_gate,
    enough_gate,
    language_gate,
    reviewers_gate,
    shortcut_gate,
)
from vmmetrics.understanding.construction.recipe import VERSION, GateRecipe, QuestionRecipe
from vmmetrics.understanding.harness.models import TOKENS, ModelSettings, open_model
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import Ledger
from vmmetrics.utils.tables import read_rows, seconds

RECIPES: Final = ("motionbench", "tuna", "fpsbench")
_UNABLE: Final = ("recorded:", "majority")


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """Settings of a build: recipe, sources, models.

    Attributes:
        recipe: One of :data:`RECIPES`.
        source: File of captions or of questions.
        videos: Folder of the videos; None looks beside the source.
        url: OpenAI-compatible endpoint of the writer.
        model: Its name there.
        filters: Models that filter: ``MODEL`` at ``url``, ``MODEL@URL``, ``endpoint:MODEL@URL``, ``hf:FOLDER``.
        watcher: TUNA's video model that looks for contradictions, ``MODEL`` or ``MODEL@URL``; None is the writer.
        reviewers: Outside reviewers of ``fpsbench``, named as filters are.
        answers: File with answers of people, for ``fpsbench``.
        read_as: Benchmark in whose form ``fpsbench`` reads its questions.
        drop_single: A question of TUNA's goes if all filter models are right from the frame in the middle.
        multi: It is also rejected if no model is right from so many uniform frames; None skips this.
        seed: Of everything random.
        temperature: Of the writing.
        tokens: Of the writer's answers at most.
        max_cost: Most that all models together may cost.
        asking: What holds for every endpoint: ``per_minute``, ``prices``, ``key_variable`` of
            :class:`~vmmetrics.understanding.harness.models.ModelSettings`.

    Raises:
        ValueError: Something cannot be, or does not go together.
    """

    recipe: str
    source: Path
    videos: Path | None = None
    url: str | None = None
    model: str | None = None
    filters: tuple[str, ...] = ()
    watcher: str | None = None
    reviewers: tuple[str, ...] = ()
    answers: Path | None = None
    read_as: str = "custom"
    drop_single: bool = True
    multi: int | None = None
    seed: int = 0
    temperature: float = 0.7
    tokens: int = 4096
    max_cost: float | None = None
    asking: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        gates = self.recipe == "fpsbench"
        for wrong, why in (
            (self.recipe not in RECIPES, f"Expected one of {', '.join(RECIPES)} but got {self.recipe!r}"),
            (
                self.model is None and not gates,
                f"{self.recipe} needs a language model to write questions: --url and --model",
            ),
            ((self.reviewers or self.answers) and not gates, "Reviewers and their answers apply to fpsbench only"),
            (
                (self.watcher or not self.drop_single or self.multi) and self.recipe != "tuna",
                "A video model that misreads, and filters by one or many frames, apply to tuna only",
            ),
            (self.multi and not self.filters, "The filter by many frames needs a filter model"),
        ):
            if wrong:
                raise ValueError(why)
        for spec in (*self.filters, *self.reviewers):
            self.viewing(spec)

    def writing(self, spec: str, tokens: int = TOKENS) -> ModelSettings:
        """Return a model behind an endpoint.

        Args:
            spec: Its name, ``MODEL`` at the URL or ``MODEL@URL``.
            tokens: Of an answer at most.

        Raises:
            ValueError: It has no address, or one that cannot be.
        """
        name = spec.removeprefix("endpoint:")
        if "@http" not in name:
            if self.url is None:
                raise ValueError(f"{spec} needs an address: {spec}@http://..., or --url")
            name = f"{name}@{self.url}"
        return ModelSettings(f"endpoint:{name}", tokens=tokens, **self.asking)

    def viewing(self, spec: str) -> ModelSettings:
        """Return a model that filters or reviews.

        Raises:
            ValueError: The name is invalid, or lacks a URL.
        """
        if spec.startswith(_UNABLE):
            raise ValueError(f"{spec} cannot answer questions that are not made yet")
        return ModelSettings(spec) if spec.startswith(("hf:", "random")) else self.writing(spec)


def open_build(settings: BuildSettings, folder: Path) -> tuple[QuestionRecipe, Mapping[str, int]]:
    """Read the input and open the models, with one cost limit for all.

    Args:
        settings: Settings of the build.
        folder: Where; replies of the models lie in it.

    Returns:
        The recipe; and problems of the input as text, with counts.

    Raises:
        SetupError: The input or a model cannot be loaded.
        ValueError: An address is missing.
    """
    clients: list[Client] = []

    def client(spec: str) -> Client:
        clients.append(Client(settings.writing(spec, settings.tokens).endpoint(), folder / "replies"))
        return clients[-1]

    def viewers(specs: Sequence[str]) -> list[FilterModel]:
        models = [open_model(settings.viewing(spec), (), folder / "replies") for spec in specs]
        clients.extend(model.client for model in models if isinstance(model, EndpointModel))
        return [FilterModel(model, settings.seed) for model in models]

    def identities(models: Sequence[FilterModel]) -> list[dict[str, Any]]:
        return [dict(viewer.model.identity) for viewer in models]

    def address(asked: Client) -> dict[str, Any]:
        return {"url": asked.settings.url, "model": asked.settings.model}

    def limited() -> Client | None:
        if clients:
            ledger = Ledger(clients[0].settings, settings.max_cost)  # prices are the same for all
            for opened in clients:
                opened.ledger = ledger
        return next(iter(clients), None)

    name, seed = settings.recipe, settings.seed
    about: dict[str, Any] = {"recipe": name, "instructions": VERSION, "seed": seed}
    if name == "fpsbench":
        units, people, problems = _asked_already(settings)
        proofreader = None if settings.model is None else client(settings.model)
        blind, reviewers = viewers(settings.filters), viewers(settings.reviewers)
        about |= {"blind": identities(blind), "reviewers": identities(reviewers), "policy": str(ADAPTIVE)}
        about |= {"proofreader": address(proofreader)} if proofreader else {}
        gates = [language_gate(proofreader, seed)] if proofreader else []
        gates += [*([blind_gate(blind, seed)] if blind else []), reviewers_gate(reviewers, people)]
        return GateRecipe(units, gates, about, limited(), proofreader, people, seed), problems
    units, problems = read_clips(settings.source, settings.videos)
    writer = client(settings.model or "")
    filters = viewers(settings.filters)
    about |= {"temperature": settings.temperature, "writer": {**address(writer), "tokens": settings.tokens}}
    about["first_frame" if name == "motionbench" else "filter"] = identities(filters)
    gates = []
    if filters and settings.drop_single:
        gates.append(shortcut_gate(filters, FramePolicy("first" if name == "motionbench" else "single")))
    if settings.multi:
        gates.append(enough_gate(filters, settings.multi))
    if name == "motionbench":
        return MotionBenchRecipe(units, gates, about, limited(), writer, seed, settings.temperature), problems
    watcher = writer if settings.watcher is None else client(settings.watcher)
    about |= {"watcher": address(watcher), "needs": {"drop_single": settings.drop_single, "multi": settings.multi}}
    return TunaRecipe(units, gates, about, limited(), writer, seed, settings.temperature, watcher), problems


def _asked_already(
    settings: BuildSettings,
) -> tuple[dict[str, Question], dict[str, dict[str, str]], Mapping[str, int]]:
    """Return the questions that gates can judge, people's answers to them, and counts of problems."""
    loaded = registry.find(settings.read_as).load(settings.source, settings.videos)
    keyed = {one.id: one for one in loaded.questions if one.options and one.answer is not None}
    if not keyed:
        raise SetupError(f"{settings.source}: no questions with options and a key, which gates need")
    people = {} if settings.answers is None else read_people(settings.answers)
    problems = {
        "questions without options or key, left out": len(loaded.questions) - len(keyed),
        "answers of people to unknown questions": sum(len(people[one]) for one in people.keys() - keyed),
    }
    return keyed, people, dict(loaded.problems) | {name: number for name, number in problems.items() if number}


def read_clips(path: Path, videos: Path | None) -> tuple[dict[str, Question], dict[str, int]]:
    """Read clips from JSON lines, JSON, CSV, TSV or Parquet, or from an object with a row for each video.

    Fields: ``video``, ``caption``, optionally ``path``, ``start``, ``end``.

    Args:
        path: The file.
        videos: Folder of the videos; None looks beside the file.

    Returns:
        Clips by key in the file's order, the caption as text and the row as reference; and problems as text,
        with counts.

    Raises:
        SetupError: It cannot be read, or there are none in it.
    """
    if path.is_dir():
        raise SetupError(f"{path} is a folder; name the file with the captions")
    rows = read_rows(path)
    whole = rows[0] if path.suffix == ".json" and len(rows) == 1 and isinstance(rows[0], Mapping) else {}
    if whole and "video" not in whole and all(isinstance(row, Mapping) for row in whole.values()):
        rows = [{"video": name, **row} for name, row in whole.items()]
    problems: Counter[str] = Counter()
    clips: dict[str, Question] = {}
    for row in rows:
        fields = row if isinstance(row, Mapping) else {}
        key = str(fields.get("video") or fields.get("video_name") or "").strip()
        caption = " ".join(str(fields.get("caption") or "").split())
        if not key or not caption:
            problems["rows without a video or a caption, left out"] += 1
        elif key in clips:
            problems["rows about a repeated video, left out"] += 1
        else:
            file = find_video(str(fields.get("path") or key), [videos, path.parent])
            start, end = seconds(fields.get("start")), seconds(fields.get("end"))
            clips[key] = Question(key, key, caption, path=file, start=start, end=end, reference=dict(fields))
            problems["videos that are missing"] += file is None
    if not clips:
        raise SetupError(f"{path}: nothing to make questions from; expected rows with video and caption")
    return clips, dict(+problems)


def read_people(path: Path) -> dict[str, dict[str, str]]:
    """Read people's answers: rows of ``id``, ``reviewer`` and ``answer``, a letter.

    Returns:
        Question's id to reviewer to letter; of two answers of one reviewer the last counts.

    Raises:
        SetupError: It cannot be read, or a row has another form.
    """
    letters: dict[str, dict[str, str]] = {}
    for number, row in enumerate(read_rows(path), start=1):
        fields = row if isinstance(row, Mapping) else {}
        question, reviewer, answer = (str(fields.get(name) or "").strip() for name in ("id", "reviewer", "answer"))
        if not (question and reviewer and answer):
            raise SetupError(f"{path}: entry {number}: expected id, reviewer and answer")
        letters.setdefault(question, {})[reviewer] = answer
    return letters
