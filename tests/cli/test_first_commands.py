"""What somebody types in the first hour, in the order in which they type it; some of it as a process of its own."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bad_inputs import moving_frames, write_video
from tests.cli.conftest import run_command

DATA = Path(__file__).parents[1] / "data"


class Typed(NamedTuple):
    """A command line.

    Attributes:
        line: What is typed after ``vmmetrics``; ``DATA`` is the tests' folder of data.
        code: Its exit code.
        shown: What must be among what is printed on stdout.
        told: What must be among what is printed on stderr.
        piped: What comes in from a pipe.
        environment: Variables that are set.
        apart: Whether it runs as a process of its own.
    """

    line: str
    code: int = 0
    shown: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    piped: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    apart: bool = False


COMMANDS = (
    Typed("", 2, (), ("score",), apart=True),
    Typed("-h", 0, ("score", "align", "doctor")),
    Typed("-V", 0, ("vmmetrics ",)),
    Typed("--show-completion", 0, ("complete",), (), "", (("SHELL", "/bin/bash"),), apart=True),
    Typed("scor clips", 2, (), ("score",)),
    Typed("score", 2, (), ("CLIPS",)),
    Typed("score nowhere", 2, (), ("nowhere",)),
    Typed("score empty", 2, (), ("No clips in empty", ".mp4")),
    Typed("score clips --metric mss", 2, (), ("--metrics",)),
    Typed("score clips --metrics mss --dry-run", 0, ("fast/1.mp4", "slow/2.mp4")),
    Typed("score clips --metrics mss -o run -j 1", 0, ("fast/1.mp4", "MSS", "all"), ("4 clips", "a clip"), apart=True),
    Typed("score clips --metrics mss -o run", 0, ("fast/1.mp4",), ("scored before",)),
    Typed("score clips --metrics mss,pas -o run -q", 0, ("PAS",)),
    Typed("score 'clips/fast/*.mp4' --metrics mss -o pattern", 0, ("1.mp4", "2.mp4")),
    Typed("score ../here/clips --metrics mss --limit 1 -o one", 0, ("fast/1.mp4",)),
    Typed("score clips --metrics mss -o run --format json", 0, ('"clip"', "fast/1.mp4")),
    Typed("score mixed --metrics mss -o mixed-run", 3, ("good.mp4",), ("broken.mp4",)),
    Typed("score clips --metrics mss --config settings.toml", 0, ("slow/1.mp4",)),
    Typed("score clips --metrics mss --config wrong.yaml", 2, (), ("metircs", "metrics")),
    Typed("score clips --metrics mss -o run --fail-under MSS=1.01", 2, (), ("MSS lies between 0 and 1",)),
    Typed("score clips --metrics cas -o cas --limit 1 --fail-under CAS=1", 4, ("CAS",), ("under 1",)),
    Typed("score clips --metrics mss --shard 1/2 -o part1", 0),
    Typed("merge part1 -o whole", 3, (), ("2/2",)),
    Typed("leaderboard run --sort-by mss", 0, ("fast", "slow")),
    Typed("leaderboard run --sort-by mss --format markdown", 0, ("| ", "fast")),
    Typed("diff pattern one", 0, ("MSS",)),
    Typed("show run fast/1.mp4 -o picture.png", 0),
    Typed("align scores.csv ratings.csv --dry-run", 0, ("smoothness",)),
    Typed("align scores.csv ratings.csv", 0, ("mss",)),
    Typed("align scores.csv forms.csv", 0, ("mss",)),
    Typed("align m_eval_results.json ratings.csv", 0, ("motion_smoothness",)),
    Typed("align scores.csv strange.csv", 2, (), ("shoe", "--clip-column")),
    Typed("align scores.csv ratings.csv --face mss=smoothness", 2, (), ("--pair",)),
    Typed("plan", 0, ("ρ",), (), "", (("PYTHONIOENCODING", "utf-8"),), apart=True),
    Typed("plan", 0, ("rho",), (), "", (("PYTHONIOENCODING", "ascii"),), apart=True),
    Typed("baselines clips --metrics ssim -o base", 0, ("ssim", "fast"), ("ssim 0.",)),
    Typed("prompts stats mini", 0, ("mini",)),
    Typed("prompts review mini --reviewer me --decisions d.jsonl", piped="keep\ndrop unclear\nquit\n", apart=True),
    Typed("understand list", 0, ("synthetic", "motionbench")),
    Typed("understand synthetic -o suite --count 9 --quiet", 0),
    Typed("understand run synthetic --data suite --model random -o random", 0, ("accuracy",)),
    Typed("understand leaderboard random", 0, ("random",)),
    Typed("weights list", 0, ("sam2",)),
    Typed("doctor", 0, ("embedded",)),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What somebody has who came with two models' clips, and ratings of them."""
    home = tmp_path_factory.mktemp("first") / "here"
    for model in ("fast", "slow"):
        (home / "clips" / model).mkdir(parents=True)
        for number in (1, 2):
            frames = moving_frames(12, (96, 96), seed=number)
            write_video(home / "clips" / model / f"{number}.mp4", frames[:: 1 + (model == "fast")])
    (home / "empty").mkdir()
    (home / "mixed").mkdir()
    write_video(home / "mixed" / "good.mp4", moving_frames(12, (96, 96)))
    (home / "mixed" / "broken.mp4").write_bytes(b"no video")
    (home / "settings.toml").write_text('out = "from-settings"\nlimit = 3\n')
    (home / "wrong.yaml").write_text("metircs: mss\n")
    names = [f"{model}/{number}.mp4" for model in ("fast", "slow") for number in range(1, 9)]
    rows = [(name, 0.1 * (place % 7), 1 + place % 5) for place, name in enumerate(names)]
    (home / "scores.csv").write_text("clip,mss\n" + "".join(f"{name},{score}\n" for name, score, _ in rows))
    (home / "ratings.csv").write_text(
        "clip,rater,smoothness\n"
        + "".join(f"{n},{rater},{1 + (r + k) % 5}\n" for n, _, r in rows for k, rater in enumerate("ab"))
    )
    header = ",".join(["Timestamp", *(f"How smooth? [{name}]" for name in names)])
    answers = [
        ",".join(["2026/01/02 10:00:00", *(f"{word}" for word in words)])
        for words in (["Good", "Bad"] * 8, ["Fair", "Poor"] * 8)
    ]
    (home / "forms.csv").write_text("\n".join([header, *answers]) + "\n")
    results = [{"video_path": f"out/{name}", "video_results": score} for name, score, _ in rows]
    (home / "m_eval_results.json").write_text(json.dumps({"motion_smoothness": [0.3, results]}))
    (home / "strange.csv").write_text("shoe,hat\nred,blue\n")
    yield home


@pytest.mark.parametrize("typed", COMMANDS, ids=lambda typed: typed.line[:60] or "nothing")
def test_first_commands(
    typed: Typed, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    for name, value in typed.environment:
        monkeypatch.setenv(name, value)
    words = shlex.split(typed.line.replace("DATA", str(DATA)))
    if typed.apart:
        line = [sys.executable, "-m", "vmmetrics", *words]
        done = subprocess.run(line, input=typed.piped, capture_output=True, text=True, timeout=120, check=False)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        code = run_command(*words)
        out, err = capfd.readouterr()
    output = f"{out}\n--- stderr\n{err}"
    assert code == typed.code, output
    assert all(text in out for text in typed.shown), output
    assert all(text in err for text in typed.told), output
    assert "Traceback" not in output
    if "--format json" in typed.line:
        json.loads(out)


def test_there_are_forty() -> None:
    assert len(COMMANDS) >= 40


def test_training_without_torch_says_what_to_install(folder: Path) -> None:
    (folder / "labels.jsonl").write_text('{"clip": "fast/1.mp4", "level": "Good", "prompt": "a square"}\n')
    code = "import sys; sys.modules['torch'] = None; from vmmetrics.cli.main import main; main(sys.argv[1:])"
    line = [sys.executable, "-c", code, "cas", "train", "clips", "labels.jsonl", "--out", "cas"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    assert re.search(r"torch is missing; install it with: pip install .*\[cas\]", done.stderr)
