"""Which clips are found, and what they are called."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.bad_inputs import moving_frames, write_animation, write_pictures, write_video
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.video import Prompts, Source, discover, read_clip


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")


def found(*paths: Path) -> list[tuple[str, str | None]]:
    return [(source.name, source.model) for source in discover(paths)]


def test_clips_in_natural_order_and_nothing_else(tmp_path: Path) -> None:
    touch(
        tmp_path, "10.mp4", "9.MP4", "b.webm", "a.gif", "c.npy", "d.pt", "prompts.json", "a.txt", "ratings.csv", "x.md"
    )
    touch(tmp_path, ".hidden.mp4", ".git/a.mp4", "poster.png", "Makefile")
    assert [name for name, _ in found(tmp_path)] == ["9.MP4", "10.mp4", "a.gif", "b.webm", "c.npy", "d.pt"]


def test_one_folder_per_model(tmp_path: Path) -> None:
    touch(tmp_path, "m1/0001.mp4", "m1/0002.mp4", "m2/deep/0001.mp4", "prompts.json")
    assert found(tmp_path) == [("m1/0001.mp4", "m1"), ("m1/0002.mp4", "m1"), ("m2/deep/0001.mp4", "m2")]


def test_a_stray_clip_leaves_the_models_as_they_are_and_is_said(tmp_path: Path) -> None:
    touch(tmp_path, "m1/0001.mp4", "m2/deep/0001.mp4", "loose.mp4")
    remarks: list[str] = []
    sources = discover([tmp_path], remarks=remarks)
    assert [(s.name, s.model) for s in sources] == [
        ("loose.mp4", None),
        ("m1/0001.mp4", "m1"),
        ("m2/deep/0001.mp4", "m2"),
    ]
    assert remarks == ["1 clip (loose.mp4) outside the 2 model folders (m1, m2): scored without a model name"]
    (tmp_path / "loose.mp4").unlink()
    remarks.clear()
    discover([tmp_path], remarks=remarks)
    assert not remarks


def test_a_folder_per_prompt_is_no_model(tmp_path: Path) -> None:
    touch(tmp_path, "cog/0_A_dog_runs/0/000000.mp4", "cog/1_A_cat_runs/0/000000.mp4")
    assert {model for _, model in found(tmp_path / "cog")} == {None}
    assert {model for _, model in found(tmp_path)} == {"cog"}


def test_several_folders_are_models(tmp_path: Path) -> None:
    touch(tmp_path, "m1/0001.mp4", "m2/0001.mp4", "m2/other.mp4")
    assert found(tmp_path / "m1", tmp_path / "m2") == [
        ("m1/0001.mp4", "m1"),
        ("m2/0001.mp4", "m2"),
        ("other.mp4", "m2"),
    ]


def test_frame_folders(tmp_path: Path) -> None:
    frames = moving_frames(3, (16, 16))
    (tmp_path / "m1").mkdir()
    write_pictures(tmp_path / "m1" / "clip1", frames)
    write_pictures(tmp_path / "m1" / "clip2", frames, ".webp")
    touch(tmp_path, "m1/pictures/cat.png", "m1/pictures/dog.png")  # no numbers: not frames
    write_pictures(tmp_path / "m1" / "thumbs", frames)
    touch(tmp_path, "m1/thumbs/real.mp4")  # pictures beside a clip are not frames
    assert found(tmp_path) == [("m1/clip1", "m1"), ("m1/clip2", "m1"), ("m1/thumbs/real.mp4", "m1")]
    assert found(tmp_path / "m1" / "clip1") == [("clip1", None)]
    assert found(tmp_path / "m1" / "pictures") == [("pictures", None)]
    assert len(read_clip(tmp_path / "m1" / "clip2")) == 3


def test_animated_webp_is_a_clip(tmp_path: Path) -> None:
    write_animation(tmp_path / "1.webp", moving_frames(3), duration=40)
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "poster.webp")
    assert found(tmp_path) == [("1.webp", None)]


def test_files_named_outright(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "b/a.txt", ".c.mp4")
    assert found(tmp_path / "a.txt", tmp_path / ".c.mp4") == [("a.txt", None), (".c.mp4", None)]
    names = [name for name, _ in found(tmp_path / "a.txt", tmp_path / "b" / "a.txt")]
    assert names == [f"{tmp_path.name}/a.txt", "b/a.txt"]


def test_names_stay_unique_where_folders_have_one_name(tmp_path: Path) -> None:
    touch(tmp_path, "x/run/a.mp4", "y/run/a.mp4")
    names = [name for name, _ in found(tmp_path / "x" / "run", tmp_path / "y" / "run")]
    assert len(set(names)) == 2
    assert all(name.endswith("run/a.mp4") for name in names)


def test_each_path_once(tmp_path: Path) -> None:
    touch(tmp_path, "a.mp4")
    assert found(tmp_path, tmp_path / "a.mp4", tmp_path) == [("a.mp4", None)]


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"No such file or folder: .*nowhere"):
        discover([tmp_path / "nowhere"])
    assert discover([tmp_path]) == []


def test_links(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    touch(tmp_path, "outside/secret.mp4", "outside/deep/other.mp4", "root/a.mp4", "root/m/b.mp4")
    (root / "linked").symlink_to(outside)
    (root / "again").symlink_to(root / "m")  # names are those of the folders, not of links to them
    (root / "loop").symlink_to(root)
    (root / "up").symlink_to(tmp_path)
    (outside / "back").symlink_to(root)
    (outside / "here").symlink_to(outside)
    (root / "b.mp4").symlink_to(outside / "secret.mp4")
    (root / "c.mp4").symlink_to("a.mp4")
    remarks: list[str] = []
    sources = {source.name: source for source in discover([root], remarks=remarks)}
    within = ["a.mp4", "b.mp4", "c.mp4", "m/b.mp4"]
    assert sorted(sources) == [*within[:3], "linked/deep/other.mp4", "linked/secret.mp4", within[3]]
    assert any("linked folders (again, loop, up, ...) not searched again" in remark for remark in remarks)
    remarks.clear()
    assert [source.name for source in discover([root], follow_links=False, remarks=remarks)] == within
    assert any("1 linked folder (linked) not searched: it leads out" in remark for remark in remarks)
    with pytest.raises(ClipError, match=r"The symlink b\.mp4 leads out of the folder given"):
        read_clip(sources["b.mp4"].path, root=sources["b.mp4"].root)
    with pytest.raises(ClipError, match="Not a video"):  # read, and found to be no clip
        read_clip(sources["c.mp4"].path, root=sources["c.mp4"].root)
    (tmp_path / "shortcut").symlink_to(root)
    assert [name for name, _ in found(tmp_path / "shortcut")] == sorted(sources)


def snapshot(cache: Path, files: dict[str, bytes], revision: str = "f" * 40) -> Path:
    """Files as the Hugging Face cache lays them out: links in a snapshot to blobs beside it."""
    folder = cache / "datasets--org--name" / "snapshots" / revision
    for name, content in files.items():
        blob = cache / "datasets--org--name" / "blobs" / hashlib.sha256(content).hexdigest()
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(content)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(os.path.relpath(blob, (folder / name).parent))
    return folder


def test_the_cache_of_the_hub_is_a_folder_like_any_other(tmp_path: Path) -> None:
    listed = b"file_name,text,model\nclips/a.mp4,a dog runs,wan\n"
    clip = write_video(tmp_path / "a.mp4", moving_frames(4, (32, 32))).read_bytes()
    folder = snapshot(tmp_path / "hub", {"clips/a.mp4": clip, "clips/a.txt": b"a cat", "metadata.csv": listed})
    for place in (folder, folder / "clips", folder / "clips" / "a.mp4"):
        (source,) = discover([place])
        assert len(read_clip(source.path)) == 4
        told = Prompts().lookup(source)
        assert (told.prompt, told.source, told.model) == ("a cat", "sidecar", "wan")
        (folder / "clips" / "a.txt").rename(folder / "clips" / "b.txt")
        assert Prompts().lookup(source).prompt == "a dog runs"
        (folder / "clips" / "b.txt").rename(folder / "clips" / "a.txt")
    (tmp_path / "hub" / "secret.txt").write_text("secret")
    (folder / "clips" / "a.txt").unlink()
    (folder / "clips" / "a.txt").symlink_to(tmp_path / "hub" / "secret.txt")  # no blob of this repository
    assert Prompts().lookup(source).prompt == "a dog runs"


def test_a_folder_of_ones_own_called_snapshots_opens_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "snapshots" / "may"
    touch(folder, "a.mp4")
    (tmp_path / "run" / "blobs").mkdir()
    (tmp_path / "run" / "blobs" / "secret").write_text("secret")
    (folder / "a.txt").symlink_to(tmp_path / "run" / "blobs" / "secret")
    (source,) = discover([folder])
    assert Prompts().lookup(source).prompt is None
    (folder / "prompts.csv").write_text("clip,prompt\ndeep/a.mp4,above\n")
    touch(folder, "deep/a.mp4")
    (source,) = discover([folder / "deep"])
    assert Prompts().lookup(source).prompt is None


def test_file_named_by_the_user_may_be_a_link(tmp_path: Path) -> None:
    touch(tmp_path, "outside/a.mp4")
    (tmp_path / "b.mp4").symlink_to(tmp_path / "outside" / "a.mp4")
    assert discover([tmp_path / "b.mp4"]) == [Source(tmp_path / "b.mp4", "b.mp4")]


def test_folder_called_like_a_clip(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").mkdir()
    touch(tmp_path, "b.mp4/real.mp4")
    assert [name for name, _ in found(tmp_path)] == ["a.mp4", "b.mp4/real.mp4"]
