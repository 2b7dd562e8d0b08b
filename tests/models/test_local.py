"""A video language model of transformers, tiny and with random weights, through its own processor and template."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

sys.path.insert(0, str(Path(__file__).parent))
import tiny_vlms

from vmmetrics.errors import SetupError
from vmmetrics.models import loading
from vmmetrics.models.frames import NO_FRAMES, Frames
from vmmetrics.models.local import LocalModel
from vmmetrics.models.questions import Question, Shown
from vmmetrics.utils.endpoint.messages import RejectedError, Turn

QUESTION = Question("1", "v", "Which way?", ("left", "right"), 0)
CAPTION = Question("2", "v", "Describe.")
TURNS = (Turn("system", "You see clips."), Turn("user", "Which way?\nA. left\nB. right"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_vlms.qwen25(tmp_path_factory.mktemp("models") / "tiny-qwen")


def frames(count: int, told: float = 0.5, seed: int = 0) -> Frames:
    pictures = np.random.default_rng(seed).integers(0, 255, (count, 56, 56, 3), np.uint8)
    seconds = tuple(told * place for place in range(count))
    return Frames(pictures, Shown(seconds, "made"), seconds, 1 / told)


def inputs(model: LocalModel, *shown: Frames) -> Any:
    return model._inputs([model._request(QUESTION, TURNS, frames) for frames in shown])


def words(model: LocalModel, *shown: Frames) -> str:
    return str(model._processor.decode(inputs(model, *shown)["input_ids"][0]))


def test_frames_go_in_as_one_video_and_answers_can_be_had_again(folder: Path) -> None:
    model = LocalModel(folder, 8)
    first, again = (model.answer(CAPTION, TURNS, frames(4)) for _ in range(2))
    assert first == again
    assert 1 <= first.usage["output_tokens"] <= 8
    given = inputs(model, frames(4))
    assert given["video_grid_thw"].tolist()[0][0] == 2  # four frames, two to a patch of time
    assert "pixel_values" not in given
    assert first.usage["input_tokens"] == given["input_ids"].shape[1]


def test_the_model_is_told_the_real_rate(folder: Path) -> None:
    model = LocalModel(folder, 8)
    # a patch of time is two frames: 1 s at 2 frames a second, 4 s at half a frame
    assert float(inputs(model, frames(8, 0.5))["second_per_grid_ts"][0]) == pytest.approx(1.0)
    assert float(inputs(model, frames(8, 2.0))["second_per_grid_ts"][0]) == pytest.approx(4.0)


def test_frames_as_pictures_one_frame_and_none(folder: Path) -> None:
    pictures = LocalModel(folder, 4, "images")
    assert pictures.identity["form"] == "images"
    assert inputs(pictures, frames(3))["image_grid_thw"].shape[0] == 3
    model = LocalModel(folder, 4)
    assert model.identity["form"] == "video"
    assert "image_grid_thw" in inputs(model, frames(1))
    assert "image_grid_thw" in inputs(
        LocalModel(folder, 4, "video"), frames(1)
    )  # not every processor makes videos of 1
    blind = inputs(model, NO_FRAMES)
    assert not {"image_grid_thw", "video_grid_thw"} & set(blind)
    assert model.answer(QUESTION, TURNS, NO_FRAMES).error is None


def test_qwen3_is_told_the_time_of_each_pair_of_frames(tmp_path: Path) -> None:
    model = LocalModel(tiny_vlms.qwen3(tmp_path / "qwen3"), 4)
    uneven = Frames(frames(4).pictures, Shown((0, 1, 2, 7), "made"), (0.0, 1.0, 2.0, 7.0), 3 / 7)
    assert "<0.5 seconds>" in words(model, uneven)
    assert "<4.5 seconds>" in words(model, uneven)
    assert model.identity["times"] == "by the processor"
    assert model.answer(QUESTION, TURNS, uneven).times_text is None
    for count in (0, 1, 4):
        assert model.answer(QUESTION, TURNS, frames(count) if count else NO_FRAMES).error is None


def test_internvl_takes_videos_pictures_and_words(tmp_path: Path) -> None:
    folder = tiny_vlms.internvl(tmp_path / "internvl")
    for form, count in (("auto", 0), ("auto", 1), ("auto", 5), ("images", 3)):
        model = LocalModel(folder, 4, form)
        given = inputs(model, frames(count) if count else NO_FRAMES)
        assert len(given.get("pixel_values", ())) == count
        assert model.answer(QUESTION, TURNS, frames(count) if count else NO_FRAMES).usage["output_tokens"] >= 1


def test_what_a_model_does_not_take_is_about_that_question(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LocalModel(folder, 4)

    def full(**_: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(model._model, "generate", full)
    with pytest.raises(
        RejectedError, match=r"tiny-qwen ran out of memory \(out of memory\); fewer frames .*--batch-size"
    ):
        model.answer(QUESTION, TURNS, frames(4))
    monkeypatch.setattr(model._model, "generate", lambda **_: [][1])
    with pytest.raises(RejectedError, match="tiny-qwen rejects the input: list index out of range"):
        model.answer(QUESTION, TURNS, frames(4))


def test_a_run_by_the_command_line(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.understanding import tiny_benchmark
    from vmmetrics.cli.main import main
    from vmmetrics.understanding import registry

    monkeypatch.setitem(registry._REGISTERED, "tiny", tiny_benchmark.BENCHMARK)
    tiny_benchmark.write(tmp_path / "data")
    arguments = ["--model", f"hf:{folder}", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "r")]
    with pytest.raises(SystemExit) as stop:
        main(["understand", "run", "tiny", *arguments, "--max-tokens", "4"])
    assert not stop.value.code
    run = json.loads((tmp_path / "r" / "run.json").read_text())
    assert run["configuration"]["model"]["form"] == "video"
    answers = [json.loads(line) for line in (tmp_path / "r" / "answers.jsonl").read_text().splitlines()]
    assert len(answers) == 12
    assert all(len(row["shown"]["seconds"]) == 4 and row["usage"]["output_tokens"] >= 1 for row in answers)


def test_an_answer_that_ends_with_its_last_token_is_not_cut_off(folder: Path) -> None:
    model = LocalModel(folder, 1)
    assert model.answer(QUESTION, TURNS, NO_FRAMES).usage["cut"] == 1
    model._model.generation_config.eos_token_id = list(range(len(tiny_vlms.WORDS)))  # whatever it says ends it
    assert "cut" not in model.answer(QUESTION, TURNS, NO_FRAMES).usage


def test_what_is_shown_reaches_the_model(folder: Path) -> None:
    model = LocalModel(folder, 8)
    shown = [inputs(model, frames(4, seed=seed))["pixel_values_videos"] for seed in (0, 1)]
    assert (shown[0] != shown[1]).any()


def test_the_identity_is_of_the_weights(folder: Path, tmp_path: Path) -> None:
    identity = LocalModel(folder, 8).identity
    assert "model.safetensors" in identity["weights"]
    assert json.dumps(identity)


def test_times_are_told_in_words_where_the_processor_leaves_them_out(folder: Path, tmp_path: Path) -> None:
    internvl = LocalModel(tiny_vlms.internvl(tmp_path / "internvl"), 4)
    assert (internvl.identity["form"], internvl.identity["times"]) == ("video", "in words")
    said = "Shown: 4 of its frames, at 0, 0.5, 1, 1.5 s."
    assert said in words(internvl, frames(4))
    assert internvl.answer(QUESTION, TURNS, frames(4)).times_text == said
    pictures = LocalModel(folder, 4, "images")
    shown = words(pictures, frames(4))
    assert shown.index(said) < shown.index("<|image_pad|>") < shown.index("Which way?")
    untold = LocalModel(folder, 4, "images", times=False)
    assert "Shown" not in words(untold, frames(4))
    assert (pictures.identity["times"], untold.identity["times"]) == ("in words", "not told")
    video = LocalModel(folder, 4)
    assert video.identity["times"] == "by the processor"  # seconds of a patch of time
    assert video.answer(QUESTION, TURNS, frames(4)).times_text is None
    assert video.answer(QUESTION, TURNS, frames(1)).times_text == "Shown: 1 of its frames, at 0 s."
    assert internvl.answer(QUESTION, TURNS, NO_FRAMES).times_text is None


BATCH = [
    (QUESTION, TURNS, frames(4)),
    (CAPTION, (Turn("user", "Describe what happens in this clip, from its beginning to its end."),), frames(8, seed=1)),
    (QUESTION, (Turn("user", "Up?"),), frames(2, 2.0, seed=2)),
    (CAPTION, TURNS, frames(1, seed=3)),
    (QUESTION, TURNS, NO_FRAMES),
    (CAPTION, TURNS, frames(6, seed=4)),
    (CAPTION, TURNS, frames(3, seed=5)),
]


@pytest.mark.parametrize("kind", ["qwen25", "qwen3", "internvl"])
@pytest.mark.parametrize("form", ["auto", "images"])
def test_answers_of_a_batch_are_those_one_by_one(tmp_path: Path, kind: str, form: Any) -> None:
    path = getattr(tiny_vlms, kind)(tmp_path / kind)
    alone, together = (decisive(LocalModel(path, 4, form, batch_size=size)) for size in (1, 4))
    expected = [alone.answer(*asked) for asked in BATCH]
    assert len({one.text for one in expected}) > 5
    sizes = []
    written = together._written
    together._written = lambda requests, tokens: (sizes.append(len(requests)), written(requests, tokens))[1]
    found = list(together.work_through(lambda asked: together.answer(*asked), BATCH))
    assert [asked for asked, _ in found] == BATCH
    assert [said for _, said in found] == expected
    assert max(sizes) >= 3
    assert together.identity == alone.identity  # how many go together is no part of what is answered


def decisive(model: LocalModel) -> LocalModel:
    """The model with larger weights, so that it answers each question otherwise, and with tokens for its words."""
    import torch

    with torch.no_grad():
        for weights in model._model.parameters():
            weights.mul_(10 if weights.ndim > 1 else 1)
    model._processor.decode = lambda row, **_: str(row)
    return model


def test_a_batch_that_is_too_large_is_written_in_halves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    model = LocalModel(folder, 8, batch_size=4)
    expected = [model.answer(CAPTION, TURNS, frames(4, seed=seed)).text for seed in range(4)]
    generate, sizes = model._model.generate, []

    def small(**inputs: Any) -> Any:
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
        return generate(**inputs)

    monkeypatch.setattr(model._model, "generate", small)
    asked = list(range(4))
    found = list(model.work_through(lambda seed: model.answer(CAPTION, TURNS, frames(4, seed=seed)).text, asked))
    assert found == list(zip(asked, expected, strict=True))
    assert sizes == [4, 2, 2]


def test_one_of_a_batch_that_cannot_be_answered_leaves_the_others(folder: Path) -> None:
    model = LocalModel(folder, 4, batch_size=3)
    broken = Frames(np.zeros((4, 2, 900, 3), np.uint8), Shown((0, 1, 2, 3), "made"), (0.0, 1.0, 2.0, 3.0), 1.0)

    def ask(shown: Frames) -> str | None:
        try:
            return model.answer(CAPTION, TURNS, shown).error
        except RejectedError as error:
            return str(error)

    found = [said for _, said in model.work_through(ask, [frames(4), broken, frames(2)])]
    assert (found[0], found[2]) == (None, None)
    assert found[1] is not None and "rejects the input" in found[1]


def test_a_thought_that_is_cut_off_is_written_anew_with_more_tokens(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    model = LocalModel(folder, 8, batch_size=2)
    whole = {
        question.id: model._processor.tokenizer(f"<think>{thought}</think>B<|im_end|>")["input_ids"]
        for question, thought in ((QUESTION, "a" * 10), (CAPTION, "a" * 99))
    }  # 27 tokens, and more than 32
    limits = []

    def write(max_new_tokens: int, **inputs: Any) -> Any:
        limits.append(max_new_tokens)
        rows = [row[:max_new_tokens] + [0] * (max_new_tokens - len(row)) for row in whole.values()]
        return torch.cat([inputs["input_ids"], torch.tensor(rows)], dim=1)

    monkeypatch.setattr(model._model, "generate", write)
    done = [said for _, said in model.work_through(lambda q: model.answer(q, TURNS, NO_FRAMES), [QUESTION, CAPTION])]
    assert limits == [8, 32]
    whole_one, cut = ({**said.usage, "input_tokens": 0} for said in done)
    assert done[0].text.endswith("</think>B")
    assert whole_one == {"input_tokens": 0, "output_tokens": 8 + 27, "again": 1}
    assert cut == {"input_tokens": 0, "output_tokens": 8 + 32, "cut": 1, "thinking": 1, "again": 1}


def test_a_model_placed_by_accelerate_answers_as_on_one_device(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without GPUs, all parts come onto the CPU."""
    import transformers

    pytest.importorskip("accelerate")
    kind, placed = transformers.AutoModelForImageTextToText, []
    load = kind.from_pretrained
    monkeypatch.setattr(
        kind, "from_pretrained", lambda *a, **how: (placed.append(how.get("device_map")), load(*a, **how))[1]
    )
    alone, spread = LocalModel(folder, 8), LocalModel(folder, 8, device="auto")
    assert placed == [None, "auto"]
    assert spread.answer(CAPTION, TURNS, frames(4)) == alone.answer(CAPTION, TURNS, frames(4))


def test_several_gpus_without_accelerate_are_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = loading.util.find_spec
    monkeypatch.setattr(loading.util, "find_spec", lambda name: None if name == "accelerate" else find(name))
    with pytest.raises(SetupError, match=r"need accelerate, which is not installed; pip install accelerate"):
        LocalModel(folder, 8, device="auto")
    with pytest.raises(SetupError, match=r"cuda:7 cannot be used: .*; choose another, or cpu"):
        LocalModel(folder, 8, device="cuda:7")


def test_the_numbers_of_a_model_may_have_another_type(folder: Path) -> None:
    model = LocalModel(folder, 8, dtype="bfloat16")
    assert model.identity["dtype"] == "torch.bfloat16"
    assert model.answer(QUESTION, TURNS, frames(4)).usage["output_tokens"] >= 1
    with pytest.raises(SetupError, match="auto, float32, float16, bfloat16"):
        LocalModel(folder, 8, dtype="int8")


@pytest.mark.slow
def test_a_model_by_its_name_on_the_hub(folder: Path, tmp_path: Path) -> None:
    """From the Hub's own cache, laid out as it lays it out, without a network."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "hub" / "models--org--tiny"
    shutil.copytree(folder, cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    code = (
        "import sys; from vmmetrics.models.loading import load; from vmmetrics.errors import SetupError\n"
        "found = load('org/tiny'); print(found.name, found.identity['weights'], load('org/tiny@main').name)\n"
        "try: load('org/absent')\n"
        "except SetupError as error: print(error)\n"
    )
    environment = os.environ | {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    first, second = done.stdout.strip().splitlines()
    assert first == f"tiny {{'repository': 'org/tiny', 'revision': '{commit}'}} tiny"
    assert second.startswith("org/absent is not a local folder and cannot be downloaded from the Hub:")
    assert second.endswith("hf download org/absent")


def test_what_is_fetched_holds_no_code_and_no_pickles(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    wanted: dict[str, Any] = {}

    def fetch(repository: str, **how: Any) -> str:
        wanted.update(how, repository=repository)
        return str(folder)

    monkeypatch.setattr(hub, "snapshot_download", fetch)
    assert loading.fetched("org/name@v1.0")[1]["repository"] == "org/name"
    assert (wanted["repository"], wanted["revision"]) == ("org/name", "v1.0")
    files = [
        "a.safetensors",
        "config.json",
        "evil.py",
        "pytorch_model.bin",
        "x.pkl",
        "original/b.safetensors",
        "t.jinja",
    ]
    how = {name: wanted[name] for name in ("allow_patterns", "ignore_patterns")}
    assert [*hub.utils.filter_repo_objects(files, **how)] == ["a.safetensors", "config.json", "t.jinja"]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("GatedRepoError", "hf auth login"),
        ("RepositoryNotFoundError", "check its spelling"),
        ("RevisionNotFoundError", "revision after the @"),
        ("ConnectError", "hf download org/name"),
    ],
)
def test_why_a_model_cannot_be_had_from_the_hub(kind: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    error = type(kind, (OSError,), {})("403 or so\nand more")
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: (_ for _ in ()).throw(error))
    with pytest.raises(SetupError, match=said) as caught:
        loading.load("org/name")
    assert "403 or so;" in str(caught.value)


def copied(folder: Path, path: Path, **config: Any) -> Path:
    shutil.copytree(folder, path)
    known = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(known | config))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(SetupError) as caught:
        LocalModel(path, 8)
    return str(caught.value)


def test_each_reason_for_which_a_folder_cannot_be_loaded_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = copied(folder, tmp_path / "bare")
    for name in ("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"):
        (bare / name).unlink(missing_ok=True)
    assert "processor" in (said := refusal(bare)) and said.endswith("to the folder of the weights")
    said = refusal(copied(folder, tmp_path / "text", model_type="qwen2"))
    assert "is a 'qwen2', which transformers" in said and said.endswith("serve it and name its endpoint")
    pickled = copied(folder, tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    assert "pickles are not read; convert them" in refusal(pickled)
    torn = copied(folder, tmp_path / "torn")
    (torn / "model.safetensors").write_bytes((torn / "model.safetensors").read_bytes()[:5000])
    assert "cannot be loaded: SafetensorError" in (said := refusal(torn)) and "download it again" in said
    import transformers

    def full(*_: Any, **__: Any) -> None:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: 9 bytes")

    monkeypatch.setattr(transformers.AutoModelForImageTextToText, "from_pretrained", full)
    assert "out of memory" in (said := refusal(folder)) and said.endswith("--dtype bfloat16, or more GPUs")


STUB = """
import sys, types, importlib.abc, importlib.machinery
from vmmetrics.errors import SetupError
class Broken(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == PACKAGE else None
    def create_module(self, spec): return None
    def exec_module(self, module): raise ERROR
sys.meta_path.insert(0, Broken())
from vmmetrics.models.loading import load
try: load(FOLDER)
except SetupError as error: print(error)
"""


@pytest.mark.parametrize(
    ("package", "error", "said"),
    [
        ("torchvision", 'RuntimeError("operator torchvision::nms does not exist")',
         "is installed but cannot be imported (RuntimeError: operator torchvision::nms does not exist); "
         "pip install --force-reinstall torch torchvision"),
        ("torch", 'OSError("libcudart.so.13: cannot open shared object file")',
         "is installed but cannot be imported (OSError: libcudart.so.13: cannot open shared object file); "
         "pip install --force-reinstall torch"),
        ("transformers", 'ImportError("tokenizers>=0.22 is required")',
         "is installed but cannot be imported (ImportError: tokenizers>=0.22 is required); "
         "pip install --force-reinstall transformers"),
    ],
)  # fmt: skip
def test_the_package_that_is_at_fault_is_named(folder: Path, package: str, error: str, said: str) -> None:
    """A package that is there but cannot be imported, in a process of its own."""
    code = f"PACKAGE, FOLDER = {package!r}, {str(folder)!r}\n" + STUB.replace("ERROR", error)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said in done.stdout


def test_folders_that_hold_no_model(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no folder"):
        LocalModel(tmp_path / "absent", 8)
    with pytest.raises(SetupError, match=r"config\.json is missing; name the folder"):
        LocalModel(tmp_path, 8)
    code = tmp_path / "code"
    shutil.copytree(folder, code)
    config = json.loads((code / "config.json").read_text())
    config |= {"model_type": "unknown", "auto_map": {"AutoModelForImageTextToText": "evil.Model"}}
    (code / "config.json").write_text(json.dumps(config))
    (code / "evil.py").write_text("raise SystemExit('code of the folder was run')")
    assert "does not support it, and code that comes with weights is not run" in refusal(code)
