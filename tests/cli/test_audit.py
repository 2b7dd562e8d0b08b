from __future__ import annotations

import io
import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest
from rich.console import Console

from vmmetrics.alignment.audit.card import Card, ScoreCard
from vmmetrics.alignment.audit.lines import PARTS, Line
from vmmetrics.alignment.audit.plan import CHECK_NAMES
from vmmetrics.cli.audit import finish
from vmmetrics.cli.main import main
from vmmetrics.video.encoding import to_ticks, write_playable

PLANTED = Path(__file__).parents[1] / "alignment" / "audit" / "planted.py"
FEW = ("--parts", "breaks", "--checks")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine clips of a second and a half of gravel that drifts."""
    folder = tmp_path_factory.mktemp("audited") / "clips"
    folder.mkdir()
    for seed in range(9):
        grains = np.random.default_rng(seed).integers(0, 255, (12, 30, 3)).astype(np.uint8)
        world = cv2.resize(grains, (240, 96), interpolation=cv2.INTER_CUBIC)
        frames = np.stack([world[:, (1 + seed) * t : (1 + seed) * t + 96] for t in range(12)])
        write_playable(folder / f"{seed}.mp4", frames, to_ticks(np.arange(12) / 8), 8, "test")
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module ``planted``, in which the command is called; the clips are at ``clips``."""
    shutil.copyfile(PLANTED, tmp_path / "planted.py")
    (tmp_path / "clips").symlink_to(made)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    words = ["audit", *map(str, arguments)]
    monkeypatch.setattr(sys, "argv", ["vmmetrics", *words])
    try:
        main(words)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def card(out: str = "out") -> dict[str, dict[str, str]]:
    """Return grades by check of the one score of a card."""
    (score,) = json.loads(Path(out, "card.json").read_text())["scores"]
    return {line["check"]: line for line in score["lines"]}


def test_card_page_and_tables(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--takes", "path", "--clips", "clips", *FEW, "distinct,cut", "--out", "out")
    assert run(monkeypatch, "planted:sentinel", *options) == 0
    shown = capsys.readouterr()
    assert "scores a broken file" in " ".join(shown.out.split())
    assert "written: out/index.html" in shown.err
    assert "bad: cut: sentinel: scores a broken file\n[2/2] cut, about 0 min left" in shown.err
    assert {name: line["grade"] for name, line in card().items()} == {"distinct": "good", "cut": "bad"}
    page = Path("out/index.html").read_text()
    assert "planted:sentinel" in page
    assert "scores a broken file" in page


def test_repeat_repeats_a_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--takes", "path", "--clips", "clips", *FEW, "distinct,cut", "--out", "out", "--fail-on=bad")
    assert run(monkeypatch, "planted:sentinel", *options) == 4
    program, group, *words = shlex.split(card()["cut"]["repeat"])
    assert (program, group) == ("vmmetrics", "audit")
    assert run(monkeypatch, *words) == 0
    again = card("audit-cut")
    assert list(again) == ["cut"]
    assert again["cut"]["verdict"] == card()["cut"]["verdict"]


@pytest.mark.parametrize(
    ("gates", "code"),
    [("bad", 4), ("error", 0), ("breaks", 4), ("fooled", 0), ("bad,fooled", 0), ("bad,breaks", 4), ("error,breaks", 0),
     ("good,breaks", 4), ("bads", 2), ("", 2)],
)  # fmt: skip
def test_fail_on(
    gates: str, code: int, here: Path, made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--takes", "path", "--clips", "clips", *FEW, "distinct,cut", "--out", "out", "--fail-on", gates)
    assert run(monkeypatch, "planted:sentinel", *options) == code
    assert Path("out/card.json").exists() == (code != 2)  # written in any case, but for a wrong use
    message = " ".join(capsys.readouterr().err.split())
    assert ("that --fail-on names, the first:" in message) == (code == 4)
    assert ("--fail-on: expected grades and parts" in message) == (code == 2)


def test_only(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    target = ("planted:healthy", "--takes", "path", "--clips", "clips", "--out", "out")
    assert run(monkeypatch, *target, *FEW, "again") == 0
    assert list(card()) == ["again"]
    taken = "higher scores are taken for better"
    assert taken in capsys.readouterr().err
    assert run(monkeypatch, *target, *FEW, "again", "--direction", "higher") == 0
    assert taken not in capsys.readouterr().err
    assert run(monkeypatch, *target, *FEW, "agian") == 2
    assert "did you mean again?" in capsys.readouterr().err
    assert run(monkeypatch, *target, "--parts", "brakes") == 2


def test_list_of_checks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "checks", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["check"] for row in rows] == list(CHECK_NAMES)
    assert {row["part"] for row in rows} == set(PARTS) - {"people"}
    assert all(row["what"] and row["bad"] for row in rows)
    assert run(monkeypatch, "checks") == 0
    assert "often: BGR is read as RGB" in capsys.readouterr().out


@pytest.mark.slow
def test_effects_of_the_command(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of clips that come to a standstill, a scorer of motion makes less, whichever way is called better."""
    target = ("planted:healthy", "--takes", "path", "--clips", "clips", "--fail-on", "sees")
    options = ("--strengths", "1", "--defects", "standstill,boil", "--checks", "standstill")
    assert run(monkeypatch, *target, *options, "--out", "high") == 0
    assert card("high")["standstill"]["verdict"] == "noticed from strength 1"
    assert "; better on 0 of 9 clips" in card("high")["standstill"]["text"]
    assert run(monkeypatch, *target, *options, "--direction", "lower", "--out", "low") == 4
    assert card("low")["standstill"]["verdict"] == "better from strength 1"
    assert "; better on 9 of 9 clips" in card("low")["standstill"]["text"]


def test_compare(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--takes", "path", "--clips", "clips", *FEW, "distinct,cut")
    assert run(monkeypatch, "planted:healthy", *options, "--out", "old") == 0
    assert run(monkeypatch, "planted:sentinel", *options, "--out", "new", "--compare", "old") == 0
    shown = capsys.readouterr()
    told = " ".join(shown.out.split())
    assert "Changed since the other card" in told
    assert "good: refused bad: scores a broken file" in told
    assert "--checks cut --out new-again --compare new" in " ".join(shown.err.split())
    told = "lines: 0 no longer bad, 1 newly bad, 1 the same"
    assert f"beside the other card: {told}" in shown.err
    page = Path("new/index.html").read_text()
    assert "Compared with the card of planted:healthy" in page
    assert told in page
    assert "Changed since the other card (1)" in page.replace("&nbsp;", " ")
    assert run(monkeypatch, "planted:healthy", *options, "--out", "third", "--compare", "clips") == 2
    assert not Path("third").exists()


def test_command_for_mended_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of *breaks*, in which a mend may break something else; nothing where no line is wrong in any score."""
    monkeypatch.setattr(sys, "argv", ["vmmetrics", "audit", "m:f", "--out", "a b", "--seed", "3"])
    lines = [Line(part, "cut", "t", "bad", "v", "x", score="s", repeat="r") for part in ("fooled", "breaks")]
    told = []
    for some, parts in ((lines, ["sees", "breaks"]), (lines[:1], ["sees", "breaks"]), (lines, ["breaks"])):
        score = ScoreCard("s", True, None, 1.0, 1.0, some)
        target = {"text": "m:f", "kind": "function", "takes": [], "notes": []}
        card = Card(1, target, {}, {"checks": None, "parts": parts}, 0.0, [], [score], [])
        err = io.StringIO()
        messages = Console(file=err, width=300)
        finish(card, tmp_path, None, (), "text", Console(file=io.StringIO()), messages)
        told.append(err.getvalue())
    again = f"--seed 3 --parts breaks --out {tmp_path}-again --compare {tmp_path}"
    assert f"mended? vmmetrics audit m:f {again}" in told[0]
    assert "mended?" not in told[1]
    assert "--parts" not in told[2]  # the words of this command have it


def test_formats(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--takes", "path", "--clips", "clips", *FEW, "distinct", "--out", "out", "--format", "json")
    assert run(monkeypatch, "planted:healthy", *options) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(Path("out/card.json").read_text())


@pytest.mark.slow
def test_command_as_target(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("score.py").write_text("import sys, planted; print('score', planted.healthy(sys.argv[1]))")
    command = f"{sys.executable} score.py {{clip}}"
    assert run(monkeypatch, "--command", command, "--clips", "clips", *FEW, "distinct,cut,names", "--out", "out") == 0
    assert {line["grade"] for line in card().values()} == {"good"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Expected one target"),
        (("planted:absent",), "No function 'absent'"),
        (("http://example.com/score",), "--allow-host example.com"),
        (("planted:healthy", "--takes", "pixels"), "'pixels'"),
        (("planted:made_up_rate", "--takes", "path", "--clips", "nowhere"), "nowhere"),
        (("--command", "score 'x {clip}"), "quotation"),
        (("planted:_or_none", "--takes", "list", "--clips", "clips", *FEW, "distinct"), "scores none of 9 clips"),
    ],
)
def test_wrong_use(
    words: Sequence[str], message: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *words, "--out", "out") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert message in error
    assert "Traceback" not in error
