"""What people type for clips: patterns in quotes, ``~``, names with wildcards in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.bad_inputs import moving_frames, write_animation, write_pictures
from tests.video.test_discover import found, touch
from vmmetrics.errors import SetupError
from vmmetrics.video import discover


def test_a_pattern_gives_what_a_shell_gives(tmp_path: Path) -> None:
    touch(tmp_path, "m1/a.mp4", "m1/b.webm", "m2/10.mp4", "m2/9.mp4", "m2/.hidden.mp4", "m2/deep/c.mp4", "m1/notes.txt")
    assert found(tmp_path / "m1" / "*.mp4") == [("a.mp4", None)]
    assert found(tmp_path / "m2" / "*.mp4") == [("9.mp4", None), ("10.mp4", None)]
    assert found(tmp_path / "m?" / "*.mp4") == [("m1/a.mp4", "m1"), ("m2/9.mp4", "m2"), ("m2/10.mp4", "m2")]
    assert found(tmp_path / "m[13]" / "*") == [("m1/a.mp4", "m1"), ("m1/b.webm", "m1")]  # what is no clip is left alone
    assert found(tmp_path / "**" / "*.mp4") == [
        ("m1/a.mp4", "m1"),
        ("m2/9.mp4", "m2"),
        ("m2/10.mp4", "m2"),
        ("m2/deep/c.mp4", "m2"),
    ]
    assert found(tmp_path / "m*") == found(tmp_path)
    assert found(tmp_path / "**") == found(tmp_path)
    assert found(tmp_path / "m1" / "**") == [("a.mp4", None), ("b.webm", None)]
    assert found(tmp_path / "m*", tmp_path / "m1" / "a.mp4") == found(tmp_path)  # each path once
    assert found(tmp_path / "m1" / "*.txt") == [("notes.txt", None)]  # asked for by its suffix


def test_a_pattern_takes_frames_in_webp_for_what_they_are(tmp_path: Path) -> None:
    for clip in ("wan/c1", "ltx/c1"):
        (tmp_path / "out" / clip).parent.mkdir(parents=True)
        write_pictures(tmp_path / "out" / clip, moving_frames(3, (16, 16)), ".webp")
    write_animation(tmp_path / "out/wan/moves.webp", moving_frames(3), duration=40)
    folder = found(tmp_path / "out")
    assert folder == [("ltx/c1", "ltx"), ("wan/c1", "wan"), ("wan/moves.webp", "wan")]
    assert found(tmp_path / "out" / "**" / "*") == folder


def test_a_pattern_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "a.mp4", "m/b.mp4")
    monkeypatch.chdir(tmp_path)
    assert [source.name for source in discover(["*.mp4"])] == ["a.mp4"]
    assert [source.name for source in discover(["**/*.mp4"])] == ["a.mp4", "m/b.mp4"]


@pytest.mark.parametrize("name", ["a*.mp4", "a[1].mp4", "a?.mp4", "~a.mp4", "~", "[red] cat.mp4"])
def test_a_file_that_is_called_so_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    touch(tmp_path, name, "ab.mp4", "a1.mp4")
    monkeypatch.chdir(tmp_path)
    assert [source.name for source in discover([name])] == [name]


def test_a_pattern_follows_no_circle(tmp_path: Path) -> None:
    touch(tmp_path, "m/a.mp4")
    for number in range(3):
        (tmp_path / "m" / f"loop{number}").symlink_to(tmp_path)
    assert {os.path.realpath(source.path) for source in discover([tmp_path / "**" / "*.mp4"])} == {
        str(tmp_path / "m" / "a.mp4")
    }


def test_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "clips/a.mp4")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [source.name for source in discover(["~/clips"])] == ["a.mp4"]
    assert [source.name for source in discover([Path("~/clips/*.mp4")])] == ["a.mp4"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("*.avi", r"No file matches .*\*\.avi"),
        ("nowhere/*.mp4", r"No file matches .*: there is no folder .*nowhere"),
        ("m/nope/x.mp4", r"No such file or folder: .* \(there is no nope in .*m\)"),
        ("~nobody-of-that-name/clips", "No such file or folder"),
        ("a**b/*.mp4", "is not a valid pattern|No file matches"),
        ("x\0*", "is not a valid pattern|No file matches|No such"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, said: str) -> None:
    touch(tmp_path, "m/a.mp4")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SetupError, match=said):
        discover([given])
