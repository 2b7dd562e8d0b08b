"""Audits as a whole: what is kept and resumed, the card and its page."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.alignment.audit.audit import audit
from vmmetrics.alignment.audit.calls import Limits
from vmmetrics.alignment.audit.card import SCHEMA, Card, ScoreCard, beside, compared, read_card, summary
from vmmetrics.alignment.audit.lines import Grade, Line, Part
from vmmetrics.alignment.audit.plan import AuditPlan
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.audit.truth import Truth
from vmmetrics.alignment.probe.cases import Plan
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.video import read_clip
from vmmetrics.video.encoding import to_ticks, write_playable
from vmmetrics.viewer.card import write_card_page

HERE = Path(__file__).parent
TARGET = Target("function", "planted:healthy", ("path",), "healthy", higher_is_better={"": True}, origin=str(HERE))
CHECKS = ("distinct", "again", "same-name", "no-video")
PLAN = AuditPlan(parts=("breaks",), only=CHECKS, limits=Limits(60))


@pytest.fixture(scope="module")
def folder(clips: list[Clip], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    for clip in clips:
        write_playable(folder / clip.name, clip.frames, to_ticks(clip.timestamps), clip.fps, "test")
    return folder


class Listener:
    """Notes the checks that are run."""

    def __init__(self) -> None:
        self.checks: list[str] = []
        self.cases = 0

    def part(self, part: str, total: int) -> None:
        pass

    def checked(self, name: str, faults: Sequence[str] = ()) -> None:
        self.checks.append(name)

    def warn(self, warnings: object) -> None:
        pass

    def begin(self, total: int, settled: int) -> None:
        self.cases += total - settled

    def advance(self, line: object) -> None:
        pass


# Resuming.

KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import test_audit as t

class Listener(t.Listener):
    def checked(self, name, faults=()):
        if name == "again":
            os.kill(os.getpid(), signal.SIGKILL)

t.audit(t.TARGET, Path(sys.argv[3]), clips=[Path(sys.argv[2])], plan=t.PLAN, listener=Listener())
"""


@pytest.mark.slow
def test_resumes_after_a_kill(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-c", KILLED, str(HERE), str(folder), str(out)]
    assert subprocess.run(words, check=False).returncode == -9
    done = (out / "checks.jsonl").read_text()
    assert [json.loads(line)["check"] for line in done.splitlines()] == ["distinct", "again"]
    assert not (out / "card.json").exists()
    with (out / "checks.jsonl").open("a") as file:
        file.write('{"check": "same-name", "resu')  # a line that was cut off
    listener = Listener()
    card = audit(TARGET, out, clips=[folder], plan=PLAN, listener=listener)
    assert listener.checks == ["same-name", "no-video"]
    assert (out / "checks.jsonl").read_text().startswith(done)
    again = Listener()
    assert audit(TARGET, out, clips=[folder], plan=PLAN, listener=again).scores == card.scores
    assert again.checks == []
    whole = audit(TARGET, tmp_path / "whole", clips=[folder], plan=PLAN)
    assert [(line.check, line.grade, line.verdict) for line in card.scores[0].lines] == [
        (line.check, line.grade, line.verdict) for line in whole.scores[0].lines
    ]


def test_more_checks_are_added(folder: Path, tmp_path: Path) -> None:
    first, second = Listener(), Listener()
    audit(TARGET, tmp_path / "out", clips=[folder], plan=replace(PLAN, only=("distinct",)), listener=first)
    card = audit(
        TARGET, tmp_path / "out", clips=[folder], plan=replace(PLAN, only=("distinct", "again")), listener=second
    )
    assert (first.checks, second.checks) == (["distinct"], ["again"])
    assert [line.check for line in card.scores[0].lines] == ["distinct", "again"]


@pytest.mark.parametrize(
    "other",
    [
        {"target": replace(TARGET, text="planted:smooth", label="smooth")}, {"target": replace(TARGET, key="a.b")},
        {"target": replace(TARGET, ranges={"": (0.0, 1.0)})}, {"target": replace(TARGET, body="{}")},
        {"plan": replace(PLAN, seed=1)}, {"plan": replace(PLAN, limits=Limits(60, 1 << 31))},
        {"plan": replace(PLAN, limit=5)}, {"plan": replace(PLAN, pythons=(sys.executable,))},
    ],
    ids=["another function", "another key", "another range", "another body", "another seed", "other limits",
         "fewer clips", "another environment"],
)  # fmt: skip
def test_folder_of_other_settings(other: Mapping[str, Any], folder: Path, tmp_path: Path) -> None:
    plan = replace(PLAN, only=("distinct",))
    audit(TARGET, tmp_path / "out", clips=[folder], plan=plan)
    before = (tmp_path / "out" / "card.json").read_bytes()
    changed = replace(other["plan"], only=("distinct",)) if "plan" in other else plan
    with pytest.raises(SetupError, match="was begun with other settings"):
        audit(other.get("target", TARGET), tmp_path / "out", clips=[folder], plan=changed)
    assert (tmp_path / "out" / "card.json").read_bytes() == before


def test_other_clips_of_the_same_names(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "clips")
    plan = replace(PLAN, only=("distinct",))
    audit(TARGET, tmp_path / "out", clips=[tmp_path / "clips"], plan=plan)
    first, last, *_ = sorted((tmp_path / "clips").iterdir())
    shutil.copyfile(first, last)
    with pytest.raises(SetupError, match="pixels"):
        audit(TARGET, tmp_path / "out", clips=[tmp_path / "clips"], plan=plan)


def test_folders_of_something_else(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SetupError, match="holds other files"):
        audit(TARGET, tmp_path, clips=[folder], plan=PLAN)
    with pytest.raises(SetupError, match="cannot be loaded"):
        audit(replace(TARGET, text="planted:absent"), tmp_path / "out", clips=[folder], plan=PLAN)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SetupError, match="empty"):
        audit(TARGET, tmp_path / "out", clips=[tmp_path / "empty"], plan=PLAN)
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("empty", "notes.txt")] == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"parts": ("sees", "braeks")}, "No part 'braeks'; did you mean breaks"),
     ({"only": ("distinct", "same_name")}, "No check 'same_name'; did you mean same-name"),
     ({"only": ("no-such-check",)}, "No check 'no-such-check'; 'vmmetrics audit checks' lists them")],
)  # fmt: skip
def test_unknown_names(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        AuditPlan(**wrong)


def test_a_changed_target_is_told(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words that say what to do, and nothing of the card is lost."""
    code = tmp_path / "mine.py"
    shutil.copyfile(HERE / "planted.py", code)
    mine = replace(TARGET, text="mine:healthy", origin=str(tmp_path))
    plan = replace(PLAN, only=("distinct",))
    audit(mine, tmp_path / "card", clips=[folder], plan=plan)
    before = (tmp_path / "card" / "card.json").read_bytes()
    code.write_text(code.read_text() + "\nCHANGED = True\n")
    with pytest.raises(SetupError, match=r"changed since .*card was begun: choose another folder for --out; --compare"):
        audit(mine, tmp_path / "card", clips=[folder], plan=plan)
    assert (tmp_path / "card" / "card.json").read_bytes() == before


def test_a_card_is_not_replaced_by_one_of_fewer_checks(folder: Path, tmp_path: Path) -> None:
    audit(TARGET, tmp_path, clips=[folder], plan=PLAN)
    with pytest.raises(SetupError, match="has a card with 3 other checks: choose another folder"):
        audit(TARGET, tmp_path, clips=[folder], plan=replace(PLAN, only=("again",)))
    assert {line["check"] for line in read_card(tmp_path)["scores"][0]["lines"]} == set(CHECKS)


def test_other_ratings_are_not_taken_for_those_before(folder: Path, tmp_path: Path) -> None:
    """Part 4 of ratings by the score itself, then of the same file turned around."""
    scores = {path.name: n for n, path in enumerate(sorted(folder.iterdir()))}
    file, out = tmp_path / "pairs.csv", tmp_path / "out"
    effects = []
    for order in (1, -1, -1):
        names = sorted(scores, key=lambda name: order * scores[name])
        pairs = [f"{better},{worse}" for n, better in enumerate(names) for worse in names[:n]]
        file.write_text("\n".join(["better,worse", *pairs]))
        listener = Listener()
        card = audit(
            TARGET,
            out,
            clips=[folder],
            plan=replace(PLAN, only=("distinct",)),
            truth=Truth(pairs=file),
            listener=listener,
        )
        (line,) = (line for line in card.scores[0].lines if line.part == "people")
        effects.append((line.effect, len(listener.checks) > 1))
    (first, ran), (second, ran_again), third = effects
    assert first == pytest.approx(-second)
    assert (ran, ran_again, third) == (True, True, (second, False))


@pytest.mark.slow
def test_a_smaller_strength_where_the_next_greater_one_moves_a_score(folder: Path, tmp_path: Path) -> None:
    probe = Plan(defects=("shuffle", "blur"), strengths=(0.001, 0.002, 1.0), invariances=("mirror",), rates=False)
    smooth = replace(TARGET, text="planted:smooth", label="smooth")
    card = audit(
        smooth, tmp_path, clips=[folder], plan=AuditPlan(parts=("sees",), probe=probe, limits=Limits(60), jobs=2)
    )
    lines = {line.check: line for line in card.scores[0].lines}
    assert lines["shuffle"].verdict == "noticed from strength 1"
    assert lines["blur"].verdict in ("ignored", "not told apart")
    cases = [json.loads(line) for line in (tmp_path / "probe" / "cases.jsonl").read_text().splitlines()]
    asked = {kind: {case["strength"] for case in cases if case["kind"] == kind} for kind in probe.defects or ()}
    assert asked == {"shuffle": {0.002, 1.0}, "blur": {1.0}}


# The card.


def fits(value: Any, schema: Mapping[str, Any], place: str = "card") -> None:
    """Check a value against the words of JSON Schema that the card's schema has."""
    assert schema.keys() <= {"type", "properties", "required", "items", "enum", "const", "$schema", "title"}, place
    kinds = {"string": str, "integer": int, "number": (int, float), "object": dict, "array": list, "null": type(None),
             "boolean": bool}  # fmt: skip
    if stated := schema.get("type"):
        named = [stated] if isinstance(stated, str) else stated
        of_kind = [kind for kind in named if isinstance(value, kinds[kind])]
        assert of_kind, f"{place}: {value!r} is no {named}"
        assert not isinstance(value, bool) or "boolean" in of_kind, place
    assert value in schema.get("enum", [value]), place
    assert value == schema.get("const", value), place
    for name in schema.get("required", ()):
        assert name in value, f"{place}.{name}"
    for name, of in schema.get("properties", {}).items():
        if name in value:
            fits(value[name], of, f"{place}.{name}")
    for n, part in enumerate(value if "items" in schema else ()):
        fits(part, schema["items"], f"{place}[{n}]")


def test_hand_check_of_schemas_refuses() -> None:
    for value, schema in (
        ("a", {"type": "integer"}),
        (True, {"type": "number"}),
        ({}, {"required": ["a"]}),
        ([1], {"items": {"const": 2}}),
    ):
        with pytest.raises(AssertionError):
            fits(value, schema)


EFFECTS = AuditPlan(
    parts=("sees", "ignores", "fooled", "breaks"),
    only=("stutter", "mirror", "frozen", "distinct", "level", "cut"),
    probe=Plan(strengths=(1.0,), invariances=("mirror",), harmless_strengths=(1.0,), rates=False),
    limits=Limits(60),
)


@pytest.fixture(scope="module")
def made(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("card") / "out"
    target = replace(TARGET, text="planted:sentinel", label="sentinel", ranges={"": (-1.0, 1e4)})
    card = audit(target, out, clips=[folder], plan=EFFECTS, command=["vmmetrics", "audit", "a b:c", "--takes", "path"])
    write_card_page(card.to_json(), out)
    assert [table.key for table in summary(card)] == ["faults", "seen", "grades"]
    return out, json.loads((out / "card.json").read_text())


def test_card_is_of_its_schema(made: tuple[Path, dict[str, Any]]) -> None:
    out, card = made
    fits(card, SCHEMA)
    assert read_card(out) == read_card(out / "card.json") == card
    assert [line["check"] for line in card["scores"][0]["lines"]] == list(EFFECTS.only or ())
    assert [score["name"] for score in card["scores"]] == ["sentinel"]
    assert card["scores"][0]["range"] == [-1, 1e4]
    assert {"part": "people", "check": "", "why": "no ratings, pairs or footage were given"} in card["not_tried"]


def test_lines_of_one_cause_are_one_row() -> None:
    lines = [
        Line("breaks", "cut", "t", "bad", "NaN", "x", score="s"), Line("breaks", "rate", "t", "bad", "rounded", "y"),
        Line("breaks", "tiny", "t", "bad", "NaN", "z", score="s"), Line("breaks", "cut", "t", "bad", "NaN", "w"),
        Line("breaks", "order", "t", "error", "could not be run", "died"),
        Line("breaks", "huge", "t", "error", "could not be run", "late"), Line("sees", "warp", "t", "bad", "NaN", "v"),
        Line("sees", "blur", "t", "error", "crashes", "KeyError: 1"),
        Line("fooled", "strobe", "t", "error", "crashes", "KeyError: 2"),
    ]  # fmt: skip
    score = ScoreCard("s", True, None, 1.0, 1.0, lines)
    rows = [[line.check, line.text, *also] for line, also in score.causes()]
    assert rows == [
        ["cut", "x", "tiny"],
        ["rate", "y"],
        ["order", "died"],
        ["huge", "late"],
        ["blur", "KeyError: 1", "strobe"],
    ]
    (table,) = [of for of in summary(Card(1, {}, {}, {}, 0.0, [], [score], [])) if of.key == "faults"]
    assert [row.cells[1].text for row in table.rows] == ["cut, tiny", "rate"]


def test_repeat_is_a_command(made: tuple[Path, dict[str, Any]]) -> None:
    line = next(line for line in made[1]["scores"][0]["lines"] if line["check"] == "cut")
    assert line["repeat"] == f"vmmetrics audit 'a b:c' --takes path --checks cut --out audit-cut --compare {made[0]}"


def test_clips_to_look_at_are_files(made: tuple[Path, dict[str, Any]]) -> None:
    out, card = made
    looks = {line["check"]: line["looks"] for line in card["scores"][0]["lines"]}
    assert looks["stutter"]
    assert looks["frozen"]
    for look in (look for of in looks.values() for look in of):
        for file in filter(None, (look["file"], look["beside"])):
            assert not Path(file).is_absolute()
            assert len(read_clip(out / file)) > 1
            assert file in (out / "index.html").read_text()


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": 2, "scores": []}', "{", '{"format": 1}'])
def test_what_is_no_card(content: str, tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text(content)
    with pytest.raises(SetupError, match=r"card\.json"):
        read_card(tmp_path)


# Hostile targets.

HOSTILE = """
import os

def f(path):
    if os.path.getsize(path) % 2:
        raise ValueError("</script><script>alert(1)</script> <img src=x onerror=alert(2)> \\x1b[31m \\udc80")
    size = float(os.path.getsize(path))
    return {"<script>alert(3)</script>": size, "../../x": float("nan"), "a" * 300: -size, "": 1.0, "\\udcff": size,
            "inf": float("inf"), "&amp;\\n": size}

def g(path):
    return {"<b onclick=alert(4)>": float(os.path.getsize(path)), 5: 1}
"""


@pytest.mark.parametrize("name", ["f", "g"])
def test_hostile_names_and_texts_are_text(name: str, clips: list[Clip], tmp_path: Path) -> None:
    good = tmp_path / "<i>clips"
    good.mkdir()
    (tmp_path / "hostile.py").write_text(HOSTILE)
    for n, clip in enumerate(clips):
        path = good / f"<u onclick=alert(5)>{n}&quot;.mp4"
        write_playable(path, clip.frames, to_ticks(clip.timestamps), clip.fps, "test")
    target = Target("function", f"hostile:{name}", ("path",), "<h1>", origin=str(tmp_path), notes=("<s>note</s>",))
    out = tmp_path / "out"
    plan = replace(PLAN, only=("distinct", "cut", "names", "no-video"))
    card = audit(target, out, clips=[good], plan=plan, command=["vmmetrics", "audit", "</code><script>"])
    fits(json.loads((out / "card.json").read_text()), SCHEMA)
    page = write_card_page(card.to_json(), out, card.to_json()).read_text(encoding="utf-8")
    for raw in (
        "<script>alert",
        "</script><script",
        "<img src=x",
        "<b onclick",
        "<u onclick",
        "<s>note",
        "</code><script",
        "<h1>h",
    ):
        assert raw not in page
    if name == "g":
        assert "&lt;b onclick=alert(4)&gt;" in page
    summary(card)
    assert sorted(path.name for path in out.iterdir() if path.suffix != ".lock") == [
        "audit.json", "card.json", "checks.jsonl", "clips", "index.html",
    ]  # fmt: skip


def test_lines_beside_those_of_another_card() -> None:
    def card(*verdicts: tuple[str, str], **settings: Any) -> dict[str, Any]:
        lines = [
            {"part": part, "check": part[:3], "title": part, "grade": "note", "verdict": verdict}
            for part, verdict in verdicts
        ]
        return {"scores": [{"name": "s", "lines": lines}], "settings": settings}

    ours = card(("breaks", "asks"), ("breaks", "long"), ("sees", "ignored"))
    theirs = card(("breaks", "asks"), ("breaks", "form"), ("breaks", "long"), ("fooled", "better"), ("sees", "noticed"))
    found = beside(ours, theirs)["s"]
    assert [was and was["verdict"] for was in found.before] == ["asks", "long", "noticed"]
    assert found.changed == [2]
    assert found.gone == ["breaks: form", "fooled: better"]
    asked = {**ours, "settings": {"parts": ["breaks", "sees"], "checks": ["bre", "see"]}}
    assert beside(asked, theirs)["s"].gone == ["breaks: form"]
    assert beside({**asked, "settings": {"parts": ["breaks", "sees"]}}, theirs)["s"].gone == ["breaks: form"]
    renamed = card(("breaks", "asks"))
    renamed["scores"][0]["lines"][0]["title"] = "another title"
    assert beside(renamed, card(("breaks", "refuses")))["s"].changed == [0]
    assert beside(card(), None) == {}
    told = "lines: 0 no longer bad, 0 newly bad, 1 otherwise changed, 2 the same, 2 only there"
    assert compared(ours, theirs) == told
    for line in (ours["scores"][0]["lines"][0], theirs["scores"][0]["lines"][2]):
        line["grade"] = "bad"
    assert compared(ours, theirs).startswith("lines: 1 no longer bad, 1 newly bad, 1 otherwise changed, 2 only there")
    assert compared(ours, {"scores": [{"name": name, "lines": []} for name in "ab"]}) == "no score of the same name"


def test_what_a_score_sees_and_where_it_leans() -> None:
    def line(part: Part, check: str, effect: float, grade: Grade = "open", expected: str | None = "worse") -> Line:
        verdict = {"good": "noticed from strength 0.5", "open": "not told apart", "note": "ignored", "bad": "better"}
        return Line(part, check, check, grade, verdict[grade], "", score="s", effect=effect, expected=expected)

    lines = [
        line("sees", "shuffle", -9.0, "good"), line("sees", "ghost", -3.8), line("sees", "melt", -0.5),
        line("sees", "warp", 2.0), line("sees", "blur", 0.1, "note"), line("sees", "loop", 3.0, "bad"),
        line("fooled", "still_pan", 2.04, expected="not higher"), line("fooled", "slow", 0.5, expected="not higher"),
        line("fooled", "dark", -2.0, expected="lower"), line("fooled", "x", 2.0, expected=None),
        line("fooled", "black", -9.0, "good", "lower"), line("breaks", "rate", 9.0), line("breaks", "cut", 9.0, "bad"),
        line("people", "agreement", -9.0, "bad"),
    ]  # fmt: skip
    # Two that move less, and one that does not: what they have in common is said of the two.
    still = replace(line("sees", "standstill", 3.0, "bad"), verdict="better from strength 0.5")
    lines += [still, replace(line("fooled", "frozen", 5.0, "bad"), verdict="fooled: better")]
    score = ScoreCard("s", True, None, 1.0, 10.0, lines)
    others = [replace(score, name="t", higher_is_better=False), replace(score, name="u", higher_is_better=None)]
    (table,) = [of for of in summary(Card(1, {}, {}, {}, 0.0, [], [score, *others], [])) if of.key == "seen"]
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    start = [
        ["bad", "better", "loop 3.0, agreement"], ["bad", "better where less moves", "standstill 3.0, frozen 5.0"],
        ["good", "noticed", "shuffle 9.0"], ["note", "ignored", "blur"],
    ]  # fmt: skip
    melt = ["open", "not told apart from its noise", "1, among the open ones of the page"]
    better, worse = (
        f"{toward}; clips differ too much to tell" for toward in ("better so far, and should not", "worse so far")
    )
    assert [row[1:] for row in rows if row[0] == "s"] == [
        *start[:2], ["open", better, "warp 2.0, still_pan 2.0"], *start[2:], melt, ["open", worse, "ghost 3.8"],
    ]  # fmt: skip
    assert [row[1:] for row in rows if row[0] == "t"] == [
        *start[:2], ["open", better, "ghost 3.8, dark 2.0"], *start[2:], melt, ["open", worse, "warp 2.0"],
    ]  # fmt: skip
    unknown = ["open", "another score so far; clips differ too much to tell", "ghost 3.8, warp 2.0"]
    assert [row[1:] for row in rows if row[0] == "u"] == [*start, unknown, melt]
