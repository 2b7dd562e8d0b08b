"""Matching of scored clips with judged ones: by any of their names, else by model and prompt."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress

from vmmetrics.alignment.readers.judgements import Judgements
from vmmetrics.alignment.readers.names import NameMatch, groups_from_names, match_names, stem
from vmmetrics.alignment.readers.score_tables import SourceScores
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.markup import listed

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
