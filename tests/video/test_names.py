"""Prompts in the names that scripts write, written here as the scripts do; and names that hold none."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.video.names import is_prompt_folder, prompt_in_name

LONG = "A black horse gallops over a wide meadow while two dogs chase it through the tall wet grass at dawn, slowly"
WHEN = datetime(2025, 3, 1, 12, 30, 5)


def wan21(prompt: str, task: str = "t2v-14B", size: str = "1280*720") -> str:
    prompt = prompt.replace(" ", "_").replace("/", "_")[:50]
    return f"{task}_{size}_1_8_{prompt}_{WHEN:%Y%m%d_%H%M%S}.mp4"


def wan22(prompt: str, task: str = "ti2v-5B", size: str = "1280*704") -> str:
    prompt = prompt.replace(" ", "_").replace("/", "_")[:50]
    return f"{task}_{size}_8_{prompt}_{WHEN:%Y%m%d_%H%M%S}.mp4"


def hunyuan(prompt: str) -> str:
    return f"{WHEN:%Y-%m-%d-%H:%M:%S}_seed42_{prompt[:100].replace('/', '')}.mp4"


def cogvideox_validation(prompt: str) -> str:
    for character in " /:.,;!?":
        prompt = prompt.replace(character, "-")
    return f"validation-500-0-{prompt[:25]}.mp4"


def diffusers_validation(prompt: str) -> str:
    prompt = prompt[:25].replace(" ", "_").replace("'", "_").replace('"', "_").replace("/", "_")
    return f"validation_video_0_{prompt}.mp4"


@pytest.mark.parametrize(
    ("name", "text", "source"),
    [
        (wan21("A cat plays"), "A cat plays", "name:wan"),
        (wan21("3 dogs run"), "3 dogs run", "name:wan"),
        (wan21("A cat plays", "t2v-1.3B", "832x480"), "A cat plays", "name:wan"),  # as on Windows
        (wan21("A cat plays", "flf2v-14B"), "A cat plays", "name:wan"),
        (wan22("2 cats play", "t2v-A14B"), "2 cats play", "name:wan"),  # the 2 is no second number of processes
        (wan22("A cat plays", "s2v-14B"), "A cat plays", "name:wan"),
        (wan22("一只猫在草地上玩"), "一只猫在草地上玩", "name:wan"),
        (wan21(LONG), LONG[:50], "name:wan (cut)"),
        (hunyuan("A cat, real style."), "A cat, real style.", "name:hunyuan"),
        (hunyuan(LONG), LONG[:100], "name:hunyuan (cut)"),
        (hunyuan("A cat").replace(":", "-"), "A cat", "name:hunyuan"),
        ("video_output_0_the-turquoise-waves_171198_704x1216x121_0.mp4", "the turquoise waves", "name:ltx (cut)"),
        ("video_output_0_a-dog-runs_1_480x704x161_3.mp4", "a dog runs", "name:ltx"),
        (cogvideox_validation("A cat, asleep"), "A cat asleep", "name:cogvideox"),
        (cogvideox_validation(LONG), LONG[:25], "name:cogvideox (cut)"),
        (cogvideox_validation("A cat sleeps").replace(".mp4", "-a1b2c.mp4"), "A cat sleeps", "name:cogvideox"),
        (diffusers_validation("A cat sleeps"), "A cat sleeps", "name:diffusers"),
        (diffusers_validation(LONG).replace("validation", "test"), LONG[:25], "name:diffusers (cut)"),
        ("validation-500-0-2-A-cat-sleeps-1739459123456.mp4", "A cat sleeps", "name:finetrainers"),
        ("a dog runs-3.mp4", "a dog runs", "name:vbench"),
        ("In a still frame, a stop sign-0.mp4", "In a still frame, a stop sign", "name:vbench"),
        ("amusement park-4.mp4", "amusement park", "name:vbench"),
        ("a fashion model walks down 3 steps-0.mp4", "a fashion model walks down 3 steps", "name:vbench"),
        ("a seed grows into a plant-1.mp4", "a seed grows into a plant", "name:vbench"),
        ("a fashion model-0.mp4", "a fashion model", "name:vbench"),
        ("mochi on a plate-1.mp4", "mochi on a plate", "name:vbench"),
        ("一只狗在海滩上奔跑-2.mp4", "一只狗在海滩上奔跑", "name:vbench"),
        ("out/3_A_cat_plays/0/000000.mp4", "A cat plays", "name:cogvideox"),
        (f"out/0_{LONG.replace(' ', '_')}_and_so_on_for_ever/1/000000.mp4", f"{LONG} and so on for ever"[:120], None),
    ],
)  # fmt: skip
def test_names_that_scripts_write(name: str, text: str, source: str | None) -> None:
    found = prompt_in_name(PurePath(name))
    assert found is not None
    assert found.text.startswith(text.strip())
    if source is not None:
        assert (found.text, found.source) == (text.strip(), source)


OTHERS = """
0001.mp4|IMG_2034.MOV|IMG_20240501_120000.mp4|VID_20240501_120000.mp4|PXL_20240501_120000123.mp4|MVI_0042.avi
DSC_0042.mov|DSCN0001.avi|GH010123.mp4|GOPR0001.mp4|GX010012.mp4|DJI_0001.mp4|DJI_20240501120000_0001_D.mp4
MOV_0001.mp4|C0001.mp4|00000.mts|20240501_120000.mp4|20240501_120000_1.mp4|2024-05-01 12.00.00.mp4
2024-05-01 12.00.00-1.mp4|2024-05-01 12-00-00.mkv|2024-05-01 12-00-00-3.mkv|Screen Recording 2024-05-01.mov
Screen Recording 2024-05-01 at 12.00.00.mov|Screen Recording 2024-05-01 at 12.00.00-2.mov|Screen Recording-1.mov
Screenshot 1-2.mp4|Screencast from 05-01-2024 12:00:00.webm|Bildschirmaufnahme 2024-05-01 um 12.00.00.mov
WhatsApp Video 2024-05-01 at 12.00.00.mp4|WhatsApp Video-2.mp4|VID-20240501-WA0001.mp4|signal-2024-05-01-120000.mp4
RPReplay_Final1714550400.mp4|Zoom Meeting-1.mp4|New Recording 12-3.mp4|clip_final_v2.mp4|clip final v2-3.mp4
final cut v3-1.mp4|My Movie-1.mp4|my video-2.mp4|Untitled video-1.mp4|New Project-2.mp4|Copy of dog-1.mp4
Sequence 01-1.mp4|Timeline 1-2.mov|cogvideo_12.mp4|a dog.mp4|a dog runs.mp4|output.mp4|output_1730000000.mp4
output_480p_t2v_2025-11-20 12:00:00.mp4|sample_0000.mp4|sample_0000-1.mp4|sample-7.gif|prompt_0001_2.mp4
ComfyUI_00001_.mp4|AnimateDiff_00001.mp4|wan_00001.mp4|Wan2.1_T2V_00001.mp4|hunyuan_video_00003.mp4|ltxv_00001.mp4
000000.mp4|v_ApplyEyeMakeup_g01_c01.avi|v_qJdwDXu5fr8.mp4|video7010.mp4|TikTok_7000000000.mp4
-5KQ66BBWC4_000095_000105.mp4|brush_hair_swing_u_cm_np1_ba_goo_0.avi|S001C001P001R001A001_rgb.avi|P01_01.MP4
vid-0001-0.mp4|a1b2c3d4-e5f6-7890.mp4|550e8400-e29b-41d4-a716-446655440000.mp4|dQw4w9WgXcQ.webm
Some Title [dQw4w9WgXcQ].mp4|How to cook pasta.mp4|S01E02.mkv|Episode 3-1.mkv|Season 1 Episode 2-1.mkv|clip-3.mp4
video-10.mp4|frame-0001.mp4|scene-001.mp4|model-epoch-12.mp4|00012-3456789.mp4|validation_video_0.mp4
validation-500-0.mp4|validation-500-0-video-abc-12.mp4|test_video_1_final.mp4|test_video_2_long_take_here.mp4
validation-100-2-sample000-video.mp4|video_output_0_171198_704x1216x121_0.mp4|2024-05-01-12-00-00_seed42_.mp4
t2v-14B_1280*720_1_1__20250301_120000.mp4|t2v-14B_1280*720_1_1_.mp4|Gen-3 Alpha 1234567890.mp4|kling_20240801.mp4
wan 14b-3.mp4|cfg 7 steps 50-0.mp4|baseline model-1.mp4|model a seed 42-1.mp4|wan 2.1 cfg 6 shift 8 epoch 12-0.mp4
hunyuan video-2.mp4|ltx 0.9.7-0.mp4|cogvideox 5b lora-3.mp4|our model step 3000-1.mp4|guidance scale 7.5-0.mp4
d1/d2/000000.mp4|12/0/000000.mp4|1_2/0/000000.mp4|train/0/000000.mp4|lab 3-2024.mp4|take 02-0001.mp4|a b-12345.mp4
""".replace("\n", "|").strip("|").split("|")  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_names_of_cameras_tools_and_data_sets_hold_no_prompt(name: str) -> None:
    assert prompt_in_name(PurePath(name)) is None


WORDS = st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12), min_size=3, max_size=30)


@given(WORDS)
def test_what_a_script_writes_is_read_back(words: list[str]) -> None:
    prompt = " ".join(words)
    for name, most in ((wan21(prompt), 50), (wan22(prompt), 50), (hunyuan(prompt), 100)):
        found = prompt_in_name(PurePath(name))
        assert found is not None
        assert found.text == prompt[:most].strip()
        assert found.cut == (len(prompt) >= most)


COUNTED = r"(IMG|VID|MVI|DSC|PXL|GOPR|clip|video|sample|frame)[-_ ]?[0-9]{1,8}([-_][0-9]{1,6}){0,3}"


@given(st.from_regex(COUNTED, fullmatch=True))
def test_a_word_with_numbers_is_never_a_prompt(stem: str) -> None:
    assert prompt_in_name(PurePath(f"{stem}.mp4")) is None


@given(st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)), st.sampled_from("-_. :"), st.integers(0, 99))
def test_a_date_is_never_a_prompt(when: datetime, between: str, number: int) -> None:
    for day in (f"{when:%Y-%m-%d}", f"{when:%Y%m%d}", f"{when:%d.%m.%Y}"):
        for start in ("", "Recording ", "holiday in Rome "):
            for stem in (f"{start}{day} {when:%H}{between}{when:%M}{between}{when:%S}", f"{start}{day}"):
                for end in ("", f"-{number}"):
                    assert prompt_in_name(PurePath(f"{stem}{end}.mp4")) is None


def test_the_folder_of_a_prompt_is_no_model() -> None:
    assert is_prompt_folder(("3_A_cat_plays", "0", "000000.mp4"))
    assert not is_prompt_folder(("cogvideox", "3_A_cat_plays", "0", "000000.mp4"))
    assert not is_prompt_folder(("1_wan", "a.mp4"))
    assert not is_prompt_folder(("wan", "0", "000000.mp4"))
