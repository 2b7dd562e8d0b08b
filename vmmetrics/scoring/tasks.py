"""Tasks of a run, a clip each with its location, prompt and state, from paths, arrays or data sets."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from vmmetrics.clip import Clip, Subject
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.scoring.record import Record, State
from vmmetrics.scoring.settings import Settings
from vmmetrics.types import Tags
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.addresses import address_of, safe_name
from vmmetrics.utils.storage.remote import check_address
from vmmetrics.utils.storage.state import FileState
from vmmetrics.video import Source, discover, read_batch
from vmmetrics.video.content import InlineClip, array_fingerprint, file_state, fingerprint, is_settled, state
from vmmetrics.video.listing import listed_at, listed_clips, local_copy
from vmmetrics.video.manifest import ListedClip
from vmmetrics.video.prompt_lists import subject_in
from vmmetrics.video.prompts import Prompts
from vmmetrics.video.rows import dataset_clips, is_dataset


@dataclass(frozen=True, slots=True)
class Task:
    """One clip to score.

    Attributes:
        clip: Its name.
        model: Folder of its model, or None.
        path: Absolute path of its file or folder, or None where it is in memory or at ``uri``.
        metrics: Metrics to score.
        prompt: Text it was generated from, or None.
        prompt_source: Where the prompt was found, or None.
        subject: Subject, or None.
        tags: Tags of the prompt list on the expected motion.
        in_memory: The decoded clip where it was handed in as an array, or the bytes of its file where it is in a data
            set; None where it is read from ``path`` or ``uri``.
        root: Folder that symlinks must not lead out of, or None.
        broken: Why it cannot be scored, where that is known before it is read.
        uri: Its address, where it is not on this machine; with all that opens it, so it is never kept or shown.
        listed: State of the file in a listing.
        fps: Frames per second, of which its file states none or the same; None takes those of the settings.
    """

    clip: str
    model: str | None
    path: Path | None
    metrics: tuple[str, ...]
    prompt: str | None = None
    prompt_source: str | None = None
    subject: Subject | None = None
    tags: Tags = field(default_factory=dict)
    in_memory: Clip | InlineClip | None = None
    root: Path | None = None
    broken: str | None = None
    uri: str | None = None
    listed: FileState | None = None
    fps: float | None = None

    @property
    def key(self) -> str:
        """Identifier of the clip within a run: its address or path, else its name."""
        if self.uri is not None:
            return safe_name(self.uri)
        return str(self.path) if self.path is not None else self.clip

    def only(self, metrics: tuple[str, ...]) -> Task:
        """Return this task with fewer metrics."""
        return replace(self, metrics=metrics)

    def record(self, settings: Settings, **fields: Any) -> Record:
        """Return a record of this clip with the given fields."""
        base: dict[str, Any] = {name: getattr(self, name) for name in ("clip", "model", "prompt", "prompt_source")}
        path = None if self.path is None and self.uri is None else self.key
        base |= {"path": path, "subject": self.subject and asdict(self.subject), "sha256": None}
        base |= {"worker": provenance.process(), "ended": provenance.now()}
        return Record(preset=settings.preset, protocol=settings.protocol, tags=dict(self.tags), **base | fields)


def identify(task: Task) -> str:
    """Return SHA-256 of the clip of a task, for a file that is known to be one.

    Raises:
        OSError: It cannot be read.
    """
    if task.path is not None:
        return fingerprint(task.path)
    assert task.in_memory is not None  # noqa: S101  (a task has a path, a clip, or an address, which is not read here)
    if isinstance(task.in_memory, InlineClip):
        return task.in_memory.sha256
    return array_fingerprint(task.in_memory)


def state_of(task: Task) -> tuple[State | None, bool]:
    """Return the file state that a later run compares with, and True if a later change is sure to show in it.

    Raises:
        OSError: The file or folder cannot be read.
    """
    if task.path is None:
        listed = None if task.listed is None else task.listed.to_record()
        return listed, listed is not None
    files = state(task.path)
    return file_state(files), is_settled(files)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Clips as the user names them.

    Attributes:
        clips: Paths and addresses, arrays and clips, or a data set, as :func:`vmmetrics.score` takes them.
        prompts: Prompt list for clips on disk and in data sets; None looks beside the clips, and in the rows.
        subject: What every clip is about, or None.
        follow_links: True if symlinks may lead out of the folders given.
        relist: True if addresses are listed again that an earlier start listed.
        fps: Frames per second of arrays.
        layout: Axes of arrays.
    """

    clips: Any
    prompts: str | os.PathLike[str] | None = None
    subject: str | None = None
    follow_links: bool = True
    relist: bool = False
    fps: float | None = None
    layout: str | None = None

    @property
    def items(self) -> list[Any]:
        """The paths or arrays."""
        return list(self.clips) if isinstance(self.clips, list | tuple) else [self.clips]

    @property
    def paths(self) -> list[str | os.PathLike[str]]:
        """The paths and addresses; none where there are other things."""
        return [item for item in self.items if isinstance(item, str | os.PathLike)]

    @property
    def remote(self) -> bool:
        """True if a clip, or a list of clips, is at an address."""
        return any(address_of(path) is not None for path in self.paths)


def tasks_of(
    inputs: Inputs,
    settings: Settings,
    remarks: list[str] | None = None,
    progress: Callable[[int], None] | None = None,
    limit: int | None = None,
    listing: bool = False,
    keep: Path | None = None,
) -> tuple[list[Task], list[str]]:
    """Return the tasks of inputs, and the clips that the prompt list names and that are not there.

    Args:
        inputs: The clips.
        settings: What to score, and how clips are read.
        remarks: Of paths, as those after it, for :func:`tasks_of_paths`.
        progress: Called with the number of clips found so far.
        limit: Clips to fetch of each data set of the Hub.
        listing: Fetch none, and write no list.
        keep: Run directory that caches the listings of addresses.

    Raises:
        SetupError: A path does not exist, or arrays are given a prompt list.
        ClipError: An array is no clip.
    """
    if is_dataset(inputs.clips):
        return tasks_of_dataset(inputs.clips, settings.metrics, inputs.prompts, inputs.subject), []
    if len(inputs.paths) == len(inputs.items):
        return tasks_of_paths(
            inputs.paths, settings.metrics, inputs.prompts, inputs.subject, inputs.follow_links, remarks, progress,
            limit, listing, keep, inputs.relist,
        )  # fmt: skip
    if inputs.prompts is not None:
        raise SetupError(
            "A prompt list applies to files and data sets; pass the prompt of an array as Clip(frames, ..., prompt=...)"
        )
    reading = {"fps": inputs.fps, "layout": inputs.layout, **dict(settings.reading)}
    return tasks_of_arrays(inputs.items, settings.metrics, inputs.subject, **reading), []


def tasks_of_paths(
    paths: Iterable[str | os.PathLike[str]],
    metrics: tuple[str, ...],
    prompts: str | os.PathLike[str] | None = None,
    subject: str | None = None,
    follow_links: bool = True,
    remarks: list[str] | None = None,
    progress: Callable[[int], None] | None = None,
    limit: int | None = None,
    listing: bool = False,
    keep: Path | None = None,
    relist: bool = False,
) -> tuple[list[Task], list[str]]:
    """Return the clips under some files, folders and addresses, each with its prompt and subject.

    Args:
        paths: Files, folders, addresses (``s3://bucket/clips``), and lists of clips (``clips.jsonl``, ``urls.txt``).
        metrics: What to score.
        prompts: Prompt list, or None to look beside the clips.
        subject: What every clip is about, or None.
        follow_links: True if symlinks may lead out of the folder they lie in; those that do are errors otherwise,
            or, where they are folders, skipped.
        remarks: Receives texts on surprises, such as links not followed.
        progress: Called with the number of clips found so far in a folder.
        limit: Clips to fetch of each data set of the Hub, the first; None for all.
        listing: List the clips of such data sets without fetching them, and write no list.
        keep: Run directory that caches the listings of addresses; None caches nothing.
        relist: List them again in spite of a cached listing.

    Returns:
        A task per clip, and the clips that the prompt list names and that are not there.

    Raises:
        SetupError: A path does not exist, or the prompt list cannot be read.
    """
    notes = [] if remarks is None else remarks
    places = [(path, listed_at(path)) for path in paths]
    local, remote = [path for path, at in places if at is None], [at for _, at in places if at is not None]
    sources = discover(local, follow_links=follow_links, remarks=notes, progress=progress, limit=limit, listing=listing)
    root = next((source.root for source in sources if source.root is not None), None)
    with local_copy(prompts) as list_file:
        lookup = Prompts(list_file, root, subject=subject)
    tasks = [_task(source, metrics, lookup, follow_links) for source in sources]
    if remote:
        clips = listed_clips(remote, keep, relist, notes, progress, write=not listing)
        if duplicates := _add_listed(tasks, clips, metrics, lookup, follow_links):
            were = "was" if duplicates == 1 else "were"
            notes.append(f"{duplicates:,} of the listed clips {were} listed twice; each is scored once")
    return tasks, lookup.unmatched(task.clip for task in tasks)


def _add_listed(
    tasks: list[Task], clips: Iterable[ListedClip], metrics: tuple[str, ...], prompts: Prompts, follow_links: bool
) -> int:
    """Add the tasks of listed clips, each place once; of two with one name, the second has its place for a name.

    Returns how many were left out because their place was there.
    """
    keys, names, schemes, duplicates = {task.key for task in tasks}, {task.clip for task in tasks}, {""}, 0
    for clip in clips:
        scheme, _, rest = clip.uri.partition("://")
        if rest and scheme not in schemes:
            check_address(clip.uri)
            schemes.add(scheme)
        task = _listed_task(clip, metrics, prompts, follow_links)
        key = task.key
        if key in keys:
            duplicates += 1
            continue
        keys.add(key)
        tasks.append(replace(task, clip=key) if task.clip in names else task)
        names.add(task.clip)
    return duplicates


def _listed_task(clip: ListedClip, metrics: tuple[str, ...], prompts: Prompts, follow_links: bool) -> Task:
    """Return the task of a listed clip; its prompt is the list's, else that of a file beside a local clip."""
    path, model = clip.path, clip.model
    fields: dict[str, Any] = {}
    try:
        if clip.error is not None:
            raise ClipError(clip.error)
        if clip.prompt is None and path is not None:
            prompt, subject, source, tags, model = prompts.lookup(Source(path, clip.name, clip.model))
        else:
            prompt, subject, source, tags, _ = prompts.lookup_row(clip.name, clip.prompt)
        fields = {"prompt": prompt, "subject": subject, "prompt_source": source, "tags": tags or _NO_TAGS}
    except ClipError as error:
        fields = {"broken": str(error)}
    if path is None and clip.inline is None:
        fields |= {"uri": clip.uri, "listed": clip.state}
    root = None if follow_links or path is None else path.parent
    return Task(clip.name, model, path, metrics, in_memory=clip.inline, root=root, **fields)


_NO_TAGS: Tags = {}  # one for all: tasks may be millions


def _task(source: Source, metrics: tuple[str, ...], prompts: Prompts, follow_links: bool) -> Task:
    path = Path(os.path.abspath(source.path))  # noqa: PTH100  (symlinks are kept: the name is the user's)
    task = Task(source.name, source.model, path, metrics, root=None if follow_links else source.root)
    try:
        prompt, subject, prompt_source, tags, model = prompts.lookup(source)
    except ClipError as error:
        return replace(task, broken=str(error))
    return replace(task, model=model, prompt=prompt, subject=subject, prompt_source=prompt_source, tags=dict(tags))


def prompt_sources(tasks: Sequence[Task]) -> str:
    """Say in one line how many clips have a prompt, where from, and how the others get theirs."""
    texts = {"list": "a list", "dataset": "the data set", "sidecar": "files beside the clips",
             "retired": "an earlier version of the library"}  # fmt: skip
    sources: Counter[str] = Counter()
    for task in tasks:
        if task.prompt is not None:
            kind, _, pattern = (task.prompt_source or "").removesuffix(" (cut)").partition(":")
            sources[f"names ({pattern})" if kind == "name" else texts.get(kind, "the clips")] += 1
    cut = sum("(cut)" in (task.prompt_source or "") for task in tasks)
    without = sum(task.prompt is None and task.subject is None for task in tasks)
    parts = [", ".join(f"{number} from {source}" for source, number in sources.most_common())] if sources else []
    if cut:
        parts.append(f"{cut} cut short by the script that named the clip")
    if without:
        parts.append(
            f"none for {without} of {len(tasks)} clips, give them with --prompts LIST or as a.txt beside a.mp4"
        )
    return f"prompts: {'; '.join(parts)}" if parts else ""


def tasks_of_dataset(
    dataset: Any,
    metrics: tuple[str, ...],
    prompts: str | os.PathLike[str] | None = None,
    subject: str | None = None,
) -> list[Task]:
    """Return the rows of a ``datasets.Dataset`` as tasks; the clips are read when their turn comes.

    Raises:
        SetupError: It has no column of clips, or is a stream or a set of splits; or the prompt list cannot be read.
    """
    lookup = Prompts(prompts, subject=subject)
    return [_listed_task(clip, metrics, lookup, follow_links=True) for clip in dataset_clips(dataset)]


def tasks_of_arrays(
    arrays: Iterable[Any], metrics: tuple[str, ...], subject: str | None = None, **reading: Any
) -> list[Task]:
    """Arrays, tensors and :class:`~vmmetrics.clip.Clip` objects as tasks, a batch axis giving one each.

    Args:
        arrays: The clips; an array is called ``clip-0001`` and so on, with ``[0]`` where it holds a batch.
        metrics: What to score.
        subject: What every clip is about, or None.
        reading: Options of :func:`vmmetrics.video.read_batch`.

    Raises:
        ClipError: An array is no clip.
    """
    clips: list[Clip] = []
    for number, array in enumerate(arrays, 1):
        name = f"clip-{number:04d}"
        batch = [array] if isinstance(array, Clip) else read_batch(array, name=name, **reading)
        clips += batch if len(batch) > 1 or batch[0] is array else [replace(batch[0], name=name)]
    about = None if subject is None else subject_in(subject, "option")
    return [
        Task(
            clip.name,
            model=None,
            path=None,
            metrics=metrics,
            prompt=clip.prompt,
            subject=about or clip.subject,
            tags=dict(clip.tags),
            in_memory=clip,
        )
        for clip in _distinct(clips)
    ]


def shard(tasks: Sequence[Task], index: int, count: int) -> list[Task]:
    """Return the tasks of shard ``index`` of ``count``, by a hash of the clip's name.

    A clip's shard depends on nothing but its name, so that clips may be added while other shards run.

    Args:
        tasks: All tasks.
        index: 1 to ``count``.
        count: How many shards there are.

    Raises:
        ValueError: There is no such shard.
    """
    if not 1 <= index <= count:
        raise ValueError(f"Expected shard (i, n) with 1 <= i <= n but got {(index, count)}")
    hashes = (hashlib.sha256(task.clip.encode("utf-8", "surrogatepass")).digest()[:8] for task in tasks)
    return [task for task, digest in zip(tasks, hashes, strict=True) if int.from_bytes(digest) % count == index - 1]


def _distinct(clips: Sequence[Clip]) -> list[Clip]:
    """Return the clips with unique names; repeated ones get a number."""
    seen: dict[str, int] = {}
    distinct = []
    for clip in clips:
        seen[clip.name] = seen.get(clip.name, 0) + 1
        repeats = seen[clip.name]
        distinct.append(clip if repeats == 1 else replace(clip, name=f"{clip.name} ({repeats})"))
    return distinct
