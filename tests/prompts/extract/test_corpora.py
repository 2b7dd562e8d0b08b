"""Captions out of every kind of file, one at a time."""

from __future__ import annotations

import csv
import json
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import Place
from vmmetrics.prompts.extract import corpora
from vmmetrics.prompts.extract.corpora import (
    find_sources,
    is_place_list,
    place_category,
    read_captions,
    read_corpus,
    read_place_list,
    sample,
)

CAPTIONS = ["a dog runs, fast", 'a "red" kite', "two\tcranes", "eine Katze", "snow | falls"]


def texts(path: Path, column: str | None = None) -> list[str]:
    return [caption for caption, _ in read_captions(path, column)]


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_lines_of_a_text_are_captions_and_empty_ones_are_told(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "a.txt", "\ufeffone dog\n\n two dogs \r\nthree")) == [
        "one dog",
        "",
        "two dogs",
        "three",
    ]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_table_is_read_by_the_usual_names_of_the_column_or_the_one_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if suffix == ".tsv" else ",")
        writer.writerow(["uuid", "Prompt", "time", "note"])
        writer.writerows([[str(i), text, "now", f"n{i}"] for i, text in enumerate(CAPTIONS)])
    assert texts(path) == CAPTIONS
    assert texts(path, "NOTE") == [f"n{i}" for i in range(5)]
    with pytest.raises(SetupError, match="no column 'words' but uuid, Prompt, time, note"):
        texts(path, "words")


def test_a_table_without_a_usual_column_asks_which(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,what\n1,a dog\n")
    with pytest.raises(SetupError, match="--column; there are id, what"):
        texts(path)


def test_a_lone_column_needs_no_name_and_no_heading(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "a.csv", "words\na dog\na cat\n")) == ["a dog", "a cat"]
    assert texts(write(tmp_path / "b.tsv", "a dog runs home\na cat\n")) == ["a dog runs home", "a cat"]


def test_fields_longer_than_the_csv_modules_bound_and_short_rows_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"id,caption\n1,{'dog ' * 50_000}\n2\n3,a cat\n")
    assert [len(text) for text in texts(path)] == [199_999, 0, 5]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (["a dog", "a cat"], ["a dog", "a cat"]),
        ([{"caption": "a dog"}, {"caption": ["a cat", "a cow"]}, {"caption": None}], ["a dog", "a cat", "a cow", ""]),
        ({"annotations": [{"image_id": 1, "caption": "a dog"}], "info": {}}, ["a dog"]),
        ({"sentences": [{"video_id": "v", "caption": "a dog"}]}, ["a dog"]),
        ({"v_1": {"sentences": ["a dog", "a cat"]}, "v_2": {"sentences": ["a cow"]}}, ["a dog", "a cat", "a cow"]),
        ([{"enCap": ["a dog"], "chCap": ["狗"]}], ["a dog"]),
        ([], []),
    ],
)
def test_json_of_the_usual_shapes(tmp_path: Path, value: object, found: list[str]) -> None:
    assert texts(write(tmp_path / "a.json", json.dumps(value, indent=1))) == found
    if isinstance(value, list):
        lines = "\n".join(json.dumps(item) for item in value)
        assert texts(write(tmp_path / "a.jsonl", lines + "\n\n")) == found


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.text(max_size=40) | st.integers() | st.dictionaries(st.just("text"), st.text(max_size=40)), max_size=8
    ),
    piece=st.integers(1, 64),
    indent=st.sampled_from([None, 1]),
)
def test_an_array_read_in_pieces_is_the_array_read_whole(
    tmp_path_factory: pytest.TempPathFactory, rows: list[object], piece: int, indent: int | None
) -> None:
    whole = [
        row.strip() if isinstance(row, str) else row.get("text", "").strip() if isinstance(row, dict) else ""
        for row in rows
    ]
    usable = [(row, text) for row, text in zip(rows, whole, strict=True) if row != {}]
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps([row for row, _ in usable], indent=indent, ensure_ascii=False), "utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "_CHUNK", piece)
        assert texts(path) == [text for _, text in usable]


@pytest.mark.parametrize("text", ['["a", "b"', '["a" "b"]', '["a",]', "[1, nonsense]", '{"a": ', "["])
def test_broken_json_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(SetupError, match="not readable as JSON"):
        texts(write(tmp_path / "a.json", text))


def test_a_row_without_captions_is_empty_once_others_have_some(tmp_path: Path) -> None:
    rows = [{"caption": "a dog"}, {"id": 3}, {"caption": "a cat"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    assert texts(write(tmp_path / "a.jsonl", lines)) == ["a dog", "", "a cat"]
    assert texts(write(tmp_path / "a.json", json.dumps(rows))) == ["a dog", "", "a cat"]
    assert texts(write(tmp_path / "b.jsonl", lines), "caption") == ["a dog", "", "a cat"]
    with pytest.raises(SetupError, match="--column; there are id"):
        texts(write(tmp_path / "c.json", json.dumps(rows[1:])))


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="line 2"):
        texts(write(tmp_path / "a.jsonl", '"a dog"\n{"caption": \n'))


def test_parquet_with_texts_and_lists(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"id": [1, 2, 3], "prompt": ["a dog", None, "a cat"]}), tmp_path / "a.parquet", row_group_size=2
    )
    pq.write_table(pa.table({"captions": [["a dog", "a cow"], []]}), tmp_path / "b.parquet")
    assert texts(tmp_path / "a.parquet") == ["a dog", "", "a cat"]
    assert texts(tmp_path / "b.parquet") == ["a dog", "a cow"]
    write(tmp_path / "c.parquet", "nothing of the kind")
    with pytest.raises(SetupError, match="not readable as Parquet"):
        texts(tmp_path / "c.parquet")


def test_without_pyarrow_the_command_that_brings_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(SetupError, match=r"pip install .*\[parquet\]"):
        texts(write(tmp_path / "a.parquet", ""))


def test_a_folder_is_its_files_by_name_and_the_share_grows_to_one(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "b.txt", "b1\nb2\n")
    write(tmp_path / "a.jsonl", '"a1"\n')
    write(tmp_path / "sub" / "c.csv", "caption\nc1\n")
    write(tmp_path / ".hidden.txt", "no")
    write(tmp_path / "notes.md", "no")
    found, shares = zip(*read_corpus(find_sources([tmp_path])), strict=True)
    assert found == ("a1", "b1", "b2", "c1")
    assert list(shares) == sorted(shares) and shares[0] > 0 and shares[-1] == 1.0


def test_what_is_not_there_or_not_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is not there"):
        find_sources([tmp_path / "none.txt"])
    with pytest.raises(SetupError, match="expected a file of a kind"):
        find_sources([write(tmp_path / "a.docx", "")])
    with pytest.raises(SetupError, match=r"No \.txt"):
        find_sources([tmp_path])


def test_a_sample_draws_every_caption_equally_often_and_keeps_the_order() -> None:
    drawn = Counter(text for seed in range(3000) for text in sample(map(str, range(10)), 3, seed))
    # 900 expected of each, standard deviation 25
    assert all(800 < drawn[str(n)] < 1000 for n in range(10))
    kept = [int(text) for text in sample(map(str, range(100)), 20, 7)]
    assert kept == sorted(kept) and len(set(kept)) == 20
    assert sample(map(str, range(100)), 20, 7) == [str(n) for n in kept]
    assert sample(iter(["a", "b"]), 5, 0) == ["a", "b"]


def test_a_sample_holds_no_more_than_it_draws() -> None:
    held = 0

    class Text(str):
        def __del__(self) -> None:
            nonlocal held
            held -= 1

    def many() -> Iterator[str]:
        nonlocal held
        for n in range(5000):
            held += 1
            yield Text(n)
            assert held < 60

    assert len(sample(many(), 50, 0)) == 50


def test_lists_of_places_are_told_from_captions(tmp_path: Path) -> None:
    places = write(
        tmp_path / "p.txt",
        "/a/airfield 0\n/b/balcony/interior 21\n/i/ice_skating_rink/outdoor 186\n/z/zen_garden 364\n",
    )
    assert is_place_list(places)
    assert read_place_list(places) == [
        Place("airfield", setting="either"),
        Place("balcony", setting="indoor"),
        Place("ice skating rink", setting="outdoor"),
        Place("zen garden", setting="either"),
    ]
    assert is_place_list(write(tmp_path / "q.txt", "ice_skating_rink/outdoor\nbalcony/interior\nbeach\n"))
    assert not is_place_list(write(tmp_path / "r.txt", "a dog\na cat\n"))
    assert not is_place_list(write(tmp_path / "s.txt", "beach\nsnow\nkite\n"))
    assert not is_place_list(write(tmp_path / "t.txt", ""))
    assert not is_place_list(write(tmp_path / "p.csv", "a_b/c\n"))


@given(st.text(max_size=60))
def test_any_line_is_a_place_or_none(line: str) -> None:
    found = place_category(line)
    assert found is None or (found.name.strip() == found.name and "/" not in found.name and "_" not in found.name)


def test_a_big_array_is_not_held_whole(tmp_path: Path) -> None:
    rows = [f"caption number {n} " + "x" * 200 for n in range(40_000)]
    path = write(tmp_path / "a.json", json.dumps(rows))
    tracemalloc.start()
    count = sum(1 for _ in read_captions(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 40_000
    assert peak < path.stat().st_size  # 9 MB; read whole it takes twice that
