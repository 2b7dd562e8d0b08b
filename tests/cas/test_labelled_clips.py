"""Labels joined with clips, and the split by prompt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vmmetrics.cas.labelled_clips import LabelledClip, read_labelled_clips, split_by_prompt
from vmmetrics.errors import SetupError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one/a.npy", "one/b.npy", "two/b.npy"):
        (tmp_path / "clips" / name).parent.mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "clips" / name, np.zeros((2, 8, 8, 3), np.uint8))
    return tmp_path / "clips"


def labels(folder: Path, text: str, name: str = "labels.csv") -> Path:
    path = folder.parent / name
    path.write_text(text)
    return path


def test_a_table(folder: Path):
    text = "clip,level,prompt,group\none/a.npy,3,A dog.,\ntwo/b.npy,perfect,a cat,mine\none/b.npy,,a cat,\n"
    data = read_labelled_clips([folder], labels(folder, text))
    assert [(c.clip, c.level, c.group) for c in data.clips] == [("one/a.npy", 3, "one"), ("two/b.npy", 4, "mine")]
    assert data.clips[0].path == folder / "one/a.npy"
    assert data.without_level == ("one/b.npy",)


def test_a_clip_may_be_named_by_file_name_where_only_one_has_it(folder: Path):
    text = '{"clip": "a", "level": 0, "prompt": "p"}\n{"clip": "elsewhere/a.npy", "level": null}\n'
    data = read_labelled_clips([folder], labels(folder, text, "labels.jsonl"))
    assert data.clips[0].path == folder / "one/a.npy"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("one/a.npy,5,p", r"labels\.csv:2: expected level 0 to 4 or one of Bad, .* but got '5'"),
        ("one/a.npy,2.5,p", "got '2.5'"),
        ("one/c.npy,2,p", r"no clip one/c\.npy under the paths given"),
        ("b.npy,2,p", r"b\.npy may be one/b\.npy or two/b\.npy"),
        ("one/a.npy,2,", "prompt is missing"),
        ("one/a.npy,2,p\na,2,p", r"a is labelled twice, before as one/a\.npy"),
        ("one/a.npy,,p", "no clip in it has a level"),
    ],
)
def test_what_is_wrong_is_named(line: str, message: str, folder: Path):
    with pytest.raises(SetupError, match=message):
        read_labelled_clips([folder], labels(folder, f"clip,level,prompt\n{line}\n"))


def clips(prompts: list[str]) -> list[LabelledClip]:
    return [LabelledClip(f"{n:03d}", Path(f"{n}"), n % 5, prompt, None) for n, prompt in enumerate(prompts)]


@pytest.mark.parametrize("seed", range(5))
def test_no_prompt_is_on_both_sides(seed: int):
    pool = clips([f"prompt {n % 20}" for n in range(90)] + ["Prompt  3!", "PROMPT 7"])
    trained, held = split_by_prompt(pool, 0.2, seed)
    assert not {c.prompt_key for c in trained} & {c.prompt_key for c in held}
    assert sorted(c.clip for c in [*trained, *held]) == [c.clip for c in pool]
    assert 0.12 <= len(held) / len(pool) <= 0.28  # within a prompt's clips of the share
    assert (trained, held) == split_by_prompt(pool[::-1], 0.2, seed)
    assert held != split_by_prompt(pool, 0.2, seed + 1)[1]


def test_the_same_prompt_written_otherwise_is_the_same():
    one, two, other = clips(["A dog runs.", "a  dog, runs", "a dog sits"])
    assert one.prompt_key == two.prompt_key != other.prompt_key
    assert len({clip.prompt_key for clip in clips(["!!", "??"])}) == 2


def test_both_sides_get_a_prompt():
    trained, held = split_by_prompt(clips(["p", "q"]), 0.01, 0)
    assert len(trained) == len(held) == 1
    trained, held = split_by_prompt(clips(["p", "q", "r"]), 0.99, 0)
    assert len(trained) == 1
    with pytest.raises(SetupError, match="two prompts at least"):
        split_by_prompt(clips(["p", "P"]), 0.2, 0)
