"""Prompt lists on disk: whatever stands in a text comes back, and what cannot be read is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.files import read_entries, write_entries
from vmmetrics.video.prompt_lists import read_list


def entry(prompt: str) -> PromptEntry:
    return PromptEntry("0001", prompt, "a dog", "dog", "beach", "running")


@pytest.mark.parametrize("name", ["list.json", "list.jsonl"])
@given(texts=st.lists(st.text(min_size=1).filter(str.strip), max_size=3))
@example(texts=["A dog\u2028runs\u2029and\x85jumps\x1c.", "\ud800 A cat."])
def test_what_is_written_is_read(texts: list[str], name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("lists") / name
    listed = [entry(text) for text in texts]
    write_entries(path, listed)
    assert read_entries(path) == listed


def test_scoring_reads_what_is_written(tmp_path: Path) -> None:
    write_entries(tmp_path / "list.jsonl", [entry("A dog\u2028runs.")])
    (found,) = read_list(tmp_path / "list.jsonl")
    assert found.prompt == "A dog\u2028runs."


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "", "not readable as JSON"),
        ("a.jsonl", '{"prompt": "A dog."}\n\n{"prompt": "A c', "line 3: not readable as JSON"),
        ("a.json", '{"prompt": "A dog."}', "expected a list of objects"),
        ("a.json", '["A dog."]', "expected a list of objects"),
        ("a.json", '[{"prompt": "A dog."}, {"text": "A cat."}]', "entry 2: Expected a prompt"),
        ("a.json", '[{"prompt": "A dog.", "tags": ["fast"]}]', "entry 1: expected an object in tags"),
        ("a.json", '[{"prompt": "A dog.", "provenance": "us"}]', "entry 1: expected an object in provenance"),
        ("a.json", '[{"prompt": "A dog.", "tags": {"speed": "warp"}}]', "entry 1: Expected speed"),
        ("a.json", '[{"prompt": "A dog.", "index": NaN}]', "entry 1: expected text in index"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SetupError, match=says):
        read_entries(tmp_path / name)
