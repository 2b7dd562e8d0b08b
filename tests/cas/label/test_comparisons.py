from __future__ import annotations

from pathlib import Path

import pytest

from vmmetrics.cas.label.comparisons import Comparison, ListedClip, collect_clips, read_clip_list, read_comparisons
from vmmetrics.errors import SetupError
from vmmetrics.utils.statistics.preferences import LEFT


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_both_forms_and_all_kinds_of_file_say_the_same(tmp_path: Path) -> None:
    files = [
        write(
            tmp_path / "a.jsonl",
            '{"a": "x", "b": "y", "winner": "a"}\n\n{"a": "x", "b": "y", "winner": "tie"}\n{"a":"x","b":"y","winner":"b"}',  # noqa: E501
        ),
        write(
            tmp_path / "b.jsonl",
            '{"winner": "x", "loser": "y"}\n{"winner": "x", "loser": "y", "tie": true}\n'
            '{"winner": "y", "loser": "x", "tie": false}\n',
        ),
        write(tmp_path / "c.csv", "\ufeffa,b,winner\nx,y,a\n\nx,y,tie\nx, y ,b\n"),
        write(tmp_path / "d.tsv", "winner\tloser\ttie\nx\ty\t\nx\ty\tyes\ny\tx\tno\n"),
    ]
    for file in files:
        rows = read_comparisons([file]).rows
        assert [(row.pair, row.better) for row in rows] == [(("x", "y"), "x"), (("x", "y"), None), (("x", "y"), "y")]
    assert len(read_comparisons(files).rows) == 12


def test_optional_fields_and_ignored_columns(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.csv",
        'a,b,winner,rater,weight,prompt_a,prompt_b,seen\nx,y,a,ann,0.5,"one,\ntwo",three,2024\n',
    )
    read = read_comparisons([file])
    row = read.rows[0]
    assert (row.rater, row.weight, row.prompt_left, row.prompt_right) == ("ann", 0.5, "one,\ntwo", "three")
    assert read.ignored_columns == ("seen",)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"a": "x", "b": "x", "winner": "a"}', "'x' is compared with itself"),
        ('{"a": "x", "b": "y", "winner": "x"}', "winner a, b or tie but got 'x'"),
        ('{"a": "x", "b": "y", "winner": null}', "winner a, b or tie but got None"),
        ('{"a": "x", "winner": "a"}', "b is missing"),
        ('{"winner": "x"}', "loser is missing"),
        ('{"a": 1, "b": "y", "winner": "a"}', "text for a but got 1"),
        ('{"a": " ", "b": "y", "winner": "a"}', "text for a"),
        ('{"a": "x", "b": "y", "winner": "a", "weight": 0}', "weight above 0 but got 0"),
        ('{"a": "x", "b": "y", "winner": "a", "weight": NaN}', "weight above 0"),
        ('{"a": "x", "b": "y", "winner": "a", "weight": true}', "weight above 0"),
        ('{"winner": "x", "loser": "y", "tie": "perhaps"}', "tie true or false"),
        ('{"a": "x", "b": "y", "winner": "a", "loser": "y"}', "loser and tie go with winner"),
        ('{"a": "x", "b": "y", "winner": "a", "prompt": "p", "prompt_a": "q"}', "prompt is for both"),
        ('{"a": "x", "a": "z", "b": "y", "winner": "a"}', "occurs twice"),
        ('["x", "y"]', "expected a JSON object"),
        ('{"a": "x"', "delimiter"),
        pytest.param("[" * 100_000, "nested too deeply", id="deep"),
    ],
)
def test_each_fault_is_named_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    good = '{"a": "x", "b": "y", "winner": "a"}'
    file = write(tmp_path / "a.jsonl", f"{good}\n{line}\n{good}\n")
    with pytest.raises(SetupError) as caught:
        read_comparisons([file])
    assert f"{file}:2: " in str(caught.value)
    assert said in str(caught.value)


def test_all_faults_are_counted(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"a": "x"}\n' * 30)
    with pytest.raises(SetupError) as caught:
        read_comparisons([file])
    assert str(caught.value).endswith("and 10 more")
    assert ":20: " in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "a,b,winner\nx,y,a\nx,y\n", "a.csv:3: expected 3 cells but got 2"),
        ("a.csv", 'a,b,winner\nx,y,"a\n', "unexpected end of data"),
        ("a.csv", "a,a,winner\n", "several columns have the name a"),
        ("a.json", "[]", "Expected a .jsonl, .csv or .tsv file"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(SetupError) as caught:
        read_comparisons([write(tmp_path / name, text)])
    assert said in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="Cannot read"):
        read_comparisons([tmp_path / "none.csv"])
    (tmp_path / "latin.csv").write_bytes(b"a,b,winner\nx,\xe4,a\n")
    with pytest.raises(SetupError, match="Cannot read"):
        read_comparisons([tmp_path / "latin.csv"])


def row(a: str, b: str, prompt_a: str | None = None, prompt_b: str | None = None) -> Comparison:
    return Comparison(a, b, LEFT, prompt_left=prompt_a, prompt_right=prompt_b, where="f:1")


def test_clips_get_prompts_from_either_place_and_folders_as_groups() -> None:
    rows = [row("m/x", "m/y"), row("m/x", "z", "p", "q")]
    assert collect_clips(rows) == [
        ListedClip("m/x", "p", "m"),
        ListedClip("m/y", None, "m"),
        ListedClip("z", "q", None),
    ]
    listed = [ListedClip("z", "q", "g"), ListedClip("m/y"), ListedClip("m/x"), ListedClip("unseen", "q")]
    assert [(c.clip, c.prompt, c.group) for c in collect_clips(rows, listed)] == [
        ("m/x", "p", "m"),
        ("m/y", None, "m"),
        ("unseen", "q", None),
        ("z", "q", "g"),
    ]


def test_contradictions_about_clips_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="f:1: x has another prompt in f:1"):
        collect_clips([row("x", "y", "p"), row("x", "y", "q")])
    with pytest.raises(SetupError, match="y is not in the list"):
        collect_clips([row("x", "y")], [ListedClip("x")])
    with pytest.raises(SetupError, match="x is listed twice"):
        read_clip_list(write(tmp_path / "c.csv", "clip\nx\nx\n"))
