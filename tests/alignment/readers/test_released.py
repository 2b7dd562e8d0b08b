"""Small files of each released schema, with values made up here."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers.read import read_study
from vmmetrics.errors import SetupError


def write_fetv(root: Path) -> Path:
    """Two sentences by two models and a real video, rated by two people; one line per sentence."""
    ratings = {"cogvideo": (2, 1), "damo-text2video": (3, 4), "ground-truth": (5, 5)}
    for rater in (0, 1):
        folder = root / "manual_eval_results" / f"human{rater}"
        folder.mkdir(parents=True)
        for model, (zero, one) in ratings.items():
            lines = [
                {str(sentence): {
                    "video_id": f"video{90 + sentence}", "static_quality": 3, "temporal_quality": quality - rater % 2,
                    "alignment": 2, "fine-grained_alignment": {"color": 1},
                }}
                for sentence, quality in enumerate((zero, one))
            ]  # fmt: skip
            file = folder / f"manual_eval_results_{model}.json"
            file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return root / "manual_eval_results"


@pytest.mark.parametrize(
    "clips",
    [
        ["cogvideo/videos/0.gif", "cogvideo/videos/1.gif", "modelscope-t2v/videos/0.gif", "modelscope-t2v/videos/1.gif",
         "real/video90.mp4", "real/video91.mp4"],
        ["000_cogvideo.gif", "001_cogvideo.gif", "000_modelscope-t2v.gif", "001_modelscope-t2v.gif", "000_real.gif",
         "001_real.gif"],
        ["cogvideo/0.mp4", "cogvideo/1.mp4", "damo-text2video/0.mp4", "damo-text2video/1.mp4", "ground-truth/0.mp4",
         "ground-truth/1.mp4"],
        ["cogvideo/0", "cogvideo/1", "modelscope-t2v/0", "modelscope-t2v/1", "ground-truth/0", "ground-truth/1"],
        ["cogvideo/0", "cogvideo/1", "damo-text2video/0", "damo-text2video/1", "real/0", "real/1"],
        ["cogvideo/videos/0.gif", "cogvideo/videos/1.gif", "damo-text2video/videos/0.gif",
         "damo-text2video/videos/1.gif", "ground-truth/video90.mp4", "ground-truth/video91.mp4"],
        ["000_cogvideo.gif", "001_cogvideo.gif", "000_damo-text2video.gif", "001_modelscope-t2v.gif",
         "000_ground-truth.gif", "001_real.gif"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("format_name", [None, "fetv"])
def test_fetv(tmp_path: Path, clips: list[str], format_name: str | None) -> None:
    study = read_study({"clip": clips, "mss": range(6)}, write_fetv(tmp_path), format=format_name)
    assert study.clips == tuple(clips)
    assert study.models == ("cogvideo",) * 2 + ("damo-text2video",) * 2 + ("ground-truth",) * 2
    assert study.prompts == ("sentence 0", "sentence 1") * 3
    assert study.raters["temporal_quality"] == ("human0", "human1")
    np.testing.assert_array_equal(study.ratings["temporal_quality"], [[2, 1], [1, 0], [3, 2], [4, 3], [5, 4], [5, 4]])
    assert set(study.ratings) == {"static_quality", "temporal_quality", "alignment"}
    assert study.pairing["mss"] == ("temporal_quality",)


def test_fetv_clips_of_another_model_are_not_taken_for_those_that_are_left(tmp_path: Path) -> None:
    study = read_study(
        {"clip": ["cogvideo/0", "cogvideo/1", "other/0", "video91.mp4"], "mss": range(4)}, write_fetv(tmp_path)
    )
    assert study.clips == ("cogvideo/0", "cogvideo/1")


def test_fetv_as_one_table(tmp_path: Path) -> None:
    header = "clip,prompt_id,source,prompt,temporal_content,spatial_content,temporal_quality_1,temporal_quality_2"
    (tmp_path / "ratings.csv").write_text(
        f"{header}\n002_x.gif,2,x,people run,actions,people,1,2\n002_y.gif,2,y,people run,actions,people,3,4\n"
    )
    study = read_study({"clip": ["002_x.gif", "002_y.gif"], "mss": [1, 2]}, tmp_path / "ratings.csv", format="fetv")
    assert study.models == ("x", "y")
    assert study.prompts == ("people run", "people run")
    np.testing.assert_array_equal(study.ratings["temporal_quality"], [[1, 2], [3, 4]])


def write_video_bench(root: Path, anno: Any = None) -> Path:
    """Two dimensions of two prompts by two models, four raters each."""
    folder = root / "human_anno"
    folder.mkdir()
    for shift, dimension in enumerate(("motion_effects", "video-text consistency")):
        entries = [
            {
                "prompt_en": prompt,
                "videos": {m: f"action/{m}/{prompt}_0.mp4" for m in ("kling", "pika")},
                "human_anno": anno or {"kling": [1, 2, 3, 4 - shift], "pika": [2, 2, 2, 5]},
            }
            for prompt in ("A person is marching", "A person claps")
        ]
        (folder / f"{dimension}.json").write_text(json.dumps(entries))
    return folder


@pytest.mark.parametrize("format_name", [None, "video-bench"])
def test_video_bench(tmp_path: Path, format_name: str | None) -> None:
    folder = write_video_bench(tmp_path)
    clips = [f"{m}/{p}_0.mp4" for m in ("kling", "pika") for p in ("A person is marching", "A person claps")]
    study = read_study({"clip": clips, "mss": range(4)}, folder, format=format_name)
    assert study.models == ("kling", "kling", "pika", "pika")
    assert study.prompts == ("A person is marching", "A person claps") * 2
    assert study.raters["motion_effects"] == ("1", "2", "3", "4")
    np.testing.assert_array_equal(study.ratings["motion_effects"][0], [1, 2, 3, 4])
    np.testing.assert_array_equal(study.ratings["video-text_consistency"][0], [1, 2, 3, 3])
    assert study.pairing["mss"] == ("motion_effects",)
    one = read_study({"clip": clips, "mss": range(4)}, folder / "motion_effects.json", format=format_name)
    assert set(one.ratings) == {"motion_effects"}


def test_video_bench_with_named_raters_and_gaps(tmp_path: Path) -> None:
    folder = write_video_bench(tmp_path, {"kling": {"ann": 3, "bob": None}, "pika": {"ann": 1, "bob": 2}})
    study = read_study(
        {"clip": ["kling/A person claps_0.mp4", "pika/A person claps_0.mp4"], "mss": [1, 2]},
        folder / "motion_effects.json",
    )
    assert study.raters["motion_effects"] == ("ann", "bob")
    np.testing.assert_array_equal(study.ratings["motion_effects"], [[3, np.nan], [1, 2]])


def as_parquet(path: Path, rows: list[dict[str, Any]]) -> list[Path]:
    """The rows as Parquet, where pyarrow is installed."""
    if find_spec("pyarrow") is None:
        return []
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return [path]


def test_video_feedback(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"100{n}", "text prompt": prompt, "video link": f"https://h/x/100{n}.mp4?d=1",
            "visual quality": 2 + n, "temporal consistency": n, "dynamic degree": 5 - 2 * n,
            "text-to-video alignment": 2, "factual consistency": 7 - 3 * n,
        }
        for n, prompt in ((1, "a cat"), (2, "a dog"))
    ]  # fmt: skip
    (tmp_path / "data.json").write_text(json.dumps(rows))
    with_pictures = [{**row, "images": ["a", "b"]} for row in rows]
    files = as_parquet(tmp_path / "annotated" / "train-0000.parquet", with_pictures)
    for source in (tmp_path / "data.json", *files, *(file.parent for file in files)):
        for format_name in (None, "videofeedback"):
            study = read_study({"clip": ["v/1001.mp4", "v/1002.mp4"], "tcs": [1, 2]}, source, format=format_name)
            assert study.prompts == ("a cat", "a dog")
            assert study.ratings["temporal_consistency"].tolist() == [[1], [2]]
            assert study.raters["dynamic_degree"] == ()
            assert study.pairing["tcs"] == ("temporal_consistency",)
            assert set(study.ratings) == {
                "visual_quality", "temporal_consistency", "dynamic_degree", "text_to_video_alignment",
                "factual_consistency",
            }  # fmt: skip


@pytest.mark.parametrize(
    "names",
    [("visual_score", "t2v_score", "phy_score"),
     ("visual quality", "text-to-video alignment", "physical/common-sense consistency")],
)  # fmt: skip
def test_video_feedback_2(tmp_path: Path, names: tuple[str, str, str]) -> None:
    rows = [
        {
            "video_name": f"{n}_h", "prompt": f"p{n}", "video_url": f"https://h/m/{n}.mp4",
            **dict(zip(names, (n, 2, n + 2), strict=True)),
        }
        for n in (1, 2)
    ]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps(rows))
    for source in (tmp_path / "t.json", *as_parquet(tmp_path / "t.parquet", rows)):
        for format_name in (None, "videofeedback2"):
            study = read_study({"clip": ["1_h.mp4", "2_h.mp4"], "cas": [1, 2]}, source, format=format_name)
            assert study.ratings["physical_consistency"].tolist() == [[3], [4]]
            assert study.pairing["cas"] == ("physical_consistency",)
            assert study.prompts == ("p1", "p2")
            by_link = read_study({"clip": ["1.mp4", "2.mp4"], "cas": [1, 2]}, source, format=format_name)
            assert by_link.ratings["physical_consistency"].tolist() == [[3], [4]]


def test_visionreward(tmp_path: Path) -> None:
    rows = [
        {
            "video_path": f"videos/{n}.mp4", "internal_id": f"id{n}", "prompt": f"p{n}", "url": "u",
            "annotation": {"movement smoothness": n, "physics law": 4 - n, "image quality stability": 3, "color": None},
            "meta_result": [0, 1], "meta_mask": [1, 1],
        }
        for n in (1, 2)
    ]  # fmt: skip
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for source in (tmp_path / "t.jsonl", *as_parquet(tmp_path / "t.parquet", rows)):
        for format_name in (None, "visionreward"):
            study = read_study({"clip": ["1.mp4", "2.mp4"], "mss": [1, 2], "cas": [1, 2]}, source, format=format_name)
            assert study.ratings["movement_smoothness"].tolist() == [[1], [2]]
            assert study.ratings["physics_law"].tolist() == [[3], [2]]
            assert study.pairing == {"mss": ("movement_smoothness",), "cas": ("physics_law",)}
            assert study.prompts == ("p1", "p2")


def test_visionreward_pairs(tmp_path: Path) -> None:
    row = {
        "internal_id": "x", "prompt": "p", "standard_answer": "video1", "video1_path": "v/1.mp4",
        "video2_path": "v/2.mp4",
    }  # fmt: skip
    (tmp_path / "test.json").write_text(json.dumps([row]))
    for source in (tmp_path / "test.json", *as_parquet(tmp_path / "test.parquet", [row])):
        for format_name in (None, "visionreward"):
            study = read_study({"clip": ["1.mp4", "2.mp4"], "mss": [1, 2]}, source, format=format_name)
            pairs = study.preferences["preference"]
            assert (pairs.left.tolist(), pairs.right.tolist(), pairs.outcome.tolist()) == ([0], [1], [1])


MARKDOWN = """
| Models | Avg | CAS | MSS |
| --- | --- | --- | --- |
| Alpha-v1.2 | 5.0 | 1.0 | **9.0** |
| Beta 3 | 6.0 | 8.0 | 4.0 |
"""


def test_vmbench_leaderboard_holds_models_against_models(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(MARKDOWN)
    clips = {"clip": ["1", "2", "1", "2"], "model": ["alpha v1.2", "alpha v1.2", "beta3", "beta3"], "cas": [1, 3, 5, 9]}
    study = read_study(clips, tmp_path / "README.md", format="vmbench")
    assert study.clips == study.models == ("alpha v1.2", "beta3")
    assert study.scores["cas"].tolist() == [2, 7]
    assert study.ratings["published_cas"].tolist() == [[1], [8]]
    assert study.pairing["cas"] == ("published_avg", "published_cas")
    assert any("averaged" in note for note in study.matching.notes)


def test_vmbench_leaderboard_that_we_ship() -> None:
    study = read_study({"model": ["wan2.1", "mochi-1"], "mss": [1, 2]}, "vmbench")
    assert study.matching.matched == 2
    assert study.pairing["mss"] == ("published_mss",)
    assert "Mochi 1" not in study.matching.ratings_only
    assert len(study.matching.ratings_only) == 4


@pytest.mark.parametrize("name", ["fetv", "video-bench", "videofeedback", "videofeedback2", "visionreward", "vmbench"])
def test_a_file_in_another_format(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.json").write_text('[{"clip": "a", "words": "fine"}]')
    with pytest.raises(SetupError):
        read_study({"clip": ["a"], "mss": [1]}, tmp_path / "t.json", format=name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SetupError):
        read_study({"clip": ["a"], "mss": [1]}, tmp_path / "empty", format=name)
    with pytest.raises(SetupError, match="reads files"):
        read_study({"clip": ["a"], "mss": [1]}, {"clip": ["a"], "q": [1]}, format=name)
