from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
import typer.main

from vmmetrics.cli import options
from vmmetrics.cli.app import app
from vmmetrics.cli.running import parse_bytes, parse_shard
from vmmetrics.video import timing

Captured = pytest.CaptureFixture[str]
WRONG = ("nan", "inf", "-inf", "1e999", "9" * 400, "-" + "9" * 400, "9" * 5000)


def _numeric(commands: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, int]]:
    """Yield each command's path with each option of it that takes numbers, and how many it takes."""
    for name, command in commands.items():
        if hasattr(command, "commands"):
            yield from _numeric(command.commands, (*path, name))
            continue
        for parameter, hint in get_type_hints(command.callback, include_extras=True).items():
            (kind, *more) = get_args(hint) if get_origin(hint) is Annotated else (hint,)
            options = re.findall(r"\b(?:int|float)\b", str(kind))
            if options:
                (option,) = more
                named = option.default if isinstance(option.default, str) else f"--{parameter.replace('_', '-')}"
                yield (*path, name), named, len(options)


OPTIONS = list(_numeric(typer.main.get_command(app).commands))


def test_the_walk_sees_every_numeric_option() -> None:
    names = {(*path, option) for path, option, _ in OPTIONS}
    assert {
        ("score", "--assume-fps"),
        ("cas", "train", "--lr"),
        ("plan", "--raters"),
        ("probe", "--tolerance"),
    } <= names
    assert len(names) >= 90


def test_no_option_takes_a_number_without_bounds() -> None:
    commands = typer.main.get_command(app)
    for path, option, values in OPTIONS:
        for wrong in WRONG:
            given = (f"{option}={wrong}",) if values == 1 else (option, *[wrong] * values)
            with pytest.raises(typer.BadParameter) as refused:
                commands.main([*path, *given], standalone_mode=False)
            assert option in refused.value.format_message(), (path, option)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--assume-fps", "1e9"], "1000"),
        (["--assume-fps", "0"], "0.01"),
        (["--assume-fps", "nan"], "1000"),
        (["--jobs", "100000"], "1024"),
        (["--max-memory", "9" * 400], "1024TB"),
        (["--max-memory", "9999TB"], "1024TB"),
        (["--max-memory", "0.0000000001"], "1024TB"),
        (["--max-memory", "٣GB"], "1024TB"),
        (["--shard", "1/" + "9" * 5000], "1 <= i <= n"),
        (["--shard", "0/3"], "1 <= i <= n"),
    ],
)
def test_usage_errors_name_the_option_and_the_range(
    arguments: list[str], expected: str, vmmetrics: Any, make_clips: Any, capsys: Captured
) -> None:
    assert vmmetrics("score", make_clips("a"), *arguments) == 2
    shown = capsys.readouterr().err
    assert arguments[0] in shown
    assert expected in shown
    assert len(shown) < 2000


def test_sizes_and_shards_within_bounds_are_read() -> None:
    assert (parse_bytes("1.5 GiB"), parse_bytes("512mb"), parse_bytes("100")) == (3 * 2**29, 2**29, 100)
    assert (parse_shard("2/8"), parse_shard(" 1/999999999 ")) == ((2, 8), (1, 999999999))


def test_the_bound_on_rates_is_the_readers() -> None:
    assert options.MAX_FPS == timing.MAX_FPS
