"""Adapters against fakes of their contracts: what each framework calls, with what, and what it must get back."""

from __future__ import annotations

import importlib
import io
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, TypeVar

import numpy as np
import pytest
from PIL import Image

import vmmetrics
from benchmarks import house_size
from vmmetrics.integrations import dance_grpo, flow_grpo, vbench
from vmmetrics.scoring import rewards as module

T = TypeVar("T")
V = TypeVar("V")
MSS = {"weights": {"mss": 1}}
FPS = 10


@pytest.fixture(autouse=True)
def fake_suite(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The fake suite: mss is the brightest frame's mean, and a clip called noone has no ois."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "scoring"))
    monkeypatch.setattr("vmmetrics.scoring.settings.SUITE", "fake_suite:FakeSuite")
    monkeypatch.setenv("FAKE_SUITE_CAS", "1")
    module._loaded.cache_clear()
    yield
    module._loaded.cache_clear()


@pytest.fixture
def framework(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return what puts made-up modules in the place of a framework's and imports its adapter."""

    def put(adapter: str, **modules: dict[str, Any]) -> Any:
        for name, content in modules.items():
            parts = name.split("__")
            for count in range(1, len(parts) + 1):
                dotted = ".".join(parts[:count])
                monkeypatch.setitem(sys.modules, dotted, sys.modules.get(dotted) or ModuleType(dotted))
            vars(sys.modules[".".join(parts)]).update(content)
        monkeypatch.delitem(sys.modules, f"vmmetrics.integrations.{adapter}", raising=False)
        return importlib.import_module(f"vmmetrics.integrations.{adapter}")

    return put


def frames(level: int) -> np.ndarray:
    """Return (4, 16, 24, 3) uint8 frames, the brightest of this level."""
    steps = np.arange(level - 3, level + 1, dtype=np.uint8)
    return np.broadcast_to(steps[:, None, None, None], (4, 16, 24, 3)).copy()


def encoded(level: int) -> bytes:
    pictures = [Image.fromarray(frame) for frame in frames(level)]
    file = io.BytesIO()
    pictures[0].save(file, "png", save_all=True, append_images=pictures[1:], duration=1000 // FPS)
    return file.getvalue()


LEVELS = (60, 120, 240)
EXPECTED = [level / 255 for level in LEVELS]
BATCH = np.stack([frames(level) for level in LEVELS]).transpose(0, 1, 4, 2, 3).astype(np.float32) / 255
BAD = BATCH.copy()
BAD[1, 2] = math.nan


def test_flow_grpo() -> None:
    score = flow_grpo.motion_score("cuda", fps=FPS, **MSS)
    values, info = score(BATCH, ["a", "a", "b"], [{}] * 3)
    assert values == pytest.approx(EXPECTED, abs=1e-6)
    assert info["vmmetrics"]["mss"] == pytest.approx(EXPECTED, abs=1e-6)
    arrays = np.stack([frames(level) for level in LEVELS])
    assert score(arrays, ["a", "a", "b"], None)[0] == pytest.approx(EXPECTED, abs=1e-6)
    with pytest.raises(vmmetrics.RewardError, match="2 of 3 samples have no reward"):
        score(BAD, ["a", "a", "b"], None)


class Backend:
    """``unirl.reward.local.base.LocalRewardBackend``: loads when made, keeps the rest of its options."""

    def __init__(self, model_name: str = "", device: str = "cuda", **model_kwargs: Any) -> None:
        self.model_kwargs = model_kwargs
        self._load_model()

    def _load_model(self) -> None:
        raise NotImplementedError


@dataclass
class Response:
    rewards: list[float]
    component_rewards: dict[str, list[float]]
    successes: list[bool]
    errors: list[str | None]
    compute_time: float


def test_unirl(framework: Callable[..., Any]) -> None:
    unirl = framework(
        "unirl", unirl__reward__local__base={"LocalRewardBackend": Backend},
        unirl__types__reward={"RewardResponse": Response},
    )  # fmt: skip
    backend = unirl.MotionReward(fps=FPS, **MSS)
    videos = [video.transpose(1, 0, 2, 3) for video in BAD]  # as its request has them: (C, T, H, W)
    request = SimpleNamespace(videos=videos, group_ids=["1", "1", "2"], prompts=["a dog runs"] * 3)
    response = backend.compute_rewards(request)
    assert response.successes == [False, False, True]
    assert np.isnan(response.rewards[:2]).all()
    assert response.rewards[2] == pytest.approx(EXPECTED[2], abs=1e-6)
    assert "NaN" in response.errors[1]
    assert response.errors[2] is None
    assert not backend.covers_prompt_video()


@dataclass
class Output:
    rewards: Any
    extra_info: Any = None


class GroupModel:
    def __init__(self, config: Any, accelerator: Any) -> None:
        self.config = config


def test_flow_factory(framework: Callable[..., Any]) -> None:
    adapter = framework(
        "flow_factory",
        flow_factory__rewards__abc={"GroupwiseRewardModel": GroupModel, "RewardModelOutput": Output},
    )
    model = adapter.MotionReward(SimpleNamespace(fps=FPS, options=MSS), None)
    videos = [[Image.fromarray(frame) for frame in frames(level)] for level in LEVELS]
    found = model(prompt=["a"] * 3, image=None, video=videos, audio=None, metadata="{}")
    assert found.rewards == pytest.approx(EXPECTED, abs=1e-6)


def test_dance_grpo(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "0.png"
    path.write_bytes(encoded(120))
    inferencer = dance_grpo.MotionInferencer()
    found = inferencer.reward([str(path)], ["a dog"], use_norm=True)[0]
    assert found["MQ"] == found["VQ"] == pytest.approx(120 / 255, abs=1e-6)
    with pytest.raises(vmmetrics.RewardError):
        inferencer.reward([str(tmp_path / "none.mp4")], ["a dog"])
    assert "1 of 1 samples have no reward" in caplog.text  # DanceGRPO swallows the error


def test_videox_fun(framework: Callable[..., Any]) -> None:
    torch = pytest.importorskip("torch")
    adapter = framework("videox_fun", videox_fun__reward__reward_fn={"BaseReward": object})
    reward = adapter.MotionReward(FPS, **MSS)
    values = reward.get_reward(torch.from_numpy(BATCH).permute(0, 2, 1, 3, 4), ["a", "a", "b"])
    assert values.dtype == torch.float32
    assert values.tolist() == pytest.approx(EXPECTED, abs=1e-6)
    with pytest.raises(NotImplementedError, match="not differentiable"):
        reward(BATCH, ["a"])


@dataclass
class Metric:
    name: str
    score: float | None
    details: dict[str, Any] = field(default_factory=dict)


def test_fastvideo(framework: Callable[..., Any]) -> None:
    registered: dict[str, Any] = {}

    def register(name: str) -> Callable[[type], type]:
        return lambda kind: registered.setdefault(name, kind)

    adapter = framework(
        "fastvideo", fastvideo__eval__metrics__base={"BaseMetric": object},
        fastvideo__eval__registry={"register": register}, fastvideo__eval__types={"MetricResult": Metric},
        fastvideo__train__callbacks__callback={"Callback": object},
    )  # fmt: skip
    metric = registered["vmmetrics.motion_index"]()
    assert issubclass(adapter.MotionMetrics, object)
    bright = BATCH[2]
    assert metric.compute({"video": bright, "fps": FPS}).score > 0.5
    assert metric.compute({"video": bright[None], "fps": FPS}).score > 0.5
    skipped = metric.compute({"video": BAD[1], "fps": FPS})
    assert skipped.score is None
    assert "NaN" in skipped.details["skipped"]
    assert metric.compute({"video": bright}).score is None


class Operators:
    def register_module(self, name: str) -> Callable[[type], type]:
        return lambda kind: kind


class DataFilter:
    video_key = "videos"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        pass


def test_data_juicer(framework: Callable[..., Any], tmp_path: Path) -> None:
    adapter = framework(
        "data_juicer",
        data_juicer__ops__base_op={"OPERATORS": Operators(), "UNFORKABLE": Operators(), "Filter": DataFilter},
        data_juicer__utils__constant={"Fields": SimpleNamespace(stats="__dj__stats__")},
    )
    paths = []
    for level in LEVELS:
        paths.append(tmp_path / f"{level}.png")
        paths[-1].write_bytes(encoded(level))
    sample = {"videos": [*map(str, paths), str(tmp_path / "none.mp4")], "__dj__stats__": {}}
    for decide, low, kept in (("any", 0.9, True), ("any", 0.95, False), ("all", 0.0, False)):
        operator = adapter.MotionFilter("mss", low, any_or_all=decide)
        assert operator.process_single(operator.compute_stats_single(sample)) is kept
    scores = sample["__dj__stats__"]["vmmetrics_mss"]
    assert scores == pytest.approx([*EXPECTED, math.nan], abs=1e-6, nan_ok=True)
    assert operator.process_single(operator.compute_stats_single({"__dj__stats__": {}}))


class Stage(Generic[T, V]):
    pass


@dataclass
class Clip:
    uuid: int
    encoded_data: Any
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def buffer(self) -> Any:
        return self.encoded_data


def video() -> Any:
    clips = [*(Clip(level, encoded(level)) for level in LEVELS), Clip(1, b"no video"), Clip(0, None)]
    return SimpleNamespace(clips=clips, filtered_clips=[], clip_stats=SimpleNamespace(num_filtered_by_motion=0))


def test_nemo_curator(framework: Callable[..., Any]) -> None:
    adapter = framework(
        "nemo_curator", nemo_curator__stages__base={"ProcessingStage": Stage},
        nemo_curator__stages__resources={"Resources": SimpleNamespace},
        nemo_curator__tasks__video={"VideoTask": object},
    )  # fmt: skip
    task = adapter.MotionIndexStage("mss", 0.4).process(SimpleNamespace(data=video()))
    assert [clip.uuid for clip in task.data.clips] == [120, 240]
    assert [clip.uuid for clip in task.data.filtered_clips] == [60, 1, 0]
    assert task.data.clip_stats.num_filtered_by_motion == 3
    assert task.data.clips[0].vmmetrics_score == pytest.approx(120 / 255, abs=1e-6)
    assert task.data.filtered_clips[1].vmmetrics_score is None
    assert task.data.filtered_clips[1].errors["vmmetrics_motion"]
    everything = adapter.MotionIndexStage("mss", 0.4, score_only=True).process(SimpleNamespace(data=video()))
    assert len(everything.data.clips) == 5
    assert adapter.MotionIndexStage().process(SimpleNamespace(data=SimpleNamespace(clips=[]))).data.clips == []


def test_cosmos_curate(framework: Callable[..., Any]) -> None:
    adapter = framework(
        "cosmos_curate",
        cosmos_curate__core__interfaces__stage_interface={
            "CuratorStage": object, "CuratorStageResource": SimpleNamespace,
        },
    )  # fmt: skip
    stage = adapter.MotionIndexStage("mss", 0.4)
    (task,) = stage.process_data([SimpleNamespace(video=(given := video()))])
    assert given.clip_stats.num_filtered_by_motion == 3
    assert [clip.uuid for clip in task.video.clips] == [120, 240]
    assert [clip.uuid for clip in task.video.filtered_clips] == [60, 1, 0]
    assert stage.scores[60] == pytest.approx(60 / 255, abs=1e-6)
    assert math.isnan(stage.scores[1])
    assert task.video.filtered_clips[1].errors["vmmetrics"]
    assert stage.resources.cpus == 1
    lazy = video()
    for clip in lazy.clips:  # since 2026
        data = clip.encoded_data and np.frombuffer(clip.encoded_data, np.uint8)
        clip.encoded_data = SimpleNamespace(resolve=lambda data=data: data)
    (task,) = stage.process_data([SimpleNamespace(video=lazy)])
    assert [clip.uuid for clip in task.video.clips] == [120, 240]


def test_vbench(tmp_path: Path) -> None:
    for name, level in (("a", 60), ("noone", 240)):
        np.save(tmp_path / f"{name}.npy", frames(level))
    table = vmmetrics.score(str(tmp_path), metrics=("mss", "ois"))
    found = vbench.eval_results(table)
    mean, clips = found["vmmetrics_mss"]
    assert mean == pytest.approx(150 / 255, abs=1e-6)
    assert [clip["video_results"] for clip in clips] == pytest.approx([60 / 255, 240 / 255], abs=1e-6)
    assert [Path(clip["video_path"]).name for clip in found["vmmetrics_ois"][1]] == ["a.npy"]
    vbench.write_eval_results(table, tmp_path / "x_eval_results.json")
    assert (tmp_path / "x_eval_results.json").read_text().startswith("{")


def test_adapters_are_short_and_say_what_they_were_read_from() -> None:
    folder = Path(flow_grpo.__file__).parent
    adapters = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(adapters) >= 10
    for path in adapters:
        assert re.search(r"Contract: (.|\n)*(read\s+on\s20\d\d-|VBench 0.1.5)", path.read_text()), path
        assert len(house_size.read(path, folder).code) <= 40, path
