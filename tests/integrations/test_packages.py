"""Adapters within the frameworks' own packages, where they are installed; each docstring there has the version."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

import vmmetrics
from benchmarks import serve_load
from vmmetrics.scoring import rewards as module

pytestmark = pytest.mark.slow
SAMPLES = Path(__file__).parents[1] / "data" / "samples"
WALKS, DRIVE = SAMPLES / "zeroscope/woman-walks-and-sits.mp4", SAMPLES / "modelscope-t2v/cars-drive-fast.mp4"
PAS = {WALKS: 0.4986, DRIVE: 0.1133}  # as tests/data/goldens.json has them


@pytest.fixture
def fake_suite(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("vmmetrics.scoring.settings.SUITE", "fake_suite:FakeSuite")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "scoring"))
    module._loaded.cache_clear()
    yield
    module._loaded.cache_clear()


@pytest.fixture(autouse=True)
def imported_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import adapters anew: other tests import them with fakes."""
    for adapter in ("data_juicer", "nemo_curator", "unirl"):
        monkeypatch.delitem(sys.modules, f"vmmetrics.integrations.{adapter}", raising=False)


def test_data_juicer_filters() -> None:
    pytest.importorskip("data_juicer.ops.base_op")
    from data_juicer.core.data import NestedDataset
    from data_juicer.ops import load_ops

    import vmmetrics.integrations.data_juicer  # noqa: F401  (registers the operator)

    videos: list[list[Path]] = [[WALKS], [DRIVE], [DRIVE, WALKS], [Path("/nowhere.mp4")], []]
    rows = [{"text": str(number), "videos": list(map(str, paths))} for number, paths in enumerate(videos)]
    (operator,) = load_ops([{"vmmetrics_motion_filter": {"component": "pas", "min_score": 0.3}}])
    kept = operator.run(NestedDataset.from_list(rows)).to_list()
    assert [row["text"] for row in kept] == ["0", "2", "4"]
    assert kept[1]["__dj__stats__"]["vmmetrics_pas"] == pytest.approx([PAS[DRIVE], PAS[WALKS]], abs=0.01)


def test_nemo_curator_runs_the_stage() -> None:
    pytest.importorskip("nemo_curator.stages.base")
    video = pytest.importorskip("nemo_curator.tasks.video")
    from vmmetrics.integrations.nemo_curator import MotionIndexStage

    contents = [WALKS.read_bytes(), DRIVE.read_bytes(), b"no video", None]
    clips = [video.Clip(uuid=uuid4(), source_video=str(n), span=(0, 1), buffer=data) for n, data in enumerate(contents)]
    task = video.VideoTask(dataset_name="", data=video.Video(input_video=WALKS, clips=clips))
    stage = MotionIndexStage("pas", 0.3)
    assert stage.validate_input(task)
    (done,) = stage.process_batch([task])
    assert [clip.source_video for clip in done.data.clips] == ["0"]
    assert done.data.clips[0].vmmetrics_score == pytest.approx(PAS[WALKS], abs=0.01)
    assert [clip.source_video for clip in done.data.filtered_clips] == ["1", "2", "3"]
    assert done.data.clip_stats.num_filtered_by_motion == 3


def test_unirls_backend_and_its_http_client(fake_suite: None, tmp_path: Path) -> None:
    torch, remote = pytest.importorskip("torch"), pytest.importorskip("unirl.reward.remote")
    from unirl.types.primitives import Texts, Video, Videos
    from unirl.types.reward import RewardRequest

    from vmmetrics.integrations.unirl import MotionReward

    levels = np.arange(40, 200, 10)[:, None, None, None]
    frames = torch.tensor(np.broadcast_to(levels, (16, 3, 32, 48)) / 255, dtype=torch.float32)
    videos = Videos.from_list([Video(frames=frames), Video(frames=frames / 2)])
    request = RewardRequest(
        generated={"video": videos}, generation_prompt=Texts(texts=["a", "a"]), group_ids=["g", "g"]
    )
    options: Any = {"base_url": "", "required_rewards": ("mss",), "input_kind": "video", "require_identity_echo": True}
    found = MotionReward(fps=8, weights={"mss": 1}).compute_rewards(request)
    assert found.successes == [True, True]
    assert found.rewards == pytest.approx([190 / 255, 95 / 255], abs=0.01)
    with serve_load.server(tmp_path) as (_, port):
        options["base_url"] = f"http://127.0.0.1:{port}"
        client = remote.RemoteRewardBackend(config=remote.RemoteRewardSpec(**options), base_device="cpu")
        assert client.is_available()
        served = client.compute_rewards(request)
    assert served.errors == [None, None]
    assert served.rewards == pytest.approx(found.rewards, abs=0.05)  # of frames that were encoded


def test_frames_of_diffusers_in_each_of_its_forms(fake_suite: None) -> None:
    torch, diffusers = pytest.importorskip("torch"), pytest.importorskip("diffusers.video_processor")
    decoded = torch.linspace(-1, 1, 2 * 3 * 8 * 32 * 48).reshape(2, 3, 8, 32, 48)  # (B, C, T, H, W), as of a decoder
    found = []
    for form, options in {
        "pil": {},
        "np": {"layout": "BTHWC", "value_range": (0, 1)},
        "pt": {"layout": "BTCHW", "value_range": (0, 1)},
    }.items():
        frames = diffusers.VideoProcessor().postprocess_video(decoded, output_type=form)
        found.append(vmmetrics.rewards(frames, fps=8, weights={"mss": 1}, **options).values)
    assert found[0] == pytest.approx(found[1], abs=0.01)
    assert found[1] == pytest.approx(found[2], abs=1e-6)
