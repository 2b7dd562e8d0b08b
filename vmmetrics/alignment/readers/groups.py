"""Which prompt and which model a clip belongs to, where only its name can say."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from vmmetrics.alignment.readers.names import stem

_NUMBER_FIRST = re.compile(r"^(?P<prompt>\d+)[_-](?P<model>.*\D.*)$")
_NUMBER_LAST = re.compile(r"^(?P<model>.*\D.*?)[_-](?P<prompt>\d+)$")

Groups = tuple[list[str | None], list[str | None], str | None]


def groups_from_names(clips: Sequence[str]) -> Groups:
    """Prompts and models told from names, if the whole set follows one pattern.

    The patterns are a folder per model with clips of the same names in each, ``PPP_model.mp4`` and ``model_PPP.mp4``.
    A pattern counts only if no two clips share prompt and model and most prompts have clips of several models.

    Args:
        clips: Names.

    Returns:
        (N,) prompts, (N,) models (None throughout where no pattern fits), and the pattern in words.
    """
    for split, words in (
        (_by_folder, "a folder per model"),
        (_by_pattern(_NUMBER_FIRST), "names of the form PROMPT_MODEL"),
        (_by_pattern(_NUMBER_LAST), "names of the form MODEL_PROMPT"),
    ):
        found = [split(name.replace("\\", "/")) for name in clips]
        told = [pair for pair in found if pair is not None]
        if len(told) == len(clips) and _is_crossed(told):
            return [prompt for prompt, _ in told], [model for _, model in told], words
    return [None] * len(clips), [None] * len(clips), None


def _by_folder(name: str) -> tuple[str, str] | None:
    path = PurePosixPath(name)
    return (stem(path.name), str(path.parent)) if path.parent.name else None


def _by_pattern(pattern: re.Pattern[str]) -> Callable[[str], tuple[str, str] | None]:
    def split(name: str) -> tuple[str, str] | None:
        match = pattern.match(stem(PurePosixPath(name).name))
        return (match["prompt"], match["model"]) if match else None

    return split


def _is_crossed(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether prompts and models make a design: several of each, no cell twice, most prompts with several models."""
    models_of: defaultdict[str, set[str]] = defaultdict(set)
    for prompt, model in pairs:
        models_of[prompt].add(model)
    several = sum(len(models) > 1 for models in models_of.values())
    return (
        len(set(pairs)) == len(pairs)
        and len({model for _, model in pairs}) > 1
        and len(models_of) > 1
        and 2 * several > len(models_of)
    )
