"""Short form of a clip's record, enough to decide on resuming whether the clip has to be scored again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from vmmetrics.scoring.record import FIRST_VERSION, Record, State

_ENCODER = json.JSONEncoder(sort_keys=True, default=str)


class Kind(NamedTuple):
    """Part of an entry that many records share.

    Attributes:
        settled: Metrics that are scored or missing.
        errors: Metrics that failed.
        tags: Names of the tags.
        versions: Metric versions of the scores, by metric.
    """

    settled: frozenset[str]
    errors: frozenset[str]
    tags: tuple[str, ...]
    versions: Mapping[str, int]


@lru_cache(4096)
def kind_of(text: str) -> Kind:
    """Return the kind that was written as JSON."""
    settled, errors, tags, versions = json.loads(text)
    return Kind(frozenset(settled), frozenset(errors), tuple(tags), versions)


class Entry(NamedTuple):
    """Short form of a clip's newest record.

    Attributes:
        offset: Byte offset of its newest line in ``scores.jsonl``.
        sha256: SHA-256 (hex) of its content, or None.
        state: State of its file (:func:`state_text`), or None.
        input: Hash of prompt, subject and tags (:func:`input_hash`).
        failed: True if the clip failed as a whole.
        kind: :class:`Kind`, as JSON.
    """

    offset: int
    sha256: str | None
    state: str | None
    input: bytes
    failed: bool
    kind: str

    @classmethod
    def of(cls, record: Record, offset: int = 0) -> Entry:
        """Return the entry of a record."""
        settled = sorted({*record.scores, *record.missing})
        versions = {metric: record.score_version.get(metric, FIRST_VERSION) for metric in settled}
        kind = json.dumps([settled, sorted(record.errors), sorted(record.tags), versions])
        subject = record.subject and (record.subject.get("noun"), record.subject.get("phrase"))
        inputs = input_hash(record.prompt, subject or None, record.tags)
        return cls(offset, record.sha256, state_text(record.state), inputs, record.error is not None, kind)

    @property
    def settled(self) -> frozenset[str]:
        """The metrics that need no more work: scored or missing."""
        return frozenset() if self.failed else kind_of(self.kind).settled

    @property
    def errors(self) -> frozenset[str]:
        """The metrics that failed."""
        return kind_of(self.kind).errors


def state_text(state: State | None) -> str | None:
    """Return the state of a file as text that is equal where the states are."""
    return None if state is None else _ENCODER.encode(dict(state))


def input_hash(prompt: str | None, subject: tuple[str | None, str | None] | None, tags: Mapping[str, Any]) -> bytes:
    """Return a hash of a clip's inputs besides its content: prompt, noun and phrase of its subject, tags."""
    if prompt is None and subject is None and not tags:
        return b""
    numbers = {name: float(v) if isinstance(v, int | float) else v for name, v in tags.items()}
    text = _ENCODER.encode([prompt, subject, numbers])
    return blake2b(text.encode(), digest_size=16).digest()
