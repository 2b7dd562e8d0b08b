"""A judge behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vmmetrics.baselines.judge.asking import JudgeSettings
from vmmetrics.baselines.judge.questions import schema
from vmmetrics.endpoint import Endpoint as AnyEndpoint
from vmmetrics.endpoint import NoAnswerError, Reply, Turn
from vmmetrics.errors import ClipError


class Endpoint:
    """Asks a model behind an endpoint.

    Args:
        settings: Which, and where.
    """

    identity: Mapping[str, Any] = {"temperature": 0}

    def __init__(self, settings: JudgeSettings) -> None:
        self._endpoint = AnyEndpoint(settings.at_endpoint())

    def reply(self, turns: Sequence[Turn]) -> Reply:
        """Answer what was said so far; what may pass is tried again.

        Raises:
            ClipError: No answer, however often it was tried.
            SetupError: The endpoint does not take such requests, or not from us.
        """
        try:
            return self._endpoint.reply(turns, schema())
        except NoAnswerError as error:
            raise ClipError(f"The judge gave {error}") from error
