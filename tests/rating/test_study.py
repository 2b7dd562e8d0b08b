"""A study folder: what ``new`` makes, refuses and fixes."""

from __future__ import annotations

import json
import stat
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rating.made import frames, sources, study
from vmmetrics.errors import SetupError
from vmmetrics.rating import DESIGNS
from vmmetrics.rating.designs import design_named, design_of
from vmmetrics.rating.flashes import most_flashes
from vmmetrics.rating.study import (
    ClipSource,
    Settings,
    default_texts,
    disorder,
    leading,
    new_study,
    read_study,
    read_texts,
)
from vmmetrics.video import read_clip

TEXTS = Path(__file__).parents[2] / "vmmetrics" / "rating" / "page" / "texts.toml"


def test_clips_are_transcoded_alike_under_names_that_say_nothing(tmp_path: Path) -> None:
    made = study(tmp_path)
    assert len(made.clips) == 12
    files = sorted(path.name for path in (made.path / "media").iterdir())
    assert len(files) == 12 + 6  # of six clips a gold version
    assert not any(name in " ".join(files) for name in ("m0", "m1", "square"))
    for clip in made.clips.values():
        content = made.media(clip.id).read_bytes()
        assert clip.clip.encode() not in content and clip.sha256.encode() not in content
        played = read_clip(made.media(clip.id))
        assert (played.codec, len(played), played.size) == ("h264", 10, (48, 32))
        assert clip.seconds == pytest.approx(10 / played.fps, abs=0.01)
    assert [clip.clip for clip in made.clips.values()] != sorted(clip.clip for clip in made.clips.values())


def test_a_gold_version_has_the_same_frames_in_disorder(tmp_path: Path) -> None:
    made = study(tmp_path, traps=0)
    gold = design_of(made).gold
    assert len(gold) == 6
    whole, broken = (read_clip(made.media(f"{gold[0]}{end}")).frames.astype(int) for end in ("", "-broken"))
    assert abs(whole - broken).mean() > 1
    apart = np.abs(whole[:, None] - broken[None]).mean(axis=(2, 3, 4))
    assert sorted(apart.argmin(axis=1)) == list(range(10))  # but for the coding, each frame is there


@pytest.mark.parametrize(("count", "together"), [(24, 5), (5, 1), (9, 1), (50, 6)])
def test_disorder_keeps_every_frame_and_no_piece_is_in_place_or_in_turn(count: int, together: int) -> None:
    for seed in range(20):
        order = disorder(count, together, np.random.default_rng(seed))
        assert sorted(order) == list(range(count))
        starts = list(range(0, count, together))
        assert all(order.index(at + 1) == order.index(at) + 1 for at in range(count - 1) if at + 1 not in starts)
        shown = [frame for frame in order if frame in starts]
        assert not any(one == place for one, place in zip(shown, starts, strict=True))
        assert not any(after == before + together for before, after in pairwise(shown))


def test_gold_versions_do_not_flash_and_short_clips_have_none(tmp_path: Path) -> None:
    made = sources(tmp_path / "clips", 2, 2, 4)  # four frames
    beats = np.repeat(np.array([0, 220, 220, 0] * 12, np.uint8), 32 * 48 * 3).reshape(48, 32, 48, 3)
    for at in range(4):  # in most orders above the limit
        np.save(tmp_path / f"beats{at}.npy", beats)
        made.append(ClipSource(f"beats{at}", tmp_path / f"beats{at}.npy", "m9", "beats"))
    study = new_study(tmp_path / "study", made, Settings("acr", "c", "l", {"motion": ""}, gold=4))
    assert {clip.clip for clip in study.clips.values()} == {one.clip for one in made}  # none flashes itself
    gold = [clip for clip in study.clips.values() if clip.broken]
    assert 0 < len(gold) <= 4 and all(clip.clip.startswith("beats") for clip in gold)
    for clip in gold:
        shown = read_clip(study.media(f"{clip.id}-broken"))
        assert most_flashes(shown.frames, shown.timestamps) <= 3
    assert len(list((study.path / "media").iterdir())) == len(made) + len(gold)


def test_the_folder_is_private_and_keys_are_not_in_the_record(tmp_path: Path) -> None:
    made = study(tmp_path)
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((made.path / "keys.json").stat().st_mode) == 0o600
    record = (made.path / "study.json").read_text()
    assert len({*made.keys.values()}) == 3 and all(len(key) >= 22 for key in made.keys.values())  # of 128 bits
    assert not any(key in record for key in made.keys.values())
    assert study(tmp_path / "again").keys["raters"] != made.keys["raters"]


def test_what_is_fixed_is_read_back(tmp_path: Path) -> None:
    made = study(tmp_path, design="pair", levels=5, pay=2.5, currency="EUR", ethics="IRB 7", within_model=False)
    again = read_study(made.path)
    assert again.settings == made.settings
    assert again.clips == made.clips
    assert again.settings.texts == default_texts()


def test_clips_that_flash_are_left_out_or_said(tmp_path: Path) -> None:
    made = sources(tmp_path / "clips", 2, 2)
    shown = frames(0, 48)
    shown[::2] = 255
    np.save(tmp_path / "flash.npy", shown)
    made.append(ClipSource("flash.npy", tmp_path / "flash.npy", "m9", "light"))
    settings: dict[str, Any] = {"contact": "c", "licence": "l", "questions": {"motion": ""}}
    left = new_study(tmp_path / "a", made, Settings("acr", **settings))
    assert list(left.left_out) == ["flash.npy"] and "flashes in a second" in left.left_out["flash.npy"]
    assert "flash.npy" not in [clip.clip for clip in left.clips.values()]
    assert not (left.path / "media").joinpath("c00005.mp4").exists() or len(left.clips) == 4
    warned = new_study(tmp_path / "b", made, Settings("acr", flashing="warn", **settings))
    assert max(clip.flashes for clip in warned.clips.values()) > 3 and not warned.left_out


def test_what_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.npy").write_text("no clip")
    bad = [ClipSource("bad.npy", tmp_path / "bad.npy")] * 1
    with pytest.raises(SetupError, match="fewer than two clips"):
        new_study(tmp_path / "study", bad, Settings("acr", "c", "l"))
    assert not (tmp_path / "study").exists()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("x")
    with pytest.raises(SetupError, match="holds other files"):
        new_study(tmp_path / "taken", sources(tmp_path / "clips"), Settings("acr", "c", "l"))
    with pytest.raises(SetupError, match="share a prompt"):
        design_of(study(tmp_path / "one", "pair", models=1))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"levels": 7}, "5, 9 or 11"),
        ({"contact": " "}, "whom to ask"),
        ({"licence": ""}, "may show"),
        ({"completion_url": "javascript:alert(1)"}, "https://"),
    ],
)
def test_settings_that_cannot_be(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Settings(**{"design": "acr", "contact": "c", "licence": "l", **more})


def test_questions_lead_to_no_answer(tmp_path: Path) -> None:
    texts = tomllib.loads(TEXTS.read_text("utf-8"))
    asked = [texts[text] for design in DESIGNS for text in design_named(design).asks.values()]
    assert len(asked) == len(DESIGNS) + 4 and not any(map(leading, asked))
    made = sources(tmp_path, 1, 2)
    assert "names the model m1" in leading("Is M1 better?", made)
    mo = [ClipSource("a", tmp_path, "mo"), ClipSource("b", tmp_path, "v1.0+")]
    assert leading("How good is the motion?", mo) == ""
    assert "names the model v1.0+" in leading("How good is V1.0+?", mo)
    assert "'natural'" in leading("How natural is it?")
    assert leading("From unnatural to natural, how is it?") == ""
    with pytest.raises(SetupError, match="leads to an answer"):
        study(tmp_path / "a", questions={"motion": "How smooth is it?"})


def test_texts_of_another_language(tmp_path: Path) -> None:
    (tmp_path / "de.toml").write_text('language = "de"\nbegin = "Los"\n')
    made = study(tmp_path, texts=read_texts(tmp_path / "de.toml"))
    assert made.settings.texts["begin"] == "Los"
    assert made.settings.texts["next"] == default_texts()["next"]
    assert made.consent == study(tmp_path / "b").consent
    (tmp_path / "wrong.toml").write_text('beginn = "Los"\n')
    with pytest.raises(SetupError, match="beginn"):
        read_texts(tmp_path / "wrong.toml")
    (tmp_path / "none.toml").write_text("begin = \n")
    with pytest.raises(SetupError, match="TOML"):
        read_texts(tmp_path / "none.toml")


def test_a_damaged_study_is_said(tmp_path: Path) -> None:
    made = study(tmp_path)
    record = json.loads((made.path / "study.json").read_text())
    for change, said in (({"format": 9}, "another version"), ({"clips": 3}, "clips")):
        (made.path / "study.json").write_text(json.dumps(record | change))
        with pytest.raises(SetupError, match=said):
            read_study(made.path)
    with pytest.raises(SetupError, match="no study"):
        read_study(tmp_path)
    (made.path / "keys.json").write_text("{}")
    with pytest.raises(SetupError, match="lacks a key"):
        _ = made.keys
