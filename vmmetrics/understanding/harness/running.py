"""A run: asks a model the remaining questions of a benchmark and stores each answer."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.models.frames import NO_FRAMES, SIDE, FramePolicy, count_frames, frames_shown
from vmmetrics.models.protocol import Model
from vmmetrics.models.questions import Answered, LoadedBenchmark, Question
from vmmetrics.understanding.harness.benchmark import Benchmark, Scoring
from vmmetrics.utils.endpoint.client import GIVE_UP
from vmmetrics.utils.endpoint.messages import NoAnswerError, RejectedError, Turn
from vmmetrics.utils.schema import check, read_json
from vmmetrics.utils.storage.job_folder import ExclusiveFolder
from vmmetrics.utils.storage.journal import Journal
from vmmetrics.utils.storage.provenance import now, version_of

# The folder of a run: it only grows, and what is in it survives being killed anywhere.
#
# ``run.json`` says with what, ``answers.jsonl`` has a line for every answer (the last to a question counts),
# ``replies`` what an endpoint said. ``scores.jsonl``, ``figures.json``, ``figures.csv`` and ``table.md`` are made from
# them at will.

_FORMAT = 1  # version of the layout, in ``run.json``
_KIND = "understanding"  # what ``run.json`` calls the run; a run of scores has no kind


class RunFolder(ExclusiveFolder):
    """The folder of a run, new or to resume.

    Args:
        path: Made if absent.
        configuration: What the answers depend on, as JSON values.
        session: Record of this session.

    Attributes:
        answers: The last answer to each question, by its key.

    Raises:
        SetupError: See :class:`~vmmetrics.utils.storage.job_folder.ExclusiveFolder`.
    """

    HOLDS, RECORD, LOCK, FORMAT = "answers", "run.json", "run.lock", _FORMAT

    answers: dict[str, Answered]

    def __init__(self, path: Path, configuration: Mapping[str, Any], session: Mapping[str, Any]) -> None:
        self._session = session
        super().__init__(path, configuration)

    def _started(self, record: dict[str, Any]) -> bool:
        record["kind"] = _KIND
        record.setdefault("sessions", []).append({"started": now(), **self._session})
        return True

    def _stored(self) -> dict[str, Any]:
        return read_run(self.path)

    def _read(self) -> None:
        self._journal = Journal(self.path / "answers.jsonl")
        self.answers = {answered.question: answered for answered in self._lines_as(self._journal, Answered)}

    def add(self, answers: Sequence[Answered]) -> None:
        """Store answers, flushed to disk."""
        self._journal.append(answered.to_json() for answered in answers)
        self.answers |= {answered.question: answered for answered in answers}

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Record the result of this session."""
        self.record["sessions"][-1] |= {"ended": now(), **summary}
        self._save(self.record)


def read_run(path: Path) -> dict[str, Any]:
    """Read ``run.json``.

    Raises:
        SetupError: It is missing, damaged, of another kind of run, or written by a later version.
    """
    file = path / "run.json"
    if not file.is_file():
        raise SetupError(f"{path} is not the folder of a run: run.json is missing")
    run: dict[str, Any] = check(dict[str, Any], read_json(file), file)
    if run.get("kind") != _KIND or run.get("format") != _FORMAT:
        raise SetupError(f"{path} holds no run of 'understand', or one of another version (format {_FORMAT} expected)")
    check(_Header, run, file)
    if not run["sessions"]:
        raise SetupError(f"{file} is damaged: the settings of the run are missing")
    return run


@dataclass(frozen=True, slots=True)
class _Frames:
    policy: str


@dataclass(frozen=True, slots=True)
class _Model:
    name: str


@dataclass(frozen=True, slots=True)
class _Configuration:
    benchmark: str
    data: Mapping[str, str]
    model: _Model
    frames: _Frames | None = None


@dataclass(frozen=True, slots=True)
class _Session:
    data: str | None = None
    videos: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class _Header:
    """Fields read from ``run.json``."""

    configuration: _Configuration
    sessions: tuple[_Session, ...]


def read_answers(path: Path) -> tuple[dict[str, Answered], list[str]]:
    """Return the last answer to each question of a run, and warnings on damaged lines."""
    journal = Journal(path / "answers.jsonl")
    answers = {answered.question: answered for answered in journal.read_as(Answered)}
    return answers, journal.warnings()


DECISIVE = ("av", "pillow", "opencv-python-headless", "opencv-python")
"""Packages that decode videos and images, whose versions are recorded."""
_AT_ONCE, _SECONDS = 512, 1.0  # answers written to the disk together, of models that see no frames, and longest wait
_LOOKED_AT = 24  # clips whose frames are counted for an estimate
_BLIND = "You are not shown the video: {}."
_CHOOSE, _DESCRIBE = "choose the option that is most likely right", "describe what is most likely to be in it"


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """Outcome of one question.

    Attributes:
        answered: The answer, or the reason for a missing one.
        kept: True if it is stored in the folder; a temporarily missing answer is not, and is asked for again.
        silent: True if the model gave no reply, because of the question or of the model.
    """

    answered: Answered
    kept: bool = True
    silent: bool = False


@dataclass(frozen=True)
class Asking:
    """A run of a benchmark with a model.

    Attributes:
        benchmark: The benchmark.
        loaded: Its questions as they were found.
        model: The model.
        policy: Frame policy; a model that does not use frames gets none.
        protocol: Protocol of the prompts.
        side: Longer side of the frames in pixels; None keeps them.
        limit: Ask so many of the questions only; which, is decided by their keys, so that more include fewer.
        own_policies: True if the benchmark's policies for single questions take precedence over ``policy``.
    """

    benchmark: Benchmark
    loaded: LoadedBenchmark
    model: Model
    policy: FramePolicy
    protocol: Scoring = "vmmetrics"
    side: int | None = SIDE
    limit: int | None = None
    own_policies: bool = False

    def covered(self, answers: Collection[str] = ()) -> tuple[Question, ...]:
        """Return the questions of the run, and those already answered; see :func:`asked_of`."""
        return asked_of(self.loaded.questions, self.limit, self._looks, answers)

    @property
    def _looks(self) -> bool:
        return self.model.sees and self.policy.kind != "none"

    def policy_of(self, question: Question) -> FramePolicy:
        """Return the frame policy of a question."""
        own = self.benchmark.policy_for(question) if self.own_policies else None
        return self.policy if own is None else FramePolicy.parse(own)

    def configuration(self) -> dict[str, Any]:
        """Return everything that answers depend on, as JSON values."""
        own = self.own_policies and any(self.benchmark.policy_for(q) is not None for q in self.loaded.questions)
        words = f"{self.policy}, or the question's own" if own else str(self.policy)
        shown = {"policy": words, "side": self.side} if self.model.sees else None
        versions = {name: version for name in DECISIVE if (version := version_of(name))} if self._looks else {}
        return {
            "benchmark": self.benchmark.name,
            "prompts": self.protocol,
            "model": {"name": self.model.name, **self.model.identity},
            "frames": shown,
            "data": _by_name(self.loaded.source),
            "questions": self._words(),
            "versions": {"vmmetrics": version_of("vmmetrics"), **versions},
            **({"plugin": dict(self.benchmark.source)} if self.benchmark.source else {}),
        }

    def turns(self, question: Question) -> tuple[Turn, ...]:
        """Return the conversation; a model that could see but gets no frames is told so, lest it ask for them."""
        *before, last = self.benchmark.turns(question, self.protocol)
        if self.model.sees and self.policy.kind == "none":
            blind = _BLIND.format(_CHOOSE if question.options else _DESCRIBE)
            last = replace(last, text=f"{last.text}\n{blind}")
        return (*before, last)

    def _words(self) -> str:
        """Return a hash of all conversations and the parts of videos they are about."""
        whole = hashlib.sha256()
        for question in self.loaded.wording or self.loaded.questions:
            turns = [[turn.role, turn.text] for turn in self.turns(question)]
            whole.update(json.dumps([question.id, turns, question.start, question.end]).encode())
        return whole.hexdigest()

    def remaining(self, folder: RunFolder, again: bool = False) -> list[Question]:
        """Return the questions without an answer in the folder.

        Args:
            folder: The folder.
            again: True to include answers that failed.
        """
        answers = folder.answers
        return [q for q in self.covered() if q.id not in answers or (again and answers[q.id].failed)]

    def run(self, folder: RunFolder, again: bool = False) -> Iterator[AnswerOutcome]:
        """Ask the remaining questions, and store the answers.

        Yields:
            Each outcome, once it is on the disk.

        Raises:
            NoAnswerError: :data:`vmmetrics.utils.endpoint.client.GIVE_UP` questions in a row got no answer.
            VMMetricsError: Whatever else stops a run; answers that were on their way are kept before.
        """
        silent = 0
        at_once = 1 if self.model.sees else _AT_ONCE
        with closing(self.model.work_through(self.ask, self.remaining(folder, again))) as done:
            while outcomes := _taken(done, at_once):
                recorded = [outcome.answered for outcome in outcomes if outcome.kept]
                if recorded:
                    folder.add(recorded)
                for outcome in outcomes:
                    silent = silent + 1 if outcome.silent else 0
                    yield outcome
                    if silent >= GIVE_UP:
                        raise NoAnswerError(f"{GIVE_UP} questions in a row got no answer: {outcome.answered.error}")

    def ask(self, question: Question) -> AnswerOutcome:
        """Ask a question, without storing the outcome."""
        start = time.monotonic()
        outcome = self._asked(question)
        seconds = round(time.monotonic() - start, 3)
        return replace(outcome, answered=replace(outcome.answered, seconds=seconds))

    def _asked(self, question: Question) -> AnswerOutcome:
        frames = NO_FRAMES
        if self._looks and question.path is not None:
            try:
                frames = frames_shown(question.path, self.policy_of(question), question.start, question.end, self.side)
            except ClipError as error:
                return AnswerOutcome(Answered(question.id, error=f"the video cannot be shown: {error}", unseen=True))
        shown = frames.shown if self.model.sees else None
        try:
            reply = self.model.answer(question, self.turns(question), frames)
        except (RejectedError, NoAnswerError) as error:
            unanswered = Answered(question.id, shown=shown, error=str(error))
            return AnswerOutcome(unanswered, kept=isinstance(error, RejectedError), silent=True)
        if shown is not None and reply.times_text is not None:
            shown = replace(shown, told=reply.times_text)
        return AnswerOutcome(Answered(question.id, reply.text, shown, reply.error, reply.usage))

    def frames_each(self, questions: Sequence[Question]) -> float:
        """Return the mean number of frames per clip, estimated from some of them without decoding."""
        if not self._looks or not questions:
            return 0.0
        counts = []
        for question in questions[:: max(1, len(questions) // _LOOKED_AT)]:
            with suppress(ClipError):
                if question.path is not None:
                    policy = self.policy_of(question)
                    counts.append(count_frames(policy, question.path, question.start, question.end))
        return sum(counts) / len(counts) if counts else 0.0


def _taken(done: Iterator[tuple[Question, AnswerOutcome]], most: int) -> list[AnswerOutcome]:
    """Take outcomes: up to ``most``, and no more once :data:`_SECONDS` have passed."""
    until, outcomes = time.monotonic() + _SECONDS, list[AnswerOutcome]()
    for _, outcome in done:
        outcomes.append(outcome)
        if len(outcomes) == most or time.monotonic() > until:
            break
    return outcomes


def asked_of(
    questions: Sequence[Question], limit: int | None, looks: bool, answered: Collection[str] = ()
) -> tuple[Question, ...]:
    """Select the questions of a run.

    Args:
        questions: All of the benchmark.
        limit: How many at most; those whose video is missing take their place among them.
        looks: True if videos are required.
        answered: Keys of questions that were answered, whose videos need not be there any more.
    """

    def sort_key(key: str) -> bytes:
        return hashlib.sha256(key.encode("utf-8", "backslashreplace")).digest()

    chosen = set(sorted((question.id for question in questions), key=sort_key)[:limit])
    return tuple(q for q in questions if q.id in chosen and (q.path is not None or not looks or q.id in answered))


def _by_name(source: Mapping[str, str]) -> dict[str, str]:
    """Return hashes of files by name without path; numbers distinguish files with the same name."""
    by_name: dict[str, str] = {}
    for path in sorted(source):
        name = Path(path).name
        same = sum(Path(other).name == name for other in source)
        number = sum(present.partition(" #")[0] == name for present in by_name) + 1
        by_name[name if same == 1 else f"{name} #{number}"] = source[path]
    return by_name


def usage_of(answers: Mapping[str, Answered]) -> dict[str, float]:
    """Return totals over answers: tokens, cost, seconds; counts of answers, errors, cut-off answers."""
    usage: dict[str, float] = {"answers": len(answers), "errors": sum(a.error is not None for a in answers.values())}
    for name in ("input_tokens", "output_tokens", "cost", "cut", "thinking", "again"):
        values = [answered.usage[name] for answered in answers.values() if name in answered.usage]
        if values:
            usage[name] = round(sum(values), 6)
    usage["seconds"] = round(sum(answered.seconds for answered in answers.values()), 3)
    return usage
