from __future__ import annotations

from pathlib import Path

from vmmetrics.understanding.benchmarks.files import videos_below


def test_videos_below_folders(tmp_path: Path) -> None:
    for name in ("a/x/y/one.mp4", "a/two.WEBM", "a/x/two.mp4", "b/two.mp4", "b/three.x.mkv", "b/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in ("a/x/y/z/deep.mp4", "a/.hidden/four.mp4", "a/.five.mp4"):  # passed over
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "b" / "six.mp4").mkdir()
    (tmp_path / "b" / "gone.mp4").symlink_to("nowhere")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    found = videos_below([tmp_path / "a", tmp_path / "b", tmp_path / "absent"])
    assert found == {
        "one": tmp_path / "a/x/y/one.mp4", "two": tmp_path / "a/two.WEBM", "three.x": tmp_path / "b/three.x.mkv",
    }  # fmt: skip
