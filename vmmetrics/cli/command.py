"""Commands and groups: their help, their common options, and their error messages."""

from __future__ import annotations

import inspect
import re
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from vmmetrics.cli import config, terminal
from vmmetrics.cli.options import option
from vmmetrics.cli.usage import UsageError, is_help, message_of
from vmmetrics.utils.display.markup import clean

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_WHOLE = 10**4
"""Maximum characters of a sentence in the list of commands."""
_TYPES = {"int": "N", "int range": "N", "integer": "N", "integer range": "N", "float": "X", "float range": "X",
          "str": "TEXT", "text": "TEXT", "path": "PATH", "file": "PATH"}  # fmt: skip
"""Names of value types in help, independent of typer's version."""

Config = Annotated[
    str | None,
    option("YAML or TOML file with option values; the command line wins.", "--config", callback=config.apply,
           is_eager=True, metavar="PATH"),
]  # fmt: skip
Quiet = Annotated[bool, option("Print errors and the result only.", "--quiet", "-q")]


class _Readable:
    """Help formatter with two columns that fit 80 characters."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command's name in its line of usage."""
        pieces = ["[OPTIONS]", *(_usage(p) for p in self.get_params(ctx) if p.param_type_name == "argument")]  # type: ignore[attr-defined]
        return [*pieces, "COMMAND ..."] if isinstance(self, TyperGroup) else pieces

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with the first sentence of its help, which other formatters cut off."""
        with formatter.section("Commands"):
            commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}  # type: ignore[attr-defined]
            formatter.write_dl([(name, command.get_short_help_str(_WHOLE)) for name, command in commands.items()])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options, those of every command last."""
        kinds: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "Options of every command": []}
        for parameter in self.get_params(ctx):  # type: ignore[attr-defined]
            common = not {"--help", "--config", "--quiet"}.isdisjoint(parameter.opts)
            argument = parameter.param_type_name == "argument"
            kind = "Arguments" if argument else "Options of every command" if common else "Options"
            if not getattr(parameter, "hidden", False):
                kinds[kind].append(_record(parameter, ctx))
        if isinstance(self, TyperGroup):
            kinds = {"Options": kinds["Options"] + kinds["Options of every command"]}
            self.format_commands(ctx, formatter)
        for title, records in kinds.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=26)


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    if argument.nargs == -1 and not argument.metavar:
        name += "..."
    return name if argument.required else f"[{name}]"


def _record(parameter: Any, ctx: Any) -> tuple[str, str]:
    """Return names of a parameter with the kind of its value, and what it is for, with its default."""
    if parameter.param_type_name == "argument":
        return _usage(parameter).strip("[]"), parameter.help or ""
    names = sorted(parameter.opts, key=len)
    flag = getattr(parameter, "is_flag", False)
    if parameter.secondary_opts:
        names[-1] = f"--[no-]{names[-1].removeprefix('--')}"
    shown = ", ".join(names) + ("" if flag else f" {metavar(parameter, ctx)}")
    default, about = parameter.default, parameter.help or ""
    if parameter.required:
        about += " (required)"
    elif default is not None and parameter.show_default and not callable(default) and (default or not flag):
        text = "yes" if default is True else "no" if default is False else default
        about += f" (default: {' '.join(map(str, text)) if isinstance(text, tuple) else text})"
    return shown, about


def metavar(parameter: Any, ctx: Any) -> str:
    """Return the kind of value that an option takes, in a word, or its choices."""
    if parameter.metavar:
        return str(parameter.metavar)
    raw = parameter.display_type(ctx) if hasattr(parameter, "display_type") else parameter.make_metavar(ctx)
    text = re.sub(r"\.\.\.$", "", raw).strip("<>[]")
    text = re.sub(r"^list\[(.*)\]?$", r"\1", text).strip("[]")
    kinds = (
        [_TYPES.get(kind.lower(), kind) for kind in re.split(r"[,\s](?!range|RANGE)", text)]
        if "|" not in text
        else [text]
    )
    return " ".join(kinds)


class Command(_Readable, TyperCommand):
    """A command."""


class Group(_Readable, TyperGroup):
    """A group of commands; no usage error of any of them has control characters in its message."""

    def get_params(self, ctx: Any) -> Any:
        """Return the options, of which no switch is None: typer would load pydantic to read that."""
        parameters = super().get_params(ctx)
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.default is None:
                parameter.default = False
        return parameters

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the options of the group."""
        with _cleaned():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        with _cleaned():
            return super().invoke(ctx)


@contextmanager
def _cleaned() -> Iterator[None]:
    """Escape control characters in the message of a usage error: it repeats what the user or a file wrote."""
    try:
        yield
    except UsageError as error:
        if is_help(error):
            raise
        if hasattr(error, "possibilities"):
            error.message, error.possibilities = message_of(error), None
        error.message = clean(error.message)
        raise


class OnDemand(UserDict[str, Any]):
    """Commands by name; one that was not asked for yet is a group, or its place as ``module:function``."""

    def __getitem__(self, name: str) -> Any:
        command = super().__getitem__(name)
        if isinstance(command, str):
            module, _, function = command.partition(":")
            command = typer.Typer(add_completion=False, rich_markup_mode=None)
            loaded = getattr(import_module(f"vmmetrics.cli.{module}"), function)
            command.command(cls=Command, context_settings=SETTINGS)(with_common_options(loaded))
        if isinstance(command, typer.Typer):
            self[name] = command = typer.main.get_command(command)
            command.name = name
        return command


def with_common_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command's function with the options that every command has.

    A parameter of the function that is a dataclass stands for its fields, which are options.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(function)
    def command(**arguments: Any) -> None:
        arguments.pop("_config")
        quiet = arguments.pop("_quiet")
        for name, kind in groups.items():
            arguments[name] = kind(**{field.name: arguments.pop(field.name) for field in fields(kind)})
        with terminal.quietly(quiet):
            function(**arguments)

    parameters = inspect.signature(function).parameters
    defaults = {name: parameters[name].default for name in parameters if name not in groups}
    for kind in groups.values():
        hints |= get_type_hints(kind, include_extras=True)
        defaults |= {field.name: field.default for field in fields(kind)}
    defaults = dict(sorted(defaults.items(), key=lambda item: item[0] != "out"))  # first: what is needed most
    hints |= {"_config": Config, "_quiet": Quiet}
    defaults |= {"_config": None, "_quiet": False}
    command.__annotations__ = {name: hints[name] for name in defaults}
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(name, keyword, default=defaults[name], annotation=hints[name]) for name in defaults]
    vars(command).update(__signature__=inspect.Signature(own, return_annotation=None))
    return command


def group(
    text: str, commands: Mapping[str, str | typer.Typer], *, completion: bool = False, default: str | None = None
) -> typer.Typer:
    """Return a group of commands.

    Args:
        text: What it is for.
        commands: Each by its name: a group, or where its function is, as ``module:function``.
        completion: Whether it has the options that complete commands in a shell.
        default: Command that is meant where the first argument names none.
    """

    class Those(Group):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.commands, self.default = OnDemand(commands), default

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Read the arguments, those of the default command without its name."""
            if self.default and args and args[0] not in (*commands, "--help", "-h"):
                args = [self.default, *args]
            return list(super().parse_args(ctx, args))

    return typer.Typer(
        cls=Those,
        callback=lambda: None,
        help=text,
        no_args_is_help=True,
        context_settings=SETTINGS,
        add_completion=completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
