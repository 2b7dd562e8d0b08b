"""Whoever changes the code of a metric says whether its scores still mean the same."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from vmmetrics.metrics import METRICS
from vmmetrics.metrics.registry import version_of

PACKAGE = Path(__file__).parents[2] / "vmmetrics"
TABLE = Path(__file__).with_name("score_versions.json")


def code_hash(metric: str) -> str:
    files = (PACKAGE / room / f"{metric}.py" for room in ("functional", "metrics"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]


@pytest.mark.parametrize("metric", METRICS)
def test_code_and_version_are_considered_together(metric: str) -> None:
    known = json.loads(TABLE.read_text())[metric]
    now = {"version": version_of(metric), "code": code_hash(metric)}
    assert known == now, (
        f"functional/{metric}.py or metrics/{metric}.py has changed. If scores of before and after must not be mixed, "
        f"raise its version in metrics/registry.py; then put into {TABLE.name}: {json.dumps({metric: now})}"
    )
