"""Messages of usage errors: one line on what is wrong, and one on where help is."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import typer

from vmmetrics.utils.display.markup import clean, shortened
from vmmetrics.utils.storage.addresses import masked

UsageError: type[Any] = typer.BadParameter.__bases__[0]  # click's; typer keeps it in other places by version

_LONGEST = 4000  # characters of a line of an error
_MASKED = 10_000  # of which the first so many are looked through for secrets

RENAMED: dict[str, tuple[str, ...]] = {
    "--again": ("--retry-errors",),
    "--against": ("--reference",),
    "--apply": ("--decisions",),
    "--asks": ("--repeats",),
    "--batch": ("--batch-size",),
    "--csv": ("--format csv > FILE",),
    "--by": ("--sort-by", "--annotator", "--group-by"),
    "--face": ("--pair",),
    "--form": ("--video-format",),
    "--from": ("--from-folder",),
    "--group": ("--group-by",),
    "--higher": ("--higher-is-better",),
    "--lexicon": ("--metadata",),
    "--json": ("--format json > FILE",),
    "--latex": ("--format latex > FILE",),
    "--lower": ("--lower-is-better",),
    "--markdown": ("--format markdown > FILE",),
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
"""Old names of options → current ones; the first that the command has is suggested."""

ELSEWHERE: dict[str, tuple[str, ...]] = {
    "--asks": ("--limit",),
    "--dimension": ("--metrics",),
    "--dimensions": ("--metrics",),
    "--num-workers": ("--jobs", "--threads"),
    "--output-dir": ("--out",),
    "--output-file": ("--out",),
    "--output-path": ("--out",),
}
"""Option names of other tools (with dashes) → ours; the first that the command has is suggested."""


def no_such_option(name: str, available: list[str]) -> str:
    """Return what to say about an option that a command does not have.

    >>> no_such_option("--only", ["--out", "--metrics"])
    'No such option: --only; use --metrics instead.'
    >>> no_such_option("--metric", ["--out", "--metrics"])
    'No such option: --metric; use --metrics instead.'
    >>> no_such_option("--prompt", ["--out", "--prompts"])
    'No such option: --prompt; did you mean --prompts?'
    >>> no_such_option("--output_dir", ["--out", "--metrics"])
    'No such option: --output_dir; did you mean --out?'
    """
    text = f"No such option: {name}"
    now = [new for new in RENAMED.get(name, ()) if new.split()[0] in available]
    if now:
        return f"{text}; use {now[0]} instead."
    close = [ours for ours in ELSEWHERE.get(name.replace("_", "-"), ()) if ours in available][:1]
    close = close or get_close_matches(name.replace("_", "-"), available, cutoff=0.75)
    return f"{text}; did you mean {' or '.join(close)}?" if close else f"{text}."


def report(error: Any) -> str:
    """Return a usage error of typer's as it is printed: what is wrong, and where help is."""
    context = getattr(error, "ctx", None)
    if is_help(error):
        return str(error.format_message())
    hint = "" if context is None else f"\nSee '{context.command_path} -h'."
    return f"vmmetrics: error: {shown(message_of(error))}{hint}"


def shown(line: str) -> str:
    """Return a line of an error without control characters and secrets of addresses, cut if it quotes a whole file."""
    return clean(shortened(masked(line[:_MASKED]), _LONGEST))


def is_help(error: Any) -> bool:
    """Return True if what typer raises is the help of a group that was called without a command."""
    return type(error).__name__ == "NoArgsIsHelpError"


def message_of(error: Any) -> str:
    """Return the message of a usage error: the option or argument at fault, and what is wrong with it."""
    context, name = getattr(error, "ctx", None), getattr(error, "option_name", None)
    if context is not None and name is not None and hasattr(error, "possibilities"):
        available = [
            text for parameter in context.command.params for text in (*parameter.opts, *parameter.secondary_opts)
        ]
        return no_such_option(name, available)
    message, parameter = str(error.message).removeprefix("Value error, "), getattr(error, "param", None)
    hint = getattr(error, "param_hint", None)
    if hint is None and parameter is not None:
        of_option = parameter.param_type_name == "option"
        hint = max(parameter.opts, key=len) if of_option else parameter.metavar or parameter.name.upper()
    if type(error).__name__ == "MissingParameter":
        return f"Missing {hint}"
    if not hasattr(error, "param_hint"):
        return str(error.format_message())
    if hint is None:
        return message[:1].upper() + message[1:]
    shown = message if message[1:2].isupper() else message[:1].lower() + message[1:]
    return f"{hint}: {shown}"
