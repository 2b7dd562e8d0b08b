from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.scoring.tasks import tasks_of_paths
from vmmetrics.utils.storage.state import FileState
from vmmetrics.video.discover import discover
from vmmetrics.video.folders import natural_key
from vmmetrics.video.listing import list_clips, listed_clips
from vmmetrics.video.manifest import ListedClip, read_manifest, write_manifest
from vmmetrics.video.prompts import Prompts

FILES = {
    "wan/a 10.mp4": b"1",
    "wan/a 2.mp4": b"22",
    "wan/a 2.txt": b"a dog runs",
    "ltx/b.mp4": b"333",
    "ltx/b.json": b'{"prompt": "two cats play"}',
    "ltx/a cat plays-3.mp4": b"4",
    "ltx/.hidden.mp4": b"5",
    "prompts.csv": b"clip,prompt,pattern\nwan/a 10.mp4,an old man walks,walk\nltx/b.mp4,not this\n",
    "metadata.jsonl": b'{"file_name": "ltx/b.mp4", "model": "ltx-2b"}\n',
    "readme.md": b"x",
    "ltx/still.webp": b"x",
}


@pytest.fixture
def store() -> Any:
    return pytest.importorskip("fsspec").filesystem("memory")


@pytest.fixture
def bucket(store: Any) -> Iterator[str]:
    name = f"/clips-{uuid.uuid4().hex}"
    for path, data in FILES.items():
        store.pipe_file(f"{name}/{path}", data)
    yield f"memory:/{name}"
    store.rm(name, recursive=True)


def test_names_models_and_prompts_are_those_of_the_same_folder_here(bucket: str, tmp_path: Path) -> None:
    for path, data in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    (tmp_path / "ltx/still.webp").unlink()  # at an address nobody looks whether it moves
    prompts = Prompts(None, tmp_path)
    here = [(source.name, prompts.lookup(source)) for source in discover([tmp_path])]
    remarks: list[str] = []
    there = list_clips([bucket], remarks)
    assert [(clip.name, clip.prompt) for clip in there] == here
    assert [clip.model for clip in there] == [prompt.model for _, prompt in here] == ["ltx", "ltx-2b", "wan", "wan"]
    assert {clip.name: clip.state.bytes for clip in there} == {
        "ltx/a cat plays-3.mp4": 1, "ltx/b.mp4": 3, "wan/a 2.mp4": 2, "wan/a 10.mp4": 1
    }  # fmt: skip
    assert any("skipped 1 .webp" in remark for remark in remarks)


def test_a_large_listing_is_in_order_and_its_clips_share_what_they_have_in_common(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = [f"m{n % 3}/{n:x}-{n % 7}.mp4" for n in range(100)]
    states = [(name, FileState(n, n, "e")) for n, name in enumerate(names)]
    monkeypatch.setattr("vmmetrics.video.listing.files_below", lambda _: iter(states))
    monkeypatch.setattr("vmmetrics.video.listing.state_of", lambda _: None)
    monkeypatch.setattr("vmmetrics.video.listing._SORTED", 7, raising=False)
    clips = list(listed_clips(["s3://bucket/clips"], tmp_path, False, []))
    assert [clip.name for clip in clips] == sorted(names, key=natural_key)
    assert len({id(clip.model) for clip in clips}) == len({id(clip.prompt) for clip in clips}) == 3


def test_a_list_is_written_a_line_at_a_time(tmp_path: Path) -> None:
    def clips() -> Iterator[ListedClip]:
        yield ListedClip("s3://bucket/" + "a" * 2**20, "a")
        (temporary,) = tmp_path.iterdir()
        assert temporary.stat().st_size > 2**20  # the first is in the file before the second is asked for
        yield ListedClip("s3://bucket/b", "b")

    write_manifest(tmp_path / "clips.jsonl", ["s3://bucket"], clips())
    assert len((tmp_path / "clips.jsonl").read_bytes().splitlines()) == 3


def test_patterns_and_several_folders(bucket: str) -> None:
    assert [clip.name for clip in list_clips([f"{bucket}/*/a*.mp4"])] == [
        "ltx/a cat plays-3.mp4", "wan/a 2.mp4", "wan/a 10.mp4"
    ]  # fmt: skip
    both = list_clips([f"{bucket}/wan", f"{bucket}/ltx", f"{bucket}/wan/a 2.mp4"])
    assert [(clip.name, clip.model) for clip in both] == [
        ("a 2.mp4", "wan"), ("a 10.mp4", "wan"), ("a cat plays-3.mp4", "ltx"), ("b.mp4", "ltx")
    ]  # fmt: skip
    with pytest.raises(
        SetupError, match=r"no clips in .*, only files with 1 .md|cannot be fetched: there is no such file"
    ):
        list_clips([f"{bucket}/none"])


def test_a_listing_is_kept_and_used_until_asked_for_anew(store: Any, bucket: str, tmp_path: Path) -> None:
    first = [clip.uri for clip in listed_clips([bucket], tmp_path, False, [])]
    store.pipe_file(f"{bucket.removeprefix('memory:/')}/wan/new.mp4", b"6")
    remarks: list[str] = []
    assert [clip.uri for clip in listed_clips([bucket], tmp_path, False, remarks)] == first
    assert "clips.jsonl of 20" in remarks[0]
    assert "--relist" in remarks[0]
    assert len(list(listed_clips([bucket], tmp_path, True, []))) == len(first) + 1
    assert len(list(listed_clips([f"{bucket}/ltx"], tmp_path, False, []))) == 2  # another folder: the list is not of it


def test_a_list_of_addresses_and_paths(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(
        "# mine\nhttps://me:pw@host/wan/a.mp4?X-Amz-Signature=1\n\nhttps://host/ltx/a.mp4\n"
    )
    clips = list(read_manifest(tmp_path / "urls.txt"))
    assert [(clip.name, clip.model) for clip in clips] == [("wan/a.mp4", "wan"), ("ltx/a.mp4", "ltx")]
    assert clips[0].uri == "https://me:pw@host/wan/a.mp4?X-Amz-Signature=1"
    (tmp_path / "clips.jsonl").write_text(
        json.dumps({"uri": "b.mp4", "name": "x", "model": "m", "prompt": "a dog runs", "tags": {"pattern": "run"}})
        + "\n"
        + json.dumps({"path": str(tmp_path / "c.mp4"), "bytes": 5, "etag": "e"})
    )
    (tmp_path / "c.txt").write_text("two cats play")
    first, second = read_manifest(tmp_path / "clips.jsonl")
    assert (first.uri, first.name, first.model) == (str(tmp_path / "b.mp4"), "x", "m")
    assert second.state == FileState(5, None, "e")
    tasks = tasks_of_paths([tmp_path / "clips.jsonl"], ("tcs",))[0]
    assert [(t.prompt, t.prompt_source, t.path) for t in tasks] == [
        ("a dog runs", "dataset", tmp_path / "b.mp4"), ("two cats play", "sidecar", tmp_path / "c.mp4")
    ]  # fmt: skip
    assert tasks[0].tags == {"pattern": "run"}


def test_clips_told_apart_by_a_query_are_kept_and_repeated_lines_counted(tmp_path: Path) -> None:
    lines = ["http://h/v?token=a", "http://h/v?token=b", "http://h/v", "http://h/v", "http://me:pw@h/v?sig=1"]
    (tmp_path / "urls.txt").write_text("\n".join(lines))
    remarks: list[str] = []
    tasks = tasks_of_paths([tmp_path / "urls.txt"], ("tcs",), remarks=remarks)[0]
    assert [task.uri for task in tasks] == lines[:3]
    assert remarks == ["2 of the listed clips were listed twice; each is scored once"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{}", "line 1: expected an object with uri"), ("[1]", "line 1: expected an object with"), ("{", "line 1: "),
        ('{"uri": "~nosuchuser/a.mp4"}', "line 1: there is no home folder for ~nosuchuser/a.mp4"),
        ('{"uri": "a.mp4", "bytes": "x"}', "line 1: bytes: expected"), ('{"uri": ""}', "line 1: "),
    ],
)  # fmt: skip
def test_a_wrong_line_of_a_list_is_named(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "clips.jsonl").write_text(line + "\n")
    with pytest.raises(SetupError, match=reason):
        list(read_manifest(tmp_path / "clips.jsonl"))


def test_a_list_from_elsewhere_names_no_file_of_this_machine(store: Any, bucket: str) -> None:
    folder = bucket.removeprefix("memory:/")
    for place in ("/etc/passwd", "../../etc/passwd", "~/x.mp4"):
        store.pipe_file(f"{folder}/list.txt", place.encode())
        with pytest.raises(SetupError, match="a remote list cannot name a file of this machine"):
            tasks_of_paths([f"{bucket}/list.txt"], ("tcs",))
    store.pipe_file(f"{folder}/list.txt", b"wan/a 2.mp4")
    assert [task.uri for task in tasks_of_paths([f"{bucket}/list.txt"], ("tcs",))[0]] == [f"{bucket}/wan/a 2.mp4"]


def test_what_is_written_is_read_back(bucket: str, tmp_path: Path) -> None:
    clips = list_clips([bucket])
    write_manifest(tmp_path / "clips.jsonl", [bucket], clips)
    again = list(read_manifest(tmp_path / "clips.jsonl"))
    assert [(c.uri, c.name, c.model, c.state.to_record()) for c in again] == [
        (c.uri, c.name, c.model, c.state.to_record()) for c in clips
    ]
    told = [c.prompt._replace(model=None, tags=dict(c.prompt.tags)) for c in clips if c.prompt]
    assert [c.prompt for c in again] == told
    assert {c.name: c.prompt.tags for c in again if c.prompt}["wan/a 10.mp4"] == {"pattern": "walk"}


def test_the_prompt_list_may_lie_at_an_address(store: Any, bucket: str) -> None:
    store.pipe_file(
        f"{bucket.removeprefix('memory:/')}/other/list.csv", b"clip,prompt\nltx/b.mp4,a bird flies\nz,none\n"
    )
    tasks, unmatched = tasks_of_paths([f"{bucket}/"], ("tcs",), Path(f"{bucket}/other/list.csv"))
    assert {task.clip: task.prompt for task in tasks}["ltx/b.mp4"] == "a bird flies"
    assert unmatched == ["z"]
