"""Messages to a model and its replies; settings, token counts and costs of an endpoint."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from vmmetrics.errors import SetupError, VMMetricsError
from vmmetrics.utils.schema import parse_json
from vmmetrics.utils.web import LEAST_SECRET, count

# Which model, where, and how it is asked.

KEY_VARIABLE = "VMMETRICS_ENDPOINT_KEY"
"""Environment variable with the key of the endpoint: it is read there and written nowhere."""
TIMEOUT = 180.0
"""Default seconds until a request without a complete answer counts as lost."""


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
        output_price: Price of a million output tokens.
        key_variable: Environment variable that holds the key; the key itself is never part of anything kept.
        extra: Further fields of the request's body (``reasoning_effort``, ``chat_template_kwargs``), ready for JSON.

    Raises:
        ValueError: The address or a further field is none or has a key in it, or a number cannot be.
    """

    url: str
    model: str
    tokens: int = 2048
    temperature: float | None = 0.0
    seed: int | None = None
    per_minute: float | None = None
    timeout: float = TIMEOUT
    input_price: float | None = None
    output_price: float | None = None
    key_variable: str = KEY_VARIABLE
    extra: Mapping[str, Any] = field(default_factory=dict)

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
        own = sorted(_OWN & set(self.extra))
        if own:
            raise ValueError(
                f"Expected no {own[0]!r} among the further fields of a request: it has a setting of its own"
            )
        if (
            self.extra
            and (key := self.key())
            and len(key) >= LEAST_SECRET
            and key in json.dumps(self.extra, ensure_ascii=False)
        ):
            raise ValueError(
                "Expected no API key in the further request fields; remove it there, it is read from the environment "
                f"variable {self.key_variable}"
            )

    @property
    def address(self) -> str:
        """URL of the requests."""
        return self.url.rstrip("/") + "/chat/completions"

    def part(self) -> dict[str, Any]:
        """Return the settings that an answer depends on, ready for JSON: without pace, prices and key."""
        names = ("model", "tokens", "temperature", "seed")
        part = {"url": self.url.rstrip("/"), **{name: getattr(self, name) for name in names}}
        return part | ({"extra": dict(self.extra)} if self.extra else {})

    def cost(self, input_tokens: float, output_tokens: float) -> float | None:
        """Return the price of so many tokens; None where prices are not known."""
        if self.input_price is None or self.output_price is None:
            return None
        return (input_tokens * self.input_price + output_tokens * self.output_price) / 1e6

    def key(self) -> str | None:
        """Return the endpoint's key, from the environment; None where there is none.

        Raises:
            SetupError: It holds what no header may; the library's own message would quote it.
        """
        key = os.environ.get(self.key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise SetupError(f"The key in {self.key_variable} holds characters that no header may")
        return key or None


_OWN = {
    *("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "seed", "response_format", "stream"),
    "n",
}
"""Fields of a request that this client sets, or whose replies it could not read."""


def further_fields(text: str | None, effort: str | None = None) -> dict[str, Any]:
    """Return further fields of a request's body, as a user writes them.

    Args:
        text: A JSON object.
        effort: The word for ``reasoning_effort`` ("low", "high").

    Raises:
        ValueError: The text is no such object, the word none, or both state the effort.

    >>> further_fields('{"top_p": 0.8}', "low")
    {'top_p': 0.8, 'reasoning_effort': 'low'}
    """
    try:
        fields = {} if text is None else parse_json(text)
    except ValueError as error:
        raise ValueError(f"Expected a JSON object of further fields of requests: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError("Expected a JSON object of further fields of requests, in braces")
    if effort is None:
        return fields
    if not effort.isalpha() or not effort.isascii():
        raise ValueError(f"Expected a word for the reasoning effort, such as low or high, but got {effort!r}")
    if fields.get("reasoning_effort", effort) != effort:
        raise ValueError("Expected the reasoning effort once, not twice")
    return fields | {"reasoning_effort": effort}


_MOST_TOKENS = 10**9  # of one request; no model takes a thousandth of it


class NoAnswerError(VMMetricsError):
    """No answer arrived; a later try may succeed."""


class RejectedError(SetupError):
    """The endpoint does not take this request (status 400, 413, 422); it may take others."""


class TooLongError(RejectedError):
    """The conversation with the tokens of its answer is more than the model takes; a shorter answer may fit."""


class CostLimitError(VMMetricsError):
    """The next request could exceed the cost limit; earlier answers are stored."""


@dataclass(frozen=True, slots=True)
class Video:
    """A video that is sent as a whole, to endpoints that take one.

    Attributes:
        data: The file.
        frames: How many frames it has, for estimates.
        kind: Its media type.
    """

    data: bytes
    frames: int
    kind: str = "video/mp4"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: ours, with or without pictures, or the model's.

    Attributes:
        role: ``"system"``, ``"user"`` or ``"assistant"``.
        text: Text of the message.
        pictures: JPEG files that go before them.
        video: A video that goes before them.
        before: Text before the pictures.
    """

    role: str
    text: str
    pictures: tuple[bytes, ...] = ()
    video: Video | None = None
    before: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of a model.

    Attributes:
        text: Text; empty where the model refused by other means.
        refused: True if the model, or a filter before it, refused.
        cut: True if the answer was cut off for its length.
        input_tokens: Tokens that were sent, as the endpoint counts them; None where it does not say.
        output_tokens: Tokens of the answer, thinking included; None where it does not say.
    """

    text: str
    refused: bool = False
    cut: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None


def tokens(stated: object) -> int | None:
    """Return a number of tokens of one request as an endpoint or a kept file states it; None where it is none."""
    return count(stated, _MOST_TOKENS)


# What requests cost: estimated before, counted after, and bounded.

CHARACTERS_PER_TOKEN = 4
"""Of English text, by the rule of thumb that providers give; JSON and other languages have fewer."""
PICTURE_TOKENS = 765
"""Of a picture of 1024 x 1024 by OpenAI's published rule (85, and 170 for each of four tiles); smaller
ones have less."""
TURN_TOKENS = 4
"""Around each turn, for its role and its ends."""


def estimated_tokens(turns: Sequence[Turn]) -> int:
    """Return the tokens of a conversation, roughly.

    >>> estimated_tokens([Turn("user", "a" * 400)])
    104
    """
    texts = sum(TURN_TOKENS + math.ceil(len(turn.before + turn.text) / CHARACTERS_PER_TOKEN) for turn in turns)
    return texts + PICTURE_TOKENS * sum(len(turn.pictures) + (turn.video.frames if turn.video else 0) for turn in turns)


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Estimated tokens and cost of a run.

    Attributes:
        requests: Number of requests not answered yet.
        input_tokens: Estimated tokens that they send.
        output_tokens: Expected tokens of the answers.
        cost: Price, or None without prices.
        most: Price if every answer took all the tokens it may, or None. Neither price includes asking again.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    most: float | None

    def __add__(self, other: CostEstimate) -> CostEstimate:
        """Return the sum of both."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        sums: list[Any] = [None if None in pair else sum(pair) for pair in pairs]
        return CostEstimate(*sums)

    def __str__(self) -> str:
        tokens = f"about {self.input_tokens:,} tokens in and {self.output_tokens:,} out"
        if self.cost is None or self.most is None:
            return f"{self.requests:,} requests, {tokens}; give prices to see the cost"
        return (
            f"{self.requests:,} requests, {tokens}: about {self.cost:.2f}, at most {self.most:.2f} if asked once each"
        )


def estimate(
    settings: EndpointSettings, conversations: Iterable[Sequence[Turn]], expected: int, pictures: int = 0
) -> CostEstimate:
    """Estimate the tokens and cost of conversations.

    Args:
        settings: Settings with the prices.
        conversations: Those that are not answered yet.
        expected: Tokens of a usual answer.
        pictures: Tokens of the pictures that go with them.
    """
    sizes = [estimated_tokens(turns) for turns in conversations]
    total = sum(sizes) + pictures
    usual, most = len(sizes) * min(expected, settings.tokens), len(sizes) * settings.tokens
    return CostEstimate(len(sizes), total, usual, settings.cost(total, usual), settings.cost(total, most))


class Ledger:
    """Counter of tokens and cost that stops at a limit; for several threads.

    Args:
        settings: Settings with the prices.
        max_cost: Limit of the cost, in the currency of the prices; None for none.

    Attributes:
        requests: Replies that were paid for.
        input_tokens: Tokens sent; estimated where the endpoint does not count.
        output_tokens: Tokens of the answers; estimated where the endpoint does not count.

    Raises:
        SetupError: There is a limit without prices, or it is not a number.
    """

    def __init__(self, settings: EndpointSettings, max_cost: float | None = None) -> None:
        if max_cost is not None and settings.input_price is None:
            raise SetupError("A bound on the cost needs the prices of input and output tokens")
        if max_cost is not None and not max_cost >= 0:
            raise SetupError(f"Expected a bound on the cost of 0 or more but got {max_cost:g}")
        self._settings = settings
        self._max_cost = max_cost
        self._promised = 0.0  # what the requests on their way can cost
        self._lock = threading.Lock()
        self.requests = self.input_tokens = self.output_tokens = 0

    @property
    def cost(self) -> float | None:
        """Cost so far, or None without prices."""
        return self._settings.cost(self.input_tokens, self.output_tokens)

    def __str__(self) -> str:
        cost = "" if self.cost is None else f", cost {self.cost:.4f}"
        return f"{self.requests:,} replies, {self.input_tokens:,} tokens in and {self.output_tokens:,} out{cost}"

    def promise(self, turns: Sequence[Turn], limit: int | None = None) -> float:
        """Reserve the most that a request can cost; ``limit`` replaces the settings' tokens of the answer.

        Returns:
            The sum, to be given back with :meth:`settle`.

        Raises:
            CostLimitError: It could go over the bound.
        """
        most = self._settings.cost(estimated_tokens(turns), limit or self._settings.tokens) or 0.0
        with self._lock:
            spent = self.cost or 0.0
            if self._max_cost is not None and spent + self._promised + most > self._max_cost:
                raise CostLimitError(
                    f"Stopped before the bound of {self._max_cost:g}: {spent:.4f} spent, {self._promised:.4f} on its "
                    f"way, and the next request can cost {most:.4f}"
                )
            self._promised += most
        return most

    def settle(self, promised: float, turns: Sequence[Turn], reply: Reply | None) -> None:
        """Release a reservation and count the reply's tokens; None for a request without a reply."""
        with self._lock:
            self._promised -= promised
            if reply is None:
                return
            guessed = math.ceil(len(reply.text) / CHARACTERS_PER_TOKEN)
            self.requests += 1
            self.input_tokens += estimated_tokens(turns) if reply.input_tokens is None else reply.input_tokens
            self.output_tokens += guessed if reply.output_tokens is None else reply.output_tokens
