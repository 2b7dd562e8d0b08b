"""Study folder: ``study.json``, whose settings are fixed at ``new``, clips transcoded alike, and the keys."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vmmetrics.errors import ClipError, SetupError, refusing
from vmmetrics.rating.flashes import LIMIT, most_flashes
from vmmetrics.utils.schema import check, plain, read_json
from vmmetrics.utils.storage.atomic import making, write_json
from vmmetrics.utils.storage.job_folder import check_new
from vmmetrics.utils.storage.journal import encode
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.utils.storage.provenance import now
from vmmetrics.video.content import fingerprint
from vmmetrics.video.encoding import to_ticks, write_playable
from vmmetrics.video.reader import read_clip

FORMAT = 1
"""Version of the layout, in ``study.json``."""
RECORD, KEYS, MEDIA = "study.json", "keys.json", "media"
BROKEN = "-broken"
"""End of the id of a clip's gold version, its frames in disorder."""
LEAST_PIECES = 5
"""Pieces of a gold version: fewer are in order but for a turn, and may look whole."""
MOST_ACTIVE = 0.8
"""Largest share of pairs that are chosen: the others show agreement without the choice."""
_SOME = {"designs": "some"}  # of a setting that not every design reads
_COMMENT = "vmmetrics rate"  # in every file: nothing that tells one clip from another
_SHUFFLED_SECONDS = 0.2  # of clip that stay together in the gold version, less in short clips
_ORDERS = 5  # of frames that are tried for one that does not flash
_LEADING = re.compile(r"\b(smooth|natural|realistic|jerky|broken|unnatural|flicker\w*|distorted)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rules:
    """What keeps a session's answers out of the results; fixed before the first answer.

    Attributes:
        traps: Attention checks that may be missed.
        gold: Gold items that may be missed.
        tolerance: Levels of a five-level scale that an answer to a gold item may be off.
        variance: Variance of the votes, in levels of a five-level scale, below which they are straight-lined.
        one_side: Share of decisions for one side above which pairs are straight-lined.
        seconds: Median seconds from the end of the clips to the vote below which it was not thought about.
        unsteady: Mean difference of repeated votes, in levels of five, above which a rater is not consistent.
        contradictions: Repeated pairs of which the other side may win.
        agreement: Agreement with the others (ACR: correlation; pairs: share of equal decisions) that the upper end
            of the rater's 99 % interval must reach.
        playback: Playing time of a session, as a multiple of the clips' durations, above which it stalled.
    """

    traps: int = 0
    gold: int = 1
    tolerance: int = 1
    variance: float = 0.15
    one_side: float = 0.95
    seconds: float = 0.3
    unsteady: float = 2.5
    contradictions: int = 1
    agreement: float = 0.5
    playback: float = 1.15


@dataclass(frozen=True, slots=True)
class Settings:
    """What a study is, but for its clips.

    Attributes:
        design: Name of the design.
        contact: Who answers the raters' questions.
        licence: Licence of the clips, or the right by which they are shown.
        questions: Dimension to its question.
        levels: Steps of the scale: 5, 9 or 11.
        votes: Valid votes wanted per item.
        items: Items in a session.
        gold: Gold items in a session.
        traps: Attention checks in a session.
        repeats: Repeated items in a session.
        training: Training items before the first session.
        sessions: Sessions of a rater at most.
        within_model: Pairs of clips of one model alone.
        active: Share of a session's pairs that are chosen by the answers so far; the others are drawn, and they alone
            enter figures of agreement.
        stop_error: Standard error of the strengths at which no votes are wanted any more; 0 for the number of votes.
        in_turn: The clips of a pair are played one after the other.
        reference: Model whose clip of the same prompt a clip is rated against.
        prompt_questions: Questions about the clips of a prompt by dimension, each with its right answer, yes or no.
        prompt_subjects: Nouns of the subjects of these prompts, as far as their list has them.
        flashing: What is done with clips above the flash limit.
        seed: Random seed.
        min_age: Age in years that raters confirm.
        ethics: Number of the ethics approval, or "".
        pay: Payment for a session.
        currency: Its currency.
        completion_url: Where raters go when they have finished, or "".
        texts: Texts of the rater's page.
        rules: Rules of exclusion.
    """

    design: str
    contact: str
    licence: str
    questions: Mapping[str, str] = field(default_factory=dict)
    levels: int = field(default=5, metadata=_SOME)
    votes: int = 15
    items: int = 24
    gold: int = 3
    traps: int = 2
    repeats: int = 2
    training: int = 3
    sessions: int = 1
    within_model: bool = field(default=False, metadata=_SOME)
    active: float = field(default=0.0, metadata=_SOME)
    stop_error: float = field(default=0.0, metadata=_SOME)
    in_turn: bool = field(default=False, metadata=_SOME)
    reference: str = field(default="", metadata=_SOME)
    prompt_questions: Mapping[str, Mapping[str, tuple[str, str]]] = field(default_factory=dict, metadata=_SOME)
    prompt_subjects: Mapping[str, str] = field(default_factory=dict, metadata=_SOME)
    flashing: Literal["leave-out", "warn"] = "leave-out"
    seed: int = 0
    min_age: int = 18
    ethics: str = ""
    pay: float = 0.0
    currency: str = ""
    completion_url: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        if self.levels not in (5, 9, 11):
            raise ValueError(f"expected 5, 9 or 11 levels but got {self.levels}")
        if not 0 <= self.active <= MOST_ACTIVE:
            raise ValueError(f"expected a share from 0 to {MOST_ACTIVE:g} but got {self.active:g}: the rest is drawn")
        if not self.contact.strip() or not self.licence.strip():
            raise ValueError("raters must know whom to ask, and you must know that you may show the clips")
        if self.completion_url and not self.completion_url.startswith("https://"):
            raise ValueError(f"expected an address with https:// but got {self.completion_url}")


@dataclass(frozen=True, slots=True)
class ClipSource:
    """A clip to make a study of: its name, as runs have it, its file, and what it was made from."""

    clip: str
    path: Path
    model: str | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class StudyClip:
    """A clip of a study.

    Attributes:
        id: Name of its file in ``media/``, which no rater sees.
        clip: Name, as runs have it.
        sha256: Of the source.
        seconds: Duration.
        size: (width, height) in pixels.
        flashes: Most flashes in any second.
        model: Model that made it, or None.
        prompt: Prompt it was made from, or None.
        broken: True if there is a gold version, with its frames in disorder.
    """

    id: str
    clip: str
    sha256: str
    seconds: float
    size: tuple[int, int]
    flashes: int
    model: str | None = None
    prompt: str | None = None
    broken: bool = False


@dataclass(frozen=True, slots=True)
class _Record:
    settings: Settings
    clips: tuple[StudyClip, ...]
    left_out: Mapping[str, str]
    format: int = FORMAT
    created: str = ""


@dataclass(frozen=True)
class Study:
    """A study.

    Attributes:
        path: Its folder.
        settings: As fixed at ``new``.
        clips: Its clips by id.
        left_out: Clips that are no part of it, and why.
        configuration: Content of ``study.json``.
    """

    path: Path
    settings: Settings
    clips: Mapping[str, StudyClip]
    left_out: Mapping[str, str]
    configuration: Mapping[str, Any]

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """Keys of the raters' and the owner's page, and the secret of names of clips.

        Raises:
            SetupError: They cannot be read.
        """
        keys = check(dict[str, str], read_json(self.path / KEYS), self.path / KEYS)
        if not {"raters", "owner", "secret"} <= keys.keys() or not all(keys.values()):
            raise SetupError(f"{self.path / KEYS} lacks a key; restore it")
        return keys

    @property
    def consent(self) -> str:
        """Version of the text that raters consent to."""
        shown = {name: text for name, text in self.settings.texts.items() if name.startswith("consent")}
        words = [shown, self.settings.contact, self.settings.min_age, self.settings.ethics]
        return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()[:12]

    def media(self, identity: str) -> Path:
        """Return the file of a clip, or of its gold version."""
        return self.path / MEDIA / f"{identity}.mp4"

    def seconds(self, identity: str) -> float:
        """Return the duration of a clip, or of its gold version."""
        return self.clips[identity.removesuffix(BROKEN)].seconds


def read_study(path: Path) -> Study:
    """Read a study folder.

    Raises:
        SetupError: There is none, or it is damaged.
    """
    file = path / RECORD
    if not file.is_file():
        raise SetupError(f"{path} is no study: it has no {RECORD}; 'vmmetrics rate new' makes one")
    configuration = read_json(file)
    record = check(_Record, configuration, file)
    if record.format != FORMAT:
        raise SetupError(f"{path} was written by another version of vmmetrics (format {FORMAT} expected)")
    clips = {clip.id: clip for clip in record.clips}
    return Study(path, record.settings, clips, record.left_out, configuration)


def new_study(
    path: Path, sources: Sequence[ClipSource], settings: Settings, progress: Callable[[str], None] = lambda _: None
) -> Study:
    """Make a study folder: clips are read, looked at for flashes and transcoded alike.

    Args:
        path: The folder; absent or empty.
        sources: The clips.
        settings: The settings; texts that are not given are the English ones.
        progress: Called with the name of each clip when it is done.

    Raises:
        SetupError: The folder has files, cannot be written, or too few clips are left.
    """
    check_new(path)
    problems = [text for question in settings.questions.values() if (text := leading(question, sources))]
    if problems:
        raise SetupError(*problems)
    settings = replace(settings, texts={**default_texts(), **settings.texts})
    rng = np.random.default_rng(settings.seed)
    with refusing("write", path), making(path) as folder:
        folder.chmod(0o700)
        (folder / MEDIA).mkdir()
        clips, left_out, moving = list[StudyClip](), dict[str, str](), dict[str, float]()
        for number, index in enumerate(rng.permutation(len(sources)), 1):
            source = sources[index]
            try:
                made = _add(folder, f"c{number:05d}", source)
                if made[0].flashes > LIMIT and settings.flashing == "leave-out":
                    (folder / MEDIA / f"{made[0].id}.mp4").unlink()
                    raise ClipError(f"{made[0].flashes} flashes in a second, above the limit of {LIMIT}")
                clips.append(made[0])
                moving[made[0].id] = made[1]
            except ClipError as error:
                left_out[source.clip] = str(error)
            progress(source.clip)
        if len(clips) < 2:
            raise SetupError("fewer than two clips are left", *(f"  {name}: {why}" for name, why in left_out.items()))
        by_clip, wanted = {source.clip: source for source in sources}, 2 * settings.gold
        for at in sorted(range(len(clips)), key=lambda at: -moving[clips[at].id]):
            if wanted and _add_broken(folder, clips[at].id, by_clip[clips[at].clip], rng):
                clips[at], wanted = replace(clips[at], broken=True), wanted - 1
        record = plain(_Record(settings, tuple(clips), left_out, created=now()))
        write_json(folder / RECORD, record)
        keys = {name: secrets.token_urlsafe(16) for name in ("raters", "owner", "secret")}
        append_private(folder / KEYS, keys)
    return read_study(path)


def append_private(path: Path, line: Mapping[str, Any]) -> None:
    """Append a line to a file that nobody but its owner may read, and return once it is on the disk."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "ab") as file:
        file.write(encode(dict(line)))
        file.flush()
        os.fsync(file.fileno())


def _add(folder: Path, identity: str, source: ClipSource) -> tuple[StudyClip, float]:
    """Transcode a clip; return it, and how far its frames differ from those a third of it later (0..255)."""
    clip = read_clip(source.path)
    write_playable(folder / MEDIA / f"{identity}.mp4", clip.frames, to_ticks(clip.timestamps), clip.fps, _COMMENT)
    seconds = float(clip.timestamps[-1]) + 1 / clip.fps
    apart = max(1, len(clip) // 3)
    steps = range(0, len(clip) - apart, apart)
    moved = [np.abs(clip.frames[at].astype(np.int16) - clip.frames[at + apart]).mean() for at in steps]
    made = StudyClip(
        identity, source.clip, fingerprint(source.path), round(seconds, 3), (clip.width, clip.height),
        most_flashes(clip.frames, clip.timestamps), source.model, source.prompt,
    )  # fmt: skip
    return made, float(np.mean(moved)) if moved else 0.0


def _add_broken(folder: Path, identity: str, source: ClipSource, rng: np.random.Generator) -> bool:
    """Write the gold version of a clip, its motion broken beyond doubt; return False if it is short, or would flash."""
    clip = read_clip(source.path)
    together = max(1, min(round(_SHUFFLED_SECONDS * clip.fps), len(clip) // LEAST_PIECES))
    for _ in range(_ORDERS if len(clip) >= LEAST_PIECES else 0):
        frames = clip.frames[disorder(len(clip), together, rng)]
        if most_flashes(frames, clip.timestamps) <= LIMIT:
            path = folder / MEDIA / f"{identity}{BROKEN}.mp4"
            write_playable(path, frames, to_ticks(clip.timestamps), clip.fps, _COMMENT)
            return True
    return False


def disorder(frames: int, together: int, rng: np.random.Generator) -> list[int]:
    """Return the order of frames in which pieces of so many, five at least, are at random: none in place or in turn."""
    pieces = [list(range(at, min(at + together, frames))) for at in range(0, frames, together)]
    places = order = np.arange(len(pieces))
    while (order == places).any() or (np.diff(order) == 1).any():
        order = rng.permutation(len(pieces))
    return [frame for at in order for frame in pieces[at]]


def default_texts() -> dict[str, str]:
    """Return the English texts of the rater's page."""
    text = files("vmmetrics.rating").joinpath("page", "texts.toml").read_text("utf-8")
    return check(dict[str, str], tomllib.loads(text), "texts.toml")


def read_texts(path: Path) -> dict[str, str]:
    """Read texts of the rater's page in another language.

    Raises:
        SetupError: The file cannot be read, or has a text that the page does not.
    """
    try:
        with refusing("read", path):
            texts = check(dict[str, str], tomllib.loads(read_regular(path).decode("utf-8")), path)
    except ValueError as error:
        raise SetupError(f"{path} cannot be read as TOML: {error}") from error
    if unknown := sorted(texts.keys() - default_texts().keys()):
        raise SetupError(f"{path}: the page has no text {', '.join(unknown)}")
    return texts


def leading(question: str, sources: Sequence[ClipSource] = ()) -> str:
    """Return what is wrong with a question: it names one end of the scale only, or a model; "" for nothing.

    >>> leading("How smooth is the motion?")
    "'How smooth is the motion?' leads to an answer: it names 'smooth'; ask how good the motion is, or name both ends"
    >>> leading("How would you rate the motion, from unnatural to natural?")
    ''
    """
    words = {word.lower() for word in _LEADING.findall(question)}
    for model in sorted({one.model for one in sources if one.model}):
        if re.search(rf"(?<!\w){re.escape(model)}(?!\w)", question, re.IGNORECASE):
            return f"{question!r} names the model {model}"
    if len(words) != 1:
        return ""
    return f"{question!r} leads to an answer: it names {words.pop()!r}; ask how good the motion is, or name both ends"
