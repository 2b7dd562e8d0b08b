"""How usage errors read: one line that says what is wrong, and one that says where help is."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import typer

UsageError: type[Any] = typer.BadParameter.__bases__[0]  # click's; typer keeps it in other places by version

RENAMED: dict[str, tuple[str, ...]] = {
    "--again": ("--retry-errors",),
    "--against": ("--reference",),
    "--apply": ("--decisions",),
    "--asks": ("--repeats",),
    "--batch": ("--batch-size",),
    "--by": ("--sort-by", "--annotator", "--group-by"),
    "--face": ("--pair",),
    "--form": ("--video-format",),
    "--from": ("--from-folder",),
    "--group": ("--group-by",),
    "--higher": ("--higher-is-better",),
    "--lexicon": ("--metadata",),
    "--lower": ("--lower-is-better",),
    "--metric": ("--metrics",),
    "--most-fps": ("--max-fps",),
    "--n": ("--count",),
    "--only": ("--metrics", "--where"),
    "--prices": ("--price-per-million",),
    "--random": ("--draws",),
    "--rate": ("--stride",),
    "--repeats": ("--repeat-votes",),
    "--reviewer": ("--review-model",),
    "--side": ("--max-size",),
    "--size": ("--model-size", "--subset-size", "--count"),
    "--tokens": ("--max-tokens",),
    "--workers": ("--jobs",),
}
"""Names that options had, and what they are called now: the first that the command has."""


def no_such_option(name: str, known: list[str]) -> str:
    """Return what to say about an option that a command does not have.

    >>> no_such_option("--only", ["--out", "--metrics"])
    'No such option: --only; it is called --metrics now.'
    >>> no_such_option("--metric", ["--out", "--metrics"])
    'No such option: --metric; it is called --metrics now.'
    >>> no_such_option("--prompt", ["--out", "--prompts"])
    'No such option: --prompt; did you mean --prompts?'
    """
    said = f"No such option: {name}"
    now = [new for new in RENAMED.get(name, ()) if new in known]
    if now:
        return f"{said}; it is called {now[0]} now."
    close = get_close_matches(name, known)
    return f"{said}; did you mean {' or '.join(close)}?" if close else f"{said}."


def message_of(error: Any) -> str:
    """Return the message of a usage error, which names an option or command that may have been meant."""
    context = getattr(error, "ctx", None)
    name = getattr(error, "option_name", None)
    if context is not None and name is not None and hasattr(error, "possibilities"):
        known = [text for parameter in context.command.params for text in (*parameter.opts, *parameter.secondary_opts)]
        return no_such_option(name, known)
    return str(error.format_message())
