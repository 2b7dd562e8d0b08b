"""Which model, where, and how it is asked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from vmmetrics.errors import SetupError

KEY_VARIABLE = "VMMETRICS_ENDPOINT_KEY"
"""Environment variable with the key of the endpoint: it is read there and written nowhere."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """An OpenAI-compatible endpoint, and how it is asked.

    Attributes:
        url: Base address (``http://localhost:8000/v1``); requests go to ``{url}/chat/completions``.
        model: Name of the model there.
        tokens: Most tokens of an answer; models that think before they answer need more.
        temperature: Sampling temperature, 0 or more; None leaves it to the endpoint.
        seed: Seed of the sampling where the endpoint has one; None sends none.
        per_minute: Most requests a minute of one client (all its threads together); None leaves it to the endpoint.
        timeout: Seconds until a request that is not answered in full counts as lost.
        input_price: Price of a million tokens that are sent, in any currency; None where it is not known.
        output_price: Price of a million tokens that are answered.
        key_variable: Environment variable that holds the key; the key itself is never part of anything kept.

    Raises:
        ValueError: The address is none or has a key in it, or a number cannot be.
    """

    url: str
    model: str
    tokens: int = 2048
    temperature: float | None = 0.0
    seed: int | None = None
    per_minute: float | None = None
    timeout: float = 180.0
    input_price: float | None = None
    output_price: float | None = None
    key_variable: str = KEY_VARIABLE

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"Expected an address that begins with http:// or https:// but got {self.url!r}")
        parts = urlsplit(self.url)
        if parts.query or "@" in parts.netloc:  # it is written into records
            raise ValueError(f"Expected an address without a key in it; put the key into {self.key_variable}")
        if not self.model:
            raise ValueError("Expected the name of a model but got an empty text")
        if self.tokens < 1 or self.timeout <= 0 or (self.per_minute is not None and not self.per_minute > 0):
            raise ValueError("Expected tokens, timeout and requests a minute to be positive")
        not_negative = (self.temperature, self.input_price, self.output_price)
        if any(number is not None and not 0 <= number < float("inf") for number in not_negative):
            raise ValueError("Expected temperature and prices to be 0 or more")
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError("Expected both prices, of input and of output, or neither")

    @property
    def address(self) -> str:
        """Where requests go."""
        return self.url.rstrip("/") + "/chat/completions"

    def part(self) -> dict[str, Any]:
        """What an answer depends on, ready for JSON: not the pace, the prices, or the key."""
        names = ("model", "tokens", "temperature", "seed")
        return {"url": self.url.rstrip("/"), **{name: getattr(self, name) for name in names}}

    def cost(self, input_tokens: float, output_tokens: float) -> float | None:
        """Price of so many tokens; None where prices are not known."""
        if self.input_price is None or self.output_price is None:
            return None
        return (input_tokens * self.input_price + output_tokens * self.output_price) / 1e6

    def key(self) -> str | None:
        """The endpoint's key, from the environment; None where there is none.

        Raises:
            SetupError: It holds what no header may; the library's own message would quote it.
        """
        key = os.environ.get(self.key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise SetupError(f"The key in {self.key_variable} holds characters that no header may")
        return key or None
