"""What a project carries beside its code: citation, workflow, forms; they agree with pyproject.toml and parse."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def test_the_citation_names_this_version_and_licence() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert citation["authors"] == [{"name": author["name"]} for author in PROJECT["authors"]]


def test_the_workflow_runs_what_ci_runs_on_every_python_of_the_classifiers() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    job = workflow["jobs"]["ci"]
    assert {"run": ".ci/run"} in job["steps"]
    named = [re.search(r"Python :: (3\.\d+)$", text) for text in PROJECT["classifiers"]]
    pythons = [match[1] for match in named if match]
    assert job["strategy"]["matrix"]["python"] == pythons
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    systems = workflow["jobs"]["systems"]
    assert set(systems["strategy"]["matrix"]["python"]) <= set(pythons)
    assert {"run": "vmmetrics verify"} in systems["steps"]
    lowest = workflow["jobs"]["lowest"]["steps"]
    assert any("lowest-direct" in step.get("run", "") for step in lowest)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_what_forms_must_have(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    if path.stem == "config":
        assert set(form) <= {"blank_issues_enabled", "contact_links"}
        return
    assert {"name", "description", "body"} <= set(form)
    fields = [item["id"] for item in form["body"] if item["type"] != "markdown"]
    assert len(set(fields)) == len(fields) > 0
    assert all(item["attributes"]["label"] for item in form["body"])


def test_ci_installs_as_the_readme_says_and_checks_the_site() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "pytest -n2 --dist=loadfile -m 'not ray'" in script  # browser and slow tests too
    assert "pytest -n2 --dist=loadfile -m 'not ray'" in (ROOT / "README.md").read_text("utf-8")
    assert re.search(r"^sphinx-build .*-W.* docs ", script, re.MULTILINE)
    extras = PROJECT["optional-dependencies"]
    assert any("docs" in line for line in extras["ci"] if line.startswith("vmmetrics["))
