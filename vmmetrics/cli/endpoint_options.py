"""Options of the commands that ask a model behind an endpoint, and the client that they describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli.numbers import MAX_COUNT, MAX_JOBS, MAX_PRICE, finite

if TYPE_CHECKING:
    from vmmetrics.utils.endpoint import Client

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
