"""Clips in Parquet files, as data sets of the Hub keep them."""

from __future__ import annotations

import hashlib
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bad_inputs import moving_frames, write_video
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.video import Prompts, discover, read_clip
from vmmetrics.video.content import fingerprint, is_there, state
from vmmetrics.video.reader import check_header, sample_clip
from vmmetrics.video.shards import row_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

KIND = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def contents(tmp_path: Path, count: int) -> list[bytes]:
    """Bytes of videos, each of as many frames as its number and two more."""
    return [
        write_video(tmp_path / f"made{i}.mp4", moving_frames(i + 2, (32, 32), seed=i)).read_bytes()
        for i in range(count)
    ]


def write(path: Path, column: str = "video", declared: str | None = "Video", group: int = 2, **columns: Any) -> Path:
    """A file as ``Dataset.push_to_hub`` writes it: bytes and paths, small row groups, features in the metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
    clips = columns.pop("clips")
    kind = KIND if isinstance(clips[0], dict) else pa.binary()
    table = pa.table({column: pa.array(clips, kind), **columns})
    if declared:
        features = {column: {"_type": declared}, **{name: {"dtype": "string", "_type": "Value"} for name in columns}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, path, row_group_size=group)
    return path


def rows(data: list[bytes]) -> list[dict[str, Any]]:
    return [{"bytes": content, "path": f"{number:04d}.mp4"} for number, content in enumerate(data)]


def test_every_row_is_a_clip_with_its_prompt_and_model(tmp_path: Path) -> None:
    data = contents(tmp_path, 5)
    clips = rows(data)
    write(
        tmp_path / "d/data/train-00000-of-00002.parquet",
        clips=clips[:3],
        prompt=["a", "b", None],
        model=["m", "m", "n"],
    )
    write(tmp_path / "d/data/train-00001-of-00002.parquet", clips=clips[3:], prompt=["d", " "], model=["n", None])
    sources = discover([tmp_path / "d"])
    assert [source.name for source in sources] == [f"{number:04d}.mp4" for number in range(5)]
    assert [source.model for source in sources] == ["m", "m", "n", "n", None]
    assert [Prompts().lookup(source)[0::2] for source in sources] == [
        ("a", "dataset", "m"),
        ("b", "dataset", "m"),
        (None, "none", "n"),
        ("d", "dataset", "n"),
        (None, "none", None),
    ]
    order = [4, 0, 2, 2, 1, 3]  # whatever the order, each row is itself
    for number in order:
        path = sources[number].path.absolute()
        assert fingerprint(path) == hashlib.sha256(data[number]).hexdigest()
        assert len(read_clip(path)) == number + 2
        assert is_there(path)
        check_header(path)
    assert np.array_equal(read_clip(sources[3].path).frames, read_clip(tmp_path / "made3.mp4").frames)
    assert len(sample_clip(sources[3].path, lambda times, end: [0, 2])) == 2
    assert state(sources[0].path) == state(sources[1].path)


def test_a_file_named_outright_and_names_that_several_clips_have(tmp_path: Path) -> None:
    clips = [{"bytes": content, "path": "out.mp4"} for content in contents(tmp_path, 2)]
    file = write(tmp_path / "a.parquet", clips=clips, caption=["a dog runs", "a cat runs"])
    assert [source.name for source in discover([file])] == ["a/000000", "a/000001"]
    write(file, clips=clips, model_name=["wan", "ltx"])
    assert [source.name for source in discover([file])] == ["wan/out.mp4", "ltx/out.mp4"]
    assert [source.name for source in discover([tmp_path / "*.parquet"])] == ["wan/out.mp4", "ltx/out.mp4"]
    clips = [{"bytes": clip["bytes"], "path": None} for clip in clips]
    write(file, clips=clips)
    assert [source.name for source in discover([file])] == ["a/000000", "a/000001"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("videos/a.mp4", "a.mp4"),
        ("../../etc/passwd", "passwd"),
        ("/data/x/a.mp4", "a.mp4"),
        ("C:\\clips\\a.mp4", "a.mp4"),
        ("a\nb\x1b[31m.mp4", "a b\x1b[31m.mp4"),  # what is not printable is escaped where it is printed
        ("x" * 400, "a/000000"),
        ("..", "a/000000"),
    ],
)
def test_what_a_row_calls_its_clip_is_a_name_and_never_opened(tmp_path: Path, path: str, name: str) -> None:
    file = write(tmp_path / "a.parquet", clips=[{"bytes": contents(tmp_path, 1)[0], "path": path}])
    (source,) = discover([file])
    assert source.name == name
    assert len(read_clip(source.path)) == 2


@pytest.mark.parametrize(
    ("column", "declared", "struct", "is_clip"),
    [
        ("video", "Video", True, True),
        ("generated", "Video", True, True),
        ("video", None, True, True),
        ("mp4", None, False, True),
        ("image", "Image", True, False),
        ("video", "Image", True, False),
        ("thumbnail", None, True, False),
        ("embedding", None, False, False),
    ],
)
def test_which_column_holds_clips(
    tmp_path: Path, column: str, declared: str | None, struct: bool, is_clip: bool
) -> None:
    data = contents(tmp_path, 1)
    write(tmp_path / "d/a.parquet", column, declared, clips=rows(data) if struct else data)
    assert len(discover([tmp_path / "d"])) == is_clip


def test_other_parquet_files_beside_clips_are_left_alone(tmp_path: Path) -> None:
    pq.write_table(pa.table({"clip": ["a.mp4"], "video": ["a.mp4"], "score": [1.0]}), tmp_path / "scores.parquet")
    (tmp_path / "a.mp4").write_bytes(b"x")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no more")
    remarks: list[str] = []
    assert [source.name for source in discover([tmp_path], remarks=remarks)] == ["a.mp4"]
    assert len(remarks) == 1
    assert "skipped" in remarks[0] and "broken.parquet" in remarks[0]
    (tmp_path / "a.mp4").unlink()
    with pytest.raises(SetupError, match=r"broken\.parquet: not readable as Parquet"):
        discover([tmp_path])


def test_rows_with_paths_alone_are_a_list_of_the_clips_beside_them(tmp_path: Path) -> None:
    for name, content in zip(("wan/a.mp4", "wan/b.mp4", "ltx/a.mp4"), contents(tmp_path, 3), strict=True):
        (tmp_path / "d/clips" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "d/clips" / name).write_bytes(content)
    paths = ["clips/wan/a.mp4", "clips/ltx/a.mp4", "clips/ltx/gone.mp4"]
    clips = [{"bytes": None, "path": path} for path in paths]
    file = write(
        tmp_path / "d/data.parquet", clips=clips, prompt=["a dog", "a cat", "x"], model=["Wan 2.2", "LTX", "LTX"]
    )
    remarks: list[str] = []
    for where in (tmp_path / "d", tmp_path / "d" / "**" / "*"):
        remarks.clear()
        sources = discover([where], remarks=remarks)
        assert [(source.name, source.model, source.prompt) for source in sources] == [
            ("clips/ltx/a.mp4", "LTX", "a cat"),
            ("clips/wan/a.mp4", "Wan 2.2", "a dog"),
            ("clips/wan/b.mp4", "clips", None),
        ]
        assert remarks == ["data.parquet: no clip for 1 row (clips/ltx/gone.mp4)"]
    assert Prompts().lookup(sources[0])[0::2] == ("a cat", "dataset", "LTX")
    assert [source.path for source in discover([file])] == [
        Path(f"{file}#{row}") for row in range(3)
    ]  # alone: each fails


def test_a_row_that_holds_no_clip_fails_alone(tmp_path: Path) -> None:
    clips = [
        *rows(contents(tmp_path, 1)),
        {"bytes": None, "path": "gone.mp4"},
        {"bytes": b"no video", "path": "x.mp4"},
        None,
    ]
    file = write(tmp_path / "a.parquet", clips=clips)
    paths = [source.path for source in discover([file])]
    assert len(read_clip(paths[0])) == 2
    with pytest.raises(ClipError, match=r"Row 1 of a\.parquet holds no clip, only its path gone\.mp4"):
        read_clip(paths[1])
    with pytest.raises(ClipError, match="Not a video"):
        read_clip(paths[2])
    with pytest.raises(ClipError, match="Row 3"):
        read_clip(paths[3])
    with pytest.raises(ClipError, match="has no row 4"):
        read_clip(tmp_path / "a.parquet#4")
    with pytest.raises(OSError, match="Row 1"):
        fingerprint(paths[1])
    file.unlink()
    with pytest.raises(ClipError, match="No such file"):
        read_clip(paths[0])
    assert not is_there(paths[0])


def test_rows_are_read_anew_where_the_file_changed(tmp_path: Path) -> None:
    data = contents(tmp_path, 3)
    file = write(tmp_path / "a.parquet", clips=rows(data[:2]))
    assert fingerprint(tmp_path / "a.parquet#1") == hashlib.sha256(data[1]).hexdigest()
    write(file, clips=rows([data[0], data[2]]))
    assert fingerprint(tmp_path / "a.parquet#1") == hashlib.sha256(data[2]).hexdigest()
    assert len(read_clip(tmp_path / "a.parquet#1")) == 4


def test_any_row_is_read_after_any_other(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", clips=rows(contents(tmp_path, 5)), group=2)  # the last group has one row
    for pair in product(range(5), repeat=2):
        assert [len(read_clip(tmp_path / f"{file.name}#{row}")) - 2 for row in pair] == list(pair)


def test_no_more_than_a_row_group_is_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    clips = [{"bytes": rng.bytes(2**21), "path": f"{i}.mp4"} for i in range(40)]  # 80 MiB, 10 in a row group
    file = write(tmp_path / "a.parquet", clips=clips, group=5)
    want = hashlib.sha256(clips[30]["bytes"]).hexdigest()
    del clips
    before = pa.total_allocated_bytes()
    assert len(discover([file])) == 40
    assert fingerprint(tmp_path / "a.parquet#30") == want
    assert pa.total_allocated_bytes() - before < 40 * 2**20
    monkeypatch.setattr("vmmetrics.video.shards.MAX_GROUP_BYTES", 2**20)
    with pytest.raises(ClipError, match=r"row group .* of a\.parquet takes 10 MiB .* row_group_size=10"):
        read_clip(tmp_path / "a.parquet#3")


@pytest.mark.parametrize("declared", [True, False])
def test_a_small_file_that_states_long_texts_or_many_rows_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: bool
) -> None:
    clips = [{"bytes": b"x", "path": None}] * 3000
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 100), pa.array(["x" * 2**20]))
    long = long if declared else long.dictionary_decode()  # the file holds the text once, either way
    file = write(tmp_path / "a.parquet", clips=clips[:100], prompt=long, group=100)
    listed = tmp_path / "list.parquet"
    pq.write_table(pa.table({"clip": [f"{i}.mp4" for i in range(100)], "prompt": long}), listed)
    assert max(file.stat().st_size, listed.stat().st_size) < 2**20
    monkeypatch.setattr("vmmetrics.video.shards.MAX_TEXT_BYTES", 2**24)
    monkeypatch.setattr("vmmetrics.video.prompt_lists.MAX_LIST_BYTES", 2**22)
    pool, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(SetupError, match=r"a\.parquet: more than 16 MiB, unpacked"):
            discover([file])
        with pytest.raises(SetupError, match=r"list\.parquet: more than 16 MiB, unpacked"):
            Prompts(listed)
        assert pool.max_memory() < 2**26
    finally:
        pa.set_memory_pool(before)
    monkeypatch.setattr("vmmetrics.video.shards.MAX_CLIPS", 2999)
    monkeypatch.setattr("vmmetrics.utils.tables.MOST_ROWS", 2999)
    with pytest.raises(SetupError, match=r"b\.parquet: 3,000 rows, more than the 2,999"):
        discover([write(tmp_path / "b.parquet", clips=clips)])
    pq.write_table(pa.table({"clip": pa.nulls(3000, pa.string())}), listed)
    with pytest.raises(SetupError, match=r"list\.parquet: 3,000 rows, more than the 2,999"):
        Prompts(listed)


def test_nothing_is_left_in_the_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    file = write(tmp_path / "a.parquet", clips=[*rows(contents(tmp_path, 1)), {"bytes": b"broken", "path": "b.mp4"}])
    read_clip(Path(f"{file}#0"))
    with pytest.raises(ClipError):
        read_clip(Path(f"{file}#1"))
    assert list(scratch.iterdir()) == []


def test_a_file_that_is_called_like_a_row_is_itself(tmp_path: Path) -> None:
    assert row_of(tmp_path / "a.parquet#3") == (tmp_path / "a.parquet", 3)
    for name in ("a.parquet", "a.mp4#3", "a.parquet#", "a.parquet#-1", "a.parquet#3.mp4"):
        assert row_of(tmp_path / name) is None
    (tmp_path / "a.parquet#3").write_bytes(b"x")
    assert row_of(tmp_path / "a.parquet#3") is None


def test_links_out_of_the_folder_are_refused_for_rows_as_well(tmp_path: Path) -> None:
    write(tmp_path / "out/a.parquet", clips=rows(contents(tmp_path, 1)))
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a.parquet").symlink_to(tmp_path / "out/a.parquet")
    (source,) = discover([tmp_path / "root"])
    assert len(read_clip(source.path)) == 2
    with pytest.raises(ClipError, match="leads out of the folder given"):
        read_clip(source.path, root=source.root)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "a.parquet", clips=rows(contents(tmp_path, 1)))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(SetupError, match=r"pip install .*\[parquet\]"):
        discover([file])
