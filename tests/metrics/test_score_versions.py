"""Whoever changes the code that a metric's scores come from says whether they still mean the same."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from vmmetrics.metrics import METRICS
from vmmetrics.metrics.registry import find, version_of

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("score_versions.json")
ROOMS = ("vmmetrics.functional", "vmmetrics.metrics", "vmmetrics.perception")
"""Where scores are made."""
NEUTRAL = {
    "vmmetrics.functional", "vmmetrics.functional.event_costs", "vmmetrics.functional.motion_index",
    "vmmetrics.metrics.registry", "vmmetrics.perception.presets", "vmmetrics.perception.scene",
}  # fmt: skip
"""Modules on the way that change no score of a metric."""
MODELS = {
    "flow": ("flow",), "camera": ("camera", "flow"), "objects": ("objects.segmenter", "camera", "flow"),
    "subject": ("objects.segmenter", "tracker", "camera", "flow"), "poses": ("pose.pose",),
    "quality": ("quality.quality", "flow"), "plausibility": ("plausibility.plausibility",),
}  # fmt: skip
"""Modules of ``perception.embedded`` behind an ability that a metric needs."""


def file_of(module: str) -> Path | None:
    path = ROOT / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def source(module: str) -> tuple[ast.Module, str]:
    """The syntax tree of a module, and its lines without docstrings, comments and blank ones."""
    file = file_of(module)
    assert file is not None, module
    text = file.read_text("utf-8")
    tree = ast.parse(text)
    prose = {
        number
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = [line.rstrip() for number, line in enumerate(text.splitlines(), 1) if number not in prose]
    return tree, "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))


def imported(module: str) -> Iterator[str]:
    for node in ast.walk(source(module)[0]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(ROOMS):
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def closure(metric: str) -> set[str]:
    known = find(metric)
    assert known is not None
    models = (f"vmmetrics.perception.embedded.{name}" for need in known.needs for name in MODELS[need])
    todo, found = [f"vmmetrics.functional.{metric}", f"vmmetrics.metrics.{metric}", *models], set[str]()
    while todo:
        module = todo.pop()
        if module in found or module in NEUTRAL or file_of(module) is None:
            continue
        found.add(module)
        todo += imported(module)
    return found


def code_hash(metric: str) -> str:
    code = "\n".join(f"{module}\n{source(module)[1]}" for module in sorted(closure(metric)))
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def test_the_closure_reaches_what_a_score_is_made_of() -> None:
    assert "vmmetrics.functional.excuses" in closure("tcs")
    assert {"vmmetrics.functional.limbs", "vmmetrics.functional.body_motion"} <= closure("ois")
    assert "vmmetrics.perception.textured_patches" in closure("tcs")
    assert "vmmetrics.perception.embedded.objects.breaks" in closure("tcs")
    assert "vmmetrics.perception.embedded.plausibility.evidence" in closure("cas")


@pytest.mark.parametrize("metric", METRICS)
def test_code_and_version_are_considered_together(metric: str) -> None:
    known = json.loads(TABLE.read_text())[metric]
    now = {"version": version_of(metric), "code": code_hash(metric)}
    assert known == now, (
        f"Code behind {metric} has changed ({', '.join(sorted(closure(metric)))}). If scores of before and after must "
        "not be mixed, raise its version in metrics/registry.py; then put into "
        f"{TABLE.name}: {json.dumps({metric: now})}"
    )
