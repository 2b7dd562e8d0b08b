"""Every kind of bad input ends in a reason, every odd one in a clip."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.bad_inputs import BadInput, make_all
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.video import discover, read_clip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[BadInput]]:
    root = tmp_path_factory.mktemp("bad") / "clips"
    return root, make_all(root)


def test_each_ends_as_expected(inputs: tuple[Path, list[BadInput]]) -> None:
    made = inputs[1]
    assert sum(bad.expected == "error" for bad in made) >= 40
    wrong = []
    for bad in made:
        try:
            clip = read_clip(bad.path)
        except (ClipError, SetupError) as error:
            if bad.expected != "error" or not re.search(bad.match, str(error), re.DOTALL):
                wrong.append(f"{bad.name}: {error}")
        else:
            noted = not bad.match or any(re.search(bad.match, note) for note in clip.notes)
            if bad.expected != "ok" or not noted:
                wrong.append(f"{bad.name}: read as {clip.frames.shape} with {clip.notes}")
    assert wrong == []


def test_folder_search_lists_them(inputs: tuple[Path, list[BadInput]]) -> None:
    root, made = inputs
    found = {source.path for source in discover([root])}
    assert {bad.path for bad in made if bad.discovered} <= found
    assert found.isdisjoint(bad.path for bad in made if not bad.discovered)


def test_names_and_kinds_are_distinct(inputs: tuple[Path, list[BadInput]]) -> None:
    made = inputs[1]
    assert len({bad.name for bad in made}) == len(made)
    assert len({bad.path for bad in made}) == len(made)
