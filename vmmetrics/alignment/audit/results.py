"""Audit of a scorer that cannot be called: its clips are made as files, scored elsewhere, and the scores read back."""

from __future__ import annotations

import hashlib
import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from vmmetrics.alignment.audit.audit import AuditListener
from vmmetrics.alignment.audit.breaks import breaks, files, repetition
from vmmetrics.alignment.audit.breaks.bench import FEW, Bench, Check, NotRunError
from vmmetrics.alignment.audit.calls import Answer, Caller, Item
from vmmetrics.alignment.audit.clips import sample_of, sound_clips, tasks_of
from vmmetrics.alignment.audit.material import write_clip
from vmmetrics.alignment.audit.plan import AuditPlan
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

CLIPS, HARD = "clips", "hard"
"""Folders of files: those that any tool reads, and those of the checks of files, which may stop one."""
MANIFEST = "manifest.json"
_HARD = frozenset(check.name for check in files.CHECKS)


@dataclass(frozen=True, slots=True)
class _Manifest:
    """Record of the files of an audit.

    Attributes:
        produced_by: Version and code, by which the same files come in the same order.
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
    return {"vmmetrics": __version__, "code": source_hash(PACKAGE, ("alignment/audit", "alignment/perturbations"))}


# The bench whose answers come from files, in place of a process.


class _FileCaller(Caller):
    def __init__(self, bench: _FileBench) -> None:
        super().__init__(bench.target, bench.limits)
        self._answer = bench.answer

    def start(self) -> str | None:
        """Return None: nothing has to be loaded."""

    def __call__(self, items: Sequence[Item], route: str, omit: Sequence[str] = ()) -> list[Answer]:  # noqa: ARG002
        return [self._answer(item) for item in items]


class _FileBench(Bench):
    """Bench of part 3 that names files in the order in which they are asked for.

    Args:
        answer_of: Function of the name of a file, with its folder, and of the item.
        left_out: Returns why a check is not tried, or None.
        arguments: As for a bench.
    """

    blind = True

    def __init__(
        self, answer_of: Callable[[str, Item], Answer], left_out: Callable[[str], str | None], *arguments: Any,
        **more: Any,
    ) -> None:  # fmt: skip
        self._answer_of, self._left_out = answer_of, left_out
        self._names: dict[Path, str] = {}
        self._counts = Counter[str]()
        super().__init__(*arguments, **more)

    def answer(self, item: Item) -> Answer:
        """Return the answer for a file, which keeps the name that it was first given."""
        path = Path(str(item.path))
        if path not in self._names:
            self._counts[self.check] += 1
            counted = f"{self.check or 'clip'}-{self._counts[self.check]:03d}{path.suffix}"
            own = counted if path.parent == self.material.folder else path.name
            self._names[path] = f"{HARD if self.check in _HARD else CLIPS}/{own}"
        return self._answer_of(self._names[path], item)

    def opened(self, python: str | None, environment: Mapping[str, str] | None) -> Caller:  # noqa: ARG002
        """Return a caller that names files."""
        return _FileCaller(self)

    def why_not(self, check: Check) -> str | None:
        """Return why files do not show a check, or None."""
        if check in repetition.CHECKS or super().why_not(check) is not None:
            return "results hold one score a file"
        return self._left_out(check.name)

    def _chosen(self, scored: Sequence[int]) -> list[int]:  # noqa: ARG002  (scores are not known when files are made)
        chosen: list[int] = self.rng.permutation(len(self.items)).tolist()
        return chosen[:FEW]


# Files out.


def make_clips(
    out: Path,
    *,
    clips: Sequence[Path] = (),
    prompts: Path | None = None,
    plan: AuditPlan | None = None,
    listener: AuditListener | None = None,
) -> dict[str, int]:
    """Write every file of an audit, and a manifest, into a new folder; return the size of each file in bytes.

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
    tasks = tasks_of(clips, prompts)
    given = None if prompts is None else str(prompts.absolute())
    sources = {task.clip: identify(task) for task in tasks}
    manifest = _Manifest(_version(), plan, tuple(str(path.absolute()) for path in clips), given, sources)
    for folder in (CLIPS, HARD):
        (out / folder).mkdir(parents=True, exist_ok=True)

    def keep(name: str, item: Item) -> Answer:
        if name not in manifest.files and Path(str(item.path)).is_file():
            shutil.copyfile(str(item.path), out / name)
            manifest.files[name] = item.prompt
        return Answer({"score": float(len(manifest.files))})

    with tempfile.TemporaryDirectory(prefix="vmmetrics-audit-") as scratch:
        if plan.has_effects:
            chosen, texts = sound_clips(tasks if clips else (), plan.limit), {task.clip: task.prompt for task in tasks}
            lines, _ = measure(
                chosen, _CaseWriter(scratch), plan=plan.effects, jobs=plan.jobs, prompts=prompts, listener=listener
            )
            for line, written in _named(lines):
                manifest.lines.append(line)
                if "file" in line:
                    keep(line["file"], Item(path=str(Path(scratch, written)), prompt=texts.get(line["clip"])))
        if plan.breaks:
            if listener is not None:
                listener.part("breaks in silence", len(plan.breaks))
            work = Path(scratch, "breaks")
            work.mkdir()
            sample, target = sample_of(tasks, plan.limit), Target("results", "", ("path",))
            for name, result in breaks(
                target, sample, work, plan.limits, only=plan.breaks, seed=plan.seed,
                bench_of=partial(_FileBench, keep, lambda _: None),
            ):  # fmt: skip
                if trouble := [line.text for line in result.lines if line.grade == "error"]:
                    raise SetupError(f"The files of the check {name} cannot be made: {trouble[0]}")
                if listener is not None:
                    listener.checked(name)
    write_json(out / MANIFEST, plain(manifest))
    return {name: (out / name).stat().st_size for name in manifest.files}


@dataclass(frozen=True)
class _CaseWriter:
    """Function of a clip that writes it, and returns a number by which its file is called."""

    folder: str

    def __call__(self, clip: Clip) -> Mapping[str, float]:
        content = clip.frames.tobytes() + clip.timestamps.tobytes() + clip.name.encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.sha256(content).digest()[:6], "big")  # a float holds 53 bits
        path = Path(self.folder, f"{number}.mp4")
        if not path.exists():
            write_clip(path, clip)
        return {"number": float(number)}


def _named(lines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the lines of a probe, each with the file of its case, and the name under which that was written."""
    names: dict[str, str] = {}
    clips = list(dict.fromkeys(line["clip"] for line in lines))
    for line in lines:
        kept = {
            key: line[key] for key in ("clip", "sha256", "kind", "strength", "inapplicable", "error") if key in line
        }
        if (number := line.get("scores", {}).get("number")) is None:
            failed = next(iter(line.get("errors", {}).values()), None)
            yield {**kept, **({"error": failed} if failed else {})}, ""
            continue
        stem = "".join(c if c.isalnum() and c.isascii() else "-" for c in Path(line["clip"]).stem)[:40]
        strength = f"{line['strength']:g}".replace(".", "_")  # some tools cut names at the first dot
        own = f"{line['kind']}-{strength}-{clips.index(line['clip']):02d}-{stem}.mp4"
        written = f"{int(number)}.mp4"
        yield {**kept, "file": f"{CLIPS}/{names.setdefault(written, own)}"}, written


# Scores in.


class Results:
    """Scores of the files of an audit, in place of calls.

    Args:
        folder: Folder that :func:`make_clips` wrote.
        sources: Results of VBench, run directories, and tables of scores, as ``vmmetrics align`` reads them.
        metrics: Columns to read; empty takes all that hold scores.
        clip_column: Column that names the clip.
        lower: Names of scores of which lower is better.
        amount: Names of scores of how much moves; those that say so by their name count as such.
        value_range: Least and greatest score.

    Attributes:
        target: Target of the card.
        plan: Plan of the audit.
        clips: Clips that the files were made of.
        prompts: Their prompt list.
        lines: Lines of the probe.
        facts: Digest of the scores.
        files: Number of files.
        scored: Number of those that have a score.

    Raises:
        SetupError: The folder is none, was made by another version or of clips that have changed, or the results
            cannot be read or hold none of its files.
    """

    def __init__(
        self, folder: Path, sources: Sequence[str | Path], *, metrics: Sequence[str] = (),
        clip_column: str | None = None, lower: Sequence[str] = (), amount: Sequence[str] = (),
        value_range: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        manifest = _read_manifest(folder)
        self.plan, self._files = manifest.plan, manifest.files
        self.clips = tuple(map(Path, manifest.clips))
        self.prompts = None if manifest.prompts is None else Path(manifest.prompts)
        read = read_scores(list(sources), metrics=metrics, clip_column=clip_column)
        if unknown := [name for name in (*lower, *amount) if name not in read.values]:
            raise SetupError(f"The results have no score {unknown[0]!r}; they have {', '.join(read.values)}")
        names = {Path(name).name: name for name in self._files}
        whole = {Path(name).stem: name for name in names}  # ".v2" of "two.dots.v2" passes for a suffix otherwise
        theirs = [whole.get(clip.replace("\\", "/").rpartition("/")[2], clip) for clip in read.clips]
        match = match_names(theirs, list(names), sides=("results", "files"))
        if not match.pairs:
            shown = [listed(list(of), 3) for of in (theirs, names)]
            raise SetupError(
                f"No file of {folder} is among the results: they have {shown[0]}; its files are {shown[1]}"
            )
        signs = {name: -1 if name in read.lower else 1 for name in read.values}  # turned by the reader: turned back
        places = list(names.values())
        rows = {places[ours]: {name: signs[name] * float(of[row]) for name, of in read.values.items()}
                for row, ours in match.pairs}  # fmt: skip
        self._values = {name: {k: v for k, v in of.items() if not math.isnan(v)} for name, of in rows.items()}
        self._names = tuple(read.values)
        self.lines = [self._line(line) for line in manifest.lines]
        self.facts: Mapping[str, Any] = {"scores": hashlib.sha256(repr(sorted(rows.items())).encode()).hexdigest()}
        self.files, self.scored = len(self._files), sum(map(bool, self._values.values()))
        higher = {"": True, **dict.fromkeys((*lower, *read.lower), False)}
        amounts = (*amount, *filter(measures_amount, read.values))
        notes = (f"{self.files - self.scored} of {self.files} files have no score", *read.notes)
        self.target = Target(
            "results", ", ".join(map(str, sources)), ("path",), self._names[0], higher,
            {} if value_range is None else {"": value_range}, amounts, notes=notes,
        )  # fmt: skip

    def _line(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return a line of the probe with the scores of its file."""
        if "file" not in line:
            return line
        scores = {name: value for name, value in self._values.get(line["file"], {}).items() if math.isfinite(value)}
        return {**line, "scores": scores, "missing": {name: "no score" for name in self._names if name not in scores}}

    def bench_of(self, *arguments: Any, **more: Any) -> Bench:
        """Return the bench of part 3, whose answers are these scores."""
        return _FileBench(self._answer, self._left_out, *arguments, **more)

    def _answer(self, name: str, item: Item) -> Answer:
        if name not in self._files and Path(str(item.path)).is_file():
            raise NotRunError(f"{name} is not in the manifest: make the clips again")
        scores = self._values.get(name)
        return Answer(scores) if scores else Answer(refused="it is not among the results")

    def _left_out(self, check: str) -> str | None:
        without = check in _HARD and not any(name.startswith(f"{HARD}/") for name in self._values)
        return f"no file of {HARD} is among the results" if without else None

    def only(self, names: Sequence[str]) -> AuditPlan:
        """Return the plan with these checks alone.

        Raises:
            ValueError: An unknown check.
            SetupError: The files were made without one.
        """
        if left := [name for name in names if self.plan.only is not None and name not in self.plan.only]:
            raise SetupError(f"The files were made without {left[0]}; make them again with it")
        return replace(self.plan, only=tuple(names))


def _read_manifest(folder: Path) -> _Manifest:
    """Return a manifest that this version wrote, of clips that are unchanged.

    Raises:
        SetupError: It is none.
    """
    path = folder / MANIFEST
    content = check(dict[str, Any], read_json(path), path)
    by, ours = content.get("produced_by"), _version()
    if by != ours:
        theirs = " ".join(map(str, by.values())) if isinstance(by, Mapping) else "unknown"
        raise SetupError(
            f"{path} was made by another version of vmmetrics ({theirs}; this is {' '.join(ours.values())}), whose "
            "files are others: read it with that version, or make the clips again"
        )
    manifest = check(_Manifest, content, path)
    sources = {task.clip: identify(task) for task in tasks_of([*map(Path, manifest.clips)])}
    if changed := [name for name, sha256 in manifest.sources.items() if sources.get(name) != sha256]:
        raise SetupError(f"{listed(changed, 3)} changed, or went, since {path} was made: make the clips again")
    return manifest
