"""What requests cost: estimated before, counted after, and bounded."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vmmetrics.errors import SetupError
from vmmetrics.utils.endpoint.messages import CostLimitError, Reply, Turn
from vmmetrics.utils.endpoint.settings import EndpointSettings

CHARACTERS_PER_TOKEN = 4
"""Of English text, by the rule of thumb that providers give; JSON and other languages have fewer."""
PICTURE_TOKENS = 765
"""Of a picture of 1024 x 1024 by OpenAI's published rule (85, and 170 for each of four tiles); smaller
ones have less."""
TURN_TOKENS = 4
"""Around each turn, for its role and its ends."""


def estimated_tokens(turns: Sequence[Turn]) -> int:
    """Tokens of a conversation, roughly.

    >>> estimated_tokens([Turn("user", "a" * 400)])
    104
    """
    texts = sum(TURN_TOKENS + math.ceil(len(turn.text) / CHARACTERS_PER_TOKEN) for turn in turns)
    return texts + PICTURE_TOKENS * sum(len(turn.pictures) + (turn.video.frames if turn.video else 0) for turn in turns)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would take.

    Attributes:
        requests: How many are not answered yet.
        input_tokens: That they send, roughly.
        output_tokens: That come back, by what the caller expects.
        cost: Their price, or None where prices are not known.
        most: Price if every answer took all the tokens it may; None likewise. Asking again is in neither.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    most: float | None

    def __add__(self, other: Estimate) -> Estimate:
        """Of both together."""
        return Estimate(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            None if self.most is None or other.most is None else self.most + other.most,
        )

    def __str__(self) -> str:
        tokens = f"about {self.input_tokens:,} tokens in and {self.output_tokens:,} out"
        if self.cost is None or self.most is None:
            return f"{self.requests:,} requests, {tokens}; give prices to see the cost"
        return (
            f"{self.requests:,} requests, {tokens}: about {self.cost:.2f}, at most {self.most:.2f} if asked once each"
        )


def estimate(settings: EndpointSettings, conversations: Iterable[Sequence[Turn]], expected: int) -> Estimate:
    """What conversations would take.

    Args:
        settings: With the prices.
        conversations: Those that are not answered yet.
        expected: Tokens of a usual answer.
    """
    sizes = [estimated_tokens(turns) for turns in conversations]
    total, count = sum(sizes), len(sizes)
    expected = min(expected, settings.tokens)
    return Estimate(
        count,
        total,
        count * expected,
        settings.cost(total, count * expected),
        settings.cost(total, count * settings.tokens),
    )


class Ledger:
    """Counts tokens and money, and stops before a bound; for several threads.

    Args:
        settings: With the prices.
        max_cost: Most that may be spent, in the currency of the prices; None for no bound.

    Attributes:
        requests: Replies that were paid for.
        input_tokens: Of them; estimated where the endpoint does not count.
        output_tokens: Likewise.

    Raises:
        SetupError: There is a bound but no prices, or it is no number.
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
        """What was spent, or None where prices are not known."""
        return self._settings.cost(self.input_tokens, self.output_tokens)

    def __str__(self) -> str:
        cost = "" if self.cost is None else f", cost {self.cost:.4f}"
        return f"{self.requests:,} replies, {self.input_tokens:,} tokens in and {self.output_tokens:,} out{cost}"

    def promise(self, turns: Sequence[Turn]) -> float:
        """Set aside what a request can cost at most.

        Returns:
            The sum, to be given back with :meth:`settle`.

        Raises:
            CostLimitError: It could go over the bound.
        """
        most = self._settings.cost(estimated_tokens(turns), self._settings.tokens) or 0.0
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
        """Give back what was set aside, and count what came of it; None for a request that brought nothing."""
        with self._lock:
            self._promised -= promised
            if reply is None:
                return
            guessed = math.ceil(len(reply.text) / CHARACTERS_PER_TOKEN)
            self.requests += 1
            self.input_tokens += estimated_tokens(turns) if reply.input_tokens is None else reply.input_tokens
            self.output_tokens += guessed if reply.output_tokens is None else reply.output_tokens
