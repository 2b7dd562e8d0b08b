"""Audit of a scorer: its parts one after another, kept as they are done, and the card that they make."""

from __future__ import annotations

import shutil
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from vmmetrics.alignment.audit.breaks import breaks
from vmmetrics.alignment.audit.breaks.bench import Bench
from vmmetrics.alignment.audit.called import function_of
from vmmetrics.alignment.audit.calls import Caller, Limits
from vmmetrics.alignment.audit.card import FORMAT, Card, ScoreCard, read_card
from vmmetrics.alignment.audit.clips import readable, sample_of, shipped_clips, sound_clips, tasks_of
from vmmetrics.alignment.audit.effects import OTHER_PROMPT, Effects, other_prompts
from vmmetrics.alignment.audit.lines import PARTS, Line, Look, NotTried, PartResult, finite
from vmmetrics.alignment.audit.looks import line_in_card, looks_of_cases
from vmmetrics.alignment.audit.material import write_clip
from vmmetrics.alignment.audit.people import people
from vmmetrics.alignment.audit.plan import AuditPlan
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.audit.truth import Truth, read_truth, scored
from vmmetrics.alignment.probe.cases import CLEAN, window
from vmmetrics.alignment.probe.session import ProbeListener, measure
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import Task, tasks_of_paths
from vmmetrics.utils.schema import convert, plain
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.job_folder import ExclusiveFolder
from vmmetrics.utils.storage.journal import Journal
from vmmetrics.utils.storage.provenance import decisive_versions
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.version import __version__

LINES = 100
"""Lines of a card among which part 4 shares the risk of 5 %: about as many as parts 1 and 2 have."""
MOST_REASONS = 20
"""Clips whose reasons a card gives."""


class ScoredFiles(Protocol):
    """Scores of files that were made for an audit before, in place of calls of a target.

    Attributes:
        lines: Of the probe.
        facts: Digest of the scores.
    """

    lines: list[dict[str, Any]]
    facts: Mapping[str, Any]

    def bench_of(self, *arguments: Any, **more: Any) -> Bench:
        """Return the bench of part 3, whose answers are those scores."""


class AuditListener(ProbeListener, Protocol):
    """Listener for the progress of an audit."""

    def part(self, part: str, total: int) -> None:
        """Begin a part of so many checks."""

    def checked(self, name: str, faults: Sequence[str] = ()) -> None:
        """Count a check of the part, and say what is wrong by it."""


class _Folder(ExclusiveFolder):
    """Folder of a card, locked while its audit runs."""

    HOLDS, RECORD, LOCK = "audit results", "audit.json", "audit.lock"

    def _joined(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        if (self.path / self.RECORD).exists():
            before = self._stored()["configuration"]
            if before["target"] == plain(configuration["target"]) and any(
                before[name] != plain(configuration[name]) for name in ("facts", "code")
            ):
                raise SetupError(
                    f"The target has changed since {self.path} was begun: choose another folder for --out; "
                    f"--compare {self.path} shows there what the change did"
                )
        return super()._joined(configuration)

    def _read(self) -> None:
        self.journal = Journal(self.path / "checks.jsonl")
        self.done: dict[str, PartResult] = {}
        for line in self._lines(self.journal):
            self.done[line["check"]] = convert(PartResult, line["result"])

    def keep(self, check: str, result: PartResult) -> None:
        """Write the lines of a check at once."""
        self.done[check] = result
        if any(line.grade == "error" for line in result.lines):
            return  # a busy machine may be the reason: the next session tries again
        self.journal.append([{"check": check, "result": plain(result, finite)}])


def audit(
    target: Target,
    out: Path,
    *,
    clips: Sequence[Path] = (),
    prompts: Path | None = None,
    references: Path | None = None,
    plan: AuditPlan | None = None,
    truth: Truth | None = None,
    footage: Sequence[Path] = (),
    worse: Sequence[Path] = (),
    command: Sequence[str] = (),
    listener: AuditListener | None = None,
    scored_files: ScoredFiles | None = None,
) -> Card:
    """Audit a scorer and write its card; what is there already of the same audit is taken over.

    Args:
        target: The scorer.
        out: Folder of the card.
        clips: Files and folders of clips; none for those that are shipped. Part 4 takes all, the others
            :attr:`AuditPlan.limit` of them.
        prompts: Prompt list of the clips; None looks beside them.
        references: Folder with a file of the name of each clip, for scorers that compare with a reference; None hands
            over the clip before it was changed.
        plan: What is done; None takes all.
        truth: Ratings and pairs of the clips; None for none.
        footage: Real footage, to be compared with the clips.
        worse: Clips that are known to be worse.
        command: Words of the command line, from which the commands that repeat a check are made.
        listener: Told of the progress.
        scored_files: Scores that were taken before, by which no target is called; None calls it.

    Raises:
        SetupError: The target cannot be loaded or scores no clip, there are no clips, or ``out`` holds something else.
        ValueError: An unknown part or check.
    """
    start, given, out = time.monotonic(), out, out.absolute()  # runners work in folders of their own
    plan = plan or AuditPlan()
    _Folder.check(out)
    _keep_card(out, plan)
    tasks = tasks_of(clips, prompts)
    if truth is not None:
        read_truth(truth, [task.clip for task in tasks])  # what cannot be read is told before anything is scored
    sample = sample_of(tasks, plan.limit)
    facts = _facts(target, plan.limits) if scored_files is None else scored_files.facts
    settings = {
        "target": target.to_json(), "facts": facts, "code": target.code(), "seed": plan.seed,
        "limits": {key: value for key, value in asdict(plan.limits).items() if key != "seconds"},
        "prompts": [clip.prompt for clip in sample], "references": None if references is None else str(references),
        "clips": [clip.name for clip in sample], "pixels": _pixels(sample), "pythons": list(plan.pythons),
        "versions": decisive_versions(),
    }  # fmt: skip
    with _Folder(out, settings) as folder:
        results = _breaks(target, folder, sample, plan, listener, scored_files) if plan.breaks else []
        if plan.has_effects:
            sound = sound_clips(tasks if clips else (), plan.limit)
            named = set(facts.get("named", ()))
            compares = bool({"reference", "references"} & named)
            effects = _effects(target, out, sound, prompts, references, compares, plan, listener, scored_files)
            results.append(effects)
            asked = "fooled" in plan.parts and OTHER_PROMPT in (plan.only or (OTHER_PROMPT,))
            if asked and {"prompt", "prompts"} & named and target.kind != "metric":
                others = sample_of(tasks_of(sound, prompts), plan.limit)
                results.append(other_prompts(target, plan.limits, others, effects, plan.tests))
        if truth is not None or footage or worse:
            results.append(_people(target, folder, tasks, truth or Truth(), footage, worse, references, plan, listener))
    lines = [
        line for result in results for line in result.lines
        if line.part == "people" or (line.part in plan.parts and (plan.only is None or line.check in plan.only))
    ]  # fmt: skip
    card = _card(target, plan, settings, time.monotonic() - start, sample, lines, results, command, given)
    write_json(out / "card.json", card.to_json())
    return card


def _keep_card(out: Path, plan: AuditPlan) -> None:
    """Refuse to replace a card by one of some of its checks.

    Raises:
        SetupError: It would be.
    """
    if plan.only is not None and (out / "card.json").is_file():
        lines = (line for score in read_card(out)["scores"] for line in score["lines"])
        if more := {line["check"] for line in lines if line["part"] != "people"}.difference(plan.only):
            raise SetupError(f"{out} has a card with {len(more)} other checks: choose another folder for --out")


def _pixels(clips: Sequence[Clip]) -> str:
    """Return a checksum of the frames of clips, which may change under their names."""
    total = 0
    for clip in clips:
        total = zlib.crc32(np.ascontiguousarray(clip.frames).data, total)
    return f"{total:08x}"


def _facts(target: Target, limits: Limits) -> Mapping[str, Any]:
    """Return what the target says of itself.

    Raises:
        SetupError: It cannot be loaded.
    """
    with Caller(target, limits) as caller:
        if (why := caller.start()) is not None:
            raise SetupError(f"The target cannot be loaded: {why}")
        return caller.facts


def _effects(
    target: Target, out: Path, clips: Sequence[str | Path], prompts: Path | None, references: Path | None,
    compares: bool, plan: AuditPlan, listener: AuditListener | None, scored_files: ScoredFiles | None,
) -> PartResult:  # fmt: skip
    tasks = tasks_of_paths(list(clips), (), prompts, None)[0]
    by_clip = _references(references, tasks)
    scratch = out / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)  # of a session that was killed
    scratch.mkdir()
    lacking = [task for task in tasks if task.clip not in by_clip] if compares else []
    for number, clip in enumerate(readable(lacking, [])):
        by_clip[clip.name] = str(scratch / f"reference-{number}.mp4")
        write_clip(Path(by_clip[clip.name]), window(clip, plan.effects))
    function = function_of(target, plan.limits, by_clip, scratch)
    if listener is not None:
        listener.part("sees, ignores, is fooled by", 0)
    ask = partial(measure, list(clips), function, out=out / "probe", jobs=plan.jobs, prompts=prompts, listener=listener)
    lines = _lines_of_cases(ask, target, plan, listener) if scored_files is None else scored_files.lines
    shutil.rmtree(scratch, ignore_errors=True)
    result = Effects(lines, target, plan.effects, plan.tests).all()
    if not result.lines:
        why = next(
            (w for line in lines for w in (line.get("error"), *line.get("errors", {}).values()) if w), "no score"
        )
        return PartResult(not_tried=[*result.not_tried, NotTried("sees", "", f"no clip has a score: {why}")])
    shown = looks_of_cases(result.lines, tasks, plan.effects, out)
    scores = {(of["clip"], of["kind"], of["strength"]): of.get("scores", {}) for of in lines}

    def scored_look(line: Line) -> list[Look]:
        if line.check not in shown:
            return []
        clip, strength, look = shown[line.check]
        after, before = (
            scores.get((clip, *case), {}).get(line.score) for case in ((line.check, strength), (CLEAN, 0.0))
        )
        return [look._replace(score=after, beside_score=before)]

    return replace(result, lines=[replace(line, looks=scored_look(line)) for line in result.lines])


def _lines_of_cases(
    ask: partial[Any], target: Target, plan: AuditPlan, listener: AuditListener | None
) -> list[dict[str, Any]]:
    """Return the lines of all cases; a smaller strength of a defect only where the next greater one moves a score."""
    case, lines = plan.effects, list[dict[str, Any]]()
    for strength in reversed(plan.effects.strengths):
        if lines and listener is not None:
            listener.part("a smaller strength of the defects that move a score", 0)
        case = replace(case, strengths=(strength,))
        lines += [line for line in ask(plan=case)[0] if not lines or line["kind"] in (case.defects or ())]
        moving = Effects(lines, target, replace(plan.effects, strengths=(strength,)), plan.tests).moving()
        if not moving:
            break
        case = replace(case, defects=moving, invariances=(), traps=())
    return lines


def _references(folder: Path | None, tasks: Sequence[Task]) -> dict[str, str]:
    """Return the file of a folder that has the name of each clip."""
    files = {} if folder is None else {path.name: str(path) for path in folder.iterdir() if path.is_file()}
    return {task.clip: files[name] for task in tasks if (name := Path(task.clip).name) in files}


def _people(
    target: Target, folder: _Folder, tasks: Sequence[Task], truth: Truth, footage: Sequence[Path],
    worse: Sequence[Path], references: Path | None, plan: AuditPlan, listener: AuditListener | None,
) -> PartResult:  # fmt: skip
    """Return part 4; the scores of all clips, of footage and of worse clips are taken once for the same truth."""
    truth = replace(truth, footage=bool(footage))
    files = {str(path): sha256_of(path) for path in (*truth.ratings, truth.pairs) if path and path.is_file()}
    sides = (dict(target.higher_is_better), target.amount, str(references))
    given = repr((truth, files, list(map(str, footage)), list(map(str, worse)), [task.clip for task in tasks], sides))
    key = f"people {zlib.crc32(given.encode()):08x}"
    if key in folder.done:
        return folder.done[key]
    groups = {
        "the clips": tasks,
        "footage": tasks_of(footage) if footage else [],
        "worse clips": tasks_of(worse) if worse else [],
    }
    reasons: list[str] = []
    scores = {}
    for what, of in groups.items():
        if listener is not None:
            listener.part(f"scores of {what}", len(of))
        scores[what], refused = scored(
            target, plan.limits, _told(readable(of, reasons), listener), _references(references, of)
        )
        reasons += [f"{clip} has no score: {why}" for clip, why in refused.items()]
    amplitude = _amplitudes(tasks) if truth.ratings else None
    result = people(
        scores["the clips"], target, truth, footage=scores["footage"] or None, worse=scores["worse clips"] or None,
        amplitude=amplitude, tests=LINES,
    )  # fmt: skip
    result = replace(
        result, not_tried=[*result.not_tried, *(NotTried("people", "", why) for why in reasons[:MOST_REASONS])]
    )
    folder.keep(key, result)
    return result


def _told(clips: Iterable[Clip], listener: AuditListener | None) -> Iterator[Clip]:
    for clip in clips:
        yield clip
        if listener is not None:
            listener.checked(clip.name)


def _amplitudes(tasks: Sequence[Task]) -> dict[str, float]:
    """Return the amount of motion of clips that have one."""
    suite = Settings(metrics=("pas",)).build()
    amounts = ((clip.name, suite.score_clip(clip).amplitude) for clip in readable(tasks, []))
    return {name: amount for name, amount in amounts if amount is not None}


def _breaks(
    target: Target, folder: _Folder, clips: Sequence[Clip], plan: AuditPlan, listener: AuditListener | None,
    scored_files: ScoredFiles | None,
) -> list[PartResult]:  # fmt: skip
    if listener is not None:
        left = set(plan.breaks).difference(folder.done)
        listener.part("breaks in silence" + ", the other parts later" * plan.has_effects, len(left))
    (folder.path / "clips").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vmmetrics-audit-", ignore_cleanup_errors=True) as made, closing(
        breaks(
            target, clips, scratch := Path(made), plan.limits, skip=folder.done, only=plan.breaks, seed=plan.seed,
            jobs=plan.jobs, pythons=plan.pythons, bench_of=Bench if scored_files is None else scored_files.bench_of,
        )
    ) as results:  # fmt: skip
        for name, result in results:
            lines = [line_in_card(line, scratch, folder.path) for line in result.lines]
            folder.keep(name, replace(result, lines=lines))
            if listener is not None:
                bad = (line for line in result.lines if line.grade == "bad")
                said = dict.fromkeys(f"{line.score or target.label}: {line.verdict}" for line in bad)
                listener.checked(name, list(said))
    return [folder.done[name] for name in plan.breaks if name in folder.done]


def _card(
    target: Target, plan: AuditPlan, settings: Mapping[str, Any], seconds: float, clips: Sequence[Clip],
    lines: Sequence[Line], results: Sequence[PartResult], command: Sequence[str], out: Path,
) -> Card:  # fmt: skip
    """Return the card: the lines of each score, in the order of parts, with the commands that repeat them."""
    names = list(dict.fromkeys(line.score for line in lines if line.score is not None)) or [target.label]
    noise, scale = ({k: v for r in results for k, v in getattr(r, which).items()} for which in ("noise", "scale"))
    repeat = partial(_repeat, command, out)
    scores = [
        ScoreCard(
            name, target.direction(name), target.span(name), noise.get(name), scale.get(name),
            [replace(line, repeat=repeat(line)) for part in PARTS for line in lines
             if line.part == part and line.score in (None, name)],
        )
        for name in names
    ]  # fmt: skip
    shown = [
        {"name": clip.name, "frames": len(clip), "fps": clip.fps, "width": clip.width, "height": clip.height,
         "file": None, "source": "shipped" if clip.name in {path.name for path in shipped_clips()} else "user"}
        for clip in clips
    ]  # fmt: skip
    left = [entry for result in results for entry in result.not_tried]
    left += [NotTried(part, "", "not asked for") for part in PARTS if part not in plan.parts and part != "people"]
    if not any(line.part == "people" for line in lines) and not any(entry.part == "people" for entry in left):
        left.append(NotTried("people", "", "no ratings, pairs or footage were given"))
    made_by = {"vmmetrics": __version__, **settings["versions"]}
    return Card(
        FORMAT,
        target.to_json(),
        made_by,
        {**settings, "parts": list(plan.parts), "checks": plan.only},
        seconds,
        shown,
        scores,
        left,
    )


def _repeat(command: Sequence[str], out: Path, line: Line) -> str:
    import shlex

    if line.part == "people":
        return ""
    again = ["--checks", line.check, "--out", f"audit-{line.check}", "--compare", str(out)]
    return shlex.join([*command, *again]) if command else ""
