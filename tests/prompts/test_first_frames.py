"""First frames: clips made from pictures, made again where a picture changed, and compared with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.cli.conftest import Done, command_in
from vmmetrics.errors import SetupError
from vmmetrics.prompts.clips.folder import plan_of
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.files import write_entries
from vmmetrics.scoring.first_frames import fitted
from vmmetrics.video.first_frames import find_first_frames, read_picture

PROGRAM = """
import sys
import numpy as np
from PIL import Image
from vmmetrics.prompts.clips.makers import write_video
picture, out, _ = sys.argv[1:]
frames = [np.asarray(Image.open(picture).convert("RGB").resize((64, 48)))] * 4
write_video(__import__("pathlib").Path(out), np.stack(frames + [np.roll(frames[0], 4 * t, 1) for t in range(1, 5)]), 8)
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Three prompts with a picture each, larger than the clips, and a program that rolls them after a while."""
    entries = [PromptEntry(f"{n:04d}", f"Thing {n} moves.", "a thing", "thing", "", "moving") for n in (1, 2, 3)]
    write_entries(tmp_path / "list.json", entries)
    (tmp_path / "frames").mkdir()
    for n in (1, 2, 3):
        rough = np.random.default_rng(n).integers(0, 256, (6, 8, 3)).astype(np.uint8)
        smooth = cv2.resize(rough, (128, 96), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(tmp_path / "frames" / f"{n:04d}.{('png', 'jpg', 'webp')[n - 1]}"), smooth[..., ::-1])
    (tmp_path / "gen.py").write_text(PROGRAM)
    return tmp_path


def made(study: Path, *more: object) -> Done:
    command = f"'{sys.executable}' gen.py {{first_frame}} {{out}} --prompt={{prompt}}"
    return command_in(study, "generate-clips", "--prompts", "list.json", "--out", "clips", "--samples", 2,
                      "--command", command, *more)  # fmt: skip


def journal(study: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (study / "clips" / "generation.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == "clip"]


def test_clips_begin_with_their_pictures_and_are_made_again_where_one_changed(study: Path) -> None:
    done = made(study, "--first-frames", "frames")
    assert done.code == 0, done.err
    hashes = {line["clip"]: line["first_frame"] for line in journal(study)}
    assert len(hashes) == 6
    assert hashes["0001-1.mp4"] == hashes["0001-2.mp4"] != hashes["0002-1.mp4"]
    (study / "frames" / "0002.jpg").write_bytes((study / "frames" / "0001.png").read_bytes())
    assert made(study, "--first-frames", "frames").code == 0
    assert sorted(str(line["clip"]) for line in journal(study)[6:]) == ["0002-1.mp4", "0002-2.mp4"]


def test_fidelity_loss_and_onset_are_those_of_the_program(study: Path) -> None:
    assert made(study, "--first-frames", "frames").code == 0
    (study / "clips" / "0009.mp4").write_bytes((study / "clips" / "0001-1.mp4").read_bytes())
    done = command_in(study, "prompts", "first-frames", "clips", "--pictures", "frames", "--format", "json")
    assert done.code == 3
    rows = {row["clip"]: row for row in json.loads(done.out)["clips"]}
    assert "frames lacks its first frame, 0009.png" in rows["0009.mp4"]["error"]
    for name in ("0001-1.mp4", "0002-2.mp4", "0003-1.mp4"):
        assert rows[name]["fidelity"] > 0.9
        assert rows[name]["loss"] > 0.2
        assert rows[name]["colour loss"] < 0.2
        assert rows[name]["onset (s)"] == pytest.approx(3 / 8)
    assert rows["mean of 6"]["fidelity"] > 0.9


def test_what_is_lacking_is_named(study: Path, tmp_path: Path) -> None:
    (study / "frames" / "0002.jpg").unlink()
    done = made(study, "--first-frames", "frames")
    assert (done.code, "frames lacks first frames of 1 prompts: 0002.png" in done.err) == (2, True)
    assert not (study / "clips").exists()
    assert "go together" in made(study).err
    (tmp_path / "frames" / "0003.png").write_bytes(b"no picture")
    with pytest.raises(SetupError, match="not readable as a picture"):
        read_picture(tmp_path / "frames" / "0003.png")
    entries = [PromptEntry("0001", "A thing moves.", "a thing", "thing", "", "moving")]
    (job,) = plan_of(entries, first_frames=study / "frames").jobs
    assert job.first_frame == find_first_frames(study / "frames", ["0001"])["0001"]


def test_a_picture_fits_as_the_model_took_it() -> None:
    """A wide picture is stretched or cut to a square clip: the nearer of both is compared."""
    rough = np.random.default_rng(0).integers(0, 256, (6, 12, 3)).astype(np.uint8)
    wide = cv2.resize(rough, (128, 64), interpolation=cv2.INTER_CUBIC)
    stretched = cv2.resize(wide, (64, 64), interpolation=cv2.INTER_AREA)
    assert (fitted(wide, wide[:, 32:96]) == wide[:, 32:96]).all()
    assert (fitted(wide, stretched) == stretched).all()
