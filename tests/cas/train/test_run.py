"""Training end to end on a tiny network: it learns, goes on exactly where it stopped, and keeps prompts apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")

from vmmetrics.cas.evaluate.evaluation import evaluate_classifier, load_judge  # noqa: E402
from vmmetrics.cas.labelled_clips import read_labelled_clips  # noqa: E402
from vmmetrics.cas.train.settings import Augmentation, Epoch, SilentWatcher, TrainSettings  # noqa: E402
from vmmetrics.cas.train.state import State  # noqa: E402
from vmmetrics.cas.train.trainer import Trained, train  # noqa: E402
from vmmetrics.cli.main import main  # noqa: E402
from vmmetrics.errors import SetupError  # noqa: E402
from vmmetrics.perception.vmbench.ported.videomae import Architecture, VideoMAE  # noqa: E402

TINY = Architecture(width=32, depth=2, heads=2, mlp_width=64, patch=8, image=32, frames=8)
QUICK = TrainSettings(
    epochs=12, batch=6, lr=2e-2, layer_decay=0.9, warmup=0.2, mixup=0.1, drop_path=0.1, smoothing=0.05,
    rate=1, held_out=0.25, patience=12, augmentation=Augmentation(least_crop=0.8),
)  # fmt: skip
SHORT = replace(QUICK, epochs=2, drop_path=0.3, save_every=2)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(material, out: Path, settings: TrainSettings, **options) -> Trained:
    data = read_labelled_clips([material.clips], material.labels)
    trained = train(data, out, settings, TINY, device="cpu", workers=0, **options)
    assert trained is not None
    return trained


def weights(path: Path) -> dict[str, torch.Tensor]:
    return torch.load(path, weights_only=True)["model"]


@pytest.fixture(scope="module")
def learnt(material, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return run(material, tmp_path_factory.mktemp("learnt") / "run", QUICK)


def test_it_learns_what_blinks(learnt: Trained):
    assert learnt.report.overall.clips == len(learnt.split.held_out) >= 8
    assert learnt.report.overall.accuracy.value == 1
    assert learnt.report.overall.mae.value < 1.5  # naming both levels alike would be 2
    assert learnt.best.held_out_loss < 0.6 < learnt.history[0].held_out_loss  # chance between two levels is 0.69


def test_no_prompt_is_trained_on_and_held_out(learnt: Trained):
    trained, held = ({clip.prompt_key for clip in part} for part in (learnt.split.trained, learnt.split.held_out))
    assert not trained & held
    assert len(trained) + len(held) == 18
    stored = torch.load(learnt.checkpoint, weights_only=True)
    assert set(stored["trained_prompts"]) == trained


def test_the_card_says_what_happened(learnt: Trained):
    out = learnt.checkpoint.parent
    card = json.loads((out / "card.json").read_text())
    assert card["data"]["held_out"]["clips"] == learnt.report.overall.clips
    assert card["data"]["trained"]["levels"]["Poor"] == 0
    assert card["data"]["without_level"] == 1
    assert card["agreement"] == json.loads(json.dumps(asdict(learnt.report)))
    assert card["best_epoch"] == min(card["history"], key=lambda epoch: epoch["held_out_loss"])["number"]
    assert card["settings"] == asdict(QUICK)
    text = (out / "card.md").read_text()
    assert "| model-1 |" in text
    assert f"best epoch {learnt.best.number} of {len(learnt.history)}" in text
    for name in ("curves.png", "calibration.png"):
        with Image.open(out / name) as picture:
            assert len(picture.getcolors(1 << 20)) > 20


def test_evaluation_leaves_out_what_was_trained_on(learnt: Trained, material):
    data = read_labelled_clips([material.clips], material.labels)
    found = evaluate_classifier(load_judge(str(learnt.checkpoint), "cpu"), data)
    assert {row["clip"] for row in found.clips} == {clip.clip for clip in learnt.split.held_out}
    assert len(found.seen) == len(learnt.split.trained)
    assert found.report.overall == learnt.report.overall
    row = found.clips[0]
    assert row["score"] == pytest.approx(np.dot(row["probabilities"], [0, 0.25, 0.5, 0.75, 1]))


def call(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert not ended.value.code


class Interrupting(SilentWatcher):
    """Ends the run after a step, as a kill would."""

    def __init__(self, after: int) -> None:
        self.after = after

    def step(self, step: int, steps: int, loss: float) -> None:
        if step == self.after:
            raise KeyboardInterrupt


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(material, tmp_path: Path):
    whole = run(material, tmp_path / "whole", SHORT)
    steps = len(whole.split.trained) // SHORT.batch
    assert steps > 3
    for stop in (3, steps + 3):  # in the middle of either epoch, one step after a save
        with pytest.raises(KeyboardInterrupt):
            run(material, tmp_path / "parts", SHORT, watcher=Interrupting(stop))
        assert torch.load(tmp_path / "parts/last.pt", weights_only=True)["state"]["step"] == stop - 1
    parts = run(material, tmp_path / "parts", SHORT)
    assert parts.history == whole.history
    assert parts.report == whole.report
    for name in ("best.pt", "last.pt"):
        ours, theirs = weights(tmp_path / "parts" / name), weights(tmp_path / "whole" / name)
        assert all(torch.equal(ours[key], theirs[key]) for key in theirs)
    assert not list((tmp_path / "parts").glob("*.part"))
    with pytest.raises(SetupError, match=r"holds another training run.*\n.*lr"):
        run(material, tmp_path / "parts", replace(SHORT, lr=1e-3))


def test_another_seed_gives_another_model(material, tmp_path: Path):
    one, two = (run(material, tmp_path / str(s), replace(SHORT, epochs=1, seed=s)) for s in (0, 1))
    assert one.history != two.history
    assert {c.clip for c in one.split.held_out} != {c.clip for c in two.split.held_out}


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_trains_alike(precision: str, material, tmp_path: Path):
    plain = replace(SHORT, epochs=1, drop_path=0.0)
    full = run(material, tmp_path / "full", plain)
    half = run(material, tmp_path / "half", replace(plain, precision=precision, checkpointing=True))
    assert half.history[0].loss != full.history[0].loss
    assert half.history[0].loss == pytest.approx(full.history[0].loss, rel=0.02)


def test_clips_that_cannot_be_read_are_left_out_and_named(material, tmp_path: Path):
    (tmp_path / "clips").mkdir()
    for path in sorted(material.clips.rglob("*.npy"))[:12]:
        (tmp_path / "clips" / path.name).write_bytes(path.read_bytes())
    broken = sorted((tmp_path / "clips").iterdir())[0]
    broken.write_bytes(b"no clip")
    lines = [
        {"clip": path.name, "level": n % 5, "prompt": f"take {n // 2}"}
        for n, path in enumerate(sorted((tmp_path / "clips").iterdir()))
    ]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(line) + "\n" for line in lines))
    data = read_labelled_clips([tmp_path / "clips"], labels)
    trained = train(data, tmp_path / "run", replace(SHORT, epochs=1), TINY, device="cpu", workers=0)
    assert trained is not None
    assert broken.name not in {c.clip for c in [*trained.split.trained, *trained.split.held_out]}
    (left_out,) = json.loads((tmp_path / "run/card.json").read_text())["data"]["unreadable"]
    assert left_out["clip"] == broken.name


@pytest.mark.slow
def test_processes_share_a_batch_and_the_command_line_prints(
    material, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Two processes of torchrun with batches of 3 take the steps that one with batches of 6 takes."""
    start = VideoMAE(TINY, 5)
    start.initialise(5)
    torch.save({"model": start.state_dict(), "architecture": asdict(TINY)}, tmp_path / "start.pt")
    command = ["cas", "train", material.clips, material.labels, "--from", tmp_path / "start.pt", "--epochs", 1,
               "--stride", 1, "--mixup", 0, "--drop-path", 0, "--jobs", 0, "--device", "cpu",
               "--lr", 1e-2]  # fmt: skip
    command = [str(part) for part in command]
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    together = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "vmmetrics",
         *command, "--batch-size", "3", "--out", str(tmp_path / "two")],
        env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert together.returncode == 0, together.stderr
    assert together.stdout.count("Spearman") == 2  # once the table, once what it says of groups
    call(*command, "--batch-size", "6", "--out", tmp_path / "one")
    assert "best epoch: 1 of 1; on held-out prompts" in capsys.readouterr().out
    one, two = weights(tmp_path / "one/last.pt"), weights(tmp_path / "two/last.pt")
    moved = max(float((one[key] - start.state_dict()[key]).abs().max()) for key in one)
    apart = max(float((one[key] - two[key]).abs().max()) for key in one)
    assert moved > 1e-2 > 100 * apart
    call("cas", "eval", tmp_path / "two/best.pt", material.clips, material.labels, "--device", "cpu")
    printed = capsys.readouterr()
    assert "calibration error" in printed.out
    assert "of training prompts" in printed.err


def test_stopping_waits_for_its_patience():
    losses = [1.0, 0.8, 0.9, 0.8, 0.85]
    history = [Epoch(n, 1.0, loss, 0.5, 1e-3) for n, loss in enumerate(losses, 1)]
    assert [State(history=history[:n]).worn_out(2) for n in range(6)] == [False] * 4 + [True] * 2
    assert State(history=history).best == history[1]
