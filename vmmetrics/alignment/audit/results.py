"""Audit of a scorer that cannot be called: its clips are made as files, scored elsewhere, and the scores read back."""

from __future__ import annotations

import hashlib
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from vmmetrics.alignment.audit.audit import AuditListener, AuditPlan, clip_tasks, effect_clips, sample_of
from vmmetrics.alignment.audit.breaks import breaks
from vmmetrics.alignment.audit.breaks import files as checks_of_files
from vmmetrics.alignment.audit.breaks.bench import FEW, Bench, Check, NotRunError
from vmmetrics.alignment.audit.calls import Answer, Caller, Item
from vmmetrics.alignment.audit.material import write_clip
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.probe.session import measure
from vmmetrics.alignment.readers.columns import measures_amount
from vmmetrics.alignment.readers.names import match_names
from vmmetrics.alignment.readers.scores import read_scores
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.scoring.tasks import identify
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.schema import check, plain, read_json
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.job_folder import check_new
from vmmetrics.utils.storage.provenance import PACKAGE, source_hash
from vmmetrics.utils.version import __version__

MANIFEST = "manifest.json"
CLIPS, HARD = "clips", "hard"
"""Folders of files: those that any tool reads, and those that may stop one."""
_HARD = tuple(check.name for check in checks_of_files.CHECKS)
SHOWN = (
    "distinct", "frames-read", "long-clips", "regions", "channels", "channel-order", "rate", "irregular", "length",
    "transitions", "fade", "sizes", "sides", "level", "grey", *(name for name in _HARD if name != "not-finite"),
)  # fmt: skip
"""Checks of part 3 that one score a file can show."""
_NO_ROW = "it is not among the results"


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What the files of an audit were made of.

    Attributes:
        produced_by: Version and code by which the same files come in the same order.
        plan: Plan of the audit.
        clips: Paths given; none for the clips that are shipped.
        prompts: Prompt list given.
        sources: SHA-256 of each clip.
        lines: Cases of the probe, each with its file.
        files: Each file with the prompt of its clip.
    """

    produced_by: Mapping[str, str]
    plan: AuditPlan
    clips: tuple[str, ...]
    prompts: str | None
    sources: Mapping[str, str]
    lines: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, str | None] = field(default_factory=dict)


def _version() -> dict[str, str]:
    """Return by what the same files come in the same order."""
    return {"vmmetrics": __version__, "code": source_hash(PACKAGE, ("alignment/audit", "alignment/perturbations"))}


# The bench whose answers come from files.

_Answer = Callable[[str, Item], Answer]


class _FileCaller(Caller):
    """Caller that names files, and starts no process."""

    def __init__(self, bench: _FileBench) -> None:
        super().__init__(bench.target, bench.limits)
        self._answer = bench.answer

    def __call__(self, items: Sequence[Item], route: str, omit: Sequence[str] = ()) -> list[Answer]:  # noqa: ARG002
        return [self._answer(item) for item in items]


class _FileBench(Bench):
    """Bench of part 3 that names each file in the order in which it is asked for.

    Args:
        answer_of: Function of the name of a file, with its folder, and of the item.
        left_out: Returns why a check is not tried, or None.
        arguments: As for a bench.
    """

    def __init__(self, answer_of: _Answer, left_out: Callable[[str], str | None], *arguments: Any, **more: Any) -> None:
        self._answer_of, self._left_out = answer_of, left_out
        self._names: dict[str, str] = {}
        super().__init__(*arguments, **more)

    def answer(self, item: Item) -> Answer:
        """Return the answer for a file, which keeps the name that it was first given."""
        path = Path(str(item.path))
        if (name := self._names.get(str(path))) is None:
            count = sum(name.startswith(f"{self._place}/{self._prefix}-") for name in self._names.values())
            own = f"{self._prefix}-{count + 1:03d}{path.suffix}" if path.parent == self.material.folder else path.name
            name = self._names[str(path)] = f"{self._place}/{own}"
        return self._answer_of(name, item)

    @property
    def _place(self) -> str:
        return HARD if self.check in _HARD else CLIPS

    @property
    def _prefix(self) -> str:
        return self.check or "clip"

    def opened(self, python: str | None, environment: Mapping[str, str] | None) -> Caller:  # noqa: ARG002
        """Return a caller that names files."""
        return _FileCaller(self)

    def why_not(self, check: Check) -> str | None:
        """Return why files do not show a check, or None."""
        if check.name not in SHOWN:
            return "results hold one score a file"
        return self._left_out(check.name) or super().why_not(check)

    def _chosen(self, scored: Sequence[int]) -> list[int]:  # noqa: ARG002  (scores are not known when files are made)
        return sorted(self.rng.permutation(len(self.items)).tolist()[:FEW])


# Files out.


class Made(NamedTuple):
    """What was made.

    Attributes:
        files: Number of files.
        hard: How many of them may stop a tool.
        size: Their bytes.
    """

    files: int
    hard: int
    size: int


@dataclass(frozen=True)
class _CaseWriter:
    """Function of a clip that writes it and returns a number by which its file is called."""

    folder: str

    def __call__(self, clip: Clip) -> Mapping[str, float]:
        content = clip.frames.tobytes() + clip.timestamps.tobytes() + clip.name.encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.sha256(content).digest()[:6], "big")  # a float holds 53 bits
        path = Path(self.folder, f"{number}.mp4")
        if not path.exists():
            write_clip(path, clip)
        return {"file": float(number)}


def make_clips(
    out: Path,
    *,
    clips: Sequence[Path] = (),
    prompts: Path | None = None,
    plan: AuditPlan | None = None,
    listener: AuditListener | None = None,
) -> Made:
    """Write every file of an audit into a new folder: ``clips``, ``hard`` (files that may stop a tool), a manifest.

    Args:
        out: The folder.
        clips: As for :func:`~vmmetrics.alignment.audit.audit.audit`.
        prompts: The same.
        plan: What is done; None takes all.
        listener: Told of the progress.

    Raises:
        SetupError: There are no clips, or ``out`` is not empty.
    """
    check_new(out)
    plan = plan or AuditPlan()
    tasks = clip_tasks(clips, prompts)
    manifest = _Manifest(
        _version(), plan, tuple(str(path.absolute()) for path in clips), None if prompts is None else str(prompts.absolute()),
        {task.clip: identify(task) for task in tasks},
    )  # fmt: skip
    for folder in (CLIPS, HARD):
        (out / folder).mkdir(parents=True, exist_ok=True)

    def write(name: str, item: Item) -> Answer:
        if name not in manifest.files and (path := Path(str(item.path))).is_file():
            shutil.copyfile(path, out / name)
            manifest.files[name] = item.prompt
        return Answer({"score": float(len(manifest.files))})

    with tempfile.TemporaryDirectory(prefix="vmmetrics-audit-") as scratch:
        if plan.has_effects:
            if listener is not None:
                listener.part("sees, ignores, is fooled by", 0)
            chosen = effect_clips(tasks if clips else (), plan)
            lines, _ = measure(
                chosen, _CaseWriter(scratch), plan=plan.effects, jobs=plan.jobs, prompts=prompts, listener=listener
            )
            of_clip = {task.clip: task.prompt for task in tasks}
            for line, source in _named(lines):
                name = line.get("file")
                if name is not None and name not in manifest.files:
                    shutil.copyfile(Path(scratch, source), out / name)
                    manifest.files[name] = of_clip.get(line["clip"])
                manifest.lines.append(line)
        if names := [name for name in plan.breaks if name in SHOWN]:
            if listener is not None:
                listener.part("breaks in silence", len(names))
            work = Path(scratch, "breaks")
            work.mkdir()
            sample = sample_of(clips, plan.limit, prompts)
            bench_of = partial(_FileBench, write, lambda _: None)
            target = Target("results", "", ("path",))
            for name, result in breaks(
                target, sample, work, plan.limits, only=names, seed=plan.seed, bench_of=bench_of
            ):
                if trouble := [line.text for line in result.lines if line.grade == "error"]:
                    raise SetupError(f"The files of the check {name} cannot be made: {trouble[0]}")
                if listener is not None:
                    listener.checked(name)
    write_json(out / MANIFEST, plain(manifest))
    sizes = {name: (out / name).stat().st_size for name in manifest.files}
    return Made(len(sizes), sum(name.startswith(HARD) for name in sizes), sum(sizes.values()))


def _named(lines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the lines of a probe, with the file of each case, and the name under which that was written."""
    names: dict[str, str] = {}
    clips = list(dict.fromkeys(line["clip"] for line in lines))
    for line in lines:
        kept = {
            key: line[key] for key in ("clip", "sha256", "kind", "strength", "inapplicable", "error") if key in line
        }
        if number := line.get("scores", {}).get("file"):
            stem = "".join(c if c.isalnum() and c.isascii() else "-" for c in Path(line["clip"]).stem)[:40]
            strength = f"{line['strength']:g}".replace(".", "_")  # some tools cut names at the first dot
            own = f"{line['kind']}-{strength}-{clips.index(line['clip']):02d}-{stem}.mp4"
            source = f"{int(number)}.mp4"
            yield {**kept, "file": f"{CLIPS}/{names.setdefault(source, own)}"}, source
        else:
            failed = next(iter(line.get("errors", {}).values()), None)
            yield {**kept, **({"error": failed} if failed else {})}, ""


# Scores in.


class Results:
    """Scores of the files of an audit, in place of calls.

    Args:
        folder: What :func:`make_clips` wrote.
        sources: Results of VBench, run directories, and tables of scores, as ``vmmetrics align`` reads them.
        metrics: Columns to read; empty takes all that hold scores.
        clip_column: Column that names the clip.
        lower: Names of scores of which lower is better.
        amount: Names of scores of how much moves; those that say so by their name count as such.
        value_range: Least and greatest score.

    Attributes:
        target: What the card says of the scorer.
        plan: Plan of the audit.
        clips: Clips that the files were made of.
        prompts: Their prompt list.
        lines: Of the probe.
        scored: Files with a score.
        files: Files.
        facts: Digest of the scores.

    Raises:
        SetupError: The folder is none, was made by another version or of clips that have changed, or the results
            cannot be read or hold none of its files.
    """

    def __init__(
        self, folder: Path, sources: Sequence[str | Path], *, metrics: Sequence[str] = (),
        clip_column: str | None = None,
        lower: Sequence[str] = (), amount: Sequence[str] = (), value_range: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        manifest = _read_manifest(folder)
        self.plan, self.files = manifest.plan, manifest.files
        self.clips = tuple(map(Path, manifest.clips))
        self.prompts = None if manifest.prompts is None else Path(manifest.prompts)
        read = read_scores(list(sources), metrics=metrics, clip_column=clip_column)
        if unknown := [name for name in (*lower, *amount) if name not in read.values]:
            raise SetupError(f"The results have no score {unknown[0]!r}; they have {', '.join(read.values)}")
        names = {Path(name).name: name for name in self.files}
        match = match_names(read.clips, list(names), sides=("results", "files"))
        if not match.pairs:
            raise SetupError(
                f"No file of {folder} is among the results, which have {listed(list(read.clips), 3)}; "
                f"expected names such as {listed(list(names), 3)}"
            )
        places = list(names.values())
        self._values = {
            places[ours]: {name: float(-column[row] if name in read.lower else column[row])
                           for name, column in read.values.items()}
            for row, ours in match.pairs
        }  # fmt: skip
        self._names = tuple(read.values)
        self.scored = [name for name, of in self._values.items() if any(map(math.isfinite, of.values()))]
        self.lines = [self._line(line) for line in manifest.lines]
        higher = {"": True, **dict.fromkeys((*lower, *read.lower), False)}
        amounts = (*amount, *(name for name in read.values if measures_amount(name)))
        notes = (f"{len(self.files) - len(self.scored)} of {len(self.files)} files have no score", *read.notes)
        self.target = Target(
            "results", ", ".join(map(str, sources)), ("path",), self._names[0], higher,
            {} if value_range is None else {"": value_range}, amounts, notes=notes,
        )  # fmt: skip
        self.facts: Mapping[str, Any] = {
            "scores": hashlib.sha256(repr(sorted(self._values.items())).encode()).hexdigest()
        }

    def _line(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return a line of the probe with the scores of its file."""
        if "file" not in line:
            return line
        scores = {n: v for n, v in self._values.get(line["file"], {}).items() if math.isfinite(v)}
        return {**line, "scores": scores, "missing": dict.fromkeys(set(self._names) - set(scores), _NO_ROW)}

    def bench_of(self, *arguments: Any, **more: Any) -> Bench:
        """Return a bench whose answers are these scores."""
        return _FileBench(self._answer, self._left_out, *arguments, **more)

    def _answer(self, name: str, item: Item) -> Answer:
        if name not in self.files and Path(str(item.path)).is_file():
            raise NotRunError(f"{name} is not in the manifest")
        scores = {n: v for n, v in self._values.get(name, {}).items() if not math.isnan(v)}
        return Answer(scores) if scores else Answer(refused=_NO_ROW)

    def _left_out(self, check: str) -> str | None:
        hard = check in _HARD and not any(name.startswith(HARD) for name in self._values)
        return f"no file of {HARD} is among the results" if hard else None

    def only(self, names: Sequence[str]) -> AuditPlan:
        """Return the plan with these checks alone.

        Raises:
            ValueError: An unknown check.
            SetupError: The files were made without one.
        """
        plan = replace(self.plan, only=tuple(names))
        if left := [name for name in names if self.plan.only is not None and name not in self.plan.only]:
            raise SetupError(f"The files were made without {left[0]}; make them again with it")
        return plan


def _read_manifest(folder: Path) -> _Manifest:
    """Return a manifest that this version wrote, of clips that are unchanged.

    Raises:
        SetupError: It is none.
    """
    path = folder / MANIFEST
    content = check(dict[str, Any], read_json(path), path)
    made_by = content.get("produced_by")
    current = _version()
    if made_by != current:
        shown = " and ".join(" ".join(map(str, of.values())) for of in (made_by, current) if isinstance(of, Mapping))
        raise SetupError(
            f"{path} was made by another version of vmmetrics ({shown}), whose files are others: read it with that "
            "version, or make the clips again"
        )
    manifest = check(_Manifest, content, path)
    sources = {task.clip: identify(task) for task in clip_tasks([*map(Path, manifest.clips)])}
    if changed := [name for name in manifest.sources if sources.get(name) != manifest.sources[name]]:
        raise SetupError(f"{listed(changed, 3)} changed, or went, since {path} was made: make the clips again")
    return manifest
