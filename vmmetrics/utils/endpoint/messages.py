"""What is said to a model, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass

from vmmetrics.errors import SetupError, VMMetricsError
from vmmetrics.utils.web import count

_MOST_TOKENS = 10**9  # of one request; no model takes a thousandth of it


class NoAnswerError(VMMetricsError):
    """No answer could be had; another time it might."""


class RejectedError(SetupError):
    """The endpoint does not take this request (status 400, 413, 422); it may take others."""


class CostLimitError(VMMetricsError):
    """The next request could cost more than is left; what was answered before is kept."""


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
    """One thing said: by us, with pictures or without, or by the model.

    Attributes:
        role: ``"system"``, ``"user"`` or ``"assistant"``.
        text: The words.
        pictures: JPEG files that go before them.
        video: A video that goes before them.
    """

    role: str
    text: str
    pictures: tuple[bytes, ...] = ()
    video: Video | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        text: The words; empty where the model refused by other means.
        refused: Whether the model, or a filter before it, refused.
        cut: Whether the answer was cut off for its length.
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
