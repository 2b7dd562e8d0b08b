"""What the commands on prompt lists must not do with the files they are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from vmmetrics.utils.endpoint import Client


# Bounds of the numbers that options take: nothing larger is meant, and what counts by them must not overflow.

MAX_COUNT = 10**9
"""Of clips, prompts, frames, tokens, pixels, draws."""
MAX_JOBS = 1024
"""Of processes and threads."""
MAX_SEED = 2**63 - 1
"""Larger ones torch refuses."""
MAX_FPS = 1000.0
"""As :data:`vmmetrics.video.timing.MAX_FPS`, which would load numpy into every command."""
MAX_SECONDS = 1e6
"""Eleven days; waiting in the system overflows at 24."""
MAX_PRICE = 1e9
"""In the money of the prices given."""


_Number = TypeVar("_Number", bound=float | tuple[float, ...] | None)


def finite(value: _Number) -> _Number:
    """Return an option's float, tuple of floats or None; the range check of an option lets NaN pass.

    Raises:
        typer.BadParameter: One is NaN or infinite.
    """
    numbers = value if isinstance(value, tuple) else (value,)
    if not all(number is None or math.isfinite(number) for number in numbers):
        raise typer.BadParameter(f"expected a finite number but got {value}")
    return value


# Options of the commands that ask a model behind an endpoint, and the client that they describe.

KEY_VARIABLE = "VMMETRICS_ENDPOINT_KEY"
"""As :data:`vmmetrics.utils.endpoint.KEY_VARIABLE`, which would load the client into every command."""

Url = Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint (http://localhost:8000/v1).")]
ModelThere = Annotated[str | None, typer.Option(help="Name of the model there.")]
Tokens = Annotated[int, typer.Option(min=1, max=MAX_COUNT, help="Most tokens of an answer.")]
PerMinute = Annotated[
    float | None,
    typer.Option(min=0.01, max=MAX_COUNT, callback=finite, help="Most requests a minute, to each endpoint."),
]
Threads = Annotated[int, typer.Option(min=1, max=MAX_JOBS, help="Questions in the air at once.")]
Prices = Annotated[
    tuple[float, float] | None,
    typer.Option(callback=finite, metavar="IN OUT", help="Of a million tokens sent, and answered."),
]
MaxCost = Annotated[
    float | None, typer.Option(min=0, max=MAX_PRICE, callback=finite, help="Stop before more than this is spent.")
]
KeyEnv = Annotated[str, typer.Option(help="Environment variable with the endpoint's key.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask whether the cost is fine.")]


def open_client(
    url: str | None,
    model: str | None,
    replies: Path,
    *,
    tokens: int,
    temperature: float = 0.0,
    per_minute: float | None,
    prices: tuple[float, float] | None,
    max_cost: float | None,
    key_env: str,
) -> Client | None:
    """The client of an endpoint; None where no endpoint is named.

    Args:
        url: Base address.
        model: Name of the model there.
        replies: Folder where replies are kept.
        tokens: Of an answer, at most.
        temperature: Of the sampling.
        per_minute: Requests, at most.
        prices: Of a million tokens sent, and answered.
        max_cost: Most that may be spent.
        key_env: Environment variable with the key.

    Raises:
        typer.BadParameter: The options do not go together, or one cannot be.
    """
    from vmmetrics.utils.endpoint import Client, EndpointSettings

    if (url is None) != (model is None):
        raise typer.BadParameter("--url and --model go together")
    if url is None or model is None:
        if prices is not None or max_cost is not None:
            raise typer.BadParameter("prices and a bound on the cost need --url and --model")
        return None
    given, answered = prices or (None, None)
    try:
        settings = EndpointSettings(
            url, model, tokens=tokens, temperature=temperature, per_minute=per_minute, input_price=given,
            output_price=answered, key_variable=key_env,
        )  # fmt: skip
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return Client(settings, replies, max_cost)


def check_outputs(lists: Sequence[str], outputs: Sequence[Path | None]) -> None:
    """Refuse, before any work, outputs that would overwrite a list that is read, or one another.

    Args:
        lists: Lists that are read, as given.
        outputs: Files that will be written; None for those not asked for.

    Raises:
        typer.BadParameter: One would.
    """
    from vmmetrics.utils.weights.shipped import shipped_list

    written = [path.resolve() for path in outputs if path is not None]
    if set(written) & {shipped_list(name).resolve() for name in lists}:
        raise typer.BadParameter("a list that is read would be written over; choose another name")
    if len(set(written)) < len(written):
        raise typer.BadParameter("two of the files to be written are one; give them different names")
