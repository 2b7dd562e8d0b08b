"""Requests and answers of the reward server: the form of UniRL's reward service, and a plain one of ours.

UniRL's contract was read from Tencent-Hunyuan/UniRL, ``unirl-reward-service/reward_service/schemas.py`` of commit
cb03dcd4 and ``unirl/reward/remote.py`` of commit 0e713d63, on 2026-11-28.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, TypeAdapter

from vmmetrics.functional.tripwires import UNITS
from vmmetrics.scoring.anchors import INDEX
from vmmetrics.scoring.reward_groups import REWARD, Collapsed, Missing, ScoredSample, combine
from vmmetrics.scoring.rewards import checked_weights
from vmmetrics.types import INDEX_NEEDS
from vmmetrics.utils.schema import plain
from vmmetrics.utils.version import __version__

_Base64 = Annotated[str | None, Field(description="A video file in base64.", json_schema_extra={"format": "byte"})]
_Path = Annotated[str | None, Field(description="A file or folder of frames below a folder that the server opens.")]
_Number = float | None


def offered(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the rewards that a server of these metrics has: the index where it can be, metrics, tripwires."""
    return (*((INDEX,) if set(INDEX_NEEDS) <= set(metrics) else ()), *metrics, *UNITS)


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """A prompt and its video; of a history the last turn is scored."""

    text: str
    video_b64: _Base64 = None
    video_path: _Path = None


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells a sample from others; returned as it came, but for the version, which is that of the scorer."""

    request_id: str | None = None
    sample_id: str | None = None
    group_id: str | None = None
    source_rank: int | None = None
    policy_version: int | None = None
    scorer_version: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardRequest(Identity):
    """A sample and the rewards that it asks for; those of one ``group_id`` lack a reward alike."""

    history: Annotated[tuple[HistoryTurn, ...], Field(min_length=1)]
    required_rewards: tuple[str, ...]
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """Samples in UniRL's form."""

    requests: tuple[RewardRequest, ...]
    protocol_version: Literal["1"] = "1"
    fps: ClassVar[None] = None  # as files state

    @property
    def media(self) -> list[tuple[str | None, str | None, str | None]]:
        """Of every sample: base64, path and prompt."""
        turns = [request.history[-1] for request in self.requests]
        return [(turn.video_b64, turn.video_path, turn.text) for turn in turns]

    def check(self, rewards: Sequence[str]) -> None:
        """Check that the rewards are on offer.

        Raises:
            ValueError: One is not.
        """
        _check({name for request in self.requests for name in request.required_rewards}, rewards)

    def answer(self, samples: Sequence[ScoredSample]) -> ScoreAnswer:
        """Return the rewards of scored samples; where there is none, the reason is among the errors."""
        results: list[dict[str, dict[str, float]]] = [{} for _ in samples]
        errors: list[dict[str, str]] = [{} for _ in samples]
        for reward in dict.fromkeys(name for request in self.requests for name in request.required_rewards):
            asking = [n for n, request in enumerate(self.requests) if reward in request.required_rewards]
            groups = [n if (group := self.requests[n].group_id) is None else group for n in asking]
            found = combine([samples[n] for n in asking], {reward: 1.0}, groups, "drop-component", "least")
            for n, value, why in zip(asking, found.values, found.reasons, strict=True):
                if math.isfinite(value):
                    results[n][reward] = {reward: float(value)}
                else:
                    errors[n][reward] = samples[n].record.error or why.get(reward) or why[REWARD]
        identities = [
            Identity(r.request_id, r.sample_id, r.group_id, r.source_rank, r.policy_version, VERSION, r.idempotency_key)
            for r in self.requests
        ]
        return ScoreAnswer(results, errors, identities, [one.collapse for one in samples])


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """Rewards in UniRL's form, and of every sample the reason why it has no motion to judge, or null."""

    results: list[dict[str, dict[str, float]]]
    errors: list[dict[str, str]]
    identities: list[Identity]
    collapsed: list[str | None]
    protocol_version: Literal["1"] = "1"


VERSION = f"vmmetrics {__version__}"
"""Version of the scorer in answers."""


@dataclass(frozen=True, slots=True)
class ClipRequest:
    """A clip, as a path or in base64; clips of one group, or without one of one prompt, are compared."""

    path: _Path = None
    base64: _Base64 = None
    prompt: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class RewardsRequest:
    """Clips in the plain form; options as of :func:`vmmetrics.rewards`."""

    clips: tuple[ClipRequest, ...]
    fps: Annotated[float, Field(gt=0, le=1000)] | None = None
    weights: dict[str, float] | None = None
    missing: Missing = "nan"
    collapsed: Collapsed = "least"

    @property
    def media(self) -> list[tuple[str | None, str | None, str | None]]:
        """Of every sample: base64, path and prompt."""
        return [(clip.base64, clip.path, clip.prompt) for clip in self.clips]

    @property
    def _weights(self) -> dict[str, float]:
        return checked_weights({INDEX: 1.0} if self.weights is None else self.weights)

    def check(self, rewards: Sequence[str]) -> None:
        """Check the weights.

        Raises:
            ValueError: They are all zero, or one is not on offer.
        """
        _check(self._weights.keys(), rewards)

    def answer(self, samples: Sequence[ScoredSample]) -> RewardsAnswer:
        """Return the rewards of scored samples.

        Raises:
            RewardError: A component is missing, and ``missing`` is ``"raise"``.
        """
        groups = [clip.group or clip.prompt or "" for clip in self.clips]
        found = combine(samples, self._weights, groups, self.missing, self.collapsed)
        scores = {name: values for name, values in found.components.items() if name not in UNITS}
        return RewardsAnswer(
            **plain({
                "values": found.values, "components": scores, "tripwires": found.tripwires,
                "collapsed": found.collapsed, "reasons": found.reasons, "events": found.events,
                "dropped": found.dropped,
            })
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RewardsAnswer:
    """Rewards in the plain form, null where there is none; as :class:`vmmetrics.Rewards`."""

    values: list[_Number]
    components: dict[str, list[_Number]]
    tripwires: dict[str, list[_Number]]
    collapsed: list[bool]
    reasons: list[dict[str, str]]
    events: list[dict[str, Any]]
    dropped: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request has no other answer."""

    detail: str


@dataclass(frozen=True, slots=True)
class Health:
    """State of the server, and of every reward on offer."""

    status: str
    rewards: dict[str, list[str]]
    version: str
    label: str


@dataclass(frozen=True, slots=True)
class Offer:
    """Names of the rewards on offer."""

    rewards: list[str]


def _check(names: Any, rewards: Sequence[str]) -> None:
    if unknown := sorted(set(names) - set(rewards)):
        raise ValueError(f"Expected rewards among {', '.join(rewards)} but got {unknown[0][:40]!r}")


_FORM = {
    "type": "object",
    "required": ["clip"],
    "properties": {
        "clip": {"type": "array", "items": {"type": "string", "format": "binary"}, "minItems": 1},
        "prompt": {"type": "array", "items": {"type": "string"}, "description": "None, or one per clip."},
        "group": {"type": "array", "items": {"type": "string"}, "description": "None, or one per clip."},
        "fps": {"type": "number", "exclusiveMinimum": 0, "maximum": 1000},
        "weights": {"type": "string", "description": "An object of numbers, as JSON."},
        "missing": {"enum": ["raise", "drop-component", "nan"]},
        "collapsed": {"enum": ["least", "nan"]},
    },
}
_PROBLEMS = {
    "400": "The body cannot be read.",
    "401": "The key is missing or wrong.",
    "403": "Sent by a page of another site, or a path that is not open.",
    "413": "The body is too large, or has more samples than can wait.",
    "415": "Neither JSON nor multipart/form-data.",
    "421": "The host is no name of this machine.",
    "422": "A value is wrong.",
    "429": "Too many samples wait.",
    "500": "A fault of the server.",
    "503": "The server stops, or cannot score.",
    "504": "Not done within the deadline.",
}


def openapi() -> dict[str, Any]:
    """Return the description of the server, OpenAPI 3.1."""
    kinds = (ScoreRequest, RewardsRequest, ScoreAnswer, RewardsAnswer, Problem, Health, Offer)
    inputs = [(kind.__name__, "validation", TypeAdapter(kind)) for kind in kinds]  # the same for answers: no defaults
    _, schemas = TypeAdapter.json_schemas(inputs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]

    def either(*names: str) -> dict[str, Any]:
        refs = [{"$ref": f"#/components/schemas/{name}"} for name in names]
        return {"application/json": {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}}

    def answers(content: dict[str, Any], *statuses: str) -> dict[str, Any]:
        problems = {one: {"description": _PROBLEMS[one], "content": either("Problem")} for one in statuses}
        return {"200": {"description": "The answer.", "content": content}, **problems}

    def get(content: dict[str, Any], *statuses: str) -> dict[str, Any]:
        return {"get": {"responses": answers(content, "401", "421", "500", *statuses)}}

    body = {**either("ScoreRequest", "RewardsRequest"), "multipart/form-data": {"schema": _FORM}}
    score = answers(either("ScoreAnswer", "RewardsAnswer"), *_PROBLEMS)
    score["429"]["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "vmmetrics rewards", "version": __version__},
        "paths": {
            "/score": {"post": {"requestBody": {"required": True, "content": body}, "responses": score}},
            "/health": get(either("Health")),
            "/rewards": get(either("Offer")),
            "/metrics": get({"text/plain": {"schema": {"type": "string"}}}),
            "/openapi.json": get({"application/json": {"schema": {"type": "object"}}}),
        },
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }
