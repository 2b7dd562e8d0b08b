"""Option values from a YAML or TOML file."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from vmmetrics.errors import os_reason
from vmmetrics.utils.storage.opening import read_regular

MOST_NESTED = 10
"""Deepest nesting of a file that is read; options have two levels at most."""
MAX_BYTES = 2**20
"""Maximum size of an option file in bytes."""


def apply(ctx: typer.Context, path: str | None) -> str | None:
    """Make the values of a file the defaults of the command's options, and note the file for the run's record.

    Raises:
        typer.BadParameter: The file cannot be read, or has a key that is no option of the command, or a value that the
            option cannot have.
    """
    from vmmetrics.utils.storage import provenance

    provenance.note_config(None)
    if path is None or ctx.resilient_parsing:
        return path
    read = _read(Path(path))
    options: dict[str, Any] = {}
    for parameter in ctx.command.params:
        if parameter.param_type_name == "option" and parameter.name != "_config":
            longest = max(parameter.opts, key=len)
            options[longest.removeprefix("--")] = parameter
    values: dict[str, Any] = {}
    for key, value in read.items():
        name = key.replace("_", "-")
        if name not in options:
            close = get_close_matches(name, options)
            hint = f"did you mean {' or '.join(close)}?" if close else f"{ctx.command_path} has {', '.join(options)}"
            raise typer.BadParameter(f"{path}: no option is called {key!r}; {hint}")
        values[options[name].name] = _typed(options[name], name, value, path)
    ctx.default_map = {**(ctx.default_map or {}), **values}
    provenance.note_config({"path": str(Path(path).absolute()), "content": read})
    return path


def _read(path: Path) -> dict[str, Any]:
    if path.suffix.lower() not in (".yaml", ".yml", ".toml"):
        raise typer.BadParameter(f"expected a file that ends in .yaml, .yml or .toml but got {path}")
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8-sig")
        if path.suffix.lower() == ".toml":
            import tomllib

            read: Any = tomllib.loads(text)
        else:
            import yaml

            try:
                depth = 0
                for event in yaml.parse(text, yaml.SafeLoader):
                    if isinstance(event, yaml.AliasEvent):
                        raise ValueError("aliases (*name) are not read; write each value out")
                    depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
                    if depth > MOST_NESTED:
                        raise ValueError(f"lists within lists, more than {MOST_NESTED} deep")
                read = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(str(error)) from None
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {os_reason(error)}") from None
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if read is None:
        return {}
    if not isinstance(read, Mapping) or not all(isinstance(key, str) for key in read):
        raise typer.BadParameter(f"{path}: expected names of options with their values")
    return dict(read)


def _typed(option: Any, name: str, value: Any, path: str) -> Any:
    """Return a value as the command line would pass it: text, except for switches; a list for repeatable options."""

    def wrong(expected: str) -> typer.BadParameter:
        return typer.BadParameter(f"{path}: expected {expected} for {name} but got {reprlib.repr(value)}")

    if getattr(option, "is_flag", False):
        if not isinstance(value, bool):
            raise wrong("true or false")
        return value
    several = option.multiple or option.nargs != 1
    joined = not several and str(option.metavar or "").endswith(",...")
    values = value if isinstance(value, list) else [value]
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in values):
        raise wrong("text or a number" if not (several or joined) else "text or numbers")
    texts = [one if isinstance(one, str) else repr(one) for one in values]
    if several:
        if option.nargs not in (1, len(texts)):
            raise wrong(f"a list of {option.nargs}")
        return texts
    if joined:
        return ",".join(texts)
    if isinstance(value, list):
        raise wrong("one value")
    return texts[0]
