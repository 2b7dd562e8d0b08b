from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Captured = pytest.CaptureFixture[str]


def test_a_folder_per_model_gives_a_table_per_clip_and_model(vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    clips = make_clips("one/a", "one/noone", "two/a", "two/[red]b")
    assert vmmetrics("score", clips) == 0
    shown = capsys.readouterr()
    assert "one/noone.npy" in shown.out
    assert "two/[red]b.npy" in shown.out  # a name is no markup
    assert "OIS missing in 1 of 4 clips: no person" in shown.out
    assert "n=3" in shown.out  # of 4 clips: how many that mean is over
    assert "CAS missing in every clip" in shown.out
    assert "not comparable with published VMBench numbers" in shown.out
    for model in ("one", "two", "all"):
        assert any(line.split()[:1] == [model] for line in shown.out.splitlines()), model
    assert "[4/4]" in shown.err
    assert "done" in shown.err


def test_without_out_the_same_command_goes_on(
    vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured
) -> None:
    clips = make_clips("a", "b")
    assert vmmetrics("score", clips) == 0
    (run,) = (tmp_path / "vmmetrics-runs").iterdir()
    assert str(run.relative_to(tmp_path)) in capsys.readouterr().err.replace("\n", "")
    assert vmmetrics("score", clips) == 0
    assert "2 of 2 clips were scored before" in capsys.readouterr().err
    assert vmmetrics("score", clips, "--assume-fps", "12") == 0  # another configuration: a place of its own
    assert len(list((tmp_path / "vmmetrics-runs").iterdir())) == 2


def test_exit_codes(vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    clips = make_clips("a", "raise", "badmss")
    assert vmmetrics("score", clips, "--out", "run") == 3
    error = capsys.readouterr().err
    assert "failed: raise.npy: RuntimeError: something unforeseen" in error
    assert "failed: badmss.npy: MSS: ValueError: broken" in error
    assert vmmetrics("score", clips, "--out", "run", "--allow-failures") == 0
    assert vmmetrics("score", make_clips("noone", folder="other"), "--metrics", "ois,CAS") == 0  # missing is fine


@pytest.mark.parametrize("command", ["score", "baselines"])
def test_symlinks_are_followed_unless_refused(
    vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured, command: str
) -> None:
    clips = make_clips("a")
    options = ["--out", "run"] + (["--metrics", "frame_difference"] if command == "baselines" else [])
    (clips / "a.npy").rename(tmp_path / "blob")
    (clips / "a.npy").symlink_to(tmp_path / "blob")
    assert vmmetrics(command, clips, *options, "--no-follow-links") == 3
    assert "The symlink a.npy leads out of the folder given" in capsys.readouterr().err.replace("\n", " ")
    assert vmmetrics(command, clips, *options) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "No such file or folder"),
        (["empty"], "no clips in empty"),
        (["clips", "--metrics", "pass"], "pass"),
        (["clips", "--metrics", ","], "metric"),
        (["clips", "--preset", "best"], "Expected preset"),
        (["clips", "--shard", "3/2"], "1 <= i <= n"),
        (["clips", "--shard", "half"], "1 <= i <= n"),
        (["clips", "--max-memory", "lots"], "512MB"),
        (["clips", "--jobs", "-1"], "jobs"),
        (["clips", "--prompts", "none.csv"], "none.csv"),
        (["clips", "--out", "clips"], "holds other files and no scores"),
        ([], "clips"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str, vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    make_clips("a")
    Path("empty").mkdir()
    assert vmmetrics("score", *arguments) == 2
    shown = capsys.readouterr()
    assert said.lower() in shown.err.lower()
    assert "Traceback" not in shown.err
    assert shown.out == ""


def test_options_reach_the_run(vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured) -> None:
    clips = make_clips("a", "b")
    (tmp_path / "list.csv").write_text("clip,prompt\na.npy,a dog runs\ngone.npy,a cat\n")
    options = ["--prompts", "list.csv", "--metrics", "pas,mss", "--protocol", "vmbench", "--max-memory", "1.5MB"]
    assert vmmetrics("score", clips, "--out", "run", "--assume-fps", "12", *options, "--subject", "two horses") == 0
    assert "1 prompt of the list without a clip: gone.npy" in capsys.readouterr().err
    first = json.loads(Path("run/scores.jsonl").read_text().splitlines()[0])
    assert (first["prompt"], first["prompt_source"], first["fps"]) == ("a dog runs", "list", 12)
    assert first["subject"]["source"] == "option"
    assert set(first["scores"]) == {"pas", "mss"}
    run = json.loads(Path("run/run.json").read_text())
    assert run["configuration"]["protocol"] == "vmbench"
    assert run["configuration"]["reading"] == {"assume_fps": 12, "max_memory": 1572864}


def test_a_clip_scored_smaller_than_it_is_is_named_on_screen(vmmetrics: Any, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "clips").mkdir()
    for name, side in (("large", 512), ("small", 64)):
        frames = np.random.default_rng(0).integers(0, 255, (1, side + 8, side, 3), np.uint8)
        np.save(tmp_path / "clips" / f"{name}.npy", np.stack([frames[0, k : k + side] for k in range(8)]))
    options = ["--out", "run", "--metrics", "mss", "--max-memory", "5MB", "--assume-fps", "8"]
    assert vmmetrics("score", "clips", *options) == 0
    shown = capsys.readouterr().out
    assert re.search(r"downscaled to fit --max-memory in 1 of 2 clips: large\.npy at (\d+)x\1$", shown, re.MULTILINE)


def test_a_clip_that_takes_too_long_fails_alone(vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    clips = make_clips("a", "hang")
    assert vmmetrics("score", clips, "--out", "run", "--jobs", 1, "--timeout", 1, "--metrics", "pas") == 3
    assert "failed: hang.npy: It took longer than 1 s; raise --timeout" in capsys.readouterr().err
    lines = [json.loads(line) for line in Path("run/scores.jsonl").read_text().splitlines()]
    assert [bool(line["scores"]) for line in lines] == [True, False]


@pytest.mark.parametrize("timeout", ["0", "nan", "inf", "-1"])
@pytest.mark.parametrize("command", ["score", "baselines", "probe"])
def test_a_timeout_must_be_one(command: str, timeout: str, vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    assert vmmetrics(command, make_clips("a"), "--timeout", timeout) == 2
    assert "timeout" in capsys.readouterr().err


def test_what_was_found_is_said_before_the_first_clip(
    vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured
) -> None:
    named = f"t2v-14B_1280*720_1_1_{'A_cat_' * 9}"[:71] + "_20250301_120000"
    clips = make_clips("one/a dog runs-0", f"one/{named}", "two/0001", "0002", "two/0003")
    (clips / "two" / "0001.txt").write_text("a cow walks")
    assert vmmetrics("score", clips, "--out", "run") == 0
    said = capsys.readouterr().err
    assert "1 clip (0002.npy) outside the 2 model folders (one, two): scored without a model name" in said
    assert "1 from names (vbench)" in said and "1 from names (wan)" in said and "1 from files beside the clips" in said
    assert "1 cut short by the script that named the clip" in said
    assert "none for 2 of 5 clips, give them with --prompts LIST" in said
    lines = [json.loads(line) for line in Path("run/scores.jsonl").read_text().splitlines()]
    (cut,) = (line for line in lines if "t2v" in line["clip"])
    assert (cut["prompt"], cut["prompt_source"]) == (("A cat " * 9)[:50].strip(), "name:wan (cut)")
    assert {line["clip"].split("/")[0]: line["model"] for line in lines} == {
        "one": "one",
        "two": "two",
        "0002.npy": None,
    }


def test_paths_as_people_type_them(
    vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_clips("a", "b")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    for given in ("../clips", "../other/../clips", "../clips/*.npy", "../c*s"):
        assert vmmetrics("score", given) == 0, given
        said = capsys.readouterr()
        assert "no clips" not in said.err
        assert "b.npy" in said.out
    names = {path.name.partition("-")[0] for path in (tmp_path / "other" / "vmmetrics-runs").iterdir()}
    assert names <= {"clips", "other", tmp_path.name}  # and no * among them
    assert vmmetrics("score", "../clips", "../other") == 0
    assert "no clips in ../other" in capsys.readouterr().err
    assert vmmetrics("score", "../clips/*.mp4") == 2
    assert "No file matches ../clips/*.mp4" in capsys.readouterr().err


def test_a_folder_without_clips_is_told_what_clips_are(vmmetrics: Any, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "b.txt", "c.csv"):
        (tmp_path / "texts" / name).touch()
    assert vmmetrics("score", "texts") == 2
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "o clips in texts, only files with 2 .txt, 1 .csv; clips are files with .3gp, .apng" in said
    assert ".mp4" in said and "folders of numbered pictures" in said


def test_a_clip_that_is_gone_stays_in_the_files_and_is_said(
    vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: Captured
) -> None:
    clips = make_clips("a", "b", "c")
    assert vmmetrics("score", clips, "--out", "run") == 0
    assert "more clip" not in capsys.readouterr().err
    (clips / "c.npy").unlink()
    assert vmmetrics("score", clips, "--out", "run") == 0
    said = capsys.readouterr()
    assert "c.npy" not in said.out
    assert "scores.csv holds 1 more clip of earlier commands: c.npy, which is gone" in said.err
    assert "c.npy" in Path("run/scores.csv").read_text()
    assert vmmetrics("score", clips / "a.npy", "--out", "run") == 0
    assert "scores.csv holds 2 more clips of earlier commands: b.npy, c.npy; gone: 1" in capsys.readouterr().err
    assert vmmetrics("baselines", clips, "--metrics", "frame_difference", "--out", "base") == 0
    (clips / "b.npy").unlink()
    capsys.readouterr()
    assert vmmetrics("baselines", clips, "--metrics", "frame_difference", "--out", "base") == 0
    assert "scores.csv holds 1 more clip of earlier commands: b.npy" in capsys.readouterr().err


def test_what_is_too_much_for_a_line_is_counted(vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    clips = make_clips(*"abcdef")
    Path("list.json").write_text(json.dumps({f"{name}.npy": "a dog runs" for name in "abcdefvwxyz"}))
    assert vmmetrics("score", clips, "--metrics", "mss", "--prompts", "list.json", "--out", "run") == 0
    assert "5 prompts of the list without a clip: v.npy, w.npy, x.npy and 2 more" in capsys.readouterr().err
    assert vmmetrics("score", clips / "a.npy", "--metrics", "mss", "--prompts", "list.json", "--out", "run") == 0
    assert "5 more clips of earlier commands: b.npy, c.npy, d.npy and 2 more" in capsys.readouterr().err


def test_merge_says_which_shard_is_missing(vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    clips = make_clips(*"abcdef")
    for part in (1, 3):
        assert vmmetrics("score", clips, "--shard", f"{part}/3", "--out", f"part{part}", "--metrics", "mss") == 0
    assert json.loads(Path("part3/run.json").read_text())["sessions"][0]["shard"] == [3, 3]
    capsys.readouterr()
    assert vmmetrics("merge", "part1", "part3", "--out", "two") == 3
    assert "missing: shard 2/3; not all of its clips are in two" in capsys.readouterr().err
    assert vmmetrics("merge", "part1", "part3", "--out", "accepted", "--allow-missing") == 0
    assert "missing: shard 2/3" in capsys.readouterr().err
    assert vmmetrics("score", clips, "--shard", "2/3", "--out", "part2", "--metrics", "mss") == 0
    for number, runs in enumerate((("part1", "part2", "part3"), ("two", "part2"))):  # a merged run may be merged on
        assert vmmetrics("merge", *runs, "--out", f"whole{number}") == 0
        assert "missing" not in capsys.readouterr().err
    header = json.loads(Path("part1/run.json").read_text())
    del header["sessions"][0]["shard"]  # as runs were written before: the command is all there is
    for command in (["vmmetrics", "score", "clips", "--shard", "1/2"], ["vmmetrics", "score", "--shard=1/2", "clips"]):
        header["sessions"][0]["command"] = command
        Path("part1/run.json").write_text(json.dumps(header))
        assert vmmetrics("merge", "part1", "--out", f"old{len(command)}") == 3
        assert "missing: shard 2/2" in capsys.readouterr().err
    for odd in ([1], ["1", 2], [0, 2], [3, 2], {}, "1/2", [1, 10**12], None):
        header["sessions"][0] |= {"shard": odd, "command": "vmmetrics --shard 1/2"}
        Path("part1/run.json").write_text(json.dumps(header))
        assert vmmetrics("merge", "part1", "--out", f"odd{odd}") == 0


def test_a_shard_that_was_killed_is_missing_and_a_trial_is_no_whole(
    vmmetrics: Any, make_clips: Any, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = make_clips(*"abcdef")
    common = ("score", clips, "--metrics", "mss", "--out")
    assert vmmetrics(*common, "part1", "--limit", 3) == 0  # a trial in the folder of the shard
    assert vmmetrics(*common, "part1", "--shard", "1/2") == 0
    with monkeypatch.context() as patch:
        patch.setattr("vmmetrics.scoring.run.Session.run", stop_now)
        assert vmmetrics(*common, "part2", "--shard", "2/2") == 130
    capsys.readouterr()
    assert vmmetrics("merge", "part1", "part2", "--out", "dead") == 3
    assert "missing: shard 2/2; not all of its clips are in dead" in capsys.readouterr().err
    assert vmmetrics(*common, "part2", "--shard", "2/2") == 0
    capsys.readouterr()
    assert vmmetrics("merge", "part1", "part2", "--out", "whole") == 0
    assert "missing" not in capsys.readouterr().err
    for part in (1, 2):
        assert vmmetrics(*common, f"few{part}", "--limit", 3, "--shard", f"{part}/2") == 0
    assert vmmetrics("merge", "few1", "few2", "--out", "few") == 0  # all of them limited alike
    assert vmmetrics("merge", "few2", "--out", "half") == 3


def stop_now(*_: Any) -> Any:
    raise KeyboardInterrupt


def test_merge_shows_the_whole(vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    clips = make_clips(*"abcdef")
    for part in (1, 2):
        assert vmmetrics("score", clips, "--shard", f"{part}/2", "--out", f"part{part}") == 0
    capsys.readouterr()
    assert vmmetrics("merge", "part1", "part2", "--out", "whole") == 0
    assert all(f" {name}.npy" in capsys.readouterr().out for name in "a")
    assert vmmetrics("merge", "part1", "part2", "--out", "whole") == 2
    assert "already exists" in capsys.readouterr().err


def test_the_command_starts_fast_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, typer.main, vmmetrics.cli.app\n"
        "assert 'vmmetrics.cli.score' not in sys.modules  # imported when it is asked for\n"
        "def build(group): [build(c) for c in group.commands.values() if hasattr(c, 'commands')]\n"
        "build(typer.main.get_command(vmmetrics.cli.app.app))\n"
        "print([m for m in ('numpy', 'cv2', 'av', 'scipy', 'ai_edge_litert', 'PIL', 'torch') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert found.stdout.strip() == "[]"


def test_a_folder_with_a_long_name_needs_no_out(vmmetrics: Any, make_clips: Any, tmp_path: Path) -> None:
    assert vmmetrics("score", make_clips("a", folder="é" * 115)) == 0
    (run,) = (tmp_path / "vmmetrics-runs").iterdir()
    assert run.name.startswith("é" * 75 + "-embedded-")


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "z" * 300],
        ["score", "clips", "--prompts", "p" * 300],
        ["score", "clips", "--out", "o" * 300],
        ["show", "r" * 300, "a", "--out", "a.png"],
        ["show", "run", "a.npy", "--out", f"{'o' * 300}.png"],
        ["merge", "run", "--out", "m" * 300],
        ["merge", "r" * 300, "--out", "m"],
        ["leaderboard", "r" * 300],
        ["score", "clips", "--out", "/dev/null"],
        ["score", "clips", "--prompts", "clips"],
        ["show", "clips/a.npy", "a", "--out", "a.png"],
        ["merge", "clips/a.npy", "--out", "m"],
        ["prompts", "stats", "clips"],
        ["align", "run", "clips"],
        ["cas", "label", "clips", "--out", "l.jsonl"],
        ["score", os.fsdecode(b"\xff\n.mp4")],
    ],
    ids=lambda arguments: " ".join(text[:9] for text in arguments).encode("unicode_escape").decode(),
)
def test_odd_paths_end_in_one_line(arguments: list[str], vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    assert vmmetrics("score", make_clips("a"), "--out", "run") == 0
    capsys.readouterr()
    assert vmmetrics(*arguments) == 2
    shown = capsys.readouterr().err.removeprefix("finding clips in clips ...\n")
    assert "Traceback" not in shown
    assert len(shown.splitlines()) == 1 or "Usage" in shown or "clip, preset" in shown


def test_without_a_worker_the_scores_are_the_same(vmmetrics: Any, make_clips: Any, tmp_path: Path) -> None:
    clips, tables = make_clips("a", "b"), []
    for jobs in (0, 1):
        assert vmmetrics("score", clips, "--out", f"run{jobs}", "--jobs", jobs) == 0
        assert (tmp_path / f"run{jobs}" / "workers.log").exists() == bool(jobs)
        with (tmp_path / f"run{jobs}" / "scores.csv").open(newline="") as file:
            tables.append([{**row, "seconds": None} for row in csv.DictReader(file)])
    assert tables[0] == tables[1] and len(tables[0]) == 2


def test_a_timeout_without_a_worker_is_wrong_usage(vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    assert vmmetrics("score", make_clips("a"), "--jobs", 0, "--timeout", 5) == 2
    assert "set jobs to 1 or more" in capsys.readouterr().err
