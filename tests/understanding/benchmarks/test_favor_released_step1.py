"""The released first step: on lists and sentences of ours, and on its authors' six examples where a mirror has them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.understanding.benchmarks.favor.dictionaries import FILE, Dictionaries, read_dictionaries
from vmmetrics.understanding.favor.released_extraction import ReleasedExtraction

LISTS = Dictionaries(
    {
        "ANIMATE_NOUNS": ("man", "woman", "player", "dog"),
        "COMMON_VERBS": ("walk", "open", "close", "pick", "wave", "hold", "hop"),
        "PHRASAL_VERBS": ("pick up",), "CAMERA_TERMS": ("camera", "shot"), "DESCRIPTIVE_ADJECTIVES": ("happy",),
        "COLOR_TERMS": ("red", "blue"), "CLOTHING_TERMS": ("shirt", "hat"),
    },
    {
        "SUBJECT_SYNONYMS": {"man": ("guy",)}, "PLURAL_FORMS": {"man": ("men",)},
        "IRREGULAR_VERB_FORMS": {"run": ("ran", "running", "runs")},
    },
)  # fmt: skip
STEP = ReleasedExtraction(LISTS)

# What the released code gave for these with these lists (its first verb in a text taken for the first in a set).
CASES: list[tuple[str, str, str, str]] = json.loads(Path(__file__).with_name("favor_step1.json").read_text("utf-8"))


@pytest.mark.parametrize(("text", "camera", "motions", "order"), CASES)
def test_equal_to_the_released_code(text: str, camera: str, motions: str, order: str) -> None:
    found = STEP.extract(text)
    assert (found["camera_motion"], found["motion_list"], found["chronological_motion_list"]) == (
        camera,
        motions,
        order,
    )
    assert STEP.extract(text) == found


def test_verbs_are_inflected_as_released() -> None:
    verbs = STEP.verbs
    assert verbs.first("the hopping dog") == 4
    assert verbs.first("a warm hat") is None
    assert verbs.there("He Picks it")
    assert verbs.could_be("waving")
    assert verbs.could_be("ran")
    assert not verbs.could_be("walkway")


def test_missing_lists_are_named() -> None:
    with pytest.raises(SetupError, match=r"CAMERA_TERMS.*PLURAL_FORMS"):
        ReleasedExtraction(Dictionaries({"COMMON_VERBS": ()}, {}))


def mirror() -> Path | None:
    """A copy of the released repository: ``VMMETRICS_FAVOR``, or a bare one beside this repository."""
    root = Path(__file__).parents[3]
    places = [Path(os.environ["VMMETRICS_FAVOR"])] if "VMMETRICS_FAVOR" in os.environ else []
    places.append(root.parent / ".mirror" / "FAVOR-Bench+FAVOR-Bench" / "repo")
    return next((place for place in places if place.is_dir()), None)


def of_mirror(place: Path, path: str) -> bytes:
    if (place / path).is_file():
        return (place / path).read_bytes()
    return subprocess.run(["git", "-C", place, "show", f"HEAD:{path}"], capture_output=True, check=True).stdout  # noqa: S607


@pytest.mark.skipif(mirror() is None, reason="needs a copy of FAVOR-Bench's repository (VMMETRICS_FAVOR)")
def test_the_authors_six_examples(tmp_path: Path) -> None:
    place = mirror()
    assert place is not None
    (tmp_path / FILE).write_bytes(of_mirror(place, f"LLM-free/FAVOR_Dictionary/{FILE}"))
    notebook: dict[str, Any] = json.loads(of_mirror(place, "LLM-free/LLM-free_step1_extract.ipynb"))
    printed = "".join(
        "".join(output.get("text", ())) for cell in notebook["cells"] for output in cell.get("outputs", ())
    )
    step = ReleasedExtraction(read_dictionaries(tmp_path))
    count = 0
    for block in printed.split("-" * 80):
        shown = re.search(r"seconds\n(\{.*\})\s*$", block.strip(), re.DOTALL)
        if shown:
            ((_, wanted),) = json.loads(shown[1]).items()
            assert {"model_caption": wanted["model_caption"], **step.extract(wanted["model_caption"])} == wanted
            count += 1
    assert count == 6
