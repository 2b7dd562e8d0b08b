from __future__ import annotations

import ast
import importlib
import itertools
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import vmmetrics
from vmmetrics.utils.tensors import LEAST_TORCH

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


def test_import_pulls_in_nothing_heavy() -> None:
    code = "import sys, json, vmmetrics; print(json.dumps(sorted(m.split('.')[0] for m in sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = set(json.loads(out))
    assert not loaded & {"numpy", "cv2", "av", "scipy", "torch", "ai_edge_litert", "typer", "rich", "PIL"}


def test_every_public_name_resolves() -> None:
    for name in vmmetrics.__all__:
        assert getattr(vmmetrics, name) is not None
    assert set(vmmetrics.__all__) <= set(dir(vmmetrics))


@pytest.mark.parametrize("name", ["vmmetrics", "vmmetrics.alignment"])
def test_a_package_lists_its_public_names_and_nothing_it_imported(name: str) -> None:
    package = importlib.import_module(name)
    assert [name for name in dir(package) if not name.startswith("__")] == sorted(package.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = vmmetrics.scores


def test_no_property_fails_because_the_machine_is_busy() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_every_bound_on_torch_is_that_of_the_run_time_check() -> None:
    extras = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    bounds = {line for lines in extras.values() for line in lines if line.startswith("torch>")}
    assert bounds == {"torch>=" + ".".join(map(str, LEAST_TORCH))}


def test_everything_imported_is_declared() -> None:
    """What is there by chance, as a dependency's dependency, is gone one day."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *itertools.chain.from_iterable(project["optional-dependencies"].values())]
    declared = {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in lines}  # type: ignore[index]
    modules = {"cv2": "opencv-python-headless", "PIL": "pillow", "yaml": "pyyaml", "pydantic_core": "pydantic"}
    imported: set[str] = set()
    root = PYPROJECT.parent / "vmmetrics"
    adapters = set((root / "integrations").glob("*.py"))  # each imports the framework that imports it
    for file in set(root.rglob("*.py")) - adapters:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    others = imported - sys.stdlib_module_names - {"vmmetrics", "dover"}  # DOVER is on no index
    assert {modules.get(name, name).lower().replace("_", "-") for name in others} <= declared
