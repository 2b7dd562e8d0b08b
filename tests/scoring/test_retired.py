"""Prompts of an earlier version of the library: still found, and refused beside those that replaced them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scoring.stored_runs import clip, five
from tests.scoring.test_leaderboard import write
from vmmetrics.errors import SetupError
from vmmetrics.scoring.leaderboard import make_boards
from vmmetrics.video.discover import Source
from vmmetrics.video.prompts import Prompts

PROMPTS = Path(__file__).parents[2] / "prompts"
RETIRED = json.loads((PROMPTS / "retired.json").read_text("utf-8"))
TEXTS = {entry["index"]: entry["prompt"] for entry in json.loads((PROMPTS / "library.json").read_text("utf-8"))}


def source(index: str) -> Source:
    return Source(Path("clips") / f"{index}.mp4", f"{index}.mp4")


@pytest.mark.parametrize("name", ["library", "core"])
def test_clips_of_retired_prompts_have_the_text_they_were_made_from(name: str) -> None:
    prompts = Prompts(name)
    for entry in RETIRED[::100]:
        found = prompts.lookup(source(entry["index"]))
        assert (found.prompt, found.source, found.tags["pattern"]) == (entry["prompt"], "retired", entry["pattern"])
    present = json.loads((PROMPTS / f"{name}.json").read_text("utf-8"))[5]
    found = prompts.lookup(source(present["index"]))
    assert (found.prompt, found.source, found.tags["law"]) == (present["prompt"], "list", present["tags"]["law"])
    assert not {entry["index"] for entry in RETIRED} & set(prompts.unmatched([]))


@pytest.mark.parametrize("known", [True, False])
def test_versions_of_a_prompt_are_not_compared(tmp_path: Path, known: bool) -> None:
    """Clips without a prompt may have any names, those of the library's indices too."""
    old, other = RETIRED[0], RETIRED[1]
    new = old["successor"]

    def run(name: str, *indices: str) -> str:
        texts = {**TEXTS, **{entry["index"]: entry["prompt"] for entry in RETIRED}}
        records = [clip(f"{name}/{index}.mp4", five(0.5), texts[index] if known else None) for index in indices]
        return str(write(tmp_path / name, records))

    runs = [run("first", old["index"], other["index"]), run("second", old["index"]), run("third", new)]
    assert len(make_boards(runs[:2])) == 1
    assert len(make_boards(runs[2:])) == 1
    if not known:
        assert len(make_boards(runs)) == 1
        return
    with pytest.raises(SetupError, match=f"Prompt {old['index']} was replaced by {new} .* both are here"):
        make_boards(runs)
