"""Matching of scored clips with judged ones: by any of their names, else by model and prompt.

Names are compared from the strictest way to the loosest: the whole path, then its last parts, down to the file name;
each time as written, then without the suffix, then whatever the case. Once folders have told clips apart they are not
ignored any more, so ``b/1.mp4`` is never taken for ``c/1.mp4`` where ``a/1.mp4`` is in both lists.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from vmmetrics.alignment.readers.judgements import Judgements
from vmmetrics.alignment.readers.score_tables import SourceScores
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import listed

_SUFFIX = re.compile(r"\.[a-z][a-z0-9]{1,4}$", re.IGNORECASE)  # ".mp4" and ".webm", and not the end of "Wan2.1"
_INSIDE = "file name and folders, those that one side leaves out aside"
_SHOWN = 3  # clashes in a message, and names of each side of one

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NameMatch:
    """Matched names and how they were matched.

    Attributes:
        pairs: (index in the first list, index in the second), in order of the first.
        how: In what ways names were found equal, most frequent first, with how many.
    """

    pairs: tuple[tuple[int, int], ...]
    how: tuple[tuple[str, int], ...]


def match_names(
    first: Sequence[str],
    second: Sequence[str],
    *,
    of_models: bool = False,
    by_file: bool = True,
    sides: tuple[str, str] = ("scores", "ratings"),
) -> NameMatch:
    """Find the names that two lists share.

    Args:
        first: Distinct names.
        second: Distinct names.
        of_models: They name models: the last comparison looks at letters and digits alone.
        by_file: Whether the file name alone may tell a clip that has a folder.
        sides: What to call the two lists in messages.

    Raises:
        SetupError: A name could be several of the other list, and nothing stricter tells which.
    """
    left_over = [{index: _parts(name) for index, name in enumerate(names)} for names in (first, second)]
    depths = [max((len(parts) for parts in side.values()), default=0) for side in left_over]
    deepest = max(depths)
    pairs: list[tuple[int, int]] = []
    how: Counter[str] = Counter()
    clashes: list[str] = []
    least = 1 if by_file else min(2, deepest)
    for depth in dict.fromkeys((deepest, *range(min(depths), least - 1, -1))):
        needs_folder = False
        for words, change in _WAYS if of_models else _WAYS[:-1]:
            keys = [_by_key(side, depth, change) for side in left_over]
            for key in keys[0].keys() & keys[1].keys():
                left, right = keys[0][key], keys[1][key]
                alone = len(left) == len(right) == 1
                same = [(left[0], right[0])] if alone else _by_folders(left, right, left_over)
                if not same:
                    ours = listed([first[i] for i in left], _SHOWN)
                    theirs = listed([second[i] for i in right], _SHOWN)
                    clashes.append(f"{ours} ({sides[0]}) and {theirs} ({sides[1]})")
                    continue
                pairs += same
                how[(_where(depth, deepest) if alone else _INSIDE) + words] += len(same)
                needs_folder |= len(key) > 1 or not alone
                for ours_at, theirs_at in same:
                    del left_over[0][ours_at], left_over[1][theirs_at]
            if clashes:
                more = len(clashes) - _SHOWN
                shown = [*sorted(clashes)[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]
                raise SetupError(
                    "Clip names are ambiguous:",
                    *(f"  {line}" for line in shown),
                    "name clips by their paths on both sides",
                )
        if needs_folder:
            break
    return NameMatch(tuple(sorted(pairs)), tuple(how.most_common()))


def _by_folders(
    left: Sequence[int], right: Sequence[int], names: Sequence[Mapping[int, Parts]]
) -> list[tuple[int, int]]:
    """Return clips of one file name matched by folders, where one side has all folders of the other in order, and more.

    Empty where a clip could be several.
    """
    fits = [(i, j) for i in left for j in right if _is_within(names[0][i], names[1][j])]
    once = all(len(set(column)) == len(column) for column in zip(*fits, strict=True))
    return fits if once and len(fits) == min(len(left), len(right)) else []


def _is_within(first: Parts, second: Parts) -> bool:
    """Return True if the folders of one name are among those of the other, in order."""
    shorter, longer = sorted((first[:-1], second[:-1]), key=len)
    rest = iter(longer)
    return bool(shorter) and all(folder in rest for folder in shorter)


def _parts(name: str) -> Parts:
    name = unicodedata.normalize("NFC", name)  # macOS writes "é" as two characters
    parts = tuple(part for part in name.replace("\\", "/").split("/") if part not in {"", "."})
    return parts or (name,)


def _by_key(side: dict[int, Parts], depth: int, change: Callable[[str], str]) -> dict[Parts, list[int]]:
    by_key: defaultdict[Parts, list[int]] = defaultdict(list)
    for index, parts in side.items():
        *folders, name = parts[-depth:]
        if change is not str:  # folders have no suffix to lose
            folders = [folder if change is stem else folder.casefold() for folder in folders]
        by_key[(*folders, change(name))].append(index)
    return by_key


def stem(name: str) -> str:
    """Return a file name without its suffix, if it has one.

    >>> stem("1.mp4"), stem("Wan2.1")
    ('1', 'Wan2.1')
    """
    return _SUFFIX.sub("", name)


def _stored(name: str) -> str:
    """Return the name under which web applications such as Label Studio store a file."""
    return re.sub(r"[^\w.-]", "", stem(name).casefold().strip().replace(" ", "_"))


_WAYS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", str),
    (" without suffix", stem),
    (" without suffix, whatever the case", lambda name: stem(name).casefold()),
    (" as an upload is stored, blanks as _ and signs left out", lambda name: _stored(name) or name),
    # of models alone
    (", letters and digits alone", lambda name: re.sub(r"[^0-9a-z]", "", name.casefold())),
)


def _where(depth: int, deepest: int) -> str:
    if deepest == 1:
        return "name"
    if depth == deepest:
        return "path"
    return "file name" if depth == 1 else f"last {depth} parts of the path"


# Which prompt and which model a clip belongs to, where only its name can say.

# Each takes time in proportion to the name.
_PATTERNS = (
    (re.compile(r"^(?P<model>.+)/[^/]+/(?P<prompt>[^/]+)$"), "a folder per model, with folders in it"),
    (re.compile(r"^(?P<model>.+)/(?P<prompt>[^/]+)$"), "a folder per model"),
    (re.compile(r"^(?:.*/)?(?P<prompt>\d+)[_-](?P<model>\d*[^\d/][^/]*)$"), "names of the form PROMPT_MODEL"),
    (re.compile(r"^(?:.*/)?(?P<model>\d*[^\d/][^/]*)[_-](?P<prompt>\d+)$"), "names of the form MODEL_PROMPT"),
)


def groups_from_names(clips: Sequence[str]) -> tuple[list[str | None], list[str | None], str | None]:
    """Return prompts and models read from names, if all names follow one pattern.

    The patterns are a folder per model with clips of the same names in each, in folders of it or not, ``PPP_model.mp4``
    and ``model_PPP.mp4``.
    A pattern counts only if no two clips share prompt and model and most prompts have clips of several models.

    Args:
        clips: Names.

    Returns:
        (N,) prompts, (N,) models (None throughout where no pattern fits), and the pattern in words.
    """
    names = [stem(str(PurePosixPath(name.replace("\\", "/")))) for name in clips]
    for pattern, words in _PATTERNS:
        cells = [(match["prompt"], match["model"]) for match in map(pattern.match, names) if match]
        if len(cells) == len(clips) and _is_crossed(cells):
            return [prompt for prompt, _ in cells], [model for _, model in cells], words
    return [None] * len(clips), [None] * len(clips), None


def _is_crossed(pairs: Sequence[tuple[str, str]]) -> bool:
    """Return True if prompts and models are crossed: several of each, no cell twice, most prompts with several."""
    models_of: defaultdict[str, set[str]] = defaultdict(set)
    for prompt, model in pairs:
        models_of[prompt].add(model)
    several = sum(len(models) > 1 for models in models_of.values())  # which takes two models
    return len(set(pairs)) == len(pairs) and len(models_of) > 1 and 2 * several > len(models_of)


# Scored clips with judged ones, whatever names and columns both sides have.

_EXAMPLES = 3  # names of each side in the message that none match
_Key = tuple[str, str]


def matched(scores: SourceScores, judged: Judgements) -> NameMatch:
    """Find the clips that both sides have.

    The names that match most clips go first, other names serve the clips that are left. Where the judgements name no
    clip but a model and a prompt, or no name matches, clips are matched by model and prompt.

    Raises:
        SetupError: No clip is in both, or nothing tells which is which.
    """
    by_prompt = _by_prompt(scores, judged) if judged.by_prompt else None
    if by_prompt is not None and by_prompt.pairs:
        return by_prompt
    best, trouble = _by_names(scores, judged)
    if best.pairs:
        return best
    if judged.by_prompt:
        raise SetupError(_what_is_missing(scores, judged))
    with suppress(SetupError):  # said where it was asked for; here that no name matches says more
        if trouble is None and (by_prompt := _by_prompt(scores, judged)).pairs:
            return by_prompt
    raise trouble or SetupError(
        f"No clip is in both: the scores have {_examples(scores.clips)}; the ratings have {_examples(judged.clips)}; "
        "name clips alike on both sides, or say which column names them with --clip-column"
    )


def knows_prompts(scores: SourceScores, judged: Judgements) -> bool:
    """Return True if a scored clip has the model and the prompt of a judged one."""
    theirs = _keys(judged).keys()
    return not scores.of_models and any(_keys(scores, by_name=named).keys() & theirs for named in (False, True))


def _by_names(scores: SourceScores, judged: Judgements) -> tuple[NameMatch, SetupError | None]:
    """Return the match under the names that match best, completed by the others; and the first clash."""
    schemes = (judged.clips, *judged.other_names)
    best, chosen = NameMatch((), ()), -1
    trouble: SetupError | None = None
    for number, names in enumerate(schemes):
        try:
            match = match_names(scores.clips, names, of_models=scores.of_models, by_file=not judged.by_prompt)
        except SetupError as error:
            trouble = trouble or error
            continue
        if len(match.pairs) > len(best.pairs):
            best, chosen = match, number
    for number, names in enumerate(schemes):
        if best.pairs and number != chosen:
            best = _completed(best, scores.clips, names)
    return best, trouble


def _completed(match: NameMatch, first: Sequence[str], second: Sequence[str]) -> NameMatch:
    """Return the match completed by clips matched under other names; a file's name alone does not count."""
    taken = [{pair[side] for pair in match.pairs} for side in (0, 1)]
    left = [row for row in range(len(first)) if row not in taken[0]]
    right = [row for row in range(len(second)) if row not in taken[1]]
    if not left or not right:
        return match
    try:
        more = match_names([first[row] for row in left], [second[row] for row in right], by_file=False)
    except SetupError:
        return match
    pairs = sorted((*match.pairs, *((left[a], right[b]) for a, b in more.pairs)))
    return NameMatch(tuple(pairs), tuple((Counter(dict(match.how)) + Counter(dict(more.how))).most_common()))


def _by_prompt(scores: SourceScores, judged: Judgements) -> NameMatch:
    """Return clips of one model and prompt on each side.

    Raises:
        SetupError: Several scored clips, or several judged ones, have the same model and prompt.
    """
    if scores.of_models or judged.of_models:
        return NameMatch((), ())
    keys = [_keys(side) for side in (scores, judged)]
    if not keys[0].keys() & keys[1].keys():
        keys[0] = _keys(scores, by_name=True)  # a prompt's number may be in the name beside its text in a column
    shared = keys[0].keys() & keys[1].keys()
    pairs = []
    for key in sorted(shared):
        ours, theirs = keys[0][key], keys[1][key]
        if len(ours) > 1 or len(theirs) > 1:
            prompt, model = scores.prompts[ours[0]] or key[1], scores.models[ours[0]] or key[0]
            sides = [listed([s.clips[n] for n in of], _EXAMPLES) for s, of in ((scores, ours), (judged, theirs))]
            raise SetupError(
                f"Model and prompt do not tell which clip is which: {prompt!r} of {model} is {sides[0]} (scores) and "
                f"{sides[1]} (ratings); name the clip in a column of the ratings"
            )
        pairs.append((ours[0], theirs[0]))
    return NameMatch(tuple(sorted(pairs)), (("model and prompt", len(pairs)),) if pairs else ())


def _keys(side: SourceScores | Judgements, *, by_name: bool = False) -> dict[_Key, list[int]]:
    """Return (model, prompt) as compared → clips; from the names where no column has them, or with ``by_name``."""
    none = [None] * len(side.clips)
    prompts, models = (list(none), list(none)) if by_name else (list(side.prompts), list(side.models))
    if not all(prompts) or not all(models):
        by_prompt, by_model, _ = groups_from_names(side.clips)
        prompts = [prompt or other for prompt, other in zip(prompts, by_prompt, strict=True)]
        models = [model or other for model, other in zip(models, by_model, strict=True)]
    rows: defaultdict[_Key, list[int]] = defaultdict(list)
    for row, (prompt, model) in enumerate(zip(prompts, models, strict=True)):
        if prompt and model:
            rows[_plain(model), _plain(stem(prompt)).lstrip("0") or "0"].append(row)
    return rows


def _plain(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text.casefold()))


def _what_is_missing(scores: SourceScores, judged: Judgements) -> str:
    """Return the reason why ratings of prompts of models match no clip, as text."""
    ours, theirs = _keys(scores), _keys(judged)
    if ours:
        models, prompts = ({key[part] for key in ours} & {key[part] for key in theirs} for part in (0, 1))
        why = f"{len(models)} models and {len(prompts)} prompts are in both, but no model with the same prompt"
    else:
        lacking = "prompts" if any(scores.models) else "models and prompts"
        why = f"the {lacking} of the scored clips are not known (score with --prompts, or give the scores such columns)"
    shown = [next(filter(None, side.prompts), None) for side in (scores, judged)]
    such = [f"{what} have {prompt!r}" for what, prompt in zip(("scores", "ratings"), shown, strict=True) if prompt]
    return (
        f"The ratings name no clip, only a model and a prompt, and no clip of the scores has both: {why}; the "
        f"{', the '.join(such)}. A column of the ratings that names the clip is needed (--clip-column)"
    )


def _examples(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:_EXAMPLES]) + (", ..." if len(names) > _EXAMPLES else "")
