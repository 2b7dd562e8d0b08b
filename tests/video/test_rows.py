"""A ``datasets.Dataset`` handed in from Python: a stand-in on the same Arrow tables, and the library where it is."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.bad_inputs import moving_frames, write_video
from tests.video.test_shards import KIND, contents, write
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.video import discover
from vmmetrics.video.content import InlineClip
from vmmetrics.video.rows import dataset_clips, is_dataset

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


class Video:
    """Named as the feature of the library is."""


class Value:
    """Likewise."""


class Image:
    """Likewise."""


class Rows:
    """What a ``datasets.Dataset`` offers, as far as it is used: columns, features, and rows as Arrow tables."""

    def __init__(self, table: Any, **features: object) -> None:
        self._table = table
        self.split = "train"
        self.column_names = table.column_names
        self.features = {name: features.get(name, Value()) for name in table.column_names}
        self.format: str | None = None

    def with_format(self, format: str) -> Rows:  # noqa: A002
        made = Rows(self._table, **self.features)
        made.format = format
        return made

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, rows: slice) -> Any:
        assert self.format == "arrow"  # anything else would decode
        return self._table.slice(rows.start, rows.stop - rows.start)


def rows(data: list[bytes], **columns: list[Any]) -> Rows:
    clips = [{"bytes": content, "path": f"{number}.mp4"} for number, content in enumerate(data)]
    return Rows(pa.table({"video": pa.array(clips, KIND), **columns}), video=Video())


def test_rows_are_clips_with_prompts_and_models(tmp_path: Path) -> None:
    data = contents(tmp_path, 20)
    dataset = rows(data, prompt=["a dog\nruns", *[None] * 19], model=["wan"] * 10 + ["ltx"] * 10)
    assert is_dataset(dataset)
    clips = dataset_clips(dataset)
    assert [(clip.name, clip.prompt.prompt, clip.model, clip.path) for clip in clips[:2] if clip.prompt] == [
        ("0.mp4", "a dog runs", "wan", None),
        ("1.mp4", None, "wan", None),
    ]
    assert [clip.inline.content for clip in clips if clip.inline] == data
    assert clips[19].inline is not None
    assert clips[19].inline.sha256 == hashlib.sha256(data[19]).hexdigest()


def test_names_tell_rows_apart(tmp_path: Path) -> None:
    data = contents(tmp_path, 1) * 3
    same = [{"bytes": content, "path": "out.mp4"} for content in data]
    table = pa.table({"video": pa.array(same, KIND), "model": ["wan", "ltx", "ltx"]})
    assert [clip.name for clip in dataset_clips(Rows(table))] == ["train/000000", "train/000001", "train/000002"]
    assert [clip.name for clip in dataset_clips(Rows(table.slice(0, 2)))] == ["wan/out.mp4", "ltx/out.mp4"]


@pytest.mark.parametrize(
    ("paths", "models", "names"),
    [
        (["x/a.mp4", "x/b.mp4"], None, ["a.mp4", "b.mp4"]),
        (["/root/wan/a.mp4", "/root/ltx/a.mp4"], None, ["wan/a.mp4", "ltx/a.mp4"]),
        (["1/a.mp4", "2/a.mp4"], ["wan", "ltx"], ["wan/a.mp4", "ltx/a.mp4"]),
        (["a/1/x.mp4", "b/1/x.mp4", "x.mp4"], None, ["a/1/x.mp4", "b/1/x.mp4", "x.mp4"]),
        (["a.mp4", None], None, ["train/000000", "train/000001"]),
        (["a.mp4", "a.mp4"], ["wan", "wan"], ["train/000000", "train/000001"]),
    ],
)
def test_the_rows_of_a_file_and_of_a_data_set_have_the_same_names(
    tmp_path: Path, paths: list[str], models: list[str] | None, names: list[str]
) -> None:
    clips = [{"bytes": b"x", "path": path} for path in paths]
    file = write(tmp_path / "train.parquet", clips=clips, **({"model": models} if models else {}))
    assert [source.name for source in discover([file])] == names
    dataset = Rows(pq.read_table(file))
    assert [clip.name for clip in dataset_clips(dataset)] == names


def test_paths_are_read_where_they_are(tmp_path: Path) -> None:
    file = write_video(tmp_path / "a.mp4", moving_frames(3, (32, 32)))
    clips = pa.array([{"bytes": None, "path": str(file)}, {"bytes": None, "path": str(tmp_path / "gone.mp4")}], KIND)
    first, second = dataset_clips(Rows(pa.table({"video": clips}), video=Video()))
    assert (first.path, first.inline) == (file, None)
    assert second.inline is not None
    with pytest.raises(ClipError, match=r"Row 1 of the data set holds no clip: there is no file .*gone\.mp4"):
        _ = second.inline.content
    (only,) = dataset_clips(Rows(pa.table({"video_path": [str(file)]})))
    assert only.path == file


def test_a_path_in_a_cell_of_text_opens_clips_alone(tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("secret")
    (text,) = dataset_clips(Rows(pa.table({"video_path": [str(secret)]})))
    assert text.path is None
    assert text.inline is not None
    with pytest.raises(ClipError, match=r"no clip: .*id_rsa has no suffix of a clip"):
        _ = text.inline.content


def test_pictures_are_no_clips(tmp_path: Path) -> None:
    table = pa.table({"video": pa.array([{"bytes": b"x", "path": "a.png"}], KIND), "prompt": ["a dog"]})
    with pytest.raises(SetupError, match=r"no column of clips \(video, path, \.\.\.\) but video, prompt"):
        dataset_clips(Rows(table, video=Image()))


def test_splits_and_streams_are_refused(tmp_path: Path) -> None:
    dataset = rows(contents(tmp_path, 1))
    assert is_dataset({"train": dataset})
    with pytest.raises(SetupError, match=r"one split of the data set: dataset\['train'\] or dataset\['test'\]"):
        dataset_clips({"train": dataset, "test": dataset})

    class Stream:
        column_names, features = ("video",), None

        def with_format(self, _: str) -> Stream:
            return self

    assert is_dataset(Stream())
    with pytest.raises(SetupError, match="streaming=True"):
        dataset_clips(Stream())


@pytest.mark.parametrize("value", ["clips", ["a.mp4"], [1, 2], {}, {"a": 1}, None, Path("clips")])
def test_other_things_are_no_data_set(value: object) -> None:
    assert not is_dataset(value)


def test_a_held_clip_takes_its_bytes_along() -> None:
    fetched = []

    def fetch() -> bytes:
        fetched.append(1)
        return b"clip"

    inline = InlineClip(fetch)
    assert not fetched
    copy = pickle.loads(pickle.dumps(inline))  # noqa: S301
    assert copy.content == b"clip" and len(fetched) == 1
    assert copy == inline and hash(copy) == hash(inline)
    assert InlineClip(b"other") != inline


def test_the_library_itself(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    files = [write_video(tmp_path / f"{n}.mp4", moving_frames(n + 2, (32, 32))) for n in range(3)]
    made = datasets.Dataset.from_dict({"video": [str(file) for file in files], "prompt": ["a", "b", "c"]})
    dataset = made.cast_column("video", datasets.Video())
    assert [clip.path for clip in dataset_clips(dataset)] == files
    from datasets.table import embed_table_storage

    embedded = datasets.Dataset(embed_table_storage(dataset.with_format("arrow")[:]))
    clips = dataset_clips(embedded.select([2, 0]))
    assert [(clip.name, clip.prompt) for clip in clips] == [("2.mp4", "c"), ("0.mp4", "a")]
    assert [clip.inline.content for clip in clips if clip.inline] == [files[2].read_bytes(), files[0].read_bytes()]
    for wrong in (datasets.DatasetDict({"train": made}), made.to_iterable_dataset()):
        assert is_dataset(wrong)
        with pytest.raises(SetupError):
            dataset_clips(wrong)
